"""The report as Markdown; pictures are the PNG files beside it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from vw_fastcb.bakeoff.report.document import (
    MISSING,
    PICTURES,
    TABLES,
    Attached,
    Block,
    Bullets,
    Cards,
    Document,
    Duel,
    Folded,
    Matrix,
    Panel,
    Pictures,
    Table,
    Text,
    literal,
    score,
    share,
    signed,
)


def markdown(document: Document) -> str:
    """The whole page."""
    parts = [f"# {document.title}", document.subtitle]
    for section in document.sections:
        parts += [f"## {section.title}", *(_block(block) for block in section.blocks)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _block(block: Block) -> str:
    match block:
        case Text(words) | Attached(words=words):
            text = words
        case Bullets(items):
            text = "\n".join(f"- {item}" for item in items)
        case Cards(cards):
            rows = [[literal(card.title), f"**{card.number}**", card.detail, card.beside or MISSING] for card in cards]
            text = _table(["", "difference", "wins and losses", ""], rows, numeric=[False, True, False, False])
        case Table():
            titles = [literal(column.title) for column in block.columns]
            numeric = [column.numeric for column in block.columns]
            rows = [[literal(cell) for cell in row] for row in block.cells()]
            text = f"**{block.caption}** (`{TABLES}/{block.name}.csv`)\n\n{_table(titles, rows, numeric)}"
        case Matrix():
            text = _matrix(block)
        case Pictures(panels=panels, caption=caption):
            width = "100%" if len(panels) == 1 else "49%" if len(panels) in {2, 4} else "32%"
            text = "\n".join(_image(panel, width) for panel in panels) + f"\n\n{caption}"
        case Folded(title, blocks):
            text = "\n\n".join([f"### {title}", *(_block(inner) for inner in blocks)])
    return text


def _image(panel: Panel, width: str) -> str:
    return f'<img src="{PICTURES}/{panel.name}.png" alt="{escape(panel.describes)}" width="{width}">'


def _matrix(block: Matrix) -> str:
    names = block.algorithms
    rows = []
    for row in names:
        label = f"**{literal(row)}**" if row == block.highlight else literal(row)
        rows.append([label, *(_duel(block.duel(row, column), block.paper_sets) for column in names)])
    table = _table(["↓ against →", *map(literal, names)], rows, [False, *(True for _ in names)])
    return f"**{block.caption}** (`{TABLES}/{block.name}.csv`)\n\n{table}"


def _duel(duel: Duel | None, paper_sets: int | None) -> str:
    if duel is None:
        return MISSING
    ours = f"{score(duel.wins, duel.losses)} = **{signed(duel.difference)}** ({share(duel.difference, duel.sets)})"
    if duel.paper is None:
        return ours
    of_sets = f" ({share(duel.paper, paper_sets)})" if paper_sets else ""
    return f"{ours}<br>*paper {signed(duel.paper)}{of_sets}*"


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    rule = ["---:" if right else "---" for right in numeric]
    return "\n".join("| " + " | ".join(row) + " |" for row in [titles, rule, *rows])
