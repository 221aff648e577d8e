"""What the paper reports (Foster and Krishnamurthy, 2021), and the algorithms by the names it gives them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

FASTCB = "FastCB.L"
SQUARECB_LOGISTIC = "SquareCB.L"
SQUARECB_SQUARE = "SquareCB.S"
SUPERVISED = "Supervised.L"

FASTCB_SECOND_ORDER = "FastCB.N"
SUPERVISED_SECOND_ORDER = "Supervised.N"

PAPER_TRIO = (SQUARECB_SQUARE, SQUARECB_LOGISTIC, FASTCB)
"""The algorithms of the paper's first two tables, in its order."""

PAPER_FIVE = ("RegCB.S", "AdaCB.S", *PAPER_TRIO)
"""The algorithms of the paper's third table, in its order."""

SAME_ORACLE = {FASTCB_SECOND_ORDER: ("SquareCB.N", "greedy.N"), FASTCB: (SQUARECB_LOGISTIC, "greedy.L")}
"""FastCB's rule on each oracle, and the other rules on the same one: SquareCB's, and none at all."""

_FLOORS = ("Supervised.S", SUPERVISED, SUPERVISED_SECOND_ORDER)
_SECOND_ORDER = ("greedy.N", "SquareCB.N", FASTCB_SECOND_ORDER)
_ORDER = ("epsilon-greedy", "greedy.L", *PAPER_FIVE, *_SECOND_ORDER, *_FLOORS)


def in_order(algorithms: Iterable[str]) -> list[str]:
    """The algorithms as the tables show them: a user's own first, the paper's, the second-order ones, the floors."""
    return sorted(set(algorithms), key=lambda name: (_ORDER.index(name) if name in _ORDER else -1, name))


def bandits(algorithms: Iterable[str]) -> list[str]:
    """Those that learn from the loss of one action only, in order."""
    return [name for name in in_order(algorithms) if name not in _FLOORS]


def rivals(algorithms: Collection[str]) -> list[str]:
    """The bandits that FastCB.L is compared with, the paper's first; none where FastCB.L did not run."""
    others = [name for name in reversed(bandits(algorithms)) if name != FASTCB]
    first = [name for name in PAPER_TRIO if name in others]
    return first + [name for name in others if name not in first] if FASTCB in algorithms else []


SETS = 516
HELD_OUT = 200
DIFFERENT = 17
"""Sets on which FastCB.L and SquareCB.L differ significantly, both tuned per set."""
WINS = 14
"""Those of them that FastCB.L wins."""
WINS_SMALL_LSTAR = 12
"""Those of its wins with Lstar at most 0.2."""

_TUNED_PER_SET = {
    ("FastCB.L", "SquareCB.S"): 66,
    ("FastCB.L", "SquareCB.L"): 11,
    ("FastCB.L", "AdaCB.S"): 18,
    ("FastCB.L", "RegCB.S"): 12,
    ("SquareCB.L", "SquareCB.S"): 55,
    ("SquareCB.L", "AdaCB.S"): 8,
    ("SquareCB.L", "RegCB.S"): 6,
    ("RegCB.S", "SquareCB.S"): 46,
    ("AdaCB.S", "SquareCB.S"): 42,
    ("RegCB.S", "AdaCB.S"): 6,
}
_ONE_CONFIGURATION = {
    ("FastCB.L", "SquareCB.S"): 64,
    ("FastCB.L", "SquareCB.L"): 3,
    ("SquareCB.L", "SquareCB.S"): 54,
}


def _both_ways(table: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    return {**table, **{(column, row): -difference for (row, column), difference in table.items()}}


TUNED_PER_SET = _both_ways(_TUNED_PER_SET)
ONE_CONFIGURATION = _both_ways(_ONE_CONFIGURATION)
