"""Promise 6: a bad event is refused by name, in every input format, and leaves the model as it was."""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pytest

from support import Event, events, refused, run, write
from vw_fastcb import Workspace, pyvw

ACTIONS = 3
COSTS = r"\[0, 1\]"
PROBABILITIES = r"\(0, 1\]"


@dataclass(frozen=True)
class Format:
    """A front door with an input format: its flags, and an event with the given label."""

    flags: str
    event: Callable[[str], str]

    @property
    def good(self) -> str:
        return self.event("1:0.25:0.5")

    @property
    def asked(self) -> str:
        return self.event("")


def adf_text(label: str) -> str:
    return f"shared |u x y:0.5\n|a a\n{label} |a b\n|a c"


def fixed_text(label: str) -> str:
    return f"{label} |u x y:0.5"


def adf_json(label: str, **more: object) -> str:
    actions: list[dict[str, object]] = [{"a": {name: 1}} for name in "abc"]
    if label:
        actions[1] = {"_label": label, **actions[1]}
    return json.dumps({"u": {"x": 1, "y": 0.5}, "_multi": actions, **more})


def fixed_json(label: str) -> str:
    return json.dumps({**({"_label": label} if label else {}), "u": {"x": 1, "y": 0.5}})


ADF_TEXT = Format("--cb_explore_adf", adf_text)
FIXED_TEXT = Format(f"--cb_explore {ACTIONS}", fixed_text)
ADF_JSON = Format("--cb_explore_adf --json", adf_json)
FIXED_JSON = Format(f"--cb_explore {ACTIONS} --json", fixed_json)
FORMATS = {"adf-text": ADF_TEXT, "fixed-text": FIXED_TEXT, "adf-json": ADF_JSON, "fixed-json": FIXED_JSON}
EACH_FORMAT = pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)

# A label as text, and what the error must say: the value as it was written, and the range.
BAD_LABELS = [
    ("1:nan:0.5", f"cost nan.*{COSTS}"),
    ("1:inf:0.5", f"cost inf.*{COSTS}"),
    ("1:-inf:0.5", f"cost -inf.*{COSTS}"),
    ("1:1.01:0.5", f"cost 1.01.*{COSTS}"),
    ("1:-0.01:0.5", f"cost -0.01.*{COSTS}"),
    ("1:7e30:0.5", f"cost 7e\\+?30.*{COSTS}"),
    ("1:3.4028235e38:0.5", f"cost (3.40282e\\+38|3.4028235e38|inf).*{COSTS}"),
    ("1:abc:0.5", f"cost '?abc.*{COSTS}"),
    ("1:0.5x:0.5", f"cost '?0.5x.*{COSTS}"),
    ("1::0.5", f"cost.*{COSTS}"),
    ("1:0.25:0", f"probability 0.*{PROBABILITIES}"),
    ("1:0.25:-0.2", f"probability -0.2.*{PROBABILITIES}"),
    ("1:0.25:-1", f"probability -1.*{PROBABILITIES}"),
    ("1:0.25:1.01", f"probability 1.01.*{PROBABILITIES}"),
    ("1:0.25:nan", f"probability nan.*{PROBABILITIES}"),
    ("1:0.25:inf", f"probability inf.*{PROBABILITIES}"),
    ("1:0.25:abc", f"probability '?abc.*{PROBABILITIES}"),
    ("1:0.25", f"probability.*{PROBABILITIES}"),
    ("1:0.25:", "'1:0.25:' is not of the form action:cost:probability"),
    ("1:0.25:0.5 2:0.25:0.5", "more than one action has a cost"),
    ("1:2:3:4", "'1:2:3:4'"),
    ("shared:0.25:0.5", "'shared:0.25:0.5'"),
]
EACH_BAD_LABEL = pytest.mark.parametrize(("label", "message"), BAD_LABELS, ids=[label for label, _ in BAD_LABELS])

