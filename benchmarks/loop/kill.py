"""Processes that decide, report rewards and learn are killed while events flow; then everything is counted.

    python benchmarks/loop/kill.py [--kills 200] [--events 100000] [--report benchmarks/loop/results/kill.md]

Three processes with four threads each share one journal. At random moments one is killed with SIGKILL, more often than
not the one that learns, and another is started. What it was asked and had not answered is asked again, with the same
ids. Rewards come early, late, twice, from other processes, or never; now and then an event is erased, the model is
rolled back, or the wait is changed. The work is done by tests/python/loop/kills.py, which a short run in the tests uses
as well. The journal is on a disk unless --folder says otherwise.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "python"))

from loop import kills
from vw_fastcb.loop.fingerprint import fingerprint

RESULT = Path(__file__).parent / "results" / "kill.md"


def table(found: dict[str, Any]) -> str:
    """What a run left behind, as Markdown."""
    counts, acknowledged = found["counts"], found["acknowledged"]
    rows = [
        ("processes started", found["processes"]),
        ("killed while they learned", found["kills"].get("learners", 0)),
        ("killed while they decided", found["kills"].get("deciders", 0)),
        *[("killed while they stood by", number) for what, number in found["kills"].items() if what == "standbys"],
        *[("redis-server killed", number) for what, number in found["kills"].items() if what == "servers"],
        ("times that the lease was taken", found["takeovers"]),
        ("generations (checkpoints)", found["generations"]),
        ("records in the journal", found["records"]),
        *((f"{what}s acknowledged, all found", number) for what, number in sorted(acknowledged.items())),
        ("rollbacks", found["kinds"].get("rollback", 0)),
        ("changes of settings", found["kinds"].get("settings", 0) - 1),
        ("acknowledged and lost", 0),
        ("decided twice, or stored twice under one id", 0),
        ("gaps between positions, times that go back", 0),
        ("windows learned from a reward", counts["learned"]),
        ("windows learned as the default", counts["learned_defaults"]),
        ("windows never activated, not learned", counts["unactivated"]),
        ("rewards and activations after their window", counts["late"]),
        ("rewards after the first of their window", counts["repeated"]),
    ]
    return "\n".join(["| what | how many |", "|---|---|", *(f"| {what} | {number:,} |" for what, number in rows)])


def verdict(found: dict[str, Any]) -> str:
    """What its model shows."""
    return f"""The SHA-256 of the newest checkpoint's model is

    {found["sha256"]}

and so is that of one learner that read the finished journal from its first record, undisturbed. Its counts and open
windows are equal, too, and those of every other generation that is kept. Any other outcome would have stopped the run
before this report. The engine's fingerprint is {fingerprint()}."""


def report(plan: kills.Plan, found: dict[str, Any], command: str) -> str:
    acknowledged = found["acknowledged"]
    return f"""# Killed {plan.kills} times

`{command}`

{plan.processes} processes with {plan.threads} threads each share one journal: each decides, reports rewards, and learns
while it has the lease. {sum(found["kills"].values())} of them were killed with SIGKILL at random moments (seed
{plan.seed}), while {acknowledged["decision"]:,} decisions were acknowledged. Leases last one second, checkpoints are
made every 60 ms, in pieces of 2 kB, and three generations are kept. What a killed process had been asked without an
answer was asked again with the same ids.

{table(found)}

{verdict(found)}
"""


def write(path: Path, text: str) -> None:
    """As a whole, or not at all."""
    path.parent.mkdir(exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(text)
    os.replace(new, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rare", type=int, default=1000, help="one request in so many is rare; 0 for none")
    parser.add_argument("--folder", type=Path, help="where the journal is to be; a temporary folder unless given")
    parser.add_argument("--report", type=Path, default=RESULT)
    given = parser.parse_args()
    kills.more_boundaries()
    plan = kills.Plan(given.kills, given.events, processes=3, threads=4, seed=given.seed, rare=given.rare)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        run = kills.Run(Path(folder), plan, lambda line: print(line, flush=True))
        run.all()
        print(f"{time.monotonic() - began:.0f} s; one learner reads the journal now", flush=True)
        found = kills.check(run.outcome())
    command = f"python benchmarks/loop/kill.py --kills {plan.kills} --events {plan.events} --seed {plan.seed}"
    write(given.report, report(plan, found, command))
    print(f"{time.monotonic() - began:.0f} s; everything is there. See {given.report}")


if __name__ == "__main__":
    main()
