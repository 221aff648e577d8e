"""The settings of a loop as options of the commands that make journals."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from vw_fastcb import toml

_PANEL = "Settings of the loop"


def _option(words: str, metavar: str | None = None) -> Any:
    return typer.Option(help=words, metavar=metavar, rich_help_panel=_PANEL, show_default=False)


# In the order in which --help shows them. What is not given is as `Loop.open` has it.
_OPTIONS: dict[str, Any] = {
    "actions": Annotated[
        str | None,
        _option("Their names 'politics,sports', their number, or none where each event brings its own.", "NAMES"),
    ],
    "reward_range": Annotated[tuple[float, float] | None, _option("The lowest and the highest reward.", "LOW HIGH")],
    "cost_range": Annotated[
        tuple[float, float] | None, _option("The lowest and the highest cost, instead of rewards.", "LOW HIGH")
    ],
    "wait": Annotated[str | None, _option("How long a decision waits for its rewards; 10min unless given.", "TIME")],
    "default_reward": Annotated[float | None, _option("The reward to learn for an event that received none.")],
    "default_cost": Annotated[float | None, _option("The same, in a loop of costs.")],
    "aggregation": Annotated[
        Literal["first", "last", "sum", "mean", "min", "max"] | None,
        _option("Which of several rewards counts; the first unless given."),
    ],
    "retired": Annotated[str | None, _option("Actions that are never drawn.", "NAMES")],
    "retention": Annotated[str | None, _option("How long records are kept; for ever unless given.", "TIME")],
    "schema": Annotated[
        Path | None,
        _option("The columns of contexts and actions, with their kinds: a file of TOML or JSON.", "FILE"),
    ],
    "mismatch": Annotated[
        Literal["leave_out", "refuse"] | None,
        _option("A value that does not fit its column is left out of the decision, or refused."),
    ],
    "objective": Annotated[
        Literal["loss", "reward", "both"] | None, _option("Adapt to small losses, to small rewards, or to both.")
    ],
    "allocation": Annotated[Literal["reweighted", "igw"] | None, _option("FastCB's rule, or SquareCB's.")],
    "gamma_scale": Annotated[float | None, _option("gamma = scale * t ** exponent after t events.")],
    "gamma_exponent": Annotated[float | None, _option("See --gamma-scale.")],
    "oracle": Annotated[
        Literal["ensemble", "newton", "gd"] | None,
        _option("Who predicts: several that are weighed, a second-order learner, or VW's gradient descent."),
    ],
    "optimism": Annotated[
        float | None, _option("Costs count so many deviations less than predicted: what is little known is tried.")
    ],
    "learning_rate": Annotated[float | None, _option("The step size of --oracle gd.")],
    "epsilon": Annotated[float | None, _option("Every action gets at least the probability epsilon / A.")],
    "interactions": Annotated[str | None, _option("Namespaces to multiply, such as 'xa,xx'.", "NAMES")],
    "bits": Annotated[int | None, _option("The model has 2 ** bits weights.")],
    "missing": Annotated[Literal["zero", "mark"] | None, _option("What a missing number counts as.")],
    "seed": Annotated[int | None, _option("Of the draws; random unless given.")],
    "vw_args": Annotated[str | None, _option("Further flags of VW.", "FLAGS")],
}


def with_loop_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the settings of a loop as options. It gets those that were given in `settings`."""
    signature = inspect.signature(command, eval_str=True)
    own = [one for one in signature.parameters.values() if one.name != "settings"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in _OPTIONS.items()
    ]

    @functools.wraps(command)
    def with_settings(**given: Any) -> None:
        settings = {name: given.pop(name) for name in _OPTIONS}
        command(**given, settings=_as_given(settings))

    own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
    with_settings.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    with_settings.__annotations__ = {one.name: one.annotation for one in [*own, *added]}
    del with_settings.__wrapped__  # typer would read the signature of what is wrapped
    return with_settings


def _as_given(options: dict[str, Any]) -> dict[str, Any]:
    """What `Loop.open` takes, of those options that were given."""
    given = {name: value for name, value in options.items() if value is not None}
    if "actions" in given:
        given["actions"] = actions_of(given["actions"])
    if "schema" in given:
        try:
            given |= read_schema(given.pop("schema"))
        except (OSError, ValueError) as problem:
            raise typer.BadParameter(str(problem), param_hint="--schema") from problem
    if "interactions" in given:
        given["interactions"] = _names(given["interactions"])
    if "retired" in given:
        has_names = isinstance(given.get("actions"), list)
        given["retired"] = [
            word if has_names or not word.isdecimal() else int(word) for word in _names(given["retired"])
        ]
    return given


def actions_of(text: str) -> list[str] | int | None:
    """Names, a number, or none, as options say them."""
    if text.strip().lower() == "none":
        return None
    return int(text) if text.strip().isdecimal() else _names(text)


def read_schema(path: Path) -> dict[str, Any]:
    """The columns that a file declares: `columns` and `action_columns`, or those of contexts alone."""
    # Here, because `fastcb --help` must not wait for the engine's libraries.
    from vw_fastcb.loop.columns import checked_columns  # noqa: PLC0415

    text = path.read_text(encoding="utf-8")
    is_json = path.suffix.lower() == ".json"
    try:
        declared = json.loads(text) if is_json else toml.loads(text)
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"{path} is not {'JSON' if is_json else 'TOML'}: {problem}.") from problem
    if not isinstance(declared, dict) or not declared:
        raise ValueError(f'{path} declares no columns; expected names and kinds, such as age = "number".')
    both = ("columns", "action_columns")
    is_whole = all(name in both and isinstance(value, (dict, int)) for name, value in declared.items())
    columns = declared if is_whole else {"columns": declared}
    return {name: checked_columns(f"{name} in {path}", value) for name, value in columns.items()}


def _names(text: str) -> list[str]:
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise typer.BadParameter(f"{text!r} has an empty name; expected names such as 'politics,sports'.")
    return words
