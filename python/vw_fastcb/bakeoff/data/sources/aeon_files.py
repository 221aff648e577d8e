"""Time series of equal length that the package aeon carries: one column a moment, training and test file together."""

from __future__ import annotations

import pandas as pd

from ..dataset import Dataset
from ..table import dataset_from_table
from . import installed

PREFIX = "aeon"
PACKAGE = "aeon"
SETS = ("ACSF1", "ArrowHead", "GunPoint", "ItalyPowerDemand", "OSULeaf")


def names() -> list[str]:
    """The sets there are."""
    return list(SETS)


def load(name: str) -> Dataset:
    """Loads one set."""
    if name not in SETS:
        raise KeyError(name)
    rows = [row for part in ("TRAIN", "TEST") for row in _rows(name, part)]
    table = pd.DataFrame([values.split(",") for values, _ in rows], dtype="float64")
    table["class"] = [label for _, label in rows]
    notes = ["a time series: one column a moment", "training and test file together"]
    return dataset_from_table(f"{PREFIX}/{name}", installed.source(PACKAGE), table, "class", notes=notes)


def _rows(name: str, part: str) -> list[tuple[str, str]]:
    """Each series as text and its class: `0.1,0.2,0.3:class` after a line `@data`."""
    path = installed.folder("aeon") / "datasets" / "data" / name / f"{name}_{part}.ts"
    data = path.read_text(encoding="utf-8").partition("@data")[2]
    return [(values, label.strip()) for values, _, label in (line.partition(":") for line in data.split())]
