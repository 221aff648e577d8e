"""What `fastcb serve`, `fastcb learn`, `fastcb export` and `fastcb import` understand."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from vw_fastcb.commands.loop_settings import with_loop_settings

_T = TypeVar("_T")

_LEARN_HELP = (  # in one piece, because typer keeps the line breaks of a docstring
    "Learn: the learner of a journal alone, or a model from logs.\n\n"
    "fastcb learn JOURNAL brings the learner to the end of the journal, makes a checkpoint and ends. With --follow it "
    "stays: it learns what other processes write, closes the windows whose wait is over, and makes checkpoints. While "
    "another process learns it stands by, and it takes over when that one ends. Stop it with Ctrl-C or SIGTERM.\n\n"
    "fastcb learn LOG.dsjson ... --model model.vw learns logs of a decision service, every event once, into a model "
    "of VW (--cb_explore_adf --fastcb). The same command goes on with what is new, also after a crash. Folders are "
    "searched for .dsjson and .json files, which are taken in the order of their names."
)
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")]


def learn(  # noqa: PLR0917, typer gives them by name
    sources: Annotated[
        list[str], typer.Argument(metavar="JOURNAL | LOG...", help="A journal; or logs and folders of logs.")
    ],
    follow: Annotated[bool, typer.Option("--follow", help="Stay, and learn what comes.")] = False,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Take learning over from a process that still does it.")
    ] = False,
    model: Annotated[Path | None, typer.Option(help="Learn logs, into this file. Its state is beside it.")] = None,
    flags: Annotated[
        str | None, typer.Option(help="Further flags of VW for a new model, such as '--interactions ua -l 0.1'.")
    ] = None,
    start_from: Annotated[Path | None, typer.Option(help="A model to begin with, instead of a new one.")] = None,
    stop_on_bad_lines: Annotated[
        bool, typer.Option("--stop-on-bad-lines", help="End at a line that cannot be learned; else they are counted.")
    ] = False,
    checkpoint_every: Annotated[
        str, typer.Option(metavar="TIME", help="Time between two checkpoints, such as 10s or 1min.")
    ] = "10s",
    as_json: Json = False,
) -> None:
    """Learns a journal or logs."""
    # Here and below, because `fastcb --help` must not wait for the engine's libraries.
    from vw_fastcb.commands.learn import learn_journal, learn_logs  # noqa: PLC0415
    from vw_fastcb.commands.terminal import guarded  # noqa: PLC0415
    from vw_fastcb.loop.settings import milliseconds  # noqa: PLC0415

    every = _checked(lambda: milliseconds("--checkpoint-every", checkpoint_every))
    if model is None:
        _refuse_log_options(sources, flags, start_from, stop_on_bad_lines)
        raise typer.Exit(
            guarded(
                "learn",
                lambda: learn_journal(sources[0], follow=follow, take_over=take_over, every=every, as_json=as_json),
            )
        )
    if take_over:
        raise typer.BadParameter("--take-over is for journals; leave it out where logs are learned.")
    raise typer.Exit(
        guarded(
            "learn",
            lambda: learn_logs(
                sources,
                model,
                flags=flags,
                start_from=start_from,
                follow=follow,
                stops_at_bad_lines=stop_on_bad_lines,
                every=every,
                as_json=as_json,
            ),
        )
    )


_EXPORT_HELP = (
    "Write what a journal holds for others: a log for VW, a table, a model. The journal may be in use.\n\n"
    "--dsjson writes a line for each decision that was learned, or whose window has closed, in the order in which they "
    "were learned; - is standard output. VW learns the model of the loop from it, except where actions are fixed: "
    "they become features. --parquet writes a row for each decision. --model writes the model after the last record, "
    "for FastCB.load and vw-fastcb -i.\n\n"
    "--since and --until take the number of a record, or a time such as 2024-05-01T12:00 (UTC)."
)


def export(  # noqa: PLR0917, typer gives them by name
    journal: Annotated[str, typer.Argument(help="A journal of the loop.")],
    dsjson: Annotated[Path | None, typer.Option(help="A log for VW; - for standard output.", metavar="FILE")] = None,
    parquet: Annotated[Path | None, typer.Option(help="A table of all decisions.", metavar="FILE")] = None,
    model: Annotated[Path | None, typer.Option(help="The model.", metavar="FILE")] = None,
    since: Annotated[str | None, typer.Option(help="The first decision to write.", metavar="RECORD|TIME")] = None,
    until: Annotated[
        str | None,
        typer.Option(help="The last record that counts: as if the journal ended there.", metavar="RECORD|TIME"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Writes files from a journal."""
    from vw_fastcb.commands.terminal import guarded  # noqa: PLC0415
    from vw_fastcb.commands.transfer import run_export  # noqa: PLC0415

    if dsjson is None and parquet is None and model is None:
        raise typer.BadParameter("nothing to write was named. Give --dsjson, --parquet or --model, or several.")
    if Path("-") in (parquet, model):
        raise typer.BadParameter("only --dsjson can be -, standard output; name a file for the others.")
    files = [os.path.realpath(one) for one in (dsjson, parquet, model) if one is not None]
    if len(set(files)) < len(files):
        raise typer.BadParameter("two files have the same name; expected a name of its own for each.")
    if dsjson == Path("-") and as_json:
        raise typer.BadParameter("--dsjson - and --json would both print; leave one out.")
    raise typer.Exit(
        guarded(
            "export",
            lambda: run_export(
                journal, dsjson=dsjson, parquet=parquet, model=model, since=since, until=until, as_json=as_json
            ),
        )
    )


