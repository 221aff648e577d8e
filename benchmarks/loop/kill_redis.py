"""Deciders, learners and the redis-server itself are killed while events flow; then everything is counted.

    python benchmarks/loop/kill_redis.py [--kills 100] [--events 50000]

Needs redis-server (Debian: apt-get install redis-server). It runs with appendonly yes and appendfsync always, on a disk
unless --folder says otherwise. Three processes with four threads each use the journal; every third one only decides.
At random moments one of them, or the server, is killed with SIGKILL and started again. Whoever waits for the server
goes on when it is back; what a killed process had been asked without an answer is asked again with the same ids. The
work is done by tests/python/loop/kills.py, which a short run in the tests uses as well.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from kill import kills, table, write

from vw_fastcb.loop.fingerprint import fingerprint

RESULT = Path(__file__).parent / "results" / "kill_redis.md"


def report(plan: kills.Plan, found: dict[str, Any], command: str) -> str:
    version = subprocess.run(["redis-server", "--version"], capture_output=True, text=True, check=True).stdout.split()[
        2
    ]
    return f"""# Killed {plan.kills} times, Redis included

`{command}`

A redis-server ({version}, `appendonly yes`, `appendfsync always`, its file
mended by `redis-check-aof` before each start) holds the journal.
{plan.processes} processes with
{plan.threads} threads each use it: all of them decide and report rewards, two of three learn when the lease is theirs.
{sum(found["kills"].values())} times one of them, or the server, was killed with SIGKILL at a random moment (seed
{plan.seed}), while {found["acknowledged"]["decision"]:,} decisions were acknowledged. Leases last one second,
checkpoints are made every 60 ms, in pieces of 16 kB, and three generations are kept. No request failed because of a
killed server: it was answered when the server was back. The longest time without an answer to anybody was
{found["silence"]} s. What a killed process had been asked without an answer was asked again with the same ids.

{table(found)}

The SHA-256 of the newest checkpoint's model is

    {found["sha256"]}

and so is that of one learner that read the finished journal from its first record, undisturbed. Its counts and open
windows are equal, too, and those of every other generation that is kept. Any other outcome would have stopped the run
before this report. The engine's fingerprint is {fingerprint()}.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rare", type=int, default=1000, help="one request in so many is rare; 0 for none")
    parser.add_argument("--folder", type=Path, help="where the server keeps its files; a temporary folder unless given")
    parser.add_argument("--report", type=Path, default=RESULT)
    given = parser.parse_args()
    kills.more_boundaries(16_384)
    numbers = {"processes": 3, "threads": 4, "seed": given.seed, "rare": given.rare}
    plan = kills.Plan(given.kills, given.events, **numbers, in_redis=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        run = kills.Run(Path(folder), plan, lambda line: print(line, flush=True))
        try:
            run.all()
            print(f"{time.monotonic() - began:.0f} s; one learner reads the journal now", flush=True)
            found = kills.check(run)
        finally:
            run.close()
    command = f"python benchmarks/loop/kill_redis.py --kills {plan.kills} --events {plan.events} --seed {plan.seed}"
    write(given.report, report(plan, found, command))
    print(f"{time.monotonic() - began:.0f} s; everything is there. See {given.report}")


if __name__ == "__main__":
    main()
