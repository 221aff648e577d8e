"""What may go wrong around a loop: killed processes, broken writes, full disks, Ctrl-C, forks, races."""

import gc
import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from loop import boundaries, reference
from loop.redis_server import need_redis
from loop.support import Clock, open_loop
from vw_fastcb import Loop
from vw_fastcb.loop import JournalFailed, JournalFull, JournalRefused, LoopError, sqlite
from vw_fastcb.loop.redis import checkpoints as redis_checkpoints
from vw_fastcb.loop.sqlite import SqliteJournal

TESTS = Path(__file__).parents[1]


def run(module, *arguments, timeout=600):
    """Runs a module of these tests in a process of its own, and gives what it prints at its end."""
    command = [sys.executable, "-m", f"loop.{module}", *map(str, arguments)]
    made = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False, timeout=timeout)
    assert made.returncode == 0, made.stdout[-5000:] + made.stderr[-5000:]
    return json.loads(made.stdout.splitlines()[-1])


def play(loop, first, last):
    for i in range(first, last):
        made = loop.decide({"user": f"u{i % 5}", "hour": i % 24}, event_id=f"e{i}")
        loop.reward(f"e{i}", float(made.action == 1), "r")


# Killed


def test_processes_are_killed_and_nothing_is_lost(tmp_path):
    found = run("kills", tmp_path, "--kills", 6, "--events", 600, "--rare", 100)
    assert sum(found["kills"].values()) >= 6
    assert found["acknowledged"]["decision"] >= 600


@pytest.mark.parametrize(("kills", "events"), [(8, 300), pytest.param(40, 10_000, marks=pytest.mark.slow)])
def test_processes_and_redis_are_killed_and_nothing_is_lost(tmp_path, kills, events):
    need_redis()
    found = run("kills", tmp_path, "--kills", kills, "--events", events, "--rare", 100, "--redis", "--seed", 1)
    assert sum(found["kills"].values()) >= kills
    assert found["kills"]["servers"] >= 2
    assert found["acknowledged"]["decision"] >= events


@pytest.mark.slow
@pytest.mark.parametrize("aggregation", ["first", "mean", "sum"])
def test_many_processes_are_killed_and_nothing_is_lost(tmp_path, aggregation):
    arguments = ("--kills", 40, "--events", 10_000, "--rare", 200, "--aggregation", aggregation)
    learners = 0
    for seed in range(12):  # a killed learner is replaced when its lease is over: a fast machine is done before that
        folder = tmp_path / str(seed)
        folder.mkdir()
        learners += run("kills", folder, *arguments, "--seed", seed)["kills"]["learners"]
        if learners >= 5:
            break
    assert learners >= 5


# Every boundary


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    if shutil.which("c++") is None:
        pytest.skip("needs a C++ compiler, which makes the shim: apt-get install g++")
    return boundaries.compiled(tmp_path_factory.mktemp("shim"))


def check_boundaries(folder, shim, *arguments):
    made = boundaries.run(folder, shim, *arguments)
    assert made.returncode == 0, made.stdout[-8000:] + made.stderr[-4000:]
    found = json.loads(made.stdout.splitlines()[-1])
    assert found["failures"] == 0
    return found


def test_a_fault_at_any_boundary_leaves_one_generation_or_the_next(tmp_path, shim):
    found = check_boundaries(tmp_path, shim, "--points", "12")
    assert found["points"] == 12


@pytest.mark.slow
@pytest.mark.parametrize("kind", boundaries.KINDS)
def test_a_fault_at_every_boundary_leaves_one_generation_or_the_next(tmp_path, shim, kind):
    found = check_boundaries(tmp_path, shim, "--kinds", kind)
    assert found["points"] > 200


def test_a_full_disk_refuses_and_the_same_loop_goes_on_when_there_is_room(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"may not mount a small disk: {mounted.stderr.strip()}; try unshare -rm .venv/bin/python -m pytest")
    try:
        ballast = disk / "ballast"
        ballast.write_bytes(b"x" * 1_500_000)
        clock = Clock()
        with open_loop(disk, "loop.db", wait="1s", default_reward=0, clock=clock, bits=8) as loop:
            acknowledged = []

            def fill():
                for i in range(100_000):
                    made = loop.decide({"user": f"u{i % 5}", "hour": i % 24}, event_id=f"e{i}")
                    acknowledged.append(("decision", f"e{i}", made.action, made.probability))

            with pytest.raises(JournalFull, match="Make room"):
                fill()
            for _ in range(3):
                with pytest.raises(JournalFull):
                    loop.decide({"user": "u1", "hour": 1}, event_id="more")
            with pytest.raises(JournalFull):
                loop.checkpoint()
            assert loop.status().position == 1 + len(acknowledged)
            ballast.unlink()
            made = loop.decide({"user": "u1", "hour": 1}, event_id="more")
            loop.reward("more", 1)
            loop.checkpoint()
        path = tmp_path / "loop.db"
        shutil.copy(disk / "loop.db", path)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    boundaries.check_acknowledged(path, [*acknowledged, ("decision", "more", made.action, made.probability)])
    kept = reference.check(path)
    assert kept[max(kept)] == reference.undisturbed(path)


