"""What was observed: actions, costs, weights. Everything is checked before anything is learned."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.learner.settings import Settings


def chosen_actions(
    settings: Settings, actions: Any, counts: NDArray[np.int64], noun: str = "action"
) -> NDArray[np.int64]:
    """The numbers of the actions that were taken, one for each event; names where the learner's actions have them."""
    if np.ma.is_masked(actions):
        raise ValueError(f"{noun}s are {actions!r}, with masked values; expected whole numbers.")
    chosen = np.asarray(actions)
    if chosen.dtype.kind in "UO" and chosen.shape == counts.shape:
        # Names. Where numbers are among them, numpy has turned those to text.
        numbers = [settings.action_number(one, int(count)) for one, count in zip(actions, counts, strict=True)]
        chosen = np.array(numbers, dtype=np.int64)
    if len(counts) == 0 and chosen.shape == (0,):
        return np.zeros(0, dtype=np.int64)
    if chosen.dtype.kind not in "iu" or chosen.shape != counts.shape:
        raise ValueError(f"{noun}s are {_shown(actions)}; expected {len(counts)} whole numbers, counted from 0.")
    bad = np.flatnonzero((chosen < 0) | (chosen >= counts))
    if len(bad):
        event = bad[0]
        raise ValueError(f"{noun} {chosen[event]} of event {event} is unknown; expected 0 to {counts[event] - 1}.")
    return chosen.astype(np.int64)


