"""A journal in Redis."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import secrets
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from vw_fastcb._engine import to_json
from vw_fastcb.loop.clocks import MOST_APART, now
from vw_fastcb.loop.journal import (
    Conflict,
    Draft,
    Fenced,
    JournalRefused,
    Lease,
    LoopError,
    Task,
    UnknownEvent,
    UnknownGeneration,
    Written,
    check_is_ahead,
    check_same,
    check_same_reward,
)
from vw_fastcb.loop.records import Record
from vw_fastcb.loop.redis.address import Address
from vw_fastcb.loop.redis.checkpoints import Checkpoints
from vw_fastcb.loop.redis.leases import Leases
from vw_fastcb.loop.redis.records import Records, as_record, body_of, time_and_position
from vw_fastcb.loop.redis.server import Server, clocks_differ
from vw_fastcb.loop.redis.store import FENCED, Store

_log = logging.getLogger("vw_fastcb.loop")

SCHEMA = 1
_MOST_APART = 60_000  # milliseconds; a request may be on its way for a while
_TRIED = 65_536  # bytes that are written to see whether there is room
_REWRITES_APART = 0.02  # seconds between two looks at whether Redis still writes its file anew
_LATEST = 2**53  # the largest number that Lua can count to

_open_journals: weakref.WeakSet[RedisJournal] = weakref.WeakSet()


class RedisJournal:
    """A journal in Redis.

    Args:
        url: Where it is; see `Address`.
        first: The first record of a journal that is not there yet, its settings.
        clock: The time in milliseconds; the server's unless given.
    """

    def __init__(self, url: str, *, first: Draft | None = None, clock: Callable[[], int] | None = None) -> None:
        self.address = Address.parse(url)
        self.memory: float = math.inf
        self._clock = clock
        self._offset = 0  # of the server's time, in milliseconds
        self._seen = 0  # the newest position that this process knows of
        self._is_rewrite_due = False
        server = Server(self.address)
        try:
            self._store = Store(server, self.address.journal)
            self._store.id = self._found(first)
            records, leases = Records(self._store), Leases(self._store, _is_open)
            checkpoints = Checkpoints(self._store, records)
            self._records, self.holder = records, leases.holder
            # The rest of what a journal can do:
            self.read, self.decision, self.decisions_by_state = records.read, records.decision, records.by_state
            self.find, self.of_kind, self.first = records.find, records.of_kind, records.first
            self.lease, self.take_lease = leases.lease, leases.take
            self.renewal, self.release = leases.renewal, leases.release
            self.checkpoint_tasks, self.pruning_tasks = checkpoints.checkpoint_tasks, checkpoints.pruning_tasks
            self.checkpoints, self.newest_generation = checkpoints.checkpoints, checkpoints.newest_generation
            self.windows, self.dead_letters = checkpoints.windows, checkpoints.dead_letters
            self.dead_letter_count, self.model = checkpoints.dead_letter_count, checkpoints.model
            self.last()
        except BaseException:
            server.close()
            raise
        _open_journals.add(self)

    def __str__(self) -> str:
        return self.address.shown

    def close(self) -> None:
        """Ends all connections, once nothing of what was erased will be left in the append-only file."""
        _open_journals.discard(self)
        try:
            with contextlib.suppress(LoopError):
                self._end_rewriting()
        finally:
            self._store.server.close()

    def now(self) -> int:
        """See `Journal`. The server's clock counts, and how far this machine's is off is known from its last answer."""
        return self._clock() if self._clock is not None else now() + self._offset

    def last(self) -> tuple[int, int]:
        """Position and time of the newest record."""
        position, when, server_time = self._records.last()
        self._note(position, server_time)
        return position, when

    def is_free(self, position: int | None) -> bool:
        """See `Journal`. A server may be far away."""
        return False

    def check(self) -> None:
        """See `Journal`."""
        self.last()
        self._rewrite_if_due()

    def check_health(self) -> None:
        """See `Journal`."""
        self._store.server.check_health()

    def try_room(self) -> None:
        """See `Journal`. It tells of itself when its memory is used up; its disk has to be tried."""
        name = self._store.key("writer:room")  # such keys are dropped by themselves
        self._store.server.ask(lambda client: client.set(name, "0" * _TRIED, px=1000))
        self.check_health()

    def check_clock(self) -> None:
        """See `Journal`. The server's clock counts; `status` compares it with this machine's."""

    def abandon(self) -> None:
        """Gives up connections on which an answer may still come."""
        self._store.server.drop_connections()

    def write(
        self,
        drafts: Sequence[Draft],
        tasks: Sequence[Task],
        lease: Lease | None = None,
        known: int = 0,
    ) -> Written:
        """One script. See `Journal`. Tasks are scripts of their own, each whole or not at all."""
        if not drafts and not tasks and lease is None:
            return Written([], False)
        is_fenced, before, foreign = self._append(drafts, lease, known)
        for task in tasks:
            try:
                if lease is None or is_fenced:
                    raise Fenced(FENCED)
                task.run()
            except Fenced as problem:
                task.problem = problem
        if lease is None or is_fenced:
            return Written([], is_fenced)
        if len(foreign) < before - known:
            foreign = list(self.read(known, before))
        return Written(foreign + [one.record for one in drafts if one.is_new and one.record is not None], is_fenced)

    def _append(self, drafts: Sequence[Draft], lease: Lease | None, known: int) -> tuple[bool, int, list[Record]]:
        """Whether the lease is lost, the last position before the drafts, and records of others after `known`."""
        memory = "" if math.isinf(self.memory) else str(int(self.memory))
        arguments = [str(self._seen), self._given_time(), memory]
        arguments += ["", "", ""] if lease is None else [str(lease.epoch), lease.holder, str(min(known, _LATEST))]
        arguments += [str(now()), str(_MOST_APART)]
        for draft in drafts:
            arguments += _as_arguments(draft)
        fenced, server_time, before, outcomes, foreign = self._store.write("append", *arguments)
        for draft, outcome in zip(drafts, outcomes, strict=True):
            try:
                draft.record, draft.is_new = _placed(draft, outcome)
            except LoopError as problem:
                draft.problem = problem
        self._note(max((one.record.position for one in drafts if one.record), default=int(before)), int(server_time))
        return fenced == b"1", int(before), [as_record(one) for one in foreign]

    def _note(self, position: int, server_time: int) -> None:
        self._seen = max(self._seen, position)
        self._offset = server_time - now()

    def _given_time(self) -> str:
        """What the clock says that was given; nothing where the server's counts."""
        if self._clock is None:
            return ""
        given = self._clock()
        if given >= _LATEST:
            raise ValueError(f"clock() gave {given}; expected less than {_LATEST} in a journal in Redis.")
        return str(given)

    def _found(self, first: Draft | None) -> str:
        """The id of the journal, which is made where it is not there."""
        new = ["", "", "", ""]
        if first is not None:
            new = [secrets.token_hex(8), str(SCHEMA), self._given_time(), to_json(first.body)]
        store = self._store
        id_, schema = store.server.run("create", store.meta, *new)
        if id_ is None and schema is None and not store.server.ask(lambda client: client.exists(store.meta)):
            raise FileNotFoundError(f"there is no journal {str(self)!r}.")
        if id_ is None or schema is None or not schema.isdigit():
            raise JournalRefused(f"the hash {store.meta!r} in Redis is not that of a journal of vw-fastcb.")
        if int(schema) > SCHEMA:
            raise JournalRefused(
                f"the journal {str(self)!r} has the schema {int(schema)}, and this version of vw-fastcb knows {SCHEMA};"
                " use a newer one."
            )
        return str(id_.decode())

    # Upkeep

    def empty_log(self, least: int | None = None) -> None:
        """Has Redis write its append-only file anew, where nothing of what was erased is to be left in it."""
        if least == 0:
            self._is_rewrite_due = True
            self._rewrite_if_due()

    def _rewrite_if_due(self) -> None:
        """While Redis writes its file anew, it has to be asked again: what it writes is older than the erasure."""
        if self._is_rewrite_due:
            self._is_rewrite_due = False  # first: another thread may have erased something else meanwhile
            will_be_done = False
            try:
                will_be_done = self._store.server.rewrite_log()
            finally:
                if not will_be_done:
                    self._is_rewrite_due = True

    def _end_rewriting(self) -> None:
        """Asks until it is done. A server that is away is not asked: whoever closes has waited for it already."""
        end = time.monotonic() + self.address.patience
        try:
            while self._is_rewrite_due and not self._store.server.is_away and time.monotonic() < end:
                self._rewrite_if_due()
                if self._is_rewrite_due:
                    time.sleep(_REWRITES_APART)
        finally:
            if self._is_rewrite_due:
                _log.warning("what was erased in %s may be left in Redis' append-only file; run BGREWRITEAOF", self)

    def size(self) -> int:
        """Bytes in the server's memory, as it estimates them."""
        names = ["records", "decisions", "ids", "windows", "generations", "dead_letters"]
        key = self._store.key

        def ask(client: Any) -> list[int | None]:
            models = [f"model:{one.decode()}" for one in client.hkeys(key("models"))]
            with client.pipeline(transaction=False) as pipe:
                for name in names + models:
                    pipe.memory_usage(key(name))
                return list(pipe.execute())

        return sum(filter(None, self._store.server.ask(ask)))

    def copy_to(self, path: str | os.PathLike[str]) -> None:
        """See `Journal`."""
        raise LoopError(
            f"the journal {str(self)!r} is not copied to {os.fspath(path)!r}; back up Redis itself: the folder of its "
            "append-only files, or what BGSAVE writes."
        )


