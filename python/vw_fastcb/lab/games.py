"""Many runs of one bandit game at once, with an exact finite class as the oracle.

`vw_fastcb.Bandit` on `vw_fastcb.oracles.FiniteClass` plays the same game, one run at a time. Here a run is a row of an
array, so that a million rounds of hundreds of runs take a minute.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vw_fastcb import _engine

Array = NDArray[np.float64]
Rule = Callable[[Array, Array], Array]
"""An allocation: predictions (n, A) and gamma (n,) in, probabilities (n, A) out."""

Likelihood = Callable[[Array, float], Array]
"""By how much a function's weight is multiplied that predicted this, and saw that outcome (0 or 1)."""

CONTEXTS = 8
ACTIONS = 2
_CHUNK = 4096


def log_loss(predictions: Array, outcome: float) -> Array:
    """Vovk's aggregating algorithm for log loss: exp(-loss), which is Bayes' rule."""
    return predictions if outcome else 1 - predictions


def square_loss(predictions: Array, outcome: float) -> Array:
    """The same for square loss, which is 2-mixable: exp(-2 loss)."""
    return np.asarray(np.exp(-2 * (predictions - outcome) ** 2))


# The rules of `vw_fastcb.allocation`, without its checks: they would take most of the time here.
fastcb: Rule = _engine.reweighted_igw
squarecb: Rule = _engine.igw
fastcb_rewards: Rule = _engine.reweighted_igw_rewards


def squarecb_rewards(rewards: Array, gamma: Array) -> Array:
    """SquareCB's rule on predicted rewards."""
    return _engine.igw(1 - rewards, gamma)


def fastcb_losses_of_rewards(rewards: Array, gamma: Array) -> Array:
    """FastCB's rule for small losses, on losses that are 1 - reward."""
    return _engine.reweighted_igw(1 - rewards, gamma)


def policies(count: int) -> NDArray[np.int64]:
    """The actions that `count` policies take in each of the 8 contexts; any two differ in half of them, (count, 8)."""
    masks = (1, 2, 4, 7, 3, 5, 6)[:count]
    if len(masks) < count:
        raise ValueError(f"{count} policies were asked for; expected {len(masks)} at most.")
    return np.array([[(context & mask).bit_count() % 2 for context in range(CONTEXTS)] for mask in masks])


@dataclass(frozen=True, eq=False)
class Setup:
    """A game for some runs: the class of functions, who allocates, and for how long.

    Args:
        good: What the policy's own action is worth on average, the same in all contexts.
        other: What the other action is worth.
        gamma: The greediness, constant as in the theorems.
        rounds: When the run ends.
        rule: The allocation.
    """

    good: float
    other: float
    gamma: float
    rounds: int
    rule: Rule


