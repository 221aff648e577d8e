"""Load on `fastcb serve`: `python benchmarks/serve/load.py [--seconds 8] [--rounds 3]`.

Needs wrk (Debian: apt-get install wrk).

wrk asks with 32 connections, on loopback, for `POST /decide` (10 actions, 20 features, every answer on disk) and for
bytes that never change from the same server, `GET /health/live`. Both are asked in turn, several times; ratios are of
the medians. A journal in memory, where a sync costs nothing, tells what is the disk's share; bare SQLite, which commits
32 rows at a time to the same disk, what the disk allows at the most. Then the server is asked by more connections than
it lets in: it has to refuse some, and everything that it acknowledged has to be in the journal.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vw_fastcb import Loop

RESULT = Path(__file__).parent / "results" / "load.md"
FASTCB = Path(sysconfig.get_path("scripts")) / "fastcb"
MEMORY = Path("/dev/shm")
CONNECTIONS = 32
UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
# Every request has another context; wrk counts answers by their status when it is done.
SCRIPT = """
local n = 0
request = function()
  n = n + 1
  local parts = {}
  for i = 1, 20 do parts[i] = string.format('"f%d":%.4f', i, math.random()) end
  local body = '{"context":{' .. table.concat(parts, ",") .. '}}'
  return wrk.format("POST", "/decide", {["content-type"] = "application/json"}, body)
end
local threads = {}
function setup(thread) table.insert(threads, thread) end
function init() ok = 0; shed = 0; other = 0; math.randomseed(os.time()) end
response = function(status)
  if status == 200 then ok = ok + 1
  elseif status == 503 or status == 429 then shed = shed + 1
  else other = other + 1 end
end
done = function()
  local sums = {ok = 0, shed = 0, other = 0}
  for _, thread in ipairs(threads) do
    for name, sum in pairs(sums) do sums[name] = sum + thread:get(name) end
  end
  print(string.format("counted %d %d %d", sums.ok, sums.shed, sums.other))
end
"""


@dataclass(frozen=True)
class Load:
    """What wrk saw: answers per second, the 99th percentile in ms, and answers by status where it counted them."""

    rate: float
    p99: float
    ok: int = 0
    shed: int = 0
    other: int = 0


def wrk(address: str, path: str, seconds: int, connections: int = CONNECTIONS, script: Path | None = None) -> Load:
    words = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency"]
    words += [] if script is None else ["-s", str(script)]
    said = subprocess.run([*words, address + path], capture_output=True, text=True, check=True).stdout
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    p99 = re.search(r"99%\s+([\d.]+)(us|ms|s)", said)
    assert rate is not None, said
    assert p99 is not None, said
    counted = re.search(r"counted (\d+) (\d+) (\d+)", said)
    return Load(float(rate[1]), float(p99[1]) * UNITS[p99[2]], *(map(int, counted.groups()) if counted else ()))


def serving(journal: Path, *options: str) -> list[str | Path]:
    """The command that serves a journal with ten actions."""
    settings = ["--actions", "10", "--reward-range", "0", "1", "--port", "0", "--json"]
    return [FASTCB, "serve", journal, *settings, *options]


def sqlite_rate(path: Path, rows: int) -> float:
    """How many rows per second bare SQLite stores, as many to a commit."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as journal:
        for line in ("journal_mode = wal", "synchronous = full", "wal_autocheckpoint = 0"):
            journal.execute(f"PRAGMA {line}")
        journal.execute("CREATE TABLE rows (content BLOB)")
        begun = time.perf_counter()
        for _ in range(300):
            journal.execute("BEGIN")
            journal.executemany("INSERT INTO rows VALUES (?)", [(b"x" * 700,)] * rows)
            journal.execute("COMMIT")
        return 300 * rows / (time.perf_counter() - begun)


class Server:
    """A process that serves."""

    def __init__(self, command: Sequence[str | Path]) -> None:
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.address: str = json.loads(self._process.stdout.readline())["url"]

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(60)
        assert code == 0, code


def in_journal(journal: Path) -> int:
    with Loop.open(journal, learn=False) as loop:
        return loop.status().position


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is missing; install it, in Debian: apt-get install wrk")
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder, tempfile.TemporaryDirectory(dir=MEMORY) as fast:
        home = Path(folder)
        script = home / "decide.lua"
        script.write_text(SCRIPT)
        server = Server(serving(home / "load.db"))
        wrk(server.address, "/decide", 2, script=script)  # warm
        constant, decide = [], []
        for _ in range(given.rounds):
            constant.append(wrk(server.address, "/health/live", given.seconds))
            decide.append(wrk(server.address, "/decide", given.seconds, script=script))
        server.stop()
        disk = sqlite_rate(home / "bare.db", CONNECTIONS)
        server = Server(serving(Path(fast) / "load.db"))
        in_memory = [wrk(server.address, "/decide", given.seconds, script=script) for _ in range(given.rounds)]
        server.stop()
        journal = home / "shed.db"
        server = Server(serving(journal, "--limit-concurrency", str(CONNECTIONS)))
        overload = wrk(server.address, "/decide", given.seconds, 8 * CONNECTIONS, script)
        with urllib.request.urlopen(server.address + "/health/ready", timeout=30) as answer:
            assert answer.status == 200
        server.stop()
        stored = in_journal(journal)
    assert all(one.other == 0 for one in (*decide, overload)), (decide, overload)
    assert overload.shed > 0, overload
    # Requests that were under way when wrk stopped were stored as well; nobody heard of their answers.
    assert overload.ok <= stored <= overload.ok + 8 * CONNECTIONS + 2, (overload, stored)

    def median(loads: list[Load], name: str) -> float:
        return statistics.median(getattr(one, name) for one in loads)

    throughput = median(decide, "rate") / median(constant, "rate")
    latency = median(decide, "p99") / median(constant, "p99")
    RESULT.write_text(f"""# Load on `fastcb serve`

`python benchmarks/serve/load.py --seconds {given.seconds} --rounds {given.rounds}`

wrk with one thread and {CONNECTIONS} connections, on the machine of the server; medians of {given.rounds} turns.

| | answers per second | 99th percentile |
|---|---|---|
| `GET /health/live`, bytes that never change | {median(constant, "rate"):,.0f} | {median(constant, "p99"):.1f} ms |
| `POST /decide`, 10 actions, 20 features, on disk | {median(decide, "rate"):,.0f} | {median(decide, "p99"):.1f} ms |
| the same with the journal in memory | {median(in_memory, "rate"):,.0f} | {median(in_memory, "p99"):.1f} ms |
| bare SQLite, {CONNECTIONS} rows to a commit, on disk | {disk:,.0f} | |
| ratio of the second to the first | **{throughput:.2f}** | **{latency:.1f}** |

With {8 * CONNECTIONS} connections where {CONNECTIONS} requests are let in at a time (`--limit-concurrency`),
{overload.ok:,} decisions were acknowledged and {overload.shed:,} requests refused with 503. The journal holds
{stored:,} records: every acknowledged decision, and at most those that were under way when wrk stopped.
""")
    print(RESULT.read_text())


if __name__ == "__main__":
    main()
