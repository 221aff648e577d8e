"""`fastcb evaluate` as people type it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from evaluation.worlds import World
from vw_fastcb.commands.app import app

FLAGS = "new=--cb_explore_adf --fastcb --interactions xa"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return World(1, 1500).write(tmp_path_factory.mktemp("log") / "log.dsjson")


def run(*words, code=0):
    made = CliRunner().invoke(app, ["evaluate", *map(str, words)])
    assert made.exit_code == code, made.output
    return made


def test_the_table_has_a_row_per_policy_and_says_who_is_better(path, tmp_path):
    picture = tmp_path / "picture.png"
    words = ("--policy", "logged", "--policy", FLAGS, "--policy", "constant:weather", "--picture", picture)
    said = run(path, "--reward-range", 0, 1, *words, code=1).stdout  # one of them cannot be judged
    assert "1,500 events" in said
    assert "new is better than what was logged: their 95% intervals do not overlap, and both hold with 90%" in said
    assert "Not judged: constant:weather" in said
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_json_says_everything(path):
    found = json.loads(run(path, "--reward-range", 0, 1, "--policy", "constant:0", "--json").stdout)
    (policy,) = found["policies"]
    assert found["events"] == policy["estimates"]["ips"]["n"] == 1500
    assert set(policy["estimates"]["snips"]["intervals"]) == {
        "anytime",
        "empirical_bernstein",
        "gaussian",
        "cressie_read",
    }


def test_repeated_events_are_told(path, tmp_path):
    twice = tmp_path / "twice.dsjson"
    twice.write_text(path.read_text() * 2)
    assert "1,500 events with the id of another one" in run(twice, "--reward-range", 0, 1).stdout
    assert json.loads(run(twice, "--reward-range", 0, 1, "--json").stdout)["repeated_ids"] == 1500
    assert "with the id of another" not in run(path, "--reward-range", 0, 1).stdout


def test_what_vw_refuses_ends_everything_with_a_control_as_well(path, tmp_path):
    lines = [json.loads(line) for line in path.read_text().splitlines()[:40]]
    for line in lines[3:5]:
        del line["_labelIndex"]  # which VW needs
    log = tmp_path / "log.dsjson"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for _ in range(20):  # it depended on which thread was faster
        run(log, "--reward-range", 0, 1, "--policy", FLAGS, "--control", "--interactions xa", code=1)


def test_costs_are_shown_as_costs(path):
    said = run(path, "--cost-range", -1, 0, "--policy", "logged").stdout
    assert " cost " in said
    assert " to -0." in said


def test_check_says_what_is_wrong_and_ends_with_1(path, tmp_path):
    assert "Nothing is wrong with this log" in run(path, "--reward-range", 0, 1, "--check").stdout
    world = World(3, 2500)
    world.pmfs = np.roll(world.pmfs, 1, axis=0)
    wrong = world.write(tmp_path / "wrong.dsjson")
    assert "The logged probabilities are wrong" in run(wrong, "--reward-range", 0, 1, "--check", code=1).stdout
    found = json.loads(run(wrong, "--reward-range", 0, 1, "--check", "--json", code=1).stdout)
    assert found["sound"] is False


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "a log does not say which outcomes are possible"),
        (("--reward-range", 0, 1, "--method", "dr"), "--method dr needs --control"),
        (("--reward-range", 5, 6), "its reward is 0; expected a number in [5, 6]."),
        (("--cost-range", 5, 6), "its cost is 0; expected a number in [5, 6]."),
    ],
)
def test_what_cannot_be_done_is_said(path, words, said):
    assert said in run(path, *words, code=1).stderr
