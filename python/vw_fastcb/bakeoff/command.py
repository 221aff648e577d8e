"""What `fastcb bakeoff` understands: its commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_HELP = (  # in one piece, because typer keeps the line breaks of a docstring
    "Compare contextual-bandit algorithms on many real data sets, as the FastCB paper does.\n\n"
    "Each row of a data set is one round: the algorithm names a class and learns only whether it was right. Every "
    "algorithm plays every set once with every configuration of the grid. Then its best configuration plays fresh "
    "shuffles, and a report is written. The full run takes minutes. Stop it at any time: the same command carries on "
    "where it stopped."
)
_DEFAULT_OUT = Path("fastcb-bakeoff")

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder of the bake-off.")]
Datasets = Annotated[
    list[str] | None,
    typer.Option(
        "--datasets",
        help="Only sets with these names or patterns, such as 'letter,keel/*'. Files need not have their ending.",
    ),
]
Folder = Annotated[
    list[Path] | None,
    typer.Option(
        help="Your own data instead of the built-in sets: a folder of .csv, .arff, .npz, .dat, .vw, .vw.gz or .parquet "
        "files. Repeat the option for more folders.",
    ),
]
OpenML = Annotated[
    str | None,
    typer.Option(
        "--openml",
        metavar="IDS",
        help="Data from OpenML instead of the built-in sets: ids such as '6,32', a file of ids, 'bakeoff' for the "
        "paper's collection, or a suite such as 'OpenML-CC18'. Downloads are kept and reused.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        help="The column to predict in the files of --folder: its name or its position (0 is the first, -1 the last). "
        "The default is a column called class, target or label, or y at either end; failing that, the last."
    ),
]
OpenMLServer = Annotated[
    str | None, typer.Option("--openml-server", metavar="URL", help="A server other than OpenML's own.")
]
BuiltIn = Annotated[bool, typer.Option("--builtin", help="Add the built-in sets to those of --folder or --openml.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")]


@app.callback(invoke_without_command=True, help=_HELP)
def bakeoff(  # noqa: PLR0917, typer gives them by name
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="The folder for the results and the report.")] = _DEFAULT_OUT,
    grid: Annotated[
        str,
        typer.Option(
            help="'paper' (eight algorithms, 6 x 2 values of gamma, 9 step sizes), 'all' (also the greedy rule and the "
            "second-order oracle, which has nothing to tune), 'quick' (all with fewer values), or a TOML or YAML file. "
            "A file can add your own algorithms as lines of VW flags; name one that does not exist to see an example.",
        ),
    ] = "all",
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
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Passes to run at once; the default is one per processor.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed shuffles the rows differently.")] = 0,
    orders: Annotated[
        int,
        typer.Option(
            min=1,
            help="Run the grid on this many orders of the rows and tune on the mean loss: less is left to luck.",
        ),
    ] = 1,
    repeats: Annotated[int, typer.Option(min=0, help="Fresh shuffles of every set with the best configurations.")] = 3,
    shuffles: Annotated[int, typer.Option(min=0, help="Fresh shuffles of the three sets that show most.")] = 10,
    max_rows: Annotated[int | None, typer.Option(min=1, help="At most this many rounds per pass.")] = None,
    backend: Annotated[
        Literal["local", "dask", "ray"], typer.Option(help="Threads of this process, or a Dask or Ray cluster.")
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(help="The address of a running cluster. Without it, Dask or Ray starts --jobs workers here."),
    ] = None,
    with_report: Annotated[bool, typer.Option("--report/--no-report", help="Write the report at the end.")] = True,
    as_json: Json = False,
) -> None:
    """Runs a bake-off, unless a subcommand was given."""
    if context.invoked_subcommand is not None:
        return
    # Here and below, because `fastcb --help` must not wait for pandas and the plotting library.
    from vw_fastcb.bakeoff.selection import Sources  # noqa: PLC0415
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


@app.command("list", help="List the data sets: rows, columns, classes and their shares.")
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
    from vw_fastcb.bakeoff.selection import Sources, print_datasets  # noqa: PLC0415

    raise typer.Exit(
        print_datasets(_words(datasets), Sources(tuple(folder or ()), target, openml, openml_server, builtin), as_json)
    )


@app.command(help="Write the report again from the results, even while the bake-off is still running.")
def report(
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="The folder of the bake-off.")] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="The same, as the run takes it.")] = None,
) -> None:
    """Writes the report."""
    from vw_fastcb.bakeoff.terminal import run_report  # noqa: PLC0415

    if folder is not None and out is not None and folder != out:
        raise typer.BadParameter(f"the folder was given twice, as {folder} and as {out}. Give it once.")
    raise typer.Exit(run_report(folder or out or _DEFAULT_OUT))


ParquetFile = Annotated[Path, typer.Argument(metavar="FILE", help="The Parquet file, such as results.parquet.")]


@app.command("export", help="Write all results of a bake-off into one Parquet file, from which a report can be made.")
def export(file: ParquetFile, out: Out = _DEFAULT_OUT) -> None:
    """Writes the results."""
    from vw_fastcb.bakeoff.terminal import run_export  # noqa: PLC0415

    raise typer.Exit(run_export(file, out))


@app.command("import", help="Make the folder of a bake-off from an exported file, to report on it or to add to it.")
def import_results(file: ParquetFile, out: Out = _DEFAULT_OUT) -> None:
    """Reads the results."""
    from vw_fastcb.bakeoff.terminal import run_import  # noqa: PLC0415

    raise typer.Exit(run_import(file, out))
