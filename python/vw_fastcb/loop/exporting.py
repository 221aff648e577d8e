"""Writes what a journal holds for others: a log for VW, a table, a model."""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from vw_fastcb.engine.flags import Flags
from vw_fastcb.learner.tuning.tuning import LEFT_TO_VW
from vw_fastcb.loop.dsjson import line_of
from vw_fastcb.loop.files import new_file
from vw_fastcb.loop.journal import Journal, LoopError
from vw_fastcb.loop.model import sha256
from vw_fastcb.loop.outcomes import Outcome, Outcomes, learner_at
from vw_fastcb.loop.records import Record
from vw_fastcb.loop.settings import LoopSettings

STDOUT = Path("-")
FORMAT = 1  # of our tables
METADATA = b"vw_fastcb"  # the key in a Parquet file under which the settings are

_ROWS_AT_ONCE = 10_000


@dataclass
class Exported:
    """What was written.

    Attributes:
        until: The last record that counted.
        decisions: How many decisions there are, by what came of them.
        lines: Lines of dsjson written.
        rows: Rows of Parquet written.
        unknown: Decisions that were left out because retention has dropped their settings.
        flags: What `vw-fastcb` takes to learn the lines.
        is_same_model: Whether that is then the model of the loop. It is not where actions are fixed, which become
            features, and where the loop has left values out, because lines have features as they were sent.
        left_out: How many values the loop has left out, up to its newest checkpoint.
        sha256: Of the model written.
        events: How many events it has learned.
    """

    until: int
    decisions: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    rows: int = 0
    unknown: int = 0
    flags: str = ""
    is_same_model: bool = True
    left_out: int = 0
    sha256: str = ""
    events: int = 0


