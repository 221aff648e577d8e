"""How a classification set is played: one pass of one configuration, and the units of passes that a worker runs.

A feature whose name is a number lies at that number among VW's weights. So names can be chosen such that no two columns
share a weight, in a table that is just large enough: a small one is made quickly and stays in the processor's cache.
Hashed names would collide, and not equally for all algorithms.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.bakeoff.data import BrokenDataset, Dataset, Entry, Shape
from vw_fastcb.bakeoff.grid import BUILT_IN, NO_STEP, Configuration, number
from vw_fastcb.bakeoff.store import DatasetInfo, PassResult, pack
from vw_fastcb.engine.workspace import Workspace

try:
    from vw_fastcb._bakeoff import multiclass_pass
except ImportError:  # the product's wheel does not hold it
    multiclass_pass = None  # type: ignore[assignment]

_CONSTANT = 11650396  # where VW puts its constant feature
_MOST_BITS = 22  # 64 MB of weights; columns of wider data may then share some, as with hashing
_BITS_OF_STRANGERS = 18  # VW's default: flags of your own may make features that no layout knows of
_MOST_ORDERS = 10  # kept, so that not every pass makes them anew
_UNKNOWN = Shape(rows=1000, columns=20, classes=3, class_shares=())
_FULL_COVARIANCE = 64  # columns, by default
_SET_UP = 900.0  # microseconds for the learner, the store and the interpreter


@lru_cache(maxsize=_MOST_ORDERS)
def order_of_rows(rows: int, seed: int, shuffle: int, max_rows: int | None = None) -> NDArray[np.int64]:
    """The order of a pass: a permutation that numpy's default generator makes from the pair (seed, shuffle).

    Shuffles 0, -1, ... are those of the grid, 1, 2, ... fresh ones; -1 is made from (seed, 0, 1), and so on.
    """
    source = [seed, shuffle] if shuffle >= 0 else [seed, 0, -shuffle]
    order: NDArray[np.int64] = np.random.default_rng(source).permutation(rows)[:max_rows]
    order.flags.writeable = False  # whoever asks gets the same array
    return order


@dataclass(frozen=True, eq=False)
class Layout:
    """The names (numbers) of the columns and the size of VW's table, `-b`."""

    names: NDArray[np.uint64]
    bits: int


def layout(columns: int, classes: int, copies: bool, least_bits: int = 0) -> Layout:
    """Where to put columns that each have one weight per class.

    `copies` is for flags with `--cb_explore_adf`: there cbify clears the low bits of an index to add the class. All
    others multiply the index by the number of classes, which VW rounds up to a power of two.
    """
    spacing = 1 << classes.bit_length() if copies else 1
    width = 1 if copies else 1 << (classes - 1).bit_length()  # what VW multiplies an index by
    block = spacing * width  # the weights of a column
    bits = max(least_bits, min(_MOST_BITS, ((columns + 1) * block - 1).bit_length()))
    taken = _CONSTANT * width % (1 << bits) // block
    numbers = np.arange(columns + 1, dtype=np.uint64)
    free = numbers[numbers != taken][:columns]
    return Layout(free * np.uint64(spacing), bits)


def layout_for(configuration: Configuration, columns: int, classes: int) -> Layout:
    """The names of the columns and the size of VW's table that a configuration is run with."""
    built_in = BUILT_IN.get(configuration.algorithm)
    least_bits = 0 if built_in and built_in.flags == configuration.flags else _BITS_OF_STRANGERS
    return layout(columns, classes, configuration.copies, least_bits)


def vw_lines(
    dataset: Dataset, names: NDArray[np.uint64], order: NDArray[np.int64], exact: bool = True
) -> Iterator[str]:
    """One line per row: the class, from 1, and the values that are not zero, each with the name of its column.

    VW reads decimal numbers to within a rounding error; `exact` writes them in base 16, which it reads exactly.
    """
    for row in order:
        values = dataset.features[row]
        if not isinstance(values, np.ndarray):
            values = values.toarray()[0]
        present = np.flatnonzero(values)
        numbers = (float(value).hex() if exact else f"{value:.6g}" for value in values[present])
        features = " ".join(f"{name}:{number}" for name, number in zip(names[present], numbers, strict=True))
        yield f"{dataset.labels[row] + 1} | {features}\n"


@dataclass(frozen=True, eq=False)
class Playable:
    """A data set as the engine takes it."""

    info: DatasetInfo
    features: tuple[NDArray[Any], ...]
    dataset: Dataset

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of the data has to say."""
        return self.dataset.notes

    @classmethod
    def of(cls, dataset: Dataset) -> Playable:
        """The same data, in arrays for the engine."""
        rows = dataset.features
        features = (
            (rows,)
            if isinstance(rows, np.ndarray)
            else (rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64))
        )
        return cls(DatasetInfo.of(dataset), features, dataset)

    def losses(self, configuration: Configuration, order: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Plays the rows in this order with a new learner: 1 for each round in which it named a wrong class."""
        where = layout_for(configuration, self.info.columns, self.info.classes)
        if multiclass_pass is None:
            return _losses_of_text(self.dataset, configuration, where, order)
        flags = configuration.engine_flags(self.info.classes, where.bits)
        rows, labels = (*self.features, where.names), self.dataset.labels
        return multiclass_pass(flags, rows, labels, order, self.info.classes, every_label=configuration.sees_labels)


