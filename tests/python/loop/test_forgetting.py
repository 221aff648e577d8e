"""Until when an id is remembered, to the millisecond, and that nothing is left of what was erased or dropped."""

import pytest

from loop.support import Clock, is_stored, journal_at, open_loop
from vw_fastcb import Loop
from vw_fastcb.loop import Conflict, UnknownEvent
from vw_fastcb.loop.loop import journal_of

MINUTE = 60_000


def position(loop):
    return loop.status().position


def counts(loop):
    return loop.status().counts


@pytest.mark.parametrize("wait", ["1min", "10s"])
def test_an_id_is_remembered_for_retention_and_not_a_millisecond_longer(home, wait):
    clock = Clock()
    with open_loop(home, clock=clock, wait=wait, retention="1min") as loop:
        start = clock.now
        loop.decide({"user": "Tom"}, event_id="e1", activate=False)
        loop.reward("e1", 1, reward_id="r")
        loop.activate("e1")
        clock.now = start + MINUTE
        written = position(loop)
        loop.decide({"user": "Tom"}, event_id="e1", activate=False)  # the same request once more
        loop.reward("e1", 1, reward_id="r")
        loop.activate("e1")
        assert position(loop) == written
        with pytest.raises(Conflict):
            loop.decide({"user": "Anna"}, event_id="e1")
        with pytest.raises(Conflict):
            loop.reward("e1", 0, reward_id="r")
        clock.now += 1
        loop.reward("e1", 0, reward_id="r")  # of an event that is not there yet
        loop.activate("e1")
        loop.decide({"user": "Anna"}, event_id="e1", activate=False)
        assert position(loop) == written + 3
        assert counts(loop)["learned"] == 2
        assert counts(loop)["late"] == 0


def test_a_reward_counts_at_the_last_millisecond_of_its_window_although_nothing_is_remembered_longer(home):
    clock = Clock()
    with open_loop(home, clock=clock, wait="1min", retention="1min", default_reward=0) as loop:
        for event in ("at the end", "too late"):
            loop.decide({"user": "Tom"}, event_id=event)
        clock.now += MINUTE
        loop.reward("at the end", 1)
        clock.now += 1
        loop.reward("too late", 1)
        assert (counts(loop)["learned"], counts(loop)["learned_defaults"]) == (1, 1)


def test_an_erasure_is_known_for_retention_and_not_a_millisecond_longer(home):
    clock = Clock()
    with open_loop(home, clock=clock, wait="10s", retention="1min") as loop:
        loop.decide({"user": "Tom"}, event_id="e1")
        clock.now += MINUTE
        loop.erase("e1")
        written = position(loop)
        clock.now += MINUTE
        loop.erase("e1")
        assert position(loop) == written
        clock.now += 1
        with pytest.raises(UnknownEvent):
            loop.erase("e1")


def test_an_id_that_a_newer_decision_has_is_not_dropped_with_the_older_one(home):
    """Its reward would be lost."""
    clock = Clock()
    with open_loop(home, clock=clock, wait="10s", retention="1min", keep_generations=1) as loop:
        journal = journal_of(loop)

        def play(value):
            loop.decide({"user": "Tom"}, event_id="e1", activate=False)
            loop.reward("e1", value, reward_id="r")
            loop.activate("e1")

        play(0)
        clock.now += MINUTE + 1
        play(1)
        loop.checkpoint()
        assert journal.first() > 4  # the older ones were dropped
        assert [len(journal.find("e1", kind)) for kind in ("decision", "reward", "activation")] == [1, 1, 1]
        written = position(loop)
        play(1)
        assert position(loop) == written
        loop.decide({"user": "Li"}, event_id="e2")
        clock.now += MINUTE + 1
        loop.decide({"user": "Li"}, event_id="e2")
        loop.checkpoint()
        assert len(journal.find("e2")) == 1
        loop.reward("e2", 1)
        assert counts(loop)["learned"] == 3
        assert loop.status().early == 0


def test_a_record_is_kept_for_retention_and_dropped_a_millisecond_later(home):
    clock = Clock()
    with open_loop(home, clock=clock, wait="10s", retention="1min", keep_generations=1) as loop:
        loop.decide({"user": "Tom"}, event_id="e1")
        loop.reward("e1", 1)
        clock.now += MINUTE
        loop.decide({"user": "Li"}, event_id="e2")
        loop.checkpoint()
        assert journal_of(loop).first() == 1
        written = position(loop)
        loop.decide({"user": "Tom"}, event_id="e1")
        assert position(loop) == written
        clock.now += 1
        loop.decide({"user": "Anna"}, event_id="e3")
        loop.checkpoint()
        assert journal_of(loop).first() == 4


@pytest.mark.parametrize("is_early", [False, True])
def test_what_waits_is_kept_however_old_it_is(home, is_early):
    clock = Clock()
    with open_loop(home, clock=clock, wait="2min", retention="10s", keep_generations=1) as loop:
        if is_early:
            loop.reward("e1", 1)
        else:
            loop.decide({"user": "Tom"}, event_id="e1")
        clock.now += MINUTE
        loop.decide({"user": "Li"}, event_id="e2")
        loop.checkpoint()
        assert journal_of(loop).first() == 2  # the settings are gone, and what waits is not
    with Loop.open(home / "loop.db", clock=clock) as loop:
        if is_early:
            loop.decide({"user": "Tom"}, event_id="e1")
        else:
            loop.reward("e1", 1)
        assert counts(loop)["learned"] == 1
        assert loop.dead_letters() == []


def test_no_piece_of_a_large_event_is_left_once_it_is_erased(home):
    """It has pages of its own in a file, which are free then, and not to be read in it either."""
    pieces = [f"<piece {number:04}>" for number in range(3400)]
    with open_loop(home) as loop:
        for event in ("e1", "e2"):
            loop.decide({"note": "".join(pieces), "user": "Tom"}, event_id=event)
            loop.reward(event, 1)
        for event in ("e1", "e2"):
            loop.erase(event)
        assert not is_stored(home, b"<piece ")
    assert not is_stored(home, b"<piece ")
    with journal_at(home / "loop.db") as journal:
        assert [one.body["erased"] for one in journal.read() if one.kind == "decision"] == [True, True]
