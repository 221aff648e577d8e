"""`Loop`: decide, log, join late rewards, learn exactly once."""

from __future__ import annotations

import contextlib
import copy
import inspect
import math
import os
import secrets
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from vw_fastcb._engine import ARITHMETIC
from vw_fastcb.learner.fastcb import FastCB
from vw_fastcb.learner.frames import is_number
from vw_fastcb.learner.settings import Settings
from vw_fastcb.loop.answers import LoopDecision, Status
from vw_fastcb.loop.clocks import MOST_APART, now
from vw_fastcb.loop.columns import Declared, Fitted, warning_of
from vw_fastcb.loop.contexts import Features, action_features_of, checked_id, features_of, shown
from vw_fastcb.loop.fingerprint import fingerprint
from vw_fastcb.loop.journal import (
    Checkpoint,
    ClockDiffers,
    Conflict,
    DeadLetter,
    Draft,
    Fenced,
    Journal,
    JournalFailed,
    JournalFull,
    JournalRefused,
    JournalUnreachable,
    LoopError,
    SettingsDiffer,
)
from vw_fastcb.loop.products import Products
from vw_fastcb.loop.records import Record
from vw_fastcb.loop.redis import Address, RedisJournal
from vw_fastcb.loop.redis.address import without_password
from vw_fastcb.loop.requests import Activate, Decide, Observe, Request
from vw_fastcb.loop.settings import ACTIONS, KEEPING, LoopSettings, milliseconds, shown_time
from vw_fastcb.loop.sqlite import SqliteJournal
from vw_fastcb.loop.worker import Options, View, Worker
from vw_fastcb.refusals import RefusedType, RefusedValue

Duration: TypeAlias = "str | float | timedelta"
_JOURNALS = "the name of a file, or redis://host:6379/journal"
_MANY, _MOST_SILENT = 100, 0.3  # decisions without a reward, and their share, from which on there is a warning


class _Unset:
    """Stands for a setting that was not given: the journal's own counts."""

    def __repr__(self) -> str:
        return "unset"


_UNSET: Any = _Unset()


