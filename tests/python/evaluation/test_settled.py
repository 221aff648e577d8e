"""Of a journal in use, decisions count up to the first that still waits: not one more, not one less."""

from __future__ import annotations

import pytest

from loop.support import Clock, journal_at
from vw_fastcb import Loop
from vw_fastcb.commands.tune import _of_journal
from vw_fastcb.evaluation import evaluate, open_log
from vw_fastcb.loop.clocks import now
from vw_fastcb.loop.outcomes import Outcomes

SETTINGS = {"actions": 2, "reward_range": (0, 1), "wait": "1h", "seed": 1}
HOUR = 3_600_000


def record_visits(path, rewarded, clock=now, **settings):
    """Decisions one right after the other, then the rewards of some of them. What has none waits."""
    with Loop.open(path, **{**SETTINGS, **settings}, clock=clock) as loop:
        for number in range(len(rewarded)):
            loop.decide({}, event_id=f"e{number}")
        for number, is_rewarded in enumerate(rewarded):
            if is_rewarded:
                loop.reward(f"e{number}", 1)


def counted(path):
    log = open_log(path)
    found = evaluate(log, ["logged"])
    log.close()
    assert found[0].estimates["ips"].n == log.counted.events
    return log.counted


@pytest.mark.parametrize(
    ("rewarded", "events"),
    [
        ((1, 0, 1), 1),
        ((0, 1, 1), 0),
        ((1, 1, 0), 2),
        ((1, 1, 1), 3),
        ((1, 1, 0, 0, 1), 2),
        ((1, 1, 1, 0, 1, 0, 1), 3),
    ],
)
def test_decisions_count_up_to_the_one_before_the_first_that_waits(tmp_path, rewarded, events):
    record_visits(tmp_path / "j.db", rewarded)
    counts = counted(tmp_path / "j.db")
    assert (counts.events, counts.unsettled, counts.skipped) == (events, len(rewarded) - events, 0)
    with journal_at(tmp_path / "j.db") as journal:
        outcomes = Outcomes(journal)
        first_waiting = events + 2  # the settings are the first record
        assert outcomes.settled() == (first_waiting - 1 if events < len(rewarded) else journal.last()[0])
    unsettled: set[int] = set()
    _, rows = _of_journal(str(tmp_path / "j.db"), unsettled)
    assert len(list(rows)) == events
    assert len(unsettled) == len(rewarded) - events


@pytest.mark.parametrize("default", [None, 0.5])
def test_a_last_decision_counts_from_the_millisecond_after_its_wait(tmp_path, default):
    """A reward still counts in the last millisecond of the wait."""
    clock = Clock()
    settings = {} if default is None else {"default_reward": default}
    record_visits(tmp_path / "j.db", (1, 1, 0), clock, **settings)
    with journal_at(tmp_path / "j.db") as journal:
        last, made = journal.last()[0], journal.decision(4).time
        for after, is_open in ((HOUR - 1, True), (HOUR, True), (HOUR + 1, False)):
            outcomes = Outcomes(journal, now=made + after)
            assert outcomes.settled() == (3 if is_open else last)
            kinds = {one.position: one.kind for one in outcomes}
            assert kinds[4] == ("pending" if is_open else "none" if default is None else "default")
    counts = counted(tmp_path / "j.db")  # long ago by now
    assert (counts.events, counts.skipped, counts.unsettled) == ((2, 1, 0) if default is None else (3, 0, 0))


def test_a_decision_that_is_the_last_record_counts_when_its_wait_is_over(tmp_path):
    record_visits(tmp_path / "j.db", (0,), Clock(), default_reward=1)
    with journal_at(tmp_path / "j.db") as journal:
        assert journal.last()[0] == 2
    assert counted(tmp_path / "j.db").events == 1
