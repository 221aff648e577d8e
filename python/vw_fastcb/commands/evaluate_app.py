"""What `fastcb evaluate` understands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

_HELP = (  # in one piece, because typer keeps the line breaks of a docstring
    "Judge policies on a log before they go live, or check the log itself.\n\n"
    "LOG is a journal of the loop, or a dsjson file of a decision service. --policy, which may be repeated, is logged "
    "(what was done), constant:NAME (always one action, by its number from 0 or a text among its features), model:FILE "
    "(a saved model of VW or FastCB), or flags of VW, such as '--cb_explore_adf --fastcb --interactions xa': such a "
    "policy learns on the log, and every event is judged before it is learned. A label may come first: "
    "'new=--cb_explore_adf --fastcb'.\n\n"
    "The table has an estimate for each, a valid interval (it holds at every n, also where the log's policy "
    "has learned), and a narrower, asymptotic one. --check looks at the log instead: whether its probabilities "
    "agree with what was played, ids, missing outcomes, drift."
)


def evaluate(  # noqa: PLR0917, typer gives them by name
    log: Annotated[str, typer.Argument(help="A journal of the loop, or a dsjson file.")],
    policy: Annotated[
        list[str] | None, typer.Option(help="A policy to judge; may be repeated.", show_default="logged")
    ] = None,
    reward_range: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="LOW HIGH", help="Of a dsjson file: the rewards there can be. They are its costs, negated."
        ),
    ] = None,
    cost_range: Annotated[
        tuple[float, float] | None, typer.Option(metavar="LOW HIGH", help="Of a dsjson file: the costs there can be.")
    ] = None,
    method: Annotated[
        Literal["snips", "ips", "dr"],
        typer.Option(help="The estimate: self-normalised, unbiased, or doubly robust (with --control)."),
    ] = "snips",
    control: Annotated[
        str | None,
        typer.Option(metavar="FLAGS", help="Flags of VW for a model of costs that makes doubly robust estimates."),
    ] = None,
    level: Annotated[float, typer.Option(help="The level of the intervals.")] = 0.95,
    picture: Annotated[Path | None, typer.Option(help="Where to draw the result, a PNG.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Check the log itself instead.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")] = False,
) -> None:
    """Judges policies, or checks a log."""
    # Here, because `fastcb --help` must not wait for it.
    from vw_fastcb.commands.evaluate import run_check, run_evaluate  # noqa: PLC0415
    from vw_fastcb.commands.terminal import guarded  # noqa: PLC0415

    if not 0 < level < 1:
        raise typer.BadParameter(f"it is {level}; expected a number between 0 and 1.", param_hint="--level")
    if picture is not None and (picture.suffix.lower() != ".png" or not picture.parent.is_dir()):
        raise typer.BadParameter(f"{picture} must end in .png and lie in a folder that exists.", param_hint="--picture")
    ranges = {"reward_range": reward_range, "cost_range": cost_range}
    if check:
        if policy or control or picture:
            raise typer.BadParameter("--check looks at the log alone; leave --policy, --control and --picture out.")
        raise typer.Exit(guarded("evaluate", lambda: run_check(log, **ranges, as_json=as_json)))
    raise typer.Exit(
        guarded(
            "evaluate",
            lambda: run_evaluate(
                log,
                policy or ["logged"],
                **ranges,
                level=level,
                method=method,
                control=control,
                picture=picture,
                as_json=as_json,
            ),
        )
    )


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("evaluate", help=_HELP)(evaluate)
