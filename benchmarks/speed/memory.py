"""Is the memory of the learner flat? Each case runs in a process of its own, which looks at its resident memory.

`python benchmarks/speed/memory.py` runs all cases at full length, a million rounds and 1,000 learners among them
(minutes), prints the table and writes it to results/memory.md beside this file. `--case NAME --count N` runs one case
in this process and prints its figures as JSON, which is what the tests do.
"""

from __future__ import annotations

import argparse
import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import psutil
import scipy.sparse
from report import table, write_result

from vw_fastcb import FastCB

ACTIONS, FEATURES = 10, 20
SAMPLES = 20
MB = 2**20

Step = Callable[[int], object]


def contexts() -> Any:
    return np.random.default_rng(0).random((1000, FEATURES), dtype=np.float32)


def rounds_of_fixed_actions() -> Step:
    rows, bandit = contexts(), FastCB(ACTIONS)

    def step(i: int) -> None:
        bandit.learn(bandit.decide(rows[i % 1000]), i % 3 / 2)

    return step


def rounds_of_action_features() -> Step:
    rows, bandit = contexts(), FastCB()
    actions = np.random.default_rng(1).random((100, ACTIONS, FEATURES), dtype=np.float32)

    def step(i: int) -> None:
        bandit.learn(bandit.decide(rows[i % 1000], actions[i % 100]), i % 3 / 2)

    return step


def batches() -> Step:
    rows, bandit = contexts(), FastCB(ACTIONS)

    def step(i: int) -> None:
        drawn = bandit.decide_many(rows)
        bandit.partial_fit(rows, drawn.actions, np.full(1000, i % 3 / 2))

    return step


def learners(bits: int) -> Step:
    rows = contexts()
    actions = np.ones((ACTIONS, FEATURES))

    def step(i: int) -> None:
        for bandit, features in ((FastCB(ACTIONS, bits=bits), None), (FastCB(bits=bits), actions)):
            bandit.learn(bandit.decide(rows[i % 1000], features), 1.0)

    return step


def copies() -> Step:
    rows, bandit = contexts(), FastCB(ACTIONS)
    bandit.partial_fit(rows, np.zeros(1000, dtype=int), np.ones(1000))

    def step(i: int) -> None:
        twin = copy.deepcopy(bandit) if i % 2 else pickle.loads(pickle.dumps(bandit))
        twin.learn(twin.decide(rows[i % 1000]), 1.0)

    return step


def simulations() -> Step:
    rows, bandit = contexts(), FastCB(ACTIONS)
    labels = rows[:, :ACTIONS].argmax(axis=1)
    return lambda i: bandit.simulate(rows, labels, seed=i)


def bad_inputs() -> Step:
    """Every kind of input that the learner refuses, in turn."""
    # Small ones: those that simulate makes would leave gaps of 4 MB in the heap.
    rows, fixed, open_ = contexts(), FastCB(ACTIONS, bits=12), FastCB(bits=12)
    actions = np.ones((ACTIONS, FEATURES))
    decision = fixed.decide(rows[0])
    open_.decide(rows[0], actions)
    spoiled = rows[:3].copy()
    spoiled[1, 2] = np.nan
    named = FastCB(ACTIONS, bits=12)
    named.decide({"age": 1.0})
    frame = pd.DataFrame(rows[:3])
    broken = scipy.sparse.csr_matrix(rows[:1])
    broken.indices[-1] = FEATURES  # outside itself
    calls: list[Callable[[], object]] = [
        lambda: fixed.decide(spoiled[1]),
        lambda: fixed.decide(np.ones(FEATURES + 1)),
        lambda: fixed.decide(["word"] * FEATURES),
        lambda: fixed.learn(decision, 1.5),
        lambda: fixed.learn(decision, np.nan),
        lambda: fixed.learn_event(rows[0], ACTIONS, 0.5),
        lambda: fixed.learn_event(rows[0], 0, 0.5, sample_weight=-1.0),
        lambda: fixed.partial_fit(spoiled, [0, 1, 2], [0, 0, 0]),
        lambda: fixed.partial_fit(rows[:3], [0, 1, -1], [0, 0, 0]),
        lambda: fixed.partial_fit(rows[:3], [0, 1, 2], [0, 0, 2]),
        lambda: fixed.predict_proba(rows[0]),
        lambda: fixed.simulate(spoiled, [0, 1, 2]),
        lambda: open_.decide(rows[0]),
        lambda: open_.decide(rows[0], actions[:, 1:]),
        lambda: open_.decide(rows[0], actions * np.inf),
        lambda: open_.predict_proba(rows[:2], [actions, actions[:0]]),
        lambda: fixed.decide(broken),
        lambda: fixed.predict_proba(frame[[0, 1]]),
        lambda: named.decide({"age": []}),
        lambda: named.learn_event({"age": np.inf}, 0, 0.5),
    ]

    def step(i: int) -> None:
        try:
            calls[i % len(calls)]()
        except (TypeError, ValueError):
            return
        raise AssertionError(f"bad input {i % len(calls)} was taken")

    return step


