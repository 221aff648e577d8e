"""Refused means refused: the cases that were once found broken in Python, each by its name."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bad_events import ADF_JSON, ADF_TEXT, DSJSON_ASKED, FIXED_JSON, FIXED_TEXT, check_refusal, dsjson, workspace
from support import refused, write
from twins.formats import FORMATS
from vw_fastcb import Workspace, pyvw


def in_child(code: str, *arguments: str, **environment: str) -> str:
    """Runs Python code in a process of its own, which must survive; returns what it printed."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, f"the process ended with {done.returncode}\n{done.stdout}\n{done.stderr[-3000:]}"
    return done.stdout


def saved(vw: Workspace, path: Path) -> bytes:
    vw.save(path)
    return path.read_bytes()


def assert_twins(flags: str, bad: Any, good: list[str], asked: str, folder: Path) -> None:
    """A workspace that refused `bad` now and then ends as one that was never given it."""
    rng = random.Random(5)
    with workspace(flags) as first, workspace(flags) as second:
        for event in good:
            for call in rng.sample([first.learn, first.predict], rng.randrange(3)):
                with pytest.raises(RuntimeError):
                    call(bad)
            first.learn(event)
            second.learn(event)
            assert first.predict(asked) == second.predict(asked)
        assert saved(first, folder / "first") == saved(second, folder / "second")


def good_events(name: str, count: int = 20) -> tuple[list[str], str]:
    rng = random.Random(7)
    return [FORMATS[name].event(rng, True) for _ in range(count)], FORMATS[name].event(rng, False)


STALE = {
    "adf-text": ["shared |User id=u1\n|Action a=2 z:0.5x"],
    "fixed-text": ["2:0.5:0.25 |User id=u1 |Place a=2 z:0.5x", "|User id=u1 z:0.5x"],
    "adf-json": ['{"User": {"id": "u1"}, "_multi": [{"Action": {"a": "a2", "z": 0.5}}, {"Action": {"a": "a3", "z"'],
    "fixed-json": [
        '{"_label": "1:0.5:0.25", "User": {"id": "u1", "age": 0.5, "tags": [1, 0',
        '{"_label": "1:0.5:0.25", "User": {"id": "u1", "_slot_id": "open, "z": 0.62}}',
    ],
    "adf-dsjson": [dsjson()[:-60], dsjson().replace('{"b": 1}', '{"x": 1, "_slot_id": "open, "z": 0.5}')],
}


# VW takes examples from a pool in turn. A small pool is the same as a large one after more events.
@pytest.mark.parametrize("pool", [4, 256])
@pytest.mark.parametrize("name", STALE)
def test_features_of_a_refused_event_are_not_seen_again(name: str, pool: int, tmp_path: Path) -> None:
    good, asked = good_events(name, 300)
    flags = FORMATS[name].flags + (" -q UA" if "adf" in name else " -q UP")
    for bad in STALE[name]:
        assert_twins(f"{flags} --example_queue_limit {pool}", bad, good, asked, tmp_path)


# Refused by its label, by the text or JSON itself, and by a feature that only the learner sees.
SLOTS: dict[str, list[tuple[str, str]]] = {
    "ccb-text": [(r"slot \d:", "slot 9:"), (r"z:[\d.]+", "z:0.5x"), (r"age:[\d.]+", "age:1e39"), (r"s=1", "s:inf")],
    "slates-text": [
        (r"shared 0", "shared 7"),
        (r"age:[\d.]+", "age:0.5x"),
        (r"age:[\d.]+", "age:1e39"),
        (r"s=1", "s:inf"),
    ],
    "ccb-dsjson": [
        (r'cost": 0', 'cost": 7'),
        (r'"_p"', '"_p'),
        (r'"z": [\d.]+', '"z": 1e39'),
        (r'"age": [\d.]+', '"age": 1e39'),
    ],
    "slates-dsjson": [
        (r'cost": 0', 'cost": 7'),
        (r'"_p"', '"_p'),
        (r'"z": [\d.]+', '"z": 1e39'),
        (r'"age": [\d.]+', '"age": 1e39'),
    ],
}
ONE_REFUSED_THEN_MANY_GOOD = """
import json, sys
from pathlib import Path
from vw_fastcb import Workspace

flags, folder = sys.argv[1:3]
good, bad, asked = json.loads((Path(folder) / "events").read_text())
for event in bad:
    print(event, flush=True)
    first, second = Workspace(flags), Workspace(flags)
    for vw in (first, second):
        vw.learn(good[0])
    for call in (first.learn, first.predict):
        try:
            call(event)
        except RuntimeError:
            continue
        sys.exit("accepted")
    for one in good:
        first.learn(one)
        second.learn(one)
        assert first.predict(asked) == second.predict(asked)
    models = [Path(folder) / "first", Path(folder) / "second"]
    first.save(models[0])
    second.save(models[1])
    assert models[0].read_bytes() == models[1].read_bytes()
"""


