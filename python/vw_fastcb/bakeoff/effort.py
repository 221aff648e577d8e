"""How long a pass will take, roughly: for the order of the work and the time left."""

from __future__ import annotations

from vw_fastcb.bakeoff.algorithms import Configuration
from vw_fastcb.bakeoff.data import Shape

_UNKNOWN = Shape(rows=1000, columns=20, classes=3, class_shares=())
_SET_UP = 900.0  # of the learner, and what the store and the interpreter take


def effort(configuration: Configuration, shape: Shape | None, max_rows: int | None = None) -> float:
    """Microseconds on the machine where this was fitted; elsewhere only the proportions matter."""
    shape = shape or _UNKNOWN
    rows = shape.rows if max_rows is None else min(shape.rows, max_rows)
    return _SET_UP + rows * _round(configuration, shape.columns, shape.classes)


def _round(configuration: Configuration, columns: int, classes: int) -> float:
    flags = configuration.flags
    if "--regcb" in flags or "--elim" in flags:  # they also ask how sensitive each score is
        return classes * (1.0 + 0.01 * columns)
    if configuration.copies:
        return classes * (0.25 + 0.0045 * columns)
    if "--oaa" in flags:
        return classes * (0.2 + 0.01 * columns)
    return 1.0 + classes * (0.03 + 0.0015 * columns)
