"""Any configuration of FastCB beside its rivals, in worlds, on tables and on real data (see PROTOCOL.md).

    python benchmarks/science/never_behind.py run --parts worlds --seeds 0-7 --delays 0 100 --jobs 2
    python benchmarks/science/never_behind.py report --parts worlds --seeds 0-7

`run` plays what is missing of every configuration of configurations.toml, game, seed and delay, and adds a line per run
to a file; it can be stopped and started at any time, and two may run beside each other. `report` makes a table of the
lines that there are.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
import traceback
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import real
from configurations import Configuration, read_configurations
from games import PARTS, games_of, result_of
from lines import Key, Lines, build_of
from report import report_of
from rivals import NotPlayed
from seeds import reports

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Group:
    """All missing runs of one game, seed and delay: they share the problem."""

    game: str
    seed: int
    delay: int
    configurations: tuple[Configuration, ...]


def seeds_of(words: Sequence[str]) -> list[int]:
    """Seeds from words such as `3` and `0-7`."""
    seeds: list[int] = []
    for word in words:
        first, _, last = word.partition("-")
        seeds += range(int(first), int(last or first) + 1)
    return seeds


def missing(options: argparse.Namespace, done: set[Key]) -> Iterable[Group]:
    """What is to be played, seed by seed, so that a run that is stopped has something of everything."""
    for seed in options.seeds:
        for part in options.parts:
            for game in games_of(part, report=reports(seed)):
                if not any(fnmatch(game, f"*{pattern}*") for pattern in options.games):
                    continue
                for delay in options.delays if part != "tables" else (0,):
                    wanted = (c for c in options.configurations if Key(c.key, game, seed, delay) not in done)
                    if configurations := tuple(wanted):
                        yield Group(game, seed, delay, configurations)


def play_group(group: Group, folder: Path, deadline: float) -> int:
    """Plays a group and writes its lines; returns how many runs failed."""
    lines, failures = Lines(folder), 0
    for configuration in group.configurations:
        if time.time() > deadline:
            break
        try:
            result = result_of(configuration.settings, group.game, group.seed, group.delay)
        except NotPlayed as reason:
            result = {"not played": str(reason)}
        except Exception:
            print(f"{configuration.label}, {group.game}, seed {group.seed}, delay {group.delay}:", file=sys.stderr)
            traceback.print_exc()
            failures += 1
            continue
        lines.add(configuration, group.game, group.seed, group.delay, result)
    return failures


def run(options: argparse.Namespace) -> int:
    groups = list(missing(options, Lines(options.results).keys()))
    runs = sum(len(group.configurations) for group in groups)
    print(f"{runs} runs to play in {len(groups)} groups, build {build_of()}", flush=True)
    for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(threads, "1")  # of the processes that play: they share the cores
    started, failures = time.time(), 0
    deadline = started + 60 * options.minutes
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(play_group, group, options.results, deadline): group for group in groups}
        for number, future in enumerate(as_completed(futures), 1):
            failures += future.result()
            group, passed = futures[future], time.time() - started
            if time.time() > deadline:
                continue  # what is left is skipped in no time
            left = passed / number * (len(groups) - number)
            print(
                f"{number}/{len(groups)} {group.game}, seed {group.seed}, delay {group.delay}"
                f"  {passed:.0f} s, about {left:.0f} s left",
                flush=True,
            )
    if time.time() > deadline:
        print(f"stopped after {options.minutes:g} minutes; run again to go on")
    if failures:
        print(f"{failures} runs failed", file=sys.stderr)
    return 1 if failures else 0


def show(options: argparse.Namespace) -> int:
    text = report_of(Lines(options.results), options)
    if options.output is None:
        print(text)
    else:
        options.output.write_text(text + "\n")
    return 0


def options_of(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--parts", nargs="+", choices=PARTS, default=["worlds"])
    shared.add_argument("--games", nargs="+", default=["*"], help="parts of names, with * and ?")
    shared.add_argument("--seeds", nargs="+", default=["0-7"], help="such as 0-7; from 100 on for reporting")
    shared.add_argument("--delays", nargs="+", type=int, default=[0], help="rounds until an outcome is known")
    shared.add_argument("--file", type=Path, default=HERE / "configurations.toml")
    shared.add_argument("--only", nargs="+", help="labels of configurations, with * and ?; all unless given")
    shared.add_argument("--data", type=Path, help=f"the folder of real data; or set {real.FOLDER}")
    shared.add_argument("--results", type=Path, default=HERE.parents[1] / "build" / "never-behind")
    playing = commands.add_parser("run", parents=[shared], help="play what is missing")
    playing.add_argument("--jobs", type=int, default=1)
    playing.add_argument("--minutes", type=float, default=float("inf"), help="start no run after as many minutes")
    writing = commands.add_parser("report", parents=[shared], help="make tables of what was played")
    writing.add_argument("--output", type=Path, help="a file to write instead of printing")
    writing.add_argument("--share", action="store_true", help="show the share of the way from random to best instead")
    options = parser.parse_args(words)
    options.seeds = seeds_of(options.seeds)
    if options.data is not None:
        os.environ[real.FOLDER] = str(options.data)  # the processes that play read it, too
    if "real" in options.parts and options.command == "run":
        real.folder()
    options.configurations = read_configurations(options.file, options.only)
    return options


def main() -> int:
    options = options_of()
    return run(options) if options.command == "run" else show(options)


if __name__ == "__main__":
    sys.exit(main())
