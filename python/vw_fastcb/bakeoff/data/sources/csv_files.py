"""A package of which a few CSV files are of use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from ..dataset import Dataset
from ..table import dataset_from_table
from . import installed


@dataclass(frozen=True)
class CsvFile:
    """Where a file lies in its module, which column is the class, and how pandas reads it."""

    path: str
    target: str | int
    options: Mapping[str, object] = field(default_factory=dict)
    subset_of: str | None = None


@dataclass(frozen=True)
class CsvFiles:
    """The files of one package."""

    prefix: str
    package: str
    module: str
    files: Mapping[str, CsvFile]

    def names(self) -> list[str]:
        """The sets there are."""
        return list(self.files)

    def load(self, name: str) -> Dataset:
        """Loads one set."""
        file = self.files[name]
        table = pd.read_csv(installed.folder(self.module) / file.path, **file.options)
        full_name, source = f"{self.prefix}/{name}", installed.source(self.package)
        return dataset_from_table(full_name, source, table, file.target, subset_of=file.subset_of)
