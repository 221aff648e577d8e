"""What every run of the tests shares: how many examples properties get, and the table of the twin test at its end."""

from __future__ import annotations

import gc
import os
from collections import Counter

import pytest

# Before numpy is there, and for all processes that tests start: OpenBLAS starts a thread for each processor, and they
# spin for longer than many a test takes. Nothing here multiplies matrices.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_configure(config: pytest.Config) -> None:
    """Properties get many examples where the slow tests run, too. See properties.py."""
    if config.getoption("markexpr") != "not slow":
        os.environ["VW_FASTCB_MANY_EXAMPLES"] = "1"


def pytest_collection_finish() -> None:
    """What was imported stays: Python need not look through all of it for garbage again and again."""
    gc.collect()
    gc.freeze()


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


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are cores: there is always a test that waits for a process."""
    return (os.cpu_count() or 1) + 1
