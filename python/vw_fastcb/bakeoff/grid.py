"""Which algorithms to run, and which of their configurations: the paper's grid, a quick one, or a file of one's own."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vw_fastcb.bakeoff.algorithms import BUILT_IN, Algorithm

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
            raise BadGrid(f"the grid has no algorithm called {', '.join(unknown)}; it has {', '.join(known)}.")
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
            + (f", but has {', '.join(sorted(unknown))}" if unknown else "")
            + f". A file looks like this:\n\n{EXAMPLE}"
        )
    steps = {"steps": text["steps"]} if "steps" in text else {}
    return [_algorithm(path, name, {**steps, **(table or {})}) for name, table in tables.items()]


def _algorithm(path: Path, name: str, table: Mapping[str, Any]) -> Algorithm:
    values = {key: _values(path, f"{name}: {key}", value) for key, value in table.items() if key != "flags"}
    if "flags" not in table:
        if name not in BUILT_IN:
            raise BadGrid(f"{path}: {name} is not built in and has no 'flags', a line such as '--cbify {{K}} ...'.")
        return BUILT_IN[name].with_values(**values)
    flags = table["flags"]
    if not isinstance(flags, str) or "{K}" not in flags:
        raise BadGrid(
            f"{path}: the flags of {name} must be a line with {{K}} for the number of classes, not {flags!r}."
        )
    return Algorithm(name, flags).with_values(**values)


def _values(path: Path, what: str, values: Any) -> tuple[float, ...]:
    given = values if isinstance(values, list) else [values]
    if not given or any(isinstance(value, bool) or not isinstance(value, int | float) for value in given):
        raise BadGrid(f"{path}: {what} must be a list of numbers, not {values!r}.")
    return tuple(dict.fromkeys(float(value) for value in given))
