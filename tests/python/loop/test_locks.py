"""What reading a journal's files does to it: nothing."""

import contextlib
import fcntl
import functools
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import threading

import pytest

from loop.storm import Storm, check, files, read_all
from loop.support import open_loop
from vw_fastcb import Loop
from vw_fastcb.loop import guard
from vw_fastcb.loop.guard import Guard
from vw_fastcb.loop.journal import JournalRefused
from vw_fastcb.loop.loop import journal_of

# Where SQLite locks, as it documents: whoever has a file open for reading, and whoever has its index open.
SHARED = (0x40000000 + 2, 510)
INDEX = (120 + 8, 1)
CHECKPOINT = (120 + 1, 1)  # of the index: whoever moves the log into the file
WRITING = (0x40000000 + 2 + 510, 1)  # ours, right behind

_VISIT = "import sys; from vw_fastcb import Loop; Loop.open(sys.argv[1], learn=False).close()"
_STOCK = "import sys, sqlite3; db = sqlite3.connect(sys.argv[1]); db.execute('SELECT * FROM lease').fetchall()"
_FILL_AND_CHECKPOINT = """
import sys
from vw_fastcb import Loop
from vw_fastcb.loop.loop import journal_of
with Loop.open(sys.argv[1]) as loop:
    for number in range(50):
        loop.decide({"text": "x" * 5000}, event_id=f"other-{number}")
    print(journal_of(loop)._is_log_emptied())
"""
_WHICH_ARE_REFUSED = """
import errno, fcntl, os, struct, sys
for name, start, length in zip(sys.argv[1::3], sys.argv[2::3], sys.argv[3::3]):
    handle = os.open(name, os.O_RDWR)
    try:
        asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, int(start), int(length), 0)
        fcntl.fcntl(handle, fcntl.F_SETLK, asked)
        print("taken")
    except OSError as problem:
        print(errno.errorcode[problem.errno])
"""
_DIES_AFTER_A_FORK = """
import os, pathlib, signal, sys
from vw_fastcb.loop import sqlite
guard = sqlite.Guard.of(pathlib.Path(sys.argv[1]))
guard.enter(pathlib.Path(sys.argv[1]))
if os.fork() == 0:
    print("forked", flush=True)
    sys.stdin.read()
    os._exit(0)
os.kill(os.getpid(), signal.SIGKILL)
"""
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
        assert read_all(path) == 3
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
    with open_loop(tmp_path) as loop:
        loop.decide({}, event_id="last")
    check(path, {"before", "after", "last"})


@pytest.mark.parametrize("here", [True, False], ids=["this process", "another process"])
def test_a_journal_that_is_open_is_refused_under_another_name(tmp_path, here):
    """Its log is beside the first name. The other one had its own, and what one of them acknowledged was lost."""
    path, other = tmp_path / "loop.db", tmp_path / "other.db"
    with open_loop(tmp_path) as loop:
        loop.decide({}, event_id="before")
        os.link(path, other)
        if here:
            with pytest.raises(JournalRefused, match="open under another name"):
                Loop.open(other)
        else:
            command = [sys.executable, "-c", _VISIT, other]
            refused = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
            assert "is open under another name, a hard link" in refused.stderr
            subprocess.run([sys.executable, "-c", _VISIT, path], check=True, timeout=60)
        Loop.open(path, learn=False).close()
        loop.decide({}, event_id="after")
        assert loop.status().problems == ()
    assert {one.name for one in tmp_path.iterdir()} == {"loop.db", "other.db"}
    with Loop.open(other) as loop:  # nobody has it open any more
        loop.decide({}, event_id="last")
    check(path, {"before", "after", "last"})