UNKNOWN_ACTIONS = [
    ("0:0.25:0.5", f"action 0 .*1 to {ACTIONS}"),
    (f"{ACTIONS + 1}:0.25:0.5", f"action {ACTIONS + 1} .*1 to {ACTIONS}"),
    ("99:0.25:0.5", f"action 99 .*1 to {ACTIONS}"),
    ("-1:0.25:0.5", "action '-1'.*numbered 1 to K"),
    ("red:0.25:0.5", "action 'red'.*numbered 1 to K"),
    ("1.5:0.25:0.5", "action '1.5'.*numbered 1 to K"),
]


def workspace(flags: str) -> Workspace:
    return Workspace(f"{flags} --fastcb --quiet")


@contextmanager
def unchanged(vw: Workspace, asked: str, folder: Path) -> Iterator[None]:
    """Whatever happens inside must leave the predictions and every byte of the model alone."""
    before = repr(vw.predict(asked))
    vw.save(folder / "before.model")
    yield
    vw.save(folder / "after.model")
    assert (folder / "after.model").read_bytes() == (folder / "before.model").read_bytes()
    assert repr(vw.predict(asked)) == before


def assert_refused(vw: Workspace, event: Any, message: str) -> None:
    for call in (vw.learn, vw.predict):
        with pytest.raises(RuntimeError, match=message):
            call(event)


def check_refusal(flags: str, good: str, asked: str, bad: str, message: str, folder: Path) -> None:
    """A model that has learned refuses the event, so does one loaded only to predict, and nothing changes."""
    with workspace(flags) as vw:
        for _ in range(5):
            vw.learn(good)
        with unchanged(vw, asked, folder):
            assert_refused(vw, bad, message)
    loaded = Workspace(arg_list=["-t", "--quiet", "-i", str(folder / "before.model"), *flags.split()])
    with loaded as vw, unchanged(vw, asked, folder):
        assert_refused(vw, bad, message)


@EACH_FORMAT
@EACH_BAD_LABEL
def test_bad_label_is_refused_by_name(form: Format, label: str, message: str, tmp_path: Path) -> None:
    check_refusal(form.flags, form.good, form.asked, form.event(label), message, tmp_path)


@pytest.mark.parametrize("form", [FIXED_TEXT, FIXED_JSON], ids=["text", "json"])
@pytest.mark.parametrize(("label", "message"), UNKNOWN_ACTIONS, ids=[label for label, _ in UNKNOWN_ACTIONS])
def test_unknown_action_is_refused_by_name(form: Format, label: str, message: str, tmp_path: Path) -> None:
    check_refusal(form.flags, form.good, form.asked, form.event(label), message, tmp_path)


def test_two_labelled_actions_are_refused(tmp_path: Path) -> None:
    bad = "shared |u x\n0:0.25:0.5 |a a\n|a b\n0:0.5:0.5 |a c"
    check_refusal("--cb_explore_adf", ADF_TEXT.good, ADF_TEXT.asked, bad, "more than one action has a cost", tmp_path)


@pytest.mark.parametrize(("cost", "range_"), [("-1.5", r"\[-1, 3\]"), ("3.01", r"\[-1, 3\]")])
@pytest.mark.parametrize("form", [ADF_TEXT, FIXED_TEXT], ids=["adf", "fixed"])
def test_the_declared_range_is_the_one_that_is_checked_and_named(
    form: Format, cost: str, range_: str, tmp_path: Path
) -> None:
    flags = f"{form.flags} --cb_min_cost -1 --cb_max_cost 3"
    bad = form.event(f"1:{cost}:0.5")
    check_refusal(flags, form.event("1:2.5:0.5"), form.asked, bad, f"cost {cost}.*{range_}", tmp_path)


@EACH_FORMAT
def test_the_ends_of_the_ranges_are_good(form: Format) -> None:
    with workspace(form.flags) as vw:
        for label in ("1:0:1", "1:1:1", "1:0:1e-30"):
            vw.learn(form.event(label))


