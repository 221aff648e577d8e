"""Runs a bake-off: the grid on every data set, then each algorithm's best configuration on fresh shuffles."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from vw_fastcb.bakeoff import analysis
from vw_fastcb.bakeoff.backends import Workers
from vw_fastcb.bakeoff.data import Dataset, Entry, Shape
from vw_fastcb.bakeoff.grid import BadGrid, Configuration, Grid
from vw_fastcb.bakeoff.passes import Outcome, Unit, effort, forget_datasets, run_unit
from vw_fastcb.bakeoff.store import BadStore, DatasetInfo, PassResult, Store

_UNIT = 9  # configurations of one algorithm: small enough to lose little, large enough to be worth sending
_SECONDS_BETWEEN_COMMITS = 1.0


@dataclass(frozen=True)
class Plan:
    """What to run."""

    entries: Sequence[Entry]
    grid: Grid
    seed: int = 0
    orders: int = 1  # of the rows, on which the grid runs
    repeats: int = 3  # fresh shuffles of every set
    shuffles: int = 10  # fresh shuffles, with curves, of the sets that show most
    max_rows: int | None = None
    facts: Mapping[str, str] = field(default_factory=dict)  # to be noted in the store

    def configurations(self) -> list[Configuration]:
        """Every configuration of every algorithm, in a fixed order."""
        return [one for algorithm in self.grid.algorithms for one in algorithm.configurations()]


@dataclass
class Progress:
    """How far a phase of the run is. `work` is in the units of `effort`."""

    phase: str
    work: float = 0.0
    work_total: float = 0.0
    passes: int = 0
    passes_total: int = 0
    sets_total: int = 0
    left_of_set: dict[str, int] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    """The sets of which a part failed: they are never finished."""
    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What the user should know of their own sets, as far as they were read."""

    @property
    def sets(self) -> int:
        """How many data sets are finished."""
        unfinished = {name for name, left in self.left_of_set.items() if left > 0} | self.failed
        return self.sets_total - len(unfinished)


OnProgress = Callable[[Progress], None]


def run(plan: Plan, store: Store, workers: Workers, on_progress: OnProgress) -> None:
    """Runs what the store does not have yet. It can be ended at any moment and started again."""
    _check_grid(plan.grid)
    _claim(store, plan)
    store.forget_broken()
    forget_datasets()
    entries = _usable(plan.entries, store, workers, on_progress)
    entries = sorted(entries, key=_effort_of_set, reverse=True)  # the largest first: the time left is known early
    for phase, units in (("grid", _grid_units), ("fresh shuffles", _fresh_units)):
        work = list(units(entries, plan, store))
        progress = _planned(phase, work, len(entries))
        on_progress(progress)
        _run_phase(work, progress, store, workers, on_progress)


def _check_grid(grid: Grid) -> None:
    """Lets every algorithm play three rounds with every value, so that a wrong one is known now and not in an hour."""
    toy = Dataset("toy", "", np.eye(3, 2, dtype=np.float32), np.array([0, 1, 0]), ("a", "b"))
    for algorithm in grid.algorithms:
        entry = Entry("three rounds to check the flags", algorithm.flags, lambda: toy)
        outcome = run_unit(Unit(entry, _every_value_once(algorithm.configurations()), (0,), seed=0))
        if outcome.broken:
            raise BadGrid(f"{outcome.broken} (flags: {algorithm.flags})")


def _every_value_once(configurations: list[Configuration]) -> tuple[Configuration, ...]:
    seen: set[tuple[str, float]] = set()
    chosen = []
    for one in configurations:
        values = {*one.parameters, ("step", one.step)}
        if not values <= seen:
            seen |= values
            chosen.append(one)
    return tuple(chosen)


def _claim(store: Store, plan: Plan) -> None:
    """Notes what the results depend on; a store of other choices must not be mixed with these."""
    mine = {"seed": str(plan.seed), "max_rows": "all" if plan.max_rows is None else str(plan.max_rows)}
    there = store.meta()
    for key, value in mine.items():
        if there.get(key, value) != value:
            flag = key.replace("_", "-")
            raise BadStore(
                f"{store.path} was made with {key} {there[key]}, now it is {value}. Give --{flag} as before, or choose "
                f"another --out."
            )
    for algorithm in plan.grid.algorithms:
        key = f"flags.{algorithm.name}"
        mine[key] = algorithm.description
        flags = there.get(key, algorithm.flags).partition(";")[0]
        if flags != algorithm.flags:
            raise BadStore(
                f"{store.path} was made with the flags '{flags}' for {algorithm.name}, now they are "
                f"'{algorithm.flags}'. Give the algorithm another name, or choose another --out."
            )
    store.set_meta({**plan.facts, **mine})


def _usable(entries: Sequence[Entry], store: Store, workers: Workers, on_progress: OnProgress) -> list[Entry]:
    """The sets to run. Your own data are read once before anything runs, so that what cannot be used is known early.

    Left out, with the reason in the store: what cannot be read, the same data under another name, and files whose data
    are not those of earlier results. Built-in sets are known from the index, and compared when they are loaded.
    """
    usable = [entry for entry in entries if entry.shape is not None]
    earlier = _fingerprints(store)
    first_of = {fingerprint: name for name, fingerprint in reversed(earlier.items())}
    first_of |= {entry.shape.fingerprint: entry.name for entry in usable if entry.shape and entry.shape.fingerprint}
    own = [entry for entry in entries if entry.shape is None]
    outcomes = _read_all(own, workers, on_progress)
    for entry in own:
        info, reason = outcomes[entry.name].info, outcomes[entry.name].broken
        if info is not None and earlier.get(entry.name, info.fingerprint) != info.fingerprint:
            reason = _changed(entry.name)
        elif info is not None and first_of.setdefault(info.fingerprint, entry.name) != entry.name:
            reason = same_data(entry.name, first_of[info.fingerprint])
        if info is None or reason is not None:
            store.add_broken(entry.name, entry.source, reason or "")
        else:
            shape = Shape(info.rows, info.columns, info.classes, (), info.subset_of, info.fingerprint)
            usable.append(replace(entry, shape=shape))
    return usable


