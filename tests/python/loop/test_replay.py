"""Journals that somebody has changed: replay names the difference, and opening one never crashes."""

import contextlib
import re
import shutil
import sqlite3

import pytest

from loop.support import Clock, open_loop
from vw_fastcb.loop import Loop, LoopError
from vw_fastcb.loop.replay import replay
from vw_fastcb.loop.sqlite import SqliteJournal

CHANGES = {
    "a probability": ("UPDATE record SET body = json_set(body, '$.pmf[0]', 0.4) WHERE position = 20", "record 20"),
    "the action": (
        "UPDATE record SET body = json_set(body, '$.action', 2 - json_extract(body, '$.action')) "
        "WHERE position = 20 AND json_extract(body, '$.action') <> 1",
        "record 20",
    ),
    "a context": ("UPDATE record SET body = json_set(body, '$.context.hour', 77) WHERE position = 20", "record"),
    "a reward": ("UPDATE record SET value = 0.25 WHERE position = 21", "generation|record"),
    "a time": ("UPDATE record SET time = time - 5000 WHERE position = 21", "record 21"),
    "a record is gone": ("DELETE FROM record WHERE position = 21", "record 21 is missing"),
    "the first records are gone": ("DELETE FROM record WHERE position < 10", "records 1 to 9 are missing"),
    "the last records are gone": ("DELETE FROM record WHERE position > 30", "has seen"),
    "the state it was made from": (
        "UPDATE record SET body = json_set(body, '$.applied', 9999) WHERE position = 20",
        "record 20",
    ),
    "how much was learned": (
        "UPDATE record SET body = json_set(body, '$.learned', 3) WHERE position = 29",
        "record 29",
    ),
    "a generation that was not there": (
        "UPDATE record SET body = json_set(body, '$.generation', 9) WHERE position = 20",
        "record 20 says that it is based on generation 9",
    ),
    "a generation that had seen more": (
        "UPDATE record SET body = json_set(body, '$.generation', 1) WHERE position = 20",
        "record 20 says that it is based on generation 1",
    ),
    "all checkpoints are gone": ("DELETE FROM generation", "based on generation 1; the newest is 0"),
    "no pmf": (
        "UPDATE record SET body = json_remove(body, '$.pmf') WHERE position = 20",
        "record 20 is damaged, or one before it: it has no 'pmf'.",
    ),
    "no body": ("UPDATE record SET body = NULL WHERE position = 20", "record 20"),
    "no JSON": ("UPDATE record SET body = '{' WHERE position = 20", "damaged"),
    "a pmf of words": ("UPDATE record SET body = json_set(body, '$.pmf', 'x') WHERE position = 20", "record 20"),
    "a reward of words": ("UPDATE record SET value = 'x' WHERE position = 21", "record 21"),
    "another kind": ("UPDATE record SET kind = 99 WHERE position = 21", "record 21"),
    "a model's bytes": ("UPDATE model SET bytes = zeroblob(length(bytes)) WHERE part = 0", "the bytes of its model"),
    "no model": ("DELETE FROM model", "the bytes of its model"),
    "what waits": ("UPDATE window SET body = json_set(body, '$.deadline', 5)", "wait for rewards"),
    "nothing waits": ("DELETE FROM window", "wait for rewards"),
    "counts": ("UPDATE generation SET summary = json_set(summary, '$.counts.learned', 1)", "counts"),
    "events": ("UPDATE generation SET events = 1", "1 events"),
    "settings of a checkpoint": ("UPDATE generation SET summary = json_set(summary, '$.settings.wait', 1)", "settings"),
    "dead letters": ("INSERT INTO dead_letter VALUES (3, 1, 'no')", "dead letters"),
    "where a rollback goes": (
        "UPDATE record SET body = json_set(body, '$.sha256', 'x') WHERE kind = 4",
        "goes back to",
    ),
}


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    folder = tmp_path_factory.mktemp("journal")
    clock = Clock()
    with open_loop(folder, clock=clock) as loop:
        for i in range(30):
            clock.now += 10
            decision = loop.decide({"user": f"u{i % 3}", "hour": i}, event_id=f"e{i}")
            if i % 7:
                loop.reward(f"e{i}", decision.action / 2)
            if i == 15:
                loop.checkpoint()
        loop.rollback(1)
    return folder / "loop.db"


def replayed(path):
    file = SqliteJournal(path)
    try:
        return replay(file)
    finally:
        file.close()


def test_a_journal_that_nobody_changed_agrees(journal):
    found = replayed(journal)
    assert found.differences == []
    assert found.generations == 2


@pytest.mark.parametrize("what", CHANGES)
def test_a_journal_that_somebody_changed_does_not(journal, tmp_path, what):
    path = tmp_path / "changed.db"
    shutil.copy(journal, path)
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute(CHANGES[what][0])
        is_changed = db.total_changes > 0
    if is_changed:
        found = replayed(path)
        assert not found.agrees
        assert re.search(CHANGES[what][1], found.differences[0])
    with contextlib.suppress(LoopError), Loop.open(path, clock=Clock(1_700_000_100_000)) as loop:
        loop.decide({"user": "u1", "hour": 1})


def test_the_same_engine_has_to_give_the_same_probabilities_bit_for_bit(journal, tmp_path):
    path = tmp_path / "changed.db"
    shutil.copy(journal, path)

    def change(name, value):
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute(f"UPDATE record SET body = json_set(body, '$.{name}', {value}) WHERE position = 20")

    change("pmf[0]", "json_extract(body, '$.pmf[0]') + 1e-9")
    (difference,) = replayed(path).differences
    assert difference.startswith("record 20, event 'e10': the pmf is ")
    change("engine", "'another one'")  # which rounds in its own way
    assert replayed(path).agrees
    change("pmf[0]", "json_extract(body, '$.pmf[0]') + 2e-5")
    assert len(replayed(path).differences) == 1
