"""Makes a new journal from somebody's log, from an exported table, or from a model."""

from __future__ import annotations

import contextlib
import hashlib
import heapq
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vw_fastcb._engine import ARITHMETIC
from vw_fastcb.learner.engine import read_model
from vw_fastcb.learner.fastcb import DEFAULTS
from vw_fastcb.loop.clocks import now
from vw_fastcb.loop.contexts import action_features_of, checked_id, features_of
from vw_fastcb.loop.dsjson import Logged, decision_of
from vw_fastcb.loop.exporting import FORMAT, METADATA
from vw_fastcb.loop.files import sync_folder
from vw_fastcb.loop.journal import Draft, LoopError, SettingsDiffer
from vw_fastcb.loop.outcomes import OUTCOME_KINDS
from vw_fastcb.loop.reading import watched
from vw_fastcb.loop.records import Record
from vw_fastcb.loop.settings import LoopSettings
from vw_fastcb.loop.sqlite import SqliteJournal
from vw_fastcb.loop.worker import Options, Worker

_RECORDS_AT_ONCE = 5000  # in a commit
_MOST_BAD = 1000  # lines whose reasons are kept


class BadEvent(LoopError):
    """An event that cannot be taken, where that is to be the end."""


@dataclass
class Imported:
    """What was made of a log.

    Attributes:
        decisions: How many decisions were taken.
        rewards: How many of them have an outcome.
        duplicates: Events whose id was there before; the first one counts.
        others: Lines that are no decisions, and rows that were erased.
        samples: Decisions that stand for others that the log left out (pdrop); each counts once.
        bad: How many could not be taken.
        bad_events: The first of them: the line or row, and the reason.
        position: How many records the journal has.
        events: How many events its model has learned.
        generation: Its newest checkpoint.
        sha256: Of its model.
        counts: What has become of its records.
        dead_letters: Decisions that could not be learned: their positions and the reasons.
    """

    decisions: int = 0
    rewards: int = 0
    duplicates: int = 0
    others: int = 0
    samples: int = 0
    bad: int = 0
    bad_events: list[tuple[int, str]] = field(default_factory=list)
    position: int = 0
    events: int = 0
    generation: int = 0
    sha256: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    dead_letters: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True)
class _Seen:
    """A decision to take, and when its outcome became known, where the table says so."""

    logged: Logged
    position: int
    learned_position: int | None = None
    learned_time: int | None = None


