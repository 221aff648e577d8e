"""What the live page shows of a journal, kept up to date record by record, in memory that does not grow with it.

Outcomes are counted in the order of their decisions, each once it is final and all before it are: rewards come at once
and their absence is known only when the wait is over, so a count of what is known already would be too good. In this
order the events are those of a policy that learns, as `AnytimeInterval` expects them, and it may be looked at any time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.evaluation.anytime import AnytimeInterval, mass_beyond
from vw_fastcb.evaluation.tally import FEW
from vw_fastcb.loop.join import Join, Learn
from vw_fastcb.loop.learner import is_sound
from vw_fastcb.loop.records import Record
from vw_fastcb.loop.settings import ACTIONS, LoopSettings

MOST_ACTIONS = 32  # that are told apart; the rest are grouped together
MOST_BUCKETS = 240  # of time; where there would be more, two become one
LEVEL = 0.95

_LEAST_WIDTH = 1000  # milliseconds
_RECENT = 30  # decisions
_LISTED = ("action", "action_ids", "pmf")  # what is kept of them; features may be large
_MARKS = 50  # rollbacks and changes of settings


@dataclass(slots=True)
class _Decision:
    """A decision whose outcome, or that of one before it, is not final."""

    position: int
    time: int
    played: int  # the place of its action; MOST_ACTIONS for one that is not told apart
    places: Sequence[int]  # of the actions that it could play
    pmf: Sequence[float]
    value: float | None = None
    is_final: bool = False


@dataclass(slots=True)
class _Bucket:
    """What happened to the decisions of a stretch of time.

    Attributes:
        decisions: How many there were.
        played: How often each action was.
        explored: The sum of the probabilities of all actions but the likeliest.
        known: How many outcomes are known.
        total: Their sum.
        settled: How many decisions wait no more, for an outcome or for its absence.
        final: How many of them are final, and all before them.
        values: Estimate and interval after the last final one, of what was played and of each action; see `_Policy`.
    """

    decisions: int = 0
    played: list[int] = field(default_factory=list)
    explored: float = 0.0
    known: int = 0
    total: float = 0.0
    settled: int = 0
    final: int = 0
    values: list[list[float | None] | None] | None = None

    def join(self, later: _Bucket) -> None:
        """Takes what happened after it."""
        self.decisions += later.decisions
        self.played = [
            (self.played[i] if i < len(self.played) else 0) + (later.played[i] if i < len(later.played) else 0)
            for i in range(max(len(self.played), len(later.played)))
        ]
        self.explored += later.explored
        self.known += later.known
        self.total += later.total
        self.settled += later.settled
        self.final += later.final
        self.values = later.values or self.values

    def to_json(self, width: float, default: float | None) -> list[Any]:
        """Plain values: decisions, plays, mean exploration, outcomes and their mean, final ones, values, rate.

        Decisions that wait count as the default: rewards come early, and their absence is known late.
        """
        waiting = 0 if default is None else self.decisions - self.settled
        count = self.known + waiting
        mean = _short((self.total + waiting * (default or 0.0)) / count) if count else None
        explored = _short(self.explored / self.decisions) if self.decisions else None
        rate = _short(self.decisions * 1000 / width)
        return [self.decisions, self.played, explored, count, mean, self.final, self.values, rate]


class _Policy:
    """What a policy earned, or would have earned.

    Args:
        value_range: The lowest and the highest reward.
        least_events: How many effective events it takes to tell a mean.
    """

    def __init__(self, value_range: tuple[float, float], least_events: float = 0.0) -> None:
        self._interval = AnytimeInterval(value_range, LEVEL)
        self._low = value_range[0]
        self._least_events = least_events
        self._sum = 0.0  # of weighted rewards above the lowest
        self._weights = 0.0
        self._squares = 0.0  # of weights
        self._known: list[float | None] | None = None

    def add(self, weights: NDArray[np.float64], values: NDArray[np.float64], beyond: NDArray[np.float64]) -> None:
        """Takes further events."""
        if len(weights):
            self._interval.update(weights, values, beyond=beyond)
            self._sum += float((weights * (values - self._low)).sum())
            self._weights += float(weights.sum())
            self._squares += float((weights**2).sum())
            self._known = None

    @property
    def value(self) -> list[float | None] | None:
        """Estimate, lower and upper end, number of events; None where there was none, or where it says too little."""
        events = self._interval.n
        if not events:
            return None
        if self._known is None:
            low, high = self._interval.interval
            # Weighted by the weights' sum: of less variance, and never outside the range.
            mean = self._low + self._sum / self._weights if self._weights else (low + high) / 2
            is_told = self._weights**2 > self._least_events * self._squares
            self._known = [_short(min(max(mean, low), high)) if is_told else None, _short(low), _short(high), events]
        return self._known


class Live:
    """A running summary of the records from some position on.

    Args:
        settings: Those of the first record.
        since: The position of the first record.
        start: Its time.
        end: The time up to which records are known to come, which tells how wide a stretch of time is to be.

    Attributes:
        position: Of the last record that was taken.
        time: Its time.
        epoch: Grows whenever everything that `news` told before is to be forgotten.
    """

    def __init__(self, settings: LoopSettings, since: int, start: int, end: int) -> None:
        self.position = since - 1
        self.time = start
        self.epoch = 1
        self._since, self._start = since, start
        self._settings = settings
        self._join = Join(settings.join)
        self._names: list[str] = []
        self._place_of: dict[str, int] = {}
        self._width = _LEAST_WIDTH
        while (end - start) // self._width >= MOST_BUCKETS // 2:
            self._width *= 2
        self._buckets: dict[int, _Bucket] = {}
        self._changed: set[int] = set()
        self._waiting: deque[_Decision] = deque()
        self._by_position: dict[int, _Decision] = {}
        self._final: list[_Decision] = []
        self._played = _Policy(self._range())
        self._constants: list[_Policy] = []
        self._recent: deque[dict[str, Any]] = deque(maxlen=_RECENT)
        self._marks: deque[dict[str, Any]] = deque(maxlen=_MARKS)
        self._learned = 0
        self._name_actions()

    def apply(self, record: Record) -> None:
        """Takes the next record."""
        if not is_sound(record):
            self.position = record.position
            return
        self.position, self.time = (
            record.position,
            record.time if record.kind == "clock" else max(self.time, record.time),
        )
        effects = self._join.apply(record)
        if record.kind == "decision":
            self._decide(record)
        elif record.kind == "settings":
            self._change(record)
        elif record.kind == "clock":
            self._marks.append({"time": record.time, "what": "the clock was mended"})
        elif record.kind == "rollback":
            generation = (record.body or {}).get("generation")
            self._marks.append({"time": record.time, "what": f"rolled back to generation {generation}"})
        for effect in effects:
            self._settle(effect.position, effect.value if isinstance(effect, Learn) else None)
        touched, self._join.touched = self._join.touched, set()
        for position in touched:
            if position not in self._join.windows:
                self._settle(position, None)  # nothing, where its outcome was known before
        self._advance()

    def pass_time(self, now: int) -> None:
        """Ends waits that are over, although no record says so: in a journal that nobody writes to, none ever will.

        Every record to come is later than that, so it would end them before anything else.
        """
        deadline = self._join.next_deadline()
        if deadline is not None and deadline < now:
            self.apply(Record(self.position, now, "tick"))

    def news(self) -> dict[str, Any]:
        """What changed since this was last asked; everything in a new epoch."""
        self.count()
        changed, self._changed = self._changed, set()
        default = self._settings.default
        return {
            "epoch": self.epoch,
            "width": self._width,
            "since": {"position": self._since, "time": self._start},
            "position": self.position,
            "time": self.time,
            "names": self._names,
            "buckets": {index: self._buckets[index].to_json(self._width, default) for index in sorted(changed)},
            "played": self._played.value,
            "constants": [policy.value for policy in self._constants],
            "waiting": len(self._waiting),
            "open": len(self._join.windows),
            "recent": [_told(one) for one in reversed(self._recent)],
            "marks": list(self._marks),
            "gamma": self._gamma(),
        }

    def begin_anew(self) -> None:
        """The next news are everything."""
        self.epoch += 1
        self._changed = set(self._buckets)

    # Records

    def _decide(self, record: Record) -> None:
        body = record.body or {}
        pmf, action = body.get("pmf"), body.get("action")
        if not isinstance(pmf, list) or type(action) is not int or not 0 <= action < len(pmf) or not pmf[action] > 0:
            return
        places = self._places(body.get("action_ids"), len(pmf))
        if len(places) < len(pmf):
            pmf = pmf[: len(places)]
        played = places[action] if action < len(places) else MOST_ACTIONS
        one = _Decision(record.position, record.time, played, places, pmf)
        self._waiting.append(one)
        self._by_position[record.position] = one
        bucket = self._bucket(record.time)
        bucket.decisions += 1
        bucket.played += [0] * (played + 1 - len(bucket.played))
        bucket.played[played] += 1
        bucket.explored += 1.0 - max(body["pmf"])
        self._learned = body.get("learned") or self._learned
        shown = {name: body[name] for name in _LISTED if name in body}
        self._recent.append(
            {"position": record.position, "time": record.time, "event_id": record.event_id, "body": shown, "of": one}
        )

    def _places(self, ids: Any, count: int) -> Sequence[int]:
        """Where each action of a decision is kept."""
        if not isinstance(ids, list):
            while len(self._names) < min(count, MOST_ACTIONS):
                self._add_name(f"action {len(self._names)}")
            return range(min(count, MOST_ACTIONS))
        return [self._place_of.get(name, -1) if name in self._place_of else self._add_name(name) for name in ids]

    def _add_name(self, name: str) -> int:
        if len(self._names) >= MOST_ACTIONS:
            return MOST_ACTIONS
        self._place_of[name] = len(self._names)
        self._names.append(name)
        self._constants.append(_Policy(self._range(), FEW))
        return len(self._names) - 1

    def _name_actions(self) -> None:
        model = self._settings.model
        names = model.action_names or [f"action {number}" for number in range(model.n_actions or 0)]
        for name in names[len(self._names) :]:
            if len(self._names) < MOST_ACTIONS:
                self._add_name(name)

    def _change(self, record: Record) -> None:
        before = self._settings
        self._settings = LoopSettings.from_json((record.body or {})["settings"])
        self._join.settings = self._settings.join
        if self._range() != tuple(before.join[3:5]):  # intervals are about one range
            self.count()
            self._played = _Policy(self._range())
            self._constants = [_Policy(self._range(), FEW) for _ in self._constants]
        self._name_actions()
        changed = dict.fromkeys("actions" if one in ACTIONS else one for one in before.differences(self._settings))
        if changed:
            self._marks.append({"time": record.time, "what": f"changed: {', '.join(changed)}"})

    def _range(self) -> tuple[float, float]:
        """The lowest and the highest outcome."""
        low, high = self._settings.join[3:5]
        return low, high

    def _settle(self, position: int, value: float | None) -> None:
        """The outcome of a decision is final; None where it has none."""
        one = self._by_position.pop(position, None)
        if one is None:
            return
        one.value, one.is_final = value, True
        bucket = self._bucket(one.time)
        bucket.settled += 1
        if value is not None:
            bucket.known += 1
            bucket.total += value

    def _advance(self) -> None:
        while self._waiting and self._waiting[0].is_final:
            self._final.append(self._waiting.popleft())

    # Estimates

    def count(self) -> None:
        """Takes the outcomes that have become final into the estimates."""
        final, self._final = self._final, []
        for index, group in _by_bucket(final, self._start, self._width):
            bucket = self._buckets[index]
            self._changed.add(index)
            bucket.final += len(group)
            self._estimate([one for one in group if one.value is not None])
            bucket.values = [self._played.value, *(policy.value for policy in self._constants)]

    def _estimate(self, events: list[_Decision]) -> None:
        low, high = self._range()
        # A decision keeps the range that it was made with, which may be another one by now.
        events = [one for one in events if low <= one.value <= high]  # type: ignore[operator]
        if not events:
            return
        values = np.array([one.value for one in events], dtype=np.float64)
        played = np.array([one.played for one in events])
        logged = np.zeros((len(events), MOST_ACTIONS + 1))
        for row, one in enumerate(events):
            logged[row, list(one.places)] = one.pmf
        ones = np.ones(len(events))
        self._played.add(ones, values, mass_beyond(ones, ones))
        for place, policy in enumerate(self._constants):
            # Where an action was not allowed, always playing it was not possible; only the others can say anything.
            allowed = logged[:, place] > 0
            probability = logged[allowed, place]
            weights = (played[allowed] == place) / probability
            policy.add(weights, values[allowed], mass_beyond(ones[allowed], probability))

    def _gamma(self) -> float | None:
        """How greedy the newest decision was; None where that is not a power of the number of events."""
        gamma = self._settings.model.gamma
        if len(gamma) < 2:
            return None
        return _short(gamma["gamma_scale"] * float(self._learned) ** gamma["gamma_exponent"])

    # Time

    def _bucket(self, time: int) -> _Bucket:
        index = (time - self._start) // self._width
        while index >= MOST_BUCKETS:
            self._halve()
            index = (time - self._start) // self._width
        bucket = self._buckets.get(index)
        if bucket is None:
            bucket = self._buckets[index] = _Bucket()
        self._changed.add(index)
        return bucket

    def _halve(self) -> None:
        """Makes one bucket of two."""
        self.count()
        self._width *= 2
        halved: dict[int, _Bucket] = {}
        for index in sorted(self._buckets):
            if index // 2 in halved:
                halved[index // 2].join(self._buckets[index])
            else:
                halved[index // 2] = self._buckets[index]
        self._buckets = halved
        self.begin_anew()


def _by_bucket(final: Sequence[_Decision], start: int, width: int) -> Iterator[tuple[int, list[_Decision]]]:
    """The decisions of each stretch of time; they are in order."""
    group: list[_Decision] = []
    at = -1
    for one in final:
        index = (one.time - start) // width
        if index != at and group:
            yield at, group
            group = []
        at = index
        group.append(one)
    if group:
        yield at, group


def _told(recent: dict[str, Any]) -> dict[str, Any]:
    """A decision as the page lists it, without what its context says."""
    body, one = recent["body"], recent["of"]
    action = body["action"]
    ids = body.get("action_ids")
    return {
        "position": recent["position"],
        "time": recent["time"],
        "event_id": recent["event_id"],
        "action": action,
        "name": ids[action] if ids else None,
        "place": one.played,
        "probability": _short(body["pmf"][action]),
        "value": one.value,
        "is_final": one.is_final,
    }


def _short(number: float) -> float:
    """A number with the digits that a picture can show: everything is sent again and again."""
    return float(f"{number:.5g}")
