"""The algorithms of the bake-off, and the grid of their configurations: the paper's, a quick one, or your own file."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vw_fastcb import toml
from vw_fastcb.engine.flags import Flags

NO_STEP = 0.0
"""In place of a step size, here and in the results, for an algorithm that has none to set."""

STEPS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_GAMMAS = {"gamma_scale": (10.0, 50.0, 100.0, 400.0, 700.0, 1000.0), "gamma_exponent": (0.25, 0.5)}

_QUICK_STEPS = (0.1, 1.0, 10.0)
_QUICK = {
    "gamma_scale": (10.0, 100.0, 1000.0),
    "gamma_exponent": (0.5,),
    "mellowness": (0.1, 0.001),
    "epsilon": (0.05,),
}

EXAMPLE = """\
steps = [0.01, 0.1, 1]          # the step sizes of every algorithm that names no others

[algorithms."FastCB.L"]         # a built-in algorithm: what you leave out stays as in the paper
gamma_scale = [10, 100, 1000]

[algorithms."FastCB.N"]         # this one has no step: nothing to choose

[algorithms."bagging"]          # your own: a line of VW flags, {K} is the number of classes
flags = "--cbify {K} --cb_explore_adf --bag 5"
epsilon = [0.02, 0.1]           # any flag that takes a number, with the values to try
"""

_NO_FLAGS = frozenset({"flags", "steps"})  # the names in an algorithm's table that are not flags of VW

# Flags whose meaning does not depend on cbify standing above them. With these alone the engine plays cbify's part.
_SAME_WITHOUT_CBIFY = frozenset(
    {
        "cb_explore",
        "cb_explore_adf",
        "fastcb",
        "fastcb_allocation",
        "fastcb_oracle",
        "fastcb_capacity",
        "fastcb_memory",
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
    """One algorithm with its parameters and its step size, `NO_STEP` where it has none."""

    algorithm: str
    flags: str = field(repr=False)
    parameters: tuple[tuple[str, float], ...]
    step: float
    sees_labels: bool = False

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
        if self.sees_labels:
            raise ValueError(
                f"{self.algorithm} learns the cost of every class from the label, which no command line of VW can do. "
                "Play it with vw_fastcb.bakeoff.passes.Playable.losses."
            )
        return self._line(classes, bits)

    def _line(self, classes: int, bits: int) -> list[str]:
        parameters = [word for name, value in self.parameters for word in (f"--{name}", number(value))]
        step = [] if self.step == NO_STEP else ["--learning_rate", number(self.step)]
        size = [] if "bit_precision" in flag_names(self.flags) else ["--bit_precision", str(bits)]
        words = _words(self.flags.replace("{K}", str(classes)))
        return [*words, *parameters, *step, *size]

    def engine_flags(self, classes: int, bits: int) -> list[str]:
        """The flags for the engine, which gives the same results sooner."""
        words = self._line(classes, bits)
        names = flag_names(words)
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
    """A name, VW's flags with {K} for the number of classes, and the values to try of each parameter.

    Without `steps`, VW is given no step size. One that `sees_labels` is a bandit's learner that is told the cost of
    every class.
    """

    name: str
    flags: str
    parameters: Mapping[str, Sequence[float]] = field(default_factory=dict)
    steps: Sequence[float] = STEPS
    sees_labels: bool = False

    @property
    def description(self) -> str:
        """The flags, and behind semicolons what is tried."""
        tried = {**self.parameters, **({"step": self.steps} if self.steps else {})}
        told = ["every label seen"] if self.sees_labels else []
        return "; ".join([self.flags, *told, *(f"{name} in {', '.join(map(number, tried[name]))}" for name in tried)])

    def configurations(self) -> list[Configuration]:
        """Every combination, in a fixed order."""
        combinations = [
            tuple(zip(self.parameters, values, strict=True)) for values in itertools.product(*self.parameters.values())
        ]
        return [
            Configuration(self.name, self.flags, chosen, step, self.sees_labels)
            for chosen in combinations
            for step in self.steps or (NO_STEP,)
        ]

    def with_values(self, **changes: Sequence[float]) -> Algorithm:
        """The same with other values for some parameters; `steps` are the step sizes."""
        steps = changes.pop("steps", self.steps)
        return replace(self, parameters={**self.parameters, **changes}, steps=steps)


def number(value: float) -> str:
    """As short as can be, and exact; VW takes no "1e+06" for a whole number."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def flag_names(flags: str | Sequence[str]) -> set[str]:
    """The long names of the flags on a line, without dashes and values."""
    return Flags.read(flags).names


