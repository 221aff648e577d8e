"""The loop as its users see it: one process, one file, a clock that the test sets."""

import contextlib
import json
import math
import os
import sqlite3
import threading
import time
from datetime import timedelta

import numpy as np
import pytest
from redis import Redis

from loop.redis_server import RedisFolder
from loop.support import Clock, is_stored, journal_at, open_loop
from vw_fastcb import FastCB, Loop
from vw_fastcb.learner import engine
from vw_fastcb.loop import (
    Conflict,
    JournalRefused,
    LoopError,
    SettingsDiffer,
    UnknownEvent,
    UnknownGeneration,
)
from vw_fastcb.loop.contexts import features_of
from vw_fastcb.loop.journal import Draft
from vw_fastcb.loop.model import Model, sha256
from vw_fastcb.loop.replay import replay
from vw_fastcb.loop.settings import LoopSettings

ACTIONS = ["politics", "sports", "music"]


def replayed(path):
    with journal_at(path) as journal:
        return replay(journal)


def play(loop, first, last, reward=lambda decision: float(decision.action == 1)):
    for i in range(first, last):
        decision = loop.decide({"user": f"u{i % 5}", "hour": i % 24}, event_id=f"e{i}")
        loop.reward(f"e{i}", reward(decision))


def test_a_decision_says_what_was_drawn(home):
    with open_loop(home) as loop:
        decision = loop.decide({"user": "Tom", "hour": 9}, event_id="e1")
    assert decision.event_id == "e1"
    assert decision.name == ACTIONS[decision.action]
    assert decision.probability == decision.pmf[decision.action]
    assert decision.pmf.dtype == np.float64
    assert math.isclose(decision.pmf.sum(), 1, abs_tol=1e-12)


def test_it_learns_and_goes_on_where_it_was(home):
    with open_loop(home) as loop:
        play(loop, 0, 200)
        pmf = loop.decide({"user": "u1", "hour": 3}, event_id="x").pmf
        assert loop.status().learned == 200
    with Loop.open(home / "loop.db") as loop:
        assert loop.status().learned == 200
        assert (loop.decide({"user": "u1", "hour": 3}, event_id="y").pmf == pmf).all()
        assert pmf[1] > 0.8


def test_a_model_of_two_halves_is_the_model_of_the_whole(home):
    for name, cuts in (("whole", ()), ("halves", (50, 100, 101))):
        clock = Clock()
        loop = open_loop(home, name, clock=clock, seed=7)
        for i in range(150):
            if i in cuts:
                loop.close()
                loop = Loop.open(home / name, clock=clock)
            clock.now += 10
            play(loop, i, i + 1)
        loop.close()
    whole, halves = (replayed(home / name) for name in ("whole", "halves"))
    assert whole.agrees
    assert halves.agrees
    assert whole.sha256 == halves.sha256


def test_the_model_is_the_one_that_a_learner_would_have(home):
    with open_loop(home, seed=7) as loop:
        twin = FastCB(action_names=ACTIONS, reward_range=(0, 1), seed=7)
        for i in range(100):
            context = {"user": f"u{i % 5}", "hour": i % 24}
            decision = loop.decide(context, event_id=f"e{i}")
            mine = twin.decide(context, event_id=f"e{i}")
            assert mine.action == decision.action
            assert (mine.pmf == decision.pmf).all()
            loop.reward(f"e{i}", decision.action / 2)
            twin.learn(mine, mine.action / 2)
        assert loop.model().to_bytes() == twin.to_bytes()


def test_the_copy_of_the_model_is_a_copy(home):
    with open_loop(home) as loop:
        assert loop.model().events_ == 0
        play(loop, 0, 10)
        copy = loop.model()
        assert copy.events_ == 10
        assert copy.action_names == ACTIONS
        copy.learn_event({"user": "u1", "hour": 1}, "music", reward=1)
        assert loop.status().learned == 10


def test_the_same_request_gets_the_same_answer_and_another_one_is_a_conflict(home):
    with open_loop(home) as loop:
        first = loop.decide({"user": "Tom"}, event_id="e1")
        play(loop, 10, 60)
        again = loop.decide({"user": "Tom"}, event_id="e1")
        assert (again.action, again.probability, again.generation) == (first.action, first.probability, 0)
        assert (again.pmf == first.pmf).all()
        for other in ({"context": {"user": "Anna"}}, {"exclude": [1]}, {"activate": False}):
            with pytest.raises(Conflict, match="about something else"):
                loop.decide(**{"context": {"user": "Tom"}, "event_id": "e1", **other})
        assert loop.status().counts["decisions"] == 51


def test_a_reward_with_an_id_counts_once(home):
    with open_loop(home, aggregation="sum", reward_range=(0, 10)) as loop:
        loop.decide({"user": "Tom"}, event_id="e1")
        for _ in range(3):
            loop.reward("e1", 2, reward_id="r1")
        loop.reward("e1", 2, reward_id="r2")
        for _ in range(2):
            loop.reward("e1", 1)
        with pytest.raises(Conflict, match=r"was 2\.0 before and is 3\.0 now"):
            loop.reward("e1", 3, reward_id="r1")
        assert loop.status().counts["rewards"] == 4


