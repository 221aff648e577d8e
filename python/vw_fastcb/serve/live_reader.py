"""The server's end of `live_process`: it is started when somebody looks, and what it tells is put together here."""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
import threading
from typing import Any

import msgspec

_log = logging.getLogger("vw_fastcb.serve")

_AFTER_TROUBLE = 5.0  # seconds until a process that ended is started again
_PATIENCE = 5.0  # seconds that it has to end


class LiveReader:
    """Follows a journal in another process, from a thread that waits for what it tells.

    Args:
        journal: Its name. It may hold a password, so it goes through a pipe and not on a command line.
    """

    def __init__(self, journal: str) -> None:
        self._journal = journal
        self._lock = threading.Lock()  # of everything below
        self._told: dict[str, Any] = {}
        self._buckets: dict[str, Any] = {}
        self._news: dict[str, Any] = {}  # buckets that changed since they were last asked for
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begins to follow, unless it does."""
        if self._thread is None:
            self._stopping = threading.Event()
            self._thread = threading.Thread(
                target=self._run, args=(self._stopping,), name="vw_fastcb.serve.live", daemon=True
            )
            self._thread.start()

    def stop(self, *, waits: bool = False) -> None:
        """Ends the other process, and waits for its end where that is wanted."""
        thread, self._thread = self._thread, None
        self._stopping.set()
        with self._lock:
            if self._process is not None and self._process.stdin is not None:
                with contextlib.suppress(OSError):
                    self._process.stdin.close()  # which ends it
            self._told, self._buckets, self._news = {}, {}, {}
        if waits and thread is not None:
            thread.join()

    def everything(self) -> dict[str, Any]:
        """All that is known, for somebody who has just come."""
        with self._lock:
            return {**self._told, "buckets": dict(self._buckets)}

    def news(self) -> dict[str, Any]:
        """What changed since this was last asked."""
        with self._lock:
            changed, self._news = self._news, {}
            return {**self._told, "buckets": changed}

    def _run(self, stopping: threading.Event) -> None:
        while not stopping.is_set():
            try:
                self._follow(stopping)
            except (OSError, msgspec.DecodeError) as problem:
                self._take({"problem": f"the journal cannot be followed: {problem}."})
            stopping.wait(_AFTER_TROUBLE)

    def _follow(self, stopping: threading.Event) -> None:
        command = [sys.executable, "-m", "vw_fastcb.serve.live_process"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            with self._lock:
                self._process = process
                process.stdin.write(self._journal.encode() + b"\n")
                process.stdin.flush()
                if stopping.is_set():
                    process.stdin.close()
            try:
                for line in process.stdout:
                    if not stopping.is_set():
                        self._take(msgspec.json.decode(line))
            finally:
                with self._lock:
                    self._process = None
                with contextlib.suppress(OSError):
                    process.stdin.close()
                try:
                    process.wait(_PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()

    def _take(self, told: dict[str, Any]) -> None:
        changed = told.pop("buckets", {})
        if "problem" in told:
            _log.warning("the live page cannot follow the journal: %s", told["problem"])
        with self._lock:
            if told.get("epoch") != self._told.get("epoch"):
                self._buckets, self._news = {}, {}
            self._told = told
            self._buckets |= changed
            self._news |= changed