class Import:
    """Makes one new journal. It is there as a whole, learned, or not at all.

    Args:
        path: The journal, which must not be there.
        stops_at_bad_events: Whether an event that cannot be taken is the end.
        watch: Told now and then what is done.
        clock: The time in milliseconds.

    Attributes:
        done: What was made.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        stops_at_bad_events: bool = False,
        watch: Callable[[str, int], None] = lambda what, count: None,
        clock: Callable[[], int] = now,
    ) -> None:
        self.path = Path(path)
        self.done = Imported()
        self._stops = stops_at_bad_events
        self._watch = watch
        self._clock = clock
        self._ids: set[bytes] = set()
        if "://" in os.fspath(path):
            raise ValueError(f"the journal is {os.fspath(path)!r}; expected the name of a new file.")
        if self.path.exists():
            raise FileExistsError(f"{str(self.path)!r} is there already; expected the name of a new journal.")
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {str(self.path.parent)!r} for the journal; make it first.")

    def from_dsjson(self, log: Path, settings: LoopSettings, model: bytes = b"") -> Imported:
        """Takes a log of a decision service."""
        if not log.is_file():
            raise FileNotFoundError(f"there is no log {str(log)!r}.")
        with log.open("rb") as file:
            return self._make(settings, model, self._of_lines(file, settings))

    def from_parquet(self, table: Path, settings: LoopSettings, model: bytes = b"") -> Imported:
        """Takes a table, such as `export` writes."""
        return self._make(settings, model, self._of_rows(table, settings))

    def from_model(self, settings: LoopSettings, model: bytes) -> Imported:
        """Takes a model alone."""
        return self._make(settings, model, ())

    # What is read

    def _of_lines(self, lines: Iterable[bytes], settings: LoopSettings) -> Iterator[_Seen]:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            with self._counting(number, "line"):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                logged = decision_of(text, settings)
                if logged is not None:
                    if self._is_new(logged):
                        yield _Seen(logged, number)
                else:
                    self.done.others += 1

    def _of_rows(self, table: Path, settings: LoopSettings) -> Iterator[_Seen]:
        for number, row in enumerate(_rows(table), 1):
            with self._counting(number, "row"):
                seen = _seen(row, number, settings)
                if seen is None:
                    self.done.others += 1
                elif self._is_new(seen.logged):
                    yield seen

    @contextlib.contextmanager
    def _counting(self, number: int, what: str) -> Iterator[None]:
        try:
            yield
        except (ValueError, TypeError) as problem:
            reason = "it is not UTF-8 text." if isinstance(problem, UnicodeDecodeError) else str(problem)
            if self._stops:
                raise BadEvent(f"{what} {number}: {reason} No journal was made.") from problem
            self.done.bad += 1
            if self.done.bad <= _MOST_BAD:
                self.done.bad_events.append((number, reason))

    def _is_new(self, logged: Logged) -> bool:
        name = hashlib.blake2b(logged.event_id.encode(), digest_size=16).digest()
        if name in self._ids:
            self.done.duplicates += 1
            return False
        self._ids.add(name)
        self.done.decisions += 1
        self.done.rewards += logged.value is not None
        self.done.samples += logged.is_sample
        return True

    # What is written

    def _make(self, settings: LoopSettings, model: bytes, seen: Iterable[_Seen]) -> Imported:
        settings.try_out()
        body: dict[str, Any] = {"settings": settings.to_json(), "arithmetic": ARITHMETIC}
        if model:
            body["model"] = hashlib.sha256(model).hexdigest()
        rest = iter(seen)
        head = list(itertools.islice(rest, 1))
        if not head and self.done.bad:
            number, reason = self.done.bad_events[0]
            raise BadEvent(
                f"none of {self.done.bad:,} events can be taken; the first, {number}: {reason} No journal was made."
            )
        start = self._time(head[0].logged.time, 0) if head else self._clock()
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}.new")
        try:
            journal = SqliteJournal(draft, first=Draft("settings", body=body), clock=lambda: start)
            try:
                if model:
                    journal.keep_model(body["model"], model)
                records = self._records(itertools.chain(head, rest), start, settings)
                while batch := list(itertools.islice(records, _RECORDS_AT_ONCE)):
                    journal.fill(batch)
                    self._watch("taken", self.done.decisions)
            finally:
                journal.close()
            self._learn(draft)
            os.link(draft, self.path)  # unlike a rename, it fails where somebody was faster
            sync_folder(self.path.parent)
        finally:
            for ending in ("", "-wal", "-shm"):
                draft.with_name(draft.name + ending).unlink(missing_ok=True)
        return self.done

    def _records(self, seen: Iterable[_Seen], time: int, settings: LoopSettings) -> Iterator[Record]:
        """Decisions and their outcomes, in the order in which they became known where that is known."""
        position = 1
        later: list[tuple[int, int, str, int, float, int]] = []  # learned at, by a decision's position, id, of, ...

        def reward(event_id: str, of: int, value: float, when: int | None) -> Record:
            nonlocal position, time
            position, time = position + 1, self._time(when, time)
            return Record(position, time, "reward", event_id, of, value)

        for one in seen:
            while later and later[0][0] <= one.position:
                _, _, name, of, value, when = heapq.heappop(later)
                yield reward(name, of, value, when)
            logged = one.logged
            position, time = position + 1, self._time(logged.time, time)
            yield Record(position, time, "decision", logged.event_id, body=logged.body)
            if logged.value is None:
                continue
            if one.learned_position is not None and one.learned_position > one.position:
                when = one.learned_time if one.learned_time is not None else time
                entry = (one.learned_position, one.position, logged.event_id, position, logged.value, when)
                heapq.heappush(later, entry)
            else:
                yield reward(logged.event_id, position, logged.value, None)
        for _, _, name, of, value, when in sorted(later):
            yield reward(name, of, value, when)
        # A log is over: windows that time has closed since are closed.
        if position > 1 and time + settings.wait < self._clock():
            yield Record(position + 1, time + settings.wait + 1, "tick")

    def _time(self, given: int | None, last: int) -> int:
        """A time that does not go back, nor ahead of the clock."""
        clock = self._clock()
        return max(last, min(given if given is not None else last or clock, clock))

    def _learn(self, path: Path) -> None:
        """Brings the new journal's learner to the end, and makes its first checkpoint."""
        journal = SqliteJournal(path, clock=self._clock)

        def watch(position: int) -> None:
            if position % 500 == 0:
                self._watch("learned", position)

        options = Options(decides=False, writes_ticks=False, has_upkeep=False)
        worker = Worker(watched(journal, watch), options)
        try:
            worker.start()
            worker.checkpoint()
            newest = journal.checkpoints()[-1]
            self.done.position, self.done.generation = newest.position, newest.generation
            self.done.events, self.done.sha256 = newest.events, newest.sha256
            self.done.counts = newest.summary["counts"]
            self.done.dead_letters = [(one.position, one.reason) for one in journal.dead_letters()]
        finally:
            worker.close()


