"""Bad events of conditional bandits and slates, which VW would alter, drop or learn in part, are refused whole."""

import json

import pytest

from support import ok, refused, write
from vw_fastcb import Workspace

CCB = [
    "ccb shared |U a",
    "ccb action |A x",
    "ccb action |A y",
    "ccb action |A z",
    "ccb slot {} |S a",
    "ccb slot {} |S b",
]
SLATES = [
    "slates shared {} |U a",
    "slates action 0 |A x",
    "slates action 0 |A y",
    "slates action 1 |A z",
    "slates slot {} |S a",
    "slates slot {} |S b",
]


def ccb(first="0:1:0.5", second="1:0:0.5"):
    return [*CCB[:4], CCB[4].format(first), CCB[5].format(second)]


def slates(cost="1", first="0:0.5", second="0:1"):
    return [SLATES[0].format(cost), *SLATES[1:4], SLATES[4].format(first), SLATES[5].format(second)]


def check_refusal(flags, good, bad, message, tmp_path):
    """The command line stops with the message; a workspace refuses the event and its model stays as it was."""
    for event in ("\n".join(bad) + "\n\n", "\n".join([*good, "", *bad]) + "\n\n"):
        assert message in refused(*flags.split(), "--fastcb", "-d", write(tmp_path / "log", [event]))
    vw = Workspace(f"{flags} --fastcb --quiet")
    vw.learn(good)

    def model():
        vw.save(tmp_path / "model")
        return (tmp_path / "model").read_bytes()

    before = model()
    for use in (vw.learn, vw.predict):
        with pytest.raises(RuntimeError, match="bad event") as problem:
            use(bad)
        assert message in str(problem.value)
        assert model() == before
    vw.learn(good)
    assert model() != before


# The first slot of each event is good: it must not be learned either.
BAD_CCB = {
    "cost nan": ("1:nan:0.5", "cost 'nan'"),
    "cost not a number": ("1:abc:0.5", "cost 'abc'"),
    "cost outside": ("1:7:0.5", "cost 7 is outside [0, 1]"),
    "probability above": ("1:1:1.7", "probability '1.7'"),
    "probability below": ("1:1:-0.2", "probability '-0.2'"),
    "probability zero": ("1:1:0", "probability 0 of the chosen action is outside (0, 1]"),
    "probability not a number": ("1:1:x", "probability 'x'"),
    "a word for an action": ("red:1:0.5", "action 'red'"),
    "unknown action": ("3:1:0.5", "action 3 of slot 1 is unknown. The slot has 3 actions"),
    "unknown among the others": ("1:1:0.5,9:0.5", "action 9 of slot 1 is unknown"),
    "chosen by the slot before": ("0:1:0.5", "slot 1 cannot have chosen action 0"),
    "not among those it may use": ("1:1:0.5 2", "slot 1 cannot have chosen action 1"),
    "may use a word": ("1:1:0.5 1,x", "action 'x'"),
    "may use an unknown one": ("1:1:0.5 1,7", "action 7 of slot 1 is unknown"),
}


@pytest.mark.parametrize(("label", "message"), BAD_CCB.values(), ids=BAD_CCB)
def test_bad_slot_of_a_conditional_bandit(tmp_path, label, message):
    check_refusal("--ccb_explore_adf", ccb(), ccb(second=label), message, tmp_path)


BAD_SLATES = {
    "cost nan": (("nan", "0:0.5", "0:1"), "cost 'nan'"),
    "cost not a number": (("x", "0:0.5", "0:1"), "cost 'x'"),
    "cost outside": (("7", "0:0.5", "0:1"), "cost 7 is outside [0, 1]"),
    "probability above": (("1", "0:0.5", "0:1.7"), "probability '1.7'"),
    "probability nan": (("1", "0:0.5", "0:nan"), "probability 'nan'"),
    "probability zero": (("1", "0:0.5", "0:0"), "probability 0 of the chosen action"),
    "unknown action": (("1", "0:0.5", "1:1"), "action 1 of slot 1 is unknown. The slot has 1 actions"),
    "cost and no action": (("1", "0:0.5", ""), "slot 1 has a cost but does not say which action was chosen"),
    "action and no cost": (("", "0:0.5", "0:1"), "slot 0 says what was chosen, but the shared line has no cost"),
}


