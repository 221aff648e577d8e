"""CSV files: encoding, separator, header and decimal comma are found out."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import pandas as pd

from .dataset import BrokenDataset, Dataset
from .table import MISSING, NO_CLASS, USUAL_TARGETS, choose_target, dataset_from_table

SEPARATORS = (",", ";", "\t", "|", " ")
SNIFFED_LINES = 200
WITH_COMMA = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?")


def read(path: Path, name: str, target: str | None) -> Dataset:
    """Reads a .csv file. What was found out about it is in the notes."""
    encoding = _encoding(path, name)
    head = _first_lines(path, encoding, name)
    separator, width = sniff_separator(head, name)
    _check_widths(path, encoding, separator, width, name)
    rows = [row for _, row in _rows(head, separator) if len(row) == width]  # the last may go on behind the head
    header = has_header([[_with_point(cell.strip(), separator) for cell in row] for row in rows])
    try:
        table = pd.read_csv(
            path,
            sep=separator,
            header=0 if header else None,
            names=None if header else list(map(str, range(width))),
            index_col=False,
            skipinitialspace=True,
            keep_default_na=False,
            na_values=sorted(NO_CLASS),  # what else is missing in a column that is not the class, table.py knows
            low_memory=False,
            encoding=encoding,
        )
    except (pd.errors.ParserError, pd.errors.ParserWarning) as problem:
        raise BrokenDataset(f"{name}: {path} is not a table of even rows: {str(problem).strip()}") from problem
    table.columns = table.columns.astype(str)
    notes = [] if header else [f"the first line is data, no header: the columns are called 0 to {width - 1}"]
    if _numbers_the_rows(table.iloc[:, 0]):
        table = table.drop(columns=table.columns[0])
        notes.append("the first column left out: it has no name and numbers the rows")
    if separator != ",":
        table = table.assign(**{column: _without_decimal_comma(table[column], separator) for column in table.columns})
    chosen = choose_target(name, list(table.columns), target)
    return dataset_from_table(name, str(path), table, chosen, notes=notes)


def sniff_separator(lines: Sequence[str], name: str) -> tuple[str, int]:
    """The separator, and into how many cells it cuts a line.

    It is the one that cuts every line into equally many cells, the most where several do. Where none does, it is the
    one that does so with the most lines, of which more than half: the others are then found to be damaged.
    """
    cuts = {separator: cut for separator in SEPARATORS if (cut := _Cut.of(lines, separator)) is not None}
    if any(cut.decimal_comma for separator, cut in cuts.items() if separator in ";\t|"):
        cuts.pop(",", None)
    # A blank is also found inside of texts, so it has to give way to another separator that fits most lines.
    if " " in cuts and any(cut.width >= cuts[" "].width for separator, cut in cuts.items() if separator != " "):
        del cuts[" "]
    if not cuts:
        raise BrokenDataset(
            f"{name}: no separator (comma, semicolon, tab, bar, blank) splits its first {len(lines)} lines, or most "
            "of them, into the same number of cells, two or more."
        )
    best = max(cuts, key=lambda separator: (cuts[separator].share, cuts[separator].width))
    return best, cuts[best].width


class _Cut:
    """What a separator makes of the first lines."""

    def __init__(self, rows: list[list[str]], width: int, fitting: int) -> None:
        self.width = width
        self.share = fitting / len(rows)
        self.decimal_comma = any(WITH_COMMA.fullmatch(cell.strip()) for row in rows for cell in row)

    @classmethod
    def of(cls, lines: Sequence[str], separator: str) -> _Cut | None:
        """None where it does not cut most lines into the same number of cells, two or more."""
        rows = [row for _, row in _rows(lines, separator)]
        ((width, fitting),) = Counter(map(len, rows)).most_common(1)
        return cls(rows, width, fitting) if width > 1 and 2 * fitting > len(rows) else None


def has_header(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns.

    It does where a word stands above numbers, or a usual name of the class or the places 0, 1, 2, ... above other
    things, or words above words that are none of them.
    """
    if len(rows) < 2:
        return False
    first, columns = rows[0], list(zip(*rows[1:], strict=True))
    if not first[0] and _is_numeric(columns[0]) and len(set(columns[0])) == len(columns[0]):
        first, columns = first[1:], columns[1:]  # the index of a frame, which has no name
    below = list(zip(first, columns, strict=True))
    if any(_is_word(cell) and _is_numeric(column) for cell, column in below):
        return True
    if len(set(first)) < len(first) or any(cell in column for cell, column in below if _is_word(cell)):
        return False
    counted = len(first) > 2 and first == [str(place) for place in range(len(first))]
    if counted and tuple(first) not in zip(*columns, strict=True):
        return True
    return any(cell.lower() in USUAL_TARGETS for cell in first) or all(map(_is_word, first))


