"""The learner's settings: its constructor's arguments, checked, and the flags of VW that they become."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from vw_fastcb import _engine
from vw_fastcb.engine.flags import Flags
from vw_fastcb.learner.frames import is_number
from vw_fastcb.refusals import RefusedType, RefusedValue

CONTEXT, ACTION = "x", "a"  # VW namespaces
_MOST_BITS = 31  # of VW
_MOST_ACTIONS = 2**31
FLAGS_OF_NEW_MODELS = {"random_seed", "initial_weight"} | {
    f"{kind}_weights" for kind in ("random", "normal", "truncated_normal")
}
_STEP = 0.5  # of VW
_CAPACITY = "64"  # of oracle="newton"
# What each oracle explores with unless told otherwise.
_GAMMA = {
    kind.name: {"gamma_scale": kind.gamma_scale, "gamma_exponent": kind.gamma_exponent} for kind in _engine.oracles()
}
_LEAST_BITS, _MOST_CHOSEN_BITS = 18, 24  # of those we choose: 4 MB and 256 MB of weights


@dataclass(frozen=True)
class Settings:
    """What a learner was made with. `Settings.checked` makes one from the constructor's arguments."""

    n_actions: int | None
    action_names: tuple[str, ...] | None
    noun: Literal["cost", "reward"]
    value_range: tuple[float, float]
    objective: str
    allocation: str
    gamma_scale: float | None
    gamma_exponent: float | None
    oracle: str
    optimism: float
    learning_rate: float | None
    epsilon: float
    interactions: tuple[str, ...]
    bits: int | None
    missing: str
    seed: int | None
    vw_args: tuple[str, ...]

    @classmethod
    def checked(cls, given: Mapping[str, Any]) -> Settings:
        """Checks the constructor's arguments; raises for the first that is wrong."""
        n_actions, names = _actions(given["n_actions"], given["action_names"])
        if given["reward_range"] is not None and given["cost_range"] is not None:
            raise ValueError("cost_range and reward_range were both given; expected one of them.")
        rewards = given["reward_range"] is not None
        value_range = given["reward_range"] if rewards else given["cost_range"]
        bits, seed = given["bits"], given["seed"]
        vw_args = _flags(given["vw_args"])
        oracle, learning_rate = _oracle(given["oracle"], given["learning_rate"], vw_args)
        return cls(
            n_actions=n_actions,
            action_names=names,
            noun="reward" if rewards else "cost",
            value_range=_range("reward_range" if rewards else "cost_range", value_range),
            objective=_objective(given["objective"], rewards, vw_args),
            allocation=_one_of("allocation", given["allocation"], ("reweighted", "igw")),
            **_gamma(oracle, vw_args, given),
            oracle=oracle,
            optimism=_number("optimism", given["optimism"] or 0.0),
            learning_rate=learning_rate,
            epsilon=_number("epsilon", given["epsilon"], most=1),
            interactions=_interactions(given["interactions"], n_actions),
            bits=None if bits is None else _whole("bits", bits, 1, _MOST_BITS, or_none=True),
            missing=_one_of("missing", given["missing"], ("zero", "mark")),
            seed=None if seed is None else _whole("seed", seed, 0, 2**64 - 1, or_none=True),
            vw_args=vw_args,
        )

    @property
    def units(self) -> tuple[float, float]:
        """Offset and slope from what the engine predicts, in [0, 1], to costs or rewards."""
        low, high = self.value_range
        upward = (self.objective == "reward") == (self.noun == "reward")
        return (low, high - low) if upward else (high, low - high)

    @property
    def engine_range(self) -> tuple[float, float]:
        """The lowest and the highest cost. The engine knows rewards as negative costs."""
        low, high = self.value_range
        return (low, high) if self.noun == "cost" else (0.0 - high, 0.0 - low)

    def flags_beyond(self, kept: str) -> list[str]:
        """The flags of `vw_args` that are not among those that a model keeps: VW has to be given them again.

        Not so flags that only say how a new model begins: a model says itself where its weights and its random numbers
        stand.
        """
        return Flags.read(self.vw_args).without(Flags.read(kept).names | FLAGS_OF_NEW_MODELS)

    @property
    def kind(self) -> str:
        """What decisions are marked with: they can be learned where features and actions mean the same."""
        actions = "features of actions" if self.n_actions is None else f"{self.n_actions} fixed actions"
        named = "" if self.action_names is None else f" called {', '.join(self.action_names)}"
        given = Flags.read(self.vw_args)
        hashing = [f", {' '.join(flag.words)}" for flag in given.flags if flag.name in ("hash", "hash_seed")]
        return f"{actions}{named}, {self.noun}s, missing={self.missing!r}{''.join(hashing)}"

    @property
    def gamma(self) -> dict[str, float]:
        """The flags of gamma's power of the number of events; none where it has epochs."""
        given = {"gamma_scale": self.gamma_scale, "gamma_exponent": self.gamma_exponent}
        return {name: value for name, value in given.items() if value is not None}

    def arguments(self, bits: int | None = None) -> list[str]:
        """VW's command line."""
        low, high = self.engine_range
        door = ["--cb_explore_adf"] if self.n_actions is None else ["--cb_explore", str(self.n_actions)]
        words = [*door, "--fastcb", "--quiet", "--no_stdin"]
        values: dict[str, object] = {
            "cb_min_cost": low,
            "cb_max_cost": high,
            "fastcb_objective": self.objective,
            "fastcb_allocation": self.allocation,
            **self.gamma,
            "epsilon": self.epsilon,
            "bit_precision": bits or self.bits or _LEAST_BITS,
        }
        values |= {"learning_rate": self.learning_rate} if self.oracle == "gd" else {"fastcb_oracle": self.oracle}
        if self.optimism > 0:
            values["fastcb_optimism"] = self.optimism
        for name, value in values.items():
            words += [f"--{name}", str(value)]
        for product in self.interactions:
            words += ["--interactions", product]
        return [*words, *self.vw_args]

    def action_number(self, action: Any, count: int | None = None) -> int:
        """The number of an action that was given by number or by name; `count` is how many there are, if known."""
        if isinstance(action, str):
            if self.action_names is None:
                raise RefusedValue(
                    f"action {action!r} is a name, and this learner's actions have none; give action_names."
                )
            number = self._number_of.get(action)
            if number is None:
                raise RefusedValue(f"action {action!r} is unknown; expected one of {list(self.action_names)}.")
            return number
        if count is None:
            count = _MOST_ACTIONS if self.n_actions is None else self.n_actions
        if not is_whole(action):
            raise RefusedValue(f"action is {action!r}; expected a whole number, counted from 0, or a name.")
        if not 0 <= action < count:
            raise RefusedValue(f"action {action} is unknown; expected 0 to {count - 1}.")
        return int(action)

    @cached_property
    def _number_of(self) -> dict[str, int]:
        """The number of each name: whoever excludes thousands of thousands should not wait for it."""
        return {name: number for number, name in enumerate(self.action_names or ())}

    def excluded(self, exclude: Any) -> list[int] | None:
        """The numbers of actions that are left out of one decision."""
        if exclude is None:
            return None
        scalar = isinstance(exclude, np.ndarray) and exclude.ndim == 0
        if isinstance(exclude, str) or scalar or not isinstance(exclude, Collection):
            raise RefusedType(f"exclude is {exclude!r}; expected a list of actions.")
        return [self.action_number(action) for action in exclude]


