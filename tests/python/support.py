"""What several tests need: the program, the stock wheel as a program, and logs of bandit events."""

from __future__ import annotations

import ctypes
import faulthandler
import itertools
import json
import math
import os
import random
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from vw_fastcb import _engine

PROGRAM = Path(sysconfig.get_path("scripts")) / "vw-fastcb"

STOCK = "import sys, vowpalwabbit; vowpalwabbit.Workspace(arg_list=sys.argv[1:]).finish()"


def run(*arguments: object, stdin: str | None = None, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Runs the command line of vw-fastcb in this process; returns what it printed and its exit code.

    The program is one call of the same function, and a process costs more than most runs. A crash or a hang ends this
    process, which the test run reports as a failure. Not for `--help`, which exits, nor for `-p /dev/stdout`.
    """
    words = [*map(str, arguments)]
    with ExitStack() as stack:
        streams = [stack.enter_context(TemporaryFile()) for _ in range(3)]
        streams[0].write((stdin or "").encode())
        streams[0].seek(0)
        own = [os.dup(number) for number in range(3)]
        faulthandler.dump_traceback_later(timeout, exit=True, file=own[2])
        try:
            _point_standard_streams_at([stream.fileno() for stream in streams])
            code = _engine.run_command_line(words)
        finally:
            _point_standard_streams_at(own)
            faulthandler.cancel_dump_traceback_later()
            for number in own:
                os.close(number)
        for stream in streams:
            stream.seek(0)
        printed = [stream.read().decode() for stream in streams[1:]]
    return subprocess.CompletedProcess(words, code, *printed)


def _point_standard_streams_at(descriptors: list[int]) -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    ctypes.CDLL(None).fflush(None)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)


def run_program(*arguments: object, stdin: str | None = None, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Runs the program vw-fastcb, as a user would; returns what it printed and its exit code."""
    return subprocess.run(
        [str(PROGRAM), *map(str, arguments)],
        input=stdin or "",
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def ok(*arguments: object, stdin: str | None = None) -> str:
    """Runs the command line, which must succeed; returns what it printed."""
    result = run(*arguments, stdin=stdin)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


def refused(*arguments: object, stdin: str | None = None) -> str:
    """Runs the command line, which must end with exit code 1 and a message; returns the message."""
    result = run(*arguments, stdin=stdin)
    said = result.stdout + result.stderr
    assert result.returncode == 1, said
    assert "vw-fastcb" in said, "it says nothing"
    return said


def stock(*arguments: object) -> None:
    """Runs the same command line on the stock wheel, in a process of its own. Needs -d."""
    subprocess.run([sys.executable, "-c", STOCK, *map(str, arguments)], capture_output=True, check=True, timeout=120)


def predictions(path: Path) -> list[dict[int, float]]:
    """The pmfs in a -p file of an explorer: one for each event, from action to probability."""
    return [
        {int(action): float(p) for action, p in (pair.split(":") for pair in line.split()[0].split(","))}
        for line in path.read_text().splitlines()
        if line.strip()
    ]


def assert_pmfs(pmfs: Iterable[dict[int, float] | Sequence[float]]) -> None:
    count = 0
    for pmf in pmfs:
        values = list(pmf.values()) if isinstance(pmf, dict) else list(pmf)
        assert all(math.isfinite(p) and p >= 0 for p in values)
        assert abs(math.fsum(values) - 1) < 1e-6
        count += 1
    assert count > 0


@dataclass(frozen=True)
class Event:
    """One logged decision: a context, the action chosen uniformly, its cost. Actions are numbered from 0."""

    context: int
    value: float
    actions: int
    chosen: int
    cost: float

    @property
    def probability(self) -> float:
        return 1 / self.actions

    def adf(self, label: bool = True) -> str:
        """The event as VW text for --cb_explore_adf, a blank line at the end."""
        lines = [f"shared |u c{self.context} v:{self.value:.4f}"]
        for a in range(self.actions):
            mark = f"0:{self.cost:.4f}:{self.probability:.4f} " if label and a == self.chosen else ""
            lines.append(f"{mark}|a a{a} w:{(a + 1) / self.actions:.3f}")
        return "\n".join(lines) + "\n\n"

    def fixed(self, label: bool = True) -> str:
        """The event as VW text for --cb_explore K."""
        mark = f"{self.chosen + 1}:{self.cost:.4f}:{self.probability:.4f} " if label else ""
        return f"{mark}|u c{self.context} v:{self.value:.4f}\n"

    def json_context(self) -> dict[str, object]:
        actions = [{"a": {f"a{a}": 1, "w": (a + 1) / self.actions}} for a in range(self.actions)]
        return {"u": {f"c{self.context}": 1, "v": round(self.value, 4)}, "_multi": actions}

    def dsjson(self) -> str:
        order = [self.chosen, *(a for a in range(self.actions) if a != self.chosen)]
        event = {
            "_label_cost": round(self.cost, 4),
            "_label_probability": round(self.probability, 4),
            "_label_Action": self.chosen + 1,
            "_labelIndex": self.chosen,
            "Version": "1",
            "EventId": f"{self.context}-{self.value:.6f}",
            "a": [a + 1 for a in order],
            "c": self.json_context(),
            "p": [round(self.probability, 4)] * self.actions,
        }
        return json.dumps(event) + "\n"

    def json(self) -> str:
        """The event for --json; the label must stand before the actions."""
        label = {
            "_labelIndex": self.chosen,
            "_label_Action": self.chosen + 1,
            "_label_Cost": round(self.cost, 4),
            "_label_Probability": round(self.probability, 4),
        }
        return json.dumps({**label, **self.json_context()}) + "\n"


def events(
    count: int, seed: int = 0, actions: int | tuple[int, int] = 4, costs: tuple[float, float] = (0, 1)
) -> list[Event]:
    """A log of events in which each context has a good action. `actions` may be a range for changing action sets."""
    rng = random.Random(seed)
    low, high = costs
    log = []
    for _ in range(count):
        n = actions if isinstance(actions, int) else rng.randint(*actions)
        context = rng.randrange(6)
        chosen = rng.randrange(n)
        unit = 0.1 * rng.random() if chosen == context % n else 0.5 + 0.5 * rng.random()
        log.append(Event(context, rng.random(), n, chosen, low + (high - low) * unit))
    return log


def write(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("".join(lines))
    return path


def goes_on(step: Callable[[], object], while_in: Callable[[], object]) -> bool:
    """Whether steps are taken here while a long call runs in another thread.

    A busy machine may let one thread wait for so long that it seems to have stood still, but not five times in a row;
    behind a lock that the call holds it stands still every time.
    """
    return any(_longest_pause(step, while_in) < 0.5 for _ in range(5))


def _longest_pause(step: Callable[[], object], while_in: Callable[[], object]) -> float:
    """The longest time between two steps, as a share of the call's."""
    times: list[float] = []

    def long_call() -> None:
        times.append(time.monotonic())
        while_in()
        times.append(time.monotonic())

    thread = threading.Thread(target=long_call)
    thread.start()
    ticks = []
    while thread.is_alive():
        step()
        ticks.append(time.monotonic())
    begin, end = times
    inside = [begin, *(tick for tick in ticks if begin < tick < end), end]
    return max(after - before for before, after in itertools.pairwise(inside)) / (end - begin)


def without_note(model: bytes) -> bytes:
    """A model file without what `FastCB` notes in it (mode, columns, salt), nor the seal that covers the note."""
    start = model.index(b"fastcb04") + 8 + 16
    seal, note = start + 32, start + 40
    length = int.from_bytes(model[note : note + 8], "little")
    return model[:seal] + model[note + 8 + length :]
