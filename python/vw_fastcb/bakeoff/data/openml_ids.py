"""What a user may write for OpenML sets: ids, a file of ids, the suite of the bake-off, or a suite of OpenML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

SUITES = Path(__file__).with_name("suites")


def parse(wanted: str | int | Iterable[int]) -> list[int] | None:
    """The ids, in the order given and once each; None where the text is the name of a suite that OpenML has to tell."""
    if isinstance(wanted, int):
        return [wanted]
    if not isinstance(wanted, str):
        return list(dict.fromkeys(int(number) for number in wanted))
    if re.fullmatch(r"[\d\s,]+", wanted):
        return _numbers(wanted)
    shipped = SUITES / f"{wanted}.txt"
    path = shipped if re.fullmatch(r"[\w-]+", wanted) and shipped.is_file() else Path(wanted)
    if path.is_file():
        return _numbers(_without_comments(path))
    if re.search(r"[\s,]", wanted.strip()):  # no suite has such a name
        wrong = re.findall(r"[^\s,]*[^\d\s,][^\s,]*", wanted)[0]
        raise ValueError(f"ids of OpenML sets must be numbers between commas, such as '6,32'; {wrong!r} is none.")
    return None


def _without_comments(path: Path) -> str:
    text = re.sub(r"#[^\n]*", "", path.read_text(encoding="utf-8"))
    if not re.fullmatch(r"[\d\s,]+", text):
        wrong = next(iter(re.findall(r"[^\d\s,]+", text)), "no id")
        raise ValueError(
            f"{path} should hold the ids of OpenML sets, numbers between blanks or commas; it has {wrong!r}."
        )
    return text


def _numbers(text: str) -> list[int]:
    return list(dict.fromkeys(int(number) for number in re.findall(r"\d+", text)))