def test_a_reward_may_come_before_its_decision(home):
    clock = Clock()
    with open_loop(home, clock=clock, wait="1s") as loop:
        loop.reward("e1", 1)
        loop.reward("lost", 1)
        assert loop.status().early == 2
        clock.now += 1000
        loop.decide({"user": "Tom"}, event_id="e1")
        assert loop.status().learned == 1
        clock.now += 1001
        loop.tick()
        status = loop.status()
        assert (status.early, status.open) == (0, 0)
        assert (status.counts["orphans"], status.counts["learned"]) == (1, 1)


def test_without_activation_nothing_is_learned(home):
    clock = Clock()
    with open_loop(home, clock=clock, wait="1s", default_reward=0) as loop:
        for name in ("used", "unused"):
            loop.decide({"user": "Tom"}, event_id=name, activate=False)
            loop.reward(name, 1)
        assert loop.status().learned == 0
        for _ in range(2):
            loop.activate("used")
        assert loop.status().learned == 1
        clock.now += 1001
        loop.tick()
        loop.activate("unused")
        counts = loop.status().counts
        assert (counts["learned"], counts["learned_defaults"], counts["unactivated"], counts["late"]) == (1, 0, 1, 1)


def test_the_default_is_learned_when_no_reward_came(home):
    clock = Clock()
    with open_loop(home, clock=clock, wait="1s", default_reward=0.25) as loop:
        decision = loop.decide({"user": "Tom"}, event_id="e1")
        clock.now += 1000
        loop.tick()
        assert loop.status().learned == 0
        clock.now += 1
        loop.tick()
        loop.reward("e1", 1)
        assert loop.status().counts["late"] == 1
        twin = FastCB(action_names=ACTIONS, reward_range=(0, 1), seed=3)
        twin.learn_event({"user": "Tom"}, decision.action, reward=0.25)
        assert loop.model().to_bytes() == twin.to_bytes()


def test_a_sum_outside_the_range_is_a_dead_letter(home):
    clock = Clock()
    with open_loop(home, clock=clock, wait="1s", aggregation="sum") as loop:
        loop.decide({"user": "Tom"}, event_id="e1")
        loop.reward("e1", 0.75)
        loop.reward("e1", 0.75)
        clock.now += 1001
        loop.tick()
        assert loop.status().dead_letters == 1
        (letter,) = loop.dead_letters()
        assert "sum of 2 rewards is 1.5" in letter.reason
        loop.checkpoint()
        assert loop.dead_letters() == [letter]
        assert loop.status().counts["rejected"] == 1
    with Loop.open(home / "loop.db") as loop:
        assert loop.dead_letters() == [letter]


def test_excluded_and_retired_actions_are_never_drawn(home):
    with open_loop(home, retired=["music"]) as loop:
        for i in range(50):
            decision = loop.decide({"user": "Tom"}, exclude=["politics"] if i % 2 else None)
            assert decision.pmf[2] == 0
            assert decision.pmf[0] == (0 if i % 2 else 0.5)
        with pytest.raises(ValueError, match="no action"):
            loop.decide({"user": "Tom"}, exclude=["politics", "sports"])
        with pytest.raises(ValueError, match="unknown"):
            loop.decide({"user": "Tom"}, exclude=["weather"])
    assert replayed(home / "loop.db").agrees


def test_actions_bring_their_features(home):
    with open_loop(home, actions=None) as loop:
        for i in range(60):
            features = [{"topic": "sports", "price": i % 3}, {"topic": "music", "price": 2}]
            decision = loop.decide(
                {"user": {"name": "Tom", "tags": ["fan", "new"]}},
                features,
                action_ids=["s", "m"],
                exclude=["m"] if i % 10 == 9 else None,
                event_id=f"e{i}",
            )
            assert decision.name == "sm"[decision.action]
            loop.reward(f"e{i}", decision.action)
        assert decision.pmf.tolist() == [1, 0]
        record = loop._worker.journal.find("e0")[0]
        assert record.body["context"] == {"user.name": "Tom", "user.tags=fan": 1, "user.tags=new": 1}
        with pytest.raises(ValueError, match="action_features are missing"):
            loop.decide({"user": "Tom"})
    found = replayed(home / "loop.db")
    assert found.agrees
    assert found.decisions == 60


def test_to_exclude_many_of_many_actions_takes_no_longer_than_to_exclude_one(home):
    """Each of 20,000 was once looked for among 20,000: one request of 720 kB held all others up for five seconds."""
    ids = [f"a{number}" for number in range(10_000)]
    with open_loop(home, actions=None) as loop:

        def seconds(exclude):
            begun = time.process_time()
            decision = loop.decide({}, [{"price": 1}] * len(ids), action_ids=ids, exclude=exclude)
            took = time.process_time() - begun
            assert decision.pmf[0] == 0
            return took

        alone = min(seconds(ids[:1]) for _ in range(3))
        assert min(seconds(ids[:-1]) for _ in range(3)) < 4 * alone


def test_to_exclude_many_of_many_names_takes_no_longer_than_to_exclude_one(home):
    names = [f"a{number}" for number in range(5000)]
    with open_loop(home, actions=names) as loop:

        def seconds(exclude):
            begun = time.process_time()
            assert loop.decide({}, exclude=exclude).pmf[-1] == 0
            return time.process_time() - begun

        alone = min(seconds(names[-1:]) for _ in range(3))
        assert min(seconds(names[1:]) for _ in range(3)) < 20 * alone  # it was 150 times


