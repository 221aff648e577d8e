"""Tables of features as users hold them.

The engine reads four forms: arrays of float32 or float64, scipy's compressed sparse rows, dictionaries, and the columns
of a frame (`cpp/bindings/row_reader.h` says what each means). `canonical` turns anything else into one of them; the
other functions count, pick and join the rows of any table without looking inside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.learner import frames
from vw_fastcb.learner.frames import Columns, is_number

__all__ = ["Columns", "canonical", "check_columns", "is_number", "refuse_value"]

# What every call must have alike: a number of columns, their names, or None where rows may have any (dictionaries).
KnownColumns: TypeAlias = "int | tuple[str, ...] | None"


def canonical(given: Any, noun: str, one: bool) -> Any:
    """Turns a table, or one row, into a form that the engine reads. Raises where there is none.

    Args:
        given: What the user gave.
        noun: How errors call it.
        one: Whether it is a single row.

    Returns:
        An array, a sparse matrix, a dictionary or a list of them, or columns.
    """
    if frames.is_frame(given):
        return _only_row(frames.columns_of(given, noun), noun) if one else frames.columns_of(given, noun)
    if frames.is_series(given) and one:
        return frames.columns_of_row(given, noun)
    if isinstance(given, (list, tuple)) and given and frames.is_series(given[0]):
        given = [dict(row) if frames.is_series(row) else row for row in given]
    if is_dict(given):
        if not one:
            raise TypeError(f"{noun} are one dictionary; expected a list of dictionaries, one for each row.")
        return dict(given)
    if holds_dicts(given):
        dicts = _all_dicts(given, noun)
        return _only_row(dicts, noun)[0] if one else dicts
    if hasattr(given, "tocsr"):
        return _sparse(given, noun, one)
    return _array(given, noun, one)


def check_columns(noun: str, given: KnownColumns, known: KnownColumns, complete: bool = True) -> None:
    """Raises where columns are others than before; with `complete`, also where some are not there."""
    if given is None or known is None or given == known:
        return
    if isinstance(given, int):
        if isinstance(known, int):
            raise ValueError(f"{noun} have {given} columns; expected {known}, as before.")
        if all(name.isdecimal() for name in known):
            return  # dictionaries whose names are the numbers of columns
        raise ValueError(
            f"{noun} are an array of {given} columns without names; expected the columns {_shown(known)}, as before. "
            "Give a data frame or dictionaries."
        )
    before = set(map(str, range(known))) if isinstance(known, int) else set(known)
    missing, unknown = sorted(before - set(given)) if complete else [], sorted(set(given) - before)
    if not missing and not unknown:
        return
    parts = [f"lack the columns {missing}"] if missing else []
    parts += [f"have the unknown columns {unknown}"] if unknown else []
    expected = f"{known} columns" if isinstance(known, int) else f"the columns {_shown(known)}"
    raise ValueError(f"{noun} {' and '.join(parts)}; expected {expected}, as before.")


def refuse_value(given: Any, noun: str) -> None:
    """Raises for an array or a sparse matrix that the engine cannot read, and says why."""
    if isinstance(given, tuple):
        raise ValueError("the features that the decision kept were changed; expected them as `decide` left them.")
    sparse = hasattr(given, "tocsr")
    values = given.data if sparse else np.atleast_2d(given)
    with np.errstate(over="ignore"):
        bad = np.argwhere(~np.isfinite(values.astype(np.float32)))[0]
    row, column = _place_in(given, bad[0]) if sparse else bad
    raise ValueError(
        f"{noun} have the value {values[tuple(bad)]} in row {row}, column {column}, which is not finite in float32; "
        'expected finite numbers. Where NaN means that a value is missing, make the learner with missing="mark", or '
        "give a data frame or dictionaries."
    )


def is_dict(given: Any) -> bool:
    """Whether this is a dictionary of features. One of scipy's sparse formats is a dictionary, too, but a matrix."""
    return isinstance(given, Mapping) and not hasattr(given, "tocsr")


