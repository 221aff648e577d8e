"""Doubly robust estimates: predictions of a model say what they can, weighted rewards correct them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.evaluation import asymptotic
from vw_fastcb.evaluation.anytime import WEIGHT_BOUNDS
from vw_fastcb.evaluation.asymptotic import Sums
from vw_fastcb.evaluation.inputs import checked_count, checked_level, checked_range, scaled
from vw_fastcb.evaluation.martingales import LowerBounds
from vw_fastcb.evaluation.results import Estimate, Interval
from vw_fastcb.evaluation.tally import estimate

_Floats = NDArray[np.float64]


class DoublyRobustTally:
    """The sums of a doubly robust estimate, in constant memory.

    Each event says: what the model expects of the policy, plus the weight times how wrong the model was about the
    logged action. Its mean is the value whatever the model says, if the prediction was made before the event was
    learned.

    For the valid intervals, actions whose weight is beyond a bound are left to the lowest reward (lower end) or the
    highest (upper end), for each bound of `WEIGHT_BOUNDS`, and the bets are spread over the bounds.

    Args:
        reward_range: The lowest and the highest reward there can be.
        level: The level of the intervals.
        expected: About how many events there will be; without it there is no interval for a fixed n.
        learns: Whether the policy learns on the way.
    """

    def __init__(
        self,
        reward_range: tuple[float, float] = (0.0, 1.0),
        level: float = 0.95,
        *,
        expected: int | None = None,
        learns: bool = False,
    ) -> None:
        self._range, self._level = checked_range(reward_range), checked_level(level)
        self._error = (1.0 - self._level) / 2.0
        self._has_plan = expected is not None and not learns
        shares = np.full(len(WEIGHT_BOUNDS), 1.0 / len(WEIGHT_BOUNDS))
        plan = checked_count(expected) if self._has_plan else None
        self._lower = LowerBounds(WEIGHT_BOUNDS, WEIGHT_BOUNDS + 1.0, shares, plan)
        self._upper = LowerBounds(WEIGHT_BOUNDS, WEIGHT_BOUNDS + 1.0, shares, plan)
        self._sums = Sums()
        self._total = self._squares = self._uncovered = 0.0

    def update(
        self, rewards: _Floats, actions: NDArray[np.int64], policy: _Floats, logged: _Floats, predictions: _Floats
    ) -> None:
        """Takes further events: rewards and actions (n,), both pmfs and the predicted rewards (n, A)."""
        low, high = self._range
        r = scaled(rewards, self._range)
        q = np.clip((predictions - low) / (high - low), 0.0, 1.0)
        rows = np.arange(len(r))
        w = policy[rows, actions] / logged[rows, actions]
        surprise = w * (r - q[rows, actions])
        values = (policy * q).sum(axis=1) + surprise
        self._total += float(values.sum())
        self._squares += float(values @ values)
        self._sums.update(w, r)
        self._uncovered += float(policy[logged <= 0.0].sum())
        known, beyond = np.empty((2, len(r), len(WEIGHT_BOUNDS)))
        for j, bound in enumerate(WEIGHT_BOUNDS):
            within = policy <= bound * logged
            known[:, j] = np.where(within, policy * q, 0.0).sum(axis=1) + np.where(w <= bound, surprise, 0.0)
            beyond[:, j] = np.where(within, 0.0, policy).sum(axis=1)
        self._lower.update(known, self._error)
        self._upper.update(1.0 - known - beyond, self._error)

    def dr(self) -> Estimate:
        """The estimate."""
        n = self._sums.n
        ends = asymptotic.gaussian(self._total, self._squares, n, self._level)
        low, high = (min(max(end, 0.0), 1.0) for end in ends)
        intervals = {"anytime": Interval(*self._ends(is_end=False), self._level, "valid")}
        if self._has_plan:
            intervals["empirical_bernstein"] = Interval(*self._ends(is_end=True), self._level, "valid")
        intervals["gaussian"] = Interval(self._unscaled(low), self._unscaled(high), self._level, "asymptotic")
        value = self._unscaled(self._total / n) if n else math.nan
        return estimate("dr", value, self._sums, intervals, self._uncovered)

    def _ends(self, *, is_end: bool) -> tuple[float, float]:
        if not self._sums.n:
            return self._range
        low, high = (
            one.at_the_end(self._error, 0.0) if is_end else one.at_every_n(self._error, 0.0)
            for one in (self._lower, self._upper)
        )
        return self._unscaled(min(low, 1.0)), self._unscaled(max(1.0 - high, 0.0))

    def _unscaled(self, value: float) -> float:
        low, high = self._range
        return low + (high - low) * value