@pytest.mark.parametrize(("labels", "message"), BAD_SLATES.values(), ids=BAD_SLATES)
def test_bad_slate(tmp_path, labels, message):
    check_refusal("--slates", slates(), slates(*labels), message, tmp_path)


@pytest.mark.parametrize(
    ("flags", "good", "lines"),
    [
        ("--ccb_explore_adf", ccb(), ccb()[1:]),
        ("--ccb_explore_adf", ccb(), [ccb()[0], *ccb()]),
        ("--ccb_explore_adf", ccb(), [*ccb()[:2], *ccb()[4:], *ccb()[2:4]]),
        ("--slates", slates(), slates()[1:]),
        ("--slates", slates(), slates()[:1]),
        ("--ccb_explore_adf", ccb(), ccb()[:4]),
        ("--slates", slates(), [slates()[0], *slates()[4:], *slates()[1:4]]),
    ],
)
def test_lines_in_another_order_are_refused(tmp_path, flags, good, lines):
    check_refusal(flags, good, lines, "its lines are out of order. Give one shared line, then the actions", tmp_path)


def test_an_action_of_an_unknown_slot_is_refused(tmp_path):
    bad = [*slates()[:3], "slates action 5 |A z", *slates()[4:]]
    check_refusal("--slates", slates(), bad, "an action belongs to slot 5", tmp_path)


def test_good_slots_are_learned(tmp_path):
    ok("--ccb_explore_adf", "--fastcb", "-d", write(tmp_path / "ccb", ["\n".join(ccb("0:1:0.5,1:0.5")) + "\n\n"]))
    ok("--slates", "--fastcb", "-d", write(tmp_path / "slates", ["\n".join(slates("1", "0:0.5,1:0.5")) + "\n\n"]))


def slates_log(**changes):
    """A logged slate; None leaves a member out."""
    event = {
        "_label_cost": 1,
        "EventId": "1",
        "c": {
            "U": {"a": 1},
            "_multi": [{"_slot_id": 0, "A": {"x": 1}}, {"_slot_id": 0, "A": {"y": 1}}, {"_slot_id": 1, "A": {"z": 1}}],
            "_slots": [{"S": {"a": 1}}, {"S": {"b": 1}}],
        },
        "_outcomes": [{"_a": 0, "_p": 0.5}, {"_a": [0], "_p": [1]}],
        **changes,
    }
    return json.dumps({name: value for name, value in event.items() if value is not None}) + "\n"


def conditional_log(**changes):
    event = json.loads(slates_log().replace('"_slot_id"', '"_id"'))
    event["_outcomes"] = [
        {"_label_cost": 1, "_a": [0, 1], "_p": [0.5, 0.5]},
        {"_label_cost": 0, "_a": [1], "_p": [1]},
    ]
    del event["_label_cost"]
    return json.dumps({**event, **changes}) + "\n"


