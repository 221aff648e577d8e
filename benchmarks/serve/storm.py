"""Retries at once: `python benchmarks/serve/storm.py`.

Needs wrk (Debian: apt-get install wrk). It sends `POST /decide` over 32 connections, which all fit, and over 1,000 that
retry as soon as they are refused. What counts is how many decisions are answered per second: a server that is busy with
refusals answers few. The journal is in memory.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from load import FASTCB, MEMORY, SCRIPT, Server, serving, wrk

RESULT = Path(__file__).parent / "results" / "storm.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        script = Path(folder) / "decide.lua"
        script.write_text(SCRIPT)
        server = Server([FASTCB, *serving(Path(folder) / "storm.db")])
        wrk(server.address, "/decide", 2, script=script)  # warm
        for _ in range(given.rounds):
            for connections in (32, 1000):
                before = server.processor_seconds()
                load = wrk(server.address, "/decide", given.seconds, connections, script)
                used = server.processor_seconds() - before
                cells = (load.ok / given.seconds, load.shed / given.seconds, load.ok / used)
                lines.append(f"| {connections:,} | " + " | ".join(f"{one:,.0f}" for one in cells) + " |")
        server.stop()
    table = "\n".join(lines)
    RESULT.write_text(f"""# Retries at once

`python benchmarks/serve/storm.py --seconds {given.seconds} --rounds {given.rounds}`

wrk on the machine of the server ({os.cpu_count()} processors), the journal in memory, `--limit-concurrency` 256. The
load average of the machine was {os.getloadavg()[1]:.1f} at the end, most of it by other programs.

| connections | decisions per second | refusals per second | decisions per second of processor time |
|---|---|---|---|
{table}

Version 0.3 answered 7,612 decisions per second (9,105 per second of processor time) over 32 connections. Over 1,000 it
answered 1,344 and 1,216 (1,773 and 1,634), and refused 6,882 and 6,831 requests per second.
""")
    print(RESULT.read_text())


if __name__ == "__main__":
    main()
