"""The bandit game on data whose every cost is known."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vw_fastcb import _engine
from vw_fastcb.cores import usable_cores
from vw_fastcb.learner.decision import Simulation
from vw_fastcb.learner.events import Events
from vw_fastcb.learner.model import Model
from vw_fastcb.learner.parameters import is_whole


def threads_for(n_jobs: int | None, runs: int) -> int:
    """How many threads; as in joblib, None is one and -1 is all cores."""
    if n_jobs is None:
        return 1
    if not is_whole(n_jobs) or n_jobs == 0:
        raise ValueError(f"n_jobs is {n_jobs!r}; expected a whole number other than 0: -1 is all cores.")
    return max(1, min(runs, n_jobs if n_jobs > 0 else usable_cores() + 1 + n_jobs))


def play(
    learner: Model,
    first: _engine.ArrayLearner,
    events: Events,
    costs: NDArray[np.float32],
    *,
    n_shuffles: int | None,
    seed: int,
    n_jobs: int | None,
) -> Simulation:
    """Plays every run with an engine of its own, the first run with one that has learned nothing yet.

    The order and the draws of a run depend on the seed and on its number.
    """
    runs = 1 if n_shuffles is None else n_shuffles
    if not is_whole(runs) or runs < 1:
        raise ValueError(f"n_shuffles is {n_shuffles!r}; expected a whole number, 1 or larger, or None.")
    if not is_whole(seed) or seed < 0:
        raise ValueError(f"seed is {seed!r}; expected a whole number, 0 or larger.")

    def run(number: int) -> tuple[NDArray[Any], ...]:
        generator = np.random.default_rng([int(seed), number])
        order = np.arange(events.count) if n_shuffles is None else generator.permutation(events.count)
        engine = first if number == 0 else learner._new_learner(0)  # a new one takes milliseconds
        engine.draws = int(generator.integers(2**63))
        return (*engine.simulate(*events.arrays, costs, order), order)

    with ThreadPoolExecutor(threads_for(n_jobs, runs)) as pool:
        actions, probabilities, played, orders = (
            np.stack(part) for part in zip(*pool.map(run, range(runs)), strict=True)
        )
    values = played.astype(np.float64)
    return Simulation(
        values if learner.reward_range is None else -values, actions, probabilities.astype(np.float64), orders
    )
