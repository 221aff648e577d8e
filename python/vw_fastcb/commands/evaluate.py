"""`fastcb evaluate`: policies judged on a log, and the log itself checked."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from vw_fastcb.commands.terminal import INTERRUPTED, counted, stopping, tell
from vw_fastcb.evaluation.checks import FALSE_ALARMS, Checked, check
from vw_fastcb.evaluation.judging import Judged, evaluate
from vw_fastcb.evaluation.logs import JournalLog, LinesLog, Log, LogError, open_log
from vw_fastcb.evaluation.results import Estimate, Interval, unsettled_words

_T = TypeVar("_T")
_MUCH_SILENCE = 0.05  # share of decisions without an outcome


def run_evaluate(
    path: str,
    policies: Sequence[str],
    *,
    reward_range: tuple[float, float] | None,
    cost_range: tuple[float, float] | None,
    level: float,
    method: str,
    control: str | None,
    picture: Path | None,
    as_json: bool,
) -> int:
    """Judges policies. Returns the exit code: 1 where one of them could not be judged."""
    if method == "dr" and control is None:
        raise ValueError(
            "--method dr needs --control: flags for a model of costs, such as --control '--interactions xa'."
        )
    with _opened(path, reward_range, cost_range) as log:
        found = _watched(log, as_json, lambda watch: evaluate(log, policies, level=level, control=control, watch=watch))
    if found is None:
        return INTERRUPTED
    _need_events(log)
    if as_json:
        print(json.dumps(_for_programs(log, found, method), indent=2))
    else:
        _print(log, found, method, level)
    if picture is not None:
        from vw_fastcb.commands.evaluate_picture import save_picture  # noqa: PLC0415, it needs the plotting library

        try:
            save_picture(log, found, method, picture)
        except OSError as problem:
            raise OSError(f"the picture {str(picture)!r} could not be written: {problem.strerror}.") from problem
        if not as_json:
            print(f"The picture is in {picture}.")
    return 0 if all(one.refused is None for one in found) else 1


def run_check(
    path: str,
    *,
    reward_range: tuple[float, float] | None,
    cost_range: tuple[float, float] | None,
    as_json: bool,
) -> int:
    """Checks a log. Returns the exit code: 1 where something is wrong."""
    with _opened(path, reward_range, cost_range) as log:
        found = _watched(log, as_json, lambda watch: check(log, watch=watch))
    if found is None:
        return INTERRUPTED
    _need_events(log)
    if as_json:
        print(json.dumps({"log": log.name, **found.to_dict()}, indent=2))
    else:
        _print_check(log, found)
    return 0 if found.is_sound else 1


@contextlib.contextmanager
def _opened(
    path: str, reward_range: tuple[float, float] | None, cost_range: tuple[float, float] | None
) -> Iterator[LinesLog]:
    log = open_log(path, reward_range=reward_range, cost_range=cost_range)
    try:
        yield log
    finally:
        if isinstance(log, JournalLog):
            log.close()


def _watched(log: Log, is_quiet: bool, run: Callable[[Callable[[Log], None]], _T]) -> _T | None:
    """Runs with a bar; None where Ctrl-C has ended it."""
    bar = Progress(
        TextColumn("reading {task.fields[events]:,} events"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=is_quiet or not sys.stderr.isatty(),
    )
    with stopping() as stop, bar:
        task = bar.add_task("", total=1.0, events=0)

        def watch(log: Log) -> None:
            bar.update(task, completed=log.done, events=log.counted.events)
            if stop.is_set():
                raise KeyboardInterrupt

        try:
            return run(watch)
        except KeyboardInterrupt:
            tell("Stopped. Nothing was written.")
            return None


def _need_events(log: Log) -> None:
    counts = log.counted
    if counts.events:
        return
    if counts.bad:
        number, reason = counts.reasons[0]
        raise LogError(f"none of the lines of {log.name!r} can be taken. Line {number}: {reason}")
    if counts.unsettled:
        raise LogError(
            f"the first decision of {log.name!r} still waits for its outcome, and those after it that are known "
            "already are no fair sample. Ask again when its wait is over."
        )
    raise LogError(f"{log.name!r} has no decision with an outcome ({counts.skipped + counts.others:,} without).")


# What is shown


def shown(log: Log, value: float) -> float:
    """A value as people think of it: a cost where the log has costs."""
    return log.sign * value + 0.0


def ends(log: Log, interval: Interval) -> tuple[float, float]:
    """The ends of an interval, in the same way."""
    low, high = sorted((shown(log, interval.low), shown(log, interval.high)))
    return low, high


def percent(share: float) -> str:
    """A level with all its digits: 0.999 is no 100%."""
    return f"{100 * share:.10g}%"


def noun(log: Log) -> str:
    """What the log counts."""
    return "reward" if log.sign > 0 else "cost"


def asymptotic(estimate: Estimate) -> str:
    """The asymptotic interval that is shown."""
    return "cressie_read" if "cressie_read" in estimate.intervals else "gaussian"


_NAMES = {"cressie_read": "Cressie-Read", "gaussian": "Gaussian"}


def _print(log: Log, found: Sequence[Judged], method: str, level: float) -> None:
    console = Console(highlight=False, emoji=False)
    judged = [one for one in found if one.refused is None]
    other = "gaussian" if method == "dr" else "cressie_read"
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("policy", min_width=12, overflow="fold")
    titles = (
        noun(log),
        f"valid {percent(level)}\ninterval",
        f"asymptotic\n({_NAMES[other]})",
        "effective\nsample size",
    )
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)
    for one in judged:
        estimate = one.estimates[method]
        table.add_row(
            escape(one.label),
            "?" if math.isnan(estimate.value) else f"{shown(log, estimate.value):.4f}",
            "{:.4f} to {:.4f}".format(*ends(log, estimate.interval)),
            "{:.4f} to {:.4f}".format(*ends(log, estimate.intervals[other])),
            f"{estimate.effective_n:,.0f}",
        )
    console.print(escape(f"{log.name}: {counted(log.counted.events, 'event')}.{_silence(log)}"), soft_wrap=True)
    if judged:
        console.print(table)
    for line in (*_notes(log, found, method), *_comparisons(log, judged, method, level)):
        console.print(escape(line), soft_wrap=True)


def _silence(log: Log) -> str:
    """How many decisions have no outcome; with so many, what the others earned may be far from what all did."""
    without = log.counted.skipped + log.counted.others - log.counted.unused
    if not without:
        return ""
    share = without / (without + log.counted.events)
    words = f" {counted(without, 'decision')} without an outcome ({share:.0%}): not counted."
    if share < _MUCH_SILENCE:
        return words
    return (
        f"{words} All that follows is about the others only. If silence has a meaning, such as 'no click', log it as "
        f"an outcome (in a journal: --default-{noun(log)} 0)."
    )


def _notes(log: Log, found: Sequence[Judged], method: str) -> Iterator[str]:
    for one in found:
        if one.refused is not None:
            yield f"Not judged: {one.label}: {one.refused}"
            continue
        estimate = one.estimates[method]
        if estimate.refused is not None:
            yield f"{one.label}: the log cannot tell. {estimate.refused[0].upper()}{estimate.refused[1:]}"
        for warning in estimate.warnings:
            yield f"{one.label}: {warning}"
    counts = log.counted
    if counts.repeated:
        yield (
            f"{counted(counts.repeated, 'event')} with the id of another one. If they are the same events twice, they "
            "say nothing new, and all intervals are too narrow: remove them."
        )
    if counts.bad:
        number, reason = counts.reasons[0]
        yield f"{counted(counts.bad, 'line')} could not be taken. Line {number}: {reason}"
    if counts.unsettled:
        yield unsettled_words(counts.unsettled)


def _comparisons(log: Log, judged: Sequence[Judged], method: str, level: float) -> Iterator[str]:
    """Which policies are better than what was logged, so that both intervals say so."""
    logged = next((one for one in judged if one.policy.endswith("logged")), None)
    if logged is None:
        return
    base = logged.estimates[method].interval
    both = f"their {percent(level)} intervals do not overlap"
    if level > 0.5:
        both += f", and both hold with {percent(2 * level - 1)} confidence or more"
    for one in judged:
        interval = one.estimates[method].interval
        if interval.low > base.high:
            yield f"{one.label} is better than what was logged: {both}."
        elif interval.high < base.low:
            yield f"{one.label} is worse than what was logged: {both}."


def _for_programs(log: Log, found: Sequence[Judged], method: str) -> dict[str, Any]:
    """Values are rewards, also where the log has costs: minus the cost."""
    counts = log.counted
    return {
        "log": log.name,
        "reward_range": list(log.reward_range),
        "is_minus_cost": log.sign < 0,
        "method": method,
        "events": counts.events,
        "without_outcome": counts.skipped + counts.others,
        "unsettled": counts.unsettled,
        "bad_lines": counts.bad,
        "repeated_ids": counts.repeated,
        "policies": [one.to_dict() for one in found],
    }


def _print_check(log: Log, found: Checked) -> None:
    console = Console(highlight=False, emoji=False)
    console.print(escape(f"{log.name}: {counted(found.events, 'event')}."))
    if found.calibration:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for title in ("probability", "played", "expected"):
            table.add_column(title, justify="right")
        for low, high, played, expected in found.calibration:
            table.add_row(f"{low:g} to {high:g}", f"{played:,}", f"{expected:,.1f}")
        console.print(table)
    for one in found.findings:
        console.print(
            f"{'[bold red]wrong[/]' if one.is_problem else '[green]ok[/]   '} {escape(one.words)}", soft_wrap=True
        )
    console.print(
        escape(
            "Nothing is wrong with this log, as far as it can tell."
            if found.is_sound
            else f"Something is wrong with this log. (At most {FALSE_ALARMS:.0%} of correct logs are flagged.)"
        ),
        soft_wrap=True,
    )
