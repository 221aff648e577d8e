"""`FastCB`: the learner."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from vw_fastcb.learner.decision import Decision, Decisions, Simulation, Table
from vw_fastcb.learner.draws import draw_of
from vw_fastcb.learner.events import chosen_alone
from vw_fastcb.learner.model import Engine
from vw_fastcb.learner.outcomes import cost_table
from vw_fastcb.learner.simulation import play
from vw_fastcb.learner.steps import Steps

_Self = TypeVar("_Self", bound="FastCB")


class FastCB(Steps):
    """A contextual bandit on arrays and frames: FastCB on VW's engine.

    Actions are either fixed (`n_actions`), or come with features of their own each time. Contexts and features of
    actions are rows of:

    - an array of numbers, or a scipy sparse matrix: column j is VW's feature `j`;
    - a pandas or polars frame: a column of numbers or booleans `age` is VW's feature `age`, a category or text `red` in
      the column `color` is the feature `color=red`; NaN, None and null are missing, and no feature;
    - a list of dictionaries, as frames, with any names.

    Contexts are in VW's namespace `x`, actions in `a`: a model goes on from text such as `|x age:3 color=red`.

    One learner may be used from many threads, two run at the same time. Decisions and learners can be pickled.

    Args:
        n_actions: The number of fixed actions; None where actions have features.
        cost_range: The lowest and the highest cost, (0, 1) unless given.
        reward_range: Instead of `cost_range`: the learner then speaks of rewards everywhere.
        objective: "loss" adapts to small losses, "reward" to small rewards.
        allocation: "reweighted" is FastCB's rule, "igw" SquareCB's.
        gamma_scale: gamma = gamma_scale * t ** gamma_exponent after t events.
        gamma_exponent: See `gamma_scale`.
        learning_rate: VW's step size.
        epsilon: Every action gets at least the probability epsilon / A.
        interactions: Pairs of namespaces to multiply; ("xa",) unless given where actions have features, else none.
        bits: The number of weights is 2 ** bits.
        seed: Of the draws.
        vw_args: Further flags of VW.

    Parameters are checked when the learner is used first, as scikit-learn does it.

    Examples:
        >>> import numpy as np
        >>> from vw_fastcb import FastCB
        >>> bandit = FastCB(n_actions=3, seed=1)
        >>> decision = bandit.decide([0.5, 1.0])
        >>> bandit.learn(decision, cost=0.2)
        >>> bandit.predict_proba(np.ones((4, 2))).shape
        (4, 3)
    """

    def decide(self, context: Any, actions: Any = None, event_id: str | int | None = None) -> Decision:
        """Draws an action for one context.

        Args:
            context: A (d,) array, a dictionary, a pandas Series, or a frame or sparse matrix of one row.
            actions: The features of the actions where they are not fixed: an (A, d) array or sparse matrix, a frame, or
                a list of dictionaries.
            event_id: With an id the draw depends on the seed and the id alone, so that a replay draws the same.

        Returns:
            The action, its probability, and what is needed to learn from it later.

        Raises:
            ValueError: Other columns than before, values that are not finite, actions where none are expected.
            TypeError: Something that is not a row of features.

        Examples:
            >>> from vw_fastcb import FastCB
            >>> bandit = FastCB(seed=3)
            >>> decision = bandit.decide({"age": 31, "city": "Rome"}, [{"price": 2}, {"price": 3}, {"free": True}])
            >>> len(decision.pmf)
            3
        """
        engine = self._running or self._start()
        draw = None if event_id is None else draw_of(self.seed, event_id)
        made = engine.learner.decide(context, actions, draw)
        if made is None:
            made = self._decide(engine, context, actions, draw)
        return Decision.made(made, event_id, engine.kind)

    def learn(
        self,
        event: Any,
        *observed: Any,
        cost: float | None = None,
        reward: float | None = None,
        actions: Any = None,
        probability: float = 1.0,
        sample_weight: float = 1.0,
    ) -> None:
        """Learns what an action cost: `learn(decision, cost)`, or `learn(context, action, cost, actions=None)`.

        The update is unweighted: the probability is kept for the record.

        Args:
            event: A decision, of this learner or of another of its kind, or a context.
            *observed: The action, after a context; the cost, or the reward where the learner speaks of rewards; and
                after these, if need be, `actions`.
            cost: Instead of the last argument.
            reward: Instead of the last argument, where the learner speaks of rewards.
            actions: The features of the actions, after a context, where they are not fixed.
            probability: With which the action was drawn, after a context.
            sample_weight: How much the event counts.

        Raises:
            ValueError: An unknown action, a cost outside the range, a decision of another kind of learner, or as
                `decide`. The model is as it was.
            TypeError: Too few or too many arguments.

        Examples:
            >>> from vw_fastcb import FastCB
            >>> bandit = FastCB(3, reward_range=(0, 5))
            >>> bandit.learn(bandit.decide([0.5, 1.0]), reward=4)
            >>> bandit.learn([0.5, 1.0], 2, 4)
            >>> bandit.events_
            2
        """
        engine = self._running or self._start()
        given = list(observed)
        decision = event if isinstance(event, Decision) else None
        if decision is not None:
            self._check_maker(engine, decision, actions)
            action, context, probability = decision.action, decision.context, decision.probability
            actions = decision.actions
        else:
            if not given:
                raise TypeError("learn needs the action that was taken: learn(context, action, cost).")
            action, context = given.pop(0), event
            if len(given) == 2 and actions is None:
                actions = given.pop()
        value = self._observed(given, cost, reward)
        if self._is_plain(action, value, probability, sample_weight):
            engine_cost = value if self.reward_range is None else -value
            if engine.learner.learn_one(context, actions, action, engine_cost, probability, sample_weight):
                return
        one = self._event(engine, context, actions) if decision is None else self._event_of(engine, decision)
        self._learn(engine, one, actions=[action], values=[value], probabilities=[probability], weights=[sample_weight])

    def predict_proba(self, contexts: Any, action_features: Any = None) -> Table:
        """The probability of each action for each row.

        Args:
            contexts: Rows of features, (n, d): an array, a sparse matrix, a frame, or a list of dictionaries.
            action_features: Where actions are not fixed, the features of the actions: (A, d) for all events, in any of
                these forms; an (n, A, d) array; or a list of n sets.

        Returns:
            An (n, A) array, or a list of n arrays where events differ in their number of actions.

        Raises:
            ValueError: As `decide`.
            TypeError: As `decide`.

        Examples:
            >>> from vw_fastcb import FastCB
            >>> FastCB(4).predict_proba([[0.0, 1.0]])
            array([[0.25, 0.25, 0.25, 0.25]])
        """
        return self._predict(contexts, action_features)[0]

    def predict_loss(self, contexts: Any, action_features: Any = None) -> Table:
        """The predicted cost of each action for each row; of learners that speak of rewards, the reward.

        Args:
            contexts: As `predict_proba`.
            action_features: As `predict_proba`.

        Returns:
            As `predict_proba`.

        Raises:
            ValueError: As `decide`.
            TypeError: As `decide`.

        Examples:
            >>> from vw_fastcb import FastCB
            >>> FastCB(2, cost_range=(0, 10)).predict_loss([[0.0, 1.0]])
            array([[5., 5.]])
        """
        return self._predict(contexts, action_features)[1]

    def decide_many(self, contexts: Any, action_features: Any = None) -> Decisions:
        """Draws an action for each row, all with the present state of the model.

        Args:
            contexts: As `predict_proba`.
            action_features: As `predict_proba`.

        Returns:
            Actions, their probabilities, and all probabilities.

        Raises:
            ValueError: As `decide`.
            TypeError: As `decide`.

        Examples:
            >>> import numpy as np
            >>> from vw_fastcb import FastCB
            >>> FastCB(3).decide_many(np.ones((5, 2))).actions.shape
            (5,)
        """
        engine = self._start()
        events = self._events(engine, contexts, action_features)
        pmf, _, _ = engine.learner.predict(*events.arrays)
        self._remember(engine, events)
        actions, probabilities = engine.learner.draw_actions(pmf, events.begins)
        return Decisions(actions, probabilities, events.table(pmf))

    def partial_fit(
        self: _Self,
        contexts: Any,
        actions: ArrayLike,
        costs: ArrayLike,
        sample_weight: ArrayLike | None = None,
        action_features: Any = None,
    ) -> _Self:
        """Learns from many events, one after another: all of them, or none where one is bad.

        Args:
            contexts: As `predict_proba`.
            actions: The action that was taken in each event, from 0, (n,).
            costs: What it cost, (n,); rewards where the learner speaks of rewards.
            sample_weight: How much each event counts, (n,); 1 unless given.
            action_features: As `predict_proba`.

        Returns:
            The learner.

        Raises:
            ValueError: As `learn`. The model is as it was.
            TypeError: As `learn`.

        Examples:
            >>> import numpy as np
            >>> from vw_fastcb import FastCB
            >>> FastCB(3).partial_fit(np.ones((2, 4)), actions=[0, 2], costs=[0.1, 0.9]).events_
            2
        """
        engine = self._start()
        if not engine.learner.scores_before_learning:
            action_features, actions = chosen_alone(action_features, actions)
        events = self._events(engine, contexts, action_features)
        ones = np.ones(events.count)
        weights = ones if sample_weight is None else sample_weight
        self._learn(engine, events, actions=actions, values=costs, probabilities=ones, weights=weights)
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
            targets: The right action of each row, (n,) integers: it costs the least, any other the most. Or the cost
                (or reward) of each action, (n, A); a list of n arrays where events differ in their number of actions.
            n_shuffles: How many runs, each from scratch and in an order of its own; None is one run in the given order.
            seed: Of orders and draws; the learner's own unless given.
            action_features: As `predict_proba`.
            n_jobs: How many threads share the runs, -1 for all cores. The result does not depend on it.

        Returns:
            What each round of each run cost, the actions and their probabilities.

        Raises:
            ValueError: As `partial_fit`.
            TypeError: As `partial_fit`.

        Examples:
            >>> import numpy as np
            >>> from vw_fastcb import FastCB
            >>> contexts = np.random.default_rng(0).random((1000, 3))
            >>> runs = FastCB(3, learning_rate=5).simulate(contexts, contexts.argmax(axis=1), n_shuffles=4)
            >>> bool(runs.progressive[:, -1].mean() < 0.4)
            True
        """
        running = self._running
        # One that runs already lends its names, and no more: a simulation starts from scratch, with its own columns.
        learner = self._new_learner(0) if running is None else running.learner
        events = self._events(Engine(learner, self._kind()), contexts, action_features)
        costs = cost_table(self, targets, events)
        first = learner if running is None else self._new_learner(0)
        seed = self.seed if seed is None else seed
        return play(self, first, events, costs, n_shuffles=n_shuffles, seed=seed, n_jobs=n_jobs)
