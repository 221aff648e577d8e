"""Predictions of VW for a log, event by event, each made before the event is learned.

The native program reads the events from a pipe while the next batch is read from the log, and predicts each of them
before it learns it. Its predictions go through a temporary file, because VW writes each of them for itself: a pipe
would wake its reader for every one, which takes longer than learning.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import IO

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.evaluation.logs import Batch

_Floats = NDArray[np.float64]

_WAITING = 4  # batches before VW, so that it never waits for the reader of the log
_PIPE = 1 << 20  # bytes that the pipe holds
_PIECE = 1 << 20  # bytes of predictions that are read at once
_PAUSE = 0.01  # seconds between two looks at the predictions
_AS_SPACES = bytes.maketrans(b":,\n", b"   ")


class VwFailed(RuntimeError):
    """VW has refused the flags or an event."""


class Progressive:
    """A running `vw-fastcb` that predicts and learns.

    Args:
        words: Its flags, without those about input and output.
        as_lines: What it reads of a batch.
        take: Called, in a thread of its own, with each batch and what VW said of all its actions.
        is_adf: Whether VW ends a prediction with an empty line.
    """

    def __init__(
        self,
        words: Sequence[str],
        as_lines: Callable[[Batch], bytes],
        take: Callable[[Batch, _Floats], None],
        *,
        is_adf: bool = True,
    ) -> None:
        self._as_lines, self._take, self._is_adf = as_lines, take, is_adf
        self._ends_per_event = 2 if is_adf else 1
        self._is_at_line_start = True  # of the predictions that were read
        self._problem: Exception | None = None
        self._waiting: queue.Queue[Batch | None] = queue.Queue(_WAITING)
        self._given: queue.SimpleQueue[Batch] = queue.SimpleQueue()  # and not predicted yet
        self._folder = tempfile.TemporaryDirectory(prefix="fastcb-evaluate-")
        self._predictions = open(os.path.join(self._folder.name, "predictions"), "w+b", buffering=0)  # noqa: SIM115
        self._errors = open(os.path.join(self._folder.name, "errors"), "w+b")  # noqa: SIM115
        self._process = subprocess.Popen(
            [*_program(), "-p", self._predictions.name, "--quiet", "--log_output", "stderr", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            start_new_session=True,  # Ctrl-C is ours to handle
        )
        self._threads = [threading.Thread(target=one, daemon=True) for one in (self._write, self._read)]
        for thread in self._threads:
            thread.start()

    def give(self, batch: Batch) -> None:
        """Hands over a batch; waits where VW is behind, and raises where it has failed."""
        self._put(batch)
        self._raise()

    def finish(self) -> None:
        """Waits until everything was predicted; raises where VW has failed."""
        self._put(None)
        self._release_writer()
        for thread in self._threads:
            thread.join()
        self._raise()

    def close(self) -> None:
        """Ends it, finished or not."""
        self._problem = self._problem or VwFailed("closed")
        self._process.kill()
        self._process.wait()
        self._release_writer()
        for thread in self._threads:
            thread.join()
        for file in (self._process.stdin, self._predictions, self._errors):
            with contextlib.suppress(OSError):  # nobody reads it any more
                assert file is not None
                file.close()
        self._folder.cleanup()

    def _put(self, batch: Batch | None) -> None:
        while self._problem is None:
            with contextlib.suppress(queue.Full):
                self._waiting.put(batch, timeout=0.2)
                return

    def _release_writer(self) -> None:
        """Where VW has failed, nothing more is put, and the thread that writes may be waiting for it."""
        if self._problem is not None:
            with contextlib.suppress(queue.Full):  # then it does not wait
                self._waiting.put_nowait(None)

    def _raise(self) -> None:
        if self._problem is not None:
            raise self._problem

    # In threads of their own

    def _write(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        with contextlib.suppress(OSError):  # where the system does not allow as much
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE)
        try:
            while self._problem is None and (batch := self._waiting.get()) is not None:
                self._given.put(batch)
                pipe.write(self._as_lines(batch))
            pipe.close()
        except OSError:  # VW has ended; its reason is found where predictions are missed
            return
        except Exception as problem:  # the log cannot be written for VW
            self._problem = self._problem or problem
            self._process.kill()

    def _read(self) -> None:
        try:
            for batch, text in self._batches():
                self._take(batch, _numbers(batch, text, is_adf=self._is_adf))
            if self._process.wait() or not self._given.empty():
                raise VwFailed(_words(self._errors))
        except Exception as problem:
            self._problem = self._problem or problem
            self._process.kill()

    def _pieces(self) -> Iterator[bytes]:
        """What VW has written since the last look.

        Of fixed actions each event has one line. Most reductions of VW print an empty one after it; `--fastcb` does
        not.
        """
        while piece := self._predictions.read(_PIECE):
            if not self._is_adf:
                lines = re.sub(rb"\n+", b"\n", piece)
                piece = lines.removeprefix(b"\n") if self._is_at_line_start else lines
                self._is_at_line_start = not piece or piece.endswith(b"\n")
            yield piece

    def _batches(self) -> Iterator[tuple[Batch, bytes]]:
        """Each batch with its predictions."""
        text, ends = bytearray(), 0  # what was read and not used, and how many lines end in it
        batch: Batch | None = None
        is_over = False
        while not is_over:
            is_over = self._process.poll() is not None  # asked before the last look at the file
            for piece in self._pieces():
                text += piece
                ends += piece.count(b"\n")
                while batch is not None or not self._given.empty():
                    batch = batch or self._given.get()
                    needed = len(batch) * self._ends_per_event
                    if ends < needed:
                        break
                    stop = _place_of_end(text, needed) + 1
                    yield batch, bytes(text[:stop])
                    del text[:stop]
                    ends -= needed
                    batch = None
            if not is_over:
                time.sleep(_PAUSE)
        if batch is not None:
            raise VwFailed(_words(self._errors))


def _place_of_end(text: bytearray, count: int) -> int:
    """Where a line ends, the lines being counted from 1."""
    return int(np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))[count - 1])


def _numbers(batch: Batch, text: bytes, *, is_adf: bool) -> _Floats:
    """What VW has said of each action (`2:0.7,0:0.3`), in the order of the log. Fixed actions cannot be left out."""
    pairs = np.fromstring(text.translate(_AS_SPACES), sep=" ").reshape(-1, 2)
    is_whole = batch.excluded is None or not is_adf
    allowed = np.ones(batch.first[-1], dtype=bool) if is_whole else ~batch.excluded  # type: ignore[operator]
    first = np.concatenate([[0], np.cumsum(allowed)])[batch.first]  # where the allowed actions of each event begin
    if len(pairs) != first[-1]:
        raise VwFailed(f"VW gave {len(pairs)} numbers for {first[-1]} actions.")
    owners = np.repeat(first[:-1], np.diff(first))
    told = np.empty(len(pairs))
    told[owners + pairs[:, 0].astype(np.int64)] = pairs[:, 1]
    found = np.zeros(len(allowed))
    found[allowed] = told
    return found


def _words(errors: IO[bytes]) -> str:
    """Why VW has ended, in its own words."""
    errors.seek(0)
    said = [line for line in errors.read().decode(errors="replace").splitlines() if line.strip()]
    if not said:
        return "VW has ended without a word, before all events were predicted."
    return f"VW says: {said[-1].split('): ', 1)[-1].removeprefix('vw-fastcb: ').strip()}"


def _program() -> list[str]:
    """The native program, or the same through Python."""
    native = shutil.which("vw-fastcb", path=sysconfig.get_path("scripts")) or shutil.which("vw-fastcb")
    return [native] if native else [sys.executable, "-m", "vw_fastcb"]
