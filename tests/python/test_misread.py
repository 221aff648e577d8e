"""What VW reads as something else than its user meant is refused: found by a tester who tried to be misunderstood."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bad_events import workspace
from support import ok, refused, run, run_program, write
from vw_fastcb import FastCB, Workspace

GOOD = "1:0.25:0.5 |u x:0.5"
FILLER = " ".join(f"name{i}" for i in range(12))  # longer than a block of characters that is looked at at once
VALUES = {
    "too small an exponent": "x:1e-256",
    "too large an exponent": "x:2.5e256",
    "an exponent of many digits": "x:1e1000",
    "no exponent": "x:1e",
    "a lone sign": "x:-",
    "a lone point": "x:.",
    "no value": "x: y",
    "no value at the end": "y x:",
    "a grade": "x:e",
    "a grade in capitals": "x:E",
    "an exponent without a number": "x:e5",
    "an exponent after a sign": "x:-e5",
    "an exponent after a point": "x:.e5",
    "an exponent with a sign": "x:e-5",
}


MISREAD_VALUE = r"exponent|not followed by a value|as the number 0"


@pytest.mark.parametrize("place", ["{}", "{} " + FILLER, FILLER + " {}", FILLER + " {} " + FILLER])
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_value_that_vw_would_misread_is_refused(value: str, place: str) -> None:
    with workspace("--cb_explore 3") as vw, pytest.raises(RuntimeError, match=MISREAD_VALUE):
        vw.learn(f"1:0.25:0.5 |u {place.format(value)}")


@pytest.mark.parametrize("namespace", ["u:", "u:-", "u:1e-256", "u:e5", "u:e"])
def test_so_is_the_weight_of_a_namespace(namespace: str) -> None:
    with workspace("--cb_explore 3") as vw, pytest.raises(RuntimeError, match=MISREAD_VALUE):
        vw.learn(f"1:0.25:0.5 |{namespace} x")


@pytest.mark.parametrize(
    "value", ["x:1e-30", "x:2.5E+3", "x:red", "x:-.5", "3e:1", "1e5", "e5:2", ":0.5", "x:1e30", "x:elk", "x:e5x"]
)
def test_other_values_are_learned(value: str) -> None:
    with workspace("--cb_explore 3") as vw:
        vw.learn(f"1:0.25:0.5 |u {value} {FILLER}")


NO_BREAK = "\N{NO-BREAK SPACE}"
GLUED = {
    "a space that is none": ("--cb_explore 3", f"1:0.25:0.5{NO_BREAK}|u x"),
    "a semicolon": ("--cb_explore 3", "1:.3:.25;|u x"),
    "half a label": ("--cb_explore 3", "1:.3|u x"),
    "a second label": ("--cb_explore 3", "1:.3:.25 2:.3:.25|u x"),
    "adf": ("--cb_explore_adf", f"shared |u x\n0:0.25:0.5{NO_BREAK}|a x\n|a y"),
    "ccb": ("--ccb_explore_adf", f"ccb shared |u x\nccb action |a x\nccb slot 0:1:0.5{NO_BREAK}|s x"),
    "a percentage": ("--cb_explore 3", "1:0:50%|u x"),
    "a cost that is no number": ("--cb_explore 3", "1:nan:.5|u x"),
    "a probability that is no number": ("--cb_explore 3", "1:5:nan|u x"),
    "no probability": ("--cb_explore 3", "1:0|u x"),
    "a negative cost": ("--cb_explore 3", "1:-5|u x"),
    "a word for the action": ("--cb_explore_adf", "a:0:.5|a x\n|a y"),
    "a decimal comma": ("--cb_explore_adf", "0,5:0:1|a x\n|a y"),
    "ccb with a semicolon": ("--ccb_explore_adf", "ccb shared |u x\nccb action |a x\nccb slot 0:1:0.5;|s x"),
    "slates": ("--slates", f"slates shared 0.5{NO_BREAK}|u x\nslates action 0 |a x\nslates slot 0:1 |s x"),
}


@pytest.mark.parametrize(("flags", "event"), GLUED.values(), ids=GLUED)
def test_a_label_that_would_become_a_tag_is_refused(flags: str, event: str) -> None:
    with workspace(flags) as vw, pytest.raises(RuntimeError, match="no space between it and the bar"):
        vw.learn(event)


NO_SPACES = [NO_BREAK, "\N{IDEOGRAPHIC SPACE}", "\N{ZERO WIDTH SPACE}", "\v", "\0", ":", ",", ""]


@pytest.mark.parametrize("mark", NO_SPACES, ids=ascii)
@pytest.mark.parametrize("word", ["shared", "Shared"])
def test_a_shared_line_that_would_become_an_action_is_refused(mark: str, word: str, tmp_path: Path) -> None:
    event = f"{word}{mark}|u a\n0:0:.5 |x b\n|x c"
    with workspace("--cb_explore_adf") as vw, pytest.raises(RuntimeError, match="no space between it and the bar"):
        vw.learn(event)
    log = write(tmp_path / "log", [event + "\n\n"])
    assert "no space between it and the bar" in refused("--cb_explore_adf", "--fastcb", "-d", log)


@pytest.mark.parametrize(
    "tag", ["12:30:15", "12:30", "id-7", "42", "'0:1:0.5", "tag1", "'12:30:00", "shared-7", "user:5"]
)
@pytest.mark.parametrize("flags", ["--cb_explore 3", "--cb_explore_adf"])
def test_tags_are_still_tags(tag: str, flags: str) -> None:
    with workspace(flags) as vw:
        vw.learn(f"1:0.25:0.5 {tag}|u x")
        vw.predict(f"{tag}|u x")
        assert vw.parse(f"{tag}|u x") is not None


CARRIAGE_RETURNS = [
    "1:0:0.5 |x a\rb c",
    "1:0:0.5 |x a:2\r b c |y d",
    "1:0:0.5 |x\r a b",
    "1:0:0.5 |x a\r2:1:0.5 |x b\r1:1:7 |x c\r",
    "1\r:0:0.5 |x a",
    "\r1:0:0.5 |x a",
]


@pytest.mark.parametrize("line", CARRIAGE_RETURNS)
def test_a_carriage_return_inside_a_line_is_refused(line: str, tmp_path: Path) -> None:
    with workspace("--cb_explore 3") as vw, pytest.raises(RuntimeError, match="a carriage return inside the line"):
        vw.learn(line)
    (tmp_path / "log").write_bytes(line.encode())
    said = refused("--cb_explore", 3, "--fastcb", "-d", tmp_path / "log")
    assert "a carriage return inside the line" in said
    assert "event 1 of the input, line 1" in said


def test_files_of_windows_are_learned(tmp_path: Path) -> None:
    for name, end in (("unix", b"\n"), ("windows", b"\r\n")):
        (tmp_path / name).write_bytes(end.join([b"1:0:0.5 |x a b", b"2:1:0.5 |x a", b""]))
        ok("--cb_explore", 3, "--fastcb", "-d", tmp_path / name, "-p", tmp_path / f"{name}.pmfs")
    assert (tmp_path / "unix.pmfs").read_text() == (tmp_path / "windows.pmfs").read_text()


ADF = "--cb_explore_adf"
AS_GIVEN = {
    "an empty namespace": ("--cb_explore 3", "1:0:0.5 |x a b |y:2 "),
    "a no-break space in a name": ("--cb_explore 3", f"1:0:0.5 |x a{NO_BREAK}"),
    "a no-break space before it": ("--cb_explore 3", f"{NO_BREAK}1:0:0.5 |x a"),
    "spaces around it": ("--cb_explore 3", "  1:0:0.5 |x a  "),
    "a byte-order mark": ("--cb_explore 3", "\ufeff1:0:0.5 |x a"),
    "a return in a name": ("--cb_explore 3", "1:0:0.5 |x na\rme"),
    "lines of Windows": (ADF, "shared |u x\r\n0:0:0.5 |x a\r\n|x b\r\n"),
    "empty lines around it": (ADF, "\n\nshared |u x\n0:0:0.5 |x a\n|x b\n\n"),
    "a last line of spaces": (ADF, "0:0:0.5 |x a\n|x b\n "),
    "json": ("--cb_explore 3 --json", ' {"_label":"1:0:0.5","x":{"a":1}}\r'),
    "json with a return": ("--cb_explore 3 --json", '{"_label":"1:0:0.5","x":{"a":tru\re}}'),
    "json with a mark": ("--cb_explore 3 --json", '\ufeff{"_label":"1:0:0.5","x":{"a":1}}'),
}


def weights(model: Path) -> list[str]:
    return [line for line in model.read_text().splitlines() if re.match(r"\d+:-?\d", line)]


@pytest.mark.parametrize(("flags", "event"), AS_GIVEN.values(), ids=AS_GIVEN)
def test_a_workspace_reads_text_as_the_command_line_does(flags: str, event: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(event.encode() + b"\n")
    program, own = tmp_path / "program.txt", tmp_path / "workspace.txt"
    done = run(*flags.split(), "-b", 10, "--fastcb", "--quiet", "-d", tmp_path / "log", "--readable_model", program)
    vw = workspace(f"{flags} --readable_model {own}")
    if done.returncode == 0:
        vw.learn(event)
        vw.finish()
        assert weights(own) == weights(program) != []
    else:
        with pytest.raises(RuntimeError, match="bad event") as problem:
            vw.learn(event)
        assert str(problem.value)[:60] in done.stdout + done.stderr


def test_without_fastcb_a_workspace_reads_text_as_stock_does() -> None:
    with Workspace("--cb_explore 3 --quiet") as vw:
        vw.learn(" 1:0:0.5 |x na\rme \n ")
        assert vw.parse(" |x na\rme").get_feature_id("x", 0) == vw.parse("|x name").get_feature_id("x", 0)


SLATE = "slates shared 0 |u a\nslates action {} |x a\nslates action 0 |x b\nslates slot 0:0.5 |s a"


@pytest.mark.parametrize("slot", ["4294967296", "8589934592", "18446744073709551616", "-1", "-0", "1.0", "x"])
def test_the_slot_of_an_action_does_not_wrap_around(slot: str) -> None:
    with workspace("--slates") as vw:
        vw.learn(SLATE.format(0))
        with pytest.raises(RuntimeError, match=f"slot '{slot}' of an action is unknown"):
            vw.learn(SLATE.format(slot))


CCB = "ccb shared |u a\nccb action |x a\nccb action |x b\nccb action |x c\nccb slot {} |s a\nccb slot {} |s b"


def test_a_labelled_slot_after_one_without_a_label_is_refused() -> None:
    """VW draws an action for the first; whether it then learns the label of the second depends on the seed."""
    with workspace("--ccb_explore_adf") as vw:
        vw.learn(CCB.format("0:1:0.5", "1:0:0.5"))
        vw.learn(CCB.format("0:1:0.5", ""))
        vw.predict(CCB.format("", ""))
        with pytest.raises(RuntimeError, match="slot 1 has a label and a slot before it has none"):
            vw.learn(CCB.format("", "1:0:0.5"))


LABEL = {"Action": 1, "Cost": 0, "Probability": 0.5}
OWN_LABEL = {"_labelIndex": 0, "_label_cost": 1, "_label_probability": 0.5}


def actions(**first: Any) -> dict[str, Any]:
    return {"u": {"x": 1}, "_multi": [{**first, "a": {"x": 1}}, {"a": {"y": 1}}]}


JSON = {
    "two labels": ("--json", json.dumps({**OWN_LABEL, **actions(_label=LABEL)}), "one of the two"),
    "two labels in a log": (
        "--dsjson",
        json.dumps({**OWN_LABEL, "a": [1, 2], "p": [0.5, 0.5], "c": actions(_label=LABEL)}),
        "one of the two",
    ),
    "a label twice": (
        "--json",
        json.dumps(actions(_label=LABEL, _twin=LABEL)).replace("_twin", "_label"),
        "more than one action has a cost, or one has two labels",
    ),
    "a cost twice": (
        "--json",
        json.dumps(actions(_label={**LABEL, "twin": 1})).replace("twin", "Cost"),
        "Cost of a _label is given twice",
    ),
    "another spelling": ("--json", json.dumps(actions(_Label=LABEL)), "Write _label in lower case"),
    "no log": ("--dsjson", json.dumps(actions(_label=LABEL)), "Use --json"),
    "pdrop twice": (
        "--dsjson",
        json.dumps({**OWN_LABEL, "pdrop": 0.5, "twin": 0.1, "c": actions()}).replace("twin", "pdrop"),
        "pdrop is given twice",
    ),
}


@pytest.mark.parametrize(("flag", "event", "message"), JSON.values(), ids=JSON)
def test_json_that_contradicts_itself_is_refused(flag: str, event: str, message: str) -> None:
    with workspace(f"--cb_explore_adf {flag}") as vw, pytest.raises(RuntimeError, match=message):
        vw.learn(event)


def test_two_events_in_one_text_are_refused() -> None:
    with workspace("--cb_explore_adf") as vw, pytest.raises(RuntimeError, match="one event at a time"):
        vw.learn("0:1:0.5 |a x\n|a y\n\n0:1:0.5 |a z\n|a w")


def test_more_slots_than_actions_are_skipped_like_other_bad_events(tmp_path: Path) -> None:
    good = "ccb shared |u x\nccb action |a x\nccb action |a y\nccb slot 0:1:0.5 |s s\n\n"
    bad = "ccb shared |u x\nccb action |a x\nccb slot |s s\nccb slot |s t\n\n"
    log = write(tmp_path / "log", [good, bad, good])
    assert "2 slots and 1 actions" in refused("--ccb_explore_adf", "--fastcb", "-d", log)
    assert "at lines 6-9" in ok("--ccb_explore_adf", "--fastcb", "--fastcb_bad_events", "skip", "-d", log)


def test_a_file_of_nothing_but_bad_events_is_an_error_even_where_they_are_skipped(tmp_path: Path) -> None:
    log = write(tmp_path / "log", ["1:7:0.5 |u x\n"] * 3)
    model = tmp_path / "model"
    assert "all 3 events" in refused(
        "--cb_explore", 3, "--fastcb", "--fastcb_bad_events", "skip", "-d", log, "-f", model
    )
    assert not model.exists()


def test_an_error_is_not_among_the_predictions(tmp_path: Path) -> None:
    log = write(tmp_path / "log", [f"{GOOD}\n", "1:7:0.5 |u x\n"])
    done = run_program("--cb_explore", 3, "--fastcb", "--quiet", "-d", log, "-p", "/dev/stdout")
    assert "bad event" in done.stderr
    assert "bad event" not in done.stdout


@pytest.mark.parametrize("flag", ["--affix +1x", "--spelling x", "--redefine y:=x", "--ngram 2", "--ngram 2 --skips 1"])
def test_arrays_refuse_flags_that_are_about_words(flag: str) -> None:
    with pytest.raises((RuntimeError, ValueError), match="arrays have none"):
        FastCB(3, vw_args=flag).decide([1.0, 2.0])


def test_a_network_that_changes_with_each_prediction_is_refused() -> None:
    assert "Leave one of the two out" in refused("--cb_explore", 3, "--fastcb", "--nn", 1, "--noconstant", "--no_stdin")


def test_two_models_to_start_from_are_refused(tmp_path: Path) -> None:
    log = write(tmp_path / "log", [f"{GOOD}\n"])
    for name in ("a", "b"):
        ok("--cb_explore", 3, "--fastcb", "-d", log, "-f", tmp_path / name)
    assert "-i was given 2 models" in refused("-i", tmp_path / "a", "-i", tmp_path / "b", "-t", "-d", log)
