"""The log of requests: a line of JSON for each."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from starlette.types import Scope

_log = logging.getLogger("vw_fastcb.serve")
_STANDARD_OUTPUT = 1


class AccessLog:
    """Writes requests down. Where that fails, lines are missing and clients notice nothing.

    Args:
        file: Where to write, without a buffer: what a full disk refuses is gone, and does not come up again later.
        name: Its name, for the warning.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._is_within_line = False  # after a line that was cut short
        self._has_warned = False

    @classmethod
    @contextlib.contextmanager
    def opened(cls, path: Path | None) -> Iterator[AccessLog | None]:
        """The log at a path; - is standard output."""
        if path is None:
            yield None
        elif path == Path("-"):
            with open(_STANDARD_OUTPUT, "wb", buffering=0, closefd=False) as output:
                yield cls(output, "standard output")
        else:
            with path.open("ab", buffering=0) as file:
                yield cls(file, str(path))

    def write(self, scope: Scope, status: int, seconds: float, sent: int) -> None:
        """Writes one request down."""
        client = scope.get("client")
        said: dict[str, Any] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "method": scope["method"],
            "path": scope["path"],
            "status": status,
            "ms": round(seconds * 1000, 3),
            "bytes": sent,
            "client": client[0] if client else None,
        }
        line = (b"\n" if self._is_within_line else b"") + json.dumps(said).encode() + b"\n"
        try:
            written = self._file.write(line) or 0  # None where a pipe is full
        except OSError as problem:
            self._warn(problem.strerror or str(problem))
            return
        if written:
            self._is_within_line = written < len(line)
        if written < len(line):
            self._warn("it took a part of a line only")

    def _warn(self, problem: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            _log.warning("the access log cannot be written to %s: %s. Requests are missing in it.", self._name, problem)
