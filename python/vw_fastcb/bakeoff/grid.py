"""Which algorithms to run, and which of their configurations: the paper's grid, a quick one, or a file of one's own."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vw_fastcb.bakeoff.algorithms import BUILT_IN, Algorithm, flag_names

_QUICK_STEPS = (0.1, 1.0, 10.0)
_QUICK = {
    "gamma_scale": (10.0, 100.0, 1000.0),
    "gamma_exponent": (0.5,),
    "mellowness": (0.1, 0.001),
    "epsilon": (0.05,),
}

EXAMPLE = """\
steps = [0.01, 0.1, 1]          # of every algorithm that says no other

[algorithms."FastCB.L"]         # a built-in one: what is not said stays as in the paper
gamma_scale = [10, 100, 1000]

[algorithms."bagging"]          # one's own: a line of VW flags, {K} is the number of classes
flags = "--cbify {K} --cb_explore_adf --bag 5"
epsilon = [0.02, 0.1]           # any flag that takes a number, with the values to try
"""


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
    """The grid of a name, `paper` or `quick`, or of a TOML or YAML file."""
    if name == "paper":
        return Grid(name, tuple(BUILT_IN.values()))
    if name == "quick":
        return Grid(name, tuple(_quick(algorithm) for algorithm in BUILT_IN.values()))
    path = Path(name)
    if not path.is_file():
        raise BadGrid(f"'{name}' is neither 'paper' nor 'quick' nor a file. A file looks like this:\n\n{EXAMPLE}")
    return Grid(path.name, tuple(_algorithms(_read(path), path)))


def _quick(algorithm: Algorithm) -> Algorithm:
    values = {name: _QUICK[name] for name in algorithm.parameters}
    return algorithm.with_values(**values, steps=_QUICK_STEPS)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        if path.suffix.lower() in {".yaml", ".yml"}:
            return _read_yaml(path)
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
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
    given = {**steps, **(table or {})}
    values = {key: _values(path, f"{name}: {key}", value) for key, value in given.items() if key != "flags"}
    if "flags" in given:
        algorithm = Algorithm(name, given["flags"])
        taken = _names_in(path, algorithm) & {*values, *(("learning_rate", "l") if "steps" in values else ())}
    elif name in BUILT_IN:
        algorithm = BUILT_IN[name]
        taken = flag_names(algorithm.flags) & set(values)
    else:
        raise BadGrid(f"{path}: {name} is not built in and has no 'flags', a line such as '--cbify {{K}} ...'.")
    if taken:  # VW would go by the flags and ignore the values
        raise BadGrid(
            f"{path}: the flags of {name} set {', '.join(sorted(taken))}, which would have values to try, too ('steps' "
            "are those of learning_rate). Say it in one place."
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
    if what.endswith(": steps") and min(given) <= 0:
        raise BadGrid(f"{path}: {what} must be above 0, not {min(given)}.")
    return tuple(dict.fromkeys(float(value) for value in given))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
