"""The worst case of the per-round inequalities: how far the paper's constants are from tight."""

from __future__ import annotations

import itertools
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
    """Predictions y and truths f of the greedy action, of the best one, and of all others, which are alike."""

    actions: int
    gamma: float
    y: tuple[float, float, float]
    f: tuple[float, float, float]

    @property
    def proportions(self) -> tuple[float, float, float]:
        """The predictions in units of the greedy action's: the inequalities do not change when all are scaled."""
        return 1.0, self.y[1] / self.y[0], self.y[2] / self.y[0]

    @property
    def errors(self) -> tuple[float, float, float]:
        """By how much the truths differ from the predictions, relative to these."""
        first, second, third = (f / y - 1 for f, y in zip(self.f, self.y, strict=True))
        return first, second, third


@dataclass(frozen=True, eq=False)
class Worst:
    """The largest ratio that was found, and where."""

    ratio: float
    instance: Instance


def terms(inequality: Inequality, points: Array, actions: int) -> tuple[Array, Array, Array]:
    """The three sums of the inequality, the right ones without their constants: regret, bias and error, each (n,).

    It is enough to look at instances in which all actions but two are alike: b, the greedy one, and a*, the best one.
    With h_a = |f_a - f_a*| - bias A / gamma f_a - error gamma (y_a - f_a)^2 / (y_a + f_a), the inequality says that h_b
    + sum over a != b of p_a (h_a - h_b) <= 0, in which p_a depends on y_a and y_b alone. So what is worst for one of
    the others is worst for each of them.

    Args:
        inequality: Which one.
        points: Instances as numbers in [0, 1], (n, 7).
        actions: A.
    """
    gamma, y, f = _decoded(inequality, points, actions)
    pmf = inequality.rule(y, gamma)
    best = f.max(axis=1) if inequality.is_of_rewards else f.min(axis=1)
    regret = np.einsum("ij,ij->i", pmf, np.abs(f - best[:, None]))
    bias = actions / gamma * np.einsum("ij,ij->i", pmf, f)
    return regret, bias, gamma * np.einsum("ij,ij->i", pmf, (y - f) ** 2 / (y + f))


def _decoded(inequality: Inequality, points: Array, actions: int) -> tuple[Array, Array, Array]:
    """Gamma (n,), and y and f (n, A). Every point of the cube is an instance."""
    gamma = actions * inequality.least_gamma * 10 ** (4 * points[:, 6])
    # The third power makes room for predictions close to each other, and for truths close to them.
    factors = 10 ** (8 * (2 * points - 1) ** 3)
    y_first = 10 ** (-8 * points[:, :1])
    y = np.minimum(1, np.hstack([y_first, y_first * factors[:, 1:3]]))
    f = np.minimum(1, y * factors[:, 3:6])
    sizes = [1, 1, actions - 2]
    return gamma, np.repeat(y, sizes, axis=1), np.repeat(f, sizes, axis=1)


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


_GENERATIONS = 40


class Search:
    """Searches for the worst instances of an inequality. There are several local maxima, so it keeps what it finds.

    Args:
        inequality: Which one.
        seed: Of all searches.
        starts: How many, for each question, and from how many of all points the last search begins.
        steps: How many the last search may take.
    """

    def __init__(self, inequality: Inequality, seed: Sequence[int], starts: int, steps: int) -> None:
        self._inequality = inequality
        self._seeds = np.random.default_rng(seed)
        self._starts = starts
        self._steps = steps
        self._found: list[Array] = []

    def explore(self, actions: int, ratio: Ratio) -> None:
        """Looks for instances with a large ratio by differential evolution, and keeps them."""

        def lack(points: Array) -> Array:
            return -self._ratios(actions, ratio, points.T)

        for _ in range(self._starts):
            found = differential_evolution(
                lack,
                [(0, 1)] * 7,
                vectorized=True,
                updating="deferred",
                maxiter=_GENERATIONS,
                polish=False,
                seed=self._seeds,
            )
            self._found.append(found.x)

    def worst(self, actions: int, ratio: Ratio) -> Worst:
        """The largest ratio that Nelder and Mead's method reaches from the best of all points that were ever found.

        It also begins where the last question ended, so that a chain of questions can follow a maximum as it moves.
        """
        points = np.array(self._found)
        promising = points[[*np.argsort(-self._ratios(actions, ratio, points))[: self._starts], -1]]
        searches = [
            minimize(
                lambda point: -float(self._ratios(actions, ratio, point[None])[0]),
                start,
                method="Nelder-Mead",
                options={"maxiter": self._steps, "xatol": 1e-9, "fatol": 1e-12},
            )
            for start in promising
        ]
        best = min(searches, key=lambda one: float(one.fun))
        point = np.clip(best.x, 0, 1)
        self._found.append(point)
        return Worst(-float(best.fun), _instance(self._inequality, point, actions))

    def _ratios(self, actions: int, ratio: Ratio, points: Array) -> Array:
        return ratio(*terms(self._inequality, np.clip(points, 0, 1), actions))


