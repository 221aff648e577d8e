"""Arrays of NumPy: an .npz file with X and y."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from ..dataset import BrokenDataset, Dataset
from ..table import dataset_from_table

PAIRS = (("X", "y"), ("x", "y"), ("data", "target"), ("features", "labels"))


def read(path: Path, name: str, target: str | None) -> Dataset:
    """Reads X, rows by columns, and y, the class of each row. A target is not asked for: it is y."""
    del target
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            pair = next((pair for pair in PAIRS if set(pair) <= set(file.files)), None)
            if pair is None:
                held = ", ".join(file.files) or "nothing"
                raise BrokenDataset(f"{name}: {path} holds {held}; the arrays X and y were expected.")
            features, labels = file[pair[0]], file[pair[1]]
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as problem:
        raise BrokenDataset(f"{name}: {path} is not an .npz file of plain arrays: {problem}") from problem
    if features.ndim != 2 or labels.shape != (len(features),):
        raise BrokenDataset(
            f"{name}: X has the shape {features.shape} and y {labels.shape}; (rows, columns) and (rows,) were expected."
        )
    table = pd.DataFrame(features)
    table[pair[1]] = labels
    return dataset_from_table(name, str(path), table, pair[1])
