"""Instructions a round of FastCB against stock SquareCB, counted by valgrind's callgrind.

Counts do not depend on what else the machine does. The slope between two lengths of a stream leaves start-up out.
`python benchmarks/speed/instructions.py` prints the table and writes it to results/instructions.md beside this file.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

from report import table, write_result

from vw_fastcb.datasets import load_keel

PROGRAM = Path(sysconfig.get_path("scripts")) / "vw-fastcb"
SHORT, LONG = 500, 3000


def count_instructions(arguments: Iterable[object]) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        command = [
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={scratch}/out",
            str(PROGRAM),
            "--quiet",
            "--onethread",
        ]
        result = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, check=False)
    counted = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode != 0 or counted is None:
        sys.exit(f"callgrind failed on {' '.join(map(str, arguments))}:\n{result.stdout}{result.stderr}")
    return int(counted[1])


def instructions_per_round(
    flags: str, write: Callable[[Path, int], None], short: int = SHORT, long: int = LONG
) -> float:
    with tempfile.TemporaryDirectory() as scratch:
        counts = []
        for rounds in (short, long):
            data = Path(scratch) / f"{rounds}.vw"
            write(data, rounds)
            counts.append(count_instructions([*flags.split(), "-d", data]))
    return (counts[1] - counts[0]) / (long - short)


def write_letter(path: Path, rounds: int) -> None:
    path.write_text("".join(islice(load_keel("letter").shuffled(0).vw_lines(), rounds)))


def writer_of_adf_events(actions: int) -> Callable[[Path, int], None]:
    def write(path: Path, rounds: int) -> None:
        with path.open("w") as file:
            for i in range(rounds):
                file.write(f"shared |u c{i % 7} v:{(i % 11) / 11:.3f}\n")
                for a in range(actions):
                    label = f"0:{(i * 37 % 100) / 100}:0.5 " if a == i % actions else ""
                    file.write(f"{label}|a a{a} w:{a / actions:.4f}\n")
                file.write("\n")

    return write


def writer_of_fixed_events(actions: int) -> Callable[[Path, int], None]:
    def write(path: Path, rounds: int) -> None:
        with path.open("w") as file:
            for i in range(rounds):
                label = f"{i % actions + 1}:{(i * 37 % 100) / 100}:0.5"
                file.write(f"{label} |u c{i % 7} v:{(i % 11) / 11:.3f}\n")

    return write


def against_squarecb() -> str:
    """The headline: `letter` by cbify, 26 actions, each algorithm against stock SquareCB in the same run."""
    runs = {
        "stock --cb_explore_adf --squarecb": "--cbify 26 --cb_explore_adf --squarecb",
        "stock --cb_explore_adf (epsilon-greedy)": "--cbify 26 --cb_explore_adf --epsilon 0.05",
        "--cb_explore_adf --fastcb": "--cbify 26 --cb_explore_adf --fastcb",
        "--cb_explore 26 --fastcb": "--cbify 26 --cb_explore 26 --fastcb",
    }
    counts = {name: instructions_per_round(flags, write_letter) for name, flags in runs.items()}
    peer = counts["stock --cb_explore_adf --squarecb"]
    rows = [[name, f"{count:,.0f}", f"{count / peer:.3f}"] for name, count in counts.items()]
    return table(["`letter` by cbify, 26 actions", "instructions a round", "of SquareCB"], rows)


def growth_with_actions() -> str:
    """Instructions an action must stay level where the cost is linear; the sort of the output adds a logarithm."""
    rows = []
    for actions in (10, 100, 1000, 10_000):
        short, long = (20, 60) if actions >= 1000 else (100, 500)
        adf = instructions_per_round("--cb_explore_adf --fastcb", writer_of_adf_events(actions), short, long)
        fixed = instructions_per_round(
            f"--cb_explore {actions} --fastcb -b 22", writer_of_fixed_events(actions), short, long
        )
        rows.append([f"{actions:,}", f"{adf / actions:,.0f}", f"{fixed / actions:,.0f}"])
    return table(["actions", "ADF, instructions an action, parsing included", "fixed, instructions an action"], rows)


def growth_with_time() -> str:
    """A round late in the stream must cost what an early one does."""
    rows = []
    for short, long in ((500, 2000), (8000, 9500)):
        adf = instructions_per_round("--cb_explore_adf --fastcb", writer_of_adf_events(10), short, long)
        fixed = instructions_per_round("--cb_explore 10 --fastcb", writer_of_fixed_events(10), short, long)
        rows.append([f"{short:,} to {long:,}", f"{adf:,.0f}", f"{fixed:,.0f}"])
    return table(["rounds", "ADF, 10 actions, instructions a round", "fixed, 10 actions, instructions a round"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only the comparison with SquareCB, nothing written")
    arguments = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("The benchmark counts instructions with valgrind, which is not installed (apt-get install valgrind).")
    parts = [against_squarecb] if arguments.quick else [against_squarecb, growth_with_actions, growth_with_time]
    report = []
    for part in parts:
        report.append(part())
        print(report[-1], flush=True)
    if not arguments.quick:
        write_result("instructions", "Made by `python benchmarks/speed/instructions.py` (valgrind callgrind).", report)


if __name__ == "__main__":
    main()