class Loop:
    """A bandit that runs: it decides, logs, joins late rewards, learns, and goes on after a crash.

    Everything is in one file, the journal. A decision or a reward is durable when the call returns. The model is a
    function of the journal alone: after a crash you get exactly the model you would have had without it.

    Any number of threads may use one loop, and any number of processes may open one file. The first one learns; the
    others decide from its newest checkpoint, and one of them takes over when it ends.

    Make one with `Loop.open`.
    """

    _worker: Worker
    _clock: Callable[[], int]
    _process: int
    _is_closed: bool

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError("Loop(...) was called; expected Loop.open(journal, ...), which opens a journal or makes one.")

    @classmethod
    def _of(cls, worker: Worker, clock: Callable[[], int]) -> Loop:
        loop = object.__new__(cls)
        loop._worker, loop._clock, loop._process, loop._is_closed = worker, clock, os.getpid(), False
        return loop

    @classmethod
    def open(
        cls,
        journal: str | os.PathLike[str],
        *,
        actions: Sequence[str] | int | None = _UNSET,
        wait: Duration = _UNSET,
        default_reward: float | None = _UNSET,
        default_cost: float | None = _UNSET,
        aggregation: Literal["first", "last", "sum", "mean", "min", "max"] = _UNSET,
        reward_range: tuple[float, float] = _UNSET,
        cost_range: tuple[float, float] = _UNSET,
        retired: Collection[str | int] = _UNSET,
        retention: Duration | None = _UNSET,
        columns: Declared = _UNSET,
        action_columns: Declared = _UNSET,
        mismatch: Literal["leave_out", "refuse"] = _UNSET,
        objective: Literal["loss", "reward", "both"] = _UNSET,
        allocation: Literal["reweighted", "igw"] = _UNSET,
        gamma_scale: float | None = _UNSET,
        gamma_exponent: float | None = _UNSET,
        oracle: Literal["ensemble", "newton", "gd"] | None = _UNSET,
        optimism: float | None = _UNSET,
        learning_rate: float | None = _UNSET,
        epsilon: float = _UNSET,
        interactions: Sequence[str] | None = _UNSET,
        bits: int | None = _UNSET,
        missing: Literal["zero", "mark"] = _UNSET,
        seed: int | None = _UNSET,
        vw_args: str = _UNSET,
        change: bool = False,
        relearn: bool | None = None,
        learn: bool = True,
        take_over: bool = False,
        lease: Duration = "10s",
        checkpoint_every: Duration = "10s",
        keep_generations: int = 5,
        clock: Callable[[], int] | None = None,
    ) -> Loop:
        """Opens a journal, or makes a new one.

        An existing journal keeps its settings. Different ones raise SettingsDiffer unless `change=True`. Settings that
        you leave out show as `unset`: the journal's own count.

        Args:
            journal: The file.
            actions: The names of the actions, or their number; None where each decision brings its own actions with
                features.
            wait: How long a decision waits for its rewards: "10min" unless given.
            default_reward: The reward to learn for an event that received none; None learns nothing from it.
            default_cost: The same, in a loop of costs.
            aggregation: Which reward counts. "first" is learned as soon as it comes; "last", "sum", "mean", "min" and
                "max" when the wait is over.
            reward_range: The lowest and the highest reward. Without it the loop is one of costs, in (0, 1).
            cost_range: The lowest and the highest cost.
            retired: Actions that are never drawn.
            retention: How long records are kept; None keeps them for ever.
            columns: The columns of contexts: "number", "text" or "any" by name, or the length of a list of numbers. A
                name that ends in `*` stands for all that begin like it. Other features are refused. Without columns,
                the first value of a name fixes its kind.
            action_columns: The columns of `action_features`.
            mismatch: What happens to a value that does not fit its column. "leave_out" makes the decision without it,
                and `status` counts it; "refuse" raises. Declared columns refuse unless you say otherwise.
            objective: This and the following, up to `vw_args`, are settings of `FastCB`.
            allocation: See `FastCB`.
            gamma_scale: See `FastCB`.
            gamma_exponent: See `FastCB`.
            oracle: See `FastCB`.
            optimism: See `FastCB`.
            learning_rate: See `FastCB`.
            epsilon: See `FastCB`.
            interactions: See `FastCB`.
            bits: See `FastCB`.
            missing: See `FastCB`.
            seed: Of the draws, which depend on it and on the event id; made at random for a new journal.
            vw_args: See `FastCB`.
            change: Whether settings that differ are to take the place of the journal's.
            relearn: If a changed setting invalidates the model: True learns the journal again under it, False starts
                empty.
            learn: Whether this process may learn.
            take_over: Whether it takes learning over from a process that still holds the lease.
            lease: How long another process waits before it takes over from one that does not answer.
            checkpoint_every: Time between two checkpoints, while there is something new.
            keep_generations: How many checkpoints are kept, to go back to.
            clock: The time in milliseconds, for tests.

        Returns:
            The loop. Close it, or use it in a `with` statement.

        Raises:
            SettingsDiffer: Settings differ from the journal's, and `change` is not set.
            JournalRefused: The file is not a journal, is damaged, is from a newer version, or cannot be written to.
            ValueError: A setting is wrong.

        Examples:
            >>> import os, tempfile
            >>> from vw_fastcb import Loop
            >>> path = os.path.join(tempfile.mkdtemp(), "shop.db")
            >>> with Loop.open(path, actions=["politics", "sports", "music"], reward_range=(0, 1)) as loop:
            ...     decision = loop.decide({"user": "Tom", "hour": 9}, event_id="e1")
            ...     loop.reward("e1", 1)
            >>> with Loop.open(path) as loop:
            ...     loop.status().learned
            1
        """
        given = dict(locals())
        for name in ("change", "learn", "take_over", "relearn"):
            if not isinstance(given[name], bool) and (name, given[name]) != ("relearn", None):
                raise TypeError(f"{name} is {given[name]!r}; expected True or False.")
        named = {name: given[name] for name in _SETTINGS if given[name] is not _UNSET}
        options = Options(
            learns=learn,
            takes_over=take_over,
            lease=milliseconds("lease", lease),
            checkpoint_every=milliseconds("checkpoint_every", checkpoint_every),
            keep=_whole("keep_generations", keep_generations),
        )
        time = now if clock is None else _checked_clock(clock)
        return cls._open(journal, named, options, time, change=change, relearn=relearn)

    @classmethod
    def _open(
        cls,
        path: str | os.PathLike[str],
        named: dict[str, Any],
        options: Options,
        clock: Callable[[], int],
        *,
        change: bool,
        relearn: bool | None,
    ) -> Loop:
        journal = open_journal(path, named, clock)
        try:
            changes = None if not named else _changes(journal, named, change, relearn)
            loop = cls._of(Worker(journal, options), clock)
            _start(loop._worker, path)
        except BaseException:
            journal.close()
            raise
        try:
            if changes is not None:
                loop._worker.submit([changes])
                loop._save_if_learner()
        except BaseException:
            loop.close()
            raise
        return loop

    # Deciding

    def decide(
        self,
        context: Any,
        action_features: Any = None,
        *,
        action_ids: Sequence[str] | None = None,
        exclude: Collection[int | str] | None = None,
        event_id: str | int | None = None,
        activate: bool = True,
        baseline: int | str | None = None,
    ) -> LoopDecision:
        """Draws an action. The decision is durable, with everything needed to learn from it, when this returns.

        The same event id with the same request gets the same answer again, whatever was learned meanwhile.

        Args:
            context: A dictionary, which may be nested, or a row of numbers.
            action_features: The features of the actions, where they are not fixed: a list of dictionaries, or (A, d).
            action_ids: Names of these actions.
            exclude: Actions that may not be drawn this time, by number or name. The allocation runs over the others.
            event_id: The id that rewards are reported with, at most 256 characters; made at random unless given.
            activate: False if the decision may turn out unused. Nothing is learned unless you then call
                `loop.activate(event_id)`.
            baseline: The action that you would take without the loop, by number, name or id. It is recorded. Where the
                journal is away, it is the `baseline` of the error: take it, and report no reward for it.

        Returns:
            The action, its probability and the event id.

        Raises:
            Conflict: The event id was used before, with another request.
            LoopError: The decision could not be made or stored; its `baseline` is yours.
            ValueError: Features that do not fit the columns where these refuse them, values that are not finite,
                unknown actions.
            TypeError: Something that is not a row of features.
        """
        asked = Decide(context, action_features, action_ids, exclude, event_id, activate, baseline)
        try:
            decision = self._answer(asked)
        except LoopError as problem:
            if baseline is None or not has_fallback(problem):
                raise
            own = copy.copy(problem)  # many callers may be told of one problem
            own.baseline = baseline
            raise own from problem
        assert decision is not None
        return decision

    def activate(self, event_id: str | int) -> None:
        """Says that a decision made with `activate=False` was used. Nothing is learned from it unless you do.

        Args:
            event_id: The id of the decision.
        """
        self._answer(Activate(event_id))

    # Outcomes

    def reward(self, event_id: str | int, value: float, reward_id: str | int | None = None) -> None:
        """Reports a reward: now, later, from another process. It is durable when this returns.

        Args:
            event_id: The id of the decision, which need not be known yet.
            value: The reward.
            reward_id: With an id the reward counts once, however often it is reported. Without one, each call counts.

        Raises:
            Conflict: The reward id was used before, with another value.
            ValueError: The reward is not finite or outside its range.
        """
        self._answer(Observe(event_id, value, reward_id, "reward"))

    def cost(self, event_id: str | int, value: float, reward_id: str | int | None = None) -> None:
        """Reports a cost, in a loop of costs. See `reward`.

        Args:
            event_id: The id of the decision, which need not be known yet.
            value: The cost.
            reward_id: With an id the cost counts once.

        Raises:
            Conflict: The id was used before, with another value.
            ValueError: The cost is not finite or outside its range.
        """
        self._answer(Observe(event_id, value, reward_id, "cost"))

    # Requests become drafts of records, and those are committed

    def _answer(self, request: Request) -> LoopDecision | None:
        self._check_open()
        with self._worker.view() as view:
            draft, names = self._draft(request, view)
        self._worker.submit([draft])
        assert draft.record is not None
        return LoopDecision.of(draft.record, names) if draft.kind == "decision" else None

    def _draft(self, request: Request, view: View) -> tuple[Draft, Sequence[str] | None]:
        """The record that a request asks for, and the names of the actions where it is a decision."""
        if isinstance(request, Decide):
            return self._decision(request, view), view.model.settings.action_names
        if isinstance(request, Observe):
            return self._observation(request, view.settings), None
        return Draft("activation", checked_id(request.event_id)), None

    def _decision(self, asked: Decide, view: View) -> Draft:
        if not isinstance(asked.activate, bool):
            raise RefusedType(f"activate is {asked.activate!r}; expected True or False.")
        features = features_of(asked.context, "the context")
        table = None if asked.action_features is None else action_features_of(asked.action_features)
        ids = _action_ids(asked.action_ids, table)
        name = _new_id() if asked.event_id is None else checked_id(asked.event_id)
        left_out = _excluded(view.model.settings, asked.exclude, ids, table)
        baseline = _baseline(view.settings, asked.baseline, ids, table, left_out)
        view.model.check_size(features, table)
        drawn = view.model.decide(features, table, sorted({*left_out, *view.settings.retired_numbers}), name)
        request = {
            "context": features,
            "action_features": table,
            "action_ids": ids,
            "exclude": left_out or None,
            "activate": None if asked.activate else False,
            "baseline": baseline,
        }
        body: dict[str, Any] = {key: value for key, value in request.items() if value is not None}
        body["action"] = drawn.action
        body["pmf"] = drawn.pmf.tolist()
        body["draw"] = drawn.draw
        body["generation"] = view.generation
        body["applied"] = view.applied
        body["learned"] = view.model.events
        body["engine"] = fingerprint()
        return Draft("decision", name, body=body, request=request)

    def _observation(self, asked: Observe, settings: LoopSettings) -> Draft:
        name = checked_id(asked.event_id)
        label = None if asked.reward_id is None else checked_id(asked.reward_id, "reward_id")
        noun = asked.noun or settings.noun
        if settings.noun != noun:
            raise RefusedValue(
                f"{noun}() was called, but this is a loop of {settings.noun}s; expected {settings.noun}(). Loops of "
                f"{noun}s are opened with {noun}_range."
            )
        value = _finite(asked.value, noun)
        low, high = settings.model.value_range
        # Parts of a sum may be anything; what they sum up to is checked when the wait is over.
        if settings.aggregation != "sum" and not low <= value <= high:
            raise RefusedValue(f"the {noun} is {value}; expected a number in [{low}, {high}].")
        return Draft("reward", name, value=value, reward_id=label)

    # The model

    def model(self) -> FastCB:
        """A learner of its own with what was learned so far.

        Returns:
            A copy: what it learns, the loop does not.
        """
        self._check_open()
        with self._worker.view() as view:
            content, settings = view.model.to_bytes(), view.settings
        return FastCB(**settings.learner_arguments()) if not content else FastCB.from_bytes(content)

    def checkpoint(self) -> int:
        """Commits the state of the learner now. It does so by itself every few seconds, and when it is closed.

        Returns:
            The newest generation.

        Raises:
            Fenced: Another process learns.
        """
        self._check_open()
        return self._worker.checkpoint()

    def generations(self) -> list[Checkpoint]:
        """The checkpoints that are kept, the oldest first.

        Returns:
            What `rollback` can go back to.
        """
        self._check_open()
        return self._worker.journal.checkpoints()

    def rollback(self, generation: int) -> None:
        """Goes back to the model of an earlier generation. What was learned since is not learned again.

        Decisions that wait for their rewards go on waiting.

        Args:
            generation: One that is kept; see `generations`.

        Raises:
            UnknownGeneration: It is not kept.
            Conflict: Another process has just changed the settings.
            SettingsDiffer: It was learned under settings that invalidate its model.
        """
        self._check_open()
        kept = {one.generation: one for one in self.generations()}
        settings, position = current_settings(self._worker.journal)  # a decider may not follow them yet
        if generation in kept:
            then = LoopSettings.from_json(kept[generation].summary["settings"])
            other = [name for name in settings.differences(then) if name not in KEEPING]
            if other:
                raise SettingsDiffer(
                    f"generation {generation} was learned with different settings ({', '.join(other)}); expected one "
                    "that was learned with the current ones."
                )
        self._worker.submit([Draft("rollback", body={"generation": generation}, expected=position)])
        self._save_if_learner()

    # Looking after it

    @property
    def settings(self) -> dict[str, Any]:
        """What the loop was opened with, as the journal keeps it: names and values, times as text."""
        self._check_open()
        return self._worker.settings.said()

    def set_column(self, name: str, kind: Literal["number", "text"], *, of_actions: bool = False) -> dict[str, Any]:
        """Sets the kind of one column: mends a journal whose first value of that name was of the wrong kind.

        The model is kept. What other values of this column have taught stays in it, and is not used any more.

        Args:
            name: The flat name of the column, such as `user.age`.
            kind: What its values are from now on. Others are left out, or refused, as `mismatch` says.
            of_actions: Whether it is a column of `action_features`, and not of contexts.

        Returns:
            The journal's settings from now on, as `settings` has them. A process that only decides follows them with
            the next checkpoint.

        Raises:
            ValueError: The name or the kind is wrong.
            Conflict: Another process has just changed the settings.
        """
        self._check_open()
        current, position = current_settings(self._worker.journal)
        wanted = current.with_column(name, kind, of_actions=of_actions)
        if wanted != current:
            body = {"settings": wanted.to_json(), "retention_before": current.retention}
            self._worker.submit([Draft("settings", body=body, expected=position)])
            self._save_if_learner()
        return wanted.said()

    def mend_clock(self) -> int:
        """Takes the journal's time back to this machine's clock, if it is ahead: a wrong clock has written to it.

        One record says so, and time goes on from there. What waits for rewards goes on waiting for as long as it would
        have. What was closed too early stays closed: its late rewards are counted and not learned. First stop the
        process whose clock is wrong.

        Returns:
            The milliseconds that the journal was ahead; 0 if there was nothing to mend.

        Raises:
            ClockDiffers: The process that learns now has another time.
        """
        self._check_open()
        draft = Draft("clock")
        try:
            self._worker.submit([draft])
        except Conflict:
            return 0
        self._save_if_learner()
        assert draft.record is not None
        assert draft.record.body is not None
        return int(draft.record.body["before"] - draft.record.time)

    def erase(self, event_id: str | int) -> None:
        """Erases the features of one event for good. It is not learned if it was not yet.

        What the model has learned from it stays. So do the ids of its actions, its probabilities and its rewards; the
        record says that something was erased. Where another process learns, this only asks for it: the features are in
        the file until that process's next checkpoint.

        Args:
            event_id: The id of the decision.

        Raises:
            UnknownEvent: There is no such decision, or not any more.
        """
        self._check_open()
        self._worker.submit([Draft("erasure", checked_id(event_id))])
        with contextlib.suppress(Fenced):  # another process has begun to learn, and erases with its next checkpoint
            if self._worker.is_learner:
                self._worker.checkpoint()
                self._worker.empty_log()

    def copy_to(self, path: str | os.PathLike[str]) -> None:
        """Writes a copy of the journal as it is at one moment, while everybody goes on: a backup.

        Args:
            path: A new file.

        Raises:
            FileExistsError: It is there already.
        """
        self._check_open()
        if os.path.exists(path):
            raise FileExistsError(f"{os.fspath(path)!r} is there already; give the copy a new name.")
        self._worker.journal.copy_to(path)

    def tick(self) -> None:
        """Closes the windows whose wait is over, if this process learns. It happens by itself every second."""
        self._check_open()
        self._worker.tick()

    def dead_letters(self, newest: int | None = None) -> list[DeadLetter]:
        """What could not be learned, and why.

        Args:
            newest: How many are wanted, the newest; all unless given.

        Returns:
            One for each event, in the order in which they were found.
        """
        self._check_open()
        if newest is not None and (isinstance(newest, bool) or not isinstance(newest, int) or newest < 0):
            raise ValueError(f"newest is {newest!r}; expected a number of dead letters, or None for all.")
        letters = self._worker.journal.dead_letters(newest=newest) + self._worker.new_dead_letters()
        return letters if newest is None else letters[len(letters) - min(newest, len(letters)) :]

    def status(self) -> Status:
        """How the loop is doing.

        Returns:
            Positions, counts, and what is wrong, if anything is.
        """
        self._check_open()
        worker, journal = self._worker, self._worker.journal
        numbers: dict[str, Any] = worker.numbers()
        position, time, holder, letters, size = numbers["applied"], 0, None, 0, 0
        away: LoopError | None = None
        try:
            journal.check_health()
            journal.check()
            position, time = journal.last()
            holder, letters, size = journal.lease(), journal.dead_letter_count(), journal.size()
            journal.check_clock()
        except (JournalFailed, JournalRefused) as problem:
            worker.problem = worker.problem or problem  # whatever is asked next is refused
        except (JournalUnreachable, JournalFull, ClockDiffers) as problem:
            away = problem
        ahead = max(time, journal.now()) - self._clock()
        found = dict.fromkeys(
            str(one) for one in (worker.problem, worker.trouble, worker.full, away) if one is not None
        )
        problems = list(found)
        if abs(ahead) > MOST_APART:
            where = "ahead of" if ahead > 0 else "behind"
            said = f"the journal's time is {abs(ahead)} ms {where} this machine's clock; set the clock"
            mend = f", or, if the journal is wrong, mend it: fastcb clock mend {shlex.quote(str(journal))}"
            problems.append(f"{said}{mend if time - self._clock() > MOST_APART else ''}.")
        return Status(
            role="learner" if worker.is_learner else "decider",
            learner=holder.holder.partition("/")[0] if holder is not None and holder.is_live else None,
            position=position,
            time=time,
            lag=position - numbers["applied"],
            dead_letters=letters + numbers.pop("new_letters"),
            bytes=size,
            problems=tuple(problems),
            warnings=tuple(one for one in self._warnings(numbers) if one is not None),
            **numbers,
        )

    def _warnings(self, numbers: dict[str, Any]) -> Iterator[str | None]:
        yield self._worker.warning
        yield self._unrewarded(numbers["counts"])
        yield warning_of(numbers["left_out"])

    def _unrewarded(self, counts: dict[str, int]) -> str | None:
        """A warning where most decisions end in silence, and nothing says what that means."""
        closed = counts["unrewarded"] + counts["learned"]
        if counts["unrewarded"] < _MANY or counts["unrewarded"] < _MOST_SILENT * closed:
            return None
        noun = self._worker.settings.noun
        return (
            f"{counts['unrewarded']:,} of {closed:,} decisions had no {noun} when their wait was over, and nothing was "
            f"learned from them. If that means something, such as 'no click', say what: default_{noun}=0 with "
            f"change=True, or fastcb serve --default-{noun} 0 --change."
        )

    def close(self) -> None:
        """Makes a checkpoint, lets another process learn, and closes the file. Nothing is lost without it."""
        if self._is_closed or os.getpid() != self._process:
            return
        self._is_closed = True
        self._worker.close()

    def __repr__(self) -> str:
        if self._is_closed:
            return "<Loop, closed>"
        role = "learns" if self._worker.is_learner else "decides"
        return f"<Loop {str(self._worker.journal)!r}, {role}>"

    def __reduce__(self) -> str:
        raise TypeError("a loop cannot be copied or pickled; open its journal where you need it.")

    def __enter__(self) -> Loop:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_open(self) -> None:
        if os.getpid() != self._process:
            raise LoopError(f"the loop was opened in process {self._process} and this is a fork of it; open it here.")
        if self._is_closed:
            raise LoopError("the loop was closed; open it again.")

    def _save_if_learner(self) -> None:
        if self._worker.is_learner:
            with contextlib.suppress(Fenced):  # what was asked for is durable, and whoever learns now saves it
                self._worker.checkpoint()


