"""Feature maps: the table of numbers, one row for each action, that a context means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vw_fastcb.learner.settings import is_whole
from vw_fastcb.oracles.protocol import numbers_of

# phi of the paper: from a context to a table (A, d), one row for each action.
FeatureMap: TypeAlias = Callable[[Any], ArrayLike]

_LARGEST = float(np.finfo(np.float32).max)  # as in the engine


class PerAction:
    """Gives every action weights of its own: its row is the context, at the action's place, and zeros elsewhere.

    Args:
        n_actions: The number of actions.

    Examples:
        >>> from vw_fastcb.oracles import PerAction
        >>> PerAction(2)([0.5, 0.1])
        array([[0.5, 0.1, 0. , 0. ],
               [0. , 0. , 0.5, 0.1]])
    """

    def __init__(self, n_actions: int) -> None:
        if not is_whole(n_actions) or n_actions < 1:
            raise ValueError(f"n_actions is {n_actions!r}; expected the number of actions, 1 or larger.")
        self.n_actions = n_actions

    def __call__(self, context: ArrayLike) -> NDArray[np.float64]:
        """The table of a context (d,): an array (A, A d)."""
        return np.asarray(np.kron(np.eye(self.n_actions), numbers_of(context, "the context")), dtype=np.float64)


def table_of(context: Any, features: FeatureMap | None, width: int | None = None) -> NDArray[np.float64]:
    """The table (A, d) of a context, which is the context itself where there is no map; raises where it is none."""
    given = "the context" if features is None else "what `features` returned"
    table = numbers_of(context if features is None else features(context), given)
    if table.ndim != 2 or 0 in table.shape or (width is not None and table.shape[1] != width):
        shape = "(A, d)" if width is None else f"(A, {width})"
        raise ValueError(f"the features of the actions have shape {table.shape}; expected {shape}, a row per action.")
    sound = np.abs(table) <= _LARGEST  # NaN is not
    if not sound.all():
        raise ValueError(f"the features have the value {table[~sound][0]}; expected finite numbers (in float32).")
    return table
