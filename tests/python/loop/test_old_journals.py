"""Journals that version 0.3 has made: they replay as they were, and go on under the arithmetic that they began with."""

import gzip
from pathlib import Path

import pytest

from loop.support import Clock, journal_at
from vw_fastcb._engine import ARITHMETIC
from vw_fastcb.loop import Loop
from vw_fastcb.loop.replay import replay

# 40 decisions each, 30 rewards, 4 checkpoints. In the second, predictions near 0 make today's arithmetic another.
OLD = Path(__file__).parents[2] / "golden" / "journals-0.3"
EACH_JOURNAL = pytest.mark.parametrize("name", ["newton", "epochs"])
AFTER = 1_790_000_500_000  # ms: later than their last record
MOST_APART = 1e-9


@pytest.fixture
def journal(tmp_path, name):
    path = tmp_path / f"{name}.db"
    path.write_bytes(gzip.decompress((OLD / f"{name}.db.gz").read_bytes()))
    return path


def replayed(path):
    with journal_at(path) as journal:
        found = replay(journal)
    assert found.differences == []
    assert found.largest <= MOST_APART
    return found


def go_on(path, clock, **settings):
    with Loop.open(path, clock=clock, **settings) as loop:
        for i in range(12):
            clock.now += 10_000
            event = f"{clock.now}"
            decision = loop.decide({"user": "ab"[i % 2], "hour": i, "away": False}, event_id=event)
            loop.reward(event, float(decision.action == 1))
        clock.now += 120_000
        loop.checkpoint()
        return loop.status().learned


@EACH_JOURNAL
def test_a_journal_of_0_3_is_replayed_as_it_was(journal):
    found = replayed(journal)
    assert (found.learned, found.decisions, found.generations) == (39, 40, 4)


@EACH_JOURNAL
def test_a_journal_of_0_3_goes_on_and_is_replayed_as_a_whole(journal):
    clock = Clock(AFTER)
    assert go_on(journal, clock) > 50
    go_on(journal, clock)
    replayed(journal)


@EACH_JOURNAL
def test_what_is_learned_again_is_learned_by_todays_arithmetic(journal):
    clock = Clock(AFTER)
    go_on(journal, clock, epsilon=0.3, allocation="igw", change=True, relearn=True)
    replayed(journal)
    go_on(journal, clock, allocation="reweighted", change=True, relearn=False)
    replayed(journal)
    with journal_at(journal) as opened:
        records = opened.of_kind("settings")
    assert [one.body.get("arithmetic") for one in records] == [None, ARITHMETIC, ARITHMETIC]