@pytest.mark.parametrize("name", SLOTS)
def test_slots_are_learned_after_a_refused_event(name: str, tmp_path: Path) -> None:
    good, asked = good_events(name, 100)  # more lines than VW has examples in its pool
    bad = [re.sub(pattern, spoiled, good[5], count=1) for pattern, spoiled in SLOTS[name]]
    assert good[5] not in bad
    (tmp_path / "events").write_text(json.dumps([good, bad, asked]))
    in_child(ONE_REFUSED_THEN_MANY_GOOD, f"{FORMATS[name].flags} -b 10 --fastcb --quiet", str(tmp_path))


OFFER_ALL = """
import json, sys
from vw_fastcb import Workspace

for flags, good, events in json.loads(sys.argv[1]):
    vw = Workspace(flags + " -b 10 --fastcb --quiet")
    for event in events:
        for call in (vw.learn, vw.predict):
            print(flags, call.__name__, event, end=" ", flush=True)
            try:
                call(event)
                print("accepted")
            except RuntimeError as problem:
                print("refused:", problem)
        vw.learn(good)
"""


def offer_all(*cases: tuple[str, str, list[str]]) -> str:
    """Offers events to workspaces in a child: flags, a good event that follows each, and the events."""
    return in_child(OFFER_ALL, json.dumps(cases))


NO_VALUE = [
    '{"_x":}',
    '{"Version":}',
    '{"_x":,}',
    '{"_x":]}',
    '{"_x":}, "a": 1}',
    '{"_x":,,}',
    '{"_x"',
    '{"_x":',
    '{"_x":}}',
]
IN_AN_IGNORED_VALUE = [
    '{"_x":{"a":}}',
    '{"_x":[,]}',
    '{"_x":{}}}',
    '{"_x":[}',
    '{"_x":"}',
    '{"_x":{]',
    '{"_x":"\\',
    '{"_x":"\\"}',
]
READERS_OF_JSON = ["--cb_explore_adf --json", "--cb_explore_adf --dsjson", "--cb_explore 3 --json"]


def good_json(flags: str) -> str:
    return dsjson() if "dsjson" in flags else (ADF_JSON if "adf" in flags else FIXED_JSON).good


def test_a_key_without_its_value_is_refused_and_not_a_crash() -> None:
    said = offer_all(*((flags, good_json(flags), NO_VALUE) for flags in READERS_OF_JSON))
    assert said.count("refused") >= 2 * len(READERS_OF_JSON) * len(NO_VALUE)
    assert "accepted" not in said


def test_a_malformed_value_of_an_ignored_key_is_not_a_crash() -> None:
    offer_all(*((flags, good_json(flags), IN_AN_IGNORED_VALUE) for flags in READERS_OF_JSON))


@pytest.mark.parametrize("flags", READERS_OF_JSON)
@pytest.mark.parametrize("bad", NO_VALUE[:2])
def test_a_key_without_its_value_stops_the_command_line(flags: str, bad: str, tmp_path: Path) -> None:
    good = good_json(flags)
    said = refused(*flags.split(), "--fastcb", "-d", write(tmp_path / "log", [f"{good}\n{bad}\n{good}\n"]))
    assert "it is not valid JSON. Expected a value at character" in said
    assert "event 2 of the input, line 2" in said


NO_OBJECTS = [
    ("_slots", "[[-1]]"),
    ("_slots", '[[1], {"Slot": {"s": 1}}]'),
    ("_slots", "[[[]]]"),
    ("_slots", "5"),
    ("_multi", "[[1]]"),
    ("_multi", '[[{"Action": {"a": 1}}]]'),
    ("_multi", "5"),
    ("_outcomes", "[[1]]"),
    ("_outcomes", "[5]"),
]


