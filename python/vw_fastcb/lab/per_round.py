"""The worst case of the per-round inequalities: how far the paper's constants are from tight."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import differential_evolution, minimize

from vw_fastcb import allocation
from vw_fastcb.lab import picture
from vw_fastcb.lab.experiment import Experiment, Table, shown
from vw_fastcb.lab.games import Array, Rule


@dataclass(frozen=True)
class Inequality:
    """sum p_a |f_a - f_a*| <= bias A / gamma sum p_a f_a + error gamma sum p_a (y_a - f_a)^2 / (y_a + f_a)."""

    name: str
    rule: Rule
    bias: float
    error: float
    least_gamma: float  # in units of A
    is_of_rewards: bool


def inequalities(rule: Rule = allocation.reweighted_igw) -> tuple[Inequality, Inequality]:
    """The theorem for losses and the one for rewards."""
    return (
        Inequality("losses", rule, 5, 7, 2, False),
        Inequality("rewards", allocation.reweighted_igw_rewards, 9, 10, 4, True),
    )


@dataclass(frozen=True)
class Instance:
    """Predictions y and truths f of the greedy action b, of the best one a*, and of all others, which are alike."""

    actions: int
    gamma: float
    y: tuple[float, float, float]
    f: tuple[float, float, float]
    best_is_greedy: bool


@dataclass(frozen=True)
class Worst:
    """The largest ratio that was found, and where."""

    ratio: float
    instance: Instance


def terms(inequality: Inequality, points: Array, actions: int, best_is_greedy: bool) -> tuple[Array, Array, Array]:
    """The three sums of the inequality, the right ones without their constants: regret, bias and error, each (n,).

    It is enough to look at instances in which all actions other than b and a* are alike. With h_a = |f_a - f_a*| - bias
    A / gamma f_a - error gamma (y_a - f_a)^2 / (y_a + f_a), the inequality is h_b + sum over a != b of p_a (h_a - h_b)
    <= 0, in which p_a depends on y_a and y_b alone: what is worst for one of the others is worst for each of them.

    Args:
        inequality: Which one.
        points: Instances as numbers in [0, 1], (n, 7).
        actions: A.
        best_is_greedy: Whether b is a*.
    """
    gamma, y, f = _decoded(inequality, points, actions, best_is_greedy)
    pmf = inequality.rule(y, gamma)
    regret = np.einsum("ij,ij->i", pmf, np.abs(f - f[:, [0 if best_is_greedy else 1]]))
    total = y + f
    discrimination = np.divide((y - f) ** 2, total, out=np.zeros_like(total), where=total > 0)
    bias = actions / gamma * np.einsum("ij,ij->i", pmf, f)
    return regret, bias, gamma * np.einsum("ij,ij->i", pmf, discrimination)


def _decoded(inequality: Inequality, points: Array, actions: int, best_is_greedy: bool) -> tuple[Array, Array, Array]:
    """Gamma (n,), and y and f (n, A): b first, then a*, then the others. Every point of the cube is an instance."""
    u = points.T
    gamma = actions * inequality.least_gamma * 10 ** (4 * u[6])
    y_b, f_best = 10 ** (-4 * u[0]), 10 ** (-8 * u[3])
    if inequality.is_of_rewards:  # nothing is predicted above b, and nothing is better than a*
        y_best, y_other, f_b, f_other = y_b * 10 ** (-8 * u[1]), y_b * 10 ** (-8 * u[2]), *(f_best * 10 ** (-8 * u[4:6]))
    else:
        y_best, y_other, f_b, f_other = y_b ** (1 - u[1]), y_b ** (1 - u[2]), *(f_best ** (1 - u[4:6]))
    if best_is_greedy:
        y, f = [y_b] + [y_other] * (actions - 1), [f_best] + [f_other] * (actions - 1)
    else:
        y, f = [y_b, y_best] + [y_other] * (actions - 2), [f_b, f_best] + [f_other] * (actions - 2)
    return gamma, np.column_stack(y), np.column_stack(f)


Ratio = Callable[[Array, Array, Array], Array]


def scaled(bias: float, error: float) -> Ratio:
    """By how much both constants may shrink, or must grow, together: regret / right-hand side."""
    return lambda regret, first, second: _quotient(regret, bias * first + error * second)


def bias_alone(error: float) -> Ratio:
    """The least constant of the bias, beside this one of the error."""
    return lambda regret, first, second: _quotient(regret - error * second, first)


def error_alone(bias: float) -> Ratio:
    """The least constant of the error, beside this one of the bias."""
    return lambda regret, first, second: _quotient(regret - bias * first, second)


def _quotient(above: Array, below: Array) -> Array:
    # Where nothing is predicted wrongly, rounding leaves a little of the error's term. There is nothing to find there.
    return np.divide(above, below, out=np.zeros_like(above), where=below > 1e-12)


def worst(inequality: Inequality, actions: int, ratio: Ratio, *, seed: int, effort: int) -> Worst:
    """Searches for the instance with the largest ratio: differential evolution, then Nelder and Mead's method.

    Args:
        inequality: Which one.
        actions: A.
        ratio: What to make large.
        seed: Of the search.
        effort: How many generations.
    """
    found = []
    for best_is_greedy in (False, True):

        def lack(points: Array, best_is_greedy: bool = best_is_greedy) -> Array:
            return -ratio(*terms(inequality, np.atleast_2d(points.T), actions, best_is_greedy))

        search = differential_evolution(
            lack, [(0, 1)] * 7, vectorized=True, updating="deferred", maxiter=effort, popsize=12, polish=False, seed=seed
        )
        refined = minimize(
            lambda point: lack(np.clip(point, 0, 1)[:, None])[0],
            search.x,
            method="Nelder-Mead",
            options={"maxiter": 4 * effort, "xatol": 1e-9, "fatol": 1e-12},
        )
        found.append(Worst(-float(refined.fun), _instance(inequality, np.clip(refined.x, 0, 1), actions, best_is_greedy)))
    return max(found, key=lambda one: one.ratio)


def _instance(inequality: Inequality, point: Array, actions: int, best_is_greedy: bool) -> Instance:
    gamma, y, f = _decoded(inequality, point[None], actions, best_is_greedy)

    def three(row: Array) -> tuple[float, float, float]:
        best = 0 if best_is_greedy else 1
        return float(row[0]), float(row[best]), float(row[-1])

    return Instance(actions, float(gamma[0]), three(y[0]), three(f[0]), best_is_greedy)


@dataclass(frozen=True, eq=False)
class PerRound:
    """What the search found."""

    inequalities: tuple[Inequality, ...]
    worst: dict[tuple[str, int], Worst]  # by inequality and number of actions, with the paper's constants
    least_bias: dict[str, float]  # beside the paper's constant of the error
    least_error: dict[str, float]  # beside the paper's constant of the bias
    frontier: dict[tuple[str, int], Array]  # pairs of constants that just hold, (directions, 2)

    def _ratios(self, inequality: Inequality) -> list[float]:
        return [worst.ratio for (name, _), worst in self.worst.items() if name == inequality.name]

    def claims(self) -> dict[str, bool]:
        """What the theorems say must be seen."""
        return {
            f"no instance breaks the inequality for {one.name} ({one.bias:.0f} and {one.error:.0f})": max(self._ratios(one))
            <= 1 + 1e-9
            for one in self.inequalities
        }

    def title(self) -> str:
        """The finding."""
        slack = 1 / max(max(self._ratios(one)) for one in self.inequalities)
        return f"The per-round inequalities hold with {slack:.1f} times to spare at their worst"

    def words(self) -> str:
        """What is seen."""
        sentences = [
            "The two inequalities that turn a good regressor into low regret were attacked by a search over all predictions y, all truths f and all gamma "
            "that the theorems allow. (All actions but the greedy one and the best one can be taken alike: the worst is the same for each of them.)"
        ]
        for one in self.inequalities:
            hardest = max((worst for (name, _), worst in self.worst.items() if name == one.name), key=lambda w: w.ratio)
            at = hardest.instance
            sentences.append(
                f"For {one.name}, the left side reaches {hardest.ratio:.3f} of the right side with the paper's constants {one.bias:.0f} and {one.error:.0f}: both could be "
                f"{one.bias * hardest.ratio:.2f} and {one.error * hardest.ratio:.2f}. Each alone could be {self.least_bias[one.name]:.2f} and {self.least_error[one.name]:.2f}, with the other one kept. "
                f"The worst instance has {at.actions} actions, gamma = {shown(at.gamma / at.actions)} A, predictions {_three(at.y)} and truths {_three(at.f)} of the "
                f"greedy action, the best one and the others{' (the greedy action is the best one)' if at.best_is_greedy else ''}."
            )
        sentences.append("So the proofs' constants are safe, not sharp, as the paper supposes where it asks for a strategy with better ones.")
        return " ".join(sentences)

    def table(self) -> Table:
        """The worst instance for each number of actions."""
        rows = [
            (name, actions, one.ratio, one.instance.gamma / actions, *one.instance.y, *one.instance.f)
            for (name, actions), one in self.worst.items()
        ]
        return Table(
            ("of", "A", "left / right side", "gamma / A", "y greedy", "y best", "y others", "f greedy", "f best", "f others"),
            rows,
        )

    def draw(self) -> Figure:
        """The pairs of constants that just hold, beside the paper's."""
        figure, panels = picture.blank(
            self.title(),
            "Pairs of constants with which the inequality just holds, by optimisation over all predictions, truths and gamma",
            "regret of a round  ≤  c₁ (A/γ) · its loss (or reward)  +  c₂ γ · triangular discrimination.",
            [f"{one.name.capitalize()}: the paper has c₁ = {one.bias:.0f}, c₂ = {one.error:.0f}" for one in self.inequalities],
        )
        colours = (picture.SQUARECB, picture.THIRD)
        for axes, one in zip(panels, self.inequalities, strict=True):
            lines = {actions: line for (name, actions), line in self.frontier.items() if name == one.name}
            for (actions, line), color, place in zip(lines.items(), colours, (2.5, 5.5), strict=False):
                axes.plot(*line.T, color=color, linewidth=2.4)
                at = int(np.abs(line[:, 0] - place).argmin())
                picture.label(axes, f"A = {actions}", (line[at, 0], line[at, 1]), color, (0, -11), "center")
            most = lines[max(lines)]
            axes.fill_between(most[:, 0], most[:, 1], 12, color=picture.THIRD, alpha=0.08, linewidth=0)
            axes.text(1.6, 11.2, "the inequality holds", color=picture.THIRD, fontsize=11)
            axes.plot(one.bias, one.error, marker="*", markersize=17, color=picture.FASTCB, linestyle="none")
            picture.label(axes, "the paper", (one.bias, one.error), picture.FASTCB, (10, 8))
            axes.set(xlim=(0, 12), ylim=(0, 12))
            picture.name_axes(axes, "c₁, the constant of exploring", "c₂, the constant of exploiting")
        return figure


