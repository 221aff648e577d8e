"""Rewards and activations at the edges of the wait, through the real loop: exactly what is learned, and when."""

import pytest

from loop import reference
from loop.support import Clock, journal_at, open_loop
from vw_fastcb.loop import Counts
from vw_fastcb.loop.model import Model, sha256
from vw_fastcb.loop.replay import replay
from vw_fastcb.loop.settings import LoopSettings

WAIT = 1000
DEFAULT = 0.25
D = ("decide", True)
HELD = ("decide", False)
ACTIVATE = ("activate",)


def R(value):  # noqa: N802
    return ("reward", value)


# What happens at which millisecond; what is learned, and which counts are not zero. A default is 0.25.
CASES = {
    "a reward 1 ms before the end": ({0: [D], 999: [R(1)]}, [1], {"learned": 1}),
    "a reward at the end": ({0: [D], 1000: [R(1)]}, [1], {"learned": 1}),
    "a reward 1 ms after the end": ({0: [D], 1001: [R(1)]}, [DEFAULT], {"learned_defaults": 1, "late": 1}),
    "a reward in the same millisecond": ({0: [D, R(0.5)]}, [0.5], {"learned": 1}),
    "never a reward": ({0: [D]}, [DEFAULT], {"learned_defaults": 1}),
    "a reward before its decision": ({0: [R(1)], 10: [D]}, [1], {"learned": 1}),
    "999 ms before": ({0: [R(1)], 999: [D]}, [1], {"learned": 1}),
    "1000 ms before": ({0: [R(1)], 1000: [D]}, [1], {"learned": 1}),
    "1001 ms before": ({0: [R(1)], 1001: [D]}, [DEFAULT], {"learned_defaults": 1, "orphans": 1}),
    "a reward whose decision never comes": ({0: [R(1)]}, [], {"orphans": 1}),
    "two rewards": ({0: [D], 5: [R(1)], 9: [R(0)]}, [1], {"learned": 1, "repeated": 1}),
    "one before, one after its decision": ({0: [R(0)], 5: [D], 9: [R(1)]}, [0], {"learned": 1, "repeated": 1}),
    "activated 1 ms before the end": ({0: [HELD], 5: [R(1)], 999: [ACTIVATE]}, [1], {"learned": 1}),
    "activated at the end": ({0: [HELD], 5: [R(1)], 1000: [ACTIVATE]}, [1], {"learned": 1}),
    "activated 1 ms after the end": ({0: [HELD], 5: [R(1)], 1001: [ACTIVATE]}, [], {"unactivated": 1, "late": 1}),
    "never activated": ({0: [HELD], 5: [R(1)]}, [], {"unactivated": 1}),
    "never activated, never a reward": ({0: [HELD]}, [], {"unactivated": 1}),
    "activated, never a reward": ({0: [HELD], 5: [ACTIVATE]}, [DEFAULT], {"learned_defaults": 1}),
    "activated, then a reward at the end": ({0: [HELD], 5: [ACTIVATE], 1000: [R(1)]}, [1], {"learned": 1}),
    "activated, then a reward 1 ms after": (
        {0: [HELD], 5: [ACTIVATE], 1001: [R(1)]},
        [DEFAULT],
        {"learned_defaults": 1, "late": 1},
    ),
    "activated before its decision": ({0: [ACTIVATE], 5: [HELD], 9: [R(1)]}, [1], {"learned": 1}),
    "both before their decision": ({0: [R(1), ACTIVATE], 5: [HELD]}, [1], {"learned": 1}),
    "activated 1001 ms before its decision": (
        {0: [ACTIVATE], 1001: [HELD], 1005: [R(1)]},
        [],
        {"orphans": 1, "unactivated": 1},
    ),
}
# The same where all rewards of the window count.
MEANS = {
    "mean of two, one at the end": ({0: [D], 5: [R(0)], 1000: [R(1)]}, [0.5], {"learned": 1}),
    "mean of one, the other is late": ({0: [D], 5: [R(0)], 1001: [R(1)]}, [0], {"learned": 1, "late": 1}),
    "mean of one before and one after": ({0: [R(0)], 5: [D], 9: [R(1)]}, [0.5], {"learned": 1}),
    "mean of what was held": ({0: [HELD], 5: [R(0)], 9: [R(1)], 1000: [ACTIVATE]}, [0.5], {"learned": 1}),
    "not activated": ({0: [HELD], 5: [R(0)], 1001: [ACTIVATE]}, [], {"unactivated": 1, "late": 1}),
    "never": ({0: [D]}, [DEFAULT], {"learned_defaults": 1}),
}


def play(loop, clock, happenings, event="e", context=None):
    start = clock.now
    for at, what in happenings.items():
        clock.now = start + at
        for name, *arguments in what:
            if name == "decide":
                loop.decide(context or {"user": "Tom", "hour": 9}, event_id=event, activate=arguments[0])
            else:
                getattr(loop, name)(event, *arguments)


def finish(loop, clock):
    clock.now += 10 * WAIT
    loop.tick()


