"""The learner's memory is flat. The lengths are those for CI; benchmarks/speed/memory.py goes to a million rounds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "speed" / "memory.py"


def growth(case: str, count: int) -> float:
    """By how much the resident memory of a process of its own rose after the warm-up, in MB."""
    command = [sys.executable, str(BENCHMARK), "--case", case, "--count", str(count)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    figures = json.loads(result.stdout)
    assert figures["count"] == count
    return figures["highest"] - figures["warm"]


# What may come on top, in MB: flat cases stay below 0.2. One MB is 21 bytes per round and 1.5 kB per small
# learner. Learners with 4 MB of weights each leave gaps of that size in the heap, so only the loss of several is seen.
@pytest.mark.parametrize(
    ("case", "count", "allowed"),
    [
        ("features", 60_000, 1),
        ("bad", 10_000, 1),
        pytest.param("fixed", 60_000, 1, marks=pytest.mark.slow),
        pytest.param("batches", 250, 1, marks=pytest.mark.slow),
        pytest.param("simulations", 250, 16, marks=pytest.mark.slow),
        pytest.param("learners", 200, 16, marks=pytest.mark.slow),
        pytest.param("small", 400, 1, marks=pytest.mark.slow),
        pytest.param("copies", 200, 16, marks=pytest.mark.slow),
        pytest.param("bad", 40_000, 1, marks=pytest.mark.slow),
    ],
)
def test_memory_is_flat_after_the_warm_up(case, count, allowed):
    assert growth(case, count) < allowed


def test_a_leak_would_be_seen():
    assert growth("leak", 60_000) > 5
