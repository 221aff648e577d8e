"""What an oracle is: who predicts the losses of actions, and learns the one that was observed."""

from __future__ import annotations

import math
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vw_fastcb.learner.settings import is_whole

_MOST_WEIGHT = float(np.finfo(np.float32).max)  # as in the engine


@runtime_checkable
class Oracle(Protocol):
    """An online regression oracle, as the paper has it: any object with these two methods.

    What a context is, is between you and the oracle: `vw_fastcb.Bandit` hands it on as it came. An oracle answers the
    same to the same history, and can be copied and pickled.

    With `Bandit(..., objective="reward")` all of this is about rewards: the oracle predicts and learns them.
    """

    def predict(self, context: Any) -> NDArray[np.float64]:
        """The expected loss of every action of a context, (A,), each in [0, 1]. Changes nothing."""
        ...

    def learn(self, context: Any, action: int, loss: float, weight: float = 1.0) -> None:
        """Learns the loss, in [0, 1], of one action. An event that is refused changes nothing."""
        ...


def log_loss(predictions: ArrayLike, losses: ArrayLike) -> NDArray[np.float64]:
    """The log loss of predictions: y log(1 / p) + (1 - y) log(1 / (1 - p)), where 0 log(1 / 0) is 0.

    Args:
        predictions: The predictions p, in [0, 1].
        losses: The losses y that were observed, in [0, 1], of the same shape.

    Returns:
        The log loss of each, infinite where something happened that was predicted never to happen.

    Raises:
        ValueError: Numbers outside [0, 1], or shapes that do not fit.
        TypeError: Something that is no number.

    Examples:
        >>> from vw_fastcb import oracles
        >>> oracles.log_loss([0.5, 0.0, 1.0], [1.0, 0.0, 0.5]).round(3)
        array([0.693, 0.   ,   inf])
    """
    p, y = np.broadcast_arrays(_in_range(predictions, "predictions"), _in_range(losses, "losses"))
    with np.errstate(divide="ignore", invalid="ignore"):
        happened = np.where(y > 0, -y * np.log(p), 0.0)
        did_not = np.where(y < 1, -(1 - y) * np.log1p(-p), 0.0)
    return happened + did_not + 0.0


def numbers_of(given: Any, what: str) -> NDArray[np.float64]:
    """An array of numbers; raises where it is none."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        raise TypeError(f"{what} cannot be read as an array of numbers: {problem}") from problem


def _in_range(given: ArrayLike, what: str) -> NDArray[np.float64]:
    numbers = numbers_of(given, f"the {what}")
    inside = (numbers >= 0) & (numbers <= 1)
    if not inside.all():
        raise ValueError(f"the {what} have the value {numbers[~inside].flat[0]}; expected numbers in [0, 1].")
    return numbers


def checked_event(action: Any, n_actions: int, loss: Any, weight: Any) -> tuple[int, float, float]:
    """An event that may be learned, as plain numbers; raises where it may not."""
    if not is_whole(action) or not 0 <= action < n_actions:
        raise ValueError(f"action is {action!r}; expected a whole number from 0 to {n_actions - 1}.")
    y, c = _number(loss), _number(weight)
    if y is None or not 0 <= y <= 1:
        raise ValueError(f"the loss is {loss!r}; expected a number in [0, 1].")
    if c is None or not 0 <= c <= _MOST_WEIGHT:
        raise ValueError(f"the weight is {weight!r}; expected a finite number, 0 or larger (in float32).")
    return int(action), y, c


def _number(given: Any) -> float | None:
    try:
        number = float(given)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(number) or isinstance(given, (str, bytes)) else number
