"""The traffic of `fastcb demo --loop`: visitors of a news page, in a process of its own that may be killed at any time.

    python -m vw_fastcb.commands.loop_traffic JOURNAL EVENTS SEED < acknowledged.json

It runs on a simulated clock. Each line that it prints is a request that was acknowledged. Started again with those
lines, it goes on with whatever is missing.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.loop import Loop

SECTIONS = ("politics", "sports", "music", "science", "food", "travel", "film", "local")
READERS = ("Tom", "Anna", "Li", "Maya", "Omar", "Eva", "Noah", "Ines", "Raj", "Zoe")
WAIT = 600_000  # milliseconds
SLOT = 20_000  # what happens within so many milliseconds happens at once
THREADS = 4

_START = 1_700_000_000_000
_BETWEEN_VISITS = 5_000.0  # milliseconds, the mean
_DELAY = 180_000.0  # from the visit to its reward, the mean
_LOST = 0.05
_REPEATED = 0.25


def _tastes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How much each reader likes each section, and what morning, afternoon and evening add."""
    rng = np.random.default_rng(7)
    likes = rng.random((len(READERS), len(SECTIONS))) ** 2
    likes[np.arange(len(READERS)), rng.integers(0, len(SECTIONS), len(READERS))] = 1
    return likes, rng.normal(0, 0.25, (3, len(SECTIONS)))


@dataclass(frozen=True, order=True)
class Request:
    """One call of the loop.

    Attributes:
        slot: When it is made.
        event: The number of the visit.
        copy: 0 asks for a decision; from 1 on it reports the visit's reward, once more each time.
    """

    slot: int
    event: int
    copy: int = 0

    @property
    def event_id(self) -> str:
        """The id of the visit."""
        return f"visit-{self.event}"


@dataclass(frozen=True)
class World:
    """Everything that does not depend on the loop: who comes when, and what would be clicked.

    Args:
        events: How many visits there are.
        seed: Another seed is another day.
    """

    events: int
    seed: int
    _columns: dict[str, NDArray[Any]] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        events = self.events
        columns = {
            "time": np.cumsum(rng.exponential(_BETWEEN_VISITS, events)),
            "reader": rng.integers(0, len(READERS), events),
            "hour": rng.integers(6, 24, events),  # where the reader is; they live all over the world
            "luck": rng.random(events),
            "delay": rng.exponential(_DELAY, (events, 3)),
            "is_lost": rng.random(events) < _LOST,
            "copies": 1 + (rng.random(events) < _REPEATED) * rng.integers(1, 3, events),
        }
        object.__setattr__(self, "_columns", columns)

    def context(self, event: int) -> dict[str, object]:
        """What is known of a visit."""
        hour = int(self._columns["hour"][event])
        return {"user": READERS[self._columns["reader"][event]], "hour": f"{hour:02d}"}  # text: each hour is a word

    @cached_property
    def chances(self) -> NDArray[np.float64]:
        """The probability of a click, for each visit and section."""
        likes, shifts = _tastes()
        appeal = likes[self._columns["reader"]] + shifts[(self._columns["hour"] - 6) // 6]
        chances: NDArray[np.float64] = 1 / (1 + np.exp(4.2 - 4.0 * appeal))
        return chances

    def clicks(self, event: int, action: int) -> bool:
        """Whether the reader clicks on what is shown."""
        return bool(self._columns["luck"][event] < self.chances[event, action])

    def decision(self, event: int) -> Request:
        """The request that begins a visit."""
        return Request(int(self._columns["time"][event] // SLOT), event)

    def rewards(self, event: int, action: int) -> Iterator[Request]:
        """The reports of a visit's reward, if there is one: none where it is lost, up to three where it is repeated."""
        if self._columns["is_lost"][event] or not self.clicks(event, action):
            return
        slot = self.decision(event).slot
        for copy in range(1, self._columns["copies"][event] + 1):
            slot += max(1, int(self._columns["delay"][event, copy - 1] // SLOT))
            yield Request(slot, event, copy)

    def is_lost(self, event: int) -> bool:
        """Whether the reward of a visit, if there is one, never arrives."""
        return bool(self._columns["is_lost"][event])

    def is_late(self, first: Request) -> bool:
        """Whether the first report of a reward comes after the wait."""
        return (first.slot - self.decision(first.event).slot) * SLOT > WAIT


Acknowledged: TypeAlias = "dict[tuple[int, int], list[Any]]"  # by event and copy; action and probability of decisions


class _Traffic:
    """Makes the requests of all slots, those of one slot from several threads."""

    def __init__(self, world: World, acknowledged: Acknowledged) -> None:
        self._world = world
        self._acknowledged = acknowledged
        self._slots: dict[int, list[Request]] = {}
        self._now = _START
        for event in range(world.events):
            decision = acknowledged.get((event, 0))
            if decision is None:
                self._add(world.decision(event))
            else:
                self._add_rewards(event, decision[0])

    def run(self, journal: str) -> None:
        """Runs to the end, however much of it was done before."""
        with (
            Loop.open(
                journal,
                actions=list(SECTIONS),
                reward_range=(0, 1),
                wait=WAIT / 1000,
                default_reward=0,
                seed=self._world.seed,
                clock=lambda: self._now,
            ) as loop,
            ThreadPoolExecutor(THREADS) as pool,
        ):
            while self._slots:
                slot = min(self._slots)
                self._now = _START + slot * SLOT
                for request, action in pool.map(lambda one: self._made(loop, one), sorted(self._slots.pop(slot))):
                    if action is not None:
                        self._add_rewards(request.event, action)
            self._now += WAIT + 1
            loop.tick()

    def _made(self, loop: Loop, request: Request) -> tuple[Request, int | None]:
        """Makes a request, says that it was acknowledged, and returns which action was drawn, if one was."""
        if request.copy:
            loop.reward(request.event_id, 1, reward_id="click")
            _say([request.event, request.copy])
            return request, None
        decision = loop.decide(self._world.context(request.event), event_id=request.event_id)
        _say([request.event, 0, decision.action, decision.probability])
        return request, decision.action

    def _add(self, request: Request) -> None:
        self._slots.setdefault(request.slot, []).append(request)

    def _add_rewards(self, event: int, action: int) -> None:
        for request in self._world.rewards(event, action):
            if (event, request.copy) not in self._acknowledged:
                self._add(request)


def _say(words: list[object]) -> None:
    # One write of a short line: whoever reads the pipe gets all of it or nothing.
    os.write(1, f"{json.dumps(words)}\n".encode())


def parsed(lines: list[str]) -> Acknowledged:
    """What the lines that traffic has printed acknowledge."""
    requests = map(json.loads, lines)
    return {(event, copy): rest for event, copy, *rest in requests}


def main() -> None:
    """Runs the traffic; Ctrl-C is left to whoever started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    journal, events, seed = sys.argv[1:]
    _Traffic(World(int(events), int(seed)), parsed(sys.stdin.read().splitlines())).run(journal)


if __name__ == "__main__":
    main()
