"""What VW reads as something else than its user meant is refused: found by a tester who tried to be misunderstood."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bad_events import workspace
from support import ok, refused, run_program, write
from vw_fastcb import FastCB

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
}


@pytest.mark.parametrize("place", ["{}", "{} " + FILLER, FILLER + " {}", FILLER + " {} " + FILLER])
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_value_that_vw_would_misread_is_refused(value: str, place: str) -> None:
    with workspace("--cb_explore 3") as vw, pytest.raises(RuntimeError, match=r"exponent|not followed by a value"):
        vw.learn(f"1:0.25:0.5 |u {place.format(value)}")


@pytest.mark.parametrize("namespace", ["u:", "u:-", "u:1e-256"])
def test_so_is_the_weight_of_a_namespace(namespace: str) -> None:
    with workspace("--cb_explore 3") as vw, pytest.raises(RuntimeError, match=r"exponent|not followed by a value"):
        vw.learn(f"1:0.25:0.5 |{namespace} x")


@pytest.mark.parametrize("value", ["x:1e-30", "x:2.5E+3", "x:red", "x:-.5", "3e:1", "1e5", "e5:2", ":0.5", "x:1e30"])
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
    "slates": ("--slates", f"slates shared 0.5{NO_BREAK}|u x\nslates action 0 |a x\nslates slot 0:1 |s x"),
}


@pytest.mark.parametrize(("flags", "event"), GLUED.values(), ids=GLUED)
def test_a_label_that_would_become_a_tag_is_refused(flags: str, event: str) -> None:
    with workspace(flags) as vw, pytest.raises(RuntimeError, match="no space between it and the bar"):
        vw.learn(event)


@pytest.mark.parametrize("tag", ["12:30:15", "12:30", "id-7", "42", "'0:1:0.5"])
def test_tags_are_still_tags(tag: str) -> None:
    with workspace("--cb_explore 3") as vw:
        vw.learn(f"1:0.25:0.5 {tag}|u x")
        vw.predict(f"{tag}|u x")


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


@pytest.mark.parametrize("flag", ["--affix +1x", "--spelling x", "--redefine y:=x"])
def test_arrays_refuse_flags_that_are_about_words(flag: str) -> None:
    with pytest.raises((RuntimeError, ValueError), match="arrays have none"):
        FastCB(3, vw_args=flag).decide([1.0, 2.0])


def test_a_network_that_changes_with_each_prediction_is_refused() -> None:
    assert "Leave one of the two out" in refused("--cb_explore", 3, "--fastcb", "--nn", 1, "--noconstant", "--no_stdin")
