"""The columns of pandas and polars frames. Neither is imported unless the user did."""

from __future__ import annotations

import math
import numbers
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

_EXPECTED = "expected numbers, booleans, text, categories, or missing values"


@dataclass(frozen=True)
class Column:
    """One column of a frame.

    Attributes:
        name: Its name, as text.
        entries: Its numbers, NaN where one is missing; or which of `words` each row has, -1 where it is missing.
        words: The categories; None where the column holds numbers.
    """

    name: str
    entries: NDArray[Any]
    words: tuple[str, ...] | None = None

    @property
    def kind(self) -> Literal["number", "text"] | None:
        """What it holds; None where every value is missing."""
        if self.words is not None:
            return "text" if bool((self.entries >= 0).any()) else None
        return None if bool(np.isnan(self.entries).all()) else "number"

    def value(self, row: int) -> float | str | None:
        """What a dictionary would say for a row."""
        entry = self.entries[row]
        if self.words is not None:
            return self.words[entry] if entry >= 0 else None
        return None if np.isnan(entry) else float(entry)


@dataclass(frozen=True)
class Columns:
    """A frame, column by column: what the engine reads."""

    content: tuple[Column, ...]
    rows: int

    def __len__(self) -> int:
        return self.rows

    @property
    def columns(self) -> int | tuple[str, ...]:
        """The names; where they are 0, 1, ..., their number, as of an array."""
        names = tuple(column.name for column in self.content)
        return len(names) if set(names) == set(map(str, range(len(names)))) else names

    def row(self, row: int) -> dict[str, float | str | None]:
        """One row as a dictionary."""
        return {column.name: column.value(row) for column in self.content}


def _is_a(given: Any, package: str, name: str) -> bool:
    kind = getattr(sys.modules.get(package), name, None)
    return kind is not None and isinstance(given, kind)


def is_frame(given: Any) -> bool:
    """Whether this is a pandas or polars frame."""
    if _is_a(given, "polars", "LazyFrame"):
        raise TypeError("a polars LazyFrame was given; expected a DataFrame: call its collect() first.")
    return _is_a(given, "pandas", "DataFrame") or _is_a(given, "polars", "DataFrame")


def is_series(given: Any) -> bool:
    """Whether this is a pandas Series, such as a row of a frame."""
    return _is_a(given, "pandas", "Series")


def is_number(value: Any) -> bool:
    """Whether this is a real number: Python's, numpy's, or of a type that registers as one."""
    if isinstance(value, (np.timedelta64, np.datetime64)):
        return False  # numpy counts durations among the integers
    return isinstance(value, (numbers.Real, np.integer, np.floating, np.bool_))


def columns_of(frame: Any, noun: str) -> Columns:
    """The columns of a frame."""
    names = _names_of(frame.columns, noun)
    read = _polars_column if _is_a(frame, "polars", "DataFrame") else _pandas_column
    return Columns(tuple(read(frame, j, name, noun) for j, name in enumerate(names)), len(frame))


def columns_of_row(series: Any, noun: str) -> Columns:
    """The columns of a row of a pandas frame."""
    names = _names_of(series.index, noun)
    return Columns(
        tuple(
            _mixed(name, [value], f"the column {name!r} of {noun}") for name, value in zip(names, series, strict=True)
        ),
        1,
    )


