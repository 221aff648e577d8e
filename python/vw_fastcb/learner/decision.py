"""What the learner hands out: small immutable records that can be pickled and learned from later, anywhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

# What the engine needs to see features again: an array of float32, or (values, places among VW's weights, offsets).
Kept: TypeAlias = "NDArray[np.float32] | tuple[NDArray[Any], NDArray[Any], NDArray[Any]]"
# An (n, A) array of float64; a list of n arrays where the events differ in their number of actions.
Table: TypeAlias = Any

_new = object.__new__


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
        context: The features of the context as the engine reads them: an array of float32, or where names were given,
            (values, places among VW's weights, offsets).
        actions: The features of the actions, likewise; None where actions are fixed.
        maker: The kind of learner that made it. Only such a learner can learn from it.
    """

    action: int
    probability: float
    pmf: NDArray[np.float64]
    predicted: NDArray[np.float64]
    gamma: float
    event_id: str | int | None = None
    context: Kept | None = field(default=None, repr=False)
    actions: Kept | None = field(default=None, repr=False)
    maker: str = field(default="", repr=False)

    @staticmethod
    def made(parts: tuple[Any, ...], event_id: str | int | None, maker: str) -> Decision:
        """From what the engine says. It costs a third of the constructor, which freezes each attribute by itself."""
        action, probability, pmf, predicted, gamma, context, actions = parts
        decision = _new(Decision)
        vars(decision).update(
            action=action,
            probability=probability,
            pmf=pmf,
            predicted=predicted,
            gamma=gamma,
            event_id=event_id,
            context=context,
            actions=actions,
            maker=maker,
        )
        return decision


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
    pmf: Table


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
