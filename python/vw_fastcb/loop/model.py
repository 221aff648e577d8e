"""The model of a loop. It decides without leaving a trace, and learns in the order of the journal."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.learner.engine import Engine, read_model, with_more_actions
from vw_fastcb.learner.engine import Model as LearnerModel
from vw_fastcb.learner.fastcb import DEFAULTS
from vw_fastcb.learner.settings import Settings
from vw_fastcb.loop.contexts import Features, as_engine_row, as_engine_rows


class Drawn(NamedTuple):
    """An action that was drawn.

    Attributes:
        action: Its number.
        pmf: The probability of each action.
        draw: The number in [0, 1) that chose it.
    """

    action: int
    pmf: NDArray[np.float64]
    draw: float


class Model:
    """What was learned so far. Before the first decision there is nothing, not even weights.

    Args:
        settings: Those of the learner.
        content: The bytes of a model that is to go on.
        is_new: Whether the settings may differ from those that the model was made with.
    """

    def __init__(self, settings: Settings, content: bytes = b"", *, is_new: bool = False) -> None:
        self.settings = settings
        self.events = 0  # how many were learned
        self._engine: Engine | None = None
        self._blank: Engine | None = None  # what decides before there is one
        if content:
            model = _given_anew(settings, content) if is_new else read_model(content, DEFAULTS)
            self._engine = Engine.of_model(model, settings, settings.seed)
            self.events = self._engine.learner.events

    def decide(
        self, context: Features, action_features: list[Features] | None, excluded: list[int], event_id: str
    ) -> Drawn:
        """Draws an action. Nothing of the decision is remembered."""
        row, table = _rows_of(context, action_features)
        engine = self._engine or self._kept_blank(row, table)
        engine.check_presence(action_features)
        draw = engine.draw_of(event_id)
        made = engine.learner.decide(row, table, excluded or None, draw, remember=False)
        return Drawn(made[0], made[2], draw)

    def remember(self, context: Features, action_features: list[Features] | None) -> None:
        """Fixes columns and their kinds by a decision of the journal. Raises where they are others than before."""
        row, table = _rows_of(context, action_features)
        engine = self._engine or Engine.start(self.settings, row, table)
        engine.check_presence(action_features)
        engine.learner.remember_one(row, table)
        self._engine, self._blank = engine, None

    def learn(self, context: Features, action_features: list[Features] | None, action: int, value: float) -> None:
        """Learns the outcome of a decision."""
        if self._engine is None:  # begun afresh since the decision was made
            self.remember(context, action_features)
        assert self._engine is not None
        row, table = _rows_of(context, action_features)
        self._engine.learn_one(row, table, action, value, 1.0, alone=False)
        self.events += 1

    def _kept_blank(self, row: Any, table: Any) -> Engine:
        """An engine that has learned nothing, kept while it is what these rows would begin with."""
        if self._blank is None or not self._blank.is_as_started(row, table):
            self._blank = None  # its memory first
            self._blank = Engine.start(self.settings, row, table)
        return self._blank

    def to_bytes(self) -> bytes:
        """The model as `FastCB.save` would write it; nothing where there is none."""
        return b"" if self._engine is None else self._engine.model()

    def columns(self) -> Any:
        """The columns that are known, to be given to a twin that has not seen all decisions."""
        if self._engine is None:
            return None
        readers = (self._engine.learner.contexts, self._engine.learner.actions)
        return [(reader.columns, dict(reader.kinds)) for reader in readers]

    def set_columns(self, columns: Any) -> None:
        """Takes what a twin's `columns` gave."""
        if self._engine is not None and columns is not None:
            readers = (self._engine.learner.contexts, self._engine.learner.actions)
            for reader, (names, kinds) in zip(readers, columns, strict=True):
                reader.set_columns(names, kinds)

    def with_settings(self, settings: Settings) -> Model:
        """The same weights under other settings that keep them."""
        return Model(settings, self.to_bytes(), is_new=True)


def sha256(content: bytes) -> str:
    """What a model is known by; empty where there is none."""
    return hashlib.sha256(content).hexdigest() if content else ""


def _given_anew(settings: Settings, content: bytes) -> LearnerModel:
    """A model with settings that may be given anew: they change its answers, and keep the weights it has."""
    given = {"epsilon": settings.epsilon, **settings.gamma}
    flags = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    model = read_model(content, DEFAULTS, flags=flags)
    if model.params.get("n_actions") != settings.n_actions:
        content = with_more_actions(content, settings.n_actions or 0, settings.action_names)
        model = read_model(content, DEFAULTS, flags=flags)
    return model


def _rows_of(context: Features, action_features: list[Features] | None) -> tuple[Any, Any]:
    return as_engine_row(context), None if action_features is None else as_engine_rows(action_features)