_OPTIONS = {
    "journal",
    "change",
    "relearn",
    "learn",
    "take_over",
    "lease",
    "checkpoint_every",
    "keep_generations",
    "clock",
}
_SETTINGS = tuple(name for name in inspect.signature(Loop.open).parameters if name not in _OPTIONS)


class Answered(NamedTuple):
    """A request that was stored.

    Attributes:
        record: What was stored.
        names: Of the actions, where it is a decision and they have names.
    """

    record: Record
    names: Sequence[str] | None


def answer_all(loop: Loop, requests: Sequence[Request]) -> list[Answered | Exception]:
    """Answers many requests with one commit. One that is refused has its error for an answer, and harms no other."""
    answers: list[Answered | Exception] = [LoopError("the request was not stored; ask again.")] * len(requests)
    drafts: list[tuple[int, Draft, Sequence[str] | None]] = []
    try:
        loop._check_open()
        with loop._worker.view() as view:
            for number, request in enumerate(requests):
                try:
                    drafts.append((number, *loop._draft(request, view)))
                except Exception as problem:
                    answers[number] = problem
    except LoopError as problem:
        return [problem] * len(requests)
    failure: Exception | None = None
    try:
        if drafts:
            loop._worker.submit([draft for _, draft, _ in drafts])
    except Exception as problem:
        failure = problem  # of one of them, unless none was committed
    for number, draft, names in drafts:
        if draft.problem is None and draft.record is not None:
            answers[number] = Answered(draft.record, names)
        else:
            answers[number] = draft.problem or failure or answers[number]
    return answers


