"""How fast the loop is, each time as a ratio within one run.

    python benchmarks/loop/speed.py [--events 4000] [--report benchmarks/loop/results/speed.md]

1. One thread: `decide` + `reward`, against SQLite alone inserting the same bytes with the same durability (one commit
   for each decision and each reward).
2. 32 threads against one: they share commits.
3. Replaying the journal, every probability computed again, against writing it with one thread.
4. The 99th percentile of `decide` while an 18-bit model without a zero weight is checkpointed all the time, against the
   same without checkpoints.

Runs alternate and each figure is the median of several, because a disk that others use has moods.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import sqlite3
import statistics
import tempfile
import threading
import time
from pathlib import Path

from vw_fastcb import Loop
from vw_fastcb.loop.replay import replay
from vw_fastcb.loop.sqlite import SqliteJournal

LIMITS = {"one thread": 0.4, "32 threads": 3.0, "replay": 5.0, "p99": 4.0}


def contexts(count: int, seed: int = 0) -> list[dict[str, object]]:
    """Twenty features: four categories, sixteen numbers."""
    rng = random.Random(seed)
    return [
        {f"c{j}": f"v{rng.randrange(9)}" for j in range(4)} | {f"x{j}": rng.random() for j in range(16)}
        for _ in range(count)
    ]


def open_loop(path: Path, **settings: object) -> Loop:
    return Loop.open(path, **{"actions": 10, "reward_range": (0, 1), "wait": "1h", **settings})


def write(loop: Loop, rows: list[dict[str, object]], name: str) -> None:
    for i, row in enumerate(rows):
        decision = loop.decide(row, event_id=f"{name}-{i}")
        loop.reward(decision.event_id, float(decision.action == i % 10))


def seconds_of_one_thread(folder: Path, rows: list[dict[str, object]]) -> tuple[float, Path]:
    path = folder / "one.db"
    with open_loop(path) as loop:
        write(loop, rows[:50], "warm")
        start = time.perf_counter()
        write(loop, rows, "e")
        taken = time.perf_counter() - start
    return taken, path


def seconds_of_threads(folder: Path, rows: list[dict[str, object]], threads: int) -> float:
    with open_loop(folder / "many.db") as loop:
        write(loop, rows[:50], "warm")
        shares = [rows[k::threads] for k in range(threads)]
        workers = [threading.Thread(target=write, args=(loop, share, f"t{k}")) for k, share in enumerate(shares)]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return time.perf_counter() - start


def seconds_of_bare_sqlite(folder: Path, source: Path, events: int) -> float:
    """The same rows, one commit each, into a table with the same columns and no index."""
    with contextlib.closing(sqlite3.connect(source)) as db:
        rows = db.execute(
            "SELECT time, kind, event_id, of, value, reward_id, body FROM record WHERE kind IN (0, 2) "
            "ORDER BY position DESC LIMIT ?",
            (2 * events,),
        ).fetchall()
    with contextlib.closing(sqlite3.connect(folder / "bare.db", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute(
            "CREATE TABLE record (position INTEGER PRIMARY KEY, time, kind, event_id, of, value, reward_id, body)"
        )
        insert = "INSERT INTO record (time, kind, event_id, of, value, reward_id, body) VALUES (?, ?, ?, ?, ?, ?, ?)"
        start = time.perf_counter()
        for row in rows:
            db.execute("BEGIN IMMEDIATE")
            db.execute(insert, row)
            db.execute("COMMIT")
        return time.perf_counter() - start


def seconds_of_replay(path: Path) -> float:
    journal = SqliteJournal(path)
    try:
        start = time.perf_counter()
        found = replay(journal)
        taken = time.perf_counter() - start
        assert found.agrees, found.differences
        return taken
    finally:
        journal.close()


def latencies(loop: Loop, seconds: float, name: str) -> list[float]:
    rng = random.Random(name)
    taken = []
    end = time.perf_counter() + seconds
    i = 0
    while time.perf_counter() < end:
        row = {str(rng.randrange(32768)): rng.random() for _ in range(20)}
        start = time.perf_counter()
        decision = loop.decide(row, event_id=f"{name}-{i}")
        taken.append(time.perf_counter() - start)
        loop.reward(decision.event_id, float(decision.action == 1))
        i += 1
    return taken


def p99(values: list[float]) -> float:
    return statistics.quantiles(values, n=100)[98]


def checkpoint_latencies(folder: Path, seconds: float) -> tuple[list[float], list[float], int, int]:
    """Without and with checkpoints, how many there were, and the model's bytes."""
    path = folder / "dense.db"
    with open_loop(path, actions=8, bits=18, epsilon=1.0, checkpoint_every="1h") as loop:
        seen = set()
        while len(seen) < 8:  # every action learns every one of 2 ** 15 columns: 2 ** 18 weights
            row = {str(j): 1 + random.random() for j in range(32768)}
            decision = loop.decide(row)
            loop.reward(decision.event_id, random.random())
            seen.add(decision.action)
        size = len(loop.model().to_bytes())
        loop.checkpoint()
        without, beside, generations = [], [], loop.status().generation
        for k in range(3):
            without += latencies(loop, seconds / 3, f"without{k}")
            stop = threading.Event()

            def keep_saving(stop: threading.Event = stop) -> None:
                while not stop.is_set():
                    loop.checkpoint()

            saver = threading.Thread(target=keep_saving)
            saver.start()
            beside += latencies(loop, seconds / 3, f"beside{k}")
            stop.set()
            saver.join()
        return without, beside, loop.status().generation - generations, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=9.0, help="of each half of the last comparison")
    parser.add_argument("--folder", type=Path, default=Path.cwd(), help="on the disk that is to be measured")
    parser.add_argument("--report", type=Path)
    given = parser.parse_args()
    rows = contexts(given.events)
    times: dict[str, list[float]] = {"bare": [], "one": [], "many": [], "replay": []}
    for _ in range(given.rounds):
        with tempfile.TemporaryDirectory(dir=given.folder) as scratch:
            folder = Path(scratch)
            one, path = seconds_of_one_thread(folder, rows)
            times["one"].append(one)
            times["bare"].append(seconds_of_bare_sqlite(folder, path, given.events))
            times["many"].append(seconds_of_threads(folder, rows, 32))
            times["replay"].append(seconds_of_replay(path))
            bytes_per_event = path.stat().st_size / given.events
    with tempfile.TemporaryDirectory(dir=given.folder) as scratch:
        without, beside, generations, size = checkpoint_latencies(Path(scratch), given.seconds)
    median = {name: statistics.median(values) for name, values in times.items()}
    figures = {
        "one thread": median["bare"] / median["one"],
        "32 threads": median["one"] / median["many"],
        "replay": median["one"] / median["replay"],
        "p99": p99(beside) / p99(without),
    }
    lines = [
        "| what | measured | wanted |",
        "|---|---|---|",
        f"| one thread, of bare SQLite's rate | {figures['one thread']:.2f} | at least {LIMITS['one thread']} |",
        f"| 32 threads, of one thread's rate | {figures['32 threads']:.1f} | at least {LIMITS['32 threads']:.0f} |",
        f"| replay, of one thread's rate of writing | {figures['replay']:.1f} | at least {LIMITS['replay']:.0f} |",
        f"| p99 of `decide` beside checkpoints, of that without | {figures['p99']:.1f} | at most {LIMITS['p99']:.0f} |",
        "",
        f"{given.events} events of 20 features and 10 actions, {os.cpu_count()} cores; medians of {given.rounds} runs. "
        f"On this disk SQLite alone commits one row in {1e6 * median['bare'] / given.events / 2:.0f} us "
        f"(from {1e6 * min(times['bare']) / given.events / 2:.0f} to {1e6 * max(times['bare']) / given.events / 2:.0f} "
        "in these runs, the disk being shared). "
        f"One event (decide and reward): bare SQLite {1e6 * median['bare'] / given.events:.0f} us, one thread "
        f"{1e6 * median['one'] / given.events:.0f} us, 32 threads {1e6 * median['many'] / given.events:.0f} us, "
        f"replayed in {1e6 * median['replay'] / given.events:.0f} us; {bytes_per_event:.0f} bytes on disk. "
        f"p99 of `decide` {1e3 * p99(without):.2f} ms without and {1e3 * p99(beside):.2f} ms beside {generations} "
        f"checkpoints of {size / 1e6:.1f} MB ({len(without)} and {len(beside)} decisions).",
    ]
    print("\n".join(lines))
    if given.report is not None:
        how = f"--events {given.events} --rounds {given.rounds} --seconds {given.seconds:g}"
        command = f"python benchmarks/loop/speed.py {how}"
        given.report.write_text(f"# Speed of the loop\n\nMade by `{command}`.\n\n" + "\n".join(lines) + "\n")
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
