"""What the learner hands out: small immutable records that can be stored and learned from later, anywhere."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.learner import frames, rows
from vw_fastcb.learner.events import ActionSets, Table

# One row of features: an array of float32; (values, columns) of a sparse row; or names and values.
Features: TypeAlias = "NDArray[np.float32] | tuple[NDArray[np.float32], NDArray[np.int64]] | dict[str, Any]"

_new = object.__new__
_SUM_TOLERANCE = 1e-5


@dataclass(frozen=True, eq=False)
class Decision:
    """One decision, and what is needed to learn from it later.

    Attributes:
        action: The chosen action, from 0.
        probability: With which it was drawn. Log it.
        pmf: The probability of each action; it sums to 1.
        predicted: The predicted cost of each action, or its reward where the learner was made with `reward_range`.
        gamma: The greediness at the time.
        name: The name of the action, where the learner has `action_names`.
        event_id: The id that fixed the draw, if one was given.
        context: The features of the context: an array, (values, columns) of a sparse row, or a dictionary.
        action_features: Likewise, of all actions, a row each; None where actions are fixed. With `oracle="gd"` of
            the chosen action alone, unless learning reads every action there, too, as with `--nn`.
        maker: What the actions and features mean to the learner that made it; None in a decision that was read from a
            dictionary.
    """

    action: int
    probability: float
    pmf: NDArray[np.float64]
    predicted: NDArray[np.float64]
    gamma: float
    name: str | None = None
    event_id: str | int | None = None
    context: Features | None = field(default=None, repr=False)
    action_features: Any = field(default=None, repr=False)
    maker: str | None = field(default=None, repr=False)

    @staticmethod
    def made(parts: tuple[Any, ...], name: str | None, event_id: str | int | None, maker: str) -> Decision:
        """From what the engine says. It costs a third of the constructor, which freezes each attribute by itself."""
        action, probability, pmf, predicted, gamma, context, action_features = parts
        decision = _new(Decision)
        vars(decision).update(
            action=action,
            probability=probability,
            pmf=pmf,
            predicted=predicted,
            gamma=gamma,
            name=name,
            event_id=event_id,
            context=context,
            action_features=action_features,
            maker=maker,
        )
        return decision

    def to_dict(self) -> dict[str, Any]:
        """Plain values with readable features, ready for JSON.

        Returns:
            The attributes, without `maker`: what it says trains any learner whose actions and columns are the same.

        Examples:
            >>> import json
            >>> from vw_fastcb import Decision, FastCB
            >>> bandit = FastCB(action_names=["politics", "sports"], seed=1)
            >>> logged = json.dumps(bandit.decide({"age": 31, "city": "Rome"}).to_dict())
            >>> json.loads(logged)["context"]
            {'age': 31, 'city': 'Rome'}
            >>> bandit.learn(Decision.from_dict(json.loads(logged)), cost=0)
        """
        return {
            "action": self.action,
            "name": self.name,
            "probability": self.probability,
            "pmf": np.asarray(self.pmf).tolist(),
            "predicted": np.asarray(self.predicted).tolist(),
            "gamma": self.gamma if math.isfinite(self.gamma) else None,
            "event_id": self.event_id,
            "context": _readable(self.context),
            "action_features": _readable(self.action_features),
        }

    @classmethod
    def from_dict(cls, logged: Mapping[str, Any]) -> Decision:
        """The decision that `to_dict` wrote.

        Args:
            logged: What `to_dict` returned, also after a trip through JSON.

        Returns:
            A decision that any learner with the same actions and columns can learn.

        Raises:
            ValueError: Something is missing or is not what `to_dict` writes.
        """
        if not isinstance(logged, Mapping):
            raise TypeError(f"a {type(logged).__name__} was given; expected the dictionary that Decision.to_dict made.")
        missing = [name for name in ("action", "probability", "pmf", "context") if name not in logged]
        if missing:
            raise ValueError(f"the dictionary has no {missing[0]!r}; expected one that Decision.to_dict made.")
        pmf = _frozen(logged["pmf"], "pmf", np.float64)
        if pmf.ndim != 1 or not np.isfinite(pmf).all() or (pmf < 0).any() or abs(pmf.sum() - 1) > _SUM_TOLERANCE:
            raise ValueError(f"pmf is {logged['pmf']!r}; expected a list of probabilities that sum to 1.")
        predicted = _frozen(logged.get("predicted", np.full(len(pmf), np.nan)), "predicted", np.float64)
        if predicted.shape != pmf.shape:
            raise ValueError(f"predicted is {logged['predicted']!r}; expected {len(pmf)} numbers, one for each action.")
        action, probability, gamma = logged["action"], logged["probability"], logged.get("gamma")
        if not isinstance(action, (int, np.integer)) or isinstance(action, bool):
            raise ValueError(f"action is {action!r}; expected a whole number, counted from 0.")
        if not 0 <= action < len(pmf):
            raise ValueError(f"action {action} is unknown; expected 0 to {len(pmf) - 1}.")
        if not _is_number(probability) or not 0 < probability <= 1:
            raise ValueError(f"probability is {probability!r}; expected a number in (0, 1].")
        if gamma is not None and not _is_number(gamma):
            raise ValueError(f"gamma is {gamma!r}; expected a number, or None for one that is not finite.")
        name, event_id = logged.get("name"), logged.get("event_id")
        if name is not None and not isinstance(name, str):
            raise ValueError(f"name is {name!r}; expected the text that the action is called, or None.")
        if event_id is not None and (not isinstance(event_id, (str, int)) or isinstance(event_id, bool)):
            raise ValueError(f"event_id is {event_id!r}; expected text, a whole number, or None.")
        return cls(
            action=int(action),
            probability=probability,
            pmf=pmf,
            predicted=predicted,
            gamma=float("nan") if gamma is None else gamma,
            name=name,
            event_id=event_id,
            context=_features(logged["context"], "context"),
            action_features=_features(logged.get("action_features"), "action_features"),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Decisions:
    """Many decisions made with one state of the model. It has a length, and gives a `Decision` for each event.

    Attributes:
        actions: The chosen action of each event, (n,).
        probabilities: With which each was drawn, (n,).
        pmf: The probability of each action, (n, A), or a list of arrays where the events differ in their actions.
        predicted: The predicted cost (or reward) of each action, likewise.
        gamma: The greediness at the time.
        contexts: A copy of the contexts, in the form in which they were given.
        action_features: A copy of the features of all actions; None where actions are fixed. With `oracle="gd"` of
            the chosen actions alone, one row for each event, unless learning reads every action, as with `--nn`.
        action_names: The names of the actions, if they have any.
        event_ids: The ids that fixed the draws, if they were given.
        maker: As of `Decision`.
    """

    actions: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    pmf: Table
    predicted: Table
    gamma: float
    contexts: Any = field(repr=False)
    action_features: Any = field(default=None, repr=False)
    action_names: tuple[str, ...] | None = None
    event_ids: tuple[str | int, ...] | None = None
    maker: str | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"<{len(self)} decisions: .actions, .probabilities, .pmf, ...; iterate for single ones>"

    @property
    def names(self) -> list[str] | None:
        """The name of each chosen action; None where actions have no names."""
        return None if self.action_names is None else [self.action_names[action] for action in self.actions]

    def __len__(self) -> int:
        return len(self.actions)

    def __getitem__(self, event: int) -> Decision:
        if isinstance(event, slice):
            raise TypeError("a slice was given; expected the number of one decision. Iterate over them for more.")
        try:
            number = range(len(self))[event]
        except IndexError:
            raise IndexError(f"there is no decision {event}; expected a number below {len(self)}.") from None
        action = int(self.actions[number])
        return Decision(
            action=action,
            probability=float(self.probabilities[number]),
            pmf=self.pmf[number],
            predicted=self.predicted[number],
            gamma=self.gamma,
            name=None if self.action_names is None else self.action_names[action],
            event_id=None if self.event_ids is None else self.event_ids[number],
            context=_row_of(self.contexts, number),
            action_features=_features_of(self.action_features, number),
            maker=self.maker,
        )

    def __iter__(self) -> Iterator[Decision]:
        return (self[event] for event in range(len(self)))


def check_maker(maker: str | None, kind: str) -> None:
    """Refuses a decision of another kind of learner. One from a dictionary has plain names, which any learner reads."""
    if maker not in (None, kind):
        raise ValueError(
            f"the decision was made by a learner with {maker}; expected one of a learner with {kind}, as this "
            "one. Learn it there; or give Decision.from_dict(decision.to_dict()), whose features any learner reads by "
            "name."
        )


def _readable(features: Any) -> Any:
    """As JSON says it: a list of numbers, or names and values."""
    if features is None:
        return None
    if isinstance(features, dict):
        return {str(name): _plain(value) for name, value in features.items()}
    if isinstance(features, tuple) and all(isinstance(one, np.ndarray) for one in features):
        values, columns = features
        return {str(column): _plain(value) for column, value in zip(columns.tolist(), values.tolist(), strict=True)}
    if isinstance(features, list):
        return [_readable(one) for one in features]
    if isinstance(features, np.ndarray):
        return [_readable(row) for row in features] if features.ndim == 2 else [_plain(value) for value in features]
    if isinstance(features, (int, float, np.integer, np.floating)):
        return _plain(features)
    raise TypeError(
        f"the decision's features are a {type(features).__name__}; expected numbers, or names and values, for JSON. "
        "Pickle the decision instead."
    )


def _plain(value: Any) -> Any:
    if isinstance(value, (str, bool)) or value is None:
        return str(value) if isinstance(value, str) else value
    number = value.item() if isinstance(value, np.generic) else value
    if type(number).__name__ == "NAType" or math.isnan(number):
        return None  # missing
    return number if isinstance(number, (int, float)) else float(number)


def _features(given: Any, what: str) -> Any:
    """Features that JSON brought: a list of numbers, a dictionary, or lists of these for several actions."""
    if given is None or isinstance(given, dict) or _is_number(given):
        return given
    if isinstance(given, list) and given and all(isinstance(one, dict) for one in given):
        return given
    return _frozen(given, what, np.float32)


def _frozen(given: Any, what: str, dtype: Any) -> NDArray[Any]:
    try:
        array = np.array(_with_nan(given))
        if array.dtype.kind not in "biuf":  # text that looks like a number would be taken for one
            raise TypeError(array.dtype)
        array = array.astype(dtype)
    except (TypeError, ValueError) as problem:
        raise ValueError(f"{what} is {given!r}; expected numbers, as Decision.to_dict writes them.") from problem
    array.flags.writeable = False
    return array


def _with_nan(given: Any) -> Any:
    """JSON has no NaN, so what is missing is None there."""
    if isinstance(given, list):
        return [_with_nan(one) for one in given]
    return np.nan if given is None else given


def _is_number(given: Any) -> bool:
    return isinstance(given, numbers.Real) and not isinstance(given, bool)


def _features_of(kept: Any, event: int) -> Any:
    """What one of many decisions keeps of its actions' features."""
    if not isinstance(kept, ActionSets):
        return None if kept is None else _row_of(kept, event)
    table = kept.table(event)
    return np.asarray(table, dtype=np.float32) if isinstance(table, np.ndarray) else rows.as_dicts(table, "the actions")


def _row_of(table: Any, row: int) -> Features:
    """One row of a table as a decision keeps it."""
    if frames.is_frame(table):
        return frames.columns_of(frames.pick(table, np.array([row])), "the decisions' features").row(0)
    if hasattr(table, "tocsr"):
        one = table.tocsr()[[row]]
        one.sum_duplicates()
        return one.data.astype(np.float32), one.indices.astype(np.int64)
    if rows.holds_dicts(table):
        return dict(table[row])
    return cast("Features", np.asarray(table[row], dtype=np.float32))
