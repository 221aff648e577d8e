"""Predictions of VW for a log, event by event, each made before the event is learned.

The native program reads the events from a pipe and writes its predictions to another, so it works while the next batch
is read. VW predicts an event before it learns it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.evaluation.logs import Batch

_Floats = NDArray[np.float64]

_WAITING = 4  # batches before a process, so that it never waits for the reader of the log
_PIECE = 1 << 20  # bytes that a pipe holds
_PAUSE = 0.005  # seconds
_AS_SPACES = bytes.maketrans(b":,\n", b"   ")


class VwFailed(RuntimeError):
    """VW has ended before its time."""


class VwProcess:
    """A running `vw-fastcb`.

    Args:
        words: Its flags, without those about input and output.
        as_lines: What it reads of a batch.
        take: Called, in a thread of its own, with each batch and the numbers that VW gave for all actions.
        is_adf: Whether it gives an empty line after each event.
    """

    def __init__(
        self,
        words: Sequence[str],
        as_lines: Callable[[Batch], bytes],
        take: Callable[[Batch, _Floats], None],
        *,
        is_adf: bool = True,
    ) -> None:
        self._as_lines, self._take = as_lines, take
        self._ends_per_event = 2 if is_adf else 1
        self._problem: BaseException | None = None
        self._given: queue.SimpleQueue[Batch] = queue.SimpleQueue()
        self._waiting: queue.Queue[bytes | None] = queue.Queue(_WAITING)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115, closed with the process
        self._process = subprocess.Popen(
            [*_program(), *words, "-p", "/dev/stdout", "--quiet", "--log_output", "stderr"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,  # Ctrl-C is ours to handle
        )
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):  # where the system does not allow as much
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIECE)
        self._threads = [threading.Thread(target=one, daemon=True) for one in (self._write, self._read)]
        for thread in self._threads:
            thread.start()

    def give(self, batch: Batch) -> None:
        """Hands over a batch; waits where VW is behind."""
        self._given.put(batch)
        content = self._as_lines(batch)
        while self._problem is None:
            try:
                self._waiting.put(content, timeout=0.2)
            except queue.Full:
                continue
            return
        self._raise()

    def finish(self) -> None:
        """Waits until everything was predicted; raises where VW has failed."""
        while self._problem is None:
            try:
                self._waiting.put(None, timeout=0.2)
                break
            except queue.Full:
                continue
        for thread in self._threads:
            thread.join()
        code = self._process.wait()
        if self._problem is not None or code or not self._given.empty():
            self._raise()
        self.close()

    def close(self) -> None:
        """Ends the process, whatever it does."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # nobody reads it any more
                    pipe.close()
        self._errors.close()

    def _raise(self) -> None:
        """Says why it has failed, in VW's words where it has said something."""
        self._process.wait()
        self._errors.seek(0)
        said = [line for line in self._errors.read().decode(errors="replace").splitlines() if line.strip()]
        problem = self._problem
        self.close()
        if said:
            words = said[-1].split("): ", 1)[-1].removeprefix("[critical] ").strip()
            raise VwFailed(f"VW says: {words}") from problem
        raise VwFailed(f"VW gave up without a word ({problem or 'too few predictions'}).") from problem

    def _write(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        try:
            while (content := self._waiting.get()) is not None:
                pipe.write(content)
            pipe.close()
        except OSError as problem:
            self._problem = problem

    def _read(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        try:
            text = bytearray()
            ends = 0  # of lines in the text
            wanted: Batch | None = None
            while piece := os.read(pipe.fileno(), _PIECE):
                if (
                    len(piece) < _PIECE // 8
                ):  # VW writes every prediction for itself; to wake for each takes all the time
                    time.sleep(_PAUSE)
                text += piece
                ends += piece.count(b"\n")
                while True:
                    if wanted is None and not self._given.empty():
                        wanted = self._given.get()
                    needed = 0 if wanted is None else len(wanted) * self._ends_per_event
                    if wanted is None or ends < needed:
                        break
                    stop = _place_of_end(text, needed) + 1
                    self._take(wanted, _numbers(wanted, bytes(text[:stop])))
                    del text[:stop]
                    ends -= needed
                    wanted = None
            if wanted is not None:
                raise VwFailed("too few predictions")
        except Exception as problem:
            self._problem = self._problem or problem
            self._process.kill()


def _place_of_end(text: bytearray, count: int) -> int:
    """Where a line ends, the lines being counted from 1."""
    return int(np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))[count - 1])


def _numbers(batch: Batch, text: bytes) -> _Floats:
    """What VW has said of each action (`2:0.7,0:0.3`), in the order of the log."""
    pairs = np.fromstring(text.translate(_AS_SPACES), sep=" ").reshape(-1, 2)
    if len(pairs) != batch.first[-1]:
        raise VwFailed(f"VW gave {len(pairs)} numbers for {batch.first[-1]} actions")
    owners = np.repeat(batch.first[:-1], np.diff(batch.first))
    found = np.empty(len(pairs))
    found[owners + pairs[:, 0].astype(np.int64)] = pairs[:, 1]
    return found


def _program() -> list[str]:
    """The native program, or the same through Python."""
    native = shutil.which("vw-fastcb", path=sysconfig.get_path("scripts")) or shutil.which("vw-fastcb")
    return [native] if native else [sys.executable, "-m", "vw_fastcb"]
