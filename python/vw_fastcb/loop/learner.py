"""The learner: its state after the first n records of a journal is a function of those records alone."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import asdict
from typing import Any, NamedTuple, Protocol

from vw_fastcb._engine import ARITHMETIC
from vw_fastcb.loop.columns import count_left_out
from vw_fastcb.loop.contexts import Features
from vw_fastcb.loop.fingerprint import fingerprint
from vw_fastcb.loop.join import Join, Learn
from vw_fastcb.loop.journal import Checkpoint, DeadLetter, JournalRefused
from vw_fastcb.loop.model import Model, sha256
from vw_fastcb.loop.records import Kind, Record
from vw_fastcb.loop.settings import LoopSettings

_DECISIONS_AT_HAND = 4096
_BYTES_AT_HAND = 64 << 20  # of their features in memory, and as many of what a twin is still to learn


class Source(Protocol):
    """Where a learner looks up what earlier records said."""

    def decision(self, position: int) -> Record:
        """The decision at a position."""
        ...

    def read(self, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        """The records after a position, up to another."""
        ...

    def of_kind(self, kind: Kind, after: int = 0) -> list[Record]:
        """All records of a rare kind after a position."""
        ...

    def model(self, sha256: str) -> bytes:
        """The bytes of a model that is kept."""
        ...


class Asked(NamedTuple):
    """What learning needs of a decision."""

    context: Features
    action_features: list[Features] | None
    action: int

    @property
    def size(self) -> int:
        """Bytes in memory, about: of words and numbers that nobody else has."""
        return sum(map(_size_of, (self.context, *(self.action_features or ()))))


class Learner:
    """Settings, join state and model, changed by one record after another.

    Args:
        source: The journal.
        settings: Those that it begins with.
        model: The model that it begins with.
        snapshots: The positions whose model is to be kept, because a rollback goes back there.

    Attributes:
        position: How many records were applied.
        time: The time of the last one.
        settings: The current ones.
        join: What waits for rewards.
        model: What was learned.
        dead_letters: What could not be learned, since this was last emptied.
        left_out: How many values did not fit their column and were left out, by column; see `count_left_out`.
        updates: What the model has learned since this was last emptied; None where it was replaced, and where it is too
            much to keep.
    """

    def __init__(
        self, source: Source, settings: LoopSettings, model: Model, *, snapshots: Collection[int] = ()
    ) -> None:
        self.position = 0
        self.time = 0
        self.settings = settings
        self.join = Join(settings.join)
        self.model = model
        self.dead_letters: list[DeadLetter] = []
        self.left_out: dict[str, int] = {}
        self.updates: list[tuple[Asked, float]] | None = None
        self._source = source
        self._is_relearning = False
        self._snapshots: dict[int, bytes | None] = dict.fromkeys(snapshots)
        self._at_hand: OrderedDict[int, tuple[Asked, int]] = OrderedDict()  # with their sizes
        self._at_hand_size = self._updates_size = 0

    @classmethod
    def begin(cls, source: Source, first: Record, *, snapshots: Collection[int] = ()) -> Learner:
        """The learner after the first record of a journal, its settings."""
        assert first.body is not None
        settings = LoopSettings.from_json(first.body["settings"])
        initial = first.body.get("model", "")
        content = source.model(initial) if initial else b""
        model = Model(settings.model, content, settings.rules, is_new=True, arithmetic=_arithmetic(first.body))
        learner = cls(source, settings, model, snapshots=snapshots)
        learner.position, learner.time = first.position, first.time
        learner._keep_snapshot()
        return learner

    @classmethod
    def at(
        cls, source: Source, checkpoint: Checkpoint, windows: list[dict[str, Any]], *, snapshots: Collection[int] = ()
    ) -> Learner:
        """The learner that made a checkpoint."""
        settings = LoopSettings.from_json(checkpoint.summary["settings"])
        content = source.model(checkpoint.sha256) if checkpoint.sha256 else b""
        if sha256(content) != checkpoint.sha256:
            raise JournalRefused(f"the model of generation {checkpoint.generation} is damaged; use a backup.")
        arithmetic = _arithmetic_at(source, checkpoint.position)
        model = Model(settings.model, content, settings.rules, arithmetic=arithmetic)
        learner = cls(source, settings, model, snapshots=snapshots)
        learner.left_out = dict(checkpoint.summary.get("left_out", {}))
        learner.position, learner.time = checkpoint.position, checkpoint.time
        learner.join.restore(windows, checkpoint.summary["counts"])
        learner._keep_snapshot()
        return learner

    def apply(self, record: Record) -> None:
        """Takes the next record."""
        if not is_sound(record):
            self._skip(record)
            return
        is_usable = record.kind != "decision" or self._remember(record)
        for effect in self.join.apply(record, is_usable=is_usable):
            if isinstance(effect, Learn):
                self._learn(effect)
            else:
                self.dead_letters.append(DeadLetter(effect.position, effect.reason))
        if record.kind == "settings":
            self._change(record)
        elif record.kind == "rollback":
            self._roll_back(record)
        elif record.kind == "erasure":
            self._let_go(record.of)
        self.position, self.time = record.position, record.time
        self._keep_snapshot()

    def _skip(self, record: Record) -> None:
        """A record that somebody has spoiled is a dead letter; but nobody can go on without what changes everything."""
        if record.kind in ("settings", "rollback", "clock") or not isinstance(record.time, int):
            raise JournalRefused(f"record {record.position} ({record.kind}) is damaged; use a backup.")
        self.dead_letters.append(DeadLetter(record.position, f"the {record.kind} is damaged."))
        self.position, self.time = record.position, record.time
        self._keep_snapshot()

    def snapshot_sha256(self, position: int) -> str | None:
        """Of the model at a position that was to be kept; None where it was not reached."""
        content = self._snapshots.get(position)
        return None if content is None else sha256(content)

    def summary(self) -> dict[str, Any]:
        """What a checkpoint says besides model and windows."""
        return {
            "settings": self.settings.to_json(),
            "counts": asdict(self.join.counts),
            "open": len(self.join.windows),
            "early": sum(map(len, self.join.early.values())),
            "engine": fingerprint(),
            **({"left_out": dict(self.left_out)} if self.left_out else {}),  # checkpoints of 0.3 have no such word
        }

    # Inside

    def _change(self, record: Record) -> None:
        """New settings. Windows that are open keep theirs; the model is kept, relearned, or begun afresh."""
        assert record.body is not None
        settings = LoopSettings.from_json(record.body["settings"])
        self.join.settings = settings.join
        if self._is_relearning:
            return  # the model has the settings that it is relearned for
        self.settings, self.updates = settings, None
        since = record.body.get("relearn_from")
        if since is None:
            self.model = self.model.with_settings(settings.model, settings.rules)
        elif since == 0:
            self.model = Model(settings.model, rules=settings.rules, arithmetic=_arithmetic(record.body))
        else:
            self.model = self._relearned(settings, since, record)

    def _relearned(self, settings: LoopSettings, since: int, until: Record) -> Model:
        """What a model with these settings learns from the records from a position to before another record."""
        rollbacks = [one.body or {} for one in self._source.of_kind("rollback", since - 1)]
        targets = {one["position"] for one in rollbacks}
        begun = Model(settings.model, rules=settings.rules, arithmetic=_arithmetic(until.body or {}))
        again = Learner(self._source, settings, begun, snapshots=targets)
        again._is_relearning = True
        for record in self._source.read(since - 1, until.position - 1):
            again.apply(record)
        again.apply(Record(until.position, until.time, "tick"))  # what has closed by then is learned, too
        return again.model

    def _remember(self, record: Record) -> bool:
        """Fixes the columns by a decision; False where it contradicts them and cannot be learned."""
        assert record.body is not None
        if record.body.get("erased"):
            return False
        try:
            asked = _asked(record.body)
            count_left_out(self.left_out, self.model.remember(asked.context, asked.action_features))
        except (ValueError, TypeError, KeyError) as problem:
            self.dead_letters.append(DeadLetter(record.position, f"the decision cannot be learned: {problem}"))
            return False
        size = asked.size
        self._at_hand[record.position] = asked, size
        self._at_hand_size += size
        while len(self._at_hand) > _DECISIONS_AT_HAND or self._at_hand_size > _BYTES_AT_HAND:
            self._let_go(next(iter(self._at_hand)))
        return True

    def _let_go(self, position: int) -> None:
        """Of a decision at hand; the journal has it."""
        _, size = self._at_hand.pop(position, (None, 0))
        self._at_hand_size -= size

    def _learn(self, effect: Learn) -> None:
        try:
            asked, size = self._at_hand.get(effect.position) or (None, 0)
            if asked is None:
                asked = _asked(self._source.decision(effect.position).body or {})
                size = asked.size
            self.model.learn(asked.context, asked.action_features, asked.action, effect.value)
        except (ValueError, TypeError, KeyError) as problem:
            self.join.take_back(effect)
            self.dead_letters.append(DeadLetter(effect.position, f"the outcome cannot be learned: {problem}"))
            return
        if self.updates is not None:
            self._updates_size = size + (self._updates_size if self.updates else 0)
            self.updates.append((asked, effect.value))
            if self._updates_size > _BYTES_AT_HAND:
                self.updates = None

    def _roll_back(self, record: Record) -> None:
        assert record.body is not None
        content = self._snapshots.get(record.body["position"])
        if self._is_relearning:
            content = content or b""  # what was before is not learned again, and cannot be gone back to
        if content is None:
            content = self._source.model(record.body["sha256"]) if record.body["sha256"] else b""
            if record.body["sha256"] and not content:
                raise JournalRefused(f"generation {record.body['generation']}, to go back to, is not kept any more.")
        arithmetic = self.model.arithmetic
        self.model = Model(self.settings.model, content, self.settings.rules, is_new=True, arithmetic=arithmetic)
        self.updates = None

    def _keep_snapshot(self) -> None:
        if self.position in self._snapshots:
            self._snapshots[self.position] = self.model.to_bytes()


def _arithmetic(body: dict[str, Any]) -> int:
    """Under which a record has a model begin. Journals that 0.3 has made, and changes made by it, do not say so."""
    return int(body.get("arithmetic", 0))


def _arithmetic_at(source: Source, position: int) -> int:
    """Under which a model would have begun that has learned nothing by a position."""
    settings = [one for one in source.of_kind("settings") if one.position <= position]
    begun = [one.body or {} for one in settings if one.position == 1 or "relearn_from" in (one.body or {})]
    return _arithmetic(begun[-1]) if begun else ARITHMETIC


def _asked(body: dict[str, Any]) -> Asked:
    if "context" not in body or type(body.get("action")) is not int:
        raise ValueError("it has no context, or no action.")
    return Asked(body["context"], body.get("action_features"), body["action"])


def _size_of(row: Features) -> int:
    if isinstance(row, list):
        return sys.getsizeof(row) + 32 * len(row)
    return sys.getsizeof(row) + sum(map(sys.getsizeof, row)) + sum(map(sys.getsizeof, row.values()))


def is_sound(record: Record) -> bool:
    """Whether a record says what its kind has to say."""
    is_sound = type(record.time) is int
    if record.kind in ("decision", "reward", "activation", "erasure"):
        is_sound = is_sound and type(record.event_id) is str and type(record.of) is int
    if record.kind == "reward":
        return is_sound and type(record.value) in (float, int)
    if record.kind in ("decision", "settings", "rollback"):
        return is_sound and type(record.body) is dict
    if record.kind == "clock":
        return is_sound and type(record.body) is dict and type(record.body.get("before")) is int
    return is_sound
