"""ARFF, dense and sparse, and the .dat files of KEEL, its near relative: tables whose header declares the columns."""

from __future__ import annotations

import io
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse

from .dataset import BrokenDataset, Dataset
from .table import (
    MISSING,
    choose_target,
    compact,
    dataset_from_table,
    encode_features,
    encode_labels,
    rows_with_a_class,
)

ATTRIBUTE = re.compile(
    r"""@attribute\s+ ( '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | [^\s{\[]+ ) \s* (.*)""", re.IGNORECASE | re.VERBOSE
)
CATEGORY = re.compile(r"""\s*( '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | [^,]* )\s*(?:,|$)""", re.VERBOSE)
SPARSE_CELL = re.compile(r"""\s*(\d+)\s+( '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | [^,]*? )\s*(?:,|$)""", re.VERBOSE)


@dataclass(frozen=True)
class Header:
    """What stands above @data."""

    columns: list[str]
    numeric: list[bool]
    categories: list[list[str]]  # in the declared order; empty where none are declared
    outputs: list[str]


def read(path: Path, name: str, target: str | None, left_out: Sequence[str] = ()) -> Dataset:
    """Reads a file; the class is what KEEL's @outputs says, else the column with a usual name, else the last."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        text = path.read_text(encoding="latin-1")  # as old files are
    head, data = _split(text, path, name)
    del text
    header = parse_header(head, path, name)
    wanted = target if target is not None else (header.outputs[0] if header.outputs else None)
    chosen = choose_target(name, header.columns, wanted)
    if data.lstrip().startswith("{"):
        return _read_sparse(data, header, chosen, name, str(path), left_out=left_out)
    table = _table(data, header, path, name).drop(columns=list(left_out), errors="ignore")
    return dataset_from_table(name, str(path), table, chosen)


def parse_header(head: str, path: Path, name: str) -> Header:
    """The declared columns."""
    header = Header([], [], [], [])
    for line in map(str.strip, head.splitlines()):
        if line.lower().startswith("@attribute"):
            match = ATTRIBUTE.fullmatch(line)
            if match is None or not match[2]:
                raise BrokenDataset(f"{name}: {path} has the line {line[:80]!r}; expected `@attribute name type`.")
            _declare(header, unquoted(match[1]), match[2])
        elif line.lower().startswith("@output"):
            header.outputs.extend(word.strip() for word in line.split(None, 1)[1].split(","))
    if len(header.columns) < 2:
        raise BrokenDataset(
            f"{name}: {path} declares {len(header.columns)} column(s); expected a feature and a class at least."
        )
    if len(set(header.columns)) < len(header.columns):
        raise BrokenDataset(f"{name}: {path} declares two columns of the same name.")
    return header


def unquoted(text: str) -> str:
    """Without the quotes around it and the backslashes inside them."""
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1]).strip()
    return text


def _declare(header: Header, column: str, kind: str) -> None:
    header.columns.append(column)
    header.numeric.append(kind.lower().startswith(("real", "integer", "numeric")))
    inside = kind[1 : kind.rfind("}")] if kind.startswith("{") else ""
    header.categories.append([unquoted(match[1]) for match in CATEGORY.finditer(inside) if match[1]])


def _split(text: str, path: Path, name: str) -> tuple[str, str]:
    match = re.search(r"^\s*@data[^\n]*\n", text, re.IGNORECASE | re.MULTILINE)
    if match is None:
        raise BrokenDataset(
            f"{name}: {path} has no line `@data` with rows after it, so it is cut off or not ARFF/KEEL."
        )
    data = re.sub(r"^[ \t]*%[^\n]*\n?", "", text[match.end() :], flags=re.MULTILINE)
    if not data.strip():
        raise BrokenDataset(f"{name}: {path} has no rows after `@data`.")
    return text[: match.start()], data


def _table(data: str, header: Header, path: Path, name: str) -> pd.DataFrame:
    try:
        table = pd.read_csv(
            io.StringIO(data),
            header=None,
            names=range(len(header.columns)),
            index_col=False,
            dtype="category",  # a text is kept once, not once a row
            quotechar="'" if "'" in data else '"',
            escapechar="\\",
            skipinitialspace=True,
            keep_default_na=False,
        )
    except (pd.errors.ParserError, pd.errors.ParserWarning) as problem:
        raise BrokenDataset(f"{name}: {path} has a row too long: {str(problem).strip()}") from problem
    short = table.iloc[:, -1].isna() | (table.iloc[:, -1] == "")
    if short.any():
        raise BrokenDataset(
            f"{name}: {path} is cut off or damaged: row {int(short.argmax()) + 1} after `@data` has fewer than the "
            f"{len(header.columns)} values declared."
        )
    table.columns = pd.Index(header.columns)
    for column, numeric, categories in zip(header.columns, header.numeric, header.categories, strict=True):
        if numeric:
            table[column] = _numbers(table[column], path, name)
        elif categories:
            _check_declared(table[column], categories, path, name)
    return table


def _numbers(column: pd.Series, path: Path, name: str) -> pd.Series:
    values = column.cat.rename_categories(lambda text: text.strip()).cat.categories
    numbers = pd.to_numeric(values, errors="coerce")
    for text, number in zip(values, numbers, strict=True):
        if pd.isna(number) and text not in MISSING:
            raise BrokenDataset(f"{name}: {path} has {text!r} in the numeric column {column.name!r}.")
    return pd.Series(numbers.to_numpy(dtype=float)[column.cat.codes], name=column.name)


def _check_declared(column: pd.Series, categories: list[str], path: Path, name: str) -> None:
    unknown = {text.strip() for text in column.cat.categories} - {*categories, *MISSING}
    if unknown:
        raise BrokenDataset(
            f"{name}: {path} has {min(unknown)!r} in the column {column.name!r}, which is not declared."
        )


def _read_sparse(
    data: str, header: Header, target: str, name: str, source: str, *, left_out: Sequence[str] = ()
) -> Dataset:
    """Reads rows such as `{3 1.5, 7 red}`, where a column that is not named is 0, or its first category.

    Numbers go straight into a sparse matrix; the other columns, the class among them, are encoded as a table.
    """
    rows = [line.strip() for line in data.splitlines() if line.strip()]
    place, column_of, values = array("q"), array("q"), array("d")
    texts = {
        column: [_default(categories)] * len(rows)
        for column, numeric, categories in zip(header.columns, header.numeric, header.categories, strict=True)
        if not numeric or column == target
    }
    for number, line in enumerate(rows):
        for index, text in _cells(line, f"{name}: row {number + 1} of {source}", len(header.columns)):
            column = header.columns[index]
            if column in texts:
                texts[column][number] = text
            else:
                place.append(number)
                column_of.append(index)
                values.append(_number(text, f"{name}: row {number + 1} of {source}"))
    matrix = scipy.sparse.csr_matrix(
        (np.array(values, np.float32), (np.array(place), np.array(column_of))), shape=(len(rows), len(header.columns))
    )
    column_of_class = pd.Series(texts.pop(target), name=target)
    present, notes = rows_with_a_class(column_of_class)
    labels, classes = encode_labels(name, column_of_class[present])
    numeric = [i for i, column in enumerate(header.columns) if column not in {target, *texts, *left_out}]
    features = matrix[present][:, numeric]
    for column in left_out:
        texts.pop(column, None)
    if texts:
        others, remarks = encode_features(name, pd.DataFrame(texts)[present].astype("category"))
        features = scipy.sparse.csr_matrix(scipy.sparse.hstack([features, others], format="csr"))
        notes += remarks
    return Dataset(name, source, compact(features), labels, classes, None, notes, target)


def _default(categories: list[str]) -> str:
    return categories[0] if categories else "0"


def _cells(line: str, where: str, columns: int) -> list[tuple[int, str]]:
    if not (line.startswith("{") and line.endswith("}")):
        raise BrokenDataset(f"{where} is cut off or not sparse: {line[:40]!r}; expected `{{index value, ...}}`.")
    inside = line[1:-1].strip()
    cells = [(int(match[1]), match[2].strip("'\"")) for match in SPARSE_CELL.finditer(inside)]
    if len(cells) != (len(inside.split(",")) if inside else 0) and not re.search("['\"]", inside):
        raise BrokenDataset(f"{where} has a cell that is not `index value`: {line[:80]!r}.")
    if any(index >= columns for index, _ in cells):
        raise BrokenDataset(f"{where} names a column past the {columns} declared: {line[:80]!r}.")
    return cells


def _number(text: str, where: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not np.isfinite(number):
        raise BrokenDataset(f"{where} has {text!r}; expected a finite number (sparse rows with `?` are not read).")
    return number
