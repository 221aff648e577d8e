"""Classifiers from scikit-learn, and whatever else has `partial_fit` and `predict_proba`."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.learner.settings import is_whole
from vw_fastcb.oracles.features import FeatureMap, table_of
from vw_fastcb.oracles.protocol import checked_event, numbers_of

_CLASSES = np.array([0, 1])


class Classifier:
    """A classifier as an oracle: its probability of the class 1 is the predicted loss.

    A loss of 1 is an example of the class 1, a loss of 0 one of the class 0, and one between them is both, weighted:
    under log loss that is the same. Classifiers that maximise likelihood, such as
    `SGDClassifier(loss="log_loss")`, naive Bayes or networks, estimate what FastCB needs.

    Probabilities are drawn to 1/2 a little: p counts as (n p + 1) / (n + 2) after n examples. So nothing is ever
    certain, which exploration would never recover from; and as long as a classifier has seen one class alone, its p is
    the mean loss so far, which makes this Laplace's rule of succession. A p that is no number, which naive Bayes gives
    until its variances are above 0, counts as 1/2.

    Args:
        estimator: A classifier that was not fitted yet, with `partial_fit(X, y, classes)` and `predict_proba(X)`. It
            stays as it is: copies learn.
        n_actions: With a number, each action has a classifier of its own, and a context is one row of numbers. None has
            one classifier for all actions, on the rows of a table (A, d).
        features: A function of a context that returns its row (d,), or with `n_actions=None` its table (A, d); unless
            given, contexts are such rows or tables.

    Examples:
        >>> from sklearn.linear_model import SGDClassifier
        >>> from vw_fastcb.oracles import Classifier
        >>> oracle = Classifier(SGDClassifier(loss="log_loss", random_state=0), n_actions=2)
        >>> oracle.predict([0.3, 0.7])
        array([0.5, 0.5])
        >>> oracle.learn([0.3, 0.7], action=1, loss=0)
        >>> oracle.predict([0.3, 0.7]).round(3)
        array([0.5  , 0.333])
    """

    def __init__(self, estimator: Any, n_actions: int | None = None, *, features: FeatureMap | None = None) -> None:
        if isinstance(estimator, type):
            raise TypeError(f"the estimator is the class {estimator.__name__}; expected an object: call the class.")
        missing = [name for name in ("partial_fit", "predict_proba") if not hasattr(estimator, name)]
        if missing:
            raise TypeError(
                f"{estimator!r} has no {missing[0]}; expected a classifier with partial_fit and predict_proba. One "
                "that fits whole data sets can be wrapped in an oracle of your own, which keeps the events."
            )
        if n_actions is not None and (not is_whole(n_actions) or n_actions < 1):
            raise ValueError(f"n_actions is {n_actions!r}; expected a whole number, 1 or larger, or None.")
        self._n_actions = n_actions
        self._features = features
        self._models = [_Model(estimator) for _ in range(n_actions or 1)]
        self._width: int | None = None

    def predict(self, context: Any) -> NDArray[np.float64]:
        """The predicted loss of each action, (A,)."""
        table = self._table(context)
        if self._n_actions is None:
            return self._models[0].predict(table)
        return np.array([model.predict(table)[0] for model in self._models])

    def learn(self, context: Any, action: int, loss: float, weight: float = 1.0) -> None:
        """Learns the loss of one action."""
        table = self._table(context)
        action, y, c = checked_event(action, self._n_actions or len(table), loss, weight)
        if self._n_actions is None:
            self._models[0].learn(table[action : action + 1], y, c)
        else:
            self._models[action].learn(table, y, c)
        self._width = table.shape[1]

    def _table(self, context: Any) -> NDArray[np.float64]:
        if self._n_actions is None:
            return table_of(context, self._features, self._width)
        row = context if self._features is None else self._features(context)
        row = numbers_of(row, "the context")
        if row.ndim != 1:
            raise ValueError(f"the context has shape {row.shape}; expected one row of numbers, (d,).")
        return table_of([row], None, self._width)


class _Model:
    """One classifier, and the mean of what it was shown."""

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        # Whatever takes sample_weight is told how much an example counts.
        self._weighs = "sample_weight" in inspect.signature(estimator.partial_fit).parameters
        self._weights = np.zeros(2)  # of the examples of each class

    def predict(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        seen = float(self._weights.sum())
        if not seen:
            return np.full(len(table), 0.5)
        if not self._weights.all():
            p = np.full(len(table), self._weights[1] / seen)
        else:
            with np.errstate(all="ignore"):
                p = np.asarray(self._estimator.predict_proba(table), dtype=np.float64)[:, 1]
            p = np.where(np.isfinite(p), np.clip(p, 0.0, 1.0), 0.5)
        return (seen * p + 1) / (seen + 2)

    def learn(self, row: NDArray[np.float64], y: float, weight: float) -> None:
        if weight == 0:
            return
        weights = weight * np.array([1 - y, y])
        kinds = _CLASSES[weights > 0]
        if not self._weighs and (len(kinds) > 1 or weight != 1):
            what = f"the loss is {y}" if len(kinds) > 1 else f"the weight is {weight}"
            raise ValueError(
                f"{what}, and {type(self._estimator).__name__}.partial_fit takes no sample_weight; expected losses of "
                "0 or 1, and weights of 1."
            )
        extra = {"sample_weight": weights[kinds]} if self._weighs else {}
        # A copy learns: where it raises, there is no half-fitted classifier.
        estimator = copy.deepcopy(self._estimator)
        with np.errstate(all="ignore"):
            estimator.partial_fit(np.repeat(row, len(kinds), axis=0), kinds, classes=_CLASSES, **extra)
        self._estimator, self._weights = estimator, self._weights + weights