def test_contexts_may_be_arrays(home):
    rng = np.random.default_rng(0)
    with open_loop(home, actions=4, columns=6) as loop:
        for i in range(40):
            decision = loop.decide(rng.normal(size=6), event_id=f"e{i}")
            loop.reward(f"e{i}", decision.action / 3)
        with pytest.raises(ValueError, match="list of 5 numbers; expected a list of 6 numbers"):
            loop.decide(rng.normal(size=5))
        with pytest.raises(ValueError, match="finite"):
            loop.decide([math.inf] * 6)
    assert replayed(home / "loop.db").agrees


@pytest.mark.parametrize("later", [{"user": "Tom"}, [1.0, 2.0]])
def test_an_empty_list_says_nothing(home, later):
    """PHP, for one, writes an empty dictionary as []."""
    with open_loop(home) as loop:
        loop.decide([], event_id="e1")
        loop.decide(np.empty(0), event_id="e2")
        loop.reward("e1", 1)
        loop.checkpoint()
        loop.decide(later, event_id="e3")
        loop.reward("e3", 1)
    with Loop.open(home / "loop.db") as loop:
        loop.decide(later, event_id="e4")
        assert loop.status().learned == 2
        assert loop.decide([], event_id="e1") == loop.decide({}, event_id="e1")


def test_actions_without_features_say_nothing(home):
    with open_loop(home, actions=None) as loop:
        loop.decide([], [[], []])
        loop.decide({"user": "Tom"}, [{"price": 1}, {"price": 2}])


def test_a_column_keeps_its_kind(home):
    with open_loop(home, mismatch="refuse") as loop:
        loop.decide({"age": 31}, event_id="e1")
        with pytest.raises(ValueError, match="age"):
            loop.decide({"age": "old"}, event_id="e2")
        loop.decide({"age": 32, "city": "Rome"}, event_id="e2")
    with Loop.open(home / "loop.db") as loop, pytest.raises(ValueError, match="city"):
        loop.decide({"city": 3})


def test_a_decision_that_was_refused_leaves_no_trace(home):
    with open_loop(home, mismatch="refuse") as loop:
        play(loop, 0, 20)
        before = loop.model().to_bytes(), loop.status().position
        for bad in ({"new": "x", "hour": "late"}, {"x": math.inf}, {"x": object()}, {"x": "\ud800"}, "text", 3, None):
            with pytest.raises((ValueError, TypeError)):
                loop.decide(bad)
        for bad in (math.nan, math.inf, 1.5, -1, "1", None, True):
            with pytest.raises(ValueError, match="expected a"):
                loop.reward("e1", bad)
        for bad in ("", "x" * 257, None, 1.5, "a\0b", "\udc00", b"e1"):
            with pytest.raises((ValueError, TypeError), match="event_id"):
                loop.reward(bad, 1)
        assert before == (loop.model().to_bytes(), loop.status().position)
        loop.decide({"new": 3}, event_id="new")


def test_a_rollback_goes_back_to_a_generation_and_does_not_learn_again(home):
    clock = Clock()
    with open_loop(home, clock=clock) as loop:
        play(loop, 0, 30)
        good = loop.checkpoint()
        content = loop.model().to_bytes()
        loop.decide({"user": "u9", "hour": 1}, event_id="waiting")
        play(loop, 30, 60)
        loop.checkpoint()
        loop.rollback(good)
        assert loop.model().to_bytes() == content
        assert loop.status().learned == 30
        loop.reward("waiting", 1)
        assert loop.status().learned == 31
        with pytest.raises(UnknownGeneration, match="generation 99 is not kept; expected one of"):
            loop.rollback(99)
        after = loop.model().to_bytes()
    with Loop.open(home / "loop.db", clock=clock) as loop:
        assert loop.model().to_bytes() == after
    found = replayed(home / "loop.db")
    assert found.agrees
    assert found.sha256 == sha256(after)


def test_other_settings_are_refused_unless_they_are_to_change(home):
    clock = Clock()
    with open_loop(home, clock=clock, wait="10s") as loop:
        loop.decide({"user": "Tom"}, event_id="old")
    path = home / "loop.db"
    with pytest.raises(SettingsDiffer, match="wait is 10s in the journal and 1s here"):
        Loop.open(path, wait="1s", clock=clock)
    with pytest.raises(SettingsDiffer, match=r"default_reward is None in the journal and 0\.0 here"):
        Loop.open(path, default_reward=0, clock=clock)
    with Loop.open(path, wait="1s", default_reward=0, change=True, clock=clock) as loop:
        loop.decide({"user": "Tom"}, event_id="new")
        clock.now += 1001
        loop.tick()
        assert loop.status().counts["learned_defaults"] == 1
        clock.now += 9000
        loop.tick()
        counts = loop.status().counts
        assert (counts["learned_defaults"], counts["unrewarded"]) == (1, 1)
    with Loop.open(path, wait="1s", default_reward=0, clock=clock):
        pass
    assert replayed(path).agrees


