"""Decisions as lines of the log format of VW's decision services (dsjson), and back.

A line is laid out byte by byte as those services write it, because fast readers slice it at fixed places.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from vw_fastcb.loop.contexts import Features, checked_id, features_of
from vw_fastcb.loop.outcomes import Outcome
from vw_fastcb.loop.records import Record
from vw_fastcb.loop.settings import LoopSettings
from vw_fastcb.times import time_in

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_CONTEXT, _ACTION = "x", "a"  # namespaces, those of `FastCB`
_NAME = "action"  # the feature that names a fixed action
_ROUNDING = 1e-3  # that logged probabilities may be off

_encoded = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def line_of(decision: Record, outcome: Outcome, settings: LoopSettings, left_out: Sequence[int] = ()) -> str:
    """The line of a decision whose outcome is known. One that has learned nothing says `_skipLearn`.

    VW ignores two of its names: `_excluded` has the numbers of the actions that could not be drawn, if there were any,
    and `_baseline` that of the action that the caller would have chosen, if it said so.
    """
    body = decision.body or {}
    action, pmf = body["action"], body["pmf"]
    order = [action, *(one for one in range(len(pmf)) if one != action)]
    sign = -1.0 if settings.noun == "reward" else 1.0
    value = outcome.value
    if value is None:  # a line has a cost in any case
        low, high = settings.model.value_range
        value = min(max(0.0, low), high) if settings.default is None else settings.default
    cost = sign * value + 0.0  # no negative zero
    line: dict[str, Any] = {
        "_label_cost": cost,
        "_label_probability": pmf[action],
        "_label_Action": action + 1,
        "_labelIndex": action,
    }
    if outcome.kind not in ("reward", "default"):
        line["_skipLearn"] = True
    line |= {
        "o": [{"EventId": decision.event_id, "v": -sign * value + 0.0} for value in outcome.observed],
        "Timestamp": timestamp(decision.time),
        "Version": "1",
        "EventId": decision.event_id,
        "a": [one + 1 for one in order],
        "c": _context(body, settings),
        "p": [pmf[one] for one in order],
        "VWState": {"m": str(body.get("generation", "N/A"))},
        "_original_label_cost": cost,
    }
    if left_out:
        line["_excluded"] = list(left_out)
    if "baseline" in body:
        line["_baseline"] = body["baseline"]
    return _encoded(line)


def timestamp(milliseconds: int) -> str:
    """A time of the journal as these logs write it."""
    when = _EPOCH + timedelta(milliseconds=milliseconds)
    return f"{when:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}0000Z"


def milliseconds_of(text: str) -> int:
    """A time of such a log, in milliseconds. Without a zone it is taken for UTC."""
    when = time_in(text)
    if when.tzinfo is None:
        when = when.replace(tzinfo=timezone.utc)
    return (when - _EPOCH) // timedelta(milliseconds=1)


def _context(body: Mapping[str, Any], settings: LoopSettings) -> dict[str, Any]:
    table = body.get("action_features")
    if table is None:
        names = settings.model.action_names or tuple(str(one) for one in range(len(body["pmf"])))
        # Actions may have been added since.
        table = [{_NAME: name} for name in names[: len(body["pmf"])]]
    actions = [{_ACTION: _as_vw_reads(features)} for features in table]
    return {_CONTEXT: _as_vw_reads(body["context"]), "_multi": actions}


def _as_vw_reads(features: Features) -> Any:
    """Features that VW hashes as `FastCB` does: the text red of color is the feature `color=red` of both.

    VW puts name and text together, so the equals sign goes with the name.
    """
    if isinstance(features, list):
        return [0 if value is None else value for value in features]
    known = {name: value for name, value in features.items() if value is not None}
    return {f"{name}=" if isinstance(value, str) else name: value for name, value in known.items()}


# Reading


@dataclass(frozen=True)
class Logged:
    """A decision from somebody's log.

    Attributes:
        event_id: Its id.
        time: When it was made, in milliseconds; None where the log does not say.
        body: What the journal's record says.
        value: The reward, or the cost in a loop of costs; None where there is none.
        is_sample: Whether it stands for events that were left out of the log (pdrop). Here it counts once all the same.
    """

    event_id: str
    time: int | None
    body: dict[str, Any]
    value: float | None
    is_sample: bool = False


def decision_of(line: str, settings: LoopSettings) -> Logged | None:
    """The decision that a line says; None where it says none, as lines about outcomes alone do.

    Raises:
        ValueError: It cannot be taken; says why.
        TypeError: The same.
    """
    try:
        event = json.loads(line)
    except RecursionError as problem:
        raise ValueError("it is nested too deeply.") from problem
    except ValueError as problem:
        raise ValueError(f"it is not valid JSON ({problem}).") from problem
    if not isinstance(event, dict):
        raise ValueError("it is not a JSON object.")
    if "_outcomes" in event or "_slots" in _mapping(event.get("c") or {}, "c"):
        raise ValueError("it is an event with several slots; expected one decision.")
    if "c" not in event:
        return None
    context = _mapping(event["c"], "c")
    entries = context.get("_multi")
    if not isinstance(entries, list) or not entries:
        raise ValueError("its c has no _multi; expected the actions there.")
    action, pmf = _choice(event, len(entries))
    baseline = _baseline(event, len(entries))
    body: dict[str, Any] = {"context": context_of(context)}
    if settings.model.n_actions is None:
        body["action_features"] = [
            _features(_visible(_mapping(one, f"action {i}")), _ACTION, f"action {i}") for i, one in enumerate(entries)
        ]
    else:
        if baseline is not None:
            baseline, _ = _fixed(entries, baseline, pmf, settings)
        action, pmf = _fixed(entries, action, pmf, settings)
    if baseline is not None:
        body["baseline"] = baseline
    is_skipped = event.get("_skipLearn") is True
    if is_skipped:
        body["activate"] = False
    body |= {"action": action, "pmf": pmf, "generation": 0, "imported": True}
    value = None if is_skipped or "_label_cost" not in event else _value(event["_label_cost"], settings)
    when = event.get("Timestamp")
    return Logged(
        checked_id(event.get("EventId"), "its EventId"),
        None if when is None else _time(when),
        body,
        value,
        bool(event.get("pdrop")),
    )


def context_of(context: Mapping[str, Any]) -> Features:
    """The features that all actions of an event share, as they were before `line_of` wrote them."""
    return _features(_shared(context), _CONTEXT, "the context")


def _choice(event: Mapping[str, Any], count: int) -> tuple[int, list[float]]:
    """The chosen action, from 0, and the probability of each."""
    everything = list(range(1, count + 1))
    listed, p = event.get("a", everything), event.get("p")
    if not isinstance(listed, list) or not all(map(_is_whole, listed)) or sorted(listed) != everything:
        raise ValueError(f"its a is {listed!r}; expected the actions from 1 to {count}, the chosen one first.")
    if not isinstance(p, list) or len(p) != count:
        raise ValueError(f"its p is {p!r}; expected {count} probabilities.")
    pmf = [0.0] * count
    for one, probability in zip(listed, p, strict=True):
        pmf[one - 1] = _probability(probability, "a probability in its p", least=0.0)
    if abs(math.fsum(pmf) - 1) > _ROUNDING * count:
        raise ValueError(f"its p sums up to {math.fsum(pmf)}; expected 1.")
    action = event.get("_labelIndex")
    if action is None:
        action = event.get("_label_Action", listed[0])
        action = action - 1 if _is_whole(action) else action
    if not _is_whole(action) or not 0 <= action < count:
        raise ValueError(f"its chosen action is {action!r}, counted from 0; expected 0 to {count - 1}.")
    if "_label_probability" in event:
        said = _probability(event["_label_probability"], "its _label_probability")
        if abs(said - pmf[action]) > _ROUNDING:
            raise ValueError(f"its _label_probability is {said}, and its p says {pmf[action]} of the same action.")
        pmf[action] = said
    if not pmf[action] > 0:
        raise ValueError("its chosen action has the probability 0.")
    return action, pmf


def _baseline(event: Mapping[str, Any], count: int) -> int | None:
    """The number of the action that the caller would have chosen; None where the line does not say."""
    baseline = event.get("_baseline")
    if baseline is not None and not (_is_whole(baseline) and 0 <= baseline < count):
        raise ValueError(f"its _baseline is {baseline!r}; expected the number of an action, 0 to {count - 1}.")
    return baseline


def _fixed(entries: Sequence[Any], action: int, pmf: list[float], settings: LoopSettings) -> tuple[int, list[float]]:
    """The same, of fixed actions: by the names that `line_of` has written, else by their order."""
    count, names = settings.model.n_actions or 0, settings.model.action_names
    said = [one.get(_ACTION, {}).get(f"{_NAME}=") if isinstance(one, dict) else None for one in entries]
    if names is None or None in said:
        if len(entries) != count:
            raise ValueError(f"it has {len(entries)} actions; expected {count}.")
        return action, pmf
    places = [settings.model.action_number(name) for name in said]
    if len(set(places)) < len(places):
        raise ValueError(f"its actions are {said}; expected each once.")
    spread = [0.0] * count
    for place, probability in zip(places, pmf, strict=True):
        spread[place] = probability
    return places[action], spread


def _features(given: Mapping[str, Any], own: str, what: str) -> Features:
    """Flat features. Those in our own namespace alone, as `line_of` writes them, have the names that they had."""
    if set(given) == {own}:
        inner = given[own]
        if isinstance(inner, dict):
            words = {name for name, value in inner.items() if isinstance(value, str) and name.endswith("=")}
            inner = {name[:-1] if name in words else name: value for name, value in inner.items()}
        return features_of(inner, what)
    return features_of(given, what)


def _shared(context: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in _visible(context).items() if name != "_multi"}


def _visible(given: Any) -> Any:
    """Without what VW ignores: names that begin with an underscore, and nulls."""
    if isinstance(given, dict):
        return {
            name: _visible(value) for name, value in given.items() if not name.startswith("_") and value is not None
        }
    return [_visible(one) for one in given] if isinstance(given, list) else given


def _mapping(given: Any, what: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ValueError(f"its {what} is {str(given)[:100]}; expected an object.")
    return given


def _value(cost: Any, settings: LoopSettings) -> float:
    if isinstance(cost, bool) or not isinstance(cost, (int, float)) or not math.isfinite(cost):
        raise ValueError(f"its _label_cost is {cost!r}; expected a finite number.")
    value = float(cost) if settings.noun == "cost" else 0.0 - cost
    low, high = settings.model.value_range
    if not low <= value <= high:
        raise ValueError(f"its {settings.noun} is {value}; expected a number in [{low}, {high}].")
    return value


def _probability(given: Any, what: str, least: float | None = None) -> float:
    is_number = isinstance(given, (int, float)) and not isinstance(given, bool)
    if not is_number or not (0 < given <= 1 or (least is not None and least <= given <= 1)):
        raise ValueError(f"{what} is {given!r}; expected a number in {'[' if least is not None else '('}0, 1].")
    return float(given)


def _is_whole(given: Any) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)


def _time(text: Any) -> int:
    try:
        return milliseconds_of(text)
    except (TypeError, ValueError, OverflowError) as problem:
        raise ValueError(f"its Timestamp is {text!r}; expected one such as 2024-05-01T12:00:00.0000000Z.") from problem
