"""How good a policy would have been, told from the log of another: estimates, and intervals that say how sure they are.

>>> import numpy as np
>>> from vw_fastcb import evaluation
>>> rng = np.random.default_rng(1)
>>> actions = rng.integers(2, size=10_000)  # a log of uniform choices
>>> rewards = (rng.random(10_000) < np.where(actions == 1, 0.3, 0.2)).astype(float)
>>> always_1 = np.tile([0.0, 1.0], (10_000, 1))
>>> found = evaluation.ips(rewards, np.full((10_000, 2), 0.5), always_1, actions)
>>> print(f"{found.value:.3f}, surely from {found.interval.low:.3f} to {found.interval.high:.3f}")
0.301, surely from 0.274 to 0.333
"""

from vw_fastcb.evaluation.anytime import WEIGHT_BOUNDS, AnytimeInterval, mass_beyond
from vw_fastcb.evaluation.arrays import dr, ips, replay, snips
from vw_fastcb.evaluation.doubly_robust import DoublyRobustTally
from vw_fastcb.evaluation.results import Estimate, Interval
from vw_fastcb.evaluation.tally import Tally

__all__ = [
    "WEIGHT_BOUNDS",
    "AnytimeInterval",
    "DoublyRobustTally",
    "Estimate",
    "Interval",
    "Tally",
    "dr",
    "ips",
    "mass_beyond",
    "replay",
    "snips",
]
