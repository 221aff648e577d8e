"""Small logs whose truth is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ("politics", "sports", "music")


def contexts(rng: np.random.Generator, n: int) -> list[dict[str, Any]]:
    return [
        {"user": f"u{u}", "age": float(age)}
        for u, age in zip(rng.integers(3, size=n), rng.random(n).round(3), strict=True)
    ]


def means(context: dict[str, Any]) -> np.ndarray:
    """What each action earns: one is good for each user."""
    return np.where(np.arange(3) == int(context["user"][1]), 0.7, 0.2)


def pmfs_of(rng: np.random.Generator, rows: list[dict[str, Any]]) -> np.ndarray:
    """Those of a policy that prefers an action by the user, and explores more or less."""
    epsilon = rng.choice([0.15, 0.3, 0.9], len(rows))
    liked = np.array([(int(row["user"][1]) + 1) % 3 for row in rows])
    return (epsilon / 3)[:, None] + (1 - epsilon)[:, None] * np.eye(3)[liked]


def draws_of(rng: np.random.Generator, pmfs: np.ndarray) -> np.ndarray:
    return np.minimum((pmfs.cumsum(axis=1) < rng.random(len(pmfs))[:, None]).sum(axis=1), pmfs.shape[1] - 1)


def line(
    context: dict[str, Any], action: int, pmf: np.ndarray, reward: float, event_id: str, **changes: Any
) -> dict[str, Any]:
    order = [action, *(a for a in range(len(pmf)) if a != action)]
    return {
        "_label_cost": -reward + 0.0,
        "_label_probability": float(pmf[action]),
        "_label_Action": action + 1,
        "_labelIndex": action,
        "o": [],
        "Timestamp": "2024-05-01T12:00:00.0000000Z",
        "Version": "1",
        "EventId": event_id,
        "a": [a + 1 for a in order],
        "c": {
            "x": {"user=": context["user"], "age": context["age"]},
            "_multi": [{"a": {"action=": name}} for name in NAMES[: len(pmf)]],
        },
        "p": [float(pmf[a]) for a in order],
        "VWState": {"m": "1"},
        **changes,
    }


class World:
    """A log in arrays, which can be written as dsjson."""

    def __init__(self, seed: int, n: int) -> None:
        rng = np.random.default_rng(seed)
        self.contexts = contexts(rng, n)
        self.pmfs = pmfs_of(rng, self.contexts)
        self.actions = draws_of(rng, self.pmfs)
        self.means = np.array([means(row) for row in self.contexts])
        self.rewards = (rng.random(n) < self.means[np.arange(n), self.actions]).astype(float)

    def lines(self) -> list[str]:
        rows = zip(self.contexts, self.actions.tolist(), self.pmfs, self.rewards.tolist(), strict=True)
        return [json.dumps(line(*row, f"e{i}"), separators=(",", ":")) for i, row in enumerate(rows)]

    def write(self, path: Path) -> Path:
        path.write_text("\n".join(self.lines()) + "\n")
        return path
