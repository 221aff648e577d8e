"""Learns logs of a decision service (dsjson) exactly once into a model of VW, also while the logs grow.

How far the logs are read, the model's bytes and the ids of the events are committed together, in one SQLite file beside
the model. A process that is killed at any moment goes on from the last commit, and ends with the same model.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from vw_fastcb.engine.flags import Flags
from vw_fastcb.engine.workspace import Workspace
from vw_fastcb.interrupts import no_interrupt
from vw_fastcb.learner.settings import FLAGS_OF_NEW_MODELS
from vw_fastcb.loop.files import new_file
from vw_fastcb.loop.journal import LoopError
from vw_fastcb.loop.sqlite_codes import Code, code_of

ENDINGS = (".dsjson", ".json")  # of the files that are taken from folders

_DOOR = ("--cb_explore_adf", "--fastcb", "--dsjson", "--quiet", "--no_stdin")
_NOT_OURS = {
    **dict.fromkeys(("data", "cache", "cache_file", "kill_cache"), "name the logs instead"),
    **dict.fromkeys(("final_regressor", "save_per_pass"), "give --model instead"),
    **dict.fromkeys(("initial_regressor",), "give --start-from instead"),
    **dict.fromkeys(("predictions", "raw_predictions"), "lines would be predicted twice"),
    **dict.fromkeys(("passes", "testonly"), "every line is learned once"),
    **dict.fromkeys(("json", "chain_hash_json", "daemon", "port"), "the logs are dsjson files"),
}
_APPLICATION = 0x4643424C  # "FCBL", in the file's header
_SCHEMA = 1
_TABLES = """
CREATE TABLE state (
  flags TEXT NOT NULL, origin TEXT NOT NULL, counts TEXT NOT NULL, sha256 TEXT NOT NULL, before TEXT NOT NULL
);
CREATE TABLE model (bytes BLOB NOT NULL);
CREATE TABLE file (
  path TEXT PRIMARY KEY, bytes INTEGER NOT NULL, lines INTEGER NOT NULL, start TEXT NOT NULL, stop TEXT NOT NULL
);
CREATE TABLE learned (id BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE bad_line (path TEXT NOT NULL, line INTEGER NOT NULL, reason TEXT NOT NULL);
"""
_PIECE = 1 << 20  # bytes read at once
_COMPARED = 4096  # bytes at the start of a file, and at the end of what was read, that must stay as they are
_MOST_BAD_LINES = 1000  # that are kept, with their reasons


class LogRefused(LoopError):
    """A log, a model or a state that cannot be gone on with."""


class BadLine(LoopError):
    """A line that cannot be learned, where that is to be the end."""


@dataclass
class LogCounts:
    """What has become of the lines.

    Attributes:
        lines: Lines read.
        learned: Events learned.
        duplicates: Lines with the id of an event that was learned before.
        unlabelled: Lines without an outcome.
        skipped: Lines that say `_skipLearn`.
        bad: Lines that could not be learned.
        blank: Lines with nothing in them.
    """

    lines: int = 0
    learned: int = 0
    duplicates: int = 0
    unlabelled: int = 0
    skipped: int = 0
    bad: int = 0
    blank: int = 0


@dataclass
class _File:
    """How far a file is read."""

    bytes: int = 0
    lines: int = 0
    start: str = ""  # a hash of its first bytes
    stop: str = ""  # a hash of the last bytes that were read
    changed: bool = False  # since the last commit
    seen: tuple[int, int, int] | None = None  # size, time and number of the file that was compared last


class LogLearner:
    """A model, and the logs that it has learned.

    Args:
        model: The file of the model; the state is beside it.
        flags: Flags of VW for a new model. None goes on with those it has.
        start_from: A model to begin with.
        commit_every: Seconds between two commits.
        stops_at_bad_lines: Whether a line that cannot be learned is the end.

    Attributes:
        counts: What has become of all lines so far.
        sha256: Of the committed model.
        at_start: The counts when it was opened.
        new_bad_lines: The first lines since then that could not be learned: file, line and reason.
        is_whole: False once it was interrupted amid a line. The model has then perhaps learned what the state does not
            say, so that it can only be closed: whoever opens it again goes on from the last commit.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        flags: str | None = None,
        start_from: str | os.PathLike[str] | None = None,
        commit_every: float = 5.0,
        stops_at_bad_lines: bool = False,
    ) -> None:
        self.model = Path(model)
        if self.model.is_dir():
            raise IsADirectoryError(f"{str(self.model)!r} is a folder; expected the name of a file for the model.")
        self.state = self.model.with_name(f"{self.model.name}.state")
        self._draft = self.model.with_name(f"{self.model.name}.new")  # always the same: killed processes leave theirs
        self._words = None if flags is None else _checked_flags(flags)
        self._commit_every = commit_every
        self._stops = stops_at_bad_lines
        self._pause = commit_every
        self._learned: set[bytes] = set()  # since the last commit
        self._bad: list[tuple[str, int, str]] = []  # since the last commit
        self._files: dict[str, _File] = {}
        self.new_bad_lines: list[tuple[str, int, str]] = []
        self.is_whole = True
        self.counts = LogCounts()
        self.sha256 = ""
        self._vw: Any = None
        self._db = self._opened(start_from)
        try:
            self._restore()
        except BaseException:
            self._db.close()
            raise
        self._draft.unlink(missing_ok=True)
        self.at_start = LogCounts(**asdict(self.counts))
        self._committed_at = time.monotonic()

    def __enter__(self) -> LogLearner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Learning

    def learn(
        self,
        logs: Sequence[str | os.PathLike[str]],
        stop: threading.Event,
        watch: Callable[[], None] = lambda: None,
        *,
        missing_ok: bool = False,
    ) -> int:
        """Learns what is new in files, and in the files of folders, in the order of their names.

        Args:
            logs: Files and folders.
            stop: Set where it is to end before the next line.
            watch: Called now and then.
            missing_ok: Whether files may not be there yet, or not any more.

        Returns:
            How many lines were new. They are committed by the next `commit`, if they are not yet.

        Raises:
            LogRefused: A file is shorter than what was read of it, or begins in another way, and nothing was learned;
                or the learner was interrupted amid a line.
            BadLine: A line cannot be learned, and that is to be the end. All lines before it were learned.
        """
        self._check_whole()
        before = self.counts.lines
        for path in [path for path in files_of(logs, missing_ok=missing_ok) if self._has_news(path)]:
            self._learn_file(path, stop, watch)
        return self.counts.lines - before

    def commit(self) -> None:
        """Makes everything that was learned durable, as a whole or not at all, and writes the model's file.

        Ctrl-C waits until that is done.

        Raises:
            LogRefused: The state cannot be written, or the learner was interrupted amid a line.
        """
        self._check_whole()
        with no_interrupt():
            self._commit()

    def _commit(self) -> None:
        changed = {path: one for path, one in self._files.items() if one.changed}
        if not changed and self.sha256:
            return
        began = time.monotonic()
        with new_file(self.model, self._draft) as draft:
            self._vw.save(str(draft))
            content = draft.read_bytes()
            digest = _sha256(content)
            for path, one in changed.items():
                with contextlib.suppress(FileNotFoundError):  # removed once it was read
                    one.start, one.stop = _hashes(Path(path), one.bytes)
            with self._transaction():
                self._db.execute("DELETE FROM model")
                self._db.execute("INSERT INTO model VALUES (?)", (content,))
                row = (json.dumps(asdict(self.counts)), digest, self.sha256)
                self._db.execute("UPDATE state SET counts = ?, sha256 = ?, before = ?", row)
                rows = [(path, one.bytes, one.lines, one.start, one.stop) for path, one in changed.items()]
                self._db.executemany("INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?)", rows)
                self._db.executemany("INSERT OR IGNORE INTO learned VALUES (?)", [(one,) for one in self._learned])
                self._db.executemany("INSERT INTO bad_line VALUES (?, ?, ?)", self._bad)
        self.sha256 = digest
        for one in changed.values():
            one.changed = False
        self._learned.clear()
        self._bad.clear()
        self._committed_at = time.monotonic()
        # A large model takes long to save: most of the time is to be spent on learning.
        self._pause = max(self._commit_every, 10 * (self._committed_at - began))

    def commit_if_due(self) -> None:
        """A commit, where the last one was long ago."""
        if time.monotonic() - self._committed_at > self._pause:
            self.commit()

    def bad_lines(self) -> list[tuple[str, int, str]]:
        """The first lines ever that could not be learned: file, line and reason."""
        return [*self._db.execute("SELECT path, line, reason FROM bad_line ORDER BY rowid"), *self._bad]

    def unfinished(self) -> list[tuple[str, int]]:
        """The files whose last line has no end yet, and its bytes so far."""
        found = []
        for path, one in self._files.items():
            with contextlib.suppress(OSError):
                left = os.stat(path).st_size - one.bytes
                was_read = next(_lines(Path(path), one.bytes), None) is None  # else it was stopped before the end
                if left > 0 and was_read:
                    found.append((path, left))
        return found

    @property
    def n_files(self) -> int:
        """How many files were read, at least in part."""
        return len(self._files)

    def close(self) -> None:
        """Ends without a commit."""
        self._vw.finish()
        self._db.close()

    def _check_whole(self) -> None:
        if not self.is_whole:
            raise LogRefused(
                f"learning into {str(self.model)!r} was interrupted amid a line; open it again to go on from the last "
                "commit."
            )

    # Lines

    def _learn_file(self, path: Path, stop: threading.Event, watch: Callable[[], None]) -> None:
        key = str(path.resolve())
        one = self._files.get(key, _File())
        for line in _lines(path, one.bytes):
            if stop.is_set():
                return
            self.is_whole = False  # a second Ctrl-C may come anywhere from here on
            try:
                self._learn_line(key, one.lines + 1, line)
            except BadLine:
                self.is_whole = True  # nothing of it was learned
                raise
            one.bytes += len(line)
            one.lines += 1
            one.changed = True
            self._files[key] = one
            self.counts.lines += 1
            self.is_whole = True
            if self.counts.lines % 256 == 0:
                watch()
                self.commit_if_due()

    def _learn_line(self, path: str, number: int, line: bytes) -> None:
        if not line.strip():
            self.counts.blank += 1
            return
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").removesuffix("\n")
            event = _parsed(text)
            label = _label_of(event)
            name = _id_of(event)
            if label == "learned" and name is not None and self._is_known(name):
                self.counts.duplicates += 1
                return
            self._vw.learn(text)
        except (RuntimeError, ValueError) as problem:
            reason = _reason(problem)
            if self._stops:
                raise BadLine(f"{path}, line {number}: {reason}") from problem
            self.counts.bad += 1
            if self.counts.bad <= _MOST_BAD_LINES:
                self._bad.append((path, number, reason))
            if len(self.new_bad_lines) < _MOST_BAD_LINES:
                self.new_bad_lines.append((path, number, reason))
            return
        setattr(self.counts, label, getattr(self.counts, label) + 1)
        if label == "learned" and name is not None:
            self._learned.add(name)

    def _is_known(self, name: bytes) -> bool:
        if name in self._learned:
            return True
        return self._db.execute("SELECT 1 FROM learned WHERE id = ?", (name,)).fetchone() is not None

    def _has_news(self, path: Path) -> bool:
        """Whether there is more than was read. Refuses a file that is not the one that was read before."""
        one = self._files.get(str(path.resolve()))
        try:
            status = path.stat()
            if one is None:
                return status.st_size > 0
            seen = (status.st_size, status.st_mtime_ns, status.st_ino)
            if seen != one.seen:
                self._compare(path, one, status.st_size)
                one.seen = seen
        except FileNotFoundError:
            return False  # removed since it was listed
        return status.st_size > one.bytes

    def _compare(self, path: Path, one: _File, size: int) -> None:
        advice = "Give every log a name of its own, and let it only grow."
        if size < one.bytes:
            raise LogRefused(
                f"{str(path)!r} has {size} bytes, and {one.bytes} bytes of it were learned before; expected a file "
                f"that grows. {advice}"
            )
        if not one.changed and (one.start, one.stop) != _hashes(path, one.bytes):
            raise LogRefused(
                f"{str(path)!r} is a different file than before: of the {one.bytes} bytes that were learned some have "
                f"changed; expected the same and more. {advice}"
            )

    # The state

    def _opened(self, start_from: str | os.PathLike[str] | None) -> sqlite3.Connection:
        folder = self.model.parent
        if not folder.is_dir():
            raise FileNotFoundError(f"there is no folder {str(folder)!r} for the model; make it first.")
        first = None if start_from is None else Path(start_from)
        initial = self._checked_beginning(first) if self._is_to_begin() else None
        # One process at a time: the lock is held until the end. Nobody ever removes the file: another process may have
        # it open, and would write to what nobody finds again. An empty one is begun by whoever comes next.
        db = sqlite3.connect(self.state, timeout=0.5, isolation_level=None)
        try:
            with _explained(self.state):
                db.execute("PRAGMA locking_mode = EXCLUSIVE")
                db.execute("PRAGMA synchronous = FULL")
                db.execute("BEGIN EXCLUSIVE")
                self._prepare(db, first, initial)
                db.execute("COMMIT")
        except BaseException:
            db.close()
            raise
        return db

    def _is_to_begin(self) -> bool:
        return not self.state.exists() or self.state.stat().st_size == 0

    def _prepare(self, db: sqlite3.Connection, start_from: Path | None, initial: bytes | None) -> None:
        """Makes the tables in a new file; refuses a foreign one."""
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            self._begin(db, self._checked_beginning(start_from) if initial is None else initial)
            return
        if db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise LogRefused(f"{str(self.state)!r} is not the state of a model; give --model another name.")
        if db.execute("PRAGMA user_version").fetchone()[0] > _SCHEMA:
            raise LogRefused(f"{str(self.state)!r} is from a newer version of vw-fastcb; use that.")
        if start_from is not None and start_from.exists() and not self._is_model(start_from):
            (origin,) = db.execute("SELECT origin FROM state").fetchone()
            if _sha256(start_from.read_bytes()) != origin:
                raise LogRefused(
                    f"{str(self.model)!r} goes on, and was not begun with {str(start_from)!r}; leave --start-from out, "
                    "or give --model another name."
                )

    def _checked_beginning(self, start_from: Path | None) -> bytes:
        """The model to begin with, nothing for an empty one. Raises, before there is a file, where it cannot be."""
        if self.model.exists() and not (start_from is not None and self._is_model(start_from)):
            raise LogRefused(
                f"{str(self.model)!r} is there, but not {str(self.state)!r}, which says what it has learned. Give "
                f"--model another name; to begin with this model, add --start-from {self.model}."
            )
        initial = b"" if start_from is None else _read_model(start_from)
        _workspace(self._words or [], start_from).finish()  # raises where the engine refuses the flags
        return initial

    def _begin(self, db: sqlite3.Connection, initial: bytes) -> None:
        for statement in _TABLES.split(";"):
            db.execute(statement)
        digest = _sha256(initial) if initial else ""
        row = (json.dumps(self._words or []), digest, json.dumps(asdict(LogCounts())), digest, "")
        db.execute("INSERT INTO state VALUES (?, ?, ?, ?, ?)", row)
        db.execute("INSERT INTO model VALUES (?)", (initial,))
        db.execute(f"PRAGMA application_id = {_APPLICATION}")
        db.execute(f"PRAGMA user_version = {_SCHEMA}")

    def _is_model(self, path: Path) -> bool:
        return path.resolve() == self.model.resolve()

    def _restore(self) -> None:
        flags, counts, self.sha256, before = self._db.execute(
            "SELECT flags, counts, sha256, before FROM state"
        ).fetchone()
        kept = json.loads(flags)
        if self._words is not None and self._words != kept:
            raise LogRefused(
                f"the flags are {shlex.join(self._words)!r}, and {str(self.model)!r} was begun with "
                f"{shlex.join(kept)!r}; expected the same, or no --flags."
            )
        self.counts = LogCounts(**json.loads(counts))
        for path, size, lines, start, stop in self._db.execute("SELECT path, bytes, lines, start, stop FROM file"):
            self._files[path] = _File(size, lines, start, stop)
        self._place_model(before)
        self._vw = _workspace(kept, self.model if self.sha256 else None)

    def _place_model(self, before: str) -> None:
        """Writes the committed model where a crash came before that."""
        there = _sha256(self.model.read_bytes()) if self.model.exists() else ""
        if there == self.sha256:
            return
        if there and there != before:
            raise LogRefused(
                f"{str(self.model)!r} was changed by something else since {str(self.state)!r} was written; put the "
                "model back, remove it (it is then written again), or give --model another name."
            )
        if self.sha256:
            (content,) = self._db.execute("SELECT bytes FROM model").fetchone()
            with new_file(self.model, self._draft) as draft:
                draft.write_bytes(content)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with _explained(self.state):
            self._db.execute("BEGIN")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise


