"""`FastCB`: the learner."""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import threading
from collections.abc import Callable, Collection, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vw_fastcb.engine.stock_modules import load_pylibvw
from vw_fastcb.engine.workspace import Workspace
from vw_fastcb.learner import rows
from vw_fastcb.learner.decision import Decision, Decisions, check_maker
from vw_fastcb.learner.engine import ACTIONS_NOUN, Engine, Model, new_learner, plain_id, read_model
from vw_fastcb.learner.events import ActionSets, Events, Table
from vw_fastcb.learner.explanation import Explanation, Weights, explain, weights_of
from vw_fastcb.learner.outcomes import cost_table, excluded_mask, observed_value
from vw_fastcb.learner.settings import Settings, is_whole
from vw_fastcb.learner.simulation import Simulation, play

if TYPE_CHECKING:
    from vw_fastcb.learner.tuning import Tuning
    from vw_fastcb.learner.tuning.evidence import Evidence

_Self = TypeVar("_Self", bound="FastCB")
_Method = TypeVar("_Method", bound=Callable[..., Any])
_Array = NDArray[np.float64]
_Exclude = Collection[int | str] | Sequence[Collection[int | str]] | NDArray[Any] | None


class _FirstCall(threading.local):
    """What a thread that uses a learner for the first time has made for it."""

    engine: Engine | None = None


_first_call = _FirstCall()


def _may_start(method: _Method) -> _Method:
    """Marks a method that makes the engine at the first use. Where that use is refused, the learner is unused again.

    No other thread sees the engine before that use was good: it might teach one that is about to be removed. Of threads
    that come at once, one is the first, and the others do again with its engine what they have done with their own.
    There is no lock, which a fork might find held.
    """

    @functools.wraps(method)
    def first_or_later(self: FastCB, /, *args: Any, **kwargs: Any) -> Any:
        if self._engine is not None:
            return method(self, *args, **kwargs)
        before, _first_call.engine = _first_call.engine, None
        made: Engine | None = None
        try:
            try:
                answer = method(self, *args, **kwargs)
            finally:
                made, _first_call.engine = _first_call.engine, before
            if made is None or self._takes(made):
                return answer
        except BaseException:  # Ctrl-C may come when everything is learned
            if made is not None and not made.is_untouched() and not self._takes(made):
                method(self, *args, **kwargs)
            raise
        return method(self, *args, **kwargs)

    return cast("_Method", first_or_later)


