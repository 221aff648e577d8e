"""Many requests, one commit."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

_Item = TypeVar("_Item")


class _Gate:
    """Lets many threads go on with one call to the system, where each lock would be one, and a switch of threads."""

    def __init__(self) -> None:
        self._events = os.eventfd(0, os.EFD_SEMAPHORE | os.EFD_CLOEXEC)

    def wait(self) -> None:
        os.eventfd_read(self._events)

    def open_for(self, threads: int) -> None:
        os.eventfd_write(self._events, threads)

    def __del__(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            os.close(self._events)


class _Batch(Generic[_Item]):
    """What is committed together. Whoever opens it commits it; the others wait at its gate."""

    __slots__ = ("followers", "gate", "is_done", "items", "leader", "turn")

    def __init__(self, leader: object) -> None:
        self.leader = leader
        self.items: list[_Item] = []
        self.turn = threading.Lock()
        self.turn.acquire()
        self.gate: _Gate | None = None
        self.followers = 0
        self.is_done = False


class SharedCommits(Generic[_Item]):
    """Callers hand in items; one of them commits its own and everything that came in meanwhile.

    There is no thread for it: a lone caller commits by itself, and of many the first one waiting does. Ctrl-C may come
    anywhere in the main thread, also while it commits for others. They are told, and go on.

    Where another commit follows at once, callers are let go when that one comes to waiting for the disk. Earlier, they
    would only keep the interpreter from it, and have nothing left to do while the disk works.

    Args:
        commit: Commits items of one or more callers. Outcomes are set on the items.
        interrupted: Told of items whose caller was interrupted, and whether they were being committed.
    """

    def __init__(self, commit: Callable[[list[_Item]], None], interrupted: Callable[[list[_Item], bool], None]) -> None:
        self._commit = commit
        self._interrupted = interrupted
        self._mutex = threading.Lock()
        self._current: _Batch[_Item] | None = None  # its leader commits it, or is about to
        self._open: _Batch[_Item] | None = None  # takes more items
        self._held: list[_Batch[_Item]] = []  # done; their callers are let go by the next leader

    def let_go(self) -> None:
        """To be called by what commits, before it waits for anything."""
        if self._held:
            with self._mutex:
                self._let_go()

    def submit(self, items: list[_Item]) -> None:
        """Returns once the items were committed."""
        caller = object()
        try:
            batch, has_to_wait = self._join(caller, items)
            if batch.leader is not caller:
                assert batch.gate is not None
                batch.gate.wait()
                return
            if has_to_wait:
                batch.turn.acquire()
            with self._mutex:
                self._open = None  # the batch is complete
            self._commit(batch.items)
            with self._mutex:
                self._finish(batch)
        except BaseException:
            self._give_up(caller)
            raise

    def _join(self, caller: object, items: list[_Item]) -> tuple[_Batch[_Item], bool]:
        with self._mutex:
            if self._open is None:
                self._open = _Batch(caller)
            else:
                self._open.gate = self._open.gate or _Gate()
                self._open.followers += 1
            self._open.items += items
            if self._current is None:
                self._current = self._open
            return self._open, self._current is not self._open

    def _finish(self, batch: _Batch[_Item]) -> None:
        """Lets go whose items were committed, and lets the next leader commit."""
        if batch.is_done:
            return
        batch.is_done = True
        self._let_go()
        self._held.append(batch)
        if self._current is batch:
            self._current = self._open
            if self._current is not None:
                self._current.turn.release()
                return
        self._let_go()

    def _let_go(self) -> None:
        held, self._held = self._held, []
        for batch in held:
            if batch.gate is not None:
                batch.gate.open_for(batch.followers)

    def _give_up(self, caller: object) -> None:
        """Nobody is to wait for a leader that was interrupted. Items that another one commits stay where they are."""
        with self._mutex:
            self._let_go()
            for batch in (self._current, self._open):
                if batch is None or batch.leader is not caller or batch.is_done:
                    continue
                if self._open is batch:
                    self._open = None
                try:
                    self._interrupted(batch.items, batch is self._current)
                finally:
                    self._finish(batch)
