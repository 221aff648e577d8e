"""`fastcb demo --loop`: run for real, killed for real."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sysconfig
import time
from contextlib import closing
from pathlib import Path

import pytest

from bakeoff.cli import fastcb
from vw_fastcb.commands import loop_demo
from vw_fastcb.commands.loop_traffic import SLOT, WAIT, World
from vw_fastcb.loop.replay import replay
from vw_fastcb.loop.sqlite import SqliteJournal

FASTCB = str(Path(sysconfig.get_path("scripts")) / "fastcb")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loop")
    options = ["--rounds", 300, "--seed", 4, "--picture", folder / "loop.png", "--journal", folder / "loop.db"]
    result = fastcb("demo", "--loop", "--json", *options)
    assert result.code == 0, result.out + result.err
    return json.loads(result.out), folder


def test_json_is_all_of_stdout_and_every_promise_was_kept(run):
    report, folder = run
    assert (report["events"], report["seed"], report["missing"]) == (300, 4, 0)
    assert all(report["promises"].values())
    assert len(report["promises"]) == 8
    assert sorted(path.name for path in folder.iterdir()) == ["loop.db", "loop.png"]


def test_the_process_was_killed_on_the_way(run):
    report, _ = run
    assert 75 <= report["killed"]["event"] < 300
    assert report["killed"]["pause"] > 0


def test_the_loop_counts_what_the_world_did(run):
    report, _ = run
    rewards, counts = report["rewards"], report["counts"]
    assert rewards["all"] == rewards["lost"] + rewards["on_time"] + rewards["late"]
    assert min(rewards["on_time"], rewards["duplicates"]) > 0
    assert report["acknowledged"] == 300 + rewards["on_time"] + rewards["late"] + rewards["duplicates"]
    assert counts["learned"] + counts["learned_defaults"] == 300


def test_the_journal_that_was_kept_says_the_same(run):
    report, folder = run
    with closing(SqliteJournal(folder / "loop.db")) as journal:
        found = replay(journal)
    assert found.agrees
    assert found.sha256 == report["sha256"] == report["replay"]["sha256"]
    assert found.counts == report["counts"]


def test_the_curve_lies_between_chance_and_the_best(run):
    report, _ = run
    curve = report["curve"]
    assert len(curve["mean_reward"]) * curve["events_per_point"] == 300
    assert all(low < high for low, high in zip(curve["random"], curve["best"], strict=True))


def test_the_world_has_rewards_that_are_lost_late_and_repeated():
    world = World(4000, 0)
    first = [next(world.rewards(event, 0), None) for event in range(4000) if world.clicks(event, 0)]
    lost = sum(one is None for one in first) / len(first)
    late = sum(one is not None and world.is_late(one) for one in first) / len(first)
    assert 0.02 < lost < 0.08
    assert 0.01 < late < 0.08
    slots = [one.slot - world.decision(one.event).slot for one in first if one is not None]
    assert min(slots) == 1  # never in the slot of its decision, which may not be made yet
    assert max(slots) > WAIT / SLOT


def test_a_promise_that_is_not_kept_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(loop_demo, "_missing", lambda journal, acknowledged: 2)
    result = fastcb("demo", "--loop", "--rounds", 100, "--picture", tmp_path / "loop.png")
    assert result.code == 1
    assert "NO   everything acknowledged is in the journal" in result.out
    assert "yes  the model is that of an undisturbed learner" in result.out


def test_traffic_that_fails_is_an_error_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(loop_demo.sys, "executable", "/bin/false")
    places = ["--picture", tmp_path / "loop.png", "--journal", tmp_path / "loop.db"]
    result = fastcb("demo", "--loop", "--rounds", 100, *places)
    assert (result.code, result.out) == (1, "")
    assert "the traffic ended with code 1" in result.words
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--loop", "--rounds", "99"], "--loop needs 100 visits or more, not 99"),
        (["--loop", "--dataset", "iris"], "the visitors of --loop are simulated"),
        (["--loop", "--journal", "there.db"], "there.db must be new"),
        (["--loop", "--journal", "missing/x.db"], "in a folder that exists"),
        (["--journal", "x.db"], "add --loop"),
    ],
)
def test_a_wrong_option_is_refused_at_once(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.db").touch()
    result = fastcb("demo", *arguments)
    assert (result.code, result.out) == (2, "")
    assert words in " ".join(result.words.replace("│", " ").split())
    assert [path.name for path in tmp_path.iterdir()] == ["there.db"]


def test_ctrl_c_leaves_neither_files_nor_processes(tmp_path):
    scratch, folder = tmp_path / "tmp", tmp_path / "here"
    scratch.mkdir()
    folder.mkdir()
    process = subprocess.Popen(
        [FASTCB, "demo", "--loop"],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(scratch), "NO_COLOR": "1", "TERM": "dumb"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that the signal does not reach this test
        # A job in the background ignores it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509, this test has no threads
    )
    deadline = time.monotonic() + 60
    while not list(scratch.glob("*/journal.db")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert (out, "Traceback" in err) == ("", False)
    assert "Stopped. Nothing was saved." in err
    assert [*scratch.iterdir(), *folder.iterdir()] == []
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
