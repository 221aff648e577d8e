"""Logs of decisions, read a batch at a time: files of a decision service, journals of the loop, frames.

However a log is stored, a policy is judged on batches of events: what was played, how likely each action was, and what
was earned. Memory is that of a batch.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.evaluation.anytime import WEIGHT_BOUNDS
from vw_fastcb.evaluation.dsjson import Line, decoder, names_of
from vw_fastcb.evaluation.inputs import LEAST_PROBABILITY, ROUNDING, as_floats, checked_range

_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]

_LINES = 4000  # at once
_PIECE = 4 << 20  # bytes that are read at once
_MOST_BAD = 10  # lines whose reasons are kept


class LogError(ValueError):
    """A log that cannot be read, or that cannot tell what was asked."""


@dataclass
class Batch:
    """Some events in their order.

    The probabilities of all events stand one after the other: those of event i are `logged[first[i]:first[i + 1]]`.

    Attributes:
        rewards: (n,), what the logged actions earned.
        actions: (n,), the logged actions, from 0.
        first: (n + 1,), where the actions of each event begin.
        logged: How likely each action was.
        lines: The events as lines of dsjson, without their ends; none where the log has no features.
        parsed: What the lines say.
        names: Of the actions, where they are the same in all events.
        excluded: Which actions could not be played; None where all could.
    """

    rewards: _Floats
    actions: _Integers
    first: _Integers
    logged: _Floats
    lines: list[bytes] = field(default_factory=list)
    parsed: list[Line] = field(default_factory=list)
    names: list[str] | None = None
    excluded: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def probabilities(self) -> _Floats:
        """How likely the logged actions were, (n,)."""
        found: _Floats = self.logged[self.first[:-1] + self.actions]
        return found

    def numbers_of(self, name: str) -> _Integers:
        """The number that a named action has in each event; -1 where it has none."""
        counts = np.diff(self.first)
        is_named = self.names is not None and name in self.names
        if name.isdecimal() and not is_named and not (self.parsed and _is_a_name(name, self.parsed[0])):
            return np.where(int(name) < counts, int(name), -1)
        if self.names is not None:
            return np.full(len(self), self.names.index(name) if is_named else -1)
        found = np.full(len(self), -1)
        for i, line in enumerate(self.parsed):
            for number, action in enumerate(line.context().actions):
                if name in names_of(bytes(action)):
                    found[i] = number
                    break
        return found


def _is_a_name(name: str, line: Line) -> bool:
    return any(name in names_of(bytes(action)) for action in line.context().actions)


@dataclass
class Counted:
    """What was read.

    Attributes:
        events: Events that count.
        skipped: Decisions without an outcome.
        unused: Those of them that were never activated, so that there was nothing to come.
        unsettled: Decisions that came after the first one that still waits for its outcome.
        repeated: Events with the id of another one, once policies were judged; among the first two million.
        others: Lines that are no decisions.
        bad: Lines that cannot be taken.
        reasons: The first of them: number of the line, and why.
    """

    events: int = 0
    skipped: int = 0
    unused: int = 0
    unsettled: int = 0
    repeated: int = 0
    others: int = 0
    bad: int = 0
    reasons: list[tuple[int, str]] = field(default_factory=list)

    def refuse(self, number: int, reason: str) -> None:
        """Counts a line that cannot be taken."""
        self.bad += 1
        if len(self.reasons) < _MOST_BAD:
            self.reasons.append((number, reason))


class Log(Protocol):
    """A log that can be read, once or several times.

    Attributes:
        name: What to call it.
        reward_range: The lowest and the highest reward there can be.
        sign: 1 where the log has rewards, -1 where it has costs.
        expected: About how many events there are.
        counted: What was read, after it was.
        done: The share that was read so far.
    """

    name: str
    reward_range: tuple[float, float]
    sign: float
    expected: int
    counted: Counted
    done: float

    def batches(self) -> Iterator[Batch]:
        """Reads it from its beginning."""


class LinesLog:
    """Lines of dsjson from wherever they come.

    Args:
        name: What to call the log.
        reward_range: The lowest and the highest reward there can be; a line's reward is minus its cost.
        sign: -1 where people think of costs.
    """

    def __init__(self, name: str, reward_range: tuple[float, float], sign: float = 1.0) -> None:
        self.name = name
        self.reward_range = checked_range(reward_range)
        self.sign = sign
        self.counted = Counted()
        self.expected = 0
        self.done = 0.0

    def _lines(self) -> Iterator[list[bytes]]:
        raise LogError(f"{self.name} has no lines.")

    def batches(self) -> Iterator[Batch]:
        """Reads it from its beginning."""
        self.counted, self.done = Counted(), 0.0
        number = 0
        for lines in self._lines():
            batch = self._batch(lines, number)
            number += len(lines)
            self.counted.events += len(batch)
            if len(batch):
                yield batch
        self.done = 1.0

    def _batch(self, lines: Sequence[bytes], before: int) -> Batch:
        decode = decoder()
        kept, numbers, parsed = [], [], []
        pmf: list[float] = []
        order: list[int] = []
        counts = []
        for number, line in enumerate(lines, before + 1):
            try:
                one = decode(line)
            except ValueError as problem:
                if line.strip():
                    self.counted.refuse(number, f"it cannot be read ({problem}).")
                continue
            if one.skip:
                self.counted.skipped += 1
                continue
            if one.pdrop:
                raise LogError(
                    f"{self.name}, line {number}: it stands for events that were left out (pdrop). Which were left out "
                    "depends on their outcomes, so the others cannot be judged. Log all events."
                )
            if one.cost is None or not memoryview(one.c).nbytes:
                self.counted.others += 1
                continue
            if one.p is None:
                self.counted.refuse(number, "it has no p, the probabilities of its actions.")
                continue
            count = len(one.p)
            a = one.a if one.a is not None else range(1, count + 1)
            if len(a) != count or not count:
                self.counted.refuse(number, f"it has {len(a)} actions in a and {count} in p; expected as many.")
                continue
            kept.append(line)
            numbers.append(number)
            parsed.append(one)
            pmf += one.p
            order += a
            counts.append(count)
        self._check_outcomes(parsed, numbers)
        made, reasons = _assembled(parsed, np.array(counts, dtype=np.int64), order, pmf)
        if not reasons:
            made.lines, made.parsed = kept, parsed
            return made
        for i, reason in reasons.items():
            self.counted.refuse(numbers[i], reason)
        good = [i for i in range(len(kept)) if i not in reasons]
        kept, parsed = [kept[i] for i in good], [parsed[i] for i in good]
        order = [number for one in parsed for number in one.a or range(1, len(one.p or ()) + 1)]
        pmf = [chance for one in parsed for chance in one.p or ()]
        made, _ = _assembled(parsed, np.array(counts, dtype=np.int64)[good], order, pmf)
        made.lines, made.parsed = kept, parsed
        return made

    def _check_outcomes(self, parsed: Sequence[Line], numbers: Sequence[int]) -> None:
        """Raises where an outcome is outside its range: without such events, the others are no fair sample."""
        (low, high), rewards = self.reward_range, _rewards(parsed)
        for i in np.flatnonzero(~((rewards >= low) & (rewards <= high)))[:1]:
            noun = "reward" if self.sign > 0 else "cost"
            least, most = sorted((self.sign * low + 0.0, self.sign * high + 0.0))
            raise LogError(
                f"{self.name}, line {numbers[i]}: its {noun} is {self.sign * rewards[i] + 0.0:g}; expected a number in "
                f"[{least:g}, {most:g}]. Events cannot be left out by their outcome: give the whole range with "
                f"--{noun}-range, or mend the log. (A reward of 1 stands in such a log as the cost -1.)"
            )


def _assembled(
    parsed: Sequence[Line],
    counts: _Integers,
    order: Sequence[int],
    pmf: Sequence[float],
) -> tuple[Batch, dict[int, str]]:
    """Events as arrays, and what is wrong with some of them, by their place."""
    n = len(parsed)
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    owner = np.repeat(np.arange(n), counts)
    reasons: dict[int, str] = {}
    places, chances = np.array(order, dtype=np.int64) - 1, np.array(pmf, dtype=np.float64)
    outside = (places < 0) | (places >= counts[owner]) if n else np.zeros(0, dtype=bool)
    for i in owner[outside]:
        reasons[int(i)] = "its a does not have the actions from 1 on."
    logged = np.full(len(chances), np.nan)
    logged[first[owner[~outside]] + places[~outside]] = chances[~outside]
    for i in np.unique(owner[~((logged >= 0) & (logged <= 1))]):
        reasons.setdefault(int(i), "its p and a do not give each action one probability.")
    actions = np.array([_chosen(one) for one in parsed], dtype=np.int64)
    said = np.array([np.nan if one.probability is None else one.probability for one in parsed])
    for i in np.flatnonzero((actions < 0) | (actions >= counts)) if n else ():
        reasons.setdefault(int(i), f"its chosen action is {actions[i]}, counted from 0; it has {counts[i]}.")
    for i in np.flatnonzero(places[first[:-1]] != actions) if n else ():
        reasons.setdefault(int(i), f"its chosen action is {actions[i] + 1}, but its a begins with a different one.")
    actions = np.clip(actions, 0, np.maximum(counts - 1, 0))
    if n:
        sums = np.add.reduceat(logged, first[:-1])
        for i in np.flatnonzero(~(np.abs(sums - 1) <= ROUNDING * counts)):
            reasons.setdefault(int(i), f"its p sums to {sums[i]:.6g}; expected 1.")
        drawn = logged[first[:-1] + actions]
        for i in np.flatnonzero(np.abs(said - drawn) > ROUNDING):
            reasons.setdefault(int(i), f"its _label_probability is {said[i]}, and its p says {drawn[i]:.6g}.")
        logged[first[:-1] + actions] = np.where(np.isnan(said), drawn, said)
        for i in np.flatnonzero(~(logged[first[:-1] + actions] >= LEAST_PROBABILITY)):
            chance = logged[first[i] + actions[i]]
            reasons.setdefault(int(i), f"its chosen action has the probability {chance:g}.")
    excluded = _excluded(parsed, first, logged, reasons)
    return Batch(_rewards(parsed), actions, first, logged, excluded=excluded), reasons


def _excluded(
    parsed: Sequence[Line], first: _Integers, logged: _Floats, reasons: dict[int, str]
) -> NDArray[np.bool_] | None:
    """Which actions could not be played; None where all could."""
    places = []
    for i, line in enumerate(parsed):
        if not line.excluded:
            continue
        start, end = int(first[i]), int(first[i + 1])
        if any(not 0 <= one < end - start or logged[start + one] > 0 for one in line.excluded):
            words = f"its _excluded is {line.excluded}; expected actions of the probability 0, counted from 0."
            reasons.setdefault(i, words)
            continue
        places += [start + one for one in line.excluded]
    if not places:
        return None
    found = np.zeros(first[-1], dtype=bool)
    found[places] = True
    return found


def _rewards(parsed: Sequence[Line]) -> _Floats:
    return np.array([-(one.cost or 0.0) for one in parsed], dtype=np.float64) + 0.0


def _chosen(line: Line) -> int:
    if line.index is not None:
        return line.index
    if line.action is not None:
        return line.action - 1
    return line.a[0] - 1 if line.a else 0


class DsjsonLog(LinesLog):
    """A log of a decision service, a file of lines.

    Args:
        path: The file.
        reward_range: The lowest and the highest reward there can be.
        sign: -1 where people think of costs.
    """

    def __init__(self, path: str | os.PathLike[str], reward_range: tuple[float, float], sign: float = 1.0) -> None:
        super().__init__(os.fspath(path), reward_range, sign)
        self._path = Path(path)
        _check_file(self._path)
        self._size = self._path.stat().st_size
        with self._path.open("rb") as file:
            start = file.read(_PIECE)
        self.expected = max(1, round(self._size * start.count(b"\n") / max(len(start), 1)))

    def _lines(self) -> Iterator[list[bytes]]:
        read, rest = 0, b""
        waiting: list[bytes] = []
        with self._path.open("rb") as file:
            if file.read(3) != b"\xef\xbb\xbf":  # a mark that some editors leave
                file.seek(0)
            while piece := file.read(_PIECE):
                *whole, rest = (rest + piece).split(b"\n")
                waiting += whole
                while len(waiting) >= _LINES:
                    yield waiting[:_LINES]
                    del waiting[:_LINES]
                read += len(piece)
                self.done = read / max(self._size, 1)
        if rest:
            waiting.append(rest)
        if waiting:
            yield waiting


class JournalLog(LinesLog):
    """What a journal of the loop has learned, in that order, up to the first decision that still waits.

    Args:
        path: A file, or redis://...
    """

    def __init__(self, path: str) -> None:
        from vw_fastcb.loop.clocks import now  # noqa: PLC0415
        from vw_fastcb.loop.outcomes import Outcomes  # noqa: PLC0415, who has no journal does not wait for it
        from vw_fastcb.loop.reading import existing_journal  # noqa: PLC0415
        from vw_fastcb.loop.redis.address import without_password  # noqa: PLC0415

        self._journal = existing_journal(path, is_read=True)
        self._outcomes = Outcomes(self._journal, now=now())
        self._settled = self._outcomes.settled()
        settings = self._outcomes.settings
        low, high = settings.model.value_range
        is_reward = settings.noun == "reward"
        reward_range = (low, high) if is_reward else (-high, -low)
        super().__init__(without_password(path), reward_range, 1.0 if is_reward else -1.0)
        self.expected = max(1, self._outcomes.until // 2)
        self.kinds: Counter[str] = Counter()

    def _lines(self) -> Iterator[list[bytes]]:
        from vw_fastcb.loop.dsjson import line_of  # noqa: PLC0415

        waiting: list[bytes] = []
        self.kinds.clear()
        for outcome in self._outcomes:
            self.kinds[outcome.kind] += 1
            if outcome.position > self._settled:
                self.counted.unsettled += 1
                continue
            if outcome.kind not in ("reward", "default"):
                self.counted.skipped += 1
                self.counted.unused += outcome.kind == "none" and not outcome.activated
                continue
            decision = self._journal.decision(outcome.position)
            if (decision.body or {}).get("erased"):
                self.counted.skipped += 1
                continue
            line = line_of(decision, outcome, self._outcomes.settings, self._outcomes.left_out(decision))
            waiting.append(line.encode())
            if len(waiting) == _LINES:
                self.done = outcome.position / max(self._outcomes.until, 1)
                yield waiting
                waiting = []
        if waiting:
            yield waiting

    def close(self) -> None:
        """Closes the journal."""
        self._journal.close()


class FrameLog:
    """A pandas or polars frame, or a dictionary of arrays: one row per event.

    Args:
        frame: The frame.
        reward: The column of rewards.
        action: The column of logged actions, from 0.
        probability: The column of the logged actions' probabilities.
        pmf: The column of all actions' probabilities, a list per row; instead of `probability`.
        reward_range: The lowest and the highest reward there can be.
        action_names: The names of the actions.
    """

    def __init__(
        self,
        frame: Any,
        *,
        reward: str = "reward",
        action: str = "action",
        probability: str | None = None,
        pmf: str | None = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
        action_names: Sequence[str] | None = None,
    ) -> None:
        if (probability is None) == (pmf is None):
            raise ValueError("give one of probability and pmf: the column with the logged probabilities.")
        self.name, self.sign, self.done = "the frame", 1.0, 0.0
        self.reward_range = checked_range(reward_range)
        self.counted = Counted()
        self._names = None if action_names is None else _checked_names(action_names)
        self._rewards = as_floats(_column(frame, reward), f"the column {reward!r}")
        self._actions = _checked_numbers(_column(frame, action), action)
        self.expected = len(self._rewards)
        self._pmfs: list[Any] | None = None
        if pmf is not None:
            self._pmfs = list(_column(frame, pmf))
        else:
            assert probability is not None
            self._probabilities = as_floats(_column(frame, probability), f"the column {probability!r}")
        given: Any = self._probabilities if self._pmfs is None else self._pmfs
        lengths = [len(one) for one in (self._rewards, self._actions, given)]
        if len(set(lengths)) > 1:
            raise LogError(f"the columns have {lengths} rows; expected as many of each.")
        self._count = int(self._actions.max(initial=0)) + 1  # where pmfs do not say it
        if self._names is not None:
            if self._pmfs is None and self._count > len(self._names):
                raise LogError(f"there are {len(self._names)} action_names, and an action is {self._count - 1}.")
            self._count = len(self._names)

    def batches(self) -> Iterator[Batch]:
        """Reads it from its beginning."""
        self.counted = Counted()
        for start in range(0, self.expected, 65_536):
            rows = slice(start, start + 65_536)
            actions, rewards = self._actions[rows], self._rewards[rows]
            if self._pmfs is not None:
                pmfs = [_as_pmf(one, row, self._names) for row, one in enumerate(self._pmfs[rows], start)]
                counts, logged = np.array([len(one) for one in pmfs]), np.concatenate(pmfs)
            else:  # of the other actions nothing is known
                counts = np.full(len(actions), self._count)
                logged = np.full((len(actions), self._count), np.nan)
                logged[np.arange(len(actions)), actions] = self._probabilities[rows]
                logged = logged.ravel()
            first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            batch = Batch(rewards, actions, first, logged, names=self._names)
            _check_rows(batch, self.reward_range, start)
            self.counted.events += len(batch)
            self.done = min(1.0, (start + 65_536) / max(self.expected, 1))
            yield batch


def _check_rows(batch: Batch, reward_range: tuple[float, float], start: int) -> None:
    """Raises where a row of a frame cannot be."""
    low, high = reward_range
    for i in np.flatnonzero(~((batch.rewards >= low) & (batch.rewards <= high)))[:1]:
        raise LogError(f"the reward of row {start + i} is {batch.rewards[i]}; expected one in [{low:g}, {high:g}].")
    counts = np.diff(batch.first)
    for i in np.flatnonzero((batch.actions < 0) | (batch.actions >= counts))[:1]:
        raise LogError(f"the action of row {start + i} is {batch.actions[i]}; expected 0 to {counts[i] - 1}.")
    fits = (batch.probabilities >= LEAST_PROBABILITY) & (batch.probabilities <= 1)
    for i in np.flatnonzero(~fits)[:1]:
        raise LogError(
            f"the logged action of row {start + i} has the probability {batch.probabilities[i]}; expected a number in "
            f"(0, 1], and at least {LEAST_PROBABILITY:g}."
        )


def _checked_names(given: Sequence[str]) -> list[str]:
    names = [given] if isinstance(given, str) else list(given)
    if isinstance(given, str) or not all(isinstance(one, str) for one in names) or len(set(names)) < len(names):
        raise LogError(f"action_names are {given!r}; expected a list of texts, all different.")
    return names


def _checked_numbers(column: Any, name: str) -> _Integers:
    """The logged actions; a column with whole numbers may be one of floats."""
    given = np.asarray(column)
    if given.dtype.kind in "OUST" and any(isinstance(one, str) for one in given.ravel()[:1]):
        raise LogError(
            f"the column {name!r} has the text {str(given.ravel()[0])!r}; expected the actions' numbers, from 0."
        )
    numbers = as_floats(column, f"the column {name!r}")
    if numbers.ndim != 1:
        raise LogError(f"the column {name!r} has shape {numbers.shape}; expected a number per row.")
    for i in np.flatnonzero(~((numbers >= 0) & (numbers < 2**53) & (numbers == np.floor(numbers))))[:1]:
        raise LogError(f"the action of row {i} is {numbers[i]:g}; expected a whole number from 0 on.")
    return numbers.astype(np.int64)


def _as_pmf(given: Any, row: int, names: list[str] | None) -> _Floats:
    """The probabilities of a row's actions; raises where they are none."""
    try:
        pmf = as_floats(given, "it")
    except ValueError:
        raise LogError(f"the pmf of row {row} is {given!r}; expected a list of probabilities.") from None
    if pmf.ndim != 1 or not len(pmf) or not ((pmf >= 0) & (pmf <= 1)).all():
        raise LogError(f"the pmf of row {row} is {pmf.tolist()}; expected a list of probabilities.")
    if abs(pmf.sum() - 1) > ROUNDING * len(pmf):
        raise LogError(f"the pmf of row {row} sums to {pmf.sum():.6g}; expected 1.")
    if names is not None and len(pmf) != len(names):
        raise LogError(f"the pmf of row {row} has {len(pmf)} actions, and there are {len(names)} action_names.")
    return pmf