# What VW's parser of JSON labels takes as an object.
JSON_LABELS = [
    ({"Cost": "NaN"}, f"cost nan.*{COSTS}"),
    ({"Cost": math.nan}, "JSON parser error"),
    ({"Cost": math.inf}, "JSON parser error"),
    ({"Cost": -math.inf}, "JSON parser error"),
    ({"Cost": 1e39}, f"cost inf.*{COSTS}"),
    ({"Cost": 1.5}, f"cost 1.5.*{COSTS}"),
    ({"Cost": -0.5}, f"cost -0.5.*{COSTS}"),
    ({"Cost": 2}, f"cost 2.*{COSTS}"),
    ({"Cost": "abc"}, "JSON parser error.*Cost"),
    ({"Cost": ""}, "JSON parser error.*Cost"),
    ({"Probability": 0}, f"probability 0.*{PROBABILITIES}"),
    ({"Probability": -0.2}, f"probability -0.2.*{PROBABILITIES}"),
    ({"Probability": -1}, f"probability -1.*{PROBABILITIES}"),
    ({"Probability": 1.7}, f"probability 1.7.*{PROBABILITIES}"),
    ({"Probability": math.nan}, "JSON parser error"),
    ({"Probability": None}, f"probability.*{PROBABILITIES}"),
]


@pytest.mark.parametrize("door", ["--cb_explore_adf", f"--cb_explore {ACTIONS}"])
@pytest.mark.parametrize(("change", "message"), JSON_LABELS, ids=[str(change) for change, _ in JSON_LABELS])
def test_bad_json_label_object_is_refused(door: str, change: dict[str, Any], message: str, tmp_path: Path) -> None:
    def event(**changed: Any) -> str:
        values = {"Action": 2, "Cost": 0.25, "Probability": 0.5, **changed}
        label = {name: value for name, value in values.items() if value is not None}
        if door == "--cb_explore_adf":
            return json.dumps({"u": {"x": 1}, "_multi": [{"a": {"a": 1}}, {"_label": label, "a": {"b": 1}}]})
        return json.dumps({"_label": label, "u": {"x": 1}})

    asked = json.dumps(
        {"u": {"x": 1}, "_multi": [{"a": {"a": 1}}, {"a": {"b": 1}}]} if "adf" in door else {"u": {"x": 1}}
    )
    check_refusal(f"{door} --json", event(), asked, event(**change), message, tmp_path)


@pytest.mark.parametrize("action", [0, ACTIONS + 1, 99])
def test_unknown_action_in_a_json_label_object_is_refused_by_name(action: int, tmp_path: Path) -> None:
    bad = json.dumps({"_label": {"Action": action, "Cost": 0.25, "Probability": 0.5}, "u": {"x": 1}})
    check_refusal(
        FIXED_JSON.flags, FIXED_JSON.good, FIXED_JSON.asked, bad, f"action {action} .*1 to {ACTIONS}", tmp_path
    )


def test_two_labels_in_json_are_refused(tmp_path: Path) -> None:
    label = {"Action": 1, "Cost": 0.25, "Probability": 0.5}
    bad = json.dumps({"_multi": [{"_label": label, "a": {"a": 1}}, {"_label": label, "a": {"b": 1}}]})
    check_refusal(ADF_JSON.flags, ADF_JSON.good, ADF_JSON.asked, bad, "more than one action has a cost", tmp_path)


def dsjson(**changes: object) -> str:
    """An event of three actions of which the second was chosen; a change to None leaves the field out."""
    event = {
        "_label_cost": 0.25,
        "_label_probability": 0.5,
        "_label_Action": 2,
        "_labelIndex": 1,
        "Version": "1",
        "EventId": "e",
        "a": [2, 1, 3],
        "c": {"u": {"x": 1, "y": 0.5}, "_multi": [{"a": {name: 1}} for name in "abc"]},
        "p": [0.5, 0.25, 0.25],
        **changes,
    }
    return json.dumps({name: value for name, value in event.items() if value is not None})


DSJSON_ASKED = dsjson(_label_cost=None, _label_probability=None, _label_Action=None, _labelIndex=None)

