"""The demo's experiment, apart from any terminal: algorithms, their tuning, and one online pass of one of them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

import numpy as np
import vowpalwabbit
from numpy.typing import NDArray

import vw_fastcb
from vw_fastcb.commands.stream import Stream, load_stream

# As large as 30, because stock VW weighs a bandit's update with about 1 / [number of actions].
STEP_SIZES = (3, 10, 30)
TUNING_SHUFFLES = 3
MEASURED_SHUFFLES = 8


@dataclass(frozen=True)
class Algorithm:
    """One contender."""

    name: str
    engine: str  # the Python package that runs it
    flags: str  # with the place {actions} for the number of actions
    bandit: bool = True  # sees only the cost of its own choice

    def candidates(self, actions: int) -> list[str]:
        """The command lines among which tuning chooses."""
        return [f"{self.flags.format(actions=actions)} -l {step}" for step in STEP_SIZES]


# Each explores as VW's defaults have it. On optdigits no other gamma_scale of {1, 3, 10, 30, 100, 1000} serves SquareCB
# better, and no other epsilon of {0.02, 0.05, 0.1, 0.2} clearly better.
FASTCB = Algorithm("FastCB", "vw_fastcb", "--cb_explore {actions} --fastcb --gamma_scale 10")
SQUARECB = Algorithm("SquareCB", "vowpalwabbit", "--cb_explore {actions} --squarecb --gamma_scale 10")
GREEDY = Algorithm("epsilon-greedy", "vowpalwabbit", "--cb_explore {actions} --epsilon 0.05")
SUPERVISED = Algorithm("supervised", "vowpalwabbit", "--oaa {actions} --loss_function logistic", bandit=False)
ALGORITHMS = (FASTCB, SQUARECB, GREEDY, SUPERVISED)


@dataclass(frozen=True)
class Pass:
    """One online pass to run: who, with which flags, over which stream."""

    algorithm: Algorithm
    flags: str
    dataset: str
    rounds: int | None
    shuffle: int


@dataclass(frozen=True)
class Outcome:
    """What a pass gave: each round's cost, 0 or 1, and the seconds it took."""

    costs: NDArray[np.uint8]
    seconds: float


def run_pass(job: Pass) -> Outcome:
    """Runs one online pass. The same job gives the same costs, in any process."""
    stream = load_stream(job.dataset, job.rounds, job.shuffle)
    package = vw_fastcb if job.algorithm.engine == "vw_fastcb" else vowpalwabbit
    start = time.perf_counter()
    with package.Workspace(f"{job.flags} --quiet") as workspace:
        if job.algorithm.bandit:
            costs = _bandit(workspace, stream, Random(job.shuffle))
        else:
            costs = _supervised(workspace, stream)
    return Outcome(np.array(costs, dtype=np.uint8), time.perf_counter() - start)


def _bandit(workspace: vw_fastcb.Workspace, stream: Stream, random: Random) -> list[int]:
    costs = []
    for context, best in zip(stream.contexts, stream.best, strict=True):
        pmf = workspace.predict(context)
        action = draw(pmf, random)
        cost = int(action + 1 != best)
        workspace.learn(f"{action + 1}:{cost}:{pmf[action]:.6g} {context}")
        costs.append(cost)
    return costs


def _supervised(workspace: vw_fastcb.Workspace, stream: Stream) -> list[int]:
    costs = []
    for context, best in zip(stream.contexts, stream.best, strict=True):
        costs.append(int(workspace.predict(context) != best))
        workspace.learn(f"{best} {context}")
    return costs


def draw(pmf: Sequence[float], random: Random) -> int:
    """Draws an action by its probability, numbered from 0; never one of probability 0."""
    bounds = list(accumulate(pmf))
    point = random.random() * bounds[-1]
    return next(action for action, bound in enumerate(bounds) if point < bound)


def tuning_passes(
    algorithms: Iterable[Algorithm], dataset: str, rounds: int | None, actions: int, seed: int
) -> list[Pass]:
    """The passes that choose each algorithm's flags."""
    shuffles = _shuffles(seed)[:TUNING_SHUFFLES]
    return [
        Pass(algorithm, flags, dataset, rounds, shuffle)
        for algorithm in algorithms
        for flags in algorithm.candidates(actions)
        for shuffle in shuffles
    ]


def choose_flags(outcomes: dict[Pass, Outcome]) -> dict[Algorithm, str]:
    """Each algorithm's flags of least mean loss."""
    losses: dict[Algorithm, dict[str, list[float]]] = {}
    for job, outcome in outcomes.items():
        losses.setdefault(job.algorithm, {}).setdefault(job.flags, []).append(float(outcome.costs.mean()))
    return {algorithm: min(by_flags, key=lambda flags: sum(by_flags[flags])) for algorithm, by_flags in losses.items()}


def measuring_passes(flags: dict[Algorithm, str], dataset: str, rounds: int | None, seed: int) -> list[Pass]:
    """The passes that are reported: the chosen flags on shuffles that tuning has not seen."""
    shuffles = _shuffles(seed)[TUNING_SHUFFLES:]
    return [Pass(algorithm, flags[algorithm], dataset, rounds, shuffle) for shuffle in shuffles for algorithm in flags]


def _shuffles(seed: int) -> list[int]:
    count = TUNING_SHUFFLES + MEASURED_SHUFFLES
    return [seed * count + i for i in range(count)]


@dataclass(frozen=True)
class Result:
    """An algorithm's measured passes."""

    algorithm: Algorithm
    flags: str  # what tuning chose
    curve: NDArray[np.float64]  # progressive loss after each round, the mean over the shuffles
    curve_error: NDArray[np.float64]  # its standard error
    regret: float  # mistakes in a pass beyond the supervised learner's, the mean over the shuffles
    seconds: float  # median time of a pass

    @property
    def loss(self) -> float:
        """The progressive loss of the whole pass: the share of wrong choices."""
        return float(self.curve[-1])

    @property
    def loss_error(self) -> float:
        """The standard error of `loss` over the shuffles."""
        return float(self.curve_error[-1])


def summarise(outcomes: dict[Pass, Outcome]) -> list[Result]:
    """The results of the measured passes, one for each algorithm, in the order in which they first come."""
    costs: dict[Algorithm, list[NDArray[np.uint8]]] = {}
    seconds: dict[Algorithm, list[float]] = {}
    flags: dict[Algorithm, str] = {}
    for job, outcome in outcomes.items():
        costs.setdefault(job.algorithm, []).append(outcome.costs)
        seconds.setdefault(job.algorithm, []).append(outcome.seconds)
        flags[job.algorithm] = job.flags
    floor = np.mean([passed.sum() for passed in costs[SUPERVISED]])
    results = []
    for algorithm, passes in costs.items():
        curves = np.cumsum(np.array(passes, dtype=np.float64), axis=1) / np.arange(1, len(passes[0]) + 1)
        error = curves.std(axis=0, ddof=1) / math.sqrt(len(passes))
        regret = float(np.mean([passed.sum() for passed in passes]) - floor)
        median = float(np.median(seconds[algorithm]))
        results.append(Result(algorithm, flags[algorithm], curves.mean(axis=0), error, regret, median))
    return results
