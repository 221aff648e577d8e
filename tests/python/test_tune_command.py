"""`fastcb tune`: what it reads, prints and writes, and that it goes on where it was stopped."""

from __future__ import annotations

import csv
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from serve.servers import serving
from vw_fastcb import FastCB, Loop
from vw_fastcb.bakeoff.grid import find_grid
from vw_fastcb.commands.app import app


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["tune", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr


def parity_table(path: Path, rows: int = 300) -> Path:
    rng = np.random.default_rng(3)
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["u", "v", "answer"])
        for u, v in rng.integers(0, 2, (rows, 2)):
            table.writerow([u, v, "yes" if u ^ v else "no"])
    return path


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tune") / "shop.db"
    rng = np.random.default_rng(5)
    with Loop.open(path, actions=["a", "b", "c"], reward_range=(0, 5), default_reward=0) as loop:
        for i in range(450):
            hour = float(rng.random())
            left_out = ["c"] if i % 3 == 0 else []
            decision = loop.decide({"hour": hour, "city": "Rome"}, event_id=f"e{i}", exclude=left_out)
            loop.reward(f"e{i}", 5.0 * (rng.random() < (0.9 if decision.name == ("a" if hour < 0.5 else "b") else 0.1)))
    return path


def test_a_table_gives_flags_and_a_grid_that_the_bake_off_reads(tmp_path):
    table = parity_table(tmp_path / "t.csv", 400)
    code, told, _ = run(table, "--orders", 5, "--out", tmp_path / "out")
    assert code == 0
    assert "Take interactions=('xx',)." in told
    assert "  vw-fastcb --cb_explore 2 --fastcb" in told
    result = json.loads((tmp_path / "out/tuning.json").read_text())
    assert result["changes"] == {"interactions": ["xx"]}
    tuned, defaults = find_grid(str(tmp_path / "out/grid.toml")).algorithms
    assert (tuned.name, defaults.name) == ("tuned", "FastCB.N")
    assert "--fastcb_oracle newton --interactions ::" in tuned.flags
    assert len(tuned.configurations()) == 1


def test_a_journal_and_its_log_say_what_the_learner_says(journal, tmp_path):
    code, told, _ = run(journal, "--out", tmp_path / "journal", "--json")
    assert code == 0
    by_journal = json.loads(told)
    assert CliRunner().invoke(app, ["export", str(journal), "--dsjson", str(tmp_path / "l.dsjson")]).exit_code == 0
    words = ("--reward-range", 0, 5, "--actions", "a,b,c", "--out", tmp_path / "log", "--json")
    code, told, _ = run(tmp_path / "l.dsjson", *words)
    assert code == 0
    assert json.loads(told)["stages"] == by_journal["stages"]
    lines = [json.loads(line) for line in (tmp_path / "l.dsjson").read_text().splitlines()]
    log = {
        "actions": [line["_labelIndex"] for line in lines],
        "values": [-line["_label_cost"] for line in lines],
        "probabilities": [line["_label_probability"] for line in lines],
        "exclude": [[a - 1 for a, p in zip(line["a"], line["p"], strict=True) if p == 0] for line in lines],
    }
    assert [2] in log["exclude"]
    contexts = [{name.removesuffix("="): value for name, value in line["c"]["x"].items()} for line in lines]
    mine = FastCB(action_names=["a", "b", "c"], reward_range=(0, 5)).tune(contexts, **log)
    losses = [trial["loss"] for trial in by_journal["stages"][0]["trials"]]
    assert losses == [trial.loss for trial in mine.stages[0].trials]
    assert 2 < by_journal["stages"][0]["trials"][0]["value"] < 5


def test_a_log_with_dropped_events_is_refused(journal, tmp_path):
    log = tmp_path / "l.dsjson"
    assert CliRunner().invoke(app, ["export", str(journal), "--dsjson", str(log)]).exit_code == 0
    log.write_text(log.read_text().replace('"Version":"1"', '"pdrop":0.5,"Version":"1"'))
    code, _, said = run(log, "--reward-range", 0, 5, "--out", tmp_path / "out")
    assert code == 1
    assert "line 1: it stands for events that were left out (pdrop)" in said