def _column(frame: Any, name: str) -> Any:
    try:
        return frame[name]
    except (KeyError, IndexError) as problem:
        raise LogError(f"the frame has no column {name!r}.") from problem
    except Exception as problem:  # polars has errors of its own
        if type(problem).__name__ != "ColumnNotFoundError":
            raise
        raise LogError(f"the frame has no column {name!r}.") from problem


def open_log(
    path: str | os.PathLike[str],
    *,
    reward_range: tuple[float, float] | None = None,
    cost_range: tuple[float, float] | None = None,
) -> LinesLog:
    """Opens a log: a journal of the loop, or a file of dsjson, which does not say what rewards there can be.

    Args:
        path: The log.
        reward_range: The lowest and the highest reward of a file of dsjson, whose costs are negative rewards.
        cost_range: Its lowest and highest cost, where they are costs.
    """
    name = os.fspath(path)
    if is_journal(name):
        if reward_range is not None or cost_range is not None:
            raise LogError("a journal knows its range; leave --reward-range and --cost-range out.")
        return JournalLog(name)
    _check_file(Path(name))
    if reward_range is not None and cost_range is not None:
        raise LogError("--reward-range and --cost-range were both given; expected one of them.")
    if reward_range is None and cost_range is None:
        raise LogError(
            "a log does not say which outcomes are possible: give --reward-range LOW HIGH, where its costs are "
            "negative rewards, or --cost-range LOW HIGH."
        )
    if cost_range is not None:
        return DsjsonLog(name, (-cost_range[1], -cost_range[0]), -1.0)
    assert reward_range is not None
    return DsjsonLog(name, reward_range)


