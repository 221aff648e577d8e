"""A folder of the user's own data."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from .dataset import BrokenDataset, Dataset, Entry
from .formats import READERS, suffix


def folder(path: str | Path, target: str | None = None) -> list[Entry]:
    """The files of a folder (and the folders in it) that have a known ending, by name. None is opened yet."""
    root = Path(path)
    if not root.is_dir():
        raise NotADirectoryError(f"{root} is not a folder; the folder that holds your data files was expected.")
    files = sorted(file for file in root.rglob("*") if file.is_file() and suffix(file))
    return [
        Entry(
            f"{root.resolve().name}/{file.relative_to(root).as_posix()}",
            str(file),
            partial(load_file, file, root, target),
        )
        for file in files
    ]


def load_file(path: Path, root: Path, target: str | None) -> Dataset:
    """Reads one file. Whatever is wrong with it, the exception is a BrokenDataset that names it."""
    name = f"{root.resolve().name}/{path.relative_to(root).as_posix()}"
    ending = suffix(path)
    if ending is None:
        raise BrokenDataset(f"{name}: {path} ends in none of {', '.join(READERS)}.")
    try:
        dataset = READERS[ending](path, name, target)
    except BrokenDataset:
        raise
    except Exception as problem:
        raise BrokenDataset(f"{name}: {path} could not be read as {ending}: {problem}") from problem
    return replace(dataset, notes=(dataset.class_note, *dataset.notes))
