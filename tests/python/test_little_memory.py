"""A process that runs out of memory stops and says so: that is no bad event, and nothing is skipped for it."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support import PROGRAM

MEGABYTE = 1 << 20
NUMBER = 2_000_000  # of features in a long event, which needs some 60 MB for a moment
LINES = {
    "text": ("--cb_explore 2", "1:0:0.5 |u x\n", "1:0:0.5 |u " + "a " * NUMBER + "\n"),
    "json": (
        "--cb_explore 2 --json",
        '{"_label":"1:0:0.5","u":{"x":1}}\n',
        json.dumps({"_label": "1:0:0.5", "u": {"v": [1] * NUMBER}}) + "\n",
    ),
}


def limited(megabytes: int) -> Callable[[], None]:
    limit = megabytes * MEGABYTE
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


@pytest.mark.parametrize("threads", [[], ["--onethread"]], ids=["two threads", "one thread"])
@pytest.mark.parametrize(("flags", "good", "long"), LINES.values(), ids=LINES)
def test_the_command_line_stops_and_saves_nothing(
    flags: str, good: str, long: str, threads: list[str], tmp_path: Path
) -> None:
    (tmp_path / "log").write_text(good * 5 + long + good * 5)
    command = [
        PROGRAM,
        *flags.split(),
        "--fastcb",
        "-b",
        "10",
        "--quiet",
        "-d",
        tmp_path / "log",
        "-f",
        tmp_path / "model",
    ]
    command += ["--fastcb_bad_events", "skip", *threads]
    stopped = 0
    for megabytes in (60, 75, 90, 105):  # it ends at one place or another
        done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited(megabytes), check=False)
        said = done.stdout + done.stderr
        assert "bad event" not in said
        if done.returncode == 0:
            assert (tmp_path / "model").exists()
            (tmp_path / "model").unlink()
            continue
        stopped += 1
        assert done.returncode == 1, said
        assert "vw-fastcb: there is no more memory, and nothing was saved." in said
        assert list(tmp_path.iterdir()) == [tmp_path / "log"]
    assert stopped > 1


IN_PYTHON = """
import resource
from vw_fastcb import Workspace

with Workspace("--cb_explore 2 --fastcb -b 10 --quiet") as vw:
    vw.learn("1:0:0.5 |u x")
    before = vw.predict("|u x")
    event = "1:0:0.5 |u " + "a " * 4_000_000
    with open("/proc/self/statm") as sizes:
        now = int(sizes.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + (24 << 20), -1))
    try:
        vw.learn(event)
    except MemoryError:
        print("MemoryError")
    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    assert vw.predict("|u x") == before
    vw.learn("1:0:0.5 |u x")
"""


def test_python_raises_memory_error_and_goes_on() -> None:
    done = subprocess.run([sys.executable, "-c", IN_PYTHON], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "MemoryError\n"), done.stdout + done.stderr