class Fallback(NamedTuple):
    """What to do where a decision cannot be made: the baseline.

    Attributes:
        action: Its number.
        name: Its name or id, if it has one.
    """

    action: int
    name: str | None


def fallback_of(loop: Loop, asked: Decide) -> Fallback | None:
    """The baseline of a request that could not be answered; None where it has none. Raises where it is no action."""
    settings = loop._worker.known_settings
    if asked.baseline is None or settings is None:
        return None
    table = asked.action_features
    ids = _action_ids(asked.action_ids, table)
    excluded = _excluded(settings.model, asked.exclude, ids, table)
    action = _baseline(settings, asked.baseline, ids, table, excluded)
    assert action is not None
    names = ids or settings.model.action_names
    return Fallback(action, None if names is None else names[action])


def has_fallback(problem: LoopError) -> bool:
    """Whether this means that the journal is away, and not that the request is wrong."""
    return not isinstance(problem, (ValueError, KeyError))


def journal_of(loop: Loop) -> Journal:
    """The journal of a loop, to be read."""
    loop._check_open()
    return loop._worker.journal


def fitted_for(loop: Loop, context: Features, action_features: list[Features] | None) -> Fitted:
    """What a loop takes of the features of a decision: values of other kinds are left out."""
    with loop._worker.view() as view:
        return view.model.fitted(context, action_features)


