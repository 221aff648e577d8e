"""`fastcb tune`: the settings that data recommend, from a log, a journal, or a table of right answers."""

from __future__ import annotations

import json
import os
import shlex
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from vw_fastcb.bakeoff.data.dataset import BrokenDataset
from vw_fastcb.bakeoff.data.files import load_file, suffix
from vw_fastcb.commands.terminal import INTERRUPTED, StatusLine, stopping
from vw_fastcb.engine.flags import Flags
from vw_fastcb.evaluation.results import unsettled_words
from vw_fastcb.learner.fastcb import DEFAULTS
from vw_fastcb.learner.settings import Settings
from vw_fastcb.learner.tuning import LogEvidence, Stage, TableEvidence, Tuning, search
from vw_fastcb.learner.tuning.evidence import Evidence, Measured
from vw_fastcb.learner.tuning.tuning import short_words_of, words_of
from vw_fastcb.loop.clocks import now
from vw_fastcb.loop.dsjson import decision_of
from vw_fastcb.loop.files import new_file
from vw_fastcb.loop.journal import LoopError
from vw_fastcb.loop.outcomes import Outcomes
from vw_fastcb.loop.reading import existing_journal
from vw_fastcb.loop.redis.address import without_password
from vw_fastcb.loop.settings import LoopSettings

_LOGS = (".dsjson", ".json")
_SQLITE = b"SQLite format 3\0"
_MEASUREMENTS, _GRID, _RESULT = "measurements.jsonl", "grid.toml", "tuning.json"
# What a bake-off decides by itself, or what does not apply to its data.
_NOT_OF_A_GRID = ("cb_explore", "cb_explore_adf", "fastcb", "cb_min_cost", "cb_max_cost", "bit_precision", "epsilon")

Watch = Callable[[str, int, int], None]
Event = tuple[Any, Any, int, float, list[float]]  # context, features of actions, action, value, pmf


@dataclass(frozen=True)
class Source:
    """Where to read, and what the user says of it.

    Attributes:
        path: A log, a journal, or a table.
        given: Of a log: its actions and the range of its outcomes.
        target: Of a table: the column of right answers.
        events: Of a log: how many events, the newest.
        orders: Of a table: how many orders choose.
        seed: Of all luck.
    """

    path: str
    given: Mapping[str, Any]
    target: str | None
    events: int
    orders: int
    seed: int


def run_tune(source: Source, *, jobs: int, out: Path, as_json: bool) -> int:
    """Chooses settings, prints them and writes them down. Returns the exit code."""
    with stopping() as stop, StatusLine(as_json) as line:

        def watch(what: str, done: int, total: int) -> None:
            line.show(f"{what}: {done:,} of {total:,}" if total else f"{what}: {done:,}")
            if stop.is_set():
                raise KeyboardInterrupt

        try:
            params, evidence, words = _read(source, watch)
            line.say(words)
            out.mkdir(parents=True, exist_ok=True)
            with Measurements(out / _MEASUREMENTS) as measurements:
                if measurements.found:
                    line.say(f"{measurements.path} has measurements of earlier runs; those that fit are not repeated.")
                tuning = search(params, evidence, n_jobs=jobs, watch=watch, memory=measurements)
        except KeyboardInterrupt:
            line.say("Stopped. Nothing is lost: the same command goes on.")
            return INTERRUPTED
    result = _result(without_password(source.path), tuning)
    for name, text in ((_RESULT, json.dumps(result, indent=2) + "\n"), (_GRID, grid_of(tuning))):
        with new_file(out / name) as draft:
            draft.write_text(text, encoding="utf-8")
    if as_json:
        print(json.dumps(result, indent=2))
    else:
        _print(tuning, out, source.path if _is_a_journal(source.path) else None)
    return 0


# What is read


