"""How good a policy would have been, told from the log of another: estimates, and intervals that say how sure they are.

>>> import numpy as np
>>> from vw_fastcb import evaluation
>>> rng = np.random.default_rng(1)
>>> actions = rng.integers(2, size=10_000)  # a log of uniform choices
>>> rewards = (rng.random(10_000) < np.where(actions == 1, 0.3, 0.2)).astype(float)
>>> always_1 = np.tile([0.0, 1.0], (10_000, 1))
>>> found = evaluation.ips(rewards, np.full((10_000, 2), 0.5), always_1, actions)
>>> print(f"{found.value:.3f}, 95% interval {found.interval.low:.3f} to {found.interval.high:.3f}")
0.301, 95% interval 0.274 to 0.333
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from vw_fastcb.evaluation.anytime import WEIGHT_BOUNDS, AnytimeInterval, mass_beyond
from vw_fastcb.evaluation.arrays import dr, ips, replay, snips
from vw_fastcb.evaluation.doubly_robust import DoublyRobustTally
from vw_fastcb.evaluation.results import Estimate, Interval
from vw_fastcb.evaluation.tally import Tally

if _TYPE_CHECKING:
    from vw_fastcb.evaluation.checks import Checked, Finding, check
    from vw_fastcb.evaluation.judging import Judged, evaluate
    from vw_fastcb.evaluation.logs import Batch, FrameLog, LogError, open_log

__all__ = [
    "WEIGHT_BOUNDS",
    "AnytimeInterval",
    "Batch",
    "Checked",
    "DoublyRobustTally",
    "Estimate",
    "Finding",
    "FrameLog",
    "Interval",
    "Judged",
    "LogError",
    "Tally",
    "check",
    "dr",
    "evaluate",
    "ips",
    "mass_beyond",
    "open_log",
    "replay",
    "snips",
]

# What reads logs needs the extra `evaluate`; estimates from arrays do not.
_OF_LOGS = {
    **dict.fromkeys(("Checked", "Finding", "check"), "checks"),
    **dict.fromkeys(("Judged", "evaluate"), "judging"),
    **dict.fromkeys(("Batch", "FrameLog", "LogError", "open_log"), "logs"),
}


def __getattr__(name: str) -> _Any:
    if name not in _OF_LOGS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(_importlib.import_module(f"vw_fastcb.evaluation.{_OF_LOGS[name]}"), name)
    except ModuleNotFoundError as problem:
        if problem.name != "msgspec":
            raise
        raise ModuleNotFoundError(
            f"{name} needs msgspec, which is not installed. To get it: pip install 'vw-fastcb[evaluate]'.",
            name="msgspec",
        ) from problem


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
