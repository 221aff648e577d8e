"""The paper's approximate Z-test on two progressive validation losses (its appendix, "Tables in Figure 1")."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

USUAL = NormalDist().inv_cdf(0.975)
"""1.96 standard errors, what a two-sided test at 5% usually asks for."""

CRITICAL = USUAL / sqrt(2)
"""1.386 standard errors, what the paper asks for: erf(CRITICAL) = 0.95. It is less than is usual, because the paper
puts the error function where a test has the normal distribution."""


def distance(loss: ArrayLike, rival_loss: ArrayLike, rounds: ArrayLike) -> NDArray[np.float64]:
    """By how many standard errors `loss` is below `rival_loss`, each a mean of 0/1 losses over `rounds` rounds."""
    p, q, n = (np.asarray(values, dtype=float) for values in (loss, rival_loss, rounds))
    with np.errstate(divide="ignore", invalid="ignore"):  # the error is zero when both losses are 0 or 1
        errors = (q - p) / np.sqrt((p * (1 - p) + q * (1 - q)) / n)
    return np.where(p == q, 0.0, errors)


def verdict(loss: ArrayLike, rival_loss: ArrayLike, rounds: ArrayLike, critical: float = CRITICAL) -> NDArray[np.int64]:
    """1 where `loss` is significantly below `rival_loss`, -1 where it is significantly above, 0 otherwise."""
    errors = distance(loss, rival_loss, rounds)
    return np.where(np.abs(errors) > critical, np.sign(errors), 0).astype(np.int64)


def half_width(loss: ArrayLike, rounds: ArrayLike) -> NDArray[np.float64]:
    """Half the band around a loss: where the bands of two losses do not touch, they differ by the test above."""
    p = np.asarray(loss, dtype=float)
    return np.asarray(CRITICAL * np.sqrt(p * (1 - p) / np.asarray(rounds, dtype=float)))
