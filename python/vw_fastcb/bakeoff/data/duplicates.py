"""Finds the same data under two names: equal up to the order of rows, columns and classes, and the classes' names."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from .dataset import Dataset

# The same data by another name whose content differs a little: rounding, a few rows, or another coding of a column.
SAME_AS = {
    "sklearn/breast_cancer": "keel/wdbc",
    "sklearn/iris": "keel/iris",
}


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
