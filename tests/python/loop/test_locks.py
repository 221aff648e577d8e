"""What reading a journal's files does to it: nothing."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys

import pytest

from loop.storm import Storm, check, files, read_all
from loop.support import open_loop
from vw_fastcb import Loop
from vw_fastcb.loop.loop import journal_of

_VISIT = "import sys; from vw_fastcb import Loop; Loop.open(sys.argv[1], learn=False).close()"
_STOCK = "import sys, sqlite3; db = sqlite3.connect(sys.argv[1]); db.execute('SELECT * FROM lease').fetchall()"
_SHELLS = [
    [sys.executable, "-c", _VISIT],
    [sys.executable, "-c", _STOCK],
    pytest.param(["sqlite3"], marks=pytest.mark.skipif(not shutil.which("sqlite3"), reason="needs the sqlite3 shell")),
]


@pytest.mark.parametrize("visitor", _SHELLS, ids=["loop", "python", "sqlite3"])
def test_whoever_closes_a_journal_beside_one_that_was_read_takes_nothing_away(tmp_path, visitor):
    """POSIX locks end when any handle of the file is closed in the process that holds them."""
    path = tmp_path / "loop.db"
    with open_loop(tmp_path) as loop:
        loop.decide({}, event_id="before")
        read_all(path)
        queries = ["SELECT count(*) FROM record"] if visitor == ["sqlite3"] else []
        log = [one.stat().st_ino for one in files(path)]
        subprocess.run([*visitor, str(path), *queries], check=True, capture_output=True, timeout=60)
        assert [one.stat().st_ino for one in files(path)] == log
        loop.decide({}, event_id="after")
        assert loop.status().problems == ()
    assert not any(one.exists() for one in files(path)[1:])  # whoever closes last puts everything into one file
    check(path, {"before", "after"})


def test_the_locks_leave_stock_sqlite_what_it_needs(tmp_path):
    path = tmp_path / "loop.db"
    with open_loop(tmp_path) as loop:
        loop.decide({}, event_id="before")
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("VACUUM")
            with pytest.raises(sqlite3.OperationalError, match="locked"):  # it would take the log away
                db.execute("PRAGMA journal_mode = DELETE")
        loop.decide({}, event_id="after")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        assert db.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
    with open_loop(tmp_path) as loop:  # writers need the file for themselves now
        loop.decide({}, event_id="last")
    check(path, {"before", "after", "last"})


def test_two_loops_of_one_process_share_the_handles_of_their_file(tmp_path):
    """To close one would drop the locks of the other."""
    path = tmp_path / "loop.db"
    with open_loop(tmp_path) as loop:
        handles = []
        for number in range(3):
            with Loop.open(path, learn=False) as other:
                other.decide({}, event_id=f"other-{number}")
            subprocess.run([sys.executable, "-c", _STOCK, path], check=True)
            loop.decide({}, event_id=f"first-{number}")
            handles.append(len(os.listdir("/proc/self/fd")))
        assert loop.status().problems == ()
        assert len(set(handles)) == 1
    check(path, {f"{who}-{number}" for who in ("first", "other") for number in range(3)})


def test_a_journal_that_was_renamed_is_opened_where_it_is(tmp_path):
    with open_loop(tmp_path) as loop:
        loop.decide({}, event_id="before")
        journal = journal_of(loop)  # somebody may still have it
    (tmp_path / "loop.db").rename(tmp_path / "other.db")
    with Loop.open(tmp_path / "other.db") as loop:
        loop.decide({}, event_id="after")
    assert str(journal) == str(tmp_path / "loop.db")
    check(tmp_path / "other.db", {"before", "after"})


@pytest.mark.parametrize("kills", [1, pytest.param(100, marks=pytest.mark.slow)])
def test_everything_that_was_acknowledged_outlives_readers_shells_openers_and_kills(tmp_path, kills):
    path = tmp_path / "loop.db"
    open_loop(tmp_path).close()
    storm = Storm(path)
    acknowledged = storm.blow(kills)
    assert storm.problems == []
    assert storm.kills >= kills
    assert len(acknowledged) > 100
    check(path, acknowledged)
