"""Load on `fastcb serve`: `python benchmarks/serve/load.py [--seconds 3] [--rounds 5]`.

Needs wrk (Debian: apt-get install wrk).

wrk sends `POST /decide` over 32 connections, on loopback: 10 actions, 20 features, every answer on disk. The same
requests go to the same server with one endpoint replaced: it reads the body and answers constant bytes, as many as a
decision has. `GET /health/live` stands beside them. All are asked in turn, several times; ratios are of the medians.
wrk takes into account what it could not ask while the server stood still, so a percentile is a share of the time. Other
programs disturb a decision more than a constant answer, because it waits for the disk and then for a processor; `chrt
--rr 1` before the command keeps them away.

A journal in memory, where a sync costs nothing, tells what is the disk's share; bare SQLite, which commits 32 rows at a
time to the same disk, what the disk allows at the most. Where the time goes is measured without HTTP, step by step.
Then the server is asked by more connections than it lets in: it has to refuse some, and everything that it
acknowledged has to be in the journal.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
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
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from vw_fastcb import Loop
from vw_fastcb._engine import to_json
from vw_fastcb.loop.loop import Answered, answer_all
from vw_fastcb.serve import endpoints
from vw_fastcb.serve.gate import respond
from vw_fastcb.serve.messages import DecideRequest, Decision, decoder

RESULT = Path(__file__).parent / "results" / "load.md"
FASTCB = Path(sysconfig.get_path("scripts")) / "fastcb"
MEMORY = Path("/dev/shm")
CONNECTIONS = 32
UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
COMMITS = 100  # of bare SQLite, in each turn
PMF = [0.09999999999999998, *[0.1] * 9]
CONSTANT = msgspec.json.encode(Decision("0" * 32, 3, None, 0.1, PMF, 1))
FIRST = """, which had to let this one go first. Linux stops real-time programs for 50 ms of a second in which they want
a whole processor, which shows in the 99th percentile of those that do"""
# Every request has another context; wrk counts answers by their status when it is done.
SCRIPT = """
request = function()
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
    """What wrk saw: answers per second, percentiles in ms, and answers by status where it counted them."""

    rate: float
    p50: float
    p99: float
    ok: int = 0
    shed: int = 0
    other: int = 0


def wrk(address: str, path: str, seconds: int, connections: int = CONNECTIONS, script: Path | None = None) -> Load:
    words = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency"]
    words += [] if script is None else ["-s", str(script)]
    said = subprocess.run([*words, address + path], capture_output=True, text=True, check=True).stdout
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    shares = re.findall(r"(\d+)%\s+([\d.]+)(us|ms|s)\n", said)
    times = {share: float(number) * UNITS[unit] for share, number, unit in shares}
    assert rate is not None, said
    counted = re.search(r"counted (\d+) (\d+) (\d+)", said)
    return Load(float(rate[1]), times["50"], times["99"], *(map(int, counted.groups()) if counted else ()))


def constant(service: endpoints.Service) -> Callable[..., Awaitable[None]]:
    """In the place of `POST /decide`: the same request, an answer of the same size, and nothing in between."""

    async def decide(scope: Any, receive: Any, send: Any) -> None:
        await service.body(scope, receive)
        await respond(send, 200, CONSTANT)

    return decide


def serve_constant(words: Sequence[str]) -> None:
    """`fastcb serve` with that endpoint replaced."""
    from vw_fastcb.commands import main as fastcb  # noqa: PLC0415, only this process needs it

    endpoints._decide = constant
    sys.argv = ["fastcb", *words]
    fastcb()


def serving(journal: Path, *options: str) -> list[str]:
    """What serves a journal with ten actions."""
    settings = ["--actions", "10", "--reward-range", "0", "1", "--port", "0", "--json"]
    return ["serve", str(journal), *settings, *options]


