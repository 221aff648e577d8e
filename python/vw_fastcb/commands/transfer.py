"""`fastcb export` and `fastcb import`: what a journal holds, for others, and a journal of what others have."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import timezone
from pathlib import Path
from typing import Any

from vw_fastcb.commands.terminal import INTERRUPTED, StatusLine, counted, stopping, tell
from vw_fastcb.loop.exporting import STDOUT, Exported, export
from vw_fastcb.loop.importing import Import, Imported, first_model, settings_for
from vw_fastcb.loop.outcomes import position_of
from vw_fastcb.loop.reading import existing_journal
from vw_fastcb.loop.redis.address import without_password
from vw_fastcb.times import time_in

_MOST_SHOWN = 10  # bad lines and dead letters


def run_export(
    path: str,
    *,
    dsjson: Path | None,
    parquet: Path | None,
    model: Path | None,
    since: str | None,
    until: str | None,
    as_json: bool,
) -> int:
    """Writes files from a journal. Returns the exit code."""
    for file in (dsjson, parquet, model):
        if file is not None and file != STDOUT and os.path.realpath(file) == os.path.realpath(path):
            raise ValueError(f"{str(file)!r} is the journal itself; expected the name of another file.")
    with stopping() as stop, StatusLine(as_json) as line:
        journal = existing_journal(path, is_read=True)
        try:
            first = 1 if since is None else _since(since, lambda given: position_of(journal, given, is_time=True))
            last = None if until is None else _until(until, lambda given: position_of(journal, given, is_time=True))

            def watch(done: int, total: int) -> None:
                line.show(f"{done:,} of {total:,}")
                if stop.is_set():
                    raise KeyboardInterrupt

            made = export(journal, dsjson=dsjson, parquet=parquet, model=model, since=first, until=last, watch=watch)
        except KeyboardInterrupt:
            line.say("Stopped. Nothing was written.")
            return INTERRUPTED
        finally:
            journal.close()
    written = {"dsjson": dsjson, "parquet": parquet, "model": model}
    if as_json:
        files = {name: str(file) for name, file in written.items() if file is not None}
        print(
            json.dumps(
                {"journal": without_password(path), **files, **asdict(made), "decisions": dict(made.decisions)},
                indent=2,
            )
        )
    else:
        words = _export_words(made, written)
        tell(words) if dsjson == STDOUT else print(words)
    return 0


def run_backup(path: str, copy: Path, as_json: bool) -> int:
    """Copies a journal as it is at one moment, while others use it. Returns the exit code."""
    if copy.exists():
        raise FileExistsError(f"{str(copy)!r} is there already; give the copy a new name, such as one with the date.")
    with contextlib.closing(existing_journal(path)) as journal:
        journal.copy_to(copy)
    with contextlib.closing(existing_journal(copy)) as made:
        records = made.last()[0]
    if as_json:
        print(json.dumps({"journal": path, "copy": str(copy), "records": records}))
    else:
        print(f"{copy}: {counted(records, 'record')}. To check it: fastcb replay {shlex.quote(str(copy))}")
    return 0


def _export_words(made: Exported, written: Mapping[str, Path | None]) -> str:
    lines = []
    if written["dsjson"] is not None or written["parquet"] is not None:
        said = ", ".join(f"{count:,} {_KINDS[kind]}" for kind, count in sorted(made.decisions.items()))
        lines.append(f"{counted(made.decisions.total(), 'decision')} up to record {made.until:,}: {said or 'none'}.")
    if written["dsjson"] not in (None, STDOUT):
        why = (
            f"the loop left {counted(made.left_out, 'value')} out"
            if made.left_out
            else "the fixed actions become features"
        )
        note = "" if made.is_same_model else f" (a different model: {why})"
        lines.append(
            f"{written['dsjson']}: {counted(made.lines, 'line')}, as they were learned. To learn them with VW{note}:"
        )
        lines.append(f"  vw-fastcb {made.flags} -d {shlex.quote(str(written['dsjson']))}")
    if written["parquet"] is not None:
        lines.append(f"{written['parquet']}: {counted(made.rows, 'row')}, one for each decision.")
    if written["model"] is not None:
        lines.append(f"{written['model']}: {counted(made.events, 'event')} learned, SHA-256 {made.sha256}.")
    if made.unknown:
        lines.append(f"{made.unknown:,} decisions are left out: the settings they were made with are not kept.")
    return "\n".join(lines)


_KINDS = {
    "reward": "learned from rewards",
    "default": "learned as the default",
    "none": "closed without an outcome",
    "pending": "waiting",
    "rejected": "rejected",
    "erased": "erased",
}


def _since(text: str, at: Callable[[int], int]) -> int:
    """The first position that counts."""
    return int(text) if text.isdecimal() else at(_time(text) - 1) + 1


def _until(text: str, at: Callable[[int], int]) -> int:
    """The last position that counts."""
    return int(text) if text.isdecimal() else at(_time(text))


def _time(text: str) -> int:
    try:
        when = time_in(text)
    except ValueError as problem:
        raise ValueError(f"{text!r} is neither a record's number nor a time such as 2024-05-01T12:00.") from problem
    return round((when if when.tzinfo is not None else when.replace(tzinfo=timezone.utc)).timestamp() * 1000)


def run_import(
    path: str,
    *,
    dsjson: Path | None,
    parquet: Path | None,
    model: Path | None,
    settings: Mapping[str, Any],
    stops_at_bad_lines: bool,
    as_json: bool,
) -> int:
    """Makes a journal. Returns the exit code."""
    with stopping() as stop, StatusLine(as_json) as line:

        def watch(what: str, count: int) -> None:
            line.show(f"{count:,} {what}")
            if stop.is_set():
                raise KeyboardInterrupt

        task = Import(path, stops_at_bad_events=stops_at_bad_lines, watch=watch)
        if dsjson is not None and model is None:
            settings = {"actions": None, **settings}
            if "reward_range" not in settings and "cost_range" not in settings:
                raise ValueError(
                    "a log does not say which outcomes are possible: give --reward-range LOW HIGH, where its costs are "
                    "negative rewards, or --cost-range LOW HIGH."
                )
        wanted, content = settings_for(settings, model, parquet)
        if parquet is not None and model is None and (began := first_model(parquet)):
            line.say(
                f"The journal of this table began with a model, SHA-256 {began}, which a table does not hold. To learn "
                "the same as it did, give that model with --model."
            )
        try:
            if dsjson is not None:
                made = task.from_dsjson(dsjson, wanted, content)
            elif parquet is not None:
                made = task.from_parquet(parquet, wanted, content)
            else:
                made = task.from_model(wanted, content)
        except KeyboardInterrupt:
            line.say("Stopped. No journal was made.")
            return INTERRUPTED
    print(json.dumps(_import_summary(path, made), indent=2) if as_json else _import_words(path, made))
    return 0


def _import_summary(path: str, made: Imported) -> dict[str, Any]:
    return {
        "journal": without_password(path),
        **asdict(made),
        "bad_events": [{"line": number, "reason": reason} for number, reason in made.bad_events],
        "dead_letters": [{"position": position, "reason": reason} for position, reason in made.dead_letters],
    }


def _import_words(path: str, made: Imported) -> str:
    lines = [f"{without_password(path)}: {made.decisions:,} decisions, {made.rewards:,} of them with an outcome."]
    kinds = {
        "duplicates": "had the id of an earlier event and are left out",
        "others": "are no decisions, or were erased",
        "samples": "stand for others that the log left out (pdrop); each counts once",
        "bad": "could not be taken:",
    }
    lines += [f"  {getattr(made, name):,} {words}" for name, words in kinds.items() if getattr(made, name)]
    lines += [f"    line {number}: {reason}" for number, reason in made.bad_events[:_MOST_SHOWN]]
    lines += ["    ..."] if made.bad > _MOST_SHOWN else []
    lines.append(
        f"Learned {made.events:,} events, generation {made.generation}, SHA-256 {made.sha256 or '(no model yet)'}."
    )
    if made.dead_letters:
        lines.append(f"{len(made.dead_letters):,} decisions could not be learned:")
        lines += [f"  record {position}: {reason}" for position, reason in made.dead_letters[:_MOST_SHOWN]]
        lines += ["  ..."] if len(made.dead_letters) > _MOST_SHOWN else []
    return "\n".join(lines)
