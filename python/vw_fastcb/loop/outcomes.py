"""What came of each decision of a journal: the join, applied once more to its records."""

from __future__ import annotations

import bisect
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from vw_fastcb.loop.join import Effect, Join, Learn, Window
from vw_fastcb.loop.journal import Journal, JournalFailed, JournalRefused
from vw_fastcb.loop.learner import Learner
from vw_fastcb.loop.records import Record
from vw_fastcb.loop.settings import LoopSettings

OutcomeKind: TypeAlias = Literal["reward", "default", "none", "pending", "rejected", "erased"]
OUTCOME_KINDS: tuple[OutcomeKind, ...] = ("reward", "default", "none", "pending", "rejected", "erased")


@dataclass(slots=True)
class Outcome:
    """What came of a decision.

    Attributes:
        position: Of the decision.
        kind: "reward" or "default" was learned; "none": its window closed, and nothing was; "pending": it waits;
            "rejected": it could not be learned; "erased": its features are gone.
        value: What was learned: the reward, or the cost in a loop of costs.
        rewards: How many rewards came while the window was open.
        observed: Their values.
        activated: Whether it may learn anything.
        learned_position: The record at which it was learned, where that was before its window closed.
        learned_time: The time of that record.
    """

    position: int
    kind: OutcomeKind = "pending"
    value: float | None = None
    rewards: int = 0
    observed: list[float] = field(default_factory=list)
    activated: bool = True
    learned_position: int | None = None
    learned_time: int | None = None


class Outcomes:
    """The outcomes of a journal's decisions, in the order in which they were learned.

    Args:
        journal: The journal, which others may go on using.
        until: The last record that counts; what comes later is as if it had not happened.
        now: A time by which windows count as closed if their wait is over, although no record says so yet.

    Attributes:
        until: That record.
        settings: The last settings.
        unknown: Decisions whose settings retention has dropped; nothing is known of them.
    """

    def __init__(self, journal: Journal, until: int | None = None, *, now: int | None = None) -> None:
        self.journal = journal
        self._now = now
        last = journal.last()[0]
        self.until = last if until is None else min(until, last)
        self._first, self._first_settings = _first_settings(journal)
        self._changes = {
            record.position: LoopSettings.from_json((record.body or {})["settings"])
            for record in journal.of_kind("settings")
            if record.position <= self.until
        }
        self.settings = next(reversed(self._changes.values()), self._first_settings)
        self.unknown = sum(record.kind == "decision" for record in journal.read(0, self._first - 1))
        self._erased = {record.of for record in journal.of_kind("erasure") if record.position <= self.until}
        self._dead = _dead(journal, self.until)
        self._open: dict[int, tuple[Outcome, Window]] = {}
        self._early: dict[int, float] = {}  # of rewards whose decision is not known yet, by their position

    def __iter__(self) -> Iterator[Outcome]:
        """One for each decision, once it is known; those that wait come at the end.

        `rewards` still counts for one that was learned by its first reward.
        """
        join = Join(self._first_settings.join)
        following = self._first
        for record in self.journal.read(self._first - 1, self.until):
            if record.position != following:
                raise _damaged(following)
            following += 1
            if record.kind == "settings":
                assert record.body is not None
                join.settings = LoopSettings.from_json(record.body["settings"]).join
            yield from self._apply(join, record)
        if following <= self.until:
            raise _damaged(following)
        if self._now is not None:
            yield from self._apply(join, Record(self.until + 1, self._now, "tick"))
        for outcome, window in self._open.values():
            outcome.rewards, outcome.activated = window.rewards, window.activated
            if outcome.kind == "pending":
                outcome.kind = "rejected" if outcome.position in self._dead else "pending"
                yield outcome

    def settled(self) -> int:
        """The last record before the first decision that still waits.

        Up to there the outcome of every decision is known. Beyond, those that are known are no fair sample: a click is
        known at once, and that there was none only when the wait is over.
        """
        return min((outcome.position for outcome in self if outcome.kind == "pending"), default=self.until + 1) - 1

    def left_out(self, decision: Record) -> list[int]:
        """The numbers of the actions that could not be drawn: the caller excluded them, or they were retired.

        They are retired by the settings that the decision was made with, which a decider may learn of late. An action
        that had a probability was not left out, as in an imported log.
        """
        body = decision.body or {}
        retired = self._settings_at(body.get("applied", decision.position - 1)).retired_numbers
        pmf = body["pmf"]
        return sorted({*body.get("exclude", ()), *(one for one in retired if pmf[one] == 0)})

    def _settings_at(self, position: int) -> LoopSettings:
        """Those after so many records; the first that are known where retention has dropped them."""
        before = bisect.bisect_right(list(self._changes), position) - 1
        return list(self._changes.values())[before] if before >= 0 else self._first_settings

    def _apply(self, join: Join, record: Record) -> Iterator[Outcome]:
        early = tuple(join.early.get(record.event_id or "", ()))
        effects = join.apply(record)
        if record.kind == "decision":
            self._begin(join, record, early)
        elif record.kind == "reward" and record.value is not None:
            self._observe(join, record)
        touched, join.touched = join.touched, set()
        for position in touched:
            if position in self._open and position in join.windows:
                self._open[position] = self._open[position][0], join.windows[position]
        for effect in effects:
            yield self._learned(effect, record)
        for position in sorted(touched):
            yield from self._closed(join, position)

    def _begin(self, join: Join, record: Record, early: Collection[int]) -> None:
        outcome = Outcome(record.position, observed=[self._early[one] for one in sorted(early) if one in self._early])
        self._open[record.position] = outcome, join.windows[record.position]

    def _observe(self, join: Join, record: Record) -> None:
        assert record.value is not None
        if record.of in self._open and record.of in join.windows:
            self._open[record.of][0].observed.append(record.value)
        elif not record.of:
            self._early[record.position] = record.value

    def _learned(self, effect: Effect, record: Record) -> Outcome:
        outcome, window = self._open[effect.position]
        outcome.rewards, outcome.activated = window.rewards, window.activated
        if outcome.position in self._erased:
            outcome.kind = "erased"
        elif isinstance(effect, Learn) and outcome.position not in self._dead:
            outcome.kind, outcome.value = "default" if effect.is_default else "reward", effect.value
            if window.learned:
                outcome.learned_position, outcome.learned_time = record.position, record.time
        else:
            outcome.kind = "rejected"
        return outcome

    def _closed(self, join: Join, position: int) -> Iterator[Outcome]:
        """Windows that have closed; those without an effect are known only now."""
        self._early.pop(position, None)
        if position in join.windows or position not in self._open:
            return
        outcome, window = self._open.pop(position)
        outcome.rewards, outcome.activated = window.rewards, window.activated
        if outcome.kind == "pending":
            is_erased, is_dead = position in self._erased, position in self._dead
            outcome.kind = "erased" if is_erased else "rejected" if is_dead else "none"
            yield outcome


