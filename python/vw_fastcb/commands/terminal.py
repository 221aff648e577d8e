"""What the commands around a loop share: errors in words, a line that tells how it goes, a polite end."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType

from rich.console import Console
from rich.markup import escape
from rich.status import Status

INTERRUPTED = 130  # the exit code of what Ctrl-C has ended

_EVERY = 5.0  # seconds between two lines where nobody watches a terminal


def guarded(name: str, run: Callable[[], int]) -> int:
    """Runs a command; says what went wrong in a line of its own. Returns the exit code."""
    try:
        return run()
    except ModuleNotFoundError:
        raise  # explained where all commands are
    except BrokenPipeError:
        return 1  # whoever read the output has ended
    except (OSError, RuntimeError, TypeError, ValueError, sqlite3.Error) as problem:
        tell(f"fastcb {name}: {words_of(problem)}")
        return 1


def words_of(problem: BaseException) -> str:
    """What an error says, without Python's decorations."""
    if isinstance(problem, OSError) and problem.strerror and problem.filename is not None:
        return f"{problem.filename!r}: {problem.strerror}."
    return str(problem) or type(problem).__name__


def counted(number: int, noun: str) -> str:
    """A number with its noun, such as "1 event" or "2 events"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def tell(text: str) -> None:
    """Prints a line on the error stream."""
    Console(stderr=True).print(escape(text), highlight=False, soft_wrap=True)


@contextlib.contextmanager
def stopping() -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM set an event instead of ending the process. A second Ctrl-C ends it."""
    stop = threading.Event()

    def handle(number: int, _: FrameType | None) -> None:
        if stop.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.set()

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class StatusLine:
    """How it goes: one line that changes on a terminal, and elsewhere a new line now and then.

    Args:
        is_quiet: Whether to say nothing at all.
    """

    def __init__(self, is_quiet: bool = False) -> None:
        self._console = Console(stderr=True)
        self._is_quiet = is_quiet
        self._live: Status | None = None
        self._said = ""
        self._said_at = time.monotonic()

    def __enter__(self) -> StatusLine:
        if not self._is_quiet and self._console.is_terminal:
            self._live = self._console.status("")
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, text: str) -> None:
        """How it goes now."""
        if self._is_quiet:
            return
        if self._live is not None:
            self._live.update(escape(text))
        elif text != self._said and time.monotonic() - self._said_at >= _EVERY:
            self.say(text)

    def say(self, text: str) -> None:
        """Something that is to stay on the screen."""
        if not self._is_quiet:
            self._said, self._said_at = text, time.monotonic()
            self._console.print(escape(text), highlight=False, soft_wrap=True)
