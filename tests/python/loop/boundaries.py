"""A fault at every write, sync, link and removal of a loop: `python -m loop.boundaries FOLDER --points 40`.

One scenario with everything a loop can do runs once to count its calls, and then once for each call and each kind of
fault, in a child process. After each, the journal is opened without faults and must be whole. It runs under tests/cpp/
faults.cc, which `compiled` makes and `run` preloads.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loop import reference
from loop.support import journal_at
from vw_fastcb.loop import JournalFailed, Loop, LoopError, sqlite
from vw_fastcb.loop.fingerprint import fingerprint
from vw_fastcb.loop.sqlite import SqliteJournal
from vw_fastcb.loop.worker import Options, _Call

SHIM = Path(__file__).parents[2] / "cpp" / "faults.cc"
KINDS = ("no_space", "io_error", "torn", "kill_before", "kill_after", "power_cut", "shuffled_cut")
NUMBERS = {kind: number for number, kind in enumerate(("none", *KINDS))}
ACTIONS = ["politics", "sports", "music"]
SETTINGS = {"actions": ACTIONS, "reward_range": (0.0, 1.0), "wait": 1.0, "default_reward": 0.25, "seed": 7, "bits": 10}

# Small pieces, so that a checkpoint has many boundaries, and a log that SQLite moves often.
sqlite._MODEL_PART, sqlite._ROWS_AT_ONCE, sqlite._LOG_PAGES = 1500, 4, 12


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


def context_of(event_id: str) -> dict[str, Any]:
    number = zlib.crc32(event_id.encode())
    return {"user": f"u{number % 5}", "hour": number % 24, "vip": bool(number & 64)}


def restore(event_id: str) -> dict[str, Any]:
    return {"context": context_of(event_id)}


def steps() -> Iterator[tuple[Any, ...]]:
    """What happens: everything that writes."""
    yield ("open",)
    for i in range(6):
        yield "decide", f"a{i}", i != 2
        yield "pass", 100
    yield "reward", "a0", 1.0, "r"
    yield "reward", "a1", 0.5, None
    yield "reward", "later", 0.75, "r"
    yield "activate", "a2"
    yield ("checkpoint",)
    yield "decide", "later", True
    yield "pass", 650
    yield ("tick",)
    yield "reward", "a3", 1.0, None  # too late, or not: the tick has closed a0 and a1 only
    yield ("checkpoint",)
    yield "rollback", 1
    yield "decide", "b0", True
    yield ("empty_log",)
    yield "reward", "b0", 1.0, "r"
    yield ("close",)
    yield "change", 2.0
    for i in range(5):
        yield "decide", f"c{i}", True
        yield "reward", f"c{i}", i / 5, f"r{i}"
    yield "decide", "gone", True
    yield "erase", "gone"
    yield "pass", 2500
    yield ("tick",)
    yield "decide", "d0", False
    yield ("checkpoint",)
    yield "decide", "d1", True
    yield "reward", "d1", 0.125, "r"
    yield ("close",)


class Run:
    """The scenario in this process. What was acknowledged is noted at once."""

    def __init__(
        self, path: Path, note: Callable[..., None], heal: Callable[[], None], calls: Callable[[], int]
    ) -> None:
        self.path = path
        self.note = note
        self.heal = heal
        self.calls = calls
        self.clock = Clock()
        self.loop: Loop | None = None

    def all(self) -> None:
        for step in steps():
            self.note("begin", self.calls(), *step)
            try:
                self.do(*step)
            except (LoopError, OSError) as problem:
                self._after(problem, step)
            self.note("done", step[0])

    def do(self, what: str, *arguments: Any) -> None:
        if what == "pass":
            self.clock.now += arguments[0]
        elif what == "open":
            self._open(SETTINGS)
        elif what == "change":
            self._open({"wait": arguments[0]})
            self.note("change", arguments[0])
            self.note("generation", self.loop.status().generation)
        elif what == "close":
            if self.loop is not None:
                status = self.loop.status()
                is_new = self.loop.generations()[-1].position < status.position
                self.loop.close()
                self.note("generation", status.generation + is_new)
            self.loop = None
        else:
            if self.loop is None:
                self._open({})
            getattr(self, f"_{what}")(*arguments)

    def _open(self, named: dict[str, Any]) -> None:
        # Takes over, because a loop that failed could not give the lease back, and its process still runs.
        options = Options(has_upkeep=False, keep=2, lease=3_600_000, takes_over=True)
        self.loop = Loop._open(self.path, named, options, self.clock, change=True, relearn=None)

    def _decide(self, event_id: str, activate: bool) -> None:
        made = self.loop.decide(context_of(event_id), event_id=event_id, activate=activate)
        self.note("decision", event_id, made.action, made.probability)

    def _reward(self, event_id: str, value: float, reward_id: str | None) -> None:
        self.loop.reward(event_id, value, reward_id)
        self.note("reward", event_id, value, reward_id)

    def _activate(self, event_id: str) -> None:
        self.loop.activate(event_id)
        self.note("activation", event_id)

    def _checkpoint(self) -> None:
        self.note("generation", self.loop.checkpoint())

    def _rollback(self, generation: int) -> None:
        self.loop.rollback(generation)
        self.note("rollback", generation)
        self.note("generation", self.loop.status().generation)

    def _erase(self, event_id: str) -> None:
        self.loop.erase(event_id)
        self.note("erasure", event_id)
        self.note("generation", self.loop.status().generation)

    def _tick(self) -> None:
        self.loop.tick()

    def _empty_log(self) -> None:
        self.loop._worker.submit([_Call(lambda: self.loop._worker.journal.empty_log(0))])

    def _after(self, problem: Exception, step: tuple[Any, ...]) -> None:
        """A step has failed. Once there is no fault any more, the same loop goes on, or a new one where it may not."""
        self.note("error", type(problem).__name__, step[0], str(problem))
        if self.loop is not None and step[0] != "close":
            self.note("afterwards", [self._refusal(call) for call in self._probes()])
        self.heal()
        if step[0] == "close":
            self.loop = None
        elif self.loop is not None and isinstance(problem, JournalFailed):
            self.note("healed", [self._refusal(call) for call in self._probes()])
            with suppress(LoopError):
                self.loop.close()
            self.loop = None
        self.do(*step)

    def _probes(self) -> list[Callable[[], object]]:
        assert self.loop is not None
        return [
            lambda: self.loop.decide(context_of("probe"), event_id="probe"),
            lambda: self.loop.reward("probe", 0.5, "r"),
            lambda: self.loop.activate("probe"),
            lambda: self.loop.erase("probe"),
        ]

    def _refusal(self, call: Callable[[], object]) -> str:
        try:
            call()
        except LoopError as problem:
            return type(problem).__name__
        return "acknowledged"


@dataclass(frozen=True)
class Point:
    """A fault, and where it happens.

    Attributes:
        kind: Of the fault.
        number: Of the call.
        call: Its name and its file.
        is_commit: Whether it syncs the log, right after writing to it. SQLite syncs it once more before it moves it to
            its place, and may do without: what is not moved stays in the log.
    """

    kind: str
    number: int
    call: str
    is_commit: bool = False


class Driver:
    """Runs the scenario in children with faults, and examines what they leave behind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shim = ctypes.CDLL(None)
        self.errors: Counter[str] = Counter()
        fingerprint()  # it takes a while, and children inherit it
        self.generations: Counter[str] = Counter()

    def calls(self) -> list[str]:
        """The names and files of all calls of an undisturbed run."""
        trace = self.folder / "trace"
        notes = self._child("none", 0, "counted", trace)
        assert notes[-1] == "ended", f"the scenario failed without a fault: {notes[-2:]}"
        self._examine(self._path("counted"), notes, "none")
        return [line.split(" ", 1)[1] for line in trace.read_text().splitlines()]

    def at(self, point: Point) -> None:
        """Runs the scenario with one fault. Raises where what it leaves behind is not whole."""
        name = f"{point.kind}-{point.number}"
        notes = self._child(point.kind, point.number, name)
        path = self._path(name)
        if point.kind in ("no_space", "io_error"):
            assert notes[-1] == "ended", f"it did not go on after the fault: {notes[-8:]}"
            self._check_refusals(point, notes)
        else:
            assert notes[-1] == "killed", f"the fault did not happen: {notes[-1]}"
        if point.kind in ("power_cut", "shuffled_cut"):
            index = path.with_name(path.name + "-shm")
            if index.exists():  # memory shared by processes, of which none is left
                index.write_bytes(random.Random(point.number).randbytes(index.stat().st_size))
        self._examine(path, notes, point.kind)
        shutil.rmtree(path.parent)

    def _child(self, kind: str, number: int, name: str, trace: Path | None = None) -> list[Any]:
        """Runs the scenario in a child, and gives what it noted; the last note says how it ended."""
        path = self._path(name)
        path.parent.mkdir()
        noted = self.folder / f"{name}.notes"
        pid = os.fork()
        if pid == 0:
            self._scenario(kind, number, path, noted, trace)
        status = os.waitpid(pid, 0)[1]
        notes = [json.loads(line) for line in noted.read_text().splitlines()]
        noted.unlink()
        if os.WIFSIGNALED(status):
            return [*notes, "killed" if os.WTERMSIG(status) == signal.SIGKILL else f"signal {os.WTERMSIG(status)}"]
        return [*notes, "ended" if status == 0 else "failed"]

    def _scenario(self, kind: str, number: int, path: Path, noted: Path, trace: Path | None) -> None:
        code = 1
        try:
            with noted.open("w", buffering=1) as notes:
                out = -1 if trace is None else os.open(trace, os.O_CREAT | os.O_WRONLY)
                self.shim.faults_arm(str(path.parent).encode(), NUMBERS[kind], ctypes.c_long(number), number, out)
                try:
                    shim = self.shim
                    Run(
                        path, lambda *one: notes.write(json.dumps(one) + "\n"), shim.faults_heal, shim.faults_calls
                    ).all()
                    code = 0
                except BaseException:
                    notes.write(json.dumps(["trace", traceback.format_exc()]) + "\n")
        finally:
            os._exit(code)

    def _path(self, name: str) -> Path:
        return self.folder / f"watched-{name}" / "shop.db"

    def _check_refusals(self, point: Point, notes: list[Any]) -> None:
        errors = [one for one in notes if one[0] == "error"]
        for _, kind, step, _ in errors:
            self.errors[f"{point.kind}: {kind} in {step}"] += 1
        assert len(errors) <= 1, f"it failed again after the fault: {errors}"
        for one in notes:
            if one[0] == "healed":
                assert set(one[1]) == {"JournalFailed"}, f"acknowledged after a failed write: {one}"
            if one[0] == "afterwards":
                assert "acknowledged" not in one[1], f"acknowledged while the fault lasted: {one}"
        step = [one[2] for one in notes if one[0] == "begin" and one[1] < point.number][-1]
        # Whoever closes a loop need not know that the lease could not be given back.
        if point.kind == "io_error" and point.is_commit and step != "close":
            assert errors, "a failed sync went unnoticed"

    def _examine(self, path: Path, notes: list[Any], kind: str) -> None:
        """Opens the journal without faults: everything acknowledged is there, all states are whole, it goes on."""
        acknowledged = [one for one in notes if isinstance(one, list)]
        if not path.exists():
            assert not any(one[0] == "decision" for one in acknowledged), "the whole journal is gone"
            return
        with closing(SqliteJournal(path)) as journal:
            fold = reference.Fold(journal, restore)
            before = reference.check_open(journal, fold)
        self._check_generation(max(before, default=0), acknowledged, kind)
        check_acknowledged(path, acknowledged)
        clock = Clock()
        with closing(SqliteJournal(path)) as journal:
            clock.now = journal.last()[1]
        options = Options(has_upkeep=False, keep=2, takes_over=True, decides=False)
        loop = Loop._open(path, {}, options, clock, change=False, relearn=None)
        made = loop.decide(context_of("after"), event_id="after")
        loop.reward("after", 1.0, "r")
        assert made == loop.decide(context_of("after"), event_id="after")
        generation = loop.checkpoint()
        assert generation > max(before, default=0)
        loop.close()
        with closing(SqliteJournal(path)) as journal:
            newest, state = journal.checkpoints()[-1], fold.read(journal)[journal.last()[0]]
        assert (newest.generation, newest.position) == (generation, state.position)
        assert (newest.sha256, newest.summary["counts"]) == (state.sha256, state.counts)
        check_acknowledged(path, [*acknowledged, ["decision", "after", made.action, made.probability]])

    def _check_generation(self, newest: int, notes: list[Any], kind: str) -> None:
        said = max((one[1] for one in notes if one[0] == "generation"), default=0)
        more = newest - said
        assert more in (0, 1), f"generation {newest} is there, {said} was acknowledged"
        self.generations[f"{kind}: g + {more}"] += 1


