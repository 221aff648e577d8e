"""What the best function of a class would have lost, found by an optimiser that knows nothing of the oracles.

An optimiser may stop early, and would then flatter the oracle. So each answer comes with a certificate: a number that
no function of the class can beat, from the convexity of log loss (the gap of Frank and Wolfe).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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


def best_in_simplex(phi: Array, y: Array) -> Best:
    """Losses <w, phi> with w in the simplex."""
    d = phi.shape[1]

    def barrier(w: Array) -> tuple[float, Array, Array]:
        return (-np.log(w).sum(), -1 / w, np.diag(w**-2.0)) if (w > 0).all() else _OUTSIDE

    w = _interior(phi, y, (0.0, 1.0), barrier, np.full(d, 1 / d), np.ones((1, d)))
    lost, gradient, _ = _log_losses(phi, y, (0.0, 1.0), w)
    return Best(w, lost, lost - float(gradient @ w - gradient.min()))


def best_in_ball(phi: Array, y: Array) -> Best:
    """Losses (1 + <w, phi>) / 2 with w in the unit ball."""
    d = phi.shape[1]

    def barrier(w: Array) -> tuple[float, Array, Array]:
        left = 1 - w @ w
        hessian = 2 / left * np.eye(d) + 4 / left**2 * np.outer(w, w)
        return (-np.log(left), 2 * w / left, hessian) if left > 0 else _OUTSIDE

    w = _interior(phi, y, (0.5, 0.5), barrier, np.zeros(d), np.zeros((0, d)))
    lost, gradient, _ = _log_losses(phi, y, (0.5, 0.5), w)
    return Best(w, lost, lost - float(gradient @ w + np.linalg.norm(gradient)))


_OUTSIDE = (np.inf, np.zeros(0), np.zeros((0, 0)))


def _log_losses(phi: Array, y: Array, line: tuple[float, float], w: Array) -> tuple[float, Array, Array]:
    """The total log loss of weights, its gradient and its Hessian; predictions are line[0] + line[1] <w, phi>."""
    offset, scale = line
    p = offset + scale * (phi @ w)
    slopes = scale * ((1 - y) / (1 - p) - y / p)
    curves = scale**2 * ((1 - y) / (1 - p) ** 2 + y / p**2)
    return float(log_loss(p, y).sum()), phi.T @ slopes, (phi.T * curves) @ phi


def _interior(phi: Array, y: Array, line: tuple[float, float], barrier: Any, w: Array, kept: Array) -> Array:
    """An interior-point method: Newton's steps on all the losses and ever less of a barrier, where kept @ w stays.

    scipy's SLSQP stops far from the best where that is close to the border, as it often is here.
    """
    rows = len(kept)
    for share in 10.0 ** -np.arange(5):
        for _ in range(60):
            values, gradients, hessians = zip(_log_losses(phi, y, line, w), barrier(w), strict=True)
            gradient = gradients[0] + share * gradients[1]
            system = np.block([[hessians[0] + share * hessians[1], kept.T], [kept, np.zeros((rows, rows))]])
            step = np.linalg.solve(system, np.concatenate([-gradient, np.zeros(rows)]))[: len(w)]
            slope = float(gradient @ step)
            if slope > -1e-9:
                break
            length, now = 1.0, values[0] + share * values[1]
            while length > 1e-10:
                there = w + length * step
                inside = barrier(there)[0]
                if np.isfinite(inside):
                    value = _log_losses(phi, y, line, there)[0] + share * inside
                    if value <= now + 0.1 * length * slope:
                        break
                length /= 2
            w = w + length * step if length > 1e-10 else w
    return w


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
