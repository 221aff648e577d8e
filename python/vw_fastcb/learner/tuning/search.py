"""Stage by stage: the best of what is tried is taken if it also wins on the half of the data that did not choose it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.interrupts import no_interrupt
from vw_fastcb.learner.settings import Settings
from vw_fastcb.learner.simulation import threads
from vw_fastcb.learner.tuning.candidates import GAMMA, STAGES, Changes, candidates
from vw_fastcb.learner.tuning.evidence import Evidence, Half, Measured
from vw_fastcb.learner.tuning.tuning import Stage, Trial, Tuning, words_of

_MOST_AT_ONCE = 64

Watch = Callable[[str, int, int], None]

# Hands out a measurement that is known already, or makes it: the key says what is measured.
Memory = Callable[[str, Callable[[], Measured]], Measured]


def forgetful(key: str, measure: Callable[[], Measured]) -> Measured:
    """A memory that keeps nothing."""
    del key
    return measure()


def search(
    params: Mapping[str, Any],
    evidence: Evidence,
    *,
    n_jobs: int | None = None,
    watch: Watch = lambda stage, done, total: None,
    memory: Memory = forgetful,
) -> Tuning:
    """Chooses what the parameters leave open.

    Args:
        params: The learner's parameters, as they were given.
        evidence: What settings are measured on.
        n_jobs: How many settings are measured at a time, as of `FastCB.simulate`.
        watch: Told the stage, how many of its measurements are done, and how many there are.
        memory: Where measurements are kept, for those who may be interrupted.
    """
    ours = _Search(params, evidence, threads(n_jobs, _MOST_AT_ONCE), watch, memory)
    stages = tuple(ours.run(stage) for stage in STAGES)
    return Tuning(ours.changes, stages, {**params, **ours.changes})


class _Search:
    def __init__(
        self, params: Mapping[str, Any], evidence: Evidence, workers: int, watch: Watch, memory: Memory
    ) -> None:
        self.changes: Changes = {}
        self._params = params
        self._evidence = evidence
        self._workers = workers
        self._watch = watch
        self._memory = memory

    def run(self, stage: str) -> Stage:
        tried = candidates(stage, self._params, self._evidence.widths)
        if stage == GAMMA:
            now = Settings.checked({**self._params, **self.changes}).gamma
            tried = [changes for changes in tried if changes != now]
        if not tried:
            return Stage(stage, verdict="you have set it, or there is nothing to try.")
        refusal = self._evidence.refusal(stage)
        if refusal is not None:
            return Stage(stage, verdict=refusal)
        measured = self._measure_all(stage, [{}, *tried])
        before = measured[0]
        trials = tuple(self._trial(changes, one, before) for changes, one in zip([{}, *tried], measured, strict=True))
        best = min(range(len(trials)), key=lambda i: trials[i].loss)
        unit = self._evidence.unit(stage)
        if best == 0:
            verdict = f"the default is best ({unit} {trials[0].loss:.4f})."
            return Stage(stage, unit, trials, verdict=verdict)
        ahead, worth = (self._measure(stage, changes, "confirm") for changes in ({}, tried[best - 1]))
        gain, interval = _interval(ahead.losses - worth.losses)
        costlier = len(worth.values) > 0 and _interval(worth.values - ahead.values)[1][0] > 0
        adopted = interval[0] > 0 and not costlier
        if adopted:
            self.changes |= tried[best - 1]
        verdict = (
            f"{words_of(tried[best - 1])} looked best; on the other half its {unit} is {_difference(gain, interval)}"
            f"{_conclusion(gain, adopted, costlier)}"
        )
        return Stage(stage, unit, trials, tried[best - 1], gain, interval, adopted, verdict)

    def _trial(self, changes: Changes, measured: Measured, before: Measured) -> Trial:
        settings = Settings.checked(self._params)
        low, high = settings.value_range
        value = None
        if len(measured.values):
            cost = float(measured.values.mean())  # in [0, 1]
            value = low + (high - low) * (cost if settings.noun == "cost" else 1.0 - cost)
        error = _standard_error(measured.losses - before.losses)
        return Trial(changes, float(np.nanmean(measured.losses)), error, value)

    def _measure_all(self, stage: str, tried: list[Changes]) -> list[Measured]:
        """In threads: the engine does not hold the interpreter."""
        done = 0

        def one(changes: Changes) -> Measured:
            nonlocal done
            measured = self._measure(stage, changes, "choose")
            done += 1
            self._watch(stage, done, len(tried))
            return measured

        self._watch(stage, 0, len(tried))
        pool = ThreadPoolExecutor(self._workers)
        try:
            with no_interrupt():
                waiting = pool.map(one, tried)
            return list(waiting)
        finally:
            pool.shutdown(cancel_futures=True)

    def _measure(self, stage: str, changes: Changes, half: Half) -> Measured:
        settings = Settings.checked({**self._params, **self.changes, **changes})
        key = f"{self._evidence.name} {half} {self._evidence.unit(stage)} {settings.arguments()}"
        return self._memory(key, lambda: self._evidence.measure(settings, stage, half))


def _interval(differences: NDArray[np.float64]) -> tuple[float, tuple[float, float]]:
    """The mean of paired differences, and a 99% interval by Student's t."""
    known = differences[~np.isnan(differences)]
    if len(known) < 2:
        return 0.0, (-math.inf, math.inf)
    mean, spread = float(known.mean()), _quantile_of_t(len(known) - 1) * _standard_error(differences)
    return mean, (mean - spread, mean + spread)


def _standard_error(differences: NDArray[np.float64]) -> float:
    known = differences[~np.isnan(differences)]
    return float(known.std(ddof=1) / math.sqrt(len(known))) if len(known) > 1 else 0.0


def _quantile_of_t(freedom: int) -> float:
    """The 99.5% quantile of Student's t, by Cornish and Fisher's expansion; good to 1% from six degrees on."""
    z = 2.5758293035489004
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


def _difference(gain: float, interval: tuple[float, float]) -> str:
    if gain <= 0:
        return f"no lower ({-gain:.4f} higher)"
    return f"lower by {gain:.4f} [{interval[0]:.4f}, {interval[1]:.4f}]"


def _conclusion(gain: float, adopted: bool, costlier: bool) -> str:
    if adopted:
        return ". Taken."
    if gain <= 0:
        return ". The default is kept."
    if costlier:
        return ", but the log says that its decisions would cost more. The default is kept."
    return ": not enough to tell it from luck. The default is kept."
