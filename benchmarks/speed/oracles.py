"""What the second-order oracle costs: instructions per round, of the gradient oracle in the same run.

`python benchmarks/speed/oracles.py` prints the table and writes it to results/oracles.md beside this file. Counted by
valgrind's callgrind, as the slope between two numbers of rounds: start-up is left out.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import numpy as np
from callgrind import count_instructions
from instructions import PROGRAM
from report import table, write_result

from vw_fastcb import FastCB
from vw_fastcb.cores import usable_cores
from vw_fastcb.datasets import load_keel

CONTEXT, FEATURES = 10, 20  # of events whose actions have features
SETS = {"letter": 1.5, "optdigits": 2.0}  # and what is allowed: 16 and 64 columns
MANY = (10, 100, 1000)


def play_set(oracle: str, data: str, rounds: int) -> None:
    """What is counted: rows of a classification set, fixed actions."""
    arrays = np.load(data)
    rows = np.arange(rounds) % len(arrays["labels"])
    FastCB(int(arrays["labels"].max()) + 1, oracle=oracle, seed=1).simulate(
        arrays["features"][rows], arrays["labels"][rows]
    )


def play_actions(oracle: str, actions: int, rounds: int) -> None:
    """What is counted: one decision and one outcome per round, among as many actions with features."""
    rng = np.random.default_rng(0)
    context, features = rng.random(CONTEXT), rng.random((actions, FEATURES))
    bandit = FastCB(oracle=oracle, seed=1)
    for i in range(rounds):
        decision = bandit.decide(context, np.roll(features, i, axis=0))
        bandit.learn(decision, i % 2)


def by_simulate(name: str, oracle: str, scratch: Path) -> float:
    data = scratch / f"{name}.npz"
    if not data.exists():
        rows = load_keel(name).shuffled(0)
        np.savez(data, features=rows.features, labels=rows.labels)
    # Python's own start differs by some million instructions from run to run.
    return slope(lambda rounds: [sys.executable, __file__, "--set", oracle, data, rounds], 500, 20_500)


def by_cbify(name: str, oracle: str, scratch: Path) -> float:
    rows = load_keel(name).shuffled(0)
    flags = f"--cbify {rows.classes} --cb_explore {rows.classes} --fastcb --fastcb_oracle {oracle}"

    def command(rounds: int) -> list[object]:
        path = scratch / f"{name}.{oracle}.{rounds}.vw"
        path.write_text("".join(islice(rows.vw_lines(), rounds)))
        return [PROGRAM, "--quiet", "--onethread", *flags.split(), "-d", path]

    return slope(command, 500, 3000)


def with_features(actions: int, oracle: str) -> float:
    return slope(
        lambda rounds: [sys.executable, __file__, "--actions", oracle, actions, rounds], 20, 20 + 20_000 // actions
    )


def slope(command: Callable[[int], list[object]], short: int, long: int) -> float:
    with ThreadPoolExecutor(usable_cores()) as pool:
        few, many = pool.map(count_instructions, (command(short), command(long)))
    return (many - few) / (long - short)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        cases = {
            (f"`{name}` by {how}", f"{most}"): (play, name)
            for name, most in SETS.items()
            for how, play in (("`--cbify`", by_cbify), ("`simulate`", by_simulate))
        }
        rows = []
        for (what, most), (play, name) in cases.items():
            gd, newton = (play(name, oracle, scratch) for oracle in ("gd", "newton"))
            rows.append([what, f"{gd:,.0f}", f"{newton:,.0f}", f"{newton / gd:.2f}", most])
            print(rows[-1], flush=True)
        for actions in MANY:
            gd, newton = (with_features(actions, oracle) for oracle in ("gd", "newton"))
            what = f"decide and learn, {actions:,} actions of {FEATURES} features"
            rows.append([what, f"{gd:,.0f}", f"{newton:,.0f}", f"{newton / gd:.2f}", ""])
            print(rows[-1], flush=True)
    header = ["instructions per round", "gd", "newton", "ratio", "at most"]
    write_result("oracles", "# What the second-order oracle costs", [table(header, rows)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--actions", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.set:
        play_set(given.set[0], given.set[1], int(given.set[2]))
    elif given.actions:
        play_actions(given.actions[0], int(given.actions[1]), int(given.actions[2]))
    else:
        main()
