"""Clicks of 0.1% to 5%: the objective for small rewards against the one for small losses, with the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from vw_fastcb import FastCB
from vw_fastcb.lab import picture
from vw_fastcb.lab.experiment import Experiment, Table, shown
from vw_fastcb.lab.games import Array, standard_error

ACTIONS = 5
_OTHERS = 1 / 4  # how often another action is clicked, as a share of the best one's rate

REWARD, LOSS, SQUARECB = "small rewards", "small losses", "SquareCB's rule"
LEARNERS: dict[str, dict[str, Any]] = {
    REWARD: {"objective": "reward"},
    LOSS: {"objective": "loss"},
    SQUARECB: {"allocation": "igw"},
}


@dataclass(frozen=True, eq=False)
class Clicks:
    """How much of the possible gain each learner got: 0 is guessing, 1 is always the best action; (rates, runs)."""

    rounds: int
    rates: Array
    gains: dict[str, Array]

    def differences(self) -> Array:
        """Objective reward less objective loss, on the same visitors."""
        return self.gains[REWARD] - self.gains[LOSS]

    def claims(self) -> dict[str, bool]:
        """What the extension is for."""
        by_run = self.differences().mean(axis=0)
        frequent = self.differences()[self.rates >= 0.005]
        return {
            "over all rates, the objective for rewards gains more, beyond two standard errors": float(by_run.mean())
            > 2 * standard_error(by_run),
            "so it does at each rate from 0.5% on": all(row.mean() > 2 * standard_error(row) for row in frequent),
        }

    def title(self) -> str:
        """The finding."""
        return "For clicks, take the objective for small rewards"

    def words(self) -> str:
        """What is seen."""
        ratios = self.gains[REWARD].mean(axis=1) / self.gains[LOSS].mean(axis=1)
        clear = [
            f"{rate:.1%}"
            for rate, row in zip(self.rates, self.differences(), strict=True)
            if row.mean() > 2 * standard_error(row)
        ]
        first, last = (self.gains[REWARD].mean(axis=1)[i] for i in (0, -1))
        return (
            f"{ACTIONS} articles, {self.rounds:,} visitors, and the best article for each is clicked at a rate from "
            f"{self.rates[0]:.1%} to {self.rates[-1]:.1%}, the others a quarter as often. "
            "FastCB runs in the engine with its second-order oracle and its default gamma; nothing is tuned. The "
            f"objective for small rewards gets {first:.0%} of the possible gain over guessing at the lowest rate and "
            f"{last:.0%} at the highest. "
            f"That is {ratios[self.rates >= 0.005].min():.2f} to {ratios[self.rates >= 0.005].max():.2f} times what "
            "the objective for small losses gets at rates from 0.5% on. The difference is larger than two standard "
            f"errors at {', '.join(clear) or 'no rate'}. "
            f"SquareCB's rule gets {shown(self.gains[SQUARECB].mean() / self.gains[LOSS].mean())} of the objective for "
            "losses, over all rates. To those two, a click more or less is a small difference between losses that are "
            "nearly 1."
        )

    def table(self) -> Table:
        """One row for each rate."""
        rows = [
            (
                float(rate),
                *(number for gains in self.gains.values() for number in (gains[i].mean(), standard_error(gains[i]))),
            )
            for i, rate in enumerate(self.rates)
        ]
        return Table(("click rate", *(word for name in self.gains for word in (name, "standard error"))), rows)

    def draw(self) -> Figure:
        """The gains over the rate, with bands."""
        figure, (axes,) = picture.blank(
            self.title(),
            f"{ACTIONS} articles, {self.rounds:,} visitors; FastCB with its second-order oracle and default settings",
            f"Mean of {self.gains[REWARD].shape[1]} runs, bands of two standard errors. 0% is guessing, 100% is to "
            "know each visitor's best article.",
            ("Share of the possible gain",),
        )
        for name, color, shift in (
            (REWARD, picture.FASTCB, (-10, 12)),
            (LOSS, picture.FIFTH, (12, -6)),
            (SQUARECB, picture.SQUARECB, (12, -24)),
        ):
            gains = self.gains[name]
            means = gains.mean(axis=1)
            errors = np.array([standard_error(row) for row in gains])
            axes.fill_between(self.rates, means - 2 * errors, means + 2 * errors, color=color, alpha=0.16, linewidth=0)
            axes.plot(self.rates, means, color=color, linewidth=2.6, marker="o", markersize=5)
            at = max(1, len(self.rates) - 2)
            picture.label(
                axes, name, (self.rates[at], means[at]), color, shift=shift, ha="right" if shift[0] < 0 else "left"
            )
        picture.logarithmic(axes, y=False)
        axes.set_xticks(self.rates, [f"{rate:.1%}" for rate in self.rates])
        axes.yaxis.set_major_formatter("{x:.0%}")
        picture.name_axes(axes, "how often the best article is clicked (log scale)")
        return figure


def compute(seed: int = 0, quick: bool = False, *, objective: str = "reward") -> Clicks:
    """Plays all learners on the same visitors.

    Args:
        seed: Of the visitors and the draws.
        quick: Fewer visitors, rates and runs.
        objective: What stands for the objective of rewards; another one shows that the claims depend on it.
    """
    rounds, runs = (10_000, 6) if quick else (100_000, 12)
    rates = np.array([0.02, 0.05]) if quick else np.array([0.001, 0.002, 0.005, 0.01, 0.02, 0.05])
    learners = {**LEARNERS, REWARD: {"objective": objective}}
    gains = {name: np.zeros((len(rates), runs)) for name in learners}
    for i, rate in enumerate(rates):
        for run in range(runs):
            rng = np.random.default_rng([seed, i, run])
            contexts = rng.random((rounds, ACTIONS))
            chance = chances(contexts, rate)
            clicks = (rng.random(chance.shape) < chance).astype(float)
            for name, settings in learners.items():
                bandit = FastCB(ACTIONS, reward_range=(0, 1), seed=run, **settings)
                played = bandit.simulate(contexts, clicks).actions[0]
                gains[name][i, run] = gain(chance, played)
    return Clicks(rounds, rates, gains)


def chances(contexts: Array, rate: float) -> Array:
    """How likely each article is clicked by each visitor, (n, A): the best one is that of the largest feature."""
    best = contexts.argmax(axis=1)[:, None] == np.arange(ACTIONS)
    return np.where(best, rate, rate * _OTHERS)


def gain(chance: Array, played: NDArray[np.int64]) -> float:
    """The share of what there is to gain over guessing.

    Args:
        chance: How likely each action is clicked, (n, A).
        played: The actions, (n,).
    """
    guessing = chance.mean(axis=1).sum()
    earned = chance[np.arange(len(played)), played].sum()
    return float((earned - guessing) / (chance.max(axis=1).sum() - guessing))


EXPERIMENT = Experiment(
    "clicks",
    "the objective for small rewards against the one for small losses, on clicks of 0.1% to 5%",
    "Appendix C: small rewards, at click-through rates",
    compute,
)
