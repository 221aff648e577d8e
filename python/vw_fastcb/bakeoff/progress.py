"""How far a bake-off is, in the terminal or in a log."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from vw_fastcb.bakeoff.runner import OnProgress, Progress

_NOTES_SHOWN = 10  # of a set
_SECONDS_BETWEEN_LINES = 30.0


def note_lines(name: str, notes: Sequence[str]) -> Iterator[str]:
    """One line per note; of many only the first."""
    yield from (f"{name}: {note}" for note in notes[:_NOTES_SHOWN])
    if len(notes) > _NOTES_SHOWN:
        yield f"{name}: {len(notes) - _NOTES_SHOWN} more notes, which `fastcb bakeoff list --json` has"


@contextmanager
def shown(log: Console) -> Iterator[OnProgress]:
    """A bar in a terminal; in a file or a pipe, where a bar cannot move, a line now and then. Notes on sets in both."""
    told: set[str] = set()

    def with_notes(show: OnProgress) -> OnProgress:
        def show_all(progress: Progress) -> None:
            for name in sorted(progress.notes.keys() - told):
                told.add(name)
                for line in note_lines(name, progress.notes[name]):
                    log.print(line)
            show(progress)

        return show_all

    if log.is_terminal:
        with _bar(log) as show:
            yield with_notes(show)
    else:
        yield with_notes(_Lines(log))


@contextmanager
def _bar(log: Console) -> Iterator[OnProgress]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        TextColumn("{task.percentage:>3.0f}% {task.fields[sets]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=log, speed_estimate_period=120) as bar:
        tasks = {}

        def show(progress: Progress) -> None:
            if progress.phase not in tasks:
                tasks[progress.phase] = bar.add_task(progress.phase, total=progress.work_total or 1, sets="")
            work = progress.work if progress.work_total else 1
            bar.update(tasks[progress.phase], completed=work, sets=_counts(progress))

        yield show


class _Lines:
    """Prints a line when a phase begins, then about every half minute."""

    def __init__(self, log: Console) -> None:
        self._log = log
        self._phase = ""
        self._started = 0.0
        self._printed = 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.phase != self._phase:
            self._phase, self._started, self._printed = progress.phase, now, now
            self._log.print(f"{progress.phase}: {_to_do(progress)}")
        elif now - self._printed >= _SECONDS_BETWEEN_LINES and progress.work:
            self._printed = now
            done = progress.work / progress.work_total
            left = timedelta(seconds=round((now - self._started) * (1 / done - 1)))
            self._log.print(f"{progress.phase} {done:.0%} {_counts(progress)} left {left}")


def _to_do(progress: Progress) -> str:
    return (
        f"{progress.sets_total:,} sets" if progress.phase == "reading" else f"{progress.passes_total:,} passes to run"
    )


def _counts(progress: Progress) -> str:
    failed = f", {len(progress.failed)} failed" if progress.failed else ""
    passes = "" if progress.phase == "reading" else f" {progress.passes:,} passes"
    return f"{progress.sets}/{progress.sets_total} sets{passes}{failed}"
