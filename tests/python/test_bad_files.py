"""Bad events in files: which one it was, what becomes of the model, and how to go on without them."""

from __future__ import annotations

import json
import random
import re
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pytest

from bad_events import dsjson
from support import PROGRAM, Event, events, ok, predictions, refused, run, write
from test_bad_slots import conditional_log, slates_log
from twins.formats import FORMATS
from twins.mutations import mutated
from vw_fastcb import Workspace


@dataclass(frozen=True)
class Bad:
    """A kind of file, and an event in it that must be refused."""

    name: str
    event: str

    @property
    def flags(self) -> list[str]:
        # Few weights: VW goes over all of them to save a model and to load one.
        return [*FORMATS[self.name].flags.split(), "--fastcb", "-b", "10"]

    @property
    def many_lines(self) -> bool:
        """Whether an event ends with a blank line; elsewhere each line is an event."""
        return FORMATS[self.name].is_multiline and not FORMATS[self.name].is_json

    def good(self, count: int, seed: int = 0) -> list[str]:
        rng = random.Random(seed)
        return [FORMATS[self.name].event(rng, True) for _ in range(count)]


def adf(label: str) -> str:
    return f"shared |User id=u1\n|Action a=1\n{label} |Action a=2\n|Action a=3"


CASES = {
    "cost": Bad("adf-text", adf("0:7:0.5")),
    "not a number": Bad("adf-text", adf("0:abc:0.5")),
    "not a label": Bad("adf-text", adf("foo")),
    "feature": Bad("adf-text", adf("0:1:0.5").replace("a=3", "z:0.5x")),
    "two labels": Bad("adf-text", adf("0:1:0.5").replace("|Action a=3", "0:1:0.5 |Action a=3")),
    "no action": Bad("adf-text", "shared |User id=u1"),
    "infinite feature": Bad("adf-text", adf("0:1:0.5").replace("a=3", "z:1e39")),
    "fixed cost": Bad("fixed-text", "1:7:0.5 |User id=u1"),
    "fixed not a number": Bad("fixed-text", "1:abc:0.5 |User id=u1"),
    "fixed action": Bad("fixed-text", "9:0.5:0.5 |User id=u1"),
    "json syntax": Bad("adf-json", '{"User": {"id": "u1"}, "_multi": [{"Action": {"a": 1}}'),
    "json cost": Bad("adf-json", '{"User": {"id": "u1"}, "_multi": [{"_label": "0:7:0.5", "Action": {"a": 1}}]}'),
    "no json": Bad("fixed-json", "hello"),
    "json label": Bad("fixed-json", '{"_label": "1:abc:0.5", "User": {"id": "u1"}}'),
    "dsjson syntax": Bad("adf-dsjson", dsjson()[:-30]),
    "dsjson cost": Bad("adf-dsjson", dsjson(_label_cost=7)),
    "pdrop": Bad("adf-dsjson", dsjson(pdrop=1)),
    "dsjson index": Bad("adf-dsjson", dsjson(_labelIndex=9)),
    "dsjson contradiction": Bad("adf-dsjson", dsjson(_labelIndex=0)),
    "ccb probability": Bad("ccb-text", "ccb shared |User id=u1\nccb action |Action a=1\nccb slot 0:1:1.5 |Slot s=0"),
    "ccb log": Bad("ccb-dsjson", conditional_log(_outcomes=[{"_label_cost": 0, "_a": [1], "_p": [1.5]}] * 2).strip()),
    "slates cost": Bad(
        "slates-text", "slates shared 7 |User id=u1\nslates action 0 |Action a=1\nslates slot 0:1 |Slot s=0"
    ),
    "slates log": Bad("slates-dsjson", slates_log(_label_cost=7).strip()),
    "slates pdrop": Bad("slates-dsjson", slates_log(pdrop=1).strip()),
}
EACH_CASE = pytest.mark.parametrize("bad", CASES.values(), ids=CASES)


