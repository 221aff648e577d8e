"""What the live page counts: the same as counting everything at once, in memory that does not grow."""

import itertools
import random

import numpy as np
import pytest

from vw_fastcb import Loop
from vw_fastcb.evaluation.anytime import AnytimeInterval, mass_beyond
from vw_fastcb.evaluation.tally import FEW
from vw_fastcb.loop.outcomes import Outcomes
from vw_fastcb.loop.reading import existing_journal
from vw_fastcb.serve.live import MOST_ACTIONS, MOST_BUCKETS, _Bucket
from vw_fastcb.serve.live_process import Follower

START = 1_700_000_000_000
NEWS = {"actions": ["politics", "sports", "music"], "reward_range": (0, 1), "wait": "1min", "seed": 1}


class Clock:
    def __init__(self):
        self.time = START

    def __call__(self):
        return self.time


def play(path, events=300, *, seed=2, apart=2_000, features=None, ids=None, exclude=None, **settings):
    """A journal with rewards that come at once, late, twice or never."""
    rng = random.Random(seed)
    clock = Clock()
    given = {**NEWS, **settings}
    if "cost_range" in settings:
        del given["reward_range"]
    with Loop.open(path, clock=clock, checkpoint_every="1h", **given) as loop:
        report = loop.cost if "cost_range" in settings else loop.reward
        for number in range(events):
            activate = number % 17 != 0
            made = loop.decide(
                {"user": rng.choice("abc")},
                None if features is None else features(rng),
                action_ids=None if ids is None else ids(rng),
                exclude=exclude if number % 3 == 0 else None,
                event_id=f"e{number}",
                activate=activate,
            )
            if rng.random() < 0.4:
                for late in range(rng.choice((1, 1, 2))):
                    if number > 40 and rng.random() < 0.2:
                        report(f"e{number - 40}", 1)  # too late for most
                    else:
                        report(made.event_id, rng.choice((0.5, 1)) if late else 1)
            clock.time += rng.randrange(2 * apart)
        clock.time += 120_000
        loop.tick()
    return existing_journal(path)


def test_waits_end_in_a_journal_that_nobody_writes_to(tmp_path):
    clock = Clock()
    with Loop.open(tmp_path / "loop.db", clock=clock, default_reward=0, **NEWS) as loop:
        for number in range(4):
            loop.decide({"user": "Tom"}, event_id=f"e{number}")
            if number == 0:
                loop.reward("e0", 1)
            clock.time += 20_000
    journal = existing_journal(tmp_path / "loop.db")
    follower = Follower(journal)
    journal._clock = lambda: START + 80_000  # the second decision's wait ends then, and a reward may still come
    follower.read(1)
    assert (follower.news()["waiting"], follower.news()["open"]) == (3, 3)
    journal._clock = lambda: START + 81_000
    follower.read(1)
    assert (follower.news()["waiting"], follower.news()["open"]) == (2, 2)
    assert follower.news()["played"] == [0.5, *follower.news()["played"][1:3], 2]
    journal._clock = lambda: START + 10**9
    follower.read(1)
    assert (follower.news()["waiting"], follower.news()["played"][0::3]) == (0, [0.25, 4])


def test_another_range_begins_other_intervals(tmp_path):
    path, clock = tmp_path / "news.db", Clock()
    for number, top in enumerate((1, 5, 2)):
        settings = {**NEWS, "reward_range": (0, top)}
        with Loop.open(path, clock=clock, **settings, change=number > 0, relearn=number > 0) as loop:
            for event in range(20):
                loop.decide({}, event_id=f"{number}.{event}")
                loop.reward(f"{number}.{event}", top)
                clock.time += 1000
    news = read_all(existing_journal(path)).news()
    assert (news["played"][0], news["played"][3]) == (2, 20)
    assert [one["what"] for one in news["marks"]] == ["changed: reward_range"] * 2


def read_all(journal, **options):
    follower = Follower(journal, **options)
    while follower.is_reading or follower._shown.position < journal.last()[0]:
        follower.read(0.5)
    return follower


def buckets_of(news):
    return list(news["buckets"].values())


