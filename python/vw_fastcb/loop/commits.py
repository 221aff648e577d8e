"""Many requests, one commit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

_Item = TypeVar("_Item")


class _Ticket(Generic[_Item]):
    """One caller's items, and a lock that is free once it is the caller's turn."""

    __slots__ = ("is_done", "items", "turn")

    def __init__(self, items: list[_Item]) -> None:
        self.items = items
        self.is_done = False
        self.turn = threading.Lock()
        self.turn.acquire()


class SharedCommits(Generic[_Item]):
    """Callers hand in items; one of them commits its own and everything that came in meanwhile.

    There is no thread for it: a lone caller commits by itself, and of many the first one waiting does.

    Args:
        commit: Commits items of one or more callers. It must not raise; outcomes are set on the items.
    """

    def __init__(self, commit: Callable[[list[_Item]], None]) -> None:
        self._commit = commit
        self._mutex = threading.Lock()
        self._waiting: list[_Ticket[_Item]] = []
        self._is_busy = False

    def submit(self, items: list[_Item]) -> None:
        """Returns once the items were committed."""
        ticket = _Ticket(items)
        with self._mutex:
            self._waiting.append(ticket)
            leads = not self._is_busy
            self._is_busy = True
        if not leads:
            ticket.turn.acquire()
        if not ticket.is_done:
            self._lead()

    def _lead(self) -> None:
        with self._mutex:
            tickets, self._waiting = self._waiting, []
        try:
            self._commit([item for ticket in tickets for item in ticket.items])
        finally:
            with self._mutex:
                following = self._waiting[0] if self._waiting else None
                self._is_busy = following is not None
            for ticket in tickets:
                ticket.is_done = True
                ticket.turn.release() if ticket.turn.locked() else None
            if following is not None:
                following.turn.release()
