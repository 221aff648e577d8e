"""The README's examples run, and print what the README says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pages import anchors, blocks, links, session, shell

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = blocks(README)
PYTHON = [code for language, code in BLOCKS if language == "python"]
CONSOLE = [code for language, code in BLOCKS if language == "console"]
SHELL = [code for language, code in BLOCKS if language == "sh"]
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def alike(printed: str, promised: str) -> bool:
    """Equal but for the last digits of numbers, which may differ between processors."""
    if NUMBER.sub("#", printed) != NUMBER.sub("#", promised):
        return False
    numbers = zip(NUMBER.findall(printed), NUMBER.findall(promised), strict=True)
    return all(abs(float(a) - float(b)) < 1e-4 for a, b in numbers)


def test_there_is_one_example_of_each_kind_and_it_stays_short():
    assert len(PYTHON) == 3
    assert len(CONSOLE) == 1
    assert {language for language, _ in BLOCKS} == {"python", "console", "sh"}
    assert len(README.splitlines()) <= 150


def test_shell_blocks_only_set_up():
    # They are not run here: CI and every developer run them before the tests can start.
    commands = [line for block in SHELL for line in block.splitlines()]
    assert all(re.match(r"(\w+=\S+ )?(make|pip) ", command) for command in commands)
    assert any(command.startswith("make demo") for command in commands)
    assert any(command.startswith("make test") for command in commands)


@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_python_example(number, tmp_path):
    command = [sys.executable, "-W", "error", "-c", PYTHON[number]]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr


def test_console_examples(tmp_path):
    for block in CONSOLE:
        for command, promised in session(block):
            printed = shell(command, tmp_path).splitlines()
            assert alike("\n".join(printed), "\n".join(promised)), f"{command}\nprinted {printed}"


@pytest.mark.parametrize("link", sorted(set(links(README))))
def test_link_leads_to_a_file(link):
    path, _, anchor = link.partition("#")
    assert (ROOT / path).is_file()
    assert not anchor or anchor in anchors((ROOT / path).read_text())
