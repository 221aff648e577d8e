r"""Linear classes, by following the leader with a log barrier: the simplex, the unit ball, and kernels.

One algorithm and one proof for all. Let `K` be a convex set of weights, and let the prediction of every `w` in `K` be
linear in `w` and in [0, 1]. Let `R` be a self-concordant barrier of `K` with parameter `nu`, 0 at its lowest. At round
`t` the oracle predicts with

    w_t = argmin over K of  R(w) / eta_t + sum_{s < t} <g_s, w>,

where `g_s` is the gradient of the log loss of round `s` at `w_s`: it follows the leader of linearised losses, with the
barrier as a regulariser. That takes O(d) for each action and nothing of the past but one sum.

**Why log loss needs no clipping here.** Gradients of log loss are unbounded: `-phi / <w, phi>` for a loss of 1. But
`w` moves in the barrier's own norm. Its Dikin ellipsoid lies in `K`, where predictions are not negative, so a step of
length 1 cannot take `<w, phi>` below 0, and the dual norm of `phi` is at most `<w, phi>`. Hence `s_t`, the dual norm
of `g_t`, is at most 1 for every event of weight at most 1, however bad the prediction was.

**The bound.** With `omega(s) = -s - log(1 - s)`, the usual analysis gives for every `u` in `K` and every round `T`

    regret to u  <=  R(u') / eta_T + T log(1 / (1 - delta)) + sum_t omega(eta_t s_t) / eta_t,

where `u' = (1 - delta) u + delta w_1` and `R(u') <= nu log(1 / delta)`, for any `delta` that one likes. This is the
`certificate`: it can be computed from what was seen. With `V_t = s_1^2 + ... + s_t^2 <= t`,
`eta_t = min(1/2, sqrt(nu log(e + V_{t-1}) / (1 + V_{t-1})))` and `delta = 1 / (T + 1)` it is at most

    1 + nu log(T + 1) max(2, sqrt((1 + T) / (nu log(e + T)))) + 2 sqrt(nu T log(e + T)),

which is the `regret_bound`: O(sqrt(nu T log T)). `nu` is 1 for the ball, as in Rakhlin and Sridharan (2015), section
6.1, which the paper cites; and it is `d` for the simplex.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.learner.frames import is_number
from vw_fastcb.learner.settings import is_whole
from vw_fastcb.oracles.features import FeatureMap, table_of
from vw_fastcb.oracles.protocol import checked_event

_Array = NDArray[np.float64]
_ROUNDING = 1e-9  # by which features may miss their range


class _Pace:
    """The step sizes eta_t, and what the bound has to pay for them."""

    def __init__(self, nu: float) -> None:
        self.nu = nu
        self.seen = 0.0  # V
        self.total = 0.0  # of the weights of events; T where all are 1
        self.spent = 0.0  # sum of omega(eta s) / eta
        self.last_rate = 0.5

    @property
    def rate(self) -> float:
        """eta_t, of the round to come."""
        return min(0.5, math.sqrt(self.nu * math.log(math.e + self.seen) / (1 + self.seen)))

    def take(self, squared_norm: float, weight: float) -> None:
        """Counts an event whose gradient has this squared norm."""
        rate = self.rate
        step = rate * math.sqrt(squared_norm)
        self.spent += (-step - math.log1p(-step)) / rate if step < 1 else math.inf
        self.seen += squared_norm
        self.total += weight
        self.last_rate = rate

    def certificate(self) -> float:
        if self.total == 0:
            return 0.0
        price = self.nu / self.last_rate  # of log(1 / delta)
        delta = price / (price + self.total)  # the best one
        return price * math.log(1 / delta) + self.total * -math.log1p(-delta) + self.spent

    def bound(self, rounds: int) -> float:
        if not is_whole(rounds) or not 0 <= rounds < 2**63:
            raise ValueError(f"rounds is {rounds!r}; expected the number of events, from 0 to 2^63.")
        t, nu = float(rounds), self.nu
        barrier = nu * math.log(t + 1) * max(2.0, math.sqrt((1 + t) / (nu * math.log(math.e + t))))
        return 1 + barrier + 2 * math.sqrt(nu * t * math.log(math.e + t)) if rounds else 0.0


class Simplex:
    """Predicts as well as the best mixture of the features: losses <w, phi(x, a)>, w in the simplex.

    Features are in [0, 1]: say, what d models or experts predict for each action. It follows the leader with a log
    barrier, in O(d) per action, and its regret under log loss is O(sqrt(d T log T)) on every sequence (see
    `regret_bound`). The paper names continuous exponential weights, whose regret is O(d log(T / d)). Its prediction is
    an integral over the simplex, which takes samples of a log-concave density in every round, in time that is a high
    power of d and T, and it is then exact only on average: nothing that one would wait for. The algorithms between the
    two, with regret in O(d^2 log^c T), solve a problem over all past rounds in each one. For a few candidates
    `FiniteClass` is better: log N.

    Args:
        d: The number of features.
        features: A function of a context that returns its table (A, d); unless given, contexts are such tables.

    Examples:
        >>> from vw_fastcb.oracles import Simplex
        >>> oracle = Simplex(2)
        >>> experts = [[0.1, 0.9], [0.8, 0.4]]  # two actions, each as two experts see it
        >>> oracle.predict(experts)
        array([0.5, 0.6])
        >>> for _ in range(50):
        ...     oracle.learn(experts, action=0, loss=0)
        >>> oracle.predict(experts).round(2)
        array([0.13, 0.78])
    """

    def __init__(self, d: int, *, features: FeatureMap | None = None) -> None:
        if not is_whole(d) or d < 1:
            raise ValueError(f"d is {d!r}; expected the number of features, 1 or larger.")
        self._features = features
        self._slopes = np.zeros(int(d))  # the sum of the gradients
        self._pace = _Pace(float(d))
        self._weights = np.full(int(d), 1 / d)

    @property
    def weights(self) -> _Array:
        """The weight of each feature, (d,); they sum to 1."""
        return self._weights.copy()

    def regret_bound(self, rounds: int) -> float:
        """The most by which the log loss exceeds that of the best mixture, on any sequence of so many rounds.

        Args:
            rounds: The number of events, each of weight 1 or less.
        """
        return self._pace.bound(rounds)

    def certificate(self) -> float:
        """The same for the events that were learned so far: never above the bound, and often far below."""
        return self._pace.certificate()

    def predict(self, context: Any) -> _Array:
        """The predicted loss of each action, (A,)."""
        return np.asarray(np.clip(self._table(context) @ self._weights, 0.0, 1.0))

    def learn(self, context: Any, action: int, loss: float, weight: float = 1.0) -> None:
        """Learns the loss of one action."""
        table = self._table(context)
        action, y, c = checked_event(action, len(table), loss, weight)
        phi, w = table[action], self._weights
        slope = -c * (y * _ratio(phi, w) + (1 - y) * _ratio(1 - phi, w))
        # The norm of what is left of the gradient in directions in which weights still sum to 1.
        squares = w * w
        level = float(squares @ slope / squares.sum())
        norm = float(squares @ (slope - level) ** 2)
        self._slopes = self._slopes + slope
        self._pace.take(min(norm, c * c), c)
        self._weights = _simplex_leader(self._pace.rate * self._slopes)

    def _table(self, context: Any) -> _Array:
        table = table_of(context, self._features, len(self._weights))
        outside = (table < -_ROUNDING) | (table > 1 + _ROUNDING)
        if outside.any():
            raise ValueError(f"the features have the value {table[outside][0]}; expected numbers in [0, 1].")
        return np.clip(table, 0.0, 1.0)


class Ball:
    """Predicts as well as the best (1 + <w, phi(x, a)>) / 2 with w in the unit ball, in any dimension.

    It follows the leader with the log barrier -log(1 - |w|^2), in O(d) per action, as the paper's example says. Its
    regret under log loss is O(sqrt(T log T)) on every sequence (see `regret_bound`), whatever the dimension.

    Args:
        d: The number of features.
        features: A function of a context that returns its table (A, d), with rows of norm 1 at most; unless given,
            contexts are such tables.

    Examples:
        >>> from vw_fastcb.oracles import Ball
        >>> oracle = Ball(2)
        >>> actions = [[1.0, 0.0], [0.6, 0.8]]
        >>> oracle.predict(actions)
        array([0.5, 0.5])
        >>> for _ in range(50):
        ...     oracle.learn(actions, action=0, loss=0)
        >>> oracle.predict(actions).round(2)
        array([0.03, 0.22])
    """

    def __init__(self, d: int, *, features: FeatureMap | None = None) -> None:
        if not is_whole(d) or d < 1:
            raise ValueError(f"d is {d!r}; expected the number of features, 1 or larger.")
        self._features = features
        self._slopes = np.zeros(int(d))
        self._leader = _BallLeader()

    @property
    def weights(self) -> _Array:
        """The weights w, (d,), in the unit ball."""
        return -self._leader.scale * self._slopes

    def regret_bound(self, rounds: int) -> float:
        """As `Simplex.regret_bound`, against the best w in the unit ball.

        Args:
            rounds: The number of events, each of weight 1 or less.
        """
        return self._leader.pace.bound(rounds)

    def certificate(self) -> float:
        """As `Simplex.certificate`."""
        return self._leader.pace.certificate()

    def predict(self, context: Any) -> _Array:
        """The predicted loss of each action, (A,)."""
        return self._leader.predict(self._table(context) @ self._slopes)

    def learn(self, context: Any, action: int, loss: float, weight: float = 1.0) -> None:
        """Learns the loss of one action."""
        table = self._table(context)
        action, y, c = checked_event(action, len(table), loss, weight)
        phi = table[action]
        slope = self._leader.learn(float(phi @ self._slopes), float(phi @ phi), y, c)
        self._slopes = self._slopes + slope * phi
        self._leader.squared_length = float(self._slopes @ self._slopes)

    def _table(self, context: Any) -> _Array:
        table = table_of(context, self._features, len(self._slopes))
        _check_lengths(np.einsum("ad,ad->a", table, table), "|phi|^2")
        return table


class Gaussian:
    """The kernel exp(-|x - x'|^2 / (2 width^2)).

    Args:
        width: How far apart points are that know little of each other.
    """

    def __init__(self, width: float = 1.0) -> None:
        if not is_number(width) or not 0 < width < math.inf:
            raise ValueError(f"width is {width!r}; expected a finite number above 0.")
        self.width = width

    def __call__(self, left: _Array, right: _Array) -> _Array:
        """The kernel of each of n rows with each of m rows, (n, m)."""
        squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None, :] - 2 * left @ right.T
        return np.asarray(np.exp(-np.maximum(squares, 0.0) / (2 * self.width**2)))


# From (n, d) and (m, d) rows to their (n, m) inner products.
Kernel: TypeAlias = Callable[[_Array, _Array], _Array]


class KernelBall:
    """`Ball` with a kernel: as well as the best (1 + g(x, a)) / 2, where g has norm 1 at most in the kernel's space.

    The same algorithm, the same bound. It keeps every event, and a prediction takes time in proportion to their number:
    it is a reference, for thousands of events rather than millions.

    Args:
        kernel: A function of (n, d) and (m, d) rows that returns their (n, m) inner products, at most 1 of a row with
            itself. `Gaussian()` unless given.
        features: A function of a context that returns the rows of its actions, (A, d); unless given, contexts are such
            tables. Give rows that say which action it is, or actions cannot be told apart.

    Examples:
        >>> from vw_fastcb.oracles import Gaussian, KernelBall
        >>> oracle = KernelBall(Gaussian(width=0.5))
        >>> for _ in range(50):
        ...     oracle.learn([[0.0], [3.0]], action=0, loss=1)
        >>> oracle.predict([[0.0], [0.5], [3.0]]).round(2)
        array([0.97, 0.78, 0.5 ])
    """

    def __init__(self, kernel: Kernel | None = None, *, features: FeatureMap | None = None) -> None:
        if kernel is not None and not callable(kernel):
            raise TypeError(f"kernel is {kernel!r}; expected a function of two tables of rows.")
        self._kernel = Gaussian() if kernel is None else kernel
        self._features = features
        self._leader = _BallLeader()
        self._points = np.zeros((0, 0))  # with room for more than there are
        self._slopes = np.zeros(0)
        self._count = 0

    def regret_bound(self, rounds: int) -> float:
        """As `Ball.regret_bound`, against the best g of norm 1.

        Args:
            rounds: The number of events, each of weight 1 or less.
        """
        return self._leader.pace.bound(rounds)

    def certificate(self) -> float:
        """As `Simplex.certificate`."""
        return self._leader.pace.certificate()

    def predict(self, context: Any) -> _Array:
        """The predicted loss of each action, (A,)."""
        return self._leader.predict(self._inner(self._table(context)))

    def learn(self, context: Any, action: int, loss: float, weight: float = 1.0) -> None:
        """Learns the loss of one action."""
        table = self._table(context)
        action, y, c = checked_event(action, len(table), loss, weight)
        row = table[action : action + 1]
        squared_norm = float(self._kernel(row, row)[0, 0])
        _check_lengths(np.array([squared_norm]), "the kernel of a row with itself")
        inner = float(self._inner(row)[0])
        slope = self._leader.learn(inner, squared_norm, y, c)
        self._leader.squared_length += slope * (2 * inner + slope * squared_norm)
        self._append(row, slope)

    def _table(self, context: Any) -> _Array:
        return table_of(context, self._features, self._points.shape[1] if self._count else None)

    def _inner(self, table: _Array) -> _Array:
        if not self._count:
            return np.zeros(len(table))
        return self._kernel(table, self._points[: self._count]) @ self._slopes[: self._count]

    def _append(self, row: _Array, slope: float) -> None:
        if self._count == len(self._slopes):
            room = max(16, 2 * self._count)
            points, slopes = np.zeros((room, row.shape[1])), np.zeros(room)
            if self._count:
                points[: self._count], slopes[: self._count] = self._points, self._slopes
            self._points, self._slopes = points, slopes
        self._points[self._count], self._slopes[self._count] = row[0], slope
        self._count += 1


class _BallLeader:
    """The leader in the unit ball, in inner products alone: w = -scale * (the sum of the gradients).

    It minimises -log(1 - r^2) - k r over the length r of w, where k is the length of eta times that sum, so r is
    k / (1 + sqrt(1 + k^2)).
    """

    def __init__(self) -> None:
        self.pace = _Pace(1.0)
        self.squared_length = 0.0  # of the sum of the gradients

    @property
    def _root(self) -> float:
        return math.hypot(1.0, self.pace.rate * math.sqrt(max(self.squared_length, 0.0)))

    @property
    def scale(self) -> float:
        return self.pace.rate / (1 + self._root)

    @property
    def _gap(self) -> float:
        """1 - r, which is never 0; as the difference it would be, once r is close to 1."""
        root = self._root
        return (1 + 1 / (root + math.sqrt(root * root - 1))) / (1 + root)

    def predict(self, inner: _Array) -> _Array:
        """From the inner products of features with the sum of the gradients."""
        least = self._gap / 2
        return np.clip((1 - self.scale * inner) / 2, least, 1 - least)

    def learn(self, inner: float, squared_norm: float, y: float, weight: float) -> float:
        """Counts an event; returns what its gradient is as a multiple of its features."""
        gap = self._gap
        z = -self.scale * inner
        slope = weight * ((1 - y) / max(1 - z, gap) - y / max(1 + z, gap))
        radius = 1 - gap
        dual = (1 - radius**2) / 2 * (squared_norm - 2 * z * z / (1 + radius**2))
        self.pace.take(min(max(slope * slope * dual, 0.0), weight * weight), weight)
        return slope


def _ratio(phi: _Array, w: _Array) -> _Array:
    """The ratio phi / <w, phi>; zeros where no weights make the event possible, which then says nothing of them."""
    largest = phi.max()
    if largest <= 0:
        return np.zeros(len(phi))
    scaled = phi / largest  # or the inner product of tiny features may vanish
    return np.asarray(scaled / (w @ scaled))


def _simplex_leader(slopes: _Array) -> _Array:
    """The w in the simplex that minimises <slopes, w> - sum log w_i: w_i = 1 / (slopes_i + level)."""
    above = slopes - slopes.min()
    level = 1.0  # of the best feature: its weight is at most 1
    for _ in range(100):
        weights = 1 / (above + level)
        total = weights.sum()
        # Newton's step for 1 / total = 1. That is concave in the level, so the steps never pass the solution.
        higher = level + (total * total - total) / (weights @ weights)
        if not higher > level:
            break
        level = higher
    weights = 1 / (above + level)
    return np.asarray(weights / weights.sum())


def _check_lengths(squares: _Array, what: str) -> None:
    if (squares > 1 + _ROUNDING).any():
        raise ValueError(f"{what} is {squares.max():.6g}; expected at most 1. Scale the features.")
