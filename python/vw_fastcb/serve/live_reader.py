"""The server's end of `live_process`: it is started when somebody looks, and what it tells is put together here."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from asyncio.subprocess import PIPE, Process
from typing import Any

import msgspec

_log = logging.getLogger("vw_fastcb.serve")

_LONGEST_LINE = 1 << 24
_AFTER_TROUBLE = 5.0  # seconds until a reader that ended is started again


class LiveReader:
    """Follows a journal in another process while it runs.

    Args:
        journal: Its name. It may hold a password, so it goes through a pipe and not on a command line.
    """

    def __init__(self, journal: str) -> None:
        self._journal = journal
        self._task: asyncio.Task[None] | None = None
        self._process: Process | None = None
        self._told: dict[str, Any] = {}
        self._buckets: dict[str, Any] = {}
        self._news: dict[str, Any] = {}  # buckets that changed since they were last asked for

    def start(self) -> None:
        """Begins to follow, or goes on."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Ends the other process."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._task = None
        self._told, self._buckets, self._news = {}, {}, {}

    def everything(self) -> dict[str, Any]:
        """All that is known, for somebody who has just come."""
        return {**self._told, "buckets": self._buckets}

    def news(self) -> dict[str, Any]:
        """What changed since this was last asked."""
        changed, self._news = self._news, {}
        return {**self._told, "buckets": changed}

    async def _run(self) -> None:
        while True:
            try:
                await self._follow()
            except OSError as problem:
                self._told = {"problem": f"the journal cannot be followed: {problem}."}
            finally:
                await self._end()
            await asyncio.sleep(_AFTER_TROUBLE)

    async def _follow(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "vw_fastcb.serve.live_process", stdin=PIPE, stdout=PIPE, limit=_LONGEST_LINE
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(self._journal.encode() + b"\n")
        async for line in self._process.stdout:
            self._take(msgspec.json.decode(line))

    def _take(self, told: dict[str, Any]) -> None:
        changed = told.pop("buckets", {})
        if told.get("epoch") != self._told.get("epoch"):
            self._buckets, self._news = {}, {}
        if "problem" in told:
            _log.warning("the live page cannot follow the journal: %s", told["problem"])
        self._told = told
        self._buckets |= changed
        self._news |= changed

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        assert process.stdin is not None
        process.stdin.close()  # which ends it
        try:
            await asyncio.wait_for(process.wait(), 2.0)
        except TimeoutError:
            process.kill()
            await process.wait()
