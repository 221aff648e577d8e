"""Readers, copiers, shells and short-lived openers beside processes that write to one journal, with kills.

`python -m loop.storm PATH NAME` is one such process: it decides and rewards as fast as it can, says what was
acknowledged, and reads the files of its own journal meanwhile, as a hash, an upload or a copy would.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from loop.support import journal_at
from vw_fastcb.loop.replay import replay

TESTS = Path(__file__).parents[1]
_OPENER = "import sys; from vw_fastcb import Loop; Loop.open(sys.argv[1], learn=sys.argv[2] == 'learn').close()"
_QUERY = "SELECT count(*) FROM record; PRAGMA user_version;"
_SHELL = """
import sqlite3, sys
for _ in range(20):
    db = sqlite3.connect(sys.argv[1], timeout=10)
    db.execute("SELECT count(*) FROM record").fetchone()
    db.close()
"""


def files(path: Path) -> list[Path]:
    """A journal's files."""
    return [path, *(path.with_name(path.name + ending) for ending in ("-wal", "-shm"))]


def read_all(path: Path, pause: float = 0.0) -> int:
    """Reads and copies every file of a journal once. Gives how many there were."""
    count = 0
    for one in files(path):
        with contextlib.suppress(FileNotFoundError), one.open("rb") as file:
            while file.read(1 << 16):
                pass
            count += 1
        with contextlib.suppress(FileNotFoundError), tempfile.TemporaryDirectory() as folder:
            shutil.copy(one, folder)
        time.sleep(pause)
    return count


class Storm:
    """What goes on beside each other for some seconds.

    Args:
        path: The journal, which is there.
        seed: Of what happens when.
    """

    def __init__(self, path: Path, seed: int = 0) -> None:
        self.path = path
        self.kills = 0
        self.problems: list[str] = []
        self.visits: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._names = iter(range(1 << 30))
        self._acknowledged: set[str] = set()
        self._stop = threading.Event()

    def blow(self, kills: int, writers: int = 2) -> set[str]:
        """Runs it until so many writers were killed, and gives the ids that were acknowledged."""
        threads = [threading.Thread(target=self._write) for _ in range(writers)]
        threads += [threading.Thread(target=self._repeat, args=(one,)) for one in self._visitors()]
        for one in threads:
            one.start()
        while self.kills < kills and not self._stop.wait(0.05):
            pass
        self._stop.set()
        for one in threads:
            one.join()
        return self._acknowledged

    def _write(self) -> None:
        """A process that writes, killed and started again."""
        while not self._stop.is_set():
            command = [sys.executable, "-m", "loop.storm", str(self.path), str(next(self._names))]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=TESTS) as process:
                assert process.stdout is not None
                dying = threading.Timer(self._random.uniform(0.1, 0.6), process.kill)
                for line in process.stdout:
                    if line.endswith("\n"):  # else the kill came while it was written
                        self._acknowledged.add(line.strip())
                    if dying.ident is None:
                        dying.start()
                dying.cancel()
                if process.wait() == -signal.SIGKILL:
                    self.kills += 1
                else:
                    self.problems.append(f"a writer ended with {process.returncode}")
                    self._stop.set()

    def _visitors(self) -> Iterator[list[str]]:
        for kind in ("learn", "decide"):
            yield [sys.executable, "-c", _OPENER, str(self.path), kind]
        yield [sys.executable, "-c", _SHELL, str(self.path)]
        if shutil.which("sqlite3"):
            yield ["sqlite3", "-cmd", ".timeout 10000", str(self.path), _QUERY]
        yield ["sh", "-c", 'cat "$0" "$0-wal" "$0-shm" 2>&1 | cksum', str(self.path)]

    def _repeat(self, command: list[str]) -> None:
        while not self._stop.is_set():
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.visits[" ".join(command)] += 1
            if done.returncode:
                self.problems.append(f"{command[:2]} ended with {done.returncode}: {done.stderr[-500:]}")
            time.sleep(0.1)


def check(path: Path, decided: set[str], rewarded: set[str] | None = None) -> None:
    """Every acknowledged record is there, once; no position is missing, the file is sound, and the models are right."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        count, last = db.execute("SELECT count(*), max(position) FROM record").fetchone()
        assert count == last
        for kind, acknowledged in ((0, decided), (2, rewarded or set())):
            query = "SELECT event_id, count(*) FROM record WHERE kind = ? GROUP BY event_id"
            rows = dict(db.execute(query, (kind,)).fetchall())
            assert set(rows.values()) <= {1}
            assert not acknowledged - rows.keys()
    with journal_at(path) as journal:
        found = replay(journal)
    assert found.agrees, found.differences


def _main(path: Path, name: str) -> None:
    from vw_fastcb import Loop  # noqa: PLC0415

    loop = Loop.open(path, lease="500ms", checkpoint_every="200ms")
    assert read_all(path) == 3

    def look() -> None:
        while True:
            read_all(path, 0.001)

    threading.Thread(target=look, daemon=True).start()
    for number in range(1 << 30):
        event = f"{name}-{number}"
        loop.decide({"user": number % 7}, event_id=event)
        loop.reward(event, number % 2)
        print(event, flush=True)


if __name__ == "__main__":
    _main(Path(sys.argv[1]), sys.argv[2])
