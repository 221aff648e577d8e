"""`Bandit`: FastCB, SquareCB or greedy on any oracle."""

from __future__ import annotations

import copy
import hashlib
import math
import os
import pickle
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from vw_fastcb import allocation
from vw_fastcb.learner import frames, rows
from vw_fastcb.learner.decision import Decision, check_maker
from vw_fastcb.learner.engine import check_is_file, checked_path, draw_of, new_salt, plain_id
from vw_fastcb.learner.events import Table
from vw_fastcb.learner.fastcb import DEFAULTS
from vw_fastcb.learner.outcomes import cost_table, costs_of, event_weights, observed_value
from vw_fastcb.learner.settings import Settings
from vw_fastcb.learner.simulation import Simulation, play
from vw_fastcb.loop.files import new_file
from vw_fastcb.oracles.protocol import Oracle, numbers_of

_Self = TypeVar("_Self", bound="Bandit")
_Array = NDArray[np.float64]
_Rule = Callable[[_Array, float], _Array]

# How a file of `Bandit.save` begins. The digest of what follows comes next: a damaged file is never unpickled.
_MAGIC = b"vw-fastcb bandit 1\n"
_DIGEST = 32


def _igw_of_rewards(rewards: _Array, gamma: float) -> _Array:
    return allocation.igw(1 - rewards, gamma)


# By objective: the oracle predicts rewards with "reward", and losses otherwise.
_PLAIN: dict[str, _Rule] = {"loss": allocation.igw, "reward": _igw_of_rewards, "both": allocation.igw}
_RULES: dict[str, dict[str, _Rule]] = {
    "fastcb": {
        "loss": allocation.reweighted_igw,
        "reward": allocation.reweighted_igw_rewards,
        "both": allocation.reweighted_igw_both,
    },
    "squarecb": _PLAIN,
    "greedy": _PLAIN,
}