def files_of(logs: Sequence[str | os.PathLike[str]], *, missing_ok: bool = False) -> list[Path]:
    """The files among logs and in folders, each once, in the order of their names."""
    found: list[Path] = []
    for log in map(Path, logs):
        if log.is_dir():
            found += [path for path in log.rglob("*") if _is_log(path, log)]
        elif log.is_file():
            found.append(log)
        elif log.exists():
            raise LogRefused(f"{str(log)!r} is not a regular file; expected a log, or a folder of logs.")
        elif not missing_ok:
            raise FileNotFoundError(f"there is no log {str(log)!r}.")
    return list({path.resolve(): path for path in sorted(found, key=str)}.values())


def _is_log(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    return path.suffix.lower() in ENDINGS and not hidden and path.is_file()


def _lines(path: Path, start: int) -> Iterator[bytes]:
    """The lines from a place on, with their ends. One without an end is still being written."""
    rest: list[bytes] = []
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:  # which may be removed once it was listed
        file.seek(start)
        while piece := file.read(_PIECE):
            *whole, last = piece.split(b"\n")
            for line in whole:
                yield b"".join((*rest, line, b"\n"))
                rest.clear()
            rest.append(last)


def _hashes(path: Path, size: int) -> tuple[str, str]:
    """Of the first bytes of a file, and of the last of its first `size` bytes."""
    length = min(size, _COMPARED)
    with path.open("rb") as file:
        start = file.read(length)
        file.seek(size - length)
        stop = file.read(length)
    return _sha256(start), _sha256(stop)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _parsed(text: str) -> dict[str, Any]:
    """The event; empty where the engine is to say what is wrong with it."""
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}


