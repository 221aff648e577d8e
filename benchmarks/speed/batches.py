"""Instructions per event of batches against single decisions, where actions have features.

`python benchmarks/speed/batches.py` prints the table and writes it to results/batches.md beside this file. Counted by
valgrind's callgrind, as the slope between two numbers of events: start-up is left out. `--singles PYTHON` counts single
decisions in another environment, such as one of an earlier version.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor

from callgrind import count_instructions
from contenders import BATCH, CONTENDERS, Problem
from report import table, write_result

from vw_fastcb.cores import usable_cores

SINGLES = "decide + learn, action features"
BATCHES = "decide_many + partial_fit, action features"
# What single decisions took in version 0.3, and how many times faster batches must be.
GOAL = 1.5
PROBLEMS = {
    "10 actions, one feature each": Problem(features_of_an_action=None),
    "10 actions, 20 features each": Problem(features_of_an_action=20),
    "50 actions, 20 features each": Problem(actions=50, features_of_an_action=20),
}


def per_event(python: str, way: str, problem: str) -> float:
    short, long = (100, 500) if way == SINGLES else (BATCH, 3 * BATCH)
    with ThreadPoolExecutor(usable_cores()) as pool:
        few, many = pool.map(
            count_instructions, [[python, __file__, "--play", way, problem, count] for count in (short, long)]
        )
    return (many - few) / (long - short)


def main(singles: str) -> None:
    rows = []
    for problem in PROBLEMS:
        single, batch = per_event(singles, SINGLES, problem), per_event(sys.executable, BATCHES, problem)
        rows.append([problem, f"{single:,.0f}", f"{batch:,.0f}", f"{single / batch:.2f}", f"{GOAL}"])
        print(rows[-1], flush=True)
    header = ["instructions per event, decided and learned", "one at a time", "in batches", "times as fast", "at least"]
    write_result("batches", "# What a batch costs", [table(header, rows)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--singles", default=sys.executable, metavar="PYTHON", help="counts single decisions there")
    parser.add_argument("--play", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.play:
        CONTENDERS[asked.play[0]](PROBLEMS[asked.play[1]])(int(asked.play[2]))
    else:
        main(asked.singles)