def _read(source: Source, watch: Watch) -> tuple[dict[str, Any], Evidence, str]:
    """The learner's parameters, the evidence, and a sentence that says what it is."""
    path, given = Path(source.path), source.given
    unsettled: set[int] = set()  # decisions that came after the first one that still waits
    if _is_a_journal(source.path):
        if given:
            raise ValueError(f"a journal knows its settings; leave --{next(iter(given)).replace('_', '-')} out.")
        params, rows = _of_journal(source.path, unsettled)
    elif path.name.lower().endswith(_LOGS):
        settings = _settings_of_log(given)
        params, rows = dict(settings.learner), _of_dsjson(path, settings)
    elif suffix(path) is not None:
        return _of_table(source)
    else:
        raise ValueError(
            f"{source.path!r} is neither a journal nor a file that ends in {', '.join(_LOGS)}, .csv, .arff, .npz, "
            ".parquet or .vw; expected a log, a journal, or a table with a column of right answers."
        )
    if source.target is not None:
        raise ValueError("--target is for tables with a column of right answers; leave it out.")
    params.pop("seed", None)
    if params.get("objective") == Settings.checked({**DEFAULTS, **params, "objective": None}).objective:
        del params["objective"]  # a journal keeps what nobody has chosen, too
    params = {**DEFAULTS, **params}
    kept: deque[Event] = deque(maxlen=source.events)
    count = 0
    for event in rows:
        kept.append(event)
        count += 1
        if count % 1000 == 0:
            watch("reading, events", count, 0)
    learner = Settings.checked(params)
    evidence = LogEvidence(learner, **_arrays(kept, learner), seed=source.seed)
    older = f" (the newest of {count:,}; --events takes more)" if count > len(kept) else ""
    words = f"{len(kept):,} events with an outcome{older}."
    return params, evidence, f"{words} {unsettled_words(len(unsettled))}" if unsettled else words