def bits_to_use(needed: int) -> int:
    """How many bits to choose where so many are needed."""
    return max(_LEAST_BITS, min(needed, _MOST_CHOSEN_BITS))


def params_of(flags: str, rewards: bool) -> dict[str, Any]:
    """The constructor's arguments from the flags that a model keeps."""
    given = Flags.read(flags)
    kept = {flag.name: list(given.values(flag.name)) for flag in given.flags}
    low, high = _as_written(kept.pop("cb_min_cost")[0]), _as_written(kept.pop("cb_max_cost")[0])
    params: dict[str, Any] = {"reward_range": (0.0 - high, 0.0 - low)} if rewards else {"cost_range": (low, high)}
    if "cb_explore" in kept:
        params["n_actions"] = int(kept.pop("cb_explore")[0])
    params["interactions"] = tuple(kept.pop("interactions", []) + kept.pop("quadratic", []))
    names: dict[str, tuple[str, Callable[[str], Any]]] = {
        "fastcb_objective": ("objective", str),
        "fastcb_allocation": ("allocation", str),
        "bit_precision": ("bits", int),
    }
    params["oracle"] = kept.pop("fastcb_oracle", ["gd"])[0]
    if params["oracle"] == "gd":
        params["learning_rate"] = _as_written(kept.pop("learning_rate", [str(_STEP)])[0])
    for name in ("gamma_scale", "gamma_exponent", "epsilon"):
        names[name] = (name, _as_written)
    names["fastcb_optimism"] = ("optimism", _as_written)
    for flag, (name, kind) in names.items():
        if flag in kept:
            params[name] = kind(kept.pop(flag)[0])
    if kept.get("fastcb_capacity") == [_CAPACITY]:
        del kept["fastcb_capacity"]
    for flag in ("cb_explore_adf", "fastcb", "per_model_save_load", "cb_type", "random_seed"):
        kept.pop(flag, None)
    params["vw_args"] = " ".join(shlex.join([f"--{name}", *values]) for name, values in kept.items())
    return params


