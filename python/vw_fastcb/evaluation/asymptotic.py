"""Intervals that hold in the end, at a large n: Gaussian and Cressie-Read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]


@dataclass
class Sums:
    """What the asymptotic intervals and the point estimates need to know of weights and rewards in [0, 1]."""

    n: int = 0
    w: float = 0.0
    ww: float = 0.0
    r: float = 0.0
    wr: float = 0.0
    wwr: float = 0.0
    wwrr: float = 0.0
    largest: float = 0.0

    def update(self, w: _Floats, r: _Floats) -> None:
        """Takes further events."""
        weighted = w * r
        self.n += len(w)
        self.w += float(w.sum())
        self.ww += float(w @ w)
        self.r += float(r.sum())
        self.wr += float(weighted.sum())
        self.wwr += float(w @ weighted)
        self.wwrr += float(weighted @ weighted)
        self.largest = max(self.largest, float(w.max(initial=0.0)))

    @property
    def effective_n(self) -> float:
        """Kish's effective sample size."""
        return self.w**2 / self.ww if self.ww else 0.0


def gaussian_of_ips(sums: Sums, level: float) -> tuple[float, float]:
    """The mean of weighted rewards and its standard error."""
    return gaussian(sums.wr, sums.wwrr, sums.n, level)


def gaussian(total: float, squares: float, n: int, level: float) -> tuple[float, float]:
    """The interval of a mean, by the central limit theorem. All there is where one event cannot tell."""
    if n < 2:
        return 0.0, 1.0
    mean = total / n
    variance = max(0.0, squares - total * mean) / (n - 1)
    return _around(mean, math.sqrt(variance / n), level)


def gaussian_of_snips(sums: Sums, level: float) -> tuple[float, float]:
    """The ratio of two means, by the delta method."""
    if sums.n < 2 or not sums.w:
        return 0.0, 1.0
    ratio = sums.wr / sums.w
    squares = max(0.0, sums.wwrr - 2.0 * ratio * sums.wwr + ratio**2 * sums.ww)
    return _around(ratio, math.sqrt(squares) / sums.w, level)


def _around(middle: float, error: float, level: float) -> tuple[float, float]:
    distance = NormalDist().inv_cdf((1.0 + level) / 2.0) * error
    return middle - distance, middle + distance


def cressie_read(sums: Sums, level: float, weights: tuple[float, float] = (0.0, math.inf)) -> tuple[float, float]:
    """The Cressie-Read interval, with power -2, for which it has a closed form.

    It comes from Karampatziakis, Langford and Mineiro (2020), "Empirical likelihood for contextual bandits".

    Among all reweightings of the events that make the mean weight 1, and that are no further from uniform than chance
    explains, it takes the lowest and the highest value. One event more, which was not seen, has the lowest or the
    highest possible weight, and the lowest or the highest reward.

    Args:
        sums: Of weights and rewards in [0, 1].
        level: How likely it is to hold.
        weights: The lowest and the highest weight there can be.
    """
    n = sums.n
    if n == 0:
        return 0.0, 1.0
    least, most = min(weights[0], 0.0), max(weights[1], sums.largest, 1.0 + 1e-9)
    budget = -(_excess(sums, most if sums.w < n else least) + _t_squared(level, n)) / (2.0 * (1 + n))
    low = _extreme(sums, 0.0, 1.0, (least, most), budget)
    high = _extreme(sums, 1.0, -1.0, (least, most), budget)
    return max(0.0, min(1.0, low)), max(0.0, min(1.0, high))


def _excess(sums: Sums, unseen: float) -> float:
    """How far from uniform the events must be reweighted in any case, so that the mean weight is 1."""
    n = sums.n
    if math.isinf(unseen):
        return 1.0 + 1.0 / n
    mean, squares = (unseen + sums.w) / (1 + n), (unseen**2 + sums.ww) / (1 + n)
    variance = squares - mean**2
    return (1 + n) * (mean - 1.0) ** 2 / variance if variance > 0 else 0.0


def _extreme(sums: Sums, reward: float, sign: float, unseen: Sequence[float], budget: float) -> float:
    """The lowest value, or the highest with sign -1, over what the unseen event's weight may be."""
    found = []
    for weight in unseen:
        middle, spread, room = _quadratic(sums, reward, sign, weight, budget)
        if room <= 0 and spread * room >= 0:
            found.append(middle - math.sqrt(2.0 * spread * room))
    return sign * min(found) if found else reward


def _quadratic(sums: Sums, reward: float, sign: float, weight: float, budget: float) -> tuple[float, float, float]:
    n, count = sums.n, 1 + sums.n
    if math.isinf(weight):
        middle = sign * (reward + (sums.wr - sums.w * reward) / n)
        rest = reward**2 * sums.ww - 2.0 * reward * sums.wwr + sums.wwrr
        spread = (reward * sums.w - sums.wr) ** 2 / (n * count) - rest / count
        return middle, min(spread, 0.0), budget + 1.0 / (2.0 * n)
    w, ww = (weight + sums.w) / count, (weight**2 + sums.ww) / count
    wr = sign * (weight * reward + sums.wr) / count
    wwr = sign * (weight**2 * reward + sums.wwr) / count
    wwrr = (weight**2 * reward**2 + sums.wwrr) / count
    variance, covariance = ww - w**2, wwr - w * wr
    if variance <= 0:  # all weights are 1: the mean of the rewards
        return wr, min(wr**2 - wwrr, 0.0), min(budget, 0.0)
    middle = wr + (1.0 - w) * covariance / variance
    spread = covariance**2 / variance - (wwrr - wr**2)
    return middle, min(spread, 0.0), budget + 0.5 * (1.0 - w) ** 2 / variance


def _t_squared(level: float, n: int) -> float:
    """The square of Student's quantile, by Cornish and Fisher's expansion (Abramowitz and Stegun 26.7.5)."""
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(sum(term / n**k for k, term in enumerate(terms))) ** 2
