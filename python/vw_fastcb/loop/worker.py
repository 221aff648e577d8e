"""One process's part in a loop: it commits, and it either learns or follows the process that does."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from vw_fastcb.interrupts import no_interrupt
from vw_fastcb.loop.commits import SharedCommits
from vw_fastcb.loop.join import Counts
from vw_fastcb.loop.journal import (
    Checkpoint,
    DeadLetter,
    Draft,
    Fenced,
    Journal,
    JournalFailed,
    JournalFull,
    JournalRefused,
    JournalUnreachable,
    Lease,
    LoopError,
    NewCheckpoint,
    Task,
)
from vw_fastcb.loop.learner import Asked, Learner
from vw_fastcb.loop.model import Model, sha256
from vw_fastcb.loop.records import Record
from vw_fastcb.loop.settings import LoopSettings

_log = logging.getLogger("vw_fastcb.loop")

_NOTHING_YET: dict[str, Any] = {"open": 0, "early": 0, "counts": asdict(Counts())}
_BREATH = 0.05  # seconds between two looks at the journal
_AFTER_TROUBLE = 1.0  # seconds until what failed is tried again
_TICKS_APART = 1.0  # seconds between two ticks, at least
_PAUSE = 6  # times as long as a piece of a checkpoint took, before the next one
_LONGEST_PAUSE = 0.02  # seconds


@dataclass(frozen=True)
class Options:
    """How a process takes part. None of it changes what is learned.

    Attributes:
        decides: Whether decisions are made here.
        learns: Whether it may take the lease.
        takes_over: Whether it takes the lease from another process that holds it.
        lease: How long a lease lasts unless it is renewed, in milliseconds.
        checkpoint_every: Milliseconds between two checkpoints, at most, while something is learned.
        checkpoint_records: Records between two checkpoints, at most.
        keep: How many generations are kept.
        writes_ticks: Whether it closes windows while nothing happens.
        has_upkeep: Whether a thread looks after all this; else `upkeep` is called by hand.
    """

    decides: bool = True
    learns: bool = True
    takes_over: bool = False
    lease: int = 10_000
    checkpoint_every: int = 10_000
    checkpoint_records: int = 20_000
    keep: int = 5
    writes_ticks: bool = True
    has_upkeep: bool = True


class View(NamedTuple):
    """What decisions are made with.

    Attributes:
        model: The model.
        settings: The settings.
        generation: The newest checkpoint that the model contains.
        applied: How many records it has seen.
        summary: What else the checkpoint says.
    """

    model: Model
    settings: LoopSettings
    generation: int
    applied: int
    summary: dict[str, Any] = _NOTHING_YET


class _Call:
    """Something to do between two commits, by whoever commits."""

    def __init__(self, run: Callable[[], object]) -> None:
        self.run = run
        self.problem: Exception | None = None


_Item = Draft | Task | _Call


class Worker:
    """Commits drafts for many threads, learns from the journal while it holds the lease, and follows otherwise.

    Args:
        journal: The journal, which is this worker's from now on.
        options: How to take part.
    """

    def __init__(self, journal: Journal, options: Options) -> None:
        self.journal = journal
        self.options = options
        self.problem: LoopError | None = None  # once set, nothing is acknowledged any more
        self.trouble: LoopError | None = None  # why the upkeep failed when it was last tried
        self.full: JournalFull | None = None  # why the last commit was refused, until one is possible again
        self.known_settings: LoopSettings | None = None  # those that decided last, also once nothing can be decided
        self.warning: str | None = None  # why the newest checkpoint is not what decides
        self._commits: SharedCommits[_Item] = SharedCommits(self._commit, self._interrupted)
        self._state = threading.RLock()  # of learner, view and lease
        self._checkpointing = threading.Lock()
        self._lease: Lease | None = None
        self._learner: Learner | None = None
        self._view: View | None = None
        self._twin: Model | None = None
        self._generation = 0
        self._saved_position = 0
        self._saved_at = self._renewed_at = self._ticked_at = time.monotonic()
        self._served = 0  # requests so far
        self._is_closing = False
        self._stopping = threading.Event()
        # It knows the worker by a weak reference: a loop that is dropped without being closed ends.
        self._upkeep = threading.Thread(
            target=_keep_house, args=(weakref.ref(self), self._stopping), name="vw_fastcb.loop", daemon=True
        )

    def start(self) -> None:
        """Takes the lease if it may and can, and brings the state up to date."""
        if not (self.options.learns and self._take_lease(by_force=self.options.takes_over)):
            self._follow()
        if self.options.has_upkeep:
            self._upkeep.start()

    def close(self) -> None:
        """Makes a last checkpoint, gives the lease back, and closes the journal."""
        self._stopping.set()
        away: JournalUnreachable | None = None
        try:
            try:
                self.submit([_Call(self._stop_answering)])
            except JournalUnreachable as problem:
                away = problem
            except LoopError:
                pass
            if self._upkeep.is_alive():
                self._upkeep.join()
            if away is None and self.problem is None and self.is_learner:
                away = self._last_checkpoint()
            if away is not None and self.is_learner:  # nothing is lost: whoever learns next applies the records
                _log.warning("closed without a last checkpoint: %s", away)
        finally:
            if away is not None:  # nobody waits for it once more; the lease runs out by itself
                self._lease = None
            with contextlib.suppress(LoopError):
                self.submit([_Call(self._end)])
            self.journal.close()
            with self._state:
                self._learner = self._twin = self._view = None  # models are large, and Python lets go of a loop late

    def _last_checkpoint(self) -> JournalUnreachable | None:
        try:
            self.checkpoint()
        except Fenced:
            pass
        except JournalUnreachable as problem:
            return problem
        return None

    def _stop_answering(self) -> None:
        self._is_closing = True

    def _end(self) -> None:
        """The last thing between two commits: whoever comes later is refused."""
        try:
            if self._lease is not None:
                self.journal.release(self._lease)
        finally:
            self._lease = None
            self.problem = _closed()

    @property
    def is_learner(self) -> bool:
        """Whether this process learns."""
        return self._lease is not None

    # Writing

    def submit(self, items: Sequence[_Item]) -> None:
        """Returns once the items are durable, and, in the process that learns, their effect is in the model.

        Without items it is a commit all the same, which brings the learner up to date, or raises.
        """
        items = items or [_Call(lambda: None)]
        with no_interrupt():
            self._commits.submit(list(items))
        for item in items:
            if item.problem is not None:
                raise item.problem

    @property
    def is_free(self) -> bool:
        """Whether nobody else commits now, and no other process has written what is still to be learned."""
        learner = self._learner
        if not self._commits.is_idle or (learner is None and self._lease is not None):
            return False
        return self.journal.is_free(None if learner is None else learner.position)

    def _commit(self, items: list[_Item]) -> None:
        """Runs in one thread at a time."""
        items = [item for item in items if item.problem is None]  # else they were refused while they waited
        if not items:
            return
        if self.problem is not None:
            _refuse(items, self.problem)
            return
        drafts, tasks = [item for item in items if type(item) is Draft], []
        if self._is_closing:  # the last checkpoint has everything that was answered
            _refuse(drafts, _closed())
            items, drafts = [item for item in items if type(item) is not Draft], []
        try:
            if len(drafts) < len(items):
                self._call([item for item in items if type(item) is _Call])  # which may take long
                tasks = self._timely([item for item in items if type(item) is Task])
            self._served += len(drafts)
            if self._lease is not None and self._is_renewal_due():
                tasks.append(self._renewal())
            known = sys.maxsize if self._learner is None else self._learner.position  # a new learner reads them itself
            written = self.journal.write(drafts, tasks, self._lease, known)
        except LoopError as problem:
            if isinstance(problem, (JournalFailed, JournalRefused)):
                self.problem = problem
            elif isinstance(problem, JournalFull):
                self.full = problem
            self._refuse_all(items, problem)
            return
        except Exception as problem:  # a clock that raises, or a defect of ours; the journal knows everything
            self._learner = self._twin = None
            self.journal.abandon()
            _refuse(items, problem)
            return
        if any(draft.is_new for draft in drafts):
            self.full = None
        try:
            self._apply(written.records, written.is_fenced)
        except JournalUnreachable as problem:  # what was written stays; the learner is made again later
            self._refuse_all(items, problem)
        except Exception as problem:
            self._learner = None  # half-way; the journal knows everything
            self.problem = _learning_stopped(problem)
            _refuse(items, self.problem)

    def _refuse_all(self, items: list[_Item], problem: LoopError) -> None:
        """With a server that does not answer, those who waited behind it have waited for long enough, too."""
        if isinstance(problem, JournalUnreachable):
            items = items + self._commits.waiting()
        _refuse(items, problem)

    def _call(self, calls: list[_Call]) -> None:
        for call in calls:
            try:
                call.run()
            except JournalFailed:
                raise
            except LoopError as problem:
                call.problem = problem
            except Exception as problem:
                raise _learning_stopped(problem) from problem

    def _timely(self, tasks: list[Task]) -> list[Task]:
        """Without those of an earlier lease of this process: they are about a state that may not be the newest."""
        for task in tasks:
            if task.lease is not None and task.lease != self._lease:
                task.problem = Fenced("another process has taken over learning; this one goes on deciding.")
        return [task for task in tasks if task.problem is None]

    def _interrupted(self, items: list[_Item]) -> None:
        """Ctrl-C came. Nobody knows whether these were stored; the journal knows everything."""
        _refuse(items, LoopError("the loop was interrupted, and the request may or may not be stored; ask again."))
        self._learner = self._twin = None
        self.journal.abandon()

    def _apply(self, records: Sequence[Record], is_fenced: bool) -> None:
        with self._state:
            try:
                if is_fenced:
                    self._lose_lease()
                elif self._lease is not None:
                    learner = self._learning()
                    for record in records:
                        if record.position > learner.position:
                            learner.apply(record)
                    self.journal.memory = learner.settings.memory
            except Fenced:  # it took longer than the lease lasts
                self._lose_lease()
            except BaseException:
                self._learner = None  # half-way; nobody decides with it
                raise

    def _renewal(self) -> Task:
        assert self._lease is not None
        self._renewed_at = time.monotonic()
        return self.journal.renewal(self._lease, self.options.lease)

    # Deciding

    @property
    def settings(self) -> LoopSettings:
        """The current settings."""
        learner = self._learner
        if learner is not None:
            return learner.settings
        with self.view() as view:
            return view.settings

    @contextlib.contextmanager
    def view(self) -> Iterator[View]:
        """What decisions are made with; it stays as it is meanwhile."""
        while True:
            if self.problem is not None:
                raise self.problem
            if self._learner is None and self._lease is not None:
                self.submit([])  # interrupted half-way: the learner is made again
            with self._state:
                view = self._view
                if self._learner is not None:
                    view = View(self._learner.model, self._learner.settings, self._generation, self._learner.position)
                if view is not None:
                    self.known_settings = view.settings
                    yield view
                    return

    def _follow(self) -> None:
        """Decides from the newest checkpoint, or from the first record where there is none yet."""
        try:
            view = self._newest_view()
        except (LoopError, ValueError, TypeError, KeyError, RuntimeError) as problem:
            if isinstance(problem, (JournalFailed, JournalUnreachable)):
                raise
            older = self._view or self._older_view()
            if older is None:
                raise
            self._keep_view(older, problem)
            return
        with self._state:
            self._view, self._generation, self.warning = view, view.generation, None
        self.journal.memory = view.settings.memory

    def _keep_view(self, view: View, problem: Exception) -> None:
        """What was published cannot be used; decisions go on with what there is, until there is something newer."""
        with self._state:
            self._view, self._generation = view, self.journal.newest_generation()
        self.journal.memory = view.settings.memory
        self.warning = (
            f"generation {self._generation} cannot be used ({problem}); decisions are made with generation "
            f"{view.generation} until there is a newer one."
        )
        _log.warning("%s", self.warning)

    def _newest_view(self) -> View:
        newest, content = self.newest_model()
        if newest is None:
            if self._view is not None and self._view.generation == 0:
                return self._view
            first = Learner.begin(self.journal, next(self.journal.read(0, 1)))
            return View(first.model, first.settings, 0, first.position)
        if self._view is not None and self._view.generation == newest.generation:
            return self._view
        return _view_at(newest, content)

    def _older_view(self) -> View | None:
        """The newest checkpoint before the newest one that can be used, if there is one."""
        for one in reversed(self.journal.checkpoints()[:-1]):
            content = self.journal.model(one.sha256) if one.sha256 else b""
            if sha256(content) == one.sha256:
                return _view_at(one, content)
        return None

    def newest_model(self) -> tuple[Checkpoint | None, bytes]:
        """The newest checkpoint, and its model's bytes."""
        while True:
            newest = next(reversed(self.journal.checkpoints()), None)
            content = self.journal.model(newest.sha256) if newest is not None and newest.sha256 else b""
            if newest is None or sha256(content) == newest.sha256:
                return newest, content
            if newest.generation == self.journal.newest_generation():  # else it was dropped between two reads
                raise JournalRefused(f"the model of generation {newest.generation} is damaged; use a backup.")

    # Learning

    def _take_lease(self, *, by_force: bool = False) -> bool:
        with self._state:
            if self._lease is not None:
                return True  # another thread was faster
            self._lease = self.journal.take_lease(self.options.lease, by_force=by_force)
            if self._lease is None:
                return False
            self._renewed_at = time.monotonic()
            self._learner = None
            try:
                self._learning()
            except Fenced:  # it took longer than the lease lasts
                self._lose_lease()
            except BaseException:
                lease, self._lease = self._lease, None
                with contextlib.suppress(LoopError):
                    self.journal.release(lease)  # nobody is to wait for one that cannot learn
                raise
        return self._lease is not None

    def _lose_lease(self) -> None:
        _log.warning("another process has taken over learning; this one goes on deciding")
        self._lease = self._learner = self._twin = None
        self._follow()

    def _learning(self) -> Learner:
        """The learner: the newest checkpoint, and every record since. Between commits only, for it may write."""
        if self._learner is not None:
            return self._learner
        source = _LongRead(self.journal, self._beat)
        checkpoints = self.journal.checkpoints()
        if checkpoints:
            learner = self._newest_learner(source, checkpoints)
        else:
            learner = Learner.begin(source, next(self.journal.read(0, 1)))
            self._generation = self._saved_position = 0
        for record in source.read(learner.position):
            learner.apply(record)
        self._learner, self._twin, self._view = learner, None, None
        self._saved_at = time.monotonic()
        self.journal.memory = learner.settings.memory
        return learner

    def _newest_learner(self, source: _LongRead, checkpoints: list[Checkpoint]) -> Learner:
        """The learner at the newest checkpoint; where that is damaged, learned again from one before it."""
        newest, refusal = checkpoints[-1], None
        for one in reversed(checkpoints):
            try:
                learner = Learner.at(source, one, self.journal.windows(one.generation))
            except JournalRefused as problem:
                refusal = refusal or problem
                continue
            self._generation, self._saved_position = newest.generation, one.position
            self.warning = None
            if refusal is not None:
                for record in source.read(one.position, newest.position):
                    learner.apply(record)
                learner.dead_letters.clear()  # the journal has these already
                self.warning = (
                    f"generation {newest.generation} cannot be used ({refusal}); what came after generation "
                    f"{one.generation} was learned again."
                )
                _log.warning("%s", self.warning)
            return learner
        assert refusal is not None
        raise refusal

    def _beat(self) -> None:
        """Holds the lease while the journal is read for longer than it would last."""
        if self._lease is None or not self._is_renewal_due():
            return
        if self.journal.write([], [self._renewal()], self._lease, sys.maxsize).is_fenced:
            raise Fenced("another process has taken over learning.")

    def checkpoint(self) -> int:
        """Commits the state as a new generation, unless nothing happened since the last.

        Decisions go on meanwhile: the model's bytes are made from a twin that learns what the model has learned.

        Returns:
            The newest generation.
        """
        with self._checkpointing:
            try:
                return self._checkpoint()
            except BaseException as problem:
                if not isinstance(problem, JournalFull):
                    with self._state:
                        self._learner = self._twin = None  # perhaps it was committed; the journal knows
                raise

    def _checkpoint(self) -> int:
        if self._lease is not None:  # another process may have taken it, and nothing was written here since
            self.submit([Task(lambda: None, self._lease)])
        with self.view():
            learner, lease = self._learner, self._lease
            if learner is None or lease is None:
                raise Fenced("only the process that learns makes checkpoints, and this one does not.")
            if learner.position == self._saved_position:
                return self._generation
            events, columns, settings = learner.model.events, learner.model.columns(), learner.settings
            position, when, summary = learner.position, learner.time, learner.summary()
            touched, learner.join.touched = learner.join.touched, set()
            waiting = learner.join.waiting(sorted(touched))
            oldest = learner.join.oldest()
            letters, learner.dead_letters = learner.dead_letters, []
            updates, learner.updates = learner.updates, []
            twin = None if updates is None else self._twin  # None: the model was replaced
            content = learner.model.to_bytes() if twin is None else b""
            generation = self._generation + 1
        try:
            if twin is not None:
                content = _caught_up(twin, updates or [], columns)
            one = Checkpoint(generation, position, when, sha256(content), events, summary)
            new = NewCheckpoint(one, content, list(waiting.items()), letters, oldest)
            self._write_beside(self.journal.checkpoint_tasks(new), lease)
        except JournalFull:
            with self._state:
                learner.join.touched |= touched
                learner.dead_letters = letters + learner.dead_letters
                learner.updates = self._twin = None
            raise
        # A learner that decides nothing need not be quick to answer while it saves.
        twin = twin or (Model(settings.model, content, settings.rules) if content and self.options.decides else None)
        with self._state:
            self._twin = twin if learner.updates is not None else None
            self._generation, self._saved_position = one.generation, position
            self._saved_at = time.monotonic()
            self.warning = None
        self._prune(when, learner.settings, lease)
        return one.generation

    def _prune(self, now: int, settings: LoopSettings, lease: Lease) -> None:
        oldest = None if settings.retention is None else now - settings.retention
        self._write_beside(self.journal.pruning_tasks(self.options.keep, oldest), lease)
        self.submit([_Call(self.journal.empty_log)])

    def _write_beside(self, tasks: Iterable[Task], lease: Lease) -> None:
        """Commits one task after another, with pauses while there are other requests: few of them have to wait."""
        served = self._served
        for task in tasks:
            start = time.monotonic()
            task.lease = lease
            self.submit([task])
            if self._served != served:
                self._stopping.wait(min(_PAUSE * (time.monotonic() - start), _LONGEST_PAUSE))
            served = self._served

    def empty_log(self) -> None:
        """Leaves nothing of what was erased in the store's log."""
        self.submit([_Call(lambda: self.journal.empty_log(0))])

    # Upkeep

    def try_upkeep(self) -> float:
        """Does what has to be done. Gives the seconds until the next time."""
        try:
            self.upkeep()
            self.trouble = None
            if self.full is not None:
                self._try_whether_full()
        except Fenced:
            pass  # the next look finds a decider
        except LoopError as problem:
            if str(problem) != str(self.trouble):  # once; it is said again to whoever asks for something
                _log.warning("%s", problem)
            self.trouble = problem
            if isinstance(problem, (JournalFailed, JournalRefused)):
                self.problem = self.problem or problem
            return _AFTER_TROUBLE
        except Exception:
            _log.exception("the upkeep of the loop failed; it is tried again")
            return _AFTER_TROUBLE
        return _BREATH

    def _try_whether_full(self) -> None:
        """Whether there is room again. Nobody may ask for anything meanwhile: who is not ready is left alone."""
        self.submit([_Call(self.journal.try_room)])
        self.full = None

    def upkeep(self) -> None:
        """What has to be done now and then: learn what others wrote, tick, renew, save; or follow, or take over."""
        if not self.is_learner:
            if self.options.learns and not self.journal.lease().is_live:
                self.submit([_Call(self._take_lease)])
            elif self._view is None or self.journal.newest_generation() != self._generation:
                self._follow()
            return
        now = time.monotonic()
        self.journal.check()
        learner = self._learner  # another thread may lose the lease at any moment
        is_behind = learner is None or self.journal.last()[0] > learner.position
        if is_behind or self._is_renewal_due():
            self.submit([])
        if self.options.writes_ticks and now - self._ticked_at > _TICKS_APART:
            self._ticked_at = now
            self.tick()
        if self._is_checkpoint_due(now):
            self.checkpoint()

    def tick(self) -> None:
        """Closes the windows whose deadline has passed, if this process learns."""
        with self._state:
            deadline = None if self._learner is None else self._learner.join.next_deadline()
        if deadline is not None and deadline < self.journal.now():
            with contextlib.suppress(Fenced):
                self.submit([Draft("tick")])

    def _is_renewal_due(self) -> bool:
        return time.monotonic() - self._renewed_at > self.options.lease / 3000

    def _is_checkpoint_due(self, now: float) -> bool:
        learner = self._learner
        if learner is None or learner.position == self._saved_position:
            return False
        is_long_ago = now - self._saved_at > self.options.checkpoint_every / 1000
        return is_long_ago or learner.position - self._saved_position >= self.options.checkpoint_records

    # Looking

    def numbers(self) -> dict[str, object]:
        """What is known of the state, for `Status`."""
        with self._state:
            learner = self._learner
            if learner is not None:
                summary = learner.summary()
                return {
                    "applied": learner.position,
                    "learned": learner.model.events,
                    "open": summary["open"],
                    "early": summary["early"],
                    "counts": summary["counts"],
                    "left_out": dict(learner.left_out),
                    "members": learner.model.members(),
                    "new_letters": len(learner.dead_letters),
                    "generation": self._generation,
                }
            view = self._view
        if view is None:
            nothing = {"applied": 0, "learned": 0, "left_out": {}, "members": {}, "new_letters": 0, "generation": 0}
            return {**nothing, **_NOTHING_YET}
        return {
            "applied": view.applied,
            "learned": view.model.events,
            "open": view.summary["open"],
            "early": view.summary["early"],
            "counts": view.summary["counts"],
            "left_out": dict(view.summary.get("left_out", {})),
            "members": view.model.members(),
            "new_letters": 0,
            "generation": view.generation,
        }

    def new_dead_letters(self) -> list[DeadLetter]:
        """Those that no checkpoint holds yet."""
        with self._state:
            return [] if self._learner is None else list(self._learner.dead_letters)


