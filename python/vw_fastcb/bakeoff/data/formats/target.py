"""Which column is the class."""

from __future__ import annotations

from collections.abc import Sequence

from ..dataset import BrokenDataset

USUAL_NAMES = ("class", "target", "label", "y")


def choose(name: str, columns: Sequence[str], wanted: str | None) -> str:
    """The wanted column (a name, or a place counted from 0), else one with a usual name, else the last."""
    if wanted is None:
        usual = (column for known in USUAL_NAMES for column in columns if column.strip().lower() == known)
        return next(usual, columns[-1])
    if wanted in columns:
        return wanted
    if wanted.isdecimal() and int(wanted) < len(columns):
        return columns[int(wanted)]
    shown = ", ".join(map(repr, columns[:10])) + (", ..." if len(columns) > 10 else "")
    raise BrokenDataset(f"{name}: there is no column {wanted!r} to be the target; the columns are {shown}.")
