"""Nothing is allocated per action in steady state."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from support import PROGRAM, events, write

COUNTER = Path(__file__).parents[1] / "cpp" / "count_allocations.cc"


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    library = tmp_path_factory.mktemp("counter") / "count_allocations.so"
    compiler = os.environ.get("CXX", "c++")
    subprocess.run([compiler, "-std=c++17", "-O1", "-shared", "-fPIC", COUNTER, "-o", library, "-ldl"], check=True)
    return library


def allocations(counter, flags, data):
    command = [PROGRAM, *flags.split(), "--quiet", "--onethread", "-d", data]
    environment = {**os.environ, "LD_PRELOAD": str(counter)}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return int(re.findall(r"allocations: (\d+)", result.stderr)[0])


def allocations_per_round(counter, tmp_path, front_door, flags, actions):
    counts = {}
    for rounds in (300, 1300):
        data = write(tmp_path / "log", (getattr(e, front_door)() for e in events(rounds, actions=actions)))
        counts[rounds] = allocations(counter, flags, data)
    return (counts[1300] - counts[300]) / 1000


def test_events_with_action_features_allocate_no_more_than_vw_needs_to_parse_them(tmp_path, counter):
    """VW's parser allocates on its own; epsilon-greedy shows how much."""
    for actions in (5, 200):
        fastcb = allocations_per_round(counter, tmp_path, "adf", "--cb_explore_adf --fastcb", actions)
        parsing = allocations_per_round(counter, tmp_path, "adf", "--cb_explore_adf --epsilon 0.1", actions)
        assert fastcb < parsing + 0.01


def test_events_of_fixed_actions_allocate_the_same_for_any_number_of_actions(tmp_path, counter):
    few = allocations_per_round(counter, tmp_path, "fixed", "--cb_explore 5 --fastcb -b 20", 5)
    many = allocations_per_round(counter, tmp_path, "fixed", "--cb_explore 200 --fastcb -b 20", 200)
    assert many < few + 0.01
