"""The records of a journal in Redis: a stream, whose ids are their time and their position."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from vw_fastcb.loop.journal import JournalRefused, UnknownEvent
from vw_fastcb.loop.records import KINDS, Kind, Record
from vw_fastcb.loop.redis.store import Store

_READ_AT_ONCE = 500  # nobody else is answered meanwhile


class Records:
    """Reads records, for any thread.

    Args:
        store: The journal's keys.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(self, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        """The records after a position, in their order, in pieces."""
        end = self.last()[0] if upto is None else upto
        while after < end:
            piece = [as_record(one) for one in self._store.read("read", after, end, _READ_AT_ONCE)]
            if not piece:
                return
            yield from piece
            after = piece[-1].position

    def decision(self, position: int) -> Record:
        """The decision at a position."""
        found = self._store.server.ask(lambda client: client.hget(self._store.key("decisions"), position))
        if found is not None:
            when, event_id, body = found.split(b"\0", 2)
            return Record(position, int(when), "decision", event_id.decode(), body=body_of(body, position))
        for record in self.read(position - 1, position):
            return record
        raise UnknownEvent(f"there is no record {position}, or not any more.")

    def by_state(self, upto: int) -> Iterator[tuple[int | None, int]]:
        """See `Journal.decisions_by_state`. All decisions are read for it."""
        found = [
            ((record.body or {}).get("applied"), record.position)
            for record in self.read(0, upto)
            if record.kind == "decision"
        ]
        yield from sorted(found, key=lambda one: (one[0] is not None, *one))

    def find(self, event_id: str, kind: Kind = "decision") -> list[Record]:
        """The records of a kind about an event. All records are read for it."""
        return [record for record in self.read() if record.kind == kind and record.event_id == event_id]

    def of_kind(self, kind: Kind, after: int = 0) -> list[Record]:
        """All records of a rare kind: settings, rollbacks, erasures."""
        return [as_record(one) for one in self._store.read("of_kind", kind, after)]

    def first(self) -> int:
        """The position of the oldest record that is kept."""
        found = self._store.server.ask(lambda client: client.xrange(self._store.key("records"), count=1))
        return time_and_position(found[0][0])[1] if found else 0

    def last(self) -> tuple[int, int, int]:
        """Position and time of the newest record, and the server's time."""
        position, when, now = (int(number) for number in self._store.read("last"))
        return position, when, now


def time_and_position(id_: bytes) -> tuple[int, int]:
    """What the id of a record says."""
    when, _, position = id_.partition(b"-")
    return int(when), int(position)


def as_record(found: list[bytes]) -> Record:
    """A record as scripts give it."""
    id_, kind, event_id, of, value, reward_id, body, time = found
    when, position = time_and_position(id_)
    when = int(time) if time else when  # it was taken back since; ids only grow
    number = {name.encode(): number for number, name in enumerate(KINDS)}.get(kind)
    try:
        if number is None:
            raise ValueError(f"its kind is {kind.decode()!r}")
        return Record(
            position,
            when,
            KINDS[number],
            event_id.decode() or None,
            int(of),
            float(value) if value else None,
            reward_id.decode() or None,
            body_of(body, position) if body else None,
        )
    except ValueError as problem:
        raise JournalRefused(f"record {position} is damaged ({problem}). Use a backup.") from problem


def body_of(text: bytes, position: int) -> Any:
    """What a record says besides."""
    try:
        return json.loads(text)
    except ValueError as problem:
        raise JournalRefused(f"record {position} is damaged ({problem}). Use a backup.") from problem
