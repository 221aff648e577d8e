"""Fails where a function or a file is too long to read in one sitting and no comment says why.

A comment `Long because ...` is the reason: on a function right above it or on its first lines, on a file among its
first lines. One that is not needed any more fails, too. A branch is an if, a loop, a case, a catch or a conditional
expression; `&&` and `||` are none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import lizard

ROOT = Path(__file__).resolve().parents[2]
REASON = "Long because "
LINES_OF_HEAD = 15  # of a file: where its reason stands
LINES_OF_SIGNATURE = 8  # of a function: its reason stands below it at the latest


@dataclass(frozen=True)
class Limits:
    """The most that a folder's code may have."""

    lines_of_function: int = 60
    branches: int = 12
    lines_of_file: int = 500


# Each folder that is looked at. Python's can be added: lizard measures both languages.
FOLDERS = {"cpp": Limits(), "benchmarks/bakeoff/engine": Limits()}
SUFFIXES = {".cc", ".h", ".py"}


def is_comment(line: str) -> bool:
    return line.lstrip().startswith(("//", "#"))


def reasons(lines: list[str]) -> set[int]:
    """The lines, from 0, on which a reason begins."""
    return {number for number, line in enumerate(lines) if is_comment(line) and REASON in line}


def reason_of_function(lines: list[str], first: int, last: int) -> set[int]:
    """The reasons in the comment above a function, which has the lines from `first` to `last`, and at its beginning."""
    above = first
    while above > 0 and (is_comment(lines[above - 1]) or lines[above - 1].startswith(("template", "@"))):
        above -= 1
    return {number for number in reasons(lines) if above <= number < min(first + LINES_OF_SIGNATURE, last + 1)}


@dataclass(frozen=True)
class Problem:
    """What is wrong on a line, and with which function, if it is one."""

    line: int
    what: str
    function: str = ""


def problems_of_file(path: Path, limits: Limits) -> Iterator[Problem]:
    """What is wrong with each function, the file itself, and each reason that is not needed."""
    lines = path.read_text().splitlines()
    needed: set[int] = set()
    analyse = lizard.FileAnalyzer(lizard.get_extensions(["nonstrict"]))
    for function in analyse(str(path)).function_list:
        length = function.end_line - function.start_line + 1
        branches = function.cyclomatic_complexity - 1
        if length <= limits.lines_of_function and branches <= limits.branches:
            continue
        reason = reason_of_function(lines, function.start_line - 1, function.end_line - 1)
        needed |= reason
        if not reason:
            what = f"{function.name} has {length} lines and {branches} branches"
            most = f"at most {limits.lines_of_function} and {limits.branches} without a reason"
            yield Problem(function.start_line, f"{what}; {most}", function.name)
    if len(lines) > limits.lines_of_file:
        reason = {number for number in reasons(lines[:LINES_OF_HEAD]) if number not in needed}
        needed |= reason
        if not reason:
            yield Problem(1, f"the file has {len(lines)} lines; at most {limits.lines_of_file} without a reason")
    for number in sorted(reasons(lines) - needed):
        yield Problem(number + 1, "a reason for long code stands where nothing is too long")


def problems(folder: Path, limits: Limits) -> list[str]:
    """What is too long in a folder, as `path:line: what`."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES)
    if not files:
        return [f"{folder}: there is nothing to look at"]
    complaints = []
    for path in files:
        name = str(path).removeprefix(f"{ROOT}/")
        complaints += [f"{name}:{problem.line}: {problem.what}" for problem in problems_of_file(path, limits)]
    return complaints


def main(folders: list[str]) -> int:
    """Looks at these folders, or at all that have limits; returns the exit code."""
    limits = {folder: FOLDERS.get(folder, Limits()) for folder in folders} or FOLDERS
    complaints = [problem for folder in limits for problem in problems(ROOT / folder, limits[folder])]
    for complaint in complaints:
        print(complaint)
    if complaints:
        print(f"Make it shorter, or say why it is not in a comment: // {REASON}...")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
