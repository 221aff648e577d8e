"""`fastcb replay`: whether a journal is what it says."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from vw_fastcb.commands.terminal import counted
from vw_fastcb.loop.reading import existing_journal
from vw_fastcb.loop.replay import Replay, replay


def run_replay(path: str, as_json: bool) -> int:
    """Replays a journal and says what was found. The exit code is 1 where something is not as the journal says."""
    journal = existing_journal(path, is_read=True)
    try:
        bar = Progress(
            TextColumn("replaying"),
            BarColumn(),
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} records"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=as_json or not sys.stderr.isatty(),
        )
        with bar:
            task = bar.add_task("", total=None)
            found = replay(journal, lambda done, total: bar.update(task, completed=done, total=total))
    finally:
        journal.close()
    if as_json:
        print(json.dumps({**asdict(found), "agrees": found.agrees}))
    else:
        print("\n".join(_sentences(found)))
    return 0 if found.agrees else 1


def _sentences(found: Replay) -> list[str]:
    start = "the first record" if found.start == 1 else f"the checkpoint after record {found.start:,}"
    records = found.records + (found.start == 1)  # with the settings, from which it began
    lines = [
        f"Replayed {counted(records, 'record')} from {start} on: {counted(found.learned, 'event')} learned.",
        *(
            f"Records {first:,} to {last:,} could not be replayed: features of an event among them were erased."
            for first, last in found.gaps
        ),
        f"Probabilities: {counted(found.decisions, 'decision')} computed again, "
        f"{found.exact:,} of them compared bit for bit"
        + (
            f", the others within 1e-5 (largest difference {found.largest:.1e})"
            if found.exact < found.decisions
            else ""
        )
        + (
            f"; {found.unchecked:,} could not be (imported, erased, or made before the start)."
            if found.unchecked
            else "."
        ),
        f"Models: {counted(found.generations, 'checkpoint')} compared. In the end: {found.sha256 or 'nothing learned'}",
    ]
    if found.differences:
        return [*lines, "The first difference:", *(f"  {one}" for one in found.differences)]
    if not found.agrees:
        return [*lines, "Nothing could be checked."]
    return [
        *lines,
        f"Everything{' that could be checked' if found.gaps or found.unchecked else ''} is as the journal says.",
    ]