def test_gamma_and_epsilon_change_and_the_model_is_kept(home):
    path = home / "loop.db"
    with open_loop(home) as loop:
        play(loop, 0, 100)
        greedy = loop.decide({"user": "u1", "hour": 3}).pmf
        good = loop.checkpoint()
    with Loop.open(path, gamma_scale=0.01, change=True) as loop:
        assert loop.status().learned == 100
        calm = loop.decide({"user": "u1", "hour": 3}).pmf
        assert greedy.max() > 0.9
        assert calm.max() < 0.6
    with Loop.open(path, gamma_scale=50, epsilon=0.3, change=True) as loop:
        floored = loop.decide({"user": "u1", "hour": 3}).pmf
        assert floored.min() == pytest.approx(0.1, abs=1e-6)
        play(loop, 200, 220)
        loop.rollback(good)
        assert (loop.decide({"user": "u1", "hour": 3}).pmf == floored).all()
    with Loop.open(path, epsilon=0, change=True) as loop:
        assert (loop.decide({"user": "u1", "hour": 3}).pmf == greedy).all()
        assert loop.model().epsilon == 0
    assert replayed(path).agrees


def test_settings_that_mean_other_weights_relearn_or_begin_afresh(home):
    with open_loop(home, learning_rate=0.1) as loop:
        play(loop, 0, 80)
    path = home / "loop.db"
    with pytest.raises(SettingsDiffer, match="relearn=True"):
        Loop.open(path, learning_rate=1, change=True)
    with Loop.open(path, learning_rate=1, change=True, relearn=True) as loop:
        twin = FastCB(action_names=ACTIONS, reward_range=(0, 1), learning_rate=1, seed=3)
        for record in loop._worker.journal.read():
            if record.kind == "decision":
                action = record.body["action"]
                twin.learn_event(record.body["context"], action, reward=float(action == 1))
        assert loop.model().to_bytes() == twin.to_bytes()
        assert loop.status().learned == 80
    assert replayed(path).agrees
    with Loop.open(path, learning_rate=2, change=True, relearn=False) as loop:
        assert loop.status().learned == 0
        play(loop, 100, 110)
        assert loop.status().learned == 10
    assert replayed(path).agrees


def test_relearning_begins_with_the_first_record_that_retention_has_left(home):
    clock = Clock()
    with open_loop(home, clock=clock, bits=10, wait="1min", retention="10s", keep_generations=1) as loop:
        play(loop, 0, 10)
        clock.now += 120_000
        loop.tick()
        play(loop, 10, 15)  # their windows are open, so they stay
        clock.now += 11_000
        loop.decide({"user": "Tom"}, event_id="now")
        loop.checkpoint()
        assert next(loop._worker.journal.read()).event_id == "e10"
    with Loop.open(home / "loop.db", clock=clock, bits=12, change=True, relearn=True) as loop:
        assert loop.status().learned == 5
    assert replayed(home / "loop.db").agrees


@pytest.mark.parametrize("ticks", [False, True])
def test_what_waits_is_learned_by_a_model_that_was_begun_afresh(home, ticks):
    clock = Clock()
    path = home / "loop.db"
    with open_loop(home, clock=clock, bits=10, wait="1s", default_reward=0) as loop:
        empty = loop.checkpoint()
        loop.decide({"user": "Tom"}, event_id="old")
        clock.now += 500
        loop.decide({"user": "Tom"}, event_id="waits")
    clock.now += 501
    if ticks:
        with Loop.open(path, clock=clock) as loop:
            loop.tick()
    with Loop.open(path, clock=clock, bits=11, change=True, relearn=False) as loop:
        assert loop.status().learned == 0
        assert loop.status().counts["learned_defaults"] == 1
        loop.reward("waits", 1)
        assert loop.status().learned == 1
        with pytest.raises(SettingsDiffer, match=r"different settings \(bits\)"):
            loop.rollback(empty)
    assert replayed(path).agrees


def test_a_rollback_to_before_the_first_decision(home):
    with open_loop(home) as loop:
        empty = loop.checkpoint()
        loop.decide({"user": "Tom"}, event_id="e1")
        loop.checkpoint()
        loop.rollback(empty)
        loop.reward("e1", 1)
        assert loop.status().learned == 1
    assert replayed(home / "loop.db").agrees


def test_relearning_learns_what_has_closed_by_then(home):
    clock = Clock()
    with open_loop(home, clock=clock, wait="1s", default_reward=0) as loop:
        loop.decide({"user": "Tom"}, event_id="e1")
    clock.now += 1001
    with Loop.open(home / "loop.db", clock=clock, learning_rate=1, change=True, relearn=True) as loop:
        assert loop.status().learned == 1
    assert replayed(home / "loop.db").agrees


def test_ids_are_remembered_while_their_window_is_open(home):
    clock = Clock()
    with open_loop(home, clock=clock, wait="10s", retention="1s") as loop:
        loop.decide({"user": "Tom"}, event_id="e1")
    with Loop.open(home / "loop.db", clock=clock, wait="1s", change=True) as loop:
        clock.now += 2000
        loop.reward("e1", 1)
        assert loop.status().counts["learned"] == 1


