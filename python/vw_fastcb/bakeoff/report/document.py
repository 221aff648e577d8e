"""What a report is made of. The same blocks become the HTML page, the Markdown page, the PNG and the CSV files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pandas as pd
from matplotlib.figure import Figure

MINUS = "\N{MINUS SIGN}"
MISSING = "\N{EN DASH}"

PICTURES, TABLES = "pictures", "tables"
"""The folders beside the pages for the PNG and the CSV files."""

# An underscore inside a word and an & that begins no entity mean nothing in Markdown.
_TAKEN_UP = re.compile(r"[\\`*\[\]<|$~]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")

Format = Callable[[object], str]


@dataclass(frozen=True)
class Text:
    """A paragraph. **bold**, `code` and what `literal` gives are understood, nothing else."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list of short paragraphs."""

    items: Sequence[str]


@dataclass(frozen=True)
class Card:
    """One number of the headline."""

    title: str
    number: str
    detail: str
    beside: str
    """What stands beside it, for example the paper's number; may be empty."""


@dataclass(frozen=True)
class Cards:
    """The headline."""

    cards: Sequence[Card]


@dataclass(frozen=True)
class Column:
    """A column of a table: where its values are in the frame, its title and how a value is written."""

    key: str
    title: str
    write: Format = str
    numeric: bool = True


@dataclass(frozen=True)
class Table:
    """A table. Its frame becomes `name`.csv, with unrounded numbers."""

    name: str
    caption: str
    frame: pd.DataFrame
    columns: Sequence[Column]
    data: pd.DataFrame | None = None
    """What goes into the CSV instead of the frame, where that has several numbers in a cell."""

    def cells(self) -> list[list[str]]:
        """The text of each cell: plain text, nothing in it is bold or code."""
        rows = self.frame[[column.key for column in self.columns]].itertuples(index=False)
        return [[_cell(column, value) for column, value in zip(self.columns, row, strict=True)] for row in rows]


@dataclass(frozen=True)
class Attached:
    """A table too long for a page: a sentence that points to `name`.csv."""

    name: str
    words: str
    frame: pd.DataFrame


@dataclass(frozen=True)
class Duel:
    """What one algorithm did against another."""

    wins: int
    losses: int
    sets: int
    paper: int | None

    @property
    def difference(self) -> int:
        """Wins minus losses."""
        return self.wins - self.losses


@dataclass(frozen=True)
class Matrix:
    """A head-to-head table, algorithms against algorithms. Its frame becomes `name`.csv."""

    name: str
    caption: str
    frame: pd.DataFrame
    """As `analysis.head_to_head` gives it."""
    highlight: str
    """The algorithm that the report is about."""
    paper_sets: int | None = None
    """Of how many sets the paper's numbers are, where it says so."""

    @property
    def algorithms(self) -> list[str]:
        """The rows and columns, in order."""
        return list(dict.fromkeys(self.frame["row"]))

    def duel(self, row: str, column: str) -> Duel | None:
        """The cell, or nothing on the diagonal."""
        found = self.frame[(self.frame["row"] == row) & (self.frame["column"] == column)]
        if found.empty:
            return None
        cell = found.iloc[0]
        paper = None if pd.isna(cell["paper"]) else int(cell["paper"])
        return Duel(int(cell["wins"]), int(cell["losses"]), int(cell["sets"]), paper)


@dataclass(frozen=True)
class Panel:
    """One picture; `name`.png."""

    name: str
    figure: Figure
    describes: str
    """For those who cannot see it."""


@dataclass(frozen=True)
class Pictures:
    """Pictures side by side, with one caption. Where no table has what is drawn, `data` becomes `data_name`.csv."""

    panels: Sequence[Panel]
    caption: str
    data_name: str = ""
    data: pd.DataFrame | None = None


@dataclass(frozen=True)
class Folded:
    """Blocks that a reader opens when they want them."""

    title: str
    blocks: Sequence[Text | Table]


Block = Text | Bullets | Cards | Table | Attached | Matrix | Pictures | Folded


@dataclass(frozen=True)
class Section:
    """A heading and its blocks."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Document:
    """The report."""

    title: str
    subtitle: str
    sections: Sequence[Section] = field(default_factory=list)

    def blocks(self) -> list[Block]:
        """All blocks, also the folded ones, in order."""
        found: list[Block] = []
        for section in self.sections:
            for block in section.blocks:
                found += [block, *block.blocks] if isinstance(block, Folded) else [block]
        return found


def score(wins: int, losses: int) -> str:
    """Wins and losses, such as "+20 / -1", with a real minus sign."""
    return f"+{wins} / {MINUS}{losses}"


def counted(number: int, noun: str) -> str:
    """A number with its noun, such as "1 set" or "2 sets"."""
    return f"{number:,} {plural(noun, number)}"


def plural(noun: str, number: int) -> str:
    """The noun as it follows a number."""
    return noun if number == 1 else noun + ("es" if noun.endswith("s") else "s")


def literal(text: str) -> str:
    """The text, such as a name that a user gave, with a backslash before what paragraphs or Markdown would take up."""
    return _TAKEN_UP.sub(r"\\\g<0>", " ".join(text.splitlines()))


def _cell(column: Column, value: object) -> str:
    return MISSING if bool(pd.isna(value)) else column.write(value)


def number(pattern: str) -> Format:
    """A way to write numbers by a pattern such as +.4f, with a real minus sign."""
    return lambda value: format(value, pattern).replace("-", MINUS)


def signed(value: int) -> str:
    """A difference, with its sign; nothing is before a zero."""
    return number("+d")(value) if value else "0"


def share(part: float, whole: float) -> str:
    """A percentage with one decimal."""
    return number(".1%")(part / whole) if whole else MISSING
