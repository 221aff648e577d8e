"""Importance-weighted estimates of one policy's value, event after event, in constant memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from vw_fastcb.evaluation import asymptotic
from vw_fastcb.evaluation.anytime import AnytimeInterval
from vw_fastcb.evaluation.asymptotic import Sums
from vw_fastcb.evaluation.inputs import MOST_WEIGHT, as_floats
from vw_fastcb.evaluation.results import Estimate, Interval, Kind

UNSEEN = 0.1
"""The share of a policy's choices beyond which what the log never plays leaves no answer."""

FEW = 10.0  # effective events, below which there is no answer
_SCARCE = 100.0  # and below which there is a warning
_ODD = 4.0  # standard errors


class Tally:
    """The sums that estimate a policy's value.

    Args:
        reward_range: The lowest and the highest reward there can be.
        level: The level of the intervals.
        expected: About how many events there will be; without it there is no interval for a fixed n.
        learns: Whether the policy learns on the way. Its value is not constant then, and only the interval for every n
            is valid.
    """

    def __init__(
        self,
        reward_range: tuple[float, float] = (0.0, 1.0),
        level: float = 0.95,
        *,
        expected: int | None = None,
        learns: bool = False,
    ) -> None:
        self._anytime = AnytimeInterval(reward_range, level, expected=None if learns else expected)
        self._has_plan = expected is not None and not learns
        self._sums = Sums()
        self._uncovered = 0.0  # probability that the policy gives to actions which the log cannot play
        self._largest_possible = 0.0  # infinite where nobody knows what else could have been drawn

    @property
    def n(self) -> int:
        """How many events there were."""
        return self._sums.n

    def update(
        self,
        weights: ArrayLike,
        rewards: ArrayLike,
        *,
        beyond: ArrayLike | None = None,
        largest: ArrayLike | None = None,
        uncovered: ArrayLike | None = None,
    ) -> None:
        """Takes further events.

        Args:
            weights: (n,), how likely the policy plays the logged action over how likely the log's policy did.
            rewards: (n,), what it earned.
            beyond: What `mass_beyond` says of them.
            largest: (n,), the largest weight that each event could have had.
            uncovered: (n,), how likely the policy plays an action that the log could not have played.
        """
        w, r = np.atleast_1d(as_floats(weights, "weights")), np.atleast_1d(as_floats(rewards, "rewards"))
        unseen = 0.0 if uncovered is None else float(as_floats(uncovered, "uncovered").sum())
        most = math.inf if largest is None else float(as_floats(largest, "largest").max(initial=0.0))
        self._anytime.update(w, r, beyond=beyond)  # first, as it refuses what is wrong
        self._sums.update(w, self._anytime.scaled(r))
        self._uncovered += unseen
        if len(w):  # squares of a larger weight would overflow
            self._largest_possible = max(self._largest_possible, most if most <= MOST_WEIGHT else math.inf)

    def ips(self) -> Estimate:
        """The mean of the weighted rewards: unbiased, and of a large variance where weights are."""
        sums = self._sums
        low, high = asymptotic.gaussian_of_ips(sums, self._anytime.level)
        return self._estimate("ips", sums.wr / sums.n if sums.n else math.nan, low, high)

    def snips(self) -> Estimate:
        """The weighted mean of the rewards: of smaller variance, with a bias that vanishes."""
        sums = self._sums
        low, high = asymptotic.gaussian_of_snips(sums, self._anytime.level)
        return self._estimate("snips", sums.wr / sums.w if sums.w else math.nan, low, high)

    def _estimate(self, method: str, value: float, low: float, high: float) -> Estimate:
        sums, level = self._sums, self._anytime.level
        most = max(self._largest_possible, sums.largest)
        found: dict[str, tuple[float, float]] = {
            "gaussian": (low, high),
            "cressie_read": asymptotic.cressie_read(sums, level, (0.0, most)),
        }
        intervals = {"anytime": _interval(self._anytime.interval, level, "valid")}
        if self._has_plan:
            intervals["empirical_bernstein"] = _interval(self._anytime.at_the_end, level, "valid")
        for name, (lower, upper) in found.items():
            intervals[name] = _interval((self._unscaled(lower), self._unscaled(upper)), level, "asymptotic")
        made = estimate(method, self._unscaled(value, clip=False), sums, intervals, self._uncovered)
        if self._anytime.is_contradictory:
            wrong = "No value agrees with this log: its probabilities are wrong."
            return replace(made, warnings=(wrong, *made.warnings))
        return made

    def _unscaled(self, value: float, *, clip: bool = True) -> float:
        low, high = self._anytime.reward_range
        if clip:
            value = min(max(value, 0.0), 1.0)
        return low + (high - low) * value


def estimate(method: str, value: float, sums: Sums, intervals: Mapping[str, Interval], uncovered: float) -> Estimate:
    """An estimate with its warnings; NaN where it is refused."""
    warnings, refused = _judged(sums, uncovered)
    shown = value if refused is None else math.nan
    return Estimate(method, shown, sums.n, sums.effective_n, sums.largest, intervals, warnings, refused)


def unseen_words(share: float) -> str:
    """Why there is no answer where the policy plays what the log never plays."""
    return (
        f"the policy plays actions that the log never plays in {share:.0%} of the events. Nothing is known of what "
        "they earn."
    )


def _interval(ends: tuple[float, float], level: float, kind: Kind) -> Interval:
    return Interval(*ends, level, kind)


def _judged(sums: Sums, uncovered: float) -> tuple[tuple[str, ...], str | None]:
    """Warnings about weights, and why the log cannot answer, if so."""
    n = sums.n
    if n == 0:
        return (), "the log has no events."
    unseen = uncovered / n
    if sums.w == 0.0:
        return (), f"the policy never plays what the log has played: none of its {n:,} events tells what it would earn."
    if unseen > UNSEEN:
        return (), unseen_words(unseen)
    is_short = sums.effective_n > n / 2  # the log is what lacks, not what the policy has in common with it
    if sums.effective_n < FEW:
        if is_short:
            return (), f"the log has only {n:,} {'event' if n == 1 else 'events'}."
        return (), (
            f"these {n:,} events are worth about {sums.effective_n:.1f} collected by the policy itself (the largest "
            f"weight is {sums.largest:,.3g}). It plays what the log hardly ever played."
        )
    warnings = []
    if unseen > 0.001:
        warnings.append(
            f"In {unseen:.1%} of the events the policy plays actions that the log never plays: the estimate counts "
            "them as the lowest reward."
        )
    if sums.effective_n < _SCARCE:
        worth = f"These {n:,} events are worth about {sums.effective_n:.0f} collected by the policy itself."
        warnings.append(f"The log has only {n:,} events." if is_short else worth)
    if sums.largest > 0.1 * sums.w:
        warnings.append(f"One event has {sums.largest / sums.w:.0%} of all the weight.")
    mean, expected = sums.w / n, 1.0 - unseen
    error = math.sqrt(max(sums.ww / n - mean**2, 0.0) / n)
    if abs(mean - expected) > _ODD * error + 1e-3:
        warnings.append(
            f"The weights have the mean {mean:.3f} and should have {expected:.3g}: either the logged probabilities are "
            "wrong, or the policy plays what the log hardly ever plays. fastcb evaluate --check looks at the log."
        )
    return tuple(warnings), None