def features_in(loop: Loop, fitted: Fitted) -> int:
    """How many features all actions of a decision have together, at most, products included."""
    with loop._worker.view() as view:
        return Products(view.model.settings).features(fitted.context, fitted.action_features)


def published_model(loop: Loop) -> tuple[int, bytes]:
    """Generation and bytes of the newest checkpoint's model, which are read while everybody goes on.

    Before the first checkpoint, and where that has no model yet, it is the model of the moment, of generation 0.
    """
    loop._check_open()
    newest, content = loop._worker.newest_model()
    return (newest.generation, content) if newest is not None and content else (0, loop.model().to_bytes())


def is_free(loop: Loop) -> bool:
    """Whether nobody else writes to the journal of a loop now, so that only a slow disk could hold a commit up."""
    return loop._worker.is_free


def failure_of(loop: Loop) -> LoopError | None:
    """Why a loop acknowledges nothing any more, if that is so: it has to be opened again."""
    return loop._worker.problem


def open_journal(
    name: str | os.PathLike[str], settings: dict[str, Any] | None = None, clock: Callable[[], int] = now
) -> SqliteJournal | RedisJournal:
    """Opens a journal. One that is not there is made from the settings."""
    try:
        text = os.fsdecode(name)
    except TypeError:
        raise TypeError(f"the journal is {shown(name)}; expected {_JOURNALS}.") from None
    if Address.is_meant(text):
        return _open_in_redis(text, settings, None if clock is now else clock)
    if "://" in text or text.endswith("/") or not _is_file_name(text):
        raise ValueError(f"the journal is {without_password(text)!r}; expected {_JOURNALS}.")
    if os.path.exists(text):
        return SqliteJournal(text, clock=clock)
    return SqliteJournal(text, first=_first_record(repr(text), settings), clock=clock)


