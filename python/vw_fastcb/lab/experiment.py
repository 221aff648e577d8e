"""What an experiment of the lab is, and the table that it prints."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from matplotlib.figure import Figure

Cell = str | int | float


@dataclass(frozen=True)
class Table:
    """Rows of numbers under their names."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def to_csv(self) -> str:
        """All digits, for programs."""
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([self.columns, *self.rows])
        return out.getvalue()

    def to_markdown(self) -> str:
        """Three digits, for people."""
        lines = [self.columns, ["---"] * len(self.columns), *([shown(cell) for cell in row] for row in self.rows)]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def shown(value: Cell) -> str:
    """A number as people write it: whole ones whole, large ones with commas, others with three digits."""
    if isinstance(value, str):
        return value
    if value == 0 or (value == int(value) and abs(value) < 1e7) or 1000 <= abs(value) < 1e7:
        return f"{value:,.0f}"
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    if 1e-3 <= abs(value) < 1000:
        return f"{value:.{max(0, 2 - int(exponent))}f}"
    return f"{mantissa}e{int(exponent)}"


class Result(Protocol):
    """What an experiment found."""

    def title(self) -> str:
        """The finding, in a few words."""
        ...

    def words(self) -> str:
        """A paragraph that says what is seen, with the numbers of this run."""
        ...

    def claims(self) -> dict[str, bool]:
        """What the theory says must be seen, and whether it was."""
        ...

    def table(self) -> Table:
        """The numbers."""
        ...

    def draw(self) -> Figure:
        """The picture."""
        ...


@dataclass(frozen=True)
class Experiment:
    """One of the lab's experiments.

    Args:
        name: What `fastcb lab run` calls it.
        shows: What it is about, in a line.
        paper: Where the paper has it.
        compute: Takes a seed, and whether a small and quick version will do.
    """

    name: str
    shows: str
    paper: str
    compute: Callable[[int, bool], Result]