GOOD_OUTCOME = {"_a": 0, "_p": 0.5}
BAD_SLATES_JSON = {
    "malformed": (slates_log()[:-20] + "\n", "it is not valid JSON"),
    "no context": (slates_log(c=None), "c is missing or has the wrong type"),
    "cost a word": (slates_log(_label_cost="cheap"), "_label_cost is missing or has the wrong type"),
    "cost outside": (slates_log(_label_cost=7), "cost 7 is outside [0, 1]"),
    "half an action": (slates_log(_outcomes=[GOOD_OUTCOME, {"_a": [0.9], "_p": [1]}]), "_a is missing"),
    "an action that wraps": (slates_log(_outcomes=[GOOD_OUTCOME, {"_a": [2**32], "_p": [1]}]), "_a is missing"),
    "no probability": (slates_log(_outcomes=[GOOD_OUTCOME, {"_a": [0]}]), "_p is missing"),
    "unknown action": (slates_log(_outcomes=[GOOD_OUTCOME, {"_a": 1, "_p": 1}]), "action 1 of slot 1 is unknown"),
    "pdrop 1": (slates_log(pdrop=1), "pdrop is missing or has the wrong type. Expected a number in [0, 1)"),
    "not an object": ("hello\n", "Expected an object at character 1, found 'hello'"),
    "text after it": (slates_log().rstrip() + "}\n", "must not be followed by other values"),
    "too deep": (slates_log(x=0).replace('"x": 0', '"x": ' + "[" * 10**6 + "]" * 10**6), "more than 100 levels deep"),
    "too deep an object": (
        slates_log(x=0).replace('"x": 0', '"x": ' + '{"y":' * 99 + "{}" + "}" * 99),
        "more than 100",
    ),
    "a zero in a name": (slates_log().replace('"U"', '"U\\u0000"'), "contains a zero character"),
    "a zero in a text": (slates_log(x="a\0b"), "contains a zero character"),
    "a hidden label": (slates_log().replace('"z"', '"\\u005flabel_cost"'), "VW would ignore its '_label_cost'"),
}


@pytest.mark.parametrize(("bad", "message"), BAD_SLATES_JSON.values(), ids=BAD_SLATES_JSON)
def test_bad_slate_in_a_decision_log(tmp_path, bad, message):
    assert message in refused("--slates", "--fastcb", "--dsjson", "-d", write(tmp_path / "log", [slates_log(), bad]))


BAD_CCB_JSON = {
    "half an action": ([0.9], [1], "action 0.9 in _a is unknown"),
    "negative": ([-1], [1], "action -1 in _a is unknown"),
    "an action that wraps": ([2**32 + 1], [1], "is unknown. Actions are whole numbers"),
    "nan": (["NaN"], [1], "_a contains something that is not a number"),
    "not there": ([3], [1], "action 3 of slot 1 is unknown"),
    "probability": ([1], [1.5], "probability 1.5"),
    "probability of another": ([1, 2], [0.6, -3], "probability -3 in _p is outside [0, 1]"),
    "no actions": ([], [], "0 actions in _a"),
    "no probabilities": ([1], [], "1 actions in _a and 0 probabilities"),
}


@pytest.mark.parametrize(("actions", "probabilities", "message"), BAD_CCB_JSON.values(), ids=BAD_CCB_JSON)
def test_bad_slot_in_a_decision_log(tmp_path, actions, probabilities, message):
    outcomes = json.loads(conditional_log())["_outcomes"]
    outcomes[1] = {"_label_cost": 0, "_a": actions, "_p": probabilities}
    log = write(tmp_path / "log", [conditional_log(), conditional_log(_outcomes=outcomes)])
    assert message in refused("--ccb_explore_adf", "--fastcb", "--dsjson", "-d", log)


def test_a_slate_of_a_hundred_levels_is_learned(tmp_path):
    deep = slates_log(x=0).replace('"x": 0', '"x": ' + '{"y":' * 98 + "{}" + "}" * 98)
    ok("--slates", "--fastcb", "--dsjson", "-d", write(tmp_path / "log", [deep]))


def test_good_slots_of_a_decision_log_are_learned(tmp_path):
    for flag, log in (("--slates", slates_log()), ("--ccb_explore_adf", conditional_log())):
        said = ok(flag, "--fastcb", "--dsjson", "-d", write(tmp_path / "log", [log, "\n", log]))
        assert "number of examples = 2" in said


@pytest.mark.parametrize("number", ["4294967297", "4294967298", "99999999999999999999"])
def test_an_action_number_does_not_wrap_around(tmp_path, number):
    data = write(tmp_path / "log", [f"{number}:1:0.5 |U a\n"])
    assert f"action '{number}'" in refused("--cb_explore", 3, "--fastcb", "-d", data)
