"""What the learner hands out: small immutable records that can be pickled and learned from later, anywhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Decision:
    """One decision, and what is needed to learn from it later.

    Attributes:
        action: The chosen action, from 0.
        probability: With which it was drawn. Log it.
        pmf: The probability of each action.
        predicted: The predicted cost of each action, or its reward where the learner speaks of rewards.
        gamma: The greediness at the time.
        event_id: The id that fixed the draw, if one was given.
    """

    action: int
    probability: float
    pmf: NDArray[np.float64]
    predicted: NDArray[np.float64]
    gamma: float
    event_id: str | int | None = None
    context: Any = field(default=None, repr=False)
    actions: Any = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Decisions:
    """Many decisions made with one state of the model.

    Attributes:
        actions: The chosen action of each event, (n,).
        probabilities: With which each was drawn, (n,).
        pmf: The probability of each action, (n, A), or a list of arrays where the events differ in their actions.
    """

    actions: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    pmf: NDArray[np.float64] | list[NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Simulation:
    """What happened in simulated runs, one row a shuffle.

    Attributes:
        costs: What each round cost (or its reward), in the order in which the rounds were played, (s, n).
        actions: The actions played, (s, n).
        probabilities: With which each was drawn, (s, n).
        order: The row of the data that each round played, (s, n).
    """

    costs: NDArray[np.float64]
    actions: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    order: NDArray[np.int64]

    @property
    def progressive(self) -> NDArray[np.float64]:
        """The mean cost (or reward) up to each round, (s, n)."""
        return np.cumsum(self.costs, axis=1) / np.arange(1, self.costs.shape[1] + 1)
