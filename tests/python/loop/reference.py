"""What a loop has to be equal to: one learner that reads the finished journal from its first record, undisturbed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from loop.support import journal_at
from vw_fastcb.loop.journal import Journal
from vw_fastcb.loop.learner import Learner
from vw_fastcb.loop.model import sha256
from vw_fastcb.loop.records import Record
from vw_fastcb.loop.sqlite import SqliteJournal

# Gives back what was erased of an event, which the journal does not know any more.
Restore = Callable[[str], dict[str, Any]]


@dataclass(frozen=True)
class State:
    """A learner's state after so many records.

    Attributes:
        position: How many.
        sha256: Of the model's bytes.
        events: How many events it has learned.
        counts: What has become of the records.
        waiting: Open windows, and what waits for its decision, in the order of positions.
    """

    position: int
    sha256: str
    events: int
    counts: dict[str, int]
    waiting: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, learner: Learner) -> State:
        join = learner.join
        rows = tuple(json.dumps(row) for _, row in sorted(join.all_rows().items()))
        model = learner.model
        return cls(learner.position, sha256(model.to_bytes()), model.events, asdict(join.counts), rows)


class _Whole:
    """A journal to read from, with what was erased put back. No model is read from it: all are learned again."""

    def __init__(self, journal: Journal, restore: Restore | None) -> None:
        self.journal = journal
        self._restore = restore

    def read(self, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        return map(self._restored, self.journal.read(after, upto))

    def decision(self, position: int) -> Record:
        return self._restored(self.journal.decision(position))

    def of_kind(self, kind: Any, after: int = 0) -> list[Record]:
        return self.journal.of_kind(kind, after)

    def model(self, sha256: str) -> bytes:
        raise AssertionError("the reference learns every model by itself")

    def _restored(self, record: Record) -> Record:
        if record.kind != "decision" or not record.body or not record.body.get("erased") or self._restore is None:
            return record
        body = {name: value for name, value in record.body.items() if name != "erased"}
        return record._replace(body=body | self._restore(record.event_id or ""))


class Fold:
    """One learner that reads a journal from its first record on."""

    def __init__(self, journal: Journal, restore: Restore | None = None) -> None:
        targets = {record.body["position"] for record in journal.of_kind("rollback") if record.body}
        self._source = _Whole(journal, restore)
        first = next(self._source.read())
        assert first.position == 1, "the first record is not kept"
        self.learner = Learner.begin(self._source, first, snapshots=targets)

    def read(self, journal: Journal, positions: Iterable[int] = ()) -> dict[int, State]:
        """Goes on to the end of the journal. Gives the states after so many records, and the last one."""
        self._source.journal = journal
        learner = self.learner
        wanted = {*positions, journal.last()[0]}
        found = {learner.position: State.of(learner)} if learner.position in wanted else {}
        for record in self._source.read(learner.position):
            assert record.position == learner.position + 1, f"a gap after {learner.position}"
            assert record.time >= learner.time or record.kind == "clock", f"time goes back at {record.position}"
            learner.apply(record)
            if record.position in wanted:
                found[record.position] = State.of(learner)
        return found


def undisturbed(path: str | Path, restore: Restore | None = None) -> State:
    """The state after the last record."""
    with journal_at(path) as journal:
        return Fold(journal, restore).read(journal)[journal.last()[0]]


def recovered(journal: Journal) -> dict[int, State]:
    """The state of every generation that is kept, by its number, as the journal has it."""
    found = {}
    for one in journal.checkpoints():
        content = journal.model(one.sha256) if one.sha256 else b""
        assert sha256(content) == one.sha256, f"the model of generation {one.generation} is not what it was"
        learner = Learner.at(journal, one, journal.windows(one.generation))
        assert (learner.model.events, learner.time) == (one.events, one.time)
        found[one.generation] = State.of(learner)
    return found


def check(path: str | Path, restore: Restore | None = None) -> dict[int, State]:
    """Asserts that a journal is whole: no gaps, and every generation is what the records before it make. Gives them."""
    with journal_at(path) as journal:
        return check_open(journal, Fold(journal, restore))


def check_open(journal: Journal, fold: Fold) -> dict[int, State]:
    """The same. The fold is at the end of the journal then."""
    if isinstance(journal, SqliteJournal):
        assert journal._db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    kept = recovered(journal)
    expected = fold.read(journal, {one.position for one in kept.values()})
    for generation, state in kept.items():
        assert state == expected[state.position], f"generation {generation} is not what the records make"
    return kept
