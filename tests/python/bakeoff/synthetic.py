"""Synthetic results with answers known by hand. They are inputs of tests, not measurements."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

RESULTS = ["dataset", "algorithm", "configuration", "step", "shuffle", "rounds", "loss"]


def results(rows: Iterable[tuple[str, str, float]], rounds: int = 1000) -> pd.DataFrame:
    """A grid of one configuration and one step: (dataset, algorithm, loss)."""
    return pd.DataFrame([(d, a, "", 0.5, 0, rounds, loss) for d, a, loss in rows], columns=RESULTS)


def datasets(names: Iterable[str], subset_of: dict[str, str] | None = None, rows: int = 1000) -> pd.DataFrame:
    """Facts about sets of two classes."""
    facts = [(name, "synthetic", rows, 4, 2, 0.4, (subset_of or {}).get(name), "") for name in names]
    columns = ["name", "source", "rows", "columns", "classes", "majority_error", "subset_of", "fingerprint"]
    return pd.DataFrame(facts, columns=columns)


def write_store(
    path: Path,
    frame: pd.DataFrame,
    facts: pd.DataFrame,
    curves: Iterable[tuple[str, str, int, np.ndarray]] = (),
    meta: dict[str, str] | None = None,
    broken: Iterable[tuple[str, str, str]] = (),
) -> Path:
    """A store with the tables that a bake-off writes."""
    connection = sqlite3.connect(path)
    frame.to_sql("results", connection, index=False)
    facts.to_sql("datasets", connection, index=False)
    pd.DataFrame(broken, columns=["name", "source", "reason"]).to_sql("broken", connection, index=False)
    pd.DataFrame((meta or {}).items(), columns=["key", "value"]).to_sql("meta", connection, index=False)
    rows = [
        (dataset, algorithm, "", 0.5, shuffle, len(losses), zlib.compress(losses.astype(np.uint8).tobytes()))
        for dataset, algorithm, shuffle, losses in curves
    ]
    columns = ["dataset", "algorithm", "configuration", "step", "shuffle", "rounds", "losses"]
    pd.DataFrame(rows, columns=columns).to_sql("curves", connection, index=False)
    connection.close()
    return path
