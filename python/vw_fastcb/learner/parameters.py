"""The learner's parameters: plain attributes, checked when they are used, as scikit-learn does it."""

from __future__ import annotations

import inspect
import math
import numbers
import shlex
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

CONTEXT, ACTION = "x", "a"  # VW namespaces
_MOST_BITS = 31  # of VW

_Self = TypeVar("_Self", bound="Parameters")


class Parameters:
    """The constructor of `FastCB`, and what follows from its arguments."""

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
        return {
            name: getattr(self, name) for name in inspect.signature(type(self).__init__).parameters if name != "self"
        }

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
        if name in _NAMES and self._used:
            raise ValueError(
                f"{name} was set on a learner that was used already; set it on a new one, as sklearn.base.clone makes."
            )
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        said = [f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name].default]
        return f"FastCB({', '.join(said)})"

    @property
    def _used(self) -> bool:
        return False

    @property
    def _noun(self) -> str:
        """What the user gives for an action: a cost, or a reward."""
        return "cost" if self.reward_range is None else "reward"

    def _user_range(self) -> tuple[float, float]:
        """The lowest and highest cost, or reward."""
        return self.reward_range or self.cost_range or (0.0, 1.0)

    def _engine_range(self) -> tuple[float, float]:
        """The lowest and highest cost. The engine knows rewards as negative costs."""
        low, high = self._user_range()
        return (low, high) if self.reward_range is None else (-high, -low)

    def _units(self) -> tuple[float, float]:
        """Offset and slope from what the engine predicts, in [0, 1], to what the user reads."""
        low, high = self._user_range()
        upward = (self.objective == "reward") == (self.reward_range is not None)
        return (low, high - low) if upward else (high, low - high)

    def _kind(self) -> str:
        """What decisions are marked with: learners of one kind can learn from each other's."""
        actions = "features of actions" if self.n_actions is None else f"{self.n_actions} fixed actions"
        return f"{actions}, {self._noun}s, bits={self.bits}"

    def _arguments(self) -> list[str]:
        """VW's command line."""
        self._check_parameters()
        low, high = self._engine_range()
        interactions = self.interactions
        if interactions is None:
            interactions = () if self.n_actions is not None else (CONTEXT + ACTION,)
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
        return words + _words(self.vw_args)

    def _check_parameters(self) -> None:
        if self.n_actions is not None:
            self._require_whole("n_actions", 1, 2**31 - 1)
        self._require_whole("bits", 1, _MOST_BITS)
        self._require_whole("seed", 0, 2**64 - 1)
        self._require_number("gamma_scale", "a finite number, 0 or larger", 0, math.inf)
        self._require_number("gamma_exponent", "a finite number, 0 or larger", 0, math.inf)
        self._require_number("learning_rate", "a finite number, 0 or larger", 0, math.inf)
        self._require_number("epsilon", "a number from 0 to 1", 0, 1)
        self._require_one_of("objective", ("loss", "reward"))
        self._require_one_of("allocation", ("reweighted", "igw"))
        if self.reward_range is not None and self.cost_range is not None:
            raise ValueError("cost_range and reward_range were both given; expected one of them.")
        self._require_range("cost_range")
        self._require_range("reward_range")
        self._require_interactions()
        if not isinstance(self.vw_args, str):
            raise TypeError(f"vw_args is {self.vw_args!r}; expected a string such as '--coin'.")
        for word in _words(self.vw_args):
            flag = word.partition("=")[0]
            if flag in _REFUSED_FLAGS:
                raise ValueError(f"vw_args has {flag}: {_REFUSED_FLAGS[flag]}.")

    def _require_whole(self, name: str, lowest: int, highest: int) -> None:
        value = getattr(self, name)
        if not (is_whole(value) and lowest <= value <= highest):
            raise ValueError(f"{name} is {value!r}; expected a whole number from {lowest} to {highest}.")

    def _require_number(self, name: str, expected: str, lowest: float, highest: float) -> None:
        value = getattr(self, name)
        if not (_is_number(value) and math.isfinite(value) and lowest <= value <= highest):
            raise ValueError(f"{name} is {value!r}; expected {expected}.")

    def _require_one_of(self, name: str, choices: tuple[str, ...]) -> None:
        value = getattr(self, name)
        if value not in choices:
            raise ValueError(f"{name} is {value!r}; expected one of {', '.join(map(repr, choices))}.")

    def _require_range(self, name: str) -> None:
        value = getattr(self, name)
        if value is None:
            return
        two = isinstance(value, Sequence) and len(value) == 2 and all(_is_number(end) for end in value)
        if not two or not all(math.isfinite(end) for end in value) or value[0] >= value[1]:
            raise ValueError(f"{name} is {value!r}; expected two finite numbers, the lower one first.")

    def _require_interactions(self) -> None:
        value = self.interactions
        if value is None:
            return
        listed = isinstance(value, Sequence) and not isinstance(value, str)
        if not listed or not all(isinstance(pair, str) and len(pair) > 1 for pair in value):
            raise ValueError(
                f"interactions is {value!r}; expected names of namespaces such as ('xa',) or ('xa', 'xx')."
            )


def _words(flags: str) -> list[str]:
    try:
        return shlex.split(flags)
    except ValueError as problem:
        raise ValueError(
            f"vw_args is {flags!r}, whose quotation marks do not match; expected a command line."
        ) from problem


_NAMES = frozenset(inspect.signature(Parameters.__init__).parameters) - {"self"}

# What VW would do with these is not what a learner in a program may do, or a parameter says it.
_REFUSED_FLAGS = {
    **dict.fromkeys(("--version", "--help", "-h"), "it would end the program; use vw-fastcb for it"),
    **dict.fromkeys(("--daemon", "--foreground", "--port"), "it would start a server; use vw-fastcb for it"),
    **dict.fromkeys(("-i", "--initial_regressor"), "load a model with FastCB.load"),
    **dict.fromkeys(("-f", "--final_regressor"), "save a model with save()"),
    **dict.fromkeys(("-t", "--testonly"), "a learner that is not to learn is not asked to"),
    **dict.fromkeys(("-p", "--predictions", "-r", "--raw_predictions"), "predictions are returned, not written"),
    **dict.fromkeys(
        ("-d", "--data", "-c", "--cache", "--cache_file", "-k", "--kill_cache", "--passes"), "rows are given, not read"
    ),
    **dict.fromkeys(("-l", "--learning_rate"), "give it as learning_rate"),
    "--epsilon": "give it as epsilon",
}


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_whole(value: object) -> bool:
    """Whether this is a whole number, Python's or numpy's."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
