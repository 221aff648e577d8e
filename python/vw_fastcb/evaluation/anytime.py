"""Intervals for the value of a policy, from weighted rewards, that hold at every n at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vw_fastcb.evaluation.inputs import (
    MOST_WEIGHT,
    as_floats,
    check_probabilities,
    checked_count,
    checked_level,
    checked_range,
    scaled,
)
from vw_fastcb.evaluation.martingales import LowerBounds

_Floats = NDArray[np.float64]

# Where weights are cut, one variable each. A cut costs nothing where weights stay below it, and it keeps a few huge
# weights from making the whole interval wide.
_CUTS = np.array([4.0, 64.0, 1024.0, math.inf])

WEIGHT_BOUNDS = np.array([2.0, 8.0, 32.0, 128.0, 512.0, 2048.0, 8192.0])
"""The bounds for which `mass_beyond` says how often a policy goes beyond them."""


def mass_beyond(policy: ArrayLike, logged: ArrayLike) -> _Floats:
    """How likely the policy plays an action whose weight is beyond each of `WEIGHT_BOUNDS`.

    It can be told before an action is drawn, so it makes upper bounds tight: what a policy does where the log hardly
    looks is counted as the highest reward, and elsewhere weights have a bound.

    Args:
        policy: The policy's pmf for each event (n, A); or (n,) ones for a policy that plays one action, with `logged`
            then the probability which the log had for that action.
        logged: The pmf that the log's policy had, of the same shape. Actions that are not there have 0 in both.

    Returns:
        (n, bounds).
    """
    played, drawn = as_floats(policy, "policy"), as_floats(logged, "logged")
    if played.shape != drawn.shape or played.ndim not in (1, 2):
        raise ValueError(f"policy has shape {played.shape} and logged {drawn.shape}; expected (n,) or (n, A) of both.")
    check_probabilities(played, "policy")
    check_probabilities(drawn, "logged")
    if played.ndim == 1:
        played, drawn = played[:, None], drawn[:, None]
    beyond = np.empty((len(played), len(WEIGHT_BOUNDS)))
    for j, bound in enumerate(WEIGHT_BOUNDS):
        beyond[:, j] = np.where(played > bound * drawn, played, 0.0).sum(axis=1)
    return np.minimum(beyond, 1.0)


class AnytimeInterval:
    """An interval for the value of a policy that may be looked at after every event.

    It holds at all n at once with the probability `level`: for the mean, over the events so far, of what the policy
    would have earned on average in each. Events need not be independent. The log may be that of a policy which learns,
    the policy that is judged may learn too, and the world may drift. What must be right are the logged probabilities.
    Weights need no bound.

        >>> from vw_fastcb.evaluation import AnytimeInterval
        >>> interval = AnytimeInterval(reward_range=(0, 1))
        >>> interval.update([2, 0, 2, 0] * 500, [1, 0, 1, 1] * 500, beyond=mass_beyond([1] * 2000, [0.5] * 2000))
        >>> [round(bound, 3) for bound in interval.interval]
        [0.916, 1.0]

    Args:
        reward_range: The lowest and the highest reward there can be.
        level: The probability with which it holds.
        expected: How many events there will be, for `at_the_end` alone.

    Attributes:
        n: How many events there were.
    """

    def __init__(
        self, reward_range: tuple[float, float] = (0.0, 1.0), level: float = 0.95, *, expected: int | None = None
    ) -> None:
        self.reward_range = checked_range(reward_range)
        self.level = checked_level(level)
        self.n = 0
        self._error = (1.0 - self.level) / 2.0  # of each side
        expected = checked_count(expected)
        cuts, bounds = len(_CUTS), len(WEIGHT_BOUNDS)
        self._lower = LowerBounds(np.zeros(cuts), np.ones(cuts), np.full(cuts, 1 / cuts), expected)
        # From w (1 - r), whose mean is 1 minus the value; and from rewards whose weights have a bound.
        shares = np.concatenate([np.full(cuts, 0.5 / cuts), np.full(bounds, 0.5 / bounds)])
        shifts = np.concatenate([np.zeros(cuts), WEIGHT_BOUNDS])
        scales = np.concatenate([np.ones(cuts), WEIGHT_BOUNDS + 1.0])
        self._upper = LowerBounds(shifts, scales, shares, expected)

    def update(self, weights: ArrayLike, rewards: ArrayLike, *, beyond: ArrayLike | None = None) -> None:
        """Takes further events: all of them, or none where something is refused.

        Args:
            weights: How likely the policy plays the logged action, divided by how likely the log's policy did; one
                number or (n,).
            rewards: What that action earned.
            beyond: What `mass_beyond` says of these events. Without it the upper end is wider where rewards are rare.
        """
        w, r = np.atleast_1d(as_floats(weights, "weights")), np.atleast_1d(as_floats(rewards, "rewards"))
        if w.shape != r.shape or w.ndim != 1:
            raise ValueError(f"weights have shape {w.shape} and rewards {r.shape}; expected (n,) of both.")
        fits = (w >= 0) & (w <= MOST_WEIGHT)
        if not fits.all():
            raise ValueError(f"a weight is {w[~fits][0]}; expected numbers from 0 to {MOST_WEIGHT:g}.")
        r = self.scaled(r)
        cut = np.minimum(w[:, None], _CUTS)
        above = np.hstack([cut * (1.0 - r)[:, None], 1.0 - _bounded(w, r, beyond)])
        self._lower.update(cut * r[:, None], self._error)  # from here on nothing is refused
        self._upper.update(above, self._error)
        self.n += len(w)

    @property
    def interval(self) -> tuple[float, float]:
        """The interval at this n, and at every other."""
        if not self.n:
            return self.reward_range
        low = self._lower.at_every_n(self._error, 0.0)
        return self._unscaled(low, 1.0 - self._upper.at_every_n(self._error, 0.0))

    @property
    def at_the_end(self) -> tuple[float, float]:
        """A tighter interval, for a policy of constant value, that may be looked at once, at an n fixed beforehand."""
        if not self.n:
            return self.reward_range
        low = self._lower.at_the_end(self._error, 0.0)
        return self._unscaled(low, 1.0 - self._upper.at_the_end(self._error, 0.0))

    @property
    def is_contradictory(self) -> bool:
        """Whether no value at all agrees with what was seen: probabilities are wrong, with the confidence `level`."""
        if not self.n:
            return False
        low = self._lower.at_every_n(self._error, 0.0)
        return low > 1.0 - self._upper.at_every_n(self._error, 0.0)

    def scaled(self, rewards: _Floats) -> _Floats:
        """Rewards in [0, 1]; raises where one is outside the range."""
        return scaled(rewards, self.reward_range)

    def _unscaled(self, low: float, high: float) -> tuple[float, float]:
        least, most = self.reward_range
        low, high = sorted((min(low, 1.0), max(high, 0.0)))
        return least + (most - least) * low, least + (most - least) * high

    def to_dict(self) -> dict[str, Any]:
        """The whole state, for JSON: the interval goes on from there after a restart."""
        return {
            "reward_range": list(self.reward_range),
            "level": self.level,
            "n": self.n,
            "lower": self._lower.to_dict(),
            "upper": self._upper.to_dict(),
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> AnytimeInterval:
        """The interval whose state `to_dict` has written."""
        try:
            made = cls(state["reward_range"], state["level"])
            made._lower.restore(state["lower"])
            made._upper.restore(state["upper"])
            made.n = state["n"]
            if {made._lower.n, made._upper.n} != {made.n}:
                raise ValueError(f"n is {made.n!r}, and its bounds have {made._lower.n} and {made._upper.n}")
        except KeyError as problem:
            raise ValueError(f"the state has no {problem}; expected what to_dict has returned.") from None
        except (TypeError, ValueError, AttributeError, IndexError) as problem:
            said = str(problem).rstrip(".")
            raise ValueError(f"the state is damaged ({said}); expected what to_dict has returned.") from None
        return made


def _bounded(w: _Floats, r: _Floats, beyond: ArrayLike | None) -> _Floats:
    """For each bound, a variable that is at most the bound plus 1, and whose mean is at least the value."""
    if beyond is None:  # nothing is known of what else could have been drawn: the highest reward
        return np.ones((len(w), len(WEIGHT_BOUNDS)))
    mass = as_floats(beyond, "beyond")
    if mass.ndim == 1:
        mass = mass[None, :]
    if mass.shape != (len(w), len(WEIGHT_BOUNDS)):
        raise ValueError(f"beyond has shape {mass.shape}; expected ({len(w)}, {len(WEIGHT_BOUNDS)}), of mass_beyond.")
    fits = (mass >= 0) & (mass <= 1)
    if not fits.all():
        raise ValueError(f"beyond has the value {mass[~fits][0]}; expected numbers from 0 to 1, of mass_beyond.")
    return np.where(w[:, None] <= WEIGHT_BOUNDS, w[:, None] * r[:, None], 0.0) + mass
