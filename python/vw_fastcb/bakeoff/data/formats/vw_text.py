"""VW's text with multiclass labels, plain or gzipped: every namespace and name becomes a column."""

from __future__ import annotations

import gzip
import zlib
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse

from ..dataset import BrokenDataset, Dataset
from ..table import compact, encode_labels, rows_with_a_class


def read(path: Path, name: str, target: str | None) -> Dataset:
    """Reads lines such as `3 |pixels a:0.5 b`. A target is not asked for: the label stands first."""
    del target
    labels: list[str] = []
    columns: dict[str, int] = {}
    places, values, ends = array("q"), array("f"), array("q", [0])
    for number, line in _lines(path, name):
        label, features = _split(line, f"{name}: line {number} of {path}")
        labels.append(label)
        for feature, value in features:
            places.append(columns.setdefault(feature, len(columns)))
            values.append(value)
        ends.append(len(values))
    if not columns:
        raise BrokenDataset(f"{name}: {path} has no line with a feature; `label | name:value ...` was expected.")
    matrix = scipy.sparse.csr_matrix(
        (np.array(values, np.float32), np.array(places), np.array(ends)), shape=(len(labels), len(columns))
    )
    matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        raise BrokenDataset(f"{name}: {path} has a feature whose value is not a finite number.")
    column = pd.Series(labels, name="label")
    present, notes = rows_with_a_class(column)
    numbers, classes = encode_labels(name, column[present])
    return Dataset(name, str(path), compact(matrix[present]), numbers, classes, None, notes)


def _lines(path: Path, name: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile, zlib.error) as problem:
        raise BrokenDataset(f"{name}: {path} is damaged or not text: {problem}") from problem


def _split(line: str, where: str) -> tuple[str, list[tuple[str, float]]]:
    head, bar, rest = line.partition("|")
    label = head.split()[0] if head.split() else ""
    if not bar:
        raise BrokenDataset(f"{where} has no bar; `label | name:value ...` was expected.")
    if not label or ":" in label or label.startswith("shared"):
        given = f"the label {label!r}" if label else "no label"
        raise BrokenDataset(f"{where} has {given}; a class was expected, as for `vw --oaa`.")
    return label, [feature for part in rest.split("|") for feature in _namespace(part, where)]


def _namespace(part: str, where: str) -> Iterator[tuple[str, float]]:
    """Features of one namespace. Its name touches the bar; a blank after the bar means that it has none."""
    tokens = part.split()
    space, weight = "", 1.0
    if tokens and not part[:1].isspace():
        space, weight = _named_value(tokens.pop(0), where)
    for token in tokens:
        feature, value = _named_value(token, where)
        yield f"{space}^{feature}", value * weight


def _named_value(token: str, where: str) -> tuple[str, float]:
    feature, colon, value = token.partition(":")
    try:
        return feature, float(value) if colon else 1.0
    except ValueError:
        raise BrokenDataset(f"{where} has {token!r}; a number was expected behind the colon.") from None
