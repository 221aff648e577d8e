"""What a loop answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.loop.records import Record


@dataclass(frozen=True)
class LoopDecision:
    """One decision, durable.

    Attributes:
        event_id: The id that rewards are reported with.
        action: The chosen action, from 0.
        name: Its name, or its id where the decision brought actions with ids; None where it has none.
        probability: With which it was drawn.
        pmf: The probability of each action.
        generation: The checkpoint that the model is based on.
    """

    event_id: str
    action: int
    name: str | None
    probability: float
    pmf: NDArray[np.float64] = field(compare=False)
    generation: int

    @classmethod
    def of(cls, record: Record, names: Sequence[str] | None) -> LoopDecision:
        """What a record says."""
        body = record.body or {}
        action = body["action"]
        names = body.get("action_ids") or names
        pmf = np.array(body["pmf"])
        pmf.flags.writeable = False
        name = None if names is None else names[action]
        return cls(record.event_id or "", action, name, body["pmf"][action], pmf, body["generation"])


@dataclass(frozen=True)
class Status:
    """How a loop is doing.

    Attributes:
        role: "learner", or "decider" where another process learns.
        learner: The process that learns; None where none does.
        position: How many records the journal holds, those that retention dropped included.
        time: The journal's time, in milliseconds.
        generation: The newest checkpoint.
        applied: How many records the model that decides here has seen.
        lag: How many more there are.
        learned: How many events that model has learned.
        open: Decisions that wait for their rewards.
        early: Rewards and activations that wait for their decision.
        dead_letters: Records that could not be learned.
        counts: What has become of the records up to `applied`; see `vw_fastcb.loop.Counts`.
        left_out: How many values did not fit their column and were left out of the decision, by column; those of
            actions have `action_features.` before their name. At most 100 columns are named; the empty name stands for
            the others.
        members: How much each member counts with `oracle="ensemble"`, by name; empty for other oracles.
        bytes: The size of the journal.
        problems: Why the loop is not ready, in words; empty where it is.
        warnings: What is wrong although the loop goes on, in words.
    """

    role: Literal["learner", "decider"]
    learner: str | None
    position: int
    time: int
    generation: int
    applied: int
    lag: int
    learned: int
    open: int
    early: int
    dead_letters: int
    counts: dict[str, int]
    bytes: int
    problems: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    left_out: dict[str, int] = field(default_factory=dict)
    members: dict[str, float] = field(default_factory=dict)

    @property
    def ready(self) -> bool:
        """Whether decisions can be made and acknowledged."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        lists = {"problems": list(self.problems), "warnings": list(self.warnings)}
        return {**asdict(self), **lists, "ready": self.ready}
