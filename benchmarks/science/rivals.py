"""What a user would take instead: LinUCB, Thompson sampling, and stock VW's SquareCB.

LinUCB (Li et al., "A Contextual-Bandit Approach to Personalized News Article Recommendation", 2010) has a ridge
regression of penalty 1 and takes the action whose reward is highest at the upper end of its confidence interval,
`alpha` standard errors above the mean. Fixed actions have a regression each. Actions with features share one, on a
constant, the features of the action, and these times those of the context. Thompson sampling (Chapelle and Li, "An
Empirical Evaluation of Thompson Sampling", 2011) has logistic regressions of the same form with a normal posterior, one
Newton step an event, and takes the best of one draw from it, the deviations times `width`.

Columns are as they are. Features of words have a column each, as long as there are any of `COLUMNS`; later ones share.
Where a matrix of all columns would be too large, the regression has a matrix of the events instead, which gives the
same numbers.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from problems import Floats, Problem

COLUMNS = 1024
WIDEST = 1600
Whole = NDArray[np.int64]


class NotPlayed(Exception):
    """A player does not play a problem; the message says why."""


def _sigmoid(logit: float) -> float:
    return float(1 / (1 + np.exp(-logit)))


def _rank_one(matrix: Floats, factor: float, direction: Floats) -> None:
    """Adds factor * direction direction' in place."""
    if len(direction) < 128:
        matrix += factor * np.outer(direction, direction)
        return
    from scipy.linalg.blas import dger  # noqa: PLC0415, in place, where numpy would make a matrix first

    dger(factor, direction, direction, a=matrix.T, overwrite_a=True)


class Step:
    """One event's step, for a covariance with a variance along the row: of least squares, or of Newton's method."""

    def __init__(self, target: float, mean: float, variance: float, *, logistic: bool) -> None:
        predicted = _sigmoid(mean) if logistic else mean
        curvature = max(predicted * (1 - predicted), 1e-3) if logistic else 1.0
        scale = 1 + curvature * variance
        self.of_weights = (target - predicted) / scale
        self.of_covariance = -curvature / scale


class FixedActions:
    """A regression for each action on the context and a constant."""

    def __init__(self, problem: Problem, *, logistic: bool) -> None:
        contexts = np.asarray(problem.contexts, np.float64)
        self._rows = np.column_stack([contexts, np.ones(len(contexts))])
        columns = self._rows.shape[1]
        self._covariances = np.tile(np.eye(columns), (problem.n_actions, 1, 1))
        self._weights = np.zeros((problem.n_actions, columns))
        self._logistic = logistic

    def beliefs(self, t: int) -> tuple[Floats, Floats]:
        row = self._rows[t]
        return self._weights @ row, np.diag((self._covariances @ row) @ row)

    def learn(self, t: int, action: int, target: float) -> None:
        row = self._rows[t]
        direction = self._covariances[action] @ row
        step = Step(target, float(self._weights[action] @ row), float(direction @ row), logistic=self._logistic)
        self._weights[action] += step.of_weights * direction
        _rank_one(self._covariances[action], step.of_covariance, direction)