DSJSON_LABELS = [
    ({"_label_cost": "NaN"}, f"cost nan.*{COSTS}"),
    ({"_label_cost": math.nan}, "JSON parser error"),
    ({"_label_cost": math.inf}, "JSON parser error"),
    ({"_label_cost": -math.inf}, "JSON parser error"),
    ({"_label_cost": 1e39}, f"cost inf.*{COSTS}"),
    ({"_label_cost": 1.5}, f"cost 1.5.*{COSTS}"),
    ({"_label_cost": 2}, f"cost 2.*{COSTS}"),
    ({"_label_cost": -0.5}, f"cost -0.5.*{COSTS}"),
    ({"_label_cost": "abc"}, "JSON parser error.*cost"),
    ({"_label_cost": ""}, "JSON parser error.*cost"),
    ({"_label_probability": 0}, f"probability 0.*{PROBABILITIES}"),
    ({"_label_probability": -0.2}, f"probability -0.2.*{PROBABILITIES}"),
    ({"_label_probability": -1}, f"probability -1.*{PROBABILITIES}"),
    ({"_label_probability": 1.7}, f"probability 1.7.*{PROBABILITIES}"),
    ({"_label_probability": math.nan}, "JSON parser error"),
    ({"_label_probability": "abc"}, "JSON parser error.*probability"),
    ({"_label_probability": None}, f"probability.*{PROBABILITIES}"),
    ({"_labelIndex": 3}, "_labelIndex=3 .*actions=3"),
    ({"_labelIndex": 99}, "_labelIndex=99 .*actions=3"),
    ({"_labelIndex": -1}, "-1"),
    ({"_labelIndex": None, "_label_Action": 0}, "."),
    ({"_labelIndex": None, "_label_Action": 4}, "."),
    ({"_labelIndex": None, "_label_Action": 99}, "."),
]


@pytest.mark.parametrize(("changes", "message"), DSJSON_LABELS, ids=[str(changes) for changes, _ in DSJSON_LABELS])
def test_bad_dsjson_label_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    check_refusal("--cb_explore_adf --dsjson", dsjson(), DSJSON_ASKED, dsjson(**changes), message, tmp_path)


MALFORMED = {
    "cut": dsjson()[:-40],
    "cut in the label": '{"_label_cost": 0.5',
    "something after it": dsjson() + "x",
    "not json": "hello",
    "a list": "[]",
}


@pytest.mark.parametrize("line", MALFORMED.values(), ids=MALFORMED)
def test_malformed_dsjson_is_refused_in_python(line: str, tmp_path: Path) -> None:
    check_refusal("--cb_explore_adf --dsjson", dsjson(), DSJSON_ASKED, line, ".", tmp_path)


@pytest.mark.parametrize("line", MALFORMED.values(), ids=MALFORMED)
@pytest.mark.parametrize("form", [ADF_JSON, FIXED_JSON], ids=["adf", "fixed"])
def test_malformed_json_is_refused_in_python(form: Format, line: str, tmp_path: Path) -> None:
    check_refusal(form.flags, form.good, form.asked, line, "JSON (parser error|object)", tmp_path)


def example(vw: Workspace, feature: str, label: str) -> pyvw.Example:
    """An example built feature by feature, labelled as `str(CBLabel(...))` writes labels."""
    made = pyvw.Example(vw, {"u": [feature, ("y", 0.5)]}, pyvw.LabelType.CONTEXTUAL_BANDIT)
    made.set_label_string(label)
    made.setup_example()
    return made


OBJECT_LABELS = [
    ((1, math.nan, 0.5), "cost nan"),
    ((1, math.inf, 0.5), "cost inf"),
    ((1, -math.inf, 0.5), "cost -inf"),
    ((1, 1.5, 0.5), "cost 1.5"),
    ((1, -0.5, 0.5), "cost -0.5"),
    ((1, 0.25, 0.0), "probability 0"),
    ((1, 0.25, -0.2), "probability -0.2"),
    ((1, 0.25, -1.0), "probability -1"),
    ((1, 0.25, 1.7), "probability 1.7"),
    ((1, 0.25, math.nan), "probability nan"),
]


def object_event(vw: Workspace, label: str) -> Any:
    return [example(vw, "a", ""), example(vw, "b", label)] if vw._is_multiline() else example(vw, "x", label)


