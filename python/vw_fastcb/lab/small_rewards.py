"""Regret against Rstar: the paper's extension to small rewards."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from vw_fastcb.lab import picture
from vw_fastcb.lab.experiment import Experiment, Table, shown
from vw_fastcb.lab.games import (
    ACTIONS,
    Array,
    Likelihood,
    Rule,
    Setup,
    fastcb_losses_of_rewards,
    fastcb_rewards,
    interval,
    log_loss,
    play,
    slope,
    squarecb_rewards,
    standard_error,
)
from vw_fastcb.lab.small_losses import gamma_of_fastcb, gamma_of_squarecb

_MOST = 0.4  # the largest mean reward of the best action; the other one earns half of it
REWARD, LOSS, SQUARECB = "FastCB for rewards", "FastCB for losses", "SquareCB"


def gamma_of_rewards(rstar: float, oracle_regret: float) -> float:
    """What makes the sum of the per-round inequalities least: sqrt(9 A Rstar / 20 Reg), and 4 A at least.

    The theorem for rewards gives 9 A / gamma Rstar + 20 gamma Reg, because discrimination is at most 2 KL.
    """
    return max(math.sqrt(9 * ACTIONS * rstar / (20 * oracle_regret)), 4 * ACTIONS)


def bound(rstar: Array, oracle_regret: float) -> Array:
    """That sum with this gamma: 12 sqrt(5 Rstar A Reg), and with the floor of gamma at most 160 A Reg more."""
    return np.asarray(12 * np.sqrt(5 * rstar * ACTIONS * oracle_regret) + 160 * ACTIONS * oracle_regret)


@dataclass(frozen=True, eq=False)
class SmallRewards:
    """Regrets are (points, runs)."""

    rounds: int
    functions: int
    rstar: Array
    regrets: dict[str, Array]
    seed: int

    @property
    def oracle_regret(self) -> float:
        """The bound on the oracle's regret: log N."""
        return math.log(self.functions)

    def slope(self) -> tuple[float, float, float]:
        """Of the rule for rewards, over the points at which its gamma is above its floor of 4 A."""
        free = np.array([gamma_of_rewards(one, self.oracle_regret) > 4 * ACTIONS for one in self.rstar])
        return slope(self.rstar[free], self.regrets[REWARD][free], seed=self.seed)

    def margin(self) -> float:
        """How many times the regret fits into the bound, in the run that comes closest."""
        return float((bound(self.rstar, self.oracle_regret)[:, None] / self.regrets[REWARD]).min())

    def gains(self) -> dict[str, tuple[float, float]]:
        """Of each other algorithm: by what factor its regret is larger, at most, and at which Rstar."""
        mine = self.regrets[REWARD].mean(axis=1)
        ratios = {name: self.regrets[name].mean(axis=1) / mine for name in (LOSS, SQUARECB)}
        return {name: (float(ratio.max()), float(self.rstar[ratio.argmax()])) for name, ratio in ratios.items()}

    def claims(self) -> dict[str, bool]:
        """What the extension says must be seen."""
        return {
            "the regret of the rule for rewards grows as sqrt(Rstar)": 0.4 <= self.slope()[0] <= 0.6,
            "no run crosses 12 sqrt(5 Rstar A Reg) + 160 A Reg": self.margin() >= 1,
            "the rule for losses has more than 1.5 times the regret somewhere": self.gains()[LOSS][0] > 1.5,
        }

    def title(self) -> str:
        """The finding."""
        return "With rare rewards, FastCB for rewards pays sqrt(Rstar)"

    def words(self) -> str:
        """What is seen."""
        (loss_gain, loss_at), (square_gain, square_at) = self.gains()[LOSS], self.gains()[SQUARECB]
        return (
            "The same game with rewards: the best action earns a reward with a chance from "
            f"{shown(self.rstar[0] / self.rounds)} to {shown(self.rstar[-1] / self.rounds)}, the other one half as "
            "often, "
            f"over {self.rounds:,} rounds. The rule for rewards has a regret that grows as Rstar to the power of "
            f"{interval(self.slope())}, where its gamma is above its floor of 4 A. "
            "It never crosses the bound that follows from its per-round inequality, 12 sqrt(5 Rstar A Reg) + 160 A "
            f"Reg, which is {shown(self.margin())} times the regret or more. "
            "The rule for losses, to which all of these problems are hard because nearly every round costs 1, has up "
            f"to {loss_gain:.1f} times the regret (at Rstar = {shown(loss_at)}), "
            f"SquareCB up to {square_gain:.1f} times (at {shown(square_at)}). With the rarest rewards all are close "
            "together: there is next to nothing to lose."
        )

    def table(self) -> Table:
        """One row for each point."""
        rows = [
            (
                float(rstar),
                *(
                    number
                    for name in self.regrets
                    for number in (self.regrets[name][i].mean(), standard_error(self.regrets[name][i]))
                ),
                float(bound(np.array(rstar), self.oracle_regret)),
            )
            for i, rstar in enumerate(self.rstar)
        ]
        names = [word for name in self.regrets for word in (name, "standard error")]
        return Table(("Rstar", *names, "bound"), rows)

    def draw(self) -> Figure:
        """Regret over Rstar."""
        runs = self.regrets[REWARD].shape[1]
        figure, (axes,) = picture.blank(
            self.title(),
            f"{self.functions} functions, {ACTIONS} actions, {self.rounds:,} rounds, the exact oracle for finite "
            "classes; each gamma by its own theory",
            f"Mean regret of {runs} runs. Dashed: the bound for FastCB's rule for rewards, which no run crossed. Both "
            "axes are logarithmic.",
            ("Regret",),
        )
        limits = bound(self.rstar, self.oracle_regret)
        axes.plot(self.rstar, limits, color=picture.GREY, linewidth=1.6, linestyle=(0, (4, 2)))
        at = len(self.rstar) // 2
        picture.label(axes, "bound", (self.rstar[at], limits[at]), picture.GREY, shift=(0, 12), ha="right")
        for name, color, shift in (
            (LOSS, picture.FIFTH, (10, -14)),
            (SQUARECB, picture.SQUARECB, (-10, 14)),
            (REWARD, picture.FASTCB, (10, -16)),
        ):
            means = self.regrets[name].mean(axis=1)
            axes.plot(self.rstar, means, color=color, linewidth=2.6, marker="o", markersize=5)
            text = f"{name}, slope {self.slope()[0]:.2f}" if name == REWARD else name
            picture.label(
                axes, text, (self.rstar[at], means[at]), color, shift=shift, ha="left" if shift[0] > 0 else "right"
            )
        picture.logarithmic(axes)
        picture.name_axes(axes, "Rstar, the reward of the best policy")
        return figure


