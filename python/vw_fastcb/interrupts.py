"""Ctrl-C at a bad moment."""

from __future__ import annotations

# signal.getsignal makes an enumeration's member of every answer, ten times slower.
import _signal  # type: ignore[import-not-found]
import signal
import threading
from types import FrameType, TracebackType
from typing import Any

# Those whose handlers are known to raise: Ctrl-C, and what programs set for time limits and for ending.
_SIGNALS = tuple(
    int(one)
    for one in (
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGALRM,
        signal.SIGHUP,
        signal.SIGQUIT,
        signal.SIGUSR1,
        signal.SIGUSR2,
        signal.SIGVTALRM,
        signal.SIGPROF,
    )
)


class no_interrupt:  # noqa: N801, used as a statement
    """Lets Ctrl-C, and what else may raise in the middle of a statement, wait until the block ends.

    A thread that is interrupted while others rely on it may leave a lock that nobody gives back, and then they wait for
    ever.
    """

    __slots__ = ("_before", "_came")

    def __enter__(self) -> None:
        self._before: list[tuple[int, Any]] = []
        self._came: list[int] = []
        if threading.get_ident() != threading.main_thread().ident:  # only that one is ever interrupted
            return
        try:
            for number in _SIGNALS:
                handler = _signal.getsignal(number)
                if callable(handler):
                    self._before.append((number, handler))
                    _signal.signal(number, self._note)
        except BaseException:  # it came before the first was replaced
            self._restore()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before:
            self._restore()
            for number in self._came:
                signal.raise_signal(number)

    def _note(self, number: int, _: FrameType | None) -> None:
        self._came.append(number)

    def _restore(self) -> None:
        """Puts every handler back, also when one that is back already raises."""
        raised: BaseException | None = None
        while self._before:
            try:
                _signal.signal(*self._before[-1])
                self._before.pop()
            except BaseException as problem:
                raised = problem
        if raised is not None:
            raise raised
