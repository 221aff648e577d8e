"""The learner's memory is flat. The lengths are those for CI; benchmarks/speed/memory.py goes to a million rounds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from vw_fastcb import FastCB

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "speed" / "memory.py"


def growth(case: str, count: int, warm_up: int) -> float:
    """By how much the resident memory of a process of its own rose after the warm-up, in MB."""
    command = [sys.executable, str(BENCHMARK), "--case", case, "--count", str(count), "--warm-up", str(warm_up)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    figures = json.loads(result.stdout)
    assert figures["count"] == count
    return figures["highest"] - figures["warm"]


# What may come on top, in MB: flat cases stay below 0.2. In the short versions this is 26 bytes per round and 210 bytes
# per bad input, in the long ones 21 bytes per round, 35 per bad input and 1.5 kB per small learner. Learners with 4 MB
# of weights each leave gaps of that size in the heap, so only the loss of several is seen.
@pytest.mark.parametrize(
    ("case", "count", "warm_up", "allowed"),
    [
        ("features", 12_000, 3_000, 0.25),
        ("bad", 4_000, 1_500, 0.5),
        pytest.param("features", 60_000, 10_000, 1, marks=pytest.mark.slow),
        pytest.param("fixed", 60_000, 10_000, 1, marks=pytest.mark.slow),
        pytest.param("batches", 250, 50, 1, marks=pytest.mark.slow),
        pytest.param("simulations", 250, 50, 16, marks=pytest.mark.slow),
        pytest.param("learners", 200, 50, 16, marks=pytest.mark.slow),
        pytest.param("small", 400, 50, 1, marks=pytest.mark.slow),
        pytest.param("copies", 200, 50, 16, marks=pytest.mark.slow),
        pytest.param("bad", 40_000, 10_000, 1, marks=pytest.mark.slow),
    ],
)
def test_memory_is_flat_after_the_warm_up(case, count, warm_up, allowed):
    assert growth(case, count, warm_up) < allowed


@pytest.mark.slow
def test_a_leak_would_be_seen():
    assert growth("leak", 25_000, 5_000) > 2


def test_a_small_learner_takes_little_memory():
    """With the examples that VW keeps ready for its parser it would be 9 MB."""
    code = """
import psutil
from vw_fastcb import FastCB

def resident():
    return psutil.Process().memory_info().rss / 1e6

FastCB(3, bits=10).decide([1.0])
before = resident()
learners = [FastCB(3, bits=10) for _ in range(20)]
for learner in learners:
    learner.decide([1.0])
print((resident() - before) / len(learners))
"""
    assert float(subprocess.check_output([sys.executable, "-c", code], text=True, timeout=60)) < 3


@pytest.mark.parametrize("size", ["--example_queue_limit 7", "--example_queue_limit=7"])
def test_a_pool_of_your_own_size_is_no_contradiction(size):
    with FastCB(3, vw_args=size) as learner:
        learner.learn(learner.decide([1.0]), 0.5)
        assert learner.events_ == 1
