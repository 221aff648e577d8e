"""`fastcb demo --loop`: late, lost and repeated rewards, a process that is killed, and whether anything was lost."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from vw_fastcb.commands.loop_traffic import Acknowledged, World, parsed
from vw_fastcb.loop import LoopError
from vw_fastcb.loop.replay import Replay, replay
from vw_fastcb.loop.sqlite import SqliteJournal

EVENTS = 6000
LAST = 4  # blocks that count as the end
_BLOCK = 250  # visits in one point of the curve
_LONGEST_PAUSE = 0.003  # seconds between the decision to kill and the kill


class TrafficFailed(Exception):
    """The process that makes the traffic has ended by itself, with an error."""


@dataclass(frozen=True)
class Kill:
    """How the process was killed.

    Attributes:
        event: How many decisions were acknowledged by then.
        unanswered: Requests that were stored, and whose answer never arrived.
        pause: Seconds until the next process had its first answer.
    """

    event: int
    unanswered: int
    pause: float


@dataclass(frozen=True)
class Rewards:
    """What the readers did, and how it was reported.

    Attributes:
        clicks: Visits with a reward.
        lost: Rewards that were never reported.
        on_time: Rewards whose first report came within the wait.
        late: Rewards whose first report came after it.
        duplicates: Reports of rewards that had been reported before.
    """

    clicks: int
    lost: int
    on_time: int
    late: int
    duplicates: int


@dataclass(frozen=True)
class Curve:
    """Mean reward in blocks of visits.

    Attributes:
        size: Visits in a block.
        mean: What the loop got.
        uniform: What choosing at random would get.
        best: What choosing the best section every time would get.
    """

    size: int
    mean: NDArray[np.float64]
    uniform: NDArray[np.float64]
    best: NDArray[np.float64]

    @property
    def last(self) -> float:
        """What the loop got in the last blocks."""
        return float(self.mean[-LAST:].mean())


@dataclass(frozen=True)
class LoopReport:
    """All that the demo found.

    Attributes:
        events: Visits.
        seed: Of the traffic and of the draws.
        kill: How the process was killed.
        rewards: What the readers did.
        acknowledged: Requests that were answered: decisions and reports of rewards.
        missing: Those of them that the journal does not have.
        counts: What the loop says has become of its records.
        model: The SHA-256 of the loop's model.
        replayed: What one undisturbed learner found.
        curve: The mean reward.
        seconds: All of it.
    """

    events: int
    seed: int
    kill: Kill
    rewards: Rewards
    acknowledged: int
    missing: int
    counts: dict[str, int]
    model: str
    replayed: Replay
    curve: Curve
    seconds: float

    def promises(self) -> dict[str, bool]:
        """What was promised, and whether it was kept."""
        counts, rewards = self.counts, self.rewards
        return {
            "everything acknowledged is in the journal": self.missing == 0,
            "every visit was decided once": counts["decisions"] == self.events,
            "every reward was stored once": counts["rewards"] == rewards.on_time + rewards.late,
            "every reward on time was learned once": counts["learned"] == rewards.on_time,
            "every late reward was counted and not learned": counts["late"] == rewards.late,
            "every other visit was learned as the default": counts["learned_defaults"] == self.events - rewards.on_time,
            "every probability can be computed again": self.replayed.agrees and self.replayed.exact == self.events,
            "the model is that of an undisturbed learner": self.model == self.replayed.sha256,
        }


def run_loop_demo(events: int, seed: int, picture: Path, journal: Path | None, as_json: bool) -> int:
    """Runs the demo and prints what it found; returns the exit code."""
    from vw_fastcb.commands.loop_picture import save_picture  # noqa: PLC0415, matplotlib takes a second to import

    log = Console(stderr=True)
    try:
        with _place(journal) as path:
            report = _experiment(events, seed, path, log)
            save_picture(report, picture)
    except KeyboardInterrupt:
        log.print("Stopped. Nothing was saved.")
        return 130
    except (OSError, LoopError, TrafficFailed) as problem:
        log.print(f"fastcb demo: {escape(str(problem))}", highlight=False, soft_wrap=True)
        return 1
    if as_json:
        print(json.dumps(_as_json(report, picture, journal), indent=2))
    else:
        _print_report(report, picture, journal, Console())
    return 0 if all(report.promises().values()) else 1


@contextmanager
def _place(journal: Path | None) -> Iterator[Path]:
    """Where the journal is: in a folder for the time of the demo, or where the user wants it if the demo ends well."""
    with tempfile.TemporaryDirectory(dir=None if journal is None else journal.parent, prefix=".fastcb-demo-") as folder:
        path = Path(folder) / "journal.db"
        yield path
        if journal is not None:
            path.rename(journal)


def _experiment(events: int, seed: int, path: Path, log: Console) -> LoopReport:
    start = time.perf_counter()
    world = World(events, seed)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=log, transient=True) as progress:
        task = progress.add_task("deciding and learning", total=events)
        service = _Service(world, path, lambda done: progress.update(task, completed=done))
        service.run(kill_at=random.randint(events // 4, events // 2))
        unanswered = len(_stored(path) - set(service.acknowledged))
        progress.update(task, description="killed by SIGKILL; going on")
        killed_at, killed = service.decided, time.perf_counter()
        service.run()
        kill = Kill(killed_at, unanswered, service.first_answer - killed)
        task = progress.add_task("computing everything again", total=None)
        with closing(SqliteJournal(path)) as journal:
            newest = journal.checkpoints()[-1]
            replayed = replay(journal, lambda done, total: progress.update(task, completed=done, total=total))
            missing = _missing(journal, service.acknowledged)
    return LoopReport(
        events=events,
        seed=seed,
        kill=kill,
        rewards=_rewards(world, service.acknowledged),
        acknowledged=len(service.acknowledged),
        missing=missing,
        counts=newest.summary["counts"],
        model=newest.sha256 if newest.position == replayed.start + replayed.records else "",
        replayed=replayed,
        curve=_curve(world, service.acknowledged),
        seconds=time.perf_counter() - start,
    )


class _Service:
    """Runs the traffic in a process of its own and notes what is acknowledged."""

    def __init__(self, world: World, path: Path, progress: Callable[[int], None]) -> None:
        self.acknowledged: Acknowledged = {}
        self.decided = 0
        self.first_answer = 0.0
        self._world = world
        self._path = path
        self._progress = progress
        self._lines: list[str] = []

    def run(self, kill_at: int | None = None) -> None:
        """Lets the traffic run to its end, or kills it once so many decisions are acknowledged."""
        arguments = [str(self._path), str(self._world.events), str(self._world.seed)]
        command = [sys.executable, "-m", "vw_fastcb.commands.loop_traffic", *arguments]
        pipe = subprocess.PIPE
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, text=True) as process,
        ):
            try:
                self._listen(process, kill_at)
                code = process.wait()
            finally:
                process.kill()  # Ctrl-C may have come
            if code != (0 if kill_at is None else -9):
                errors.seek(0)
                raise TrafficFailed(f"the traffic ended with code {code}. {errors.read()}")

    def _listen(self, process: subprocess.Popen[str], kill_at: int | None) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.writelines(self._lines)
        process.stdin.close()
        before = len(self._lines)
        for line in process.stdout:
            if len(self._lines) == before:
                self.first_answer = time.perf_counter()
            self._lines.append(line)
            request, rest = next(iter(parsed([line]).items()))
            self.acknowledged[request] = rest
            if request[1] == 0:
                self.decided += 1
                if self.decided == kill_at:
                    time.sleep(random.uniform(0, _LONGEST_PAUSE))
                    process.kill()  # what it had said before is still in the pipe
                if self.decided % 50 == 0:
                    self._progress(self.decided)


def _stored(path: Path) -> set[tuple[int, int]]:
    """The requests that a journal has, as far as it can tell: it does not store what it has already."""
    with closing(SqliteJournal(path)) as journal:
        records = [one for one in journal.read() if one.event_id is not None]
    return {(int((one.event_id or "").removeprefix("visit-")), int(one.kind == "reward")) for one in records}


def _missing(journal: SqliteJournal, acknowledged: Acknowledged) -> int:
    """How many acknowledged requests the journal does not have as they were answered."""
    decisions: dict[str | None, list[float]] = {}
    rewards: dict[str | None, float | None] = {}
    for record in journal.read():
        if record.kind == "decision":
            body = record.body or {}
            decisions[record.event_id] = [body["action"], body["pmf"][body["action"]]]
        elif record.kind == "reward":
            rewards[record.event_id] = record.value
    answers = ((f"visit-{event}", copy, answer) for (event, copy), answer in acknowledged.items())
    return sum(
        rewards.get(event_id) != 1 if copy else decisions.get(event_id) != answer for event_id, copy, answer in answers
    )


def _rewards(world: World, acknowledged: Acknowledged) -> Rewards:
    """What was to be reported, from the actions that were answered."""
    clicks = lost = on_time = late = duplicates = 0
    for event in range(world.events):
        action = acknowledged[event, 0][0]
        if not world.clicks(event, action):
            continue
        clicks += 1
        first, *others = (*world.rewards(event, action), None)
        if first is None:
            lost += 1
            continue
        late += world.is_late(first)
        on_time += not world.is_late(first)
        duplicates += len(others) - 1
    return Rewards(clicks, lost, on_time, late, duplicates)


def _curve(world: World, acknowledged: Acknowledged) -> Curve:
    size = min(_BLOCK, world.events // 10)
    count = world.events // size
    clicks = np.array([world.clicks(event, acknowledged[event, 0][0]) for event in range(count * size)], dtype=float)
    chances = world.chances[: count * size]
    blocks = (clicks, chances.mean(axis=1), chances.max(axis=1))
    return Curve(size, *(one.reshape(count, size).mean(axis=1) for one in blocks))


def _print_report(report: LoopReport, picture: Path, journal: Path | None, out: Console) -> None:
    rewards, counts, kill = report.rewards, report.counts, report.kill
    table = Table(title=f"A news page: {report.events:,} visits, killed once", title_style="bold", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    reported = rewards.on_time + rewards.late
    rows = [
        ("requests acknowledged", report.acknowledged, f"{report.acknowledged - report.missing:,} in the journal"),
        ("killed by SIGKILL at visit", kill.event, f"next answer {kill.pause:.1f} s later"),
        ("stored, but not answered", kill.unanswered, "asked again, answered as stored"),
        None,
        ("rewards", rewards.clicks, f"{rewards.lost:,} of them lost, never reported"),
        ("reported", reported + rewards.duplicates, f"{rewards.duplicates:,} of them repeats"),
        ("stored", counts["rewards"], f"{counts['late']:,} of them late, not learned"),
        ("visits learned", counts["learned"] + counts["learned_defaults"], f"{counts['learned']:,} with their reward"),
        None,
        ("probabilities computed again", report.replayed.decisions, f"{report.replayed.exact:,} equal bit for bit"),
    ]
    for row in rows:
        if row is None:
            table.add_section()
        else:
            table.add_row(row[0], f"{row[1]:,}", row[2])
    table.add_row("model's SHA-256", "", report.model[:24] or "none")
    table.add_row("of an undisturbed learner", "", report.replayed.sha256[:24])
    out.print()
    out.print(table)
    for promise, is_kept in report.promises().items():
        out.print(f"  [{'green' if is_kept else 'bold red'}]{'yes' if is_kept else 'NO '}[/]  {promise}")
    for difference in report.replayed.differences:
        out.print(f"  {escape(difference)}", highlight=False, soft_wrap=True)
    curve = report.curve
    out.print(
        f"\nMean reward: {curve.mean[0]:.2f} in the first {curve.size} visits, {curve.last:.2f} in the last "
        f"{LAST * curve.size:,}; at random {curve.uniform.mean():.2f}, at best {curve.best.mean():.2f}.",
        highlight=False,
    )
    out.print(
        f"Picture: [bold]{escape(str(picture))}[/]   ({report.seconds:.0f} s in all)", highlight=False, soft_wrap=True
    )
    if journal is not None:
        out.print(f"Journal: [bold]{escape(str(journal))}[/]", highlight=False, soft_wrap=True)


def _as_json(report: LoopReport, picture: Path, journal: Path | None) -> dict[str, object]:
    kill, rewards, curve, replayed = report.kill, report.rewards, report.curve, report.replayed
    return {
        "events": report.events,
        "seed": report.seed,
        "seconds": round(report.seconds, 3),
        "picture": str(picture),
        "journal": None if journal is None else str(journal),
        "killed": {"event": kill.event, "unanswered": kill.unanswered, "pause": round(kill.pause, 3)},
        "acknowledged": report.acknowledged,
        "missing": report.missing,
        "rewards": {
            "all": rewards.clicks,
            "lost": rewards.lost,
            "on_time": rewards.on_time,
            "late": rewards.late,
            "duplicates": rewards.duplicates,
        },
        "counts": report.counts,
        "replay": {
            "decisions": replayed.decisions,
            "exact": replayed.exact,
            "differences": replayed.differences,
            "sha256": replayed.sha256,
        },
        "sha256": report.model,
        "curve": {
            "events_per_point": curve.size,
            "mean_reward": curve.mean.tolist(),
            "random": curve.uniform.tolist(),
            "best": curve.best.tolist(),
        },
        "promises": report.promises(),
    }
