"""The real sets that come inside scikit-learn (the others of its loaders download)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..dataset import Dataset
from ..table import dataset_from_table
from . import installed

PREFIX = "sklearn"
PACKAGE = "scikit-learn"
SETS = {"breast_cancer": None, "digits": "keel/optdigits", "iris": None, "wine": None}


def names() -> list[str]:
    """The four sets."""
    return list(SETS)


def load(name: str) -> Dataset:
    """Loads one set by the name its loader in sklearn.datasets has."""
    from sklearn import datasets  # noqa: PLC0415, takes a second to import

    bunch = getattr(datasets, f"load_{name}")()
    table = pd.DataFrame(bunch.data)
    table["class"] = np.asarray(bunch.target_names).astype(str)[bunch.target]
    return dataset_from_table(f"{PREFIX}/{name}", installed.source(PACKAGE), table, "class", subset_of=SETS[name])
