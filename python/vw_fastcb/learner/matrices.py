"""From what users hold to what the engine reads: dense rows in place, or compressed sparse rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Matrix:
    """Rows of features. `data` is what the engine takes: a 2-D float array, or (values, columns, offsets, width)."""

    data: Any
    rows: int
    width: int


def as_matrix(given: Any, name: str) -> Matrix:
    """Takes an (n, d) array of numbers, in any memory order, or a scipy sparse matrix. Floats are not copied."""
    if hasattr(given, "tocsr"):
        return _sparse(given.tocsr(), name)
    array = np.asarray(given)
    if array.dtype not in (np.float32, np.float64):
        if array.dtype.kind not in "biuf":
            raise TypeError(f"{name} has the dtype {array.dtype}; expected numbers.")
        array = array.astype(np.float64)
    if array.ndim != 2:
        raise ValueError(f"{name} has shape {array.shape}; expected (n, d), one row for each event.")
    _refuse_not_finite(array, name)
    return Matrix(array, array.shape[0], array.shape[1])


def as_row(given: Any, name: str) -> Matrix:
    """Takes one context: a (d,) or (1, d) array, or a sparse matrix of one row."""
    row = given if hasattr(given, "tocsr") else np.atleast_2d(np.asarray(given))
    matrix = as_matrix(row, name)
    if matrix.rows != 1:
        raise ValueError(f"{name} has {matrix.rows} rows; expected one context, of shape (d,).")
    return matrix


def as_action_sets(given: Any, events: int) -> tuple[Matrix, NDArray[np.int64], bool]:
    """Takes the features of actions: (A, d) for every event, (n, A, d), or a list of n arrays (A_i, d).

    Returns the rows of all actions, where those of each event begin, and whether all events have as many.
    """
    if isinstance(given, Sequence) and any(np.ndim(one) == 2 for one in given):
        return _ragged([np.asarray(one) for one in given], events)
    array = np.asarray(given)
    if array.ndim == 2:
        matrix = as_matrix(array, "actions")
        if events == 1:
            return matrix, np.array([0, matrix.rows], dtype=np.int64), True
        return _ragged([array] * events, events)
    if array.ndim == 3 and array.shape[0] == events:
        count = array.shape[1]
        matrix = as_matrix(array.reshape(events * count, array.shape[2]), "actions")
        return matrix, np.arange(events + 1, dtype=np.int64) * count, True
    raise ValueError(
        f"actions has shape {array.shape}; expected (A, d), ({events}, A, d), or a list of {events} arrays (A_i, d)."
    )


def _ragged(sets: list[NDArray[Any]], events: int) -> tuple[Matrix, NDArray[np.int64], bool]:
    if len(sets) != events:
        raise ValueError(f"actions has {len(sets)} action sets; expected one for each of {events} events.")
    for i, one in enumerate(sets):
        if one.ndim != 2 or len(one) == 0:
            raise ValueError(f"the actions of event {i} have shape {one.shape}; expected (A, d) with A at least 1.")
    sizes = np.array([len(one) for one in sets], dtype=np.int64)
    first = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
    matrix = as_matrix(np.concatenate(sets) if sets else np.zeros((0, 0)), "actions")
    return matrix, first, len(set(sizes.tolist())) <= 1


def _sparse(csr: Any, name: str) -> Matrix:
    values = csr.data if csr.data.dtype in (np.float32, np.float64) else csr.data.astype(np.float64)
    _refuse_not_finite(values, name)
    columns = np.ascontiguousarray(csr.indices, dtype=np.int64)
    offsets = np.ascontiguousarray(csr.indptr, dtype=np.int64)
    return Matrix((np.ascontiguousarray(values), columns, offsets, csr.shape[1]), csr.shape[0], csr.shape[1])


def _refuse_not_finite(values: NDArray[Any], name: str) -> None:
    # The engine works in float32: what overflows there is not finite either.
    if not np.isfinite(values).all() or (values.size and np.abs(values).max() > np.finfo(np.float32).max):
        raise ValueError(f"{name} has a value that is NaN or infinite (in float32); expected finite numbers.")
