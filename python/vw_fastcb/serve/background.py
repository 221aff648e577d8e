"""Writing that never holds up whoever writes: a thread waits for the reader, and what does not fit is dropped."""

from __future__ import annotations

import logging
import os
import select
import threading
from collections import deque
from collections.abc import Callable

_MOST_WAITING = 1_048_576  # bytes
_AT_ONCE = 65_536  # bytes in one write: as many as a pipe holds
_GATHERING = 0.01  # seconds; a wake-up for each line would take the interpreter from the event loop
_PATIENCE = 1.0  # seconds that the reader has at the end for each write


def can_take(file: int, seconds: float = _PATIENCE) -> bool:
    """Whether a line can be written to a descriptor without waiting for longer than that."""
    ready = select.poll()
    ready.register(file, select.POLLOUT)
    return bool(ready.poll(1000 * seconds))


class BackgroundWriter:
    """Writes lines to a file from a thread of its own.

    A pipe that nobody reads, a terminal that was stopped and a disk that hangs all block a write. Only the thread
    waits for them; meanwhile lines gather, up to a megabyte, and further ones are dropped.

    Args:
        file: The descriptor.
        recovered: Called by the thread once it can write again, with the number of lines that were dropped. What it
            returns is written.
        failed: Called by the thread where the system refuses a write, with the reason.

    Attributes:
        dropped: How many lines were dropped.
    """

    def __init__(self, file: int, recovered: Callable[[int], bytes], failed: Callable[[str], None]) -> None:
        self.dropped = 0
        self._file = file
        self._recovered = recovered
        self._failed = failed
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._unsaid = 0  # lines that were dropped since that was last reported
        self._bytes_written = 0
        self._is_within_line = False  # after a line that was cut short
        self._lock = threading.Lock()  # of the numbers of lines and what waits
        self._has_lines = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="vw_fastcb.serve.writer", daemon=True)
        self._thread.start()

    def write(self, line: bytes) -> None:
        """Takes a line, or drops it. Returns at once."""
        with self._lock:
            if self._size + len(line) > _MOST_WAITING:
                self.dropped += 1
                self._unsaid += 1
                return
            self._waiting.append(line)
            self._size += len(line)
        if not self._has_lines.is_set():
            self._has_lines.set()

    def close(self) -> bool:
        """Writes what waits, as long as somebody reads it. Whether the thread has ended."""
        self._closing.set()
        self._has_lines.set()
        before = -1
        while self._thread.is_alive() and before != self._bytes_written:
            before = self._bytes_written
            self._thread.join(_PATIENCE)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            self._has_lines.wait()
            is_closing = self._closing.wait(_GATHERING)
            self._has_lines.clear()
            while lines := self._taken():
                self._write(lines)
            if is_closing:
                return

    def _taken(self) -> list[bytes]:
        with self._lock:
            lines: list[bytes] = []
            size = 0
            while self._waiting and size < _AT_ONCE:
                size += len(self._waiting[0])
                lines.append(self._waiting.popleft())
            return lines

    def _write(self, lines: list[bytes]) -> None:
        """Writes some lines, and after them how many were dropped meanwhile."""
        content = (b"\n" if self._is_within_line else b"") + b"".join(lines)
        try:
            written = self._write_all(content)
            problem = None if written == len(content) else "it took a part of a line only"
        except OSError as refusal:
            written, problem = 0, refusal.strerror or str(refusal)
        if written:
            self._is_within_line = content[written - 1 : written] != b"\n"
        with self._lock:
            self._size -= sum(map(len, lines))
            if problem is not None:
                lost = max(1, content[written:].count(b"\n"))
                self.dropped += lost
                self._unsaid += lost
            unsaid = 0 if problem is not None else self._unsaid
            self._unsaid -= unsaid
        if problem is not None:
            self._failed(problem)
        elif unsaid:
            self._write([self._counted(self._recovered(unsaid))])

    def _counted(self, line: bytes) -> bytes:
        with self._lock:
            self._size += len(line)
        return line

    def _write_all(self, content: bytes) -> int:
        """Writes as much as the system takes: all of it, but for a disk that is full."""
        view, written = memoryview(content), 0
        while written < len(content):
            try:
                taken = os.write(self._file, view[written:])
            except BlockingIOError:  # somebody has made this pipe a non-blocking one
                can_take(self._file)
                continue
            except OSError:
                if written:
                    return written
                raise
            written += taken
            self._bytes_written += taken
        return written


class BackgroundHandler(logging.Handler):
    """Hands log messages to a background writer, so that a request that logs does not wait, either.

    Args:
        file: The descriptor.
    """

    def __init__(self, file: int) -> None:
        super().__init__()
        self._writer = BackgroundWriter(file, self._recovered, lambda problem: None)

    def emit(self, record: logging.LogRecord) -> None:
        """Takes a message, or drops it."""
        self._writer.write(self.format(record).encode(errors="backslashreplace") + b"\n")

    def close(self) -> None:
        """Writes what waits, as long as somebody reads it."""
        self._writer.close()
        super().close()

    def _recovered(self, dropped: int) -> bytes:
        words = f"{dropped} log messages are missing here: they were not read in time."
        record = logging.makeLogRecord({"name": __name__, "levelname": "WARNING", "msg": words})
        return self.format(record).encode() + b"\n"
