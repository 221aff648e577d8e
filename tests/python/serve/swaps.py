"""Servers that get a new model again and again while they answer: `python -m serve.swaps FOLDER --swaps 200`.

`fastcb learn --follow` publishes a checkpoint as often as it can, and two `fastcb serve --no-learn` decide without a
break. No request may fail, every probability that was logged must be that of the generation it names, and memory must
not grow.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from loop.support import journal_at
from serve.cluster import Client, cluster
from vw_fastcb.loop.replay import replay

SETTINGS: dict[str, Any] = {
    "actions": [f"a{number}" for number in range(10)],
    "reward_range": (0, 1),
    "seed": 3,
    "wait": "1s",
    "default_reward": 0,
}
CLIENTS = 2  # of each server
WARMING_UP = 2  # tenths of the swaps: models grow at first, as they see new features
MOST_GROWTH = 0.05
LONG = 200  # swaps


class Load:
    """Clients of one server, and what they saw of it."""

    def __init__(self, port: int, pid: int) -> None:
        self.generations: set[int] = set()
        self.decisions = 0
        self.problems: list[str] = []
        self._sizes: list[tuple[int, int]] = []  # swaps so far, and the server's memory then
        self._server = psutil.Process(pid)
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._guarded, args=(Client([port]), f"{port}.{number}"))
            for number in range(CLIENTS)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def swaps(self) -> int:
        return max(0, len(self.generations) - 1)

    def look(self) -> None:
        assert not self.problems, self.problems[0]
        self._sizes.append((self.swaps, self._server.memory_info().rss))

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def megabytes(self) -> list[float]:
        """The mean size during each tenth of the swaps."""
        tenths: list[list[int]] = [[] for _ in range(10)]
        for swap, size in self._sizes:
            tenths[min(9, 10 * swap // self.swaps)].append(size)
        return [round(sum(one) / len(one) / 1e6, 2) for one in tenths]

    def _guarded(self, client: Client, name: str) -> None:
        try:
            self._visit(client, name)
            assert client.retries == 0, f"{client.retries} requests were not answered"
        except BaseException:
            self.problems.append(traceback.format_exc())
        finally:
            client.close()

    def _visit(self, client: Client, name: str) -> None:
        number = 0
        while not self._ended.is_set():
            number += 1
            event = f"{name}.{number}"
            context = {f"x{i}": ((number + i) % 7) / 7 for i in range(20)} | {"user": f"u{number % 11}"}
            made = client.post("/decide", {"event_id": event, "context": context})
            self.generations.add(made["generation"])
            self.decisions += 1
            if number % 2:
                value = float(made["action"] == number % 10)
                client.post("/reward", {"event_id": event, "value": value, "reward_id": "r"})


def run(folder: Path, swaps: int, progress: Callable[[str], None]) -> dict[str, Any]:
    """Asserts what must hold; gives the numbers."""
    with cluster(folder, SETTINGS, checkpoint_every="1ms", learners=1) as everybody:
        servers = zip(everybody.ports, everybody.deciders, strict=True)
        loads = [Load(port, program.process.pid) for port, program in servers]
        began = told_at = time.monotonic()
        try:
            while min(load.swaps for load in loads) < swaps:
                time.sleep(0.05)
                for load in loads:
                    load.look()
                if time.monotonic() - told_at > 5:
                    told_at = time.monotonic()
                    progress(f"{told_at - began:.0f} s: {[load.swaps for load in loads]} swaps")
        finally:
            for load in loads:
                load.end()
        took = time.monotonic() - began
        for load in loads:
            load.look()
        for program in everybody.programs:
            program.stop()
        progress(f"{took:.0f} s; every probability is computed again now")
        with journal_at(everybody.url) as journal:
            found = replay(journal)
            newest = journal.newest_generation()
    decisions = sum(load.decisions for load in loads)
    assert found.agrees, found.differences
    assert (found.decisions, found.exact, found.unchecked) == (decisions, decisions, 0)
    sizes = [load.megabytes() for load in loads]
    growth = [one[-1] / one[WARMING_UP] - 1 for one in sizes]
    if swaps >= LONG:  # a short run is warm-up
        assert max(growth) < MOST_GROWTH, f"memory has grown: {sizes}"
    return {
        "generations": newest,
        "swaps": [load.swaps for load in loads],
        "decisions": decisions,
        "learned": found.learned,
        "growth": growth,
        "megabytes": sizes,
        "seconds": took,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--swaps", type=int, default=200)
    given = parser.parse_args()
    print(json.dumps(run(given.folder, given.swaps, lambda line: print(line, file=sys.stderr, flush=True))))


if __name__ == "__main__":
    main()
