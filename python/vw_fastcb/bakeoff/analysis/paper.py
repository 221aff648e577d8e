"""What the paper reports: Foster and Krishnamurthy, its tables of significant wins minus losses over 516 sets."""

from __future__ import annotations

from collections.abc import Mapping

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