_OTHER_FORMATS = {
    b"\x1f\x8b": "compressed; expected lines of dsjson. Unpack it first (gunzip)",
    b"PK": "a ZIP file; expected lines of dsjson. Unpack it first",
    b"\xff\xfe": "in UTF-16; expected UTF-8",
    b"\xfe\xff": "in UTF-16; expected UTF-8",
    b"PAR1": "a table in Parquet; expected lines of dsjson. Read it with pandas, and give evaluation.FrameLog",
}


def _check_file(path: Path) -> None:
    """Raises where a path is no file, or holds something else than lines."""
    if not path.exists():
        raise FileNotFoundError(f"there is no log {str(path)!r}.")
    if not path.is_file():
        raise LogError(f"{str(path)!r} is {'a folder' if path.is_dir() else 'no regular file'}; expected a file.")
    with path.open("rb") as file:
        start = file.read(4)
    for mark, what in _OTHER_FORMATS.items():
        if start.startswith(mark):
            raise LogError(f"{str(path)!r} is {what}.")


def checked_log(log: Any) -> Any:
    """A log; raises where it is the name of one."""
    if hasattr(log, "batches"):
        return log
    raise TypeError(f"the log is {log!r}; expected one of open_log({log!r}, ...) or of FrameLog(frame, ...).")


