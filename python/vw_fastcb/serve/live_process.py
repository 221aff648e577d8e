"""Reads a journal for the live page, in a process of its own: the one that decides does not wait for it.

    python -m vw_fastcb.serve.live_process < journal

Standard input names the journal, and the process ends where it does: nobody looks any more. Each line of its output is
JSON, about once a second: what `Live.news` tells, and how much of the journal was read.

A long journal is not read from its beginning before anything is shown. The newest records are shown first and followed,
while all others are read in the background; once those are read, they take their place.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from typing import Any

from vw_fastcb.loop.journal import Journal, LoopError
from vw_fastcb.loop.reading import existing_journal
from vw_fastcb.loop.settings import LoopSettings
from vw_fastcb.serve.live import Live

MOST_READ = 2_000_000  # records; older ones are left out
SHOWN_FIRST = 20_000  # records

_BREATH = 1.0  # seconds between two lines
_AT_ONCE = 2_000  # records between two looks at the clock
_LOOKED_AT = 200  # newest records, for a decision among them
_NICENESS = 10  # whoever decides goes first


class Follower:
    """A journal and what is known of it so far.

    Args:
        journal: The journal.
        shown_first: How many of the newest records are shown first.
        most_read: How many are read in all.
    """

    def __init__(self, journal: Journal, shown_first: int = SHOWN_FIRST, most_read: int = MOST_READ) -> None:
        self._journal = journal
        first, last = journal.first(), journal.last()[0]
        self._shown = _begun(journal, max(first, last - shown_first + 1))
        self._behind: Live | None = None  # reads what is older
        self._behind_from = max(first, last - most_read + 1)
        if self._behind_from <= last - shown_first:
            self._behind = _begun(journal, self._behind_from)

    def read(self, seconds: float) -> None:
        """Reads for about so long: first what is new, then what is old."""
        until = time.monotonic() + seconds
        now = self._journal.now()  # asked first: what is written from here on comes later
        is_there = self._follow(self._shown, until)
        if is_there:
            self._shown.pass_time(now)
        if is_there and self._behind is not None and self._follow(self._behind, until):
            self._behind.begin_anew()
            self._behind.epoch += self._shown.epoch
            self._shown, self._behind = self._behind, None

    @property
    def is_reading(self) -> bool:
        """Whether older records are still to come."""
        return self._behind is not None

    def news(self) -> dict[str, Any]:
        """See `Live.news`; and of all records that there are to read, the share that was read."""
        last = self._journal.last()[0]
        ahead = self._behind or self._shown
        total = last - self._behind_from + 1
        share = 1.0 if total <= 0 else min(1.0, (ahead.position - self._behind_from + 1) / total)
        return {**self._shown.news(), "read": round(share, 4), "is_complete": self._behind is None}

    def _follow(self, live: Live, until: float) -> bool:
        """Reads up to the end, unless that takes too long."""
        last = self._journal.last()[0]
        while live.position < last:
            piece = min(last, live.position + _AT_ONCE)
            for record in self._journal.read(live.position, piece):
                live.apply(record)
            live.position = piece  # also where retention has dropped records
            live.count()
            if time.monotonic() > until:
                return live.position >= last
        return True


def _begun(journal: Journal, since: int) -> Live:
    """A summary that begins with a record."""
    start = next(journal.read(since - 1, since), None)
    last, end = journal.last()
    began = end if start is None else start.time
    # What comes last may be a tick of today in a journal of last year.
    newest = [one.time for one in journal.read(max(since - 1, last - _LOOKED_AT), last) if one.kind == "decision"]
    changes = [one for one in journal.of_kind("settings") if one.position <= since]
    if changes:
        settings = LoopSettings.from_json((changes[-1].body or {})["settings"])
    else:  # retention has dropped them
        settings = LoopSettings.from_json(journal.checkpoints()[0].summary["settings"])
    return Live(settings, min(since, last + 1), began, newest[-1] if newest else began)


def _end_with_input() -> None:
    """Whoever started this has ended, or has nobody left who looks."""
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)


def main() -> int:
    """Follows the journal that standard input names."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then ends this
    name = sys.stdin.buffer.readline().decode().rstrip("\n")
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        os.nice(_NICENESS)
        journal = existing_journal(name)
        follower = Follower(journal)
        follower.read(0.2)
        while True:
            print(json.dumps(follower.news(), separators=(",", ":")), flush=True)
            begun = time.monotonic()
            follower.read(_BREATH)
            if not follower.is_reading:
                time.sleep(max(0.05, _BREATH - (time.monotonic() - begun)))
    except BrokenPipeError:
        return 0
    except (LoopError, OSError, ValueError) as problem:
        print(json.dumps({"problem": str(problem)}), flush=True)
        return 1


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # Python's own end would wait for the thread that reads the input, and complain
