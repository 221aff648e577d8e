"""The `fastcb` command in this process, made once: typer takes longer to make it than most tests take to run it."""

from __future__ import annotations

import functools
import json
import sys
from typing import Any
from unittest.mock import patch

from typer.main import get_command
from typer.testing import CliRunner

from bakeoff.cli import Printed
from vw_fastcb.commands.app import app

_made = functools.cache(get_command)


def fastcb(*arguments: object) -> Printed:
    """Runs `fastcb`; whatever it does not catch itself is raised here."""
    words = [str(argument) for argument in arguments]
    with patch.object(sys, "argv", ["fastcb", *words]), patch("typer.testing._get_command", _made):
        result = CliRunner().invoke(app, words, env={"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "120"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert "Traceback" not in result.stderr
    return Printed(result.exit_code, result.stdout, result.stderr)


def told(*arguments: object) -> dict[str, Any]:
    """What a command that must succeed says as JSON."""
    result = fastcb(*arguments, "--json")
    assert result.code == 0, result.err
    return json.loads(result.out)


def refused(*arguments: object, code: int = 1) -> str:
    """Why a command was refused, as one line."""
    result = fastcb(*arguments)
    assert result.code == code, result.out + result.err
    return " ".join(result.err.replace("│", " ").split())
