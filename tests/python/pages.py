"""Markdown pages whose examples run: the code of a page, what the page says that it prints, and what it prints.

`python tests/python/pages.py docs/*.md docs/python/*.md` runs pages and writes into them what their cells printed. Read
the difference before you commit it: from then on the tests hold the page to it.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bakeoff.cli import fastcb
from vw_fastcb.commands import terminal

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:)([^)\s]+)\)")
FASTCB = re.compile(
    r"(?P<fastcb>fastcb [^|&;<>$`\n]+?)(?: \| (?P<reader>[^|\n]+)| > (?P<out>[\w.]+) 2> (?P<err>[\w.]+))?"
)
CELL = re.compile(r"^```(python|console)\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


def blocks(markdown: str) -> list[tuple[str, str]]:
    """The fenced blocks of a page: language and content."""
    return FENCE.findall(markdown)


def without_code(markdown: str) -> str:
    """A page without its fenced blocks and without code between backticks."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", markdown))


def links(markdown: str) -> list[str]:
    """Where a page leads, other pages of the web apart."""
    return LINK.findall(FENCE.sub("", markdown))


def anchors(markdown: str) -> set[str]:
    """What a link may name after `#`: the headings of a page, as the site writes them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", markdown), flags=re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def session(block: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a console block, heredocs included, each with the lines that it should print."""
    lines = iter(block.splitlines())
    command: list[str] = []
    printed: list[str] = []
    for line in lines:
        if not line.startswith("$ "):
            printed.append(line)
            continue
        if command:
            yield "\n".join(command), printed
        command, printed = [line[2:]], []
        if "<<END" in line or "<<'END'" in line:
            for inner in lines:
                command.append(inner)
                if inner == "END":
                    break
    yield "\n".join(command), printed


def shell(command: str, folder: Path) -> str:
    """Runs a command with this environment's programs first in the path; returns what it printed.

    `fastcb` is run in this process, the folder being the current one: its start costs more than what pages ask of it.
    It may write into files or into a pipe. It does not say how far it is, however slow the machine.
    """
    if asked := FASTCB.fullmatch(command):
        with patch.object(terminal, "_EVERY", math.inf):
            printed = fastcb(*shlex.split(asked["fastcb"])[1:], columns=80)
        assert printed.code == 0, f"{command}\n{printed.out}{printed.err}"
        if asked["out"]:
            (folder / asked["out"]).write_text(printed.out)
            (folder / asked["err"]).write_text(printed.err)
            return ""
        return (_bash(asked["reader"], folder, printed.out) if asked["reader"] else printed.out) + printed.err
    return _bash(command, folder)


def _bash(command: str, folder: Path, given: str | None = None) -> str:
    scripts = sysconfig.get_path("scripts")
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        input=given,
        env={**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
    return result.stdout + result.stderr


@dataclass(frozen=True)
class Cell:
    """A cell of a page, with the output that stands below it."""

    language: str
    code: str
    promised: str

    def run(self, name: str, namespace: dict[str, Any], folder: Path) -> str:
        """Runs the cell; the folder must be the current one. Returns what a page says of it."""
        if self.language == "console":
            return "".join(f"$ {command}\n{shell(command, folder)}" for command, _ in session(self.code))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(self.code, name, "exec"), namespace)
        return printed.getvalue()


def cells(markdown: str) -> list[Cell]:
    """The cells of a page. What a console cell prints stands inside it, between the commands."""
    found = CELL.findall(markdown)
    return [Cell(language, code, code if language == "console" else output) for language, code, output in found]


def run_page(path: Path, folder: Path) -> Iterator[tuple[Cell, str]]:
    """Runs the cells of a page in order, in one namespace; each with what it printed. The folder must be current."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cells(path.read_text()), start=1):
        yield cell, cell.run(f"{path.name}, cell {number}", namespace, folder)


def rewritten(path: Path, folder: Path) -> str:
    """The page with what its cells print now."""
    outputs = (printed for _, printed in run_page(path, folder))

    def block(match: re.Match[str]) -> str:
        printed = next(outputs)
        if match[1] == "console":
            return f"```console\n{printed}```"
        return f"```python\n{match[2]}```" + (f"\n\n```text\n{printed}```" if printed else "")

    return CELL.sub(block, path.read_text())


def main(paths: list[str]) -> None:
    for path in map(Path, paths):
        page = path.resolve()
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as way_back:
            way_back.callback(os.chdir, Path.cwd())
            os.chdir(folder)
            text = rewritten(page, Path(folder))
        page.write_text(text)
        print(f"{path}: {len(cells(text))} cells")


if __name__ == "__main__":
    main(sys.argv[1:])