def holds_dicts(given: Any) -> bool:
    """Whether this is a list of dictionaries."""
    return isinstance(given, Sequence) and len(given) > 0 and is_dict(given[0])


def is_table(given: Any) -> bool:
    """Whether this is a table of rows: a frame, a sparse matrix, a list of dictionaries, or numbers (n, d)."""
    return frames.is_frame(given) or hasattr(given, "tocsr") or holds_dicts(given) or np.ndim(given) == 2


def count(table: Any) -> int:
    """The number of rows of a table."""
    return int(table.shape[0]) if hasattr(table, "shape") else len(table)


def width(given: Any) -> int | None:
    """How many weights the columns of a table or a row need room for; None where that cannot be told."""
    if frames.is_frame(given):
        return 4 * len(given.columns)  # hashed names need room between them
    if frames.is_series(given) or is_dict(given) or holds_dicts(given):
        return None
    if isinstance(given, (list, tuple)) and given and hasattr(given[0], "shape"):
        given = given[0]  # a list of tables
    if isinstance(given, (list, tuple)) and given and isinstance(given[0], (list, tuple)) and holds_dicts(given[0]):
        return None
    try:
        shape = given.shape if hasattr(given, "shape") else np.shape(given)
    except ValueError:  # rows of different lengths, which `canonical` refuses
        return None
    return int(shape[-1]) if len(shape) else None