def pick(frame: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of a frame."""
    return frame[rows] if _is_a(frame, "polars", "DataFrame") else frame.iloc[rows]


def join(frames: Sequence[Any], noun: str) -> Any:
    """The rows of several frames of the same columns."""
    for i, frame in enumerate(frames):
        if not is_frame(frame) or sorted(map(str, frame.columns)) != sorted(map(str, frames[0].columns)):
            raise ValueError(f"{noun} of event {i} have other columns than those of event 0; expected the same.")
    if _is_a(frames[0], "polars", "DataFrame"):
        return sys.modules["polars"].concat(
            [frame.select(frames[0].columns) for frame in frames], how="vertical_relaxed"
        )
    return sys.modules["pandas"].concat(frames, ignore_index=True)


def copy_of(frame: Any) -> Any:
    """A copy that does not change with the user's frame. Those of polars never change."""
    return frame.copy() if _is_a(frame, "pandas", "DataFrame") else frame


def _names_of(columns: Any, noun: str) -> list[str]:
    names = [str(name) for name in columns]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{noun} have the column {twice[0]!r} more than once; expected each name once.")
    return names


def _pandas_column(frame: Any, position: int, name: str, noun: str) -> Column:
    pd: Any = sys.modules["pandas"]
    series, what = frame.iloc[:, position], f"the column {name!r} of {noun}"
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        words = tuple(_word(category) for category in series.cat.categories)
        return Column(name, series.cat.codes.to_numpy().astype(np.int64), words)
    if pd.api.types.is_bool_dtype(dtype) or (pd.api.types.is_numeric_dtype(dtype) and dtype.kind != "c"):
        return _numbers(name, series.to_numpy(dtype=np.float64, na_value=np.nan), what)
    if pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype):
        return _mixed(name, series.to_list(), what)
    raise _unknown_kind(what, dtype)


def _polars_column(frame: Any, position: int, name: str, noun: str) -> Column:
    pl: Any = sys.modules["polars"]
    series, what = frame.to_series(position), f"the column {name!r} of {noun}"
    dtype = series.dtype
    if dtype.is_numeric() or dtype == pl.Boolean:
        return _numbers(name, series.cast(pl.Float64).to_numpy(), what)
    if dtype == pl.Null:
        return Column(name, np.full(len(series), np.nan))
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return _words(name, series.cast(pl.String).to_list())
    raise _unknown_kind(what, dtype)


def _numbers(name: str, values: NDArray[np.float64], what: str) -> Column:
    with np.errstate(over="ignore"):
        infinite = np.flatnonzero(np.isinf(values.astype(np.float32)))
    if len(infinite):
        raise ValueError(
            f"{what} has the value {values[infinite[0]]} in row {infinite[0]}, which is infinite in float32; expected "
            "finite numbers (NaN is taken for missing)."
        )
    return Column(name, np.ascontiguousarray(values, dtype=np.float64))


def _words(name: str, values: list[str | None]) -> Column:
    codes = {word: code for code, word in enumerate(dict.fromkeys(word for word in values if word is not None))}
    entries = np.array([-1 if word is None else codes[word] for word in values], dtype=np.int64)
    return Column(name, entries, tuple(codes))


def _mixed(name: str, values: list[Any], what: str) -> Column:
    """A column of Python objects: text, or numbers, beside missing values."""
    present = [None if _is_missing(value) else value for value in values]
    texts = [value for value in present if isinstance(value, str)]
    others = [value for value in present if value is not None and not isinstance(value, str)]
    strange = [value for value in others if not is_number(value)]
    if strange:
        raise TypeError(f"{what} has the value {strange[0]!r}; {_EXPECTED}.")
    if texts and others:
        raise TypeError(
            f"{what} has both text ({texts[0]!r}) and numbers ({others[0]!r}); expected one of them. Convert the "
            "column, for example with astype(str)."
        )
    if texts:
        return _words(name, present)
    try:
        floats = np.array([np.nan if value is None else float(value) for value in present], dtype=np.float64)
    except OverflowError as problem:
        raise ValueError(f"{what} has a number that is too large for a float; expected finite ones.") from problem
    return _numbers(name, floats, what)


def _is_missing(value: Any) -> bool:
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and math.isnan(value))
    )


def _word(category: Any) -> str:
    """A category as text. Whole numbers that became floats, as they do beside missing values, stay the same."""
    whole = isinstance(category, (float, np.floating)) and float(category).is_integer()
    return str(int(category)) if whole else str(category)


def _unknown_kind(what: str, dtype: Any) -> TypeError:
    return TypeError(f"{what} has the dtype {dtype}; {_EXPECTED}. See the docs on dates and lists of tags.")
