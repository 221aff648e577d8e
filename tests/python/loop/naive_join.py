"""What `Join` must do, from the sentences of the loop's contract, as slowly and plainly as they read.

Nothing is kept from one record to the next: what becomes of each decision and of each reward is searched for in the
whole list of records. Nothing here knows how `Join` does it.

Where the contract says nothing, this is what is meant:

- `wait` for a reward or an activation without a decision is the one in force when it was written.
- What came before its decision counts as if it had come with it, in the order in which it was written.
- Where the first reward counts and the activation comes after it, it is learned with the activation.
- A first reward out of range is a dead letter at once; the second does not take its place.
- A window that closes without an activation is counted as that, whether there were rewards or not.
- An erasure ends the window. Each decision has one fate: one that was learned, was rejected, or whose window had closed
  is not counted as erased. Rewards and activations after it are late.
- Rewards and activations are all counted as received, those that turn out late or orphans too.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence

from vw_fastcb.loop.join import JoinSettings
from vw_fastcb.loop.records import Record

ITSELF = (float("inf"), 0)  # what a record itself causes comes after the windows that it closes


@dataclasses.dataclass(frozen=True)
class Learned:
    position: int
    value: float
    is_default: bool


@dataclasses.dataclass(frozen=True)
class Rejected:
    position: int


@dataclasses.dataclass(frozen=True)
class Happening:
    """Something that is counted with the record at index `at`, and what it tells the model."""

    at: int
    counted: str
    order: tuple[float, int] = ITSELF
    effect: Learned | Rejected | None = None


@dataclasses.dataclass(frozen=True)
class Waiting:
    """A window, or what waits for its decision: from the record at one index to before the one at another."""

    position: int
    deadline: int
    since: int
    until: int
    is_window: bool


class NaiveJoin:
    """What happens with each of these records.

    Args:
        records: All of a journal. The body of a change of settings holds the new `JoinSettings` under "settings".
        settings: Those that it begins with.
    """

    def __init__(self, records: Sequence[Record], settings: JoinSettings) -> None:
        self.records = records
        self.initial = settings
        self.happenings: list[Happening] = []
        self.waiting: list[Waiting] = []
        for at, record in enumerate(records):
            if record.kind == "decision":
                self._decision(at, record)
            elif record.kind in ("reward", "activation"):
                self._observation(at, record)
            elif record.kind == "tick":
                self.happenings.append(Happening(at, "ticks"))

    # What tests ask

    def effects(self, at: int) -> list[Learned | Rejected]:
        """What is learned and rejected with the record at an index, in this order."""
        now = [one for one in self.happenings if one.at == at and one.effect is not None]
        return [one.effect for one in sorted(now, key=lambda one: one.order)]

    def counts(self, at: int) -> dict[str, int]:
        """What has been counted up to the record at an index; without what is 0."""
        return dict(Counter(one.counted for one in self.happenings if one.at <= at))

    def windows(self, at: int) -> set[int]:
        """The decisions whose windows are open after the record at an index."""
        return {one.position for one in self._open(at) if one.is_window}

    def early(self, at: int) -> set[int]:
        """The rewards and activations that wait for their decision after the record at an index."""
        return {one.position for one in self._open(at) if not one.is_window}

    def next_deadline(self, at: int) -> int | None:
        return min((one.deadline for one in self._open(at)), default=None)

    def oldest(self, at: int) -> int | None:
        return min((one.position for one in self._open(at)), default=None)

    def _open(self, at: int) -> list[Waiting]:
        return [one for one in self.waiting if one.since <= at < one.until]

    # The sentences

    def _settings_of(self, at: int) -> JoinSettings:
        """Those in force when the record at an index was written."""
        changes = [one.body["settings"] for one in self.records[: at + 1] if one.kind == "settings"]
        return changes[-1] if changes else self.initial

    def _first(self, is_it: Callable[[int, Record], bool]) -> int:
        """The index of the first record that is it; one after the last where none is."""
        return next((at for at, one in enumerate(self.records) if is_it(at, one)), len(self.records))

    def _first_after(self, deadline: int) -> int:
        """When a record at time T is applied, first all deadlines < T are closed. A reward at exactly `wait` counts."""
        return self._first(lambda _, one: one.time > deadline)

    def _deadline(self, at: int) -> int:
        return self.records[at].time + self._settings_of(at).wait

    def _decision_for(self, at: int) -> int:
        """The decision that takes what was written at an index without knowing one: the next of that id, in time."""
        event_id = self.records[at].event_id
        taken = self._first(lambda i, one: i > at and one.kind == "decision" and one.event_id == event_id)
        return taken if taken < self._first_after(self._deadline(at)) else len(self.records)

    def _end(self, at: int) -> int:
        """When the window of the decision at an index ends: after its deadline, or erased."""
        position = self.records[at].position
        erased = self._first(lambda _, one: one.kind == "erasure" and one.of == position)
        return min(erased, self._first_after(self._deadline(at)))

    def _observations(self, at: int, kind: str) -> list[tuple[int, Record]]:
        """The rewards or activations of the decision at an index, and when each comes to count."""
        position = self.records[at].position
        all_of_them = [(i, one) for i, one in enumerate(self.records) if one.kind == kind]
        before = [(at, one) for i, one in all_of_them if not one.of and self._decision_for(i) == at]
        return before + [(i, one) for i, one in all_of_them if one.of == position and i < self._end(at)]

    def _decision(self, at: int, decision: Record) -> None:
        settings, deadline, end = self._settings_of(at), self._deadline(at), self._end(at)
        rewards = self._observations(at, "reward")
        values = [one.value for _, one in rewards]
        activated = at if decision.body.get("activate", True) else None
        if activated is None:
            activated = next((i for i, _ in self._observations(at, "activation")), None)

        self.happenings.append(Happening(at, "decisions"))
        self.waiting.append(Waiting(decision.position, deadline, at, end, is_window=True))
        is_settled = False
        if settings.aggregation == "first":
            self.happenings += [Happening(i, "repeated") for i, _ in rewards[1:]]
            if rewards and activated is not None:
                is_settled = True
                self._outcome(max(activated, rewards[0][0]), ITSELF, decision.position, values[0], settings)
        if end == len(self.records) or is_settled:
            return
        if self.records[end].time <= deadline:
            self.happenings.append(Happening(end, "erased"))
        elif activated is None:
            self.happenings.append(Happening(end, "unactivated"))
        elif values:
            value = aggregated(settings.aggregation, values)
            self._outcome(end, (deadline, decision.position), decision.position, value, settings)
        elif settings.default is None:
            self.happenings.append(Happening(end, "unrewarded"))
        else:
            effect = Learned(decision.position, settings.default, is_default=True)
            self.happenings.append(Happening(end, "learned_defaults", (deadline, decision.position), effect))

    def _outcome(self, at: int, order: tuple[float, int], position: int, value: float, settings: JoinSettings) -> None:
        if settings.low <= value <= settings.high:
            self.happenings.append(Happening(at, "learned", order, Learned(position, value, is_default=False)))
        else:
            self.happenings.append(Happening(at, "rejected", order, Rejected(position)))

    def _observation(self, at: int, record: Record) -> None:
        self.happenings.append(Happening(at, f"{record.kind}s"))
        if record.of:
            if at >= self._end(record.of - 1):
                self.happenings.append(Happening(at, "late"))
            return
        passed, decided = self._first_after(self._deadline(at)), self._decision_for(at)
        self.waiting.append(Waiting(record.position, self._deadline(at), at, min(passed, decided), is_window=False))
        if decided == len(self.records) and passed < len(self.records):
            self.happenings.append(Happening(passed, "orphans"))


def aggregated(aggregation: str, values: list[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return {
        "first": values[0],
        "last": values[-1],
        "sum": total,
        "mean": total / len(values),
        "min": min(values),
        "max": max(values),
    }[aggregation]
