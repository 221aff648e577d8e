"""Loops for tests."""

import time
from contextlib import closing

from loop.redis_server import RedisFolder
from vw_fastcb import Loop
from vw_fastcb.loop.reading import existing_journal


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, now=1_700_000_000_000):
        self.now = now

    def __call__(self):
        return self.now


def open_loop(folder, name="loop.db", **settings):
    """A new loop of three actions and rewards from 0 to 1."""
    return Loop.open(
        folder / name,
        **{"actions": ["politics", "sports", "music"], "reward_range": (0, 1), "seed": 3, **settings},
    )


def journal_at(path):
    """A journal that is there already, wherever it is, for a `with` statement."""
    return closing(existing_journal(path))


def is_stored(home, text):
    """Whether something is in a file of a journal. Redis writes its file anew in its own time."""
    if not isinstance(home, RedisFolder):
        return any(text in path.read_bytes() for path in home.iterdir())
    end = time.monotonic() + 60
    while any(_may_hold(path, text) for path in home.server.folder.glob("appendonlydir/*")):
        if time.monotonic() > end:
            return True
        time.sleep(0.02)
    return False


def _may_hold(path, text):
    """Whether a text is in a file. Redis may remove it at this moment; then others have to be looked at."""
    try:
        return text in path.read_bytes()
    except FileNotFoundError:
        return True
