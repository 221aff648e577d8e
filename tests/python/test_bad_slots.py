"""Bad labels of conditional bandits and slates, which VW's parsers would alter, are refused by name."""

import pytest

from support import ok, refused, write

CCB = "ccb shared |U a\nccb action |A x\nccb action |A y\nccb slot {} |S a\n\n"
SLATES = "slates shared {} |U a\nslates action 0 |A x\nslates action 0 |A y\nslates slot {} |S a\n\n"


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("0:nan:0.5", "cost 'nan'"),
        ("0:abc:0.5", "cost 'abc'"),
        ("0:7:0.5", "cost 7 is outside [0, 1]"),
        ("0:1:1.7", "probability '1.7'"),
        ("0:1:-0.2", "probability '-0.2'"),
        ("0:1:x", "probability 'x'"),
        ("red:1:0.5", "action 'red'"),
    ],
)
def test_bad_slot_of_a_conditional_bandit(tmp_path, label, message):
    data = write(tmp_path / "log", [CCB.format(label)])
    assert message in refused("--ccb_explore_adf", "--fastcb", "-d", data)


@pytest.mark.parametrize(
    ("cost", "slot", "message"),
    [
        ("nan", "0:0.5", "cost 'nan'"),
        ("x", "0:0.5", "cost 'x'"),
        ("7", "0:0.5", "cost 7 is outside [0, 1]"),
        ("1", "0:1.7", "probability '1.7'"),
        ("1", "0:nan", "probability 'nan'"),
    ],
)
def test_bad_slate(tmp_path, cost, slot, message):
    data = write(tmp_path / "log", [SLATES.format(cost, slot)])
    assert message in refused("--slates", "--fastcb", "-d", data)


def test_good_slots_are_learned(tmp_path):
    ok("--ccb_explore_adf", "--fastcb", "-d", write(tmp_path / "ccb", [CCB.format("0:1:0.5,1:0.5")]))
    ok("--slates", "--fastcb", "-d", write(tmp_path / "slates", [SLATES.format("1", "0:0.5,1:0.5")]))


@pytest.mark.parametrize("number", ["4294967297", "4294967298", "99999999999999999999"])
def test_an_action_number_does_not_wrap_around(tmp_path, number):
    data = write(tmp_path / "log", [f"{number}:1:0.5 |U a\n"])
    assert f"action '{number}'" in refused("--cb_explore", 3, "--fastcb", "-d", data)
