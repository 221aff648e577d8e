"""Clocks that are wrong: nobody stores a time that another clock contradicts, and a journal that has one is mended."""

import contextlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from loop import cli, reference
from loop.redis_server import RedisFolder
from loop.support import Clock, journal_at, open_loop
from vw_fastcb import Loop
from vw_fastcb.loop import clocks
from vw_fastcb.loop.join import AGGREGATIONS, Join, JoinSettings
from vw_fastcb.loop.journal import ClockDiffers
from vw_fastcb.loop.records import Record
from vw_fastcb.loop.replay import replay

DAY = 86_400_000
FASTCB = str(Path(sysconfig.get_path("scripts")) / "fastcb")
START = 1_700_000_000_000
needs_faketime = pytest.mark.skipif(
    shutil.which("faketime") is None, reason="faketime is not there; apt-get install faketime"
)
# What a process with a wrong clock does: it opens the journal, decides, and says what came of it.
_DECIDE = """
import json, os, sys
from vw_fastcb import Loop
from vw_fastcb.loop import LoopError
path, event, learns, waits = sys.argv[1], sys.argv[2], sys.argv[3] == "learns", sys.argv[4] == "waits"
settings = {"actions": ["politics", "sports", "music"], "reward_range": (0, 1), "seed": 3, "default_reward": 0}
with Loop.open(path, **settings, learn=learns) as loop:
    try:
        loop.decide({"hour": 9}, event_id=event)
        said = ""
    except LoopError as problem:
        said = f"{type(problem).__name__}: {problem}"
    status = loop.status()
    seen = {"problems": status.problems, "role": status.role, "pid": os.getpid()}
    print(json.dumps({"refused": said, **seen}), flush=True)
    if waits:
        sys.stdin.readline()
"""