def _is_file_name(text: str) -> bool:
    """Whether the system can have a file of that name."""
    try:
        return bool(text) and b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:  # a lone surrogate
        return False


def _open_in_redis(url: str, settings: dict[str, Any] | None, clock: Callable[[], int] | None) -> RedisJournal:
    try:
        return RedisJournal(url, clock=clock)
    except FileNotFoundError:
        first = _first_record(repr(Address.parse(url).shown), settings)
    return RedisJournal(url, first=first, clock=clock)


def _first_record(name: str, settings: dict[str, Any] | None) -> Draft:
    """Of a new journal. Where another process is faster, its settings are there, and are compared with these."""
    if not settings or "actions" not in settings:
        raise FileNotFoundError(
            f"there is no journal {name}; to make one, give actions: their names, their number, or None where each "
            "decision brings its own."
        )
    made = LoopSettings.new(settings)
    made.try_out()
    return Draft("settings", body={"settings": made.to_json(), "arithmetic": ARITHMETIC})


def current_settings(journal: Journal) -> tuple[LoopSettings, int]:
    """Those of a journal, and the position of their record; 0 where retention has dropped it."""
    records = journal.of_kind("settings")
    if records:
        assert records[-1].body is not None
        return LoopSettings.from_json(records[-1].body["settings"]), records[-1].position
    return LoopSettings.from_json(journal.checkpoints()[-1].summary["settings"]), 0