def sqlite_rate(path: Path, rows: int) -> float:
    """How many rows per second bare SQLite stores, so many to a commit."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as journal:
        for line in ("journal_mode = wal", "synchronous = full", "wal_autocheckpoint = 0"):
            journal.execute(f"PRAGMA {line}")
        journal.execute("CREATE TABLE rows (content BLOB)")
        begun = time.perf_counter()
        for _ in range(COMMITS):
            journal.execute("BEGIN")
            journal.executemany("INSERT INTO rows VALUES (?)", [(b"x" * 700,)] * rows)
            journal.execute("COMMIT")
        return COMMITS * rows / (time.perf_counter() - begun)


class Server:
    """A process that serves."""

    def __init__(self, command: Sequence[str | Path]) -> None:
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.address: str = json.loads(self._process.stdout.readline())["url"]

    @property
    def pid(self) -> int:
        return self._process.pid

    def processor_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(60)
        assert code == 0, code


def in_journal(journal: Path) -> int:
    with Loop.open(journal, learn=False) as loop:
        return loop.status().position


def microseconds(call: Callable[[], object], times: int) -> float:
    """The best of five."""
    found = []
    for _ in range(5):
        begun = time.perf_counter()
        for _ in range(times):
            call()
        found.append((time.perf_counter() - begun) / times * 1e6)
    return min(found)


def steps(folder: Path) -> dict[str, float]:
    """What a decision takes without HTTP, in microseconds."""
    context = {f"f{number}": round(0.137 * number % 1, 4) for number in range(1, 21)}
    body = msgspec.json.encode({"context": context})
    reader, encode = decoder(DecideRequest), msgspec.json.Encoder().encode
    with Loop.open(folder / "steps.db", actions=10, reward_range=(0, 1), checkpoint_every="1h") as loop:
        asked = [reader.decode(body).asked() for _ in range(CONNECTIONS)]
        made = answer_all(loop, asked)[0]
        assert isinstance(made, Answered)
        with loop._worker.view() as view:
            found = {
                "read the body": microseconds(lambda: reader.decode(body).asked(), 5000),
                "check it, draw the action": microseconds(lambda: loop._draft(asked[0], view), 2000),
                "write the record as JSON": microseconds(lambda: to_json(made.record.body), 5000),
                "write the answer as JSON": microseconds(lambda: encode(Decision.of(*made)), 5000),
            }
        together = microseconds(lambda: answer_all(loop, asked), 100) / CONNECTIONS
        found["store it, bring the learner up to date"] = together - found["check it, draw the action"]
        found["store it, bring the learner up to date"] -= found["write the record as JSON"]
    return found


def main() -> None:
    if sys.argv[1:2] == ["serve"]:
        serve_constant(sys.argv[1:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is missing; install it, in Debian: apt-get install wrk")
    loads: dict[str, list[Load]] = {"live": [], "constant": [], "decide": [], "memory": []}
    processor: dict[str, list[float]] = {"constant": [], "decide": []}
    disk: list[float] = []
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder, tempfile.TemporaryDirectory(dir=MEMORY) as fast:
        home = Path(folder)
        script = home / "decide.lua"
        script.write_text(SCRIPT)
        servers = {
            "constant": Server([sys.executable, __file__, *serving(home / "constant.db")]),
            "decide": Server([FASTCB, *serving(home / "load.db")]),
            "memory": Server([FASTCB, *serving(Path(fast) / "load.db")]),
        }
        for server in servers.values():
            wrk(server.address, "/decide", 2, script=script)  # warm
        for number in range(given.rounds):
            print(f"turn {number + 1} of {given.rounds}", flush=True)
            disk.append(sqlite_rate(home / f"bare-{number}.db", CONNECTIONS))
            loads["live"].append(wrk(servers["decide"].address, "/health/live", given.seconds))
            for name, server in servers.items():
                before = server.processor_seconds()
                load = wrk(server.address, "/decide", given.seconds, script=script)
                loads[name].append(load)
                if name in processor:
                    processor[name].append((server.processor_seconds() - before) / load.ok * 1e6)
        for server in servers.values():
            server.stop()
        parts = steps(Path(fast))
        journal = home / "shed.db"
        server = Server([FASTCB, *serving(journal, "--limit-concurrency", str(CONNECTIONS))])
        overload = wrk(server.address, "/decide", given.seconds, 8 * CONNECTIONS, script)
        with urllib.request.urlopen(server.address + "/health/ready", timeout=30) as answer:
            assert answer.status == 200
        server.stop()
        stored = in_journal(journal)
    assert all(one.other == 0 for one in (*loads["decide"], overload)), (loads, overload)
    assert overload.shed > 0, overload
    # Requests that were under way when wrk stopped were stored as well; nobody heard of their answers.
    assert overload.ok <= stored <= overload.ok + 8 * CONNECTIONS + 2, (overload, stored)
    RESULT.write_text(report(given, Found(loads, processor, parts, disk, overload, stored)))
    print(RESULT.read_text())


@dataclass(frozen=True)
class Found:
    """What was measured: loads by turns, microseconds of processor time, steps, rows per second, and the overload."""

    loads: dict[str, list[Load]]
    processor: dict[str, list[float]]
    parts: dict[str, float]
    disk: list[float]
    overload: Load
    stored: int


def report(given: argparse.Namespace, found: Found) -> str:
    loads, overload = found.loads, found.overload
    is_first = os.sched_getscheduler(0) == os.SCHED_RR

    def median(name: str, what: str) -> float:
        return statistics.median(getattr(one, what) for one in loads[name])

    def quietest(name: str) -> float:
        return min(one.p99 for one in loads[name])

    def row(name: str) -> str:
        return f"{median(name, 'rate'):,.0f} | {median(name, 'p50'):.1f} ms | {quietest(name):.1f} ms"

    def turns(name: str) -> str:
        return ", ".join(f"{one.p99:.1f}" for one in loads[name])

    throughput = median("decide", "rate") / median("constant", "rate")
    latency, in_memory = (quietest(name) / quietest("constant") for name in ("decide", "memory"))
    shares = [one.rate / other.rate for one, other in zip(loads["decide"], loads["constant"], strict=True)]
    lines = "\n".join(f"| {name} | {value:.1f} |" for name, value in found.parts.items())
    work = {name: statistics.median(times) for name, times in found.processor.items()}
    return f"""# Load on `fastcb serve`

