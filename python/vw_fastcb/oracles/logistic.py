"""Generalised linear classes: logistic regression, by the engine."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.learner import frames
from vw_fastcb.learner.fastcb import FastCB
from vw_fastcb.oracles.protocol import checked_event

# No sigmoid is 0 or 1, but beyond a logit of 37 rounding makes it 1, and then one loss of 0 would cost an infinity.
_OPEN = (np.finfo(np.float64).tiny, np.nextafter(1.0, 0.0))


class Logistic:
    """The engine's own oracles: losses sigmoid(<w, phi(x, a)>), learned by second order or by gradient descent.

    It is what `FastCB` predicts with, for comparisons, and for what only `Bandit` does. As a learner `FastCB` itself is
    many times faster.

    The paper's bounds for this class are O(d log(T / d)), by the algorithm of Foster et al. (2018), which samples as
    continuous exponential weights do, and O(sqrt(T)) by gradient descent with a step that knows the scales. The
    engine's oracles are the practical members of these two families: `newton` is an online Newton step with a prior on
    standardised features, `gd` is VW's adaptive gradient descent. They aim at the same rates, and the tests measure
    their regret; neither has a proof for all sequences. So there is no `regret_bound` here.

    Args:
        n_actions: The number of fixed actions; None where a context is a pair: its features, and a table of those of
            its actions, in the forms that `FastCB.decide` takes.
        oracle: "newton", of second order, or "gd", gradient descent.
        learning_rate: The step size of "gd".
        vw_args: Further flags of VW.

    Examples:
        >>> from vw_fastcb.oracles import Logistic
        >>> oracle = Logistic(2)
        >>> for _ in range(20):
        ...     oracle.learn({"hour": 9}, action=0, loss=0)
        ...     oracle.learn({"hour": 9}, action=1, loss=1)
        >>> oracle.predict({"hour": 9}).round(1)
        array([0.1, 0.9])
    """

    def __init__(
        self,
        n_actions: int | None = None,
        *,
        oracle: Literal["newton", "gd"] = "newton",
        learning_rate: float | None = None,
        vw_args: str = "",
    ) -> None:
        self._learner = FastCB(n_actions, oracle=oracle, learning_rate=learning_rate, seed=0, vw_args=vw_args)

    def predict(self, context: Any) -> NDArray[np.float64]:
        """The predicted loss of each action, (A,)."""
        shared, features = self._parts(context)
        # A frame or a sparse matrix of one row is a table already.
        table = shared if frames.is_frame(shared) or hasattr(shared, "tocsr") else [shared]
        return np.asarray(np.clip(self._learner.predict_cost(table, features)[0], *_OPEN))

    def learn(self, context: Any, action: int, loss: float, weight: float = 1.0) -> None:
        """Learns the loss of one action."""
        shared, features = self._parts(context)
        count = self._learner.n_actions if features is None else len(features)
        action, y, c = checked_event(action, count or 1, loss, weight)
        self._learner.learn_event(shared, action, y, action_features=features, sample_weight=c)

    def _parts(self, context: Any) -> tuple[Any, Any]:
        if self._learner.n_actions is not None:
            return context, None
        if not isinstance(context, tuple) or len(context) != 2:
            raise TypeError(
                f"the context is {context!r}; expected a pair: its features, and a table of those of its actions."
            )
        return context