def backup(
    journal: Annotated[str, typer.Argument(help="A journal of the loop, a file.")],
    copy: Annotated[Path, typer.Argument(help="The copy, a new file.")],
    as_json: Json = False,
) -> None:
    """Copies a journal."""
    from vw_fastcb.commands.terminal import guarded  # noqa: PLC0415
    from vw_fastcb.commands.transfer import run_backup  # noqa: PLC0415

    raise typer.Exit(guarded("backup", lambda: run_backup(journal, copy, as_json)))


_IMPORT_HELP = (
    "Make a new journal from somebody's log, from a table of fastcb export, or from a model.\n\n"
    "Every event of a log becomes a decision, with the action and the probabilities that were logged, and its outcome "
    "a reward. Then everything is learned. --model alone begins a journal with a model of FastCB.save or vw-fastcb -f; "
    "with a log, it learns the log on top. A table brings its settings along; the options change them."
)


@with_loop_settings
def import_journal(  # noqa: PLR0917, typer gives them by name
    journal: Annotated[str, typer.Argument(help="The new journal.")],
    settings: dict[str, Any],
    dsjson: Annotated[Path | None, typer.Option(help="A log of a decision service.", metavar="FILE")] = None,
    parquet: Annotated[Path | None, typer.Option(help="A table of decisions.", metavar="FILE")] = None,
    model: Annotated[Path | None, typer.Option(help="A model to begin with.", metavar="FILE")] = None,
    stop_on_bad_lines: Annotated[
        bool, typer.Option("--stop-on-bad-lines", help="Give up at an event that cannot be taken.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Makes a journal."""
    from vw_fastcb.commands.terminal import guarded  # noqa: PLC0415
    from vw_fastcb.commands.transfer import run_import  # noqa: PLC0415

    if dsjson is not None and parquet is not None:
        raise typer.BadParameter("--dsjson and --parquet were both given; expected one of them.")
    if dsjson is None and parquet is None and model is None:
        raise typer.BadParameter("nothing to read was named. Give --dsjson, --parquet or --model.")
    raise typer.Exit(
        guarded(
            "import",
            lambda: run_import(
                journal,
                dsjson=dsjson,
                parquet=parquet,
                model=model,
                settings=settings,
                stops_at_bad_lines=stop_on_bad_lines,
                as_json=as_json,
            ),
        )
    )


_SERVE_HELP = (
    "Serve a loop over HTTP: POST /decide, /reward and /activate; GET /status, /model, /metrics, /health/live, "
    "/health/ready and /openapi.json; a live page for browsers; and the calls of Azure Personalizer's clients.\n\n"
    "A journal that is not there is made from the settings, or from a TOML file with settings of the same names; its "
    "rewards are from 0 to 1 unless --reward-range or --cost-range says otherwise. What is acknowledged is on disk. "
    "The process learns unless another one does; with --no-learn it only decides.\n\n"
    "Ctrl-C or SIGTERM shut it down cleanly: it finishes pending requests and saves a checkpoint. A second signal ends "
    "it at once."
)


@with_loop_settings
def serve(  # noqa: PLR0917, typer gives them by name
    journal: Annotated[str, typer.Argument(help="The journal; made if it is not there.")],
    settings: dict[str, Any],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for a free one.")] = 8080,
    token_file: Annotated[
        Path | None, typer.Option(help="A file with the token that clients must send; several lines, several tokens.")
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Let everybody ask, also where other machines can reach the address.")
    ] = False,
    tls_cert: Annotated[Path | None, typer.Option(help="A certificate (PEM), to serve HTTPS.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key (PEM).")] = None,
    no_learn: Annotated[bool, typer.Option("--no-learn", help="Only decide; another process learns.")] = False,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Take learning over from a process that still does it.")
    ] = False,
    settings_file: Annotated[
        Path | None,
        typer.Option("--settings", help="A TOML file with settings of the loop. Command-line options take precedence."),
    ] = None,
    change: Annotated[
        bool, typer.Option("--change", help="Replace the journal's settings by those that differ.")
    ] = False,
    relearn: Annotated[
        bool | None,
        typer.Option(
            "--relearn/--afresh",
            help="With --change, if the new settings invalidate the model: relearn the journal, or start empty.",
            show_default=False,
        ),
    ] = None,
    checkpoint_every: Annotated[
        str, typer.Option(metavar="TIME", help="Time between two checkpoints, such as 10s or 1min.")
    ] = "10s",
    keep_generations: Annotated[int, typer.Option(min=1, help="How many checkpoints are kept, to go back to.")] = 5,
    limit_concurrency: Annotated[
        int, typer.Option(min=1, help="Concurrent requests; more are refused with 503.")
    ] = 256,
    max_connections: Annotated[int, typer.Option(min=1, help="Connections; more are refused with 503.")] = 1024,
    max_body: Annotated[int, typer.Option(min=1, metavar="BYTES", help="The longest body of a request.")] = 1_048_576,
    max_header: Annotated[int, typer.Option(min=256, metavar="BYTES", help="The longest headers.")] = 32_768,
    request_timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="How long a request may take to arrive.")
    ] = 20.0,
    grace: Annotated[
        float,
        typer.Option(min=1, max=86_400, metavar="SECONDS", help="How long requests have to end when the server stops."),
    ] = 10.0,
    access_log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Log each request as a line of JSON; - for stdout.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print start, warnings and shutdown as JSON lines.")] = False,
) -> None:
    """Serves a journal."""
    from vw_fastcb.commands.serve import read_settings, run_serve  # noqa: PLC0415
    from vw_fastcb.commands.terminal import guarded  # noqa: PLC0415
    from vw_fastcb.serve.connections import Bounds  # noqa: PLC0415
    from vw_fastcb.serve.server import Options, read_tokens  # noqa: PLC0415

    if (tls_cert is None) != (tls_key is None):
        raise typer.BadParameter("--tls-cert and --tls-key belong together; expected both, or none.")
    if no_learn and take_over:
        raise typer.BadParameter("--no-learn and --take-over were both given; expected one of them.")
    if relearn is not None and not change:
        raise typer.BadParameter("--relearn and --afresh say what a change of settings does; add --change.")
    if token_file is not None and no_token:
        raise typer.BadParameter("--token-file and --no-token were both given; expected one of them.")

    def run() -> int:
        options = Options(
            host=host,
            port=port,
            tokens=[] if token_file is None else read_tokens(token_file),
            allow_no_token=no_token,
            most_bytes=max_body,
            most_requests=limit_concurrency,
            grace=grace,
            bounds=Bounds(max_connections, max_header, request_timeout, request_timeout),
            certificate=tls_cert,
            key=tls_key,
        )
        return run_serve(
            journal,
            {**({} if settings_file is None else read_settings(settings_file)), **settings},
            options,
            access_log=access_log,
            as_json=as_json,
            learn=not no_learn,
            take_over=take_over,
            change=change,
            relearn=relearn,
            checkpoint_every=checkpoint_every,
            keep_generations=keep_generations,
        )

    raise typer.Exit(guarded("serve", run))


