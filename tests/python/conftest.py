"""What every run of the tests shares: how many examples properties get, and the table of the twin test at its end."""

from __future__ import annotations

import os
from collections import Counter

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Properties get many examples where the slow tests run, too. See properties.py."""
    if config.getoption("markexpr") != "not slow":
        os.environ["VW_FASTCB_MANY_EXAMPLES"] = "1"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says how many events the twins refused and accepted, format by format."""
    counts: dict[str, Counter[str]] = {}
    for result in terminalreporter.stats.get("passed", []):
        for name, value in result.user_properties:
            if name == "twins":
                counts.setdefault(value[0], Counter()).update(value[1])
    if counts:
        from twins.fuzz import report  # noqa: PLC0415, brings the engine

        terminalreporter.write_sep("=", "events offered to twins")
        terminalreporter.write_line(report(counts))