def _losses_of_text(
    dataset: Dataset, configuration: Configuration, where: Layout, order: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """The same losses by VW's own reduction from classes to bandits, which reads lines of text."""
    if configuration.sees_labels:
        raise RuntimeError(
            "this algorithm is shown every label, which needs the engine of the bake-off. Build it from a clone of the "
            "repository: pip install '.[bench]' --config-settings=cmake.define.VW_FASTCB_BAKEOFF=ON"
        )
    flags = configuration.command_line(dataset.n_classes, where.bits)
    losses = np.empty(len(order), np.uint8)
    with Workspace(arg_list=[*flags, "--quiet", "--no_stdin"]) as workspace:
        for number, line in enumerate(vw_lines(dataset, where.names, order)):
            example = workspace.parse(line)
            workspace.learn(example)
            losses[number] = example.get_multiclass_prediction() != dataset.labels[order[number]] + 1
            workspace.finish_example(example)
    return losses


def effort(configuration: Configuration, shape: Shape | None, max_rows: int | None = None) -> float:
    """Roughly how long a pass takes, for the order of the work and the time left.

    In microseconds on the machine where this was fitted; elsewhere only the proportions matter.
    """
    shape = shape or _UNKNOWN
    rows = shape.rows if max_rows is None else min(shape.rows, max_rows)
    return _SET_UP + rows * _round(configuration, shape.columns, shape.classes)


def _round(configuration: Configuration, columns: int, classes: int) -> float:
    flags = configuration.flags
    if "--regcb" in flags or "--elim" in flags:  # they also ask how sensitive each score is
        return classes * (1.0 + 0.01 * columns)
    if configuration.copies:
        return classes * (0.25 + 0.0045 * columns)
    if "--oaa" in flags:
        return classes * (0.2 + 0.01 * columns)
    scores = 1.0 + classes * (0.03 + 0.0015 * columns)
    if "newton" not in flags:
        return scores
    step = 0.001 * min(columns, _FULL_COVARIANCE) ** 2 + 0.01 * columns
    return scores + step * (classes if configuration.sees_labels else 1)


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
        playable = _CACHE.get(unit.entry)
    except BrokenDataset as problem:
        return Outcome(unit, None, [], str(problem))
    passes = []
    for configuration in unit.configurations:
        try:
            passes += [_run_pass(playable, configuration, shuffle, unit) for shuffle in unit.shuffles]
        except RuntimeError as problem:
            step = "" if configuration.step == NO_STEP else f", step {number(configuration.step)}"
            what = f"{configuration.algorithm} {configuration.text}".rstrip() + step
            return Outcome(unit, playable.info, passes, f"{unit.entry.name}: {what}: {problem}")
    return Outcome(unit, playable.info, passes, notes=playable.notes)


def _run_pass(playable: Playable, configuration: Configuration, shuffle: int, unit: Unit) -> PassResult:
    order = order_of_rows(playable.info.rows, unit.seed, shuffle, unit.max_rows)
    losses = playable.losses(configuration, order)
    return PassResult(
        playable.info.name,
        configuration.algorithm,
        configuration.text,
        configuration.step,
        shuffle,
        len(order),
        int(losses.sum()) / len(order),
        pack(losses) if unit.with_curves else None,
    )


def forget_datasets() -> None:
    """Forgets what was loaded: a file may have changed since an earlier run of this process."""
    _CACHE.clear()


class _Cache:
    """The last few data sets, each loaded once however many threads ask; memory stays bounded."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._loads: dict[tuple[str, str], _Load] = {}

    def get(self, entry: Entry) -> Playable:
        key = (entry.name, entry.source)
        with self._lock:
            load = self._loads.pop(key, None) or _Load(entry)
            self._loads[key] = load  # the newest is last
            while len(self._loads) > self._most:
                del self._loads[next(iter(self._loads))]
        return load.result()

    def clear(self) -> None:
        with self._lock:
            self._loads.clear()


class _Load:
    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._lock = threading.Lock()
        self._ready: Playable | BrokenDataset | None = None

    def result(self) -> Playable:
        with self._lock:
            if self._ready is None:
                self._ready = self._load()
        if isinstance(self._ready, BrokenDataset):
            raise self._ready
        return self._ready

    def _load(self) -> Playable | BrokenDataset:
        try:
            return Playable.of(self._entry.load())
        except BrokenDataset as problem:
            return problem
        except Exception as problem:  # a reader met what nobody thought of: the other sets must not suffer
            return BrokenDataset(f"{self._entry.name}: could not be read: {type(problem).__name__}: {problem}")


_CACHE = _Cache(most=2)
