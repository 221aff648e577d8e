"""`fastcb bakeoff` in the terminal: runs, reports, exports and imports, with their summaries and errors."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shlex
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
from rich.console import Console

from vw_fastcb.bakeoff import analysis
from vw_fastcb.bakeoff.backends import BadBackend, Workers
from vw_fastcb.bakeoff.grid import BadGrid, find_grid
from vw_fastcb.bakeoff.progress import shown
from vw_fastcb.bakeoff.runner import OnProgress, Plan, Progress, run
from vw_fastcb.bakeoff.selection import NoDatasets, Sources, chosen_entries
from vw_fastcb.bakeoff.store import FILE, BadStore, Store, load_run

_SECONDS_BETWEEN_NOTES = 2.0
_BEST_SHOWN = 5  # sets of which the best configuration is printed


@dataclass(frozen=True)
class Request:
    """What the command line asks for; `fastcb bakeoff --help` says what each means."""

    out: Path
    grid: str
    algorithms: tuple[str, ...]
    datasets: tuple[str, ...]
    sources: Sources
    jobs: int | None
    seed: int
    orders: int
    repeats: int
    shuffles: int
    max_rows: int | None
    backend: str
    address: str | None
    with_report: bool
    as_json: bool


def run_bakeoff(request: Request) -> int:
    """Runs a bake-off and writes its report; returns the exit code."""
    log = _plain(stderr=True)
    try:
        return _run(request, log)
    except (BadBackend, BadGrid, BadStore, NoDatasets) as problem:
        log.print(f"fastcb bakeoff: {problem}")
        return 1
    except (OSError, sqlite3.Error) as problem:
        log.print(f"fastcb bakeoff: {request.out / FILE}: {problem}")
        _leave(1)
    except KeyboardInterrupt:
        log.print(f"Stopped. What was done is in {request.out / FILE}; the same command carries on from there.")
        _leave(130)


def _leave(code: int) -> NoReturn:
    """Ends the process. Threads that are inside the engine cannot be interrupted, and nobody waits for what they do."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run_report(folder: Path) -> int:
    """Writes the report of a store; returns the exit code."""
    return _said("report", folder, lambda: f"Report: {_write_report(folder)}")


def run_export(file: Path, folder: Path) -> int:
    """Writes the results of a store as a Parquet file; returns the exit code."""

    def export() -> str:
        from vw_fastcb.bakeoff.parquet import write_parquet  # noqa: PLC0415, takes a while to import

        results = load_run(folder / FILE)
        write_parquet(results, file)
        return f"{len(results.results):,} passes of {folder / FILE} are in {file}."

    return _said("export", folder, export)


def run_import(file: Path, folder: Path) -> int:
    """Makes a store from an exported Parquet file; returns the exit code."""

    def bring_in() -> str:
        from vw_fastcb.bakeoff.parquet import read_parquet  # noqa: PLC0415, as above

        results = read_parquet(file)
        with _alone_in(folder), Store(folder / FILE) as store:
            if not store.results().empty:
                raise BadStore(f"{folder / FILE} already has results. Choose another --out.")
            store.fill(results)
        return f"{len(results.results):,} passes of {file} are in {folder / FILE}."

    return _said("import", folder, bring_in)


def _said(command: str, folder: Path, work: Callable[[], str]) -> int:
    """Does the work of a subcommand and prints what it says, be it why it failed; returns the exit code."""
    log = _plain(stderr=True)
    try:
        sentence = work()
    except (sqlite3.Error, pd.errors.DatabaseError) as problem:
        log.print(f"fastcb bakeoff {command}: {folder / FILE} is damaged, or not the store of a bake-off: {problem}")
        return 1
    except (OSError, ValueError) as problem:
        log.print(f"fastcb bakeoff {command}: {problem}")
        return 1
    _plain().print(sentence)
    return 0


def _plain(stderr: bool = False) -> Console:
    """A console that prints names as they are, whatever brackets they have."""
    return Console(stderr=stderr, markup=False, highlight=False, soft_wrap=True)


def _write_report(folder: Path) -> Path:
    # Here, because a run need not wait for the plotting library.
    from vw_fastcb.bakeoff import report  # noqa: PLC0415

    return report.write(load_run(folder / FILE), folder)


