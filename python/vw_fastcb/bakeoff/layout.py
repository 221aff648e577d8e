"""Where the columns of a data set lie among VW's weights.

A feature whose name is a number lies at that number, so names can be chosen such that no two columns share a weight,
in a table that is just large enough: a small one is made quickly and stays in the processor's cache. Hashed names
would collide, and not equally for all algorithms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_CONSTANT = 11650396  # where VW puts its constant feature
_MOST_BITS = 22  # 64 MB of weights; columns of wider data may then share some, as with hashing


@dataclass(frozen=True, eq=False)
class Layout:
    """The names (numbers) of the columns and the size of VW's table, `-b`."""

    names: NDArray[np.uint64]
    bits: int


def layout(columns: int, classes: int, copies: bool, least_bits: int = 0) -> Layout:
    """Where to put columns that each have one weight a class.

    `copies` is for flags with `--cb_explore_adf`: there cbify clears the low bits of an index to add the class. All
    others multiply the index by the number of classes, which VW rounds up to a power of two.
    """
    spacing = 1 << classes.bit_length() if copies else 1
    width = 1 if copies else 1 << (classes - 1).bit_length()  # what VW multiplies an index by
    block = spacing * width  # the weights of a column
    bits = max(least_bits, min(_MOST_BITS, ((columns + 1) * block - 1).bit_length()))
    taken = _CONSTANT * width % (1 << bits) // block
    numbers = np.arange(columns + 1, dtype=np.uint64)
    free = numbers[numbers != taken][:columns]
    return Layout(free * np.uint64(spacing), bits)