# Settings


def settings_for(
    given: Mapping[str, Any], model: Path | None = None, parquet: Path | None = None
) -> tuple[LoopSettings, bytes]:
    """The settings of a new journal, and the bytes of the model that it begins with.

    What was not given is as in the table, or as the model says.

    Raises:
        SettingsDiffer: What was given contradicts the model.
    """
    kept = None if parquet is None else _settings_in(parquet)
    content, params = (b"", {}) if model is None else _model(model, given, kept)
    if kept is not None:
        settings = kept.changed(given)
    else:
        if params:
            own = {"n_actions", "action_names"} if "actions" in given else set()
            given = {**{name: value for name, value in params.items() if name not in own}, **given}
        elif "actions" not in given:
            raise ValueError("--actions is missing: give names, a number, or none where each event brings its own.")
        settings = LoopSettings.new(given)
    if params:
        _check_model(settings, LoopSettings.new(params))
    return settings, content


def _model(path: Path, given: Mapping[str, Any], kept: LoopSettings | None) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a model, and the arguments of `FastCB` that it was made with."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no model {str(path)!r}.")
    content = path.read_bytes()
    wants_rewards = given.get("reward_range") is not None or (kept is not None and kept.noun == "reward")
    found = read_model(content, DEFAULTS)
    if not found.note and wants_rewards:  # made on the command line, which knows costs only
        found = read_model(content, DEFAULTS, True)
    noun = "reward" if found.params.get("reward_range") is not None else "cost"
    if (wants_rewards and noun == "cost") or (given.get("cost_range") is not None and noun == "reward"):
        raise SettingsDiffer(f"{str(path)!r} is a model of {noun}s; expected --{noun}-range, or none.")
    params = {name: value for name, value in found.params.items() if value is not None}
    return content, params


def _check_model(settings: LoopSettings, model: LoopSettings) -> None:
    """Raises where a model was learned under settings that mean other weights."""
    ours, theirs = settings.model, model.model
    names = ["n_actions", "noun", "value_range", "objective", "allocation", "oracle", "learning_rate"]
    names += ["interactions", "missing"]
    differences = {name: (getattr(ours, name), getattr(theirs, name)) for name in names}
    if theirs.action_names is not None:
        differences["action_names"] = (ours.action_names, theirs.action_names)
    said = [f"{name} is {a!r}, and {b!r} in the model" for name, (a, b) in differences.items() if a != b]
    if said:
        raise SettingsDiffer(f"{'; '.join(said)}. Leave out what the model says itself.")


# Parquet


def first_model(path: Path) -> str:
    """The SHA-256 of the model that the journal of a table began with; empty where it began with none."""
    return str(_about(path).get("model", ""))


def _settings_in(path: Path) -> LoopSettings | None:
    """Those of the journal that a table was exported from."""
    about = _about(path)
    return LoopSettings.from_json(about["settings"]) if about else None


def _about(path: Path) -> dict[str, Any]:
    """What `export` has noted in a table; nothing where others have made it."""
    kept = (_parquet(path).schema_arrow.metadata or {}).get(METADATA)
    about: dict[str, Any] = {} if kept is None else json.loads(kept)
    if about.get("format", 1) > FORMAT:
        raise LoopError(f"{str(path)!r} is from a newer version of vw-fastcb; use that.")
    return about


