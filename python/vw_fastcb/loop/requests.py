"""What may be asked of a loop. `Loop`'s methods make these, and whoever has many at hand gives them all at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, TypeAlias


class Decide(NamedTuple):
    """See `Loop.decide`."""

    context: Any
    action_features: Any = None
    action_ids: Sequence[str] | None = None
    exclude: Collection[int | str] | None = None
    event_id: str | int | None = None
    activate: bool = True
    baseline: int | str | None = None


class Observe(NamedTuple):
    """See `Loop.reward` and `Loop.cost`.

    Attributes:
        event_id: The id of the decision.
        value: The reward, or the cost in a loop of costs.
        reward_id: With an id, it counts once.
        noun: "reward" or "cost", where only one of them will do.
    """

    event_id: str | int
    value: float
    reward_id: str | int | None = None
    noun: str | None = None


class Activate(NamedTuple):
    """See `Loop.activate`."""

    event_id: str | int


Request: TypeAlias = Decide | Observe | Activate
