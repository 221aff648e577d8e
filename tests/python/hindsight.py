"""What the best function of a class would have lost, found by an optimiser that knows nothing of the oracles.

An optimiser may stop early, and would then flatter the oracle. So each answer comes with a certificate: a number that
no function of the class can beat, from the convexity of log loss (the gap of Frank and Wolfe).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from vw_fastcb.oracles import log_loss

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Best:
    """The best weights, what they lose, and what nobody in the class can lose less than."""

    weights: Array
    lost: float
    least: float


def _total(phi: Array, y: Array, offset: float, scale: float):
    def value_and_gradient(w: Array) -> tuple[float, Array]:
        p = np.clip(offset + scale * (phi @ w), 1e-12, 1 - 1e-12)
        slopes = scale * ((1 - y) / (1 - p) - y / p)
        return float(log_loss(p, y).sum()), phi.T @ slopes

    return value_and_gradient


def best_in_simplex(phi: Array, y: Array) -> Best:
    """Losses <w, phi> with w in the simplex."""
    d = phi.shape[1]
    loss = _total(phi, y, 0.0, 1.0)
    found = minimize(
        loss,
        np.full(d, 1 / d),
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * d,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(d)},
        options={"maxiter": 500, "ftol": 1e-10},
    )
    w = np.clip(found.x, 0, 1)
    w /= w.sum()
    lost, gradient = loss(w)
    return Best(w, lost, lost - float(gradient @ w - gradient.min()))


def best_in_ball(phi: Array, y: Array) -> Best:
    """Losses (1 + <w, phi>) / 2 with w in the unit ball."""
    loss = _total(phi, y, 0.5, 0.5)
    found = minimize(
        loss,
        np.zeros(phi.shape[1]),
        jac=True,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda w: 1 - w @ w, "jac": lambda w: -2 * w},
        options={"maxiter": 500, "ftol": 1e-10},
    )
    w = found.x / max(1.0, float(np.linalg.norm(found.x)))
    lost, gradient = loss(w)
    return Best(w, lost, lost - float(gradient @ w + np.linalg.norm(gradient)))


def best_logistic(phi: Array, y: Array) -> Best:
    """Losses sigmoid(<w, phi>) with w in the unit ball."""

    def loss(w: Array) -> tuple[float, Array]:
        p = 1 / (1 + np.exp(-(phi @ w)))
        return float(log_loss(p, y).sum()), phi.T @ (p - y)

    found = minimize(
        loss,
        np.zeros(phi.shape[1]),
        jac=True,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda w: 1 - w @ w, "jac": lambda w: -2 * w},
        options={"maxiter": 500, "ftol": 1e-10},
    )
    w = found.x / max(1.0, float(np.linalg.norm(found.x)))
    lost, gradient = loss(w)
    return Best(w, lost, lost - float(gradient @ w + np.linalg.norm(gradient)))