def play(
    setups: Sequence[Setup], *, runs: int, functions: int, seed: int, likelihood: Likelihood = log_loss
) -> tuple[Array, Array]:
    """Plays every setup `runs` times.

    Outcomes are 0 or 1. Contexts come in turn, which the theory allows: an adversary may choose them. The first
    function of the class is the truth.

    Args:
        setups: What to play.
        runs: How often each.
        functions: How many functions the oracle's class has.
        seed: Of all draws.
        likelihood: How the oracle weighs its functions.

    Returns:
        The regret of each run, (setups, runs): summed over the rounds, how much worse than the best the drawn action
        was expected to be. And the most, over time, by which the oracle's log loss exceeded that of the truth.
    """
    rng = np.random.default_rng(seed)
    rows = len(setups) * runs
    gamma = np.repeat([setup.gamma for setup in setups], runs)
    rules = [
        (rule, slice(group[0] * runs, (group[-1] + 1) * runs))
        for rule, members in itertools.groupby(range(len(setups)), key=lambda i: setups[i].rule)
        if (group := list(members))
    ]
    tables = _tables(setups, runs, functions, likelihood)
    weights = np.full((rows, functions), 1 / functions)
    regret, excess, most = np.zeros(rows), np.zeros(rows), np.zeros(rows)
    horizons = np.repeat([setup.rounds for setup in setups], runs)
    final_regret, final_excess = np.zeros(rows), np.zeros(rows)
    each = np.arange(rows)
    ends = set(horizons.tolist())
    y, pmf = np.empty((2, rows, ACTIONS))
    for t in range(int(horizons.max())):
        if t % _CHUNK == 0:
            draws, outcomes = rng.random((2, _CHUNK, rows))
        table = tables[t % CONTEXTS]
        for a in range(ACTIONS):
            y[:, a] = np.einsum("ij,ij->i", weights, table.functions[a])
        np.clip(y, 0, 1, out=y)  # a weighted mean of numbers below 1 may round to a little more
        for rule, those in rules:
            pmf[those] = rule(y[those], gamma[those])
        regret += pmf[:, table.worse] * table.gap
        action = (draws[t % _CHUNK] >= pmf[:, 0]).astype(np.intp)
        truth = table.truth[action, each]
        outcome = (outcomes[t % _CHUNK] < truth).astype(np.intp)
        chosen = y[each, action]
        excess += np.log(np.where(outcome, truth / chosen, (1 - truth) / (1 - chosen)))
        np.maximum(most, excess, out=most)
        # A weight that has become 0 was below 1e-300, and no run is long enough to bring it back.
        weights *= table.factors[outcome, action, each]
        weights /= weights.sum(axis=1, keepdims=True)
        if t + 1 in ends:
            those_runs = horizons == t + 1
            final_regret[those_runs], final_excess[those_runs] = regret[those_runs], most[those_runs]
    return final_regret.reshape(-1, runs), final_excess.reshape(-1, runs)


@dataclass(frozen=True, eq=False)
class _Table:
    """All that a context means to every run."""

    functions: list[Array]  # by action: what each function predicts, (rows, N)
    factors: Array  # by outcome and action: what multiplies the weights, (2, A, rows, N)
    truth: Array  # what each action is worth, (A, rows)
    worse: int  # the action that is not the best
    gap: Array  # by how much it is worse, (rows,)


def _tables(setups: Sequence[Setup], runs: int, functions: int, likelihood: Likelihood) -> list[_Table]:
    good = np.repeat([setup.good for setup in setups], runs)[:, None]
    other = np.repeat([setup.other for setup in setups], runs)[:, None]
    tables = []
    for choices in policies(functions).T:
        predicted = [np.where(choices == action, good, other) for action in range(ACTIONS)]
        factors = np.array([[likelihood(one, outcome) for one in predicted] for outcome in (0.0, 1.0)])
        truth = np.array([one[:, 0] for one in predicted])
        tables.append(_Table(predicted, factors, truth, 1 - int(choices[0]), np.abs(good - other)[:, 0]))
    return tables


def slope(x: Array, y: Array, *, seed: int, draws: int = 2000) -> tuple[float, float, float]:
    """The slope of log mean y over log x, and its 95% interval by drawing runs anew.

    Args:
        x: Where, (points,).
        y: What each run gave, (points, runs).
        seed: Of the draws.
        draws: How many.
    """
    across = np.log(x) - np.log(x).mean()
    rng = np.random.default_rng(seed)
    # Each point draws its own runs: they are independent of those at other points.
    picks = rng.integers(y.shape[1], size=(draws, *y.shape))
    means = np.log(np.take_along_axis(np.broadcast_to(y, picks.shape), picks, axis=2).mean(axis=2))
    low, high = np.quantile(means @ across / (across @ across), [0.025, 0.975])
    return float(np.log(y.mean(axis=1)) @ across / (across @ across)), float(low), float(high)


def interval(estimate: tuple[float, float, float]) -> str:
    """An estimate with its interval, in words."""
    return f"{estimate[0]:.2f} (95% interval {estimate[1]:.2f} to {estimate[2]:.2f})"


def standard_error(values: Array) -> float:
    """Of the mean of runs."""
    return float(values.std(ddof=1) / math.sqrt(len(values)))
