"""Draws."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The array, from now on read-only."""
    array.flags.writeable = False
    return array


def draw_of(seed: int, event_id: str | int) -> float:
    """A number in [0, 1) that depends on the seed and the id alone."""
    digest = hashlib.blake2b(f"{seed}:{event_id}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53


def sample(pmf: NDArray[np.float64], draw: float) -> int:
    """The action that a number in [0, 1) picks."""
    return int(min(np.searchsorted(np.cumsum(pmf), draw * pmf.sum(), side="right"), len(pmf) - 1))
