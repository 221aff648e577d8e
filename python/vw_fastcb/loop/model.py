"""The model of a loop. It decides without leaving a trace, and learns in the order of the journal."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vw_fastcb._engine import ARITHMETIC
from vw_fastcb.learner.engine import Engine, read_model, with_more_actions
from vw_fastcb.learner.engine import Model as LearnerModel
from vw_fastcb.learner.fastcb import DEFAULTS
from vw_fastcb.learner.settings import Settings
from vw_fastcb.loop.columns import ColumnRules, Fitted, without_conflicts
from vw_fastcb.loop.contexts import Features, as_engine_row, as_engine_rows
from vw_fastcb.loop.products import Products
from vw_fastcb.refusals import RefusedValue

_MOST_CHARACTERS = 1 << 20  # of the names whose kinds are known, those of contexts and those of actions

_T = TypeVar("_T")


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
        rules: What features there may be.
        is_new: Whether the settings and rules may differ from those that the model was made with.
        arithmetic: By which a model without content learns, as the engine counts its versions; today's unless given.
    """

    def __init__(
        self,
        settings: Settings,
        content: bytes = b"",
        rules: ColumnRules | None = None,
        *,
        is_new: bool = False,
        arithmetic: int = ARITHMETIC,
    ) -> None:
        self.settings = settings
        self.arithmetic = arithmetic
        self.rules = rules or ColumnRules()
        self.events = 0  # how many were learned
        self._engine: Engine | None = None
        self._blank: Engine | None = None  # what decides before there is one
        self._products = Products(settings)
        self._names = [(0, 0), (0, 0)]  # of contexts and actions: how many have a kind, and their characters
        if content:
            model = _given_anew(settings, content) if is_new else read_model(content, DEFAULTS)
            self._engine = self._settled(Engine.of_model(model, settings, settings.seed))
            self.events = self._engine.learner.events

    def decide(
        self, context: Features, action_features: list[Features] | None, excluded: list[int], event_id: str
    ) -> Drawn:
        """Draws an action. Nothing of the decision is remembered. Raises where the rules refuse the features."""
        engine, fitted = self._engine_for(context, action_features, self._kept_blank)
        draw = engine.draw_of(event_id)
        made, _ = self._call(
            lambda row, table: engine.learner.decide(row, table, excluded or None, draw, remember=False), engine, fitted
        )
        return Drawn(made[0], made[2], draw)

    def check_size(self, context: Features, action_features: list[Features] | None) -> None:
        """Refuses a request that would take too long. What the journal has is decided again whatever its size."""
        self._products.check(context, action_features)

    def remember(self, context: Features, action_features: list[Features] | None) -> tuple[str, ...]:
        """Fixes columns and their kinds by a decision of the journal. Raises where they are others than before.

        Returns:
            The columns whose values are left out of the decision.
        """
        engine, fitted = self._engine_for(context, action_features)
        _, fitted = self._call(engine.learner.remember_one, engine, fitted)
        self._engine, self._blank = engine, None
        self._bound_names(engine)
        return fitted.left_out

    def learn(self, context: Features, action_features: list[Features] | None, action: int, value: float) -> None:
        """Learns the outcome of a decision."""
        if self._engine is None:  # begun afresh since the decision was made
            self.remember(context, action_features)
        engine, fitted = self._engine_for(context, action_features)
        self._call(lambda row, table: engine.learn_one(row, table, action, value, 1.0, alone=False), engine, fitted)
        self._bound_names(engine)
        self.events += 1

    def fitted(self, context: Features, action_features: list[Features] | None) -> Fitted:
        """What counts of a decision's features, without what is left out."""
        engine, fitted = self._engine_for(context, action_features, self._kept_blank)
        return self._without_conflicts(engine, fitted) if self._leaves_out else fitted

    def to_bytes(self) -> bytes:
        """The model as `FastCB.save` would write it; nothing where there is none."""
        return b"" if self._engine is None else self._engine.model()

    def members(self) -> dict[str, float]:
        """How much each member of an ensemble counts, by name; empty for other oracles."""
        return {} if self._engine is None else self._engine.learner.members

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

    def with_settings(self, settings: Settings, rules: ColumnRules | None = None) -> Model:
        """The same weights under other settings and rules that keep them."""
        return Model(settings, self.to_bytes(), rules, is_new=True, arithmetic=self.arithmetic)

    # Inside

    @property
    def _leaves_out(self) -> bool:
        return self.rules.contexts.leaves_out

    def _engine_for(
        self,
        context: Features,
        action_features: list[Features] | None,
        start: Callable[[Features, Any], Engine] | None = None,
    ) -> tuple[Engine, Fitted]:
        """The engine, or what `start` gives where nothing was learned yet; and what fits the declared columns."""
        fitted = self.rules.fit(context, action_features)
        engine = self._engine or (start or self._started)(context, _widest(action_features))
        engine.check_presence(action_features)
        return engine, fitted

    def _started(self, row: Features, widest: Any) -> Engine:
        engine = Engine.start(self.settings, row, widest)
        engine.learner.arithmetic = self.arithmetic
        return self._settled(engine)

    def _kept_blank(self, row: Features, widest: Any) -> Engine:
        """An engine that has learned nothing, kept while it is what these rows would begin with."""
        if self._blank is None or not self._blank.is_as_started(row, widest):
            self._blank = None  # its memory first
            self._blank = self._started(row, widest)
        return self._blank

    def _call(self, use: Callable[[Any, Any], _T], engine: Engine, fitted: Fitted) -> tuple[_T, Fitted]:
        """Hands features to the engine. Where it refuses them, once more without the values of other kinds."""
        try:
            return _used(use, fitted), fitted
        except RefusedValue:
            again = self._without_conflicts(engine, fitted) if self._leaves_out else fitted
            if again.left_out == fitted.left_out:
                raise
        return _used(use, again), again

    def _without_conflicts(self, engine: Engine, fitted: Fitted) -> Fitted:
        """Without the values whose kind is another than the column's."""
        (context,), left_out = without_conflicts([fitted.context], engine.learner.contexts.kinds)
        if fitted.action_features is None:
            return Fitted(context, None, fitted.left_out + tuple(left_out))
        table, names = without_conflicts(fitted.action_features, engine.learner.actions.kinds)
        left_out += [f"action_features.{name}" for name in names]
        return Fitted(context, table, fitted.left_out + tuple(left_out))

    def _bound_names(self, engine: Engine) -> None:
        """Forgets the kinds of the newest names where all of them together are too long: a name may be a megabyte.

        A function of the decisions in their order, as the kinds are.
        """
        for number, reader in enumerate((engine.learner.contexts, engine.learner.actions)):
            count, characters = self._names[number]
            kinds = reader.kinds
            if len(kinds) == count:
                continue
            if len(kinds) < count:
                count = characters = 0
            too_long = set()
            for name in itertools.islice(kinds, count, None):
                if characters + len(name) > _MOST_CHARACTERS:
                    too_long.add(name)
                else:
                    characters += len(name)
            if too_long:
                kinds = {name: kind for name, kind in kinds.items() if name not in too_long}
                reader.set_columns(reader.columns, kinds)
            self._names[number] = len(kinds), characters

    def _settled(self, engine: Engine) -> Engine:
        """The engine, whose columns follow the rules from now on."""
        readers = (engine.learner.contexts, engine.learner.actions)
        for reader, rule in zip(readers, self.rules, strict=True):
            columns, kinds = rule.settled(reader.columns, reader.kinds)
            if (columns, kinds) != (reader.columns, dict(reader.kinds)):
                reader.set_columns(columns, kinds)
        return engine


