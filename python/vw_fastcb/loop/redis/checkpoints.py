"""The checkpoints of a journal in Redis.

The windows of a generation are the `windows`, which all kept generations build on, and the `changes` of each generation
since. A checkpoint writes only its changes, and its model in parts; both count once one script has made it the newest
generation. Changes of generations that are not kept any more are moved into the windows later.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from vw_fastcb._engine import to_json
from vw_fastcb.loop.join import Waiting, as_row
from vw_fastcb.loop.journal import Checkpoint, DeadLetter, JournalRefused, Lease, NewCheckpoint, Task, UnknownEvent
from vw_fastcb.loop.redis.records import Records
from vw_fastcb.loop.redis.store import Store

_MODEL_PART = 1 << 16  # bytes
_ROWS_AT_ONCE = 200  # in a script that others wait for
_SCANNED_AT_ONCE = 1000
_FEATURES = ("context", "action_features", "erased")


class Checkpoints:
    """Writes and reads checkpoints.

    Args:
        store: The journal's keys.
        records: The journal's records.
    """

    def __init__(self, store: Store, records: Records) -> None:
        self._store = store
        self._records = records
        self._clean: Lease | None = None  # since when no unfinished checkpoint can lie about

    # Writing

    def checkpoint_tasks(self, new: NewCheckpoint) -> Iterator[Task]:
        """A checkpoint in small pieces, each a script of its own. Only the last one makes it count."""
        if self._clean is None or self._clean != self._store.lease:
            yield Task(self._drop_unfinished)
        self._clean = None
        one = new.checkpoint
        if self._is_known(one.sha256) and self.model(one.sha256) != new.model:  # damaged; others have it, too
            yield Task(lambda: self._store.task("drop_model", one.sha256))
        parts = range(0, len(new.model), _MODEL_PART)
        for number, start in enumerate(parts):
            part = (one.generation, one.sha256, number, new.model[start : start + _MODEL_PART])
            yield Task(lambda part=part: self._store.task("stage_model", *part))  # type: ignore[misc]
        for start in range(0, len(new.rows), _ROWS_AT_ONCE):
            rows = list(_as_arguments(new.rows[start : start + _ROWS_AT_ONCE]))
            yield Task(lambda rows=rows: self._store.task("stage_windows", one.generation, *rows))  # type: ignore[misc]
        yield Task(lambda: self._commit(new, len(parts)))

    def _is_known(self, sha256: str) -> bool:
        return bool(self._store.server.ask(lambda client: client.hexists(self._store.key("models"), sha256)))

    def _commit(self, new: NewCheckpoint, n_parts: int) -> None:
        one = new.checkpoint
        said = {name: value for name, value in asdict(one).items() if name != "generation"} | {"oldest": new.oldest}
        letters = [to_json([letter.position, one.generation, letter.reason]) for letter in new.dead_letters]
        erased = list(self._erased(one))
        counts = (one.sha256, n_parts, len(letters), len(erased) // 2)
        self._store.task("commit", one.generation, to_json(said), *counts, *letters, *erased)
        self._clean = self._store.lease

    def _erased(self, new: Checkpoint) -> Iterator[str]:
        """What is left of events that were erased and that no learner will read again, by their positions."""
        before = max((one.position for one in self.checkpoints()), default=0)
        for erasure in self._records.of_kind("erasure", before):
            if erasure.position > new.position:
                return
            try:
                decision = self._records.decision(erasure.of)
            except UnknownEvent:  # retention has dropped it
                continue
            kept = {name: value for name, value in (decision.body or {}).items() if name not in _FEATURES}
            yield str(decision.position)
            yield f"{decision.time}\0{decision.event_id}\0{to_json({'erased': True} | kept)}"

    def _drop_unfinished(self) -> None:
        self._store.task("drop_unfinished")
        self._clean = self._store.lease

    def pruning_tasks(self, keep: int, oldest_time: int | None) -> Iterator[Task]:
        """Drops generations but the newest few, and records that are older than a time and not needed any more."""
        checkpoints = self.checkpoints()
        if not checkpoints:
            return
        gone, oldest = checkpoints[:-keep], checkpoints[-keep:][0]
        for one in gone:
            numbers = (one.generation, oldest.position)
            yield Task(lambda numbers=numbers: self._store.task("drop_generation", *numbers))  # type: ignore[misc]
        if gone:
            rows = self._rows_before(oldest.generation)
            for _ in range(-(-rows // _ROWS_AT_ONCE) + 1):
                yield Task(lambda: self._store.task("merge_windows", _ROWS_AT_ONCE))
            yield Task(lambda: self._store.task("drop_unfinished"))  # models that no generation has any more
        if oldest_time is None:
            return
        upto = self._last_before(oldest_time, self._first_needed() - 1)
        first = self._records.first()
        while first <= upto:
            end = min(upto, first + _ROWS_AT_ONCE - 1)
            yield Task(lambda end=end: self._store.task("drop_records", end, _ROWS_AT_ONCE))  # type: ignore[misc]
            first = end + 1

    def _rows_before(self, generation: int) -> int:
        """How many changes could be moved into the windows, once a generation is the oldest."""
        base = self._base()

        def ask(client: Any) -> list[int]:
            with client.pipeline(transaction=False) as pipe:
                for number in range(base + 1, generation + 1):
                    pipe.hlen(self._changes(number))
                return list(pipe.execute())

        return sum(self._store.server.ask(ask))

    def _first_needed(self) -> int:
        """The first record that a kept generation refers to."""
        rows = [json.loads(one) for one in self._rows().values()]
        return min(int(row["position"] if row["oldest"] is None else row["oldest"]) for row in rows)

    def _last_before(self, when: int, upto: int) -> int:
        """The position of the last record that is older than a time, up to a position; 0 where there is none."""
        if when <= 0:
            return 0
        found = self._store.server.ask(
            lambda client: client.xrevrange(self._store.key("records"), max=f"({when}-0", min="-", count=1)
        )
        return min(int(found[0][0].partition(b"-")[2]), upto) if found else 0

    # Reading

    def checkpoints(self) -> list[Checkpoint]:
        """Those that are kept, the oldest first."""
        rows = self._rows()
        try:
            return [_checkpoint(int(generation), json.loads(rows[generation])) for generation in sorted(rows, key=int)]
        except (ValueError, TypeError, KeyError) as problem:
            raise JournalRefused(f"a generation is damaged ({problem}). Use a backup.") from problem

    def _rows(self) -> dict[bytes, bytes]:
        """The generations, as they are stored."""
        return self._store.server.ask(lambda client: dict(client.hgetall(self._store.key("generations"))))

    def newest_generation(self) -> int:
        """The number of the newest checkpoint; 0 where there is none."""
        return int(self._store.server.ask(lambda client: client.hget(self._store.meta, "generation")) or 0)

    def windows(self, generation: int) -> list[dict[str, Any]]:
        """The join state of a checkpoint."""
        # Changes first: what is moved into the windows meanwhile is applied again, and nothing is missed.
        base = self._base()
        changes = [self._all_of(self._changes(number)) for number in range(base + 1, generation + 1)]
        rows = self._all_of(self._store.key("windows"))
        for one in changes:
            rows |= one
        try:
            return [json.loads(rows[position]) for position in sorted(rows, key=int) if rows[position]]
        except ValueError as problem:
            raise JournalRefused(
                f"the join state of generation {generation} is damaged ({problem}). Use a backup."
            ) from problem

    def dead_letters(self, generation: int | None = None, newest: int | None = None) -> list[DeadLetter]:
        """See `Journal`."""
        first = 0 if generation is not None or newest is None else -newest
        if newest == 0:
            return []
        found = self._store.server.ask(lambda client: client.lrange(self._store.key("dead_letters"), first, -1))
        rows = [json.loads(one) for one in found]
        letters = [
            DeadLetter(position, reason)
            for position, since, reason in rows
            if generation is None or since <= generation
        ]
        return letters if newest is None else letters[-newest:]

    def dead_letter_count(self) -> int:
        """See `Journal`. Redis keeps the length of a list."""
        return int(self._store.server.ask(lambda client: client.llen(self._store.key("dead_letters"))))

    def model(self, sha256: str) -> bytes:
        """The bytes of a model."""
        parts = self._store.server.ask(lambda client: client.hgetall(self._store.key(f"model:{sha256}")))
        return b"".join(parts[number] for number in sorted(parts, key=int))

    def _base(self) -> int:
        return int(self._store.server.ask(lambda client: client.hget(self._store.meta, "base")) or 0)

    def _changes(self, generation: int) -> str:
        return self._store.key(f"changes:{generation}")

    def _all_of(self, name: str) -> dict[bytes, bytes]:
        """A hash, read in pieces, so that nobody has to wait."""
        return self._store.server.ask(lambda client: dict(client.hscan_iter(name, count=_SCANNED_AT_ONCE)))


def _checkpoint(generation: int, said: dict[str, Any]) -> Checkpoint:
    return Checkpoint(generation, said["position"], said["time"], said["sha256"], said["events"], said["summary"])


def _as_arguments(rows: Sequence[tuple[int, Waiting | None]]) -> Iterator[str]:
    for position, one in rows:
        yield str(position)
        yield "" if one is None else to_json(as_row(one))
