"""What requests may take, all together: places to be worked on, and bytes. A `Place` is what one of them holds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

from vw_fastcb.serve.errors import ApiError

# Answered without a token: they tell nothing about the journal, and machines that ask for them have none.
OPEN_PATHS = frozenset(("/", "/health/live", "/health/ready", "/openapi.json"))
PAGE = "/page/"  # what the live page asks for; it has cookies, and asks for them itself
# Answered under overload, too: who asks for them wants to know about it.
ALWAYS_ANSWERED = frozenset(("/health/live", "/health/ready", "/metrics"))

PLACE = "vw_fastcb.place"  # where endpoints find the place of a request

_STRANGERS = 32  # requests at a time that need no token, and for the page


def is_for_strangers(path: str) -> bool:
    """Whether a path needs no token, or asks for a cookie by itself."""
    return path in OPEN_PATHS or path.startswith(PAGE)


class Load:
    """How much the server does now, and how much it may do.

    Args:
        most_requests: How many requests may be worked on at a time.
        most_bytes: How many bytes their bodies may have, together.

    Attributes:
        working: Requests of those who may ask, whose bodies have arrived.
        bytes: Of bodies that are being read or worked on.
    """

    def __init__(self, most_requests: int, most_bytes: int) -> None:
        self.most_requests = most_requests
        self.most_bytes = most_bytes
        self.working = 0
        self.bytes = 0
        self._strangers = 0
        self._slow_strangers: dict[Place, None] = {}  # whose bodies have not arrived, the oldest first

    @property
    def is_full(self) -> bool:
        """Whether one more request would be refused."""
        return self.working >= self.most_requests

    def enter(self, path: str) -> Place:
        """A place for a request; raises where there is none."""
        if path in ALWAYS_ANSWERED:
            return Place(self)
        if is_for_strangers(path):
            return self._enter_stranger()
        if self.is_full:
            raise self.overloaded()
        return Place(self, needs_work=True)

    def _enter_stranger(self) -> Place:
        """Those who have shown no token share few places. Slow ones make room for the next."""
        if self._strangers >= _STRANGERS:
            if not self._slow_strangers:
                raise ApiError(503, f"{_STRANGERS} requests for pages are being answered; ask again a little later.")
            next(iter(self._slow_strangers)).evict()
        place = Place(self)
        place.is_stranger = True
        self._strangers += 1
        return place

    def overloaded(self) -> ApiError:
        """The refusal of one request more."""
        return ApiError(
            503, f"{self.most_requests} requests are being worked on already; ask again a little later.", is_shed=True
        )

    def too_many_bytes(self) -> ApiError:
        """The refusal of further bytes."""
        words = f"the bodies of the requests at hand have {self.most_bytes} bytes already; ask again a little later."
        return ApiError(503, words, {"connection": "close"}, is_shed=True)


class Place:
    """What one request holds until it is answered.

    Args:
        load: Of which this is a part.
        needs_work: Whether it counts as one of those that are worked on, once it has arrived.

    Attributes:
        is_stranger: Whether it is one of the few that need no token.
        is_evicted: Whether it had to make room.
    """

    def __init__(self, load: Load, *, needs_work: bool = False) -> None:
        self.is_stranger = False
        self.is_evicted = False
        self._load = load
        self._needs_work = needs_work
        self._is_working = False
        self._is_refused = False
        self._bytes = 0
        self._task: asyncio.Task[object] | None = None

    def start_work(self) -> None:
        """The request has arrived: it is one of those that are worked on, or is refused if there are too many."""
        if not self._needs_work:
            return
        self._needs_work = False
        if self._load.is_full:
            self._is_refused = True
            return
        self._load.working += 1
        self._is_working = True

    def check(self) -> None:
        """Raises if the request is refused."""
        if self._is_refused:
            raise self._load.overloaded()

    @contextlib.contextmanager
    def arriving(self) -> Iterator[None]:
        """While this lasts, a body arrives."""
        if self.is_stranger:
            self._task = asyncio.current_task()
            self._load._slow_strangers[self] = None
        try:
            yield
        finally:
            self._load._slow_strangers.pop(self, None)
        self.check()

    def hold(self, size: int) -> None:
        """Holds so many bytes more; raises where all requests together have too many."""
        if self._load.bytes + size > self._load.most_bytes:
            raise self._load.too_many_bytes()
        self._load.bytes += size
        self._bytes += size

    def evict(self) -> None:
        """Makes room: the request is answered with a refusal."""
        self.is_evicted = True
        self._leave_strangers()
        if self._task is not None:
            self._task.cancel()

    def release(self) -> None:
        """Holds nothing any more."""
        self._load.working -= self._is_working
        self._is_working = self._needs_work = False
        self._leave_strangers()
        self._load.bytes -= self._bytes
        self._bytes = 0

    def _leave_strangers(self) -> None:
        self._load._slow_strangers.pop(self, None)
        self._load._strangers -= self.is_stranger
        self.is_stranger = False
