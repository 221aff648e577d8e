"""The rows of sparse ARFF: `{3 1.5, 7 red}`, where a column that is not named is 0, or its first category."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import scipy.sparse

from ..dataset import BrokenDataset, Dataset
from ..table import compact, encode_features, encode_labels, rows_with_a_class

if TYPE_CHECKING:
    from .declared import Header

CELL = re.compile(r"""\s*(\d+)\s+( '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | [^,]*? )\s*(?:,|$)""", re.VERBOSE)


def read(data: str, header: Header, target: str, name: str, source: str, *, left_out: Sequence[str] = ()) -> Dataset:
    """Numbers go straight into a sparse matrix; the other columns, the class among them, are encoded as a table."""
    rows = [line.strip() for line in data.splitlines() if line.strip()]
    place, column_of, values = array("q"), array("q"), array("d")
    texts = {
        column: [_default(categories)] * len(rows)
        for column, numeric, categories in zip(header.columns, header.numeric, header.categories, strict=True)
        if not numeric or column == target
    }
    for number, line in enumerate(rows):
        for index, text in _cells(line, f"{name}: row {number + 1} of {source}", len(header.columns)):
            column = header.columns[index]
            if column in texts:
                texts[column][number] = text
            else:
                place.append(number)
                column_of.append(index)
                values.append(_number(text, f"{name}: row {number + 1} of {source}"))
    matrix = scipy.sparse.csr_matrix(
        (np.array(values, np.float32), (np.array(place), np.array(column_of))), shape=(len(rows), len(header.columns))
    )
    column_of_class = pd.Series(texts.pop(target), name=target)
    present, notes = rows_with_a_class(column_of_class)
    labels, classes = encode_labels(name, column_of_class[present])
    numeric = [i for i, column in enumerate(header.columns) if column not in {target, *texts, *left_out}]
    features = matrix[present][:, numeric]
    for column in left_out:
        texts.pop(column, None)
    if texts:
        others, remarks = encode_features(name, pd.DataFrame(texts)[present].astype("category"))
        features = scipy.sparse.csr_matrix(scipy.sparse.hstack([features, others], format="csr"))
        notes += remarks
    return Dataset(name, source, compact(features), labels, classes, None, notes, target)


def _default(categories: list[str]) -> str:
    return categories[0] if categories else "0"


def _cells(line: str, where: str, columns: int) -> list[tuple[int, str]]:
    if not (line.startswith("{") and line.endswith("}")):
        raise BrokenDataset(f"{where} is cut off or not sparse: {line[:40]!r}; `{{index value, ...}}` was expected.")
    inside = line[1:-1].strip()
    cells = [(int(match[1]), match[2].strip("'\"")) for match in CELL.finditer(inside)]
    if len(cells) != (len(inside.split(",")) if inside else 0) and not re.search("['\"]", inside):
        raise BrokenDataset(f"{where} has a cell that is not `index value`: {line[:80]!r}.")
    if any(index >= columns for index, _ in cells):
        raise BrokenDataset(f"{where} names a column past the {columns} declared: {line[:80]!r}.")
    return cells


def _number(text: str, where: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not np.isfinite(number):
        raise BrokenDataset(f"{where} has {text!r}; a finite number was expected (sparse rows with `?` are not read).")
    return number
