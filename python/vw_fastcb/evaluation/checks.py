"""Whether a log can be trusted: its probabilities against what was played, its ids, and drift.

If the logged probabilities are right, then for any question that is asked before an action is drawn (which bin its
probability is in, which action it is, what the context says), how often the answer was played is a sum of differences
from its probability, a martingale. Bennett's inequality bounds it at any n, for logs of learning policies too: with
V = sum p (1 - p), exp(lambda S - V (exp(lambda) - 1 - lambda)) is a supermartingale. Mixed over lambda, it says how
unlikely the counts are. Honest logs are flagged at most once in a hundred times, whatever their size.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.evaluation.anytime import AnytimeInterval
from vw_fastcb.evaluation.dsjson import without_actions
from vw_fastcb.evaluation.logs import Batch, Log, checked_log, per_event, uniform_choices
from vw_fastcb.evaluation.results import unsettled_words

_Floats = NDArray[np.float64]
_Booleans = NDArray[np.bool_]

FALSE_ALARMS = 0.01
"""How often an honest log is flagged at most, all checks together; a third for each kind."""

_SHARE = FALSE_ALARMS / 3
_EDGES = np.array([0.0, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97, 0.99, 1.0])
_MOST_ACTIONS = 64  # that are looked at one by one
_MOST_FEATURES = 64
_SAMPLE = 500  # events from which the questions about contexts are chosen
_MOST_LATER = 16  # questions that are added each time
_OFTEN = 0.1  # share of the events that a new feature is in, to be called drift
_BETS = np.array([2.0**-k for k in range(16)])


@dataclass
class Finding:
    """One check.

    Attributes:
        check: "probabilities", "ids", "lines", "outcomes", "rewards" or "contexts".
        is_problem: Whether something is wrong.
        words: What was found.
        details: The same for programs.
    """

    check: str
    is_problem: bool
    words: str
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class Checked:
    """What the checks have found.

    Attributes:
        events: How many events there were.
        findings: One per check.
        calibration: For each bin of probabilities: its ends, how many choices fell into it, and how many were expected.
    """

    events: int
    findings: list[Finding]
    calibration: list[tuple[float, float, int, float]]

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not any(one.is_problem for one in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "events": self.events,
            "sound": self.is_sound,
            "false_alarms": FALSE_ALARMS,
            "findings": [asdict(one) for one in self.findings],
            "calibration": [
                {"from": low, "to": high, "played": played, "expected": expected}
                for low, high, played, expected in self.calibration
            ],
        }


def check(log: Log, *, watch: Callable[[Log], None] = lambda log: None) -> Checked:
    """Reads a log and checks it.

    Args:
        log: The log.
        watch: Told of the log now and then; what it raises ends everything.
    """
    checked_log(log)
    probabilities, ids, drift = _Probabilities(), Ids(), _Drift(log)
    contexts = _Contexts(log.expected // 2)
    for batch in log.batches():
        watch(log)
        probabilities.take(batch)
        ids.take(batch)
        drift.take(batch)
        contexts.take(batch)
    played = probabilities.found(contexts)
    rewards = drift.found()
    if played.is_problem:
        rewards = Finding("rewards", False, "Drift of rewards cannot be told, because the probabilities are wrong.")
    return Checked(
        log.counted.events,
        [played, *ids.found(), *_of_lines(log), rewards, contexts.found()],
        probabilities.calibration(),
    )


class _Sums:
    """How often answers were played, against their probabilities."""

    def __init__(self, *shape: int) -> None:
        self.played, self.expected, self.variance = np.zeros((3, *shape))

    def grow(self, count: int) -> None:
        """Takes so many further rows."""
        sums = (self.played, self.expected, self.variance)
        self.played, self.expected, self.variance = (np.pad(one, ((0, count), (0, 0))) for one in sums)

    def p_values(self) -> _Floats:
        """How unlikely the counts are, at least, if the probabilities are right."""
        distances = np.abs(self.played - self.expected)[..., None]
        exponents = _BETS * distances - (np.expm1(_BETS) - _BETS) * self.variance[..., None]
        wealth = np.logaddexp.reduce(exponents, axis=-1) - math.log(2 * len(_BETS))  # half for each side
        found: _Floats = np.exp(-np.maximum(wealth, 0.0))
        return found


class _Probabilities:
    """Calibration by bins of probability and by action."""

    def __init__(self) -> None:
        self._bins = _Sums(len(_EDGES) - 1)
        self._actions = _Sums(_MOST_ACTIONS)
        self._is_known = True

    def take(self, batch: Batch) -> None:
        if np.isnan(batch.logged).any():
            self._is_known = False  # only the probabilities of what was played
            return
        n, counts = len(batch), np.diff(batch.first)
        owners = np.repeat(np.arange(n), counts)
        bins = np.clip(np.searchsorted(_EDGES, batch.logged, side="left") - 1, 0, len(_EDGES) - 2)
        mass = np.zeros((n, len(_EDGES) - 1))
        np.add.at(mass, (owners, bins), batch.logged)
        mass = np.minimum(mass, 1.0)
        chosen = bins[batch.first[:-1] + batch.actions]
        self._bins.played += np.bincount(chosen, minlength=len(_EDGES) - 1)
        self._bins.expected += mass.sum(axis=0)
        self._bins.variance += (mass * (1.0 - mass)).sum(axis=0)
        numbers = np.arange(len(batch.logged)) - batch.first[:-1][owners]
        near = numbers < _MOST_ACTIONS
        chances = batch.logged[near]
        self._actions.expected += np.bincount(numbers[near], chances, _MOST_ACTIONS)
        self._actions.variance += np.bincount(numbers[near], chances * (1.0 - chances), _MOST_ACTIONS)
        played = batch.actions[batch.actions < _MOST_ACTIONS]
        self._actions.played += np.bincount(played, minlength=_MOST_ACTIONS)

    def calibration(self) -> list[tuple[float, float, int, float]]:
        rows = zip(_EDGES[:-1], _EDGES[1:], self._bins.played, self._bins.expected, strict=True)
        return [(float(a), float(b), int(p), float(e)) for a, b, p, e in rows if p or e > 0.5]

    def found(self, contexts: _Contexts) -> Finding:
        if not self._is_known:
            words = "Probabilities were not checked: of other actions than those played, the log has none."
            return Finding("probabilities", False, words)
        tests = [
            (
                p,
                self._bins.played[i],
                self._bins.expected[i],
                f"actions with a probability from {_EDGES[i]:g} to {_EDGES[i + 1]:g}",
            )
            for i, p in enumerate(self._bins.p_values())
        ]
        tests += [
            (p, self._actions.played[i], self._actions.expected[i], f"action {i}")
            for i, p in enumerate(self._actions.p_values())
        ]
        tests += contexts.tests()
        limit = _SHARE / len(tests)
        worst = sorted((one for one in tests if one[0] <= limit), key=lambda one: one[0])
        if not worst:
            words = f"Probabilities agree with what was played ({len(tests)} questions)."
            return Finding("probabilities", False, words, {"questions": len(tests)})
        said = "; ".join(
            f"{what} were played {played:,.0f} times, and the probabilities say {expected:,.0f}"
            if what.startswith("actions")
            else f"{what} was played {played:,.0f} times, and the probabilities say {expected:,.0f}"
            for _, played, expected, what in worst[:3]
        )
        words = f"The logged probabilities are wrong: {said}. No estimate from this log can be trusted."
        details = {
            "questions": len(tests),
            "wrong": [
                {"what": what, "played": float(played), "expected": float(expected), "p_value": float(p)}
                for p, played, expected, what in worst[:20]
            ],
        }
        return Finding("probabilities", True, words, details)


class _Contexts:
    """Questions about contexts: whether an action is played as often as it should where a feature is present.

    They come from events before those that they are put to: from the first ones, and again whenever the log has grown
    to twice its length, for features that are new by then.
    """

    def __init__(self, half: int) -> None:
        self._half = half
        self._questions: list[tuple[str, str, Any]] = []
        self._sums = _Sums(0, _MOST_ACTIONS)
        self._present, self._events = np.zeros((2, 2, 0))  # in each half, by question
        self._seen, self._next = 0, _SAMPLE
        self._recent: deque[dict[str, Any]] = deque(maxlen=_SAMPLE)
        self._first_names: set[str] = set()
        self._new_names: dict[str, float] = {}  # of features that came later, and how many events had them then

    def take(self, batch: Batch) -> None:
        if not batch.parsed:
            return
        rows = [_flat(line.c) for line in batch.parsed]
        chances, played = _by_action(batch)
        start = 0
        while start < len(rows):
            piece = slice(start, min(len(rows), start + self._next - self._seen))
            self._put(rows[piece], chances[piece], played[piece])
            self._recent.extend(rows[piece])
            self._seen += piece.stop - start
            start = piece.stop
            if self._seen == self._next:
                self._choose()
                self._next *= 2

    def _choose(self) -> None:
        """Questions that were not put yet, from the newest events."""
        known = set(self._questions)
        most = _MOST_FEATURES if not known else _MOST_LATER
        new = [one for one in _questions(self._recent) if one not in known][:most]
        self._questions += new
        self._sums.grow(len(new))
        self._present, self._events = (np.pad(one, ((0, 0), (0, len(new)))) for one in (self._present, self._events))
        names = Counter(name for row in self._recent for name in row)
        if not self._first_names:
            self._first_names = set(names)
        for name, count in names.items():
            share = count / len(self._recent)
            if name not in self._first_names and share >= _OFTEN:
                self._new_names.setdefault(name, share)

    def _put(self, rows: Sequence[dict[str, Any]], chances: _Floats, played: _Floats) -> None:
        if not self._questions or not rows:
            return
        answers = np.array([[_answer(row, question) for question in self._questions] for row in rows], dtype=np.float64)
        is_late = (self._seen + np.arange(len(rows))) >= self._half
        for half in (0, 1):
            self._present[half] += answers[is_late == bool(half)].sum(axis=0)
            self._events[half] += (is_late == bool(half)).sum()
        width = chances.shape[1]
        self._sums.played[:, :width] += answers.T @ played
        self._sums.expected[:, :width] += answers.T @ chances
        self._sums.variance[:, :width] += answers.T @ (chances * (1.0 - chances))

    def tests(self) -> list[tuple[float, float, float, str]]:
        """For each question and action: p-value, how often it was played and should have been, and the words."""
        values = self._sums.p_values()
        there = np.flatnonzero(self._sums.expected.sum(axis=0) + self._sums.played.sum(axis=0) > 0)
        return [
            (float(values[i, a]), self._sums.played[i, a], self._sums.expected[i, a], f"action {a} where {question[0]}")
            for i, question in enumerate(self._questions)
            for a in there
        ]

    def found(self) -> Finding:
        both = np.flatnonzero(self._events.all(axis=0))
        if not len(both):
            return Finding(
                "contexts", False, "Drift of contexts was not checked: there are too few features or events."
            )
        error = _SHARE / (4 * len(both))  # two ends in two halves
        moved = [(share, f"{name} is there", 0.0, share) for name, share in self._new_names.items()]
        for i in both:
            question = self._questions[i]
            (low_1, high_1), (low_2, high_2) = (
                _kl_interval(self._present[half, i], self._events[half, i], error) for half in (0, 1)
            )
            if high_1 < low_2 or high_2 < low_1:
                before, after = (float(self._present[half, i] / self._events[half, i]) for half in (0, 1))
                moved.append((abs(after - before), question[0], before, after))
        if not moved:
            return Finding("contexts", False, f"Contexts do not drift ({len(both)} features).")
        moved.sort(reverse=True)
        said = "; ".join(
            f"{what} in {before:.1%} of the events at first, in {after:.1%} later"
            for _, what, before, after in moved[:3]
        )
        words = f"Contexts drift: {said}. An estimate is about the mix of the log."
        return Finding("contexts", True, words, {"moved": [[what, b, a] for _, what, b, a in moved]})


def _by_action(batch: Batch) -> tuple[_Floats, _Floats]:
    """Probabilities and what was played, a row per event and a column per action."""
    counts = np.diff(batch.first)
    n, width = len(batch), min(int(counts.max()), _MOST_ACTIONS)
    chances, played = np.zeros((2, n, width))
    owners = np.repeat(np.arange(n), counts)
    numbers = np.arange(len(batch.logged)) - batch.first[:-1][owners]
    near = numbers < width
    chances[owners[near], numbers[near]] = batch.logged[near]
    rows = np.flatnonzero(batch.actions < width)
    played[rows, batch.actions[rows]] = 1.0
    return chances, played


class _Drift:
    """What uniform choices would earn in the first half and in the second."""

    def __init__(self, log: Log) -> None:
        self._halves = [AnytimeInterval(log.reward_range, 1.0 - _SHARE / 2) for _ in (0, 1)]
        self._half, self._seen, self._log = log.expected // 2, 0, log

    def take(self, batch: Batch) -> None:
        uniform = per_event(batch, uniform_choices(batch))
        weights, beyond = uniform["weights"], uniform.get("beyond")
        is_late = (self._seen + np.arange(len(batch))) >= self._half
        self._seen += len(batch)
        for half, interval in enumerate(self._halves):
            rows = is_late == bool(half)
            if rows.any():
                interval.update(weights[rows], batch.rewards[rows], beyond=None if beyond is None else beyond[rows])

    def found(self) -> Finding:
        (low_1, high_1), (low_2, high_2) = (one.interval for one in self._halves)
        details = {"first": [low_1, high_1], "second": [low_2, high_2]}
        if high_1 < low_2 or high_2 < low_1:
            words = (
                f"Rewards drift: uniform choices would have earned {low_1:.4g} to {high_1:.4g} in the first half and "
                f"{low_2:.4g} to {high_2:.4g} in the second. An estimate is about the mean of the log."
            )
            return Finding("rewards", True, words, details)
        return Finding("rewards", False, "Rewards do not drift, as far as the log can tell.", details)


class Ids:
    """Missing and repeated ids. Eight bytes are kept per event.

    Args:
        most: How many events are looked at, where memory is to be bounded.
    """

    def __init__(self, most: float = math.inf) -> None:
        self._most = most
        self._hashes: list[NDArray[np.uint64]] = []
        self._missing = self._events = 0

    def take(self, batch: Batch) -> None:
        """Takes further events."""
        if self._events >= self._most:
            return
        names = [line.event_id for line in batch.parsed]
        self._events += len(names)
        self._missing += sum(not name for name in names)
        digests = b"".join(hashlib.blake2b(name.encode(), digest_size=8).digest() for name in names if name)
        self._hashes.append(np.frombuffer(digests, dtype=np.uint64))

    def repeated(self) -> int:
        """How many events have the id of another one."""
        if not self._hashes:
            return 0
        all_of_them = np.concatenate(self._hashes)
        return len(all_of_them) - len(np.unique(all_of_them))

    def found(self) -> list[Finding]:
        """What is to be said of them."""
        if not self._events:
            return []
        twice = self.repeated()
        details = {"missing": self._missing, "repeated": twice}
        if not self._missing and not twice:
            return [Finding("ids", False, "Every event has an id of its own.", details)]
        parts = [f"{self._missing:,} events have no id"] if self._missing else []
        parts += [f"{twice:,} events repeat the id of another, and count twice"] if twice else []
        return [Finding("ids", True, f"{' and '.join(parts)}.".capitalize(), details)]


def _of_lines(log: Log) -> list[Finding]:
    """Lines that cannot be taken, and decisions without an outcome."""
    counted = log.counted
    found = []
    if counted.bad:
        number, reason = counted.reasons[0]
        lines = "1 line" if counted.bad == 1 else f"{counted.bad:,} lines"
        words = f"{lines} cannot be taken. Line {number}: {reason}"
        found.append(Finding("lines", True, words, {"bad": counted.bad, "first": counted.reasons}))
    missing = counted.skipped + counted.others - counted.unused
    decisions = counted.events + missing + counted.bad
    if missing:
        share = missing / decisions
        words = (
            f"{missing:,} of {decisions:,} decisions ({share:.1%}) have no outcome and do not count. If that depends "
            "on what would have come, estimates are off by as much."
        )
        found.append(Finding("outcomes", share > 0.01, words, {"missing": missing, "decisions": decisions}))
    if counted.unsettled:
        found.append(Finding("outcomes", False, unsettled_words(counted.unsettled), {"unsettled": counted.unsettled}))
    return found


# Questions about contexts


def _flat(context: Any) -> dict[str, Any]:
    """Features by their names."""
    found: dict[str, Any] = {}

    def walk(name: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                if not key.startswith("_"):
                    walk(f"{name}.{key.removesuffix('=')}" if name else key, inner)
        elif isinstance(value, list):
            for i, inner in enumerate(value):
                walk(f"{name}.{i}", inner)
        elif value is not None:
            found[name] = value

    for key, raw in without_actions(context).items():
        walk(key, json.loads(bytes(raw)))
    return found


def _questions(rows: Collection[dict[str, Any]]) -> list[tuple[str, str, Any]]:
    """Words, the feature, and the text that it has or the number that it is above; those that split events best."""
    texts: Counter[tuple[str, str]] = Counter()
    numbers: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            if isinstance(value, (bool, str)):
                texts[name, str(value)] += 1
            elif isinstance(value, (int, float)):
                numbers.setdefault(name, []).append(float(value))
    found: list[tuple[float, str, str, str | float]] = []
    for (name, text), count in texts.items():
        share = count / len(rows)
        found.append((min(share, 1 - share), f"{name} is {text}", name, text))
    for name, values in numbers.items():
        middle = float(np.median(values))
        share = sum(value > middle for value in values) / len(rows)
        found.append((min(share, 1 - share), f"{name} is above {middle:.4g}", name, middle))
    found.sort(key=lambda one: -one[0])
    # A text that few events have is more often an id than a feature; what all have may change later.
    return [
        (words, name, value)
        for share, words, name, value in found
        if share > 0.01 or not isinstance(value, str) or texts[name, value] == len(rows)
    ]


def _answer(row: dict[str, Any], question: tuple[str, str, Any]) -> bool:
    _, name, value = question
    given = row.get(name)
    if given is None:
        return False
    if isinstance(value, str):
        return str(given) == value
    return isinstance(given, (int, float)) and given > value


def _kl_interval(count: float, n: float, error: float) -> tuple[float, float]:
    """Chernoff's bounds of a probability: each end is wrong with a probability of at most `error`."""
    share, budget = count / n, math.log(1.0 / error) / n

    def divergence(p: float) -> float:
        first = share * math.log(share / p) if share > 0 else 0.0
        return first + ((1 - share) * math.log((1 - share) / (1 - p)) if share < 1 else 0.0)

    def end(inside: float, outside: float) -> float:
        for _ in range(60):
            middle = (inside + outside) / 2
            if 0 < middle < 1 and divergence(middle) <= budget:
                inside = middle
            else:
                outside = middle
        return outside

    return end(share, 0.0), end(share, 1.0)