def test_of_a_journal_it_says_how_to_go_on_with_it(tmp_path):
    path, rng = tmp_path / "parity.db", np.random.default_rng(3)
    with Loop.open(path, actions=["no", "yes"], reward_range=(0, 1), epsilon=1, seed=1) as loop:
        for i, (u, v) in enumerate(rng.integers(0, 2, (500, 2)).tolist()):
            made = loop.decide({"u": u, "v": v}, event_id=f"e{i}")
            loop.reward(f"e{i}", float(made.action == u ^ v))
    code, told, _ = run(path, "--out", tmp_path / "out")
    assert code == 0
    (command,) = [shlex.split(line) for line in told.splitlines() if line.startswith("  fastcb serve ")]
    assert command[2:] == [str(path), "--change", "--relearn", "--interactions", "xx"]
    with serving(*command[2:]) as server:
        assert server.get("/status").json["settings"]["interactions"] == ["xx"]
        assert server.get("/status").json["learned"] == 500


def test_a_run_that_was_killed_goes_on_where_it_was(tmp_path):
    table = parity_table(tmp_path / "t.csv", 2000)
    out = tmp_path / "out"
    words = [str(Path(sys.executable).with_name("fastcb")), "tune", str(table), "--out", str(out), "--jobs", "1"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    kept = out / "measurements.jsonl"
    while process.poll() is None and (not kept.exists() or kept.stat().st_size == 0):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with kept.open("ab") as file:
        file.write(b'{"key": "half a li')
    before = [line for line in kept.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    assert before
    code, _, said = run(table, "--out", out)
    assert code == 0
    assert "has measurements of earlier runs" in said
    after = kept.read_bytes().splitlines(keepends=True)
    assert after[: len(before)] == before
    assert len({json.loads(line)["key"] for line in after}) == len(after)
    assert run(table, "--out", tmp_path / "other")[0] == 0
    found = [json.loads((folder / "tuning.json").read_text()) for folder in (out, tmp_path / "other")]
    assert found[0] == found[1]


def test_what_cannot_be_read_is_said(journal, tmp_path):
    table = parity_table(tmp_path / "t.csv")
    log = tmp_path / "log.dsjson"
    log.write_text("{}\n")
    odd = tmp_path / "odd.xyz"
    odd.write_text("?")
    for words, expected in (
        ((tmp_path / "nothing.csv",), "there is no file"),
        ((odd,), "expected a log, a journal, or a table"),
        ((log,), "give --reward-range LOW HIGH"),
        ((log, "--cost-range", 0, 1), "there is no event with an outcome"),
        ((journal, "--cost-range", 0, 1), "leave --cost-range out"),
        ((journal, "--target", "x"), "--target is for tables"),
        ((table, "--actions", "a,b"), "leave --actions out"),
        ((table, "--target", "w"), f"fastcb tune: {table}: there is no column 'w'"),
    ):
        code, told, said = run(*words, "--out", tmp_path / "out")
        assert (code, told) == (1, ""), words
        assert expected in " ".join(said.split())
    log.write_text('{"c": 3}\n')
    assert "log.dsjson, line 1: its c is 3" in " ".join(run(log, "--cost-range", 0, 1)[2].split())
    assert not os.path.exists("fastcb-tuning")


def test_measurements_that_somebody_changed_are_refused(tmp_path):
    table = parity_table(tmp_path / "t.csv")
    (tmp_path / "out").mkdir()
    for line in (b"[1]\n", b"{\n", b"\xff\n", b'{"key": "k", "losses": ["a"], "values": []}\n'):
        (tmp_path / "out/measurements.jsonl").write_bytes(line)
        code, _, said = run(table, "--out", tmp_path / "out")
        assert (code, "measurements.jsonl' has a line that is no measurement of ours" in " ".join(said.split())) == (
            1,
            True,
        )
