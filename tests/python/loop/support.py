"""Loops for tests."""

from vw_fastcb import Loop


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