@pytest.mark.parametrize("form", [ADF_TEXT, FIXED_TEXT], ids=["adf", "fixed"])
@pytest.mark.parametrize(("values", "message"), OBJECT_LABELS, ids=[str(values) for values, _ in OBJECT_LABELS])
def test_bad_example_object_is_refused_by_name(
    form: Format, values: tuple[int, float, float], message: str, tmp_path: Path
) -> None:
    action, cost, probability = values
    label = str(pyvw.CBLabel([pyvw.CBLabelElement(action=action, cost=cost, probability=probability)]))
    with workspace(form.flags) as vw:
        for _ in range(5):
            vw.learn(form.good)
        bad = object_event(vw, label)
        with unchanged(vw, form.asked, tmp_path):
            assert_refused(vw, bad, message)
        vw.finish_example(bad)


@pytest.mark.parametrize("action", [0, ACTIONS + 1, 99])
def test_unknown_action_of_an_example_object_is_refused_by_name(action: int, tmp_path: Path) -> None:
    with workspace(FIXED_TEXT.flags) as vw:
        bad = object_event(vw, str(pyvw.CBLabel([pyvw.CBLabelElement(action=action, cost=0.5, probability=0.5)])))
        with unchanged(vw, FIXED_TEXT.asked, tmp_path):
            assert_refused(vw, bad, f"action {action} .*1 to {ACTIONS}")
        vw.finish_example(bad)


@pytest.mark.parametrize("form", [ADF_TEXT, FIXED_TEXT], ids=["adf", "fixed"])
def test_text_is_still_checked_after_an_example_was_labelled_by_hand(form: Format) -> None:
    with workspace(form.flags) as vw:
        good = object_event(vw, "1:0.25:0.5")
        vw.learn(good)
        vw.finish_example(good)
        assert_refused(vw, form.event("1:nan:0.5"), "cost nan")
        assert_refused(vw, form.event("1:0.25:1.5"), "probability 1.5")


@pytest.mark.parametrize("form", [ADF_TEXT, FIXED_TEXT], ids=["adf", "fixed"])
@pytest.mark.parametrize("label", ["1:7:0.5", "1:2:3:4"])
def test_learning_goes_on_after_a_bad_event_as_if_it_had_not_been(form: Format, label: str, tmp_path: Path) -> None:
    with workspace(form.flags) as disturbed, workspace(form.flags) as quiet:
        for _ in range(20):
            disturbed.learn(form.good)
            quiet.learn(form.good)
            with pytest.raises(RuntimeError):
                disturbed.learn(form.event(label))
        assert repr(disturbed.predict(form.asked)) == repr(quiet.predict(form.asked))
        disturbed.save(tmp_path / "disturbed.model")
        quiet.save(tmp_path / "quiet.model")
    assert (tmp_path / "disturbed.model").read_bytes() == (tmp_path / "quiet.model").read_bytes()


@cache
def long_log(text: Callable[[Event], str]) -> tuple[list[str], str]:
    """50,000 events as text: the first nine, and the rest."""
    lines = [text(event) for event in events(50_000, seed=1)]
    return lines[:9], "".join(lines[9:])


LOGS = {
    "adf-text": ("--cb_explore_adf", Event.adf, adf_text("0:7.5:0.5") + "\n\n", "cost 7.5"),
    "adf-text-two-labels": ("--cb_explore_adf", Event.adf, "0:0:0.5 |a a\n0:0:0.5 |a b\n\n", "more than one action"),
    "adf-text-malformed": ("--cb_explore_adf", Event.adf, adf_text("0:1:2:3") + "\n\n", "'0:1:2:3'"),
    "fixed-text": ("--cb_explore 4", Event.fixed, "1:7.5:0.5 |u x\n", "cost 7.5"),
    "fixed-text-unknown-action": ("--cb_explore 4", Event.fixed, "9:0.5:0.5 |u x\n", "action 9"),
    "fixed-text-malformed": ("--cb_explore 4", Event.fixed, "1:2:3:4 |u x\n", "'1:2:3:4'"),
    "dsjson": ("--cb_explore_adf --dsjson", Event.dsjson, dsjson(_label_cost=7.5) + "\n", "cost 7.5"),
    "dsjson-index": ("--cb_explore_adf --dsjson", Event.dsjson, dsjson(_labelIndex=9) + "\n", "_labelIndex=9"),
    "dsjson-malformed": (
        "--cb_explore_adf --dsjson",
        Event.dsjson,
        dsjson()[:-40] + "\n",
        "JSON parser error",
    ),
}


