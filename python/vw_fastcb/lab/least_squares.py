"""Least squares fails first order as a plug-in classifier, and log loss does not (the paper's lower bound)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from vw_fastcb.lab import picture
from vw_fastcb.lab.experiment import Experiment, Table, shown
from vw_fastcb.lab.games import Array

_DELTA = 0.01  # log loss is guaranteed to be within its bound with probability 1 - delta


@dataclass(frozen=True)
class Instance:
    """The construction in the proof. Action 2 is predicted perfectly by both functions, so only action 1 is told here.

    Context 1 has probability 1 - 1/n, context 2 has 1/n. The loss of action 1 is drawn from Ber(mu) in context 1, and
    from Ber(1/2) in context 2; action 2 always costs nu, and 1/2. The class has two functions: the truth, and one that
    predicts (wrong, 0) for action 1, so that its policy takes action 2 in context 1.
    """

    n: int

    @property
    def truth(self) -> tuple[float, float]:
        """f*(x, a1), by context."""
        return 2**7 / self.n, 0.5

    @property
    def other(self) -> tuple[float, float]:
        """The other function, f~(x, a1)."""
        return math.sqrt(1 / (16 * self.n)), 0.0

    @property
    def nu(self) -> float:
        """The loss of action 2 in context 1."""
        return math.sqrt(1 / self.n) / 8

    @property
    def lstar(self) -> float:
        """The loss of the best policy."""
        return (1 - 1 / self.n) * self.truth[0] + 0.5 / self.n

    @property
    def excess(self) -> float:
        """What the policy of the other function loses beyond that."""
        return (1 - 1 / self.n) * (self.nu - self.truth[0])


@dataclass(frozen=True, eq=False)
class Samples:
    """Sufficient statistics of many samples of size n: in each context, how often action 1 cost 0 and 1, (samples,)."""

    zeros: tuple[NDArray[np.int64], NDArray[np.int64]]
    ones: tuple[NDArray[np.int64], NDArray[np.int64]]

    @classmethod
    def drawn(cls, instance: Instance, count: int, rng: np.random.Generator) -> Samples:
        """Draws them."""
        second = rng.binomial(instance.n, 1 / instance.n, count)
        first = instance.n - second
        ones = rng.binomial(first, instance.truth[0]), rng.binomial(second, 0.5)
        return cls((first - ones[0], second - ones[1]), ones)

    def unlucky(self, instance: Instance) -> NDArray[np.bool_]:
        """The event of the proof: context 2 was seen once and cost nothing, context 1 often and near its mean."""
        first = self.zeros[0] + self.ones[0]
        once = (self.zeros[1] == 1) & (self.ones[1] == 0)
        often = (first >= 3 / 8 * instance.n) & (self.ones[0] <= 1.5 * instance.truth[0] * first)
        return np.asarray(once & often)


Loss = Callable[[Samples, tuple[float, float]], Array]
"""The total loss of predictions (by context) on each sample."""


def square_loss(samples: Samples, predictions: tuple[float, float]) -> Array:
    """Least squares."""
    return np.asarray(
        sum(
            zeros * f**2 + ones * (1 - f) ** 2
            for zeros, ones, f in zip(samples.zeros, samples.ones, predictions, strict=True)
        )
    )


def log_loss(samples: Samples, predictions: tuple[float, float]) -> Array:
    """Log loss, infinite where something happened that was predicted never to happen."""
    total = np.zeros(len(samples.ones[0]))
    for zeros, ones, f in zip(samples.zeros, samples.ones, predictions, strict=True):
        total -= zeros * math.log1p(-f)
        total += ones * -math.log(f) if f > 0 else np.where(ones > 0, math.inf, 0.0)
    return total


@dataclass(frozen=True, eq=False)
class Point:
    """What was seen at one n."""

    instance: Instance
    samples: int
    unlucky: float  # the share of samples with the proof's event
    square_fails: float  # the share of samples on which least squares takes the other function
    square_fails_if_unlucky: float
    log_fails: float

    def mean_excess(self, share: float) -> float:
        """The expected excess of a classifier that fails so often."""
        return share * self.instance.excess


def lower_bound(n: Array) -> Array:
    """What least squares loses at least, with probability 1/10: 2^-5 / sqrt(n)."""
    return np.asarray(2**-5 / np.sqrt(n))


def upper_bound(instance: Instance) -> float:
    """What log loss is guaranteed, with probability 1 - delta (the paper's theorem on plug-in classification)."""
    complexity = 2 * (math.log(2) + math.log(2 / _DELTA)) / instance.n
    return 16 * math.sqrt(instance.lstar * complexity) + 68 * complexity


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """What was seen at every n."""

    points: list[Point]

    def claims(self) -> dict[str, bool]:
        """What the theorems say must be seen."""
        return {
            "the proof's event has probability 1/10 or more": all(one.unlucky >= 0.1 for one in self.points),
            "least squares fails whenever it happens": all(one.square_fails_if_unlucky == 1 for one in self.points),
            "its excess is then 2^-5 / sqrt(n) or more": all(
                one.instance.excess >= lower_bound(np.array(one.instance.n)) for one in self.points
            ),
            "log loss stays within its guarantee": all(
                one.log_fails <= _DELTA or one.instance.excess <= upper_bound(one.instance) for one in self.points
            ),
        }

    def title(self) -> str:
        """The finding."""
        return "Least squares misses the first-order rate, log loss attains it"

    def words(self) -> str:
        """What is seen."""
        first, last = self.points[0], self.points[-1]
        squares = [one.square_fails for one in self.points]
        chance = math.exp(-1) * (math.exp(0.5) - 1)
        return (
            "Two contexts, two actions, two functions: the instance of the paper's lower bound, with sample sizes "
            f"from {shown(first.instance.n)} to {shown(last.instance.n)}. "
            f"The best policy loses {shown(first.instance.lstar * first.instance.n)} / n. Of {first.samples:,} samples "
            "at each n, the proof's unlucky event happened in "
            f"{min(one.unlucky for one in self.points):.1%} to {max(one.unlucky for one in self.points):.1%} (the "
            "paper proves 10%), and least squares then always chose the wrong function. "
            f"In all it did so in {min(squares):.1%} to {max(squares):.1%} of the samples; the limit for large n is "
            f"(sqrt(e) - 1) / e = {chance:.1%}. "
            f"Its excess, {shown(last.instance.excess)} at the largest n, is "
            f"{last.instance.excess / lower_bound(np.array(last.instance.n)):.1f} times the 2^-5 / sqrt(n) of the "
            "theorem, "
            f"and {last.instance.excess / last.instance.lstar:,.0f} times the loss of the best policy. "
            "Log loss on the same samples chose wrongly in "
            f"{sum(round(one.log_fails * one.samples) for one in self.points)} of "
            f"{sum(one.samples for one in self.points):,}."
        )

    def table(self) -> Table:
        """One row for each n."""
        rows = [
            (
                float(one.instance.n),
                one.instance.lstar,
                one.unlucky,
                one.square_fails,
                one.log_fails,
                one.instance.excess,
                float(lower_bound(np.array(one.instance.n))),
                upper_bound(one.instance),
            )
            for one in self.points
        ]
        return Table(
            (
                "n",
                "Lstar",
                "unlucky event",
                "least squares fails",
                "log loss fails",
                "excess if it fails",
                "2^-5 / sqrt(n)",
                "guarantee of log loss",
            ),
            rows,
        )

    def draw(self) -> Figure:
        """The excess over n, and how often."""
        figure, (left, right) = picture.blank(
            self.title(),
            "The lower-bound instance of the paper: two contexts, two actions, two functions; samples by their "
            "sufficient statistics",
            f"{self.points[0].samples:,} samples at each n. The guarantee of log loss holds with probability "
            f"{1 - _DELTA:.0%}.",
            ("Excess loss of the classifier when it is wrong", "How often it is wrong"),
        )
        n = np.array([one.instance.n for one in self.points], dtype=np.float64)
        excess = np.array([one.instance.excess for one in self.points])
        guarantee = np.array([upper_bound(one.instance) for one in self.points])
        middle = len(n) // 2
        left.plot(n, excess, color=picture.SQUARECB, linewidth=2.6, marker="o", markersize=5)
        picture.label(left, "least squares", (n[middle], excess[middle]), picture.SQUARECB, shift=(8, 12))
        left.plot(n, lower_bound(n), color=picture.GREY, linewidth=1.6, linestyle=(0, (4, 2)))
        picture.label(left, "2⁻⁵/√n", (n[-1], float(lower_bound(n[-1:])[0])), picture.GREY, shift=(-6, -12), ha="right")
        left.plot(n, guarantee, color=picture.FASTCB, linewidth=2.6)
        picture.label(
            left,
            "log loss: at most this",
            (n[middle + 1], guarantee[middle + 1]),
            picture.FASTCB,
            shift=(-14, -20),
            ha="right",
        )
        picture.logarithmic(left)
        for share, color, name, shift in (
            ([one.square_fails for one in self.points], picture.SQUARECB, "least squares", -14),
            ([one.log_fails for one in self.points], picture.FASTCB, "log loss", 14),
        ):
            right.plot(n, share, color=color, linewidth=2.6, marker="o", markersize=5)
            picture.label(
                right, f"{name}, {np.mean(share):.1%}", (n[middle], share[middle]), color, shift=(0, shift), ha="center"
            )
        right.axhline(0.1, color=picture.GREY, linewidth=1.6, linestyle=(0, (4, 2)))
        picture.label(right, "the theorem: 10% or more", (n[0], 0.1), picture.GREY, shift=(4, 9))
        picture.logarithmic(right, y=False)
        right.set_ylim(-0.01, 0.3)
        right.yaxis.set_major_formatter("{x:.0%}")
        for axes in (left, right):
            picture.name_axes(axes, "n, the size of the sample")
        return figure


def compute(seed: int = 0, quick: bool = False, *, first_order: Loss = log_loss) -> LeastSquares:
    """Draws samples and compares the two estimators on them.

    Args:
        seed: Of all draws.
        quick: Fewer samples.
        first_order: The loss that is to attain the first-order rate; another one shows that it must be log loss.
    """
    rng = np.random.default_rng(seed)
    count = 20_000 if quick else 400_000
    points = []
    for n in 10 ** np.arange(9 if quick else 8, 15, 2 if quick else 1, dtype=np.int64):
        # The theorem is for n above 10^8.
        instance = Instance(int(n) + 1)
        samples = Samples.drawn(instance, count, rng)
        square_fails, log_fails = (
            loss(samples, instance.other) < loss(samples, instance.truth) for loss in (square_loss, first_order)
        )
        unlucky = samples.unlucky(instance)
        points.append(
            Point(
                instance,
                count,
                float(unlucky.mean()),
                float(square_fails.mean()),
                float(square_fails[unlucky].mean()),
                float(log_fails.mean()),
            )
        )
    return LeastSquares(points)


EXPERIMENT = Experiment(
    "least-squares",
    "least squares against log loss as plug-in classifiers, on the paper's lower-bound instance",
    "Theorems 2 and 3, Proposition 2",
    compute,
)
