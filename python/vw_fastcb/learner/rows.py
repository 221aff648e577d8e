"""From what users hold to what the engine reads: rows of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vw_fastcb import _engine
from vw_fastcb.learner import frames
from vw_fastcb.learner.decision import Kept

# What a later call must have as well: a number of columns, or their names; None where rows may have any (dictionaries).
Columns: TypeAlias = "int | frozenset[str] | None"
Parts: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class Rows:
    """Rows of features.

    Attributes:
        parts: What the engine takes. (array, places of its columns), (values, column of each, offsets, places of
            columns), or (values, place of each, offsets); a place is where a feature lies among VW's weights.
        count: The number of rows.
        columns: What they have for columns.
    """

    parts: Parts
    count: int
    columns: Columns

    def kept(self) -> Kept:
        """A read-only copy of what is needed to learn from the rows later."""
        if len(self.parts) == 2:
            return frozen(np.array(self.parts[0], dtype=np.float32, order="C"))
        return _frozen_parts(self.placed())

    def one_kept(self) -> Kept:
        """`kept` of a single row, which has one dimension where it is an array."""
        kept = self.kept()
        return kept if isinstance(kept, tuple) else kept[0]

    def placed(self) -> Parts:
        """As (values, place of each, offsets)."""
        if len(self.parts) == 3:
            return self.parts
        if len(self.parts) == 4:
            values, column_of, offsets, places = self.parts
            return values.astype(np.float32), places[column_of], offsets
        array, places = self.parts
        present = np.asarray(array, dtype=np.float32) != 0
        spread = np.broadcast_to(places, array.shape)
        return array[present].astype(np.float32), spread[present], _offsets(present.sum(axis=1))


class Space:
    """One namespace of a learner: where names lie among VW's weights, and which columns were used."""

    def __init__(self, engine: _engine.ArrayLearner, letter: str, noun: str, columns: Columns = None) -> None:
        self.noun = noun
        self.columns: Columns = None
        self._engine = engine
        self._letter = letter
        self._places: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)  # of the last array
        if columns is not None:
            self.remember(columns)

    def rows(self, given: Any) -> Rows:
        """Takes an (n, d) array of numbers, a sparse matrix, a pandas or polars frame, or a list of dictionaries."""
        if is_dict(given):
            raise TypeError(f"{self.noun} are one dictionary; expected a list of them, one for each row.")
        if frames.is_frame(given):
            return self._frame(given)
        if holds_dicts(given):
            return self._dicts(given)
        if hasattr(given, "tocsr"):
            return self._sparse(given)
        return self._array(given)

    def row(self, given: Any) -> Rows:
        """Takes one row: a (d,) array, a dictionary, a pandas Series, or whatever `rows` takes of one row."""
        if is_dict(given):
            return self._dicts([given])
        if frames.is_series(given):
            return self._series(given)
        if hasattr(given, "tocsr"):
            given = given.reshape((1, -1)) if given.ndim == 1 else given  # a row of a sparse array has one dimension
        elif not frames.is_frame(given) and not holds_dicts(given):
            array = np.asanyarray(given)  # not asarray, which would forget a mask
            given = array[np.newaxis] if array.ndim < 2 else given
        rows = self.rows(given)
        if rows.count != 1:
            raise ValueError(f"the context has {rows.count} rows; expected one, of shape (d,).")
        return rows

    def again(self, kept: Any) -> Rows:
        """The rows of a decision."""
        if isinstance(kept, tuple):
            _check_kept(kept)
            return Rows(kept, len(kept[2]) - 1, None)
        return self._array(np.atleast_2d(kept))

    def check(self, columns: Columns) -> None:
        """Refuses other columns than before."""
        if columns is None or self.columns is None or columns == self.columns:
            return
        if isinstance(columns, int) and isinstance(self.columns, int):
            raise ValueError(f"{self.noun} have {columns} columns; expected {self.columns}, as before.")
        given, before = _names(columns), _names(self.columns)
        missing, unknown = sorted(before - given), sorted(given - before)
        if isinstance(columns, int):
            raise ValueError(
                f"{self.noun} are an array of {columns} columns without names; expected the columns {sorted(before)}, "
                "as before: give a data frame or dictionaries."
            )
        parts = [f"lack the columns {missing}"] if missing else []
        parts += [f"have the unknown columns {unknown}"] if unknown else []
        what = f"the columns {sorted(before)}" if isinstance(self.columns, frozenset) else f"{self.columns} columns"
        raise ValueError(f"{self.noun} {' and '.join(parts)}; expected {what}, as before.")

    def remember(self, columns: Columns) -> None:
        """From now on these are the columns."""
        if columns is None or self.columns is not None:
            return
        self.columns = columns
        if isinstance(columns, int):
            self._engine.use_columns(self._letter, self._places_of_array(columns))

    def _places_of_array(self, width: int) -> NDArray[np.uint64]:
        places = self._places
        if len(places) != width:
            places = self._engine.places_of(self._letter, [str(j) for j in range(width)])
            self._places = places
        return places

    def _array(self, given: Any) -> Rows:
        array = _as_numbers(given, self.noun)
        if array.ndim != 2:
            raise ValueError(f"{self.noun} have shape {array.shape}; expected (n, d), one row for each.")
        rows = Rows((array, self._places_of_array(array.shape[1])), array.shape[0], array.shape[1])
        if not _engine.all_finite(rows.parts):
            row, column = np.argwhere(_infinite(array))[0]
            raise _not_finite(self.noun, row, column, array[row, column])
        return rows

    def _sparse(self, given: Any) -> Rows:
        if given.ndim != 2:
            raise ValueError(f"{self.noun} have shape {given.shape}; expected (n, d), one row for each.")
        csr = given.tocsr()
        if csr.data.dtype.kind not in "biuf":
            raise TypeError(f"{self.noun} are a sparse matrix of the dtype {csr.data.dtype}; expected numbers.")
        rows, width = map(int, csr.shape)
        entries = min(len(csr.data), len(csr.indices))
        if len(csr.indptr) != rows + 1 or not _is_sound(csr.indices, csr.indptr, entries, width):
            raise ValueError(f"{self.noun} are a sparse matrix that points outside itself; see its check_format().")
        if (
            not csr.has_canonical_format
        ):  # an entry that stands twice is a sum, which must not be learned as two features
            csr = csr.copy()
            csr.sum_duplicates()
        values = csr.data if csr.data.dtype in (np.float32, np.float64) else csr.data.astype(np.float64)
        columns = np.ascontiguousarray(csr.indices, dtype=np.int64)
        offsets = np.ascontiguousarray(csr.indptr, dtype=np.int64)
        parts = (np.ascontiguousarray(values), columns, offsets, self._places_of_array(width))
        if not _engine.all_finite(parts):
            bad = np.flatnonzero(_infinite(values))[0]
            row = np.searchsorted(offsets, bad, side="right") - 1
            raise _not_finite(self.noun, row, columns[bad], values[bad])
        return Rows(parts, rows, width)

    def _frame(self, frame: Any) -> Rows:
        names = frames.names_of(frame.columns, self.noun)
        hash_of_name = self._engine.hashes_of(self._letter, names)
        values = np.zeros((len(frame), len(names)), dtype=np.float32)
        hashes = np.zeros(values.shape, dtype=np.uint64)
        for j, name in enumerate(names):
            column = frames.column_of(frame, j, f"the column {name!r} of {self.noun}")
            values[:, j] = column.values
            hashes[:, j] = hash_of_name[j]
            if column.codes is not None:
                hash_of_word = self._engine.hashes_of(self._letter, [f"{name}={word}" for word in column.words])
                hashes[column.codes >= 0, j] = hash_of_word[column.codes[column.codes >= 0]]
        present = values != 0
        parts = (values[present], hashes[present], _offsets(present.sum(axis=1)))
        self._engine.place_rows(*parts)
        return Rows(parts, len(frame), _columns_of(names))

    def _series(self, series: Any) -> Rows:
        names = frames.names_of(series.index, self.noun)
        rows = self._dicts([dict(zip(names, series, strict=True))])
        return Rows(rows.parts, 1, _columns_of(names))

    def _dicts(self, given: Sequence[Any]) -> Rows:
        for i, one in enumerate(given):
            if not is_dict(one):
                raise TypeError(f"row {i} of {self.noun} is {one!r}; expected a dictionary, as row 0.")
        parts = self._engine.place_dicts(self._letter, [dict(one) for one in given])
        return Rows(parts, len(given), None)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The array, from now on read-only."""
    array.flags.writeable = False
    return array


def _frozen_parts(parts: Parts) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    values, places, offsets = (frozen(np.array(part)) for part in parts)
    return values, places, offsets


def _check_kept(kept: Parts) -> None:
    """A decision is the user's to change, if he insists; the engine reads what it says without looking."""
    kinds = [np.dtype(np.float32), np.dtype(np.uint64), np.dtype(np.int64)]
    sound = [getattr(part, "dtype", None) for part in kept] == kinds and all(part.ndim == 1 for part in kept)
    if sound:
        values, places, offsets = kept
        sound = len(values) == len(places) and _is_sound(places, offsets, len(values), 2**64)
    if not sound or not _engine.all_finite(kept):
        raise ValueError("the features that the decision kept were changed; expected them as `decide` left them.")


