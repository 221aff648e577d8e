"""Many actions with features: what deciding and learning cost, and how much memory an action takes.

Instructions are counted by valgrind's callgrind in one Python process for each number of calls; the slope between two
numbers of calls leaves start-up out and everything in the call in, Python included. Memory is the resident memory of a
process that decides and learns, against one that only holds the same arrays.
`python benchmarks/speed/many_actions.py` prints the tables and writes them to results/many_actions.md beside this file.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from callgrind import count_instructions
from report import table, write_result

from vw_fastcb import FastCB
from vw_fastcb.cores import usable_cores

CONTEXT, FEATURES = 10, 20
PRODUCTS_GOAL, BYTES_GOAL, MEMORY_GOAL = 8, 128, 300
# What an action has: dense features of a type, or some of a thousand columns.
FORMS = ("float64", "float32", "float64 40", "sparse 5", "sparse 20", "sparse 40")
SPARSE_WIDTH = 1000


def arrays(actions: int, form: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    kind, _, given = form.partition(" ")
    features = int(given or FEATURES)
    if kind == "sparse":
        columns = rng.integers(SPARSE_WIDTH - features, size=actions)[:, np.newaxis] + np.arange(features)
        offsets = np.arange(actions + 1) * features
        values = rng.random(actions * features)
        shape = (actions, SPARSE_WIDTH)
        return rng.random(CONTEXT), scipy.sparse.csr_array((values, columns.ravel(), offsets), shape=shape)
    return rng.random(CONTEXT), rng.random((actions, features)).astype(kind)


def play(what: str, actions: int, form: str, calls: int) -> None:
    """What is counted. Every decision is about other numbers than the one before, as in a service."""
    context, features = arrays(actions, form)
    bandit = FastCB(oracle="gd")
    for i in range(20):  # so that probabilities are not all the same
        bandit.learn_event(context, i % actions, i % 2, action_features=features)
    if what == "decide, other actions each time":
        sets = [features, features[::-1].copy()]
        for i in range(calls):
            bandit.decide(context, sets[i % 2])
    elif what == "decide, the same actions":
        for _ in range(calls):
            bandit.decide(context, features)
    elif what == "predict_proba":
        bandit.predict_proba(np.tile(context, (calls, 1)), features)
    elif what == "learn":
        for i in range(calls):
            bandit.learn_event(context, i % actions, 0.5, action_features=features)
    elif what == "learn from decisions":
        decision = bandit.decide(context, features)
        for _ in range(calls):
            bandit.learn(decision, 0.5)
    else:
        chosen = np.arange(calls) % actions
        bandit.partial_fit(np.tile(context, (calls, 1)), chosen, np.full(calls, 0.5), action_features=features)


def instructions(what: str, actions: int, form: str, short: int, long: int) -> float:
    """Of one call."""
    command = [sys.executable, __file__, "--play", what, actions, form]
    with ThreadPoolExecutor(usable_cores()) as pool:
        few, many = pool.map(lambda calls: count_instructions([*command, calls]), (short, long))
    return (many - few) / (long - short)


def deciding(quick: bool) -> str:
    rows = []
    for what in ("decide, other actions each time", "decide, the same actions", "predict_proba"):
        for form in ("float64",) if quick else ("float64", "float32"):
            call = instructions(what, 1000, form, 20, 220)
            each = call / (1000 * CONTEXT * FEATURES)
            rows.append([what, form, f"{call:,.0f}", f"{each:.2f}", str(PRODUCTS_GOAL)])
            print(rows[-1], flush=True)
    header = ["1,000 actions", "", "instructions per event", "per product of features", "at most"]
    return table(header, rows)


def learning(quick: bool) -> str:
    rows = []
    for what in ("learn", "learn from decisions", "partial_fit"):
        sizes = (10, 1000) if quick else (10, 1000, 10_000)
        counts = [instructions(what, actions, "float64", 20, 10_020) for actions in sizes]
        rows.append([what, *(f"{count:,.0f}" for count in counts)])
        print(rows[-1], flush=True)
    return table(["instructions per event, by number of actions", *(f"{size:,}" for size in sizes)], rows)


def resident(field: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(re.findall(rf"{field}:\s+(\d+) kB", status)[0]) * 1024


def remember(actions: int, form: str, vw_args: str) -> None:
    """Prints the bytes before and after a decision and learning, and the highest of all."""
    context, features = arrays(actions, form)
    bandit = FastCB(oracle="gd", vw_args=vw_args)
    bandit.learn(bandit.decide(context, features[:1000]), 0.5)  # the weights of all columns are in memory now
    before = resident("VmRSS")
    decision = bandit.decide(context, features)
    bandit.learn(decision, 0.5)
    bandit.learn_event(context, actions - 1, 0.25, action_features=features)
    print(before, resident("VmRSS"), resident("VmHWM"))


def memory() -> str:
    rows = []
    actions = 100_000
    for form, vw_args in [*((form, "") for form in FORMS), ("float64", "--coin")]:
        command = [sys.executable, __file__, "--remember", str(actions), form, f" {vw_args}"]
        printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        before, after, highest = map(int, printed.split())
        kind, _, given = form.partition(" ")
        shape = f"{given or FEATURES} features" + (f" of {SPARSE_WIDTH:,}" if kind == "sparse" else "")
        rows.append([f"{kind} {vw_args}", shape, f"{(after - before) / actions:.0f}", f"{highest / 2**20:.0f}"])
        print(rows[-1], flush=True)
    header = ["100,000 actions", "of an action", f"bytes per action (at most {BYTES_GOAL})"]
    return table([*header, f"peak of the process, MB (at most {MEMORY_GOAL})"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer cases; nothing is written")
    parser.add_argument("--play", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--remember", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.play is not None:
        what, actions, form, calls = arguments.play
        play(what, int(actions), form, int(calls))
        return
    if arguments.remember is not None:
        actions, form, vw_args = arguments.remember
        remember(int(actions), form, vw_args.strip())
        return
    if shutil.which("valgrind") is None:
        sys.exit("The benchmark counts instructions with valgrind, which is not installed (apt-get install valgrind).")
    parts = [memory(), deciding(arguments.quick), learning(arguments.quick)]
    print("\n" + "\n".join(parts))
    if not arguments.quick:
        title = f"""Made by `python benchmarks/speed/many_actions.py` (valgrind callgrind, slopes between two numbers of
calls). A context has {CONTEXT} features, an action {FEATURES}, and FastCB multiplies them (`--interactions xa`, its
default). Everything in a call is counted, Python and the reading, checking and copying of arrays included. Bytes are
resident memory beyond the user's arrays, with what a decision keeps: probabilities, predictions, and the features of
the chosen action.
With `--coin`, which the scorer does not know, one VW example is filled with one action after another."""
        write_result("many_actions", title, parts)


if __name__ == "__main__":
    main()
