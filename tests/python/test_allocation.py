"""The allocation that ships: a pmf for any scores, and the inequalities of the paper that make it an algorithm."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from properties import examples
from vw_fastcb import allocation

RULES = [allocation.reweighted_igw, allocation.igw, allocation.reweighted_igw_rewards, allocation.reweighted_igw_both]
Array = NDArray[np.float64]


def sigmoid(logits: Array) -> Array:
    return 1 / (1 + np.exp(-logits))


def assert_rows_are_pmfs(pmf: Array) -> None:
    assert np.isfinite(pmf).all()
    assert (pmf >= 0).all()
    np.testing.assert_allclose(pmf.sum(axis=-1), 1, rtol=0, atol=1e-6)
    # What VW hands out is float32.
    np.testing.assert_allclose(pmf.astype(np.float32).sum(axis=-1, dtype=np.float64), 1, rtol=0, atol=1e-6)


def score_vectors(rng: np.random.Generator, rows: int, actions: int) -> Array:
    """Uniform scores, logits over all of VW's range, ties at every level, and the corners 0 and 1."""
    kinds = [
        rng.random((rows, actions)),
        sigmoid(rng.uniform(-50, 50, (rows, actions))),
        sigmoid(rng.choice([-50.0, -49.9, 0.0, 50.0], (rows, actions))),
        np.round(rng.random((rows, actions)), 1),
        rng.choice([0.0, 5e-324, 1e-300, 1e-16, 1.0 - 1e-16, 1.0], (rows, actions)),
        np.repeat(rng.random((rows, 1)), actions, axis=1),
    ]
    return np.stack(kinds)[rng.integers(len(kinds), size=rows), np.arange(rows)]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("share", [0.1, pytest.param(1, marks=pytest.mark.slow)])
def test_a_million_random_and_adversarial_score_vectors_give_pmfs(rule, share):
    rng = np.random.default_rng(0)
    tried = 0
    for actions, many in [(1, 100_000), (2, 300_000), (3, 300_000), (10, 250_000), (26, 50_000), (1000, 1_000)]:
        rows = int(share * many)
        gamma = 10 ** rng.uniform(-6, 12, rows) * rng.choice(
            [0.0, 1.0, np.inf], rows, p=[0.05, 0.9, 0.05], shuffle=False
        )
        assert_rows_are_pmfs(rule(score_vectors(rng, rows, actions), np.nan_to_num(gamma, nan=np.inf, posinf=np.inf)))
        tried += rows
    assert tried > share * 1_000_000


@pytest.mark.parametrize("rule", RULES)
def test_a_hundred_thousand_actions(rule):
    rng = np.random.default_rng(1)
    for scores in (
        rng.random(100_000),
        sigmoid(rng.uniform(-50, 50, 100_000)),
        np.full(100_000, 0.3),
        np.zeros(100_000),
    ):
        for gamma in (0.0, 1e3, 1e9):
            assert_rows_are_pmfs(rule(scores, gamma))


def test_formulas_on_a_worked_example():
    losses, gamma = np.array([0.2, 0.4, 0.9]), 20.0
    others = 0.2 / (3 * 0.2 + gamma * (losses[1:] - 0.2))
    np.testing.assert_allclose(allocation.reweighted_igw(losses, gamma), [1 - others.sum(), *others], rtol=1e-14)
    others = 1 / (3 + gamma * (losses[1:] - 0.2))
    np.testing.assert_allclose(allocation.igw(losses, gamma), [1 - others.sum(), *others], rtol=1e-14)
    rewards = np.array([0.9, 0.4, 0.2])
    others = 0.9 / (3 * 0.9 + gamma * (0.9 - rewards[1:]))
    np.testing.assert_allclose(
        allocation.reweighted_igw_rewards(rewards, gamma), [1 - others.sum(), *others], rtol=1e-14
    )


@pytest.mark.parametrize("rule", RULES)
def test_edges_the_formula_leaves_open(rule):
    np.testing.assert_array_equal(rule([0.7], 5), [1])
    np.testing.assert_allclose(rule([0.1, 0.5, 0.9, 0.2], 0), [0.25] * 4)
    np.testing.assert_allclose(rule([0.5] * 5, 1e9), [0.2] * 5)
    np.testing.assert_allclose(rule([0.0, 0.0, 0.0, 0.0], 7), [0.25] * 4)
    np.testing.assert_allclose(rule([0.5] * 5, np.inf), [0.2] * 5)


def test_the_rule_for_both_is_that_for_losses_up_to_one_half_and_that_for_rewards_above():
    rng = np.random.default_rng(8)
    losses, gamma = rng.random((2000, 6)) ** rng.choice([0.2, 1, 3], (2000, 1)), rng.uniform(0, 200, 2000)
    small = losses.min(axis=1) <= 0.5
    assert 100 < small.sum() < 1900
    pmf = allocation.reweighted_igw_both(losses, gamma)
    np.testing.assert_array_equal(pmf[small], allocation.reweighted_igw(losses[small], gamma[small]))
    rewards = allocation.reweighted_igw_rewards(1 - losses[~small], gamma[~small])
    np.testing.assert_allclose(pmf[~small], rewards, rtol=1e-12, atol=1e-15)


def test_best_action_with_prediction_zero_leaves_nothing_to_worse_ones():
    np.testing.assert_allclose(allocation.reweighted_igw([0.0, 0.5, 0.0], 10), [2 / 3, 0, 1 / 3])