def sha256(content: bytes) -> str:
    """What a model is known by; empty where there is none."""
    return hashlib.sha256(content).hexdigest() if content else ""


def _given_anew(settings: Settings, content: bytes) -> LearnerModel:
    """A model with settings that may be given anew: they change its answers, and keep the weights it has."""
    given = {"epsilon": settings.epsilon, **settings.gamma}
    if settings.optimism > 0:
        given["fastcb_optimism"] = settings.optimism
    flags = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    model = read_model(content, DEFAULTS, flags=flags)
    if settings.optimism == 0 and model.params.get("optimism"):  # models without it stay the bytes that they were
        flags += ["--fastcb_optimism", "0"]
        model = read_model(content, DEFAULTS, flags=flags)
    if model.params.get("n_actions") != settings.n_actions:
        content = with_more_actions(content, settings.n_actions or 0, settings.action_names)
        model = read_model(content, DEFAULTS, flags=flags)
    return model


def _widest(rows: list[Features] | None) -> Any:
    """The longest list: a new engine has to be large enough for it."""
    return None if rows is None else max(rows, key=len)


def _used(use: Callable[[Any, Any], _T], fitted: Fitted) -> _T:
    """Hands features to the engine. Its ValueErrors are about what it is handed."""
    table = fitted.action_features
    rows = as_engine_row(fitted.context), None if table is None else as_engine_rows(table)
    try:
        return use(*rows)
    except ValueError as problem:
        raise RefusedValue(str(problem)) from problem