def is_whole(value: object) -> bool:
    """Whether this is a whole number, Python's or numpy's."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def _as_written(number: str) -> float:
    """VW keeps float32 with the digits of float64: 0.1 as 0.100000001490116."""
    return float(str(np.float32(number)))


def _actions(n_actions: Any, names: Any) -> tuple[int | None, tuple[str, ...] | None]:
    if n_actions is not None:
        n_actions = _whole("n_actions", n_actions, 1, _MOST_ACTIONS - 1, or_none=True)
    if names is None:
        return n_actions, None
    listed = isinstance(names, (Sequence, np.ndarray)) and not isinstance(names, str)
    if not listed or len(names) == 0 or not all(isinstance(name, str) for name in names):
        raise ValueError(f"action_names is {names!r}; expected a list of names.")
    if len(set(names)) < len(names):
        raise ValueError(f"action_names is {names!r}; expected each name once.")
    if n_actions is not None and len(names) != n_actions:
        raise ValueError(f"action_names has {len(names)} names; expected {n_actions}, as n_actions says.")
    return len(names), tuple(str(name) for name in names)


def _whole(name: str, value: Any, least: int, most: int, or_none: bool = False) -> int:
    if not (is_whole(value) and least <= value <= most):
        raise ValueError(
            f"{name} is {value!r}; expected a whole number from {least} to {most}{', or None' if or_none else ''}."
        )
    return int(value)


def _number(name: str, value: Any, most: float = math.inf) -> float:
    """A number that VW, which computes in float32, reads as finite."""
    number = _single(value)
    if number is None or not 0 <= number <= most:
        expected = "a finite number, 0 or larger (in float32)" if most == math.inf else f"a number from 0 to {most}"
        raise ValueError(f"{name} is {value!r}; expected {expected}.")
    return number


def _single(value: Any) -> float | None:
    """The value as a Python float; None where it is no number or not finite in float32."""
    if not is_number(value) or isinstance(value, (bool, np.bool_)):
        return None
    try:
        number = float(value) + 0.0  # no -0.0
    except OverflowError:
        return None
    with np.errstate(over="ignore"):
        return number if math.isfinite(np.float32(number)) else None


def _one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} is {value!r}; expected one of {', '.join(map(repr, choices))}.")
    return value


def _range(name: str, value: Any) -> tuple[float, float]:
    if value is None:
        return 0.0, 1.0
    two = isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str) and len(value) == 2
    low, high = (_single(value[0]), _single(value[1])) if two else (None, None)
    if low is None or high is None or np.float32(low) >= np.float32(high):
        raise ValueError(f"{name} is {value!r}; expected two finite numbers (in float32), the lower one first.")
    return low, high


def _oracle(oracle: Any, learning_rate: Any, vw_args: tuple[str, ...]) -> tuple[str, float | None]:
    """Which one, and its step size, if it has one."""
    named = Flags.read(vw_args).names & _FLAGS_OF_GD
    if oracle is None:
        oracle = "newton" if learning_rate is None and not named else "gd"
    if _one_of("oracle", oracle, tuple(_GAMMA)) == "gd":
        return "gd", _STEP if learning_rate is None else _number("learning_rate", learning_rate)
    if learning_rate is not None:
        raise ValueError(
            f"learning_rate is {learning_rate!r}, and oracle={oracle!r} has no step size; leave one of the two out."
        )
    return str(oracle), None


def _gamma(oracle: str, vw_args: tuple[str, ...], given: Mapping[str, Any]) -> dict[str, float | None]:
    if _has_epochs(vw_args):
        for name in _GAMMA[oracle]:
            if given[name] is not None:
                raise ValueError(
                    f"{name} is {given[name]!r}, and --fastcb_gamma epochs has none; leave one of the two out."
                )
        return dict.fromkeys(_GAMMA[oracle])
    chosen = {name: value if given[name] is None else given[name] for name, value in _GAMMA[oracle].items()}
    return {name: _number(name, value) for name, value in chosen.items()}


def _has_epochs(vw_args: tuple[str, ...]) -> bool:
    return Flags.read(vw_args).value("fastcb_gamma") == "epochs"


def _objective(given: object, rewards: bool, vw_args: tuple[str, ...]) -> str:
    """Rewards may be small (clicks) or large (right answers), and who gives them does not say which: "both" adapts."""
    if given is None:
        return "both" if rewards and not _has_epochs(vw_args) else "loss"
    return _one_of("objective", given, ("loss", "reward", "both"))


def _interactions(value: Any, n_actions: int | None) -> tuple[str, ...]:
    if value is None:
        return () if n_actions is not None else (CONTEXT + ACTION,)
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    if not listed or not all(isinstance(pair, str) and len(pair) > 1 for pair in value):
        raise ValueError(f"interactions is {value!r}; expected names of namespaces such as ('xa',) or ('xa', 'xx').")
    for product in value:
        others = sorted(set(product) - {CONTEXT, ACTION, ":"})
        if others:
            raise ValueError(
                f"interactions has {product!r} with the namespace {others[0]!r}; expected {CONTEXT!r} for contexts and "
                f"{ACTION!r} for features of actions, which are the namespaces of this learner. A model that was made "
                "on the command line has to use them, too."
            )
    return tuple(value)


def _flags(value: Any) -> tuple[str, ...]:
    if not isinstance(value, str) or "\0" in value:
        raise TypeError(f"vw_args is {value!r}; expected a string such as '--coin'.")
    try:
        words = tuple(shlex.split(value))
    except ValueError as problem:
        raise ValueError(
            f"vw_args is {value!r}, whose quotation marks do not match; expected a command line."
        ) from problem
    for flag in Flags.read(words).flags:
        if flag.name in _REFUSED_FLAGS:
            raise ValueError(f"vw_args has {flag.dashed}: {_REFUSED_FLAGS[flag.name]}.")
    return words


# Those that VW's own learner reads, or that put another one in its place: with one of them it is oracle="gd".
_FLAGS_OF_GD = {
    *("sgd", "adaptive", "normalized", "invariant", "adax", "power_t", "initial_t", "decay_learning_rate"),
    *("l1", "l2", "noconstant"),
    *("no_bias_regularization", "feature_mask", "initial_weight", "random_weights", "normal_weights"),
    *("truncated_normal_weights", "random_positive_weights", "predict_only_model", "initial_pass_length"),
    *("coin", "ftrl", "pistol", "freegrad", "nn", "lrq", "lrqfa", "new_mf", "rank", "stage_poly", "kernel_svm"),
    *("marginal", "cubic_newton", "interact", "autolink", "gdmf"),
}

# What VW would do with these is not what a learner in a program may do, or a parameter says it.
_REFUSED_FLAGS = {
    **dict.fromkeys(("version", "help"), "it would end the program; use vw-fastcb for it"),
    **dict.fromkeys(("daemon", "foreground", "port", "pid_file"), "it would start a server, which is refused"),
    "audit_regressor": "it would read rows from a file; use vw-fastcb for it",
    **dict.fromkeys(("holdout_after", "holdout_period"), "every event that is given is learned"),
    **dict.fromkeys(("initial_regressor",), "load a model with FastCB.load"),
    **dict.fromkeys(("final_regressor",), "save a model with save()"),
    **dict.fromkeys(("testonly",), "a learner that is not to learn is not asked to"),
    **dict.fromkeys(("predictions", "raw_predictions"), "predictions are returned, not written"),
    **dict.fromkeys(("data", "cache", "cache_file", "kill_cache", "passes"), "rows are given, not read"),
    **dict.fromkeys(("learning_rate",), "give it as learning_rate"),
    **dict.fromkeys(("bit_precision",), "give it as bits"),
    **{name: f"give it as {name}" for name in ("epsilon", "gamma_scale", "gamma_exponent")},
    **{f"fastcb_{name}": f"give it as {name}" for name in ("objective", "allocation", "oracle", "optimism")},
    **dict.fromkeys(("cb_min_cost", "cb_max_cost"), "give it as cost_range"),
    **dict.fromkeys(("cb_explore", "cb_explore_adf"), "give n_actions, or leave it out"),
}