class FastCB:
    """A contextual bandit on arrays and frames: FastCB on VW's engine.

    Actions are either fixed (`n_actions` or `action_names`), or come with features of their own each time. Contexts and
    features of actions are rows of:

    - an array of numbers, or a scipy sparse matrix: column j is VW's feature `j`;
    - a pandas or polars frame: a column of numbers or booleans `age` is VW's feature `age`, a category or text `red` in
      the column `color` is the feature `color=red`; NaN, None and null are missing;
    - a list of dictionaries, as frames, with any names.

    The first rows fix the columns and their kinds: a column of numbers cannot become one of text. A missing number
    counts as zero unless `missing="mark"`. Contexts are in VW's namespace `x`, actions in `a`: a model goes on from
    text such as `|x age:3 color=red`.

    One learner may be used from many threads. Decisions and learners can be pickled.

    Args:
        n_actions: The number of fixed actions; None where actions have features.
        action_names: The names of the fixed actions, which may then be used instead of their numbers.
        cost_range: The lowest and the highest cost, (0, 1) unless given.
        reward_range: Instead of `cost_range`: the learner then takes and predicts rewards.
        objective: "loss" adapts to small losses, "reward" to small rewards, "both" to whichever is smaller, event by
            event. "loss" unless given, and "both" with `reward_range`.
        allocation: "reweighted" is FastCB's rule, "igw" SquareCB's.
        gamma_scale: gamma = gamma_scale * t ** gamma_exponent after t events: the larger, the greedier. 50 and 0.4
            unless given; 200 and 0.5 with `oracle="ensemble"`, 10 and 0.5 with `oracle="gd"`.
        gamma_exponent: See `gamma_scale`.
        oracle: Who predicts costs. "newton" is of second order: it needs no step size, scales columns itself, and
            learns fastest. "ensemble" asks regressions of second order, one of which sees curves, and "gd", and
            trusts those that foresaw best. "gd" is VW's own learner. None takes "newton", unless `learning_rate` or a
            flag in `vw_args` asks for VW's learner.
        optimism: Probabilities are allocated as if each action cost so many standard deviations less than predicted:
            the less is known of an action, the sooner it is tried. 0 is the paper's rule. Not with `oracle="gd"`.
        learning_rate: The step size of `oracle="gd"`, 0.5 unless given.
        epsilon: Every action gets at least the probability epsilon / A.
        interactions: Namespaces to multiply; ("xa",) unless given where actions have features, else none.
        bits: The model has 2 ** bits weights. None chooses 18, or as many as the first rows need, up to 24.
        missing: "zero" takes a missing number for a zero; "mark" also gives each column a feature that says so.
        seed: None draws differently every time, in every process. A number makes the draws repeatable.
        vw_args: Further flags of VW.

    Parameters are checked when the learner is used first, as scikit-learn does it.

    Examples:
        >>> import numpy as np
        >>> from vw_fastcb import FastCB
        >>> bandit = FastCB(action_names=["politics", "sports", "music"])
        >>> decision = bandit.decide({"user": "Tom", "hour": 9})
        >>> decision.name in ("politics", "sports", "music")
        True
        >>> bandit.learn(decision, cost=0.2)
        >>> bandit.events_
        1
    """

    _engine: Engine | None = None
    _closed = False

    def __init__(
        self,
        n_actions: int | None = None,
        *,
        action_names: Sequence[str] | None = None,
        cost_range: tuple[float, float] | None = None,
        reward_range: tuple[float, float] | None = None,
        objective: Literal["loss", "reward", "both"] | None = None,
        allocation: Literal["reweighted", "igw"] = "reweighted",
        gamma_scale: float | None = None,
        gamma_exponent: float | None = None,
        oracle: Literal["ensemble", "newton", "gd"] | None = None,
        optimism: float | None = None,
        learning_rate: float | None = None,
        epsilon: float = 0.0,
        interactions: Sequence[str] | None = None,
        bits: int | None = None,
        missing: Literal["zero", "mark"] = "zero",
        seed: int | None = None,
        vw_args: str = "",
    ) -> None:
        self.n_actions = n_actions
        self.action_names = action_names
        self.cost_range = cost_range
        self.reward_range = reward_range
        self.objective = objective
        self.allocation = allocation
        self.gamma_scale = gamma_scale
        self.gamma_exponent = gamma_exponent
        self.oracle = oracle
        self.optimism = optimism
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        self.interactions = interactions
        self.bits = bits
        self.missing = missing
        self.seed = seed
        self.vw_args = vw_args

    # Deciding and learning, one event at a time

    @_may_start
    def decide(
        self,
        context: Any,
        action_features: Any = None,
        *,
        exclude: Collection[int | str] | None = None,
        event_id: str | int | None = None,
    ) -> Decision:
        """Draws an action for one context.

        Args:
            context: A (d,) array, a dictionary, a pandas Series, or a frame or sparse matrix of one row.
            action_features: The features of the actions where they are not fixed: an (A, d) array or sparse matrix, a
                frame, or a list of dictionaries.
            exclude: Actions that may not be drawn this time. The allocation runs over the others.
            event_id: With an id the draw depends on the id and on the learner's salt, which the model keeps: the same
                request gets the same action while the model is the same, and other learners draw independently.

        Returns:
            The action, its probability, and what is needed to learn from it later.

        Raises:
            ValueError: Other columns or kinds than before, values that are not finite, unknown actions.
            TypeError: Something that is not a row of features.

        Examples:
            >>> from vw_fastcb import FastCB
            >>> bandit = FastCB()
            >>> decision = bandit.decide({"age": 31, "city": "Rome"}, [{"price": 2}, {"price": 3}, {"free": True}])
            >>> len(decision.pmf)
            3
        """
        engine = self._engine or self._start(context, action_features)
        engine.check_presence(action_features)
        excluded = None if exclude is None else engine.settings.excluded(exclude)
        draw = None
        if event_id is not None:
            event_id = plain_id(event_id)
            draw = engine.draw_of(event_id)
        made = engine.learner.decide(context, action_features, excluded, draw)
        names = engine.settings.action_names
        return Decision.made(made, None if names is None else names[made[0]], event_id, engine.kind)

    @_may_start
    def learn(
        self,
        decision: Decision | Decisions,
        value: Any = None,
        *,
        cost: Any = None,
        reward: Any = None,
        sample_weight: Any = None,
    ) -> None:
        """Learns what the action of a decision cost: `learn(decision, 0.2)`, or `learn(decision, cost=0.2)`.

        The update is unweighted: it does not depend on the probability of the action.

        Args:
            decision: A decision, of this learner or of another to which features and actions mean the same; or many,
                which are learned as by `partial_fit`: all of them, or none.
            value: The cost, or the reward where the learner was made with `reward_range`; one for each of many.
            cost: The same by name, of learners of costs.
            reward: The same by name, of learners of rewards.
            sample_weight: How much the event counts, 1 unless given; one for each of many.

        Raises:
            ValueError: A value outside the range, or a decision of another kind of learner. The model is as it was.
            TypeError: Not a decision, or no value, or two.

        Examples:
            >>> from vw_fastcb import FastCB
            >>> bandit = FastCB(3, reward_range=(0, 5))
            >>> bandit.learn(bandit.decide([0.5, 1.0]), reward=4)
            >>> bandit.learn(bandit.decide_many([[0.5, 1.0], [0.0, 1.0]]), [3, 5])
            >>> bandit.events_
            3
        """
        engine = self._engine or self._start(*_features_of(decision))
        observed = observed_value(engine.settings.noun, value, cost, reward)
        if isinstance(decision, Decisions):
            check_maker(decision.maker, engine.kind)
            features = decision.action_features
            alone = features is not None and not isinstance(features, ActionSets)
            engine.learn_many(decision.contexts, features, decision.actions, observed, sample_weight, alone=alone)
            return
        if not isinstance(decision, Decision):
            raise TypeError(
                f"learn was given {type(decision).__name__!r}; expected a decision. To learn from a context and an "
                f"action use learn_event(context, action, {engine.settings.noun})."
            )
        action = decision.action
        if decision.maker != engine.kind or type(action) is not int or not 0 <= action < len(decision.pmf):
            check_maker(decision.maker, engine.kind)
            _check_logged(engine, decision)
        features = decision.action_features
        alone = not isinstance(features, list) and getattr(features, "ndim", 1) == 1
        engine.learn_one(decision.context, features, action, observed, sample_weight, alone=alone)

    @_may_start
    def learn_event(
        self,
        context: Any,
        action: int | str,
        value: float | None = None,
        *,
        cost: float | None = None,
        reward: float | None = None,
        action_features: Any = None,
        sample_weight: float | None = None,
    ) -> None:
        """Learns what an action cost in a context, whoever chose it.

        Args:
            context: As of `decide`.
            action: The action that was taken, from 0, or its name.
            value: The cost, or the reward where the learner was made with `reward_range`.
            cost: The same by name, of learners of costs.
            reward: The same by name, of learners of rewards.
            action_features: The features of all actions of the event, where they are not fixed. `oracle="gd"` reads
                only those of the chosen one.
            sample_weight: How much the event counts, 1 unless given.

        Raises:
            ValueError: An unknown action, a value outside the range, or as `decide`. The model is as it was.
            TypeError: No value, or two, or something that is not a row of features.

        Examples:
            >>> from vw_fastcb import FastCB
            >>> bandit = FastCB(action_names=["politics", "sports"])
            >>> bandit.learn_event({"user": "Tom"}, "sports", cost=0.3)
            >>> bandit.learn_event({"user": "Tom"}, 0, 0.9)
        """
        engine = self._engine or self._start(context, action_features)
        observed = observed_value(engine.settings.noun, value, cost, reward)
        engine.check_presence(action_features)
        number = engine.settings.action_number(action)
        engine.learn_one(context, action_features, number, observed, sample_weight, alone=False)

    # Many events at once

    @overload
    def predict_proba(self, contexts: Any, action_features: None = None, *, exclude: _Exclude = None) -> _Array: ...
    @overload
    def predict_proba(self, contexts: Any, action_features: Any, *, exclude: _Exclude = None) -> Table: ...
    @_may_start
    def predict_proba(self, contexts: Any, action_features: Any = None, *, exclude: _Exclude = None) -> Table:
        """The probability of each action for each row.

        Args:
            contexts: Rows of features, (n, d): an array, a sparse matrix, a frame, or a list of dictionaries.
            action_features: Where actions are not fixed, the features of the actions: (A, d) for all events, in any of
                these forms; an (n, A, d) array; or a list of n tables.
            exclude: Actions that may not be drawn: of all events; or a list of them for each; or an (n, A) array of
                booleans.

        Returns:
            An (n, A) array, or a list of n arrays where events differ in their number of actions.

        Raises:
            ValueError: As `decide`.
            TypeError: As `decide`.

        Examples:
            >>> from vw_fastcb import FastCB
            >>> FastCB(4).predict_proba([[0.0, 1.0]], exclude=[3]).round(3)
            array([[0.333, 0.333, 0.333, 0.   ]])
        """
        engine, events = self._events(contexts, action_features)
        pmf, _, _ = engine.learner.predict(*events.arrays, excluded_mask(engine.settings, exclude, events.counts))
        engine.learner.remember(*events.rows)
        return events.table(pmf)

    @_may_start
    def predict(self, contexts: Any, action_features: Any = None, *, exclude: _Exclude = None) -> NDArray[np.int64]:
        """The greedy action of each row: the one with the lowest predicted cost, or the highest reward.

        Args:
            contexts: As `predict_proba`.
            action_features: As `predict_proba`.
            exclude: As `predict_proba`.

        Returns:
            The number of an action for each row, (n,). Of equal ones, the first.

        Raises:
            ValueError: As `decide`.
            TypeError: As `decide`.

        Examples:
            >>> from vw_fastcb import FastCB
            >>> bandit = FastCB(2)
            >>> bandit.learn_event([1.0], 1, cost=0)
            >>> bandit.predict([[1.0], [2.0]])
            array([1, 1])
        """
        engine, events = self._events(contexts, action_features)
        mask = excluded_mask(engine.settings, exclude, events.counts)
        _, predicted, _ = engine.learner.predict(*events.arrays, mask)
        engine.learner.remember(*events.rows)
        costs = predicted if engine.settings.noun == "cost" else -predicted
        if mask is not None:
            costs = np.where(mask, np.inf, costs)
        begins = events.begins
        return np.array([costs[i:j].argmin() for i, j in itertools.pairwise(begins)], dtype=np.int64)

    @overload
    def predict_cost(self, contexts: Any, action_features: None = None) -> _Array: ...
    @overload
    def predict_cost(self, contexts: Any, action_features: Any) -> Table: ...
    @_may_start
    def predict_cost(self, contexts: Any, action_features: Any = None) -> Table:
        """The predicted cost of each action for each row. See `predict_reward` for learners of rewards.

        Args:
            contexts: As `predict_proba`.
            action_features: As `predict_proba`.

        Returns:
            As `predict_proba`.

        Raises:
            ValueError: As `decide`; or the learner was made with `reward_range`.
            TypeError: As `decide`.

        Examples:
            >>> from vw_fastcb import FastCB
            >>> FastCB(2, cost_range=(0, 10)).predict_cost([[0.0, 1.0]])
            array([[5., 5.]])
        """
        return self._predicted("cost", contexts, action_features)

    @overload
    def predict_reward(self, contexts: Any, action_features: None = None) -> _Array: ...
    @overload
    def predict_reward(self, contexts: Any, action_features: Any) -> Table: ...
    @_may_start
    def predict_reward(self, contexts: Any, action_features: Any = None) -> Table:
        """The predicted reward of each action for each row, of a learner that was made with `reward_range`.

        Args:
            contexts: As `predict_proba`.
            action_features: As `predict_proba`.

        Returns:
            As `predict_proba`.

        Raises:
            ValueError: As `decide`; or the learner was made without `reward_range`.
            TypeError: As `decide`.
        """
        return self._predicted("reward", contexts, action_features)

    # Explaining

    def explain(self, context: Any, action_features: Any = None) -> Explanation:
        """What drives the predictions of an event: how much each feature adds, for each action.

        The logit of a predicted cost (or reward) is the sum of an intercept and of the features' contributions.
        Explaining changes nothing: the learner has the same bytes before and after.

        Args:
            context: As `decide`.
            action_features: As `decide`.

        Returns:
            Contributions by name, with `to_frame()` and `plot()`.

        Raises:
            ValueError: As `decide`.
            TypeError: As `decide`.
            RuntimeError: A flag such as `--nn` transforms features, so that predictions are no sums.

        Examples:
            >>> from vw_fastcb import FastCB
            >>> bandit = FastCB(action_names=["tea", "coffee"], reward_range=(0, 1), seed=1)
            >>> for hour in list(range(24)) * 20:
            ...     decision = bandit.decide({"is_morning": hour < 12})
            ...     bandit.learn(decision, reward=float((decision.name == "coffee") == (hour < 12)))
            >>> bandit.explain({"is_morning": True}).to_frame()["feature"].tolist()
            ['is_morning', 'intercept', 'is_morning', 'intercept']
        """
        self._refuse_closed()
        return explain(
            self._engine or Engine.start(self._settings(), context, action_features), context, action_features
        )

    def weights(self, contexts: Any = None, action_features: Any = None) -> Weights:
        """The weights: how much a feature with the value 1 adds to the logit of a prediction.

        The learner knows features by hashes of their names. It can name its columns of numbers by itself. It can name
        words, such as `user=Tom`, where rows are given that have them, such as those it has learned from.

        Args:
            contexts: Rows whose features are to be named, as `predict_proba`; all columns of numbers unless given.
            action_features: With contexts, as `predict_proba`.

        Returns:
            Weights by name, with `to_frame()` and `plot()`.

        Raises:
            RuntimeError: A flag such as `--nn` transforms features, so that predictions are no sums.
        """
        self._refuse_closed()
        engine = self._engine or Engine.start(self._settings(), contexts, action_features)
        return weights_of(engine, contexts, action_features)

    @_may_start
    def decide_many(
        self,
        contexts: Any,
        action_features: Any = None,
        *,
        exclude: _Exclude = None,
        event_ids: Sequence[str | int] | None = None,
    ) -> Decisions:
        """Draws an action for each row, all with the present state of the model.

        Args:
            contexts: As `predict_proba`.
            action_features: As `predict_proba`.
            exclude: As `predict_proba`.
            event_ids: An id for each row: the draws are those of `decide` with the same ids.

        Returns:
            Decisions that `learn` takes, all at once or one by one.

        Raises:
            ValueError: As `decide`.
            TypeError: As `decide`.

        Examples:
            >>> import numpy as np
            >>> from vw_fastcb import FastCB
            >>> bandit = FastCB(3)
            >>> decisions = bandit.decide_many(np.ones((5, 2)))
            >>> bandit.learn(decisions, cost=[0, 1, 0, 0, 1])
            >>> len(decisions), bandit.events_
            (5, 5)
        """
        kept = rows.copy_of(contexts)
        engine, events = self._events(kept, action_features)
        count = len(events.contexts)
        ids = None if event_ids is None else [plain_id(one) for one in event_ids]
        if ids is not None and (isinstance(event_ids, str) or len(ids) != count):
            raise ValueError(f"event_ids are {event_ids!r}; expected one for each of {count} rows.")
        draws = None if ids is None else np.array([engine.draw_of(one) for one in ids], dtype=np.float64)
        pmf, predicted, gamma = engine.learner.predict(
            *events.arrays, excluded_mask(engine.settings, exclude, events.counts)
        )
        actions, probabilities = engine.learner.draw_actions(pmf, events.begins, draws)
        engine.learner.remember(*events.rows)
        features: Any = None if engine.settings.n_actions is not None else []
        if engine.settings.n_actions is None and count:
            sets = ActionSets.of(action_features, count, ACTIONS_NOUN)
            if engine.learner.reads_all_actions:
                features = sets.copied()
            else:
                features = rows.copy_of(sets.pick(actions, ACTIONS_NOUN))
        return Decisions(
            actions=actions,
            probabilities=probabilities,
            pmf=events.table(pmf),
            predicted=events.table(predicted),
            gamma=gamma,
            contexts=kept,
            action_features=features,
            action_names=engine.settings.action_names,
            event_ids=None if ids is None else tuple(ids),
            maker=engine.kind,
        )

    @_may_start
    def partial_fit(
        self: _Self,
        contexts: Any,
        actions: ArrayLike,
        costs: ArrayLike,
        sample_weight: ArrayLike | None = None,
        action_features: Any = None,
    ) -> _Self:
        """Learns from many events, one after another: all of them, or none where one is bad.

        Ctrl-C waits for the last of them. When KeyboardInterrupt comes, all are learned.

        Args:
            contexts: As `predict_proba`.
            actions: The action that was taken in each event, from 0, (n,), or its name.
            costs: What it cost, (n,); rewards where the learner was made with `reward_range`.
            sample_weight: How much each event counts, (n,); 1 unless given.
            action_features: As `predict_proba`. `oracle="gd"` reads only those of the chosen actions.

        Returns:
            The learner.

        Raises:
            ValueError: As `learn_event`. The model is as it was.
            TypeError: As `learn_event`.

        Examples:
            >>> import numpy as np
            >>> from vw_fastcb import FastCB
            >>> FastCB(3).partial_fit(np.ones((2, 4)), actions=[0, 2], costs=[0.1, 0.9]).events_
            2
        """
        engine = self._engine or self._start(contexts, action_features)
        engine.learn_many(contexts, action_features, actions, costs, sample_weight)
        return self

    def fit(
        self: _Self,
        contexts: Any,
        actions: ArrayLike,
        costs: ArrayLike,
        sample_weight: ArrayLike | None = None,
        action_features: Any = None,
    ) -> _Self:
        """Forgets everything and learns from many events, as `partial_fit` of a new learner.

        Args:
            contexts: As `partial_fit`.
            actions: As `partial_fit`.
            costs: As `partial_fit`.
            sample_weight: As `partial_fit`.
            action_features: As `partial_fit`.

        Returns:
            The learner.

        Raises:
            ValueError: As `learn_event`. The model is as it was.
            TypeError: As `learn_event`.
        """
        self._refuse_closed()
        engine = Engine.start(self._settings(), contexts, action_features)
        engine.learn_many(contexts, action_features, actions, costs, sample_weight)
        self._engine = engine
        return self

    def simulate(
        self,
        contexts: Any,
        targets: Any,
        *,
        n_shuffles: int | None = None,
        seed: int | None = None,
        action_features: Any = None,
        n_jobs: int | None = None,
    ) -> Simulation:
        """Plays the bandit game on data whose every cost is known, in C++. The learner itself stays as it is.

        Args:
            contexts: As `predict_proba`.
            targets: The right action of each row, (n,) numbers or names: it costs the least, any other the most. Or the
                cost (or reward) of each action, (n, A); a list of n arrays where events differ in their actions.
            n_shuffles: How many runs, each from scratch and in an order of its own; None is one run in the given order.
            seed: Of orders and draws; the learner's own unless given.
            action_features: As `predict_proba`.
            n_jobs: How many threads share the runs, -1 for all cores. The result does not depend on it.

        Returns:
            What each round of each run cost, the actions and their probabilities; a frame; a picture.

        Raises:
            ValueError: As `partial_fit`.
            TypeError: As `partial_fit`.

        Examples:
            >>> import numpy as np
            >>> from vw_fastcb import FastCB
            >>> contexts = np.random.default_rng(0).random((1000, 3))
            >>> runs = FastCB(3, learning_rate=5, seed=0).simulate(contexts, contexts.argmax(axis=1), n_shuffles=4)
            >>> bool(runs.mean[-1] < 0.4)
            True
        """
        self._refuse_closed()
        settings = self._settings()
        # A simulation starts from scratch, with its own columns and a table of weights that fits them.
        engine = Engine.start(settings, contexts, action_features)
        bits = engine.learner.bits if self._engine is None else self._engine.learner.bits
        events = engine.events(contexts, action_features)
        costs = cost_table(settings, targets, events.counts).astype(np.float32)

        def game(order: NDArray[np.int64], draws: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
            learner = new_learner(settings, bits)  # takes milliseconds
            learner.draws = draws
            return learner.simulate(*events.arrays, costs, order)

        seed = self.seed if seed is None else seed
        return play(settings, game, len(events.contexts), n_shuffles=n_shuffles, seed=seed, n_jobs=n_jobs)

    def tune(
        self,
        contexts: Any,
        targets: Any = None,
        *,
        actions: ArrayLike | None = None,
        values: ArrayLike | None = None,
        probabilities: ArrayLike | None = None,
        action_features: Any = None,
        exclude: _Exclude = None,
        n_orders: int = 10,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> Tuning:
        """Chooses the parameters that you left open: oracle and step, interactions, gamma, objective.

        The data are of one of two kinds. Either every cost is known: give `targets`, as for `simulate`. Or they are a
        log: give the `actions` that were taken, their `values` and their `probabilities`. What looks best on one half
        of the data is taken only if it is better on the other half, too, beyond what luck explains; else the default
        stays. The learner itself stays as it is.

        Args:
            contexts: As `predict_proba`.
            targets: The right action of each row, or the cost (or reward) of each action, as of `simulate`.
            actions: The action that was taken in each event, from 0, (n,), or its name.
            values: What it cost, or its reward, (n,).
            probabilities: With which it was drawn, (n,).
            action_features: As `predict_proba`.
            exclude: Actions that could not be drawn in the log, as `predict_proba`.
            n_orders: With `targets`: number of row orders used for choosing. As many others confirm.
            seed: Seed for row orders, draws and replays.
            n_jobs: How many threads, -1 for all cores. The result does not depend on it.

        Returns:
            The parameters to change, a learner that has them, the flags for the command line, and how sure all this is.

        Raises:
            ValueError: As `partial_fit`; a log of less than 400 events; both kinds of data, or neither.
            TypeError: As `partial_fit`.

        Examples:
            >>> import numpy as np
            >>> from vw_fastcb import FastCB
            >>> rows = np.random.default_rng(0).integers(0, 2, (500, 2))
            >>> tuning = FastCB(2).tune(rows, rows[:, 0] ^ rows[:, 1], n_orders=4)
            >>> tuning.changes
            {'interactions': ('xx',)}
            >>> tuning.learner
            FastCB(n_actions=2, interactions=('xx',))
        """
        from vw_fastcb.learner.tuning import LogEvidence, TableEvidence, search  # noqa: PLC0415, few need it

        settings = self._settings()
        logged: dict[str, Any] = {"actions": actions, "values": values, "probabilities": probabilities}
        missing = [name for name, given in logged.items() if given is None]
        if (targets is None) == (len(missing) == len(logged)) or (targets is None and missing):
            raise TypeError(
                f"tune was given {'targets' if targets is not None else 'no targets'}, and of a log all but "
                f"{missing or 'nothing'}; expected either targets, or actions, values and probabilities."
            )
        if not is_whole(n_orders) or n_orders < 2:
            raise ValueError(f"n_orders is {n_orders!r}; expected a whole number, 2 or larger.")
        if not is_whole(seed) or seed < 0:
            raise ValueError(f"seed is {seed!r}; expected a whole number, 0 or larger.")
        evidence: Evidence
        if targets is not None:
            orders = int(n_orders)
            evidence = TableEvidence(settings, contexts, targets, action_features, orders=orders, seed=int(seed))
        else:
            log = {**logged, "action_features": action_features, "exclude": exclude}
            evidence = LogEvidence(settings, contexts, **log, seed=int(seed))
        return search(self.get_params(), evidence, n_jobs=n_jobs)

    # The model

    @_may_start
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a VW model, which `vw-fastcb -i` reads too.

        Args:
            path: The file. One that is there is replaced once the new one is whole; links are followed.

        Raises:
            TypeError: It is no path.
            ValueError: The path is empty or cannot be the name of a file, or the learner was closed.
            FileNotFoundError: Its folder is not there.
            RuntimeError: The file cannot be written, or the path is a folder or a device.

        Examples:
            >>> import os, tempfile
            >>> from vw_fastcb import FastCB
            >>> path = os.path.join(tempfile.mkdtemp(), "model.vw")
            >>> FastCB(3, reward_range=(0, 5)).partial_fit([[1.0]], [2], [4]).save(path)
            >>> FastCB.load(path).reward_range
            (0.0, 5.0)
        """
        (self._engine or self._start()).save(path)

    @classmethod
    def load(
        cls: type[_Self], path: str | os.PathLike[str], *, seed: int | None = None, rewards: bool | None = None
    ) -> _Self:
        """Reads a model that `save` or `vw-fastcb --fastcb -f` wrote, with its parameters.

        The model knows whether it learns costs or rewards, the names of its actions, its columns and their kinds, and
        the salt of draws with an event id.

        Args:
            path: The model file.
            seed: Of the draws, which are not part of a model; None draws differently every time.
            rewards: For models that were made on the command line, which know costs only: True to give and read
                rewards, the negatives of VW's costs.

        Returns:
            A learner that goes on where the model stands.

        Raises:
            OSError: There is no such file, or it is a folder, a pipe or a device.
            RuntimeError: The file is damaged, or was not made by FastCB.
            TypeError: `path` is no path.
            ValueError: The model uses other namespaces than `x` and `a`, or `rewards` contradicts it.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(
                f"{_given(path)} was given; expected the path of a model file. For bytes there is FastCB.from_bytes."
            )
        return cls._of_model(read_model(path, DEFAULTS, rewards), seed)

    @_may_start
    def to_bytes(self) -> bytes:
        """The model as `save` writes it, for a database or a message.

        Returns:
            What `from_bytes` takes, and `vw-fastcb -i` once it is in a file.

        Examples:
            >>> from vw_fastcb import FastCB
            >>> content = FastCB(3).partial_fit([[1.0]], [2], [0.4]).to_bytes()
            >>> FastCB.from_bytes(content).events_
            1
        """
        return (self._engine or self._start()).model()

    @classmethod
    def from_bytes(cls: type[_Self], content: bytes, *, seed: int | None = None) -> _Self:
        """Reads what `to_bytes` returned.

        Args:
            content: The model.
            seed: Of the draws, as of `load`.

        Returns:
            A learner that goes on where the model stands.

        Raises:
            RuntimeError: The model is damaged, or was not made by FastCB.
            TypeError: It is not given as bytes.
        """
        try:
            model = bytes(memoryview(content))
        except TypeError:
            raise TypeError(f"{_given(content)} was given; expected bytes, as FastCB.to_bytes returns them.") from None
        return cls._of_model(read_model(model, DEFAULTS), seed)

    @classmethod
    def _of_model(cls: type[_Self], model: Model, seed: int | None) -> _Self:
        learner = cls(**model.params, seed=seed)
        settings = learner._settings()
        learner._engine = Engine.of_model(model, settings, settings.seed)
        return learner

    def close(self) -> None:
        """Gives the memory of the model back. The learner cannot be used again; its parameters can.

        Examples:
            >>> from vw_fastcb import FastCB
            >>> with FastCB(3) as bandit:
            ...     action = bandit.decide([1.0]).action
            >>> bandit.decide([1.0])
            Traceback (most recent call last):
            ...
            ValueError: FastCB(n_actions=3) was closed; make a new learner, or load a saved one with FastCB.load.
        """
        self._closed = True
        self._engine = None

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @_may_start
    def to_workspace(self) -> Workspace:
        """The learner's VW workspace, not a copy: what one learns the other knows.

        Do not use the workspace and the learner from two threads at the same time.

        Returns:
            A workspace that takes VW's text, such as `|x 0:0.5 color=red`.

        Examples:
            >>> from vw_fastcb import FastCB
            >>> bandit = FastCB(2)
            >>> bandit.to_workspace().learn("1:0.5:0.5 |x 0:1")
            >>> bandit.events_
            1
        """
        load_pylibvw()
        engine = self._engine or self._start()
        engine.learner.note = engine.note()
        return Workspace(_existing_vw=engine.learner.workspace())

    @property
    def events_(self) -> int:
        """How many events were learned."""
        self._refuse_closed()
        return 0 if self._engine is None else self._engine.learner.events

    @property
    def members_(self) -> dict[str, float]:
        """How much each member of an ensemble counts, by name; empty for other oracles."""
        self._refuse_closed()
        return {} if self._engine is None else self._engine.learner.members

    @property
    def n_features_in_(self) -> int:
        """How many columns contexts have; known after the first array or frame."""
        columns = self._known_columns("n_features_in_")
        return columns if isinstance(columns, int) else len(columns)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the columns of contexts; known after the first frame."""
        columns = self._known_columns("feature_names_in_")
        if isinstance(columns, int):
            raise AttributeError("feature_names_in_ is not known: contexts were arrays, whose columns have no names.")
        return np.array(columns, dtype=object)

    # Parameters, as scikit-learn has them

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments, as scikit-learn expects them.

        Args:
            deep: Taken because scikit-learn gives it; there is nothing deeper.

        Returns:
            Names and values.

        Examples:
            >>> from vw_fastcb import FastCB
            >>> FastCB(3, epsilon=0.1).get_params()["epsilon"]
            0.1
        """
        own = inspect.signature(type(self).__init__).parameters
        named = [name for name, one in own.items() if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
        names = dict.fromkeys([*DEFAULTS, *(name for name in named if name != "self")])
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def set_params(self: _Self, **params: Any) -> _Self:
        """Sets constructor arguments of a learner that was not used yet.

        Args:
            **params: Names and values.

        Returns:
            The learner.

        Raises:
            ValueError: A name is not a parameter, or the learner was used already.

        Examples:
            >>> from vw_fastcb import FastCB
            >>> FastCB(3).set_params(epsilon=0.1)
            FastCB(n_actions=3, epsilon=0.1)
        """
        unknown = sorted(set(params) - set(self.get_params()))
        if unknown:
            raise ValueError(
                f"{unknown[0]!r} is not a parameter of FastCB; expected one of {sorted(self.get_params())}."
            )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        if name in DEFAULTS and (self._engine is not None or self._closed):
            raise ValueError(
                f"{name} was set on a learner that was used already; set it on a new one, as sklearn.base.clone makes."
            )
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        said = [f"{name}={getattr(self, name)!r}" for name, default in DEFAULTS.items() if not self._is(name, default)]
        return f"{type(self).__name__}({', '.join(said)})"

    def __sklearn_is_fitted__(self) -> bool:
        return self._engine is not None

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags  # noqa: PLC0415  # scikit-learn asks, so it is there

        sparse = InputTags(sparse=True, categorical=True, string=True, dict=True, allow_nan=self.missing == "mark")
        return Tags(estimator_type=None, target_tags=TargetTags(required=True), input_tags=sparse)

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name != "_engine"}
        engine = self._engine
        if engine is not None:
            state["_model"] = (engine.model(), engine.learner.draws)
            if engine.settings.action_names is not None:
                state["action_names"] = engine.settings.action_names  # the user's own list may have changed
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        model = state.pop("_model", None)
        vars(self).update(state)
        if model is not None:
            content, draws = model
            vars(self)["_engine"] = Engine.of_model(read_model(content, DEFAULTS), self._settings(), draws)

    # Inside

    def _settings(self) -> Settings:
        return Settings.checked({name: getattr(self, name) for name in DEFAULTS})

    def _start(self, context: Any = None, action_features: Any = None) -> Engine:
        """An engine for the first use: the learner's own, once that use was good."""
        self._refuse_closed()
        made = Engine.start(self._settings(), context, action_features)
        _first_call.engine = made
        return made

    def _takes(self, made: Engine) -> bool:
        """Takes an engine, unless another thread was faster."""
        engine = vars(self).setdefault("_engine", made)
        if self._closed or engine is None:  # by another thread, meanwhile
            vars(self)["_engine"] = None
            self._refuse_closed()
        return engine is made

    def _refuse_closed(self) -> None:
        if self._closed:
            raise ValueError(f"{self!r} was closed; make a new learner, or load a saved one with FastCB.load.")

    def _events(self, contexts: Any, action_features: Any) -> tuple[Engine, Events]:
        engine = self._engine or self._start(contexts, action_features)
        return engine, engine.events(contexts, action_features)

    def _predicted(self, noun: str, contexts: Any, action_features: Any) -> Table:
        engine, events = self._events(contexts, action_features)
        if engine.settings.noun != noun:
            other = engine.settings.noun
            raise ValueError(f"this learner predicts {other}s; expected predict_{other}, not predict_{noun}.")
        _, predicted, _ = engine.learner.predict(*events.arrays)
        engine.learner.remember(*events.rows)
        return events.table(predicted)

    def _known_columns(self, name: str) -> int | tuple[str, ...]:
        columns = None if self._engine is None else self._engine.learner.contexts.columns
        if columns is None:
            raise AttributeError(f"{name} is not known yet: no array or frame of contexts was given.")
        return columns

    def _is(self, name: str, value: Any) -> bool:
        """Whether a parameter has a value; arrays, which compare with anything entry by entry, do not."""
        same = getattr(self, name) == value
        return same if isinstance(same, bool) else False


DEFAULTS = {name: one.default for name, one in inspect.signature(FastCB.__init__).parameters.items() if name != "self"}


def _features_of(decision: Any) -> tuple[Any, Any]:
    """What tells a new learner how large it has to be."""
    if isinstance(decision, Decisions):
        return decision.contexts, None
    return getattr(decision, "context", None), getattr(decision, "action_features", None)


def _check_logged(engine: Engine, decision: Decision) -> None:
    """Of a decision that was read from a dictionary: whether its action is one of this learner's."""
    engine.check_presence(decision.action_features)
    names = engine.settings.action_names
    number = engine.settings.action_number(decision.action, len(decision.pmf))
    if engine.settings.n_actions is not None and len(decision.pmf) != engine.settings.n_actions:
        raise ValueError(f"the decision has {len(decision.pmf)} actions; expected {engine.settings.n_actions}.")
    if names is not None and decision.name is not None and names[number] != decision.name:
        raise ValueError(f"the decision calls action {number} {decision.name!r}; expected {names[number]!r}.")


def _given(value: Any) -> str:
    """What was given, in a word or two."""
    return "None" if value is None else f"a value of type {type(value).__name__}"
