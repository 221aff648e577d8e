"""The bandit game on data whose every cost is known."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.cores import usable_cores
from vw_fastcb.interrupts import no_interrupt
from vw_fastcb.learner.optional import import_for_results
from vw_fastcb.learner.settings import Settings, is_whole

_MOST_ROUNDS = 10**10  # beyond, the results would not fit into memory

# Takes the order of the rows and a seed for the draws; returns the actions, their probabilities and their costs.
Game: TypeAlias = Callable[[NDArray[np.int64], int], tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]


@dataclass(frozen=True, eq=False)
class Simulation:
    """What happened in simulated runs, one row for each shuffle.

    Attributes:
        values: What each round cost (or its reward), in the order in which the rounds were played, (s, n).
        actions: The actions played, (s, n).
        probabilities: With which each was drawn, (s, n).
        order: The row of the data that each round played, (s, n).
        noun: "cost" or "reward".
        action_names: The names of the actions, if they have any.
    """

    values: NDArray[np.float64]
    actions: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    order: NDArray[np.int64]
    noun: str = "cost"
    action_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        runs, rounds = self.values.shape
        mean = f", mean {self.noun} {self.values.mean():.4g}" if self.values.size else ""
        return f"Simulation({runs:,} {'run' if runs == 1 else 'runs'} of {rounds:,} rounds{mean})"

    @property
    def costs(self) -> NDArray[np.float64]:
        """The values of a learner of costs."""
        return self._values_of("cost")

    @property
    def rewards(self) -> NDArray[np.float64]:
        """The values of a learner of rewards."""
        return self._values_of("reward")

    @property
    def progressive(self) -> NDArray[np.float64]:
        """The mean cost (or reward) up to each round, (s, n)."""
        return np.cumsum(self.values, axis=1) / np.arange(1, self.values.shape[1] + 1)

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean of `progressive` over the runs, (n,)."""
        return np.asarray(self.progressive.mean(axis=0))

    @property
    def standard_error(self) -> NDArray[np.float64]:
        """The standard error of `mean`, (n,); NaN where there is one run only."""
        runs = len(self.values)
        if runs < 2:
            return np.full(self.values.shape[1], np.nan)
        return np.asarray(self.progressive.std(axis=0, ddof=1) / np.sqrt(runs))

    def to_frame(self) -> Any:
        """One row for each round of each run, as a pandas frame.

        Returns:
            A frame with the columns run, round, row, action, name (where actions have names), probability, cost (or
            reward) and progressive.
        """
        pd = import_for_results("pandas")

        runs, rounds = self.values.shape
        columns: dict[str, Any] = {
            "run": np.repeat(np.arange(runs), rounds),
            "round": np.tile(np.arange(rounds), runs),
            "row": self.order.ravel(),
            "action": self.actions.ravel(),
        }
        if self.action_names is not None:
            columns["name"] = pd.Categorical.from_codes(self.actions.ravel(), categories=list(self.action_names))
        columns |= {
            "probability": self.probabilities.ravel(),
            self.noun: self.values.ravel(),
            "progressive": self.progressive.ravel(),
        }
        return pd.DataFrame(columns)

    def plot(self, ax: Any = None, label: str | None = None) -> Any:
        """Draws the mean cost (or reward) so far over the rounds, with a band of two standard errors.

        Args:
            ax: The matplotlib axes to draw on; new ones unless given.
            label: The name of the line in a legend.

        Returns:
            The axes.
        """
        plt = import_for_results("matplotlib.pyplot")

        if ax is None:
            _, ax = plt.subplots(figsize=(7, 4), layout="constrained")
        rounds = np.arange(1, self.values.shape[1] + 1)
        (line,) = ax.plot(rounds, self.mean, label=label)
        if len(self.values) > 1:
            spread = 2 * self.standard_error
            ax.fill_between(rounds, self.mean - spread, self.mean + spread, color=line.get_color(), alpha=0.2, lw=0)
        # The first rounds swing between the extremes and would squeeze everything else.
        settled = self.mean[min(len(rounds) - 1, max(10, len(rounds) // 50)) :]
        margin = 0.15 * max(float(np.ptp(settled)), 1e-3)
        if not ax.get_legend() and len(ax.lines) == 1:
            ax.set_ylim(settled.min() - margin, settled.max() + margin)
        ax.set(xlabel="round", ylabel=f"mean {self.noun} so far")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.3)
        if label is not None:
            ax.legend(frameon=False)
        return ax

    def _values_of(self, noun: str) -> NDArray[np.float64]:
        if self.noun != noun:
            raise AttributeError(f"the simulation is of {self.noun}s; expected its `{self.noun}s`, not `{noun}s`.")
        return self.values


def play(
    settings: Settings,
    game: Game,
    count: int,
    *,
    n_shuffles: int | None,
    seed: int | None,
    n_jobs: int | None,
) -> Simulation:
    """Plays every run as a game of its own. The order and the draws of a run depend on the seed and its number.

    Args:
        settings: Of the learner.
        game: Plays one run from scratch.
        count: How many rounds a run has.
        n_shuffles: As `FastCB.simulate`.
        seed: As `FastCB.simulate`.
        n_jobs: As `FastCB.simulate`.
    """
    runs = 1 if n_shuffles is None else n_shuffles
    if not is_whole(runs) or runs < 1 or runs * max(count, 1) > _MOST_ROUNDS:
        raise ValueError(
            f"n_shuffles is {n_shuffles!r}; expected a whole number, 1 or larger, or None, of at most "
            f"{_MOST_ROUNDS // max(count, 1):,} (the results of {count:,} rows are kept for each)."
        )
    if seed is not None and (not is_whole(seed) or seed < 0):
        raise ValueError(f"seed is {seed!r}; expected a whole number, 0 or larger, or None.")
    entropy = int(np.random.SeedSequence().entropy or 0) if seed is None else int(seed)  # type: ignore[arg-type]

    def run(number: int) -> tuple[NDArray[Any], ...]:
        generator = np.random.default_rng([entropy, number])
        order = np.arange(count) if n_shuffles is None else generator.permutation(count)
        return (*game(order, int(generator.integers(2**63))), order)

    pool = ThreadPoolExecutor(threads(n_jobs, runs))
    try:
        with no_interrupt():
            played_runs = pool.map(run, range(runs))
        results = list(played_runs)
    finally:
        pool.shutdown(cancel_futures=True)  # Ctrl-C does not wait for runs that have not begun
    actions, probabilities, played, orders = (np.stack(part) for part in zip(*results, strict=True))
    values = played.astype(np.float64)
    return Simulation(
        values if settings.noun == "cost" else 0.0 - values,
        actions,
        probabilities.astype(np.float64),
        orders,
        settings.noun,
        settings.action_names,
    )


def threads(n_jobs: int | None, runs: int) -> int:
    """How many threads; as in joblib, None is one and -1 is all cores."""
    if n_jobs is None:
        return 1
    if not is_whole(n_jobs) or n_jobs == 0:
        raise ValueError(f"n_jobs is {n_jobs!r}; expected a whole number other than 0: -1 is all cores.")
    return max(1, min(runs, n_jobs if n_jobs > 0 else usable_cores() + 1 + n_jobs))