def engine_costs(settings: Settings, values: Any, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """The engine's costs of costs or rewards that lie in their range."""
    return np.ascontiguousarray(costs_of(settings, values, shape), dtype=np.float32)


def costs_of(settings: Settings, values: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Costs of costs or rewards that lie in their range; a reward is a negative cost."""
    noun = settings.noun
    low, high = settings.value_range
    numbers = as_floats(values, f"{noun}s")
    if numbers.shape != shape:
        raise ValueError(f"{noun}s have shape {numbers.shape}; expected {shape}.")
    outside = np.argwhere(~((numbers >= low) & (numbers <= high)))
    if len(outside):
        event = tuple(outside[0].tolist())
        place = f" of event {event[0]}" if numbers.ndim and numbers.size > 1 else ""
        raise ValueError(
            f"{noun} {numbers[event]}{place} is outside [{low}, {high}]; give {noun}s in this range, or make the "
            f"learner with another {noun}_range."
        )
    return (numbers if noun == "cost" else 0.0 - numbers) + 0.0


def event_weights(given: Any, events: int) -> NDArray[np.float32]:
    """How much each event counts; 1 unless given."""
    if given is None:
        return np.ones(events, dtype=np.float32)
    weights = as_floats(given, "sample_weight")
    with np.errstate(over="ignore"):
        singles = weights.astype(np.float32)
    if weights.shape != (events,) or not ((weights >= 0) & np.isfinite(singles)).all():
        raise ValueError(
            f"sample_weight is {_shown(given)}; expected {events} finite numbers, 0 or larger, one for each event."
        )
    return singles


def one_weight(given: Any) -> float:
    """How much one event counts."""
    if np.ndim(given) == 0:
        try:
            return float(event_weights([given], 1)[0])
        except ValueError:
            pass
    raise ValueError(f"sample_weight is {_shown(given)}; expected one finite number, 0 or larger.")


def observed_value(noun: str, value: Any, cost: Any, reward: Any) -> Any:
    """The cost, or the reward of learners of rewards, of what was given."""
    named, other = (cost, reward) if noun == "cost" else (reward, cost)
    if other is not None:
        wrong = "reward" if noun == "cost" else "cost"
        raise TypeError(f"{wrong}= was given; expected {noun}=. A learner of {wrong}s is made with {wrong}_range.")
    if (value is None) == (named is None):
        given = "no" if value is None else "more than one"
        raise TypeError(f"{given} {noun} was given; expected one: by itself, or as {noun}=.")
    return named if value is None else value


def cost_table(settings: Settings, targets: Any, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The cost of every action of every event, one after another, from right actions or from costs or rewards."""
    total = int(counts.sum())
    if len(counts) == 0 and np.size(targets) == 0:
        return np.zeros(0)
    even = len(counts) > 0 and bool((counts == counts[0]).all())
    if isinstance(targets, (list, tuple)) and not even and len(targets) and np.ndim(targets[0]) == 1:
        return costs_of(settings, _joined(targets, counts), (total,))
    array = np.asarray(targets)
    if array.ndim == 2:
        if not even:
            raise ValueError("targets are one array, but events differ in their number of actions; expected a list.")
        return costs_of(settings, array, (len(counts), int(counts[0]))).ravel()
    if array.shape != counts.shape or array.dtype.kind not in "iuUO":
        raise ValueError(
            f"targets have shape {array.shape} and dtype {array.dtype}; expected ({len(counts)},) whole numbers, the "
            f"right actions, or ({len(counts)}, A) {settings.noun}s."
        )
    right = chosen_actions(settings, targets, counts, "target")
    low, high = settings.engine_range
    table = np.full(total, high)
    table[np.cumsum(counts) - counts + right] = low
    return table


def excluded_mask(settings: Settings, exclude: Any, counts: NDArray[np.int64]) -> NDArray[np.uint8] | None:
    """A byte for each action of each event, 1 for those that are excluded; None where none is."""
    if exclude is None:
        return None
    if isinstance(exclude, np.ndarray) and exclude.dtype == bool:
        if exclude.ndim != 2 or exclude.shape[0] != len(counts) or not (counts == exclude.shape[1]).all():
            raise ValueError(
                f"exclude has shape {exclude.shape}; expected ({len(counts)}, A), one entry for each action."
            )
        mask = exclude.astype(np.uint8).ravel()
        sets = list(exclude)
    else:
        if isinstance(exclude, str) or not isinstance(exclude, (Collection, np.ndarray)):
            raise TypeError(f"exclude is {exclude!r}; expected a list of actions.")
        each = len(exclude) > 0 and not any(isinstance(one, (int, str, np.integer)) for one in exclude)
        if each and len(exclude) != len(counts):
            raise ValueError(f"exclude has {len(exclude)} lists; expected one for each of {len(counts)} events.")
        lists = list(exclude) if each else [exclude] * len(counts)
        sets = []
        for event, (excluded, count) in enumerate(zip(lists, counts.tolist(), strict=True)):
            if not isinstance(excluded, Collection):
                raise TypeError(
                    f"exclude is {excluded!r} for event {event}; expected a list of actions, "
                    "empty where none is left out."
                )
            one = np.zeros(count, dtype=bool)
            one[[settings.action_number(action, count) for action in excluded]] = True
            sets.append(one)
        mask = np.concatenate(sets).astype(np.uint8) if sets else np.zeros(0, dtype=np.uint8)
    full = next((i for i, one in enumerate(sets) if one.all()), None)
    if full is not None:
        raise ValueError(f"exclude leaves no action of event {full}; expected at least one that may be drawn.")
    return mask


def as_floats(given: Any, what: str) -> NDArray[np.float64]:
    """As an array of numbers."""
    if np.ma.is_masked(given):
        raise ValueError(f"{what} are {given!r}, with masked values; expected numbers.")
    try:
        array = np.asarray(given)
        if array.dtype.kind in "biufO":
            return array.astype(np.float64)
    except OverflowError as problem:
        raise ValueError(f"{what} have a number that is too large for a float; expected finite ones.") from problem
    except (TypeError, ValueError):
        pass
    raise TypeError(f"{what} are {_shown(given)}; expected numbers.")


def _joined(targets: Any, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    if len(targets) != len(counts):
        raise ValueError(f"targets has {len(targets)} lists; expected one for each of {len(counts)} events.")
    for i, (one, count) in enumerate(zip(targets, counts, strict=True)):
        if np.shape(one) != (count,):
            raise ValueError(f"the targets of event {i} have shape {np.shape(one)}; expected ({count},).")
    return np.concatenate([as_floats(one, "targets") for one in targets])


def _shown(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= 200 else f"{text[:200]}..."
