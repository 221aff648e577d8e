"""What was observed: actions, costs, probabilities, weights. Everything is checked before anything is learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vw_fastcb.learner.events import Events
from vw_fastcb.learner.parameters import Parameters


@dataclass(frozen=True)
class Outcomes:
    """One entry an event, as the engine takes them."""

    chosen: NDArray[np.int64]
    costs: NDArray[np.float32]
    probabilities: NDArray[np.float32]
    weights: NDArray[np.float32]

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """In the engine's order."""
        return self.chosen, self.costs, self.probabilities, self.weights


def outcomes(
    learner: Parameters,
    events: Events,
    *,
    actions: ArrayLike,
    values: ArrayLike,
    probabilities: ArrayLike,
    weights: ArrayLike,
) -> Outcomes:
    """The outcomes of events, checked; `values` are costs, or rewards where the learner speaks of rewards."""
    if np.ma.is_masked(actions):
        raise ValueError(f"actions are {actions!r}, with masked values; expected whole numbers.")
    chosen = _chosen(np.asarray(actions), events)
    costs = checked_costs(learner, as_floats(values, f"{learner._noun}s"), (events.count,))
    weight = as_floats(weights, "sample_weight")
    with np.errstate(over="ignore"):
        good = (weight >= 0) & np.isfinite(weight.astype(np.float32))
    if weight.shape != (events.count,) or not good.all():
        raise ValueError(
            f"sample_weight is {weight!r}; expected {events.count} finite numbers, 0 or larger, one for each event."
        )
    probability = as_floats(probabilities, "probability").astype(np.float32)
    inside = (probability > 0) & (probability <= 1)
    if not inside.all():
        raise ValueError(f"probability {probability[~inside][0]} is outside (0, 1]; give the one that was logged.")
    return Outcomes(chosen, costs, probability, weight.astype(np.float32))


def as_floats(given: Any, what: str) -> NDArray[np.float64]:
    """As an array of numbers."""
    if np.ma.is_masked(given):
        raise ValueError(f"{what} are {given!r}, with masked values; expected numbers.")
    try:
        array = np.asarray(given)
        if array.dtype.kind in "biufO":
            return array.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise TypeError(f"{what} are {given!r}; expected numbers.")


def checked_costs(learner: Parameters, values: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.float32]:
    """The engine's costs of costs or rewards that lie in their range."""
    noun = learner._noun
    low, high = learner._user_range()
    if values.shape != shape:
        raise ValueError(f"{noun}s have shape {values.shape}; expected {shape}.")
    inside = (values >= low) & (values <= high)
    if not inside.all():
        raise ValueError(
            f"{noun} {values[~inside][0]} is outside [{low}, {high}]; give {noun}s in this range, or make the learner "
            f"with another {noun}_range."
        )
    return np.ascontiguousarray(values if noun == "cost" else -values, dtype=np.float32)


def cost_table(learner: Parameters, targets: Any, events: Events) -> NDArray[np.float32]:
    """The cost of every action of every event, one after another, from right actions or from costs."""
    if events.even is None and isinstance(targets, (list, tuple)) and np.ndim(targets[0]) == 1:
        return _listed_costs(learner, targets, events)
    array = np.asarray(targets)
    if array.ndim == 2:
        if events.even is None:
            raise ValueError("targets are one array, but events differ in their number of actions; expected a list.")
        return checked_costs(learner, as_floats(array, "targets"), (events.count, events.even)).ravel()
    if array.shape != (events.count,) or array.dtype.kind not in "iu":
        raise ValueError(
            f"targets have shape {array.shape} and dtype {array.dtype}; expected ({events.count},) whole numbers, the "
            f"right actions, or ({events.count}, A) {learner._noun}s."
        )
    right = _chosen(array, events, "target")
    low, high = learner._engine_range()
    table = np.full(int(events.begins[-1]), high, dtype=np.float32)
    table[events.begins[:-1] + right] = low
    return table


def _listed_costs(learner: Parameters, targets: Any, events: Events) -> NDArray[np.float32]:
    if len(targets) != events.count:
        raise ValueError(f"targets has {len(targets)} lists; expected one for each of {events.count} events.")
    for i, (one, count) in enumerate(zip(targets, events.counts, strict=True)):
        if np.shape(one) != (count,):
            raise ValueError(f"the targets of event {i} have shape {np.shape(one)}; expected ({count},).")
    flat = np.concatenate([as_floats(one, "targets") for one in targets])
    return checked_costs(learner, flat, flat.shape)


def _chosen(chosen: NDArray[Any], events: Events, noun: str = "action") -> NDArray[np.int64]:
    if chosen.dtype.kind not in "iu" or chosen.shape != (events.count,):
        raise ValueError(f"{noun}s are {chosen!r}; expected {events.count} whole numbers, counted from 0.")
    counts = events.counts
    bad = np.flatnonzero((chosen < 0) | (chosen >= counts))
    if len(bad):
        raise ValueError(f"{noun} {chosen[bad[0]]} is unknown; expected 0 to {counts[bad[0]] - 1}.")
    return chosen.astype(np.int64)
