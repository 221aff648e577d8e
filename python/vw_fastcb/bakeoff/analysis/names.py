"""The names of the algorithms that the analysis treats apart, and the order in which they are shown."""

from __future__ import annotations

from collections.abc import Collection, Iterable

FASTCB = "FastCB.L"
SQUARECB_LOGISTIC = "SquareCB.L"
SQUARECB_SQUARE = "SquareCB.S"
SUPERVISED = "Supervised.L"

PAPER_TRIO = (SQUARECB_SQUARE, SQUARECB_LOGISTIC, FASTCB)
"""The algorithms of the paper's first two tables, in its order."""

PAPER_FIVE = ("RegCB.S", "AdaCB.S", *PAPER_TRIO)
"""The algorithms of the paper's third table, in its order."""

_FLOORS = ("Supervised.S", SUPERVISED)
_ORDER = ("epsilon-greedy", *PAPER_FIVE, *_FLOORS)


def in_order(algorithms: Iterable[str]) -> list[str]:
    """The algorithms as the tables show them: a user's own first, FastCB.L last of the bandits, then the floors."""
    return sorted(set(algorithms), key=lambda name: (_ORDER.index(name) if name in _ORDER else -1, name))


def bandits(algorithms: Iterable[str]) -> list[str]:
    """Those that learn from the loss of one action only, in order."""
    return [name for name in in_order(algorithms) if name not in _FLOORS]


def rivals(algorithms: Collection[str]) -> list[str]:
    """The bandits that FastCB.L is compared with, the paper's first; none where FastCB.L did not run."""
    others = [name for name in reversed(bandits(algorithms)) if name != FASTCB]
    first = [name for name in PAPER_TRIO if name in others]
    return first + [name for name in others if name not in first] if FASTCB in algorithms else []
