"""`fastcb demo` in the terminal: progress, table, picture."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from vw_fastcb.commands import simulation
from vw_fastcb.commands.picture import save_picture
from vw_fastcb.commands.simulation import ALGORITHMS, SUPERVISED, Algorithm, Outcome, Pass, Result
from vw_fastcb.commands.stream import Stream, dataset_names, load_stream
from vw_fastcb.cores import usable_cores

_WORKERS = 4  # more would gain little: the whole demo is some seconds of work

OnOutcome = Callable[[Pass, Outcome], None]


@dataclass(frozen=True)
class Report:
    """All that the demo found, for the table, the picture and the JSON."""

    dataset: str
    stream: Stream
    seed: int
    results: list[Result]
    seconds: float

    @property
    def rounds(self) -> int:
        """The length of a pass."""
        return len(self.stream.contexts)


def run_demo(dataset: str, rounds: int | None, seed: int, picture: Path, as_json: bool) -> int:
    """Runs the demo and prints what it found; returns the exit code."""
    log = Console(stderr=True)
    if dataset not in dataset_names():
        log.print(f"fastcb demo: no data set is called {escape(dataset)}. There are: {', '.join(dataset_names())}.")
        return 1
    try:
        load_stream(dataset, rounds=1, shuffle=0)
    except ValueError:
        log.print(f"fastcb demo: {dataset} has columns that are not numeric. Take another, for example penbased.")
        return 1
    try:
        report = _experiment(dataset, rounds, seed, log)
        save_picture(report.results, dataset, report.stream.actions, simulation.MEASURED_SHUFFLES, picture)
    except KeyboardInterrupt:
        log.print("Stopped. Nothing was saved.")
        return 130
    except OSError as problem:
        log.print(f"fastcb demo: {escape(str(problem))}")
        return 1
    if as_json:
        print(json.dumps(_as_json(report, picture), indent=2))
    else:
        _print_report(report, picture, Console())
    return 0


def _experiment(dataset: str, rounds: int | None, seed: int, log: Console) -> Report:
    """Tunes, then measures, with a live line on `log`."""
    start = time.perf_counter()
    stream = load_stream(dataset, rounds, shuffle=seed)
    tuning = simulation.tuning_passes(ALGORITHMS, dataset, rounds, stream.actions, seed)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=log, transient=True) as progress:
        total = len(tuning) + len(ALGORITHMS) * simulation.MEASURED_SHUFFLES
        task = progress.add_task("starting", total=total)

        def show(phase: str) -> OnOutcome:
            def on_outcome(job: Pass, outcome: Outcome) -> None:
                words = f"{phase} {job.algorithm.name:<14} on {dataset}, loss {outcome.costs.mean():.3f}"
                progress.update(task, advance=1, description=words)

            return on_outcome

        with _pool() as pool:
            flags = simulation.choose_flags(_run_all(pool, tuning, show("tuning   ")))
            measuring = simulation.measuring_passes(flags, dataset, rounds, seed)
            outcomes = _run_all(pool, measuring, show("measuring"))
    return Report(dataset, stream, seed, simulation.summarise(outcomes), time.perf_counter() - start)


@contextmanager
def _pool() -> Iterator[ProcessPoolExecutor]:
    pool = ProcessPoolExecutor(min(_WORKERS, usable_cores()), mp_context=get_context("spawn"))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def _run_all(pool: ProcessPoolExecutor, jobs: list[Pass], on_outcome: OnOutcome) -> dict[Pass, Outcome]:
    """Runs the jobs; the result has their order, whichever ended first."""
    # Submitting starts the workers, and they inherit that Ctrl-C is ignored: this process ends them and speaks for all.
    with _ignoring_interrupts():
        futures = {pool.submit(simulation.run_pass, job): job for job in jobs}
    for future in as_completed(futures):
        on_outcome(futures[future], future.result())
    return {job: future.result() for future, job in futures.items()}


def _regret(result: Result) -> str:
    return "0 (the floor)" if result.algorithm == SUPERVISED else f"{result.regret:+,.0f} mistakes"


def _print_report(report: Report, picture: Path, out: Console) -> None:
    first = report.results[0].algorithm
    table = Table(
        title=f"{report.dataset}: {report.rounds:,} rounds, {report.stream.actions} actions",
        caption=f"one online pass, mean over {simulation.MEASURED_SHUFFLES} shuffles, ± standard error",
        title_style="bold",
    )
    table.add_column("algorithm", no_wrap=True)
    table.add_column("progressive loss", justify="right", no_wrap=True)
    table.add_column("regret to supervised", justify="right")
    table.add_column("seconds a pass", justify="right")
    for result in report.results:
        style = "bold green" if result.algorithm == first else "dim" if result.algorithm == SUPERVISED else ""
        loss = f"{result.loss:.4f} ± {result.loss_error:.4f}"
        table.add_row(result.algorithm.name, loss, _regret(result), f"{result.seconds:.2f}", style=style)
    out.print()
    out.print(table)
    steps = ", ".join(map(str, simulation.STEP_SIZES))
    out.print(f"\nFlags; the step size -l is each one's best of {steps} on other shuffles:", highlight=False)
    for result in report.results:
        out.print(
            f"  {result.algorithm.name:<15} {_program(result.algorithm):<10} {result.flags}",
            highlight=False,
            soft_wrap=True,
        )
    out.print(
        f"\nLoss curves: [bold]{escape(str(picture))}[/]   ({report.seconds:.0f} s in all)",
        highlight=False,
        soft_wrap=True,
    )


def _program(algorithm: Algorithm) -> str:
    return "vw-fastcb" if algorithm.engine == "vw_fastcb" else "stock VW"


def _as_json(report: Report, picture: Path) -> dict[str, object]:
    return {
        "dataset": report.dataset,
        "rounds": report.rounds,
        "actions": report.stream.actions,
        "seed": report.seed,
        "shuffles": simulation.MEASURED_SHUFFLES,
        "seconds": round(report.seconds, 3),
        "picture": str(picture),
        "algorithms": [
            {
                "name": result.algorithm.name,
                "engine": result.algorithm.engine,
                "flags": result.flags,
                "candidates": result.algorithm.candidates(report.stream.actions),
                "loss": result.loss,
                "loss_standard_error": result.loss_error,
                "regret": result.regret,
                "seconds": round(result.seconds, 3),
            }
            for result in report.results
        ],
    }
