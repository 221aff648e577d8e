"""Products of features that single precision cannot hold: refused with VW's own regressor, bounded with newton."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bad_events import workspace
from support import ok, refused, write
from vw_fastcb import FastCB

PROBLEM = "a product of features in an interaction is too large for single precision"
GOOD = {
    "fixed": "1:1:0.5 |a x:2 y:3 |b x:0.5",
    "adf": "shared |a x:2\n0:1:0.5 |b x:0.5\n|b y",
    "slots": "ccb shared |a x:2\nccb action |b x\nccb action |b y\nccb slot 0:1:0.5 |s x",
    "slates": "slates shared 0.5 |a x:2\nslates action 0 |b x\nslates action 0 |b y\nslates slot 0:1 |s x",
}
DOORS = {"fixed": "--cb_explore 2", "adf": "--cb_explore_adf", "slots": "--ccb_explore_adf", "slates": "--slates"}
BAD = {
    "both sides": ("fixed", "-q ab", "1:1:0.5 |a x:1e30 |b x:1e30"),
    "opposite signs": ("fixed", "-q ab", "1:1:0.5 |a x:1e30 y:-1e30 |b x:1e30"),
    "just too large": ("fixed", "-q ab", "1:1:0.5 |a x:1.9e19 |b x:1.9e19"),
    "with itself": ("fixed", "-q aa", "1:1:0.5 |a x:1e30 |b x"),
    "wildcards": ("fixed", "-q ::", "1:1:0.5 |a x:1e30 |b x:1e10"),
    "half a wildcard": ("fixed", "-q b:", "1:1:0.5 |a x:1e30 |b x:1e10"),
    "three, the last of which is 0": ("fixed", "--cubic abc", "1:1:0.5 |a x:1e20 |b x:1e20 |c x:1e-30"),
    "full names": ("fixed", "--experimental_full_name_interactions aa|bb", "1:1:0.5 |aa x:1e30 |bb x:1e30"),
    "to be predicted": ("fixed", "-q ab", " |a x:1e30 |b x:1e30"),
    "across lines": ("adf", "-q ab", "shared |a x:1e30\n0:1:0.5 |b x\n|b y:1e30"),
    "an action": ("adf", "-q bc", "shared |a x:1\n0:1:0.5 |b x\n|b y:1e30 |c x:-1e30"),
    "slots": ("slots", "-q as", GOOD["slots"].replace("a x:2", "a x:1e30").replace("s x", "s x:1e30")),
    "slates": ("slates", "-q ab", GOOD["slates"].replace("a x:2", "a x:1e30").replace("b y", "b y:1e30")),
}


@pytest.mark.parametrize(("door", "flags", "bad"), BAD.values(), ids=BAD)
def test_it_is_refused_and_leaves_no_trace(door: str, flags: str, bad: str, tmp_path: Path) -> None:
    with workspace(f"{DOORS[door]} {flags}") as disturbed, workspace(f"{DOORS[door]} {flags}") as quiet:
        for _ in range(3):
            disturbed.learn(GOOD[door])
            quiet.learn(GOOD[door])
            for call in (disturbed.learn, disturbed.predict):
                with pytest.raises(RuntimeError, match=PROBLEM):
                    call(bad)
        assert disturbed.predict(GOOD[door]) == quiet.predict(GOOD[door])
        disturbed.save(str(tmp_path / "disturbed"))
        quiet.save(str(tmp_path / "quiet"))
    assert (tmp_path / "disturbed").read_bytes() == (tmp_path / "quiet").read_bytes()
    end = "\n\n" if "\n" in GOOD[door] else "\n"
    log = write(tmp_path / "log", [GOOD[door] + end, bad + end])
    assert PROBLEM in refused(*DOORS[door].split(), *flags.split(), "--fastcb", "-d", log)
    ok(*DOORS[door].split(), *flags.split(), "--fastcb", "-d", log, "--fastcb_bad_events", "skip")


FINE = {
    "no interaction": ("fixed", "", "1:1:0.5 |a x:1e30 |b x:1e30"),
    "other namespaces": ("fixed", "-q ac", "1:1:0.5 |a x:1e30 |b x:1e30"),
    "not of one action": ("adf", "-q bc", "shared |a x:1\n0:1:0.5 |b x:1e30\n|c y:1e30"),
    "just fits": ("fixed", "-q ab", "1:1:0.5 |a x:1.8e19 |b x:1.8e19"),
}


@pytest.mark.parametrize(("door", "flags", "event"), FINE.values(), ids=FINE)
def test_what_makes_no_such_product_is_learned(door: str, flags: str, event: str) -> None:
    with workspace(f"{DOORS[door]} {flags}") as vw:
        vw.learn(event)


def test_newton_bounds_products_and_learns() -> None:
    with workspace("--cb_explore 2 --fastcb_oracle newton -q ab") as vw:
        for _ in range(20):
            vw.learn("1:1:0.5 |a x:1e30 |b x:1e30")
        assert vw.predict("|a x:1e30 |b x:1e30")[1] > 0.9


@pytest.mark.parametrize("fixed", [True, False])
def test_arrays_with_one_are_refused_before_any_is_learned(fixed: bool) -> None:
    flags = {"oracle": "gd", "seed": 1, "vw_args": "-q xx" if fixed else "-q xa"}
    actions = () if fixed else (np.array([[1.0, 2.0], [3.0, 1e30]]),)
    good = None if fixed else np.eye(2)
    bandit, twin = (FastCB(2 if fixed else None, **flags) for _ in range(2))
    for learner in (bandit, twin):
        learner.learn_event(np.array([1.0, 2.0]), 1, cost=1.0, action_features=good)
    huge = np.array([1.0, 1e30])
    with pytest.raises(ValueError, match=PROBLEM):
        bandit.decide(huge, *actions)
    with pytest.raises(ValueError, match=PROBLEM):
        bandit.learn_event(huge, 1, cost=1.0, action_features=actions[0] if actions else None)
    assert bandit.to_bytes() == twin.to_bytes()


def test_a_batch_with_one_is_refused_whole() -> None:
    bandit, twin = (FastCB(2, oracle="gd", seed=1, vw_args="-q xx") for _ in range(2))
    rows = np.ones((5, 2))
    for learner in (bandit, twin):
        learner.partial_fit(rows, [0] * 5, [1.0] * 5)
    rows[4, 1] = 1e30
    with pytest.raises(ValueError, match=PROBLEM):
        bandit.partial_fit(rows, [0] * 5, [1.0] * 5)
    with pytest.raises(ValueError, match=PROBLEM):
        bandit.decide_many(rows)
    assert bandit.to_bytes() == twin.to_bytes()
