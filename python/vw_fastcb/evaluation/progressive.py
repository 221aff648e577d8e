"""Predictions of VW for a log, event by event, each made before the event is learned.

The engine works in a thread of its own, without the interpreter's lock, while the next batch is read.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from vw_fastcb import _engine
from vw_fastcb.engine.workspace import Workspace
from vw_fastcb.evaluation.logs import Batch

_Floats = NDArray[np.float64]

_WAITING = 4  # batches before the engine, so that it never waits for the reader of the log


class VwFailed(RuntimeError):
    """VW has refused the flags or an event."""


class Progressive:
    """A workspace that predicts and learns.

    Args:
        words: Its flags, without those about input and output.
        as_lines: What it reads of a batch.
        take: Called, in the engine's thread, with each batch and what VW said of all its actions.
    """

    def __init__(
        self, words: Sequence[str], as_lines: Callable[[Batch], bytes], take: Callable[[Batch, _Floats], None]
    ) -> None:
        try:
            self._vw = Workspace(arg_list=[*words, "--quiet", "--no_stdin"])
        except RuntimeError as problem:
            raise VwFailed(f"VW says: {problem}") from problem
        self._as_lines, self._take = as_lines, take
        self._problem: Exception | None = None
        self._waiting: queue.Queue[Batch | None] = queue.Queue(_WAITING)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def give(self, batch: Batch) -> None:
        """Hands over a batch; waits where VW is behind, and raises where it has failed."""
        self._waiting.put(batch)
        self._raise()

    def finish(self) -> None:
        """Waits until everything was predicted; raises where VW has failed."""
        self._waiting.put(None)
        self._thread.join()
        self._raise()

    def close(self) -> None:
        """Ends it, finished or not."""
        if self._problem is None:
            self._problem = VwFailed("closed")  # what still waits is passed over
        if self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join()
        self._vw.finish()

    def _raise(self) -> None:
        if self._problem is not None:
            raise self._problem

    def _run(self) -> None:
        while (batch := self._waiting.get()) is not None:
            if self._problem is None:
                try:
                    self._take(batch, self._numbers(batch))
                except Exception as problem:
                    self._problem = problem

    def _numbers(self, batch: Batch) -> _Floats:
        try:
            found = _engine.learn_lines(self._vw, self._as_lines(batch))
        except RuntimeError as problem:
            raise VwFailed(f"VW says: {str(problem).removeprefix('bad event: ')}") from problem
        if len(found) != batch.first[-1]:
            raise VwFailed(f"VW gave {len(found)} numbers for {batch.first[-1]} actions.")
        return found
