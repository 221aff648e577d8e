"""Several servers, a learner and one that stands by, around a journal in Redis: killed, and with ever new models."""

from __future__ import annotations

import pytest

from loop.redis_server import need_redis
from serve import kills, swaps


@pytest.mark.parametrize(("times", "events"), [(10, 400), pytest.param(40, 10_000, marks=pytest.mark.slow)])
def test_whoever_is_killed_nothing_acknowledged_is_lost(tmp_path, times, events):
    need_redis()
    found = kills.run(tmp_path, times, events, seed=4, progress=print)
    assert sum(found["kills"].values()) == times
    assert set(found["kills"]) == {"deciders", "learners", "servers", "standbys"}
    assert found["acknowledged"]["decision"] >= events


@pytest.mark.parametrize("times", [20, pytest.param(300, marks=pytest.mark.slow)])
def test_models_are_swapped_under_load(tmp_path, times):
    need_redis()
    found = swaps.run(tmp_path, times, progress=print)
    assert min(found["swaps"]) >= times