def export(
    journal: Journal,
    *,
    dsjson: Path | None = None,
    parquet: Path | None = None,
    model: Path | None = None,
    since: int = 1,
    until: int | None = None,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> Exported:
    """Writes files, each under a temporary name first: they are there as a whole or as they were.

    Args:
        journal: The journal, which others may go on using.
        dsjson: A log for VW, `-` for standard output: a line for each decision that was learned, or whose window has
            closed, in the order in which they were learned. What was not learned says `_skipLearn`.
        parquet: A table of all decisions.
        model: The model.
        since: The first decision that is written.
        until: The last record that counts; what comes later is as if it had not happened.
        watch: Told how many records are done, and of how many.

    Returns:
        What was written.

    Raises:
        LoopError: There is no model yet, or what is needed is not kept any more.
    """
    last = journal.last()[0]
    done = Exported(last if until is None else min(until, last))
    with contextlib.ExitStack() as files:
        if dsjson is not None or parquet is not None:
            outcomes = Outcomes(journal, done.until)
            lines = files.enter_context(_text_file(dsjson)) if dsjson is not None else None
            table = files.enter_context(_table(parquet, outcomes)) if parquet is not None else None
            kept: dict[int, Outcome] = {}
            for outcome in outcomes:
                if outcome.position < since:
                    continue
                done.decisions[outcome.kind] += 1
                if lines is not None:
                    done.lines += _write_line(lines, outcomes, outcome)
                if table is not None:
                    outcome.observed = []
                    kept[outcome.position] = outcome
                if done.decisions.total() % 1000 == 0:
                    watch(outcome.position, done.until)
            if table is not None:
                for rows in _batches(outcomes, kept):
                    table(rows)
                    done.rows += len(rows)
                    watch(done.rows, len(kept))
            done.unknown, done.flags = outcomes.unknown, flags_for(outcomes.settings)
            checkpoints = journal.checkpoints()
            done.left_out = sum(checkpoints[-1].summary.get("left_out", {}).values()) if checkpoints else 0
            done.is_same_model = outcomes.settings.model.n_actions is None and not done.left_out
        if model is not None:
            draft = files.enter_context(new_file(model))
            learner = learner_at(journal, done.until)
            content = learner.model.to_bytes()
            if not content:
                raise LoopError("there is no model yet: nothing was decided up to there. Expected a later record.")
            draft.write_bytes(content)
            done.sha256, done.events = sha256(content), learner.model.events
    return done


def flags_for(settings: LoopSettings) -> str:
    """What `vw-fastcb` takes to learn the exported lines."""
    words = settings.model.arguments()
    if settings.model.n_actions is not None:
        words = ["--cb_explore_adf", "--interactions", "xa", *words[2:]]  # in the place of --cb_explore K
    return shlex.join(["--dsjson", *Flags.read(words).without(LEFT_TO_VW)])


def _write_line(file: IO[bytes], outcomes: Outcomes, outcome: Outcome) -> int:
    """Writes the line of a decision, if it has one; returns how many were written."""
    if outcome.kind in ("pending", "erased"):
        return 0
    decision = outcomes.journal.decision(outcome.position)
    if (decision.body or {}).get("erased"):  # since this began
        return 0
    line = line_of(decision, outcome, outcomes.settings, outcomes.left_out(decision))
    file.write(line.encode() + b"\n")
    return 1


@contextlib.contextmanager
def _text_file(path: Path) -> Iterator[IO[bytes]]:
    if path == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with new_file(path) as draft, draft.open("wb") as file:
        yield file


# Parquet


@contextlib.contextmanager
def _table(path: Path, outcomes: Outcomes) -> Iterator[Any]:
    """A writer of rows."""
    import pyarrow as pa  # noqa: PLC0415, an extra brings it, and nothing else needs it
    import pyarrow.parquet as pq  # noqa: PLC0415

    when = pa.timestamp("ms", tz="UTC")
    columns = {
        "event_id": pa.string(),
        "position": pa.int64(),
        "time": when,
        "context": pa.string(),
        "action_features": pa.string(),
        "action_ids": pa.list_(pa.string()),
        "excluded": pa.list_(pa.int64()),
        "action": pa.int64(),
        "baseline": pa.int64(),
        "name": pa.string(),
        "probability": pa.float64(),
        "pmf": pa.list_(pa.float64()),
        "generation": pa.int64(),
        "applied": pa.int64(),
        "outcome": pa.float64(),
        "outcome_kind": pa.string(),
        "reward_count": pa.int64(),
        "learned_position": pa.int64(),
        "learned_time": when,
    }
    first = next(outcomes.journal.read())
    about = {
        "format": FORMAT,
        "settings": outcomes.settings.to_json(),
        "model": (first.body or {}).get("model", "") if first.kind == "settings" else "",
    }
    schema = pa.schema(list(columns.items()), metadata={METADATA: json.dumps(about).encode()})
    with new_file(path) as draft, pq.ParquetWriter(draft, schema, compression="zstd") as writer:
        yield lambda rows: writer.write_table(pa.Table.from_pylist(rows, schema))


def _batches(outcomes: Outcomes, kept: dict[int, Outcome]) -> Iterator[list[dict[str, Any]]]:
    """The rows of the decisions, in their order."""
    rows: list[dict[str, Any]] = []
    names = outcomes.settings.model.action_names
    for record in outcomes.journal.read(min(kept, default=1) - 1, outcomes.until):
        if record.position in kept:
            rows.append(_row(record, kept[record.position], names) | {"excluded": outcomes.left_out(record) or None})
        if len(rows) == _ROWS_AT_ONCE:
            yield rows
            rows = []
    yield rows


def _row(record: Record, outcome: Outcome, names: Sequence[str] | None) -> dict[str, Any]:
    body = record.body or {}
    is_erased = outcome.kind == "erased" or bool(body.get("erased"))
    table, ids = body.get("action_features"), body.get("action_ids")
    action = body["action"]
    names = ids or names
    return {
        "event_id": record.event_id,
        "position": record.position,
        "time": record.time,
        "context": None if is_erased else _json(body["context"]),
        "action_features": None if is_erased or table is None else _json(table),
        "action_ids": ids,
        "action": action,
        "baseline": body.get("baseline"),
        "name": None if names is None else names[action],
        "probability": body["pmf"][action],
        "pmf": body["pmf"],
        "generation": None if body.get("imported") else body.get("generation"),
        "applied": body.get("applied"),
        "outcome": outcome.value,
        "outcome_kind": "erased" if is_erased else outcome.kind,
        "reward_count": outcome.rewards,
        "learned_position": outcome.learned_position,
        "learned_time": outcome.learned_time,
    }


_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