def _is_a_journal(name: str) -> bool:
    if "://" in name:
        return True
    if not Path(name).is_file():
        raise FileNotFoundError(f"there is no file {name!r}; expected a log, a journal or a table.")
    with open(name, "rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _of_journal(source: str, unsettled: set[int]) -> tuple[dict[str, Any], Iterator[Event]]:
    journal = existing_journal(source, is_read=True)
    outcomes = Outcomes(journal, now=now())
    settled = outcomes.settled()

    def events() -> Iterator[Event]:
        try:
            for outcome in outcomes:
                if outcome.position > settled:
                    unsettled.add(outcome.position)
                    continue
                body = journal.decision(outcome.position).body or {}
                if outcome.kind in ("reward", "default") and outcome.value is not None and not body.get("erased"):
                    features = body.get("action_features")
                    yield body["context"], features, body["action"], outcome.value, body["pmf"]
        finally:
            journal.close()

    return dict(outcomes.settings.learner), events()


def _settings_of_log(given: Mapping[str, Any]) -> LoopSettings:
    if "reward_range" not in given and "cost_range" not in given:
        raise ValueError(
            "a log does not say which outcomes are possible: give --reward-range LOW HIGH, where its costs are "
            "negative rewards, or --cost-range LOW HIGH."
        )
    return LoopSettings.new({"actions": None, **given})


def _of_dsjson(path: Path, settings: LoopSettings) -> Iterator[Event]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            if b'"pdrop"' in line and json.loads(line).get("pdrop"):
                raise LoopError(
                    f"{path}, line {number}: it stands for events that were left out (pdrop). Which were left out "
                    "depends on their outcomes, so the others say nothing fair. Log all events."
                )
            try:
                logged = decision_of(line.decode("utf-8-sig" if number == 1 else "utf-8"), settings)
            except (TypeError, ValueError) as problem:
                raise LoopError(f"{path}, line {number}: {problem} Mend it, or take it out.") from problem
            if logged is not None and logged.value is not None:
                body = logged.body
                yield body["context"], body.get("action_features"), body["action"], logged.value, body["pmf"]


def _arrays(events: deque[Event], settings: Settings) -> dict[str, Any]:
    """The events as `FastCB.tune` takes them. What had the probability 0 could not be drawn."""
    if not events:
        raise ValueError("there is no event with an outcome; expected 400 or more.")
    contexts, features, actions, values, pmfs = zip(*events, strict=True)
    counts = [settings.n_actions or len(pmf) for pmf in pmfs]
    exclude = [
        [one for one in range(count) if one >= len(pmf) or pmf[one] == 0]
        for pmf, count in zip(pmfs, counts, strict=True)
    ]
    return {
        "contexts": _table(contexts),
        "action_features": None if settings.n_actions is not None else [_table(one) for one in features],
        "actions": np.array(actions),
        "values": np.array(values),
        "probabilities": np.array([pmf[action] for pmf, action in zip(pmfs, actions, strict=True)]),
        "exclude": exclude if any(exclude) else None,
    }


def _table(rows: Any) -> Any:
    return list(rows) if isinstance(rows[0], dict) else np.array(rows, dtype=np.float64)


def _of_table(source: Source) -> tuple[dict[str, Any], Evidence, str]:
    path, orders = Path(source.path), source.orders
    if source.given:
        raise ValueError(f"a table has right answers; leave --{next(iter(source.given)).replace('_', '-')} out.")
    try:
        data = load_file(path, path.parent, source.target, name=source.path)
    except BrokenDataset as problem:
        raise ValueError(str(problem)) from problem
    params = {**DEFAULTS, "n_actions": data.n_classes}
    labels = data.labels.astype(np.int64)
    evidence = TableEvidence(Settings.checked(params), data.features, labels, None, orders=orders, seed=source.seed)
    words = f"{data.rows:,} rows, {data.columns:,} columns; {data.class_note}. {orders} orders choose, others confirm."
    return params, evidence, words


# What is kept and written


class Measurements:
    """Measurements in a file, a line each, so that a run that was stopped goes on where it was.

    Args:
        path: The file.

    Attributes:
        found: How many were there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._known: dict[str, Measured] = {}
        whole = 0
        if path.exists():
            for line in path.read_bytes().splitlines(keepends=True):
                if not line.endswith(b"\n"):
                    break  # the process was killed while it wrote this
                self._know(line)
                whole += len(line)
        self.found = len(self._known)
        self._file = path.open("ab")
        self._file.truncate(whole)

    def _know(self, line: bytes) -> None:
        try:
            one = json.loads(line)
            losses, values = (np.array(one[name], dtype=np.float64) for name in ("losses", "values"))
            self._known[str(one["key"])] = Measured(losses, values)
        except (ValueError, TypeError, KeyError) as problem:
            raise ValueError(
                f"{str(self.path)!r} has a line that is no measurement of ours; remove the file to measure again."
            ) from problem

    def __enter__(self) -> Measurements:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __call__(self, key: str, measure: Callable[[], Measured]) -> Measured:
        """Hands out what is known, or measures it and writes it down."""
        if key in self._known:
            return self._known[key]
        measured = measure()
        line = {"key": key, "losses": measured.losses.tolist(), "values": measured.values.tolist()}
        with self._lock:
            self._known[key] = measured
            self._file.write(json.dumps(line).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        return measured


def grid_of(tuning: Tuning) -> str:
    """A file for `fastcb bakeoff --grid`: the settings that were found, beside the defaults."""
    flags: list[str] = []
    steps = "[]"
    for flag in Flags.read(tuning.flags).flags:
        name, value = flag.name, next(iter(flag.values), None)
        if name == "learning_rate":
            steps = f"[{value}]"
        elif name == "interactions":
            # The bake-off's rows have one namespace, and no features of actions.
            flags += ["--interactions", "::"] if value == "xx" else []
        elif name not in _NOT_OF_A_GRID:
            flags += [f"--{name}", *([value] if value is not None else [])]
    line = " ".join(["--cbify {K} --cb_explore {K} --fastcb", shlex.join(flags)]).strip()
    return (
        "# Written by `fastcb tune`, for `fastcb bakeoff --grid`.\n\n"
        f'[algorithms."tuned"]\nflags = {json.dumps(line)}\nsteps = {steps}\n\n'
        '[algorithms."FastCB.N"]  # the defaults\n'
    )


def _result(source: str, tuning: Tuning) -> dict[str, Any]:
    return {
        "source": source,
        "changes": dict(tuning.changes),
        "flags": tuning.flags,
        "stages": [asdict(stage) for stage in tuning.stages],
    }


def _print(tuning: Tuning, out: Path, journal: str | None) -> None:
    console = Console()
    say = partial(console.print, highlight=False, soft_wrap=True, markup=False)
    for stage in tuning.stages:
        if stage.trials:
            console.print(_table_of(stage, Settings.checked(tuning.params).noun))
        say(f"{stage.name}: {stage.verdict}\n")
    found = words_of(tuning.changes) if tuning.changes else "the defaults: nothing that was tried is surely better"
    say(f"Take {found}.")
    say(f"  vw-fastcb {tuning.flags}")
    if journal is not None and tuning.changes:
        say("To relearn the journal with that, and to go on with it, stop what serves it and start:")
        say(f"  fastcb serve {shlex.join([without_password(journal), '--change', '--relearn', *_options(tuning)])}")
    say(f"{out / _GRID} is for fastcb bakeoff --grid.")


def _options(tuning: Tuning) -> Iterator[str]:
    """What was found, as options of `fastcb serve`."""
    for name, value in tuning.changes.items():
        yield f"--{name.replace('_', '-')}"
        yield value if isinstance(value, str) else ",".join(value) if isinstance(value, (list, tuple)) else f"{value:g}"


def _table_of(stage: Stage, noun: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=f"{stage.name}: {stage.unit}", title_justify="left")
    has_values = stage.trials[0].value is not None
    for column in ("settings", "loss", "± of the difference", *([f"{noun} of its policy"] if has_values else [])):
        table.add_column(column, justify="left" if column == "settings" else "right")
    for trial in stage.trials:
        spread = f"{trial.standard_error:.4f}" if trial.changes else ""
        value = [] if trial.value is None else [f"{trial.value:.4f}"]
        table.add_row(short_words_of(trial.changes), f"{trial.loss:.4f}", spread, *value)
    return table