def test_actions_are_added_at_the_end_and_what_was_learned_is_kept(home):
    path = home / "loop.db"
    with open_loop(home) as loop:
        play(loop, 0, 60)
        before = loop.model().predict_reward([{"user": "u1", "hour": 2}])
        good = loop.checkpoint()
    for wrong in (ACTIONS[:2], ACTIONS[::-1], ["weather", *ACTIONS]):
        with pytest.raises(SettingsDiffer, match=r"expected \['politics', 'sports', 'music'\] first"):
            Loop.open(path, actions=wrong, change=True)
    more = [*ACTIONS, "weather", "chess"]  # more than the power of two that VW has room for
    with Loop.open(path, actions=more, change=True) as loop:
        assert loop.status().learned == 60
        after = loop.model().predict_reward([{"user": "u1", "hour": 2}])
        assert (after[:, :3] == before).all()
        assert len(loop.decide({"user": "u1", "hour": 2}).pmf) == 5
        play(loop, 100, 110, lambda decision: float(decision.name == "chess"))
        loop.rollback(good)
        assert loop.status().learned == 60
        assert loop.decide({"user": "u1", "hour": 2}, exclude=ACTIONS).name in ("weather", "chess")
    with Loop.open(path, actions=[*more, "cats"], retired=["chess"], change=True, relearn=True) as loop:
        decision = loop.decide({"user": "u1", "hour": 2})
        assert len(decision.pmf) == 6
        assert decision.pmf[4] == 0
    assert replayed(path).agrees


def test_where_actions_cannot_be_added_the_journal_is_learned_again(home):
    with open_loop(home, vw_args="--nn 2") as loop:
        play(loop, 0, 20)
    path = home / "loop.db"
    with pytest.raises(SettingsDiffer, match="Changing actions invalidates the model"):
        Loop.open(path, actions=[*ACTIONS, "weather"], change=True)
    with Loop.open(path, actions=[*ACTIONS, "weather"], change=True, relearn=True) as loop:
        assert loop.status().learned == 20
        assert len(loop.decide({"user": "u1", "hour": 2}).pmf) == 4
    assert replayed(path).agrees


def test_a_settings_change_needs_the_same_kind_of_outcome_and_of_actions(home):
    open_loop(home).close()
    for wrong, said in (({"cost_range": (0, 1)}, "holds rewards"), ({"actions": None}, "journals of their own")):
        with pytest.raises(SettingsDiffer, match=said):
            Loop.open(home / "loop.db", **wrong, change=True, relearn=True)


def test_a_loop_says_what_it_is(home):
    with open_loop(home, wait="90s", default_reward=0.5, retired=["music"]) as loop:
        assert repr(loop) == f"<Loop '{home / 'loop.db'}', learns>"
        settings = loop.settings
        assert settings["actions"] == ACTIONS
        assert (settings["wait"], settings["default_reward"], settings["retired"]) == ("90s", 0.5, ["music"])
        with Loop.open(home / "loop.db", **settings) as other:  # they are what `open` takes
            assert repr(other).endswith("decides>")
            assert other.status().counts["late"] == 0
    assert repr(loop) == "<Loop, closed>"
    open_loop(home, "other.db").close()
    with pytest.raises(SettingsDiffer, match=r"actions is \['0', '1'\]; expected"):
        Loop.open(home / "other.db", actions=2)
    with pytest.raises(TypeError, match=r"expected Loop\.open"):
        Loop(home / "loop.db")


def test_costs_instead_of_rewards(home):
    clock = Clock()
    path = home / "costs.db"
    with Loop.open(path, actions=3, cost_range=(0, 5), default_cost=5, wait="1s", clock=clock) as loop:
        loop.decide([1.0, 2.0], event_id="e1")
        loop.cost("e1", 4)
        with pytest.raises(ValueError, match="reward\\(\\) was called, but this is a loop of costs"):
            loop.reward("e1", 4)
        assert loop.status().learned == 1
    with pytest.raises(ValueError, match="expected default_cost"):
        Loop.open(home / "new.db", actions=3, cost_range=(0, 5), default_reward=5)


def test_an_event_is_erased(home):
    clock = Clock()
    with open_loop(home, clock=clock) as loop:
        play(loop, 0, 10)
        loop.decide({"user": "secret-name"}, event_id="open")
        loop.decide({"user": "secret-name", "hour": 4}, event_id="learned")
        loop.reward("learned", 1)
        for name in ("open", "learned", "learned"):
            loop.erase(name)
        with pytest.raises(UnknownEvent, match="no event 'never'"):
            loop.erase("never")
        with pytest.raises(Conflict, match="erased"):
            loop.decide({"user": "secret-name"}, event_id="open")
        loop.reward("open", 1)
        assert loop.status().counts["erased"] == 1
        assert loop.status().learned == 11
        assert not is_stored(home, b"secret-name")
        record = loop._worker.journal.find("learned")[0]
        assert record.body["erased"] is True
        assert "context" not in record.body
        play(loop, 20, 30)
    assert not is_stored(home, b"secret-name")
    found = replayed(home / "loop.db")
    assert found.agrees
    assert found.gaps == [(22, 26)]
    assert (found.start, found.records, found.decisions, found.unchecked) == (1, 41, 20, 2)


