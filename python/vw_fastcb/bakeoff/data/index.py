"""Writes the index of the built-in collection: `python -m vw_fastcb.bakeoff.data.index`.

Every package has to be installed. Each set is loaded once, those too small or the same as an earlier one are left
out, and the rest is written with sizes and class counts, so that listing has nothing to load.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator

import numpy as np

from .builtin import INDEX, load_builtin, source_module
from .dataset import BrokenDataset, Dataset
from .duplicates import SAME_AS, content_key
from .sources import SOURCES, installed

FEWEST_ROWS = 80
HEADER = ("name", "rows", "columns", "classes", "class_counts", "subset_of", "version", "fingerprint")


def usable() -> Iterator[Dataset]:
    """Every set of every package that is large enough and not one of those before; says why others are not."""
    seen: dict[str, str] = {}
    for prefix in SOURCES:
        for short in source_module(prefix).names():
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


def row(dataset: Dataset) -> tuple[object, ...]:
    """What the index says of a set."""
    counts = np.bincount(dataset.labels, minlength=dataset.n_classes)
    version = installed.version(SOURCES[dataset.name.partition("/")[0]][1])
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


def write() -> int:
    """Writes the index; the number of sets in it."""
    rows = [row(dataset) for dataset in usable()]
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
    print(f"{write()} sets in {INDEX}")
