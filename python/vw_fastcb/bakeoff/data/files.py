"""Your own data: a folder of files, and the formats that take only a few lines to read (.npz, .parquet, .vw)."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from array import array
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse

from . import arff, csv
from .dataset import BrokenDataset, Dataset, Entry
from .table import choose_target, compact, dataset_from_table, encode_labels, rows_with_a_class

NPZ_PAIRS = (("X", "y"), ("x", "y"), ("data", "target"), ("features", "labels"))


def folder(path: str | Path, target: str | None = None) -> list[Entry]:
    """The files of a folder (and the folders in it) that have a known ending, by name. None is opened yet."""
    root = Path(path)
    if not root.is_dir():
        raise NotADirectoryError(f"{root} is not a folder; expected the folder that holds your data files.")
    files = sorted(file for file in root.rglob("*") if file.is_file() and suffix(file))
    return [
        Entry(
            f"{root.resolve().name}/{file.relative_to(root).as_posix()}",
            str(file),
            partial(load_file, file, root, target),
        )
        for file in files
    ]


def load_file(path: Path, root: Path, target: str | None, name: str | None = None) -> Dataset:
    """Reads one file. Whatever is wrong with it, the exception is a BrokenDataset that names it."""
    name = name or f"{root.resolve().name}/{path.relative_to(root).as_posix()}"
    ending = suffix(path)
    if ending is None:
        raise BrokenDataset(f"{name}: {path} ends in none of {', '.join(READERS)}.")
    try:
        dataset = READERS[ending](path, name, target)
    except BrokenDataset:
        raise
    except Exception as problem:
        raise BrokenDataset(f"{name}: {path} could not be read as {ending}: {problem}") from problem
    return replace(dataset, notes=(dataset.class_note, *dataset.notes))


def suffix(path: Path) -> str | None:
    """The ending of READERS that the name of a file has, None where it has none of them."""
    name = path.name.lower()
    return next((ending for ending in sorted(READERS, key=len, reverse=True) if name.endswith(ending)), None)


def read_npz(path: Path, name: str, target: str | None) -> Dataset:
    """Reads X, rows by columns, and y, the class of each row. A target is not asked for: it is y."""
    del target
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            pair = next((pair for pair in NPZ_PAIRS if set(pair) <= set(file.files)), None)
            if pair is None:
                held = ", ".join(file.files) or "nothing"
                raise BrokenDataset(f"{name}: {path} holds {held}; expected the arrays X and y.")
            features, labels = file[pair[0]], file[pair[1]]
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as problem:
        raise BrokenDataset(f"{name}: {path} is not an .npz file of plain arrays: {problem}") from problem
    if features.ndim != 2 or labels.shape != (len(features),):
        raise BrokenDataset(
            f"{name}: X has the shape {features.shape} and y {labels.shape}; expected (rows, columns) and (rows,)."
        )
    table = pd.DataFrame(features)
    table[pair[1]] = labels
    return dataset_from_table(name, str(path), table, pair[1])


def read_parquet(path: Path, name: str, target: str | None) -> Dataset:
    """Reads a table; an index that has a name is a column like others, in front of them."""
    try:
        import pyarrow.parquet  # noqa: PLC0415, an extra

        table = pyarrow.parquet.read_table(path).to_pandas()
    except ImportError as problem:
        raise BrokenDataset(f"{name}: reading {path} needs a package: pip install pyarrow") from problem
    except Exception as problem:
        raise BrokenDataset(f"{name}: {path} is not a Parquet table that can be read: {problem}") from problem
    named = [level for level, label in enumerate(table.index.names) if label is not None]
    table = table.reset_index(level=named).reset_index(drop=True)
    table.columns = table.columns.astype(str)
    return dataset_from_table(name, str(path), table, choose_target(name, list(table.columns), target))


def read_vw(path: Path, name: str, target: str | None) -> Dataset:
    """Reads lines such as `3 |pixels a:0.5 b`. A target is not asked for: the label stands first."""
    del target
    labels: list[str] = []
    columns: dict[str, int] = {}
    places, values, ends = array("q"), array("f"), array("q", [0])
    for number, line in _lines(path, name):
        label, features = _split(line, f"{name}: line {number} of {path}")
        labels.append(label)
        for feature, value in features:
            places.append(columns.setdefault(feature, len(columns)))
            values.append(value)
        ends.append(len(values))
    if not columns:
        raise BrokenDataset(f"{name}: {path} has no line with a feature; expected `label | name:value ...`.")
    matrix = scipy.sparse.csr_matrix(
        (np.array(values, np.float32), np.array(places), np.array(ends)), shape=(len(labels), len(columns))
    )
    matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        raise BrokenDataset(f"{name}: {path} has a feature whose value is not a finite number.")
    column = pd.Series(labels, name="label")
    present, notes = rows_with_a_class(column)
    numbers, classes = encode_labels(name, column[present])
    return Dataset(name, str(path), compact(matrix[present]), numbers, classes, None, notes)


def _lines(path: Path, name: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile, zlib.error) as problem:
        raise BrokenDataset(f"{name}: {path} is damaged or not text: {problem}") from problem


def _split(line: str, where: str) -> tuple[str, list[tuple[str, float]]]:
    head, bar, rest = line.partition("|")
    label = head.split()[0] if head.split() else ""
    if not bar:
        raise BrokenDataset(f"{where} has no bar; expected `label | name:value ...`.")
    if not label or ":" in label or label.startswith("shared"):
        given = f"the label {label!r}" if label else "no label"
        raise BrokenDataset(f"{where} has {given}; expected a class, as for `vw --oaa`.")
    return label, [feature for part in rest.split("|") for feature in _namespace(part, where)]


def _namespace(part: str, where: str) -> Iterator[tuple[str, float]]:
    """Features of one namespace. Its name touches the bar; a blank after the bar means that it has none."""
    tokens = part.split()
    space, weight = "", 1.0
    if tokens and not part[:1].isspace():
        space, weight = _named_value(tokens.pop(0), where)
    for token in tokens:
        feature, value = _named_value(token, where)
        yield f"{space}^{feature}", value * weight


def _named_value(token: str, where: str) -> tuple[str, float]:
    feature, colon, value = token.partition(":")
    try:
        return feature, float(value) if colon else 1.0
    except ValueError:
        raise BrokenDataset(f"{where} has {token!r}; expected a number after the colon.") from None


Reader = Callable[[Path, str, str | None], Dataset]
"""Takes the path, the name of the set and the target column (None: the usual place)."""

READERS: dict[str, Reader] = {
    ".csv": csv.read,
    ".arff": arff.read,
    ".dat": arff.read,
    ".npz": read_npz,
    ".parquet": read_parquet,
    ".vw": read_vw,
    ".vw.gz": read_vw,
}