class EventsOfAction:
    """A ridge regression in the events: the inverse of 1 + their products with each other."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self._inverse = np.empty((8, 8))
        self._targets: list[float] = []
        self._factors = np.empty(0)

    def belief(self, products: Floats, own: float) -> tuple[float, float]:
        """Mean and variance of a row whose products with the events, and with itself, are known."""
        if not (count := len(self.events)):
            return 0.0, own
        explained = products.dot(self._inverse[:count, :count].dot(products))
        return float(self._factors.dot(products)), own - float(explained)

    def beliefs(self, products: Floats, own: Floats) -> tuple[Floats, Floats]:
        """The same for several rows, the products of each in a column."""
        if not (count := len(self.events)):
            return np.zeros(len(own)), own
        explained = np.einsum("ij,ij->j", products, self._inverse[:count, :count] @ products)
        return self._factors @ products, own - explained

    def learn(self, event: Any, products: Floats, own: float, target: float) -> None:
        count = len(self.events)
        if count == len(self._inverse):
            larger = np.empty((2 * count, 2 * count))
            larger[:count, :count] = self._inverse
            self._inverse = larger
        known = self._inverse[:count, :count]
        direction = known @ products
        rest = 1 + own - float(direction @ products)
        known += np.outer(direction / rest, direction)
        self._inverse[count, :count] = self._inverse[:count, count] = -direction / rest
        self._inverse[count, count] = 1 / rest
        self.events.append(event)
        self._targets.append(target)
        self._factors = self._inverse[: count + 1, : count + 1] @ np.array(self._targets)


class FixedActionsByEvents:
    """As `FixedActions`, where the context has many columns or is sparse."""

    def __init__(self, problem: Problem) -> None:
        contexts = problem.contexts
        if isinstance(contexts, np.ndarray):
            self._gram = contexts @ contexts.T + 1
        else:
            import scipy.sparse  # noqa: PLC0415, where contexts are sparse

            rows = scipy.sparse.vstack(list(contexts), format="csr")
            self._gram = np.asarray((rows @ rows.T).todense()) + 1
        self._actions = [EventsOfAction() for _ in range(problem.n_actions)]

    def beliefs(self, t: int) -> tuple[Floats, Floats]:
        products, own = self._gram[t], float(self._gram[t, t])
        means, variances = np.array([action.belief(products[action.events], own) for action in self._actions]).T
        return means, np.diag(variances)

    def learn(self, t: int, action: int, target: float) -> None:
        events = self._actions[action]
        events.learn(t, self._gram[t, events.events], float(self._gram[t, t]), target)


class SharedEmbeddings:
    """One regression on a constant, the action's numbers, and their products with the context's."""

    def __init__(self, problem: Problem, *, logistic: bool) -> None:
        assert problem.action_features is not None
        self._contexts, self._features = np.asarray(problem.contexts), problem.action_features
        columns = 1 + self._features[0].shape[1] * (1 + self._contexts.shape[1])
        if columns > WIDEST:
            raise NotPlayed(f"{columns:,} columns; at most {WIDEST:,} are played")
        self._covariance, self._weights, self._logistic = np.eye(columns), np.zeros(columns), logistic

    def _rows(self, t: int) -> Floats:
        features = self._features[t]
        crossed = np.einsum("d,ae->ade", self._contexts[t], features).reshape(len(features), -1)
        return np.column_stack([np.ones(len(features)), features, crossed])

    def beliefs(self, t: int) -> tuple[Floats, Floats]:
        rows = self._rows(t)
        return rows @ self._weights, rows @ self._covariance @ rows.T

    def learn(self, t: int, action: int, target: float) -> None:
        row = self._rows(t)[action]
        direction = self._covariance @ row
        step = Step(target, float(self._weights @ row), float(direction @ row), logistic=self._logistic)
        self._weights += step.of_weights * direction
        _rank_one(self._covariance, step.of_covariance, direction)


class SharedEmbeddingsByEvents:
    """The ridge regression of `SharedEmbeddings` where there are many columns."""

    def __init__(self, problem: Problem) -> None:
        assert problem.action_features is not None
        contexts = np.asarray(problem.contexts)
        self._gram, self._features = contexts @ contexts.T + 1, problem.action_features
        self._events = EventsOfAction()
        self._chosen = np.empty((len(contexts), self._features[0].shape[1]))

    def _products(self, t: int, features: Floats) -> Floats:
        events = self._events.events
        return 1 + (self._chosen[: len(events)] @ features.T) * self._gram[t, events][:, None]

    def beliefs(self, t: int) -> tuple[Floats, Floats]:
        features = self._features[t]
        own = 1 + np.einsum("ae,ae->a", features, features) * self._gram[t, t]
        means, variances = self._events.beliefs(self._products(t, features), own)
        return means, np.diag(variances)

    def learn(self, t: int, action: int, target: float) -> None:
        features = self._features[t][action]
        own = float(1 + features @ features * self._gram[t, t])
        products = self._products(t, features[None])[:, 0]
        self._chosen[len(self._events.events)] = features
        self._events.learn(t, products, own, target)


class SharedWords:
    """One regression on a constant, the action's features, and these times the context's; most of them words."""

    def __init__(self, problem: Problem, *, logistic: bool) -> None:
        assert problem.action_features is not None
        self._contexts, self._features = problem.contexts, problem.action_features
        self._columns: dict[str, int] = {"": 0}
        self._covariance, self._weights, self._logistic = np.eye(COLUMNS), np.zeros(COLUMNS), logistic

    def _column(self, name: str) -> int:
        column = self._columns.get(name)
        if column is None:
            column = len(self._columns)
            if column >= COLUMNS:
                return zlib.crc32(name.encode()) % COLUMNS
            self._columns[name] = column
        return column

    def _row(self, t: int, action: int) -> tuple[Whole, Floats]:
        values: dict[int, float] = {0: 1.0}
        context = [("", 1.0), *_numbers(self._contexts[t])]
        for name, value in _numbers(self._features[t][action]):
            for other, factor in context:
                column = self._column(f"{name}*{other}")
                values[column] = values.get(column, 0.0) + value * factor
        return np.array(list(values), np.int64), np.array(list(values.values()))

    def beliefs(self, t: int) -> tuple[Floats, Floats]:
        rows = [self._row(t, action) for action in range(len(self._features[t]))]
        means = np.array([self._weights[columns] @ values for columns, values in rows])
        used, places = np.unique(np.concatenate([columns for columns, _ in rows]), return_inverse=True)
        table = np.zeros((len(rows), len(used)))
        begin = 0
        for table_row, (columns, values) in zip(table, rows, strict=True):
            table_row[places[begin : begin + len(columns)]] = values
            begin += len(columns)
        return means, table @ self._covariance[np.ix_(used, used)] @ table.T

    def learn(self, t: int, action: int, target: float) -> None:
        columns, values = self._row(t, action)
        direction = values @ self._covariance[columns]
        mean, variance = float(self._weights[columns] @ values), float(direction[columns] @ values)
        step = Step(target, mean, variance, logistic=self._logistic)
        self._weights += step.of_weights * direction
        _rank_one(self._covariance, step.of_covariance, direction)


def _numbers(features: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Features as numbers: a text is a column of its own, which is 1."""
    for name, value in features.items():
        yield (f"{name}={value}", 1.0) if isinstance(value, str) else (name, float(value))


