"""A bake-off that is killed again and again, beside one that is left alone.

As a program it does this twenty times: PYTHONPATH=tests/python python -m bakeoff.killing [KILLS] [--write FILE]
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
from pathlib import Path

from vw_fastcb.bakeoff.store import FILE, Store

FASTCB = Path(sysconfig.get_path("scripts")) / "fastcb"
_TABLES = ("results", "curves", "datasets", "broken")


def command(out: Path, *options: str) -> list[str]:
    return [str(FASTCB), "bakeoff", "--out", str(out), "--no-report", *options]


def run_alone(out: Path, *options: str) -> None:
    subprocess.run(command(out, *options), check=True, capture_output=True, timeout=1800)


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
