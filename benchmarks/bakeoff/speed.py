"""How much sooner the bake-off is done in process than by one `vw-fastcb` a configuration that reads a .vw.gz file.

    python benchmarks/bakeoff/speed.py [--whole]

Both ways run the same passes with the same flags, as many at a time, one way after the other, several times; the
fastest time of each counts. Processor time is given beside elapsed time: it hardly depends on what else the machine
does.
`--whole` runs every configuration of the paper's grid on the twenty smallest sets instead of every seventh.
"""

from __future__ import annotations

import argparse
import gzip
import resource
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from vw_fastcb.bakeoff.backends import Workers
from vw_fastcb.bakeoff.data import Dataset, Entry, builtin
from vw_fastcb.bakeoff.grid import BUILT_IN, Configuration
from vw_fastcb.bakeoff.passes import Unit, layout_for, order_of_rows, run_unit, vw_lines
from vw_fastcb.bakeoff.store import FILE, Store
from vw_fastcb.cores import usable_cores

PROGRAM = Path(sysconfig.get_path("scripts")) / "vw-fastcb"
JOBS = usable_cores()
OUT = Path(__file__).with_name("results") / "speed.md"
_LARGE = ("keel/letter", "keel/optdigits")
_TIMES = 5
_TIMES_OF_GRID = 2  # it takes minutes, and so hardly depends on a moment
_FLAGS = {name: BUILT_IN[name].flags for name in ("FastCB.L", "SquareCB.L")}
_GOAL = {"FastCB.L": 4.0, "SquareCB.L": 4.0}
_GOAL_OF_OTHERS = 1.5
_PASSES = {"FastCB.L": 24, "SquareCB.L": 24}  # on a large set; they are quick
_PASSES_OF_OTHERS = 4
# VW's own explorers run over copies of the row, one for each class. The program is timed in that way, too.
_AS_PUBLISHED = {name: flags.replace("--cb_explore {K}", "--cb_explore_adf") for name, flags in _FLAGS.items()}
_GOAL_OF_GRID = 8.0


@dataclass(frozen=True)
class Seconds:
    elapsed: float
    processor: float


def seconds_of(work: Callable[[], None]) -> Seconds:
    elapsed, processor = time.perf_counter(), _processor_time()
    work()
    return Seconds(time.perf_counter() - elapsed, _processor_time() - processor)


def _processor_time() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def fastest(*ways: Callable[[], None], times: int = _TIMES) -> list[Seconds]:
    """Runs the ways in turn, several times."""
    rounds = [[seconds_of(way) for way in ways] for _ in range(times)]
    return [
        Seconds(min(one.elapsed for one in way), min(one.processor for one in way)) for way in zip(*rounds, strict=True)
    ]


def write_data(dataset: Dataset, configuration: Configuration, folder: Path) -> Path:
    """The file that the program reads. Algorithms that copy features need other names than those that do not."""
    path = folder / f"{dataset.name.replace('/', '_')}-{configuration.copies}.vw.gz"
    if not path.exists():
        names = layout_for(configuration, dataset.columns, dataset.n_classes).names
        with gzip.open(path, "wt") as file:
            file.writelines(vw_lines(dataset, names, order_of_rows(dataset.rows, 0, 0), exact=False))
    return path


def one_process_each(jobs: list[tuple[Dataset, Configuration]], folder: Path) -> None:
    """The original way."""

    def run(job: tuple[Dataset, Configuration]) -> None:
        dataset, configuration = job
        bits = layout_for(configuration, dataset.columns, dataset.n_classes).bits
        flags = configuration.command_line(dataset.n_classes, bits)
        data = write_data(dataset, configuration, folder)
        subprocess.run([str(PROGRAM), *flags, "-d", str(data)], check=True, capture_output=True)

    with ThreadPoolExecutor(JOBS) as pool:
        list(pool.map(run, jobs))


def in_process(entry: Entry, configurations: list[Configuration]) -> None:
    with Workers("local", JOBS) as workers:
        for outcome in workers.run([Unit(entry, (one,), (0,), 0) for one in configurations]):
            assert outcome.broken is None