def test_retention_drops_what_is_old_and_the_loop_goes_on(home):
    clock = Clock()
    options = {"clock": clock, "wait": "1s", "retention": "1min", "keep_generations": 2}
    with open_loop(home, **options) as loop:
        for i in range(12):
            play(loop, 10 * i, 10 * i + 10)
            clock.now += 10_000
            loop.tick()
            loop.checkpoint()
        assert len(loop.generations()) == 2
        journal = loop._worker.journal
        assert journal.first() > 100
        assert loop.status().learned == 120
        # Its id is new again.
        assert loop.decide({"user": "other"}, event_id="e0").event_id == "e0"
        content = loop.model().to_bytes()
    with Loop.open(home / "loop.db", clock=clock) as loop:
        assert loop.model().to_bytes() == content
        assert loop.status().counts["decisions"] == 121
    found = replayed(home / "loop.db")
    assert found.agrees
    assert found.start > 1


def test_replay_knows_that_what_was_learned_again_was_erased_later(home):
    clock = Clock()
    with open_loop(home, clock=clock, wait="1s") as loop:
        play(loop, 0, 10)
        clock.now += 10_000
        loop.tick()  # all windows are closed
    with Loop.open(home / "loop.db", bits=17, change=True, relearn=True, clock=clock) as loop:
        play(loop, 10, 12)
        loop.erase("e3")
        play(loop, 12, 14)
    found = replayed(home / "loop.db")
    assert found.differences == []
    assert found.gaps == [(8, 23)]  # from the decision to the checkpoint after it was learned again


def test_replay_knows_that_records_were_dropped_before_retention_was_switched_off(home):
    clock = Clock()
    with open_loop(home, clock=clock, wait="1s", retention="10s", keep_generations=1) as loop:
        for start in (0, 10):
            play(loop, start, start + 10)
            loop.checkpoint()
            clock.now += 60_000
            loop.tick()
        loop.checkpoint()
        assert loop._worker.journal.first() > 1
    with Loop.open(home / "loop.db", retention=None, change=True, keep_generations=1, clock=clock) as loop:
        play(loop, 20, 22)
    assert replayed(home / "loop.db").differences == []


def test_threads_share_commits_and_nothing_is_lost(home):
    with open_loop(home) as loop:
        problems = []

        def work(number):
            try:
                for i in range(30):
                    name = f"t{number}-{i}"
                    decision = loop.decide({"user": f"u{number}", "hour": i}, event_id=name)
                    loop.reward(name, float(decision.action == 1))
            except Exception as problem:
                problems.append(problem)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            loop.checkpoint()
        for thread in threads:
            thread.join()
        assert not problems
        status = loop.status()
        assert (status.counts["decisions"], status.learned, status.lag) == (480, 480, 0)
    found = replayed(home / "loop.db")
    assert found.agrees
    assert found.decisions == 480


def test_a_second_loop_decides_from_the_newest_checkpoint_and_takes_over(home):
    with open_loop(home) as learner:
        play(learner, 0, 50)
        learner.checkpoint()
        with Loop.open(home / "loop.db", learn=False) as decider:
            assert decider.status().role == "decider"
            assert decider.status().learned == 50
            decision = decider.decide({"user": "u1", "hour": 1}, event_id="there")
            decider.reward("there", 1)
            learner.decide({"user": "u1", "hour": 1})  # its commit brings the others' records, too
            assert learner.status().learned == 51
            with pytest.raises(LoopError, match="only the process that learns"):
                decider.checkpoint()
            assert decision.generation == 1
    assert replayed(home / "loop.db").agrees


def test_a_decider_before_the_first_checkpoint_keeps_what_it_decides_with(home, monkeypatch):
    """Once it made VW's learner anew for each decision, 405 a second instead of 5,700."""
    with open_loop(home, learn=False) as loop:
        loop.decide({"user": "Tom", "hour": 9})
        made = []
        new_learner = engine.new_learner
        monkeypatch.setattr(engine, "new_learner", lambda *arguments: made.append(arguments) or new_learner(*arguments))
        for i in range(20):
            loop.decide({"user": f"u{i}", "hour": i, "kind": "a" if i % 2 else 3})
            loop._worker.upkeep()
        assert made == []
        loop._worker._follow()
        assert made == []


def test_decisions_before_the_first_checkpoint_are_those_of_the_learner(home):
    """Also of wide rows, for which a new model is larger; with weights that depend on its size."""
    settings = {"actions": 3, "vw_args": "--random_weights --random_seed 5", "oracle": "gd", "gamma_exponent": 0}
    rows = [np.ones(4), {"a": 1}, np.ones(200_000), np.ones(4), {"a": 1}]
    with open_loop(home, learn=False, **settings) as loop:
        pmfs = [loop.decide(row, event_id=f"e{i}").pmf.tolist() for i, row in enumerate(rows)]
    wants = [
        Model(LoopSettings.new({"reward_range": (0, 1), "seed": 3, **settings}).model).decide(*args).pmf.tolist()
        for args in ((features_of(row, "it"), None, [], f"e{i}") for i, row in enumerate(rows))
    ]
    assert pmfs == wants
    assert len({str(one) for one in pmfs}) > 2


