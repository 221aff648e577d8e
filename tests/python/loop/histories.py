"""Journals in which everything happens that may happen to a decision."""

from __future__ import annotations

import random
from pathlib import Path

from loop.support import Clock
from vw_fastcb import Loop

ACTIONS = ["politics", "sports", "music"]


def write_history(
    path: Path, seed: int, events: int = 120, *, fixed: bool = True, erases: bool = True, **settings: object
) -> Clock:
    """A journal of random events, with every window closed in the end."""
    rng = random.Random(seed)
    clock = Clock()
    given = {"actions": ACTIONS if fixed else None, "wait": "20s", "seed": seed, "clock": clock, **settings}
    if "cost_range" not in given:
        given["reward_range"] = (0, 1)
    with Loop.open(path, **given) as loop:
        tell = loop.cost if "cost_range" in given else loop.reward
        waiting: list[str] = []
        for i in range(events):
            clock.now += rng.choice([0, 300, 1500, 5000])
            name = f"e{i}"
            if rng.random() < 0.1:
                tell(name, rng.choice([0.0, 0.5]))  # before its decision
            decide(loop, rng, name, fixed)
            waiting.append(name)
            while rng.random() < 0.55:
                known = rng.choice(waiting[-12:])
                tell(known, rng.choice([0.0, 0.25, 1.0]) if settings.get("aggregation") != "sum" else 0.75)
            if rng.random() < 0.2:
                loop.activate(rng.choice(waiting[-6:]))
            if erases and rng.random() < 0.04:
                loop.erase(rng.choice(waiting))
            if rng.random() < 0.05:
                loop.checkpoint()
        tell("nobody", 0.5)
        clock.now += 60_000
        loop.tick()
    return clock


def decide(loop: Loop, rng: random.Random, name: str, fixed: bool) -> None:
    context = {
        "user": rng.choice(["Tom", "Anna", "Zoë"]),
        "hour": rng.randrange(24),
        "mood": rng.choice(["good", None]),
    }
    activate = rng.random() < 0.8
    if fixed:
        exclude = ["music"] if rng.random() < 0.2 else None
        loop.decide(context, exclude=exclude, event_id=name, activate=activate)
        return
    count = rng.randint(1, 4)
    actions = [{"topic": rng.choice(ACTIONS), "length": rng.random()} for _ in range(count)]
    ids = [f"id{i}" for i in range(count)] if rng.random() < 0.5 else None
    exclude = [count - 1] if count > 1 and rng.random() < 0.2 else None
    loop.decide(context, actions, action_ids=ids, exclude=exclude, event_id=name, activate=activate)