_WRITES_BESIDE_OTHERS = """
import sys, time
from vw_fastcb import Loop
path, name = sys.argv[1:]
with Loop.open(path) as loop:
    print("open", flush=True)
    for number in range(20):
        loop.decide({}, event_id=f"{name}-{number}")
        time.sleep(0.002)
    sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["PRAGMA journal_mode = DELETE", "VACUUM INTO"])
def test_a_journal_that_lost_its_write_ahead_log_has_one_again_and_all_can_write(tmp_path, how):
    """In SQLite's other modes processes that have it open keep each other out, and were refused."""
    path = tmp_path / "loop.db"
    with open_loop(tmp_path) as loop:
        loop.decide({}, event_id="before")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        if how == "VACUUM INTO":
            db.execute("VACUUM INTO ?", [str(tmp_path / "copy.db")])
            path = tmp_path / "copy.db"
        else:
            db.execute(how)
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    command = [sys.executable, "-c", _WRITES_BESIDE_OTHERS, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    writers = [subprocess.Popen([*command, f"w{number}"], **pipes) for number in range(3)]
    assert [writer.stdout.readline() for writer in writers] == ["open\n"] * 3
    assert read_all(path) == 3
    for writer in writers:
        writer.communicate("end\n", timeout=60)
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    check(path, {"before", *(f"w{writer}-{number}" for writer in range(3) for number in range(20))})


def test_a_reader_that_keeps_a_journal_from_having_its_log_is_waited_for(tmp_path):
    path = tmp_path / "loop.db"
    with open_loop(tmp_path) as loop:
        loop.decide({}, event_id="before")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM record").fetchone()
        timer = threading.Timer(0.3, db.execute, ["COMMIT"])
        timer.start()
        with open_loop(tmp_path) as loop:
            assert not timer.is_alive()
            loop.decide({}, event_id="after")
        timer.join()
    check(path, {"before", "after"})


def handles_of(name):
    """How many this process has."""
    count = 0
    for handle in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # other threads open and close some, too
            count += os.readlink(f"/proc/self/fd/{handle}") == name
    return count


def test_two_loops_of_one_process_share_the_handles_of_their_file(tmp_path):
    """To close one would drop the locks of the other."""
    path = tmp_path / "loop.db"
    with open_loop(tmp_path) as loop:
        handles = []
        for number in range(3):
            with Loop.open(path, learn=False) as other:
                other.decide({}, event_id=f"other-{number}")
                assert handles_of(f"{path}-shm") == 2  # SQLite's, and ours
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


# Which locks there are, asked for as another program would. That opens and closes the file, which drops SQLite's own.


def refuses(path, kind, where):
    """Whether a lock is refused, because somebody has one that excludes it."""
    handle = os.open(path, os.O_RDWR)
    try:
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, struct.pack("hhqqi0q", kind, os.SEEK_SET, *where, 0))
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(handle)


def are_held(path):
    """Whether SQLite can neither take the log away nor truncate its index, and anybody may still read."""
    index = path.with_name(f"{path.name}-shm")
    for _ in range(2):  # the first one may meet SQLite's own locks, and drops them
        found = {refuses(path, fcntl.F_WRLCK, SHARED), refuses(index, fcntl.F_WRLCK, INDEX)}
    assert not refuses(path, fcntl.F_RDLCK, SHARED)
    assert not refuses(index, fcntl.F_RDLCK, INDEX)
    return found == {True}


def test_the_locks_are_on_the_bytes_that_sqlite_asks_for_whatever_a_loop_does(tmp_path):
    path = tmp_path / "loop.db"
    with open_loop(tmp_path) as loop:
        assert are_held(path)
        loop.decide({}, event_id="e1")
        assert are_held(path)
        loop.checkpoint()
        assert are_held(path)
        loop._worker.empty_log()
        assert are_held(path)
        with Loop.open(path, learn=False) as other:
            other.decide({}, event_id="e2")
        assert are_held(path)
        loop.copy_to(tmp_path / "copy.db")
        assert are_held(path)
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        assert are_held(path)
        loop.decide({}, event_id="e3")
        assert are_held(path)
    assert not refuses(path, fcntl.F_WRLCK, SHARED)
    with open_loop(tmp_path):
        assert are_held(path)  # once more in the same process
    check(path, {"e1", "e2", "e3"})


def test_what_is_read_stays_although_the_index_is_read_meanwhile(tmp_path):
    """SQLite's lock of a snapshot is dropped then, and a checkpoint would move newer pages under it."""
    path = tmp_path / "loop.db"
    with open_loop(tmp_path) as loop:
        loop.decide({"text": "y" * 5000}, event_id="before")
    with open_loop(tmp_path, learn=False) as loop:
        journal = journal_of(loop)
        fill = [sys.executable, "-c", _FILL_AND_CHECKPOINT, path]
        with journal._read() as db:
            db.execute("BEGIN")
            seen = db.execute("SELECT count(*), max(position) FROM record").fetchone()
            assert read_all(path) == 3
            assert subprocess.run(fill, check=True, capture_output=True, text=True).stdout == "False\n"
            assert db.execute("SELECT count(*), max(position) FROM record").fetchone() == seen
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            db.execute("COMMIT")
        assert journal.last()[0] >= seen[1] + 50
        # Nothing is held up once it has been read.
        assert subprocess.run(fill, check=True, capture_output=True, text=True).stdout == "True\n"


def test_of_several_readers_the_last_one_lets_checkpoints_go_on(tmp_path):
    index = tmp_path / "loop.db-shm"
    with open_loop(tmp_path) as loop:
        loop.decide({}, event_id="e1")
        journal = journal_of(loop)
        with journal._snapshot():
            with journal._snapshot():
                assert refuses(index, fcntl.F_WRLCK, CHECKPOINT)
            loop._worker._stopping.set()  # its own reads take the lock as well
            loop._worker._upkeep.join()
            assert refuses(index, fcntl.F_WRLCK, CHECKPOINT)
        assert not refuses(index, fcntl.F_WRLCK, CHECKPOINT)


