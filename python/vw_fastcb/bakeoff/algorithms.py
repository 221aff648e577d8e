"""The algorithms of the bake-off, each a line of VW flags and what is tuned."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

STEPS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_GAMMAS = {"gamma_scale": (10.0, 50.0, 100.0, 400.0, 700.0, 1000.0), "gamma_exponent": (0.25, 0.5)}

# Flags whose meaning does not depend on cbify standing above them. With these alone the engine plays cbify's part.
_SAME_WITHOUT_CBIFY = frozenset(
    {
        "cb_explore",
        "cb_explore_adf",
        "fastcb",
        "fastcb_allocation",
        "gamma_scale",
        "gamma_exponent",
        "squarecb",
        "elim",
        "regcb",
        "mellowness",
        "epsilon",
        "learning_rate",
        "bit_precision",
    }
)


@dataclass(frozen=True)
class Configuration:
    """One algorithm with its parameters and its step size."""

    algorithm: str
    flags: str = field(repr=False)
    parameters: tuple[tuple[str, float], ...]
    step: float

    @property
    def text(self) -> str:
        """The parameters as the store names them, such as "gamma_scale=10 gamma_exponent=0.5"."""
        return " ".join(f"{name}={number(value)}" for name, value in self.parameters)

    @property
    def copies(self) -> bool:
        """Whether each class has a copy of the row's features (see `layout`); VW makes them also unasked."""
        names = flag_names(self.flags)
        return not _has_fixed_actions(names) and bool({"cbify", "cb_explore_adf"} & names)

    def command_line(self, classes: int, bits: int) -> list[str]:
        """The flags to give to `vw-fastcb` for data of so many classes."""
        parameters = [word for name, value in self.parameters for word in (f"--{name}", number(value))]
        size = [] if {"b", "bit_precision"} & flag_names(self.flags) else ["--bit_precision", str(bits)]
        words = _words(self.flags.replace("{K}", str(classes)))
        return [*words, *parameters, "--learning_rate", number(self.step), *size]

    def engine_flags(self, classes: int, bits: int) -> list[str]:
        """The flags for the engine, which gives the same results sooner."""
        words = self.command_line(classes, bits)
        names = flag_names(shlex.join(words))
        if "cbify" not in names or not names <= _SAME_WITHOUT_CBIFY | {"cbify"}:
            return words
        at = words.index("--cbify")
        if _has_fixed_actions(names) and "cb_explore" not in names:
            words[at] = "--cb_explore"  # as cbify would say
        elif _has_fixed_actions(names) or "cb_explore_adf" in names:
            del words[at : at + 2]
        else:
            return words  # VW puts a translation to copies in between, which is not played here
        # They predict once more while learning and throw the prediction away.
        once = ["--no_predict"] if {"squarecb", "regcb"} & names else []
        return words + once


@dataclass(frozen=True)
class Algorithm:
    """A name, VW's flags with {K} for the number of classes, and the values to try of each parameter."""

    name: str
    flags: str
    parameters: Mapping[str, Sequence[float]] = field(default_factory=dict)
    steps: Sequence[float] = STEPS

    @property
    def description(self) -> str:
        """The flags, and behind semicolons what is tried."""
        tried = {**self.parameters, "step": self.steps}
        return "; ".join([self.flags, *(f"{name} in {', '.join(map(number, tried[name]))}" for name in tried)])

    def configurations(self) -> list[Configuration]:
        """Every combination, in a fixed order."""
        combinations = [
            tuple(zip(self.parameters, values, strict=True)) for values in itertools.product(*self.parameters.values())
        ]
        return [Configuration(self.name, self.flags, chosen, step) for chosen in combinations for step in self.steps]

    def with_values(self, **changes: Sequence[float]) -> Algorithm:
        """The same with other values for some parameters; `steps` are the step sizes."""
        steps = changes.pop("steps", self.steps)
        return replace(self, parameters={**self.parameters, **changes}, steps=steps)


def number(value: float) -> str:
    """As short as can be, and exact; VW takes no "1e+06" for a whole number."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def flag_names(flags: str) -> set[str]:
    """The names of the flags on a line, without dashes and values."""
    return {word.lstrip("-") for word in _words(flags) if word.startswith("-") and word.lstrip("-")[:1].isalpha()}


def _words(flags: str) -> list[str]:
    """The line cut up as a shell does; `--name=value` are two words."""
    words: list[str] = []
    for word in shlex.split(flags):
        words += word.split("=", 1) if word.startswith("--") else [word]
    return words


def _has_fixed_actions(names: set[str]) -> bool:
    """Whether one example is scored for all classes. VW turns its own --cb_explore into --cb_explore_adf."""
    return "cb_explore_adf" not in names and bool({"fastcb", "cb_force_legacy"} & names)


# The paper gives the grid of the first three. The others' are our choice: three confidence widths for RegCB, three
# rates for epsilon-greedy; AdaCB has SquareCB's gammas and the confidence width that VW gives it.
BUILT_IN = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm("FastCB.L", "--cbify {K} --cb_explore {K} --fastcb", _GAMMAS),
        Algorithm("SquareCB.L", "--cbify {K} --cb_explore {K} --fastcb --fastcb_allocation igw", _GAMMAS),
        Algorithm("SquareCB.S", "--cbify {K} --cb_explore_adf --squarecb", _GAMMAS),
        Algorithm("RegCB.S", "--cbify {K} --cb_explore_adf --regcb", {"mellowness": (0.1, 0.01, 0.001)}),
        Algorithm("AdaCB.S", "--cbify {K} --cb_explore_adf --squarecb --elim", _GAMMAS),
        Algorithm("epsilon-greedy", "--cbify {K} --cb_explore_adf", {"epsilon": (0.02, 0.05, 0.1)}),
        Algorithm("Supervised.L", "--oaa {K} --loss_function logistic --indexing 1"),
        Algorithm("Supervised.S", "--oaa {K} --indexing 1"),
    )
}
