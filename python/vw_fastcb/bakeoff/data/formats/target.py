"""Which column is the class."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..dataset import BrokenDataset

USUAL_NAMES = ("class", "target", "label", "y")


def choose(name: str, columns: Sequence[str], wanted: str | None) -> str:
    """The column of this name, else of this place (0 is the first, -1 the last). Where none is wanted, a usual one.

    That is the first of these, in small or capital letters: a column named class, one named target, one named label,
    the first or the last column where it is named y, the last column.
    """
    if wanted is None:
        return next((column for known in USUAL_NAMES for column in _usual_places(known, columns)), columns[-1])
    if wanted in columns:
        return wanted
    if re.fullmatch(r"-?\d+", wanted) and -len(columns) <= int(wanted) < len(columns):
        return columns[int(wanted)]
    shown = ", ".join(map(repr, columns[:10])) + (", ..." if len(columns) > 10 else "")
    raise BrokenDataset(f"{name}: there is no column {wanted!r} to be the target; the columns are {shown}.")


def _usual_places(known: str, columns: Sequence[str]) -> list[str]:
    """The columns of a usual name. Inside a table, y is more often a coordinate than the class."""
    places = (columns[0], columns[-1]) if known == "y" else columns
    return [column for column in places if column.strip().lower() == known]
