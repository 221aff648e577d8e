"""The report of a bake-off: an HTML page, and the same as Markdown, PNG and CSV."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from vw_fastcb.bakeoff.analysis import analyse
from vw_fastcb.bakeoff.report.document import PICTURES, TABLES, Attached, Block, Document, Matrix, Pictures, Table
from vw_fastcb.bakeoff.report.html_page import html
from vw_fastcb.bakeoff.report.markdown_page import markdown
from vw_fastcb.bakeoff.report.style import drawing
from vw_fastcb.bakeoff.report.summary import compose
from vw_fastcb.bakeoff.store import Run

_DOTS_PER_INCH = 160


def write(run: Run, out_dir: Path) -> Path:
    """Writes report.html, report.md, pictures/*.png and tables/*.csv into a folder; returns the HTML page's path."""
    with drawing():
        return _write(_document(run), out_dir)


def as_markdown(run: Run) -> str:
    """The report's Markdown page alone."""
    with drawing():
        return markdown(_document(run))


def _document(run: Run) -> Document:
    return compose(run, analyse(run.results, run.datasets))


def _write(document: Document, out_dir: Path) -> Path:
    for inner in (PICTURES, TABLES):
        (out_dir / inner).mkdir(parents=True, exist_ok=True)
    for block in document.blocks():
        if isinstance(block, Pictures):
            for panel in block.panels:
                panel.figure.savefig(
                    out_dir / PICTURES / f"{panel.name}.png", dpi=_DOTS_PER_INCH, metadata={"Software": None}
                )
        for name, frame in _data_of(block):
            frame.to_csv(out_dir / TABLES / f"{name}.csv", index=False)
    (out_dir / "report.md").write_text(markdown(document), encoding="utf-8")
    page = out_dir / "report.html"
    page.write_text(html(document), encoding="utf-8")
    return page


def _data_of(block: Block) -> list[tuple[str, pd.DataFrame]]:
    """The CSV files of a block, by name."""
    match block:
        case Table(name=name, frame=frame, data=data):
            return [(name, frame if data is None else data)]
        case Matrix(name=name, frame=frame) | Attached(name=name, frame=frame):
            return [(name, frame)]
        case Pictures(data_name=name, data=pd.DataFrame() as data):
            return [(name, data)]
    return []