@pytest.mark.parametrize("rule", RULES)
def test_rows_are_allocated_one_by_one(rule):
    rng = np.random.default_rng(2)
    scores, gamma = rng.random((50, 7)), rng.uniform(0, 100, 50)
    together = rule(scores, gamma)
    assert together.shape == (50, 7)
    assert together.dtype == np.float64
    for row, g, expected in zip(scores, gamma, together, strict=True):
        np.testing.assert_array_equal(rule(row, g), expected)
    np.testing.assert_array_equal(rule(np.asfortranarray(scores), gamma), together)


def weighted_error(pmf: Array, y: Array, f: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return (pmf * np.nan_to_num((y - f) ** 2 / (y + f))).sum(axis=-1)


# Theorem "First-order per-round inequality", and its version for rewards: what turns a good regressor into low regret.
def assert_loss_inequality(y: Array, f: Array, gamma: Array) -> None:
    actions = y.shape[-1]
    pmf = allocation.reweighted_igw(y, gamma)
    regret = (pmf * (f - f.min(axis=-1, keepdims=True))).sum(axis=-1)
    bound = 5 * actions / gamma * (pmf * f).sum(axis=-1) + 7 * gamma * weighted_error(pmf, y, f)
    assert (regret <= bound + 1e-12).all()


def assert_reward_inequality(y: Array, f: Array, gamma: Array) -> None:
    actions = y.shape[-1]
    pmf = allocation.reweighted_igw_rewards(y, gamma)
    regret = (pmf * (f.max(axis=-1, keepdims=True) - f)).sum(axis=-1)
    bound = 9 * actions / gamma * (pmf * f).sum(axis=-1) + 10 * gamma * weighted_error(pmf, y, f)
    assert (regret <= bound + 1e-12).all()


@pytest.mark.parametrize("actions", [2, 3, 5, 20, 100, 1000])
@pytest.mark.parametrize(
    ("holds", "least_gamma"), [(assert_loss_inequality, 2), (assert_reward_inequality, 4)], ids=["loss", "reward"]
)
def test_the_papers_per_round_inequality(holds, least_gamma, actions):
    rng = np.random.default_rng(actions)
    rows = 200_000 // actions
    y = score_vectors(rng, rows, actions)
    gamma = least_gamma * actions * 10 ** rng.uniform(0, 5, rows)
    holds(y, score_vectors(rng, rows, actions), gamma)
    # Truths near the predictions, where the bound is tight.
    holds(y, np.clip(y + rng.normal(0, 0.01, y.shape), 0, 1), gamma)
    holds(y, np.clip(y * 10 ** rng.uniform(-2, 2, y.shape), 0, 1), gamma)


units = st.floats(0, 1)


@settings(max_examples=examples(50, 500), deadline=None)
@given(data=st.data(), actions=st.integers(2, 12), excess=st.floats(1, 1e6))
def test_the_papers_inequalities_on_hypothesis_own_counterexamples(data, actions, excess):
    y = data.draw(arrays(np.float64, (1, actions), elements=units))
    f = data.draw(arrays(np.float64, (1, actions), elements=units))
    assert_loss_inequality(y, f, np.array([2 * actions * excess]))
    assert_reward_inequality(y, f, np.array([4 * actions * excess]))


def test_the_inequality_is_not_vacuous():
    """SquareCB's rule breaks the first-order inequality, so the tests above can fail."""
    actions, gamma = 10, 20.0
    y = np.full((1, actions), 1e-3)
    y[0, 0] = 1e-6
    f = np.where(np.arange(actions) == 0, 1e-6, 1e-3)[None]
    pmf = allocation.igw(y, gamma * 1000)
    regret = (pmf * (f - f.min())).sum()
    bound = 5 * actions / (gamma * 1000) * (pmf * f).sum() + 7 * gamma * 1000 * weighted_error(pmf, y, f).sum()
    assert regret > bound


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("scores", "gamma", "message"),
    [
        ([0.5, 1.5], 1, r"has the value 1\.5; expected predictions in \[0, 1\]"),
        ([0.5, np.nan], 1, r"has the value nan; expected predictions in \[0, 1\]"),
        ([0.5, -0.1], 1, r"has the value -0\.1"),
        ([], 1, r"has shape \(0,\); expected \(A,\) or \(n, A\)"),
        (np.zeros((2, 2, 2)), 1, r"has shape \(2, 2, 2\)"),
        ([0.5, 0.2], -1, r"gamma has the value -1\.0; expected 0 or larger"),
        ([0.5, 0.2], np.nan, r"gamma has the value nan"),
        ([[0.5, 0.2]], [1, 2], r"gamma has shape \(2,\); expected one number, or one per row \(1\)"),
        ([[0.5, 0.2]] * 2, [1], r"gamma has shape \(1,\); expected one number, or one per row \(2\)"),
    ],
)
def test_bad_arrays_are_refused_with_the_value(rule, scores, gamma, message):
    with pytest.raises(ValueError, match=message):
        rule(scores, gamma)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "wrong", [[[0.1], [0.1, 0.2]], ["a", "b"], csr_matrix([[0.1, 0.2]]), [10**400, 0.2], [object(), 0.1]]
)
def test_what_is_no_array_of_numbers_is_refused_by_name(rule, wrong):
    with pytest.raises(TypeError, match=r"(losses|rewards) is no array of numbers"):
        rule(wrong, 1)
    with pytest.raises(TypeError, match=r"gamma is no array of numbers"):
        rule([0.1, 0.2], wrong)