def compute(seed: int = 0, quick: bool = False, *, rule: Rule = allocation.reweighted_igw) -> PerRound:
    """Searches for the worst instances.

    Args:
        seed: Of the search.
        quick: Fewer numbers of actions and shorter searches.
        rule: The allocation for losses; another one shows that the inequality depends on it.
    """
    many, effort = ((2, 5), 30) if quick else ((2, 3, 5, 10, 20, 50), 150)
    both = inequalities(rule)
    directions = np.linspace(0.02, 0.98, 3 if quick else 15) * math.pi / 2
    return PerRound(
        both,
        {
            (one.name, actions): worst(one, actions, scaled(one.bias, one.error), seed=seed, effort=effort)
            for one in both
            for actions in many
        },
        {one.name: max(worst(one, a, bias_alone(one.error), seed=seed, effort=effort).ratio for a in many) for one in both},
        {one.name: max(worst(one, a, error_alone(one.bias), seed=seed, effort=effort).ratio for a in many) for one in both},
        {
            (one.name, actions): _frontier(one, actions, directions, seed, effort)
            for one in both
            for actions in (many[0], many[-1])
        },
    )


def _frontier(inequality: Inequality, actions: int, directions: Array, seed: int, effort: int) -> Array:
    """Pairs of constants in several proportions, each scaled until it just holds."""
    pairs = []
    for direction in directions:
        bias, error = math.tan(direction), 1.0
        ratio = worst(inequality, actions, scaled(bias, error), seed=seed, effort=effort).ratio
        pairs.append((bias * ratio, error * ratio))
    return np.array(sorted(pairs, key=lambda pair: (pair[0], -pair[1])))


def _three(values: Sequence[float]) -> str:
    # Both theorems do not change when y and f are scaled together; what is 1/1000 of the largest is called 0.
    return f"({', '.join(shown(value) if value > 1e-3 * max(values) else '0' for value in values)})"


EXPERIMENT = Experiment(
    "per-round",
    "the worst case of the per-round inequalities, and how far their constants are from tight",
    "Theorem 3 (first-order per-round inequality) and the theorem for small rewards",
    compute,
)
