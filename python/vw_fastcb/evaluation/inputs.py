"""What was given, as numbers that can be reckoned with; raises in a sentence where it is something else."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Floats = NDArray[np.float64]

ROUNDING = 1e-3
"""What a probability may be off, and the sum of a pmf for each of its actions."""

LEAST_PROBABILITY = 1e-30
"""Of an action that was played. One that is less likely is a mistake, and squares of its weight would overflow."""

MOST_WEIGHT = 1.0 / LEAST_PROBABILITY


def as_floats(given: ArrayLike, name: str) -> _Floats:
    """An array of numbers, which may still be NaN or infinite."""
    if isinstance(given, np.ma.MaskedArray):  # numpy would take what the mask hides
        raise ValueError(f"{name} is a masked array; expected plain numbers. Leave the masked events out.")
    try:
        array = np.asarray(given)
        if array.dtype.kind not in "biufO":  # numpy would read texts and dates as numbers
            raise TypeError
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {_short(given)}; expected an array of numbers.") from None


def check_probabilities(given: _Floats, name: str) -> None:
    """Raises where one is NaN, negative or above 1."""
    fits = (given >= 0) & (given <= 1 + ROUNDING)
    if not fits.all():
        raise ValueError(f"{name} has the value {given[~fits][0]}; expected probabilities.")


def checked_range(given: tuple[float, float]) -> tuple[float, float]:
    """A range of rewards as two floats."""
    try:
        has_text = any(isinstance(one, str) for one in given)
        low, high = (math.nan, math.nan) if has_text else (float(one) for one in given)
    except (TypeError, ValueError, OverflowError):
        low = high = math.nan
    if not (math.isfinite(high - low) and low < high):
        raise ValueError(
            f"reward_range is {given!r}; expected two numbers, the lower one first, with a finite difference."
        )
    return low, high


def checked_level(given: float) -> float:
    """A level of confidence."""
    try:
        level = math.nan if isinstance(given, str) else float(given)
    except (TypeError, ValueError):
        level = math.nan
    if not 0.0 < level < 1.0:
        raise ValueError(f"level is {given!r}; expected a number between 0 and 1, such as 0.95.")
    return level


def checked_count(given: int | None) -> int | None:
    """How many events are expected, at least 1; None where nobody knows."""
    if given is None:
        return None
    try:
        count = -1 if isinstance(given, bool) else operator.index(given)
    except TypeError:
        count = -1
    if count < 0:
        raise ValueError(f"expected is {given!r}; expected a whole number of events, or None.")
    return max(count, 1)


def scaled(rewards: _Floats, reward_range: tuple[float, float]) -> _Floats:
    """Rewards in [0, 1]; raises where one is outside the range."""
    low, high = reward_range
    bad = ~((rewards >= low) & (rewards <= high))
    if bad.any():
        raise ValueError(f"a reward is {rewards[bad][0]}; expected numbers in [{low:g}, {high:g}], the reward_range.")
    return (rewards - low) / (high - low)


def _short(given: Any) -> str:
    words = " ".join(repr(given).split())
    return words if len(words) <= 80 else f"{words[:77]}..."
