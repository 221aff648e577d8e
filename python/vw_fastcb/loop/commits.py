"""Many requests, one commit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

_Item = TypeVar("_Item")

_AWAKE = 2  # callers that are woken at once; with one alone, a thread that computes would come between any two


class _Caller:
    """A thread that hands in items. It waits once, for somebody to wake it."""

    __slots__ = ("is_asleep", "wakes")

    def __init__(self) -> None:
        self.is_asleep = False
        self.wakes = threading.Lock()
        self.wakes.acquire()

    def wake(self) -> None:
        """May be called again by whoever was interrupted here."""
        if self.is_asleep and self.wakes.locked():
            self.wakes.release()
        self.is_asleep = False


class _Batch(Generic[_Item]):
    """What is committed together, by the first of its callers."""

    __slots__ = ("callers", "items")

    def __init__(self) -> None:
        self.callers: list[_Caller] = []
        self.items: list[_Item] = []


class SharedCommits(Generic[_Item]):
    """Callers hand in items; one of them commits its own and everything that came in meanwhile.

    There is no thread for it: a lone caller commits by itself, and of many the first one waiting does. Ctrl-C may come
    anywhere in the main thread, also while it commits for others. They are told, and go on.

    Callers whose items were committed are woken a few at a time, each one by one that goes on, and after the last comes
    the one that commits next. The interpreter runs one thread at a time: more of them would be woken only to wait for
    it, and whoever committed earlier would do so for the few that had come back.

    Args:
        commit: Commits items of one or more callers. Outcomes are set on the items.
        interrupted: Told of items that were being committed when their committer was interrupted.
    """

    def __init__(self, commit: Callable[[list[_Item]], None], interrupted: Callable[[list[_Item]], None]) -> None:
        self._commit = commit
        self._interrupted = interrupted
        self._mutex = threading.Lock()
        self._open: _Batch[_Item] | None = None  # takes more items
        self._current: _Batch[_Item] | None = None  # is being committed
        self._done: list[_Caller] = []  # are to go on, the first one last
        self._awake: list[_Caller] = []  # go on, or commit

    @property
    def is_idle(self) -> bool:
        """Whether nobody commits, or is about to."""
        return not self._awake

    def waiting(self) -> list[_Item]:
        """What came in since the last commit began."""
        with self._mutex:
            return [] if self._open is None else list(self._open.items)

    def submit(self, items: list[_Item]) -> None:
        """Returns once the items were committed."""
        caller = _Caller()
        try:
            with self._mutex:
                batch = self._join(caller, items)
            if caller.is_asleep:
                caller.wakes.acquire()
            if batch.callers[0] is caller:
                with self._mutex:
                    self._current, self._open = batch, None
                self._commit(batch.items)
            with self._mutex:
                self._go_on(caller)
        except BaseException:
            with self._mutex:
                self._give_up(caller)
            raise

    def _join(self, caller: _Caller, items: list[_Item]) -> _Batch[_Item]:
        batch = self._open = self._open or _Batch()
        batch.callers.append(caller)
        batch.items += items
        if self._awake:
            caller.is_asleep = True
        else:
            self._awake = [caller]
        return batch

    def _go_on(self, caller: _Caller) -> None:
        """Wakes those whose items the caller has committed, or the next one of them."""
        if self._current is not None and self._current.callers[0] is caller:
            self._done, self._current = self._current.callers[:0:-1], None
        self._awake = [one for one in self._awake if one is not caller]
        while self._done and len(self._awake) < _AWAKE:
            self._awake.append(self._done[-1])
            self._done.pop()
        if self._open is not None and not self._awake:
            self._awake = [self._open.callers[0]]
        for one in self._awake:
            one.wake()

    def _give_up(self, caller: _Caller) -> None:
        """Nobody is to wait for a caller that was interrupted. Items that another one commits stay where they are."""
        current, opened = self._current, self._open
        if current is not None and current.callers[0] is caller:
            try:
                self._interrupted(current.items)
            finally:
                self._go_on(caller)
            return
        for batch in (current, opened):
            if batch is not None:
                batch.callers = [one for one in batch.callers if one is not caller]
        if opened is not None and not opened.callers:
            self._open = None
        self._done = [one for one in self._done if one is not caller]
        if self._current is None:
            self._go_on(caller)
