"""What `fastcb lab` understands: the theory lab."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help=(  # in one piece, because typer keeps the line breaks of a docstring
        "The theory lab: what the FastCB paper proves, made visible.\n\n"
        "Each experiment draws a picture, writes a table, and says in a paragraph what is seen and whether it is what "
        "the theory says. All of them take some minutes."
    ),
)

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")]


@app.command("list", help="List the experiments, and where the paper has them.")
def list_experiments(as_json: Json = False) -> None:
    """Prints the experiments."""
    # Here and below, because `fastcb --help` must not wait for scipy and the plotting library.
    from vw_fastcb.commands.lab_run import print_experiments  # noqa: PLC0415
    from vw_fastcb.commands.terminal import guarded  # noqa: PLC0415

    raise typer.Exit(guarded("lab", lambda: print_experiments(as_json)))


@app.command(help="Run experiments: pictures and tables in a folder, and a page about all of them.")
def run(  # noqa: PLR0917, typer gives them by name
    names: Annotated[list[str], typer.Argument(metavar="NAME...|all", help="Which ones; `fastcb lab list` says.")],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder for the results; made where it is not there.")
    ] = Path("fastcb-lab"),
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write the page.", show_default="DIR/lab.md")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed draws differently.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Small versions, in seconds.")] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Experiments to run at once; the default is one per processor.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Runs experiments."""
    from vw_fastcb.commands.lab_run import run_experiments  # noqa: PLC0415
    from vw_fastcb.commands.terminal import guarded  # noqa: PLC0415

    page = page or out / "lab.md"
    raise typer.Exit(
        guarded("lab", lambda: run_experiments(names, out, page, seed=seed, quick=quick, jobs=jobs, as_json=as_json))
    )
