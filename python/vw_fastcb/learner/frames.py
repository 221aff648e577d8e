"""Columns of pandas and polars frames. Neither is imported unless the user did."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_EXPECTED = "expected numbers, booleans, text, categories, or missing values"


@dataclass(frozen=True)
class Column:
    """One column of a frame.

    Attributes:
        values: The number of each row in float32, 1 for a category, 0 for what is missing.
        codes: Where rows hold categories, which of `words`, else -1; None where no row does.
        words: The categories.
    """

    values: NDArray[np.float32]
    codes: NDArray[np.int64] | None = None
    words: tuple[str, ...] = ()


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


def names_of(columns: Any, noun: str) -> list[str]:
    """The names of columns, as text."""
    names = [str(name) for name in columns]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{noun} has the column {twice[0]!r} more than once; expected each name once.")
    return names


def column_of(frame: Any, position: int, what: str) -> Column:
    """Column `position` of a frame; `what` is how errors call it."""
    if _is_a(frame, "polars", "DataFrame"):
        return _polars_column(frame.to_series(position), what)
    return _pandas_column(frame.iloc[:, position], what)


def _pandas_column(series: Any, what: str) -> Column:
    pd: Any = sys.modules["pandas"]
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        categories = tuple(str(word) for word in series.cat.categories)
        return _categories(series.cat.codes.to_numpy().astype(np.int64), categories)
    if pd.api.types.is_bool_dtype(dtype) or (pd.api.types.is_numeric_dtype(dtype) and dtype.kind != "c"):
        return _numbers(series.to_numpy(dtype=np.float64, na_value=np.nan), what)
    if pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype):
        try:
            codes, uniques = pd.factorize(series)
        except TypeError as problem:  # not hashable
            raise TypeError(f"{what} holds objects ({problem}); {_EXPECTED}.") from problem
        return _mixed(np.asarray(codes, dtype=np.int64), list(uniques), what)
    raise _unknown_kind(what, dtype)


def _polars_column(series: Any, what: str) -> Column:
    pl: Any = sys.modules["polars"]
    dtype = series.dtype
    if dtype.is_numeric() or dtype == pl.Boolean:
        return _numbers(series.cast(pl.Float64).to_numpy(), what)
    if dtype == pl.Null:
        return Column(np.zeros(len(series), dtype=np.float32))
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        text = series.cast(pl.String)
        words = text.drop_nulls().unique(maintain_order=True)
        if len(words) == 0:
            return Column(np.zeros(len(series), dtype=np.float32))
        codes = text.replace_strict(words, pl.Series(range(len(words)), dtype=pl.Int64), default=None)
        return _categories(codes.fill_null(-1).to_numpy().astype(np.int64), tuple(words.to_list()))
    raise _unknown_kind(what, dtype)


def _numbers(values: NDArray[np.float64], what: str) -> Column:
    with np.errstate(over="ignore"):
        singles = values.astype(np.float32)
    infinite = np.flatnonzero(np.isinf(singles))
    if len(infinite):
        raise ValueError(
            f"{what} has the value {values[infinite[0]]} in row {infinite[0]}, which is infinite in float32; expected "
            "finite numbers (NaN is taken for missing)."
        )
    return Column(np.nan_to_num(singles, copy=False, nan=0.0))


def _categories(codes: NDArray[np.int64], words: tuple[str, ...]) -> Column:
    return Column((codes >= 0).astype(np.float32), codes, words)


def _mixed(codes: NDArray[np.int64], uniques: list[Any], what: str) -> Column:
    """A column of objects: each of its different values is text, or a number."""
    for one in uniques:
        if not isinstance(one, (str, bool, int, float, np.number, np.bool_)):
            raise TypeError(f"{what} has the value {one!r}; {_EXPECTED}.")
    is_word = np.array([isinstance(one, str) for one in uniques] + [False])  # the last for code -1, missing
    numbers = np.array([1.0 if isinstance(one, str) else float(one) for one in uniques] + [0.0])
    words = tuple(str(one) for one in uniques)
    return Column(_numbers(numbers[codes], what).values, np.where(is_word[codes], codes, -1), words)


def _unknown_kind(what: str, dtype: Any) -> TypeError:
    return TypeError(f"{what} has the dtype {dtype}; {_EXPECTED}.")
