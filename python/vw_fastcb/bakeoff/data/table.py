"""From a table of mixed columns to numbers: numeric columns kept, categorical ones one-hot, missing values marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import NDArray

from .dataset import BrokenDataset, Dataset

MISSING = frozenset({"", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "<null>", "None", "<NA>"})
NO_CLASS = MISSING - {"None", "null", "NULL"}  # in the column of the class these are words like others
USUAL_TARGETS = ("class", "target", "label", "y")
# csr costs eight bytes a nonzero value and four a row, dense four bytes a value; below this share of nonzeros
# csr is less than half the size, and a learner that walks the nonzeros has less to do.
SPARSE_BELOW = 0.25
MANY_VALUES = 50  # of a column of text, from which on a remark says so
FEWEST_IDS = 20  # rows, below which a column that counts them proves nothing
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(\D|$)")
ID = re.compile(r"(^|[_\W])(id|index|key|row|number|nr|no)$|^id[_\W]", re.IGNORECASE)


Columns: TypeAlias = NDArray[np.float32] | scipy.sparse.csc_matrix
"""What a column of the table becomes: one or more columns of the matrix."""


@dataclass(frozen=True)
class Texts:
    """A column as text: the different values, stripped, and for each row the place of its value, -1 where missing.

    Work on a value is done once, not once a row. Two values may be the same text, such as "a" and " a".
    """

    values: list[str]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, column: pd.Series, missing: frozenset[str] = MISSING) -> Texts:
        """Reads a column; whole numbers lose the decimal point that a column of floats gives them."""
        codes, found = pd.factorize(column)
        whole = pd.api.types.is_float_dtype(column.dtype) and bool(np.all(found == np.floor(found)))
        texts = [str(int(value) if whole else value).strip() for value in found]
        kept = [text for text in texts if text not in missing]
        place = np.cumsum([0, *(text not in missing for text in texts)])[:-1]
        new = np.array([-1 if text in missing else place[i] for i, text in enumerate(texts)] + [-1], np.int64)
        return cls(kept, new[codes])

    def as_numbers(self) -> NDArray[np.float64] | None:
        """The number of each row, NaN where missing; None where a value is not a number or there is none."""
        numbers = pd.to_numeric(pd.Series(self.values, dtype=object), errors="coerce").to_numpy(dtype=np.float64)
        if not len(numbers) or np.isnan(numbers).any():
            return None
        return np.append(numbers, np.nan)[self.codes]

    def one_hot(self) -> scipy.sparse.csc_matrix:
        """One column of the matrix per value, in the order of their names; missing is a value of its own."""
        texts = [*self.values, "?"] if (self.codes < 0).any() else self.values
        categories, merged = np.unique(np.array(texts, dtype=str), return_inverse=True)
        rows = len(self.codes)
        place = (np.arange(rows), merged[self.codes])
        return scipy.sparse.csc_matrix((np.ones(rows, np.float32), place), shape=(rows, len(categories)))


def dataset_from_table(
    name: str,
    source: str,
    table: pd.DataFrame,
    target: str | int,
    *,
    subset_of: str | None = None,
    notes: Sequence[str] = (),
) -> Dataset:
    """Encodes a table. `target` names the column that holds the class; rows without a class are left out."""
    present, said = rows_with_a_class(table[target])
    table = (table if present.all() else table[present]).reset_index(drop=True)
    labels, classes = encode_labels(name, table[target])
    features, remarks = encode_features(name, table.drop(columns=[target]))
    return Dataset(name, source, features, labels, classes, subset_of, (*notes, *said, *remarks), str(target))


def rows_with_a_class(column: pd.Series) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Which rows have one, and where not all do a note that says so."""
    present = Texts.of(column, NO_CLASS).codes >= 0
    without = int((~present).sum())
    rows = "row" if without == 1 else "rows"
    return present, (f"{without} {rows} without a class left out",) if without else ()


