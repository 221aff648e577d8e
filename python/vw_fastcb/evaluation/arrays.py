"""Estimates from arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vw_fastcb.evaluation.anytime import WEIGHT_BOUNDS, mass_beyond
from vw_fastcb.evaluation.doubly_robust import DoublyRobustTally
from vw_fastcb.evaluation.inputs import LEAST_PROBABILITY, ROUNDING, as_floats, check_probabilities
from vw_fastcb.evaluation.results import Estimate
from vw_fastcb.evaluation.tally import UNSEEN, Tally, unseen_words

_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]

_ROWS = 65_536  # at once, so that memory stays small beside the arrays


def ips(
    rewards: ArrayLike,
    logged: ArrayLike,
    policy: ArrayLike,
    actions: ArrayLike | None = None,
    *,
    reward_range: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    learns: bool = False,
) -> Estimate:
    """Inverse propensity scoring: the mean of weighted rewards.

    With pmfs instead of single probabilities, upper ends are tighter, and you are told what the log never plays.

    Rewards count from the lower end of `reward_range`: the estimate is that end, plus the mean of the weighted rewards
    above it. It is unbiased, as weights are 1 on average. Where the range begins at 0 it is the mean of the weighted
    rewards; elsewhere the two differ as far as the mean of the drawn weights differs from 1.

        >>> from vw_fastcb.evaluation import ips
        >>> rewards, logged, policy = [1, 0, 1, 1] * 500, [0.5, 0.5, 0.5, 0.5] * 500, [1, 0, 1, 0] * 500
        >>> ips(rewards, logged, policy).value
        1.0

    Args:
        rewards: (n,), what the logged actions earned.
        logged: How likely the log's policy played them (n,), or its pmfs (n, A).
        policy: How likely the policy to be judged plays them (n,), or its pmfs (n, A).
        actions: The logged actions (n,), from 0; needed with pmfs.
        reward_range: The lowest and the highest reward there can be.
        level: The level of the intervals.
        learns: Whether the policy to be judged has learned on the way.

    Returns:
        The estimate with its intervals and warnings.
    """
    return _tallied(rewards, logged, policy, actions, reward_range=reward_range, level=level, learns=learns).ips()


def snips(
    rewards: ArrayLike,
    logged: ArrayLike,
    policy: ArrayLike,
    actions: ArrayLike | None = None,
    *,
    reward_range: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    learns: bool = False,
) -> Estimate:
    """Self-normalised inverse propensity scoring: the weighted mean of rewards. It takes what `ips` takes."""
    return _tallied(rewards, logged, policy, actions, reward_range=reward_range, level=level, learns=learns).snips()


def dr(
    rewards: ArrayLike,
    logged: ArrayLike,
    policy: ArrayLike,
    actions: ArrayLike,
    predictions: ArrayLike,
    *,
    reward_range: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    learns: bool = False,
) -> Estimate:
    """Doubly robust: predictions of a model, corrected by weighted rewards.

    Args:
        rewards: (n,), what the logged actions earned.
        logged: The pmfs of the log's policy (n, A).
        policy: The pmfs of the policy to be judged (n, A).
        actions: The logged actions (n,), from 0.
        predictions: The reward that a model expects of each action (n, A), made before it learned the event.
        reward_range: The lowest and the highest reward there can be.
        level: The level of the intervals.
        learns: Whether the policy to be judged has learned on the way.

    Returns:
        The estimate with its intervals and warnings.
    """
    r, p, pi, a = _checked(rewards, logged, policy, actions)
    if a is None:
        raise ValueError("dr needs the pmfs of both policies, (n, A), and the actions.")
    q = as_floats(predictions, "predictions")
    if q.shape != p.shape or not np.isfinite(q).all():
        raise ValueError(f"predictions have shape {q.shape}; expected finite numbers, {p.shape}.")
    tally = DoublyRobustTally(reward_range, level, expected=len(r), learns=learns)
    for start in range(0, len(r), _ROWS):
        rows = slice(start, start + _ROWS)
        tally.update(r[rows], a[rows], pi[rows], p[rows], q[rows])
    return tally.dr()


def replay(
    rewards: ArrayLike,
    logged: ArrayLike,
    policy: ArrayLike,
    actions: ArrayLike | None = None,
    *,
    reward_range: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    seed: int = 1,
) -> Estimate:
    """Replay: the mean over the events in which the policy would have done the same.

    On a log of uniform choices, and for a policy that plays one action per event, it keeps the events where the two
    agree (Li, Chu, Langford and Wang 2011). In general an event is kept with a probability in proportion to its weight;
    that needs a largest weight, so it keeps few events where the log's probabilities are small. The events that are
    kept are the policy's own, as if it had been live.

    Give whole pmfs. Single probabilities do not tell the largest weight, only that of the actions which were drawn, and
    no interval is valid then: there are asymptotic ones, and a warning. The same holds where the policy plays actions
    that the log never plays.

    Args:
        rewards: (n,), what the logged actions earned.
        logged: How likely the log's policy played them (n,), or its pmfs (n, A).
        policy: How likely the policy to be judged plays them (n,), or its pmfs (n, A). It must not learn.
        actions: The logged actions (n,), from 0; needed with pmfs.
        reward_range: The lowest and the highest reward there can be.
        level: The level of the intervals.
        seed: Of the draws, where some are needed.

    Returns:
        The estimate; its `effective_n` is the number of events kept.
    """
    r, p, pi, a = _checked(rewards, logged, policy, actions)
    rows = np.arange(len(r))
    weights = pi / p if a is None else pi[rows, a] / p[rows, a]
    largest = float((weights if a is None else _possible_weights(pi, p)).max(initial=0.0))
    unseen = 0.0 if a is None or not len(r) else float(pi[p <= 0].sum()) / len(r)
    kept = np.random.default_rng(seed).random(len(r)) < (weights / largest if largest else weights)
    tally = Tally(reward_range, level, expected=max(int(kept.sum()), 1))
    tally.update(
        np.ones(int(kept.sum())), r[kept], beyond=np.zeros((int(kept.sum()), len(WEIGHT_BOUNDS))), largest=np.ones(1)
    )
    found = tally.ips()
    refused, warnings, intervals = found.refused, found.warnings, found.intervals
    if len(r) and not weights.any():
        refused = f"the policy never plays what the log has played: none of its {len(r):,} events can be kept."
    elif len(r) and not kept.any():
        refused = f"the largest weight is {largest:,.3g}: none of the log's {len(r):,} events was kept."
    elif unseen > UNSEEN:
        refused = unseen_words(unseen)
    if a is None or unseen > 0:
        intervals = {name: one for name, one in intervals.items() if one.kind != "valid"}
        if a is None:
            why = "No interval is valid: that needs the largest weight, which whole pmfs tell, (n, A) with the actions."
        else:
            why = f"No interval is valid: in {unseen:.1%} of the events the policy plays what the log never plays."
        warnings = (why, *warnings)
    return Estimate(
        "replay",
        found.value if refused is None else math.nan,
        len(r),
        found.effective_n,
        largest,
        intervals,
        warnings,
        refused,
    )


def _tallied(
    rewards: ArrayLike, logged: ArrayLike, policy: ArrayLike, actions: ArrayLike | None, **about: Any
) -> Tally:
    r, p, pi, a = _checked(rewards, logged, policy, actions)
    tally = Tally(**about, expected=len(r))
    for start in range(0, len(r), _ROWS):
        rows = slice(start, start + _ROWS)
        update(tally, r[rows], p[rows], pi[rows], None if a is None else a[rows])
    return tally


def update(tally: Tally, rewards: _Floats, logged: _Floats, policy: _Floats, actions: _Integers | None) -> None:
    """Adds events to a tally: single probabilities (n,), or pmfs (n, A) with the actions."""
    if actions is None:
        tally.update(policy / logged, rewards)
        return
    rows = np.arange(len(rewards))
    tally.update(
        policy[rows, actions] / logged[rows, actions],
        rewards,
        beyond=mass_beyond(policy, logged),
        largest=_possible_weights(policy, logged).max(axis=1, initial=0.0),
        uncovered=np.where(logged > 0, 0.0, policy).sum(axis=1),
    )


def _possible_weights(policy: _Floats, logged: _Floats) -> _Floats:
    """The weights of all actions that the log could have played, (n, A); infinite where they are beyond all numbers."""
    with np.errstate(over="ignore"):
        return np.divide(policy, logged, out=np.zeros_like(policy), where=logged > 0)


def _checked(
    rewards: ArrayLike, logged: ArrayLike, policy: ArrayLike, actions: ArrayLike | None
) -> tuple[_Floats, _Floats, _Floats, _Integers | None]:
    """The arrays as numpy's; raises where they do not fit together. No actions where probabilities are single."""
    r = as_floats(rewards, "rewards")
    if r.ndim != 1:
        raise ValueError(f"rewards have shape {r.shape}; expected (n,).")
    n, rows = len(r), np.arange(len(r))
    p, pi = _checked_probabilities(logged, "logged", n), _checked_probabilities(policy, "policy", n)
    a = None if actions is None else _checked_actions(actions, n)
    if 2 in (p.ndim, pi.ndim):
        if a is None:
            raise ValueError("pmfs were given without actions; expected the logged actions, (n,), from 0.")
        count = min(one.shape[1] for one in (p, pi) if one.ndim == 2)
        if n and a.max() >= count:
            raise ValueError(f"an action is {a.max()}; expected 0 to {count - 1}, as the pmfs have {count} actions.")
    if p.ndim != pi.ndim:  # one of them tells more than can be used
        p, pi = (one[rows, a] if one.ndim == 2 else one for one in (p, pi))
    elif p.shape != pi.shape:
        raise ValueError(f"logged has shape {p.shape} and policy {pi.shape}; expected the same.")
    drawn = p if p.ndim == 1 else p[rows, a]
    if not np.all(drawn >= LEAST_PROBABILITY):
        row = int(np.flatnonzero(~(drawn >= LEAST_PROBABILITY))[0])
        raise ValueError(
            f"the logged action of row {row} has the probability {drawn[row]}; expected more than 0, and at least "
            f"{LEAST_PROBABILITY:g}."
        )
    return r, p, pi, (a if p.ndim == 2 else None)


def _checked_probabilities(given: ArrayLike, name: str, n: int) -> _Floats:
    """Probabilities of the logged actions (n,), or pmfs (n, A)."""
    one = as_floats(given, name)
    if one.ndim not in (1, 2) or len(one) != n:
        raise ValueError(f"{name} has shape {one.shape}; expected ({n},), or ({n}, A) for pmfs.")
    check_probabilities(one, name)
    if one.ndim == 2 and n:
        sums = one.sum(axis=1)
        worst = int(np.abs(sums - 1).argmax())
        if abs(sums[worst] - 1) > ROUNDING * one.shape[1]:
            raise ValueError(f"{name} sums to {sums[worst]:.6g} in row {worst}; expected pmfs, which sum to 1.")
    return one


def _checked_actions(actions: ArrayLike, n: int) -> _Integers:
    if isinstance(actions, np.ma.MaskedArray):
        raise ValueError("actions is a masked array; expected plain numbers. Leave the masked events out.")
    a = np.asarray(actions)
    if a.shape != (n,) or not np.issubdtype(a.dtype, np.integer) or (n and a.min() < 0):
        raise ValueError(f"actions have shape {a.shape} and dtype {a.dtype}; expected whole numbers from 0, ({n},).")
    return a.astype(np.int64)
