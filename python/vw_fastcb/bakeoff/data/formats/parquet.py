"""Parquet tables, through pyarrow."""

from __future__ import annotations

from pathlib import Path

from ..dataset import BrokenDataset, Dataset
from ..table import dataset_from_table
from . import target as targets


def read(path: Path, name: str, target: str | None) -> Dataset:
    """Reads a table; the class is the column named class, target, label or y, else the last one."""
    try:
        import pyarrow.parquet  # noqa: PLC0415, an extra

        table = pyarrow.parquet.read_table(path).to_pandas()
    except ImportError as problem:
        raise BrokenDataset(f"{name}: reading {path} takes a package: pip install pyarrow") from problem
    except Exception as problem:
        raise BrokenDataset(f"{name}: {path} is not a Parquet table that can be read: {problem}") from problem
    table.columns = table.columns.astype(str)
    return dataset_from_table(name, str(path), table, targets.choose(name, list(table.columns), target))
