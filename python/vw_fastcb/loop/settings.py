"""What a loop was opened with. The journal keeps it, and every change of it is a record."""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from functools import cached_property
from typing import Any

from vw_fastcb.learner.engine import Engine, with_more_actions
from vw_fastcb.learner.fastcb import DEFAULTS
from vw_fastcb.learner.frames import is_number
from vw_fastcb.learner.settings import Settings, is_whole
from vw_fastcb.loop.columns import MISMATCHES, ColumnRule, ColumnRules, Declared, checked_columns
from vw_fastcb.loop.contexts import checked_id
from vw_fastcb.loop.join import AGGREGATIONS, JoinSettings
from vw_fastcb.loop.journal import SettingsDiffer

ACTIONS = ("n_actions", "action_names")
# Changes of these keep the model; actions are only added. All others mean other weights.
KEEPING = (
    "wait",
    "default",
    "aggregation",
    "retention",
    "retired",
    "epsilon",
    "gamma_scale",
    "gamma_exponent",
    "optimism",
    "columns",
    "action_columns",
    "mismatch",
    *ACTIONS,
)

# What journals do not say, because those of 0.3 were so.
_AS_BEFORE: dict[str, Any] = {"columns": None, "action_columns": None, "mismatch": "refuse"}

_UNITS = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_MOST_ACTIONS = 100_000  # each decision keeps a probability of each
_MOST_MS = 100 * 365 * 86_400_000