class Bandit:
    """A contextual bandit on any oracle: you bring who predicts, it explores.

    It has the methods of `FastCB`, and decides as it does. What a context is, is between you and the oracle: a row of
    numbers, a table of actions' features, a dictionary, a text. Use a bandit from one thread at a time.

    Args:
        oracle: Any object with the methods of `vw_fastcb.oracles.Oracle`. It stays as it is: the bandit learns with a
            copy, `oracle_`.
        n_actions: The number of actions; None where it differs between contexts: then as many as the oracle predicts.
        action_names: The names of the actions, which may then be used instead of their numbers.
        cost_range: The lowest and the highest cost, (0, 1) unless given. The oracle knows [0, 1] only.
        reward_range: Instead of `cost_range`: the bandit then takes and predicts rewards.
        rule: "fastcb" is the paper's allocation, "squarecb" that of SquareCB. "greedy" takes the action that is
            predicted to be best; of equal ones each with the probability 1 / A, and the first with what is left.
        objective: "loss" adapts to small losses, "both" to small losses and small rewards, whichever is smaller. So
            does "reward" to small rewards: the oracle then predicts and learns rewards in [0, 1]. "loss" unless given,
            and "both" with `reward_range`.
        gamma_scale: gamma = gamma_scale * t ** gamma_exponent after t events: the larger, the greedier. 50 and 0.4
            unless given. An exponent of 0 keeps gamma constant, as in the paper's theorem.
        gamma_exponent: See `gamma_scale`.
        epsilon: Every action gets at least the probability epsilon / A.
        seed: None draws differently every time, in every process. A number makes the draws repeatable.

    Attributes:
        oracle_: The oracle that learns.
        events_: How many events were learned.

    Raises:
        ValueError: A parameter is not what was expected.
        TypeError: The oracle lacks `predict` or `learn`.

    Examples:
        >>> from vw_fastcb import Bandit
        >>> from vw_fastcb.oracles import FiniteClass
        >>> functions = [lambda hour: [0.1, 0.8], lambda hour: [0.1, 0.8] if hour < 12 else [0.8, 0.1]]
        >>> bandit = Bandit(FiniteClass(functions), action_names=["tea", "wine"], seed=1)
        >>> decision = bandit.decide(19)
        >>> decision.name, decision.probability
        ('wine', 0.5)
        >>> bandit.learn(decision, cost=0)
        >>> bandit.oracle_.weights.round(2)
        array([0.18, 0.82])
    """

    def __init__(
        self,
        oracle: Oracle,
        n_actions: int | None = None,
        *,
        action_names: Sequence[str] | None = None,
        cost_range: tuple[float, float] | None = None,
        reward_range: tuple[float, float] | None = None,
        rule: Literal["fastcb", "squarecb", "greedy"] = "fastcb",
        objective: Literal["loss", "reward", "both"] | None = None,
        gamma_scale: float | None = None,
        gamma_exponent: float | None = None,
        epsilon: float = 0.0,
        seed: int | None = None,
    ) -> None:
        if isinstance(oracle, type) or not isinstance(oracle, Oracle):
            raise TypeError(
                f"the oracle is {oracle!r}; expected an object with the methods predict(context) and "
                "learn(context, action, loss, weight)."
            )
        if not isinstance(rule, str) or rule not in _RULES:
            raise ValueError(f"rule is {rule!r}; expected one of {', '.join(map(repr, _RULES))}.")
        self._params: dict[str, Any] = {
            "n_actions": n_actions,
            "action_names": action_names,
            "cost_range": cost_range,
            "reward_range": reward_range,
            "rule": rule,
            "objective": objective,
            "gamma_scale": gamma_scale,
            "gamma_exponent": gamma_exponent,
            "epsilon": epsilon,
            "seed": seed,
        }
        self._settings = Settings.checked({**DEFAULTS, **{k: v for k, v in self._params.items() if k != "rule"}})
        self._scale, self._exponent = (self._settings.gamma[name] for name in ("gamma_scale", "gamma_exponent"))
        self._rule = rule
        self._draws = np.random.default_rng(self._settings.seed)
        self._salt = new_salt(self._settings.seed)
        self.oracle = oracle
        self.oracle_ = copy.deepcopy(oracle)
        self.events_ = 0

    @property
    def gamma(self) -> float:
        """The greediness now: infinite for `rule="greedy"`."""
        return self._gamma(self.events_)

    # Deciding and learning

    def decide(
        self, context: Any, *, exclude: Collection[int | str] | None = None, event_id: str | int | None = None
    ) -> Decision:
        """Draws an action for one context.

        Args:
            context: What the oracle takes.
            exclude: Actions that may not be drawn this time. The allocation runs over the others.
            event_id: With an id the draw depends on the id and on the bandit's salt, which is saved with it: the same
                request gets the same action while the oracle is the same.

        Returns:
            The action, its probability, and a copy of the context to learn from later.

        Raises:
            ValueError: Unknown actions, or an oracle that does not predict numbers in [0, 1], one for each action.
            TypeError: Actions or an id of a wrong type, or an oracle that predicts no numbers.
        """
        excluded = self._settings.excluded(exclude)
        if event_id is not None:
            event_id = plain_id(event_id)
        predicted = self._predict(self.oracle_, context)
        gamma = self.gamma
        pmf = self._pmf(predicted, gamma, excluded)
        kept = _copy_of(context)
        draw = self._draws.random() if event_id is None else draw_of(event_id, self._salt)
        action = _pick(pmf, draw)
        names = self._settings.action_names
        return Decision(
            action=action,
            probability=float(pmf[action]),
            pmf=_frozen(pmf),
            predicted=_frozen(self._in_units(predicted)),
            gamma=gamma,
            name=None if names is None else names[action],
            event_id=event_id,
            context=kept,
            maker=self._kind,
        )

    def learn(
        self,
        decision: Decision,
        value: Any = None,
        *,
        cost: Any = None,
        reward: Any = None,
        sample_weight: Any = None,
    ) -> None:
        """Learns what the action of a decision cost: `learn(decision, 0.2)`, or `learn(decision, cost=0.2)`.

        Args:
            decision: A decision of this bandit, or of another with the same actions and kind of oracle.
            value: The cost, or the reward where the bandit was made with `reward_range`.
            cost: The same by name, of bandits of costs.
            reward: The same by name, of bandits of rewards.
            sample_weight: How much the event counts, 1 unless given.

        Raises:
            ValueError: A value outside the range, or a decision of another kind of bandit. The bandit is as it was.
            TypeError: Not a decision, or no value, or two.
        """
        observed = observed_value(self._settings.noun, value, cost, reward)
        if not isinstance(decision, Decision):
            raise TypeError(
                f"learn was given {type(decision).__name__!r}; expected a decision. To learn from a context and an "
                f"action use learn_event(context, action, {self._settings.noun})."
            )
        check_maker(decision.maker, self._kind)
        count, n_actions = len(decision.pmf), self._settings.n_actions
        if n_actions is not None and count != n_actions:
            raise ValueError(f"the decision has {count} actions; expected {n_actions}.")
        action = self._settings.action_number(decision.action, count)
        names = self._settings.action_names
        if names is not None and decision.name is not None and names[action] != decision.name:
            raise ValueError(f"the decision calls action {action} {decision.name!r}; expected {names[action]!r}.")
        self._learn(decision.context, action, observed, 1.0 if sample_weight is None else sample_weight)

    def learn_event(
        self,
        context: Any,
        action: int | str,
        value: float | None = None,
        *,
        cost: float | None = None,
        reward: float | None = None,
        sample_weight: float = 1.0,
    ) -> None:
        """Learns what an action cost in a context, whoever chose it.

        Args:
            context: What the oracle takes.
            action: The action that was taken, from 0, or its name.
            value: The cost, or the reward where the bandit was made with `reward_range`.
            cost: The same by name, of bandits of costs.
            reward: The same by name, of bandits of rewards.
            sample_weight: How much the event counts.

        Raises:
            ValueError: An unknown action, or a value outside the range. The bandit is as it was.
            TypeError: No value, or two.
        """
        observed = observed_value(self._settings.noun, value, cost, reward)
        self._learn(context, self._settings.action_number(action), observed, sample_weight)

    # Many contexts

    def predict_proba(self, contexts: Any) -> Table:
        """The probability of each action for each context.

        Args:
            contexts: A list of contexts, the rows of an array or a sparse matrix, or those of a frame as dictionaries.

        Returns:
            An (n, A) array, or a list of n arrays where contexts differ in their number of actions.
        """
        gamma = self.gamma
        pmfs = [self._pmf(self._predict(self.oracle_, one), gamma, None) for one in _contexts(contexts)]
        if not pmfs and self._settings.n_actions is not None:
            return np.empty((0, self._settings.n_actions))
        return _table(pmfs)

    def predict(self, contexts: Any) -> NDArray[np.int64]:
        """The greedy action of each context: the one with the lowest predicted cost, or the highest reward.

        Args:
            contexts: As `predict_proba`.

        Returns:
            The number of an action for each context, (n,). Of equal ones, the first.
        """
        best = np.argmax if self._settings.objective == "reward" else np.argmin
        return np.array([best(self._predict(self.oracle_, one)) for one in _contexts(contexts)], dtype=np.int64)

    def simulate(
        self,
        contexts: Any,
        targets: Any,
        *,
        n_shuffles: int | None = None,
        seed: int | None = None,
        n_jobs: int | None = None,
    ) -> Simulation:
        """Plays the bandit game on data whose every cost is known. The bandit itself stays as it is.

        Every run begins with a copy of `oracle`, as it was given.

        Args:
            contexts: As `predict_proba`.
            targets: The right action of each context, (n,) numbers or names: it costs the least, any other the most. Or
                the cost (or reward) of each action, (n, A); a list of n arrays where contexts differ in their actions.
            n_shuffles: How many runs, each from scratch and in an order of its own; None is one run in the given order.
            seed: Of orders and draws; the bandit's own unless given.
            n_jobs: How many threads share the runs, -1 for all cores. The result does not depend on it. Threads help
                with oracles that spend their time outside Python.

        Returns:
            What each round of each run cost, the actions and their probabilities; a frame; a picture.

        Raises:
            ValueError: Targets outside the range, or not as many as contexts.
            TypeError: Contexts that are no list and no table.

        Examples:
            >>> import numpy as np
            >>> from vw_fastcb import Bandit
            >>> from vw_fastcb.oracles import FiniteClass
            >>> functions = np.array([[[0.1, 0.6], [0.7, 0.2]], [[0.6, 0.1], [0.2, 0.7]]])
            >>> contexts = np.random.default_rng(0).integers(2, size=300)
            >>> runs = Bandit(FiniteClass(functions), 2, seed=0).simulate(contexts, contexts, n_shuffles=2)
            >>> bool(runs.mean[-1] < 0.05)
            True
        """
        listed = _contexts(contexts)
        counts = self._counts(targets, len(listed))
        table = np.split(cost_table(self._settings, targets, counts), np.cumsum(counts)[:-1])

        def game(order: NDArray[np.int64], draws: int) -> tuple[NDArray[np.int64], _Array, _Array]:
            oracle, generator = copy.deepcopy(self.oracle), np.random.default_rng(draws)
            actions, probabilities, costs = (np.empty(len(order), dtype) for dtype in (np.int64, float, float))
            for t, row in enumerate(order.tolist()):
                predicted = self._predict(oracle, listed[row])
                if len(predicted) != counts[row]:
                    raise ValueError(
                        f"the oracle predicts {len(predicted)} actions in context {row}; expected {counts[row]}."
                    )
                pmf = self._pmf(predicted, self._gamma(t), None)
                action = _pick(pmf, generator.random())
                cost = table[row][action]
                oracle.learn(listed[row], action, self._in_oracle(cost if self._settings.noun == "cost" else -cost))
                actions[t], probabilities[t], costs[t] = action, pmf[action], cost
            return actions, probabilities, costs

        seed = self._settings.seed if seed is None else seed
        return play(self._settings, game, len(listed), n_shuffles=n_shuffles, seed=seed, n_jobs=n_jobs)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the bandit with its oracle, as a pickle.

        A pickle can hold any oracle, and its reader runs whatever it says. So load only files that you trust.

        Args:
            path: The file. One that is there is replaced once the new one is whole; links are followed.

        Raises:
            ValueError: No file can have that name.
            FileNotFoundError: Its folder is not there.
            RuntimeError: The file cannot be written, the path is a folder or a device, or the oracle cannot be pickled.

        Examples:
            >>> import os, tempfile
            >>> import numpy as np
            >>> from vw_fastcb import Bandit
            >>> from vw_fastcb.oracles import FiniteClass
            >>> path = os.path.join(tempfile.mkdtemp(), "bandit.pickle")
            >>> bandit = Bandit(FiniteClass(np.full((4, 1, 2), 0.5)), 2)
            >>> bandit.learn_event(0, 1, cost=0.3)
            >>> bandit.save(path)
            >>> Bandit.load(path).events_
            1
        """
        name = os.path.realpath(os.fsdecode(checked_path(path)))
        if os.path.exists(name) and not os.path.isfile(name):
            kind = "a folder" if os.path.isdir(name) else "not a regular file"
            raise RuntimeError(f"{os.fspath(path)!r} is {kind}; expected the name of a file to write the bandit to.")
        kept = {
            "params": {**self._params, "seed": None},
            "oracle": self.oracle,
            "learned": self.oracle_,
            "events": self.events_,
            "salt": self._salt,
        }
        try:
            content = pickle.dumps(kept, protocol=5)
        except Exception as problem:  # whatever the oracle raises
            raise RuntimeError(
                f"the oracle cannot be pickled: {problem}. Functions have to be defined at the top of a module, "
                "not by lambda or inside another function."
            ) from problem
        try:
            with new_file(name) as draft:
                draft.write_bytes(_MAGIC + hashlib.sha256(content).digest() + content)
        except FileNotFoundError:
            raise
        except OSError as problem:
            raise RuntimeError(f"{os.fspath(path)!r} cannot be written: {problem}") from problem

    @classmethod
    def load(cls: type[_Self], path: str | os.PathLike[str], *, seed: int | None = None) -> _Self:
        """Reads a bandit that `save` wrote. **Only from files you trust**: a pickle may run any code.

        Args:
            path: The file.
            seed: Of the draws, which are not part of the file; None draws differently every time.

        Returns:
            A bandit that goes on where the saved one stood.

        Raises:
            OSError: There is no such file, or it is a folder, a pipe or a device.
            RuntimeError: The file is damaged, was not made by `Bandit.save`, or needs a module that is not here.
            TypeError: `path` is no path.
        """
        if not isinstance(path, (str, bytes, os.PathLike)):
            raise TypeError(f"a value of type {type(path).__name__} was given; expected the path of a file.")
        check_is_file(path)
        whole = Path(os.fsdecode(path)).read_bytes()
        content = whole[len(_MAGIC) + _DIGEST :]
        if not whole.startswith(_MAGIC):
            raise RuntimeError(f"{os.fspath(path)!r} cannot be read as a bandit: it was not written by Bandit.save.")
        if whole[len(_MAGIC) : len(_MAGIC) + _DIGEST] != hashlib.sha256(content).digest():
            raise RuntimeError(f"{os.fspath(path)!r} cannot be read as a bandit: it is damaged or cut short.")
        try:
            kept = pickle.loads(content)
        except Exception as problem:  # whatever the oracle's module raises
            raise RuntimeError(f"{os.fspath(path)!r} cannot be read as a bandit: {problem}") from problem
        bandit = cls(kept["oracle"], **{**kept["params"], "seed": seed})
        bandit.oracle_, bandit.events_, bandit._salt = kept["learned"], kept["events"], kept["salt"]
        return bandit

    def __repr__(self) -> str:
        defaults = {"rule": "fastcb", "objective": None, "epsilon": 0.0}
        said = [f", {name}={value!r}" for name, value in self._params.items() if value != defaults.get(name)]
        return f"{type(self).__name__}({self.oracle!r}{''.join(said)})"

    # Inside

    @property
    def _kind(self) -> str:
        """What decisions are marked with."""
        settings = self._settings
        actions = "any number of actions" if settings.n_actions is None else f"{settings.n_actions} fixed actions"
        named = "" if settings.action_names is None else f" called {', '.join(settings.action_names)}"
        return f"{actions}{named}, {settings.noun}s, the oracle {type(self.oracle).__name__}"

    def _gamma(self, rounds: int) -> float:
        if self._rule == "greedy":
            return math.inf
        return self._scale * math.pow(rounds, self._exponent)

    def _predict(self, oracle: Oracle, context: Any) -> _Array:
        """What the oracle says, checked: it may come from anywhere."""
        predicted = numbers_of(oracle.predict(context), f"what {_named(oracle)} predicted")
        expected = self._settings.n_actions
        if predicted.ndim != 1 or not len(predicted) or (expected is not None and len(predicted) != expected):
            shape = "(A,), at least one action" if expected is None else f"({expected},)"
            raise ValueError(f"{_named(oracle)} predicted an array of shape {predicted.shape}; expected {shape}.")
        if not (predicted.min() >= 0 and predicted.max() <= 1):  # NaN is neither
            raise ValueError(f"{_named(oracle)} predicted {predicted}; expected numbers in [0, 1].")
        return predicted

    def _pmf(self, predicted: _Array, gamma: float, excluded: list[int] | None) -> _Array:
        rule = _RULES[self._rule][self._settings.objective]
        if not excluded:
            return _with_floor(rule(predicted, gamma), self._settings.epsilon)
        allowed = np.ones(len(predicted), dtype=bool)
        beyond = [action for action in excluded if action >= len(allowed)]
        if beyond:
            raise ValueError(f"exclude has the action {beyond[0]}; expected actions from 0 to {len(allowed) - 1}.")
        allowed[excluded] = False
        if not allowed.any():
            raise ValueError("exclude leaves no action; expected at least one that may be drawn.")
        pmf = np.zeros(len(predicted))
        pmf[allowed] = _with_floor(rule(predicted[allowed], gamma), self._settings.epsilon)
        return pmf

    def _learn(self, context: Any, action: int, value: Any, weight: Any) -> None:
        cost = float(costs_of(self._settings, [value], (1,))[0])
        event_weights([weight], 1)
        self.oracle_.learn(
            context, action, self._in_oracle(cost if self._settings.noun == "cost" else 0.0 - cost), float(weight)
        )
        self.events_ += 1

    def _in_units(self, predicted: _Array) -> _Array:
        """Predictions as costs or rewards."""
        offset, slope = self._settings.units
        return offset + slope * predicted

    def _in_oracle(self, value: float) -> float:
        """A cost or a reward as the oracle learns it, in [0, 1]."""
        offset, slope = self._settings.units
        return float(min(max((value - offset) / slope, 0.0), 1.0))

    def _counts(self, targets: Any, contexts: int) -> NDArray[np.int64]:
        """How many actions each context has."""
        if self._settings.n_actions is not None:
            return np.full(contexts, self._settings.n_actions, dtype=np.int64)
        if np.ndim(targets[0] if len(targets) else []) != 1:
            raise ValueError(
                "targets are the right actions, and the number of actions is not known; expected the cost of each "
                "action, or a bandit with n_actions."
            )
        if len(targets) != contexts:
            raise ValueError(f"targets has {len(targets)} rows; expected one for each of {contexts} contexts.")
        return np.array([len(one) for one in targets], dtype=np.int64)


def _with_floor(pmf: _Array, epsilon: float) -> _Array:
    """Raises every entry to epsilon / A, and takes that from what the others have above, as the engine does."""
    if epsilon <= 0:
        return pmf
    floor = epsilon / len(pmf)
    above = np.maximum(pmf - floor, 0.0)
    total = above.sum()
    return floor + (above * ((1 - epsilon) / total) if total > 0 else above)


def _pick(pmf: _Array, draw: float) -> int:
    """The action that a number in [0, 1) picks. What rounding leaves goes to the last action with a probability."""
    sums = np.cumsum(pmf)
    return int(np.searchsorted(sums, min(draw, np.nextafter(sums[-1], 0.0)), side="right"))


def _contexts(given: Any) -> Sequence[Any]:
    """The contexts of a table, one by one."""
    if frames.is_frame(given):
        return rows.as_dicts(given, "contexts")
    if hasattr(given, "tocsr"):
        sparse = given.tocsr()
        return [sparse[[i]] for i in range(sparse.shape[0])]
    if isinstance(given, (list, tuple)) or (isinstance(given, np.ndarray) and given.ndim > 0):
        return list(given)
    raise TypeError(f"contexts are of type {type(given).__name__}; expected a list, an array, or a frame.")


def _table(rows_of: list[_Array]) -> Table:
    return np.stack(rows_of) if len({len(one) for one in rows_of}) == 1 else rows_of


def _copy_of(context: Any) -> Any:
    """What a decision keeps: it does not change with the user's own."""
    kept = copy.deepcopy(context)
    return _frozen(kept) if isinstance(kept, np.ndarray) else kept


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _named(oracle: Oracle) -> str:
    return f"the oracle {type(oracle).__name__}"