def test_a_clock_that_goes_back_does_not_turn_the_journal_back(home):
    clock = Clock()
    with open_loop(home, clock=clock, wait="1s") as loop:
        loop.decide({"user": "Tom"}, event_id="e1")
        clock.now -= 60_000
        loop.decide({"user": "Tom"}, event_id="e2")
        times = [record.time for record in loop._worker.journal.read()]
        assert times == sorted(times)
        status = loop.status()
        assert not status.ready
        assert "60000 ms ahead" in status.problems[0]
        assert json.dumps(status.to_dict())


def test_a_fork_has_to_open_the_loop_itself(home):
    loop = open_loop(home)
    loop.decide({"user": "Tom"})
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            loop.decide({"user": "Tom"})
        except LoopError as problem:
            os.write(writer, str(problem).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert b"is a fork of it; open it here" in os.read(reader, 1000)
    loop.decide({"user": "Tom"})
    loop.close()
    with pytest.raises(LoopError, match="was closed"):
        loop.decide({"user": "Tom"})


@pytest.mark.parametrize("given", ["10m", "10min", "600s", 600, timedelta(minutes=10)])
def test_times_may_be_written_in_several_ways(tmp_path, given):
    with open_loop(tmp_path, wait=given) as loop:
        assert loop.settings["wait"] == "10min"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"actions": []}, "expected a list of names"),
        ({"actions": 0}, "expected 1 to 100,000"),
        ({"actions": 10**9}, "expected 1 to 100,000"),
        ({"actions": ["a", ""]}, "expected 1 to 256 characters"),
        ({"actions": "abc"}, "expected a list of names, a number, or None"),
        ({"wait": "soon"}, 'expected a time such as "10min"'),
        ({"wait": 0}, 'expected a time such as "10min"'),
        ({"aggregation": "median"}, "expected one of first, last"),
        ({"default_reward": 2}, r"expected a reward in \[0.0, 1.0\]"),
        ({"default_cost": 1}, "expected default_reward"),
        ({"retired": ["weather"]}, "unknown"),
        ({"retired": ACTIONS}, "every action is retired"),
        ({"retention": "x"}, 'expected a time such as "10min"'),
        ({"vw_args": "--no_such_flag"}, "no_such_flag"),
        ({"epsilon": 2}, "epsilon is 2"),
        ({"keep_generations": 0}, "keep_generations is 0"),
    ],
)
def test_wrong_settings_are_refused_and_leave_no_file(home, settings, said):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=said):
        open_loop(home, **settings)
    assert list(home.iterdir()) == []


def test_a_journal_that_is_not_there_is_made_only_from_actions(home):
    with pytest.raises(FileNotFoundError, match="to make one, give actions"):
        Loop.open(home / "loop.db")


def test_what_cannot_be_the_name_of_a_journal_is_refused(tmp_path):
    for wrong in (None, 5, "", "a\0", "\ud800"):
        with pytest.raises(
            (TypeError, ValueError), match=r"the journal is .*; expected the name of a file, or redis://"
        ):
            Loop.open(wrong, actions=3)
    with pytest.raises(TypeError, match=r"clock is 5; expected a function that gives milliseconds"):
        Loop.open(tmp_path / "loop.db", actions=3, clock=5)
    with open_loop(tmp_path) as loop, pytest.raises(TypeError, match=r"event_id is 1.5; expected text or a whole num"):
        loop.decide({}, event_id=1.5)


def test_a_journal_needs_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        Loop.open(tmp_path / "no" / "loop.db", actions=3)


def damage(home, digest):
    """Changes a byte of a model that is kept."""
    if isinstance(home, RedisFolder):
        with Redis(unix_socket_path=str(home.server.socket)) as client:
            key = f"fastcb:{{{home.name}-loop.db}}:model:{digest}"
            client.hset(key, "0", client.hget(key, "0")[:-5] + b"XXXXX")
        return
    with contextlib.closing(sqlite3.connect(home / "loop.db")) as db, db:
        ((whole,),) = db.execute("SELECT bytes FROM model WHERE sha256 = ? AND part = 0", (digest,)).fetchall()
        db.execute("UPDATE model SET bytes = ? WHERE sha256 = ? AND part = 0", (whole[:-5] + b"XXXXX", digest))


def half_rewarded(loop, first, last):
    """Every fourth event waits for its reward, every fourth cannot be learned."""
    for i in range(first, last):
        loop.decide({"user": f"u{i % 5}"}, event_id=f"e{i}")
        if i % 4:
            loop.reward(f"e{i}", 1)
        if i % 4 == 1:
            loop.reward(f"e{i}", 1)


