"""What docs/loop says of the loop's limits: what is not promised, and what to do about it."""

import json
import resource
import shutil
import sqlite3
import sys
from contextlib import closing

import pytest

from loop.support import Clock, open_loop
from vw_fastcb import Loop
from vw_fastcb.loop import JournalFailed, JournalRefused, LoopError, contexts
from vw_fastcb.loop import replay as replay_module
from vw_fastcb.loop.loop import journal_of
from vw_fastcb.loop.outcomes import Outcomes
from vw_fastcb.loop.replay import replay
from vw_fastcb.loop.sqlite import SqliteJournal


def play(loop, count, name="e"):
    for i in range(count):
        decision = loop.decide({"user": f"u{i % 5}"}, event_id=f"{name}{i}")
        loop.reward(decision.event_id, decision.action / 2)


def replayed(path):
    with closing(SqliteJournal(path)) as journal:
        return replay(journal)


@pytest.mark.parametrize(("aggregation", "learned"), [("first", 0.25), ("sum", 0.5), ("mean", 0.25)])
def test_a_reward_without_an_id_that_is_sent_twice_counts_twice(home, aggregation, learned):
    clock = Clock()
    with (
        open_loop(home, "twice.db", aggregation=aggregation, wait="1s", clock=clock) as twice,
        open_loop(home, "once.db", wait="1s", clock=clock) as once,
    ):
        action = twice.decide({"user": "Tom"}, event_id="e1").action
        assert once.decide({"user": "Tom"}, event_id="e1").action == action
        for _ in range(2):
            twice.reward("e1", 0.25)
        once.reward("e1", learned)
        clock.now += 1001
        twice.tick()
        assert twice.status().counts["rewards"] == 2
        assert twice.model().predict_reward([{"user": "Tom"}]) == pytest.approx(
            once.model().predict_reward([{"user": "Tom"}])
        )


def test_draws_repeat_for_the_same_seed_and_id_and_only_then(home):
    draws = []
    for name, seed in (("a", 7), ("b", 7), ("c", None), ("d", None)):
        with open_loop(home, name, seed=seed) as loop:
            draws.append([loop.decide({"user": "Tom"}, event_id=f"e{i}").action for i in range(30)])
    assert draws[0] == draws[1]
    assert draws[1] != draws[2] != draws[3]


def test_an_id_is_new_after_retention_and_draws_the_same_number_again(home):
    clock = Clock()
    with open_loop(home, clock=clock, wait="1s", retention="1min", keep_generations=1) as loop:
        journal = loop._worker.journal
        loop.decide({"user": "Tom"}, event_id="e1")
        (first,) = journal.find("e1")
        for _ in range(4):
            clock.now += 30_000
            loop.decide({"user": "Li"})
            loop.checkpoint()
        loop.decide({"user": "Anna"}, event_id="e1")
        second = journal.find("e1")[-1]
        assert second.position > first.position
        assert second.body["draw"] == first.body["draw"]


def test_a_clock_that_jumps_ahead_closes_windows_and_then_keeps_new_ones_open(home):
    clock, year = Clock(), 365 * 86_400_000
    with open_loop(home, clock=clock, wait="10min", default_reward=0) as loop:
        loop.decide({"user": "Tom"}, event_id="before")
        clock.now += year
        loop.decide({"user": "Tom"}, event_id="ahead")
        assert loop.status().counts["learned_defaults"] == 1
        clock.now -= year
        loop.decide({"user": "Tom"}, event_id="after")
        assert not loop.status().ready
        clock.now += 11 * 60_000
        loop.tick()
        assert loop.status().open == 2
        loop.reward("after", 1)  # still counts
        assert loop.status().counts["learned"] == 1


def test_the_bytes_of_an_erased_event_may_stay_in_the_log_until_the_journal_is_closed(tmp_path):
    with open_loop(tmp_path) as loop:
        loop.decide({"user": "secret-name"}, event_id="e1")
        loop.reward("e1", 1)
        loop.erase("e1")
        with closing(SqliteJournal(tmp_path / "loop.db")) as journal:
            assert "context" not in journal.find("e1")[0].body
            journal.copy_to(tmp_path / "copy.db")
        assert loop.status().learned == 1  # what was learned stays
        assert b"secret-name" not in (tmp_path / "copy.db").read_bytes()
    assert b"secret-name" not in (tmp_path / "loop.db").read_bytes()