@pytest.mark.parametrize(
    "settings",
    [
        {"default_reward": 0},
        {},
        {"default_reward": 0.5, "aggregation": "mean"},
        {"cost_range": (0, 2), "default_cost": 1},
    ],
    ids=["default", "no default", "mean", "costs"],
)
def test_counts_and_estimates_are_those_of_all_outcomes_at_once(tmp_path, settings):
    journal = play(tmp_path / "news.db", **settings)
    news = read_all(journal).news()

    outcomes = sorted(Outcomes(journal), key=lambda one: one.position)
    counted = [one for one in outcomes if one.kind in ("reward", "default")]
    bodies = [journal.decision(one.position).body for one in counted]
    values = np.array([one.value for one in counted])
    actions = np.array([body["action"] for body in bodies])
    logged = np.array([body["pmf"] for body in bodies])
    low, high = settings.get("cost_range", (0, 1))

    totals = np.sum([bucket[1] + [0] * (3 - len(bucket[1])) for bucket in buckets_of(news)], axis=0)
    played = [journal.decision(one.position).body["action"] for one in outcomes]
    assert totals.tolist() == np.bincount(played, minlength=3).tolist()
    assert sum(bucket[0] for bucket in buckets_of(news)) == sum(bucket[5] for bucket in buckets_of(news)) == 300
    assert news["waiting"] == 0

    ones = np.ones(len(values))
    interval = AnytimeInterval((low, high), 0.95)
    interval.update(ones, values, beyond=mass_beyond(ones, ones))
    assert news["played"][:3] == pytest.approx([values.mean(), *interval.interval], rel=1e-4)
    told = []  # of actions that were played often enough to say something
    for action in range(3):
        weights = (actions == action) / logged[:, action]
        interval = AnytimeInterval((low, high), 0.95)
        interval.update(weights, values, beyond=mass_beyond(ones, logged[:, action]))
        bounds = interval.interval
        mean = (weights * values).sum() / weights.sum() if weights.any() else sum(bounds) / 2
        found = news["constants"][action]
        assert found[1:] == [pytest.approx(bounds[0], rel=1e-4), pytest.approx(bounds[1], rel=1e-4), len(values)]
        effective = weights.sum() ** 2 / (weights**2).sum() if weights.any() else 0.0
        told.append(effective > FEW)
        assert found[0] == (pytest.approx(min(max(mean, bounds[0]), bounds[1]), rel=1e-4) if told[-1] else None)
    assert True in told or "default_reward" not in settings


def test_outcomes_count_in_the_order_of_decisions_once_all_before_are_final(tmp_path):
    clock = Clock()
    with Loop.open(tmp_path / "news.db", clock=clock, default_reward=0, **NEWS) as loop:
        for number in range(10):
            loop.decide({}, event_id=f"e{number}")
        for number in range(1, 10):
            loop.reward(f"e{number}", 1)  # the first one's is still to come
        journal = existing_journal(tmp_path / "news.db")
        journal._clock = clock
        follower = Follower(journal)
        follower.read(1)
        news = follower.news()
        assert (news["played"], news["waiting"]) == (None, 10)
        assert buckets_of(news)[0][3:6] == [10, 0.9, 0]  # the one that waits counts as the default
        assert [one["is_final"] for one in news["recent"]] == [True] * 9 + [False]
        clock.time += 61_000
        loop.tick()
        follower.read(1)
        news = follower.news()
        assert (news["played"][0], news["played"][3], news["waiting"]) == (0.9, 10, 0)


def test_where_an_action_is_not_allowed_it_says_nothing(tmp_path):
    journal = play(tmp_path / "news.db", 120, default_reward=0, exclude=["music"])
    news = read_all(journal).news()
    allowed = [body for body in map(body_of(journal), decisions(journal)) if body["pmf"][2] > 0]
    counted = news["constants"]
    assert counted[2][3] < counted[0][3] == news["played"][3]
    assert counted[2][3] <= len(allowed)


def decisions(journal):
    return [record.position for record in journal.read() if record.kind == "decision"]


def body_of(journal):
    return lambda position: journal.decision(position).body


