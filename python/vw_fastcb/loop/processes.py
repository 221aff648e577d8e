"""Which process this is, and whether another one still runs, as far as Linux can tell."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """A process of this machine.

    Attributes:
        pid: Its number.
        started: When it started, in ticks since boot: numbers are used again.
        space: The space in which the number counts; containers have their own.
        boot: Which start of the machine it belongs to.
    """

    pid: int
    started: str
    space: str
    boot: str

    @classmethod
    def this(cls) -> Process:
        """The process that asks."""
        return cls(os.getpid(), _started(os.getpid()) or "", _space(), _boot())

    @classmethod
    def parse(cls, text: str) -> Process:
        """What `str` gave."""
        pid, started, space, boot = text.split("/")
        return cls(int(pid), started, space, boot)

    def __str__(self) -> str:
        return f"{self.pid}/{self.started}/{self.space}/{self.boot}"

    def may_live(self) -> bool:
        """False where it certainly has ended."""
        if self.boot != _boot():
            return False
        return self.space != _space() or _started(self.pid) == self.started


def _started(pid: int) -> str | None:
    """The start time of a process; None where it has ended, and is not merely waiting to be collected."""
    try:
        # The name, in parentheses, may hold anything; what follows it is fixed.
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if words[0] in "ZX" else words[19]


def _space() -> str:
    try:
        return os.readlink("/proc/self/ns/pid").translate(str.maketrans("", "", "pid:[]"))
    except OSError:
        return ""


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
