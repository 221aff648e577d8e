"""Production-style streaming learning: decide, log the probability, join late rewards, learn, go on after a crash.

`Loop` is what users see. Inside, from the bottom up: `records` and `join` are the pure part (which outcome each
decision learns, and when); `learner` adds the model; `journal` says what is needed of a store, `sqlite` and `redis` are
two; `worker` is one process's part in a loop.
"""

from vw_fastcb.loop.answers import LoopDecision, Status
from vw_fastcb.loop.join import Counts
from vw_fastcb.loop.journal import (
    Checkpoint,
    ClockDiffers,
    Conflict,
    DeadLetter,
    Fenced,
    JournalFailed,
    JournalFull,
    JournalRefused,
    JournalUnreachable,
    LoopError,
    SettingsDiffer,
    UnknownEvent,
    UnknownGeneration,
)
from vw_fastcb.loop.loop import Loop

__all__ = [
    "Checkpoint",
    "ClockDiffers",
    "Conflict",
    "Counts",
    "DeadLetter",
    "Fenced",
    "JournalFailed",
    "JournalFull",
    "JournalRefused",
    "JournalUnreachable",
    "Loop",
    "LoopDecision",
    "LoopError",
    "SettingsDiffer",
    "Status",
    "UnknownEvent",
    "UnknownGeneration",
]