def laid_out(bad: Bad, offered: Iterable[str], blank_lines: int = 0) -> tuple[str, list[range]]:
    """Events as a file, with some blank lines between them, and on which lines of the file each one stands."""
    text, places = "\n" * blank_lines, []
    for event in offered:
        first = text.count("\n") + 1
        places.append(range(first, first + event.count("\n") + 1))
        text += event + "\n" * (1 + blank_lines + bad.many_lines)
    return text, places


def said_line(said: str) -> int:
    found = re.search(r"\blines? (?:number )?#?(\d+)", said)  # "line 7", or "lines 7 to 9"
    assert found, f"no line number in: {said}"
    return int(found[1])


def said_event(said: str) -> int:
    found = re.search(r"\bevent (?:number )?#?(\d+)", said)
    assert found, f"no event number in: {said}"
    return int(found[1])


def critical(said: str) -> str:
    """The part of the output that tells of the error: from its first line on."""
    lines = [line for line in said.splitlines() if "bad event" in line or "[critical]" in line or "rror" in line]
    return "\n".join(lines) or said


@pytest.mark.parametrize("blank_lines", [0, 2])
@EACH_CASE
def test_an_error_says_which_line_and_which_event(bad: Bad, blank_lines: int, tmp_path: Path) -> None:
    good = bad.good(12)
    text, places = laid_out(bad, [*good[:9], bad.event, *good[9:]], blank_lines)
    said = critical(refused(*bad.flags, "-d", write(tmp_path / "log", [text])))
    assert said_line(said) in places[9]
    assert said_event(said) == 10


@pytest.mark.parametrize(
    "bad", [CASES["cost"], CASES["json cost"], CASES["dsjson cost"]], ids=["text", "json", "dsjson"]
)
@pytest.mark.parametrize("place", [0, 700])
def test_an_error_says_so_on_standard_input_and_far_into_a_file(bad: Bad, place: int) -> None:
    good = bad.good(800)
    text, places = laid_out(bad, [*good[:place], bad.event, *good[place:]])
    said = critical(refused(*bad.flags, stdin=text))
    assert said_line(said) in places[place]
    assert said_event(said) == place + 1


def test_lines_that_vw_skips_are_counted_as_lines(tmp_path: Path) -> None:
    reward = json.dumps({"RewardValue": 1.0, "EventId": "e"})
    lines = [dsjson(), "", reward, dsjson(_skipLearn=True), "", reward, dsjson(), dsjson(_label_cost=7), dsjson()]
    log = write(tmp_path / "log", [f"{line}\n" for line in lines])
    said = critical(refused("--cb_explore_adf", "--fastcb", "--dsjson", "-d", log))
    assert said_line(said) == 8
    assert 3 <= said_event(said) <= 6  # whether what is skipped was an event is a matter of taste


def test_an_error_in_python_names_the_value_and_needs_no_line() -> None:
    with Workspace("--cb_explore 3 --fastcb --quiet") as vw, pytest.raises(RuntimeError, match=r"cost 7.*\[0, 1\]"):
        vw.learn("1:7:0.5 |u x")


# What becomes of the model.


@pytest.mark.parametrize(
    ("bad", "flag"),
    [
        *(pytest.param(bad, [], id=name) for name, bad in CASES.items()),
        pytest.param(CASES["cost"], ["--fastcb_bad_events", "stop"], id="stop, which is the default"),
    ],
)
def test_a_bad_event_stops_the_run_and_no_model_is_written(bad: Bad, flag: list[str], tmp_path: Path) -> None:
    good = bad.good(12)
    log = write(tmp_path / "log", [laid_out(bad, [*good[:9], bad.event, *good[9:]])[0]])
    model = tmp_path / "model"
    assert "unrecognised option" not in refused(*bad.flags, *flag, "-d", log, "-f", model)
    assert sorted(tmp_path.iterdir()) == [log]
    ok(*bad.flags, "-d", write(tmp_path / "good", [laid_out(bad, good)[0]]), "-f", model)
    before = model.read_bytes()
    reads = [one for one in bad.flags if "json" in one]
    refused("-i", model, *reads, *flag, "-d", log, "-f", model)
    assert model.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == sorted([log, model, tmp_path / "good"])


