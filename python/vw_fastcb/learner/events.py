"""Events: contexts, and the actions that each may take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from vw_fastcb import _engine
from vw_fastcb.learner import frames, rows

# An (n, A) array; a list of n arrays where the events differ in their number of actions.
Table: TypeAlias = "NDArray[np.float64] | list[NDArray[np.float64]]"


@dataclass(frozen=True)
class ActionSets:
    """The features of the actions of many events.

    Attributes:
        tables: One table for all events, or one for each. An array (n, A, d) stays what it is: as many tables.
        shared: Whether it is one for all.
        counts: How many actions each event has.
    """

    tables: Sequence[Any] | NDArray[Any]
    shared: bool
    counts: NDArray[np.int64]

    @property
    def even(self) -> int | None:
        """How many actions every event has; None where that differs."""
        if self.shared:
            return rows.count(self.tables[0])
        sizes = set(self.counts.tolist())
        return sizes.pop() if len(sizes) == 1 else None

    def table(self, event: int) -> Any:
        """The features of the actions of one event."""
        return self.tables[0] if self.shared else self.tables[event]

    @classmethod
    def of(cls, given: Any, events: int, noun: str) -> ActionSets:
        """Takes (A, d) features for all events, (n, A, d), or a list of n tables (A_i, d) of any form."""
        if isinstance(given, cls):
            return given
        if _is_one_table(given):
            table = given if not isinstance(given, (list, tuple)) or rows.holds_dicts(given) else np.asarray(given)
            if rows.count(table) == 0:
                raise ValueError(f"{noun} have no row; expected (A, d) with A at least 1.")
            return cls([table], True, np.full(events, rows.count(table), dtype=np.int64))
        if isinstance(given, str) or not isinstance(given, (Sequence, np.ndarray)):
            raise TypeError(f"{noun} are {given!r}; expected a table (A, d), or one for each of {events} events.")
        if isinstance(given, np.ndarray) and given.ndim != 3 and given.dtype != object:
            raise ValueError(
                f"{noun} have shape {given.shape}; expected (A, d), ({events}, A, d), or a list of {events} tables "
                "(A_i, d)."
            )
        if len(given) != events:
            raise ValueError(f"{noun} have {len(given)} tables; expected one for each of {events} events.")
        if _is_stack(given):
            return cls(given, False, np.full(events, given.shape[1], dtype=np.int64))
        tables = [_table(table, noun, i) for i, table in enumerate(given)]
        return cls(tables, False, np.array([rows.count(table) for table in tables], dtype=np.int64))

    def pick(self, chosen: NDArray[np.int64], noun: str) -> Any:
        """The features of one action of each event: a table of n rows."""
        if self.shared:
            return rows.pick(self.tables[0], chosen)
        if isinstance(self.tables, np.ndarray):
            return self.tables[np.arange(len(chosen)), chosen]
        return rows.join([rows.pick(table, chosen[i : i + 1]) for i, table in enumerate(self.tables)], noun)

    def joined(self, noun: str) -> tuple[Any, NDArray[np.int64] | None]:
        """All rows as one table, and where those of each event begin; None where every event has all of them."""
        if self.shared:
            return self.tables[0], None
        if isinstance(self.tables, np.ndarray):
            return self.tables.reshape(-1, self.tables.shape[2]), begins(self.counts)
        return rows.join(self.tables, noun), begins(self.counts)

    def copied(self) -> ActionSets:
        """Copies that do not change with the user's tables."""
        if isinstance(self.tables, np.ndarray):
            return ActionSets(rows.copy_of(self.tables), self.shared, self.counts)
        return ActionSets([rows.copy_of(table) for table in self.tables], self.shared, self.counts)


@dataclass(frozen=True)
class Events:
    """Events as the engine takes them.

    Attributes:
        contexts: One row for each event.
        actions: The features of actions; None where they are fixed.
        first: Where the rows of each event begin among `actions`; None where every event has all of them.
        counts: How many actions each event has.
        even: How many every event has; None where that differs.
    """

    contexts: _engine.Rows
    actions: _engine.Rows | None
    first: NDArray[np.int64] | None
    counts: NDArray[np.int64]
    even: int | None

    @property
    def rows(self) -> tuple[_engine.Rows, _engine.Rows | None]:
        """What the engine remembers the columns of."""
        return self.contexts, self.actions

    @property
    def arrays(self) -> tuple[_engine.Rows, _engine.Rows | None, NDArray[np.int64] | None]:
        """What every function of the engine begins with."""
        return self.contexts, self.actions, self.first

    @property
    def begins(self) -> NDArray[np.int64]:
        """Where the actions of each event begin in arrays that hold those of all events, (n + 1,)."""
        return begins(self.counts)

    def table(self, flat: NDArray[np.float64]) -> Table:
        """An (n, A) array of what was computed for each action; a list where events differ in their number."""
        if self.even is not None:
            return flat.reshape(len(self.counts), self.even)
        return np.split(flat, self.begins[1:-1]) if len(self.counts) else []


def begins(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each begins when so many lie one after another, and where the last ends."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])


def _is_one_table(given: Any) -> bool:
    if frames.is_frame(given) or hasattr(given, "tocsr") or rows.holds_dicts(given):
        return True
    if isinstance(given, np.ndarray):
        return given.ndim == 2
    if isinstance(given, (list, tuple)) and given:
        return not rows.is_table(given[0]) and np.ndim(given) == 2
    return False


def _is_stack(given: Any) -> TypeGuard[NDArray[Any]]:
    """Whether these are tables of numbers in one array, with at least one row each."""
    return type(given) is np.ndarray and given.ndim == 3 and given.dtype.kind in "biuf" and given.shape[1] > 0


def _table(given: Any, noun: str, event: int) -> Any:
    table = given if rows.is_table(given) else np.asarray(given)
    if isinstance(table, (list, tuple)) and not rows.holds_dicts(table):
        table = np.asarray(table)
    if (isinstance(table, np.ndarray) and table.ndim != 2) or rows.count(table) == 0:
        shape = table.shape if hasattr(table, "shape") else (len(table),)
        raise ValueError(f"{noun} of event {event} have shape {shape}; expected (A, d) with A at least 1.")
    return table