@pytest.mark.parametrize("way", ["file", "stdin", "test only", "one thread", "several passes"])
@pytest.mark.parametrize(("flags", "text", "bad", "message"), LOGS.values(), ids=LOGS)
def test_the_command_line_stops_at_a_bad_event(
    flags: str, text: Callable[[Event], str], bad: str, message: str, way: str, tmp_path: Path
) -> None:
    first, rest = long_log(text)
    lines = [*first, bad, rest]
    model = tmp_path / "model"
    data = tmp_path / "data"
    arguments = [*flags.split(), "--fastcb", "-f", str(model), "-p", str(tmp_path / "predictions")]
    started = time.monotonic()
    if way == "stdin":
        result = run(*arguments, stdin="".join(lines), timeout=20)
    else:
        write(data, lines)
        passes = ["--passes", "2", "--cache_file", str(tmp_path / "cache"), "-k"]
        more = {"file": [], "test only": ["-t"], "one thread": ["--onethread"], "several passes": passes}[way]
        result = run(*arguments, "-d", data, *more, timeout=20)
    assert result.returncode == 1
    assert re.search(message, result.stdout + result.stderr)
    assert time.monotonic() - started < 10
    assert not model.exists()
    assert not Path(f"{model}.writing").exists()


def test_a_bad_event_leaves_the_model_of_an_earlier_run(tmp_path: Path) -> None:
    model = tmp_path / "model"
    good = write(tmp_path / "good", map(Event.fixed, events(50)))
    bad = write(tmp_path / "bad", [*map(Event.fixed, events(50)), "1:7.5:0.5 |u x\n"])
    assert run("--cb_explore", 4, "--fastcb", "-d", good, "-f", model).returncode == 0
    before = model.read_bytes()
    assert "cost 7.5" in refused("-i", model, "-d", bad, "-f", model)
    assert model.read_bytes() == before


def refuse(call: Callable[[Any], Any], event: Any) -> None:
    try:
        call(event)
    except RuntimeError:
        return
    pytest.fail(f"accepted: {event}")


def megabytes() -> float:
    return psutil.Process(os.getpid()).memory_info().rss / 2**20


# How an event is given, and a label that the parser refuses, or the learner.
LEAKS = [
    (ADF_TEXT.flags, lambda vw: adf_text("0:7:0.5"), "learn"),
    (ADF_TEXT.flags, lambda vw: adf_text("0:1:2:3"), "learn"),
    (ADF_TEXT.flags, lambda vw: adf_text("0:7:0.5"), "predict"),
    (ADF_TEXT.flags, lambda vw: adf_text("0:7:0.5").split("\n"), "learn"),
    (ADF_TEXT.flags, lambda vw: adf_text("0:1:2:3").split("\n"), "predict"),
    (FIXED_TEXT.flags, lambda vw: fixed_text("1:7:0.5"), "learn"),
    (FIXED_TEXT.flags, lambda vw: fixed_text("1:2:3:4"), "predict"),
    (FIXED_JSON.flags, lambda vw: fixed_json("1:7:0.5"), "learn"),
    (ADF_JSON.flags, lambda vw: adf_json("0:7:0.5")[:-3], "learn"),
    ("--cb_explore_adf --dsjson", lambda vw: dsjson(_label_cost=7), "learn"),
    (ADF_TEXT.flags, lambda vw: object_event(vw, "0:7:0.5"), "learn"),
    (FIXED_TEXT.flags, lambda vw: object_event(vw, "1:7:0.5"), "predict"),
]


def test_a_hundred_thousand_bad_events_leave_memory_flat() -> None:
    spaces = [workspace(flags) for flags, _, _ in LEAKS]

    def give_all(rounds: int) -> None:
        for vw, (_, make, call) in zip(spaces, LEAKS, strict=True):
            for _ in range(rounds):
                event = make(vw)
                refuse(getattr(vw, call), event)
                if not isinstance(event, str) and not (isinstance(event, list) and isinstance(event[0], str)):
                    vw.finish_example(event)

    give_all(10_000 // len(LEAKS))
    before = megabytes()
    give_all(90_000 // len(LEAKS))
    assert megabytes() - before < 4
    for vw in spaces:
        vw.finish()