SKIP = ["--fastcb_bad_events", "skip"]


@pytest.mark.parametrize("way", ["one pass", "standard input", "two passes"])
@EACH_CASE
def test_skipped_events_are_as_if_they_had_not_been(bad: Bad, way: str, tmp_path: Path) -> None:
    good = bad.good(40)
    offered = list(good)
    bad_places = [0, 3, 4, 17, 41, 44]  # at the start, side by side, in between, at the end
    for place in bad_places:
        offered.insert(place, bad.event)
    assert len(offered) == 46
    assert offered[bad_places[-1]] == bad.event
    models, said, places = {}, "", []
    for name, log in (("spoiled", offered), ("clean", good)):
        text, places_now = laid_out(bad, log)
        more = ["--passes", 2, "-k", "--cache_file", tmp_path / f"{name}.cache"] if way == "two passes" else []
        if way != "standard input":
            more += ["-d", write(tmp_path / name, [text])]
        done = run(*bad.flags, *SKIP, *more, "-f", tmp_path / f"{name}.model", stdin=text)
        assert done.returncode == 0, done.stderr
        models[name] = (tmp_path / f"{name}.model").read_bytes()
        if name == "spoiled":
            said, places = done.stderr, places_now
    assert models["spoiled"] == models["clean"]
    count = len(bad_places)
    assert re.search(rf"(?i)\b{count}\b[^\n]*\b(bad|skipped)\b|\b(bad|skipped)\b[^\n]*\b{count}\b", said), said
    for place in bad_places:
        assert any(re.search(rf"\b{line}\b", said) for line in places[place]), f"{places[place]} is not in {said}"


@pytest.mark.parametrize("name", ["fixed-text", "adf-json", "fixed-json", "adf-dsjson"])
def test_a_spoiled_file_learns_what_python_accepts(name: str, tmp_path: Path) -> None:
    rng = random.Random(11)
    form = FORMATS[name]
    offered, accepted = [], []
    with Workspace(f"{form.flags} --fastcb --quiet") as vw:
        while len(offered) < 400:
            event = form.event(rng, True)
            if len(offered) % 3:
                event = mutated(rng, event, is_json=form.is_json)
            if set(event) & set("\n\r\0") or event != event.strip() or not event:
                continue  # no longer one line; or VW's Python code takes spaces off its ends
            offered.append(event)
            try:
                vw.learn(event)
                accepted.append(event)
            except RuntimeError:
                pass
    assert 130 < len(accepted) < 390
    for file, lines in (("offered", offered), ("accepted", accepted)):
        log = write(tmp_path / file, [f"{line}\n" for line in lines])
        ok(*form.flags.split(), "--fastcb", *SKIP, "-d", log, "-f", tmp_path / f"{file}.model")
    assert (tmp_path / "offered.model").read_bytes() == (tmp_path / "accepted.model").read_bytes()


def test_a_file_without_bad_events_learns_the_same_with_skip(tmp_path: Path) -> None:
    log = write(tmp_path / "log", map(Event.adf, events(100)))
    for name, flag in (("skip", SKIP), ("stop", ["--fastcb_bad_events", "stop"])):
        ok("--cb_explore_adf", "--fastcb", *flag, "-d", log, "-p", tmp_path / name)
    assert (tmp_path / "skip").read_text() == (tmp_path / "stop").read_text()


def test_skipping_needs_stop_or_skip(tmp_path: Path) -> None:
    log = write(tmp_path / "log", map(Event.adf, events(3)))
    said = refused("--cb_explore_adf", "--fastcb", "--fastcb_bad_events", "perhaps", "-d", log)
    assert "perhaps" in said
    assert "stop" in said
    assert "skip" in said


