"""The steps that the learner's methods are made of: events from what was given, a decision, an update."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vw_fastcb.learner.decision import Decision, Table
from vw_fastcb.learner.events import ActionSets, Events, action_sets, featured_events, fixed_events, one_set
from vw_fastcb.learner.model import Engine, Model
from vw_fastcb.learner.outcomes import outcomes
from vw_fastcb.learner.rows import Rows, frozen

_NUMBERS = (float, int, np.floating, np.integer)
_SMALL, _LARGE = 1e-30, 1e30  # between them float32 is neither 0 nor infinite


class Steps(Model):
    """What `FastCB` does inside."""

    def _events(self, engine: Engine, contexts: Any, action_features: Any) -> Events:
        """Events of many rows, checked. Nothing is remembered of them yet."""
        rows = engine.contexts.rows(contexts)
        self._check_presence(action_features)
        if self.n_actions is not None:
            return self._event_rows(engine, rows, None)
        return self._event_rows(engine, rows, action_sets(action_features, engine.actions, rows.count))

    def _event(self, engine: Engine, context: Any, actions: Any) -> Events:
        """One event, checked."""
        row = engine.contexts.row(context)
        self._check_presence(actions)
        return self._event_rows(engine, row, None if self.n_actions is not None else one_set(actions, engine.actions))

    def _event_of(self, engine: Engine, decision: Decision) -> Events:
        """The event of a decision."""
        row = engine.contexts.again(decision.context)
        if self.n_actions is not None:
            return self._event_rows(engine, row, None)
        return self._event_rows(engine, row, ActionSets(engine.actions.again(decision.actions), None))

    def _check_presence(self, actions: Any) -> None:
        if self.n_actions is not None and actions is not None:
            raise ValueError(f"actions were given features; expected none, n_actions is {self.n_actions}.")
        if self.n_actions is None and actions is None:
            raise ValueError(
                "the features of the actions are missing; give them, or make the learner with n_actions where actions "
                "are fixed."
            )

    def _event_rows(self, engine: Engine, contexts: Rows, actions: ActionSets | None) -> Events:
        engine.contexts.check(contexts.columns)
        if actions is None:
            assert self.n_actions is not None
            return fixed_events(contexts, self.n_actions)
        engine.actions.check(actions.rows.columns)
        return featured_events(contexts, actions)

    def _remember(self, engine: Engine, events: Events) -> None:
        """The first good call fixes the columns."""
        engine.contexts.remember(events.contexts.columns)
        if events.actions is not None:
            engine.actions.remember(events.actions.rows.columns)

    def _decide(self, engine: Engine, context: Any, actions: Any, draw: float | None) -> tuple[Any, ...]:
        """What the engine's `decide` gives for plain arrays, for anything else."""
        event = self._event(engine, context, actions)
        pmf, predicted, gamma = engine.learner.predict(*event.arrays)
        chosen, probabilities = engine.learner.draw_actions(pmf, event.begins, draw)
        self._remember(engine, event)
        kept_actions = None if event.actions is None else event.actions.rows.kept()
        kept_context = event.contexts.one_kept()
        return (
            int(chosen[0]),
            float(probabilities[0]),
            frozen(pmf),
            frozen(predicted),
            gamma,
            kept_context,
            kept_actions,
        )

    def _predict(self, contexts: Any, action_features: Any) -> tuple[Table, Table]:
        """The probability and the predicted cost (or reward) of each action of each event."""
        engine = self._start()
        events = self._events(engine, contexts, action_features)
        pmf, predicted, _ = engine.learner.predict(*events.arrays)
        self._remember(engine, events)
        return events.table(pmf), events.table(predicted)

    def _is_plain(self, action: Any, value: Any, probability: Any, weight: Any) -> bool:
        """Whether nothing about these can be wrong but that the event has no such action."""
        low, high = self._user_range()
        return (
            isinstance(action, (int, np.integer))
            and not isinstance(action, bool)
            and all(isinstance(number, _NUMBERS) for number in (value, probability, weight))
            and low <= value <= high
            and _SMALL < probability <= 1
            and 0 <= weight < _LARGE
        )

    def _learn(
        self,
        engine: Engine,
        events: Events,
        *,
        actions: ArrayLike,
        values: ArrayLike,
        probabilities: ArrayLike,
        weights: ArrayLike,
    ) -> None:
        """Checks everything before anything is learned: a call learns all of its events or none."""
        seen = outcomes(self, events, actions=actions, values=values, probabilities=probabilities, weights=weights)
        self._remember(engine, events)
        engine.learner.learn(*events.arrays, *seen.arrays)

    def _observed(self, given: list[Any], cost: Any, reward: Any) -> Any:
        """The cost, or the reward of learners that speak of rewards, of what `learn` was given."""
        noun = self._noun
        named, other = (cost, reward) if noun == "cost" else (reward, cost)
        values = given + ([] if named is None else [named])
        if other is not None or not values:
            hint = "reward_range" if noun == "cost" else "cost_range"
            raise TypeError(f"expected {noun}=, and only that; to speak otherwise make the learner with {hint}.")
        if len(values) > 1:
            raise TypeError(
                f"learn was given {values[1]!r} too much; expected learn(decision, {noun}) or "
                f"learn(context, action, {noun})."
            )
        return values[0]

    def _check_maker(self, engine: Engine, decision: Decision, actions: Any) -> None:
        if decision.maker != engine.kind:
            raise ValueError(
                f"the decision was made by a learner with {decision.maker or 'unknown parameters'}; expected one of a "
                f"learner with {engine.kind}, as this one. Learn it there, or give context, action and {self._noun}."
            )
        if actions is not None:
            raise TypeError("learn was given actions= with a decision, which knows its own; leave them out.")