def _instance(inequality: Inequality, point: Array, actions: int) -> Instance:
    (gamma,), (y,), (f,) = _decoded(inequality, point[None], actions)
    sign = -1 if inequality.is_of_rewards else 1
    shown_ones = [int((sign * y).argmin()), int((sign * f).argmin()), -1]
    three_y, three_f = ((float(row[i]), float(row[j]), float(row[k])) for row in (y, f) for i, j, k in [shown_ones])
    return Instance(actions, float(gamma), three_y, three_f)


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
            f"no instance breaks the inequality for {one.name} ({one.bias:.0f} and {one.error:.0f})": max(
                self._ratios(one)
            )
            <= 1 + 1e-9
            for one in self.inequalities
        }

    def title(self) -> str:
        """The finding."""
        slack = 1 / max(max(self._ratios(one)) for one in self.inequalities)
        return f"Up to {self._most_actions} actions, the per-round inequalities have {slack:.1f} times to spare"

    @property
    def _most_actions(self) -> int:
        return max(actions for _, actions in self.worst)

    def words(self) -> str:
        """What is seen."""
        sentences = [
            "The two inequalities that turn a good regressor into low regret were attacked by a search over all "
            "predictions y, all truths f and all gamma "
            f"that the theorems allow, with 2 to {self._most_actions} actions. The more actions, the less is to spare. "
            "(All actions but the greedy one and the best one can be taken alike: the worst "
            "is the same for each of them.)"
        ]
        for one in self.inequalities:
            hardest = max((worst for (name, _), worst in self.worst.items() if name == one.name), key=lambda w: w.ratio)
            at = hardest.instance
            sentences.append(
                f"For {one.name}, the left side reaches {hardest.ratio:.3f} of the right side with the paper's "
                f"constants {one.bias:.0f} and {one.error:.0f}: both could be "
                f"{one.bias * hardest.ratio:.2f} and {one.error * hardest.ratio:.2f}. Each alone could be "
                f"{self.least_bias[one.name]:.2f} and {self.least_error[one.name]:.2f}, with the other one kept. "
                f"The worst instance has {at.actions} actions and gamma = {shown(at.gamma / at.actions)} A. Its "
                "predictions "
                "for the greedy action, the best one and the others are in the proportions "
                f"{_three(at.proportions)}, and the truths are off by {_three(at.errors)}, relative to them."
            )
        sentences.append(
            "So the proofs' constants are safe, not sharp, as the paper supposes where it asks for a strategy with "
            "better ones."
        )
        return " ".join(sentences)

    def table(self) -> Table:
        """The worst instance for each number of actions."""
        rows = [
            (
                name,
                actions,
                one.ratio,
                one.instance.gamma / actions,
                *one.instance.proportions[1:],
                *one.instance.errors,
            )
            for (name, actions), one in self.worst.items()
        ]
        proportions = ("y best / y greedy", "y others / y greedy")
        errors = ("f / y - 1, greedy", "best", "others")
        return Table(("of", "A", "left / right side", "gamma / A", *proportions, *errors), rows)

    def draw(self) -> Figure:
        """The pairs of constants that just hold, beside the paper's."""
        figure, panels = picture.blank(
            self.title(),
            "Pairs of constants with which the inequality just holds, by optimisation over all predictions, truths "
            "and gamma",
            "regret of a round  ≤  c₁ (A/gamma) · its loss (or reward)  +  c₂ gamma · triangular discrimination.",
            [
                f"{one.name.capitalize()}: the paper has c₁ = {one.bias:.0f}, c₂ = {one.error:.0f}"
                for one in self.inequalities
            ],
        )
        colours = (picture.SQUARECB, picture.THIRD)
        for axes, one in zip(panels, self.inequalities, strict=True):
            lines = {actions: line for (name, actions), line in self.frontier.items() if name == one.name}
            for actions, color in zip(lines, colours, strict=True):
                axes.plot(*lines[actions].T, color=color, linewidth=2.4)
            few, many = sorted(lines)
            at = int(np.abs(lines[many][:, 1] - 4).argmin())
            picture.label(axes, f"A = {many}", (lines[many][at, 0], 4), colours[1], shift=(8, 0))
            picture.label(
                axes, f"A = {few}", (lines[few][:, 0].min(), lines[few][:, 1].min()), colours[0], shift=(4, -11)
            )
            most = lines[max(lines)]
            axes.fill_between(most[:, 0], most[:, 1], 12, color=picture.THIRD, alpha=0.08, linewidth=0)
            axes.text(1.6, 11.2, "the inequality holds", color=picture.THIRD, fontsize=11)
            axes.plot(one.bias, one.error, marker="*", markersize=17, color=picture.FASTCB, linestyle="none")
            picture.label(axes, "the paper", (one.bias, one.error), picture.FASTCB, shift=(0, 17), ha="center")
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
    many, starts, steps, links = ((2, 5), 1, 60, 2) if quick else ((2, 3, 5, 10, 20, 50), 4, 400, 6)
    drawn = (many[0], many[-1])
    proportions = np.tan(np.linspace(0.02, 0.98, 2 if quick else 15) * math.pi / 2)
    both = inequalities(rule)
    worst: dict[tuple[str, int], Worst] = {}
    least_bias, least_error = {}, {}
    frontier: dict[tuple[str, int], Array] = {}
    for number, one in enumerate(both):
        search = Search(one, [seed, number], starts, steps)
        questions = [scaled(one.bias, one.error), bias_alone(one.error), error_alone(one.bias)]
        for actions in many:
            for ratio in questions:
                search.explore(actions, ratio)
        for actions, proportion in itertools.product(drawn, proportions):
            search.explore(actions, scaled(proportion, 1))
        # Only now, so that each question has the answers to all others to begin with, and a second time for the first.
        for _ in range(2):
            worst |= {(one.name, actions): search.worst(actions, questions[0]) for actions in many}
            for actions in drawn:
                shrunk = [search.worst(actions, scaled(proportion, 1)).ratio for proportion in proportions]
                frontier[one.name, actions] = np.column_stack([proportions * shrunk, shrunk])
        least_bias[one.name] = max(_least(search, actions, one, of_bias=True, links=links) for actions in many)
        least_error[one.name] = max(_least(search, actions, one, of_bias=False, links=links) for actions in many)
    return PerRound(both, worst, least_bias, least_error, frontier)


def _least(search: Search, actions: int, one: Inequality, *, of_bias: bool, links: int) -> float:
    """The least constant of one term beside the paper's of the other, approached from where both are 1."""
    for other in np.geomspace(1, one.error if of_bias else one.bias, links):
        search.worst(actions, scaled(1, other) if of_bias else scaled(other, 1))
    return search.worst(actions, bias_alone(one.error) if of_bias else error_alone(one.bias)).ratio


def _three(values: Sequence[float]) -> str:
    return f"({', '.join(shown(value) for value in values)})"


EXPERIMENT = Experiment(
    "per-round",
    "the worst case of the per-round inequalities, and how far their constants are from tight",
    "Theorems 4 and 7",
    compute,
)