def is_journal(name: str) -> bool:
    """Whether this is a journal of the loop."""
    if "://" in name:
        return True
    if not os.path.isfile(name):
        return False
    with open(name, "rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def uniform_choices(batch: Batch) -> _Floats:
    """The pmf of uniform choices among the actions that could be played."""
    playable = np.ones(len(batch.logged)) if batch.excluded is None else (~batch.excluded).astype(np.float64)
    uniform: _Floats = playable / np.repeat(np.add.reduceat(playable, batch.first[:-1]), np.diff(batch.first))
    return uniform


def per_event(batch: Batch, policy: _Floats) -> dict[str, _Floats]:
    """What a tally wants to know of a policy whose probabilities stand like those of the log."""
    drawn = batch.probabilities
    weights = policy[batch.first[:-1] + batch.actions] / drawn
    if np.isnan(batch.logged).any():  # of other actions nothing is known
        return {"weights": weights, "rewards": batch.rewards}
    starts = batch.first[:-1]
    # A policy whose action an event does not have plays nothing there, and nobody knows what it would earn.
    absent = (np.add.reduceat(policy, starts) == 0.0).astype(np.float64)
    with np.errstate(over="ignore"):  # the log hardly ever plays it: the weight has no bound
        possible = np.divide(policy, batch.logged, out=np.zeros_like(policy), where=batch.logged > 0)
    beyond = np.stack(
        [np.add.reduceat(np.where(policy > bound * batch.logged, policy, 0.0), starts) for bound in WEIGHT_BOUNDS],
        axis=1,
    )
    return {
        "weights": weights,
        "rewards": batch.rewards,
        "beyond": np.minimum(beyond + absent[:, None], 1.0),
        "largest": np.maximum.reduceat(possible, starts),
        "uncovered": absent + np.add.reduceat(np.where(batch.logged > 0, 0.0, policy), starts),
    }