def _is_open(holder: str) -> bool:
    return any(journal.holder == holder for journal in list(_open_journals))


def _as_arguments(draft: Draft) -> list[str]:
    value = "" if draft.value is None else repr(draft.value)
    if draft.kind == "rollback":
        generation = (draft.body or {}).get("generation")
        value = str(int(generation)) if isinstance(generation, int) else ""
    body = "" if draft.body is None or draft.kind == "rollback" else to_json(draft.body)
    expected = MOST_APART if draft.kind == "clock" else draft.expected
    return [draft.kind, draft.event_id or "", value, draft.reward_id or "", body, str(expected)]


def _placed(draft: Draft, outcome: list[Any]) -> tuple[Record, bool]:
    """The record that a draft became, and True; or the one that said the same before."""
    match outcome:
        case [b"new", id_, of, body, time]:
            when, position = int(time), time_and_position(id_)[1]
            if body:  # what a rollback goes back to, or what the time was, filled in
                draft.body = body_of(body, position)
            event, reward = draft.event_id, draft.reward_id
            return Record(position, when, draft.kind, event, int(of), draft.value, reward, draft.body), True
        case [b"earlier", found]:
            record = as_record(found)
            if draft.kind == "decision":
                check_same(draft, record)
            elif draft.kind == "reward":
                check_same_reward(draft, record)
            return record, False
        case [b"unknown"]:
            raise UnknownEvent(f"there is no event {draft.event_id!r}, or not any more; nothing was erased.")
        case [b"changed"]:
            raise Conflict("the settings were changed by another process meanwhile; open the loop again.")
        case [b"right", time, clock]:
            check_is_ahead(int(time), int(clock))
            raise AssertionError("the script and we agree on what is ahead")
        case [b"apart", server, caller]:
            raise clocks_differ(int(server), int(caller))
        case [b"unkept", kept]:
            generation = (draft.body or {}).get("generation")
            numbers = sorted(int(one) for one in kept)
            raise UnknownGeneration(f"generation {generation} is not kept; expected one of {numbers}.")
        case _:
            raise Fenced("only the process that learns writes ticks.")