def position_of(journal: Journal, given: int, *, is_time: bool) -> int:
    """A position, or that of the last record up to a time; one before the first record where there is none."""
    if not is_time:
        return given
    first, last = journal.first(), journal.last()[0]
    times = range(first, last + 1)
    return first + bisect.bisect_right(times, given, key=lambda position: journal.decision(position).time) - 1


def learner_at(journal: Journal, until: int) -> Learner:
    """The learner after the first `until` records. Nothing is written."""
    for one in reversed(journal.checkpoints()):
        if one.position <= until:
            learner = Learner.at(journal, one, journal.windows(one.generation))
            break
    else:
        if journal.first() != 1:
            raise JournalRefused(f"the state after record {until} is not kept any more; expected a later record.")
        targets = [(one.body or {})["position"] for one in journal.of_kind("rollback")]
        learner = Learner.begin(journal, next(journal.read()), snapshots=targets)
    for record in journal.read(learner.position, until):
        learner.apply(record)
    return learner


def _damaged(position: int) -> JournalFailed:
    """SQLite may read a part of a damaged file without a word."""
    return JournalFailed(f"record {position} of the journal cannot be read: it is damaged. Put a backup back.")


def _first_settings(journal: Journal) -> tuple[int, LoopSettings]:
    """The first record whose settings are known, and these."""
    first = next(journal.read())
    changes = journal.of_kind("settings")
    if changes and changes[0].position == first.position:
        assert changes[0].body is not None
        return first.position, LoopSettings.from_json(changes[0].body["settings"])
    oldest = journal.checkpoints()[0]
    earlier = [one for one in changes if one.position <= oldest.position]
    if earlier:  # retention has dropped what was before
        assert earlier[0].body is not None
        return earlier[0].position, LoopSettings.from_json(earlier[0].body["settings"])
    return first.position, LoopSettings.from_json(oldest.summary["settings"])


def _dead(journal: Journal, until: int) -> set[int]:
    """The decisions that could not be learned. Those since the newest checkpoint are found by learning once more."""
    kept = journal.checkpoints()
    known = {letter.position for letter in journal.dead_letters()}
    if kept and kept[-1].position >= until:
        return known
    return known | {letter.position for letter in learner_at(journal, until).dead_letters}