def _keep_house(worker: weakref.ref[Worker], stopping: threading.Event) -> None:
    pause = _BREATH
    while not stopping.wait(pause):
        one = worker()
        if one is None or one.problem is not None:
            return
        pause = one.try_upkeep()
        del one


class _LongRead:
    """A journal that is read for a while, with a sign of life now and then."""

    def __init__(self, journal: Journal, beat: Callable[[], None]) -> None:
        self._journal = journal
        self._beat = beat
        self.decision = journal.decision
        self.model = journal.model
        self.of_kind = journal.of_kind

    def read(self, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        for count, record in enumerate(self._journal.read(after, upto)):
            if count % 1000 == 0:
                self._beat()
            yield record


def _view_at(one: Checkpoint, content: bytes) -> View:
    settings = LoopSettings.from_json(one.summary["settings"])
    return View(Model(settings.model, content, settings.rules), settings, one.generation, one.position, one.summary)


def _caught_up(twin: Model, updates: list[tuple[Asked, float]], columns: object) -> bytes:
    """The bytes of a model, from a twin that learns what it has learned."""
    twin.set_columns(columns)  # it leaves out what the model has left out
    for asked, value in updates:
        twin.learn(asked.context, asked.action_features, asked.action, value)
    twin.set_columns(columns)
    return twin.to_bytes()


def _learning_stopped(problem: Exception) -> JournalFailed:
    """For what should not happen: what is durable stays so, and nothing more is acknowledged."""
    failure = JournalFailed(f"learning stopped ({type(problem).__name__}: {problem}); open the loop again.")
    failure.__cause__ = problem
    return failure


def _closed() -> LoopError:
    return LoopError("the loop was closed; open it again.")


def _refuse(items: Sequence[_Item], problem: Exception) -> None:
    for item in items:
        item.problem = item.problem or problem
        if isinstance(item, Draft):
            item.record, item.is_new = None, False
