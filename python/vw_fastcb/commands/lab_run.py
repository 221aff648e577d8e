"""`fastcb lab`: runs experiments of the lab, with a live line, and says what was seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from vw_fastcb.commands.terminal import INTERRUPTED, tell
from vw_fastcb.lab import EXPERIMENTS
from vw_fastcb.lab.report import Section, run_all, tells_of, write_page


def print_experiments(as_json: bool) -> int:
    """Prints what there is; returns the exit code."""
    if as_json:
        listed = [{"name": one.name, "shows": one.shows, "paper": one.paper} for one in EXPERIMENTS.values()]
        print(json.dumps(listed, indent=2), flush=True)
        return 0
    table = Table(box=None, pad_edge=False)
    for column in ("name", "what it shows", "in the paper"):
        table.add_column(column, no_wrap=column == "name")
    for one in EXPERIMENTS.values():
        table.add_row(one.name, escape(one.shows), escape(one.paper))
    Console().print(table)
    return 0


def run_experiments(
    names: Sequence[str], out: Path, page: Path, *, seed: int, quick: bool, jobs: int | None, as_json: bool
) -> int:
    """Runs experiments and prints what they found; returns the exit code, 1 where something was not seen."""
    if unknown := [name for name in names if name not in EXPERIMENTS and name != "all"]:
        tell(f"fastcb lab: no experiment is called {unknown[0]!r}. Choose from: {', '.join(EXPERIMENTS)}; or all.")
        return 2
    chosen = list(EXPERIMENTS) if "all" in names else list(dict.fromkeys(names))
    if page.is_dir():
        tell(f"fastcb lab: the page {page} is a folder; expected the name of a file.")
        return 2
    out.mkdir(parents=True, exist_ok=True)
    if not page.parent.is_dir():
        tell(f"fastcb lab: the page {page} is to lie in a folder that exists.")
        return 2
    found: dict[str, Section] = {}
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    try:
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("experiments", total=len(chosen))
            for section in run_all(chosen, out, seed, quick, jobs):
                found[section.name] = section
                progress.update(task, advance=1, description=f"{section.name} done")
    except KeyboardInterrupt:
        tell(f"Stopped. The pictures and tables of {len(found)} of {len(chosen)} experiments are in {out}.")
        return INTERRUPTED
    sections = [found[name] for name in chosen]
    others = [name for name in EXPERIMENTS if name not in chosen and page.is_file() and tells_of(page, name)]
    if others:
        tell(f"{page} tells of {others[0]}, too, so it stays as it is. Another --page gets one of this run alone.")
    else:
        write_page(sections, page, out, seed, quick)
    if as_json:
        print(json.dumps([section.as_json() for section in sections], indent=2))
    else:
        _print(sections, page)
    return 0 if all(section.holds for section in sections) else 1


def _print(sections: Sequence[Section], page: Path) -> None:
    console = Console(highlight=False)
    for section in sections:
        console.print(f"[bold]{escape(section.title)}[/bold]  [dim]{section.name}[/dim]")
        for claim, seen in section.claims.items():
            console.print(f"  {'[green]seen[/green]' if seen else '[red]not seen[/red]'}  {escape(claim)}")
    console.print(f"\nPictures, tables and {escape(str(page))} tell the rest.", soft_wrap=True)
