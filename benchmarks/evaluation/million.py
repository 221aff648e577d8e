"""A million logged events: time of `fastcb evaluate` against `vw-fastcb` alone on the same log, and memory.

    python benchmarks/evaluation/million.py [--events 1000000] [--report benchmarks/evaluation/results/million.md]

An event has 10 actions and 12 features of the context, crossed with the action. Runs alternate; figures are medians of
the ratios within a round, because other things run on the machine. CPU time is that of all processes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import numpy as np

ACTIONS = 10
FLAGS = "--cb_explore_adf --fastcb --interactions xa"
CONSTANTS = ["--policy", "logged", "--policy", "constant:3"]
_TAIL = [json.dumps({"a": {"action=": f"article{one}"}}, separators=(",", ":")) for one in range(ACTIONS)]


def write_log(path: Path, events: int) -> None:
    """Lines as a decision service writes them."""
    rng = np.random.default_rng(1)
    multi = ",".join(_TAIL)
    with path.open("w") as file:
        for start in range(0, events, 10_000):
            n = min(10_000, events - start)
            pmfs = rng.dirichlet(np.full(ACTIONS, 3.0), n) * 0.8 + 0.02
            actions = np.minimum((pmfs.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1), ACTIONS - 1).tolist()
            users, numbers = rng.integers(ACTIONS, size=n), rng.random((n, 10)).round(4)
            rewards = (rng.random(n) < np.where(users == actions, 0.5, 0.1)).astype(int).tolist()
            lines = []
            for i, (action, pmf, user, row, reward) in enumerate(
                zip(actions, pmfs.tolist(), users.tolist(), numbers.tolist(), rewards, strict=True)
            ):
                order = [action, *(one for one in range(ACTIONS) if one != action)]
                values = ",".join(f'"f{j}":{value}' for j, value in enumerate(row))
                lines.append(
                    f'{{"_label_cost":{-reward},"_label_probability":{pmf[action]:.6f},"_label_Action":{action + 1},'
                    f'"_labelIndex":{action},"o":[],"Timestamp":"2024-05-01T12:00:00.0000000Z","Version":"1",'
                    f'"EventId":"e{start + i}","a":[{",".join(str(one + 1) for one in order)}],'
                    f'"c":{{"x":{{"user=":"u{user}","page=":"p{user % 3}",{values}}},"_multi":[{multi}]}},'
                    f'"p":[{",".join(f"{pmf[one]:.6f}" for one in order)}],"VWState":{{"m":"1"}}}}\n'
                )
            file.writelines(lines)


def timed(words: list[str]) -> tuple[float, float, int]:
    """Seconds, seconds of CPU, and the largest resident memory of the process, in MB."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, code, usage = os.wait4(process.pid, 0)
    process.returncode = code
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if code:
        sys.exit(f"{words} has ended with {code}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu, usage.ru_maxrss // 1024


def program(name: str) -> str:
    found = shutil.which(name, path=sysconfig.get_path("scripts"))
    assert found is not None
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--report", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log, small = Path(folder) / "log.dsjson", Path(folder) / "small.dsjson"
        write_log(log, given.events)
        write_log(small, given.events // 10)
        size = log.stat().st_size
        vw = [
            program("vw-fastcb"),
            "--dsjson",
            *FLAGS.split(),
            "--cb_min_cost",
            "-1",
            "--cb_max_cost",
            "0",
            "--quiet",
            "-d",
        ]
        evaluate = [program("fastcb"), "evaluate", "--reward-range", "0", "1", "--json"]
        runs: dict[str, list[tuple[float, float, int]]] = {"vw": [], "one": [], "three": [], "constants": []}
        three = [word for i in (5, 10, 20) for word in ("--policy", f"{i}={FLAGS} --gamma_scale {i}")]
        timed([*vw, str(log)])  # into the page cache
        loads = [os.getloadavg()[0]]
        for _ in range(given.rounds):
            runs["vw"].append(timed([*vw, str(log)]))
            runs["one"].append(timed([*evaluate, "--policy", FLAGS, str(log)]))
            runs["three"].append(timed([*evaluate, *three, str(log)]))
            runs["constants"].append(timed([*evaluate, *CONSTANTS, str(log)]))
            loads.append(os.getloadavg()[0])
            print({name: [round(value, 1) for value in found[-1]] for name, found in runs.items()}, file=sys.stderr)
        few = timed([*evaluate, "--policy", FLAGS, str(small)])[2]

    def ratio(name: str, what: int, per: int = 1) -> float:
        return statistics.median(
            one[what] / alone[what] / per for one, alone in zip(runs[name], runs["vw"], strict=True)
        )

    def median(name: str, what: int) -> float:
        return statistics.median(one[what] for one in runs[name])

    lines = [
        f"# {given.events:,} logged events",
        "",
        f"Made by `python benchmarks/evaluation/million.py --events {given.events} --rounds {given.rounds}`.",
        "",
        f"The log has {size / 1e6:,.0f} MB: {ACTIONS} actions, 12 features of the context. `vw-fastcb` alone reads and "
        f"learns it with `{FLAGS}`; `fastcb evaluate` judges the same policy, each event before it is learned. Two "
        "cores, shared with other work: medians of ratios within a round.",
        "",
        "| what | seconds | of vw-fastcb alone | CPU seconds | of vw-fastcb alone |",
        "|---|---|---|---|---|",
        f"| `vw-fastcb` alone | {median('vw', 0):.1f} | 1 | {median('vw', 1):.1f} | 1 |",
        f"| one policy of flags | {median('one', 0):.1f} | {ratio('one', 0):.2f} | {median('one', 1):.1f} | "
        f"{ratio('one', 1):.2f} |",
        f"| three policies of flags, per policy | {median('three', 0) / 3:.1f} | {ratio('three', 0, 3):.2f} | "
        f"{median('three', 1) / 3:.1f} | {ratio('three', 1, 3):.2f} |",
        f"| logged and a constant, both | {median('constants', 0):.1f} | {ratio('constants', 0):.2f} | "
        f"{median('constants', 1):.1f} | {ratio('constants', 1):.2f} |",
        "",
        f"The load average was {min(loads):.0f} to {max(loads):.0f}. Where that is more than the two cores, other jobs "
        "took their turns, and CPU seconds are the measure.",
        "",
        f"Resident memory of `fastcb evaluate` with one policy: {few} MB for {given.events // 10:,} events, "
        f"{max(one[2] for one in runs['one'])} MB for {given.events:,}.",
        "",
    ]
    print("\n".join(lines))
    if given.report:
        draft = given.report.with_suffix(".tmp")
        draft.write_text("\n".join(lines))
        draft.rename(given.report)


if __name__ == "__main__":
    main()