def _changes(journal: Journal, named: dict[str, Any], change: bool, relearn: bool | None) -> Draft | None:
    """The record that changes the settings, if any are to change."""
    current, position = current_settings(journal)
    wanted = current.changed(named)
    differences = current.differences(wanted)
    if not differences:
        return None
    current.check_change(wanted)
    both = _said(differences, current.noun)
    said = "; ".join(f"{name} is {ours} in the journal and {given} here" for name, ours, given in both)
    if not change:
        raise SettingsDiffer(f"{said}. Leave them out to go on with the journal's, or set change=True.")
    wanted.try_out()
    # Whoever finds later that records are missing knows by it that they were meant to be dropped.
    body: dict[str, Any] = {"settings": wanted.to_json(), "retention_before": current.retention}
    others = [name for name in differences if name not in KEEPING]
    if any(name in ACTIONS for name in differences) and (relearn is not None or not current.can_grow_to(wanted)):
        others.append("actions")
    if others:
        if relearn is None:
            raise SettingsDiffer(
                f"{said}. Changing {', '.join(others)} invalidates the model: set relearn=True to learn the journal "
                "again, or relearn=False to start empty."
            )
        body |= {"relearn_from": journal.first() if relearn else 0, "arithmetic": ARITHMETIC}
    return Draft("settings", body=body, expected=position)


