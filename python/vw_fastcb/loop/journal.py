"""What a loop needs of a journal, wherever it is stored, and the errors that users see."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from vw_fastcb.loop.clocks import MOST_APART, shown
from vw_fastcb.loop.join import Waiting
from vw_fastcb.loop.records import Kind, Record


class LoopError(RuntimeError):
    """Something about a loop or its journal that the caller has to know.

    Attributes:
        baseline: The `baseline` of a decision that could not be made, as the caller gave it: what to do instead. It is
            not logged. None for everything else.
    """

    baseline: int | str | None = None


class Conflict(LoopError, ValueError):
    """An id was used before, with other content."""


class _Unknown(LoopError, KeyError):
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""  # KeyError would show it in quotation marks


class UnknownEvent(_Unknown):
    """There is no such event, or not any more."""


class UnknownGeneration(_Unknown):
    """There is no such generation, or not any more."""


class SettingsDiffer(LoopError, ValueError):
    """The journal was made with other settings."""


class JournalRefused(LoopError):
    """The file is no journal of this version, is damaged, or cannot be written to."""


class JournalFull(LoopError):
    """There was no room. Nothing of the request was stored; it may be tried again once there is."""


class JournalFailed(LoopError):
    """Writing failed in a way that leaves open what is on disk. Nothing more is acknowledged: open the loop again."""


class JournalUnreachable(LoopError):
    """The server of the journal does not answer, and nobody knows whether the request was stored. Ask again."""


class ClockDiffers(LoopError):
    """Two clocks are too far apart to give a record its time. Nothing was stored; set the one that is wrong."""


class Fenced(LoopError):
    """Another process has taken over learning. Nothing of what this one wanted to commit was stored."""


@dataclass(eq=False, slots=True)
class Draft:
    """A record that is to be written, and what came of it.

    Attributes:
        kind: As of a record.
        event_id: As of a record.
        value: As of a record.
        reward_id: As of a record.
        body: As of a record.
        request: Of a decision: what was asked for. The same event id with another request is a conflict.
        expected: Of settings, and of a rollback: the position of the settings that they are meant to change, or to fit.
        record: The record, once it is durable; the earlier one where the same was asked before.
        is_new: Whether this draft became the record.
        problem: Why it did not.
    """

    kind: Kind
    event_id: str | None = None
    value: float | None = None
    reward_id: str | None = None
    body: dict[str, Any] | None = None
    request: dict[str, Any] | None = None
    expected: int = 0
    record: Record | None = None
    is_new: bool = False
    problem: Exception | None = None


@dataclass(eq=False, slots=True)
class Task:
    """Something that only the holder of the lease may write.

    Attributes:
        run: Writes it, inside a commit.
        lease: Under which lease alone, if not under any.
        problem: Why it was not written.
    """

    run: Callable[[], None]
    lease: Lease | None = None
    problem: Exception | None = None


class Written(NamedTuple):
    """What a commit has brought.

    Attributes:
        records: For the holder of the lease: all records that it did not know, those of other processes among them.
        is_fenced: Whether the lease turned out to be lost.
    """

    records: list[Record]
    is_fenced: bool


@dataclass(frozen=True)
class Lease:
    """The right to learn: to write ticks and checkpoints.

    Attributes:
        epoch: Which holder this is; it grows with every one.
        holder: The process.
        is_live: Whether it is held at all.
    """

    epoch: int
    holder: str
    is_live: bool


@dataclass(frozen=True)
class Checkpoint:
    """The learner's state after the first `position` records.

    Attributes:
        generation: Its number; each is one above the last.
        position: How many records it has applied.
        time: The journal's time there.
        sha256: Of the model's bytes; empty where there is no model yet.
        events: How many events the model has learned.
        summary: Counts and settings, JSON's values.
    """

    generation: int
    position: int
    time: int
    sha256: str
    events: int
    summary: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class DeadLetter:
    """A record that could not be learned.

    Attributes:
        position: Of the decision.
        reason: Why.
    """

    position: int
    reason: str


@dataclass(frozen=True)
class NewCheckpoint:
    """A checkpoint that is to be committed.

    Attributes:
        checkpoint: What it says.
        model: The model's bytes.
        rows: The windows that changed since the generation before; None for those that are gone.
        dead_letters: Those found since the generation before.
        oldest: The position of the oldest record that a window refers to; None where there is none.
    """

    checkpoint: Checkpoint
    model: bytes
    rows: Sequence[tuple[int, Waiting | None]]
    dead_letters: Sequence[DeadLetter]
    oldest: int | None = None


class Journal(Protocol):
    """A durable, ordered log of records, with the checkpoints of its learner.

    `write` and the lease are for one thread at a time; reading is for any.

    Attributes:
        memory: How long ids are remembered, in milliseconds.
    """

    memory: float

    def now(self) -> int:
        """The time that a record would get now, in milliseconds, as far as this process knows."""
        ...

    def write(
        self,
        drafts: Sequence[Draft],
        tasks: Sequence[Task],
        lease: Lease | None = None,
        known: int = 0,
    ) -> Written:
        """Makes drafts and tasks durable in one commit, and sets what came of each.

        Where the lease is lost, the drafts are written all the same, and the tasks are not. With a lease, all records
        after the position `known` are returned.

        Raises:
            JournalFull: Nothing was written.
            JournalFailed: Nobody knows what was.
        """
        ...

    def is_free(self, position: int | None) -> bool:
        """Whether a commit would wait for nobody but the disk, and no record came after a position, if one is given."""
        ...

    def check(self) -> None:
        """Raises where the store is no longer the one that was opened."""
        ...

    def check_health(self) -> None:
        """Raises where nothing can be stored now, as far as that can be told without trying and without waiting."""
        ...

    def try_room(self) -> None:
        """Writes something and takes it away again; raises where there is no room. Between two commits."""
        ...

    def check_clock(self) -> None:
        """Raises where the time that a record would get now is in doubt, because two clocks contradict each other."""
        ...

    def abandon(self) -> None:
        """Drops what a commit that was interrupted has left behind."""
        ...

    def lease(self) -> Lease:
        """Who may learn now."""
        ...

    def take_lease(self, duration: int, *, by_force: bool = False) -> Lease | None:
        """Takes the lease for so many milliseconds; None where another process holds it."""
        ...

    def renewal(self, lease: Lease, duration: int) -> Task:
        """Holds the lease for so many milliseconds from now."""
        ...

    def release(self, lease: Lease) -> None:
        """Gives the lease back."""
        ...

    def checkpoint_tasks(self, new: NewCheckpoint) -> Iterator[Task]:
        """A checkpoint in small pieces, each for a commit of its own. Only the last one makes it count."""
        ...

    def pruning_tasks(self, keep: int, oldest_time: int | None) -> Iterator[Task]:
        """Drops generations but the newest few, and records that are older than a time and not needed any more."""
        ...

    def read(self, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        """The records after a position, in their order."""
        ...

    def decision(self, position: int) -> Record:
        """The decision at a position."""
        ...

    def decisions_by_state(self, upto: int) -> Iterator[tuple[int | None, int]]:
        """How many records had been applied when each decision was made, and its position, in that order.

        None for those that were imported.
        """
        ...

    def find(self, event_id: str, kind: Kind = "decision") -> list[Record]:
        """The records of a kind about an event."""
        ...

    def of_kind(self, kind: Kind, after: int = 0) -> list[Record]:
        """All records of a rare kind: settings, rollbacks, erasures."""
        ...

    def first(self) -> int:
        """The position of the oldest record that is kept."""
        ...

    def last(self) -> tuple[int, int]:
        """Position and time of the newest record."""
        ...

    def checkpoints(self) -> list[Checkpoint]:
        """Those that are kept, the oldest first."""
        ...

    def newest_generation(self) -> int:
        """The number of the newest checkpoint; 0 where there is none."""
        ...

    def windows(self, generation: int) -> list[dict[str, Any]]:
        """The join state of a checkpoint."""
        ...

    def dead_letters(self, generation: int | None = None, newest: int | None = None) -> list[DeadLetter]:
        """What could not be learned up to a checkpoint, the newest unless given; only so many, the newest, if asked."""
        ...

    def dead_letter_count(self) -> int:
        """How many there are up to the newest checkpoint, without reading them: there may be millions."""
        ...

    def model(self, sha256: str) -> bytes:
        """The bytes of a model."""
        ...

    def size(self) -> int:
        """Bytes on disk."""
        ...

    def copy_to(self, path: str | os.PathLike[str]) -> None:
        """Writes a copy of everything, as it is at one moment."""
        ...

    def empty_log(self, least: int = ...) -> None:
        """Upkeep of the store, by the holder of the lease, between two commits: where its log has so many bytes."""
        ...

    def close(self) -> None:
        """Gives everything back."""
        ...


def check_is_ahead(time: int, clock: int) -> None:
    """Raises where a journal's time is not ahead of a clock, so that there is nothing to mend."""
    if time - clock <= MOST_APART:
        raise Conflict(f"the journal's time is {shown(time)}, and the clock says {shown(clock)}: nothing to mend.")


def check_same(draft: Draft, decision: Record) -> None:
    """Raises where a decision with the same event id was about something else."""
    assert decision.body is not None
    if decision.body.get("erased"):
        raise Conflict(f"event {draft.event_id!r} was decided before and then erased; use a new event_id.")
    if any(decision.body.get(name) != asked for name, asked in (draft.request or {}).items()):
        raise Conflict(
            f"event {draft.event_id!r} was decided before, about something else; use an event_id of its own for each "
            "decision."
        )


def check_same_reward(draft: Draft, earlier: Record) -> None:
    """Raises where a reward with the same ids had another value."""
    if earlier.value != draft.value:
        raise Conflict(
            f"{draft.reward_id!r} of event {draft.event_id!r} was {earlier.value} before and is {draft.value} now; use "
            "a reward_id of its own for each reward."
        )
