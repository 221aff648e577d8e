"""Parquet tables, through pyarrow."""

from __future__ import annotations

from pathlib import Path

from ..dataset import BrokenDataset, Dataset
from ..table import dataset_from_table
from . import target as targets


def read(path: Path, name: str, target: str | None) -> Dataset:
    """Reads a table; an index that has a name is a column like others, in front of them."""
    try:
        import pyarrow.parquet  # noqa: PLC0415, an extra

        table = pyarrow.parquet.read_table(path).to_pandas()
    except ImportError as problem:
        raise BrokenDataset(f"{name}: reading {path} takes a package: pip install pyarrow") from problem
    except Exception as problem:
        raise BrokenDataset(f"{name}: {path} is not a Parquet table that can be read: {problem}") from problem
    named = [level for level, label in enumerate(table.index.names) if label is not None]
    table = table.reset_index(level=named).reset_index(drop=True)
    table.columns = table.columns.astype(str)
    return dataset_from_table(name, str(path), table, targets.choose(name, list(table.columns), target))