def large_set(entry: Entry, folder: Path) -> list[str]:
    dataset = entry.load()
    run_unit(Unit(entry, (), (0,), 0))  # the data are parsed once for all configurations
    lines = []
    for algorithm in BUILT_IN.values():
        passes = _PASSES.get(algorithm.name, _PASSES_OF_OTHERS)
        every = algorithm.configurations()
        configurations = [every[i * len(every) // passes] for i in range(passes)]
        original = [
            replace(one, flags=_AS_PUBLISHED[one.algorithm]) for one in configurations if one.algorithm in _FLAGS
        ]
        for one in [*configurations, *original]:
            write_data(dataset, one, folder)
        ways = [partial(one_process_each, [(dataset, one) for one in configurations], folder)]
        if original:
            ways.append(partial(one_process_each, [(dataset, one) for one in original], folder))
        *theirs, ours = fastest(*ways, partial(in_process, entry, configurations))
        goal = _GOAL.get(algorithm.name, _GOAL_OF_OTHERS)
        for seconds, which in zip(theirs, ("", " (the program: --cb_explore_adf)"), strict=False):
            lines.append(row(f"{dataset.name}, {algorithm.name}{which}", passes, seconds, ours, goal))
            print(lines[-1], flush=True)
    return lines


def smallest_sets(count: int, every: int, folder: Path) -> str:
    entries = sorted((entry for entry in builtin() if entry.shape), key=_rows)[:count]
    configurations = [one for algorithm in BUILT_IN.values() for one in algorithm.configurations()][::every]
    datasets = [entry.load() for entry in entries]
    jobs = [(dataset, one) for dataset in datasets for one in configurations]
    for job in jobs:
        write_data(*job, folder)

    def ours() -> None:  # with loading the data and writing the store
        with tempfile.TemporaryDirectory() as out, Store(Path(out) / FILE) as store, Workers("local", JOBS) as workers:
            starts = range(0, len(configurations), 9)
            units = [Unit(entry, tuple(configurations[i : i + 9]), (0,), 0) for entry in entries for i in starts]
            store.add((outcome.info, outcome.passes) for outcome in workers.run(units) if outcome.info is not None)

    theirs, mine = fastest(partial(one_process_each, jobs, folder), ours, times=_TIMES_OF_GRID)
    what = "the whole grid" if every == 1 else f"every {every}th configuration of the grid"
    return row(f"{count} smallest sets, {what}", len(jobs), theirs, mine, _GOAL_OF_GRID)


def _rows(entry: Entry) -> int:
    return entry.shape.rows if entry.shape else 0


def row(what: str, passes: int, theirs: Seconds, ours: Seconds, goal: float) -> str:
    elapsed, processor = theirs.elapsed / ours.elapsed, theirs.processor / ours.processor
    seconds = f"{theirs.elapsed:.2f} | {ours.elapsed:.2f}"
    return f"| {what} | {passes} | {seconds} | {elapsed:.1f} | {processor:.1f} | {goal:g} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--whole", action="store_true")
    whole = parser.parse_args().whole
    head = [
        "| what | passes | one program each, s | in process, s | times as fast | by processor time | goal |",
        "|---|---|---|---|---|---|---|",
    ]
    print("\n".join(head))
    with tempfile.TemporaryDirectory() as folder:
        known = {entry.name: entry for entry in builtin()}
        lines = [line for name in _LARGE for line in large_set(known[name], Path(folder))]
        lines.append(smallest_sets(20, 1 if whole else 7, Path(folder)))
        print(lines[-1])
    command = f"python benchmarks/bakeoff/speed.py{' --whole' if whole else ''}"
    made = f"Made by `{command}`, {JOBS} at a time, fastest of {_TIMES} ({_TIMES_OF_GRID} for the smallest sets)."
    made += " Go by processor time where other work runs."
    OUT.write_text("# Speed of the bake-off\n\n" + "\n".join([made, "", *head, *lines]) + "\n")


if __name__ == "__main__":
    main()
