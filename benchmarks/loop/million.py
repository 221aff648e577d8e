"""A million events in one journal: memory, disk, and the time to open it again.

    python benchmarks/loop/million.py [--events 1000000] [--report benchmarks/loop/results/million.md]

Thirty-two threads decide, and report rewards for two decisions in three, on a clock that passes 10 ms with every event:
with a wait of 10 s about a thousand decisions wait at a time, and a third of all events is learned as the default when
its window closes. Resident memory is read at a tenth of the events and at the end. The journal is opened again by
another process, once after closing and once after SIGKILL.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from vw_fastcb import Loop

RESULT = Path(__file__).parent / "results" / "million.md"
THREADS = 32
OPEN = """
import json, resource, sys, time
import vw_fastcb.loop
from vw_fastcb import Loop
start = time.perf_counter()
loop = Loop.open(sys.argv[1], take_over=True)
opened = time.perf_counter() - start
status = loop.status()
print(json.dumps({"opened": opened, "learned": status.learned, "position": status.position, "lag": status.lag}))
loop.close()
"""


class Clock:
    """The journal's time, moved on by whoever asks for a decision."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000
        self._lock = threading.Lock()

    def __call__(self) -> int:
        return self.now

    def next(self) -> int:
        with self._lock:
            self.now += 10
            return (self.now - 1_700_000_000_000) // 10


def context_of(number: int) -> dict[str, object]:
    return {"user": f"u{number % 997}", "page": f"p{number % 31}", "hour": number % 24, "age": number % 80}


def resident() -> int:
    """Bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def serve(loop: Loop, clock: Clock, events: int) -> None:
    while (number := clock.next()) <= events:
        decision = loop.decide(context_of(number), event_id=f"event-{number}")
        if number % 3:
            loop.reward(decision.event_id, float(decision.action == number % 4), "click")


def fill(path: Path, events: int) -> None:
    """Writes the journal in this process, says what it needed, and is killed in the end."""
    clock = Clock()
    loop = Loop.open(path, actions=4, reward_range=(0, 1), wait="10s", default_reward=0, seed=1, clock=clock)
    start = time.perf_counter()
    memory = {}
    for part in (events // 10, events):
        threads = [threading.Thread(target=serve, args=(loop, clock, part)) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(5)
            print(f"{loop.status().position:,} records, {resident() >> 20} MB", file=sys.stderr, flush=True)
        clock.now = 1_700_000_000_000 + 10 * part
        memory[part] = resident()
    seconds = time.perf_counter() - start
    status = loop.status()
    print(json.dumps({"memory": list(memory.values()), "seconds": seconds, "status": status.to_dict()}), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def opened(path: Path) -> dict[str, Any]:
    made = subprocess.run([sys.executable, "-c", OPEN, str(path)], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(made.stdout)


def report(events: int, said: dict[str, Any], killed: dict[str, Any], closed: dict[str, Any], size: int) -> str:
    first, last = said["memory"]
    status = said["status"]
    rows = [
        ("records", f"{killed['position']:,}"),
        ("events learned from rewards", f"{status['counts']['learned']:,}"),
        ("events learned as the default", f"{status['counts']['learned_defaults']:,}"),
        ("generations", f"{status['generation']:,}"),
        (f"resident memory after {events // 10:,} events", f"{first / 1e6:.0f} MB"),
        (f"resident memory after {events:,} events", f"{last / 1e6:.0f} MB ({last / first - 1:+.1%})"),
        ("opened again after SIGKILL", f"{killed['opened']:.2f} s"),
        ("opened again after closing", f"{closed['opened']:.2f} s"),
        ("disk", f"{size / 1e6:.0f} MB, {size / events:.0f} bytes per event"),
    ]
    table = "\n".join(f"| {what} | {value} |" for what, value in rows)
    return f"""# A journal of {events:,} events

`python benchmarks/loop/million.py --events {events}`

An event is a decision among four actions with a context of four features, and a reward for two events in three. The
numbers are those of this machine; what counts is that memory does not grow, and that opening does not read it all.

| what | |
|---|---|
{table}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where the journal is to be; a temporary folder unless given")
    parser.add_argument("--report", type=Path, default=RESULT)
    parser.add_argument("--fill", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.fill is not None:
        fill(given.fill, given.events)
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "million.db"
        command = [sys.executable, __file__, "--fill", str(path), "--events", str(given.events)]
        made = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
        said = json.loads(made.stdout)
        killed = opened(path)
        closed = opened(path)
        size = sum(one.stat().st_size for one in Path(folder).iterdir())
    first, last = said["memory"]
    assert last < 1.1 * first, f"memory grew from {first} to {last} bytes"
    assert killed["lag"] == 0
    assert killed["opened"] < 10, f"it took {killed['opened']:.1f} s to open it again"
    given.report.parent.mkdir(exist_ok=True)
    new = given.report.with_suffix(".new")
    new.write_text(report(given.events, said, killed, closed, size))
    os.replace(new, given.report)
    print(given.report.read_text())


if __name__ == "__main__":
    main()