@dataclass(frozen=True)
class LoopSettings:
    """The settings of a loop, checked.

    Attributes:
        learner: The arguments of `FastCB`, JSON's values.
        wait: How long a decision waits for its rewards, in milliseconds.
        default: What an event without a reward learns; None where it learns nothing.
        aggregation: Which of several rewards counts.
        retired: The names (or numbers) of actions that are never drawn.
        retention: How long records are kept, in milliseconds; None for ever.
        longest_wait: The longest `wait` that the journal has had: windows of that time may still be open.
        columns: The declared columns of contexts: kinds by name, or a width; None where none were declared.
        action_columns: Those of the features of actions.
        mismatch: What happens to a value that does not fit its column: it is left out, or refused. Journals of 0.3
            refuse.
    """

    learner: Mapping[str, Any]
    wait: int
    default: float | None
    aggregation: str
    retired: tuple[str | int, ...]
    retention: int | None
    longest_wait: int = 0
    columns: Declared = None
    action_columns: Declared = None
    mismatch: str = "refuse"

    @classmethod
    def new(cls, given: Mapping[str, Any]) -> LoopSettings:
        """Those of a new journal. What was not given has its default."""
        start = cls({"seed": secrets.randbits(63)}, 600_000, None, "first", (), None, 0, mismatch="leave_out")
        made = start.changed(given)
        # A journal means what it meant when it was made, whatever a later version takes where nothing was said.
        return replace(made, learner={**made.learner, "objective": made.model.objective})

    def changed(self, given: Mapping[str, Any]) -> LoopSettings:
        """These settings with some others. Raises for the first that is wrong."""
        given = dict(given)
        learner = {name: given.pop(name) for name in DEFAULTS if name in given}
        if "actions" in given:
            learner |= _actions(given.pop("actions"), learner)
        noun = self._noun_with(learner)
        own = self._own(given, noun)
        if given:
            raise TypeError(f"{next(iter(given))!r} is not a setting; expected one of {', '.join(setting_names())}.")
        for range_name in ("cost_range", "reward_range"):
            if learner.get(range_name) is not None:
                learner = {"cost_range": None, "reward_range": None, **learner}
        if learner.get("seed", 0) is None:
            del learner["seed"]  # it was made when the journal was
        whole = {**self.learner, **learner}
        checked = Settings.checked({**DEFAULTS, **whole})
        plain = {name: _plain(value) for name, value in whole.items() if value is not None}
        if checked.action_names is not None:
            plain |= {"action_names": list(checked.action_names), "n_actions": len(checked.action_names)}
        made = replace(self, learner=plain, **own)
        made = replace(made, longest_wait=max(self.longest_wait, made.wait))
        made._check()
        return made

    @cached_property
    def model(self) -> Settings:
        """Those of the learner."""
        return Settings.checked({**DEFAULTS, **self.learner})

    @property
    def noun(self) -> str:
        """What is observed: "reward", or "cost"."""
        return "reward" if self.learner.get("reward_range") is not None else "cost"

    @cached_property
    def join(self) -> JoinSettings:
        """Those that join rewards to decisions."""
        low, high = self.model.value_range
        return JoinSettings(self.wait, self.default, self.aggregation, low, high)  # type: ignore[arg-type]

    @cached_property
    def rules(self) -> ColumnRules:
        """What features there may be."""
        leaves_out = self.mismatch == "leave_out"
        return ColumnRules(
            ColumnRule(self.columns, leaves_out=leaves_out), ColumnRule(self.action_columns, leaves_out=leaves_out)
        )

    def with_column(self, name: Any, kind: Any, *, of_actions: bool) -> LoopSettings:
        """These settings with another kind of one column. The other columns stay as they are."""
        if not isinstance(kind, str) or kind not in ("number", "text"):
            raise ValueError(f"the kind is {kind!r}; expected number or text.")
        setting = "action_columns" if of_actions else "columns"
        declared = getattr(self, setting)
        if isinstance(declared, int):
            raise ValueError(
                f"{setting} is {declared}: lists of {declared} numbers, whose columns have no other kind; expected a "
                "journal whose features are dictionaries."
            )
        columns = {name: kind, "*": "any"} if declared is None else {**declared, name: kind}
        changed: dict[str, Any] = {setting: checked_columns(setting, columns)}
        return replace(self, **changed)

    @property
    def memory(self) -> float:
        """How long ids are remembered, in milliseconds."""
        return math.inf if self.retention is None else max(self.longest_wait, self.retention)

    def can_grow_to(self, wanted: LoopSettings) -> bool:
        """Whether a model of these settings can have the actions of others; `--nn` cannot."""
        try:
            with_more_actions(Engine.start(self.model).model(), wanted.model.n_actions or 0, wanted.model.action_names)
        except ValueError:
            return False
        return True

    def learner_arguments(self) -> dict[str, Any]:
        """What `FastCB` takes to begin as this loop's learner does."""
        return {name: tuple(value) if name.endswith("_range") else value for name, value in self.learner.items()}

    def try_out(self) -> None:
        """Raises where the engine refuses the settings."""
        Engine.start(self.model)

    def check_change(self, wanted: LoopSettings) -> None:
        """Raises where the records of these settings would mean something else under others."""
        ours, theirs = self.model, wanted.model
        if ours.noun != theirs.noun:
            raise SettingsDiffer(f"the journal holds {ours.noun}s, not {theirs.noun}s; make a new journal for them.")
        if (ours.n_actions is None) != (theirs.n_actions is None):
            raise SettingsDiffer("actions with features and fixed actions need journals of their own.")
        if ours.n_actions is None:
            return
        before, after = _names(ours), _names(theirs)
        if after[: len(before)] != before:
            raise SettingsDiffer(
                f"actions is {after}; expected {before} first, and new ones after them. To take actions out, name them "
                "in retired."
            )

    @cached_property
    def retired_numbers(self) -> list[int]:
        """The numbers of the actions that are never drawn."""
        return [self.model.action_number(one) for one in self.retired]

    def to_json(self) -> dict[str, Any]:
        """As the journal keeps them."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        for name, value in _AS_BEFORE.items():  # a journal that does not use them is as 0.3 wrote it
            if own[name] == value:
                del own[name]
        return {**own, "learner": dict(self.learner), "retired": list(self.retired)}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> LoopSettings:
        """What `to_json` gave. Journals that say nothing of the objective were made when there was one for all."""
        learner = {"objective": "loss", **kept["learner"]}
        return cls(**{**kept, "learner": learner, "retired": tuple(kept["retired"])})

    def flat(self) -> dict[str, Any]:
        """Names and values, those of the learner among them, as users say them."""
        chosen = {
            name: getattr(self.model, name)
            for name in ("objective", "oracle", "optimism", "learning_rate", "gamma_scale", "gamma_exponent")
        }
        whole = {**DEFAULTS, **self.learner, **chosen}
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("learner", "longest_wait")}
        return {**whole, **own}

    def said(self) -> dict[str, Any]:
        """Names and values as `Loop.open` takes them, those that are not set left out."""
        flat = self.flat()
        names, count = flat.pop("action_names"), flat.pop("n_actions")
        flat |= {"actions": count if names is None else list(names), "retired": list(self.retired)}
        flat |= {f"default_{self.noun}": flat.pop("default"), "wait": shown_time(self.wait)}
        flat["retention"] = None if self.retention is None else shown_time(self.retention)
        return {name: value for name, value in flat.items() if value is not None or name == "actions"}

    def differences(self, other: LoopSettings) -> dict[str, tuple[Any, Any]]:
        """What differs: the value here and there."""
        ours, theirs = self.flat(), other.flat()
        return {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]}

    def _noun_with(self, learner: Mapping[str, Any]) -> str:
        if learner.get("reward_range") is not None:
            return "reward"
        return "cost" if learner.get("cost_range") is not None else self.noun

    def _own(self, given: dict[str, Any], noun: str) -> dict[str, Any]:
        """The settings that are not the learner's; takes them out of `given`."""
        own: dict[str, Any] = {}
        if "wait" in given:
            own["wait"] = milliseconds("wait", given.pop("wait"))
        if "retention" in given:
            retention = given.pop("retention")
            own["retention"] = None if retention is None else milliseconds("retention", retention)
        other = "cost" if noun == "reward" else "reward"
        if given.pop(f"default_{other}", None) is not None:
            raise ValueError(f"default_{other} was given, but this is a loop of {noun}s; expected default_{noun}.")
        if f"default_{noun}" in given:
            own["default"] = _value(f"default_{noun}", given.pop(f"default_{noun}"))
        own |= self._columns(given)
        if "aggregation" in given:
            own["aggregation"] = given.pop("aggregation")
            if own["aggregation"] not in AGGREGATIONS:
                raise ValueError(f"aggregation is {own['aggregation']!r}; expected one of {', '.join(AGGREGATIONS)}.")
        if "retired" in given:
            retired = given.pop("retired")
            if isinstance(retired, str) or not isinstance(retired, (Sequence, set, frozenset)):
                raise TypeError(f"retired is {retired!r}; expected a list of actions.")
            own["retired"] = tuple(sorted(retired, key=str))
        return own

    def _columns(self, given: dict[str, Any]) -> dict[str, Any]:
        """The columns and what happens where they do not fit; takes them out of `given`."""
        own: dict[str, Any] = {}
        for name in ("columns", "action_columns"):
            if name in given:
                own[name] = checked_columns(name, given.pop(name))
        is_changed = any(value != getattr(self, name) for name, value in own.items())
        if is_changed:  # what is declared is checked at the door, unless something else is said
            whole = {"columns": self.columns, "action_columns": self.action_columns, **own}
            own["mismatch"] = "leave_out" if all(value is None for value in whole.values()) else "refuse"
        if "mismatch" in given:
            own["mismatch"] = given.pop("mismatch")
            if own["mismatch"] not in MISMATCHES:
                raise ValueError(f"mismatch is {own['mismatch']!r}; expected one of {', '.join(MISMATCHES)}.")
        return own

    def _check(self) -> None:
        model = self.model
        low, high = model.value_range
        if self.default is not None and not low <= self.default <= high:
            raise ValueError(f"default_{self.noun} is {self.default}; expected a {self.noun} in [{low}, {high}].")
        if model.n_actions is not None and self.action_columns is not None:
            raise ValueError("action_columns was given, but actions are fixed and have no features; leave it out.")
        if model.n_actions is None:
            if self.retired:
                raise ValueError("retired was given, but each decision brings its own actions; leave it out.")
        elif len(set(self.retired_numbers)) == model.n_actions:
            raise ValueError("every action is retired; expected at least one that may be drawn.")