@pytest.mark.parametrize("goes_on", [False, True])
def test_where_the_newest_model_is_damaged_the_one_before_learns_the_rest_again(home, caplog, goes_on):
    settings = {"aggregation": "sum", "clock": Clock(), "checkpoint_every": "1h"}
    with open_loop(home, **settings) as loop:
        for first in (0, 10, 20):
            half_rewarded(loop, first, first + 10)
            settings["clock"].now += 600_001
            loop.decide({"user": "u1"}, event_id=f"late{first}")
            loop.checkpoint()
        before, letters = loop.model().to_bytes(), loop.dead_letters()
        assert letters
        *_, older, newest = loop.generations()
    damage(home, newest.sha256)
    with Loop.open(home / "loop.db", learn=False, clock=settings["clock"]) as loop:
        assert f"generation {newest.generation} cannot be used" in loop.status().warnings[0]
        assert not goes_on or loop.decide({"user": "u2"}, event_id="x").generation == older.generation
    assert f"generation {newest.generation} cannot be used" in caplog.text
    with Loop.open(home / "loop.db", clock=settings["clock"], checkpoint_every="1h") as loop:
        assert loop.status().ready
        assert f"what came after generation {older.generation} was learned again" in loop.status().warnings[0]
        assert loop.model().to_bytes() == before
        assert loop.dead_letters() == letters
        half_rewarded(loop, 30, 40)
        settings["clock"].now += 600_001
        loop.decide({"user": "u1"}, event_id="late30")
        assert loop.checkpoint() == newest.generation + 1
        assert loop.status().warnings == ()
        after = loop.model().to_bytes()
    with Loop.open(home / "loop.db", clock=settings["clock"]) as loop:
        assert loop.status().warnings == ()
        assert loop.model().to_bytes() == after != before
    (told,) = replayed(home / "loop.db").differences
    assert told == f"generation {newest.generation}: the bytes of its model are not those it was made of."


def test_the_next_checkpoint_mends_a_damaged_model_although_nothing_was_learned(home):
    with open_loop(home, checkpoint_every="1h") as loop:
        for first in (0, 10):
            play(loop, first, first + 10)
            loop.checkpoint()
        newest, before = loop.generations()[-1], loop.model().to_bytes()
    damage(home, newest.sha256)
    with Loop.open(home / "loop.db", checkpoint_every="1h") as loop:
        assert "cannot be used" in loop.status().warnings[0]
        for number in range(8):  # more than are kept
            loop.decide({"user": "u1", "hour": 2}, event_id=f"later{number}")
            loop.checkpoint()
        assert {one.sha256 for one in loop.generations()} == {newest.sha256}
    with Loop.open(home / "loop.db") as loop:
        assert loop.status().warnings == ()
        assert loop.model().to_bytes() == before
    assert replayed(home / "loop.db").agrees


def test_where_no_model_is_left_the_journal_is_refused(home):
    with open_loop(home) as loop:
        play(loop, 0, 5)
    with Loop.open(home / "loop.db", learn=False) as loop:
        (only,) = loop.generations()
    damage(home, only.sha256)
    for learn in (True, False):
        with pytest.raises(JournalRefused, match="the model of generation 1 is damaged"):
            Loop.open(home / "loop.db", learn=learn)
        with journal_at(home / "loop.db") as journal:
            assert not journal.lease().is_live


def test_what_is_no_journal_is_refused_and_left_as_it_was(tmp_path):
    open_loop(tmp_path).close()
    whole = (tmp_path / "loop.db").read_bytes()
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE t (x)")
    db.close()
    newer = tmp_path / "newer.db"
    newer.write_bytes(whole)
    with sqlite3.connect(newer) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    contents = {
        "empty": b"",
        "text": b"hello world, this is no database at all" * 100,
        "truncated": whole[: len(whole) // 2],
        "header": whole[:100],
        "scrambled": whole[:4096] + bytes(len(whole) - 4096),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    for name in (*contents, "foreign.db", "newer.db"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(JournalRefused):
            Loop.open(tmp_path / name, actions=3)
        assert (tmp_path / name).read_bytes() == before
    with pytest.raises(JournalRefused, match="not a regular file"):
        Loop.open(tmp_path, actions=3)
    stale = tmp_path / "gone.db-wal"
    stale.write_bytes(b"x")
    with pytest.raises(JournalRefused, match="put both back, or none"):
        Loop.open(tmp_path / "gone.db", actions=3)


def test_silence_that_means_nothing_is_warned_of(home):
    clock = Clock()
    with open_loop(home, wait="1s", clock=clock) as loop:
        for i in range(150):
            loop.decide({"user": "Tom"}, event_id=f"e{i}")
            if i % 3 == 0:
                loop.reward(f"e{i}", 1)
        assert loop.status().warnings == ()
        clock.now += 2000
        loop.tick()
        (warning,) = loop.status().warnings
        assert warning.startswith("100 of 150 decisions had no reward when their wait was over")
    with open_loop(home, "other.db", wait="1s", clock=clock, default_reward=0) as loop:
        for i in range(150):
            loop.decide({"user": "Tom"}, event_id=f"e{i}")
        clock.now += 2000
        loop.tick()
        assert loop.status().warnings == ()


def test_a_learner_is_given_all_that_others_wrote_however_much_that_is(home):
    """Redis hands 500 records out with a commit, and the others have to be read."""
    open_loop(home, learn=False).close()
    with journal_at(home / "loop.db") as learner, journal_at(home / "loop.db") as other:
        lease = learner.take_lease(60_000)
        known, names = learner.last()[0], [f"e{number}" for number in range(1201)]
        other.write([Draft("activation", name) for name in names], [])
        written = learner.write([Draft("activation", "own")], [], lease, known)
        assert [record.event_id for record in written.records] == [*names, "own"]
        learner.release(lease)
