"""Recomputes what a journal says happened: every probability, and every model."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vw_fastcb.loop.fingerprint import fingerprint
from vw_fastcb.loop.journal import Checkpoint, Journal, LoopError, UnknownEvent
from vw_fastcb.loop.learner import Learner, is_sound
from vw_fastcb.loop.model import sha256
from vw_fastcb.loop.records import Record

TOLERANCE = 1e-5  # of probabilities that another engine has computed, which rounds in float32
_AHEAD = 2000  # records that are read before they are applied
_UNKNOWN = "unknown"  # the retention before a change that an older version wrote


@dataclass
class Replay:
    """What a replay has found.

    Attributes:
        start: The position that it began after.
        gaps: First and last position of records that could not be applied, because features they need were erased.
        records: How many records were applied.
        decisions: How many decisions were computed again.
        exact: How many of them had to be equal bit for bit; the others were made by another engine.
        unchecked: Decisions that could not be: imported, erased, or made from a state before the start.
        generations: How many checkpoints were compared.
        largest: The largest difference between two probabilities.
        learned: How many events the model has learned in the end.
        sha256: Of the model in the end.
        counts: What has become of the records.
        differences: What is not as the journal says, in words, the first one first; at most ten.
    """

    start: int
    gaps: list[tuple[int, int]] = field(default_factory=list)
    records: int = 0
    decisions: int = 0
    exact: int = 0
    unchecked: int = 0
    generations: int = 0
    largest: float = 0.0
    learned: int = 0
    sha256: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        """Whether everything that could be checked is as the journal says, and something could."""
        return not self.differences and (self.records > 0 or not self.unchecked)

    def differ(self, what: str) -> None:
        """Notes something that is not as the journal says."""
        if len(self.differences) < 10:
            self.differences.append(what)


def replay(journal: Journal, progress: Callable[[int, int], None] = lambda done, total: None) -> Replay:
    """Applies the whole journal to a new learner and compares.

    Args:
        journal: The journal, which others may go on using.
        progress: Told of the position that was reached and of the last one, now and then.

    Returns:
        What was found.
    """
    found = Replay(start=journal.last()[0])
    try:
        _Verifier(journal, found, progress).run()
    except LoopError as problem:  # something that cannot be read at all
        found.differ(str(problem))
    return found


class _Verifier:
    """One replay, stretch by stretch."""

    def __init__(self, journal: Journal, found: Replay, progress: Callable[[int, int], None]) -> None:
        self._journal = journal
        self._found = found
        self._progress = progress
        self._end = found.start
        self._checkpoints = journal.checkpoints()
        self._is_one_engine = all(one.summary.get("engine") == fingerprint() for one in self._checkpoints)
        self._by_position = {one.position: one for one in self._checkpoints}
        self._positions = {one.generation: one.position for one in self._checkpoints}
        self._newest = max(self._positions, default=0)
        self._decisions = _Decisions(journal, self._end, found)

    def run(self) -> None:
        self._check_ends()
        is_first = True
        for learner, upto in _stretches(self._journal, self._checkpoints, self._end):
            if is_first:
                self._found.start, is_first = learner.position, False
            else:
                self._found.gaps[-1] = (self._found.gaps[-1][0], learner.position)
            if upto < self._end:
                self._found.gaps.append((upto + 1, self._end))
            self._replay(learner, upto)
            self._found.learned, self._found.counts = learner.model.events, learner.summary()["counts"]
            self._found.sha256 = sha256(learner.model.to_bytes())
        self._decisions.finish()
        self._progress(self._end, self._end)

    def _check_ends(self) -> None:
        """Whether records are missing at the beginning or at the end, and models that no stretch may reach."""
        first = self._journal.first()
        if first > 1 and not self._had_retention():
            self._found.differ(f"records 1 to {first - 1} are missing, although the journal keeps them for ever.")
        for one in self._checkpoints:
            if sha256(self._journal.model(one.sha256)) != one.sha256:
                self._found.differ(f"generation {one.generation}: the bytes of its model are not those it was made of.")
            if one.position > self._end:
                self._found.differ(f"generation {one.generation} has seen {one.position} records, of {self._end}.")

    def _had_retention(self) -> bool:
        """Whether some setting may have ordered that records be dropped.

        The record that switched it off is younger than all that were dropped, so it is still there.
        """
        changes = [one.body or {} for one in self._journal.of_kind("settings")]
        kept = [one.summary["settings"] for one in self._checkpoints] + [one.get("settings", {}) for one in changes]
        before = [one.get("retention_before", _UNKNOWN) for one in changes]
        return any(one is not None for one in [*(settings.get("retention") for settings in kept), *before])

    def _replay(self, learner: Learner, upto: int) -> None:
        ahead = _Ahead(self._journal, learner.position, upto)
        at = learner.position
        try:
            while True:
                if learner.position in self._by_position:
                    self._compare_state(learner, self._by_position[learner.position])
                for at in self._decisions.made_at(learner.position):
                    self._check_generation(learner.position, ahead.get(at))
                    _compare_decision(learner, ahead.get(at), self._found)
                record = ahead.next()
                if record is None:
                    if learner.position < upto:  # SQLite may read a part of a damaged file without a word
                        self._found.differ(f"records {learner.position + 1} to {upto} cannot be read.")
                    return
                at = record.position
                self._check_order(learner, record)
                learner.apply(record)
                self._found.records += 1
                if self._found.records % 1000 == 0:
                    self._progress(learner.position, self._end)
        except Exception as problem:  # whatever somebody has written into it
            self._found.differ(f"record {at} is damaged, or one before it: {_in_words(problem)}")

    def _check_generation(self, applied: int, record: Record) -> None:
        """A decision is based on a checkpoint that was there, and that had not seen more than the decision had."""
        said = (record.body or {}).get("generation")
        if type(said) is not int or not 0 <= said <= self._newest or self._positions.get(said, 0) > applied:
            self._found.differ(
                f"record {record.position} says that it is based on generation {said}; the newest is {self._newest}, "
                f"and {applied} records had been applied."
            )

    def _check_order(self, learner: Learner, record: Record) -> None:
        if not is_sound(record):
            self._found.differ(f"record {record.position} is damaged.")
            return
        if record.position != learner.position + 1:
            self._found.differ(f"record {learner.position + 1} is missing.")
        if record.kind == "clock":
            before = (record.body or {})["before"]
            if before != learner.time and learner.position == record.position - 1:
                self._found.differ(
                    f"record {record.position} says that the time before it was {before} ms, and it was {learner.time}."
                )
        elif record.time < learner.time:
            self._found.differ(f"record {record.position} is of {record.time} ms, before the one before it.")
        if record.kind == "rollback":
            body = record.body or {}
            ours, said = learner.snapshot_sha256(body["position"]), body["sha256"]
            if ours not in (None, said) and self._is_one_engine:
                self._found.differ(f"record {record.position} goes back to the model {said}, which was {ours} then.")

    def _compare_state(self, learner: Learner, one: Checkpoint) -> None:
        """What a checkpoint says, against what comes out of the records up to it."""
        self._found.generations += 1
        where = f"generation {one.generation}, at record {one.position}"
        ours, said = learner.summary(), dict(one.summary)
        is_same_engine = said.pop("engine", fingerprint()) == ours.pop("engine")
        model = sha256(learner.model.to_bytes())
        if model != one.sha256 and is_same_engine:
            self._found.differ(f"{where}: the model is {one.sha256}, not {model}.")
        if (learner.time, learner.model.events) != (one.time, one.events):
            self._found.differ(
                f"{where}: {one.events} events at {one.time} ms, not {learner.model.events} at {learner.time} ms."
            )
        for name in ours | said:
            if _plain(ours.get(name)) != said.get(name):
                self._found.differ(f"{where}: {name} is {said.get(name)}, not {ours.get(name)}.")
        rows = {row["position"]: row for row in self._journal.windows(one.generation)}
        if {position: _as_read(row) for position, row in learner.join.all_rows().items()} != rows:
            self._found.differ(f"{where}: the decisions that wait for rewards are others.")
        if self._found.start == 1 and not self._found.gaps:
            letters = self._journal.dead_letters(one.generation)
            if letters != learner.dead_letters:
                self._found.differ(f"{where}: the dead letters are {letters}, not {learner.dead_letters}.")


def _plain(value: Any) -> Any:
    """As JSON gives it back."""
    return json.loads(json.dumps(value))


def _as_read(row: dict[str, Any]) -> dict[str, Any]:
    """A window as JSON gives it back; there may be very many."""
    return row | {"settings": list(row["settings"])} if "settings" in row else row


def _in_words(problem: Exception) -> str:
    if isinstance(problem, KeyError) and not isinstance(problem, LoopError):
        return f"it has no {problem}."
    return f"{problem} ({type(problem).__name__})"


def _stretches(journal: Journal, checkpoints: list[Checkpoint], end: int) -> Iterator[tuple[Learner, int]]:
    """Where a replay can begin, and how far it can go from there.

    It begins with the first record. Features that were erased end a stretch; it goes on with the oldest checkpoint from
    which everything that is needed is still there.
    """
    rollbacks = journal.of_kind("rollback")
    targets = [(one.body or {})["position"] for one in rollbacks]
    erasures = [(one.of, one.position) for one in journal.of_kind("erasure")]
    erased = [(of, position) for of, position in erasures if _is_erased(journal, of)]
    relearned = [
        (since, change.position)
        for change in journal.of_kind("settings")
        if (since := (change.body or {}).get("relearn_from"))
    ]
    upto = 0
    if journal.first() == 1:
        upto = min((of - 1 for of, _ in erased), default=end)
        yield Learner.begin(journal, next(journal.read(0, 1)), snapshots=targets), upto
    if upto == end:
        return
    kept = {one.sha256 for one in checkpoints} | {""}
    first = journal.first()
    for one in checkpoints:
        windows = journal.windows(one.generation)
        waiting = {row["position"] for row in windows}
        ahead = [(since, change) for since, change in relearned if change > one.position]
        has_features = all(
            one.position >= position
            or (
                of <= one.position
                and of not in waiting
                and not any(since <= of and change < position for since, change in ahead)  # learned again, then erased
            )
            for of, position in erased
        )
        has_models = all(
            (back.body or {})["position"] >= one.position or (back.body or {})["sha256"] in kept
            for back in rollbacks
            if back.position > one.position
        )
        has_records = all(since >= first for since, _ in ahead)
        if one.position > upto and has_features and has_models and has_records:
            yield Learner.at(journal, one, windows, snapshots=targets), end
            return


def _is_erased(journal: Journal, position: int) -> bool:
    try:
        return bool((journal.decision(position).body or {}).get("erased"))
    except UnknownEvent:  # dropped since
        return False


class _Ahead:
    """Records in their order, with a look at those that come later."""

    def __init__(self, journal: Journal, after: int, upto: int) -> None:
        self._journal = journal
        self._records = journal.read(after, upto)
        self._waiting: dict[int, Record] = {}
        self._newest = after

    def next(self) -> Record | None:
        if not self._waiting and not self._read_one():
            return None
        return self._waiting.pop(next(iter(self._waiting)))

    def get(self, position: int) -> Record:
        while self._newest < position and len(self._waiting) < _AHEAD and self._read_one():
            pass
        return self._waiting.get(position) or self._journal.decision(position)

    def _read_one(self) -> bool:
        record = next(self._records, None)
        if record is None:
            return False
        self._waiting[record.position] = record
        self._newest = record.position
        return True


class _Decisions:
    """The decisions of a journal, by the state that they were made from."""

    def __init__(self, journal: Journal, end: int, found: Replay) -> None:
        self._rows: Iterator[tuple[int | None, int]] = journal.decisions_by_state(end)
        self._found = found
        self._next = next(self._rows, None)

    def made_at(self, applied: int) -> Iterator[int]:
        """The positions of those that were made from a state. Those of states before it could not be checked."""
        while self._next is not None and (self._next[0] is None or self._next[0] <= applied):
            made_from, position = self._next
            if made_from == applied:
                yield position
            else:
                self._found.unchecked += 1
            if made_from is not None and made_from >= position:
                self._found.differ(
                    f"record {position} says that {made_from} records had been applied when it was made."
                )
            self._next = next(self._rows, None)

    def finish(self) -> None:
        """Those of states that were not reached."""
        for _ in self.made_at(sys.maxsize):
            pass


def _compare_decision(learner: Learner, record: Record, found: Replay) -> None:
    body: dict[str, Any] = record.body or {}
    if body.get("erased"):
        found.unchecked += 1
        return
    excluded = {*body.get("exclude", ()), *learner.settings.retired_numbers}
    assert record.event_id is not None
    drawn = learner.model.decide(body["context"], body.get("action_features"), sorted(excluded), record.event_id)
    said, ours = body["pmf"], drawn.pmf.tolist()
    found.decisions += 1
    where = f"record {record.position}, event {record.event_id!r}"
    if len(said) != len(ours):
        found.differ(f"{where}: the pmf has {len(said)} actions, not {len(ours)}.")
        return
    difference = 0.0 if said == ours else float(np.abs(np.array(said) - drawn.pmf).max())
    found.largest = max(found.largest, difference)
    is_same_engine = body.get("engine") == fingerprint()
    found.exact += is_same_engine
    if body["learned"] != learner.model.events:
        found.differ(f"{where}: {body['learned']} events had been learned, it says, and not {learner.model.events}.")
    if difference > (0.0 if is_same_engine else TOLERANCE):
        found.differ(f"{where}: the pmf is {said}, not {ours}.")
    elif drawn.draw != body["draw"] or (is_same_engine and drawn.action != body["action"]):
        found.differ(f"{where}: action {body['action']} was drawn with {body['draw']}, not {drawn.action}.")