def _words(flags: str) -> list[str]:
    """The line cut up as a shell does; `--name=value` are two words."""
    given = Flags.read(flags)
    return [*(word for flag in given.flags for word in (flag.dashed, *flag.values)), *given.others]


def _has_fixed_actions(names: set[str]) -> bool:
    """Whether one example is scored for all classes. VW turns its own --cb_explore into --cb_explore_adf."""
    return "cb_explore_adf" not in names and bool({"fastcb", "cb_force_legacy"} & names)


def _needs_no_step(flags: str) -> bool:
    """Whether the flags ask for the second-order oracle, which refuses a step."""
    return Flags.read(flags).value("fastcb_oracle") == "newton"


# Greedy is FastCB with a gamma for which no gap is small: only actions that are predicted to cost exactly the same, as
# all are in the first round, are drawn by lot.
_FASTCB = "--cbify {K} --cb_explore {K} --fastcb"
_NEWTON = "--fastcb_oracle newton"
_GREEDY = "--gamma_scale 1e12 --gamma_exponent 0"

# The paper gives the grid of the first three. The others' are our choice: three confidence widths for RegCB, three
# rates for epsilon-greedy; AdaCB has SquareCB's gammas and the confidence width that VW gives it.
PAPER = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm("FastCB.L", _FASTCB, _GAMMAS),
        Algorithm("SquareCB.L", f"{_FASTCB} --fastcb_allocation igw", _GAMMAS),
        Algorithm("SquareCB.S", "--cbify {K} --cb_explore_adf --squarecb", _GAMMAS),
        Algorithm("RegCB.S", "--cbify {K} --cb_explore_adf --regcb", {"mellowness": (0.1, 0.01, 0.001)}),
        Algorithm("AdaCB.S", "--cbify {K} --cb_explore_adf --squarecb --elim", _GAMMAS),
        Algorithm("epsilon-greedy", "--cbify {K} --cb_explore_adf", {"epsilon": (0.02, 0.05, 0.1)}),
        Algorithm("Supervised.L", "--oaa {K} --loss_function logistic --indexing 1"),
        Algorithm("Supervised.S", "--oaa {K} --indexing 1"),
    )
}

# The second-order oracle runs as it is shipped: one configuration, nothing to tune.
BUILT_IN = PAPER | {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm("FastCB.N", f"{_FASTCB} {_NEWTON}", steps=()),
        Algorithm("SquareCB.N", f"{_FASTCB} {_NEWTON} --fastcb_allocation igw", steps=()),
        Algorithm("greedy.N", f"{_FASTCB} {_NEWTON} {_GREEDY}", steps=()),
        Algorithm("greedy.L", f"{_FASTCB} {_GREEDY}"),
        Algorithm("Supervised.N", f"--cb_explore {{K}} --fastcb {_NEWTON}", steps=(), sees_labels=True),
    )
}


class BadGrid(ValueError):
    """What is wrong with the grid that was asked for, and what was expected."""


@dataclass(frozen=True)
class Grid:
    """A name and the algorithms with the values to try."""

    name: str
    algorithms: tuple[Algorithm, ...]

    def only(self, names: Sequence[str]) -> Grid:
        """The same with some of the algorithms."""
        known = {algorithm.name: algorithm for algorithm in self.algorithms}
        unknown = [name for name in names if name not in known]
        if unknown:
            called = ", ".join(name or "''" for name in unknown)
            raise BadGrid(f"the grid has no algorithm called {called}; it has {', '.join(known)}.")
        return replace(self, algorithms=tuple(known[name] for name in dict.fromkeys(names)))


def find_grid(name: str) -> Grid:
    """The grid of a name, `all`, `paper` or `quick`, or of a TOML or YAML file."""
    if name == "all":
        return Grid(name, tuple(BUILT_IN.values()))
    if name == "paper":
        return Grid(name, tuple(PAPER.values()))
    if name == "quick":
        return Grid(name, tuple(_quick(algorithm) for algorithm in BUILT_IN.values()))
    path = Path(name)
    if not path.is_file():
        raise BadGrid(
            f"'{name}' is neither 'all' nor 'paper' nor 'quick' nor a file. A file looks like this:\n\n{EXAMPLE}"
        )
    return Grid(path.name, tuple(_algorithms(_read(path), path)))


def _quick(algorithm: Algorithm) -> Algorithm:
    values = {name: _QUICK[name] for name in algorithm.parameters}
    return algorithm.with_values(**values, steps=_QUICK_STEPS if algorithm.steps else ())


