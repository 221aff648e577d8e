"""The clocks of a machine, and whether two of them can both be right."""

from __future__ import annotations

import os
import time
from datetime import datetime, timezone
from functools import cache
from typing import NamedTuple

from vw_fastcb.loop.processes import Process

MOST_APART = 5000  # milliseconds that two clocks may differ
_FRESH = 60_000  # milliseconds for which the clock of a learner that has ended still counts


def now() -> int:
    """The machine's time in milliseconds."""
    return time.time_ns() // 1_000_000


def uptime() -> int:
    """Milliseconds since the machine started: all its processes agree, and nobody sets it.

    The kernel's file says it. A process that runs under another time, as with faketime, has all its clocks moved.
    """
    try:
        file = os.open("/proc/uptime", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
    try:
        seconds, _, fraction = os.read(file, 64).split()[0].partition(b".")
    finally:
        os.close(file)
    return int(seconds) * 1000 + int(fraction.ljust(3, b"0")[:3])


def ahead_of_boot(clock: int) -> int:
    """How far a clock is ahead of the uptime, as this process sees it: cheap, and changed by whoever sets the clock."""
    return clock - time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


class Stamp(NamedTuple):
    """What the clock of a process said at one moment.

    Attributes:
        clock: The time in milliseconds.
        uptime: The machine's uptime then.
        boot: Which start of the machine it was.
    """

    clock: int
    uptime: int
    boot: str

    @classmethod
    def of(cls, clock: int) -> Stamp:
        """That of this moment."""
        return cls(clock, uptime(), _boot())

    @classmethod
    def parse(cls, text: str | None) -> Stamp | None:
        """What `str` gave; None where there is nothing."""
        if not text:
            return None
        clock, up, boot = text.split("/")
        return cls(int(clock), int(up), boot)

    def __str__(self) -> str:
        return f"{self.clock}/{self.uptime}/{self.boot}"

    @property
    def is_fresh(self) -> bool:
        """Whether it is so young that it counts although whoever made it may have ended."""
        return self.boot == _boot() and uptime() - self.uptime < _FRESH

    def clock_now(self) -> int | None:
        """What that clock says now, unless somebody has set it; None after a restart of the machine."""
        return self.clock + uptime() - self.uptime if self.boot == _boot() else None


@cache
def _boot() -> str:
    return Process.this().boot


def shown(when: int) -> str:
    """A time in milliseconds, for messages."""
    try:
        return f"{datetime.fromtimestamp(when / 1000, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{when} ms"
