"""Finite classes of functions, by Vovk's aggregating algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vw_fastcb.learner.settings import is_whole
from vw_fastcb.oracles.protocol import checked_event, numbers_of

_TINY = float(np.finfo(np.float64).tiny)


class FiniteClass:
    """Predicts as well as the best of N functions, up to log N, by Vovk's aggregating algorithm.

    Log loss is 1-mixable, so the algorithm is Bayes' rule: every function has a weight, which is multiplied by
    exp(-its log loss) at every event, and the prediction is the weighted mean. At every round, and for every sequence
    of losses in [0, 1] with weights of at most 1,

        log loss of the oracle <= log loss of function i + log(1 / prior_i),

    which is `log N` more than the best function where the prior is uniform. The reason: for one event of loss y and
    weights w_i, Hölder's inequality says

        sum w_i f_i^y (1 - f_i)^(1 - y) <= (sum w_i f_i)^y (sum w_i (1 - f_i))^(1 - y),

    so the oracle's log loss is at most what the total of the weights loses, and that telescopes. In floating point,
    too: a prediction is rounded towards 1/2, and is 0 or 1 only where all functions that are still in say so.

    A function that predicted 0 or 1 and was wrong is out, as long as another is not. Where all have been wrong in that
    way, those stay in that were so least: the limit of predictions that are clipped ever less.

    Args:
        functions: Functions of a context that return the loss of each action, (A,). Or an array (N, X, A) for contexts
            that are the numbers 0 to X - 1: entry (i, x, a) is what function i predicts for action a in context x.
        prior: The weight of each function at first, (N,); uniform unless given.

    Examples:
        >>> from vw_fastcb.oracles import FiniteClass
        >>> oracle = FiniteClass([lambda x: [0.1, 0.9], lambda x: [x, 0.5]])
        >>> oracle.predict(0.7)
        array([0.4, 0.7])
        >>> oracle.learn(0.7, action=0, loss=1.0)
        >>> oracle.weights
        array([0.125, 0.875])
        >>> oracle.predict(0.7).round(3)
        array([0.625, 0.55 ])
    """

    def __init__(
        self,
        functions: Sequence[Callable[[Any], ArrayLike]] | NDArray[Any],
        *,
        prior: ArrayLike | None = None,
    ) -> None:
        if isinstance(functions, np.ndarray):
            if functions.ndim != 3 or 0 in functions.shape:
                raise ValueError(f"functions have shape {functions.shape}; expected (N, X, A), with none of them 0.")
            self._table: NDArray[np.float64] | None = _losses(functions, "functions").copy()
            self._functions: tuple[Callable[[Any], ArrayLike], ...] = ()
        else:
            self._table, self._functions = None, tuple(functions) if isinstance(functions, Iterable) else ()
            if not self._functions or not all(callable(one) for one in self._functions):
                raise TypeError(f"functions are {functions!r}; expected a list of functions, or an array (N, X, A).")
        count = len(self._functions) if self._table is None else len(self._table)
        self._prior = _checked_prior(prior, count)
        # Logarithms of the weights, up to a constant, and how often each function was wrong where it was certain.
        self._log_weights = np.log(self._prior)
        self._disproved = np.zeros(count)
        self._weights = self._prior

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each function, (N,); they sum to 1."""
        return self._weights.copy()

    def regret_bound(self, rounds: int | None = None) -> float:
        """The most by which the log loss of the oracle exceeds that of the best function: log N, after any rounds.

        Args:
            rounds: Taken because other oracles need it; it does not matter here.

        Returns:
            log N; with a prior, the logarithm of 1 / its least entry.
        """
        return -math.log(self._prior.min())

    def forecasts(self, context: Any) -> NDArray[np.float64]:
        """What each function predicts for each action, (N, A)."""
        if self._table is not None:
            if not is_whole(context) or not 0 <= context < self._table.shape[1]:
                raise ValueError(
                    f"the context is {context!r}; expected a whole number from 0 to {self._table.shape[1] - 1}."
                )
            return self._table[:, int(context)]
        answers = [numbers_of(one(context), "what a function returned") for one in self._functions]
        if answers[0].ndim != 1 or len({one.shape for one in answers}) > 1 or not len(answers[0]):
            shapes = sorted({one.shape for one in answers})
            raise ValueError(f"the functions returned arrays of shape {shapes}; expected (A,), the same of all.")
        return _losses(np.stack(answers), "the functions' losses")

    def predict(self, context: Any) -> NDArray[np.float64]:
        """The weighted mean of what the functions predict, (A,)."""
        forecasts = self.forecasts(context)
        alive = self._disproved == self._disproved.min()
        loss, none = (self._chance(one, alive) for one in (forecasts, 1 - forecasts))
        # The smaller of the two is the more precise. Rounded to the nearest, 1 - none could promise more than it says.
        rest = 1 - none
        rest = np.where(1 - rest < none, np.nextafter(rest, 0.0), rest)
        return np.asarray(np.where(loss <= none, loss, rest))

    def _chance(self, forecasts: NDArray[np.float64], alive: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The weighted mean, which is not 0 where a weight vanishes only because it is too small for a float."""
        least = np.where((forecasts[alive] > 0).any(axis=0), _TINY, 0.0)
        return np.maximum(self._weights @ forecasts, least)

    def learn(self, context: Any, action: int, loss: float, weight: float = 1.0) -> None:
        """Multiplies the weight of each function by exp(-weight * its log loss)."""
        forecasts = self.forecasts(context)
        action, y, c = checked_event(action, forecasts.shape[1], loss, weight)
        f = forecasts[:, action]
        possible, avoidable = f > 0, f < 1
        with np.errstate(divide="ignore"):
            gained = y * np.where(possible, np.log(f), 0.0) + (1 - y) * np.where(avoidable, np.log1p(-f), 0.0)
        log_weights = self._log_weights + c * gained
        disproved = self._disproved + c * (y * ~possible + (1 - y) * ~avoidable)
        alive = disproved == disproved.min()
        log_weights -= log_weights[alive].max()
        weights = np.where(alive, np.exp(np.minimum(log_weights, 0.0)), 0.0)
        self._log_weights, self._disproved, self._weights = log_weights, disproved, weights / weights.sum()


def _losses(given: NDArray[Any], what: str) -> NDArray[np.float64]:
    losses = numbers_of(given, what)
    inside = (losses >= 0) & (losses <= 1)
    if not inside.all():
        raise ValueError(f"{what} have the value {losses[~inside][0]}; expected losses in [0, 1].")
    return losses


def _checked_prior(prior: ArrayLike | None, count: int) -> NDArray[np.float64]:
    if prior is None:
        return np.full(count, 1 / count)
    weights = numbers_of(prior, "prior")
    if weights.shape != (count,) or not np.isfinite(weights).all() or not (weights > 0).all():
        raise ValueError(f"prior is {prior!r}; expected {count} finite numbers above 0, one for each function.")
    return np.asarray(weights / weights.sum())
