"""What a journal holds: records in the order in which they became durable."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["decision", "activation", "reward", "tick", "rollback", "settings", "erasure", "clock"]
KINDS: tuple[Kind, ...] = ("decision", "activation", "reward", "tick", "rollback", "settings", "erasure", "clock")


class Record(NamedTuple):
    """One record of a journal.

    Attributes:
        position: Its place in the journal, from 1, without gaps.
        time: The journal's time in milliseconds, which goes back with a record of the kind "clock" alone.
        kind: What it says.
        event_id: The event that a decision, an activation, a reward or an erasure is about.
        of: The position of that event's decision; 0 where it was not known when the record was written.
        value: The reward, or the cost in a loop of costs.
        reward_id: The id that came with a reward.
        body: What a decision, a rollback, a change of settings or of the clock says besides. JSON.
    """

    position: int
    time: int
    kind: Kind
    event_id: str | None = None
    of: int = 0
    value: float | None = None
    reward_id: str | None = None
    body: dict[str, Any] | None = None