def _label_of(event: dict[str, Any]) -> str:
    """What a line counts as if nothing is wrong with it."""
    if event.get("_skipLearn") is True:
        return "skipped"
    return "learned" if "_label_cost" in event else "unlabelled"


def _id_of(event: dict[str, Any]) -> bytes | None:
    """A hash of the event's id: ids may be long, and there are many."""
    name = event.get("EventId")
    if not isinstance(name, (str, int)) or name == "":
        return None
    return hashlib.blake2b(str(name).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _reason(problem: Exception) -> str:
    if isinstance(problem, UnicodeDecodeError):
        return f"it is not UTF-8 text ({problem.reason} at byte {problem.start})."
    return str(problem).removeprefix("bad event: ")


def _checked_flags(flags: str) -> list[str]:
    try:
        given = Flags.read(flags)
    except ValueError as problem:
        raise ValueError(f"the flags are {flags!r}; expected flags of VW ({problem}).") from problem
    for flag in given.flags:
        if flag.name in _NOT_OURS:
            raise ValueError(f"the flags have {flag.dashed}; leave it out: {_NOT_OURS[flag.name]}.")
    return [*given.without(Flags.read(_DOOR).names), *given.others]


def _workspace(flags: list[str], model: Path | None) -> Workspace:
    """A new model, or one that goes on."""
    if model is None:
        return Workspace(arg_list=[*_DOOR, *flags])
    loading = ("-i", str(model), "--preserve_performance_counters")
    return Workspace(arg_list=[*_DOOR, *Flags.read(flags).without(FLAGS_OF_NEW_MODELS), *loading])


def _read_model(path: Path) -> bytes:
    if not path.is_file():
        raise FileNotFoundError(f"there is no model {str(path)!r} to begin with.")
    content = path.read_bytes()
    if not content:
        raise LogRefused(f"{str(path)!r} is empty; expected a model to begin with.")
    return content


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """SQLite's errors in words that say what to do."""
    try:
        yield
    except sqlite3.Error as problem:
        code = code_of(problem)
        if code in (Code.BUSY, Code.LOCKED):
            said = f"another process learns into this model: {str(path)!r} is locked. Wait for it, or stop it."
        elif code in (Code.NOTADB, Code.CORRUPT):
            said = f"{str(path)!r} is damaged, or not the state of a model ({problem}). Give --model another name."
        elif code == Code.FULL:
            said = f"there is no room for {str(path)!r}; what was learned since the last commit is not kept. Make room."
        else:
            said = f"{str(path)!r} cannot be written ({problem})."
        raise LogRefused(said) from problem