def _run(request: Request, log: Console) -> int:
    start = time.monotonic()
    grid = find_grid(request.grid)
    plan = Plan(
        chosen_entries(request.datasets, request.sources),
        grid.only(request.algorithms) if request.algorithms else grid,
        seed=request.seed,
        orders=request.orders,
        repeats=request.repeats,
        shuffles=request.shuffles,
        max_rows=request.max_rows,
    )
    with (
        _alone_in(request.out),
        Store(request.out / FILE) as store,
        Workers(request.backend, request.jobs, request.address) as workers,
        shown(log) as show,
    ):
        clock = _Clock(store)
        run(replace(plan, facts=_facts(request, plan, workers, store.meta())), store, workers, clock.also(show))
        clock.note()
        store.set_meta({"finished": _now()})
        summary = _summary(store, request)
    seconds = time.monotonic() - start
    wanted = request.with_report and summary["passes"]
    page = _write_report(request.out) if wanted else None
    if request.as_json:
        print(json.dumps({**summary, "report": page and str(page), "seconds": round(seconds, 1)}, indent=2))
    else:
        _print_summary(summary, page, seconds, log)
    return 0 if summary["passes"] else 1


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Makes the folder, and keeps other bake-offs out of it; the system forgets the lock when the process ends."""
    if folder.exists() and not folder.is_dir():
        raise BadStore(f"{folder} is a file. --out takes a folder, which is created if it is not there.")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as problem:
            raise BadStore(
                f"another bake-off is running in {folder}. Wait for it, or choose another --out."
            ) from problem
        yield


class _Clock:
    """Notes in the store how long its results took, over all starts, also those that were ended early."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._before = float(store.meta().get("seconds", 0))
        self._start = self._noted = time.monotonic()

    def also(self, show: OnProgress) -> OnProgress:
        """Shows progress, and notes the time now and then."""

        def show_and_note(progress: Progress) -> None:
            show(progress)
            if time.monotonic() - self._noted > _SECONDS_BETWEEN_NOTES:
                self.note()

        return show_and_note

    def note(self) -> None:
        """Notes the time until now."""
        self._noted = time.monotonic()
        self._store.set_meta({"seconds": f"{self._before + self._noted - self._start:.1f}"})


def _facts(request: Request, plan: Plan, workers: Workers, there: dict[str, str]) -> dict[str, str]:
    facts = {
        "started": there.get("started", _now()),
        "grid": plan.grid.name,
        "command": shlex.join(["fastcb", *sys.argv[1:]]),
        "backend": request.backend,
        "workers": str(workers.jobs),
        "version.python": platform.python_version(),
    }
    packages = (
        "vw-fastcb",
        "vowpalwabbit",
        "numpy",
        *sorted({entry.source.partition(" ")[0] for entry in plan.entries}),
    )
    for package in packages:
        try:
            facts[f"version.{package}"] = version(package)
        except (ImportError, ValueError):
            continue  # a source that is not a package
    return facts


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _summary(store: Store, request: Request) -> dict[str, Any]:
    passes, broken = store.results(), store.broken()
    results = analysis.mean_over_orders(passes)
    grid = results[results["shuffle"] == 0]
    tuned = grid.groupby(["algorithm", "dataset"])["loss"].min().groupby("algorithm").mean()
    return {
        "store": str(request.out / FILE),
        "datasets": passes["dataset"].nunique(),
        "passes": len(passes),
        "mean_loss_of_best_configurations": {str(name): round(float(loss), 5) for name, loss in tuned.items()},
        "best": _best(grid),
        "curves": analysis.curve_sets(grid, store.datasets()) if len(grid) else [],
        "broken": dict(zip(broken["name"], broken["reason"], strict=True)),
    }


def _best(grid: pd.DataFrame) -> dict[str, dict[str, object]]:
    """Of each set the bandit with the lowest loss, and the configuration that had it; no step is None."""
    if grid.empty:
        return {}
    best = analysis.best_bandits(grid).set_index("dataset")[["algorithm", "configuration", "step", "loss"]]
    return {str(name): {**row.to_dict(), "step": row["step"] or None} for name, row in best.iterrows()}


def _print_summary(summary: dict[str, Any], page: Path | None, seconds: float, log: Console) -> None:
    out = _plain()
    for reason in summary["broken"].values():
        log.print(f"left out: {reason}", style="yellow")
    sets = "1 data set" if summary["datasets"] == 1 else f"{summary['datasets']} data sets"
    out.print(f"{summary['passes']:,} passes over {sets} are in {summary['store']} ({seconds:.0f} s).")
    if len(summary["best"]) <= _BEST_SHOWN:
        for name, best in summary["best"].items():
            step = "" if best["step"] is None else f"step={best['step']:g}"
            chosen = " ".join(word for word in (best["algorithm"], best["configuration"], step) if word)
            out.print(f"{name}: the lowest loss is {best['loss']:.4f}, {chosen}.")
    if page is not None:
        out.print(f"Report: {page}")
