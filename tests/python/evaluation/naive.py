"""The bounds of running means as their definition says them: slow, in plain numbers, and independent of ours.

The wealth of a bet lambda on a variable Z with the guess G, if the mean is t, is the product over the events of

    exp(lambda (Z - (t + shift) / scale) - (-log(1 - lambda) - lambda) (Z - G)^2),    Z = (value + shift) / scale

and the bound is where all wealth together, which falls with t, comes down to 1 / error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

CONSTANT_BETS = [0.75] + [0.5**k for k in range(1, 19)]
CUTS = [4.0, 64.0, 1024.0, math.inf]
BOUNDS = [2.0, 8.0, 32.0, 128.0, 512.0, 2048.0, 8192.0]

Row = Sequence[float]
Wealth = Callable[[float], float]  # the logarithm, by the mean


def log_sum(values: Sequence[float]) -> float:
    top = max(values)
    return top + math.log(sum(math.exp(one - top) for one in values))


class Variable:
    """One variable: its values moved into place, and the guesses at them, each from the values before."""

    def __init__(self, values: Row, shift: float, scale: float, share: float) -> None:
        self.shift, self.scale, self.share = shift, scale, share
        self.z = [(one + shift) / scale for one in values]
        self.wrong = []  # squares
        for i, one in enumerate(self.z):
            guess = (0.5 + sum(self.z[:i])) / (i + 1)
            self.wrong.append((one - min(max(guess, 0.0), 1.0)) ** 2)

    def log_wealth(self, bets: Row, t: float) -> float:
        """Of one bet per event."""
        mean = (t + self.shift) / self.scale
        return sum(
            bet * (z - mean) - (-math.log1p(-bet) - bet) * wrong
            for bet, z, wrong in zip(bets, self.z, self.wrong, strict=True)
        )

    def planned(self, error: float, expected: int) -> list[float]:
        """The bet that is best for the expected n, by the variance of the events before."""
        target = 2.0 * math.log(1.0 / (error * self.share))
        variances = [(1.0 + sum(self.wrong[:i])) / (i + 1) for i in range(len(self.z))]
        return [min(math.sqrt(target / (one * expected)), 0.5) for one in variances]


def at_every_n(variables: Sequence[Variable]) -> Wealth:
    each = math.log(len(CONSTANT_BETS))

    def wealth(t: float) -> float:
        return log_sum(
            [
                math.log(one.share) - each + one.log_wealth([bet] * len(one.z), t)
                for one in variables
                for bet in CONSTANT_BETS
            ]
        )

    return wealth


def at_the_end(variables: Sequence[Variable], error: float, expected: int) -> Wealth:
    always = at_every_n(variables)
    plans = [one.planned(error, expected) for one in variables]

    def wealth(t: float) -> float:
        planned = [math.log(one.share) + one.log_wealth(bets, t) for one, bets in zip(variables, plans, strict=True)]
        return log_sum([log_sum(planned), always(t)]) - math.log(2.0)  # half for each

    return wealth


def lower_bound(wealth: Wealth, error: float) -> float:
    """By bisection; at least 0."""
    if wealth(0.0) <= math.log(1.0 / error):
        return 0.0
    low, high = 0.0, 1.0
    while wealth(high) > math.log(1.0 / error):
        low, high = high, 2.0 * high
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (middle, high) if wealth(middle) > math.log(1.0 / error) else (low, middle)
    return low


def ips_variables(weights: Row, rewards: Row, beyond: Sequence[Row] | None) -> tuple[list[Variable], list[Variable]]:
    """Of the lower end, and of 1 minus the upper end, for rewards in [0, 1]."""
    pairs = list(zip(weights, rewards, strict=True))
    lower = [Variable([min(w, cut) * r for w, r in pairs], 0.0, 1.0, 1 / len(CUTS)) for cut in CUTS]
    upper = [Variable([min(w, cut) * (1 - r) for w, r in pairs], 0.0, 1.0, 0.5 / len(CUTS)) for cut in CUTS]
    for j, bound in enumerate(BOUNDS):
        known = [1.0] * len(pairs)
        if beyond is not None:
            known = [(w * r if w <= bound else 0.0) + mass[j] for (w, r), mass in zip(pairs, beyond, strict=True)]
        upper.append(Variable([1.0 - one for one in known], bound, bound + 1.0, 0.5 / len(BOUNDS)))
    return lower, upper


def dr_variables(
    rewards: Row, actions: Sequence[int], policy: Sequence[Row], logged: Sequence[Row], predictions: Sequence[Row]
) -> tuple[list[Variable], list[Variable]]:
    """The same of doubly robust estimates: what is beyond a bound is left to the lowest, or the highest reward."""
    lower, upper = [], []
    for bound in BOUNDS:
        low, high = [], []
        for r, a, pi, p, q in zip(rewards, actions, policy, logged, predictions, strict=True):
            near = [b for b in range(len(pi)) if pi[b] <= bound * p[b]]
            value = sum(pi[b] * q[b] for b in near)
            if a in near:
                value += pi[a] / p[a] * (r - q[a])
            low.append(value)
            high.append(1.0 - value - sum(pi[b] for b in range(len(pi)) if b not in near))
        lower.append(Variable(low, bound, bound + 1.0, 1 / len(BOUNDS)))
        upper.append(Variable(high, bound, bound + 1.0, 1 / len(BOUNDS)))
    return lower, upper


def interval(
    variables: tuple[list[Variable], list[Variable]], level: float, expected: int | None = None
) -> tuple[float, float]:
    """The interval of a mean in [0, 1]: half of the error for each end. With `expected`, the one for a fixed n."""
    error = (1.0 - level) / 2.0
    ends = []
    for side in variables:
        wealth = at_every_n(side) if expected is None else at_the_end(side, error, expected)
        ends.append(lower_bound(wealth, error))
    return min(ends[0], 1.0), max(1.0 - ends[1], 0.0)
