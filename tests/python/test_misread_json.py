"""JSON that VW reads, but not as it was meant, is refused: labels in the wrong place, and given twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bad_events import workspace
from support import ok, refused, write

LABEL = '"_label_cost":0,"_label_probability":0.5,"_label_Action":1,"_labelIndex":0'
MULTI = '"_multi":[{"A":{"x":1}},{"A":{"y":1}}]'
FORMATS = {
    "json": ("--json", "{" + LABEL + ",%s}"),
    "dsjson": ("--dsjson", "{" + LABEL + ',"a":[1,2],"p":[0.5,0.5],"c":{%s}}'),
}
EACH_FORMAT = pytest.mark.parametrize(("flag", "event"), FORMATS.values(), ids=FORMATS)


def refuses(flags: str, event: str, message: str) -> None:
    with workspace(flags) as vw:
        for use in (vw.learn, vw.predict):
            with pytest.raises(RuntimeError, match=f"bad event: .*{message}"):
                use(event)


@EACH_FORMAT
def test_the_events_that_the_tests_below_change_are_learned(flag: str, event: str) -> None:
    with workspace(f"--cb_explore_adf {flag}") as vw:
        vw.learn(event % MULTI)


PARTS = ['"_label_cost":1', '"_labelIndex":1', '"_label_Action":2', '"_label_probability":0.1', '"_label":"0:1:0.5"']
PLACES = {
    "in the shared features": '"U":{"b":1,%s},' + MULTI,
    "deep in the shared features": '"U":{"b":{"c":[{"d":1,%s}]}},' + MULTI,
    "after the actions": MULTI + ',"U":{%s}',
    "in the features of an action": '"_multi":[{"A":{"x":1,%s}},{"A":{"y":1}}]',
}


@EACH_FORMAT
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_label_among_the_features_is_refused(flag: str, event: str, part: str, place: str) -> None:
    refuses(f"--cb_explore_adf {flag}", event % (place % part), "_label.* is among the features")


@EACH_FORMAT
@pytest.mark.parametrize("part", PARTS[:-1])
@pytest.mark.parametrize("action", [0, 1])
def test_a_part_of_a_label_inside_an_action_is_refused(flag: str, event: str, part: str, action: int) -> None:
    actions = ['{"A":{"x":1}}', '{"A":{"y":1}}']
    actions[action] = actions[action][:-1] + f",{part}}}"
    refuses(f"--cb_explore_adf {flag}", event % f'"_multi":[{",".join(actions)}]', "_label.* is inside an action")


@EACH_FORMAT
def test_a_label_on_the_event_and_on_an_action_is_refused(flag: str, event: str) -> None:
    two = '"_multi":[{"A":{"x":1},"_label":"0:1:0.5"},{"A":{"y":1}}]'
    refuses(f"--cb_explore_adf {flag}", event % two, "has a label, and so has an action")
    refuses(f"--cb_explore_adf {flag}", event % f'"_label":"0:1:0.5",{MULTI}', "a _label, and parts of one")


@pytest.mark.parametrize("event", ['{"_label":%s,' + MULTI + "}", "{" + MULTI + ',"_label":%s}'])
@pytest.mark.parametrize("label", ['"0:1:0.5"', '{"Action":1,"Cost":1,"Probability":0.5}'])
def test_a_whole_label_beside_the_actions_is_refused(event: str, label: str) -> None:
    """After the actions, VW would make an action of the shared features."""
    refuses("--cb_explore_adf --json", event % label, "its label belongs to no action")


FIXED = {
    "a part among the features": ('"_label_Action":1,"_label_cost":0,"_label_probability":0.5', '"_label_Action":2'),
    "an action twice": ('"_label":{"Action":1,"Cost":0,"Probability":0.5,"Action":2}', '"y":1'),
    "a probability twice": ('"_label":{"Action":1,"Cost":0,"Probability":0.5,"probability":0.1}', '"y":1'),
    "a label of regression": ('"_label":{"Label":1}', '"y":1'),
    "a weight": ('"_label":{"Action":1,"Cost":0,"Probability":0.5,"Weight":3}', '"y":1'),
    "a part of another label": ('"_label_Label":1', '"y":1'),
    "a label and parts of one": ('"_label":"1:0:0.5","_label_cost":1', '"y":1'),
    "two labels": ('"_label":"1:0:0.5","_label":"2:0:0.5"', '"y":1'),
}


@pytest.mark.parametrize(("label", "feature"), FIXED.values(), ids=FIXED)
def test_labels_of_fixed_actions(label: str, feature: str) -> None:
    refuses(
        "--cb_explore 3 --json",
        f'{{{label},"x":{{"a":1,{feature}}}}}',
        "among the features|twice|VW would drop|no part of a label|parts of one",
    )


CLASSES = ['"_label":{"Label":1}', '"_label":{"Action":1}', '"_label_Label":1', '"_label":1.5']


@pytest.mark.parametrize("label", CLASSES)
def test_labels_of_classes(label: str) -> None:
    refuses("--cbify 3 --cb_explore 3 --json", f'{{{label},"x":{{"a":1}}}}', "VW would drop|is unknown")


@pytest.mark.parametrize("field", ['"a":[2,1]', '"p":[0.5,0.5]'])
def test_lists_given_twice_are_refused(field: str) -> None:
    event = FORMATS["dsjson"][1] % MULTI
    refuses("--cb_explore_adf --dsjson", f"{event[:-1]},{field}}}", "is given twice")


# A log entry of a conditional bandit: the context, the slot and its outcome can be added to.
CCB = (
    '{"EventId":"e","c":{"U":{"b":1}%s,"_multi":[{"A":{"x":1}%s},{"A":{"y":1}}],"_slots":[{"S":{"z":1}%s}]},'
    '"_outcomes":[{%s"_a":%s,"_p":%s}]%s}'
)
CHANGES = {
    "a cost that is an object": ({3: '"_label_cost":{},'}, "_label_cost of a slot is not a number"),
    "a cost that is a word": ({3: '"_label_cost":"NaN",'}, "_label_cost of a slot is not a number"),
    "an index for the cost": ({3: '"_labelIndex":0,'}, "_labelIndex is inside a slot"),
    "two costs": ({3: '"_label_cost":0,"_label_cost":1,'}, "_label_cost is given twice"),
    "an index beside the cost": ({3: '"_label_cost":0,"_labelIndex":0,'}, "_labelIndex is inside a slot"),
    "outcomes twice": ({6: ',"_outcomes":[{"_label_cost":1,"_a":[1],"_p":[1]}]'}, "_outcomes is given twice"),
    "a label in the slot too": (
        {2: ',"_label_cost":1,"_a":[1],"_p":[1]'},
        "both _slots and _outcomes say what was chosen",
    ),
    "an action twice": ({4: "[0,0]"}, "slot 0 lists action 0 twice"),
    "too small a sum": ({5: "[0.25,0.25]"}, "add up to 0.5, not to 1"),
    "too large a sum": ({5: "[0.75,0.75]"}, "add up to 1.5, not to 1"),
    "a cost in the context": ({0: ',"_label_cost":1'}, "a label outside of them"),
    "a cost in an action": ({1: ',"_label_cost":1'}, "_label_cost is inside an action"),
    "a cost among the features": ({0: ',"V":{"_label_cost":1}'}, "_label_cost is among the features"),
    "actions of a slot in the context": ({0: ',"_inc":[0]'}, "_inc is outside a slot"),
    "actions twice": ({3: '"_label_cost":0,"_a":[1],'}, "_a is given twice"),
}


def ccb_log(changes: dict[int, str]) -> str:
    parts = ["", "", "", '"_label_cost":0,', "[0,1]", "[0.25,0.75]", ""]
    return CCB % tuple(changes.get(i, part) for i, part in enumerate(parts))


@pytest.mark.parametrize(("changes", "message"), CHANGES.values(), ids=CHANGES)
def test_logs_of_conditional_bandits_that_contradict_themselves(
    changes: dict[int, str], message: str, tmp_path: Path
) -> None:
    refuses("--ccb_explore_adf --dsjson", ccb_log(changes), message)
    log = write(tmp_path / "log", [ccb_log({}) + "\n", ccb_log(changes) + "\n", ccb_log({}) + "\n"])
    said = ok("--ccb_explore_adf", "--fastcb", "--dsjson", "--fastcb_bad_events", "skip", "-d", log)
    assert "number of examples = 2" in said
    assert "skipped 1 bad event of 3, at line 2" in said


@pytest.mark.parametrize("probabilities", ["[0.2501,0.75]", "[0.333,0.667]", "[1,0]"])
def test_rounded_probabilities_are_learned(probabilities: str) -> None:
    with workspace("--ccb_explore_adf --dsjson") as vw:
        vw.learn(ccb_log({5: probabilities}))


def test_outcomes_outside_a_log_are_refused() -> None:
    context = json.dumps({**json.loads(ccb_log({}))["c"], "_outcomes": [{"_label_cost": 0, "_a": [0], "_p": [1]}]})
    refuses("--ccb_explore_adf --json", context, "label the _slots")


SLATE = (
    '{"EventId":"e",%s"c":{"U":{"b":%s},"_multi":[{"_slot_id":0,"A":{"x":1}},{%s"A":{"y":1}}],"_slots":[{"S":{"z":1}}]},'
    '"_outcomes":[{%s"_a":%s,"_p":%s}]}'
)
SLATE_CHANGES = {
    "two costs": ({0: '"_label_cost":1,"_label_cost":0,'}, "_label_cost is given twice"),
    "a cost in the outcome": ({3: '"_label_cost":1,'}, "VW would ignore its '_label_cost'"),
    "a cost in an action": ({2: '"_slot_id":0,"_label_cost":1,'}, "VW would ignore its '_label_cost'"),
    "a slot twice": ({2: '"_slot_id":0,"_slot_id":5,'}, "_slot_id is given twice"),
    "an action twice": ({4: "[0,0]"}, "slot 0 lists action 0 twice"),
    "too small a sum": ({5: "[0.25,0.25]"}, "add up to 0.5, not to 1"),
    "a negative feature": ({1: "-2"}, "Write others with a decimal point"),
    "no value": ({1: "null"}, "a feature is null"),
    "words in an array": ({1: '["a"]'}, "something else than numbers and objects"),
    "too large a number": ({1: "1e400"}, "Number too big"),
}


def slates_log(changes: dict[int, str]) -> str:
    parts = ['"_label_cost":0,', "1", '"_slot_id":0,', "", "[0,1]", "[0.25,0.75]"]
    return SLATE % tuple(changes.get(i, part) for i, part in enumerate(parts))


@pytest.mark.parametrize(("changes", "message"), SLATE_CHANGES.values(), ids=SLATE_CHANGES)
def test_logs_of_slates_that_contradict_themselves(changes: dict[int, str], message: str) -> None:
    refuses("--slates --dsjson", slates_log(changes), message)
    with workspace("--slates --dsjson") as vw:
        vw.learn(slates_log({}))
        vw.learn(slates_log({1: "-2.0"}))


def test_slates_in_plain_json_cannot_have_a_label() -> None:
    context = json.loads(slates_log({}))["c"]
    with workspace("--slates --json") as vw:
        vw.predict(json.dumps(context))
    refuses("--slates --json", json.dumps({"_label_cost": 0, **context}), "which --dsjson reads")


def test_a_zero_character_in_a_word_is_refused(tmp_path: Path) -> None:
    event = f'{{{LABEL},"_multi":[{{"A":{{"word":"x\\u0000cat"}}}},{{"A":{{"word":"y"}}}}]}}'
    refuses("--cb_explore_adf --json", event, "zero character")
    assert "zero character" in refused(
        "--cb_explore_adf", "--fastcb", "--json", "-d", write(tmp_path / "log", [event + "\n"])
    )