def test_an_erasure_elsewhere_takes_effect_with_the_next_checkpoint_of_the_learner(home):
    with open_loop(home) as loop:
        loop.decide({"user": "secret-name"}, event_id="e1")
        with Loop.open(home / "loop.db", learn=False) as other:
            other.erase("e1")
        loop.decide({"user": "Tom"})  # brings the record of the other process
        loop.checkpoint()
        assert "context" not in loop._worker.journal.find("e1")[0].body


def test_a_copy_is_whole_while_the_file_alone_is_not(tmp_path):
    with open_loop(tmp_path) as loop:
        play(loop, 50)
        with closing(SqliteJournal(tmp_path / "loop.db")) as journal:
            journal.copy_to(tmp_path / "copy.db")
        shutil.copy(tmp_path / "loop.db", tmp_path / "alone.db")
        play(loop, 10, "later")
    with closing(SqliteJournal(tmp_path / "alone.db")) as journal:
        assert journal.last()[0] < 101
    found = replayed(tmp_path / "copy.db")
    assert found.agrees
    assert (found.learned, found.decisions) == (50, 50)


def test_a_copy_learns_at_once(tmp_path):
    with open_loop(tmp_path) as loop:
        play(loop, 10)
        loop.copy_to(tmp_path / "copy.db")
        with pytest.raises(FileExistsError, match="is there already"):
            loop.copy_to(tmp_path / "copy.db")
        with Loop.open(tmp_path / "copy.db") as copy:
            assert copy.status().role == "learner"
            assert copy.status().learned == 10
        assert loop.status().role == "learner"


def test_a_copy_that_fails_leaves_nothing_behind(tmp_path):
    with open_loop(tmp_path) as loop:
        play(loop, 200)
        with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
            loop.copy_to(tmp_path / "nowhere" / "copy.db")
    backups = tmp_path / "backups"
    backups.mkdir()
    with closing(SqliteJournal(tmp_path / "loop.db")) as journal:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        try:
            with pytest.raises(LoopError, match=r"copy\.db"):
                journal.copy_to(backups / "copy.db")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert list(backups.iterdir()) == []
        journal.copy_to(backups / "copy.db")
    assert [path.name for path in backups.iterdir()] == ["copy.db"]
    assert replayed(backups / "copy.db").agrees


def test_probabilities_of_another_engine_are_compared_within_a_tolerance_and_its_models_not(tmp_path, monkeypatch):
    with open_loop(tmp_path) as loop:
        play(loop, 40)
    path = tmp_path / "loop.db"
    monkeypatch.setattr(replay_module, "fingerprint", lambda: "another")
    found = replayed(path)
    assert found.agrees
    assert (found.decisions, found.exact) == (40, 0)

    def nudged(by):
        with closing(sqlite3.connect(path)) as db, db:
            ((position, text),) = db.execute("SELECT position, body FROM record WHERE event_id = 'e30' AND kind = 0")
            body = json.loads(text)
            body["pmf"][0] += by
            db.execute("UPDATE record SET body = ? WHERE position = ?", (json.dumps(body), position))

    nudged(1e-6)
    assert replayed(path).agrees
    nudged(1e-4)
    assert "'e30': the pmf is" in replayed(path).differences[0]


def test_a_changed_reward_is_found_by_the_next_decision(tmp_path):
    with open_loop(tmp_path) as loop:
        play(loop, 40)
    with closing(sqlite3.connect(tmp_path / "loop.db")) as db, db:
        db.execute("UPDATE record SET value = 1 - value WHERE event_id = 'e20' AND value IN (0, 1)")
        db.execute("UPDATE record SET value = 0 WHERE event_id = 'e20' AND value = 0.5")
    found = replayed(tmp_path / "loop.db")
    assert "event 'e21'" in found.differences[0]


def test_a_journal_of_a_newer_schema_is_refused_and_not_touched(tmp_path):
    open_loop(tmp_path).close()
    path = tmp_path / "loop.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    with pytest.raises(JournalRefused, match="has the schema 99"):
        Loop.open(path)
    assert path.read_bytes() == before


def test_a_file_with_retention_stops_growing_and_may_be_vacuumed(tmp_path):
    clock = Clock()
    sizes = []
    with open_loop(tmp_path, clock=clock, wait="1s", retention="1min") as loop:
        for minute in range(12):
            play(loop, 60, f"{minute}-")
            clock.now += 60_000
            loop.tick()
            loop.checkpoint()
            sizes.append(journal_of(loop)._reader.execute("PRAGMA page_count").fetchone()[0])  # without the log
        learned = loop.status().learned
    assert sizes[-1] < sizes[6] + 5  # 20 more without
    with closing(sqlite3.connect(tmp_path / "loop.db")) as db:
        db.execute("VACUUM")
    with Loop.open(tmp_path / "loop.db", clock=clock) as loop:
        assert loop.status().learned == learned
    assert replayed(tmp_path / "loop.db").agrees