def _said(differences: dict[str, tuple[Any, Any]], noun: str) -> Iterator[tuple[str, str, str]]:
    """Settings that differ, as users say them."""
    for name, (ours, given) in differences.items():
        if name in ("wait", "retention"):
            yield name, shown_time(ours), shown_time(given)
        elif name == "default":
            yield f"default_{noun}", repr(ours), repr(given)
        elif name == "action_names":
            numbers = differences.get("n_actions", (None, None))
            yield "actions", repr(ours or numbers[0]), repr(given or numbers[1])
        elif name == "n_actions" and "action_names" not in differences:
            yield "actions", repr(ours), repr(given)
        elif name != "n_actions":
            yield name, repr(ours), repr(given)


def _start(worker: Worker, path: str | os.PathLike[str]) -> None:
    try:
        worker.start()
    except LoopError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RuntimeError) as problem:
        said = f"{os.fspath(path)!r} is damaged: somebody has changed it ({type(problem).__name__}: {problem})."
        raise JournalRefused(f"{said} Use a backup.") from problem


def _checked_clock(clock: Callable[[], int]) -> Callable[[], int]:
    if not callable(clock):
        raise TypeError(f"clock is {shown(clock)}; expected a function that gives milliseconds since 1970.")

    def whole_milliseconds() -> int:
        given = clock()
        if not is_number(given) or not 0 <= given < 2**62:
            raise ValueError(f"clock() gave {shown(given)}; expected milliseconds since 1970.")
        return int(given)

    whole_milliseconds()
    return whole_milliseconds


def _new_id() -> str:
    """An id that nobody guesses. Later ones are greater: an index grows at its end, and a commit writes few pages."""
    return f"{now():012x}{secrets.token_hex(10)}"


def _finite(value: Any, noun: str) -> float:
    if type(value) is float and math.isfinite(value):
        return value
    try:
        number = float(value) if is_number(value) and not isinstance(value, (bool, np.bool_)) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise RefusedValue(f"the {noun} is {shown(value)}; expected a finite number.")
    return number


def _action_ids(given: Any, table: list[Any] | None) -> list[str] | None:
    if given is None:
        return None
    if table is None:
        raise RefusedValue("action_ids were given without action_features; expected both, or none.")
    ids = [checked_id(one, "an action id") for one in given]
    if len(ids) != len(table) or len(set(ids)) < len(ids):
        raise RefusedValue(f"action_ids are {ids}; expected {len(table)} different ones, one for each action.")
    return ids


def _excluded(settings: Settings, exclude: Any, ids: list[str] | None, table: list[Any] | None) -> list[int]:
    """The numbers of the actions that are left out of one decision."""
    if exclude is None:
        return []
    if ids is not None and not isinstance(exclude, str):
        number_of = {name: number for number, name in enumerate(ids)}  # both may be long
        unknown = [one for one in exclude if isinstance(one, str) and one not in number_of]
        if unknown:
            raise RefusedValue(f"exclude has the action {unknown[0]!r}; expected one of {ids}.")
        exclude = [number_of[one] if isinstance(one, str) else one for one in exclude]
    numbers = settings.excluded(exclude) or []
    for one in numbers if table is not None else ():
        settings.action_number(one, len(table or ()))
    return sorted(set(numbers))


def _baseline(
    settings: LoopSettings, baseline: Any, ids: list[str] | None, table: list[Any] | None, left_out: Sequence[int]
) -> int | None:
    """The number of the action that the caller would have chosen."""
    if baseline is None:
        return None
    if ids is not None and isinstance(baseline, str):
        if baseline not in ids:
            raise RefusedValue(f"the baseline is {shown(baseline)}; expected one of {ids}.")
        number = ids.index(baseline)
    else:
        try:
            number = settings.model.action_number(baseline, None if table is None else len(table))
        except ValueError as problem:
            raise RefusedValue(f"the baseline is {shown(baseline)}: {problem}") from problem
    if number in left_out:
        raise RefusedValue(
            f"the baseline is {shown(baseline)}, which is excluded; expected an action that may be drawn."
        )
    if number in settings.retired_numbers:
        raise RefusedValue(
            f"the baseline is {shown(baseline)}, which is retired; expected an action that may be drawn."
        )
    return number


def _whole(name: str, given: Any) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise ValueError(f"{name} is {given!r}; expected a whole number, 1 or larger.")
    return given
