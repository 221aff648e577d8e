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
        return " ".join(f"{name}={value:g}" for name, value in self.parameters)

    @property
    def copies(self) -> bool:
        """Whether each class has a copy of the row's features (see `layout`)."""
        return "--cb_explore_adf" in shlex.split(self.flags)

    def command_line(self, classes: int, bits: int) -> list[str]:
        """The flags to give to `vw-fastcb` for data of so many classes."""
        words = shlex.split(self.flags.replace("{K}", str(classes)))
        parameters = [word for name, value in self.parameters for word in (f"--{name}", f"{value:g}")]
        size = [] if _sets_bits(words) else ["--bit_precision", str(bits)]
        return [*words, *parameters, "--learning_rate", f"{self.step:g}", *size]

    def engine_flags(self, classes: int, bits: int) -> list[str]:
        """The flags for the engine, which gives the same results sooner."""
        words = self.command_line(classes, bits)
        names = _flag_names(words)
        if "cbify" not in names or not names <= _SAME_WITHOUT_CBIFY | {"cbify"}:
            return words
        at = words.index("--cbify")
        if not {"cb_explore", "cb_explore_adf"} & names:
            words[at] = "--cb_explore"  # as cbify would say
        else:
            del words[at : at + 2]
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


def _flag_names(words: list[str]) -> set[str]:
    return {word.lstrip("-").partition("=")[0] for word in words if word.startswith("--")} | {
        word for word in words if len(word) > 1 and word[0] == "-" and word[1].isalpha()
    }


def _sets_bits(words: list[str]) -> bool:
    return bool({"-b", "bit_precision"} & _flag_names(words))


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
