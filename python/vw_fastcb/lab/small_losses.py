"""Regret against Lstar: sqrt(Lstar) for FastCB, sqrt(T) for SquareCB (the paper's main theorem)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from vw_fastcb.lab import picture
from vw_fastcb.lab.experiment import Experiment, Table, shown
from vw_fastcb.lab.games import (
    ACTIONS,
    Array,
    Likelihood,
    Rule,
    Setup,
    fastcb,
    interval,
    log_loss,
    play,
    slope,
    squarecb,
    standard_error,
)

GAP = 0.3
_MOST = 0.4  # the largest mean loss of the best action
_FIXED = 400.0  # Lstar where T is swept; as much as 1,024 rounds allow


def gamma_of_fastcb(lstar: float, oracle_regret: float) -> float:
    """The main theorem's choice: sqrt(A Lstar / 3 Reg), and 10 A at least."""
    return max(math.sqrt(ACTIONS * lstar / (3 * oracle_regret)), 10 * ACTIONS)


def gamma_of_squarecb(rounds: int, oracle_regret: float) -> float:
    """Sqrt(A T / square-loss regret), which is at most twice the log-loss regret (the paper's appendix)."""
    return math.sqrt(ACTIONS * rounds / (2 * oracle_regret))


def bound(lstar: Array, oracle_regret: float) -> Array:
    """What the main theorem promises: 40 sqrt(Lstar A Reg) + 600 A Reg."""
    return np.asarray(40 * np.sqrt(lstar * ACTIONS * oracle_regret) + 600 * ACTIONS * oracle_regret)


@dataclass(frozen=True, eq=False)
class SmallLosses:
    """Regrets are (points, runs); slopes are (estimate, low, high)."""

    rounds: int  # while Lstar is swept
    functions: int
    lstar: Array
    by_lstar: dict[str, Array]
    horizons: Array
    by_rounds: dict[str, Array]
    oracle_excess: float  # the most in any run, at any time
    seed: int

    @property
    def oracle_regret(self) -> float:
        """The bound on the oracle's regret: log N."""
        return math.log(self.functions)

    @property
    def free(self) -> NDArray[np.bool_]:
        """The points at which FastCB's gamma is above its floor of 10 A."""
        return np.array([gamma_of_fastcb(one, self.oracle_regret) > 10 * ACTIONS for one in self.lstar])

    def slope_by_lstar(self, name: str) -> tuple[float, float, float]:
        """Over the points where gamma is free."""
        return slope(self.lstar[self.free], self.by_lstar[name][self.free], seed=self.seed)

    def slope_by_rounds(self, name: str) -> tuple[float, float, float]:
        """Over all horizons, Lstar fixed."""
        return slope(self.horizons, self.by_rounds[name], seed=self.seed)

    def margin(self) -> float:
        """How many times the regret fits into the bound, in the run that comes closest."""
        limits = bound(self.lstar, self.oracle_regret)[:, None]
        limit = float(bound(np.array(_FIXED), self.oracle_regret))
        return float(min((limits / self.by_lstar["FastCB"]).min(), limit / self.by_rounds["FastCB"].max()))

    def claims(self) -> dict[str, bool]:
        """What the theorem says must be seen."""
        return {
            "FastCB's regret grows as sqrt(Lstar)": 0.4 <= self.slope_by_lstar("FastCB")[0] <= 0.6,
            "FastCB's regret does not grow with T": abs(self.slope_by_rounds("FastCB")[0]) <= 0.1,
            "SquareCB's regret does not shrink with Lstar": abs(self.slope_by_lstar("SquareCB")[0]) <= 0.1,
            "SquareCB's regret grows as sqrt(T)": 0.4 <= self.slope_by_rounds("SquareCB")[0] <= 0.6,
            "no run of FastCB crosses 40 sqrt(Lstar A Reg) + 600 A Reg": self.margin() >= 1,
            "the oracle never loses more than log N": self.oracle_excess <= self.oracle_regret + 1e-9,
        }

    def title(self) -> str:
        """The finding."""
        return "FastCB's regret follows the best policy's loss, SquareCB's the clock"

    def words(self) -> str:
        """What is seen."""
        fast, square = self.by_lstar["FastCB"][0].mean(), self.by_lstar["SquareCB"][0].mean()
        return (
            f"A class of {self.functions} functions, {ACTIONS} actions, the exact oracle (Vovk's aggregating "
            "algorithm), and each "
            f"algorithm's gamma by its own theory. On the left, {self.rounds:,} rounds, and the loss of the best "
            "policy swept from "
            f"{shown(self.lstar[0])} to {shown(self.lstar[-1])}. FastCB's regret grows as Lstar to the power of "
            f"{interval(self.slope_by_lstar('FastCB'))}: "
            "the theory says 1/2. (The fit is over the points where gamma is above its floor of 10 A. Left of them "
            "FastCB saves even faster.) "
            f"SquareCB's power is {interval(self.slope_by_lstar('SquareCB'))}: it pays for easy problems as for hard "
            "ones. "
            f"At the smallest Lstar FastCB's regret is {shown(fast)} and SquareCB's {shown(square)}. "
            f"On the right, Lstar is {_FIXED:.0f} and the number of rounds grows. FastCB's power of T is "
            f"{interval(self.slope_by_rounds('FastCB'))}, "
            f"SquareCB's {interval(self.slope_by_rounds('SquareCB'))}. "
            "The bound of the theorem, 40 sqrt(Lstar A Reg) + 600 A Reg, is never crossed: it is "
            f"{shown(self.margin())} times the regret or more, in each of "
            f"{self.by_lstar['FastCB'].size + self.by_rounds['FastCB'].size} runs. "
            f"The oracle's own regret was at most {self.oracle_excess:.3f}, and log N is {self.oracle_regret:.3f}."
        )

    def table(self) -> Table:
        """One row for each point."""
        rows: list[tuple[str | float, ...]] = []
        for swept, places, regrets in (
            ("Lstar", self.lstar, self.by_lstar),
            ("T", self.horizons, self.by_rounds),
        ):
            for i, place in enumerate(places):
                lstar = place if swept == "Lstar" else _FIXED
                rounds = self.rounds if swept == "Lstar" else place
                fast, square = regrets["FastCB"][i], regrets["SquareCB"][i]
                limit = bound(np.array(lstar), self.oracle_regret)
                rows.append(
                    (
                        swept,
                        float(lstar),
                        float(rounds),
                        fast.mean(),
                        standard_error(fast),
                        square.mean(),
                        standard_error(square),
                        float(limit),
                    )
                )
        names = (
            "swept",
            "Lstar",
            "T",
            "FastCB's regret",
            "standard error",
            "SquareCB's regret",
            "standard error",
            "bound",
        )
        return Table(names, rows)

    def draw(self) -> Figure:
        """Two panels: over Lstar, and over T."""
        runs = self.by_lstar["FastCB"].shape[1]
        figure, (left, right) = picture.blank(
            self.title(),
            f"{self.functions} functions, {ACTIONS} actions, the exact oracle for finite classes; each gamma by its "
            "own theory",
            f"Mean regret of {runs} runs. Dashed: the theorem's bound for FastCB, which no run crossed. Both axes are "
            "logarithmic.",
            (f"Regret after {self.rounds:,} rounds", f"Regret with Lstar = {_FIXED:.0f}"),
        )
        for axes, places, regrets, slopes in (
            (left, self.lstar, self.by_lstar, self.slope_by_lstar),
            (right, self.horizons, self.by_rounds, self.slope_by_rounds),
        ):
            limits = bound(places if axes is left else np.full(len(places), _FIXED), self.oracle_regret)
            axes.plot(places, limits, color=picture.GREY, linewidth=1.6, linestyle=(0, (4, 2)))
            middle = len(places) // 2
            picture.label(axes, "bound", (places[middle], limits[middle]), picture.GREY, shift=(0, 12), ha="right")
            for name, color in (("FastCB", picture.FASTCB), ("SquareCB", picture.SQUARECB)):
                means = regrets[name].mean(axis=1)
                axes.plot(places, means, color=color, linewidth=2.6, marker="o", markersize=5)
                text = f"{name}, slope {slopes(name)[0]:.2f}".replace("-0.00", "0.00")
                if means[-1] > 2 * means[0]:  # rising: below it, or above it, there is room
                    shift, ha = ((10, -16), "left") if name == "FastCB" else ((-10, 10), "right")
                    picture.label(axes, text, (places[middle], means[middle]), color, shift=shift, ha=ha)
                elif axes is left:
                    picture.label(axes, text, (places[0], means[0]), color, shift=(0, -16))
                else:
                    picture.label(axes, text, (places[-1], means[-1]), color, shift=(0, 14), ha="right")
            picture.logarithmic(axes)
            axes.set_ylim(None, 2.5 * limits.max())
        picture.name_axes(left, "Lstar, the loss of the best policy")
        picture.name_axes(right, "T, the number of rounds")
        return figure


