"""What `fastcb bakeoff` understands: its commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_HELP = (  # in one piece, because typer keeps the line breaks of a docstring
    "Compare contextual-bandit algorithms on many real data sets, as the FastCB paper does.\n\n"
    "Each row of a data set is one round: the algorithm names a class and hears only whether it was right. Every "
    "algorithm runs once over every set with every configuration of the grid; then its best configuration runs on "
    "fresh shuffles; then a report is written. The whole takes minutes. It can be stopped at any time: the same "
    "command goes on where it was."
)
_DEFAULT_OUT = Path("fastcb-bakeoff")

Datasets = Annotated[
    list[str] | None,
    typer.Option(
        "--datasets",
        help="Only sets of these names or patterns, such as 'letter,keel/*'; files also without their ending.",
    ),
]
Folder = Annotated[
    list[Path] | None,
    typer.Option(
        help="Data of your own instead of the built-in sets: a folder of .csv, .arff, .npz, .dat, .vw, .vw.gz or "
        ".parquet files. Can be given many times.",
    ),
]
OpenML = Annotated[
    str | None,
    typer.Option(
        "--openml",
        metavar="IDS",
        help="Data from OpenML instead of the built-in sets: ids, such as '6,32', a file of ids, 'bakeoff' for the "
        "collection of the paper, or a suite such as 'OpenML-CC18'. What was fetched is kept and not asked for again.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        help="The column to predict in the files of --folder: its name, or its place (0 the first, -1 the last). By "
        "default one called class, target or label, or y at either end, else the last."
    ),
]
OpenMLServer = Annotated[
    str | None, typer.Option("--openml-server", metavar="URL", help="Another server than OpenML's own.")
]
BuiltIn = Annotated[bool, typer.Option("--builtin", help="The built-in sets too, beside --folder or --openml.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")]


@app.callback(invoke_without_command=True, help=_HELP)
def bakeoff(  # noqa: PLR0917, typer gives them by name
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="The folder for results and report.")] = _DEFAULT_OUT,
    grid: Annotated[
        str,
        typer.Option(
            help="'paper' (6 x 2 values of gamma, 9 step sizes), 'quick', or a TOML or YAML file, which can also add "
            "algorithms of your own as lines of VW flags (docs/bakeoff.md has an example, and so has the error for a "
            "file that is not there).",
        ),
    ] = "paper",
    algorithms: Annotated[
        list[str] | None,
        typer.Option("--algorithms", help="Only these of the grid, such as 'FastCB.L,SquareCB.S'."),
    ] = None,
    datasets: Datasets = None,
    folder: Folder = None,
    target: Target = None,
    openml: OpenML = None,
    openml_server: OpenMLServer = None,
    builtin: BuiltIn = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Passes at a time; by default one a processor.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed gives other orders of the rows.")] = 0,
    orders: Annotated[
        int,
        typer.Option(
            min=1,
            help="Orders of the rows on which the grid runs; losses are means. More than one leaves less to luck.",
        ),
    ] = 1,
    repeats: Annotated[int, typer.Option(min=0, help="Fresh shuffles of every set with the best configurations.")] = 3,
    shuffles: Annotated[int, typer.Option(min=0, help="Fresh shuffles of the three sets that show most.")] = 10,
    max_rows: Annotated[int | None, typer.Option(min=1, help="At most this many rounds a pass.")] = None,
    backend: Annotated[
        Literal["local", "dask", "ray"], typer.Option(help="Threads of this process, or a Dask or Ray cluster.")
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(help="Of a running cluster; otherwise Dask or Ray start --jobs workers on this machine."),
    ] = None,
    with_report: Annotated[bool, typer.Option("--report/--no-report", help="Write the report at the end.")] = True,
    as_json: Json = False,
) -> None:
    """Runs a bake-off, unless a subcommand was given."""
    if context.invoked_subcommand is not None:
        return
    # Here and below, because `fastcb --help` must not wait for pandas and the plotting library.
    from vw_fastcb.bakeoff.chosen import Sources  # noqa: PLC0415
    from vw_fastcb.bakeoff.terminal import Request, run_bakeoff  # noqa: PLC0415

    request = Request(
        out=out,
        grid=grid,
        algorithms=_words(algorithms),
        datasets=_words(datasets),
        sources=Sources(tuple(folder or ()), target, openml, openml_server, builtin),
        jobs=jobs,
        seed=seed,
        orders=orders,
        repeats=repeats,
        shuffles=shuffles,
        max_rows=max_rows,
        backend=backend,
        address=address,
        with_report=with_report,
        as_json=as_json,
    )
    raise typer.Exit(run_bakeoff(request))


def _words(given: list[str] | None) -> tuple[str, ...]:
    """An option that was given once with commas or many times. Nothing at all stays, to be refused."""
    return tuple(word.strip() for one in given or () for word in one.split(",") if word.strip() or not one.strip())


@app.command("list", help="Show the data sets there are: rows, columns, classes and their shares.")
def list_datasets(  # noqa: PLR0917, as above
    datasets: Datasets = None,
    folder: Folder = None,
    target: Target = None,
    openml: OpenML = None,
    openml_server: OpenMLServer = None,
    builtin: BuiltIn = False,
    as_json: Json = False,
) -> None:
    """Prints the data sets."""
    from vw_fastcb.bakeoff.chosen import Sources  # noqa: PLC0415
    from vw_fastcb.bakeoff.listing import print_datasets  # noqa: PLC0415

    raise typer.Exit(
        print_datasets(_words(datasets), Sources(tuple(folder or ()), target, openml, openml_server, builtin), as_json)
    )


@app.command(help="Write the report of a bake-off again from its results, also while it still runs.")
def report(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="The folder of the bake-off.")] = _DEFAULT_OUT,
) -> None:
    """Writes the report."""
    from vw_fastcb.bakeoff.terminal import run_report  # noqa: PLC0415

    raise typer.Exit(run_report(folder))