# Ctrl-C


@pytest.mark.parametrize("times", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_ctrl_c_in_the_thread_that_commits_for_others_harms_nobody(tmp_path, times):
    found = run("interrupts", tmp_path, "--times", times)
    assert found["interrupted"] > times / 2


# Forks


def test_a_fork_opens_the_journal_itself_and_the_parent_does_not_take_it_away(tmp_path):
    """Closing the parent's loop once removed SQLite's log while the child's was writing to it."""
    script = """
import os, sys
from vw_fastcb import Loop
from vw_fastcb.loop import LoopError
path = sys.argv[1]
loop = Loop.open(path, actions=3, reward_range=(0, 1), seed=3)
loop.decide({"a": 1}, event_id="e0")
(from_child, to_parent), (from_parent, to_child) = os.pipe(), os.pipe()
if os.fork() == 0:
    try:
        loop.decide({"a": 1}, event_id="wrong")
    except LoopError:
        pass
    else:
        os._exit(1)
    mine = Loop.open(path)
    for i in range(10):
        mine.decide({"a": 1}, event_id=f"c{i}")
    os.write(to_parent, b"x")
    os.read(from_parent, 1)
    for i in range(10, 20):
        mine.decide({"a": 1}, event_id=f"c{i}")
    os._exit(0)
loop.decide({"a": 1}, event_id="e1")  # the parent's loop goes on
loop.reward("e1", 1)
assert loop.status().role == "learner"
os.read(from_child, 1)
loop.close()
os.write(to_child, b"x")
assert os.wait()[1] == 0
"""
    path = tmp_path / "loop.db"
    subprocess.run([sys.executable, "-c", script, str(path)], check=True, timeout=60)
    with closing(SqliteJournal(path)) as journal:
        said = Counter(one.kind for one in journal.read())
    assert said == {"settings": 1, "decision": 22, "reward": 1}


def test_forks_while_threads_decide(tmp_path):
    script = """
import os, sys, threading, warnings
from vw_fastcb import Loop
warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, about forks beside threads
loop = Loop.open(sys.argv[1], actions=3, reward_range=(0, 1), seed=3, checkpoint_every="20ms")
ends = threading.Event()
counts = [0] * 3
def work(number):
    while not ends.is_set():
        event = f"t{number}.{counts[number]}"
        loop.reward(loop.decide({"a": number}, event_id=event).event_id, 1)
        counts[number] += 1
threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
for thread in threads:
    thread.start()
for i in range(10):
    if os.fork() == 0:
        mine = Loop.open(sys.argv[1])
        mine.reward(mine.decide({"a": 9}, event_id=f"c{i}").event_id, 1)
        os._exit(0)
    assert os.wait()[1] == 0
ends.set()
for thread in threads:
    thread.join()
loop.close()
print(sum(counts) + 10)
"""
    path = tmp_path / "loop.db"
    command = [sys.executable, "-c", script, str(path)]
    made = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=60)
    kept = reference.check(path)
    assert kept[max(kept)].events == int(made.stdout)


# Races


