"""Locks that keep a journal's files in their place, whoever else in this process opens and closes them.

SQLite's own locks are POSIX locks. They end when any handle of the file is closed in the process that holds them: a
hash, an upload or a copy is enough. The next process that closes the journal then believes to be the last one, and
deletes the write-ahead log that others still write to; the next one that opens it truncates the `-shm` file under them.

Locks of an open file description end with that description alone. So this holds such locks on the bytes that SQLite's
own shared locks are on, and every SQLite respects them. Whoever reads the journal keeps checkpoints away meanwhile:
they would move newer pages under it, or let others use the log's space again. Writers take one more, which SQLite does
not know of, because reading the `-shm` file drops the lock that a commit holds there.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import struct
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

from vw_fastcb.loop.journal import JournalRefused, LoopError

_log = logging.getLogger("vw_fastcb.loop")

_SHARED = (0x40000002, 510)  # the bytes of the file that whoever has it open locks, for reading
_WRITING = (0x40000200, 1)  # the first byte behind those that SQLite locks: ours
_INDEX = (128, 1)  # the byte of the `-shm` file that whoever has it open locks, for reading
_CHECKPOINT = (121, 1)  # its byte that whoever moves the log into the file locks, for writing
_WAL_MODE = b"\x02\x02"  # in the file's header
_PATIENCE = 30.0  # seconds
_NAMED = 2.0  # seconds that an opening may take until its index is locked, too
_SET_OFD: int | None = getattr(fcntl, "F_OFD_SETLK", None)
_GET_OFD: int | None = getattr(fcntl, "F_OFD_GETLK", None)


def check_name(path: Path) -> None:
    """Refuses a file that is open under another of its names: the write-ahead log is beside that one.

    Whoever opened it here would not see what is in the log, and write another one. Both would acknowledge records, and
    only those of one would stay. Whoever opens it with its log locks the file first, and then the index of that name.
    """
    end = time.monotonic() + _NAMED
    while path.stat().st_nlink > 1 and _is_locked(path, _SHARED) and not _is_locked(Path(f"{path}-shm"), _INDEX):
        if time.monotonic() > end:
            raise JournalRefused(
                f"{str(path)!r} is open under another name, a hard link, and what is newest is beside that one; open "
                "it by that name."
            )
        time.sleep(0.005)


class Guard:
    """The locks of one journal in this process, shared by all that have it open here.

    They share the handles, too: to close one drops SQLite's locks, so that waits until nobody needs them.
    """

    _all: ClassVar[weakref.WeakValueDictionary[tuple[int, int], Guard]] = weakref.WeakValueDictionary()
    _choosing = threading.Lock()

    @classmethod
    def of(cls, path: Path) -> Guard:
        """The guard of a file."""
        found = path.stat()
        key = (found.st_dev, found.st_ino)
        with cls._choosing:
            guard = cls._all.get(key)
            if guard is None:
                guard = cls._all[key] = cls(key)
        return guard

    def __init__(self, key: tuple[int, int]) -> None:
        self._key = key
        self._start()

    def _start(self) -> None:
        self._users = 0
        self._readers = 0
        self._path = Path()
        self._file: int | None = None
        self._index: int | None = None
        self._is_held = False
        self._changing, self._writing, self._reading = threading.Lock(), threading.Lock(), threading.Lock()

    @classmethod
    def forget_all(cls) -> None:
        """In a fork: the locks are those of the parent, and so are the threads that had them."""
        cls._choosing = threading.Lock()
        for guard in list(cls._all.values()):
            guard._close_handles()
            guard._start()
        cls._all.clear()

    def enter(self, path: Path) -> None:
        """Before SQLite opens the file: from now on nobody deletes its write-ahead log.

        Args:
            path: Where it is now; it may have been renamed since it was last open.
        """
        with self._changing:
            if self._users == 0:
                self._path = path
                try:
                    self._hold_file()
                except BaseException:
                    self._close_handles()
                    raise
            self._users += 1

    def hold_index(self) -> None:
        """After SQLite has read the file: from now on nobody truncates the `-shm` file."""
        with self._changing:
            if self._is_held and self._index is None:
                with contextlib.suppress(FileNotFoundError):
                    self._index = os.open(f"{self._path}-shm", os.O_RDONLY | os.O_CLOEXEC)
                    self._wait_for(self._index, _INDEX)

    def leave(self, close: Callable[[], None] = lambda: None) -> None:
        """Lets SQLite close the file; if nobody else in this process has it open, as the last one if it is.

        Args:
            close: Closes it.
        """
        with self._changing:
            self._users -= 1
            try:
                if self._users == 0:
                    self._release()
                close()
            finally:
                if self._users == 0:
                    with self._reading:  # a copy may still be made
                        self._close_handles()

    @contextlib.contextmanager
    def entered(self, path: Path) -> Iterator[None]:
        """Holds the locks for a block."""
        self.enter(path)
        try:
            yield
        finally:
            self.leave()

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """While this lasts, nothing of what a transaction reads that begins in it is written over.

        Pages that are in the log stay there, and those of the file stay as they are.
        """
        self._begin_reading()
        try:
            yield
        finally:
            self._end_reading()

    def _begin_reading(self) -> None:
        with self._reading:
            if self._readers == 0 and self._index is not None:
                self._wait_for(self._index, _CHECKPOINT)
            self._readers += 1

    def _end_reading(self) -> None:
        with self._reading:
            self._readers -= 1
            if self._readers == 0 and self._index is not None:
                _set(self._index, fcntl.F_UNLCK, _CHECKPOINT)

    def take_turn(self) -> bool:
        """Whether this thread may write now. Nobody waits here."""
        if not self._writing.acquire(blocking=False):
            return False
        if not self._is_held or self._file is None or _set(self._file, fcntl.F_WRLCK, _WRITING):
            return True
        self._writing.release()
        return False

    def end_turn(self) -> None:
        """Lets others write."""
        try:
            if self._is_held and self._file is not None:
                _set(self._file, fcntl.F_UNLCK, _WRITING)
        finally:
            self._writing.release()

    def _hold_file(self) -> None:
        self._file = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        found = os.fstat(self._file)
        if (found.st_dev, found.st_ino) != self._key:
            raise JournalRefused(f"{str(self._path)!r} was replaced by somebody while it was opened; open it again.")
        # In another mode SQLite's writers need the bytes for themselves.
        if os.pread(self._file, 2, 18) == _WAL_MODE and _can_hold(self._file):
            self._wait_for(self._file, _SHARED)
            self._is_held = True

    def _wait_for(self, handle: int, where: tuple[int, int]) -> None:
        """Whoever closes the file as the last one has it for itself, for a moment."""
        end = time.monotonic() + _PATIENCE
        while not _set(handle, fcntl.F_RDLCK, where):
            if time.monotonic() > end:
                raise LoopError(f"{str(self._path)!r} was locked by another program for {_PATIENCE:.0f} s.")
            time.sleep(0.001)

    def _release(self) -> None:
        """Gives SQLite its own locks back, which may have been dropped, and ends ours: a fork may have them, too."""
        if self._is_held:
            for handle, where in ((self._index, _INDEX), (self._file, _SHARED)):
                if handle is not None:
                    fcntl.fcntl(handle, fcntl.F_SETLK, _lock(fcntl.F_RDLCK, where))
                    _set(handle, fcntl.F_UNLCK, where)
            self._is_held = False

    def _close_handles(self) -> None:
        for handle in (self._index, self._file):
            if handle is not None:
                os.close(handle)
        self._file = self._index = None
        self._is_held = False


def _lock(kind: int, where: tuple[int, int]) -> bytes:
    return struct.pack("hhqqi0q", kind, os.SEEK_SET, *where, 0)


def _set(handle: int, kind: int, where: tuple[int, int]) -> bool:
    """Whether nobody else has what the lock excludes."""
    assert _SET_OFD is not None
    try:
        fcntl.fcntl(handle, _SET_OFD, _lock(kind, where))
    except OSError as problem:
        if problem.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def _is_locked(path: Path, where: tuple[int, int]) -> bool:
    """Whether anybody has it open, this process included."""
    if _GET_OFD is None:
        return False
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        found = fcntl.fcntl(handle, _GET_OFD, _lock(fcntl.F_WRLCK, where))
    except OSError:  # this file system has none
        return False
    finally:
        os.close(handle)
    return bool(struct.unpack_from("h", found)[0] != fcntl.F_UNLCK)


def _can_hold(handle: int) -> bool:
    """Whether the system and the file system have such locks."""
    reason = "this system has none"
    if _SET_OFD is not None:
        try:
            _set(handle, fcntl.F_UNLCK, _WRITING)
        except OSError as problem:
            reason = str(problem)
        else:
            return True
    _log.warning("there are no locks of open files here (%s); no process may read its own journal", reason)
    return False