def test_lists_where_objects_belong_are_refused_and_not_a_crash() -> None:
    """The sanitizers saw VW read before the start of its list of namespaces."""
    cases = []
    for name in ("ccb-dsjson", "slates-dsjson", "slates-json"):
        good, _ = good_events(name, 1)
        event = json.loads(good[0])
        spoiled = []
        for key, value in NO_OBJECTS:
            holder = event if key == "_outcomes" else event.get("c", event)
            if key in holder:
                spoiled.append(good[0].replace(json.dumps(holder[key]), value))
        assert spoiled
        assert good[0] not in spoiled
        cases.append((FORMATS[name].flags, good[0], spoiled))
    assert "accepted" not in offer_all(*cases)


NEST = """
import json, sys
from vw_fastcb import Workspace

for flags, good in json.loads(sys.argv[1]).items():
    print(flags, flush=True)
    vw = Workspace(flags + " -b 10 --fastcb --quiet")
    for opening, closing in (("[", "]"), ('{"x":', "}")):
        event = '{"x":' + opening * 200_000 + "1" + closing * 200_000 + "}"
        for call in (vw.learn, vw.predict):
            try:
                call(event)
                sys.exit("accepted")
            except RuntimeError as problem:
                assert "nested" in str(problem), problem
        vw.learn(good)
"""


def test_json_nested_200000_deep_is_refused_and_not_a_crash() -> None:
    good = {
        "--cb_explore_adf --json": ADF_JSON.good,
        "--cb_explore_adf --dsjson": dsjson(),
        "--slates --json": good_events("slates-json")[0][0],
    }
    in_child(NEST, json.dumps(good))


MISREAD = {
    "label glued to the first bar": ("shared |User a\n0:1:0.5|Action x\n|Action y", r"0:1:0\.5.*space"),
    "label glued to a later bar": ("shared |User a\n|Action x\n0:1:0.5|Action y", r"0:1:0\.5.*space"),
    "Shared": ("Shared |User a\n0:1:0.5 |Action x\n|Action y", r"Shared.*(shared|lower)"),
    "shared without a space": ("shared|User a\n0:1:0.5 |Action x\n|Action y", r"shared.*space"),
    "a word before the bar": ("shared |User a\nfoo |Action x\n|Action y", r"foo.*action:cost:probability"),
    "a word before the first bar": ("foo |User a\n|Action x\n|Action y", r"foo.*action:cost:probability"),
}


@pytest.mark.parametrize(("bad", "message"), MISREAD.values(), ids=MISREAD)
def test_text_that_vw_misreads_is_refused_with_advice(bad: str, message: str, tmp_path: Path) -> None:
    check_refusal("--cb_explore_adf", ADF_TEXT.good, ADF_TEXT.asked, bad, f"(?s){message}", tmp_path)
    said = refused("--cb_explore_adf", "--fastcb", "-d", write(tmp_path / "log", [f"{bad}\n\n"]))
    assert re.search(f"(?s){message}", said)


# The event says: of three actions the second was chosen (index 1, action 2), with probability 0.5.
CONTRADICTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "another index": ({"_labelIndex": 0}, "_labelIndex is 0 and _label_Action is 2.*must be 1"),
    "another action": ({"_label_Action": 3}, "_labelIndex is 1 and _label_Action is 3.*must be 2"),
    "index and action swapped": ({"_labelIndex": 2, "_label_Action": 1}, "_labelIndex is 2 and _label_Action is 1"),
    "another action first in a": ({"a": [1, 2, 3]}, "_labelIndex is 1 and the first entry of a is 1.*must be 2"),
    "another action first in a, p in its order": ({"a": [3, 2, 1], "p": [0.25, 0.5, 0.25]}, "first entry of a is 3"),
    "an unknown action in a": ({"a": [2, 1, 9]}, "a contains the action 9"),
    "action 0 in a": ({"a": [2, 1, 0]}, "a contains the action 0"),
    "an action twice in a": ({"a": [2, 2, 3]}, "a contains the action 2.*at most once"),
    "another probability": ({"_label_probability": 0.25}, "_label_probability is 0.25 and the first entry of p is 0.5"),
    "another probability first in p": ({"p": [0.25, 0.5, 0.25]}, "_label_probability is 0.5.*p is 0.25"),
    "p longer than a": ({"p": [0.5, 0.25, 0.125, 0.125]}, "a has 3 entries and p has 4"),
    "p shorter than a": ({"p": [0.5, 0.5]}, "a has 3 entries and p has 2"),
}


