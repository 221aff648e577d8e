"""Refused means refused: a workspace that saw bad events cannot be told from its twin that never did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from twins.fuzz import NAMES, fuzz_in_child

EACH_FORMAT = pytest.mark.parametrize("name", NAMES)
# A process takes longer to start than to try a format: each tries several, and a crash still names its cause.
GROUPS = [NAMES[start::5] for start in range(5)]


def check(
    names: Sequence[str], refused: int, seed: int, folder: Path, record_property: Callable[[str, object], None]
) -> None:
    found = fuzz_in_child(names, refused, seed, folder)
    assert list(found) == list(names)
    for name, counts in found.items():
        record_property("twins", (name, dict(counts)))  # the table at the end of the run, see conftest.py
        assert counts["refused"] >= refused
        assert counts["accepted"] > 0, "events that nobody accepts do not test much"


@pytest.mark.parametrize("names", GROUPS, ids=" ".join)
def test_refused_events_leave_no_trace(
    names: Sequence[str], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    check(names, 100, 0, tmp_path, record_property)


@pytest.mark.slow
@EACH_FORMAT
def test_a_hundred_thousand_refused_events_leave_no_trace(
    name: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    check([name], 100_000 // len(NAMES) + 1, 1, tmp_path, record_property)