def _names(model: Settings) -> list[str]:
    """The names of fixed actions, or their numbers."""
    return list(model.action_names or map(str, range(model.n_actions or 0)))


def setting_names() -> list[str]:
    """What `Loop.open` takes as settings."""
    own = (
        *("actions", "wait", "default_reward", "default_cost", "aggregation", "retired", "retention"),
        *("columns", "action_columns", "mismatch"),
    )
    return [*own, *(name for name in DEFAULTS if name not in ("n_actions", "action_names"))]


def milliseconds(name: str, given: Any) -> int:
    """A time such as "10min", a timedelta, or a number of seconds, as whole milliseconds."""
    expected = 'expected a time such as "10min", "90s", "2h" or "7d", or a number of seconds'
    found = None
    if isinstance(given, timedelta):
        found = given / timedelta(milliseconds=1)
    elif isinstance(given, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)?\s*", given)
        found = float(match[1]) * _UNITS["min" if match[2] == "m" else match[2] or "s"] if match else None
    elif is_number(given) and not isinstance(given, bool):
        found = float(given) * 1000
    if found is None or not 1 <= found <= _MOST_MS:
        raise ValueError(f"{name} is {given!r}; {expected}.")
    return round(found)


def shown_time(given: int | None) -> str:
    """A time of milliseconds as users say it."""
    if given is None:
        return "for ever"
    unit = next(unit for unit in reversed(_UNITS) if given % _UNITS[unit] == 0)
    return f"{given // _UNITS[unit]}{unit}"


def _actions(given: Any, learner: Mapping[str, Any]) -> dict[str, Any]:
    if learner.get("n_actions") is not None or learner.get("action_names") is not None:
        raise TypeError("actions was given beside n_actions or action_names; expected actions alone.")
    if given is None:
        return {"n_actions": None, "action_names": None}
    if is_whole(given):
        if not 1 <= given <= _MOST_ACTIONS:
            raise ValueError(f"actions is {given}; expected 1 to {_MOST_ACTIONS:,}.")
        return {"n_actions": int(given), "action_names": None}
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        return {"n_actions": None, "action_names": [checked_id(name, "the name of an action") for name in given]}
    raise ValueError(f"actions is {given!r}; expected a list of names, a number, or None.")


def _value(name: str, given: Any) -> float | None:
    if given is None:
        return None
    if not is_number(given) or not math.isfinite(given):
        raise ValueError(f"{name} is {given!r}; expected a finite number, or None.")
    return float(given)


def _plain(value: Any) -> Any:
    """A learner's argument as JSON says it."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (tuple, list)):
        return [_plain(one) for one in value]
    return value if isinstance(value, (str, bool, int, float)) or value is None else float(value)
