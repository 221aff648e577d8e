"""A journal in one SQLite file, for any number of threads and processes of one machine."""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import logging
import os
import random
import secrets
import shutil
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from vw_fastcb._engine import to_json as _json
from vw_fastcb.loop.clocks import MOST_APART, Stamp, ahead_of_boot, now, uptime
from vw_fastcb.loop.clocks import shown as shown_clock
from vw_fastcb.loop.files import new_file, sync_folder
from vw_fastcb.loop.guard import Guard, check_name
from vw_fastcb.loop.join import Waiting, as_row
from vw_fastcb.loop.journal import (
    Checkpoint,
    ClockDiffers,
    Conflict,
    DeadLetter,
    Draft,
    Fenced,
    JournalFailed,
    JournalFull,
    JournalRefused,
    Lease,
    LoopError,
    NewCheckpoint,
    Task,
    UnknownEvent,
    UnknownGeneration,
    Written,
    check_is_ahead,
    check_same,
    check_same_reward,
)
from vw_fastcb.loop.processes import Process
from vw_fastcb.loop.records import KINDS, Kind, Record
from vw_fastcb.loop.sqlite_codes import Code, code_of

_log = logging.getLogger("vw_fastcb.loop")

SCHEMA = 1
_APPLICATION = 0x46434231  # "FCB1", in the file's header
_KIND = {kind: number for number, kind in enumerate(KINDS)}
# SQLite moves its write-ahead log to the file when it has so many pages. It then uses the log's space again, which is
# what makes a commit fast. Only the holder of the lease does it: SQLite 3.40 has a defect where several processes do.
_LOG_PAGES = 1000
_PATIENCE = 30.0  # seconds that a writer waits for other processes
_MODEL_PART = 1 << 16  # bytes in a row
_ROWS_AT_ONCE = 200  # in a transaction that others wait for
_PARTS_AT_ONCE = 8  # of a model that is dropped
_CHARACTERS_AT_ONCE = 4 << 20  # of their bodies
_READ_AT_ONCE = 1000  # in a read, which keeps SQLite from using its write-ahead log again

# Windows and dead letters say between which generations they are part of the join state: a checkpoint writes what
# changed since the last one, and older generations stay as they were.
_TABLES = f"""
CREATE TABLE record (
  position INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  event_id TEXT,
  of INTEGER NOT NULL,
  value REAL,
  reward_id TEXT,
  body TEXT
);
CREATE INDEX decision_by_event ON record (event_id) WHERE kind = {_KIND["decision"]};
CREATE INDEX activation_by_event ON record (event_id) WHERE kind = {_KIND["activation"]};
CREATE INDEX erasure_by_event ON record (event_id) WHERE kind = {_KIND["erasure"]};
CREATE INDEX erasure ON record (position) WHERE kind = {_KIND["erasure"]};
CREATE INDEX reward_by_id ON record (event_id, reward_id) WHERE reward_id IS NOT NULL;
CREATE INDEX rollback ON record (position) WHERE kind = {_KIND["rollback"]};
CREATE INDEX settings ON record (position) WHERE kind = {_KIND["settings"]};
CREATE TABLE generation (
  generation INTEGER PRIMARY KEY,
  position INTEGER NOT NULL,
  time INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  events INTEGER NOT NULL,
  summary TEXT NOT NULL
);
CREATE TABLE model (sha256 TEXT NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (sha256, part));
CREATE TABLE window (
  position INTEGER NOT NULL,
  since INTEGER NOT NULL,
  until INTEGER,
  body TEXT NOT NULL,
  PRIMARY KEY (position, since)
);
CREATE INDEX window_gone ON window (until) WHERE until IS NOT NULL;
CREATE TABLE dead_letter (position INTEGER NOT NULL, since INTEGER NOT NULL, reason TEXT NOT NULL);
CREATE TABLE lease (epoch INTEGER NOT NULL, process TEXT NOT NULL, expires INTEGER NOT NULL, clock TEXT);
INSERT INTO lease VALUES (0, '', 0, NULL);
"""
_RECORD = "SELECT position, time, kind, event_id, of, value, reward_id, body FROM record"


# Whoever commits for many asks one question and adds all rows at once: after each statement other threads go on, and it
# waits for its turn again.
def _head(which: str) -> str:
    """The lease, its holder's clock, the last record, and the decisions of events."""
    decisions = (
        "SELECT json_group_array(json_array(event_id, position, time)) FROM record "
        f"WHERE kind = {_KIND['decision']} AND event_id {which}"
    )
    return (
        f"SELECT epoch, process, clock, coalesce(position, 0), coalesce(time, 0), ({decisions}) FROM lease "
        "LEFT JOIN record ON position = (SELECT max(position) FROM record)"
    )