`{"chrt --rr 1 " if is_first else ""}python benchmarks/serve/load.py --seconds {given.seconds} --rounds {given.rounds}`

wrk with one thread and {CONNECTIONS} connections, on the machine of the server ({os.cpu_count()} processors); medians
of {given.rounds} turns. The load average of the machine was {os.getloadavg()[1]:.1f} at the end, most of it by other
programs{FIRST if is_first else ""}.

| | answers per second | median | 99th percentile, quietest turn |
|---|---|---|---|
| the same request, constant bytes as an answer | {row("constant")} |
| `POST /decide`, 10 actions, 20 features, on disk | {row("decide")} |
| the same with the journal in memory | {row("memory")} |
| `GET /health/live` | {row("live")} |
| bare SQLite, {CONNECTIONS} rows to a commit, on disk | {statistics.median(found.disk):,.0f} | | |
| ratio of the second to the first | **{throughput:.2f}** | | **{latency:.1f}** |

Wanted are 0.4 or more of the rate, and a 99th percentile that is at most 4 times as long. The ratio of the rates in
each turn: {", ".join(f"{one:.2f}" for one in shares)}. The 99th percentile is that of the quietest turn, because other
programs disturb it most. With the journal in memory it is {in_memory:.1f} times as long. In all turns, in ms:

- constant: {turns("constant")};
- on disk: {turns("decide")};
- in memory: {turns("memory")}.

## Where the time goes

A constant answer takes {work["constant"]:.0f} microseconds of processor time, and a decision {work["decide"]:.0f},
learner and checkpoints included. Without HTTP, {CONNECTIONS} decisions to a commit, in memory, in microseconds per
decision:

| step | microseconds |
|---|---|
{lines}

The rest is the event loop, and the wait for the disk that {CONNECTIONS} requests share.

The 99th percentile on disk is that of one commit in about 90, which also moves SQLite's log into the file: such a
COMMIT took 4 to 7 ms when each was timed, and others under 1 ms. That is 2% of the time.

## Overload

With {8 * CONNECTIONS} connections where {CONNECTIONS} requests are let in at a time (`--limit-concurrency`),
{overload.ok:,} decisions were acknowledged and {overload.shed:,} requests refused with 503. The journal holds
{found.stored:,} records: every acknowledged decision, and at most those that were under way when wrk stopped.
"""


if __name__ == "__main__":
    main()
