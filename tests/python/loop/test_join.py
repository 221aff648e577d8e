"""Which outcome each decision learns, and when: `Join` against a naive model, its further properties, and the edges."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pytest
from hypothesis import Phase, given
from hypothesis import settings as profile
from hypothesis import strategies as st

from loop.naive_join import Learned, NaiveJoin, Rejected
from properties import PROFILE
from vw_fastcb.loop.join import AGGREGATIONS, Counts, Effect, Join, JoinSettings, Learn, Reject, as_row
from vw_fastcb.loop.records import Record

# Journals. Few ids, few times and few values, so that coincidences are likely.

WAITS = (10, 10, 5, 0)
GAPS = (*[0] * 12, *[1] * 4, 2, 4, 5, 6, 9, 10, 11)
EVENT_IDS = ("a", "b", "c", "d")
VALUES = (0.0, 0.25, 0.5, 0.75, 1.0, -0.25, 1.5)  # sums of them are exact, and some are out of range
FOREVER = 10**6
KINDS = (
    *["decision"] * 6,
    *["decision, not activated"] * 3,
    *["reward"] * 10,
    *["activation"] * 3,
    *["tick"] * 2,
    *["erasure"] * 2,
    *["settings"] * 2,
    "rollback",
)
# What is asked, how long after the one before, about which event, with what value.
Request = tuple[str, int, str, float]


def burst(seed: int) -> list[Request]:
    """Requests that are mostly about one event, which in a third of them is decided last."""
    rng = random.Random(seed)
    ids = (*EVENT_IDS, *[rng.choice(EVENT_IDS)] * 12)
    kinds = rng.choices(KINDS, k=rng.randint(1, 8))
    if rng.random() < 1 / 3:
        kinds.sort(key=lambda kind: kind.startswith("decision"))
    return [(kind, rng.choice(GAPS), rng.choice(ids), rng.choice(VALUES)) for kind in kinds]


# Drawn by the handful: one by one takes longer, and hypothesis varies them less.
BURSTS = st.integers(0, 2**16).map(burst)
SETTINGS = st.builds(
    JoinSettings,
    wait=st.sampled_from(WAITS),
    default=st.sampled_from((None, 0.0, 0.5)),
    aggregation=st.sampled_from(("first", *AGGREGATIONS)),
    low=st.sampled_from((0.0, -1.0)),
    high=st.sampled_from((1.0, 2.0)),
)


@dataclass(frozen=True)
class Journal:
    settings: JoinSettings
    records: tuple[Record, ...]


def journal_of(settings: Sequence[JoinSettings], memory: int, bursts: Sequence[Sequence[Request]]) -> Journal:
    """What a store makes of these requests: it knows the decisions of the last `memory` milliseconds."""
    records: list[Record] = []
    decided: dict[str, Record] = {}
    changes = itertools.cycle(settings[1:] or settings)
    now = 0
    for kind, gap, event_id, value in itertools.chain(*bursts):
        now += gap
        known = decided.get(event_id)
        of = known.position if known is not None and known.time >= now - memory else 0
        one = Record(len(records) + 1, now, kind.split(",")[0], event_id, of)
        match one.kind:
            case "decision" if not of:
                one = one._replace(body={"activate": False} if kind.endswith("not activated") else {})
                decided[event_id] = one
            case "reward":
                one = one._replace(value=value)
            case "settings":
                one = one._replace(event_id=None, of=0, body={"settings": next(changes)})
            case "tick" | "rollback":
                one = one._replace(event_id=None, of=0)
            case "activation":
                pass
            case "erasure" if of:
                pass
            case _:
                continue  # a decision that was made before, or an erasure of what is not known
        records.append(one)
    return Journal(settings[0], tuple(records))


JOURNALS = st.builds(
    journal_of,
    st.lists(SETTINGS, min_size=1, max_size=3),
    st.sampled_from((max(WAITS), max(WAITS) + 5, FOREVER, 3)),  # the last: while a window is open, after a shorter wait
    st.lists(BURSTS, min_size=6, max_size=16),
)


def applied(join: Join, record: Record) -> list[Learned | Rejected]:
    """What a record makes the model learn. New settings are set by whoever reads them, as the learner does."""
    if record.kind == "settings":
        join.settings = record.body["settings"]
    return [plain(one) for one in join.apply(record)]


def plain(effect: Effect) -> Learned | Rejected:
    if isinstance(effect, Reject):
        assert effect.reason
        return Rejected(effect.position)
    assert isinstance(effect, Learn)
    return Learned(effect.position, effect.value, effect.is_default)


def counted(join: Join, *left_out: str) -> dict[str, int]:
    return {name: count for name, count in asdict(join.counts).items() if count and name not in left_out}


def early_positions(join: Join) -> set[int]:
    return {position for waiting in join.early.values() for position in waiting}


def open_deadlines(join: Join) -> list[int]:
    return [
        one.deadline
        for one in (*join.windows.values(), *(one for waiting in join.early.values() for one in waiting.values()))
    ]


def rows_of(join: Join, positions: Iterable[int]) -> dict[int, str | None]:
    """As a journal stores them."""
    waiting = join.waiting(list(positions)).items()
    return {position: None if one is None else json.dumps(as_row(one)) for position, one in waiting}


def there(rows: dict[int, str | None]) -> dict[int, str]:
    return {position: row for position, row in sorted(rows.items()) if row is not None}


def restored(settings: JoinSettings, rows: dict[int, str], counts: dict[str, int]) -> Join:
    join = Join(settings)
    join.restore([json.loads(row) for _, row in sorted(rows.items())], json.loads(json.dumps(counts)))
    return join


EXAMPLES = pytest.mark.parametrize("examples", [60, pytest.param(1500, marks=pytest.mark.slow, id="many")])


def holds(examples: int, check: Callable[..., None], *more: st.SearchStrategy[Any]) -> None:
    phases = (Phase.generate, Phase.shrink)  # explaining takes as long again
    profile(PROFILE, max_examples=examples, phases=phases)(given(JOURNALS, *more)(check))()


# The naive model


@EXAMPLES
def test_every_record_has_the_effects_and_the_counts_that_the_naive_model_finds(examples: int) -> None:
    def check(journal: Journal) -> None:
        naive, join = NaiveJoin(journal.records, journal.settings), Join(journal.settings)
        for at, record in enumerate(journal.records):
            assert applied(join, record) == naive.effects(at)
            assert counted(join) == naive.counts(at)
            assert set(join.windows) == naive.windows(at)
            assert early_positions(join) == naive.early(at)
            assert join.next_deadline() == naive.next_deadline(at)
            assert join.oldest() == naive.oldest(at)

    holds(examples, check)


def test_the_journals_of_these_properties_bring_about_everything_that_is_counted() -> None:
    """Without this the properties could be true of nothing."""
    often = dict.fromkeys(asdict(Counts()), 0)

    def check(journal: Journal) -> None:
        join = Join(journal.settings)
        for record in journal.records:
            applied(join, record)
        for name in counted(join):
            often[name] += 1

    holds(100, check)
    assert min(often.values()) >= 5, sorted(often.items())


# Properties


@EXAMPLES
def test_a_cut_anywhere_changes_nothing_that_follows(examples: int) -> None:
    """Each cut stores what was touched since the last one, and goes on from the store with a new `Join`."""

    def check(journal: Journal, every: int) -> None:
        uninterrupted, join = Join(journal.settings), Join(journal.settings)
        store: dict[int, str] = {}
        touched: set[int] = set()
        for at, record in enumerate(journal.records):
            assert applied(join, record) == applied(uninterrupted, record)
            assert join.counts == uninterrupted.counts
            assert join.next_deadline() == uninterrupted.next_deadline()
            if at % every == 0:
                touched |= join.touched
                store = there(store | rows_of(join, sorted(join.touched)))
                assert store == there(rows_of(uninterrupted, sorted(touched)))
                assert store == there(rows_of(uninterrupted, range(at + 2)))
                join = restored(join.settings, store, asdict(join.counts))
                assert not join.touched

    holds(examples, check, st.sampled_from((1, 2, 3, 5, 8)))


@EXAMPLES
def test_ticks_change_when_windows_close_but_not_what_is_learned_nor_in_which_order(examples: int) -> None:
    """What a record brought about, the ticks just before it and the record bring about together, in the same order."""

    def check(journal: Journal, ticks: list[tuple[int, int]]) -> None:
        plainly, ticking = Join(journal.settings), Join(journal.settings)
        old_position = {}
        new_position = {0: 0}
        so_far: list[Learned | Rejected] = []
        for position, record in enumerate(with_ticks(journal.records, ticks), start=1):
            moved = record._replace(position=position, of=new_position[record.of])
            if record.position:
                old_position[position], new_position[record.position] = record.position, position
            so_far += [replace(one, position=old_position[one.position]) for one in applied(ticking, moved)]
            if record.position:
                assert so_far == applied(plainly, record)
                assert counted(ticking, "ticks") == counted(plainly, "ticks")
                so_far = []

    holds(examples, check, st.lists(st.tuples(st.integers(0, 30), st.sampled_from(GAPS)), min_size=1, max_size=12))


def with_ticks(records: Sequence[Record], ticks: Iterable[tuple[int, int]]) -> Iterator[Record]:
    """Ticks (at position 0) before the records at these indices, so long after the record before, but in order."""
    before = 0
    for at, record in enumerate(records):
        for gap in sorted(gap for where, gap in ticks if where == at):
            yield Record(0, min(before + gap, record.time), "tick")
        yield record
        before = record.time


@EXAMPLES
def test_nothing_is_left_after_the_last_deadline(examples: int) -> None:
    def check(journal: Journal) -> None:
        join = Join(journal.settings)
        for record in journal.records:
            applied(join, record)
        last = max((*open_deadlines(join), *(one.time for one in journal.records)), default=0)
        end = len(journal.records) + 1
        applied(join, Record(end, last + 1, "tick"))
        assert not join.windows
        assert not join.early
        assert join.next_deadline() is None
        assert join.oldest() is None
        assert not there(rows_of(join, range(end + 1)))
        left = {name: value for name, value in vars(join).items() if isinstance(value, (list, dict, set))}
        assert not any(value for name, value in left.items() if name != "touched")
        counts = join.counts
        fates = (counts.learned, counts.learned_defaults, counts.unrewarded, counts.unactivated, counts.rejected)
        assert counts.decisions == sum(fates) + counts.erased

    holds(examples, check)


@EXAMPLES
def test_the_next_deadline_is_the_first_of_those_that_are_open_and_none_has_passed(examples: int) -> None:
    def check(journal: Journal) -> None:
        join = Join(journal.settings)
        for record in journal.records:
            applied(join, record)
            assert join.next_deadline() == min(open_deadlines(join), default=None)
            assert all(deadline >= record.time for deadline in open_deadlines(join))

    holds(examples, check)


@EXAMPLES
def test_the_same_records_give_the_same_effects_and_the_same_state(examples: int) -> None:
    """Asking for deadlines and rows in between changes nothing."""

    def check(journal: Journal) -> None:
        one, other = Join(journal.settings), Join(journal.settings)
        for at, record in enumerate(journal.records):
            assert applied(one, record) == applied(other, record)
            other.next_deadline()
            other.oldest()
            rows_of(other, range(at + 2))
        assert one.touched == other.touched
        assert rows_of(one, sorted(one.touched)) == rows_of(other, sorted(other.touched))
        assert one.counts == other.counts

    holds(examples, check)


# Edges, by hand. wait is 1000 ms. A script says at which time what happens to event e, or to the one named after a
# colon. What is expected: what is learned with the record of which time, and what is counted besides the records.

FIRST = JoinSettings(wait=1000, default=None, aggregation="first", low=0.0, high=1.0)
DEFAULT = FIRST._replace(default=0.25)


def written(script: str, memory: int = FOREVER) -> list[Record]:
    """The records of a script such as "0 decision, 999 reward 1, 5 reward:f 0.5, 1001 tick"."""
    requests: list[Request] = []
    before = 0
    for line in script.split(", "):
        time, kind, *value = line.split(" ")
        kind, _, event_id = kind.partition(":")
        kind = kind.replace("deferred", "decision, not activated")
        requests.append((kind, int(time) - before, event_id or "e", float(value[0]) if value else 0.0))
        before = int(time)
    return list(journal_of([FIRST], memory, [requests]).records)


def outcome(settings: JoinSettings, records: Iterable[Record]) -> tuple[list[tuple[Any, ...]], dict[str, int]]:
    """(time, value), (time, value, "default") or (time, "rejected") of what is learned; and the counts of fates."""
    join = Join(settings)
    learned: list[tuple[Any, ...]] = []
    for record in records:
        for one in applied(join, record):
            if isinstance(one, Rejected):
                learned.append((record.time, "rejected"))
            else:
                learned.append((record.time, one.value, *(["default"] if one.is_default else [])))
    return learned, counted(join, "decisions", "activations", "rewards", "ticks", "learned", "learned_defaults")


EDGES = {
    # The reward's time
    "a reward with the decision": ("0 decision, 0 reward 1, 1001 tick", FIRST, [(0, 1)], {}),
    "a reward 1 ms before the end": ("0 decision, 999 reward 1, 1001 tick", FIRST, [(999, 1)], {}),
    "a reward at the end": ("0 decision, 1000 reward 1, 1001 tick", FIRST, [(1000, 1)], {}),
    "a reward 1 ms after the end": ("0 decision, 1001 reward 1", FIRST, [], {"unrewarded": 1, "late": 1}),
    "no reward": ("0 decision, 1001 tick", FIRST, [], {"unrewarded": 1}),
    "nothing is over at the end itself": ("0 decision, 1000 tick", FIRST, [], {}),
    "default: a reward 1 ms before the end": ("0 decision, 999 reward 1, 1001 tick", DEFAULT, [(999, 1)], {}),
    "default: a reward at the end": ("0 decision, 1000 reward 1, 1001 tick", DEFAULT, [(1000, 1)], {}),
    "default: a reward at the end, after a tick": ("0 decision, 1000 tick, 1000 reward 1", DEFAULT, [(1000, 1)], {}),
    "default: a reward 1 ms after the end": (
        "0 decision, 1001 reward 1, 9000 tick",
        DEFAULT,
        [(1001, 0.25, "default")],
        {"late": 1},
    ),
    "default: no reward": ("0 decision, 1001 tick, 9000 tick", DEFAULT, [(1001, 0.25, "default")], {}),
    "default: another event's reward closes": ("0 decision, 1001 reward:f 1", DEFAULT, [(1001, 0.25, "default")], {}),
    "a reward of 0 is not no reward": ("0 decision, 10 reward 0, 1001 tick", DEFAULT, [(10, 0)], {}),
    # Several rewards
    "the first reward counts": (
        "0 decision, 1 reward 0.5, 2 reward 1, 1001 reward 0",
        DEFAULT,
        [(1, 0.5)],
        {"repeated": 1, "late": 1},
    ),
    "rewards of two events": (
        "0 decision, 0 decision:f, 1 reward:f 1, 2 reward 0.5, 1001 tick",
        DEFAULT,
        [(1, 1), (2, 0.5)],
        {},
    ),
    # Before the decision
    "a reward wait before its decision": ("0 reward 1, 1000 decision, 2001 tick", DEFAULT, [(1000, 1)], {}),
    "a reward wait - 1 ms before its decision": ("0 reward 1, 999 decision, 2001 tick", DEFAULT, [(999, 1)], {}),
    "a reward wait + 1 ms before its decision": (
        "0 reward 1, 1001 decision, 2002 tick",
        DEFAULT,
        [(2002, 0.25, "default")],
        {"orphans": 1},
    ),
    "a reward whose decision never comes": ("0 reward 1, 1000 tick, 1001 tick", DEFAULT, [], {"orphans": 1}),
    "two rewards before their decision": (
        "0 reward 0.5, 1 reward 1, 2 decision, 3 reward 0, 2000 tick",
        DEFAULT,
        [(2, 0.5)],
        {"repeated": 2},
    ),
    "only the second reward is in time": (
        "0 reward 0.5, 1 reward 1, 1001 decision, 9000 tick",
        DEFAULT,
        [(1001, 1)],
        {"orphans": 1},
    ),
    "the window runs from the decision, not from the reward before it": (
        "0 reward:f 1, 900 decision, 1900 reward 0.5, 1901 tick",
        DEFAULT,
        [(1900, 0.5)],
        {"orphans": 1},
    ),
    # Activation
    "never activated, no reward": ("0 deferred, 1001 tick", DEFAULT, [], {"unactivated": 1}),
    "never activated, a reward": ("0 deferred, 5 reward 1, 1001 tick", DEFAULT, [], {"unactivated": 1}),
    "activated, no reward": ("0 deferred, 5 activation, 1001 tick", DEFAULT, [(1001, 0.25, "default")], {}),
    "activated, no reward, no default": ("0 deferred, 5 activation, 1001 tick", FIRST, [], {"unrewarded": 1}),
    "activated, then a reward": ("0 deferred, 5 activation, 6 reward 1, 1001 tick", DEFAULT, [(6, 1)], {}),
    "a reward, then activated": ("0 deferred, 5 reward 1, 6 activation, 1001 tick", DEFAULT, [(6, 1)], {}),
    "activated 1 ms before the end": ("0 deferred, 5 reward 1, 999 activation, 1001 tick", DEFAULT, [(999, 1)], {}),
    "activated at the end": ("0 deferred, 5 reward 1, 1000 activation, 1001 tick", DEFAULT, [(1000, 1)], {}),
    "activated 1 ms after the end": (
        "0 deferred, 5 reward 1, 1001 activation",
        DEFAULT,
        [],
        {"unactivated": 1, "late": 1},
    ),
    "activation does not make the window longer": (
        "0 deferred, 900 activation, 1001 reward 1",
        DEFAULT,
        [(1001, 0.25, "default")],
        {"late": 1},
    ),
    "two rewards, then activated": (
        "0 deferred, 5 reward 1, 6 reward 0, 7 activation, 1001 tick",
        DEFAULT,
        [(7, 1)],
        {"repeated": 1},
    ),
    "activated before the decision": ("0 activation, 1 deferred, 2 reward 1, 1002 tick", DEFAULT, [(2, 1)], {}),
    "activated and rewarded before the decision": (
        "0 reward 1, 1 activation, 2 deferred, 1003 tick",
        DEFAULT,
        [(2, 1)],
        {},
    ),
    "activated wait + 1 ms before the decision": (
        "0 activation, 1001 deferred, 1002 reward 1, 2002 tick",
        DEFAULT,
        [],
        {"orphans": 1, "unactivated": 1},
    ),
    "activated twice": ("0 decision, 1 reward 1, 2 activation, 3 activation, 1001 tick", DEFAULT, [(1, 1)], {}),
    # Out of range
    "the first reward is out of range": (
        "0 decision, 5 reward 1.5, 6 reward 1, 1001 tick",
        DEFAULT,
        [(5, "rejected")],
        {"rejected": 1, "repeated": 1},
    ),
    "a reward at either end of the range": (
        "0 decision, 0 decision:f, 5 reward 1, 6 reward:f 0",
        DEFAULT,
        [(5, 1), (6, 0)],
        {},
    ),
    # Erasure
    "erased before any reward": ("0 decision, 5 erasure, 6 reward 1, 1001 tick", DEFAULT, [], {"erased": 1, "late": 1}),
    "erased after it was learned": ("0 decision, 5 reward 1, 6 erasure, 1001 tick", DEFAULT, [(5, 1)], {}),
    "erased at the end": ("0 decision, 1000 erasure, 1001 tick", DEFAULT, [], {"erased": 1}),
    "erased 1 ms after the end": ("0 decision, 1001 erasure, 1002 tick", DEFAULT, [(1001, 0.25, "default")], {}),
    "erased while a reward was held": (
        "0 deferred, 5 reward 1, 6 erasure, 7 activation",
        DEFAULT,
        [],
        {"erased": 1, "late": 1},
    ),
}


@pytest.mark.parametrize(("script", "settings", "learned", "counts"), EDGES.values(), ids=EDGES)
def test_the_edges_of_the_first_reward(
    script: str, settings: JoinSettings, learned: list[tuple[Any, ...]], counts: dict[str, int]
) -> None:
    assert outcome(settings, written(script)) == (learned, counts)


THREE_REWARDS = {"first": 0.5, "last": 0.25, "sum": 1.5, "mean": 0.5, "min": 0.25, "max": 0.75}


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("activation", ["", "before", "between", "after", "late", "never"])
def test_what_three_rewards_amount_to(aggregation: str, activation: str) -> None:
    settings = JoinSettings(wait=1000, default=0.125, aggregation=aggregation, low=0.0, high=2.0)
    lines = ["0 decision", "5 reward 0.5", "999 reward 0.75", "1000 reward 0.25", "1001 reward 1", "1002 tick"]
    lines[0] = "0 deferred" if activation else "0 decision"
    where = {"before": (1, "4 activation"), "between": (2, "6 activation"), "after": (4, "1000 activation")}
    if activation in where:
        lines.insert(*where[activation])
    elif activation == "late":
        lines.insert(5, "1001 activation")
    when = {"before": 5, "between": 6, "after": 1000}.get(activation, 5) if aggregation == "first" else 1001
    learned, counts = outcome(settings, written(", ".join(lines)))
    repeated = {"repeated": 2} if aggregation == "first" else {}
    if activation in ("late", "never"):
        assert not learned
        assert counts == {"unactivated": 1, "late": 2 if activation == "late" else 1, **repeated}
    else:
        assert learned == [(when, THREE_REWARDS[aggregation])]
        assert counts == {"late": 1, **repeated}


@pytest.mark.parametrize("aggregation", AGGREGATIONS[1:])
def test_other_aggregations_are_learned_when_the_window_closes_and_not_before(aggregation: str) -> None:
    settings = DEFAULT._replace(aggregation=aggregation)
    assert outcome(settings, written("0 reward 1, 0 decision, 1000 tick")) == ([], {})
    assert outcome(settings, written("0 reward 1, 0 decision, 1001 tick")) == ([(1001, 1)], {})
    assert outcome(settings, written("0 decision, 1001 tick")) == ([(1001, 0.25, "default")], {})


@pytest.mark.parametrize(
    ("aggregation", "rewards", "expected"),
    [
        ("sum", "1 reward 0.75, 2 reward 0.5", "rejected"),
        ("sum", "1 reward 0.75, 2 reward 0.5, 3 reward -0.25", 1),  # out of the range only meanwhile
        ("last", "1 reward 1.5, 2 reward 1", 1),
        ("last", "1 reward 1, 2 reward 1.5", "rejected"),
        ("min", "1 reward 1.5, 2 reward 1", 1),
        ("max", "1 reward 1.5, 2 reward 1", "rejected"),
        ("sum", "1 reward 1e308, 2 reward 1e308, 3 reward -1e308", "rejected"),
        ("mean", "1 reward 1.5", "rejected"),
        ("mean", "1 reward -1, 2 reward 0.5", "rejected"),
    ],
)
def test_a_result_out_of_range_is_rejected_when_the_window_closes(
    aggregation: str, rewards: str, expected: Any
) -> None:
    settings = FIRST._replace(aggregation=aggregation)
    learned, counts = outcome(settings, written(f"0 decision, {rewards}, 1001 tick"))
    assert learned == [(1001, expected)]
    assert counts == ({"rejected": 1} if expected == "rejected" else {})


@pytest.mark.parametrize("count", [3, 7, 11])
def test_rounding_does_not_take_a_mean_out_of_the_range(count: int) -> None:
    settings = FIRST._replace(aggregation="mean", low=0.0, high=0.1)
    rewards = ", ".join(["1 reward 0.1"] * count)
    learned, counts = outcome(settings, written(f"0 decision, {rewards}, 1001 tick"))
    assert learned == [(1001, pytest.approx(0.1, rel=1e-15))]
    assert learned[0][1] <= 0.1
    assert not counts


def test_windows_close_in_the_order_of_deadline_then_position() -> None:
    records = [
        Record(1, 0, "decision", "a", body={}),
        Record(2, 0, "settings", body={"settings": DEFAULT._replace(wait=10)}),
        Record(3, 0, "decision", "b", body={}),
        Record(4, 990, "decision", "c", body={}),
        Record(5, 990, "decision", "d", body={}),
        Record(6, 991, "settings", body={"settings": DEFAULT}),
    ]
    join = Join(DEFAULT)
    assert [applied(join, record) for record in records] == [[]] * 3 + [[Learned(3, 0.25, True)], [], []]
    closed = applied(join, Record(7, 5000, "decision", "e", body={}))
    assert closed == [Learned(position, 0.25, True) for position in (1, 4, 5)]


def test_closed_windows_come_before_what_the_record_itself_teaches() -> None:
    join = Join(DEFAULT._replace(wait=10))
    for record in (Record(1, 0, "decision", "a", body={}), Record(2, 5, "reward", "b", value=1.0)):
        assert applied(join, record) == []
    decision = Record(3, 15, "decision", "b", body={})
    assert applied(join, decision) == [Learned(1, 0.25, True), Learned(3, 1.0, False)]


@pytest.mark.parametrize(
    ("change", "learned"),
    [
        ({"wait": 1}, [(1000, 1.0)]),
        ({"wait": 9000}, [(1000, 1.0)]),
        ({"default": 0.75}, [(1000, 1.0)]),
        ({"aggregation": "min"}, [(1000, 1.0)]),
        ({"low": 0.0, "high": 0.5}, [(1000, 1.0)]),
    ],
)
def test_an_open_window_keeps_its_settings(change: dict[str, Any], learned: list[tuple[Any, ...]]) -> None:
    records = written("0 decision, 0 settings, 1000 reward 1, 1001 reward 1")
    records[1] = records[1]._replace(body={"settings": DEFAULT._replace(**change)})
    assert outcome(DEFAULT, records) == (learned, {"late": 1})
    without_reward = [records[0], records[1], Record(3, 1001, "tick")]
    assert outcome(DEFAULT, without_reward) == ([(1001, 0.25, "default")], {})
    assert outcome(DEFAULT, [records[0], records[1], Record(3, 1000, "tick")]) == ([], {})


def test_an_event_id_is_a_new_event_after_its_window() -> None:
    script = "0 decision, 5 reward 1, 1001 reward 0.5, 1002 decision, 1003 reward 0.25, 2003 tick"
    learned, counts = outcome(DEFAULT, written(script, memory=1000))
    assert learned == [(5, 1), (1002, 0.5)]  # the second came when the first was forgotten: it is the next one's
    assert counts == {"repeated": 1}
    learned, counts = outcome(DEFAULT, written(script, memory=1500))
    assert learned == [(5, 1)]  # still known: there is no second decision, and both rewards are late
    assert counts == {"late": 2}


def test_nothing_waits_at_all_with_a_wait_of_0() -> None:
    at_once = DEFAULT._replace(wait=0)
    assert outcome(at_once, written("5 reward 1, 5 decision, 6 tick")) == ([(5, 1)], {})
    assert outcome(at_once, written("5 decision, 5 reward 1, 6 tick")) == ([(5, 1)], {})
    assert outcome(at_once, written("5 decision, 6 reward 1")) == ([(6, 0.25, "default")], {"late": 1})


# Decisions and outcomes that the model cannot take


def test_a_decision_of_no_use_is_rejected_and_what_comes_for_it_is_late() -> None:
    join = Join(DEFAULT)
    records = written("0 decision, 1 reward 1, 1001 tick")
    assert join.apply(records[0], is_usable=False) == []
    assert counted(join) == {"decisions": 1, "rejected": 1}
    assert join.next_deadline() is None
    assert not join.windows
    assert [applied(join, record) for record in records[1:]] == [[], []]
    assert counted(join) == {"decisions": 1, "rejected": 1, "rewards": 1, "late": 1, "ticks": 1}


def test_early_rewards_of_a_decision_of_no_use_are_late() -> None:
    join = Join(DEFAULT)
    early, decision = written("0 reward 1, 1 decision")
    applied(join, early)
    join.touched.clear()
    assert join.apply(decision, is_usable=False) == []
    assert rows_of(join, join.touched) == {1: None}
    assert counted(join) == {"decisions": 1, "rewards": 1, "rejected": 1, "late": 1}


@pytest.mark.parametrize("script", ["0 decision, 1 reward 1", "0 decision, 1001 tick"])
def test_an_outcome_that_the_model_refused_counts_as_rejected(script: str) -> None:
    join = Join(DEFAULT)
    effects = [effect for record in written(script) for effect in join.apply(record)]
    assert len(effects) == 1
    assert isinstance(effects[0], Learn)
    join.take_back(effects[0])
    assert counted(join, "rewards", "ticks") == {"decisions": 1, "rejected": 1}
    applied(join, Record(9, 9000, "tick"))
    assert counted(join, "rewards", "ticks") == {"decisions": 1, "rejected": 1}
