"""A bake-off that is killed again and again, beside one that is left alone.

As a program it does this twenty times, at moments left to chance:
PYTHONPATH=tests/python python -m bakeoff.killing [KILLS] [--write FILE]
"""

from __future__ import annotations

import argparse
import random
import signal
import sqlite3
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vw_fastcb.bakeoff.store import FILE, Store

FASTCB = Path(sysconfig.get_path("scripts")) / "fastcb"
_TABLES = ("results", "curves", "datasets", "broken")


def command(out: Path, *options: str) -> list[str]:
    return [str(FASTCB), "bakeoff", "--out", str(out), "--no-report", *options]


def run_alone(out: Path, *options: str) -> None:
    subprocess.run(command(out, *options), check=True, capture_output=True, timeout=1800)


# The command, which stops when it is about to store a unit of work, or has written but not committed it, or has stored
# it. Then it waits for a signal, so the speed of the machine does not matter. Every unit is stored by itself.
_STOPS = """
import sys, time
from pathlib import Path
from vw_fastcb.bakeoff import runner
from vw_fastcb.bakeoff.store import Store
from vw_fastcb.commands import main

stopped, moment, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
sys.argv = ["fastcb", *sys.argv[4:]]
runner._SECONDS_BETWEEN_COMMITS = 0.0
add, units = Store.add, 0

def stop():
    stopped.touch()
    time.sleep(300)
    sys.exit("nobody sent a signal")

def written(batches):
    yield from batches
    stop()

def counted(store, batches):
    global units
    batches = list(batches)
    units += bool(batches)
    here = units == number and batches and not stopped.exists()
    if here and moment == "before":
        stop()
    add(store, written(batches) if here and moment == "inside" else batches)
    if here and moment == "after":
        stop()

Store.add = counted
main()
"""


@contextmanager
def stopped(out: Path, moment: str, number: int, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A run that waits for a signal before, inside or after the commit of a unit; one with less to do has ended."""
    sign = out.parent / f"{out.name}.stopped"
    sign.unlink(missing_ok=True)
    words = [sys.executable, "-c", _STOPS, str(sign), moment, str(number), *command(out, *options)[1:]]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            while not sign.exists() and process.poll() is None:
                time.sleep(0.01)
            yield process
        finally:
            process.kill()


def run_killed(out: Path, kills: int, seed: int, *options: str) -> list[int]:
    """Kills the run at random moments, then lets it end; returns the number of passes in the store at each kill.

    A fast machine may end the run before the last kill: the list is shorter then.
    """
    chance = random.Random(seed)
    passes = []
    for kill in range(kills):
        before = rows_of(out)
        process = subprocess.Popen(command(out, *options), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        # Every fourth time before anything new is in the store, otherwise soon after something is.
        if kill % 4 == 3:
            time.sleep(chance.uniform(0, 1))
        else:
            _wait_for_more(out, before, process)
            time.sleep(chance.uniform(0, 0.2))
        process.send_signal(signal.SIGKILL)
        _, errors = process.communicate()
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, errors.decode()
        passes.append(rows_of(out))
    run_alone(out, *options)
    return passes


def _wait_for_more(out: Path, before: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 300
    while rows_of(out) == before and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)


def rows_of(out: Path) -> int:
    if not (out / FILE).exists():
        return 0
    connection = sqlite3.connect(out / FILE, timeout=30)
    try:
        return int(connection.execute("SELECT count(*) FROM results").fetchone()[0])
    except sqlite3.OperationalError:  # killed before its tables were made
        return 0
    finally:
        connection.close()


def contents(out: Path) -> dict[str, list[tuple[object, ...]]]:
    """All that a store says about data and results, in an order of its own."""
    with Store(out / FILE):
        connection = sqlite3.connect(out / FILE)
        try:
            return {table: sorted(connection.execute(f"SELECT * FROM {table}")) for table in _TABLES}
        finally:
            connection.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", type=int, nargs="?", default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    options = ("--grid", "quick", "--datasets", "letter,penbased,optdigits,satimage,texture,kr-vs-k")
    with tempfile.TemporaryDirectory() as folder:
        alone, killed = Path(folder) / "alone", Path(folder) / "killed"
        run_alone(alone, *options)
        passes = run_killed(killed, given.kills, given.seed, *options, "--jobs", "1")
        same = contents(alone) == contents(killed)
        text = (
            f"`fastcb bakeoff {' '.join(options)}` was ended by SIGKILL {len(passes)} times, when its store had\n"
            f"{', '.join(map(str, passes))} passes, and then left to end.\nIts store has {rows_of(killed)} passes, "
            f"that of an undisturbed run {rows_of(alone)}; their contents are {'identical' if same else 'DIFFERENT'}.\n"
        )
    print(text)
    if given.write:
        given.write.write_text(f"{text}\nMade by: python -m bakeoff.killing {given.kills} --seed {given.seed}\n")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
