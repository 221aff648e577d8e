"""The `fastcb` command in this process: a start of Python costs more than most of what the tests let it do."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from typer.main import get_command
from typer.testing import CliRunner

from vw_fastcb.commands.app import app

_made = functools.cache(get_command)  # typer takes longer to make the command than many tests take to run it


@dataclass(frozen=True)
class Printed:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """The error stream as one line."""
        return " ".join(self.err.split())


def fastcb(*arguments: object, columns: int = 120) -> Printed:
    """Runs `fastcb`; whatever it does not catch itself is raised here."""
    words = [str(argument) for argument in arguments]
    with patch.object(sys, "argv", ["fastcb", *words]), patch("typer.testing._get_command", _made):
        result = CliRunner().invoke(app, words, env={"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": str(columns)})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Printed(result.exit_code, result.stdout, result.stderr)


def bakeoff(out: Path, *options: object) -> Printed:
    """A bake-off without report that must succeed."""
    printed = fastcb("bakeoff", "--out", out, "--no-report", *options)
    assert printed.code == 0, printed.err
    return printed


def refused(out: Path, *options: object) -> str:
    """A bake-off that must be refused; returns why, as one line."""
    printed = fastcb("bakeoff", "--out", out, "--no-report", *options)
    assert printed.code == 1, printed.out + printed.err
    return printed.words
