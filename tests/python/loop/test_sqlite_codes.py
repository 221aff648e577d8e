"""What SQLite's errors mean is known by their words, too, which is all that Python 3.10 tells."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from vw_fastcb.loop.sqlite_codes import Code, code_in_text, code_of


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "db", timeout=0, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT UNIQUE)")
        yield connection


def busy(db: sqlite3.Connection, folder: Path) -> None:
    with closing(sqlite3.connect(folder / "db", timeout=0)) as other:
        db.execute("BEGIN IMMEDIATE")
        other.execute("BEGIN IMMEDIATE")


def locked(db: sqlite3.Connection, folder: Path) -> None:
    db.executemany("INSERT INTO t (x) VALUES (?)", [("a",), ("b",)])
    rows = db.execute("SELECT * FROM t")
    rows.fetchone()
    db.execute("DROP TABLE t")


def full(db: sqlite3.Connection, folder: Path) -> None:
    db.execute("PRAGMA max_page_count = 4")
    db.execute("INSERT INTO t (x) VALUES (hex(zeroblob(100000)))")


def corrupt(db: sqlite3.Connection, folder: Path) -> None:
    db.execute("INSERT INTO t (x) VALUES (hex(zeroblob(10000)))")
    content = bytearray((folder / "db").read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    (folder / "bad").write_bytes(content)
    with closing(sqlite3.connect(folder / "bad")) as bad:
        bad.execute("SELECT * FROM t").fetchall()


def not_a_database(db: sqlite3.Connection, folder: Path) -> None:
    (folder / "text").write_text("no database " * 100)
    with closing(sqlite3.connect(folder / "text")) as text:
        text.execute("SELECT * FROM t")


def read_only(db: sqlite3.Connection, folder: Path) -> None:
    with closing(sqlite3.connect(f"file:{folder / 'db'}?mode=ro", uri=True)) as other:
        other.execute("INSERT INTO t (x) VALUES ('a')")


def cannot_open(db: sqlite3.Connection, folder: Path) -> None:
    sqlite3.connect(folder / "nowhere" / "db").execute("SELECT 1")


def statements(*texts: str) -> Callable[[sqlite3.Connection, Path], None]:
    def run(db: sqlite3.Connection, folder: Path) -> None:
        for text in texts:
            db.execute(text)

    return run


FAILURES = {
    Code.BUSY: busy,
    Code.LOCKED: locked,
    Code.FULL: full,
    Code.CORRUPT: corrupt,
    Code.NOTADB: not_a_database,
    Code.READONLY: read_only,
    Code.CANTOPEN: cannot_open,
    Code.TOOBIG: statements("SELECT zeroblob(3000000000)"),
    Code.CONSTRAINT: statements("INSERT INTO t (x) VALUES ('a')", "INSERT INTO t (x) VALUES ('a')"),
    Code.MISMATCH: statements("INSERT INTO t (id) VALUES ('no number')"),
    Code.ERROR: statements("SELECT * FROM nothing"),
}


@pytest.mark.parametrize(("code", "fail"), FAILURES.items())
def test_a_code_is_known_by_the_words_of_its_error(
    code: Code, fail: Callable[[sqlite3.Connection, Path], None], db: sqlite3.Connection, tmp_path: Path
) -> None:
    with pytest.raises(sqlite3.Error) as caught:
        fail(db, tmp_path)
    assert code_of(caught.value) == code
    assert code_in_text(caught.value) == code


def test_what_is_not_sqlites_own_error_has_no_code(db: sqlite3.Connection) -> None:
    db.close()
    with pytest.raises(sqlite3.ProgrammingError) as caught:
        db.execute("SELECT 1")
    assert code_of(caught.value) == code_in_text(caught.value) == 0