@pytest.mark.parametrize(("change", "message"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_decision_that_contradicts_itself_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    flags = "--cb_explore_adf --dsjson"
    check_refusal(flags, dsjson(), DSJSON_ASKED, dsjson(**change), message, tmp_path)
    log = write(tmp_path / "log", [f"{dsjson()}\n{dsjson(**change)}\n"])
    assert "event 2 of the input, line 2" in refused(*flags.split(), "--fastcb", "-d", log)


def test_a_decision_whose_probabilities_were_rounded_is_no_contradiction() -> None:
    with workspace("--cb_explore_adf --dsjson") as vw:
        vw.learn(dsjson(_label_probability=0.33333334, p=[1 / 3, 1 / 3, 1 / 3]))
        vw.learn(dsjson(_label_probability=0.1, p=[0.1, 0.45, 0.45]))


@pytest.mark.parametrize("tag", ["'12:30:00", "'e-17", "'0:1:0.5", "'seed=3"])
@pytest.mark.parametrize("space", ["", " "], ids=["glued", "spaced"])
@pytest.mark.parametrize("form", [ADF_TEXT, FIXED_TEXT], ids=["adf", "fixed"])
def test_a_tag_on_a_labelled_line_is_a_tag(form: Any, tag: str, space: str) -> None:
    event = form.good.replace("1:0.25:0.5 |", f"1:0.25:0.5 {tag}{space}|")
    assert event != form.good
    with workspace(form.flags) as tagged, workspace(form.flags) as plain:
        for _ in range(5):
            tagged.learn(event)
            plain.learn(form.good)
        assert tagged.predict(form.asked) == plain.predict(form.asked)


COMMAS = """
LC_NUMERIC
decimal_point ","
thousands_sep "."
grouping 3;3
END LC_NUMERIC
"""


@pytest.fixture(scope="session")
def decimal_commas(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process in which 0.5 is written 0,5. A whole locale would take a second to compile."""
    if not shutil.which("localedef"):
        pytest.skip("localedef is missing, which makes a locale: apt-get install locales")
    folder = tmp_path_factory.mktemp("locales")
    source = write(folder / "source", [COMMAS])
    command = ["localedef", "--force", "-i", str(source), "-f", "ANSI_X3.4-1968", str(folder / "commas")]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if not (folder / "commas" / "LC_NUMERIC").exists():
        pytest.skip(f"no locale with decimal commas: {made.stderr.strip()[:200]}; try apt-get install locales")
    return {"LOCPATH": str(folder), "LC_ALL": "", "LC_NUMERIC": "commas"}


LEARN_AND_SAVE = """
import json, locale, sys
from vw_fastcb import Workspace

cases, folder, point = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
if point == ",":
    locale.setlocale(locale.LC_ALL, "")
assert locale.localeconv()["decimal_point"] == point, "the locale is not what the test is about"
for name, (flags, events) in cases.items():
    vw = Workspace(f"{flags} --fastcb --quiet")
    for event in events:
        vw.learn(event)
    model = f"{folder}/{name}"
    vw.save(model)
    print(name, [vw.predict(event) for event in events])
    vw.finish()
    loaded = Workspace(arg_list=["-i", model, "--quiet", *(["--json"] if "--json" in flags else [])])
    print(loaded.predict(events[0]))
"""
LOCALE_EVENTS = {
    "the issue's": ("--cb_explore 3", ["2:0.3:0.25 |x a", "1:0.75:0.5 |x a b:0.125"]),
    "flags": (
        "--cb_explore 3 --gamma_scale 2.5 -l 0.25 --cb_max_cost 1.5",
        ["2:1.3:0.25 |x a", "1:0.75:0.5 |x a b:0.125"],
    ),
    "adf": ("--cb_explore_adf -q UA", good_events("adf-text")[0]),
    "json": ("--cb_explore 4 --json", good_events("fixed-json")[0]),
    "ccb": ("--ccb_explore_adf", good_events("ccb-text")[0]),
    "slates": ("--slates", good_events("slates-text")[0]),
}


def test_a_locale_with_decimal_commas_changes_nothing(decimal_commas: dict[str, str], tmp_path: Path) -> None:
    printed = {}
    for name, point, environment in (("point", ".", {}), ("comma", ",", decimal_commas)):
        (tmp_path / name).mkdir()
        printed[name] = in_child(LEARN_AND_SAVE, json.dumps(LOCALE_EVENTS), str(tmp_path / name), point, **environment)
    assert printed["comma"] == printed["point"]
    for name in LOCALE_EVENTS:
        assert name in printed["point"]
        assert (tmp_path / "comma" / name).read_bytes() == (tmp_path / "point" / name).read_bytes()


@pytest.mark.parametrize("form", [ADF_TEXT, FIXED_TEXT], ids=["adf", "fixed"])
@pytest.mark.parametrize("base", ["--nn 2", "--coin", "--ftrl", "--sgd", "--nn 2 -q uu"])
def test_a_feature_too_large_is_refused_by_every_base(base: str, form: Any, tmp_path: Path) -> None:
    bad = form.good.replace("y:0.5", "x:1e39")
    assert bad != form.good
    check_refusal(f"{form.flags} {base}", form.good, form.asked, bad, "inf|1e\\+?39", tmp_path)


LETTERS = ["é", "日", "😀", "\u0301"]
WIDE: dict[str, tuple[str, Callable[[str], str]]] = {
    "adf label": ("--cb_explore_adf", lambda word: f"shared |u x\n0:{word}:0.5 |a a\n|a b"),
    "adf word": ("--cb_explore_adf", lambda word: f"shared |u x\n{word} |a a\n|a b"),
    "adf number": ("--cb_explore_adf", lambda word: f"shared |u x\n0:1:0.5 |a {word}:1x\n|a b"),
    "adf namespace": ("--cb_explore_adf", lambda word: f"shared |u x\n0:1:0.5 |{word} a:1e39\n|a b"),
    "fixed label": ("--cb_explore 3", lambda word: f"{word}:1:0.5 |a a"),
    "fixed probability": ("--cb_explore 3", lambda word: f"1:1:{word} |a a"),
    "ccb": ("--ccb_explore_adf", lambda word: f"ccb shared |u x\nccb action |a a\nccb slot {word} |s x"),
    "slates": ("--slates", lambda word: f"slates shared {word} |u x\nslates action 0 |a a\nslates slot 0:1 |s x"),
    "json": ("--cb_explore_adf --json", lambda word: f'{{"{word}": {{"x": 1e39}}, "_multi": [{{"a": {{"x": 1}}}}]}}'),
    "json label": ("--cb_explore 3 --json", lambda word: f'{{"_label": "{word}", "u": {{"x": 1}}}}'),
    "no json": ("--cb_explore 3 --json", lambda word: word),
    "dsjson": ("--cb_explore_adf --dsjson", lambda word: dsjson(_label_cost=word)),
    "cut dsjson": ("--cb_explore_adf --dsjson", lambda word: dsjson(EventId=word)[:-5]),
    "slates json": ("--slates --dsjson", lambda word: f'{{"EventId": "{word}"'),
}


@pytest.mark.parametrize(("flags", "event"), WIDE.values(), ids=WIDE)
def test_an_error_is_never_cut_inside_a_letter(flags: str, event: Callable[[str], str]) -> None:
    with workspace(flags) as vw:
        for letter in LETTERS:
            for shift in range(4):
                for count in (1, 2, 11, 30, 300):
                    bad = event("x" * shift + letter * count)
                    with pytest.raises(RuntimeError):
                        vw.learn(bad)


def test_text_that_is_no_text_is_refused() -> None:
    """A lone surrogate, as `open(..., errors="surrogateescape")` makes them, cannot be written as UTF-8."""
    with workspace("--cb_explore 3") as vw:
        for bad in ("1:0.5:0.5 |u \udcff", "\udcff |u x", "\ud800"):
            with pytest.raises((RuntimeError, TypeError, UnicodeEncodeError)):
                vw.learn(bad)
        vw.learn("1:0.5:0.5 |u x")


@pytest.mark.parametrize("line", [b"\xff\xfe:1:0.5 |u x\n", b"1:\xe6\x97:0.5 |u x\n", b"1:0.5:0.5 |\xe9 x:1e39\n"])
def test_bytes_that_are_no_text_in_a_file_are_refused_in_python_too(line: bytes, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"1:0.5:0.5 |u x\n" + line)
    with pytest.raises(RuntimeError, match="event 2 of the input, line 2"):
        Workspace(f"--cb_explore 3 --fastcb --quiet -d {tmp_path / 'log'}")


REFUSED_LATE = {
    "cb": ("--cb_explore_adf", "shared |u x\n|a a\n0:0.25:0.5 |a b z:1e39\n|a c", pyvw.CBLabel),
    "fixed": ("--cb_explore 3", "2:0.25:0.5 |u x z:1e39", pyvw.CBLabel),
    "ccb": (
        "--ccb_explore_adf",
        "ccb shared |u x\nccb action |a a\nccb action |a z:1e39\nccb slot 0:0.5:0.5 |s x",
        pyvw.CCBLabel,
    ),
    "slates": (
        "--slates",
        "slates shared 0.5 |u x\nslates action 0 |a a z:1e39\nslates slot 0:1 |s x",
        pyvw.SlatesLabel,
    ),
}


@pytest.mark.parametrize(("flags", "event", "label"), REFUSED_LATE.values(), ids=REFUSED_LATE)
def test_refused_examples_stay_as_the_caller_made_them(flags: str, event: str, label: Any) -> None:
    with workspace(flags) as vw:
        parsed = vw.parse(event)
        examples = parsed if isinstance(parsed, list) else [parsed]

        def seen() -> list[Any]:
            return [(str(label.from_example(one)), sorted(one.iter_features())) for one in examples]

        before = seen()
        for call in (vw.learn, vw.predict):
            with pytest.raises(RuntimeError):
                call(parsed)
            assert seen() == before


@pytest.mark.parametrize("form", [ADF_TEXT, FIXED_TEXT], ids=["adf", "fixed"])
def test_a_refused_example_can_be_mended_and_learned(form: Any, tmp_path: Path) -> None:
    with workspace(form.flags) as first, workspace(form.flags) as second:
        parsed = first.parse(form.good)
        chosen = parsed[2] if isinstance(parsed, list) else parsed
        chosen.set_label_string("1:7:0.5")
        with pytest.raises(RuntimeError, match="cost 7"):
            first.learn(parsed)
        chosen.set_label_string("1:0.25:0.5")
        first.learn(parsed)
        first.finish_example(parsed)
        second.learn(form.good)
        assert first.predict(form.asked) == second.predict(form.asked)
        assert saved(first, tmp_path / "first") == saved(second, tmp_path / "second")


FINISH = """
import json, sys
from pathlib import Path
from vw_fastcb import Workspace

folder = sys.argv[2]
for flags, good, bad in json.loads(sys.argv[1]):
    print(flags, flush=True)
    first, second = (Workspace(flags + " -b 10 --fastcb --quiet") for _ in range(2))
    for _ in range(20):
        examples = first.parse(bad)
        try:
            first.learn(examples)
            sys.exit("accepted")
        except RuntimeError:
            pass
        finally:
            first.finish_example(examples)
        first.learn(good)
        second.learn(good)
    first.save(Path(folder) / "first")
    second.save(Path(folder) / "second")
    assert (Path(folder) / "first").read_bytes() == (Path(folder) / "second").read_bytes(), "the saved models differ"
"""


def test_refused_examples_may_be_finished_like_any_other(tmp_path: Path) -> None:
    """`try: learn(examples) finally: finish_example(examples)` is how VW's users write it."""
    cases = [(flags, re.sub(":1e3[09]", ":0.5", bad), bad) for flags, bad, _ in REFUSED_LATE.values()]
    in_child(FINISH, json.dumps(cases), str(tmp_path))


@pytest.mark.parametrize("pick", [lambda lines: lines[::-1], lambda lines: lines[1:]], ids=["reversed", "some"])
def test_lines_of_a_refused_event_may_be_finished_in_any_way(pick: Any, tmp_path: Path) -> None:
    with workspace(ADF_TEXT.flags) as first, workspace(ADF_TEXT.flags) as second:
        examples = first.parse(ADF_TEXT.event("1:7:0.5"))
        with pytest.raises(RuntimeError):
            first.learn(examples)
        first.finish_example(pick(examples))
        for vw, name in ((first, "first"), (second, "second")):
            vw.learn(ADF_TEXT.good)
            vw.save(tmp_path / name)
        assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
