"""`FastCB`: the learner."""

from __future__ import annotations

import inspect
import os
import shlex
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vw_fastcb import _engine
from vw_fastcb.engine.stock_modules import load_pylibvw
from vw_fastcb.engine.workspace import Workspace
from vw_fastcb.learner.decision import Decision, Decisions, Simulation
from vw_fastcb.learner.flags import params_of
from vw_fastcb.learner.matrices import Matrix, as_action_sets, as_matrix, as_row
from vw_fastcb.learner.sampling import draw_of, frozen, sample

_starting = threading.Lock()  # two threads that use a new learner at once must start one engine
_CONTEXT, _ACTION = "x", "a"  # VW namespaces
_EngineArrays = tuple[Any, Any, Any, Any, Any]  # contexts, their columns, actions, their columns, first of each event


class FastCB:
    """A contextual bandit on arrays: FastCB on VW's engine.

    Contexts are rows of numbers. Actions are either fixed (`n_actions`), or come with features of their own each time.
    Column j of a context is VW's feature `j` in the namespace `x`, column j of an action `j` in the namespace `a`: a
    model goes on from text such as `|x 0:0.5 3:1`.

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

    Examples:
        >>> import numpy as np
        >>> from vw_fastcb import FastCB
        >>> bandit = FastCB(n_actions=3, seed=1)
        >>> decision = bandit.decide([0.5, 1.0])
        >>> bandit.learn(decision, cost=0.2)
        >>> bandit.predict_proba(np.ones((4, 2))).shape
        (4, 3)
    """

    def __init__(
        self,
        n_actions: int | None = None,
        *,
        cost_range: tuple[float, float] | None = None,
        reward_range: tuple[float, float] | None = None,
        objective: Literal["loss", "reward"] = "loss",
        allocation: Literal["reweighted", "igw"] = "reweighted",
        gamma_scale: float = 10.0,
        gamma_exponent: float = 0.5,
        learning_rate: float = 0.5,
        epsilon: float = 0.0,
        interactions: Sequence[str] | None = None,
        bits: int = 18,
        seed: int = 0,
        vw_args: str = "",
    ) -> None:
        self.n_actions = n_actions
        self.cost_range = cost_range
        self.reward_range = reward_range
        self.objective = objective
        self.allocation = allocation
        self.gamma_scale = gamma_scale
        self.gamma_exponent = gamma_exponent
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        self.interactions = interactions
        self.bits = bits
        self.seed = seed
        self.vw_args = vw_args

    # Parameters, as scikit-learn expects them.

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            name: getattr(self, name) for name in inspect.signature(type(self).__init__).parameters if name != "self"
        }

    def set_params(self, **params: Any) -> FastCB:
        """Sets constructor arguments of a learner that was not used yet."""
        unknown = sorted(set(params) - set(self.get_params()))
        if unknown:
            raise ValueError(
                f"{unknown[0]!r} is not a parameter of FastCB; expected one of {sorted(self.get_params())}."
            )
        if self._started:
            raise ValueError(
                "the learner was used already; set parameters on a new one (sklearn.base.clone makes one)."
            )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        said = [f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name].default]
        return f"FastCB({', '.join(said)})"

    # One decision.

    def decide(self, context: Any, actions: Any = None, event_id: str | int | None = None) -> Decision:
        """Draws an action for one context. With an `event_id` the draw depends on the seed and the id alone."""
        row = as_row(context, "context")
        pmf, predicted, gamma, _ = self._predict(row, actions)
        draw = self._rng.random() if event_id is None else draw_of(self.seed, event_id)
        action = sample(pmf, draw)
        kept_actions = None if actions is None else frozen(np.array(actions))
        kept_context = frozen(np.array(row.data)) if isinstance(row.data, np.ndarray) else context.copy()
        return Decision(
            action, float(pmf[action]), frozen(pmf), frozen(predicted), gamma, event_id, kept_context, kept_actions
        )

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

        `reward=` where the learner speaks of rewards. The update is unweighted: the probability is kept for the record.
        """
        given = list(observed)
        if isinstance(event, Decision):
            action, context, actions, probability = event.action, event.context, event.actions, event.probability
        else:
            if not given:
                raise TypeError("learn needs the action that was taken: learn(context, action, cost).")
            action, context = given.pop(0), event
        if len(given) > 1:
            raise TypeError(
                f"learn was given {given[1]!r} too much; expected learn(decision, cost) or (context, action, cost)."
            )
        if given:
            cost, reward = (given[0], reward) if self.reward_range is None else (cost, given[0])
        value = self._one_of(cost, reward)
        self._learn(as_row(context, "context"), actions, [action], [value], [probability], [sample_weight])

    # Many.

    def predict_proba(self, contexts: Any, action_features: Any = None) -> Any:
        """The probability of each action for each row, (n, A); a list of arrays where events differ in number."""
        return self._many(contexts, action_features)[0]

    def predict_loss(self, contexts: Any, action_features: Any = None) -> Any:
        """The predicted cost of each action, as `predict_proba`; of learners that speak of rewards, the reward."""
        return self._many(contexts, action_features)[1]

    def decide_many(self, contexts: Any, action_features: Any = None) -> Decisions:
        """Draws an action for each row, all with the present state of the model."""
        pmf, _ = self._many(contexts, action_features)
        draws = self._rng.random(len(pmf))
        actions = np.array([sample(p, draw) for p, draw in zip(pmf, draws, strict=True)], dtype=np.int64)
        probabilities = np.array([p[a] for p, a in zip(pmf, actions, strict=True)], dtype=np.float64)
        return Decisions(actions, probabilities, pmf)

    def partial_fit(
        self,
        contexts: Any,
        actions: ArrayLike,
        costs: ArrayLike,
        sample_weight: ArrayLike | None = None,
        action_features: Any = None,
    ) -> FastCB:
        """Learns from many events, one after another. `costs` are rewards where the learner speaks of rewards."""
        matrix = as_matrix(contexts, "contexts")
        weights = np.ones(matrix.rows) if sample_weight is None else sample_weight
        self._learn(matrix, action_features, actions, costs, np.ones(matrix.rows), weights)
        return self

    def simulate(
        self, contexts: Any, targets: ArrayLike, *, n_shuffles: int | None = None, seed: int | None = None
    ) -> Simulation:
        """Plays the bandit game on data whose every cost is known. The learner itself stays as it is.

        Args:
            contexts: The rows.
            targets: The right action of each row, (n,) integers: it costs the least, any other the most. Or the cost
                (or reward) of each action, (n, A).
            n_shuffles: How many runs, each from scratch and in an order of its own; None is one run in the given order.
            seed: Of orders and draws; the learner's own unless given.
        """
        if self.n_actions is None:
            raise ValueError("simulate works with fixed actions; give n_actions.")
        matrix = as_matrix(contexts, "contexts")
        costs = self._cost_table(np.asarray(targets), matrix.rows)
        seed = self.seed if seed is None else seed
        runs = []
        for shuffle in range(n_shuffles or 1):
            generator = np.random.default_rng([seed, shuffle])
            order = np.arange(matrix.rows) if n_shuffles is None else generator.permutation(matrix.rows)
            engine = _engine.ArrayLearner(self._arguments())
            columns = engine.indices_of(_CONTEXT, [str(j) for j in range(matrix.width)])
            draws = int(generator.integers(2**63))
            runs.append((*engine.simulate(matrix.data, columns, None, None, None, costs, order, draws), order))
        actions, probabilities, played, orders = (np.stack(part) for part in zip(*runs, strict=True))
        values = -played if self.reward_range is not None else played
        return Simulation(values.astype(np.float64), actions, probabilities.astype(np.float64), orders)

    # Models.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a VW model, which `vw-fastcb -i` reads too."""
        self._start().save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, rewards: bool = False, seed: int = 0) -> FastCB:
        """Reads a model that `save` or `vw-fastcb --fastcb -f` wrote, with its parameters.

        Args:
            path: The model file.
            rewards: Whether to speak of rewards, the negatives of VW's costs.
            seed: Of the draws, which are not part of a model.
        """
        engine = _engine.ArrayLearner(["-i", os.fspath(path), "--quiet", "--no_stdin"])
        learner = cls(**params_of(engine.kept_flags(), rewards), seed=seed)
        learner._adopt(engine)
        return learner

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "_engine"}
        if self._started:
            with tempfile.TemporaryDirectory() as scratch:
                self.save(Path(scratch) / "model")
                state["_model"] = (Path(scratch) / "model").read_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        model = state.pop("_model", None)
        self.__dict__.update(state)
        if model is not None:
            widths = self.__dict__.pop("_columns", {})
            with tempfile.TemporaryDirectory() as scratch:
                (Path(scratch) / "model").write_bytes(model)
                self._adopt(_engine.ArrayLearner(["-i", str(Path(scratch) / "model"), "--quiet", "--no_stdin"]))
            self._rng = state["_rng"]
            for space, columns in widths.items():
                self._columns_of(space, len(columns))

    @property
    def events_(self) -> int:
        """How many events were learned."""
        return self._engine.events if self._started else 0

    def to_workspace(self) -> Workspace:
        """The learner's VW workspace, not a copy: what one learns the other knows."""
        load_pylibvw()
        return Workspace(_existing_vw=self._start().workspace())

    # Inside.

    @property
    def _started(self) -> bool:
        return "_engine" in self.__dict__

    def _arguments(self) -> list[str]:
        low, high = self._engine_range()
        interactions = self.interactions
        if interactions is None:
            interactions = () if self.n_actions is not None else (_CONTEXT + _ACTION,)
        door = ["--cb_explore", str(self.n_actions)] if self.n_actions is not None else ["--cb_explore_adf"]
        flags: dict[str, object] = {
            "cb_min_cost": low,
            "cb_max_cost": high,
            "fastcb_objective": self.objective,
            "fastcb_allocation": self.allocation,
            "gamma_scale": self.gamma_scale,
            "gamma_exponent": self.gamma_exponent,
            "learning_rate": self.learning_rate,
            "epsilon": self.epsilon,
            "bit_precision": self.bits,
        }
        words = [*door, "--fastcb", "--quiet", "--no_stdin"]
        for name, value in flags.items():
            words += [f"--{name}", str(value)]
        for pair in interactions:
            words += ["--interactions", pair]
        return words + shlex.split(self.vw_args)

    def _start(self) -> _engine.ArrayLearner:
        with _starting:
            if not self._started:
                self._adopt(_engine.ArrayLearner(self._arguments()))
        return self._engine

    def _adopt(self, engine: _engine.ArrayLearner) -> None:
        self._columns: dict[str, NDArray[np.uint64]] = {}
        self._rng = np.random.default_rng(self.seed)
        self._engine = engine

    def _engine_range(self) -> tuple[float, float]:
        if self.reward_range is not None and self.cost_range is not None:
            raise ValueError("cost_range and reward_range were both given; expected one of them.")
        if self.reward_range is not None:
            low, high = self.reward_range
            return -high, -low
        low, high = self.cost_range or (0.0, 1.0)
        return low, high

    def _one_of(self, cost: float | None, reward: float | None) -> float:
        """The cost, or the reward of learners that speak of rewards."""
        wanted, other, name = (cost, reward, "cost") if self.reward_range is None else (reward, cost, "reward")
        if wanted is None or other is not None:
            hint = "reward_range" if name == "cost" else "cost_range"
            raise TypeError(f"expected {name}=, and only that; to speak otherwise make the learner with {hint}.")
        return wanted

    def _columns_of(self, space: str, width: int) -> NDArray[np.uint64]:
        """Where the columns lie among VW's weights. The first call fixes the width."""
        columns = self._columns.get(space)
        if columns is None:
            columns = self._start().indices_of(space, [str(j) for j in range(width)])
            self._columns[space] = columns
        if len(columns) != width:
            what = "contexts have" if space == _CONTEXT else "actions have"
            raise ValueError(f"{what} {width} columns; expected {len(columns)}, as before.")
        return columns

    def _event_arrays(self, matrix: Matrix, action_features: Any) -> tuple[_EngineArrays, NDArray[np.int64], bool]:
        """What the engine takes; where the actions of each event begin; whether all events have as many."""
        self._start()
        if self.n_actions is not None:
            if action_features is not None:
                raise ValueError(f"actions were given features; expected none, n_actions is {self.n_actions}.")
            columns = self._columns_of(_CONTEXT, matrix.width)
            first = np.arange(matrix.rows + 1, dtype=np.int64) * self.n_actions
            return (matrix.data, columns, None, None, None), first, True
        if action_features is None:
            raise ValueError("expected the features of the actions: n_actions was not given.")
        actions, first, even = as_action_sets(action_features, matrix.rows)
        columns, action_columns = self._columns_of(_CONTEXT, matrix.width), self._columns_of(_ACTION, actions.width)
        return (matrix.data, columns, actions.data, action_columns, first), first, even

    def _predict(self, matrix: Matrix, action_features: Any) -> tuple[Any, Any, float, tuple[NDArray[np.int64], bool]]:
        arrays, first, even = self._event_arrays(matrix, action_features)
        pmf, unit, gamma = self._engine.predict(*arrays)
        low, high = self._engine_range()
        cost = low + (high - low) * (unit if self.objective == "loss" else 1 - unit)
        return pmf, (-cost if self.reward_range is not None else cost), gamma, (first, even)

    def _many(self, contexts: Any, action_features: Any) -> tuple[Any, Any]:
        matrix = as_matrix(contexts, "contexts")
        pmf, predicted, _, (first, even) = self._predict(matrix, action_features)
        if even:
            return pmf.reshape(matrix.rows, -1), predicted.reshape(matrix.rows, -1)
        return np.split(pmf, first[1:-1]), np.split(predicted, first[1:-1])

    def _learn(  # noqa: PLR0917, the columns of an event
        self, matrix: Matrix, action_features: Any, actions: Any, values: Any, probabilities: Any, weights: Any
    ) -> None:
        """Checks everything before anything is learned: a call learns all of its events or none."""
        arrays, first, _ = self._event_arrays(matrix, action_features)
        chosen = np.asarray(actions)
        if chosen.dtype.kind not in "iu" or chosen.shape != (matrix.rows,):
            raise ValueError(f"actions are {chosen!r}; expected {matrix.rows} whole numbers, counted from 0.")
        counts = np.diff(first)
        bad = (chosen < 0) | (chosen >= counts)
        if bad.any():
            raise ValueError(f"action {chosen[bad][0]} is unknown; expected 0 to {counts[bad][0] - 1}.")
        costs = self._checked_costs(np.asarray(values, dtype=np.float64), (matrix.rows,))
        weight = np.asarray(weights, dtype=np.float64)
        if weight.shape != (matrix.rows,) or not (np.isfinite(weight) & (weight >= 0)).all():
            raise ValueError("sample_weight must be finite, not negative, and one for each event.")
        probability = np.asarray(probabilities, dtype=np.float32)
        if not ((probability > 0) & (probability <= 1)).all():
            raise ValueError(f"probability {probability.min()} is outside (0, 1].")
        self._engine.learn(*arrays, chosen.astype(np.int64), costs, probability, weight.astype(np.float32))

    def _checked_costs(self, values: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.float32]:
        name = "reward" if self.reward_range is not None else "cost"
        low, high = self.reward_range or self.cost_range or (0.0, 1.0)
        if values.shape != shape:
            raise ValueError(f"{name}s have shape {values.shape}; expected {shape}.")
        inside = (values >= low) & (values <= high)
        if not inside.all():
            raise ValueError(f"{name} {values[~inside][0]} is outside [{low}, {high}].")
        costs = -values if self.reward_range is not None else values
        return np.ascontiguousarray(costs, dtype=np.float32)

    def _cost_table(self, targets: NDArray[Any], rows: int) -> NDArray[np.float32]:
        assert self.n_actions is not None
        if targets.ndim == 2:
            return self._checked_costs(targets.astype(np.float64), (rows, self.n_actions))
        if targets.shape != (rows,) or targets.dtype.kind not in "iu":
            raise ValueError(
                f"targets have shape {targets.shape}; expected ({rows},) whole numbers, or ({rows}, A) costs."
            )
        if rows and (targets.min() < 0 or targets.max() >= self.n_actions):
            raise ValueError(f"target {targets.max()} is unknown; expected 0 to {self.n_actions - 1}.")
        low, high = self._engine_range()
        table = np.full((rows, self.n_actions), high, dtype=np.float32)
        table[np.arange(rows), targets] = low
        return table
