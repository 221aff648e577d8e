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

    __slots__ = ("followers", "gate", "items", "turn")

    def __init__(self) -> None:
        self.items: list[_Item] = []
        self.turn = threading.Lock()
        self.turn.acquire()
        self.gate: _Gate | None = None
        self.followers = 0


class SharedCommits(Generic[_Item]):
    """Callers hand in items; one of them commits its own and everything that came in meanwhile.

    There is no thread for it: a lone caller commits by itself, and of many the first one waiting does.

    Args:
        commit: Commits items of one or more callers. Outcomes are set on the items.
    """

    def __init__(self, commit: Callable[[list[_Item]], None]) -> None:
        self._commit = commit
        self._mutex = threading.Lock()
        self._next: _Batch[_Item] | None = None  # open for more items
        self._is_busy = False

    def submit(self, items: list[_Item]) -> None:
        """Returns once the items were committed."""
        with self._mutex:
            batch, leads, has_to_wait = self._next, self._next is None, self._is_busy
            if batch is None:
                batch = self._next = _Batch()
                self._is_busy = True
            else:
                batch.gate = batch.gate or _Gate()
                batch.followers += 1
            batch.items += items
        if not leads:
            assert batch.gate is not None
            batch.gate.wait()
        elif has_to_wait:
            self._wait_and_lead(batch)
        else:
            self._lead(batch)

    def _wait_and_lead(self, batch: _Batch[_Item]) -> None:
        """Others rely on this thread: Ctrl-C counts when their items are committed."""
        interrupt: BaseException | None = None
        while True:
            try:
                batch.turn.acquire()
                break
            except BaseException as problem:
                interrupt = problem
        self._lead(batch)
        if interrupt is not None:
            raise interrupt

    def _lead(self, batch: _Batch[_Item]) -> None:
        with self._mutex:
            self._next = None
        try:
            self._commit(batch.items)
        finally:
            with self._mutex:
                following = self._next
                self._is_busy = following is not None
            if following is not None:
                following.turn.release()
            if batch.gate is not None:
                batch.gate.open_for(batch.followers)
