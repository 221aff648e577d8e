"""The results of a bake-off: one SQLite file that outlives a killed process and never holds a result twice."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from vw_fastcb.bakeoff.data import Dataset

FILE = "results.sqlite"

_PASS = "dataset TEXT, algorithm TEXT, configuration TEXT, step REAL, shuffle INTEGER, rounds INTEGER"
_KEY = "PRIMARY KEY (dataset, algorithm, configuration, step, shuffle)"
_TABLES = f"""
CREATE TABLE IF NOT EXISTS datasets (name TEXT PRIMARY KEY, source TEXT, rows INTEGER, columns INTEGER, classes INTEGER,
  majority_error REAL, subset_of TEXT, fingerprint TEXT);
CREATE TABLE IF NOT EXISTS broken (name TEXT PRIMARY KEY, source TEXT, reason TEXT);
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS results ({_PASS}, loss REAL, {_KEY}) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS curves ({_PASS}, losses BLOB, {_KEY}) WITHOUT ROWID;
"""


class BadStore(ValueError):
    """A store that cannot be used, with what to do."""


@dataclass(frozen=True)
class Run:
    """All that a store holds."""

    results: pd.DataFrame
    """A row for each pass, with its loss."""
    curves: pd.DataFrame
    """The passes whose curves were kept; `losses` as `pack` gives it."""
    datasets: pd.DataFrame
    broken: pd.DataFrame
    """The sets that could not be used, and why."""
    meta: Mapping[str, str]


@dataclass(frozen=True)
class DatasetInfo:
    """A row of the table `datasets`."""

    name: str
    source: str
    rows: int
    columns: int
    classes: int
    majority_error: float
    subset_of: str | None
    fingerprint: str

    @classmethod
    def of(cls, dataset: Dataset) -> DatasetInfo:
        """What the store keeps of a data set."""
        return cls(
            dataset.name,
            dataset.source,
            dataset.rows,
            dataset.columns,
            dataset.n_classes,
            dataset.majority_error,
            dataset.subset_of,
            dataset.fingerprint,
        )


@dataclass(frozen=True)
class PassResult:
    """One pass of one configuration; `step` is 0 where it has none.

    `losses` has a 0 or 1 for each round, compressed, where the curve is wanted.
    """

    dataset: str
    algorithm: str
    configuration: str
    step: float
    shuffle: int
    rounds: int
    loss: float
    losses: bytes | None = None

    @property
    def key(self) -> tuple[str, str, float, int]:
        """What tells it from other passes over the same data set."""
        return (self.algorithm, self.configuration, self.step, self.shuffle)


def pack(losses: NDArray[np.uint8]) -> bytes:
    """The losses of each round as the store keeps them."""
    return zlib.compress(losses.tobytes(), 9)


def unpack(losses: bytes) -> NDArray[np.uint8]:
    """The other way round."""
    return np.frombuffer(zlib.decompress(losses), np.uint8)


def load_run(path: Path) -> Run:
    """Reads a store, which may belong to a bake-off that still runs."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no bake-off store at {path}: run `fastcb bakeoff` first")
    with Store(path) as store:
        run = store.run()
    if run.results.empty:
        raise ValueError(f"the store {path} has no results yet: let `fastcb bakeoff` run for a while")
    return run


class Store:
    """Opens or makes a store. Use it from one thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = sqlite3.connect(path)
        try:
            # A commit is on the disk when it returns: what was reported as done is done.
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")
            self._connection.executescript(_TABLES)
        except sqlite3.DatabaseError as problem:
            self._connection.close()
            raise BadStore(
                f"{path} is not the store of a bake-off ({problem}). Move it away, or choose another --out."
            ) from problem

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, where: TracebackType | None
    ) -> None:
        self._connection.close()

    def add(self, batches: Iterable[tuple[DatasetInfo, list[PassResult]]]) -> None:
        """Appends passes, all or none. A pass that is there already is an error, unless it brings its curve."""
        with self._connection:
            for info, passes in batches:
                self._connection.execute(
                    "INSERT OR IGNORE INTO datasets VALUES (?, ?, ?, ?, ?, ?, ?, ?)", tuple(vars(info).values())
                )
                for one in passes:
                    key = (one.dataset, one.algorithm, one.configuration, one.step, one.shuffle, one.rounds)
                    again = "" if one.losses is None else "OR IGNORE"
                    self._connection.execute(
                        f"INSERT {again} INTO results VALUES (?, ?, ?, ?, ?, ?, ?)", (*key, one.loss)
                    )
                    if one.losses is not None:
                        self._connection.execute("INSERT INTO curves VALUES (?, ?, ?, ?, ?, ?, ?)", (*key, one.losses))

    def fill(self, run: Run) -> None:
        """Puts a whole run into a store that has none, all or nothing."""
        facts = run.datasets.astype(object).where(run.datasets.notna(), None)
        with self._connection:
            for table, frame in (
                ("results", run.results),
                ("curves", run.curves),
                ("datasets", facts),
                ("broken", run.broken),
            ):
                places = ", ".join("?" * frame.shape[1])
                rows = zip(*(frame[column].tolist() for column in frame), strict=True)
                self._connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
        self.set_meta(run.meta)

    def forget_broken(self) -> None:
        """Forgets which sets could not be used: each start tries them again, and notes what fails then."""
        with self._connection:
            self._connection.execute("DELETE FROM broken")

    def add_broken(self, name: str, source: str, reason: str) -> None:
        """Notes why a set, or a part of its work, failed. Of several reasons the first stays."""
        with self._connection:
            self._connection.execute("INSERT OR IGNORE INTO broken VALUES (?, ?, ?)", (name, source, reason))

    def set_meta(self, values: Mapping[str, str]) -> None:
        """Notes facts about the run."""
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    def done(self, dataset: str, curves: bool = False) -> set[tuple[str, str, float, int]]:
        """The keys of the passes that are there (with their curves)."""
        table = "curves" if curves else "results"
        query = f"SELECT algorithm, configuration, step, shuffle FROM {table} WHERE dataset = ?"
        return set(self._connection.execute(query, (dataset,)))

    def results(self) -> pd.DataFrame:
        """All passes, in an order that does not depend on how they were run."""
        return self._frame("results", "dataset, algorithm, configuration, step, shuffle")

    def datasets(self) -> pd.DataFrame:
        """The sets that could be read, by name."""
        return self._frame("datasets", "name")

    def broken(self) -> pd.DataFrame:
        """The sets that could not be used, and why."""
        return self._frame("broken", "name")

    def meta(self) -> dict[str, str]:
        """Facts about the run."""
        return dict(self._connection.execute("SELECT key, value FROM meta ORDER BY key"))

    def curves(self) -> pd.DataFrame:
        """The passes whose curves were kept, with the loss of each round as `pack` gives it."""
        return self._frame("curves", "dataset, algorithm, configuration, step, shuffle")

    def run(self) -> Run:
        """All of it."""
        return Run(self.results(), self.curves(), self.datasets(), self.broken(), self.meta())

    def _frame(self, table: str, order: str) -> pd.DataFrame:
        return pd.read_sql(f"SELECT * FROM {table} ORDER BY {order}", self._connection)
