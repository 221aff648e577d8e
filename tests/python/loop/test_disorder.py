"""Messages that come several times and in any order within the window."""

import random
import threading
from collections import Counter

import pytest

from loop import reference
from loop.support import Clock, journal_at, open_loop
from vw_fastcb.loop import Conflict

EVENTS = 60


def messages(dice):
    """What would be said once each: decisions, and their activations and rewards."""
    decisions, others = [], []
    for i in range(EVENTS):
        event = f"e{i}"
        is_active = i % 4 != 0
        decisions.append(("decide", event, i, is_active))
        others += [("reward", event, round(dice.random(), 3), f"r{k}") for k in range(dice.randrange(3))]
        if not is_active and i % 8 == 0:
            others.append(("activate", event))
    return decisions, others


def send(loop, message):
    what, event, *content = message
    if what == "decide":
        number, is_active = content
        made = loop.decide({"user": f"u{number % 7}", "hour": number % 24}, event_id=event, activate=is_active)
        return made.action, made.probability
    return getattr(loop, what)(event, *content)


def send_by_threads(loop, sent):
    """Sends every message, and gives the answers that each one got."""
    answers = {}
    problems = []

    def work(part):
        for message in part:
            try:
                answers.setdefault(message, []).append(send(loop, message))
            except BaseException as problem:
                problems.append(problem)

    threads = [threading.Thread(target=work, args=(sent[i::4],)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems[0]
    return answers


def records_of(path):
    with journal_at(path) as journal:
        return list(journal.read()), journal.checkpoints()[-1]


def content_of(record):
    body = {name: (record.body or {}).get(name) for name in ("context", "action", "pmf", "draw", "activate")}
    return record.kind, record.event_id, record.value, record.reward_id, str(body)


@pytest.mark.parametrize("aggregation", ["first", "mean", "last"])
@pytest.mark.parametrize("seed", [1, 2])
def test_messages_sent_several_times_in_any_order_are_as_good_as_clean_ones(home, aggregation, seed):
    dice = random.Random(seed)
    decisions, others = messages(dice)
    # Where the first reward is learned at once, decisions come first: later ones would be drawn by another model.
    batches = [decisions, others] if aggregation == "first" else [[*decisions, *others]]
    settings = {"aggregation": aggregation, "wait": "1s", "default_reward": 0.5, "checkpoint_every": "1h"}
    clock = Clock()
    with open_loop(home, "disordered.db", clock=clock, **settings) as loop:
        for batch in batches:
            sent = [message for message in batch for _ in range(dice.randint(1, 5))]
            dice.shuffle(sent)
            for answers in send_by_threads(loop, sent).values():
                assert len(set(answers)) == 1
        clock.now += 1001
        loop.tick()
    disordered, newest = records_of(home / "disordered.db")
    said = Counter((one.kind, one.event_id, one.reward_id) for one in disordered if one.event_id)
    names = {"decide": "decision", "activate": "activation", "reward": "reward"}
    assert said == Counter((names[m[0]], m[1], m[3] if m[0] == "reward" else None) for m in [*decisions, *others])

    clean = {(names[m[0]], m[1], m[3] if m[0] == "reward" else None): m for m in [*decisions, *others]}
    clock = Clock()
    with open_loop(home, "clean.db", clock=clock, **settings) as loop:
        for record in disordered:
            clock.now = record.time
            if record.event_id:
                send(loop, clean[record.kind, record.event_id, record.reward_id])
            elif record.kind == "tick":
                loop.tick()
    once, expected = records_of(home / "clean.db")
    assert [content_of(one) for one in disordered[1:]] == [content_of(one) for one in once[1:]]
    assert newest.sha256 == expected.sha256 != ""
    assert newest.summary["counts"] == expected.summary["counts"]
    assert newest.sha256 == reference.undisturbed(home / "disordered.db").sha256


def test_conflicting_content_is_an_error_and_leaves_no_record(home):
    with open_loop(home) as loop:
        loop.decide({"user": "Tom"}, event_id="e1")
        loop.reward("e1", 0.5, "r1")
        loop.reward("early", 0.5, "r1")
        before = loop.status().position
        with pytest.raises(Conflict, match="something else"):
            loop.decide({"user": "Ann"}, event_id="e1")
        with pytest.raises(Conflict, match="something else"):
            loop.decide({"user": "Tom"}, event_id="e1", activate=False)
        with pytest.raises(Conflict, match="something else"):
            loop.decide({"user": "Tom"}, event_id="e1", exclude=["music"])
        for event in ("e1", "early"):
            with pytest.raises(Conflict, match=r"was 0\.5 before and is 0\.75"):
                loop.reward(event, 0.75, "r1")
        assert loop.status().position == before


def test_of_many_at_once_with_other_content_one_wins(home):
    with open_loop(home) as loop:
        outcomes = []

        def claim(number):
            for event in range(20):
                try:
                    loop.decide({"user": f"u{number}"}, event_id=f"e{event}")
                    loop.reward(f"e{event}", number / 8, "r")
                    outcomes.append("won")
                except Conflict:
                    outcomes.append("conflict")

        threads = [threading.Thread(target=claim, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert Counter(outcomes) == {"won": 20, "conflict": 140}
        assert loop.status().position == 1 + 2 * 20
