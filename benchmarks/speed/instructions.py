"""Instructions per round of FastCB against stock SquareCB, counted by valgrind's callgrind.

Counts do not depend on what else the machine does. The slope between two lengths of a stream leaves start-up out.
`python benchmarks/speed/instructions.py` prints the table and writes it to results/instructions.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from callgrind import count_instructions
from report import table, write_result

from vw_fastcb.datasets import load_keel

PROGRAM = Path(sysconfig.get_path("scripts")) / "vw-fastcb"
SHORT, LONG = 500, 3000


def instructions_per_round(
    flags: str, write: Callable[[Path, int], None], short: int = SHORT, long: int = LONG
) -> float:
    with tempfile.TemporaryDirectory() as scratch:
        counts = []
        for rounds in (short, long):
            data = Path(scratch) / f"{rounds}.vw"
            write(data, rounds)
            counts.append(count_instructions([PROGRAM, "--quiet", "--onethread", *flags.split(), "-d", data]))
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


@dataclass(frozen=True)
class Shape:
    """Logged events as people run them: features with names and values, of the user and of every action."""

    actions: int
    user: int
    action: int

    def __str__(self) -> str:
        return f"{self.actions} actions, {self.user} user x {self.action} action features"

    @staticmethod
    def features(name: str, count: int, draw: random.Random) -> dict[str, float]:
        return {f"{name}{k}={draw.randrange(10)}": draw.randint(1, 9) / 10 for k in range(count)}

    def write_text(self, path: Path, rounds: int) -> None:
        draw = random.Random(0)
        with path.open("w") as file:

            def line(start: str, features: dict[str, float]) -> None:
                file.write(start + " ".join(f"{name}:{value}" for name, value in features.items()) + "\n")

            for _ in range(rounds):
                line("shared |User ", self.features("u", self.user, draw))
                chosen = draw.randrange(self.actions)
                for a in range(self.actions):
                    label = f"0:{draw.randrange(100) / 100}:{1 / self.actions} " if a == chosen else ""
                    line(f"{label}|Action ", self.features("a", self.action, draw))
                file.write("\n")

    def write_dsjson(self, path: Path, rounds: int) -> None:
        draw = random.Random(0)
        with path.open("w") as file:
            for i in range(rounds):
                chosen = draw.randrange(self.actions)
                order = [chosen, *(a for a in range(self.actions) if a != chosen)]
                event = {
                    "_label_cost": draw.randrange(100) / 100,
                    "_label_probability": 1 / self.actions,
                    "_label_Action": chosen + 1,
                    "_labelIndex": chosen,
                    "Version": "1",
                    "EventId": f"event-{i}",
                    "a": [a + 1 for a in order],
                    "c": {
                        "User": self.features("u", self.user, draw),
                        "_multi": [{"Action": self.features("a", self.action, draw)} for _ in order],
                    },
                    "p": [1 / self.actions] * self.actions,
                }
                file.write(json.dumps(event, separators=(",", ":")) + "\n")


PRODUCTION = (Shape(actions=10, user=10, action=5), Shape(actions=50, user=20, action=10))


def production_shapes() -> str:
    """The headline: learning from logs with action features and -q UA, against stock SquareCB on the same log."""
    rows = []
    for shape in PRODUCTION:
        for kind, flags, write in (("text", "", shape.write_text), ("dsjson", "--dsjson", shape.write_dsjson)):
            squarecb, *others = (
                instructions_per_round(f"--cb_explore_adf {algorithm} -q UA {flags}", write, 200, 700)
                for algorithm in ("--squarecb", "--fastcb", "--fastcb --fastcb_oracle newton")
            )
            cells = [cell for count in others for cell in (f"{count:,.0f}", f"{count / squarecb:.3f}")]
            rows.append([f"{kind}, {shape}", f"{squarecb:,.0f}", *cells])
    header = ["log, `-q UA`", "--squarecb, instructions per round", "--fastcb", "of SquareCB", "newton", "of SquareCB"]
    return table(header, rows)


def cbify_letter() -> str:
    """`letter` by cbify, 26 actions, each algorithm against stock SquareCB in the same run."""
    runs = {
        "stock --cb_explore_adf --squarecb": "--cbify 26 --cb_explore_adf --squarecb",
        "stock --cb_explore_adf (epsilon-greedy)": "--cbify 26 --cb_explore_adf --epsilon 0.05",
        "--cb_explore_adf --fastcb": "--cbify 26 --cb_explore_adf --fastcb",
        "--cb_explore 26 --fastcb": "--cbify 26 --cb_explore 26 --fastcb",
    }
    counts = {name: instructions_per_round(flags, write_letter) for name, flags in runs.items()}
    peer = counts["stock --cb_explore_adf --squarecb"]
    rows = [[name, f"{count:,.0f}", f"{count / peer:.3f}"] for name, count in counts.items()]
    return table(["`letter` by cbify, 26 actions", "instructions per round", "of SquareCB"], rows)


def growth_with_actions() -> str:
    """Instructions per action must stay level where the cost is linear; the sort of the output adds a logarithm."""
    rows = []
    for actions in (10, 100, 1000, 10_000):
        short, long = (20, 60) if actions >= 1000 else (100, 500)
        adf = instructions_per_round("--cb_explore_adf --fastcb", writer_of_adf_events(actions), short, long)
        fixed = instructions_per_round(
            f"--cb_explore {actions} --fastcb -b 22", writer_of_fixed_events(actions), short, long
        )
        rows.append([f"{actions:,}", f"{adf / actions:,.0f}", f"{fixed / actions:,.0f}"])
    return table(["actions", "ADF, instructions per action, parsing included", "fixed, instructions per action"], rows)


def growth_with_time() -> str:
    """A round late in the stream must cost what an early one does."""
    rows = []
    for short, long in ((500, 2000), (8000, 9500)):
        adf = instructions_per_round("--cb_explore_adf --fastcb", writer_of_adf_events(10), short, long)
        fixed = instructions_per_round("--cb_explore 10 --fastcb", writer_of_fixed_events(10), short, long)
        rows.append([f"{short:,} to {long:,}", f"{adf:,.0f}", f"{fixed:,.0f}"])
    return table(["rounds, 10 actions", "ADF, instructions per round", "fixed, instructions per round"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only the comparisons with SquareCB, nothing written")
    arguments = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("The benchmark counts instructions with valgrind, which is not installed (apt-get install valgrind).")
    parts = [production_shapes, cbify_letter]
    if not arguments.quick:
        parts += [growth_with_actions, growth_with_time]
    report = []
    for part in parts:
        report.append(part())
        print(report[-1], flush=True)
    if not arguments.quick:
        write_result("instructions", "Made by `python benchmarks/speed/instructions.py` (valgrind callgrind).", report)


if __name__ == "__main__":
    main()
