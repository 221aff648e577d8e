"""Small worlds in which it matters to explore. A learner that only exploits gets stuck in each of them.

Every world is made from a seed: contexts (n, d), the expected cost of every action in every round (n, A), and costs
that were drawn from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """Attributes:
    contexts: Rows of features, (n, d).
    expected: The expected cost of every action, (n, A).
    costs: What each action would cost, 0 or 1, (n, A).
    """

    contexts: Floats
    expected: Floats
    costs: Floats

    def regret(self, actions: NDArray[np.int64]) -> float:
        """How much more the actions cost than the best ones, per round."""
        chosen = self.expected[np.arange(len(actions)), actions]
        return float(np.mean(chosen - self.expected.min(axis=1)))


def _world(rng: np.random.Generator, contexts: Floats, expected: Floats) -> World:
    return World(contexts, expected, (rng.random(expected.shape) < expected).astype(np.float64))


def _visitors(rng: np.random.Generator, rounds: int, kinds: int) -> tuple[Floats, NDArray[np.int64]]:
    """Each visitor is of one kind, told by a column of its own and blurred a little."""
    kind = rng.integers(kinds, size=rounds)
    return np.eye(kinds)[kind] + rng.normal(0, 0.05, (rounds, kinds)), kind


def safe_action(rng: np.random.Generator, rounds: int = 10_000) -> World:
    """Action 0 always costs 0.3. For each of eight kinds of visitors one other action costs 0.02, the rest 0.5."""
    contexts, kind = _visitors(rng, rounds, 8)
    expected = np.full((rounds, 10), 0.5)
    expected[:, 0] = 0.3
    expected[np.arange(rounds), 1 + kind] = 0.02
    return _world(rng, contexts, expected)


def rare_good_action(rng: np.random.Generator, rounds: int = 10_000) -> World:
    """Twenty actions that cost 0.9, but one for each of four kinds of visitors, which costs 0.1."""
    contexts, kind = _visitors(rng, rounds, 4)
    expected = np.full((rounds, 20), 0.9)
    expected[np.arange(rounds), 3 + 4 * kind] = 0.1
    return _world(rng, contexts, expected)


def many_actions(rng: np.random.Generator, rounds: int = 10_000) -> World:
    """A hundred actions with costs between 0.4 and 0.9 for three kinds of visitors, and for each one that costs 0.1."""
    contexts, kind = _visitors(rng, rounds, 3)
    costs = rng.uniform(0.4, 0.9, (3, 100))
    costs[np.arange(3), rng.choice(100, 3, replace=False)] = 0.1
    return _world(rng, contexts, costs[kind])


def clicks(rng: np.random.Generator, rounds: int = 20_000) -> World:
    """Five banners that are clicked by 0.5% of all visitors, and for each of five kinds one that 4% click."""
    contexts, kind = _visitors(rng, rounds, 5)
    expected = np.full((rounds, 5), 0.995)
    expected[np.arange(rounds), kind] = 0.96
    return _world(rng, contexts, expected)


def change(rng: np.random.Generator, rounds: int = 10_000) -> World:
    """Five actions of cost 0.6, for each of five kinds of visitors one of 0.2; another one from half time on."""
    contexts, kind = _visitors(rng, rounds, 5)
    best = np.where(np.arange(rounds) < rounds // 2, kind, (kind + 1) % 5)
    expected = np.full((rounds, 5), 0.6)
    expected[np.arange(rounds), best] = 0.2
    return _world(rng, contexts, expected)


WORLDS: dict[str, Callable[[np.random.Generator], World]] = {
    "a safe action": safe_action,
    "rare good actions": rare_good_action,
    "many actions": many_actions,
    "clicks": clicks,
    "a change": change,
}