def test_processes_that_make_the_same_journal_agree_on_one(tmp_path):
    script = """
import os, sys, time
from vw_fastcb import Loop
from vw_fastcb.loop.fingerprint import fingerprint
fingerprint()  # it takes a while, and children inherit it
for number in range(4):
    path = f"{sys.argv[1]}/{number}.db"
    start = time.monotonic() + 0.005
    for i in range(3):
        if os.fork() == 0:
            time.sleep(max(0, start - time.monotonic()))
            loop = Loop.open(path, actions=3, reward_range=(0, 1), lease="1s")
            loop.decide({"a": 1}, event_id=str(i))
            loop.close()
            os._exit(0)
    assert [os.wait()[1] for _ in range(3)] == [0] * 3
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, timeout=60)
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(f"{number}.db" for number in range(4))
    for path in tmp_path.iterdir():
        with closing(SqliteJournal(path)) as journal:
            assert Counter(one.kind for one in journal.read()) == {"settings": 1, "decision": 3}


def test_a_journal_that_appears_while_it_is_made_is_taken(tmp_path, monkeypatch):
    path = tmp_path / "loop.db"
    exists = Path.exists
    other = []

    def late(self):
        if self == path and not other:
            other.append(None)
            other[0] = open_loop(tmp_path, seed=3)  # with its log beside it
            return False
        return exists(self)

    monkeypatch.setattr(Path, "exists", late)
    monkeypatch.setattr(os.path, "exists", lambda name: False if name == str(path) else exists(Path(name)))
    with open_loop(tmp_path, seed=3) as loop:
        assert loop.status().role == "decider"
    other[0].close()


def test_closing_while_threads_decide(home):
    """Whoever was answered is in the journal; the others are told that it was closed."""
    loop = open_loop(home)
    answered, refused = [], []

    def work(number):
        for i in range(10**6):
            try:
                made = loop.decide({"user": f"u{i % 3}"}, event_id=f"{number}.{i}")
                answered.append(("decision", made.event_id, made.action, made.probability))
                loop.status()
            except LoopError as problem:
                refused.append(str(problem))
                return

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    loop.close()
    for thread in threads:
        thread.join()
    assert len(refused) == 4
    assert all("was closed" in said for said in refused), refused
    boundaries.check_acknowledged(home / "loop.db", answered)
    kept = reference.check(home / "loop.db")
    assert kept[max(kept)] == reference.undisturbed(home / "loop.db")


def test_a_loop_that_was_closed_holds_no_model(home):
    """Loops refer to themselves: Python frees them when it likes, and models have megabytes."""
    open_loop(home).close()
    sizes = []
    gc.disable()
    try:
        for i in range(30):
            with Loop.open(home / "loop.db") as loop:
                loop.reward(loop.decide({"user": "u1"}, event_id=f"e{i}").event_id, 1)
            if i in (9, 29):
                sizes.append(int(Path("/proc/self/statm").read_text().split()[1]) * 4096)
    finally:
        gc.enable()
    assert sizes[1] - sizes[0] < 20_000_000, sizes


def test_a_model_that_is_saved_once_more_is_whole_all_the_time(home, monkeypatch):
    """Nothing was learned since, so the next checkpoint has the same model, and ends in the middle of it."""
    for journals in (sqlite, redis_checkpoints):
        monkeypatch.setattr(journals, "_MODEL_PART", 100)
    with open_loop(home, bits=10, checkpoint_every="1h") as loop:
        play(loop, 0, 10)
        saved = loop.checkpoint()
        journal, content = loop._worker.journal, loop.model().to_bytes()
        (sha256,) = {one.sha256 for one in loop.generations()}
        real = journal.checkpoint_tasks

        def cut_short(new):
            tasks = real(new)
            yield from itertools.islice(tasks, len(content) // 200)
            raise JournalFull("there is no room.")

        loop.decide({"user": "u1", "hour": 2}, event_id="new")
        journal.checkpoint_tasks = cut_short
        with pytest.raises(JournalFull):
            loop.checkpoint()
        journal.checkpoint_tasks = real
        assert journal.model(sha256) == content
        assert loop.checkpoint() == saved + 1
        assert {one.sha256 for one in loop.generations()} == {sha256}


def test_a_generation_is_not_dropped_while_a_rollback_to_it_waits(home):
    """Another process asks for it while this one, which learns, is about to drop it."""
    with open_loop(home, keep_generations=1, checkpoint_every="1h") as loop:
        play(loop, 0, 10)
        first = loop.checkpoint()
        play(loop, 10, 20)
        worker = loop._worker
        real = worker.journal.pruning_tasks

        def pruning(*arguments):
            tasks = list(real(*arguments))
            with Loop.open(home / "loop.db") as other:
                other.rollback(first)
            yield from tasks

        worker.journal.pruning_tasks = pruning
        loop.checkpoint()
        worker.journal.pruning_tasks = real
        assert first in [one.generation for one in loop.generations()]
        play(loop, 20, 30)
        loop._worker._learner = None  # as after a crash
        play(loop, 30, 31)
    path = home / "loop.db"
    kept = reference.check(path)
    assert kept[max(kept)] == reference.undisturbed(path)
    assert kept[max(kept)].events == 10 + 10 + 1


def test_relearning_over_a_rollback_goes_back_to_what_was_relearned(home):
    path = home / "loop.db"
    with open_loop(home, bits=10) as loop:
        play(loop, 0, 20)
        generation = loop.checkpoint()
        play(loop, 20, 40)
        loop.rollback(generation)
        play(loop, 40, 50)
    with Loop.open(path, bits=12, change=True, relearn=True) as loop:
        assert loop.status().learned == 30
    kept = reference.check(path)
    assert kept[max(kept)] == reference.undisturbed(path)


def test_records_are_not_dropped_while_they_are_to_be_learned_again(home, monkeypatch):
    """Another process changes the settings while this one, which learns, is about to drop what is old."""
    for journals in (sqlite, redis_checkpoints):
        monkeypatch.setattr(journals, "_ROWS_AT_ONCE", 5)
    clock = Clock()
    settings = {"retention": "1s", "wait": "100ms", "clock": clock, "checkpoint_every": "1h", "keep_generations": 1}
    with open_loop(home, bits=10, **settings) as loop:
        play(loop, 0, 30)
        clock.now += 5000
        play(loop, 30, 40)
        worker = loop._worker
        real = worker.journal.pruning_tasks

        def pruning(*arguments):
            tasks = list(real(*arguments))
            assert len(tasks) > 5
            yield from tasks[:2]
            Loop.open(home / "loop.db", bits=12, change=True, relearn=True, clock=clock).close()
            yield from tasks[2:]

        worker.journal.pruning_tasks = pruning
        loop.checkpoint()
        worker.journal.pruning_tasks = real
        learned = loop.status().learned
        assert 10 < learned < 40
        worker._learner = None  # as after a crash
        play(loop, 40, 41)
        assert loop.status().learned == learned + 1
        loop.checkpoint()
        assert worker.journal.first() > 30  # they are dropped now
        play(loop, 41, 42)
    with Loop.open(home / "loop.db") as loop:
        assert loop.status().learned == learned + 2


def test_a_decider_whose_generation_is_dropped_while_it_reads_takes_the_next(home):
    with open_loop(home, keep_generations=1, checkpoint_every="1h") as loop:
        play(loop, 0, 10)
        loop.checkpoint()
        with Loop.open(home / "loop.db", learn=False) as other:
            worker = other._worker
            worker._stopping.set()  # it follows when told to
            worker._upkeep.join()
            play(loop, 10, 20)
            second = loop.checkpoint()
            play(loop, 20, 30)
            read = worker.journal.model

            def model(sha256):
                worker.journal.model = read
                loop.checkpoint()  # drops the generation that was found
                return read(sha256)

            worker.journal.model = model
            worker._follow()
            made = other.decide({"user": "u1", "hour": 1}, event_id="x")
            assert made.generation == second + 1
            assert made.probability == loop.decide({"user": "u1", "hour": 1}, event_id="y").pmf[made.action]


def test_a_model_with_missing_bytes_is_refused(tmp_path):
    with open_loop(tmp_path) as loop:
        play(loop, 0, 10)
    with closing(SqliteJournal(tmp_path / "loop.db")) as journal:
        journal._db.execute("UPDATE model SET bytes = substr(bytes, 1, 100)")
    with pytest.raises(JournalRefused, match="damaged"):
        Loop.open(tmp_path / "loop.db")
    with pytest.raises(JournalRefused, match="damaged"):
        Loop.open(tmp_path / "loop.db", learn=False)


def test_the_lease_is_held_during_a_checkpoint_that_takes_longer_than_it(home, monkeypatch):
    for journals in (sqlite, redis_checkpoints):
        monkeypatch.setattr(journals, "_MODEL_PART", 100)
    with open_loop(home, lease="1s", checkpoint_every="1h") as loop:
        play(loop, 0, 20)
        with Loop.open(home / "loop.db", lease="1s") as other:
            worker = loop._worker
            real = worker.journal.checkpoint_tasks

            def slowly(new):
                for task in real(new):
                    time.sleep(0.1)
                    yield task

            worker.journal.checkpoint_tasks = slowly
            began = time.monotonic()
            loop.checkpoint()
            assert time.monotonic() - began > 1.1
            assert loop.status().role == "learner"
            assert other.status().role == "decider"


def test_a_log_that_somebody_removes_is_noticed_and_nothing_acknowledged_is_lost(tmp_path):
    loop = open_loop(tmp_path)
    play(loop, 0, 5)
    (tmp_path / "loop.db-wal").unlink()
    with pytest.raises(JournalFailed, match="write-ahead log, was removed"):
        loop.decide({"user": "Tom"}, event_id="never")
    loop.close()
    with Loop.open(tmp_path / "loop.db") as loop:
        counts = loop.status().counts
    assert (counts["decisions"], counts["rewards"]) == (5, 5)