def twin_of(journal, learned):
    """The SHA-256 of a model that has seen the decisions and learns just these values, and what was counted."""
    decisions = {one.event_id: one for one in journal.read() if one.kind == "decision"}
    settings = reference.Learner.begin(journal, next(journal.read())).settings
    model = Model(settings.model)
    for one in decisions.values():
        model.remember(one.body["context"], None)
    for event, value in learned:
        body = decisions[event].body
        model.learn(body["context"], None, body["action"], value)
    return sha256(model.to_bytes())


def check(path, learned, counts):
    with journal_at(path) as journal:
        newest = journal.checkpoints()[-1]
        assert newest.sha256 == twin_of(journal, learned)
        assert newest.events == len(learned)
        found = newest.summary["counts"]
        found_sha = newest.sha256
    again = reference.undisturbed(path)
    assert (found_sha, found) == (again.sha256, again.counts)
    outcomes = set(vars(Counts())) - {"decisions", "activations", "rewards", "ticks"}
    assert {name: found[name] for name in outcomes if found[name]} == counts


@pytest.mark.parametrize(
    ("happenings", "learned", "counts", "aggregation"),
    [
        pytest.param(*case, aggregation, id=name)
        for cases, aggregation in ((CASES, "first"), (MEANS, "mean"))
        for name, case in cases.items()
    ],
)
def test_what_is_learned_at_the_edges_of_the_wait(tmp_path, happenings, learned, counts, aggregation):
    clock = Clock()
    with open_loop(tmp_path, wait="1s", default_reward=DEFAULT, aggregation=aggregation, clock=clock) as loop:
        play(loop, clock, happenings)
        finish(loop, clock)
    check(tmp_path / "loop.db", [("e", value) for value in learned], counts)


def test_without_a_default_silence_teaches_nothing(home):
    clock = Clock()
    with open_loop(home, wait="1s", clock=clock) as loop:
        play(loop, clock, {0: [D], 1001: [R(1)]})
        finish(loop, clock)
    check(home / "loop.db", [], {"unrewarded": 1, "late": 1})


def test_all_edges_in_one_journal_are_learned_in_the_order_of_deadlines(home):
    """Deadlines that have passed are closed first, in the order of (deadline, position), then the record counts."""
    clock = Clock()
    with open_loop(home, wait="1s", default_reward=DEFAULT, clock=clock) as loop:
        start = clock.now
        for i, event in enumerate("abcd"):
            clock.now = start + i // 2  # a and b have one deadline, c and d the next
            loop.decide({"user": event, "hour": i}, event_id=event)
        clock.now = start + 500
        loop.reward("c", 1)
        clock.now = start + 1000
        loop.reward("b", 0.75)  # at the end
        clock.now = start + 1002
        loop.decide({"user": "e", "hour": 4}, event_id="e")  # closes a (default); b and c are learned; d (default)
        loop.reward("d", 0.5)  # late
        loop.reward("e", 0.125)
        finish(loop, clock)
    learned = [("c", 1), ("b", 0.75), ("a", DEFAULT), ("d", DEFAULT), ("e", 0.125)]
    check(home / "loop.db", learned, {"learned": 3, "learned_defaults": 2, "late": 1})
    with journal_at(home / "loop.db") as journal:
        again = replay(journal)
        assert again.agrees, again.differences
        assert again.sha256 == journal.checkpoints()[-1].sha256


@pytest.mark.parametrize("aggregation", ["first", "sum"])
def test_a_journal_opened_again_amid_its_windows_learns_the_same(home, aggregation):
    """Every window is carried over a checkpoint at every moment of its life."""
    happenings = [case[0] for case in CASES.values()]
    moments = sorted({at for case in happenings for at in case})
    shas = []
    for opens_again in (False, True):
        clock = Clock()
        settings = {"wait": "1s", "default_reward": DEFAULT, "aggregation": aggregation, "clock": clock}
        name = f"{opens_again}.db"
        loop = open_loop(home, name, **settings)
        start = clock.now
        for at in moments:
            for i, case in enumerate(happenings):
                clock.now = start + at
                for what, *arguments in case.get(at, ()):
                    if what == "decide":
                        loop.decide({"user": f"u{i}"}, event_id=f"e{i}", activate=arguments[0])
                    else:
                        getattr(loop, what)(f"e{i}", *arguments)
            if opens_again:
                loop.close()
                loop = open_loop(home, name, **settings)
        finish(loop, clock)
        loop.close()
        shas.append(reference.undisturbed(home / name))
        kept = reference.check(home / name)
        assert kept[max(kept)] == shas[-1]
    assert shas[0] == shas[1]


def test_a_journal_keeps_the_objective_it_was_made_with(tmp_path):
    for given, meant in (({"reward_range": (0, 1)}, "both"), ({"cost_range": (0, 1)}, "loss")):
        made = LoopSettings.new({"actions": 2, **given})
        assert made.model.objective == meant
        kept = made.to_json()
        assert kept["learner"]["objective"] == meant
        assert LoopSettings.from_json(kept) == made
        assert not made.differences(made.changed({"objective": meant}))
        del kept["learner"]["objective"]  # as in journals of the version before
        assert LoopSettings.from_json(kept).model.objective == "loss"
