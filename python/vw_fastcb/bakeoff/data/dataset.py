"""What a data set of the bake-off is, what stands for one that is not loaded yet, and when two are the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

CLASSES_NAMED = 5  # in a note


class BrokenDataset(Exception):
    """A set that cannot be used. The message says which one, what is wrong and what was expected."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A multiclass data set: finite float32 features (dense, or csr where that is smaller), labels from 0."""

    name: str
    source: str
    features: NDArray[np.float32] | scipy.sparse.csr_matrix
    labels: NDArray[np.int64]
    classes: tuple[str, ...]
    subset_of: str | None = None
    notes: tuple[str, ...] = ()
    target: str | None = None  # the column of the class, where it has a name

    @property
    def rows(self) -> int:
        """How many examples there are."""
        return int(self.features.shape[0])

    @property
    def columns(self) -> int:
        """How many features an example has, one-hot columns counted one by one."""
        return int(self.features.shape[1])

    @property
    def n_classes(self) -> int:
        """How many classes (actions of the bandit) there are."""
        return len(self.classes)

    @cached_property
    def class_shares(self) -> tuple[float, ...]:
        """The share of the rows that each class has, in the order of `classes`."""
        counts = np.bincount(self.labels, minlength=self.n_classes)
        return tuple(float(count) / self.rows for count in counts)

    @property
    def class_note(self) -> str:
        """Which column is the class, and what the classes are."""
        names = ", ".join(self.classes[:CLASSES_NAMED])
        if self.n_classes > CLASSES_NAMED:
            names = f"{self.n_classes} classes: {names}, …"
        column = "the label of each line" if self.target is None else f"the column {self.target!r}"
        return f"the class is {column} ({names})"

    @property
    def majority_error(self) -> float:
        """The error of always guessing the most frequent class."""
        return 1 - max(self.class_shares)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of features and labels, in the order of the rows."""
        digest = hashlib.sha256(repr(self.features.shape).encode())
        for part in self._parts():
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def _parts(self) -> tuple[NDArray[np.generic], ...]:
        if isinstance(self.features, np.ndarray):
            return (self.features, self.labels)
        pointers = self.features.indptr.astype(np.int64)
        return (self.features.data, self.features.indices.astype(np.int64), pointers, self.labels)


@dataclass(frozen=True)
class Shape:
    """What the index knows of a set without loading it."""

    rows: int
    columns: int
    classes: int
    class_shares: tuple[float, ...]
    subset_of: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True)
class Entry:
    """A set that can be loaded: cheap to list, picklable. `load` raises BrokenDataset where the set is unusable."""

    name: str
    source: str
    load: Callable[[], Dataset]
    shape: Shape | None = field(default=None, compare=False)


def content_key(dataset: Dataset) -> str:
    """The same text for two sets that differ in the order of rows or columns, or in numbering the classes, only."""
    features = _canonical_columns(_dense(dataset))
    classes = sorted(_digest(_sorted_rows(features[dataset.labels == label])) for label in range(dataset.n_classes))
    return hashlib.sha256(" ".join(classes).encode()).hexdigest()


def _dense(dataset: Dataset) -> NDArray[np.float32]:
    features = dataset.features
    dense = features if isinstance(features, np.ndarray) else features.toarray()
    return np.asarray(dense, dtype=np.float32) + np.float32(0)  # -0.0 and 0.0 are the same value


def _canonical_columns(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """Columns in the order of a digest of their sorted values, which the order of the rows does not change."""
    digests = [_digest(np.sort(column)) for column in features.T]
    return features[:, np.argsort(digests, kind="stable")]


def _sorted_rows(features: NDArray[np.float32]) -> NDArray[np.float32]:
    return features[np.lexsort(features.T[::-1])]


def _digest(array: NDArray[np.float32]) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
