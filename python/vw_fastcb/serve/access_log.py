"""The log of requests: a line of JSON for each."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from starlette.types import Scope

from vw_fastcb.serve.background import BackgroundWriter

_log = logging.getLogger("vw_fastcb.serve")
_STANDARD_OUTPUT = 1


class AccessLog:
    """Writes requests down. Where that fails or takes too long, lines are missing and clients notice nothing.

    Args:
        file: The descriptor to write to.
        name: Its name, for the warning.
    """

    def __init__(self, file: int, name: str) -> None:
        self._name = name
        self._has_warned = False
        self._writer = BackgroundWriter(file, self._recovered, self._failed)

    @classmethod
    @contextlib.contextmanager
    def opened(cls, path: Path | None) -> Iterator[AccessLog | None]:
        """The log at a path; - is standard output."""
        if path is None:
            yield None
            return
        is_output = path == Path("-")
        file = _STANDARD_OUTPUT if is_output else os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        log = cls(file, "standard output" if is_output else str(path))
        try:
            yield log
        finally:
            if log._writer.close() and not is_output:
                os.close(file)

    @property
    def dropped(self) -> int:
        """How many requests are missing in it."""
        return self._writer.dropped

    def write(self, scope: Scope, status: int, seconds: float, sent: int) -> None:
        """Writes one request down, a moment later."""
        client = scope.get("client")
        said: dict[str, Any] = {
            "time": _now(),
            "method": scope["method"],
            "path": scope["path"],
            "status": status,
            "ms": round(seconds * 1000, 3),
            "bytes": sent,
            "client": client[0] if client else None,
        }
        self._writer.write(json.dumps(said).encode() + b"\n")

    def _recovered(self, dropped: int) -> bytes:
        _log.warning("%d requests are missing in the access log: %s was not read in time.", dropped, self._name)
        return json.dumps({"time": _now(), "dropped": dropped}).encode() + b"\n"

    def _failed(self, problem: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            _log.warning("the access log cannot be written to %s: %s. Requests are missing in it.", self._name, problem)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
