"""From requests of an event loop to commits: many requests, one commit, and no thread for each of them."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import queue
import threading
import time
from collections.abc import Sequence

from vw_fastcb.loop import JournalUnreachable, Loop
from vw_fastcb.loop.loop import Answered, answer_all, is_free
from vw_fastcb.loop.requests import Request

_MOST_AT_ONCE = 64  # requests in one commit; more of them would keep the first ones waiting
_MOST_BYTES = 32_768  # of requests in one commit; a hundred thousand features, as many as fit one body, take seconds
_QUICK = 0.005  # seconds: as long as the interpreter lets a thread run when another one wants to


class _Batch:
    """Requests of one commit.

    Attributes:
        requests: What is asked.
        futures: Who waits for the answers.
        sizes: How many bytes each request was.
        answers: What the loop answered.
        seconds: How long that took.
    """

    __slots__ = ("answers", "futures", "requests", "seconds", "sizes")

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.futures: list[asyncio.Future[Answered]] = []
        self.sizes: list[int] = []
        self.answers: Sequence[Answered | Exception] = ()
        self.seconds = 0.0

    def most(self) -> int:
        """How many of them go together: one at least, so that others wait for one large request, and not for many."""
        sizes = itertools.accumulate(self.sizes[:_MOST_AT_ONCE])
        return max(1, sum(size <= _MOST_BYTES for size in sizes))

    def rest(self, most: int) -> _Batch:
        """Those beyond so many, taken out of this one."""
        rest = _Batch()
        rest.requests, rest.futures, rest.sizes = self.requests[most:], self.futures[most:], self.sizes[most:]
        del self.requests[most:], self.futures[most:], self.sizes[most:]
        return rest


class Commits:
    """Answers requests of one event loop, many with one commit.

    Requests gather as long as more of them arrive, and while others are being committed. A commit is quick if the
    journal is a file, nobody else writes to it, the disk is fast, and the requests are small. Then the event loop
    commits by itself: a thread would hand the interpreter to and fro with it, which takes longer than the commit. Else
    a thread commits, so that a slow disk, a server far away, another process or a long list never stops the event loop.
    How many requests can wait is how many the server lets in.

    Args:
        loop: The loop.
    """

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._thread = threading.Thread(target=self._run, name="vw_fastcb.serve.commits", daemon=True)
        self._batches: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        # The rest belongs to the event loop's thread.
        self._events: asyncio.AbstractEventLoop | None = None
        self._gathering = _Batch()
        self._is_busy = False  # gathering, or committing
        self._is_quick = True  # as the last commit was

    def start(self) -> None:
        """Starts the thread, for the event loop that runs."""
        self._events = asyncio.get_running_loop()
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether requests are answered."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Ends the thread, once it has committed what it has."""
        if self._thread.is_alive():
            self._batches.put(None)
            self._thread.join()

    async def answer(self, request: Request, size: int = 0) -> Answered:
        """What the loop answers, once it is durable. Raises what the loop raises.

        Args:
            request: What is asked.
            size: How many bytes that was.
        """
        events = self._events
        assert events is not None
        future: asyncio.Future[Answered] = events.create_future()
        self._gathering.requests.append(request)
        self._gathering.futures.append(future)
        self._gathering.sizes.append(size)
        if not self._is_busy:
            self._is_busy = True
            events.call_soon(self._gather, 0)
        return await future

    def _gather(self, before: int) -> None:
        """Commits once no more requests arrive, or enough are there."""
        count = len(self._gathering.requests)
        if before < count < _MOST_AT_ONCE:
            assert self._events is not None
            self._events.call_soon(self._gather, count)
            return
        batch, self._gathering = self._gathering, self._gathering.rest(self._gathering.most())
        if self._is_quick and sum(batch.sizes) <= _MOST_BYTES and is_free(self._loop):
            self._commit(batch)
            self._settle(batch)
        else:
            self._batches.put(batch)

    def _settle(self, batch: _Batch) -> None:
        self._is_quick = batch.seconds < _QUICK
        for future, answer in zip(batch.futures, batch.answers, strict=True):
            if future.done():  # nobody waits any more: the server was told to end at once
                continue
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        away = next((one for one in batch.answers if isinstance(one, JournalUnreachable)), None)
        if away is not None:
            self._refuse_waiting(away)
        self._is_busy = bool(self._gathering.requests)
        if self._is_busy:
            assert self._events is not None
            self._events.call_soon(self._gather, 0)

    def _refuse_waiting(self, problem: JournalUnreachable) -> None:
        """Those who waited behind a server that does not answer have waited for long enough, too."""
        waiting, self._gathering = self._gathering, _Batch()
        for future in waiting.futures:
            if not future.done():
                future.set_exception(JournalUnreachable(*problem.args))

    def _run(self) -> None:
        events = self._events
        assert events is not None
        while (batch := self._batches.get()) is not None:
            self._commit(batch)
            with contextlib.suppress(RuntimeError):  # the event loop has ended, and those who waited with it
                events.call_soon_threadsafe(self._settle, batch)

    def _commit(self, batch: _Batch) -> None:
        begun = time.monotonic()
        try:
            batch.answers = answer_all(self._loop, batch.requests)
        except Exception as problem:
            batch.answers = [problem] * len(batch.requests)
        except BaseException as problem:  # nobody is to wait for ever, whatever happens
            failure = RuntimeError(f"the commit ended with {type(problem).__name__}.")
            failure.__cause__ = problem
            batch.answers = [failure] * len(batch.requests)
        batch.seconds = time.monotonic() - begun
