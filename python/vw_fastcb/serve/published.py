"""The model of the newest checkpoint, read from the journal: whoever decides does not wait for those who look at it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from weakref import WeakValueDictionary

from vw_fastcb.loop import Loop
from vw_fastcb.loop.loop import journal_of, published_model

_PIECE = 262_144  # bytes that are sent at once


class Published:
    """A model that a checkpoint keeps.

    Attributes:
        generation: Of the checkpoint; 0 before the first one, when the model is that of the moment.
        content: Its bytes.
    """

    def __init__(self, generation: int, content: bytes) -> None:
        self.generation = generation
        self.content = content

    def pieces(self) -> Iterator[bytes]:
        """The bytes, not all at once: what a slow client has not read stays shared with the others."""
        view = memoryview(self.content)
        for start in range(0, len(view), _PIECE):
            yield bytes(view[start : start + _PIECE])


class PublishedModels:
    """Reads the newest model, once for all who want it at the same time.

    Args:
        loop: The loop.
    """

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._lock = threading.Lock()  # one reads, and the others take what it has read
        self._kept: WeakValueDictionary[int, Published] = WeakValueDictionary()

    def newest(self) -> Published:
        """The newest one."""
        with self._lock:
            kept = self._kept.get(journal_of(self._loop).newest_generation())
            if kept is not None:
                return kept
            generation, content = published_model(self._loop)
            model = Published(generation, content)
            if generation:
                self._kept[generation] = model
            return model
