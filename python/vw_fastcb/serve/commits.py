"""From the event loop to the thread that commits: many requests, one commit, and no thread for each of them."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
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
    So requests wait in a queue, and the thread takes all that are there, commits them together, and hands all answers
    back at once. The queue is as long as the server lets requests in.

    Args:
        loop: The loop.
    """

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="vw_fastcb.serve.commits", daemon=True)
        self._events: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Starts the thread, for the event loop that runs."""
        self._events = asyncio.get_running_loop()
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether requests are answered."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Ends the thread, after everything that waits was answered."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()

    async def answer(self, request: Request) -> LoopDecision | None:
        """What the loop answers, once it is durable. Raises what the loop raises."""
        assert self._events is not None
        waiting = _Waiting(request, self._events.create_future())
        self._queue.put(waiting)
        return await waiting.answer

    def _run(self) -> None:
        while (batch := self._next()) is not None:
            try:
                answers = answer_all(self._loop, [one.request for one in batch])
            except BaseException as problem:  # nobody is to wait for ever, whatever happens
                _log.exception("requests could not be committed")
                answers = [LoopError(f"the request failed ({type(problem).__name__}).")] * len(batch)
            assert self._events is not None
            self._events.call_soon_threadsafe(_settle, batch, answers)

    def _next(self) -> list[_Waiting] | None:
        """All requests that wait, at least one; None at the end."""
        first = self._queue.get()
        if first is None:
            return None
        batch = [first]
        while len(batch) < _MOST_AT_ONCE:
            try:
                one = self._queue.get_nowait()
            except queue.Empty:
                break
            if one is None:
                self._queue.put(None)  # the end, once these were answered
                break
            batch.append(one)
        return batch


def _settle(batch: list[_Waiting], answers: list[LoopDecision | Exception | None]) -> None:
    for waiting, answer in zip(batch, answers, strict=True):
        if waiting.answer.done():  # nobody waits any more: the server was told to end at once
            continue
        if isinstance(answer, Exception):
            waiting.answer.set_exception(answer)
        else:
            waiting.answer.set_result(answer)