def test_python_raises_whatever_is_said_about_files() -> None:
    """In Python each event has a caller who can be told."""
    with Workspace("--cb_explore 3 --fastcb --quiet --fastcb_bad_events skip") as vw:
        with pytest.raises(RuntimeError, match="cost 7"):
            vw.learn("1:7:0.5 |u x")
        vw.learn("1:0.7:0.5 |u x")


# What -p prints can be logged.


def adf_event(label: str) -> str:
    lines = [f"{f'0:0.01:{label} ' if label and a == 0 else ''}|a a{a}" for a in range(5)]
    return "\n".join(["shared |u x", *lines])


def fixed_event(label: str) -> str:
    return f"{f'1:0.01:{label} ' if label else ''}|u x"


@pytest.mark.parametrize("scale", ["1e2", "1e6", "1e12", "1e20"])
@pytest.mark.parametrize(
    ("flags", "event"), [("--cb_explore_adf", adf_event), ("--cb_explore 5", fixed_event)], ids=["adf", "fixed"]
)
def test_every_printed_probability_can_be_logged(
    flags: str, event: Callable[[str], str], scale: str, tmp_path: Path
) -> None:
    rng = random.Random(3)
    text = [event(f"{rng.uniform(0.1, 1):.3f}") + "\n\n" for _ in range(30)]
    log, asked = write(tmp_path / "log", text), write(tmp_path / "asked", [event("") + "\n\n"])
    ok(*flags.split(), "--fastcb", "--gamma_scale", scale, "-d", log, "-f", tmp_path / "model")
    ok("-t", "-i", tmp_path / "model", "-d", asked, "-p", tmp_path / "pmf")
    with Workspace(arg_list=["-t", "-i", str(tmp_path / "model"), "--quiet"]) as vw:
        exact = vw.predict(event(""))
    printed = dict(pair.split(":") for pair in (tmp_path / "pmf").read_text().split()[0].split(","))
    offset = min(map(int, printed))
    assert len(printed) == len(exact) == 5
    for action, probability in printed.items():
        assert np.float32(probability) == np.float32(exact[int(action) - offset])
        if exact[int(action) - offset] > 0:
            again = write(tmp_path / "again", [event(probability) + "\n\n"])
            ok("-i", tmp_path / "model", "-d", again)
    assert predictions(tmp_path / "pmf")


# A daemon.


def ended(word: str) -> list[str]:
    """Ends every process with the word in its command line; returns what it ended."""
    found = []
    for _ in range(10):  # a daemon's parent starts new children for those that ended
        running = [one for one in psutil.process_iter(["cmdline"]) if word in " ".join(one.info["cmdline"] or [])]
        for one in running:
            found.append(" ".join(one.info["cmdline"]))
            with suppress(psutil.NoSuchProcess):
                one.kill()
        if not running:
            break
        time.sleep(0.1)
    return found


@pytest.mark.parametrize("loaded", [False, True], ids=["new", "loaded"])
@pytest.mark.parametrize("door", ["--cb_explore_adf", "--cb_explore 4"])
def test_a_daemon_is_refused_with_advice(door: str, loaded: bool, tmp_path: Path) -> None:
    flags = [*door.split(), "--fastcb"]
    if loaded:
        log = write(tmp_path / "log", map(Event.adf if "adf" in door else Event.fixed, events(5)))
        ok(*flags, "-d", log, "-f", tmp_path / "model")
        flags = ["-i", str(tmp_path / "model")]
    port_file = tmp_path / "port"
    command = [str(PROGRAM), *flags, "--daemon", "--port", "0", "--port_file", str(port_file), "--num_children", "1"]
    # Its own session, and no pipes: a daemon that does start must not hold the test.
    with (tmp_path / "said").open("w") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True)
        try:
            code = process.wait(timeout=60)
            time.sleep(0.2)  # for a child that is about to start
        finally:
            survivors = ended(str(port_file))
            process.wait(timeout=60)
    text = (tmp_path / "said").read_text()
    assert not survivors
    assert code == 1, text
    assert "--daemon" in text
    assert re.search(r"Workspace|FastCB|Loop|fastcb serve|Python", text)
    assert not port_file.exists()
