"""The allocation rules on arrays: they turn predictions into probabilities.

Each rule takes predictions in [0, 1] as an (A,) or (n, A) array, and `gamma`, one number or one per row, from 0
(uniform) to infinity (greedy). The result has the same shape, in float64, and each row is a pmf. The engine uses the
same code.

    >>> from vw_fastcb import allocation
    >>> allocation.reweighted_igw([0.1, 0.2, 0.9], gamma=10).round(3)
    array([0.911, 0.077, 0.012])
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vw_fastcb import _engine

__all__ = ["igw", "reweighted_igw", "reweighted_igw_both", "reweighted_igw_rewards"]

_Rule = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def reweighted_igw(losses: ArrayLike, gamma: ArrayLike) -> NDArray[np.float64]:
    """FastCB's rule: p_a = y_b / (A y_b + gamma (y_a - y_b)) for all but b = argmin y, which gets the rest."""
    return _allocate(_engine.reweighted_igw, "losses", losses, gamma)


def igw(losses: ArrayLike, gamma: ArrayLike) -> NDArray[np.float64]:
    """SquareCB's rule: p_a = 1 / (A + gamma (y_a - y_b)) for all but b = argmin y, which gets the rest."""
    return _allocate(_engine.igw, "losses", losses, gamma)


def reweighted_igw_rewards(rewards: ArrayLike, gamma: ArrayLike) -> NDArray[np.float64]:
    """FastCB's rule for small rewards: p_a = y_b / (A y_b + gamma (y_b - y_a)) for all but b = argmax y."""
    return _allocate(_engine.reweighted_igw_rewards, "rewards", rewards, gamma)


def reweighted_igw_both(losses: ArrayLike, gamma: ArrayLike) -> NDArray[np.float64]:
    """For small losses and small rewards: p_a = w / (A w + gamma (y_a - y_b)), b = argmin y, w = min(y_b, 1 - y_b).

    Where the best action's loss is at most one half this is `reweighted_igw`, elsewhere `reweighted_igw_rewards` of
    1 - y.
    """
    return _allocate(_engine.reweighted_igw_both, "losses", losses, gamma)


def _allocate(rule: _Rule, name: str, predictions: ArrayLike, gamma: ArrayLike) -> NDArray[np.float64]:
    values = _numbers(name, predictions)
    if values.ndim not in (1, 2) or values.shape[-1] == 0:
        raise ValueError(f"{name} has shape {values.shape}; expected (A,) or (n, A) with at least one action.")
    rows = np.atleast_2d(values)
    if not np.all((rows >= 0) & (rows <= 1)):
        bad = rows[~((rows >= 0) & (rows <= 1))][0]
        raise ValueError(f"{name} has the value {bad}; expected predictions in [0, 1].")
    gammas = _numbers("gamma", gamma)
    if gammas.shape not in ((), (len(rows),)):
        raise ValueError(f"gamma has shape {gammas.shape}; expected one number, or one per row ({len(rows)}).")
    if not np.all(gammas >= 0):
        raise ValueError(f"gamma has the value {gammas.min()}; expected 0 or larger.")
    pmf = rule(np.ascontiguousarray(rows), np.ascontiguousarray(np.broadcast_to(gammas, len(rows))))
    return pmf.reshape(values.shape)


def _numbers(name: str, given: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:  # text, rows of several lengths, a sparse matrix
        raise TypeError(f"{name} is no array of numbers: {problem}") from problem
