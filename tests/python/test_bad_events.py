"""Promise 6: a bad event is refused by name, as text and as objects, and leaves the model as it was."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from bad_events import (
    ACTIONS,
    ADF_TEXT,
    COSTS,
    EACH_FORMAT,
    FIXED_JSON,
    FIXED_TEXT,
    PROBABILITIES,
    Format,
    assert_refused,
    check_refusal,
    object_event,
    unchanged,
    workspace,
)
from vw_fastcb import pyvw

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


@pytest.mark.parametrize("interactions", ["", "-q uu"], ids=["linear", "interactions"])
@pytest.mark.parametrize("value", ["inf", "-inf", "1e39"])
@pytest.mark.parametrize("form", [ADF_TEXT, FIXED_TEXT], ids=["adf", "fixed"])
def test_a_feature_that_is_not_finite_is_refused(form: Format, value: str, interactions: str, tmp_path: Path) -> None:
    bad = form.good.replace("y:0.5", f"y:{value}")
    check_refusal(f"{form.flags} {interactions}", form.good, form.asked, bad, "has the value -?inf", tmp_path)


@pytest.mark.parametrize("form", [ADF_TEXT, FIXED_TEXT], ids=["adf", "fixed"])
def test_a_label_that_vw_takes_for_a_tag_is_refused(form: Format, tmp_path: Path) -> None:
    bad = form.good.replace("1:0.25:0.5 |", "1:0.25:0.5|")
    assert bad != form.good
    check_refusal(form.flags, form.good, form.asked, bad, r"'1:0.25:0.5' has no space", tmp_path)
    with workspace(form.flags) as vw:
        for tag in ("e-17", "12:30:15", "seed=7"):
            vw.predict(form.asked.replace("|u", f"{tag}|u", 1))