_HEAD_OF_ONE = _head("= ?")
_HEAD = _head("IN (SELECT value FROM json_each(?))")
_UNUSED = (  # a model that no generation has, and that the journal did not begin with
    "sha256 NOT IN (SELECT sha256 FROM generation) AND sha256 NOT IN "
    f"(SELECT coalesce(json_extract(body, '$.model'), '') FROM record WHERE kind = {_KIND['settings']})"
)
_INSERT = (
    "INSERT INTO record (position, time, kind, event_id, of, value, reward_id, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_INSERTS = [_INSERT + ", (?, ?, ?, ?, ?, ?, ?, ?)" * more for more in range(64)]  # of 1 row, 2 rows, ...
_LOG_MODE = "wal"
_WIPED = "PRAGMA secure_delete = ON"  # what was erased is gone from the file
_INSERT_MODEL = "INSERT OR IGNORE INTO model VALUES (?, ?, ?)"
_INSERT_WINDOW = "INSERT OR REPLACE INTO window VALUES (?, ?, NULL, ?)"
_END_WINDOWS = "UPDATE window SET until = ? WHERE until IS NULL AND position IN (SELECT value FROM json_each(?))"

_holders = itertools.count(1)
_open_journals: weakref.WeakSet[SqliteJournal] = weakref.WeakSet()
_forking: list[SqliteJournal] = []
_one_fork = threading.Lock()


class SqliteJournal:
    """A journal in an SQLite file.

    Args:
        path: The file.
        first: The first record of a journal that is not there yet, its settings.
        clock: The time in milliseconds; the machine's unless given.
        is_read: Whether it is only read; then it may be where nothing can be written, as a backup is.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        first: Draft | None = None,
        clock: Callable[[], int] | None = None,
        is_read: bool = False,
    ) -> None:
        self.path = Path(os.path.realpath(path))
        self._name, self._log_name = (str(path) for path in _files(self.path)[:2])
        self.memory: float = float("inf")  # how long ids are remembered, in milliseconds
        self._clock = clock or now
        self._holder = f"{Process.this()}/{next(_holders)}"
        self._is_connected = False
        self._is_staged = True  # whether an unfinished checkpoint may lie about
        self._is_holder = False  # of the lease
        self._ahead_of_boot = 0  # how far the clock was, when the learner last noted it
        self._writing, self._reading = threading.Lock(), threading.Lock()
        if not self.path.exists():
            self._create(first)
        self._is_fixed = is_read and not _can_be_written(self.path)
        self._check_place()
        self._guard: Guard | None = None
        with contextlib.ExitStack() as stack, _Explained(self.path):
            if not self._is_fixed:
                check_name(self.path)
                self._guard = Guard.of(self.path)
                stack.enter_context(self._guard.entered(self.path))
            mode = self._check_file()
            if self._guard is not None and mode != _LOG_MODE:
                stack.close()  # the guard looks at the mode when it is entered
                self._begin_log()
                stack.enter_context(self._guard.entered(self.path))
            self._connect()
        self._seen = self.path.stat()
        _open_journals.add(self)

    def __str__(self) -> str:
        return str(self.path)

    def close(self) -> None:
        """Closes the file. The last process that does puts everything into it and removes the write-ahead log."""
        _open_journals.discard(self)
        with self._writing, self._reading:
            self._disconnect()

    # A fork inherits what SQLite believes to have locked, and has locked nothing: the parent would remove files that a
    # journal opened in the child still writes to. So while a process forks, no journal is open in it.

    def before_fork(self) -> None:
        """Closes the file until `after_fork`."""
        self._writing.acquire()
        self._reading.acquire()
        self._disconnect()

    def after_fork(self, *, in_child: bool) -> None:
        """Opens it again, but in the child."""
        try:
            if in_child:
                _open_journals.discard(self)
            else:
                with contextlib.suppress(LoopError):  # whoever asks next is told
                    self._connect()
        finally:
            self._reading.release()
            self._writing.release()

    def _connect(self) -> None:
        self._log_seen: int | None = None  # the log's inode, once there is one
        with _Explained(self.path), contextlib.ExitStack() as undo:
            if self._guard is not None:
                self._guard.enter(self.path)
                undo.callback(self._guard.leave)
            self._db = _connect(self.path, self._is_fixed)
            undo.callback(self._db.close)
            self._db.execute("PRAGMA busy_timeout = 0")  # see _begin
            self._db.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES if self._is_holder else 0}")
            if not self._is_fixed:
                self._add_clock_of_holder()
            self._reader = _connect(self.path, self._is_fixed)
            undo.callback(self._reader.close)
            if self._guard is not None:
                self._reader.execute("SELECT epoch FROM lease").fetchone()  # SQLite has its locks now
                self._guard.hold_index()
            undo.pop_all()
        self._is_connected = True

    def _disconnect(self) -> None:
        if not self._is_connected:
            return
        self._is_connected = False
        if self._guard is None:
            self._close_connections()
        else:
            self._guard.leave(self._close_connections)

    def _close_connections(self) -> None:
        self._reader.close()
        self._db.close()

    def now(self) -> int:
        """See `Journal`."""
        return self._clock()

    # Writing, by one thread at a time

    def write(
        self,
        drafts: Sequence[Draft],
        tasks: Sequence[Task],
        lease: Lease | None = None,
        known: int = 0,
    ) -> Written:
        """One commit. See `Journal`."""
        is_fenced = False
        foreign: list[Record] = []
        self.check()
        with self._writing, self._transaction():
            self._check_log()
            ids = [one.event_id for one in drafts if one.event_id is not None]
            asked = (_HEAD_OF_ONE, ids) if len(ids) == 1 else (_HEAD, (_json(ids),))
            epoch, holder, clock, before, last_time, decisions = self._db.execute(*asked).fetchone()
            if lease is not None and (epoch, holder) != (lease.epoch, lease.holder):
                lease, is_fenced = None, True
            time_now = self._clock()
            if lease is not None:
                self._follow_own_clock(clock, time_now)
            elif drafts:
                is_mending = any(draft.kind == "clock" for draft in drafts)
                self._check_clock(clock, time_now, 0 if is_mending else last_time, is_mending=is_mending)
                if is_mending and not self._lease_of(self._db).is_live:
                    self._db.execute("UPDATE lease SET clock = NULL")  # that of a learner that has ended was wrong
            batch = _Rows(self._db, max(last_time, time_now), before, decisions)
            for draft in drafts:
                try:
                    draft.record, draft.is_new = self._placed(draft, batch, lease)
                except LoopError as problem:
                    draft.problem = problem
            batch.write()
            for task in tasks:
                try:
                    if lease is None:
                        raise Fenced("another process has taken over learning; this one goes on deciding.")
                    task.run()
                except Fenced as problem:  # raised before anything is written
                    task.problem = problem
            if lease is not None and known < before:
                foreign = list(_records(self._db, known, before))
        if lease is None:
            if is_fenced:
                self._set_holder(False)
            return Written([], is_fenced)
        return Written(foreign + [one.record for one in drafts if one.is_new and one.record is not None], is_fenced)

    def is_free(self, position: int | None) -> bool:
        """See `Journal`."""
        if not self._writing.acquire(blocking=False):
            return False
        has_turn = False
        try:
            has_turn = self._guard is None or self._guard.take_turn()
            if not has_turn:
                return False
            self._db.execute("BEGIN IMMEDIATE")
            return position is None or _last(self._db)[0] == position
        except sqlite3.Error:  # whoever writes next says what is wrong
            return False
        finally:
            _roll_back(self._db)
            if has_turn and self._guard is not None:
                self._guard.end_turn()
            self._writing.release()

    def check(self) -> None:
        """See `Journal`. SQLite would go on writing to a file that nobody will find again."""
        seen = self._seen  # first: other threads may see it grow meanwhile
        try:
            found = os.stat(self._name)
        except OSError:
            found = None
        is_there = found is not None and found.st_ino == seen.st_ino and found.st_dev == seen.st_dev
        if found is None or not is_there or (found.st_size < seen.st_size and self._is_truncated(found.st_size)):
            raise JournalFailed(
                f"{str(self.path)!r} was removed, replaced or truncated by somebody while it was open; nothing more is "
                "acknowledged. Put it back, then open it again."
            )
        self._seen = found

    def check_health(self) -> None:
        """See `Journal`. Of a file only a write can tell: it has free pages, the disk reserves, the user a quota."""

    def try_room(self) -> None:
        """See `Journal`. In the same way as a commit does it, for what is free says nothing of quotas and reserves."""
        with self._writing, self._transaction():
            self._db.execute(_INSERT_MODEL, ("", 0, bytes(_MODEL_PART)))
            self._db.execute("DELETE FROM model WHERE sha256 = ''")

    def _check_log(self) -> None:
        """The same of the write-ahead log. This process can still read it, and puts it into the file at its end.

        Only while `_writing` is held: the log is another one after a fork.
        """
        try:
            found = os.stat(self._log_name).st_ino
        except OSError:
            found = None
        if self._log_seen is not None and found != self._log_seen:
            raise JournalFailed(
                f"{self._log_name!r}, the journal's write-ahead log, was removed or replaced by somebody while it was "
                "open; nothing more is acknowledged. Close all processes that use the journal, then open it again."
            )
        self._log_seen = found

    def _is_truncated(self, size: int) -> bool:
        """Whether a file that has shrunk lacks pages; VACUUM makes one smaller, too."""
        with self._read() as db:
            pages, page = (db.execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "page_size"))
        return bool(size < pages * page)

    def _placed(self, draft: Draft, batch: _Rows, lease: Lease | None) -> tuple[Record, bool]:
        """The record that a draft becomes, and True; or the one that said the same before."""
        now = batch.now
        of = 0 if draft.event_id is None else batch.decision_of(draft.event_id, now - self.memory)
        is_plain = draft.reward_id is None if draft.kind == "reward" else draft.kind == "decision" and not of
        if draft.kind == "clock":
            return self._mended(draft, batch), True
        if not is_plain:
            batch.write()  # what follows asks the file
            earlier = None if draft.event_id is None else self._earlier(draft, of, now)
            if earlier is not None:
                return earlier, False
            self._check_rare(draft, of, lease)
        of = 0 if draft.kind == "decision" else of
        record = Record(batch.last + 1, now, draft.kind, draft.event_id, of, draft.value, draft.reward_id, draft.body)
        batch.add(record)
        return record, True

    def _mended(self, draft: Draft, batch: _Rows) -> Record:
        """The record from which on the journal's time is that of the clock again."""
        before, batch.now = batch.now, self._clock()
        try:
            check_is_ahead(before, batch.now)
        except Conflict:
            batch.now = before
            raise
        draft.body = {"before": before}
        record = Record(batch.last + 1, batch.now, "clock", body=draft.body)
        batch.add(record)
        return record

    # Whether this process's clock can be right. The learner says with each renewal of its lease what its clock says,
    # and at which uptime of the machine. So another process knows what that clock says now, however silent the journal
    # was. Where both would give a record the same time, because the journal is ahead of them, it does not matter.

    def check_clock(self) -> None:
        """See `Journal`."""
        if self._is_fixed or self._is_holder:
            return
        with self._read() as db:
            clock = db.execute("SELECT clock FROM lease").fetchone()[0]
            self._check_clock(clock, self._clock(), _last(db)[1], db=db)

    def _check_clock(
        self,
        clock: str | None,
        ours: int,
        least: int,
        *,
        is_mending: bool = False,
        db: sqlite3.Connection | None = None,
    ) -> None:
        """Raises where the learner's clock and this one are too far apart; both count from `least` on."""
        stamp = Stamp.parse(clock)
        if stamp is None:
            return
        held = self._lease_of(db or self._db)
        # A clock that was passed in is for tests, and the operator who mends the journal vouches for this one.
        is_machines = self._clock is now and not is_mending
        theirs = stamp.clock_now() if held.is_live or (is_machines and stamp.is_fresh) else None
        if theirs is not None and abs(max(ours, least) - max(theirs, least)) > MOST_APART:
            raise ClockDiffers(
                f"this process's clock says {shown_clock(ours)}, and that of the learner, process "
                f"{held.holder.partition('/')[0] or 'that has ended'}, says {shown_clock(theirs)}; nothing was stored. "
                "Set the clock that is wrong and start its process again. If that is the learner's: stop it, and mend "
                f"the journal with fastcb clock mend {str(self.path)!r}."
            )

    def _follow_own_clock(self, clock: str | None, ours: int) -> None:
        """The learner's clock may be set while it runs; all others are to know at once."""
        stamp = Stamp.parse(clock) if abs(self._ahead_of_boot - ahead_of_boot(ours)) > MOST_APART else None
        theirs = None if stamp is None else stamp.clock_now()
        if theirs is not None and abs(ours - theirs) > MOST_APART:
            _log.warning(
                "this machine's clock was set from %s to %s. If that was wrong, set it again and mend the journal: "
                "fastcb clock mend %s",
                shown_clock(theirs),
                shown_clock(ours),
                self.path,
            )
            self._ahead_of_boot = ahead_of_boot(ours)
            self._db.execute("UPDATE lease SET clock = ?", (str(Stamp.of(ours)),))

    def _add_clock_of_holder(self) -> None:
        """Journals of 0.3 have no place for it."""
        if not _has_clock(self._db):
            with self._transaction():
                if not _has_clock(self._db):  # another process may have been faster
                    self._db.execute("ALTER TABLE lease ADD COLUMN clock TEXT")

    def _check_rare(self, draft: Draft, of: int, lease: Lease | None) -> None:
        match draft.kind:
            case "erasure" if not of:
                raise UnknownEvent(f"there is no event {draft.event_id!r}, or not any more; nothing was erased.")
            case "settings" | "rollback" if draft.expected != self._newest_settings():
                raise Conflict("the settings were changed by another process meanwhile; open the loop again.")
            case "rollback":
                self._check_rollback(draft)
            case "tick" if lease is None:
                raise Fenced("only the process that learns writes ticks.")

    def _earlier(self, draft: Draft, of: int, now: int) -> Record | None:
        """The record that said the same before. Raises where it said something else."""
        if draft.kind == "decision" and of:
            decision = _record(self._db.execute(f"{_RECORD} WHERE position = ?", (of,)).fetchone())
            check_same(draft, decision)
            return decision
        if draft.kind == "reward" and draft.reward_id is not None:
            earlier = self._newest("event_id = ? AND reward_id = ?", (draft.event_id, draft.reward_id), now)
            if earlier is not None:
                check_same_reward(draft, earlier)
            return earlier
        if draft.kind in ("activation", "erasure"):
            earlier = self._newest(f"event_id = ? AND kind = {_KIND[draft.kind]}", (draft.event_id,), now)
            # It may be about an earlier event with the same id.
            return None if earlier is None or (of and earlier.of not in (0, of)) else earlier
        return None

    def _newest(self, condition: str, values: tuple[Any, ...], now: int) -> Record | None:
        """The newest record of its kind that is still remembered."""
        query = f"{_RECORD} WHERE {condition} ORDER BY position DESC LIMIT 1"
        found = self._db.execute(query, values).fetchone()
        return None if found is None or found[1] < now - self.memory else _record(found)

    def _newest_settings(self) -> int:
        query = f"SELECT max(position) FROM record WHERE kind = {_KIND['settings']}"
        return int(self._db.execute(query).fetchone()[0] or 0)

    def _check_rollback(self, draft: Draft) -> None:
        """Fills in what the generation was; it is kept while the record may be replayed."""
        assert draft.body is not None
        kept = {one.generation: one for one in _checkpoints(self._db)}
        wanted = kept.get(draft.body["generation"])
        if wanted is None:
            raise UnknownGeneration(
                f"generation {draft.body['generation']} is not kept; expected one of {sorted(kept)}."
            )
        draft.body |= {"position": wanted.position, "sha256": wanted.sha256}

    def abandon(self) -> None:
        """Ends a transaction that was interrupted, so that no other process waits for it."""
        with self._writing:
            _roll_back(self._db)

    # Filling a new journal

    def fill(self, records: Iterable[Record]) -> None:
        """Appends records as they are, with positions and times of their own, in one commit."""
        with self._writing, self._transaction():
            position, when = _last(self._db)
            for one in records:
                if one.position != position + 1 or (one.time < when and one.kind != "clock"):
                    raise ValueError(f"record {one.position} at {one.time} cannot follow {position} at {when}.")
                position, when = one.position, one.time
                self._db.execute(_INSERT, _row(one))

    def keep_model(self, sha256: str, content: bytes) -> None:
        """Stores the model that the first record refers to."""
        with self._writing, self._transaction():
            for part, start in enumerate(range(0, len(content), _MODEL_PART)):
                row = (sha256, part, content[start : start + _MODEL_PART])
                self._db.execute(_INSERT_MODEL, row)

    # The lease

    def lease(self) -> Lease:
        """Who may learn now."""
        with self._read() as db:
            return self._lease_of(db)

    def take_lease(self, duration: int, *, by_force: bool = False) -> Lease | None:
        """Takes the lease for so many milliseconds; None where another process holds it."""
        if _is_ours(self.lease().holder):
            gc.collect()  # of a loop that was dropped without being closed nothing is left
        with self._writing, self._transaction():
            held = self._lease_of(self._db)
            if not by_force and (held.is_live or not self._agrees_with_last_holder()):
                return None
            self._set_lease(held.epoch + 1, self._holder, duration)
            self._is_staged = True
        self._set_holder(True)
        return Lease(held.epoch + 1, self._holder, is_live=True)

    def _agrees_with_last_holder(self) -> bool:
        """Whether this clock can be right, as far as the one of a learner that has just ended can tell."""
        clock, least = self._db.execute("SELECT clock FROM lease").fetchone()[0], _last(self._db)[1]
        try:
            self._check_clock(clock, self._clock(), least)
        except ClockDiffers:
            return False
        return True

    def renewal(self, lease: Lease, duration: int) -> Task:
        """Holds the lease for so many milliseconds from now."""
        return Task(lambda: self._set_lease(lease.epoch, lease.holder, duration))

    def release(self, lease: Lease) -> None:
        """Gives the lease back, so that no other process has to wait for it."""
        with self._writing, self._transaction():
            if self._holds(lease):
                self._set_lease(lease.epoch, "", 0)

    def _set_holder(self, is_holder: bool) -> None:
        self._is_holder = is_holder
        with self._writing:
            self._db.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES if is_holder else 0}")

    def _set_lease(self, epoch: int, process: str, duration: int) -> None:
        clock = None
        if self._clock is now:
            stamp = Stamp.of(now())
            clock, self._ahead_of_boot = str(stamp), ahead_of_boot(stamp.clock)
        row = (epoch, process, uptime() + duration if duration else 0, clock)
        self._db.execute("UPDATE lease SET epoch = ?, process = ?, expires = ?, clock = ?", row)

    def _lease_of(self, db: sqlite3.Connection) -> Lease:
        epoch, process, expires = db.execute("SELECT epoch, process, expires FROM lease").fetchone()
        return Lease(epoch, process, is_live=uptime() < expires and _may_live(process))

    def _holds(self, lease: Lease) -> bool:
        found = self._db.execute("SELECT epoch, process FROM lease").fetchone()
        return bool(found == (lease.epoch, lease.holder))

    # Checkpoints

    def checkpoint_tasks(self, new: NewCheckpoint) -> Iterator[Task]:
        """A checkpoint in small pieces, each for a commit of its own. Only the last one makes it count."""
        if self._is_staged:
            yield Task(self._drop_unfinished)
        self._is_staged = True
        sha256 = new.checkpoint.sha256
        if self.model(sha256) not in (b"", new.model):  # damaged, and other generations have it, too
            yield Task(lambda: self._drop_damaged(sha256))
        content = memoryview(new.model)  # not copied
        for part, start in enumerate(range(0, len(content), _MODEL_PART)):
            row = (sha256, part, content[start : start + _MODEL_PART])
            yield Task(lambda row=row: self._write_model(row, new.checkpoint.generation))  # type: ignore[misc]
        for start in range(0, len(new.rows), _ROWS_AT_ONCE):
            rows = new.rows[start : start + _ROWS_AT_ONCE]
            yield Task(lambda rows=rows: self._write_windows(rows, new.checkpoint.generation))  # type: ignore[misc]
        yield Task(lambda: self._write_generation(new))

    def _write_model(self, row: tuple[str, int, memoryview], generation: int) -> None:
        self._check_next(generation)
        self._db.execute(_INSERT_MODEL, row)

    def _drop_damaged(self, sha256: str) -> None:
        self._db.execute("DELETE FROM model WHERE sha256 = ?", (sha256,))

    def _write_windows(self, rows: Sequence[tuple[int, Waiting | None]], generation: int) -> None:
        self._check_next(generation)
        positions = _json([position for position, _ in rows])
        self._db.execute(_END_WINDOWS, (generation, positions))
        open_ones = [(position, one) for position, one in rows if one is not None]
        there = [value for position, one in open_ones for value in (position, generation, _json(as_row(one)))]
        if there:
            more = ", (?, ?, NULL, ?)" * (len(there) // 3 - 1)
            self._db.execute(_INSERT_WINDOW + more, there)

    def _write_generation(self, new: NewCheckpoint) -> None:
        one = new.checkpoint
        newest = self._check_next(one.generation)
        before = self._db.execute("SELECT position FROM generation WHERE generation = ?", (newest,)).fetchone()
        row = (one.generation, one.position, one.time, one.sha256, one.events, _json(one.summary))
        self._db.execute("INSERT INTO generation VALUES (?, ?, ?, ?, ?, ?)", row)
        letters = [(letter.position, one.generation, letter.reason) for letter in new.dead_letters]
        self._db.executemany("INSERT INTO dead_letter VALUES (?, ?, ?)", letters)
        self._strip_erased(0 if before is None else before[0], one.position)
        self._is_staged = False

    def _check_next(self, generation: int) -> int:
        """The newest generation, which must be the one before. What is there already must stay as it is."""
        newest = self._newest_generation()
        if generation != newest + 1:
            raise Fenced(f"generation {newest} is there, {generation} cannot follow it.")
        return newest

    def _drop_unfinished(self) -> None:
        newest = self._newest_generation()
        self._db.execute("DELETE FROM window WHERE since > ?", (newest,))
        self._db.execute("UPDATE window SET until = NULL WHERE until > ?", (newest,))
        with _unwiped(self._db):
            self._db.execute(f"DELETE FROM model WHERE {_UNUSED}")
        self._is_staged = False

    def _newest_generation(self) -> int:
        return int(self._db.execute("SELECT max(generation) FROM generation").fetchone()[0] or 0)

    def _strip_erased(self, after: int, upto: int) -> None:
        """Takes the features out of events that were erased and that no learner will read again."""
        query = (
            "SELECT decision.position, decision.body FROM record AS erasure JOIN record AS decision "
            f"ON decision.position = erasure.of WHERE erasure.kind = {_KIND['erasure']} "
            "AND erasure.position > ? AND erasure.position <= ?"
        )
        for of, body in self._db.execute(query, (after, upto)).fetchall():
            kept = {name: value for name, value in json.loads(body).items() if name not in _FEATURES}
            self._db.execute("UPDATE record SET body = ? WHERE position = ?", (_json({"erased": True} | kept), of))

    def pruning_tasks(self, keep: int, oldest_time: int | None) -> Iterator[Task]:
        """Drops generations but the newest few, and records that are older than a time and not needed any more."""
        with self._read() as db:
            checkpoints = _checkpoints(db)
            oldest = checkpoints[-keep:][0] if checkpoints else None
            if oldest is None:
                return
            gone = checkpoints[:-keep]
            parts = "SELECT count(*) FROM model WHERE sha256 = ?"
            pieces = {one.sha256: -(-_number(db, parts, one.sha256) // _PARTS_AT_ONCE) for one in gone}
            windows = _number(db, "SELECT count(*) FROM window WHERE until <= ?", oldest.generation) if gone else 0
        self._is_staged = self._is_staged or bool(gone)
        for one in gone:
            yield Task(lambda one=one: self._drop_generation(one, oldest))  # type: ignore[misc]
        for _ in range(0, windows, _ROWS_AT_ONCE):
            yield Task(self._drop_windows)
        for sha256, count in pieces.items():
            for _ in range(count):
                yield Task(lambda sha256=sha256: self._drop_model(sha256))  # type: ignore[misc]
        if gone:
            self._is_staged = False
        if oldest_time is None:
            return
        with self._read() as db:
            kept = _checkpoints(db)[0]
            first_open = db.execute("SELECT min(position) FROM window").fetchone()[0]
            end = min(kept.position, first_open or kept.position)
            query = "SELECT position FROM record WHERE position < ? AND time < ? ORDER BY position DESC LIMIT 1"
            found = db.execute(query, (end, oldest_time)).fetchone()
            first = db.execute("SELECT min(position) FROM record").fetchone()[0]
        while found is not None and first <= found[0]:
            upto = min(found[0], first + _ROWS_AT_ONCE)
            yield Task(lambda upto=upto: self._drop_records(upto))  # type: ignore[misc]
            first = upto + 1

    def _drop_generation(self, one: Checkpoint, oldest_kept: Checkpoint) -> None:
        if one.generation in _rolled_back_to(self._db, oldest_kept.position):
            return
        self._db.execute("DELETE FROM generation WHERE generation = ?", (one.generation,))

    def _drop_windows(self) -> None:
        """Some of those that no generation has any more."""
        gone = "SELECT rowid FROM window WHERE until <= (SELECT min(generation) FROM generation)"
        self._db.execute(f"DELETE FROM window WHERE rowid IN ({gone} LIMIT {_ROWS_AT_ONCE})")

    def _drop_model(self, sha256: str) -> None:
        """Some parts of a model, if no generation has it any more."""
        unused = f"SELECT rowid FROM model WHERE sha256 = ? AND {_UNUSED} LIMIT {_PARTS_AT_ONCE}"
        with _unwiped(self._db):
            self._db.execute(f"DELETE FROM model WHERE rowid IN ({unused})", (sha256,))

    def _drop_records(self, upto: int) -> None:
        # A change of settings that learns the journal again must find the same records after a crash.
        query = (
            f"SELECT count(*) FROM record WHERE kind = {_KIND['settings']} "
            "AND json_extract(body, '$.relearn_from') > 0 AND position > (SELECT max(position) FROM generation)"
        )
        if not self._db.execute(query).fetchone()[0]:
            self._db.execute("DELETE FROM record WHERE position <= ?", (upto,))

    # Reading, by any thread

    def read(self, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        """The records after a position, in their order. The file is read in pieces, so that nobody has to wait."""
        end = self.last()[0] if upto is None else upto
        while after < end:
            with self._read() as db:
                piece = _piece(db, after, end)
            if not piece:
                return
            yield from piece
            after = piece[-1].position

    def decision(self, position: int) -> Record:
        """The decision at a position."""
        with self._read() as db:
            found = db.execute(f"{_RECORD} WHERE position = ?", (position,)).fetchone()
        if found is None:
            raise UnknownEvent(f"there is no record {position}, or not any more.")
        return _record(found)

    def decisions_by_state(self, upto: int) -> Iterator[tuple[int | None, int]]:
        """How many records had been applied when each decision was made, and its position, in that order.

        None for those that were imported.
        """
        query = (
            "SELECT json_extract(body, '$.applied'), position FROM record "
            f"WHERE kind = {_KIND['decision']} AND position <= ? ORDER BY 1, 2"
        )
        with contextlib.closing(_connect(self.path, self._is_fixed)) as db, _Explained(self.path), self._snapshot():
            yield from db.execute(query, (upto,))

    def find(self, event_id: str, kind: Kind = "decision") -> list[Record]:
        """The records of a kind about an event."""
        with self._read() as db:
            query = f"{_RECORD} WHERE event_id = ? AND kind = {_KIND[kind]} ORDER BY position"
            return [_record(row) for row in db.execute(query, (event_id,))]

    def of_kind(self, kind: Kind, after: int = 0) -> list[Record]:
        """All records of a rare kind: settings, rollbacks, erasures."""
        with self._read() as db:
            query = f"{_RECORD} WHERE kind = {_KIND[kind]} AND position > ? ORDER BY position"
            return [_record(row) for row in db.execute(query, (after,))]

    def first(self) -> int:
        """The position of the oldest record that is kept."""
        with self._read() as db:
            return int(db.execute("SELECT min(position) FROM record").fetchone()[0] or 0)

    def last(self) -> tuple[int, int]:
        """Position and time of the newest record."""
        with self._read() as db:
            return _last(db)

    def checkpoints(self) -> list[Checkpoint]:
        """Those that are kept, the oldest first."""
        with self._read() as db:
            return _checkpoints(db)

    def newest_generation(self) -> int:
        """The number of the newest checkpoint; 0 where there is none."""
        with self._read() as db:
            return int(db.execute("SELECT max(generation) FROM generation").fetchone()[0] or 0)

    def windows(self, generation: int) -> list[dict[str, Any]]:
        """The join state of a checkpoint."""
        query = "SELECT body FROM window WHERE since <= ? AND (until IS NULL OR until > ?) ORDER BY position"
        with self._read() as db:
            rows = db.execute(query, (generation, generation))
            return [_read_json(body, f"the join state of generation {generation}") for (body,) in rows]

    # Rows of dead letters are numbered from 1 without a gap: a checkpoint adds some at the end, and nothing drops any
    # but with the generations at the end. So the last one's number is how many there are, in journals of 0.3, too.

    def dead_letters(self, generation: int | None = None, newest: int | None = None) -> list[DeadLetter]:
        """See `Journal`."""
        upto = "" if generation is None else f"WHERE since <= {int(generation)} "
        most = -1 if newest is None else newest
        query = f"SELECT position, reason FROM dead_letter {upto}ORDER BY rowid DESC LIMIT ?"
        with self._read() as db:
            return [DeadLetter(*row) for row in db.execute(query, (most,))][::-1]

    def dead_letter_count(self) -> int:
        """See `Journal`."""
        with self._read() as db:
            return _number(db, "SELECT max(rowid) FROM dead_letter")

    def model(self, sha256: str) -> bytes:
        """The bytes of a model."""
        with self._read() as db:
            parts = db.execute("SELECT bytes FROM model WHERE sha256 = ? ORDER BY part", (sha256,))
            return b"".join(part for (part,) in parts)

    def empty_log(self, least: int = 16 * _LOG_PAGES * 4096) -> None:
        """Moves a large write-ahead log to its place, for the holder of the lease: others fill it and never do."""
        log = _files(self.path)[1]
        if log.exists() and log.stat().st_size >= least:
            with self._writing, _Explained(self.path):
                for _ in range(100):  # while somebody reads or writes
                    if self._is_log_emptied():
                        return
                    time.sleep(0.002)

    def _is_log_emptied(self) -> bool:
        if self._guard is not None and not self._guard.take_turn():
            return False
        try:
            return bool(self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0)
        finally:
            if self._guard is not None:
                self._guard.end_turn()

    def size(self) -> int:
        """Bytes on disk."""
        return sum(path.stat().st_size for path in _files(self.path) if path.exists())

    def copy_to(self, path: str | os.PathLike[str]) -> None:
        """Writes a copy of the whole journal, as it is at one moment, while others go on."""
        with new_file(path) as draft:
            try:
                with (
                    _Explained(Path(path)),
                    contextlib.closing(_connect(self.path, self._is_fixed)) as db,
                    contextlib.closing(sqlite3.connect(draft)) as target,
                    self._snapshot(),
                ):
                    db.backup(target)
                    # Nobody learns from the copy yet.
                    target.execute("UPDATE lease SET process = '', expires = 0, clock = NULL")
                    target.commit()
            finally:
                for left in _files(draft)[1:]:
                    left.unlink(missing_ok=True)

    # Inside

    def _transaction(self) -> _Transaction:
        return _Transaction(self._db, self.path, self._guard)

    @contextlib.contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        with self._reading, _Explained(self.path), self._snapshot():
            yield self._reader

    def _snapshot(self) -> contextlib.AbstractContextManager[None]:
        """While this lasts, what is read stays, also when somebody reads the files in this process."""
        return contextlib.nullcontext() if self._guard is None else self._guard.reading()

    def _create(self, first: Draft | None) -> None:
        """Makes the whole file under another name first: whoever finds it finds all of it."""
        name, folder = str(self.path), self.path.parent
        if first is None:
            raise FileNotFoundError(f"there is no journal {name!r}.")
        if not folder.is_dir():
            raise FileNotFoundError(f"there is no folder {str(folder)!r} for the journal; make it first.")
        left = [str(path) for path in _files(self.path)[1:] if path.exists()]
        if left and not self.path.exists():  # else another process made it meanwhile
            raise JournalRefused(f"{left[0]!r} is there, but not its journal {name!r}; put both back, or none.")
        draft = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}.new")
        try:
            with _Explained(self.path, is_opening=True):
                self._fill_new(draft, first)
            with contextlib.suppress(FileExistsError):  # another process made it meanwhile
                os.link(draft, self.path)
            sync_folder(folder)
        except OSError as problem:
            raise JournalRefused(f"the journal {name!r} cannot be made: {problem.strerror or problem}.") from problem
        finally:
            for path in _files(draft):
                with contextlib.suppress(OSError):
                    path.unlink()

    def _fill_new(self, draft: Path, first: Draft) -> None:
        with contextlib.closing(_connect(draft)) as db:
            db.execute(f"PRAGMA journal_mode = {_LOG_MODE}")
            db.executescript(
                f"BEGIN; {_TABLES} PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {SCHEMA}; COMMIT;"
            )
            db.execute(_INSERT, _row(Record(1, self._clock(), first.kind, body=first.body)))
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _check_place(self) -> None:
        name = str(self.path)
        if not self.path.is_file():
            raise JournalRefused(f"{name!r} is not a regular file; expected a journal.")
        if self.path.stat().st_size == 0:
            raise JournalRefused(f"{name!r} is empty; expected a journal. Remove it to begin a new one.")
        if not self._is_fixed and not _can_be_written(self.path):
            raise JournalRefused(f"{name!r} cannot be written to; expected a file and a folder that can.")

    def _begin_log(self) -> None:
        """Makes a file have a write-ahead log again. SQLite's `VACUUM INTO`, for example, makes copies without one.

        Without it processes exclude each other, readers included, and are refused at once where two of them wait.
        """
        end = time.monotonic() + _PATIENCE
        while True:
            with contextlib.closing(_connect(self.path)) as db:
                db.execute("PRAGMA busy_timeout = 0")
                try:
                    if db.execute(f"PRAGMA journal_mode = {_LOG_MODE}").fetchone() == (_LOG_MODE,):
                        return
                except sqlite3.OperationalError as problem:
                    if code_of(problem) != Code.BUSY or time.monotonic() > end:
                        raise
            if time.monotonic() > end:
                raise JournalRefused(f"{str(self.path)!r} cannot have a write-ahead log; keep it on a local disk.")
            time.sleep(random.uniform(0.001, 0.005))

    def _check_file(self) -> str:
        """Refuses what is not a journal of this version, without changing it. How SQLite keeps its transactions."""
        name = str(self.path)
        with _Explained(self.path, is_opening=True), contextlib.closing(_connect(self.path, self._is_fixed)) as db:
            application = db.execute("PRAGMA application_id").fetchone()[0]
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if application != _APPLICATION:
                raise JournalRefused(f"{name!r} is an SQLite file, but not a journal of vw-fastcb.")
            if version > SCHEMA:
                raise JournalRefused(
                    f"{name!r} has the schema {version}, and this version of vw-fastcb knows {SCHEMA}; use a newer one."
                )
            pages, page = (db.execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "page_size"))
            log = _files(self.path)[1]
            size = self.path.stat().st_size
            if size < pages * page and not (log.exists() and log.stat().st_size):
                raise JournalRefused(f"{name!r} is truncated: it has {size} of {pages * page} bytes. Use a backup.")
            return str(db.execute("PRAGMA journal_mode").fetchone()[0])


class _Rows:
    """The records of one commit, written together.

    Args:
        db: The connection, inside a transaction.
        now: Their time.
        last: The last position before them.
        decisions: The decisions of their events, as `_head` asks for them.

    Attributes:
        now: Their time.
        last: The position of the newest one.
    """

    def __init__(self, db: sqlite3.Connection, now: int, last: int, decisions: str) -> None:
        self.now = now
        self.last = last
        self._db = db
        self._decisions: dict[str, tuple[int, int]] = {}
        for event_id, position, when in json.loads(decisions) if decisions != "[]" else ():
            self._decisions[event_id] = max((position, when), self._decisions.get(event_id, (0, 0)))
        self._count = 0
        self._values: list[Any] = []

    def decision_of(self, event_id: str, since: float) -> int:
        """The position of an event's newest decision that is not older than a time; 0 where there is none."""
        position, when = self._decisions.get(event_id, (0, 0))
        return position if when >= since else 0

    def add(self, record: Record) -> None:
        """Takes the next one."""
        self._values += _row(record)
        self._count += 1
        self.last = record.position
        if record.kind == "decision" and record.event_id is not None:
            self._decisions[record.event_id] = (record.position, record.time)
        if self._count == len(_INSERTS):
            self.write()

    def write(self) -> None:
        """Puts into the file what was added since this was last called."""
        if self._count:
            values, count = self._values, self._count
            self._values, self._count = [], 0
            self._db.execute(_INSERTS[count - 1], values)


def _has_clock(db: sqlite3.Connection) -> bool:
    return any(name == "clock" for _, name, *_ in db.execute("PRAGMA table_info(lease)"))


_FEATURES = ("context", "action_features", "erased")


def _can_be_written(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _is_ours(holder: str) -> bool:
    return holder.rpartition("/")[0] == str(Process.this())


def _may_live(holder: str) -> bool:
    """Whether the holder of a lease may still be there, as far as can be told."""
    process, _, _ = holder.rpartition("/")
    if not process:
        return False
    if _is_ours(holder):
        return any(journal._holder == holder for journal in list(_open_journals))
    try:
        return Process.parse(process).may_live()
    except ValueError:
        return False


def _connect(path: Path, is_fixed: bool = False) -> sqlite3.Connection:
    # isolation_level=None: transactions are ours. Threads share connections under locks of ours.
    name = f"{path.as_uri()}?immutable=1" if is_fixed else str(path)
    db = sqlite3.connect(name, timeout=_PATIENCE, isolation_level=None, check_same_thread=False, uri=is_fixed)
    try:
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA wal_autocheckpoint = 0")
        db.execute(_WIPED)
    except BaseException:
        db.close()
        raise
    return db


@contextlib.contextmanager
def _unwiped(db: sqlite3.Connection) -> Iterator[None]:
    """Lets go of models without writing zeros over them: they are large, and no place for what can be erased."""
    db.execute("PRAGMA secure_delete = FAST")
    try:
        yield
    finally:
        db.execute(_WIPED)


def _begin(db: sqlite3.Connection, is_late: Callable[[], bool]) -> bool:
    """Begins to write, unless another process does.

    Args:
        db: The connection.
        is_late: Whether to say so instead of waiting any longer.
    """
    try:
        db.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as problem:
        if code_of(problem) != Code.BUSY or is_late():
            raise
        return False
    return True


class _Explained:
    """Says SQLite's errors in words that say what to do."""

    def __init__(self, path: Path, *, is_opening: bool = False) -> None:
        self._path = path
        self._is_opening = is_opening

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, sqlite3.Error):
            said = _in_words(problem, str(self._path))
            if self._is_opening and isinstance(said, JournalFailed) and _is_full(self._path.parent):
                said = JournalFull(f"there is no room for the journal {str(self._path)!r}. Make room.")
            raise said from problem


def _is_full(folder: Path) -> bool:
    return shutil.disk_usage(folder).free < 1 << 20


class _Transaction(_Explained):
    """One commit, or nothing."""

    def __init__(self, db: sqlite3.Connection, path: Path, guard: Guard | None) -> None:
        super().__init__(path)
        self._db = db
        self._guard = guard
        self._has_turn = False

    def __enter__(self) -> None:
        try:
            self._wait()
        except BaseException as problem:
            self._give_up()  # Ctrl-C may come when it has begun
            super().__exit__(type(problem), problem, None)
            raise

    def _wait(self) -> None:
        """Waits for others in steps so small that a busy one cannot keep this one out.

        SQLite's own grow to a tenth of a second.
        """
        end = time.monotonic() + _PATIENCE
        while True:
            self._has_turn = self._guard is None or self._guard.take_turn()
            if self._has_turn and _begin(self._db, lambda: time.monotonic() > end):
                return
            self._end_turn()
            if time.monotonic() > end:
                raise LoopError(_LOCKED.format(name=str(self._path), patience=_PATIENCE))
            time.sleep(random.uniform(0.0001, 0.0005))

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if problem is None:
            try:
                self._db.execute("COMMIT")
            except BaseException as failure:
                self._give_up()
                super().__exit__(type(failure), failure, None)
                raise
            self._end_turn()
        else:
            self._give_up()
            super().__exit__(kind, problem, trace)

    def _give_up(self) -> None:
        _roll_back(self._db)
        self._end_turn()

    def _end_turn(self) -> None:
        if self._has_turn:
            self._has_turn = False
            if self._guard is not None:
                self._guard.end_turn()


def _roll_back(db: sqlite3.Connection) -> None:
    if db.in_transaction:
        with contextlib.suppress(sqlite3.Error):
            db.execute("ROLLBACK")


_LOCKED = "{name!r} was locked by another program for {patience:.0f} s; nothing was stored."
# What SQLite's codes mean to users, where it is not that writing failed.
_MEANINGS: dict[int, tuple[type[LoopError], str]] = {
    Code.FULL: (JournalFull, "there is no room for the journal {name!r}; nothing was stored. Make room."),
    **dict.fromkeys(
        (Code.NOTADB, Code.CORRUPT),
        (JournalRefused, "{name!r} is damaged, or not a journal ({problem}). Use a backup."),
    ),
    **dict.fromkeys(
        (Code.READONLY, Code.CANTOPEN, Code.PERM),
        (JournalRefused, "{name!r} cannot be written to ({problem})."),
    ),
    **dict.fromkeys(
        (Code.BUSY, Code.LOCKED),
        (LoopError, _LOCKED),
    ),
    Code.TOOBIG: (LoopError, "a request is larger than {name!r} can store ({problem}); nothing was stored."),
    **dict.fromkeys(
        (Code.ERROR, Code.MISMATCH, Code.CONSTRAINT),
        (JournalRefused, "{name!r} is damaged: somebody has changed it ({problem}). Use a backup."),
    ),
}
_FAILED = "writing to {name!r} failed ({problem}); nothing more is acknowledged. Look at the disk, then open it again."


def _in_words(problem: sqlite3.Error, name: str) -> LoopError:
    if isinstance(problem, sqlite3.ProgrammingError):
        return LoopError(f"the journal {name!r} was closed.")
    code = code_of(problem)
    kind, text = _MEANINGS.get(code, (JournalFailed, _FAILED))
    return kind(text.format(name=name, problem=problem, patience=_PATIENCE))


def _record(row: tuple[Any, ...]) -> Record:
    position, when, kind, event_id, of, value, reward_id, body = row
    try:
        content = None if body is None else json.loads(body)
        return Record(position, when, KINDS[kind], event_id, of, value, reward_id, content)
    except (ValueError, TypeError, IndexError) as problem:
        raise JournalRefused(f"record {position} is damaged ({problem}). Use a backup.") from problem


def _row(record: Record) -> tuple[Any, ...]:
    position, when, kind, event_id, of, value, reward_id, body = record
    return position, when, _KIND[kind], event_id, of, value, reward_id, None if body is None else _json(body)


def _records(db: sqlite3.Connection, after: int, upto: int) -> Iterator[Record]:
    while after < upto:
        piece = _piece(db, after, upto)
        if not piece:
            return
        yield from piece
        after = piece[-1].position


def _piece(db: sqlite3.Connection, after: int, upto: int) -> list[Record]:
    """Some records after a position: as many as are read at once, and as memory has room for."""
    query = f"{_RECORD} WHERE position > ? AND position <= ? ORDER BY position LIMIT {_READ_AT_ONCE}"
    rows = db.execute(query, (after, upto))
    found: list[Record] = []
    size = 0
    for row in rows:
        found.append(_record(row))
        size += len(row[-1] or "")
        if size > _CHARACTERS_AT_ONCE:
            break
    rows.close()
    return found


def _number(db: sqlite3.Connection, query: str, *values: Any) -> int:
    return int(db.execute(query, values).fetchone()[0] or 0)


def _last(db: sqlite3.Connection) -> tuple[int, int]:
    found = db.execute("SELECT position, time FROM record ORDER BY position DESC LIMIT 1").fetchone()
    return found or (0, 0)


def _checkpoints(db: sqlite3.Connection) -> list[Checkpoint]:
    rows = db.execute("SELECT generation, position, time, sha256, events, summary FROM generation ORDER BY generation")
    return [Checkpoint(*numbers, _read_json(summary, f"generation {numbers[0]}")) for *numbers, summary in rows]  # type: ignore[call-arg]


def _read_json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError) as problem:
        raise JournalRefused(f"{what} is damaged ({problem}). Use a backup.") from problem


def _rolled_back_to(db: sqlite3.Connection, after: int) -> set[int]:
    """The generations that rollbacks after a position go back to."""
    query = f"SELECT body FROM record WHERE kind = {_KIND['rollback']} AND position > ?"
    rows = db.execute(query, (after,))
    return {json.loads(body)["generation"] for (body,) in rows}


def _files(path: Path) -> list[Path]:
    return [path, *(path.with_name(path.name + ending) for ending in ("-wal", "-shm"))]


def _before_fork() -> None:
    _one_fork.acquire()
    _forking.extend(_open_journals)
    for journal in _forking:
        journal.before_fork()


def _after_fork(in_child: bool) -> None:
    if in_child:
        Guard.forget_all()
    for journal in _forking:
        journal.after_fork(in_child=in_child)
    _forking.clear()
    _one_fork.release()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=lambda: _after_fork(in_child=False),
    after_in_child=lambda: _after_fork(in_child=True),
)
