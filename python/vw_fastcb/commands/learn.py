"""`fastcb learn`: the learner of a journal alone, or a model from logs."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vw_fastcb.commands.terminal import INTERRUPTED, StatusLine, counted, stopping, tell
from vw_fastcb.loop.journal import Journal, JournalUnreachable, Lease, LoopError
from vw_fastcb.loop.log_learning import ENDINGS, BadLine, LogLearner, files_of
from vw_fastcb.loop.reading import existing_journal, watched
from vw_fastcb.loop.redis.address import without_password
from vw_fastcb.loop.worker import Options, Worker

_LOOKS_APART = 0.5  # seconds between two looks at growing logs, and at the state of a loop
_MOST_SHOWN = 10  # bad lines and dead letters
_MOSTLY_BAD = (
    "fastcb learn: most lines could not be learned. Where they are rewards, which a log writes as negative costs, say "
    "so: --flags '--cb_min_cost -1 --cb_max_cost 0'. To begin again, remove {model} and {model}.state."
)


# A journal


def learn_journal(path: str, *, follow: bool, take_over: bool, every: int, as_json: bool) -> int:
    """Brings the learner of a journal to its end, or stays and goes on. Returns the exit code."""
    with stopping() as stop, StatusLine(as_json) as line:
        journal, shown = existing_journal(path), without_password(path)
        held = journal.lease()
        if held.is_live and not follow and not take_over:
            journal.close()
            tell(f"fastcb learn: {_held(held, shown)} Wait, stop it, or take over with --take-over.")
            return 1
        before = _progress(journal)
        last = journal.last()[0]

        is_starting = True

        def watch(position: int) -> None:
            if position % 500 == 0:
                line.show(f"record {position:,} of {max(last, position):,}")
                if is_starting and stop.is_set():
                    raise KeyboardInterrupt

        options = Options(
            decides=False,
            takes_over=take_over,
            checkpoint_every=every,
            writes_ticks=follow,
            has_upkeep=follow,
        )
        worker = Worker(watched(journal, watch), options)
        try:
            worker.start()
        except KeyboardInterrupt:
            journal.close()  # nothing was written, and there is nothing to save
            line.say("Stopped. Nothing is lost: the same command goes on.")
            return 0 if follow else INTERRUPTED
        is_starting = False
        try:
            if follow:
                _stay(worker, stop, line, shown, as_json)
            elif worker.is_learner:
                worker.checkpoint()
            else:
                tell(f"fastcb learn: {_held(journal.lease(), shown)} Wait, stop it, or take over with --take-over.")
                return 1
            is_learner, problem = worker.is_learner, worker.problem
        finally:
            worker.close()
        if problem is not None:
            raise problem
    summary = _journal_summary(path, before, "learner" if is_learner else "standby")
    print(json.dumps(summary, indent=None if follow else 2) if as_json else _journal_words(summary))
    return 0


def _stay(worker: Worker, stop: threading.Event, line: StatusLine, shown: str, as_json: bool) -> None:
    """Tells how it goes until it is stopped."""
    said: dict[str, Any] = {}
    while not stop.is_set() and worker.problem is None:
        try:
            status = _status(worker)
            words = (
                f"Learning {shown}." if worker.is_learner else f"{_held(worker.journal.lease(), shown)} Standing by."
            )
            line.show(_status_words(status))
        except JournalUnreachable as problem:  # it may take hours until Redis is back; the worker waits as well
            status = {"role": "waiting", "problem": str(problem)}
            words = f"{problem} Waiting until it is back."
        if status["role"] != said.get("role"):
            line.say(words)
        if as_json and status != said:
            print(json.dumps(status), flush=True)
        said = status
        stop.wait(_LOOKS_APART)


def _status(worker: Worker) -> dict[str, Any]:
    numbers = worker.numbers()
    return {
        "role": "learner" if worker.is_learner else "standby",
        "position": worker.journal.last()[0],
        **{name: numbers[name] for name in ("applied", "generation", "learned", "open", "early")},
    }


def _status_words(status: dict[str, Any]) -> str:
    return (
        f"{status['role']}: record {status['applied']:,} of {status['position']:,}, "
        f"{counted(status['learned'], 'event')} learned, {status['open']:,} waiting, "
        f"generation {status['generation']:,}"
    )


def _held(lease: Lease, shown: str) -> str:
    return f"process {lease.holder.partition('/')[0]} learns {shown}."


def _progress(journal: Journal) -> dict[str, Any]:
    checkpoints = journal.checkpoints()
    if not checkpoints:
        return {"position": 0, "learned": 0}
    counts = checkpoints[-1].summary["counts"]
    return {"position": checkpoints[-1].position, "learned": counts["learned"] + counts["learned_defaults"]}


def _journal_summary(path: str, before: dict[str, Any], role: str) -> dict[str, Any]:
    journal = existing_journal(path)
    try:
        newest = journal.checkpoints()[-1:]
        letters = journal.dead_letters()
        after = _progress(journal)
        return {
            "journal": without_password(path),
            "role": role,
            "position": journal.last()[0],
            "records_read": after["position"] - before["position"],
            "events_learned": after["learned"] - before["learned"],
            "events": newest[0].events if newest else 0,
            "generation": newest[0].generation if newest else 0,
            "sha256": newest[0].sha256 if newest else "",
            "counts": newest[0].summary["counts"] if newest else {},
            "dead_letters": [asdict(letter) for letter in letters],
        }
    finally:
        journal.close()


def _journal_words(summary: dict[str, Any]) -> str:
    letters = summary["dead_letters"]
    lines = [
        f"Read {counted(summary['records_read'], 'record')}, up to record {summary['position']:,}; learned "
        f"{counted(summary['events_learned'], 'event')}.",
        f"Generation {summary['generation']:,}, {counted(summary['events'], 'event')} in the model, SHA-256 "
        f"{summary['sha256'] or '(no model yet)'}.",
    ]
    if letters:
        lines.append(f"{counted(len(letters), 'event')} could not be learned:")
        lines += [f"  record {one['position']}: {one['reason']}" for one in letters[:_MOST_SHOWN]]
        lines += ["  ..."] if len(letters) > _MOST_SHOWN else []
    return "\n".join(lines)


# Logs


def learn_logs(
    logs: Sequence[str],
    model: Path,
    *,
    flags: str | None,
    start_from: Path | None,
    follow: bool,
    stops_at_bad_lines: bool,
    every: int,
    as_json: bool,
) -> int:
    """Learns logs into a model, each event once. Returns the exit code."""
    with stopping() as stop, StatusLine(as_json) as line:
        if not files_of(logs, missing_ok=follow) and not follow:
            raise LoopError(f"there is no file that ends in {' or '.join(ENDINGS)} in {', '.join(logs)}.")
        code = 0
        with LogLearner(model, flags, start_from, every / 1000, stops_at_bad_lines) as learner:
            told = 0

            def watch() -> None:
                nonlocal told
                for path, number, reason in learner.new_bad_lines[told:_MOST_SHOWN]:
                    line.say(f"{path}, line {number}: {reason}")
                told = len(learner.new_bad_lines)
                line.show(_line_words(learner))

            try:
                learner.learn(logs, stop, watch, missing_ok=follow)
                while follow and not stop.is_set():
                    stop.wait(_LOOKS_APART)
                    learner.learn(logs, stop, watch, missing_ok=True)
                    learner.commit_if_due()
                    watch()
            except BadLine as problem:
                tell(f"fastcb learn: {problem} Lines before it are learned. Correct it and run the same command again.")
                code = 1
            finally:
                if learner.is_whole:  # else a second Ctrl-C came amid a line: the next run goes on from the last commit
                    learner.commit()
            watch()
            if stop.is_set() and not follow:
                line.say("Stopped. Nothing is lost: the same command goes on.")
                code = INTERRUPTED
            summary = _log_summary(learner)
            if 2 * summary["new"]["bad"] > summary["new"]["lines"]:
                tell(_MOSTLY_BAD.format(model=model))
                code = code or 1
    print(json.dumps(summary, indent=None if follow else 2) if as_json else _log_words(summary))
    return code


def _line_words(learner: LogLearner) -> str:
    counts = learner.counts
    lines, files = counted(counts.lines, "line"), counted(learner.n_files, "file")
    return f"{lines} of {files}, {counted(counts.learned, 'event')} learned, {counts.bad:,} bad"


def _log_summary(learner: LogLearner) -> dict[str, Any]:
    counts, before = asdict(learner.counts), asdict(learner.at_start)
    return {
        "model": str(learner.model),
        "sha256": learner.sha256,
        "files": learner.n_files,
        **counts,
        "new": {name: counts[name] - before[name] for name in counts},
        "bad_lines": [{"file": path, "line": number, "reason": reason} for path, number, reason in learner.bad_lines()],
        "unfinished": [{"file": path, "bytes": left} for path, left in learner.unfinished()],
    }


def _log_words(summary: dict[str, Any]) -> str:
    new = summary["new"]
    lines = [f"Read {counted(new['lines'], 'line')}, learned {counted(new['learned'], 'event')}."]
    kinds = {
        "duplicates": "were learned before",
        "unlabelled": "have no outcome",
        "skipped": "say _skipLearn",
        "bad": "could not be learned",
    }
    lines += [f"  {new[name]:,} {words}" for name, words in kinds.items() if new[name]]
    lines.append(f"{summary['model']}: {counted(summary['learned'], 'event')} in all, SHA-256 {summary['sha256']}.")
    lines += [
        f"{one['file']} ends in {counted(one['bytes'], 'byte')} without the end of a line; they are left for later."
        for one in summary["unfinished"]
    ]
    return "\n".join(lines)