def _read(path: Path) -> Mapping[str, Any]:
    try:
        if path.suffix.lower() in {".yaml", ".yml"}:
            return _read_yaml(path)
        return toml.loads(path.read_text(encoding="utf-8"))
    except (toml.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise BadGrid(f"{path} is not a TOML file: {problem}") from problem


def _read_yaml(path: Path) -> Mapping[str, Any]:
    try:
        import yaml  # noqa: PLC0415, optional
    except ImportError as problem:
        raise BadGrid(f"to read {path}: pip install pyyaml, or write it as TOML.") from problem
    try:
        text = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        raise BadGrid(f"{path} is not a YAML file: {problem}") from problem
    return text if isinstance(text, dict) else {}


def _algorithms(text: Mapping[str, Any], path: Path) -> list[Algorithm]:
    unknown = set(text) - {"steps", "algorithms"}
    tables = text.get("algorithms")
    if unknown or not isinstance(tables, dict) or not tables:
        raise BadGrid(
            f"{path} must have the table 'algorithms' and may have 'steps'"
            + (f", but has {', '.join(sorted(map(str, unknown)))}" if unknown else "")
            + f". A file looks like this:\n\n{EXAMPLE}"
        )
    steps = {"steps": text["steps"]} if "steps" in text else {}
    return [_algorithm(path, name, steps, table) for name, table in tables.items()]


def _algorithm(path: Path, name: object, steps: Mapping[str, Any], table: object) -> Algorithm:
    if not isinstance(name, str):
        raise BadGrid(f"{path}: the name of an algorithm must be text, not {name!r}. Put it in quotes.")
    if not isinstance(table, dict | None) or not all(isinstance(key, str) for key in table or ()):
        raise BadGrid(f"{path}: {name} must be a table of flags with the values to try, not {table!r}.")
    own = table or {}
    if "flags" in own:
        algorithm = Algorithm(name, own["flags"])
        names = _names_in(path, algorithm)
        algorithm = replace(algorithm, steps=() if _needs_no_step(algorithm.flags) else STEPS)
    elif name in BUILT_IN:
        algorithm = BUILT_IN[name]
        names = flag_names(algorithm.flags)
    else:
        raise BadGrid(f"{path}: {name} is not built in and has no 'flags', a line such as '--cbify {{K}} ...'.")
    if not algorithm.steps and own.get("steps"):
        raise BadGrid(f"{path}: {name} has no step size to set (--fastcb_oracle newton). Leave its 'steps' out.")
    given = {**(steps if algorithm.steps else {}), **own}
    values = {key: _values(path, f"{name}: {key}", value) for key, value in given.items() if key not in _NO_FLAGS}
    if "steps" in given:
        values["steps"] = _steps(path, name, given["steps"], may_be_none="steps" in own)
    taken = names & {*values, *(("learning_rate",) if values.get("steps") else ())}
    if taken:  # VW would go by the flags and ignore the values
        raise BadGrid(
            f"{path}: the flags of {name} set {', '.join(sorted(taken))}, which also has values to try ('steps' "
            "are those of learning_rate). Set it in one place."
        )
    return algorithm.with_values(**values)


def _names_in(path: Path, algorithm: Algorithm) -> set[str]:
    flags = algorithm.flags
    if not isinstance(flags, str) or "{K}" not in flags:
        raise BadGrid(
            f"{path}: the flags of {algorithm.name} must be a line with {{K}} for the number of classes, not {flags!r}."
        )
    try:
        return flag_names(flags)
    except ValueError as problem:
        raise BadGrid(f"{path}: the flags of {algorithm.name} cannot be read: {problem} in {flags!r}.") from problem


def _values(path: Path, what: str, values: Any) -> tuple[float, ...]:
    given = values if isinstance(values, list) else [values]
    if not given or not all(_is_number(value) for value in given):
        raise BadGrid(f"{path}: {what} must be a list of numbers, not {values!r}.")
    return tuple(dict.fromkeys(float(value) for value in given))


def _steps(path: Path, name: str, given: Any, may_be_none: bool) -> tuple[float, ...]:
    """Step sizes. With an empty list of its own an algorithm runs with the flags as they are."""
    if given == [] and may_be_none:
        return ()
    steps = _values(path, f"{name}: steps", given)
    if min(steps) <= 0:
        raise BadGrid(f"{path}: {name}: steps must be above 0, not {number(min(steps))}.")
    return steps


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
