"""How large a loop gets: disk per event, memory per open window, and how long it takes to open again.

    python benchmarks/loop/size.py [--windows 100000] [--report benchmarks/loop/results/size.md]

Sizes do not depend on the disk, so the journals are in memory where that can be.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from vw_fastcb import Loop

MEMORY = Path("/dev/shm")
NEWS = ["politics", "sports", "music"]

Context = Callable[[int], dict[str, Any]]
Table = Callable[[int], list[dict[str, Any]]]


def two_features(i: int) -> dict[str, Any]:
    return {"user": f"user-{i % 500}", "hour": i % 24}


def twenty_features(i: int) -> dict[str, Any]:
    rng = random.Random(i)
    return {f"c{j}": f"v{rng.randrange(9)}" for j in range(4)} | {f"x{j}": rng.random() for j in range(16)}


def ten_articles(i: int) -> list[dict[str, Any]]:
    return [{"topic": f"t{(i + j) % 30}", "age": j} for j in range(10)]


# What, the actions, a context, the features of the actions.
EVENTS = {
    "2 features, 3 actions": (NEWS, two_features, None),
    "20 features, 10 actions": (10, twenty_features, None),
    "2 features, 10 actions of 2 features each": (None, two_features, ten_articles),
}


def used(path: Path) -> int:
    """Bytes of a closed journal that are in use, models apart: those belong to no event."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        pages, free, size = (
            db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
        models = db.execute("SELECT coalesce(sum(length(bytes)), 0) FROM model").fetchone()[0]
    return (pages - free) * size - models


def bytes_per_event(path: Path, actions: object, context: Context, features: Table | None, events: int) -> float:
    """Of disk, for a decision and its reward, once all windows have closed and their state is dropped."""
    sizes = []
    for many in (events, 2 * events):
        path.unlink(missing_ok=True)
        now = [0]
        settings = {"actions": actions, "reward_range": (0, 1), "wait": "1s", "keep_generations": 1}
        with Loop.open(path, **settings, clock=lambda now=now: now[0]) as loop:
            for i in range(many):
                decision = loop.decide(context(i), None if features is None else features(i), event_id=f"{i:032x}")
                loop.reward(decision.event_id, decision.action % 2, reward_id="click")
            loop.checkpoint()
            now[0] += 2000
            loop.tick()
            loop.checkpoint()
        sizes.append(used(path))
    return (sizes[1] - sizes[0]) / events


def with_open_windows(path: Path, windows: int) -> tuple[int, int, float]:
    """Makes a journal with open windows. Bytes on disk and in memory, opened again, and the seconds to open it."""
    with Loop.open(path, actions=NEWS, reward_range=(0, 1), wait="1d", checkpoint_every="1h") as loop:
        for i in range(windows):
            loop.decide(two_features(i), event_id=f"{i:032x}")
    command = [sys.executable, __file__, "--open", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    memory, seconds = json.loads(result.stdout)
    return used(path), memory, seconds


def open_again(path: str) -> None:
    """Runs in a process of its own, whose memory is not yet full of holes."""
    start = time.perf_counter()
    with Loop.open(path):
        print(json.dumps([psutil.Process().memory_info().rss, time.perf_counter() - start]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=5000)
    parser.add_argument("--windows", type=int, default=100_000)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--open", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.open:
        open_again(given.open)
        return
    lines = ["| a decision with | bytes on disk, reward included |", "|---|---|"]
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as scratch:
        folder = Path(scratch)
        for name, kind in EVENTS.items():
            lines.append(f"| {name} | {bytes_per_event(folder / 'sizes.db', *kind, given.events):,.0f} |")
        few = with_open_windows(folder / "few.db", 1000)
        many = with_open_windows(folder / "many.db", given.windows)
    disk, memory = ((many[k] - few[k]) / (given.windows - 1000) for k in (0, 1))
    lines += [
        "",
        f"{given.windows:,} decisions with 2 features that wait for their rewards: {disk:,.0f} bytes of disk each, "
        f"their record included, and {memory:,.0f} bytes of memory. The journal opens again in {many[2]:.1f} s.",
        "",
        "Ids have 32 characters, rewards an id of 5. Models are not counted: there is one per checkpoint that is kept.",
    ]
    print("\n".join(lines))
    if given.report is not None:
        given.report.parent.mkdir(exist_ok=True)
        command = f"python benchmarks/loop/size.py --events {given.events} --windows {given.windows}"
        given.report.write_text(f"# Size of the loop\n\nMade by `{command}`.\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
