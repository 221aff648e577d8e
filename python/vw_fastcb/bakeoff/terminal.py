"""`fastcb bakeoff` in the terminal: progress, what went wrong, what came out."""

from __future__ import annotations

import json
import os
import platform
import shlex
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from vw_fastcb.bakeoff import analysis
from vw_fastcb.bakeoff.backends import BadBackend, Workers
from vw_fastcb.bakeoff.chosen import NoDatasets, Sources, chosen_entries
from vw_fastcb.bakeoff.grid import BadGrid, find_grid
from vw_fastcb.bakeoff.runner import OnProgress, Plan, Progress, run
from vw_fastcb.bakeoff.store import FILE, BadStore, Store

_SECONDS_BETWEEN_LINES = 30.0


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
    log = Console(stderr=True)
    try:
        return _run(request, log)
    except (BadBackend, BadGrid, BadStore, NoDatasets, OSError) as problem:
        log.print(f"fastcb bakeoff: {escape(str(problem))}", highlight=False, soft_wrap=True)
        return 1
    except sqlite3.Error as problem:
        place = escape(str(request.out / FILE))
        log.print(
            f"fastcb bakeoff: {place}: {escape(str(problem))}. Does another bake-off write there?", soft_wrap=True
        )
        return 1
    except KeyboardInterrupt:
        log.print(f"Stopped. What was done is in {request.out / FILE}; the same command goes on from there.")
        sys.stdout.flush()
        # Threads that are inside the engine cannot be interrupted, and nobody waits for what they do.
        os._exit(130)


def run_report(folder: Path) -> int:
    """Writes the report of a store; returns the exit code."""
    try:
        page = _write_report(folder)
    except (FileNotFoundError, ValueError) as problem:
        Console(stderr=True).print(f"fastcb bakeoff report: {escape(str(problem))}", highlight=False, soft_wrap=True)
        return 1
    Console().print(f"Report: [bold]{escape(str(page))}[/]", highlight=False, soft_wrap=True)
    return 0


def _write_report(folder: Path) -> Path:
    # Here, because a run need not wait for the plotting library.
    from vw_fastcb.bakeoff import report  # noqa: PLC0415

    return report.write(folder / FILE, folder)


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
    request.out.mkdir(parents=True, exist_ok=True)
    with (
        Store(request.out / FILE) as store,
        Workers(request.backend, request.jobs, request.address) as workers,
        _shown_progress(log) as on_progress,
    ):
        store.set_meta(_facts(request, plan, workers, store.meta()))
        run(plan, store, workers, on_progress)
        seconds = time.monotonic() - start
        spent = float(store.meta().get("seconds", 0)) + seconds
        store.set_meta({"finished": _now(), "seconds": f"{spent:.1f}"})
        summary = _summary(store, request)
    wanted = request.with_report and summary["passes"]
    page = _write_report(request.out) if wanted else None
    if request.as_json:
        print(json.dumps({**summary, "report": page and str(page), "seconds": round(seconds, 1)}, indent=2))
    else:
        _print_summary(summary, page, seconds, log)
    return 0 if summary["passes"] else 1


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
    for algorithm in plan.grid.algorithms:
        tried = [f"{name} in {_values(values)}" for name, values in algorithm.parameters.items()]
        facts[f"flags.{algorithm.name}"] = "; ".join([algorithm.flags, *tried, f"step in {_values(algorithm.steps)}"])
    return facts


def _values(values: object) -> str:
    return ", ".join(f"{value:g}" for value in values)  # type: ignore[attr-defined]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def _shown_progress(log: Console) -> Iterator[OnProgress]:
    """A bar in a terminal; in a file or a pipe, where a bar cannot move, a line now and then."""
    if not log.is_terminal:
        yield _ProgressLines(log)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        TextColumn("{task.percentage:>3.0f}% {task.fields[sets]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=log, speed_estimate_period=120) as bar:
        tasks = {}

        def show(progress: Progress) -> None:
            if progress.phase not in tasks:
                tasks[progress.phase] = bar.add_task(progress.phase, total=progress.work_total or 1, sets="")
            work = progress.work if progress.passes_total else 1
            bar.update(tasks[progress.phase], completed=work, sets=_counts(progress))

        yield show


class _ProgressLines:
    """Prints a line when a phase begins, then about every half minute."""

    def __init__(self, log: Console) -> None:
        self._log = log
        self._phase = ""
        self._started = 0.0
        self._printed = 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.phase != self._phase:
            self._phase, self._started, self._printed = progress.phase, now, now
            self._print(f"{progress.phase}: {progress.passes_total:,} passes to run")
        elif now - self._printed >= _SECONDS_BETWEEN_LINES and progress.work:
            self._printed = now
            done = progress.work / progress.work_total
            left = timedelta(seconds=round((now - self._started) * (1 / done - 1)))
            self._print(f"{progress.phase} {done:.0%} {_counts(progress)} left {left}")

    def _print(self, line: str) -> None:
        self._log.print(line, highlight=False, soft_wrap=True)


def _counts(progress: Progress) -> str:
    return f"{progress.sets}/{progress.sets_total} sets {progress.passes:,} passes"


def _summary(store: Store, request: Request) -> dict[str, object]:
    passes, broken = store.results(), store.broken()
    results = analysis.mean_over_orders(passes)
    grid = results[results["shuffle"] == 0]
    tuned = grid.groupby(["algorithm", "dataset"])["loss"].min().groupby("algorithm").mean()
    return {
        "store": str(request.out / FILE),
        "datasets": len(store.datasets()),
        "passes": len(passes),
        "mean_loss_of_best_configurations": {str(name): round(float(loss), 5) for name, loss in tuned.items()},
        "curves": analysis.curve_sets(grid, store.datasets()) if len(grid) else [],
        "broken": dict(zip(broken["name"], broken["reason"], strict=True)),
    }


def _print_summary(summary: dict[str, object], page: Path | None, seconds: float, log: Console) -> None:
    out = Console()
    for reason in summary["broken"].values():  # type: ignore[attr-defined]
        log.print(f"[yellow]skipped[/] {escape(reason)}", highlight=False, soft_wrap=True)
    words = f"{summary['passes']:,} passes over {summary['datasets']} data sets are in [bold]{summary['store']}[/]"
    out.print(f"{words} ({seconds:.0f} s).", highlight=False, soft_wrap=True)
    if page is not None:
        out.print(f"Report: [bold]{escape(str(page))}[/]", highlight=False, soft_wrap=True)
