"""A running engine: VW's learner, the settings it was made from, and its ways to disk."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vw_fastcb import _engine
from vw_fastcb.learner import rows
from vw_fastcb.learner.events import ActionSets, Events
from vw_fastcb.learner.outcomes import chosen_actions, engine_costs, event_weights, one_weight
from vw_fastcb.learner.settings import Settings, bits_to_use, is_whole, params_of
from vw_fastcb.refusals import RefusedValue

ACTIONS_NOUN = "action features"

# VW's parser stays idle: one example in its pool instead of 256, which take 8 MB and a quarter of the time of a start.
_POOL = "--example_queue_limit"
# Without the last, VW forgets how much a model has learned, which weighs it when it is merged with others.
_LOADING = ("--quiet", "--no_stdin", "--preserve_performance_counters")
_NUMBERS = (float, int, np.floating, np.integer)
_LARGE = 1e30  # below, float32 is not infinite


class Engine:
    """VW's learner and what goes with it. Threads and forks may use it; pickles are made by `FastCB`.

    Attributes:
        learner: The C++ learner.
        settings: What it was made from.
        salt: What draws that depend on an event id depend on besides. The model keeps it.
        kind: What decisions are marked with.
    """

    def __init__(self, learner: _engine.ArrayLearner, settings: Settings, salt: bytes) -> None:
        self.learner = learner
        self.settings = settings
        self.salt = salt
        self.kind = settings.kind
        learner.note = self.note()

    @classmethod
    def start(cls, settings: Settings, context: Any = None, action_features: Any = None) -> Engine:
        """A new model, large enough for the first rows it is to see where they tell their width."""
        learner = new_learner(settings)
        if settings.bits is None:
            bits = _bits_for(learner, context, action_features)
            if bits > learner.bits:
                learner = new_learner(settings, bits)
        return cls(learner, settings, new_salt(settings.seed))

    def is_as_started(self, context: Any, action_features: Any) -> bool:
        """Whether `start` with these rows would give the same: of an engine that has seen none, and draws by ids."""
        return self.settings.bits is not None or self.learner.bits == _bits_for(self.learner, context, action_features)

    @classmethod
    def of_model(cls, model: Model, settings: Settings, draws: int | None) -> Engine:
        """A model that was read."""
        learner, note = model.learner, model.note
        learner.use_as(*settings.units, draws, settings.missing == "mark")
        for name, reader in (("contexts", learner.contexts), ("actions", learner.actions)):
            known = note.get("columns", {}).get(name)
            if known is not None:
                columns = known["columns"]
                reader.set_columns(tuple(columns) if isinstance(columns, list) else columns, known["kinds"])
        salt = bytes.fromhex(note["salt"]) if "salt" in note else new_salt(settings.seed)
        return cls(learner, settings, salt)

    def note(self) -> str:
        """What the model is to say beyond VW's flags."""
        readers = {"contexts": self.learner.contexts, "actions": self.learner.actions}
        return json.dumps(
            {
                "learner": 1,
                "noun": self.settings.noun,
                "action_names": self.settings.action_names,
                "missing": self.settings.missing,
                "range": self.settings.value_range,
                "vw_args": self.settings.vw_args,
                "salt": self.salt.hex(),
                "columns": {name: {"columns": one.columns, "kinds": one.kinds} for name, one in readers.items()},
            }
        )

    def is_untouched(self) -> bool:
        """Whether no call was good yet: nothing was learned, and no columns are known."""
        readers = (self.learner.contexts, self.learner.actions)
        known = any(reader.columns is not None or reader.kinds for reader in readers)
        return self.learner.events == 0 and not known

    def draw_of(self, event_id: str | int) -> float:
        """A number in [0, 1) that depends on the id and the salt alone."""
        return draw_of(event_id, self.salt)

    def events(self, contexts: Any, action_features: Any) -> Events:
        """Events of many rows, checked. Nothing is remembered of them yet."""
        context_rows = self.learner.contexts.all(contexts)
        self.check_presence(action_features)
        count = len(context_rows)
        n_actions = self.settings.n_actions
        if n_actions is not None:
            return Events(context_rows, None, None, np.full(count, n_actions, dtype=np.int64), n_actions)
        sets = ActionSets.of(action_features, count, ACTIONS_NOUN)
        if count == 0:
            return Events(context_rows, None, None, sets.counts, sets.even)
        table, first = sets.joined(ACTIONS_NOUN)
        return Events(context_rows, self.learner.actions.all(table), first, sets.counts, sets.even)

    def check_presence(self, action_features: Any) -> None:
        """Refuses features of fixed actions, and events without any where actions are not fixed."""
        n_actions = self.settings.n_actions
        if n_actions is not None and action_features is not None:
            raise RefusedValue(
                f"action_features were given; expected none, this learner has {n_actions} fixed actions."
            )
        if n_actions is None and action_features is None:
            raise RefusedValue(
                "action_features are missing; give the features of the actions, or make the learner with n_actions "
                "where actions are fixed."
            )

    def learn_one(
        self, context: Any, action_features: Any, action: int, value: Any, weight: Any, *, alone: bool
    ) -> None:
        """Learns from one event; with `alone`, the features are those of the chosen action."""
        if weight is None:
            weight = 1.0
        low, high = self.settings.value_range
        plain = isinstance(value, _NUMBERS) and isinstance(weight, (float, int)) and low <= value <= high
        if not (plain and 0 <= weight < _LARGE):
            value = float(np.asarray(self._checked_value(value)))
            weight = one_weight(weight)
        cost = value if self.settings.noun == "cost" else 0.0 - value
        self.learner.learn_one(context, action_features, action, cost, weight, alone)

    def learn_many(
        self, contexts: Any, action_features: Any, actions: Any, values: Any, weights: Any, *, alone: bool = False
    ) -> None:
        """Checks everything before anything is learned: a call learns all of its events or none.

        With `alone`, the features are a table of the chosen actions, one row for each event.
        """
        context_rows = self.learner.contexts.all(contexts)
        self.check_presence(action_features)
        count, n_actions = len(context_rows), self.settings.n_actions
        first, chosen, table = None, np.zeros(count, dtype=np.int64), action_features
        if n_actions is not None:
            chosen = chosen_actions(self.settings, actions, np.full(count, n_actions, dtype=np.int64))
        elif not alone:
            sets = ActionSets.of(action_features, count, ACTIONS_NOUN)
            picked = chosen_actions(self.settings, actions, sets.counts)
            if count and self.learner.reads_all_actions:
                (table, first), chosen = sets.joined(ACTIONS_NOUN), picked
            elif count:  # of the chosen actions alone: learning costs the same however many there are
                table, alone = sets.pick(picked, ACTIONS_NOUN), True
        costs = engine_costs(self.settings, values, (count,))
        weight = event_weights(weights, count)
        if count == 0:
            return
        action_rows = None if n_actions is not None else self.learner.actions.all(table)
        if alone:
            first = np.arange(count + 1, dtype=np.int64)
        self.learner.learn(context_rows, action_rows, first, chosen, costs, weight)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model under a temporary name and renames it: the file is there as a whole, or as it was."""
        name = checked_path(path)
        self.learner.note = self.note()
        self.learner.save(name)

    def model(self) -> bytes:
        """The bytes that `save` writes."""
        self.learner.note = self.note()
        return self.learner.model()

    def _checked_value(self, value: Any) -> NDArray[np.float64]:
        """Raises for a cost or reward that is none, or that lies outside its range."""
        if np.ndim(value) > 0:
            raise ValueError(f"{self.settings.noun} is {value!r}; expected one number.")
        costs = engine_costs(self.settings, [value], (1,))
        return np.asarray(costs[0] if self.settings.noun == "cost" else 0.0 - costs[0], dtype=np.float64)


def _bits_for(learner: _engine.ArrayLearner, context: Any, action_features: Any) -> int:
    """How large a new model is to be that sees these rows first."""
    return bits_to_use(learner.bits_for(rows.width(context) or 0, rows.width(action_features) or 0))


def draw_of(event_id: str | int, salt: bytes) -> float:
    """A number in [0, 1) that depends on an event's id and a learner's salt alone."""
    word = str(event_id).encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(word, digest_size=8, key=salt).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53


def plain_id(event_id: Any) -> str | int:
    """An event id as JSON writes it."""
    if isinstance(event_id, str):
        return str(event_id)
    if is_whole(event_id):
        return int(event_id)
    raise TypeError(f"event_id is {event_id!r}; expected text or a whole number.")


def new_learner(settings: Settings, bits: int | None = None) -> _engine.ArrayLearner:
    """A C++ learner that has learned nothing."""
    learner = _engine.ArrayLearner(_with_small_pool(settings.arguments(bits)))
    learner.use_as(*settings.units, settings.seed, settings.missing == "mark")
    return learner


@dataclass(frozen=True)
class Model:
    """A model that was read from a file, or from the bytes of one.

    Attributes:
        learner: The C++ learner.
        params: The arguments of `FastCB`'s constructor.
        note: What `FastCB` noted in it; empty where it was made on the command line.
    """

    learner: _engine.ArrayLearner
    params: dict[str, Any]
    note: dict[str, Any]


def read_model(
    source: str | os.PathLike[str] | bytes,
    defaults: Mapping[str, Any],
    rewards: bool | None = None,
    flags: Sequence[str] = (),
) -> Model:
    """Reads a model file, or the bytes of one.

    Args:
        source: The path, or the bytes.
        defaults: Of the constructor's arguments.
        rewards: What a model of the command line is to be used for.
        flags: Those that take the place of the model's own.
    """
    if not isinstance(source, bytes):
        check_is_file(source)
    found = _read(source, flags)
    note: dict[str, Any] = json.loads(found.note) if found.note else {}
    made_for_rewards = note["noun"] == "reward" if note else bool(rewards)
    if rewards is not None and rewards != made_for_rewards:
        raise ValueError(
            f"rewards is {rewards}, but the model was made by a learner of {note['noun']}s, and keeps that; leave "
            "`rewards` out. It is for models that were made on the command line."
        )
    params = {**params_of(found.kept_flags(), made_for_rewards), "bits": found.bits}
    if note:
        # As they were given; VW keeps numbers in float32, and forgets some flags.
        params |= {"action_names": note["action_names"], "missing": note["missing"]}
        params |= {f"{note['noun']}_range": tuple(note["range"]), "vw_args": shlex.join(note["vw_args"])}
        forgotten = Settings.checked({**defaults, **params}).flags_beyond(found.kept_flags())
        if forgotten:
            found = _read(source, [*flags, *forgotten])
    return Model(found, params, note)


def with_more_actions(model: bytes, n_actions: int, action_names: Sequence[str] | None = None) -> bytes:
    """The bytes of a model of fixed actions, made ready for more of them.

    The first actions are predicted and learn on bit for bit as before; the others have learned nothing. VW makes room
    for a power of two: whenever their number passes one, the model has one bit more, so that no feature comes to share
    a weight.

    Args:
        model: The bytes of the model.
        n_actions: How many actions there are to be, at least as many as before.
        action_names: All their names, where the model has names; the first ones are those that it has.

    Raises:
        ValueError: Fewer actions, other names, actions with features, or a regressor such as `--nn` that keeps more
            than weights for each action.
        RuntimeError: The bytes are no model.
    """
    noted = _read(model).note
    note: dict[str, Any] = json.loads(noted) if noted else {}
    before = note.get("action_names")
    after = None if action_names is None else list(action_names)
    if (before is None) != (after is None):
        raise ValueError(
            f"action_names is {after!r}; expected {'None' if before is None else 'names'}, as in the model."
        )
    if before is not None and after is not None:
        if after[: len(before)] != before or len(set(after)) < len(after) or len(after) != n_actions:
            raise ValueError(f"action_names is {after!r}; expected {n_actions} names that begin with {before!r}.")
        noted = json.dumps({**note, "action_names": after})
    return _engine.with_more_actions(model, n_actions, noted)


def checked_path(path: str | os.PathLike[str]) -> bytes:
    """The name of a file that a model may be written to, whose folder is there."""
    try:
        name = os.fsencode(path)
    except (TypeError, UnicodeEncodeError) as problem:
        kind = TypeError if isinstance(problem, TypeError) else ValueError
        raise kind(f"the path is {path!r}; expected the name of a file to write the model to.") from None
    if not name or b"\0" in name:
        raise ValueError(f"the path is {os.fspath(path)!r}; expected the name of a file to write the model to.")
    folder = os.path.dirname(name)
    if folder and not os.path.exists(folder):
        raise FileNotFoundError(f"there is no folder {os.fsdecode(folder)!r}; make it first, or save elsewhere.")
    return name


def check_is_file(path: str | os.PathLike[str]) -> None:
    """Raises where there is no model file to read."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no model file {os.fspath(path)!r}.")
    if not os.path.isfile(path):
        kind = "a folder" if os.path.isdir(path) else "not a regular file"
        raise OSError(f"{os.fspath(path)!r} is {kind}; expected a model file.")


def _read(source: str | os.PathLike[str] | bytes, flags: Sequence[str] = ()) -> _engine.ArrayLearner:
    name = "the bytes" if isinstance(source, bytes) else repr(os.fspath(source))
    try:
        if isinstance(source, bytes):
            return _engine.ArrayLearner(_with_small_pool([*_LOADING, *flags]), source)
        return _engine.ArrayLearner(["-i", os.fsencode(source), *_with_small_pool([*_LOADING, *flags])])
    except RuntimeError as problem:
        raise RuntimeError(f"{name} cannot be read as a model: {problem}") from problem


def _with_small_pool(flags: Sequence[str]) -> list[str]:
    """The flags, and a pool of one example unless they name a size themselves."""
    named = any(flag == _POOL or flag.startswith(f"{_POOL}=") for flag in flags)
    return [*flags] if named else [*flags, _POOL, "1"]


def new_salt(seed: int | None) -> bytes:
    """Random, or from the seed where one was given."""
    if seed is None:
        return secrets.token_bytes(16)
    return hashlib.blake2b(f"vw-fastcb salt {seed}".encode(), digest_size=16).digest()