def test_actions_with_features_are_known_by_their_ids(tmp_path):
    names = [f"article-{number}" for number in range(60)]
    picked = []

    def ids(rng):
        picked.append(rng.sample(names, 4))
        return picked[-1]

    def features(rng):
        return [{"length": rng.random()} for _ in range(4)]

    journal = play(tmp_path / "news.db", 200, actions=None, features=features, ids=ids, default_reward=0)
    news = read_all(journal).news()
    assert len(news["names"]) == MOST_ACTIONS
    assert news["names"][:4] == picked[0]
    plays = [sum(counts) for counts in itertools.zip_longest(*(one[1] for one in buckets_of(news)), fillvalue=0)]
    chosen = [body["action_ids"][body["action"]] for body in map(body_of(journal), decisions(journal))]
    assert plays[:MOST_ACTIONS] == [chosen.count(name) for name in news["names"]]
    assert sum(plays) == 200
    assert plays[MOST_ACTIONS] == sum(name not in news["names"] for name in chosen)


def test_the_newest_are_shown_first_and_then_everything(tmp_path):
    journal = play(tmp_path / "news.db", 400, default_reward=0)
    first = Follower(journal, shown_first=100).news()
    assert (first["is_complete"], first["read"]) == (False, 0)
    assert first["since"]["position"] == journal.last()[0] - 99
    follower = read_all(journal, shown_first=100)
    last, alone = follower.news(), read_all(journal).news()
    assert last["is_complete"]
    assert last.pop("epoch") > alone.pop("epoch")
    assert last == alone


def test_everything_is_a_new_epoch_however_many_the_newest_records_had(tmp_path):
    follower = Follower(play(tmp_path / "news.db"), shown_first=50)
    for _ in range(5):
        follower._shown.begin_anew()
    before = follower.news()["epoch"]
    while follower.is_reading:
        follower.read(0.5)
    assert follower.news()["epoch"] > before


def test_a_journal_that_is_too_long_is_read_from_later_on(tmp_path):
    journal = play(tmp_path / "news.db", 100)
    last = journal.last()[0]
    news = read_all(journal, shown_first=10, most_read=50).news()
    assert news["since"]["position"] == last - 49
    assert news["position"] == last


def test_time_is_cut_into_few_pieces_however_long_it_lasts(tmp_path):
    clock = Clock()
    with Loop.open(tmp_path / "news.db", clock=clock, default_reward=0, **{**NEWS, "wait": "1s"}) as loop:
        follower = Follower(existing_journal(tmp_path / "news.db"))
        epochs, told = set(), {}
        for number in range(600):
            loop.decide({}, event_id=f"e{number}")
            clock.time += 3_000 + 20 * number
            if number % 25 == 0:
                follower.read(1)
                news = follower.news()
                if news["epoch"] not in epochs:
                    told.clear()
                epochs.add(news["epoch"])
                told |= news["buckets"]
        follower.read(1)
        news = follower.news()
        told = {} if news["epoch"] not in epochs else told
        told |= news["buckets"]
    assert len(epochs) > 3
    assert len(told) <= MOST_BUCKETS
    assert sum(bucket[0] for bucket in told.values()) == 600  # what was told piece by piece is everything
    assert [len(follower._shown._waiting) <= 2, len(follower._shown._by_position) <= 2] == [True, True]


def test_a_bucket_of_two_has_the_sums_of_both():
    bucket = _Bucket(5, [2, 3], 0.5, 2, 1.5, 3, 2, [[1.0]])
    bucket.join(_Bucket(4, [1, 0, 3], 0.25, 1, 0.5, 2, 1, None))
    assert bucket == _Bucket(9, [3, 3, 3], 0.75, 3, 2.0, 5, 3, [[1.0]])
    bucket.join(_Bucket(1, [0, 0, 0, 1], 0.25, 1, 1.0, 1, 1, [[2.0]]))
    assert bucket == _Bucket(10, [3, 3, 3, 1], 1.0, 4, 3.0, 6, 4, [[2.0]])


def test_rollbacks_and_changes_are_marked(tmp_path):
    path = tmp_path / "news.db"
    with Loop.open(path, **NEWS) as loop:
        loop.decide({}, event_id="e1")
        loop.reward("e1", 1)
        loop.rollback(loop.checkpoint())
    with Loop.open(path, actions=[*NEWS["actions"], "film"], change=True, wait="2min") as loop:
        loop.decide({}, event_id="e2")
    news = read_all(existing_journal(path)).news()
    assert [mark["what"] for mark in news["marks"]] == ["rolled back to generation 1", "changed: actions, wait"]
    assert news["names"] == ["politics", "sports", "music", "film"]