def leak() -> Step:
    """Forgets nothing, on purpose: what the figures look like then."""
    kept: list[bytes] = []
    return lambda i: kept.append(bytes(100))


@dataclass(frozen=True)
class Case:
    what: str
    make: Callable[[], Step]
    count: int
    warm_up: int


CASES = {
    "fixed": Case("rounds of decide and learn, fixed actions", rounds_of_fixed_actions, 1_000_000, 10_000),
    "features": Case("rounds of decide and learn, action features", rounds_of_action_features, 1_000_000, 10_000),
    "batches": Case("batches of 1,000: decide_many and partial_fit", batches, 1000, 50),
    "simulations": Case("simulations of 1,000 rounds", simulations, 1000, 50),
    "learners": Case("pairs of learners made, used and dropped", lambda: learners(bits=18), 1000, 50),
    "small": Case("the same with few weights, where less is seen", lambda: learners(bits=10), 1000, 50),
    "copies": Case("copies by pickle and deepcopy, used and dropped", copies, 1000, 50),
    "bad": Case("bad inputs, each refused", bad_inputs, 100_000, 10_000),
    "leak": Case("100 bytes kept on purpose, to see that the figures show it", leak, 1_000_000, 10_000),
}


@dataclass(frozen=True)
class Figures:
    """Resident memory in MB, first looked at after the warm-up."""

    count: int
    warm: float
    end: float
    highest: float

    @property
    def growth(self) -> float:
        return self.end - self.warm


def measure(case: Case, count: int) -> Figures:
    process, step = psutil.Process(), case.make()
    seen = []
    for i in range(count):
        if i >= case.warm_up and (i - case.warm_up) % max((count - case.warm_up) // SAMPLES, 1) == 0:
            seen.append(process.memory_info().rss / MB)
        step(i)
    seen.append(process.memory_info().rss / MB)
    return Figures(count, seen[0], seen[-1], max(seen))


def measure_in_a_process_of_its_own(name: str, count: int) -> Figures:
    command = [sys.executable, __file__, "--case", name, "--count", str(count)]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Figures(**json.loads(result.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=CASES, help="run this case alone, here, and print JSON")
    parser.add_argument("--count", type=int, help="how many rounds, learners, ...; the case's own number unless given")
    parser.add_argument("--warm-up", type=int, help="of these, how many come before memory is looked at; with --case")
    arguments = parser.parse_args()
    if arguments.case is not None:
        case = CASES[arguments.case]
        if arguments.warm_up is not None:
            case = replace(case, warm_up=arguments.warm_up)
        print(json.dumps(asdict(measure(case, arguments.count or case.count))))
        return
    rows = []
    for name, case in CASES.items():
        seen = measure_in_a_process_of_its_own(name, arguments.count or case.count)
        figures = [f"{seen.warm:.1f}", f"{seen.highest:.1f}", f"{seen.end:.1f}", f"{seen.growth:+.2f}"]
        rows.append([case.what, f"{seen.count:,} (warm-up {case.warm_up:,})", *figures])
        print(*rows[-1], sep=" | ", flush=True)
    header = ["what", "how many", "MB after the warm-up", "highest MB after that", "MB at the end", "growth, MB"]
    report = table(header, rows)
    print(f"\n{report}")
    if arguments.count is None:
        title = "Made by `python benchmarks/speed/memory.py`: resident memory, each case in a process of its own."
        write_result("memory", title, [report])


if __name__ == "__main__":
    main()