def check_acknowledged(path: Path, acknowledged: list[Any]) -> None:
    """Asserts that what was acknowledged is in the journal, with the same content."""
    with journal_at(path) as journal:
        records = list(journal.read())
    decisions = [one for one in records if one.kind == "decision"]
    assert len({one.event_id for one in decisions}) == len(decisions), "an event was decided twice"
    found: dict[str, Any] = {
        "decision": {(one.event_id, one.body["action"], one.body["pmf"][one.body["action"]]) for one in decisions},
        "reward": {(one.event_id, one.value, one.reward_id) for one in records if one.kind == "reward"},
        "activation": {(one.event_id,) for one in records if one.kind == "activation"},
        "erasure": {(one.event_id,) for one in records if one.kind == "erasure"},
        "rollback": {(one.body["generation"],) for one in records if one.kind == "rollback"},
        "change": {(one.body["settings"]["wait"] / 1000,) for one in records if one.kind == "settings"},
    }
    for kind, *content in acknowledged:
        if kind in found:
            assert tuple(content) in found[kind], f"{kind} {content} was acknowledged and is lost"
    with_ids = Counter((one.event_id, one.reward_id) for one in records if one.kind == "reward" and one.reward_id)
    assert not with_ids or max(with_ids.values()) == 1, "a reward was stored twice"


