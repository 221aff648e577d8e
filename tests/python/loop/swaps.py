"""Deciders that get a new model again and again while they answer: `python -m loop.swaps FOLDER --swaps 200`.

One process learns and publishes a checkpoint as often as it can, in Redis. Others decide without a break. Nobody may
fail, every probability that was logged must be that of the generation it names, and memory must not grow.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from loop.redis_server import RedisServer
from loop.support import journal_at
from vw_fastcb import Loop
from vw_fastcb.loop import worker
from vw_fastcb.loop.replay import replay

SETTINGS: dict[str, Any] = {
    "actions": [f"a{number}" for number in range(10)],
    "reward_range": (0, 1),
    "seed": 3,
    "wait": "1s",
    "default_reward": 0,
}
THREADS = 2


def memory() -> int:
    """Bytes that this process has in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def decide(url: str, name: str, swaps: int, answer: Connection) -> None:
    """Decides until so many generations were seen. Tells what it saw."""
    worker._BREATH = 0.002  # looks for a new model more often than usual
    seen: set[int] = set()
    counts = {"decisions": 0}
    problems: list[str] = []
    sizes: list[tuple[int, int]] = []  # swaps so far, and memory then
    with Loop.open(url, learn=False) as loop:

        def work(thread: int) -> None:
            try:
                number = 0
                while len(seen) < swaps and not problems:
                    number += 1
                    event = f"{name}.{thread}.{number}"
                    context = {f"x{i}": ((number + i) % 7) / 7 for i in range(20)} | {"user": f"u{number % 11}"}
                    made = loop.decide(context, event_id=event)
                    if number % 2:
                        loop.reward(event, float(made.action == number % 10), "r")
                    seen.add(made.generation)
                    counts["decisions"] += 1
            except Exception as problem:
                problems.append(repr(problem))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            sizes.append((len(seen), memory()))
            time.sleep(0.05)
        for thread in threads:
            thread.join()
        sizes.append((len(seen), memory()))
    answer.send({"swaps": len(seen), "sizes": _by_tenths(sizes, swaps), **counts, "problems": problems})


def _by_tenths(sizes: list[tuple[int, int]], swaps: int) -> list[float]:
    """The mean size during each tenth of the swaps, in megabytes."""
    tenths: list[list[int]] = [[] for _ in range(10)]
    for swap, size in sizes:
        tenths[min(9, 10 * swap // swaps)].append(size)
    return [round(sum(one) / len(one) / 1e6, 2) for one in tenths if one]


def run(folder: Path, swaps: int, deciders: int = 2) -> dict[str, Any]:
    """Asserts what must hold; gives the numbers."""
    server = RedisServer(folder).start()
    try:
        return _run(server.url("shop"), swaps, deciders)
    finally:
        server.end()


def _run(url: str, swaps: int, n_deciders: int) -> dict[str, Any]:
    Loop.open(url, **SETTINGS).close()
    spawn = multiprocessing.get_context("spawn")
    pipes = [spawn.Pipe(duplex=False) for _ in range(n_deciders)]
    processes = [
        spawn.Process(target=decide, args=(url, f"d{number}", swaps, pipe[1])) for number, pipe in enumerate(pipes)
    ]
    for process in processes:
        process.start()
    began = time.monotonic()
    with Loop.open(url, checkpoint_every="1h") as loop:
        while any(process.is_alive() for process in processes):
            loop.checkpoint()
            loop._worker.upkeep()
            time.sleep(0.005)
        told = [pipe[0].recv() for pipe in pipes]
    took = time.monotonic() - began
    problems = [problem for one in told for problem in one["problems"]]
    assert not problems, problems
    with journal_at(url) as journal:
        found = replay(journal)
        newest = journal.newest_generation()
    decisions = sum(one["decisions"] for one in told)
    assert found.agrees, found.differences
    assert (found.decisions, found.exact, found.unchecked) == (decisions, decisions, 0)
    growth = [one["sizes"][-1] / one["sizes"][2] - 1 for one in told]  # the first fifth warms up: the model grows
    assert max(growth) < 0.05, f"memory has grown: {[one['sizes'] for one in told]}"
    return {
        "generations": newest,
        "swaps": [one["swaps"] for one in told],
        "decisions": decisions,
        "learned": found.learned,
        "growth": growth,
        "megabytes": [one["sizes"] for one in told],
        "seconds": took,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--swaps", type=int, default=200)
    given = parser.parse_args()
    print(json.dumps(run(given.folder, given.swaps)))


if __name__ == "__main__":
    main()