_WATCH_HELP = (
    "Look at a journal in a browser: reward over time beside what each action alone would have earned, shares of "
    "actions, exploration, how rewards find their decisions, and what drove a decision.\n\n"
    "It is the page of `fastcb serve`, which need not run. It changes nothing, and listens on this machine alone. "
    "While something writes to the journal, the page follows it. Ctrl-C ends it."
)


def watch(
    journal: Annotated[str, typer.Argument(help="A journal of the loop.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for a free one.")] = 8081,
    opens: Annotated[bool, typer.Option("--open", help="Open the page in this machine's browser.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print start and warnings as JSON lines.")] = False,
) -> None:
    """Shows a journal."""
    from vw_fastcb.commands.serve import run_watch  # noqa: PLC0415
    from vw_fastcb.commands.terminal import guarded  # noqa: PLC0415

    raise typer.Exit(guarded("watch", lambda: run_watch(journal, port, opens=opens, as_json=as_json)))


column = typer.Typer(no_args_is_help=True, help="The columns of a journal: their kinds.")


@column.command("set")
def set_column(
    journal: Annotated[str, typer.Argument(help="A journal of the loop, which may be in use.")],
    name: Annotated[str, typer.Argument(help="The flat name of the column, such as user.age.")],
    kind: Annotated[str, typer.Argument(metavar="number|text", help="What its values are from now on.")],
    of_actions: Annotated[
        bool, typer.Option("--of-actions", help="A column of the features of actions, and not of contexts.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Set the kind of a column, where the first value of that name was of the wrong kind.

    The model is kept. Servers that run take it over at once; those that only decide, with the next checkpoint.
    """
    from vw_fastcb.commands.column import run_set  # noqa: PLC0415
    from vw_fastcb.commands.terminal import guarded  # noqa: PLC0415

    raise typer.Exit(guarded("column", lambda: run_set(journal, name, kind, of_actions=of_actions, as_json=as_json)))


clock = typer.Typer(no_args_is_help=True, help="The time of a journal.")


@clock.command("mend")
def mend_clock(
    journal: Annotated[str, typer.Argument(help="A journal of the loop, which may be in use.")],
    as_json: Json = False,
) -> None:
    """Take a journal's time back to this machine's clock, after a wrong clock has written to it.

    First stop the process whose clock is wrong. What waits for rewards goes on waiting for as long as it would have;
    what was closed too early stays closed. Servers that run go on.
    """
    from vw_fastcb.commands.clock import run_mend  # noqa: PLC0415
    from vw_fastcb.commands.terminal import guarded  # noqa: PLC0415

    raise typer.Exit(guarded("clock", lambda: run_mend(journal, as_json=as_json)))


def _refuse_log_options(sources: list[str], flags: str | None, start_from: Path | None, stops: bool) -> None:
    """Raises where logs seem to be meant, and no model was named for them."""
    looks_like_logs = len(sources) > 1 or os.path.isdir(sources[0]) or sources[0].endswith((".dsjson", ".json"))
    if looks_like_logs:
        raise typer.BadParameter(
            f"{sources[0]} looks like a log. To learn logs, add --model and the name of a model; a journal is one "
            "file, given alone."
        )
    given = {"--flags": flags, "--start-from": start_from, "--stop-on-bad-lines": stops or None}
    for name, value in given.items():
        if value is not None:
            raise typer.BadParameter(f"{name} is for logs; to learn logs, add --model. A journal has its own settings.")


def _checked(run: Callable[[], _T]) -> _T:
    try:
        return run()
    except (TypeError, ValueError) as problem:
        raise typer.BadParameter(str(problem)) from problem


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("serve", help=_SERVE_HELP)(serve)
    app.command("watch", help=_WATCH_HELP)(watch)
    app.command("learn", help=_LEARN_HELP)(learn)
    app.command("export", help=_EXPORT_HELP)(export)
    app.add_typer(column, name="column")
    app.add_typer(clock, name="clock")
    app.command("backup", help="Copy a journal as it is at one moment, while it is in use.")(backup)
    app.command("import", help=_IMPORT_HELP)(import_journal)
