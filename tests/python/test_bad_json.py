"""Promise 6 for events in JSON, as --json and as logs of a decision service."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from bad_events import (
    ACTIONS,
    ADF_JSON,
    ADF_TEXT,
    COSTS,
    DSJSON_ASKED,
    FIXED_JSON,
    PROBABILITIES,
    Format,
    check_refusal,
    dsjson,
)
from support import ok, predictions, refused, write

# What VW's parser of JSON labels takes as an object.
JSON_LABELS = [
    ({"Cost": "NaN"}, f"cost nan.*{COSTS}"),
    ({"Cost": math.nan}, "not valid JSON.*character"),
    ({"Cost": math.inf}, "not valid JSON.*character"),
    ({"Cost": -math.inf}, "not valid JSON.*character"),
    ({"Cost": 1e39}, f"cost inf.*{COSTS}"),
    ({"Cost": 1.5}, f"cost 1.5.*{COSTS}"),
    ({"Cost": -0.5}, f"cost -0.5.*{COSTS}"),
    ({"Cost": 2}, f"cost 2.*{COSTS}"),
    ({"Cost": "abc"}, "VW cannot read its JSON after character.*Cost"),
    ({"Cost": ""}, "VW cannot read its JSON after character.*Cost"),
    ({"Probability": 0}, f"probability 0.*{PROBABILITIES}"),
    ({"Probability": -0.2}, f"probability -0.2.*{PROBABILITIES}"),
    ({"Probability": -1}, f"probability -1.*{PROBABILITIES}"),
    ({"Probability": 1.7}, f"probability 1.7.*{PROBABILITIES}"),
    ({"Probability": math.nan}, "not valid JSON.*character"),
    ({"Probability": None}, f"probability.*{PROBABILITIES}"),
    ({"Action": 1.9}, "action 1.9 .*is unknown"),
    ({"Action": -1}, "action -1 .*is unknown"),
    ({"Action": 2**32 + 2}, "action 4294967298 .*is unknown"),
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


DSJSON_LABELS = [
    ({"_label_cost": "NaN"}, "_label_cost is not a number"),
    ({"_label_cost": math.nan}, "_label_cost is not a number"),
    ({"_label_cost": math.inf}, "_label_cost is not a number"),
    ({"_label_cost": -math.inf}, "not valid JSON.*character"),
    ({"_label_cost": 1e39}, f"cost inf.*{COSTS}"),
    ({"_label_cost": 1.5}, f"cost 1.5.*{COSTS}"),
    ({"_label_cost": 2}, f"cost 2.*{COSTS}"),
    ({"_label_cost": -0.5}, f"cost -0.5.*{COSTS}"),
    ({"_label_cost": "abc"}, "_label_cost is not a number"),
    ({"_label_cost": ""}, "_label_cost is not a number"),
    ({"_label_probability": 0}, f"probability 0.*{PROBABILITIES}"),
    ({"_label_probability": -0.2}, f"probability -0.2.*{PROBABILITIES}"),
    ({"_label_probability": -1}, f"probability -1.*{PROBABILITIES}"),
    ({"_label_probability": 1.7}, f"probability 1.7.*{PROBABILITIES}"),
    ({"_label_probability": math.nan}, "_label_probability is not a number"),
    ({"_label_probability": "abc"}, "_label_probability is not a number"),
    ({"_label_probability": None}, f"probability.*{PROBABILITIES}"),
    ({"_labelIndex": 3}, "_labelIndex is 3 .*3 actions.*0 to 2"),
    ({"_labelIndex": 99}, "_labelIndex is 99 .*3 actions.*0 to 2"),
    ({"_labelIndex": -1}, "action -1 in _labelIndex is unknown"),
    ({"_labelIndex": None, "_label_Action": 0}, "Give _labelIndex"),
    ({"_labelIndex": None, "_label_Action": 4}, "Give _labelIndex"),
    ({"_labelIndex": None, "_label_Action": 99}, "Give _labelIndex"),
    ({"_label_Action": 1.9}, "action 1.9 .*is unknown"),
    ({"_label_cost": None}, "its label has no cost"),
    ({"pdrop": 1}, "its pdrop is 1"),
    ({"pdrop": 1.5}, "its pdrop is 1.5"),
    ({"pdrop": -9}, "its pdrop is -9"),
    ({"c": None}, "a label and no context"),
    ({"c": []}, "Expected an object at character"),
    ({"c": 5}, "Expected an object at character"),
    ({"c": "x"}, "Expected an object at character"),
    ({"c": {"_multi": [None, {"a": {"b": 1}}, {"a": {"c": 1}}]}}, "entry 0 of _multi is not an object"),
    ({"a": [2.5, 1, 3]}, "action 2.5 .*is unknown"),
    ({"c": {"u": {"x": 1}, "_multi": []}}, "a label and no actions"),
    ({"a": None, "c": {"u": {"x": 1}}}, "a label and no actions"),
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
    check_refusal("--cb_explore_adf --dsjson", dsjson(), DSJSON_ASKED, line, "it is not valid JSON. Expected", tmp_path)


@pytest.mark.parametrize("line", MALFORMED.values(), ids=MALFORMED)
@pytest.mark.parametrize("form", [ADF_JSON, FIXED_JSON], ids=["adf", "fixed"])
def test_malformed_json_is_refused_in_python(form: Format, line: str, tmp_path: Path) -> None:
    check_refusal(form.flags, form.good, form.asked, line, "not valid JSON|_multi", tmp_path)


WRONG_WORDS = {
    "zeros before a number": ('"x": 1', '"x": 01', r"Expected a number without zeros .* after the name 'x'"),
    "zeros before a cost": ('"_label_cost": ', '"_label_cost": 0', r"zeros .* after the name '_label_cost'"),
    "an escape in a name": ('"x": 1', r'"x\q": 1', r'one of "\\/bfnrtu after a backslash at character \d+, found'),
    "a number as the id": ('"EventId": "e"', '"EventId": 5', "its EventId is not text. Write it in quotes"),
    "a list as the id": ('"EventId": "e"', '"EventId": ["e"]', "its EventId is not text. Write it in quotes"),
    "a huge number": ('"x": 1', '"x": 1e999', r"VW cannot read its JSON after character \d+: Number too big"),
    "half a character": ('"x": 1', r'"x": "\ud800"', r"after character \d+: The surrogate pair in string is invalid"),
}


@pytest.mark.parametrize(("good", "bad", "message"), WRONG_WORDS.values(), ids=WRONG_WORDS)
def test_what_json_does_not_allow_is_refused_in_plain_words(good: str, bad: str, message: str, tmp_path: Path) -> None:
    line = dsjson().replace(good, bad, 1)
    assert line != dsjson()
    check_refusal("--cb_explore_adf --dsjson", dsjson(), DSJSON_ASKED, line, message, tmp_path)


def test_a_decision_log_without_the_ids_of_the_actions_is_learned(tmp_path: Path) -> None:
    """VW skips such events without a word."""
    logs = {"with": [dsjson()] * 3, "without": [dsjson(a=None)] * 3}
    for name, lines in logs.items():
        log = write(tmp_path / f"{name}.log", [line + "\n" for line in lines])
        said = ok("--cb_explore_adf", "--fastcb", "--dsjson", "-d", log, "-p", tmp_path / name)
        assert "number of examples = 3" in said
    assert (tmp_path / "with").read_text() == (tmp_path / "without").read_text()
    pmfs = predictions(tmp_path / "without")
    assert pmfs[0] != pmfs[2]


def test_the_command_line_skips_what_is_no_decision_and_nothing_else(tmp_path: Path) -> None:
    reward = json.dumps({"RewardValue": 1.0, "EventId": "e"})
    lines = (dsjson(), "", reward, dsjson(_skipLearn=True), f" {dsjson()}")
    log = write(tmp_path / "log", [f"{line}\n" for line in lines])
    assert "number of examples = 2" in ok("--cb_explore_adf", "--fastcb", "--dsjson", "-d", log)
    for line in ("hello", "[]"):
        log = write(tmp_path / "log", [f"{each}\n" for each in (dsjson(), line, dsjson())])
        said = refused("--cb_explore_adf", "--fastcb", "--dsjson", "-d", log)
        assert f"Expected an object at character 1, found '{line}'" in said
        assert "event 2 of the input, line 2" in said


@pytest.mark.parametrize("line", ["shared |u x", '{"u": {"x": 1}, "_multi": []}'], ids=["text", "json"])
def test_an_event_without_actions_is_refused(line: str, tmp_path: Path) -> None:
    form = ADF_JSON if line.startswith("{") else ADF_TEXT
    check_refusal(form.flags, form.good, form.asked, line, "no action", tmp_path)
    log = write(tmp_path / "log", [f"{form.good}\n\n", f"{line}\n\n"] if form is ADF_TEXT else [f"{line}\n"])
    assert "no action" in refused(*form.flags.split(), "--fastcb", "-d", log)


def test_a_label_behind_its_context_is_refused(tmp_path: Path) -> None:
    """VW reads it too late and learns nothing."""
    event = json.loads(dsjson())
    behind = json.dumps({"c": event.pop("c"), **event})
    check_refusal("--cb_explore_adf --dsjson", dsjson(), DSJSON_ASKED, behind, "comes after the context", tmp_path)


@pytest.mark.parametrize("line", ["5", '"x"', "true", "null", "[1]"])
@pytest.mark.parametrize("form", [ADF_JSON, FIXED_JSON], ids=["adf", "fixed"])
def test_a_line_that_is_no_object_is_refused(form: Format, line: str, tmp_path: Path) -> None:
    """Stock VW crashes on some of these."""
    check_refusal(form.flags, form.good, form.asked, line, "Expected an object", tmp_path)
    log = write(tmp_path / "log", [f"{line}\n"])
    assert f"Expected an object at character 1, found '{line}'" in refused(*form.flags.split(), "--fastcb", "-d", log)


@pytest.mark.parametrize("name", ["\u00c9t\u00e9", "\u65e5\u672c", "\u00ff"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_namespaces_may_begin_with_any_letter(name: str, ascii_only: bool, tmp_path: Path) -> None:
    """Stock VW writes out of bounds for those outside of ASCII."""
    event = {"u": {"x": 1}, name: {"z": 1, name: [1, 2]}, "_multi": [{name: {"a": 1}}, {name: {"b": 1}}]}
    labelled = {"_labelIndex": 0, "_label_Action": 1, "_label_Cost": 0, "_label_Probability": 0.5, **event}
    lines = [json.dumps(one, ensure_ascii=ascii_only) + "\n" for one in (labelled, labelled, event)]
    log = write(tmp_path / "log", lines)
    ok("--cb_explore_adf", "--fastcb", "--json", "-d", log, "-p", tmp_path / "pmfs")
    assert predictions(tmp_path / "pmfs")[2][0] > 0.5
