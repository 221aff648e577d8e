"""Events: contexts, and the actions that each may take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.learner import frames
from vw_fastcb.learner.decision import Table
from vw_fastcb.learner.rows import Parts, Rows, Space, holds_dicts


@dataclass(frozen=True)
class ActionSets:
    """The features of the actions of many events.

    Attributes:
        rows: One row an action.
        first: Where the rows of each event begin; None where every event has all of them.
    """

    rows: Rows
    first: NDArray[np.int64] | None


@dataclass(frozen=True)
class Events:
    """Events as the engine takes them.

    Attributes:
        contexts: One row an event.
        actions: The features of actions; None where they are fixed.
        begins: Where the actions of each event begin in arrays that hold those of all events, (n + 1,).
        even: How many actions every event has; None where that differs.
    """

    contexts: Rows
    actions: ActionSets | None
    begins: NDArray[np.int64]
    even: int | None

    @property
    def count(self) -> int:
        """How many."""
        return self.contexts.count

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of actions of each."""
        return np.diff(self.begins)

    @property
    def arrays(self) -> tuple[Parts, Parts | None, NDArray[np.int64] | None]:
        """What every function of the engine begins with."""
        if self.actions is None:
            return self.contexts.parts, None, None
        return self.contexts.parts, self.actions.rows.parts, self.actions.first

    def table(self, flat: NDArray[np.float64]) -> Table:
        """An (n, A) array of what was computed for each action; a list where events differ in their number."""
        if self.even is not None:
            return flat.reshape(self.count, self.even)
        return np.split(flat, self.begins[1:-1])


def fixed_events(contexts: Rows, n_actions: int) -> Events:
    """Events whose actions are fixed."""
    return Events(contexts, None, np.arange(contexts.count + 1, dtype=np.int64) * n_actions, n_actions)


def featured_events(contexts: Rows, actions: ActionSets) -> Events:
    """Events whose actions have features."""
    if actions.first is None:
        even = actions.rows.count
        return Events(contexts, actions, np.arange(contexts.count + 1, dtype=np.int64) * even, even)
    counts = set(np.diff(actions.first).tolist())
    return Events(contexts, actions, actions.first, counts.pop() if len(counts) == 1 else None)


def one_set(given: Any, space: Space) -> ActionSets:
    """Takes the features of the actions of one event, or of every event: (A, d), as an array, a frame, or so."""
    rows = space.rows(given)
    if rows.count == 0:
        raise ValueError(f"{space.noun} have no row; expected (A, d) with A at least 1.")
    return ActionSets(rows, None)


def action_sets(given: Any, space: Space, events: int) -> ActionSets:
    """Takes (A, d) features for all events, (n, A, d), or a list of n sets (A_i, d) of any form."""
    if frames.is_frame(given) or hasattr(given, "tocsr") or holds_dicts(given):
        return one_set(given, space)
    if isinstance(given, Sequence) and len(given) > 0 and _is_set(given[0]):
        return _listed(given, space, events)
    array = np.asanyarray(given)  # not asarray, which would forget a mask
    if array.ndim == 2:
        return one_set(array, space)
    if array.ndim != 3 or array.shape[0] != events:
        raise ValueError(
            f"{space.noun} have shape {array.shape}; expected (A, d), ({events}, A, d), or a list of {events} arrays "
            "(A_i, d)."
        )
    if array.shape[1] == 0:
        raise ValueError(f"{space.noun} have shape {array.shape}; expected (n, A, d) with A at least 1.")
    rows = space.rows(array.reshape(events * array.shape[1], array.shape[2]))
    return ActionSets(rows, np.arange(events + 1, dtype=np.int64) * array.shape[1])


def chosen_alone(given: Any, actions: Any) -> tuple[Any, Any]:
    """The features of the chosen actions, each the only one of its event, and their new numbers.

    Learning then costs the same however many actions an event has. Only where each event has an array of its own, and
    nothing is wrong with what was chosen: anything else is left as it is, for the checks.
    """
    chosen = np.asarray(actions)
    stacked = type(given) is np.ndarray and given.ndim == 3
    listed = (
        isinstance(given, list) and len(given) > 0 and all(type(one) is np.ndarray and one.ndim == 2 for one in given)
    )
    if not (stacked or listed) or np.ma.is_masked(actions) or chosen.dtype.kind not in "iu":
        return given, actions
    counts = np.array([len(one) for one in given])
    if chosen.shape != counts.shape or ((chosen < 0) | (chosen >= counts)).any():
        return given, actions
    if listed and len({one.shape[1] for one in given}) > 1:
        return given, actions
    alone = np.array([one[action] for one, action in zip(given, chosen.tolist(), strict=True)])
    if alone.dtype.kind not in "biuf" or not np.isfinite(alone.astype(np.float32)).all():
        return given, actions
    return alone[:, np.newaxis], np.zeros(len(alone), dtype=np.int64)


def _is_set(one: Any) -> bool:
    return frames.is_frame(one) or hasattr(one, "tocsr") or holds_dicts(one) or np.ndim(one) == 2


def _listed(given: Sequence[Any], space: Space, events: int) -> ActionSets:
    if len(given) != events:
        raise ValueError(f"{space.noun} have {len(given)} action sets; expected one for each of {events} events.")
    if all(isinstance(one, np.ndarray) for one in given):
        return _listed_arrays(given, space)
    sets: list[Rows] = []
    for i, one in enumerate(given):
        rows = space.rows(one)
        if rows.count == 0:
            raise _empty_set(space, i, (0,))
        if sets:
            _same_columns(sets[0], rows, space, i)
        sets.append(rows)
    first = _begins([one.count for one in sets])
    parts = [one.placed() for one in sets]
    values, places = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    offsets = np.concatenate([np.diff(part[2]) for part in parts])
    columns = next((one.columns for one in sets if one.columns is not None), None)
    return ActionSets(Rows((values, places, _begins(offsets)), int(first[-1]), columns), first)


def _listed_arrays(sets: Sequence[NDArray[Any]], space: Space) -> ActionSets:
    for i, one in enumerate(sets):
        if one.ndim != 2 or len(one) == 0:
            raise _empty_set(space, i, one.shape)
        if one.shape[1] != sets[0].shape[1]:
            raise ValueError(
                f"{space.noun} of event {i} have {one.shape[1]} columns; expected {sets[0].shape[1]}, as event 0."
            )
    return ActionSets(space.rows(np.concatenate(sets)), _begins([len(one) for one in sets]))


def _same_columns(one: Rows, other: Rows, space: Space, event: int) -> None:
    if one.columns is not None and other.columns is not None and one.columns != other.columns:
        raise ValueError(f"{space.noun} of event {event} have other columns than those of event 0; expected the same.")


def _empty_set(space: Space, event: int, shape: tuple[int, ...]) -> ValueError:
    return ValueError(f"{space.noun} of event {event} have shape {shape}; expected (A, d) with A at least 1.")


def _begins(counts: Any) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])