Regression = FixedActions | FixedActionsByEvents | SharedEmbeddings | SharedEmbeddingsByEvents | SharedWords


def regression_of(problem: Problem, *, logistic: bool) -> Regression:
    """What suits the problem."""
    features, contexts = problem.action_features, problem.contexts
    if features is None:
        columns = contexts.shape[1] if isinstance(contexts, np.ndarray) else None
        if logistic and (columns is None or columns > 64):
            raise NotPlayed("logistic regressions are played on at most 64 columns")
        # What a round reads: a matrix of all columns, or one of all events, of each action.
        by_columns = np.inf if columns is None else problem.n_actions * (columns + 1) ** 2
        if logistic or by_columns <= problem.rounds**2 / (3 * problem.n_actions):
            return FixedActions(problem, logistic=logistic)
        return FixedActionsByEvents(problem)
    if not isinstance(features[0], np.ndarray):
        return SharedWords(problem, logistic=logistic)
    if not logistic and features[0].shape[1] * (1 + np.asarray(contexts).shape[1]) >= WIDEST:
        return SharedEmbeddingsByEvents(problem)
    return SharedEmbeddings(problem, logistic=logistic)


class LinUCB:
    """See the top of this file. Of equal bounds the first action's is taken."""

    def __init__(self, problem: Problem, seed: int, alpha: float = 1.0) -> None:
        self._problem, self._alpha = problem, alpha
        self._regression = regression_of(problem, logistic=False)

    def decide(self, t: int) -> int:
        means, covariance = self._regression.beliefs(t)
        return int(np.argmax(means + self._alpha * np.sqrt(np.maximum(np.diag(covariance), 0))))

    def learn(self, t: int, action: int, outcome: float) -> None:
        self._regression.learn(t, action, outcome if self._problem.noun == "reward" else 1 - outcome)


class Thompson:
    """See the top of this file."""

    def __init__(self, problem: Problem, seed: int, width: float = 1.0) -> None:
        self._problem, self._width = problem, width
        self._rng = np.random.default_rng([seed, 1])
        self._regression = regression_of(problem, logistic=True)

    def decide(self, t: int) -> int:
        means, covariance = self._regression.beliefs(t)
        draws = self._rng.normal(size=len(means))
        if self._problem.action_features is None:
            spread = np.sqrt(np.maximum(np.diag(covariance), 0)) * draws
        else:
            spread = np.linalg.cholesky(covariance + 1e-9 * np.eye(len(means))) @ draws
        return int(np.argmax(means + self._width * spread))

    def learn(self, t: int, action: int, outcome: float) -> None:
        self._regression.learn(t, action, outcome if self._problem.noun == "reward" else 1 - outcome)


class SquareCB:
    """SquareCB of the stock wheel with its defaults; actions and contexts are crossed. Further flags may follow."""

    def __init__(self, problem: Problem, seed: int, vw_args: str = "") -> None:
        from vowpalwabbit import Workspace  # noqa: PLC0415, for this alone

        low = 0 if problem.noun == "cost" else -1
        self._problem, self._rng = problem, np.random.default_rng([seed, 2])
        self._workspace = Workspace(
            "--cb_explore_adf --squarecb --interactions xa --quiet "
            f"--cb_min_cost {low} --cb_max_cost {low + 1} {vw_args}"
        )
        self._waiting: dict[int, tuple[list[str], float]] = {}
        self._fixed = [f"|a action{action}" for action in range(problem.n_actions)]

    def decide(self, t: int) -> int:
        features = self._problem.action_features
        actions = self._fixed if features is None else [f"|a {_text(row)}" for row in features[t]]
        lines = [f"shared |x {_text(self._problem.contexts[t])}", *actions]
        pmf = np.array(self._workspace.predict(lines))
        action = int(self._rng.choice(len(pmf), p=pmf / pmf.sum()))
        self._waiting[t] = (lines, float(pmf[action]))
        return action

    def learn(self, t: int, action: int, outcome: float) -> None:
        lines, probability = self._waiting.pop(t)
        cost = outcome if self._problem.noun == "cost" else -outcome
        lines[1 + action] = f"0:{cost:g}:{probability:g} {lines[1 + action]}"
        self._workspace.learn(lines)


def _text(row: Any) -> str:
    """Features in VW's text format."""
    if isinstance(row, Mapping):
        return " ".join(f"{_word(name)}:{value:g}" for name, value in _numbers(row))
    if isinstance(row, np.ndarray):
        return " ".join(f"{column}:{value:.6g}" for column, value in enumerate(row))
    return " ".join(f"{column}:{value:.6g}" for column, value in zip(row.indices, row.data, strict=True))


def _word(name: str) -> str:
    """A name without what VW's text format has a use for."""
    return name.translate(str.maketrans(" :|\n\t", "_____"))
