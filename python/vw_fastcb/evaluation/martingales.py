"""Lower bounds of a running mean that hold at every n at once, without a bound on the variables from above.

Let Z_1, Z_2, ... be at least 0, with conditional means m_1, m_2, ... given the past, and let g_i in [0, 1] be any guess
at Z_i made before it was seen. For each lambda in [0, 1), with psi = -log(1 - lambda) - lambda, the product of

    exp(lambda (Z_i - m_i) - psi (Z_i - g_i)^2)

is a supermartingale that starts at 1 (Fan, Grama and Liu 2015; Howard, Ramdas, McAuliffe and Sekhon 2021, theorem 4).
So it ever reaches 1 / error with a probability of at most `error` (Ville), and so does a mixture of such
products. Nothing here asks that events are independent: the log may be that of a policy which learns.

A product depends on the data by sums alone, and its logarithm is linear in the sum of the means. So the state is a few
numbers, and a bound is the root of a convex function of one variable.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.evaluation.inputs import as_floats, checked_count

_Floats = NDArray[np.float64]

# Bets, from bold to cautious. That of the middle suits a sum of squares of 10^4, the last one of 10^12; one that is off
# by the square root of two makes a bound 4% wider.
_BETS = np.array([0.75, *(2.0**-k for k in range(1, 19))])
_PRICES = -np.log1p(-_BETS) - _BETS

_BOLDEST = 0.5  # bet of a plan for a fixed n


class LowerBounds:
    """A lower bound of a mean t from several variables per event, each with a mean of at most t.

    Args:
        shifts: What is added to each variable, so that it is at least 0.
        scales: What the sum is divided by, so that a guess at it is in [0, 1].
        shares: How much of the wealth each variable gets to bet with. They sum to 1.
        expected: How many events there will be, for `at_the_end`; any number keeps the bound valid, the right one makes
            it tight.
    """

    def __init__(self, shifts: _Floats, scales: _Floats, shares: _Floats, expected: int | None = None) -> None:
        self._shifts, self._scales = shifts, scales
        self._log_shares = np.log(shares)
        self._expected = expected
        self._n = 0
        self._sums = np.zeros(len(shifts))
        self._squares = np.zeros(len(shifts))  # of what was guessed wrong
        # The plan for a fixed n: its bets, times the variables, and what was paid.
        self._bets = np.zeros(len(shifts))
        self._gains = np.zeros(len(shifts))
        self._paid = np.zeros(len(shifts))

    @property
    def n(self) -> int:
        """How many events there were."""
        return self._n

    def update(self, values: _Floats, error: float) -> None:
        """Takes the variables of further events, a row per event."""
        z = (values + self._shifts) / self._scales
        seen = self._n + np.arange(len(z), dtype=np.float64)[:, None]
        guesses = np.clip((self._sums + np.cumsum(z, axis=0) - z + 0.5) / (seen + 1.0), 0.0, 1.0)
        wrong = (z - guesses) ** 2
        if self._expected is not None:
            self._bet(z, seen, wrong, error)
        self._squares += wrong.sum(axis=0)
        self._sums += z.sum(axis=0)
        self._n += len(z)

    def _bet(self, z: _Floats, seen: _Floats, wrong: _Floats, error: float) -> None:
        """Bets what would be best for the expected n, were the variance what it was so far."""
        assert self._expected is not None
        variance = (self._squares + np.cumsum(wrong, axis=0) - wrong + 1.0) / (seen + 1.0)
        wanted = 2.0 * (math.log(1.0 / error) - self._log_shares)
        bets = np.minimum(np.sqrt(wanted / (variance * self._expected)), _BOLDEST)
        self._bets += bets.sum(axis=0)
        self._gains += (bets * z).sum(axis=0)
        self._paid += ((-np.log1p(-bets) - bets) * wrong).sum(axis=0)

    def at_every_n(self, error: float, least: float) -> float:
        """The bound that holds at every n at once, of the mean of the conditional means; at least `least`."""
        return _root(*self._constant_bets(), math.log(1.0 / error), least)

    def at_the_end(self, error: float, least: float) -> float:
        """The bound for a fixed n, of a mean that is the same for all events; at least `least`.

        Half of the wealth follows the plan. The other half bets as for every n, which is better where the variance that
        was seen early misleads.
        """
        planned = self._gains - self._paid - self._bets * self._shifts / self._scales + self._log_shares
        constant, slopes = self._constant_bets()
        levels = np.concatenate([planned, constant]) - math.log(2.0)
        return _root(levels, np.concatenate([self._bets / self._scales, slopes]), math.log(1.0 / error), least)

    def _constant_bets(self) -> tuple[_Floats, _Floats]:
        """The logarithms of what each variable and bet have made were t 0, and how they fall with t."""
        levels = np.multiply.outer(self._sums - self._n * self._shifts / self._scales, _BETS)
        levels -= np.multiply.outer(self._squares, _PRICES)
        levels += self._log_shares[:, None] - math.log(len(_BETS))
        return levels.ravel(), np.multiply.outer(self._n / self._scales, _BETS).ravel()

    def to_dict(self) -> dict[str, Any]:
        """The state, for JSON."""
        return {
            "n": self._n,
            "expected": self._expected,
            **{name: getattr(self, f"_{name}").tolist() for name in ("sums", "squares", "bets", "gains", "paid")},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Takes a state that `to_dict` has made."""
        n, self._expected = state["n"], checked_count(state["expected"])
        if type(n) is not int or n < 0:
            raise ValueError(f"n is {n!r}; expected a whole number from 0 on.")
        self._n = n
        for name in ("sums", "squares", "bets", "gains", "paid"):
            found = as_floats(state[name], name).copy()
            if found.shape != self._shifts.shape or not (np.isfinite(found) & (found >= 0)).all():
                count = len(self._shifts)
                raise ValueError(f"{name} are {state[name]}; expected {count} finite numbers, none below 0.")
            setattr(self, f"_{name}", found)


def _root(levels: _Floats, slopes: _Floats, target: float, least: float) -> float:
    """Where log(sum(exp(levels - slopes t))) falls to the target.

    The function is convex and falls, so Newton's steps from the left come close from the left: each of them is a bound.
    """
    t = least
    for _ in range(100):
        exponents = levels - slopes * t
        top = float(exponents.max())
        weights = np.exp(exponents - top)
        total = float(weights.sum())
        excess = top + math.log(total) - target
        if excess <= 1e-9:
            break
        t += excess * total / float(weights @ slopes)
    return t