def compute(
    seed: int = 0, quick: bool = False, *, rule: Rule = fastcb_rewards, likelihood: Likelihood = log_loss
) -> SmallRewards:
    """Plays the sweep.

    Args:
        seed: Of all draws.
        quick: Fewer rounds, runs and functions.
        rule: The allocation for rewards; another one shows that the claims depend on it.
        likelihood: How the oracle weighs its functions, likewise.
    """
    rounds, runs, functions, points = (2**14, 8, 2, 7) if quick else (2**20, 10, 4, 9)
    oracle_regret = math.log(functions)
    rstar = rounds * np.geomspace(_MOST * (1e-2 if quick else 1e-4), _MOST, points)
    setups: dict[str, list[tuple[float, Rule]]] = {
        REWARD: [(gamma_of_rewards(one, oracle_regret), rule) for one in rstar],
        LOSS: [(gamma_of_fastcb(rounds - one, oracle_regret), fastcb_losses_of_rewards) for one in rstar],
        SQUARECB: [(gamma_of_squarecb(rounds, oracle_regret), squarecb_rewards) for one in rstar],
    }
    regret, _ = play(
        [
            Setup(total / rounds, total / rounds / 2, gamma, rounds, chosen)
            for those in setups.values()
            for total, (gamma, chosen) in zip(rstar, those, strict=True)
        ],
        runs=runs,
        functions=functions,
        seed=seed,
        likelihood=likelihood,
    )
    parts = np.split(regret, len(setups))
    return SmallRewards(rounds, functions, rstar, dict(zip(setups, parts, strict=True)), seed)


EXPERIMENT = Experiment(
    "small-rewards",
    "regret against the reward of the best policy: sqrt(Rstar) for the rule for rewards",
    "Appendix C: small rewards",
    compute,
)
