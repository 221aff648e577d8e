"""The README's examples run, and print what the README says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS: list[tuple[str, str]] = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
PYTHON = [code for language, code in BLOCKS if language == "python"]
CONSOLE = [code for language, code in BLOCKS if language == "console"]
SHELL = [code for language, code in BLOCKS if language == "sh"]
NUMBER = re.compile(r"\d+(?:\.\d+)?")


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
        if "<<END" in line:
            for inner in lines:
                command.append(inner)
                if inner == "END":
                    break
    yield "\n".join(command), printed


def alike(printed: str, promised: str) -> bool:
    """Equal but for the last digits of numbers, which may differ between processors."""
    if NUMBER.sub("#", printed) != NUMBER.sub("#", promised):
        return False
    numbers = zip(NUMBER.findall(printed), NUMBER.findall(promised), strict=True)
    return all(abs(float(a) - float(b)) < 1e-4 for a, b in numbers)


def test_there_are_examples_of_each_kind():
    assert len(PYTHON) >= 3
    assert len(CONSOLE) >= 4
    assert {language for language, _ in BLOCKS} == {"python", "console", "sh"}


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
    scripts = sysconfig.get_path("scripts")
    environment = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    for block in CONSOLE:
        for command, promised in session(block):
            result = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", command],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert result.returncode == 0, f"{command}\n{result.stderr}"
            printed = (result.stdout + result.stderr).splitlines()
            assert alike("\n".join(printed), "\n".join(promised)), f"{command}\nprinted {printed}"


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\((?!http)([^)#]+)\)", README))))
def test_link_leads_to_a_file(link):
    assert (ROOT / link).is_file()


def test_readme_names_every_flag_of_the_program():
    # The flags are written in one file of the reduction.
    flags = re.findall(r'make_option\("(\w+)"', (ROOT / "cpp" / "reduction" / "fastcb_options.cc").read_text())
    assert "gamma_scale" in flags
    assert [flag for flag in flags if not re.search(rf"--{flag}\b", README)] == []