def test_settings_of_the_join_are_not_applied_to_the_past(home):
    clock = Clock()
    with open_loop(home, clock=clock, wait="1s") as loop:
        loop.decide({"user": "Tom"}, event_id="closed")
        clock.now += 1001
        loop.decide({"user": "Tom"}, event_id="open")
    with Loop.open(home / "loop.db", default_reward=0, change=True, clock=clock) as loop:
        clock.now += 1001
        loop.tick()
        counts = loop.status().counts
        assert (counts["unrewarded"], counts["learned_defaults"]) == (2, 0)


def test_a_damaged_file_is_not_read_in_part(tmp_path):
    path = tmp_path / "j.db"
    with Loop.open(path, actions=2, reward_range=(0, 1)) as loop:
        for i in range(600):
            loop.decide({"a": i}, event_id=f"e{i}")
    for damage, missing in (("BETWEEN 200 AND 300", 200), ("BETWEEN 301 AND 600", 200)):
        with closing(sqlite3.connect(path)) as db:
            db.execute(f"DELETE FROM record WHERE position {damage}")
            db.commit()
        with closing(SqliteJournal(path)) as journal, pytest.raises(JournalFailed, match=f"record {missing} "):
            list(Outcomes(journal))


# What is large once it is flat, or too large to be stored

NESTED = {
    "a dictionary": {"p" * 20_000: {str(number): 1 for number in range(60_000)}},
    "words": {"p" * 20_000: [str(number) for number in range(60_000)]},
    "a list": {"p" * 20_000: [0] * 60_000},
    "nothing": {"p" * 20_000: [[]] * 60_000},
    "two levels": {"p" * 300_000: {"q" * 300_000: {str(number): 1 for number in range(30_000)}}},
}


@pytest.mark.parametrize("shape", NESTED)
def test_a_small_request_asks_for_no_gigabytes_of_names(home, shape):
    """A request of less than a megabyte took 1.2 GB, and ended the loop: no store takes a record of that size."""
    with open_loop(home, actions=None) as loop:
        before = loop.status().position
        for context, actions in ((NESTED[shape], [{}, {}]), ({}, [{"a": 1}, NESTED[shape]])):
            with pytest.raises(ValueError, match="its flat names have more than 4,194,304 characters together"):
                loop.decide(context, actions)
        assert loop.status().position == before
        loop.decide({"user": {"age": 31}}, [{}, {}])


@pytest.mark.parametrize(
    ("context", "characters"),
    [
        ({"ab": {"c": 1, "d": None}}, len("ab.c" + "ab.d")),
        ({"a": {"b": {"c": 1}}}, len("a.b" + "a.b.c")),
        ({"t": ["w", "vv"]}, len("t=w" + "t=vv")),
        ({"t": [5, 6]}, len("t.0" + "t.1")),
        ({"long name": None, "other": "text"}, 0),
    ],
)
def test_names_of_what_is_nested_have_as_many_characters_as_allowed_and_not_one_more(
    home, monkeypatch, context, characters
):
    with open_loop(home, actions=None) as loop:
        monkeypatch.setattr(contexts, "_MOST_CHARACTERS", characters)
        loop.decide(context, [context])
        if characters:
            with pytest.raises(ValueError, match="action 1 is nested"):
                loop.decide({}, [context, {"a": {"b": 1}}])  # all actions together
            monkeypatch.setattr(contexts, "_MOST_CHARACTERS", characters - 1)
            with pytest.raises(ValueError, match="the context is nested"):
                loop.decide(context, [{}])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 cannot set SQLite's limits")
def test_a_record_that_is_too_large_to_be_stored_is_refused_and_the_loop_goes_on(tmp_path):
    with open_loop(tmp_path) as loop:
        journal_of(loop)._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000)
        with pytest.raises(LoopError, match=r"is larger than '.*loop\.db' can store"):
            loop.decide({"text": "x" * 100_000})
        loop.decide({"text": "x" * 1000}, event_id="e1")
        loop.reward("e1", 1)
        assert (loop.status().ready, loop.status().learned) == (True, 1)
