"""Tables as text: separator and header are found out."""

from __future__ import annotations

import csv
from itertools import islice
from pathlib import Path

import pandas as pd

from ..dataset import BrokenDataset, Dataset
from ..table import MISSING, dataset_from_table
from . import target as targets

SEPARATORS = (",", ";", "\t", "|", " ")
SNIFFED_LINES = 200


def read(path: Path, name: str, target: str | None) -> Dataset:
    """Reads a .csv file; the class is the column named class, target, label or y, else the last one."""
    head = _first_lines(path, name)
    separator = sniff_separator(head, name)
    rows = [[cell.strip() for cell in row] for row in csv.reader(head, delimiter=separator, skipinitialspace=True)]
    header = has_header(rows)
    try:
        table = pd.read_csv(
            path,
            sep=separator,
            header=0 if header else None,
            names=None if header else list(map(str, range(len(rows[0])))),
            index_col=False,
            skipinitialspace=True,
            keep_default_na=False,
            na_values=sorted(MISSING),
            low_memory=False,
            encoding="utf-8-sig",
        )
    except (pd.errors.ParserError, pd.errors.ParserWarning) as problem:
        raise BrokenDataset(f"{name}: {path} is not a table of even rows: {str(problem).strip()}") from problem
    table.columns = table.columns.astype(str)
    return dataset_from_table(name, str(path), table, targets.choose(name, list(table.columns), target))


def sniff_separator(lines: list[str], name: str) -> str:
    """The separator that cuts every line into the same number of cells, the largest number where several do."""
    best, most = None, 1
    for separator in SEPARATORS:
        widths = {len(row) for row in csv.reader(lines, delimiter=separator, skipinitialspace=True)}
        if len(widths) == 1 and (width := widths.pop()) > most:
            best, most = separator, width
    if best is None:
        raise BrokenDataset(
            f"{name}: no separator (comma, semicolon, tab, bar, blank) cuts its first {len(lines)} lines into equally "
            "many cells, two or more."
        )
    return best


def has_header(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns: no number in it, and nothing that looks like the data below."""
    first, rest = rows[0], rows[1:]
    if any(_is_number(cell) or not cell for cell in first) or len(set(first)) < len(first):
        return False
    if any(cell.lower() in targets.USUAL_NAMES for cell in first):
        return True
    below = list(zip(*rest, strict=True))
    some_numeric = any(all(_is_number(cell) or cell in MISSING for cell in column) for column in below)
    return some_numeric or not any(cell in column for cell, column in zip(first, below, strict=False))


def _first_lines(path: Path, name: str) -> list[str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [line for line in islice(file, SNIFFED_LINES) if line.strip()]
    except UnicodeDecodeError as problem:
        raise BrokenDataset(f"{name}: {path} is not text in UTF-8 ({problem.reason} at {problem.start}).") from problem
    if len(lines) < 2:
        raise BrokenDataset(f"{name}: {path} has {len(lines)} line(s) of text; a table of two or more was expected.")
    return lines


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
