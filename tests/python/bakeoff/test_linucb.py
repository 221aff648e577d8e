"""The LinUCB of benchmarks/science against its definition; the benchmark itself compares it with mabwiser."""

import importlib
from pathlib import Path

import numpy as np
import pytest

SCIENCE = Path(__file__).parents[3] / "benchmarks" / "science"


@pytest.fixture
def linucb(monkeypatch):
    monkeypatch.syspath_prepend(SCIENCE)
    return importlib.import_module("linucb")


@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_it_takes_the_highest_bound_of_one_ridge_regression_per_action(linucb, alpha):
    rng = np.random.default_rng(4)
    rows, labels = rng.normal(size=(200, 5)), rng.integers(3, size=200)
    rows[:, 4] = 1
    labels[rows[:, 0] > 0.3] = 2
    taken = linucb.actions_of(rows, labels, 3, alpha)
    for t in range(200):
        bounds = []
        for action in range(3):
            seen = rows[:t][taken[:t] == action]
            rewards = labels[:t][taken[:t] == action] == action
            inverse = np.linalg.inv(np.eye(5) + seen.T @ seen)
            mean, variance = rows[t] @ inverse @ seen.T @ rewards, rows[t] @ inverse @ rows[t]
            bounds.append(mean + alpha * np.sqrt(variance))
        assert bounds[taken[t]] > max(bounds) - 1e-9
    assert np.mean(taken[100:] == labels[100:]) > 0.4