def _rows(lines: Iterable[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, each with the number of the line on which it begins."""
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    begins = 1
    for row in reader:
        if any(map(str.strip, row)) or len(row) > 1:
            yield begins, row
        begins = reader.line_num + 1


def _check_widths(path: Path, encoding: str, separator: str, width: int, name: str) -> None:
    """Refuses a file with a row too short or too long, which pandas would fill up or cut."""
    number = 0
    with path.open(encoding=encoding, newline="") as file:
        try:
            for number, row in _rows(file, separator):
                if len(row) != width:
                    raise BrokenDataset(_uneven(path, number, row, width, name))
        except csv.Error as problem:
            raise BrokenDataset(f"{name}: {path} cannot be read beyond line {number}: {problem}.") from problem


def _uneven(path: Path, number: int, row: list[str], width: int, name: str) -> str:
    values = "1 value" if len(row) == 1 else f"{len(row)} values"
    comment = row[0].startswith("#")
    advice = "Take comments out." if comment else "Is it cut off, or a text with a separator in it not quoted?"
    return f"{name}: {path}: line {number} has {values}, the others have {width}. {advice}"


def _encoding(path: Path, name: str) -> str:
    """UTF-8, else that of old files: Latin-1, with the signs that Windows has in its gaps."""
    content = path.read_bytes()
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if b"\0" not in content:
            return encoding
    raise BrokenDataset(f"{name}: {path} is not text in UTF-8 or Latin-1. Save it as text (CSV) in UTF-8.")


def _first_lines(path: Path, encoding: str, name: str) -> list[str]:
    with path.open(encoding=encoding, newline="") as file:
        lines = [line for line in islice(file, SNIFFED_LINES) if line.strip()]
    if len(lines) < 2:
        given = "1 line" if len(lines) == 1 else "no line"
        raise BrokenDataset(f"{name}: {path} has {given} of text; expected a table of two lines or more.")
    return lines


def _numbers_the_rows(column: pd.Series) -> bool:
    """Whether it is the index of a frame, written without a name: a different whole number in every row."""
    unnamed = str(column.name) == "Unnamed: 0"  # so pandas calls it
    return unnamed and pd.api.types.is_integer_dtype(column.dtype) and column.is_unique


def _without_decimal_comma(column: pd.Series, separator: str) -> pd.Series:
    """As numbers where all that it has are, written with a comma."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column
    texts = column.astype(str).str.strip()
    points = texts.map(lambda text: _with_point(text, separator))
    numeric = points.isin(MISSING) | points.map(_is_number)
    return pd.to_numeric(points.mask(points.isin(MISSING))) if numeric.all() and (points != texts).any() else column


def _with_point(text: str, separator: str) -> str:
    return text.replace(",", ".") if separator != "," and WITH_COMMA.fullmatch(text) else text


def _is_word(cell: str) -> bool:
    return cell not in MISSING and not _is_number(cell)


def _is_numeric(column: Sequence[str]) -> bool:
    return any(map(_is_number, column)) and not any(map(_is_word, column))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
