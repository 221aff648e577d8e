"""Servers, learners and redis-server itself are killed while clients ask over HTTP; then everything is counted.

    python benchmarks/serve/kill.py [--kills 100] [--events 50000]

Needs redis-server (Debian: apt-get install redis-server). It runs with appendonly yes and appendfsync always, on a disk
unless --folder says otherwise. Two `fastcb serve --no-learn` decide, one `fastcb learn --follow` learns and another
stands by. At random moments one of them, or Redis, is killed with SIGKILL and started again. Clients repeat what was
not answered, with the same ids, at whichever server answers. The work is done by tests/python/serve/kills.py, which a
short run in the tests uses as well.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "loop"))

from kill import table, verdict, write  # which finds the tests, too

from serve import kills

RESULT = Path(__file__).parent / "results" / "kill.md"


def report(found: dict[str, Any], command: str) -> str:
    said = subprocess.run(["redis-server", "--version"], capture_output=True, text=True, check=True).stdout
    times = sum(found["kills"].values())
    return f"""# Killed {times} times over HTTP, Redis included

`{command}`

A redis-server ({said.split()[2]}, `appendonly yes`, `appendfsync always`, its file mended by `redis-check-aof` before
each start) holds the journal. Two `fastcb serve --no-learn` decide, one `fastcb learn --follow` learns and another
stands by; it makes a checkpoint every {kills.CHECKPOINT_EVERY}. {kills.CLIENTS} clients ask for decisions and report
rewards over HTTP. In {found["seconds"]:.0f} s one of the processes was killed with SIGKILL {times} times, about a fifth
of them right after another, and started again.

A client that got no answer, or a 503, asked again with the same ids until it was answered, {found["retries"]:,} times
in all. Any other answer would have ended the run. The longest time without a decision for anybody was
{found["silence"]} s.

{table(found)}

{verdict(found)}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where Redis keeps its files; a temporary folder unless given")
    parser.add_argument("--report", type=Path, default=RESULT)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        found = kills.run(Path(folder), given.kills, given.events, given.seed, lambda line: print(line, flush=True))
    command = f"python benchmarks/serve/kill.py --kills {given.kills} --events {given.events} --seed {given.seed}"
    write(given.report, report(found, command))
    print(f"Everything is there. See {given.report}")


if __name__ == "__main__":
    main()
