"""Ctrl-C at a bad moment."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_interrupt() -> Iterator[None]:
    """Lets Ctrl-C wait until the block ends.

    A thread pool that is interrupted while work is handed to it may be left with a lock that nobody gives back, and
    then it never ends.
    """
    if threading.current_thread() is not threading.main_thread():  # only that one is ever interrupted
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)
