"""The report as one HTML page that needs nothing from elsewhere: style and pictures are inside."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from itertools import groupby

import matplotlib as mpl
from markdown_it import MarkdownIt

from vw_fastcb.bakeoff.report.document import (
    MINUS,
    MISSING,
    Attached,
    Block,
    Bullets,
    Card,
    Cards,
    Document,
    Duel,
    Folded,
    Matrix,
    Panel,
    Pictures,
    Table,
    Text,
    score,
    share,
    signed,
)
from vw_fastcb.bakeoff.report.style import INK, QUIET


def html(document: Document) -> str:
    """The whole page."""
    style = files("vw_fastcb.bakeoff.report").joinpath("page.css").read_text(encoding="utf-8")
    sections = "\n".join(
        f"<section>\n<h2>{escape(section.title)}</h2>\n{_blocks(section.blocks)}\n</section>"
        for section in document.sections
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(document.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f"<header>\n<h1>{escape(document.title)}</h1>\n<p>{_inline(document.subtitle)}</p>\n</header>\n"
        f"{sections}\n</main>\n</body>\n</html>\n"
    )


def _blocks(blocks: Sequence[Block]) -> str:
    """Small head-to-head tables that follow each other stand side by side where there is room."""
    parts = []
    for is_matrix, group in groupby(blocks, lambda block: isinstance(block, Matrix)):
        inside = "\n".join(_block(block) for block in group)
        parts.append(f'<div class="row">\n{inside}\n</div>' if is_matrix else inside)
    return "\n".join(parts)


def _block(block: Block) -> str:
    match block:
        case Text(words) | Attached(words=words):
            text = f"<p>{_inline(words)}</p>"
        case Bullets(items):
            text = "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + "</ul>"
        case Cards(cards):
            text = '<div class="cards">' + "".join(_card(card) for card in cards) + "</div>"
        case Table():
            text = _table(block)
        case Matrix():
            text = _matrix(block)
        case Pictures(panels=panels, caption=caption):
            shape = "wide" if len(panels) == 1 else f"of{len(panels)}"
            inside = "".join(_picture(panel) for panel in panels)
            text = f'<figure class="{shape}"><div>{inside}</div><figcaption>{_inline(caption)}</figcaption></figure>'
        case Folded(title, blocks):
            text = f"<details><summary>{escape(title)}</summary>\n{_blocks(blocks)}\n</details>"
    return text


# Bold, code and escapes are all that our paragraphs have; everything else stays text, HTML above all.
_MARKDOWN = MarkdownIt("zero").enable(["emphasis", "backticks", "escape"])


def _inline(text: str) -> str:
    """A paragraph as HTML."""
    return _on_one_line(str(_MARKDOWN.renderInline(text)))


def _plain(text: str) -> str:
    return _on_one_line(escape(text, quote=False))


def _on_one_line(text: str) -> str:
    """Wins and losses are not torn apart."""
    return text.replace(f" / {MINUS}", f"&nbsp;/&nbsp;{MINUS}")


def _card(card: Card) -> str:
    beside = f'<div class="paper">{_inline(card.beside)}</div>' if card.beside else ""
    return (
        f'<div class="card"><div class="title">{escape(card.title)}</div>'
        f'<div class="number">{escape(card.number)}</div>'
        f"<div>{_inline(card.detail)}</div>{beside}</div>"
    )


def _table(block: Table) -> str:
    head = "".join(f"<th{_right(column.numeric)}>{escape(column.title)}</th>" for column in block.columns)
    rows = []
    for cells in block.cells():
        inside = "".join(
            f"<td{_right(column.numeric)}>{_plain(cell)}</td>"
            for column, cell in zip(block.columns, cells, strict=True)
        )
        rows.append(f"<tr>{inside}</tr>")
    return _framed(block.caption, f"<thead><tr>{head}</tr></thead>\n<tbody>\n{chr(10).join(rows)}\n</tbody>", "plain")


def _right(numeric: bool) -> str:
    return ' class="r"' if numeric else ""


def _framed(caption: str, inside: str, kind: str) -> str:
    return f'<div class="scroll"><table class="{kind}"><caption>{_inline(caption)}</caption>\n{inside}\n</table></div>'


def _matrix(block: Matrix) -> str:
    names = block.algorithms
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = []
    for row in names:
        cells = "".join(_duel(block.duel(row, column), block.paper_sets) for column in names)
        mark = ' class="ours"' if row == block.highlight else ""
        rows.append(f"<tr{mark}><th>{escape(row)}</th>{cells}</tr>")
    body = f"<thead><tr><th>↓ against →</th>{head}</tr></thead>\n<tbody>\n{chr(10).join(rows)}\n</tbody>"
    return _framed(block.caption, body, "matrix")


def _duel(duel: Duel | None, paper_sets: int | None) -> str:
    if duel is None:
        return f'<td class="self">{MISSING}</td>'
    side = "won" if duel.difference > 0 else "lost" if duel.difference < 0 else "even"
    strength = min(1.0, abs(duel.difference) / max(duel.sets, 1) / 0.15)  # full colour from 15% of the sets on
    text = f"<b>{signed(duel.difference)}</b><span>{score(duel.wins, duel.losses)}</span>"
    text += f"<span>{share(duel.difference, duel.sets)}</span>"
    if duel.paper is not None:
        of_sets = f" ({share(duel.paper, paper_sets)})" if paper_sets else ""
        text += f'<span class="paper">paper {signed(duel.paper)}{of_sets}</span>'
    return f'<td class="{side}" style="--s:{strength:.2f}">{text}</td>'


def _picture(panel: Panel) -> str:
    """The picture as an inline SVG in the ink of the page, so that it reads in light and in dark."""
    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": panel.name}):
        panel.figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = svg.replace(INK, "var(--ink)").replace(QUIET, "var(--quiet)")
    # All pictures share one page: their ids must differ.
    svg = re.sub(r'(\bid="|xlink:href="#|url\(#)', lambda found: found.group(1) + panel.name + "-", svg)
    label = escape(panel.describes, quote=True)
    opening = f'<svg role="img" aria-label="{label}" '
    svg = re.sub(
        r'<svg ((?:(?!>).)*?)width="[^"]*"((?:(?!>).)*?)height="[^"]*"',
        lambda found: opening + found.group(1) + found.group(2),
        svg,
        count=1,
    )
    return re.sub(r"\n\s*", "\n", svg)