def _read_all(entries: list[Entry], workers: Workers, on_progress: OnProgress) -> dict[str, Outcome]:
    """Reads sets of which nothing is known yet, by the hands of the workers."""
    outcomes: dict[str, Outcome] = {}
    progress = Progress("reading", work_total=len(entries), sets_total=len(entries))
    if entries:
        on_progress(progress)
        for outcome in workers.run(Unit(entry, (), (), seed=0) for entry in entries):
            name = outcome.unit.entry.name
            outcomes[name] = outcome
            progress.work += 1
            progress.notes[name] = outcome.notes
            if outcome.broken:
                progress.failed.add(name)
            on_progress(progress)
    return outcomes


def _fingerprints(store: Store) -> dict[str, str]:
    return dict(store.datasets()[["name", "fingerprint"]].itertuples(index=False))


def same_data(name: str, first: str) -> str:
    """Why a set is left out that is there under another name."""
    return f"{name}: the same data as {first}, which is counted once."


def _changed(name: str) -> str:
    return f"{name}: its data have changed since the earlier results. Choose another --out."


def _grid_units(entries: Iterable[Entry], plan: Plan, store: Store) -> Iterator[Unit]:
    algorithms = [algorithm.configurations() for algorithm in plan.grid.algorithms]
    for entry in entries:
        done = store.done(entry.name)
        for configurations, order in itertools.product(algorithms, range(plan.orders)):
            missing = [one for one in configurations if (one.algorithm, one.text, one.step, -order) not in done]
            for first in range(0, len(missing), _UNIT):
                yield Unit(entry, tuple(missing[first : first + _UNIT]), (-order,), plan.seed, plan.max_rows)


def _fresh_units(entries: Iterable[Entry], plan: Plan, store: Store) -> Iterator[Unit]:
    results, datasets = analysis.mean_over_orders(store.results()), store.datasets()
    known = {(one.algorithm, one.text, one.step): one for one in plan.configurations()}
    planned = pd.MultiIndex.from_frame(results[["algorithm", "configuration", "step"]]).isin(list(known))
    results = results[(results["shuffle"] == 0) & planned]  # the store may have those of a larger grid
    best_of = analysis.best_configurations(results)
    drawn = set(analysis.curve_sets(results, datasets)) if plan.shuffles and len(results) else set()
    for entry in entries:
        with_curves = entry.name in drawn
        count = max(plan.repeats, plan.shuffles) if with_curves else plan.repeats
        done = store.done(entry.name, curves=with_curves)
        for algorithm in plan.grid.algorithms:
            if (entry.name, algorithm.name) not in best_of:
                continue  # the set is broken
            text, step = best_of[entry.name, algorithm.name]
            best = known[algorithm.name, text, step]
            missing = tuple(s for s in range(1, count + 1) if (algorithm.name, text, step, s) not in done)
            if missing:
                yield Unit(entry, (best,), missing, plan.seed, plan.max_rows, with_curves)


def _planned(phase: str, units: list[Unit], sets: int) -> Progress:
    progress = Progress(phase, sets_total=sets)
    for unit in units:
        progress.work_total += _effort_of(unit)
        progress.passes_total += len(unit.configurations) * len(unit.shuffles)
        progress.left_of_set[unit.entry.name] = progress.left_of_set.get(unit.entry.name, 0) + 1
    return progress


def _run_phase(units: list[Unit], progress: Progress, store: Store, workers: Workers, on_progress: OnProgress) -> None:
    writer = _Writer(store)
    try:
        for outcome in workers.run(units):
            writer.take(outcome)
            progress.work += _effort_of(outcome.unit)
            progress.passes += len(outcome.passes)
            progress.left_of_set[outcome.unit.entry.name] -= 1
            if outcome.broken:
                progress.failed.add(outcome.unit.entry.name)
            on_progress(progress)
    finally:
        writer.commit()


class _Writer:
    """Puts outcomes into the store, some at a time: a commit waits for the disk."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[tuple[DatasetInfo, list[PassResult]]] = []
        self._fingerprints = _fingerprints(store)
        self._committed = time.monotonic()

    def take(self, outcome: Outcome) -> None:
        entry = outcome.unit.entry
        if outcome.info is not None:
            info = outcome.info
            if self._fingerprints.setdefault(info.name, info.fingerprint) != info.fingerprint:
                self._store.add_broken(entry.name, entry.source, _changed(info.name))
                return
            self._waiting.append((info, outcome.passes))
        if outcome.broken:
            self.commit()
            self._store.add_broken(entry.name, entry.source, outcome.broken)
        if time.monotonic() - self._committed > _SECONDS_BETWEEN_COMMITS:
            self.commit()

    def commit(self) -> None:
        self._store.add(self._waiting)
        self._waiting.clear()
        self._committed = time.monotonic()


def _effort_of(unit: Unit) -> float:
    one_shuffle = sum(effort(one, unit.entry.shape, unit.max_rows) for one in unit.configurations)
    return one_shuffle * len(unit.shuffles)


def _effort_of_set(entry: Entry) -> float:
    return float(entry.shape.rows * entry.shape.columns * entry.shape.classes) if entry.shape else 0.0
