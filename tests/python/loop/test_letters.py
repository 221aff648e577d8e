"""The number of dead letters, which is known without reading them."""

import contextlib
import sqlite3

import pytest
from redis import Redis

from loop import reference
from loop.redis_server import RedisFolder
from loop.support import Clock, journal_at, open_loop
from vw_fastcb import Loop
from vw_fastcb.loop import JournalFull
from vw_fastcb.loop.loop import journal_of

MANY = 200_000


def spoil(loop, clock, name):
    """Makes a dead letter: a sum of rewards that leaves the range."""
    loop.decide({"user": "Tom"}, event_id=name)
    loop.reward(name, 0.75)
    loop.reward(name, 0.75)
    clock.now += 1001
    loop.tick()


def counted(loop):
    """How many there are, in two ways that have to agree."""
    letters = loop.dead_letters()
    assert loop.status().dead_letters == len(letters)
    assert loop.dead_letters(newest=2) == letters[-2:]
    assert loop.dead_letters(newest=0) == []
    return len(letters)


def test_their_number_is_right_whatever_happens(home):
    clock = Clock()
    options = {"clock": clock, "keep_generations": 2}
    with open_loop(home, wait="1s", aggregation="sum", retention="5s", **options) as loop:
        assert counted(loop) == 0
        spoil(loop, clock, "a")
        assert counted(loop) == 1
        first = loop.checkpoint()
        spoil(loop, clock, "b")
        spoil(loop, clock, "c")
        assert counted(loop) == 3
        loop.checkpoint()
        assert counted(loop) == 3
        loop.rollback(first)
        assert counted(loop) == 3
        for number in range(4):  # retention drops the first records, and generations are dropped
            clock.now += 10_000
            spoil(loop, clock, f"d{number}")
            loop.checkpoint()
        assert counted(loop) == 7
    with Loop.open(home / "loop.db", **options) as loop:
        spoil(loop, clock, "e")
        assert counted(loop) == 8
    with Loop.open(home / "loop.db", learn=False, clock=clock) as loop:
        assert counted(loop) == 8


def effort_of_status(home, loop):
    """Steps of SQLite's machine, or bytes that Redis sends."""
    if isinstance(home, RedisFolder):
        with Redis(unix_socket_path=str(home.server.socket)) as client:
            before = client.info("stats")["total_net_output_bytes"]
            loop.status()
            return client.info("stats")["total_net_output_bytes"] - before
    steps = 0

    def step():
        nonlocal steps
        steps += 1

    reader = journal_of(loop)._reader
    reader.set_progress_handler(step, 1)
    loop.status()
    reader.set_progress_handler(None, 1)
    return steps


def add_letters(home, loop):
    if isinstance(home, RedisFolder):
        with Redis(unix_socket_path=str(home.server.socket)) as client:
            key = journal_of(loop)._store.key("dead_letters")
            for _ in range(MANY // 1000):
                client.rpush(key, *[f'[{number}, 1, "bad"]' for number in range(1000)])
    else:
        with contextlib.closing(sqlite3.connect(home / "loop.db")) as db, db:
            db.executemany("INSERT INTO dead_letter VALUES (?, 1, 'bad')", [(number,) for number in range(MANY)])


@pytest.mark.usefixtures("home")
def test_status_does_not_read_them(home):
    with open_loop(home, learn=False) as loop:
        few = effort_of_status(home, loop)
        add_letters(home, loop)
        assert effort_of_status(home, loop) < few + 100 * (1 + 10 * isinstance(home, RedisFolder))
        assert loop.status().dead_letters == MANY
        assert len(loop.dead_letters(newest=20)) == 20


def test_letters_of_a_checkpoint_that_found_no_room_are_in_the_next_one(tmp_path):
    clock = Clock()

    with open_loop(tmp_path, aggregation="sum", wait="1s", clock=clock, checkpoint_every="1h") as loop:
        spoil(loop, clock, "e1")
        loop.decide({f"column {number}": 1 for number in range(500)}, event_id="large")
        db = journal_of(loop)._db
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(JournalFull):
            loop.checkpoint()
        assert [one.position for one in loop.dead_letters()] == [2]
        db.execute("PRAGMA max_page_count = 1000000")
        spoil(loop, clock, "e2")
        loop.checkpoint()
        letters = loop.dead_letters()
        assert [one.position for one in letters] == [2, 7]
        assert loop.status().dead_letters == 2
    with journal_at(tmp_path / "loop.db") as journal:
        assert journal.dead_letters() == letters
    reference.check(tmp_path / "loop.db")
