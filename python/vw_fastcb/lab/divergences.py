"""Triangular discrimination lies below squared Hellinger distance and KL: what the proofs use."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from vw_fastcb.lab import picture
from vw_fastcb.lab.experiment import Experiment, Table, shown
from vw_fastcb.lab.games import Array

Divergence = Callable[[Array, Array], Array]
"""Between the truth and a prediction, both the probability of a loss."""


def triangular(truth: Array, y: Array) -> Array:
    """(f - y)^2 / (f + y), the term of the per-round inequality."""
    return np.asarray((truth - y) ** 2 / (truth + y))


def bernoulli_triangular(truth: Array, y: Array) -> Array:
    """Triangular discrimination of two coins: both sides."""
    return triangular(truth, y) + triangular(1 - truth, 1 - y)


def kl(truth: Array, y: Array) -> Array:
    """What log loss charges for predicting y."""
    error = y - truth  # exact where the two are close, so that little is lost when the terms nearly cancel
    return np.asarray(-truth * np.log1p(error / truth) - (1 - truth) * np.log1p(-error / (1 - truth)))


def hellinger(truth: Array, y: Array) -> Array:
    """Squared Hellinger distance of two coins."""
    return np.asarray(((np.sqrt(truth) - np.sqrt(y)) ** 2 + (np.sqrt(1 - truth) - np.sqrt(1 - y)) ** 2) / 2)


def jensen_shannon(truth: Array, y: Array) -> Array:
    """Jensen-Shannon divergence of two coins."""
    middle = (truth + y) / 2
    return np.asarray((kl(truth, middle) + kl(y, middle)) / 2)


def chi_squared(truth: Array, y: Array) -> Array:
    """Chi-squared divergence of two coins: the same with the prediction alone in the denominator."""
    return np.asarray((truth - y) ** 2 / (y * (1 - y)))


@dataclass(frozen=True, eq=False)
class Divergences:
    """Ratios over a grid of truths and predictions."""

    truths: Array
    candidate: Divergence
    extremes: dict[str, tuple[float, float]]  # of each ratio: the least and the largest
    triangle: float  # the most by which sqrt(discrimination) breaks the triangle inequality, at most 0 for a metric
    multinomial: float  # the largest ratio of the proposition for many classes

    def claims(self) -> dict[str, bool]:
        """What the proofs use."""
        return {
            "discrimination <= 2 KL": self.extremes["discrimination / 2 KL"][1] <= 1,
            "discrimination <= 4 squared Hellinger": self.extremes["discrimination / 4 squared Hellinger"][1]
            <= 1 + 1e-9,
            "squared Hellinger <= KL / 2": self.extremes["4 squared Hellinger / 2 KL"][1] <= 1 + 1e-9,
            "KL <= chi-squared": self.extremes["KL / chi-squared"][1] <= 1 + 1e-9,
            "two-sided, it is 2 / log 2 to 4 times Jensen-Shannon": 2 / math.log(2) - 1e-9
            <= self.extremes["two-sided discrimination / Jensen-Shannon"][0]
            <= self.extremes["two-sided discrimination / Jensen-Shannon"][1]
            <= 4 + 1e-9,
            "its square root is a metric": self.triangle <= 1e-12,
            "many classes: max (p_a - q_a)^2 / (2 - p_a - q_a) <= 4 squared Hellinger": self.multinomial <= 1 + 1e-9,
        }

    def title(self) -> str:
        """The finding."""
        return "Log loss controls triangular discrimination, squares do not"

    def words(self) -> str:
        """What is seen."""
        most = self.extremes["discrimination / 2 KL"][1]
        hellinger_most = self.extremes["discrimination / 4 squared Hellinger"][1]
        square_least = self.extremes["squared error / discrimination"][0]
        low, high = self.extremes["two-sided discrimination / Jensen-Shannon"]
        return (
            f"For truths and predictions from {shown(self.truths[0])} to 1 - {shown(1 - self.truths[-1])}, the "
            "triangular "
            f"discrimination (f - y)^2 / (f + y) is at most {most:.3f} of 2 KL: the constant 2 of the proof could be "
            f"{2 * most:.2f}. "
            f"It is at most {hellinger_most:.3f} of 4 times the squared Hellinger distance: that constant is tight. "
            f"Two-sided, it is {low:.2f} to {high:.2f} times the Jensen-Shannon divergence, and its square root is a "
            "metric. "
            f"Squared error can be as little as {shown(square_least)} of the discrimination, so a learner of least "
            "squares may look good and still be far off where losses are small. "
            "Chi-squared would not do in its place: it is never below KL, and up to "
            f"{shown(1 / self.extremes['KL / chi-squared'][0])} times as large."
        )

    def table(self) -> Table:
        """The least and the largest of each ratio."""
        return Table(("ratio", "least", "largest"), [(name, *pair) for name, pair in self.extremes.items()])

    def draw(self) -> Figure:
        """All divergences from a small truth, and the ratio to 2 KL from several."""
        truth = 0.01
        figure, (left, right) = picture.blank(
            self.title(),
            "Divergences between the true chance of a loss, f, and a prediction, y",
            "H²: squared Hellinger distance. Left: both axes logarithmic. Right: at 1, discrimination ≤ 2 KL would be "
            "tight.",
            (f"From f = {truth:g}", "Triangular discrimination as a share of 2 KL"),
        )
        y = np.geomspace(1e-5, 0.9, 500)
        y = y[np.abs(y / truth - 1) > 0.02]
        lines: tuple[tuple[str, Array, str, float], ...] = (
            ("2 KL", 2 * kl(np.array(truth), y), picture.THIRD, 9),
            ("4 H²", 4 * hellinger(np.array(truth), y), picture.FOURTH, 9),
            ("triangular", self.candidate(np.array(truth), y), picture.FASTCB, -11),
            ("squared error", (y - truth) ** 2, picture.SQUARECB, -11),
        )
        for name, values, color, up in lines:
            left.plot(y, values, color=color, linewidth=3 if color == picture.FASTCB else 2)
            picture.label(left, name, (y[0], values[0]), color, shift=(4, up))
        picture.logarithmic(left)
        left.set_ylim(1e-6, 30)
        for truth_of_line, color in zip(
            (0.001, 0.01, 0.1, 0.5), (picture.FASTCB, picture.FIFTH, picture.THIRD, picture.SQUARECB), strict=True
        ):
            f = np.array(truth_of_line)
            ratio = self.candidate(f, y) / (2 * kl(f, y))
            right.plot(y, ratio, color=color, linewidth=2.2)
            at = int(ratio.argmax())
            name = f"f = {truth_of_line:g}" if truth_of_line < 0.01 else f"{truth_of_line:g}"
            up, ha = truth_of_line < 0.1, "right" if truth_of_line < 0.01 else "center"
            picture.label(right, name, (y[at], ratio[at]), color, shift=(0, 11 if up else -11), ha=ha)
        right.axhline(1, color=picture.GREY, linewidth=1.6, linestyle=(0, (4, 2)))
        picture.label(right, "the inequality of the proof", (y[0], 1), picture.GREY, shift=(0, -10))
        picture.logarithmic(right, y=False)
        right.set_ylim(0, 1.1)
        for axes in (left, right):
            picture.name_axes(axes, "y, the prediction")
        return figure


def compute(seed: int = 0, quick: bool = False, *, candidate: Divergence = triangular) -> Divergences:
    """Looks at all ratios on a grid.

    Args:
        seed: Of the random points of the last two checks.
        quick: A coarser grid.
        candidate: The divergence of the per-round inequality; another one shows that it must be this one.
    """
    points = 200 if quick else 1200
    small = np.geomspace(1e-6, 0.5, points)
    truths = np.concatenate([small, 1 - small[-2::-1]])
    f, y = np.meshgrid(truths, truths * (1 - 1e-3), indexing="ij")
    # Predictions come close to the truth, but not so close that the differences are of the size of rounding errors.
    apart = np.abs(f - y) > 1e-4 * np.minimum(f, 1 - f)
    f, y = f[apart], y[apart]
    ratios = {
        "discrimination / 2 KL": candidate(f, y) / (2 * kl(f, y)),
        "discrimination / 4 squared Hellinger": candidate(f, y) / (4 * hellinger(f, y)),
        "4 squared Hellinger / 2 KL": 2 * hellinger(f, y) / kl(f, y),
        "two-sided discrimination / Jensen-Shannon": bernoulli_triangular(f, y) / jensen_shannon(f, y),
        "squared error / discrimination": (f - y) ** 2 / candidate(f, y),
        "KL / chi-squared": kl(f, y) / chi_squared(f, y),
    }
    rng = np.random.default_rng(seed)
    return Divergences(
        truths,
        candidate,
        {name: (float(ratio.min()), float(ratio.max())) for name, ratio in ratios.items()},
        _triangle(rng, 100 * points),
        _multinomial(rng, 10 * points),
    )


def _triangle(rng: np.random.Generator, count: int) -> float:
    """The most by which the way from a to c is longer than the ways from a to b and from b to c."""
    a, b, c = 10 ** rng.uniform(-6, 0, (3, count)) * 0.999
    ways = [np.sqrt(bernoulli_triangular(*pair)) for pair in ((a, b), (b, c), (a, c))]
    return float((ways[2] - ways[0] - ways[1]).max())


def _multinomial(rng: np.random.Generator, count: int) -> float:
    """The largest of `multinomial_ratios` over random distributions."""
    largest = 0.0
    for classes in (2, 3, 10):
        for concentration in (0.1, 1.0):
            p, q = rng.dirichlet(np.full(classes, concentration), size=(2, count))
            largest = max(largest, float(multinomial_ratios(p, q).max()))
    return largest


def multinomial_ratios(p: Array, q: Array) -> Array:
    """The ratios of (p_a - q_a)^2 / (1 - p_a + 1 - q_a), the largest over a, to 4 times the squared Hellinger distance.

    Rows are distributions, (n, classes). Those that are equal have no ratio.
    """
    distance = ((np.sqrt(p) - np.sqrt(q)) ** 2).sum(axis=1) / 2
    left = ((p - q) ** 2 / np.maximum(2 - p - q, 1e-300)).max(axis=1)
    differ = distance > 1e-12
    return np.asarray(left[differ] / (4 * distance[differ]))


EXPERIMENT = Experiment(
    "divergences",
    "triangular discrimination against KL, squared Hellinger distance and squared error",
    "Propositions 1, 3, 4 and 5",
    compute,
)