def points(calls: list[str], kinds: tuple[str, ...], count: int | None) -> list[Point]:
    """All points at which a fault means something, or a spread of so many."""
    found = []
    for kind in kinds:
        for number, call in enumerate(calls, 1):
            is_write = call.split()[0] in ("pwrite", "write")
            is_growth = is_write or call.split()[0] in ("open", "link", "rename", "ftruncate")
            if (kind == "torn" and not is_write) or (kind == "no_space" and not is_growth):
                continue
            before = calls[number - 2] if number > 1 else ""
            is_commit = call.startswith("fdatasync") and call.endswith("-wal") and before.endswith("-wal")
            found.append(Point(kind, number, call, is_commit and before.startswith("pwrite")))
    if count is None or count >= len(found):
        return found
    return [found[len(found) * i // count] for i in range(count)]


def compiled(folder: Path) -> Path:
    """Makes the shim."""
    library = folder / "faults.so"
    flags = ["-std=c++17", "-O0", "-shared", "-fPIC", "-Wall"]
    subprocess.run(["c++", *flags, str(SHIM), "-o", str(library), "-ldl"], check=True, timeout=120)
    return library


def run(folder: Path, shim: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs this module under the shim."""
    command = [sys.executable, "-m", "loop.boundaries", str(folder), *arguments]
    environment = os.environ | {"LD_PRELOAD": str(shim)}
    tests = Path(__file__).parents[1]
    return subprocess.run(
        command, cwd=tests, env=environment, capture_output=True, text=True, check=False, timeout=7200
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--points", type=int, help="how many, spread over all; all unless given")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--only", help="one point, such as torn-17")
    options = parser.parse_args()
    driver = Driver(options.folder)
    calls = driver.calls()
    chosen = points(calls, tuple(options.kinds), options.points)
    if options.only:
        chosen = [one for one in points(calls, KINDS, None) if f"{one.kind}-{one.number}" == options.only]
    failures = 0
    for point in chosen:
        try:
            driver.at(point)
        except Exception:
            failures += 1
            print(f"FAILED {point.kind}-{point.number} ({point.call})\n{traceback.format_exc()}", flush=True)
    summary = {"calls": len(calls), "points": len(chosen), "failures": failures}
    print(json.dumps(summary | {"errors": dict(driver.errors), "generations": dict(driver.generations)}))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
