"""Which outcome each decision learns, and when: a pure function of the journal.

`Join.apply` takes the records in their order and says what is to be learned. It knows no storage, threads or clocks:
time is what the records say. Contexts never enter it.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from vw_fastcb.loop.records import Record

Aggregation: TypeAlias = Literal["first", "last", "sum", "mean", "min", "max"]
AGGREGATIONS: tuple[Aggregation, ...] = ("first", "last", "sum", "mean", "min", "max")


class JoinSettings(NamedTuple):
    """How rewards are joined to decisions. A window keeps the settings that it was opened with.

    Attributes:
        wait: How long a window is open, in milliseconds.
        default: What an event without a reward learns; None where it learns nothing.
        aggregation: Which of several rewards counts.
        low: The lowest value that can be learned.
        high: The highest.
    """

    wait: int
    default: float | None
    aggregation: Aggregation
    low: float
    high: float


class Window(NamedTuple):
    """A decision that waits for its rewards. What happens to it makes a new one, so that a checkpoint needs no copies.

    Attributes:
        position: Of the decision.
        event_id: Its id.
        deadline: The last millisecond at which a reward counts.
        settings: Those it was opened with.
        activated: Whether it may learn anything.
        rewards: How many rewards came.
        value: What they amount to so far; their sum where the mean counts.
        learned: Whether it was learned already, as the first reward is.
    """

    position: int
    event_id: str
    deadline: int
    settings: JoinSettings
    activated: bool = True
    rewards: int = 0
    value: float | None = None
    learned: bool = False


class Early(NamedTuple):
    """A reward, or an activation (whose value is None), whose decision is not known yet."""

    position: int
    event_id: str
    deadline: int
    value: float | None


class Learn(NamedTuple):
    """The decision at `position` is to learn `value`, now."""

    position: int
    value: float
    is_default: bool


class Reject(NamedTuple):
    """The decision at `position` cannot be learned."""

    position: int
    reason: str


Effect: TypeAlias = Learn | Reject
Waiting: TypeAlias = Window | Early


@dataclass
class Counts:
    """What has become of the records so far.

    Attributes:
        decisions: Decisions made.
        activations: Activations of decisions.
        rewards: Rewards received.
        ticks: Records that only tell the time.
        learned: Events learned from rewards.
        learned_defaults: Events learned as the default, because no reward came.
        unrewarded: Windows that closed without a reward where there is no default.
        unactivated: Windows that closed without an activation.
        repeated: Rewards after the first, where the first counts.
        late: Rewards and activations that came when their window was closed, or never opened.
        orphans: Rewards and activations whose decision never came.
        rejected: Events whose outcome could not be learned; they are among the dead letters.
        erased: Events that were erased before they were learned.
    """

    decisions: int = 0
    activations: int = 0
    rewards: int = 0
    ticks: int = 0
    learned: int = 0
    learned_defaults: int = 0
    unrewarded: int = 0
    unactivated: int = 0
    repeated: int = 0
    late: int = 0
    orphans: int = 0
    rejected: int = 0
    erased: int = 0


class Join:
    """The state of all open windows, and how a record changes it.

    Args:
        settings: Those of the next window.

    Attributes:
        settings: Those of the next window.
        windows: The open windows by the position of their decision.
        early: What waits for its decision, by event id and position.
        counts: What has become of the records so far.
        touched: The positions whose window or early record changed since this was last emptied.
    """

    def __init__(self, settings: JoinSettings) -> None:
        self.settings = settings
        self.windows: dict[int, Window] = {}
        self.early: dict[str, dict[int, Early]] = {}
        self.counts = Counts()
        self.touched: set[int] = set()
        self._deadlines: list[tuple[int, int, str | None]] = []  # a heap: deadline, position, the id of early ones

    def apply(self, record: Record, *, is_usable: bool = True) -> list[Effect]:
        """Takes the next record: first the windows whose deadline has passed close, then it counts itself.

        A decision that is not usable, because its features contradict earlier ones, opens no window.
        """
        effects: list[Effect] = []
        if self._deadlines and self._deadlines[0][0] < record.time:
            effects += self._close_before(record.time)
        match record.kind:
            case "decision" if not is_usable:
                self._discard(record)
            case "decision":
                effects += self._decide(record)
            case "reward":
                self.counts.rewards += 1
                effects += self._observe(record)
            case "activation":
                self.counts.activations += 1
                effects += self._observe(record)
            case "tick":
                self.counts.ticks += 1
            case "erasure":
                self._erase(record)
            case "clock":
                assert record.body is not None
                self._turn_back(record.body["before"] - record.time)
            case "rollback" | "settings":
                pass  # about the model; new settings are set by whoever reads them
        return effects

    def next_deadline(self) -> int | None:
        """The first deadline that is still to come."""
        while self._deadlines and not self._is_open(*self._deadlines[0][1:]):
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def take_back(self, effect: Learn) -> None:
        """Counts an outcome that could not be learned as rejected."""
        if effect.is_default:
            self.counts.learned_defaults -= 1
        else:
            self.counts.learned -= 1
        self.counts.rejected += 1

    def oldest(self) -> int | None:
        """The oldest record that the state refers to."""
        first = itertools.islice(self.windows, 1)  # they are in the order of positions
        return min(itertools.chain(first, *self.early.values()), default=None)

    # Storing

    def waiting(self, positions: Sequence[int]) -> dict[int, Waiting | None]:
        """The open windows and early records at these positions; None for those that are gone."""
        found: dict[int, Waiting | None] = dict(zip(positions, map(self.windows.get, positions), strict=True))
        early = {position: one for waiting in self.early.values() for position, one in waiting.items()}
        found.update({position: early[position] for position in early.keys() & found.keys()})
        return found

    def all_rows(self) -> dict[int, dict[str, Any]]:
        """Everything that is open, as JSON, by position."""
        early = [one for waiting in self.early.values() for one in waiting.values()]
        rows = [as_row(one) for one in self.windows.values()] + [as_row(one) for one in early]
        return {row["position"]: row for row in rows}

    def restore(self, rows: Iterable[dict[str, Any]], counts: dict[str, int]) -> None:
        """Takes what `as_row` gave, in the order of positions."""
        self.counts = Counts(**counts)
        for row in rows:
            if "settings" in row:
                self._open(Window(**{**row, "settings": JoinSettings(*row["settings"])}))
            else:
                self._wait(Early(**row))
        self.touched.clear()

    # Inside

    def _decide(self, record: Record) -> Iterator[Effect]:
        assert record.event_id is not None
        assert record.body is not None
        self.counts.decisions += 1
        window = Window(
            position=record.position,
            event_id=record.event_id,
            deadline=record.time + self.settings.wait,
            settings=self.settings,
            activated=record.body.get("activate", True),
        )
        self._open(window)
        for position, one in self.early.pop(record.event_id, {}).items():
            self.touched.add(position)
            yield from self._join(self.windows[record.position], one.value)

    def _discard(self, record: Record) -> None:
        assert record.event_id is not None
        self.counts.decisions += 1
        self.counts.rejected += 1
        waiting = self.early.pop(record.event_id, {})
        self.touched |= waiting.keys()
        self.counts.late += len(waiting)

    def _observe(self, record: Record) -> Iterator[Effect]:
        assert record.event_id is not None
        window = self.windows.get(record.of)
        if window is not None:
            yield from self._join(window, record.value)
        elif record.of:
            self.counts.late += 1
        else:
            deadline = record.time + self.settings.wait
            self._wait(Early(record.position, record.event_id, deadline, record.value))

    def _join(self, window: Window, value: float | None) -> Iterator[Effect]:
        """A reward, or an activation where the value is None."""
        aggregation, activated, rewards = window.settings.aggregation, window.activated, window.rewards
        total = window.value
        if value is None:
            activated = True
        else:
            if aggregation == "first" and rewards:
                self.counts.repeated += 1
            else:
                total = _aggregated(aggregation, total, value)
            rewards += 1
        is_due = aggregation == "first" and activated and rewards > 0 and not window.learned
        learned = window.learned or is_due
        window = window._replace(activated=activated, rewards=rewards, value=total, learned=learned)
        self.windows[window.position] = window
        self.touched.add(window.position)
        if is_due:
            yield self._outcome(window)

    def _close_before(self, time: int) -> Iterator[Effect]:
        while self._deadlines and self._deadlines[0][0] < time:
            _, position, event_id = heapq.heappop(self._deadlines)
            if not self._is_open(position, event_id):
                continue
            self.touched.add(position)
            if event_id is not None:
                self._forget_early(position, event_id)
                self.counts.orphans += 1
                continue
            window = self.windows.pop(position)
            if window.learned:
                continue
            if not window.activated:
                self.counts.unactivated += 1
            elif window.rewards or window.settings.default is not None:
                yield self._outcome(window)
            else:
                self.counts.unrewarded += 1

    def _outcome(self, window: Window) -> Effect:
        settings = window.settings
        if not window.rewards:
            assert settings.default is not None
            self.counts.learned_defaults += 1
            return Learn(window.position, settings.default, is_default=True)
        value = window.value
        assert value is not None
        if settings.aggregation == "mean":
            value = _rounded_into(settings.low, value / window.rewards, settings.high)
        if not settings.low <= value <= settings.high:
            self.counts.rejected += 1
            what = f"the {settings.aggregation} of {window.rewards} rewards" if window.rewards > 1 else "the reward"
            return Reject(window.position, f"{what} is {value}; expected [{settings.low}, {settings.high}].")
        self.counts.learned += 1
        return Learn(window.position, value, is_default=False)

    def _erase(self, record: Record) -> None:
        window = self.windows.pop(record.of, None)
        if window is not None:
            self.touched.add(window.position)
            self.counts.erased += 0 if window.learned else 1

    def _turn_back(self, milliseconds: int) -> None:
        """Time goes back: what waits goes on waiting for as long as it would have."""
        self.windows = {
            position: one._replace(deadline=one.deadline - milliseconds) for position, one in self.windows.items()
        }
        self.early = {
            event_id: {position: one._replace(deadline=one.deadline - milliseconds) for position, one in some.items()}
            for event_id, some in self.early.items()
        }
        self.touched |= self.windows.keys()
        for some in self.early.values():
            self.touched |= some.keys()
        self._deadlines = [(deadline - milliseconds, position, name) for deadline, position, name in self._deadlines]

    def _open(self, window: Window) -> None:
        self.windows[window.position] = window
        self.touched.add(window.position)
        heapq.heappush(self._deadlines, (window.deadline, window.position, None))

    def _wait(self, one: Early) -> None:
        self.early.setdefault(one.event_id, {})[one.position] = one
        self.touched.add(one.position)
        heapq.heappush(self._deadlines, (one.deadline, one.position, one.event_id))

    def _is_open(self, position: int, event_id: str | None) -> bool:
        if event_id is None:
            return position in self.windows
        return position in self.early.get(event_id, ())

    def _forget_early(self, position: int, event_id: str) -> None:
        del self.early[event_id][position]
        if not self.early[event_id]:
            del self.early[event_id]


def _aggregated(aggregation: Aggregation, before: float | None, value: float) -> float:
    if before is None or aggregation in ("first", "last"):
        return value
    match aggregation:
        case "min":
            return min(before, value)
        case "max":
            return max(before, value)
        case _:
            return before + value


def _rounded_into(low: float, value: float, high: float) -> float:
    """The mean of values in a range may leave it by rounding, and by no more."""
    for bound in (low, high):
        if math.isclose(value, bound, rel_tol=1e-12):
            return min(max(value, low), high)
    return value


def as_row(one: Waiting) -> dict[str, Any]:
    """As JSON's values."""
    if isinstance(one, Early):
        return {"position": one.position, "event_id": one.event_id, "deadline": one.deadline, "value": one.value}
    return {
        "position": one.position,
        "event_id": one.event_id,
        "deadline": one.deadline,
        "settings": one.settings,
        "activated": one.activated,
        "rewards": one.rewards,
        "value": one.value,
        "learned": one.learned,
    }
