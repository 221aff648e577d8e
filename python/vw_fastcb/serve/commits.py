"""From the event loop to the thread that commits: many requests, one commit, and no thread for each of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
from collections.abc import Sequence
from typing import NamedTuple

from vw_fastcb.loop import Loop, LoopDecision, LoopError
from vw_fastcb.loop.loop import answer_all
from vw_fastcb.loop.requests import Request

_log = logging.getLogger("vw_fastcb.serve")

_MOST_AT_ONCE = 64  # requests in one commit; more of them would keep the first ones waiting


class _Waiting(NamedTuple):
    request: Request
    answer: asyncio.Future[LoopDecision | None]


class Commits:
    """Answers requests of one event loop in a thread of its own.

    A sync of the disk must not stop the event loop, and a thread for each request would cost more than the request.
    So requests wait in a list. While the thread commits some, others gather; when it is done, it hands all answers back
    at once and gets all that wait. How many can wait is how many the server lets in.

    Args:
        loop: The loop.
    """

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._thread = threading.Thread(target=self._run, name="vw_fastcb.serve.commits", daemon=True)
        self._batches: queue.SimpleQueue[list[_Waiting] | None] = queue.SimpleQueue()
        # The rest belongs to the event loop's thread.
        self._events: asyncio.AbstractEventLoop | None = None
        self._waiting: list[_Waiting] = []
        self._is_busy = False

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

    async def answer(self, request: Request) -> LoopDecision | None:
        """What the loop answers, once it is durable. Raises what the loop raises."""
        events = self._events
        assert events is not None
        waiting = _Waiting(request, events.create_future())
        if not self._waiting and not self._is_busy:
            events.call_soon(self._hand_over)  # later: others that have arrived together with this one come along
        self._waiting.append(waiting)
        return await waiting.answer

    def _hand_over(self) -> None:
        if not self._is_busy and self._waiting:
            self._is_busy = True
            batch, self._waiting = self._waiting[:_MOST_AT_ONCE], self._waiting[_MOST_AT_ONCE:]
            self._batches.put(batch)

    def _settle(self, batch: list[_Waiting], answers: Sequence[LoopDecision | Exception | None]) -> None:
        self._is_busy = False
        self._hand_over()
        for waiting, answer in zip(batch, answers, strict=True):
            if waiting.answer.done():  # nobody waits any more: the server was told to end at once
                continue
            if isinstance(answer, Exception):
                waiting.answer.set_exception(answer)
            else:
                waiting.answer.set_result(answer)

    def _run(self) -> None:
        events = self._events
        assert events is not None
        while (batch := self._batches.get()) is not None:
            answers: Sequence[LoopDecision | Exception | None]
            try:
                answers = answer_all(self._loop, [one.request for one in batch])
            except BaseException as problem:  # nobody is to wait for ever, whatever happens
                _log.exception("requests could not be committed")
                answers = [LoopError(f"the request failed ({type(problem).__name__}).")] * len(batch)
            with contextlib.suppress(RuntimeError):  # the event loop has ended, and those who waited with it
                events.call_soon_threadsafe(self._settle, batch, answers)