def asked_ahead(path, event, *, offset="+1d", learns=True, waits=False):
    """A process whose clocks are ahead, and what it says of its decision."""
    words = ["learns" if learns else "decides", "waits" if waits else "ends"]
    process = subprocess.Popen(
        ["faketime", "-f", offset, sys.executable, "-c", _DECIDE, str(path), event, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    line = process.stdout.readline()
    if not waits:
        process.communicate(timeout=60)
    return process, json.loads(line)


def now():
    return time.time_ns() // 1_000_000


def times(path):
    with journal_at(path) as journal:
        return [record.time for record in journal.read()]


def agrees(path):
    reference.check(path)
    with journal_at(path) as journal:
        found = replay(journal)
    assert found.agrees, found.differences
    return found


# A process whose clock is wrong


@needs_faketime
@pytest.mark.parametrize("learns", [True, False])
def test_a_process_whose_clock_is_a_day_ahead_is_refused_beside_the_learner(tmp_path, learns):
    path = tmp_path / "loop.db"
    with open_loop(tmp_path, default_reward=0) as loop:
        loop.decide({"hour": 9}, event_id="e1")
        _, said = asked_ahead(path, "wrong", learns=learns)
        assert said["role"] == "decider"
        assert said["refused"].startswith("ClockDiffers: this process's clock says ")
        assert f"process {os.getpid()}" in said["refused"]
        assert "fastcb clock mend" in said["refused"]
        assert said["problems"]
        assert loop.status().problems == ()
        loop.decide({"hour": 9}, event_id="e2")
        loop.reward("e1", 1)
        assert loop.status().learned == 1
    assert max(times(path)) <= now()
    agrees(path)


@needs_faketime
def test_a_process_whose_clock_is_behind_is_refused_where_it_would_give_an_older_time(tmp_path):
    path = tmp_path / "loop.db"
    with open_loop(tmp_path, default_reward=0, clock=lambda: now() - 2 * DAY):
        pass  # the journal's last record is old, so that nothing else tells the time
    with open_loop(tmp_path) as loop:
        _, said = asked_ahead(path, "wrong", offset="-1d")
        assert said["refused"].startswith("ClockDiffers")
        assert loop.status().position == 1
    agrees(path)


@needs_faketime
def test_a_wrong_clock_does_not_learn_while_the_learner_starts_again(tmp_path):
    path = tmp_path / "loop.db"
    with open_loop(tmp_path, default_reward=0) as loop:
        loop.decide({"hour": 9}, event_id="e1")
    _, said = asked_ahead(path, "wrong")
    assert said["role"] == "decider"
    assert said["refused"].startswith("ClockDiffers")
    with open_loop(tmp_path) as loop:
        assert loop.status().role == "learner"
        loop.decide({"hour": 9}, event_id="e2")
        assert loop.status().problems == ()
    assert max(times(path)) <= now()


@needs_faketime
def test_a_learner_with_a_wrong_clock_is_named_and_its_journal_is_mended_once_it_has_ended(tmp_path, monkeypatch):
    path = tmp_path / "loop.db"
    with open_loop(tmp_path, default_reward=0, clock=lambda: now() - DAY) as loop:
        loop.decide({"hour": 9}, event_id="closed too early")
    wrong, said = asked_ahead(path, "e1", waits=True)
    pid = said.pop("pid")
    assert said == {"refused": "", "problems": [], "role": "learner"}
    refusal = cli.refused("clock", "mend", path)
    assert f"process {pid}" in refusal
    with open_loop(tmp_path) as loop:
        (problem,) = loop.status().problems
        assert "ahead of this machine's clock" in problem
        assert f"fastcb clock mend {path}" in problem
    wrong.communicate("end\n", timeout=60)
    monkeypatch.setattr(clocks, "_FRESH", 0)  # a minute later
    with open_loop(tmp_path) as loop:
        loop.decide({"hour": 9}, event_id="e2")  # goes on, in the journal's time
        assert loop.status().open == 2
        mended = cli.told("clock", "mend", path)
        assert DAY - 60_000 < mended["ahead"] <= DAY
        assert mended["time"] <= now()
        loop.decide({"hour": 9}, event_id="e3")
        assert loop.status().problems == ()
        assert loop.status().open == 3
        for event in ("e1", "e2", "e3", "closed too early"):
            loop.reward(event, 1)
        status = loop.status()
        assert (status.learned, status.counts["learned_defaults"], status.counts["late"]) == (4, 1, 1)
    assert cli.told("clock", "mend", path)["ahead"] == 0
    assert times(path)[-1] <= now()
    agrees(path)


@needs_faketime
@pytest.mark.parametrize("offset", ["+1d", "-1d"])
def test_once_a_journal_is_mended_the_clock_of_a_learner_that_has_ended_does_not_count(tmp_path, offset):
    """It counts for a minute, and the refusal says to mend the journal: that has to help at once."""
    path = tmp_path / "loop.db"
    _, said = asked_ahead(path, "e1", offset=offset)
    assert (said["role"], said["refused"]) == ("learner", "")
    with open_loop(tmp_path, default_reward=0) as loop:
        if offset == "-1d":
            with pytest.raises(ClockDiffers, match="fastcb clock mend"):
                loop.decide({"hour": 9}, event_id="e2")
        assert not loop.status().ready
    assert (cli.told("clock", "mend", path)["ahead"] > 0) is (offset == "+1d")
    with open_loop(tmp_path, default_reward=0) as loop:
        loop.decide({"hour": 9}, event_id="e2")
        loop.reward("e2", 1)
        assert (loop.status().problems, loop.status().role) == ((), "learner")
        assert loop.status().counts["learned"] == 1
    assert abs(times(path)[-1] - now()) < 60_000
    agrees(path)


def test_a_clock_that_was_passed_in_is_held_against_the_machines(tmp_path):
    with open_loop(tmp_path) as loop, Loop.open(tmp_path / "loop.db", clock=lambda: now() + DAY) as other:
        with pytest.raises(ClockDiffers, match="this process's clock says"):
            other.decide({"hour": 9}, event_id="e1")
        assert loop.status().position == 1


def test_the_learners_clock_may_be_set_and_others_follow_it(tmp_path, monkeypatch):
    path = tmp_path / "loop.db"
    with open_loop(tmp_path) as loop, Loop.open(path) as other:
        other.decide({"hour": 9}, event_id="e1")
        real = time.time_ns
        monkeypatch.setattr(time, "time_ns", lambda: real() + DAY * 1_000_000)  # the whole machine's
        loop.decide({"hour": 9}, event_id="e2")
        other.decide({"hour": 9}, event_id="e3")
    assert times(path)[-1] - times(path)[1] >= DAY


def test_a_silent_journal_goes_on_after_days(home):
    clock = Clock()
    with open_loop(home, clock=clock) as loop:
        loop.decide({"hour": 9}, event_id="e1")
        clock.now += 30 * DAY
        loop.decide({"hour": 9}, event_id="e2")
    assert times(home / "loop.db")[-2:] == [START, START + 30 * DAY]


# Mending


def test_what_waits_goes_on_waiting_for_as_long_as_it_would_have(home):
    path = home / "loop.db"
    clock = Clock()
    with open_loop(home, clock=clock, default_reward=0, wait="10s") as loop:
        loop.decide({"hour": 9}, event_id="before")
        clock.now += DAY
        loop.decide({"hour": 9}, event_id="during")
        loop.reward("early", 1)
        clock.now += 4000
        loop.decide({"hour": 9}, event_id="later")
        clock.now -= DAY + 1000
        loop.decide({"hour": 9}, event_id="stuck")
        assert loop.mend_clock() == DAY + 1000
        assert loop.mend_clock() == 0
        clock.now += 6000
        loop.reward("during", 1)  # 10 s after it, in its own time
        loop.decide({"hour": 9}, event_id="early")
        clock.now += 1
        loop.decide({"hour": 9}, event_id="next")
        loop.reward("before", 1)
        counts = loop.status().counts
        assert (counts["learned"], counts["learned_defaults"], counts["late"]) == (2, 1, 1)
        clock.now += 3999
        loop.reward("later", 1)
        loop.reward("stuck", 1)
        clock.now += 1
        loop.reward("next", 1)
        assert loop.status().counts["learned"] == 5
    assert times(path)[-1] == START + 13_001
    assert agrees(path).decisions == 6


def test_a_mended_journal_goes_on_after_a_restart_from_its_checkpoint(home):
    path, clock = home / "loop.db", Clock()
    with open_loop(home, clock=clock, default_reward=0, wait="10s") as loop:
        clock.now += DAY
        loop.decide({"hour": 9}, event_id="e1")
        loop.checkpoint()
        clock.now -= DAY
        assert loop.mend_clock() == DAY
    with open_loop(home, clock=clock) as loop:
        clock.now += 10_001
        loop.tick()
        assert loop.status().counts["learned_defaults"] == 1
        loop.decide({"hour": 9}, event_id="e2")
        again = loop.decide({"hour": 9}, event_id="e2")
        assert again.event_id == "e2"
        assert loop.status().time == START + 10_001
    with journal_at(path) as journal:
        (mended,) = journal.of_kind("clock")
        assert (mended.time, mended.body) == (START, {"before": START + DAY})
        assert journal.last()[1] == START + 10_001
    agrees(path)


def test_what_came_early_waits_no_longer_in_a_mended_journal_that_was_opened_again(home):
    clock = Clock()
    with open_loop(home, clock=clock, wait="10s") as loop:
        clock.now += DAY
        loop.reward("e1", 1)
        clock.now -= DAY
        assert loop.mend_clock() == DAY
    with open_loop(home, clock=clock) as loop:
        clock.now += 10_001
        loop.decide({"hour": 9}, event_id="e2")
        assert (loop.status().early, loop.status().counts["orphans"]) == (0, 1)
    agrees(home / "loop.db")


def test_a_time_that_is_not_ahead_is_not_changed(home):
    clock = Clock()
    with open_loop(home, clock=clock) as loop:
        clock.now -= 5000
        assert loop.mend_clock() == 0
        clock.now += 10_000
        assert loop.mend_clock() == 0
        assert loop.status().position == 1


def test_a_process_that_only_decides_mends_as_well(home):
    clock = Clock()
    with open_loop(home, clock=clock, default_reward=0) as loop:
        clock.now += DAY
        loop.decide({"hour": 9}, event_id="e1")
        clock.now -= DAY
        with Loop.open(home / "loop.db", learn=False, clock=clock) as other:
            assert other.mend_clock() == DAY
        loop.reward("e1", 1)
        assert loop.status().learned == 1
    agrees(home / "loop.db")


def test_retention_drops_what_is_old_in_a_mended_journal(home):
    clock = Clock()
    with open_loop(home, clock=clock, wait="1s", retention="1h", keep_generations=1) as loop:
        clock.now += DAY
        loop.decide({"hour": 9}, event_id="e1")
        clock.now -= DAY
        loop.mend_clock()
        for step in range(6):
            clock.now += 2 * DAY
            loop.decide({"hour": 9}, event_id=f"after {step}")
            loop.checkpoint()
    with journal_at(home / "loop.db") as journal:
        assert journal.first() > 3
        assert [record.time for record in journal.read()][-1] == clock.now


def a_history(chance, count):
    """Some records of decisions that come and wait, with rewards that may be early, late or for nobody."""
    records, when, made = [], START, {}
    for position in range(2, count + 2):
        when += chance.choice([0, 1, 500, 3000])
        event = f"e{chance.randrange(count // 2)}"
        of = made.get(event, 0)
        if of or chance.random() < 0.3:
            kind = chance.choice(["reward", "reward", "activation"])
            value = chance.random() if kind == "reward" else None
            records.append(Record(position, when, kind, event, of, value))
        else:
            made[event] = position
            body = {"activate": chance.random() < 0.8}
            records.append(Record(position, when, "decision", event, body=body))
    return records


@pytest.mark.parametrize("seed", range(40))
def test_a_journal_that_was_wrong_from_the_beginning_and_mended_is_joined_as_if_it_had_been_right(seed):
    chance = random.Random(seed)
    settings = JoinSettings(4000, chance.choice([None, 0.0]), chance.choice(AGGREGATIONS), 0.0, 1.0)
    records = a_history(chance, 60)
    right, mended = Join(settings), Join(settings)
    at = chance.randrange(1, len(records))
    for number, record in enumerate(records):
        if number == at:
            last = records[at - 1]
            mended.touched.clear()
            before = {"before": last.time + DAY}
            assert mended.apply(Record(last.position, last.time, "clock", body=before)) == []
            assert mended.touched == mended.all_rows().keys()  # a checkpoint has the new deadlines
        wrong = record._replace(time=record.time + DAY) if number < at else record
        assert mended.apply(wrong) == right.apply(record)
    assert mended.all_rows() == right.all_rows()
    assert mended.counts == right.counts
    assert mended.next_deadline() == right.next_deadline()


def test_a_replay_says_so_if_a_record_of_a_mended_clock_was_changed(tmp_path):
    path, clock = tmp_path / "loop.db", Clock()
    with open_loop(tmp_path, clock=clock) as loop:
        clock.now += DAY
        loop.decide({"hour": 9}, event_id="e1")
        clock.now -= DAY
        loop.mend_clock()
    for body, words in (('{"before": 1}', "the time before it was 1 ms"), ("{}", "is damaged")):
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute("UPDATE record SET body = ? WHERE position = 3", (body,))
        with journal_at(path) as journal:
            found = replay(journal)
        assert any(words in one for one in found.differences), found.differences


# Redis


@needs_faketime
def test_redis_takes_a_jump_of_time_only_where_the_servers_clock_and_the_callers_agree(redis_server):
    home = RedisFolder(redis_server)
    with open_loop(home, default_reward=0, clock=Clock(now() - 2 * DAY)) as loop:
        loop.decide({"hour": 9}, event_id="e1")
    url = home / "loop.db"
    _, said = asked_ahead(url, "e2", offset="-1d")  # for it, the server's clock is a day ahead
    assert said["refused"].startswith("ClockDiffers: the clock of the Redis server says ")
    assert said["problems"]
    with open_loop(home) as loop:
        assert loop.status().position == 2
        loop.decide({"hour": 9}, event_id="e2")
        assert loop.status().problems == ()
    _, said = asked_ahead(url, "e3", offset="-1d")  # no jump any more: the server's clock counts
    assert said["refused"] == ""
    assert now() - 60_000 < times(url)[-1] <= now()
    agrees(url)


@needs_faketime
def test_a_journal_in_redis_is_mended_where_both_clocks_agree(redis_server):
    home = RedisFolder(redis_server)
    with open_loop(home, default_reward=0, clock=Clock(now() + DAY)) as loop:
        loop.decide({"hour": 9}, event_id="e1")
    url = home / "loop.db"
    mend = ["faketime", "-f", "-1d", sys.executable, FASTCB, "clock", "mend", url]
    refusal = subprocess.run(mend, capture_output=True, text=True, check=False)
    assert refusal.returncode == 1
    assert "the clock of the Redis server says" in refusal.stderr
    with open_loop(home) as loop:
        (problem,) = loop.status().problems
        assert "fastcb clock mend" in problem
        assert DAY - 60_000 < cli.told("clock", "mend", url)["ahead"] <= DAY
        loop.decide({"hour": 9}, event_id="e2")
        assert loop.decide({"hour": 9}, event_id="e2").event_id == "e2"
        assert loop.status().problems == ()
        loop.reward("e1", 1)
        loop.reward("e2", 1)
        assert loop.status().learned == 2
    assert cli.told("clock", "mend", url)["ahead"] == 0
    assert times(url)[-1] <= now()
    agrees(url)
