"""Ctrl-C in a thread that commits for others too: `python -m loop.interrupts FOLDER`.

The main thread is interrupted hundreds of times, wherever it is, while other threads decide. Nobody may wait for ever,
and what was acknowledged must be there.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import random
import signal
import threading
import time
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from loop import reference
from loop.kills import ACTIONS, check_acknowledged, context_of, value_of
from vw_fastcb.loop import Loop, LoopError, sqlite
from vw_fastcb.loop.sqlite import SqliteJournal


class Interrupted(BaseException):
    """What the handler raises; a KeyboardInterrupt that nothing else can raise."""


def serve(
    loop: Loop, name: str, ends: threading.Event, acknowledged: list[tuple[Any, ...]], refused: list[str]
) -> None:
    count = 0
    while not ends.is_set():
        count += 1
        event_id = f"{name}.{count}"
        try:
            made = loop.decide(context_of(event_id), event_id=event_id)
            acknowledged.append(("decision", event_id, made.action, made.probability))
            loop.reward(event_id, value_of(event_id), "r")
            acknowledged.append(("reward", event_id, value_of(event_id), "r"))
        except LoopError as problem:
            refused.append(str(problem))


class Shots:
    """Interrupts the main thread, from another one, a while after it was asked to."""

    # The loop lets the first one wait for the end of a commit. It does not know that handlers of the second raise.
    SIGNALS = (signal.SIGINT, signal.SIGWINCH)

    def __init__(self) -> None:
        self.is_armed = False
        self._orders: SimpleQueue[tuple[float, int]] = SimpleQueue()
        for number in self.SIGNALS:
            signal.signal(number, self._handle)
        threading.Thread(target=self._fire, daemon=True).start()

    def order(self, delay: float, number: int) -> None:
        self.is_armed = True
        self._orders.put((delay, number))

    def _fire(self) -> None:
        while True:
            delay, number = self._orders.get()
            time.sleep(delay)
            os.kill(os.getpid(), number)

    def _handle(self, *_: object) -> None:
        if self.is_armed:
            self.is_armed = False
            raise Interrupted


def interrupted(loop: Loop, dice: random.Random, times: int, acknowledged: list[tuple[Any, ...]]) -> int:
    """The main thread: gives how often it was interrupted inside the loop."""
    shots = Shots()
    count = 0
    for number in range(times):
        event_id = f"main.{number}"
        made = None
        try:
            shots.order(dice.uniform(0, 0.004), Shots.SIGNALS[number % 2])
            made = loop.decide(context_of(event_id), event_id=event_id)
            loop.reward(event_id, value_of(event_id), "r")
            if number % 5 == 0:
                loop.checkpoint()
            time.sleep(1)
        except Interrupted:
            count += 1
        except LoopError:
            pass  # another thread was told that this one was interrupted
        shots.is_armed = False
        if made is not None:
            acknowledged.append(("decision", event_id, made.action, made.probability))
    return count


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    faulthandler.dump_traceback_later(300, exit=True)
    sqlite._MODEL_PART = 1024
    path = given.folder / "shop.db"
    loop = Loop.open(path, actions=ACTIONS, reward_range=(0, 1), seed=5, checkpoint_every="20ms", keep_generations=2)
    ends = threading.Event()
    lists: list[list[tuple[Any, ...]]] = [[] for _ in range(4)]
    refused: list[str] = []
    threads = [threading.Thread(target=serve, args=(loop, f"t{i}", ends, lists[i], refused)) for i in range(3)]
    for thread in threads:
        thread.start()
    count = interrupted(loop, random.Random(given.seed), given.times, lists[3])
    ends.set()
    for thread in threads:
        thread.join()
    after = loop.decide(context_of("after"), event_id="after")
    loop.close()
    reference.check(path)
    journal = SqliteJournal(path)
    records = list(journal.read())
    newest = journal.checkpoints()[-1]
    journal.close()
    acknowledged = [*chain(*lists), ("decision", "after", after.action, after.probability)]
    found = check_acknowledged(records, acknowledged)
    assert newest.sha256 == reference.undisturbed(path).sha256
    assert all("interrupted" in one for one in refused), refused
    print(json.dumps({"interrupted": count, "refused": len(refused), "acknowledged": found}))


if __name__ == "__main__":
    main()
