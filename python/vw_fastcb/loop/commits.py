"""Many requests, one commit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

_Item = TypeVar("_Item")


class _Ticket(Generic[_Item]):
    """One caller's items, and a lock that is free once they are committed or the caller is to commit."""

    __slots__ = ("is_done", "items", "leads", "turn")

    def __init__(self, items: list[_Item]) -> None:
        self.items = items
        self.is_done = False
        self.leads = False
        self.turn = threading.Lock()
        self.turn.acquire()


class SharedCommits(Generic[_Item]):
    """Callers hand in items; one of them commits its own and everything that came in meanwhile.

    There is no thread for it: a lone caller commits by itself, and of many the first one waiting does.

    Args:
        commit: Commits items of one or more callers. Outcomes are set on the items.
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
            ticket.leads = not self._is_busy
            self._is_busy = True
        if not ticket.leads:
            try:
                ticket.turn.acquire()
            except BaseException:  # Ctrl-C
                self._give_up(ticket)
                raise
        if not ticket.is_done:
            self._lead()

    def _lead(self) -> None:
        with self._mutex:
            tickets, self._waiting = self._waiting, []
        try:
            self._commit([item for ticket in tickets for item in ticket.items])
        finally:
            for ticket in tickets:
                ticket.is_done = True
                if not ticket.leads:
                    ticket.turn.release()
            with self._mutex:
                self._hand_on()

    def _hand_on(self) -> None:
        """Lets the first one waiting commit next."""
        self._is_busy = bool(self._waiting)
        if self._waiting:
            self._waiting[0].leads = True
            self._waiting[0].turn.release()

    def _give_up(self, ticket: _Ticket[_Item]) -> None:
        """Takes back items that nobody waits for any more, unless they are being committed already."""
        with self._mutex:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
                if ticket.leads:
                    self._hand_on()
