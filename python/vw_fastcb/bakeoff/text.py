"""The rows of a data set as VW's text, to repeat a pass of the bake-off with `vw-fastcb` on the command line."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.bakeoff.data import Dataset


def vw_lines(
    dataset: Dataset, names: NDArray[np.uint64], order: NDArray[np.int64], exact: bool = True
) -> Iterator[str]:
    """One line a row: the class, from 1, and the values that are not zero, each with the name of its column.

    VW reads decimal numbers to within a rounding error; `exact` writes them in base 16, which it reads exactly.
    """
    for row in order:
        values = dataset.features[row]
        if not isinstance(values, np.ndarray):
            values = values.toarray()[0]
        present = np.flatnonzero(values)
        numbers = (float(value).hex() if exact else f"{value:.6g}" for value in values[present])
        features = " ".join(f"{name}:{number}" for name, number in zip(names[present], numbers, strict=True))
        yield f"{dataset.labels[row] + 1} | {features}\n"