def compute(
    seed: int = 0,
    quick: bool = False,
    *,
    rule: Rule = fastcb,
    likelihood: Likelihood = log_loss,
) -> SmallLosses:
    """Plays both sweeps.

    Args:
        seed: Of all draws.
        quick: Fewer rounds, runs and functions.
        rule: FastCB's allocation; another one shows that the claims depend on it.
        likelihood: How the oracle weighs its functions, likewise.
    """
    rounds, runs, functions, points = (2**14, 8, 2, 7) if quick else (2**20, 10, 4, 9)
    oracle_regret = math.log(functions)
    lstar = rounds * np.geomspace(_MOST * (1e-2 if quick else 1e-4), _MOST, points)
    horizons = 4.0 ** np.arange(5, math.log(rounds, 4) + 0.5)

    def setups(name: str) -> list[Setup]:
        made = []
        for total, length in [*((one, rounds) for one in lstar), *((_FIXED, int(one)) for one in horizons)]:
            mean = total / length
            if name == "FastCB":
                made.append(Setup(mean, mean + GAP, gamma_of_fastcb(total, oracle_regret), length, rule))
            else:
                made.append(Setup(mean, mean + GAP, gamma_of_squarecb(length, oracle_regret), length, squarecb))
        return made

    names = ("FastCB", "SquareCB")
    regret, excess = play(
        [one for name in names for one in setups(name)],
        runs=runs,
        functions=functions,
        seed=seed,
        likelihood=likelihood,
    )
    halves = dict(zip(names, np.split(regret, 2), strict=True))
    return SmallLosses(
        rounds=rounds,
        functions=functions,
        lstar=lstar,
        by_lstar={name: half[: len(lstar)] for name, half in halves.items()},
        horizons=horizons,
        by_rounds={name: half[len(lstar) :] for name, half in halves.items()},
        oracle_excess=float(excess.max()),
        seed=seed,
    )


EXPERIMENT = Experiment(
    "small-losses",
    "regret against the loss of the best policy: sqrt(Lstar) for FastCB, sqrt(T) for SquareCB",
    "Theorem 1 and Example 1",
    compute,
)