def _parquet(path: Path) -> Any:
    import pyarrow as pa  # noqa: PLC0415, an extra brings it, and nothing else needs it
    import pyarrow.parquet as pq  # noqa: PLC0415

    if not path.is_file():
        raise FileNotFoundError(f"there is no table {str(path)!r}.")
    try:
        return pq.ParquetFile(path)
    except pa.ArrowException as problem:
        raise LoopError(f"{str(path)!r} cannot be read as Parquet ({problem}).") from problem


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    file = _parquet(path)
    missing = [name for name in ("context", "action", "pmf") if name not in file.schema_arrow.names]
    if missing:
        raise LoopError(
            f"{str(path)!r} has no column {' and no '.join(missing)}; expected context (JSON), action (from 0) and "
            "pmf, as fastcb export writes them."
        )
    for batch in file.iter_batches(batch_size=1000):
        yield from batch.to_pylist()


def _seen(row: Mapping[str, Any], number: int, settings: LoopSettings) -> _Seen | None:
    """The decision that a row says; None where it was erased."""
    kind = row.get("outcome_kind") or ("reward" if row.get("outcome") is not None else "pending")
    if kind not in OUTCOME_KINDS:
        raise ValueError(f"its outcome_kind is {kind!r}; expected one of {', '.join(OUTCOME_KINDS)}.")
    if kind == "erased":
        return None
    body: dict[str, Any] = {"context": features_of(_parsed(row["context"], "context"), "the context")}
    table = _parsed(row.get("action_features"), "action_features")
    if table is not None:
        body["action_features"] = action_features_of(table)
    count = len(table) if table is not None else settings.model.n_actions
    if count is None:
        raise ValueError("it has no action_features; expected them, because actions are not fixed.")
    pmf = row["pmf"]
    if pmf is not None and table is None:
        pmf = [*pmf, *[0.0] * (count - len(pmf))]  # of actions that were added since
    if pmf is None or len(pmf) != count or not all(one is not None and 0 <= one <= 1 for one in pmf):
        raise ValueError(f"its pmf is {pmf!r}; expected {count} probabilities.")
    action = settings.model.action_number(row["action"], count)
    names = settings.model.action_names
    if table is None and names is not None and row.get("name") not in (None, names[action]):
        raise ValueError(f"it calls action {action} {row['name']!r}; expected {names[action]!r}.")
    if row.get("action_ids") is not None:
        body["action_ids"] = [checked_id(one, "an action id") for one in row["action_ids"]]
    if row.get("excluded"):
        body["exclude"] = [int(one) for one in row["excluded"]]
    if row.get("baseline") is not None:
        body["baseline"] = settings.model.action_number(row["baseline"], count)
    if kind in ("none", "rejected"):
        body["activate"] = False  # nothing is to be learned from it, whatever the default is
    body |= {"action": action, "pmf": list(pmf), "generation": 0, "imported": True}
    logged = Logged(
        checked_id(row.get("event_id") or str(number), "its event_id"),
        _milliseconds(row.get("time")),
        body,
        _outcome(row, settings) if kind == "reward" else None,
    )
    learned = row.get("learned_position")
    return _Seen(logged, row.get("position") or number, learned, _milliseconds(row.get("learned_time")))


def _outcome(row: Mapping[str, Any], settings: LoopSettings) -> float:
    value = row.get("outcome")
    low, high = settings.model.value_range
    if not isinstance(value, (int, float)) or not low <= value <= high:
        raise ValueError(f"its outcome is {value!r}; expected a {settings.noun} in [{low}, {high}].")
    return float(value)


def _parsed(text: Any, what: str) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except ValueError as problem:
        raise ValueError(f"its {what} is {text[:100]!r}; expected JSON ({problem}).") from problem


def _milliseconds(when: Any) -> int | None:
    if when is None:
        return None
    if isinstance(when, int):
        return when
    if hasattr(when, "timestamp"):
        return round(float(when.timestamp()) * 1000)
    raise ValueError(f"its time is {when!r}; expected a timestamp, or milliseconds.")