def pick(table: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of a table, as a table."""
    if frames.is_frame(table):
        return frames.pick(table, rows)
    if hasattr(table, "tocsr"):
        return table.tocsr()[rows]
    if isinstance(table, np.ndarray):
        return table[rows]
    return [table[row] for row in rows.tolist()]


def join(tables: Sequence[Any], noun: str) -> Any:
    """The rows of several tables one after another; as dictionaries where the tables are of different forms."""
    forms = {_form(table) for table in tables}
    if len(forms) > 1:
        tables = [as_dicts(table, noun) for table in tables]
    first = tables[0]
    if frames.is_frame(first):
        return frames.join(tables, noun)
    if hasattr(first, "tocsr"):
        _same_width(tables, noun)
        from scipy.sparse import vstack  # noqa: PLC0415  # whoever has a sparse matrix has scipy

        return vstack([table.tocsr() for table in tables], format="csr")
    if isinstance(first, np.ndarray):
        _same_width(tables, noun)
        return np.concatenate(tables)
    return [row for table in tables for row in table]


def copy_of(table: Any) -> Any:
    """A copy that does not change with the user's table."""
    if frames.is_frame(table):
        return frames.copy_of(table)
    if hasattr(table, "tocsr"):
        return table.tocsr().copy()
    if holds_dicts(table):
        return _all_dicts(table, "contexts")
    array = np.array(table)
    array.flags.writeable = False
    return array


def _shown(names: tuple[str, ...]) -> str:
    return str(sorted(names)) if len(names) <= 30 else f"{sorted(names)[:30]} and {len(names) - 30} more"


def _only_row(table: Any, noun: str) -> Any:
    if len(table) != 1:
        raise ValueError(f"the context has {len(table)} rows; expected one row. For many, see decide_many.")
    return table


def _all_dicts(given: Sequence[Any], noun: str) -> list[dict[Any, Any]]:
    for i, one in enumerate(given):
        if not is_dict(one):
            raise TypeError(f"row {i} of {noun} is {one!r}; expected a dictionary, as row 0.")
    return [dict(one) for one in given]


def _sparse(given: Any, noun: str, one: bool) -> Any:
    matrix = given.reshape((1, -1)) if one and given.ndim == 1 else given  # as rows of sparse arrays are
    if matrix.ndim != 2:
        raise ValueError(f"{noun} have shape {given.shape}; expected (n, d), one row for each.")
    if one and matrix.shape[0] != 1:
        raise ValueError(f"the context has {matrix.shape[0]} rows; expected one, of shape (1, d).")
    csr = matrix.tocsr()
    if csr.data.dtype.kind not in "biuf":
        raise TypeError(f"{noun} are a sparse matrix of the dtype {csr.data.dtype}; expected numbers.")
    rows, columns = map(int, csr.shape)
    offsets, places = csr.indptr, csr.indices
    inside = len(offsets) == rows + 1 and offsets[0] == 0 and offsets[-1] <= min(len(csr.data), len(places))
    inside = inside and bool((np.diff(offsets) >= 0).all())
    if not inside or (len(places) and not 0 <= int(places.min()) <= int(places.max()) < columns):
        raise ValueError(f"{noun} are a sparse matrix that points outside itself; see its check_format().")
    csr = csr.copy()
    csr.sum_duplicates()  # an entry that stands twice is a sum, which must not be learned as two features
    if csr.data.dtype not in (np.float32, np.float64):
        csr = csr.astype(np.float64)
    return csr


def _array(given: Any, noun: str, one: bool) -> NDArray[Any]:
    array = _as_numbers(given, noun)
    if one:
        if array.ndim == 2 and array.shape[0] != 1:
            raise ValueError(f"the context has {array.shape[0]} rows; expected one, of shape (d,).")
        array = array.reshape(-1) if array.ndim == 2 else array
    if array.ndim != (1 if one else 2):
        expected = "(d,)" if one else "(n, d), one row for each"
        raise ValueError(f"{noun} have shape {array.shape}; expected {expected}.")
    return array


def _as_numbers(given: Any, noun: str) -> NDArray[Any]:
    """As a plain, aligned array of float32 or float64."""
    if type(given).__module__.partition(".")[0] == "pyarrow":
        raise TypeError(f"{noun} are of pyarrow; expected a frame: call to_pandas() first.")
    if np.ma.is_masked(given):
        raise ValueError(f"{noun} are an array with masked values; expected numbers. Fill them first.")
    try:
        array = np.asarray(given)
    except ValueError as problem:
        raise ValueError(f"{noun} have rows of different lengths; expected (n, d) numbers. ({problem})") from problem
    if array.dtype in (np.float32, np.float64):
        plain = array if array.dtype.isnative else array.astype(np.float64)
        return plain if plain.flags.aligned else plain.copy()
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    if array.dtype == object and all(is_number(one) for one in array.flat):
        try:
            return array.astype(np.float64)
        except OverflowError as problem:
            raise ValueError(f"{noun} have a number that is too large for a float; expected finite ones.") from problem
    raise TypeError(
        f"{noun} have the dtype {array.dtype}; expected numbers. Give names and categories as a data frame or as "
        "dictionaries, dates as numbers that mean something, such as the hour or the weekday."
    )


def _place_in(sparse: Any, entry: int) -> tuple[int, int]:
    csr = sparse.tocsr()
    return int(np.searchsorted(csr.indptr, entry, side="right") - 1), int(csr.indices[entry])


def _form(table: Any) -> str:
    if frames.is_frame(table):
        return type(table).__module__.partition(".")[0]
    return "sparse" if hasattr(table, "tocsr") else type(table).__name__


def as_dicts(table: Any, noun: str) -> list[dict[Any, Any]]:
    """The rows of a table as dictionaries."""
    if frames.is_frame(table):
        columns = frames.columns_of(table, noun)
        return [columns.row(i) for i in range(len(columns))]
    if isinstance(table, np.ndarray) or hasattr(table, "tocsr"):
        array = table.toarray() if hasattr(table, "tocsr") else table
        return [dict(enumerate(row)) for row in array.tolist()]
    return list(table)


def _same_width(tables: Sequence[Any], noun: str) -> None:
    for i, table in enumerate(tables):
        if table.shape[1] != tables[0].shape[1]:
            raise ValueError(
                f"{noun} of event {i} have {table.shape[1]} columns; expected {tables[0].shape[1]}, as event 0."
            )
