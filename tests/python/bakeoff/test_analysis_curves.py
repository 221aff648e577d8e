from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bakeoff.synthetic import datasets, results
from vw_fastcb.bakeoff.analysis import curve_sets, mean_curve
from vw_fastcb.bakeoff.analysis.comparison import CRITICAL


def test_a_curve_is_the_mean_of_the_running_means():
    curve = mean_curve([np.array([1, 0, 0, 1], np.uint8), np.array([0, 0, 1, 1], np.uint8)])
    assert curve.loss.tolist() == pytest.approx([0.5, 0.25, (1 / 3 + 1 / 3) / 2, 0.5])
    assert curve.half_width[3] == pytest.approx(CRITICAL * np.sqrt(0.25 / 8))  # n = t times shuffles = 8
    assert curve.shuffles == 2


def test_long_curves_do_not_overflow_their_bytes():
    assert mean_curve([np.ones(1000, np.uint8)]).loss[-1] == 1.0


def frame(gaps: dict[str, float]):
    """Over 1,000 rounds, SquareCB.L at 0.3 and FastCB.L better by the gap."""
    return results(
        [(name, "FastCB.L", 0.3 - gap) for name, gap in gaps.items()] + [(name, "SquareCB.L", 0.3) for name in gaps]
    )


def test_two_clear_wins_and_the_clearest_loss_are_drawn():
    gaps = {"even": 0.0, "win": 0.1, "loss": -0.05, "worse": -0.1, "great": 0.2, "small": 0.04}
    assert curve_sets(frame(gaps), datasets(gaps)) == ["great", "win", "worse"]


def test_without_a_significant_loss_three_wins_are_drawn():
    gaps = {"even": 0.0, "win": 0.1, "hardly": -0.001, "great": 0.2, "small": 0.04}
    assert curve_sets(frame(gaps), datasets(gaps)) == ["great", "win", "small"]


def test_siblings_wait():
    gaps = {"base": 0.2, "base_1": 0.19, "other": 0.05, "third": 0.04}
    assert curve_sets(frame(gaps), datasets(gaps, {"base_1": "base"})) == ["base", "other", "third"]
    assert curve_sets(frame(gaps), datasets(gaps, {"base_1": "base"}), count=4)[-1] == "base_1"


def test_few_sets_are_all_drawn():
    assert curve_sets(frame({"only": 0.1}), datasets(["only"])) == ["only"]


def test_without_fastcb_the_largest_sets_are_drawn():
    rows = results([("small", "SquareCB.L", 0.1)], rounds=10)
    rows = pd.concat([rows, results([("large", "SquareCB.L", 0.1)], rounds=100)])
    assert curve_sets(rows, datasets(["small", "large"]), count=1) == ["large"]