def _is_sound(columns: NDArray[Any], offsets: NDArray[Any], entries: int, width: int) -> bool:
    """Whether sparse rows lie within their arrays, and their columns within the width."""
    inside = offsets[0] == 0 and offsets[-1] <= entries and bool((np.diff(offsets) >= 0).all())
    return inside and (len(columns) == 0 or (int(columns.min()) >= 0 and int(columns.max()) < width))


def _offsets(counts: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])


def is_dict(given: Any) -> bool:
    """Whether this is a dictionary of features. One of scipy's sparse formats is a dictionary, too, but a matrix."""
    return isinstance(given, Mapping) and not hasattr(given, "tocsr")


def holds_dicts(given: Any) -> bool:
    """Whether this is a list of dictionaries."""
    return isinstance(given, Sequence) and len(given) > 0 and is_dict(given[0])


def _names(columns: int | frozenset[str]) -> frozenset[str]:
    return columns if isinstance(columns, frozenset) else frozenset(str(j) for j in range(columns))


def _columns_of(names: list[str]) -> Columns:
    """Columns named 0, 1, ... are those of an array."""
    named = frozenset(names)
    return len(named) if named == _names(len(named)) else named


def _infinite(values: NDArray[Any]) -> NDArray[np.bool_]:
    with np.errstate(over="ignore"):
        return ~np.isfinite(values.astype(np.float32))


def _not_finite(noun: str, row: int, column: int, value: Any) -> ValueError:
    return ValueError(
        f"{noun} have the value {value} in row {row}, column {column}, which is NaN or infinite (in float32); expected "
        "finite numbers. In data frames and dictionaries, NaN and None are taken for missing."
    )


def _as_numbers(given: Any, noun: str) -> NDArray[Any]:
    """As an array of float32 or float64; those are not copied."""
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
        raise ValueError(f"{noun} are an array with masked values; expected numbers. Fill them first.")
    try:
        array = np.asarray(given)
    except ValueError as problem:
        raise ValueError(f"{noun} have rows of different lengths; expected (n, d) numbers. ({problem})") from problem
    if array.dtype in (np.float32, np.float64):
        return array if array.flags.aligned else array.copy()
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    if array.dtype == object:
        words = [one for one in array.flat if isinstance(one, str)]
        try:
            numbers = None if words else array.astype(np.float64)
        except (TypeError, ValueError):
            numbers = None
        if numbers is not None:
            return numbers
    raise TypeError(
        f"{noun} have the dtype {array.dtype}; expected numbers. Give names and categories as a data frame or as "
        "dictionaries."
    )
