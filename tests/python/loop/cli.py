"""What the tests of the loop's commands ask of `fastcb`."""

from __future__ import annotations

import json
from typing import Any

from bakeoff.cli import fastcb


def told(*arguments: object) -> dict[str, Any]:
    """What a command that must succeed says as JSON."""
    result = fastcb(*arguments, "--json")
    assert result.code == 0, result.err
    return json.loads(result.out)


def refused(*arguments: object, code: int = 1) -> str:
    """Why a command was refused, as one line."""
    result = fastcb(*arguments)
    assert result.code == code, result.out + result.err
    assert "Traceback" not in result.err
    return " ".join(result.err.replace("│", " ").split())
