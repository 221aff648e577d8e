"""Loops with oracle="ensemble" and with optimism: both are kept by the journal, and replayed bit for bit."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from loop.cli import told
from loop.support import Clock, journal_at, open_loop
from vw_fastcb import FastCB, Loop
from vw_fastcb.loop import SettingsDiffer
from vw_fastcb.loop.replay import replay

ENSEMBLE = {"oracle": "ensemble", "optimism": 1.0}
KINDS = pytest.mark.parametrize("kind", [{}, {"actions": None}], ids=["fixed", "features"])
KNOWS_DEVIATIONS = pytest.mark.parametrize("oracle", ["newton", "ensemble"])
VISIT = {"user": "u1", "hour": 3}


def offered(loop):
    """The features of the actions, where the loop's actions have some."""
    if loop.settings["actions"] is not None:
        return None
    return [{"price": price, "kind": "ab"[price % 2]} for price in range(3)]


def play(loop, first, last):
    for number in range(first, last):
        context = {"user": f"u{number % 3}", "hour": number % 24}
        decision = loop.decide(context, offered(loop), event_id=f"e{number}")
        loop.reward(f"e{number}", float((decision.action + number) % 3 == 0))


def asked(loop):
    """The probabilities that the loop gives now. The event leaves the model as it is."""
    return loop.decide(VISIT, offered(loop), activate=False).pmf


def predicted(loop):
    features = offered(loop)
    return np.array(loop.model().predict_reward([VISIT], None if features is None else [features]))


def assert_replays(path):
    with journal_at(path) as journal:
        found = replay(journal)
    assert found.differences == []
    assert found.largest == 0
    return found


@KINDS
def test_a_journal_that_is_reopened_goes_on_bit_for_bit(home, kind):
    for name, cuts in (("whole.db", ()), ("parts.db", (30, 31, 70))):
        with open_loop(home, name, clock=Clock(), **ENSEMBLE, **kind):
            pass
        for first, last in zip((0, *cuts), (*cuts, 90), strict=True):
            with Loop.open(home / name, clock=Clock()) as loop:  # the settings are the journal's
                assert (loop.settings["oracle"], loop.settings["optimism"]) == ("ensemble", 1)
                play(loop, first, last)
                if first == 31:
                    loop.checkpoint()
        assert_replays(home / name)
    with Loop.open(home / "whole.db") as whole, Loop.open(home / "parts.db") as parts:
        assert (asked(whole) == asked(parts)).all()
        assert whole.status().members == parts.status().members
        assert whole.model().optimism == 1


@KINDS
def test_who_takes_over_and_who_goes_back_have_the_same_ensemble(home, kind):
    path = home / "loop.db"
    with open_loop(home, **ENSEMBLE, **kind) as first:
        play(first, 0, 40)
        good, pmf, members = first.checkpoint(), asked(first), first.status().members
        with Loop.open(path, learn=False) as decider:
            assert (asked(decider) == pmf).all()
            assert decider.status().members == members
        with Loop.open(path, take_over=True) as second:
            assert (asked(second) == pmf).all()
            play(second, 40, 80)
            assert second.status().members != members
            second.rollback(good)
            assert (asked(second) == pmf).all()
            assert second.status().members == members
    assert_replays(path)


@KINDS
@KNOWS_DEVIATIONS
def test_another_optimism_keeps_the_model(home, kind, oracle):
    path = home / "loop.db"
    with open_loop(home, oracle=oracle, **kind) as loop:
        assert loop.settings["optimism"] == 0
        play(loop, 0, 40)
        good, pmf, values = loop.checkpoint(), asked(loop), predicted(loop)
    with pytest.raises(SettingsDiffer, match=r"optimism is 0\.0 in the journal and 3\.0 here"):
        Loop.open(path, optimism=3)
    with Loop.open(path, optimism=3, change=True) as loop:
        hopeful = asked(loop)
        assert not np.allclose(hopeful, pmf)
        assert (predicted(loop) == values).all()
        assert (loop.status().learned, loop.settings["optimism"], loop.model().optimism) == (40, 3, 3)
        play(loop, 40, 60)
        loop.rollback(good)
        assert (asked(loop) == hopeful).all()
    with Loop.open(path) as loop:
        assert (asked(loop) == hopeful).all()
        late = loop.checkpoint()
    with Loop.open(path, optimism=None, change=True) as loop:
        assert (asked(loop) == pmf).all()
        loop.rollback(late)  # whose bytes say 3
        assert (asked(loop) == pmf).all()
        assert loop.settings["optimism"] == 0
    assert_replays(path)


def test_more_actions_keep_the_ensemble(home):
    with open_loop(home, actions=3, **ENSEMBLE) as loop:
        play(loop, 0, 40)
        values = predicted(loop)
    with Loop.open(home / "loop.db", actions=5, change=True) as loop:
        assert loop.status().learned == 40
        assert (predicted(loop)[:, :3] == values).all()
        play(loop, 40, 60)
    assert_replays(home / "loop.db")


def test_another_oracle_learns_the_journal_again(home):
    path = home / "loop.db"
    with open_loop(home) as loop:
        play(loop, 0, 40)
        assert loop.status().members == {}
    with pytest.raises(SettingsDiffer, match="Changing oracle"):
        Loop.open(path, oracle="ensemble", change=True)
    with Loop.open(path, oracle="ensemble", change=True, relearn=True) as loop:
        assert loop.status().learned == 40
        assert sum(loop.status().members.values()) == pytest.approx(1)
    with (
        pytest.raises(RuntimeError, match="needs an oracle that knows how sure it is"),
        Loop.open(path, oracle="gd", optimism=1, change=True, relearn=True),
    ):
        pass
    assert_replays(path)


def test_a_journal_that_says_nothing_of_optimism_has_none(tmp_path):
    with open_loop(tmp_path) as loop:
        play(loop, 0, 10)
    with closing(sqlite3.connect(tmp_path / "loop.db")) as db:
        ((record,),) = db.execute("SELECT body FROM record WHERE position = 1")
    assert "optimism" not in record
    with Loop.open(tmp_path / "loop.db", optimism=0) as loop:  # is no change
        assert loop.settings["optimism"] == 0


def test_the_commands_learn_and_export_an_ensemble(tmp_path):
    with open_loop(tmp_path, **ENSEMBLE, learn=False) as loop:
        play(loop, 0, 40)
    told("learn", tmp_path / "loop.db")
    told("export", tmp_path / "loop.db", "--model", tmp_path / "model.vw")
    assert assert_replays(tmp_path / "loop.db").learned == 40
    exported = FastCB.load(tmp_path / "model.vw")
    assert (exported.oracle, exported.optimism) == ("ensemble", 1)
    with Loop.open(tmp_path / "loop.db") as loop:
        assert exported.members_ == loop.status().members
        assert (exported.predict_reward([VISIT]) == predicted(loop)).all()
    told("import", tmp_path / "more.db", "--model", tmp_path / "model.vw", "--optimism", 0.5)
    with Loop.open(tmp_path / "more.db") as loop:
        assert (loop.settings["oracle"], loop.settings["optimism"]) == ("ensemble", 0.5)
        assert loop.status().members == exported.members_
