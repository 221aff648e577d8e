"""One unit of the bake-off's work: some configurations of one data set. It can be sent to another machine."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vw_fastcb import _engine
from vw_fastcb.bakeoff.algorithms import BUILT_IN, Configuration, number
from vw_fastcb.bakeoff.data import BrokenDataset, Dataset, Entry
from vw_fastcb.bakeoff.layout import Layout, layout
from vw_fastcb.bakeoff.store import DatasetInfo, PassResult, pack

_MOST_ORDERS = 10  # kept, so that not every pass makes them anew
_BITS_OF_STRANGERS = 18  # VW's default: flags of one's own may make features that no layout knows of


@dataclass(frozen=True)
class Unit:
    """Passes over one data set: each configuration on each shuffle."""

    entry: Entry
    configurations: tuple[Configuration, ...]
    shuffles: tuple[int, ...]
    seed: int
    max_rows: int | None = None
    with_curves: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of a unit: passes, or why the data set is unusable."""

    unit: Unit
    info: DatasetInfo | None
    passes: list[PassResult]
    broken: str | None = None
    notes: tuple[str, ...] = ()


def run_unit(unit: Unit) -> Outcome:
    """Runs a unit. Other threads run on: the engine does not hold the interpreter."""
    try:
        ready = _READY.get(unit.entry)
    except BrokenDataset as problem:
        return Outcome(unit, None, [], str(problem))
    passes = []
    for configuration in unit.configurations:
        try:
            passes += [_run_pass(ready, configuration, shuffle, unit) for shuffle in unit.shuffles]
        except RuntimeError as problem:
            what = f"{configuration.algorithm} {configuration.text}, step {number(configuration.step)}".replace(
                " ,", ","
            )
            return Outcome(unit, ready.info, passes, f"{unit.entry.name}: {what}: {problem}")
    return Outcome(unit, ready.info, passes, notes=ready.notes)


@lru_cache(maxsize=_MOST_ORDERS)
def order_of_rows(rows: int, seed: int, shuffle: int, max_rows: int | None = None) -> NDArray[np.int64]:
    """The order of a pass: a permutation that numpy's default generator makes from the pair (seed, shuffle).

    Shuffles 0, -1, ... are those of the grid, 1, 2, ... fresh ones; -1 is made from (seed, 0, 1), and so on.
    """
    source = [seed, shuffle] if shuffle >= 0 else [seed, 0, -shuffle]
    order: NDArray[np.int64] = np.random.default_rng(source).permutation(rows)[:max_rows]
    order.flags.writeable = False  # whoever asks gets the same array
    return order


def layout_for(configuration: Configuration, columns: int, classes: int) -> Layout:
    """The names of the columns and the size of VW's table that a configuration is run with."""
    built_in = BUILT_IN.get(configuration.algorithm)
    least_bits = 0 if built_in and built_in.flags == configuration.flags else _BITS_OF_STRANGERS
    return layout(columns, classes, configuration.copies, least_bits)


@dataclass(frozen=True, eq=False)
class _Ready:
    """A data set as the engine takes it."""

    info: DatasetInfo
    features: tuple[NDArray[Any], ...]
    labels: NDArray[np.int64]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, dataset: Dataset) -> _Ready:
        rows = dataset.features
        features = (
            (rows,)
            if isinstance(rows, np.ndarray)
            else (rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64))
        )
        return cls(DatasetInfo.of(dataset), features, dataset.labels, dataset.notes)


class _ReadyDatasets:
    """The last few data sets, each loaded once however many threads ask; memory stays bounded."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._loads: dict[tuple[str, str], _Load] = {}

    def get(self, entry: Entry) -> _Ready:
        key = (entry.name, entry.source)
        with self._lock:
            load = self._loads.pop(key, None) or _Load(entry)
            self._loads[key] = load  # the newest is last
            while len(self._loads) > self._most:
                del self._loads[next(iter(self._loads))]
        return load.result()


class _Load:
    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._lock = threading.Lock()
        self._ready: _Ready | BrokenDataset | None = None

    def result(self) -> _Ready:
        with self._lock:
            if self._ready is None:
                self._ready = self._load()
        if isinstance(self._ready, BrokenDataset):
            raise self._ready
        return self._ready

    def _load(self) -> _Ready | BrokenDataset:
        try:
            return _Ready.of(self._entry.load())
        except BrokenDataset as problem:
            return problem
        except Exception as problem:  # a reader met what nobody thought of: the other sets must not suffer
            return BrokenDataset(f"{self._entry.name}: could not be read: {type(problem).__name__}: {problem}")


_READY = _ReadyDatasets(most=2)


def _run_pass(ready: _Ready, configuration: Configuration, shuffle: int, unit: Unit) -> PassResult:
    info = ready.info
    order = order_of_rows(info.rows, unit.seed, shuffle, unit.max_rows)
    where = layout_for(configuration, info.columns, info.classes)
    flags = configuration.engine_flags(info.classes, where.bits)
    losses = _engine.multiclass_pass(flags, (*ready.features, where.names), ready.labels, order, info.classes)
    return PassResult(
        info.name,
        configuration.algorithm,
        configuration.text,
        configuration.step,
        shuffle,
        len(order),
        int(losses.sum()) / len(order),
        pack(losses) if unit.with_curves else None,
    )
