"""`fastcb clock`: mends the time of a journal."""

from __future__ import annotations

import json
from contextlib import closing

from vw_fastcb.loop import Loop
from vw_fastcb.loop.clocks import shown
from vw_fastcb.loop.reading import existing_journal
from vw_fastcb.loop.redis.address import without_password


def run_mend(path: str, *, as_json: bool) -> int:
    """Takes a journal's time back to this machine's clock. Returns the exit code."""
    existing_journal(path).close()  # it has advice for those who named none
    with closing(Loop.open(path, learn=False)) as loop:
        ahead = loop.mend_clock()
        time = loop.status().time
    name = without_password(path)
    if as_json:
        print(json.dumps({"journal": name, "ahead": ahead, "time": time}))
    elif ahead:
        print(f"{name}: its time was {shown(time + ahead)} and goes on from {shown(time)}.")
    else:
        print(f"{name}: its time is not ahead of this machine's clock. Nothing to mend.")
    return 0
