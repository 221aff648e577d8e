"""A bandit problem whose every outcome is known, and how a player goes through it when outcomes come late."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """Rounds of a bandit.

    Attributes:
        contexts: What is known of each round: a row of numbers, a sparse row, or a dictionary of features.
        outcomes: What each action costs or earns in each round, between 0 and 1, (n, A).
        expected: What it is expected to cost or earn; the outcomes themselves where nobody knows, (n, A).
        noun: Whether outcomes are costs or rewards.
        action_features: Where actions have features, those of each round: (A, d) numbers, or a list of dictionaries.
    """

    contexts: Sequence[Any]
    outcomes: Floats
    expected: Floats
    noun: Literal["cost", "reward"]
    action_features: Sequence[Any] | None = None

    @property
    def rounds(self) -> int:
        return len(self.outcomes)

    @property
    def n_actions(self) -> int:
        return self.outcomes.shape[1]


class Player(Protocol):
    """Who decides and learns. Rounds are told by their number in the problem that the player was made for."""

    def decide(self, t: int) -> int:
        """The action for round t."""

    def learn(self, t: int, action: int, outcome: float) -> None:
        """Takes notice of what the action of round t cost or earned."""


def play(problem: Problem, player: Player, delay: int) -> dict[str, float]:
    """Plays all rounds. The outcome of a round is learned once `delay` further rounds have been decided.

    Returns:
        Means over the rounds: of what was chosen, of the best actions, and of all actions; and the seconds it took.
    """
    started = time.perf_counter()
    actions = np.empty(problem.rounds, np.int64)
    for t in range(problem.rounds):
        actions[t] = player.decide(t)
        late = t - delay
        if late >= 0:
            action = int(actions[late])
            player.learn(late, action, float(problem.outcomes[late, action]))
    expected = problem.expected
    best = expected.min(axis=1) if problem.noun == "cost" else expected.max(axis=1)
    return {
        "value": float(expected[np.arange(problem.rounds), actions].mean()),
        "best": float(best.mean()),
        "uniform": float(expected.mean()),
        "seconds": time.perf_counter() - started,
    }


class FastCBPlayer:
    """`FastCB`, untuned or with the settings of a configuration. Decisions wait in a queue for their outcomes."""

    def __init__(self, problem: Problem, seed: int, **settings: Any) -> None:
        from vw_fastcb import FastCB  # noqa: PLC0415, stock VW is played in processes that do without it

        kind = {"reward_range": (0, 1)} if problem.noun == "reward" else {}
        fixed = problem.n_actions if problem.action_features is None else None
        self._problem = problem
        self._bandit = FastCB(fixed, seed=seed, **{**kind, **settings})
        self._waiting: dict[int, Any] = {}

    def decide(self, t: int) -> int:
        features = self._problem.action_features
        decision = self._bandit.decide(self._problem.contexts[t], None if features is None else features[t])
        self._waiting[t] = decision
        return int(decision.action)

    def learn(self, t: int, action: int, outcome: float) -> None:
        self._bandit.learn(self._waiting.pop(t), outcome)
