"""Many requests, one commit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

_Item = TypeVar("_Item")


class _Ticket(Generic[_Item]):
    """One caller's items, and a lock that is free once they are committed or the caller is to commit."""

    __slots__ = ("is_done", "items", "turn")

    def __init__(self, items: list[_Item]) -> None:
        self.items = items
        self.is_done = False
        self.turn = threading.Lock()
        self.turn.acquire()


class SharedCommits(Generic[_Item]):
    """Callers hand in items; one of them commits its own and everything that came in meanwhile.

    There is no thread for it: a lone caller commits by itself, and of many the first one waiting does. Ctrl-C may come
    anywhere in the main thread, also while it commits for others. They are told, and go on.

    Args:
        commit: Commits items of one or more callers. Outcomes are set on the items.
        interrupted: Told of items whose commit was interrupted, done or not.
    """

    def __init__(self, commit: Callable[[list[_Item]], None], interrupted: Callable[[list[_Item]], None]) -> None:
        self._commit = commit
        self._interrupted = interrupted
        self._mutex = threading.Lock()
        self._leader: _Ticket[_Item] | None = None
        self._waiting: list[_Ticket[_Item]] = []
        self._taken: list[_Ticket[_Item]] = []

    def submit(self, items: list[_Item]) -> None:
        """Returns once the items were committed."""
        ticket = _Ticket(items)
        try:
            with self._mutex:
                self._waiting.append(ticket)
                leads = self._leader is None
                if leads:
                    self._leader = ticket
            if not leads:
                ticket.turn.acquire()
            if not ticket.is_done:
                self._lead()
        except BaseException:
            self._give_up(ticket)
            raise

    def _lead(self) -> None:
        with self._mutex:
            self._taken, self._waiting = self._waiting, []
        self._commit([item for ticket in self._taken for item in ticket.items])
        with self._mutex:
            self._hand_on()

    def _hand_on(self) -> None:
        """Lets go whose items were committed, and lets the first one waiting commit next."""
        for ticket in self._taken:
            if not ticket.is_done:
                ticket.is_done = True
                ticket.turn.release()
        self._taken = []
        self._leader = self._waiting[0] if self._waiting else None
        if self._leader is not None:
            self._leader.turn.release()

    def _give_up(self, ticket: _Ticket[_Item]) -> None:
        """Takes back items that nobody waits for any more, unless another caller is committing them already."""
        with self._mutex:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
            if self._leader is ticket:
                try:
                    self._interrupted([item for one in self._taken if not one.is_done for item in one.items])
                finally:
                    self._hand_on()
