"""What the live page is told, once a second, for all who look at it."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import numpy as np

from vw_fastcb.loop import LoopError
from vw_fastcb.serve.endpoints import Service
from vw_fastcb.serve.errors import ApiError
from vw_fastcb.serve.live_reader import LiveReader

MOST_VIEWERS = 32

_BREATH = 1.0  # seconds between two messages
_GLANCES = 10  # looks, within a breath, whether the server is to stop
_LINGER = 60.0  # seconds that the journal is followed after the last one has gone
_LETTERS = 20  # dead letters that are listed, the newest
_SECONDS_SHOWN = 120  # of latency

_encode = msgspec.json.Encoder().encode


class Feed:
    """Tells viewers how the loop is doing.

    Args:
        service: What endpoints share.
        journal: The name of the journal.
        about: What does not change while the server runs.
    """

    def __init__(self, service: Service, journal: str, about: dict[str, Any]) -> None:
        self._service = service
        self._reader = LiveReader(journal)
        service.at_end.append(lambda: self._reader.stop(waits=True))
        self._about = about
        self._viewers: set[asyncio.Queue[bytes | None]] = set()
        self._admitted = 0  # viewers, those included that wait for their first message
        self._task: asyncio.Task[None] | None = None
        self._latency: deque[list[float] | None] = deque(maxlen=_SECONDS_SHOWN)
        self._status: dict[str, Any] = {}

    @contextlib.asynccontextmanager
    async def viewer(self) -> AsyncIterator[asyncio.Queue[bytes | None]]:
        """Messages for one who looks, the first of which tells everything; None where there is nothing more to come."""
        if self._admitted >= MOST_VIEWERS:
            raise ApiError(503, f"{MOST_VIEWERS} browsers look at this page already; close one.")
        self._admitted += 1
        try:
            async with self._told() as mine:
                yield mine
        finally:
            self._admitted -= 1

    @contextlib.asynccontextmanager
    async def _told(self) -> AsyncIterator[asyncio.Queue[bytes | None]]:
        mine: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=3)
        self._reader.start()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
        if not self._status:
            self._status = await self._look()
        mine.put_nowait(_encode({"about": self._about, **self._message(self._reader.everything())}))
        self._viewers.add(mine)
        try:
            yield mine
        finally:
            self._viewers.discard(mine)

    async def _run(self) -> None:
        alone = 0.0
        try:
            while alone < _LINGER and not self._service.is_stopping:
                for _ in range(_GLANCES):
                    await asyncio.sleep(_BREATH / _GLANCES)
                    if self._service.is_stopping:
                        return
                self._measure()
                alone = 0.0 if self._viewers else alone + _BREATH
                if self._viewers:
                    self._status = await self._look()
                    self._tell(_encode(self._message(self._reader.news())))
        finally:
            self._task, self._status = None, {}
            self._tell(None)
            self._reader.stop()

    def _tell(self, message: bytes | None) -> None:
        for viewer in self._viewers:
            is_behind = viewer.full()
            if is_behind or message is None:
                # Who misses changes is better off coming back and hearing everything.
                while not viewer.empty():
                    viewer.get_nowait()
            viewer.put_nowait(None if is_behind else message)

    def _message(self, live: dict[str, Any]) -> dict[str, Any]:
        return {"live": live, "latency": list(self._latency), **self._status}

    def _measure(self) -> None:
        """Median and 99th percentile of the last second's decisions in milliseconds, and how many there were."""
        metrics = self._service.metrics
        seconds, metrics.decided = metrics.decided, deque(maxlen=metrics.decided.maxlen)
        if not seconds:
            self._latency.append(None)
            return
        median, slow = np.percentile(np.array(seconds), [50, 99]) * 1000
        self._latency.append([round(float(median), 3), round(float(slow), 3), len(seconds)])

    async def _look(self) -> dict[str, Any]:
        return await self._service.read(self._look_now)

    def _look_now(self) -> dict[str, Any]:
        loop = self._service.loop
        try:
            status = loop.status().to_dict()
            generations = [
                {"generation": one.generation, "position": one.position, "time": one.time, "events": one.events}
                for one in reversed(loop.generations())
            ]
            newest = loop.dead_letters(newest=_LETTERS)[::-1]
            letters = [{"position": one.position, "reason": one.reason[:300]} for one in newest]
        except LoopError as problem:
            return {"problem": str(problem)}
        return {"status": status, "generations": generations, "letters": letters}