def encode_labels(name: str, column: pd.Series) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Numbers the classes from 0, in the order of their values where they are numbers, else of their names.

    Every row must have a class.
    """
    texts = Texts.of(column, NO_CLASS)
    classes = sorted(set(texts.values), key=_natural_key)
    if len(classes) < 2:
        raise BrokenDataset(
            f"{name}: the target has {len(classes)} class(es) in {len(column)} rows; expected at least 2."
        )
    if _looks_continuous(classes, len(column)):
        raise BrokenDataset(
            f"{name}: the target column {column.name!r} has {len(classes)} different values in {len(column)} rows, "
            "which looks like a number to predict rather than a class. Name the column of the class with --target."
        )
    number = {text: i for i, text in enumerate(classes)}
    return np.array([number[text] for text in texts.values], np.int64)[texts.codes], tuple(classes)


def encode_features(
    name: str, table: pd.DataFrame
) -> tuple[NDArray[np.float32] | scipy.sparse.csr_matrix, tuple[str, ...]]:
    """The matrix of the columns, and a remark for each thing done to them that one should know of."""
    blocks: list[Columns] = []
    remarks: list[str] = []
    for label in table.columns:
        block = _encode(name, table[label], remarks)
        if block is not None:
            blocks.append(block)
    if not blocks:
        raise BrokenDataset(f"{name}: there is no column to learn from besides the target.")
    return _assemble(blocks, len(table)), tuple(remarks)


def compact(features: scipy.sparse.csr_matrix) -> NDArray[np.float32] | scipy.sparse.csr_matrix:
    """The same matrix dense where it is full enough, else as csr with sorted columns and 32-bit positions."""
    size = features.shape[0] * features.shape[1]
    if features.nnz >= SPARSE_BELOW * size:
        return np.ascontiguousarray(features.toarray(), dtype=np.float32)
    features.sort_indices()
    return features


def _encode(name: str, column: pd.Series, remarks: list[str]) -> Columns | None:
    """One column of the table; None, with a remark, where it says nothing."""
    if _is_numeric(column):
        numbers = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        remarks += _row_numbers(column.name, numbers)
        return _numbers(name, column.name, numbers, remarks)
    texts = Texts.of(column)
    numbers_of_text = None if isinstance(column.dtype, pd.CategoricalDtype) else texts.as_numbers()
    if numbers_of_text is not None:
        return _numbers(name, column.name, numbers_of_text, remarks)
    if len(texts.values) == len(column) > 2:
        remarks.append(f"column {column.name!r} left out: its text differs in every row")
        return None
    if not texts.values:
        remarks.append(_no_value(column.name))
        return None
    columns = texts.one_hot()
    remarks += _many_values(column.name, texts.values, columns.shape[1])
    return columns


def _is_numeric(column: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype))


def _no_value(label: object) -> str:
    return f"column {label!r} left out: it has no value"


def _many_values(label: object, values: list[str], width: int) -> list[str]:
    """A remark where a column of dates, or of names that hardly come twice, has become many features."""
    if all(DATE.match(value) for value in values):
        return [f"column {label!r}: its dates became {width} features, one per date; a month or a weekday may say more"]
    if width <= MANY_VALUES:
        return []
    return [f"column {label!r} became {width} features, one per value; take it out if it names the rows"]


def _row_numbers(label: object, numbers: NDArray[np.float64]) -> list[str]:
    """A remark where a column of whole numbers seems to number the rows, or to name them."""
    if len(numbers) < FEWEST_IDS or not np.all(numbers == np.floor(numbers)):
        return []
    named = ID.search(str(label)) and len(np.unique(numbers)) == len(numbers)
    if not named and not np.all(np.diff(numbers) == 1):
        return []
    return [f"column {label!r} has a different whole number in every row; take it out if it names the rows"]


def _natural_key(text: str) -> tuple[int, float, str]:
    try:
        return (0, float(text), text)
    except ValueError:
        return (1, 0.0, text)


def _looks_continuous(classes: list[str], rows: int) -> bool:
    """Whether the classes are numbers, fractions or very many, that hardly ever come twice."""
    if len(classes) == rows > 2:
        return True
    numbers = pd.to_numeric(pd.Series(classes), errors="coerce")
    fractions = bool((numbers != np.floor(numbers)).any())
    return bool(numbers.notna().all()) and (fractions or len(classes) > 50) and len(classes) > 0.2 * rows


def _numbers(name: str, label: object, numbers: NDArray[np.float64], remarks: list[str]) -> Columns | None:
    """One column, and where a value is missing a second one that says so; a missing value becomes the mean."""
    missing = np.isnan(numbers)
    if missing.all():
        remarks.append(_no_value(label))
        return None
    with np.errstate(over="ignore"):  # told in the sentence below
        filled = np.where(missing, numbers[~missing].mean(), numbers).astype(np.float32)
    if not np.isfinite(filled).all():
        raise BrokenDataset(
            f"{name}: column {label!r} has an infinite value or one too large for single precision (3.4e38)."
        )
    if not missing.any():
        return filled[:, None]
    remarks.append(f"column {label!r}: {int(missing.sum())} missing, replaced by the mean and marked")
    return np.column_stack([filled, missing.astype(np.float32)])


def _assemble(blocks: list[Columns], rows: int) -> NDArray[np.float32] | scipy.sparse.csr_matrix:
    width = sum(block.shape[1] for block in blocks)
    if sum(_nonzeros(block) for block in blocks) < SPARSE_BELOW * rows * width:
        matrix = scipy.sparse.csr_matrix(scipy.sparse.hstack(list(map(scipy.sparse.csc_matrix, blocks)), format="csr"))
        matrix.sort_indices()
        return matrix
    dense = np.empty((rows, width), np.float32)
    first = 0
    for block in blocks:
        last = first + block.shape[1]
        dense[:, first:last] = block if isinstance(block, np.ndarray) else block.toarray()
        first = last
    return dense


def _nonzeros(block: Columns) -> int:
    return int(np.count_nonzero(block)) if isinstance(block, np.ndarray) else int(block.nnz)


def choose_target(name: str, columns: Sequence[str], wanted: str | None) -> str:
    """The column of this name, else of this place (0 is the first, -1 the last). Where none is wanted, a usual one.

    That is the first of these, in small or capital letters: a column named class, one named target, one named label,
    the first or the last column where it is named y, the last column.
    """
    if wanted is None:
        return next((column for known in USUAL_TARGETS for column in _usual_places(known, columns)), columns[-1])
    if wanted in columns:
        return wanted
    if re.fullmatch(r"-?\d+", wanted) and -len(columns) <= int(wanted) < len(columns):
        return columns[int(wanted)]
    shown = ", ".join(map(repr, columns[:10])) + (", ..." if len(columns) > 10 else "")
    raise BrokenDataset(f"{name}: there is no column {wanted!r} to predict; the columns are {shown}.")


def _usual_places(known: str, columns: Sequence[str]) -> list[str]:
    """The columns of a usual name. Inside a table, y is more often a coordinate than the class."""
    places = (columns[0], columns[-1]) if known == "y" else columns
    return [column for column in places if column.strip().lower() == known]
