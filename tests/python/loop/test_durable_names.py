"""What outlives a power cut: names, once their folder is synced, and commits, which SQLite is told to sync each.

Both happen before anybody is told of them.
"""

import os
import stat
from pathlib import Path

import pytest

from loop.cli import told
from loop.support import open_loop
from support import events, write
from vw_fastcb.loop.loop import journal_of


class Names:
    """Names that were given in a folder, and not synced since. Everything really happens."""

    def __init__(self, folder, monkeypatch):
        self.given = []
        self.unsynced = set()
        self._folder = folder.stat().st_ino
        self._contents = set()  # the files that were synced
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self._synced)
        for name in ("link", "replace", "rename"):
            monkeypatch.setattr(os, name, self._noting(getattr(os, name)))

    def _noting(self, give):
        def noted(source, name, **more):
            assert Path(source).stat().st_ino in self._contents or Path(source).read_bytes()[:6] == b"SQLite"
            give(source, name, **more)
            self.given.append(Path(name).name)
            self.unsynced.add(Path(name).name)

        return noted

    def _synced(self, handle):
        self._fsync(handle)
        found = os.fstat(handle)
        if stat.S_ISDIR(found.st_mode):
            if found.st_ino == self._folder:
                self.unsynced.clear()
        else:
            self._contents.add(found.st_ino)


@pytest.fixture
def names(tmp_path, monkeypatch):
    return Names(tmp_path, monkeypatch)


def check(names, *given):
    assert names.given == list(given)
    assert names.unsynced == set()


def test_of_a_new_journal(tmp_path, names):
    with open_loop(tmp_path):
        check(names, "loop.db")


def test_of_a_copy(tmp_path, names):
    with open_loop(tmp_path) as loop:
        loop.copy_to(tmp_path / "copy.db")
        check(names, "loop.db", "copy.db")


def test_of_what_is_exported_and_imported(tmp_path, names):
    with open_loop(tmp_path) as loop:
        loop.decide({"a": 1}, event_id="e1")
        loop.reward("e1", 1)
    told("export", tmp_path / "loop.db", "--parquet", tmp_path / "t.parquet")
    check(names, "loop.db", "t.parquet")
    names.given.clear()
    told("import", tmp_path / "again.db", "--parquet", tmp_path / "t.parquet")
    assert names.given[-1] == "again.db"
    assert names.unsynced == set()


def test_of_the_model_and_the_state_of_a_log_that_is_learned(tmp_path, names):
    log = write(tmp_path / "log.dsjson", [f"{one.dsjson()}\n" for one in events(3)])
    told("learn", log, "--model", tmp_path / "m.vw")
    assert "m.vw" in names.given
    assert names.unsynced == set()


@pytest.mark.parametrize("learns", [True, False])
def test_every_commit_is_synced_and_what_is_gone_is_wiped(tmp_path, learns):
    with open_loop(tmp_path, learn=learns) as loop:
        journal = journal_of(loop)
        for db in (journal._db, journal._reader):
            settings = ("journal_mode", "synchronous", "secure_delete")
            assert [db.execute(f"PRAGMA {one}").fetchone()[0] for one in settings] == ["wal", 2, 1]
        assert bool(journal._db.execute("PRAGMA wal_autocheckpoint").fetchone()[0]) == learns