def test_a_copy_is_one_moment_although_the_index_is_read_meanwhile(tmp_path, monkeypatch):
    path = tmp_path / "loop.db"
    index = tmp_path / "loop.db-shm"
    found = []
    with open_loop(tmp_path) as loop:
        loop.decide({}, event_id="before")

        class Watched(sqlite3.Connection):
            def backup(self, target):
                read_all(path)
                found.append(refuses(index, fcntl.F_WRLCK, CHECKPOINT))
                super().backup(target)

        monkeypatch.setattr(sqlite3, "connect", functools.partial(sqlite3.connect, factory=Watched))
        loop.copy_to(tmp_path / "copy.db")
        list(journal_of(loop).decisions_by_state(2))
        assert not refuses(index, fcntl.F_WRLCK, CHECKPOINT)
    assert found == [True]


def test_a_fork_neither_ends_the_locks_nor_keeps_them(tmp_path):
    path = tmp_path / "loop.db"
    open_loop(tmp_path).close()
    with Guard.of(path).entered(path):  # as a thread has them that opens a journal, while another one forks
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        assert refuses(path, fcntl.F_WRLCK, SHARED)
    assert not refuses(path, fcntl.F_WRLCK, SHARED)
    with subprocess.Popen(
        [sys.executable, "-c", _DIES_AFTER_A_FORK, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"forked\n"
        assert process.wait() == -signal.SIGKILL
        try:
            assert not refuses(path, fcntl.F_WRLCK, SHARED)
        finally:
            process.stdin.close()  # which ends the fork


def test_sqlite_has_its_own_locks_again_while_it_closes_the_file(tmp_path, monkeypatch):
    """Ours end before, so that it finds out whether it is the last one; it may not seem to be gone already."""
    path = tmp_path / "loop.db"
    said = []
    with open_loop(tmp_path) as loop:
        assert read_all(path) == 3
        journal = journal_of(loop)
        close = journal._close_connections

        def watched():
            asked = [path, *SHARED, f"{path}-shm", *INDEX]
            command = [sys.executable, "-c", _WHICH_ARE_REFUSED, *map(str, asked)]
            said.append(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
            close()

        monkeypatch.setattr(journal, "_close_connections", watched)
    assert said == [["EAGAIN", "EAGAIN"]]
    assert not any(one.exists() for one in files(path)[1:])


@pytest.mark.parametrize("kind", [fcntl.F_RDLCK, fcntl.F_WRLCK])
def test_one_process_writes_at_a_time_although_their_locks_of_the_index_were_dropped(tmp_path, kind):
    path = tmp_path / "loop.db"
    with open_loop(tmp_path, learn=False) as loop, path.open("r+b") as other:
        fcntl.fcntl(other, fcntl.F_OFD_SETLK, struct.pack("hhqqi0q", kind, os.SEEK_SET, *WRITING, 0))
        assert not journal_of(loop).is_free(None)
        assert not journal_of(loop)._is_log_emptied()
        asking = threading.Thread(target=lambda: loop.decide({}, event_id="e1"))
        asking.start()
        asking.join(0.3)
        assert journal_of(loop).last()[0] == 1
        fcntl.fcntl(other, fcntl.F_OFD_SETLK, struct.pack("hhqqi0q", fcntl.F_UNLCK, os.SEEK_SET, *WRITING, 0))
        asking.join()
        assert journal_of(loop).last()[0] == 2
        assert not refuses(path, fcntl.F_WRLCK, WRITING)
    check(path, {"e1"})


@pytest.mark.parametrize(("missing", "said"), [(None, "this system"), (9999, "Invalid argument")])
def test_without_locks_of_open_files_a_loop_says_so_and_works(tmp_path, monkeypatch, caplog, missing, said):
    monkeypatch.setattr(guard, "_SET_OFD", missing)  # the kernel refuses a command that it does not know
    with open_loop(tmp_path) as loop:
        loop.decide({}, event_id="e1")
    (warning,) = caplog.messages
    assert "no process may read its own journal" in warning
    assert said in warning
    check(tmp_path / "loop.db", {"e1"})


@pytest.mark.parametrize("kills", [1, pytest.param(100, marks=pytest.mark.slow)])
def test_everything_that_was_acknowledged_outlives_readers_shells_openers_and_kills(tmp_path, kills):
    path = tmp_path / "loop.db"
    open_loop(tmp_path).close()
    storm = Storm(path)
    acknowledged = storm.blow(kills)
    assert storm.problems == []
    assert storm.kills >= kills
    assert len(acknowledged) > 100
    assert len(storm.visits) >= 4
    check(path, acknowledged, rewarded=acknowledged)
