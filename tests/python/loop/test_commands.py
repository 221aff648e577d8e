"""`fastcb learn`, `fastcb export` and `fastcb import` on journals."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from estimators.utils.ds_parse import json_cooked

from bakeoff.cli import fastcb
from loop.cli import refused, told
from loop.histories import ACTIONS, write_history
from loop.support import Clock, open_loop
from support import events, ok, write
from vw_fastcb import FastCB, Loop, Workspace
from vw_fastcb.loop.replay import replay
from vw_fastcb.loop.sqlite import SqliteJournal

FASTCB = str(Path(sysconfig.get_path("scripts")) / "fastcb")


def replayed(path: Path):
    journal = SqliteJournal(path)
    try:
        return replay(journal)
    finally:
        journal.close()


def play(path: Path, first: int, last: int, **settings: object) -> None:
    with open_loop(path.parent, path.name, learn=False, **settings) as loop:
        for i in range(first, last):
            loop.decide({"user": f"u{i % 5}", "hour": i % 24}, event_id=f"e{i}")
            loop.reward(f"e{i}", float(i % 2))


# Learning


def test_learn_brings_a_journal_to_its_end_and_writes_no_ticks(tmp_path):
    path = tmp_path / "loop.db"
    play(path, 0, 40, wait="1ms", default_reward=0)
    first = told("learn", path)
    assert (first["position"], first["records_read"], first["events_learned"]) == (81, 81, 40)
    assert (first["generation"], first["events"], first["dead_letters"]) == (1, 40, [])
    found = replayed(path)
    assert found.agrees
    assert found.sha256 == first["sha256"]
    assert found.counts["ticks"] == 0
    again = told("learn", path)
    assert (again["records_read"], again["generation"], again["sha256"]) == (0, 1, first["sha256"])
    play(path, 40, 45)
    result = fastcb("learn", path)
    assert "Read 10 records, up to record 91; learned 5 events." in result.out
    assert f"Generation 2, 45 events in the model, SHA-256 {replayed(path).sha256}" in result.out


def test_learn_names_what_could_not_be_learned(tmp_path):
    path = tmp_path / "loop.db"
    with open_loop(tmp_path, aggregation="sum", wait="1s", clock=(clock := Clock()), learn=False) as loop:
        loop.decide({"a": 1}, event_id="e1")
        loop.reward("e1", 1)
        loop.reward("e1", 1)
        clock.now += 2000
        loop.decide({"a": 1}, event_id="e2")
    result = fastcb("learn", path)
    assert "1 event could not be learned:" in result.out
    assert "record 2: the sum of 2 rewards is 2.0; expected [0" in result.out


def test_learn_leaves_a_journal_to_the_process_that_learns_it_unless_told(tmp_path):
    path = tmp_path / "loop.db"
    with open_loop(tmp_path) as loop:
        loop.decide({"a": 1}, event_id="e1")
        assert f"process {os.getpid()} learns {path}. Wait, stop it, or take over" in refused("learn", path)
        loop.reward("e1", 1)
        assert told("learn", path, "--take-over")["events"] == 1
        assert loop.decide({"a": 1}, event_id="e2").action in (0, 1, 2)  # it goes on deciding, and soon learning
        loop.reward("e2", 1)
    found = replayed(path)
    assert found.agrees
    assert found.learned == 2


class Following:
    """`fastcb learn --follow --json` as a process."""

    def __init__(self, path: Path, every: str = "100ms") -> None:
        command = [FASTCB, "learn", str(path), "--follow", "--json", "--checkpoint-every", every]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_for(self, **wanted: object) -> dict:
        for line in self.process.stdout:
            status = json.loads(line)
            if all(status[name] == value for name, value in wanted.items()):
                return status
        raise AssertionError(self.process.stderr.read())

    def end(self, number: int) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


def test_following_stands_by_takes_over_and_survives_a_kill(tmp_path):
    path = tmp_path / "loop.db"
    holder = open_loop(tmp_path, wait="300ms", default_reward=0)
    follower = Following(path)
    follower.wait_for(role="standby")
    holder.close()
    play(path, 0, 20)
    follower.wait_for(role="learner", learned=20)
    with Loop.open(path, learn=False) as loop:
        loop.decide({"user": "u1", "hour": 3}, event_id="silent")
    follower.wait_for(learned=21)  # the default, by a tick
    follower.end(signal.SIGKILL)
    play(path, 21, 30)
    final = told("learn", path)
    assert final["events"] == 30
    found = replayed(path)
    assert found.agrees
    assert found.sha256 == final["sha256"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_learner_that_is_fenced_stands_by_and_ends_politely(number, tmp_path):
    path = tmp_path / "loop.db"
    play(path, 0, 3)
    follower = Following(path)
    follower.wait_for(role="learner")
    with Loop.open(path, take_over=True) as loop:
        loop.decide({"user": "u1", "hour": 3})
        follower.wait_for(role="standby")
    follower.wait_for(role="learner")
    code, out, err = follower.end(number)
    assert code == 0, err
    assert "Traceback" not in err
    final = json.loads(out.splitlines()[-1])
    assert (final["events"], final["role"]) == (3, "learner")
    found = replayed(path)
    assert found.agrees
    assert found.sha256 == final["sha256"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_many_kills_of_the_learner_do_not_change_the_model(seed, tmp_path):
    path = tmp_path / "loop.db"
    rng = random.Random(seed)
    play(path, 0, 50, wait="200ms", default_reward=0)
    for kill in range(12):
        follower = Following(path, "10ms")
        follower.wait_for(role="learner")
        play(path, 50 + 50 * kill, 100 + 50 * kill)
        time.sleep(rng.uniform(0, 0.3))
        follower.end(signal.SIGKILL)
    final = told("learn", path)
    assert final["events"] == 650
    found = replayed(path)
    assert found.agrees
    assert found.sha256 == final["sha256"]


# What came of each decision


HISTORIES = [
    {"default_reward": 0.5},
    {"fixed": False},
    {"aggregation": "last", "cost_range": (-1, 2), "default_cost": 2},
    {"aggregation": "sum", "default_reward": 0},
    {"aggregation": "mean", "fixed": False},
]
EACH = [*range(3), *(pytest.param(number, marks=pytest.mark.slow) for number in (3, 4))]


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """Journals that tests only read, made once."""
    folder = tmp_path_factory.mktemp("histories")

    def made(number: int, *, erases: bool = True) -> Path:
        path = folder / f"{number}-{erases}.db"
        if not path.exists():
            write_history(path, number, 80, erases=erases, **HISTORIES[number])
        return path

    return made


@pytest.mark.parametrize("number", EACH)
def test_outcomes_are_those_that_were_learned(number, history, tmp_path):
    path = history(number)
    made = told("export", path, "--parquet", tmp_path / "t.parquet", "--dsjson", tmp_path / "t.dsjson")
    counts = replayed_counts(path)
    kinds = made["decisions"]
    rows = pd.read_parquet(tmp_path / "t.parquet")
    learned = rows[rows.outcome_kind.isin(["reward", "default"])]
    erased = kinds["erased"]  # some of them were learned before
    assert sum(kinds.values()) == counts["decisions"] == made["rows"] == len(rows)
    assert 0 <= counts["learned"] + counts["learned_defaults"] - len(learned) <= erased
    assert 0 <= counts["unrewarded"] + counts["unactivated"] - kinds.get("none", 0) <= erased
    assert 0 <= counts["rejected"] - kinds.get("rejected", 0) <= erased
    assert made["lines"] == len(rows) - erased
    assert rows.position.is_monotonic_increasing
    assert "pending" not in kinds


def replayed_counts(path: Path) -> dict[str, int]:
    journal = SqliteJournal(path)
    try:
        return journal.checkpoints()[-1].summary["counts"]
    finally:
        journal.close()


# dsjson

_NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
LAYOUT = re.compile(
    rf'\{{"_label_cost":({_NUMBER}),"_label_probability":({_NUMBER}),"_label_Action":(\d+),"_labelIndex":(\d+)'
    r'(,"_skipLearn":true)?,"o":\[.*?\],"Timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z","Version":"1",'
    rf'"EventId":"[^"]+","a":\[(.*?)\],"c":\{{.*\}},"p":\[(.*?)\],"VWState":\{{"m":"\w+"\}},'
    rf'"_original_label_cost":{_NUMBER}(?:,"_excluded":\[\d+(?:,\d+)*\])?\}}'
)


@pytest.mark.parametrize("number", EACH)
def test_every_line_is_laid_out_for_fast_readers_and_says_what_was_learned(number, history, tmp_path):
    path = history(number)
    told("export", path, "--dsjson", tmp_path / "t.dsjson", "--parquet", tmp_path / "t.parquet")
    rows = pd.read_parquet(tmp_path / "t.parquet").set_index("event_id")
    sign = 1 if "cost_range" in HISTORIES[number] else -1
    lines = (tmp_path / "t.dsjson").read_bytes().splitlines()
    assert lines
    for line in lines:
        assert LAYOUT.fullmatch(line.decode()), line
        event, fast = json.loads(line), json_cooked(line)
        row = rows.loc[event["EventId"]]
        is_learned = row.outcome_kind in ("reward", "default")
        assert event.get("_skipLearn", False) == fast["skipLearn"] == (not is_learned)
        if is_learned:
            assert float(fast["cost"]) == event["_label_cost"] == sign * row.outcome
        assert fast["p"] == event["p"][0] == row.probability
        assert fast["a"] == event["_label_Action"] == event["_labelIndex"] + 1 == row.action + 1
        assert fast["num_a"] == len(row.pmf) == len(event["c"]["_multi"])
        assert [event["p"][event["a"].index(i + 1)] for i in range(len(row.pmf))] == list(row.pmf)
        assert len(event["o"]) <= row.reward_count
        left_out = event.get("_excluded", [])
        assert left_out == ([] if row.excluded is None else list(row.excluded))
        assert all(row.pmf[action] == 0 for action in left_out)


@pytest.mark.parametrize("noun", ["reward", "cost"])
def test_a_line_has_every_reward_that_was_observed_and_costs_as_negative_ones(noun, tmp_path):
    clock, setting = Clock(), {f"{noun}_range": (0, 1)}
    with Loop.open(tmp_path / "loop.db", actions=2, aggregation="max", wait="1s", clock=clock, **setting) as loop:
        loop.decide({"hour": 9}, event_id="e1")
        for value in (0.25, 0.75, 0.5):
            getattr(loop, noun)("e1", value)
        clock.now += 1001
        loop.tick()
    told("export", tmp_path / "loop.db", "--dsjson", tmp_path / "t.dsjson")
    (line,) = map(json.loads, (tmp_path / "t.dsjson").read_text().splitlines())
    sign = 1 if noun == "reward" else -1
    assert line["o"] == [{"EventId": "e1", "v": sign * value} for value in (0.25, 0.75, 0.5)]


@pytest.mark.parametrize("number", [0, 1])
def test_vw_and_python_read_the_lines(number, history, tmp_path):
    path = history(number)
    made = told("export", path, "--dsjson", tmp_path / "t.dsjson")
    said = ok(*made["flags"].split(), "-d", tmp_path / "t.dsjson", "-f", tmp_path / "vw.model")
    learned = made["decisions"]["reward"] + made["decisions"].get("default", 0)
    assert f"number of examples = {learned}" in said
    with Workspace(f"{made['flags']} --quiet") as vw:
        for line in (tmp_path / "t.dsjson").read_text().splitlines():
            vw.learn(line)
    told("learn", tmp_path / "t.dsjson", "--model", tmp_path / "m.vw", "--flags", made["flags"])


def test_vw_learns_the_model_of_the_loop_from_the_lines(history, tmp_path):
    path = history(1, erases=False)
    made = told("export", path, "--dsjson", tmp_path / "t.dsjson", "--model", tmp_path / "m.vw")
    with Workspace(f"{made['flags']} --quiet") as vw:
        for line in (tmp_path / "t.dsjson").read_text().splitlines():
            vw.learn(line)
        ours = FastCB.load(tmp_path / "m.vw")
        for line in (tmp_path / "t.dsjson").read_text().splitlines()[:40]:
            asked = json.loads(line)
            context = {"user": asked["c"]["x"]["user="], "hour": asked["c"]["x"]["hour"]}
            actions = [{"topic": one["a"]["topic="], "length": one["a"]["length"]} for one in asked["c"]["_multi"]]
            if "mood=" in asked["c"]["x"]:
                context["mood"] = asked["c"]["x"]["mood="]
            theirs = vw.predict(json.dumps({"c": asked["c"], "a": asked["a"], "p": asked["p"]}))
            assert theirs == pytest.approx(list(ours.predict_proba([context], [actions])[0]), abs=2e-5)


def test_odd_features_and_ids_are_exported_so_that_all_can_read_them(tmp_path):
    path = tmp_path / "loop.db"
    names = ['a,"a', "b\\", "c\nd", 'T","T', "é", "x" * 256]
    with open_loop(tmp_path, actions=None) as loop:
        for name in names:
            actions = [{"n": 'q"uo,te', "_hidden": 1}, {"n": ']}{[,"a":', "bool": True}, {}]
            loop.decide({"te xt": "a b:c|d", "none": None, "flag": False, "x": [1, 2]}, actions, event_id=name)
            loop.reward(name, 0.5)
    told("export", path, "--dsjson", tmp_path / "t.dsjson")
    lines = (tmp_path / "t.dsjson").read_bytes().splitlines()
    assert [json.loads(line)["EventId"] for line in lines] == names
    for line in lines:
        fast = json_cooked(line)
        assert (fast["num_a"], float(fast["cost"])) == (3, -0.5)
        assert fast["a"] == json.loads(line)["a"][0]
    ok("--dsjson", "--cb_explore_adf", "--fastcb", "--cb_min_cost", -1, "--cb_max_cost", 0, "-d", tmp_path / "t.dsjson")
    assert (
        told("import", tmp_path / "again.db", "--dsjson", tmp_path / "t.dsjson", "--reward-range", 0, 1)["events"] == 6
    )


def test_arrays_are_exported_and_imported(tmp_path):
    path = tmp_path / "loop.db"
    with open_loop(tmp_path, actions=None) as loop:
        for i in range(20):
            loop.decide([0.5, i % 3, 0], [[1, 0], [0, 1]], event_id=str(i))
            loop.reward(i, 1)
        sha = replayed(path).sha256
    told("export", path, "--dsjson", tmp_path / "t.dsjson", "--parquet", tmp_path / "t.parquet")
    ok("--dsjson", "--cb_explore_adf", "--fastcb", "--cb_min_cost", -1, "--cb_max_cost", 0, "-d", tmp_path / "t.dsjson")
    assert told("import", tmp_path / "p.db", "--parquet", tmp_path / "t.parquet")["sha256"] == sha
    lines = ("--dsjson", tmp_path / "t.dsjson", "--reward-range", 0, 1, "--seed", 3)
    assert told("import", tmp_path / "d.db", *lines)["sha256"] == sha


def test_a_table_of_which_nothing_can_be_taken_makes_no_journal(tmp_path):
    with open_loop(tmp_path) as loop:
        loop.decide({"hour": 1})
    told("export", tmp_path / "loop.db", "--parquet", tmp_path / "t.parquet")
    said = refused("import", tmp_path / "new.db", "--parquet", tmp_path / "t.parquet", "--actions", "a,b,c,d")
    assert "none of 1 events can be taken; the first, 1: it calls action" in said
    assert not (tmp_path / "new.db").exists()


def test_an_export_does_not_replace_its_journal(tmp_path):
    open_loop(tmp_path).close()
    path = tmp_path / "loop.db"
    for kind in ("--parquet", "--dsjson", "--model"):
        assert "is the journal itself" in refused("export", path, kind, path)
    assert replayed(path).agrees


def test_a_part_can_be_exported_by_position_and_by_time(tmp_path):
    path = tmp_path / "loop.db"
    with open_loop(tmp_path, clock=(clock := Clock(1_714_564_800_000))) as loop:  # 2024-05-01T12:00Z
        for i in range(10):
            loop.decide({"a": 1}, event_id=f"e{i}")
            loop.reward(f"e{i}", 1)
            clock.now += 60_000

    def exported(*options: object) -> list[str]:
        result = fastcb("export", path, "--dsjson", "-", *options)
        assert result.code == 0, result.err
        return [json.loads(line)["EventId"] for line in result.out.splitlines()]

    everything = [f"e{i}" for i in range(10)]
    assert exported() == everything
    assert exported("--since", 4) == everything[1:]
    assert exported("--until", 4) == ["e0"]  # the reward of e1 is record 5
    assert exported("--since", "2024-05-01T12:03", "--until", "2024-05-01T12:05") == ["e3", "e4", "e5"]
    assert exported("--since", "2024-05-01T14:03+02:00") == everything[3:]
    assert exported("--until", "2020-01-01") == []
    models = {}
    for until in (7, 13, 1000):
        models[until] = told("export", path, "--model", tmp_path / "m.vw", "--until", until)
    assert [models[until]["events"] for until in models] == [3, 6, 10]
    assert FastCB.load(tmp_path / "m.vw").events_ == 10
    assert models[1000]["sha256"] == replayed(path).sha256
    assert "there is no model yet" in refused("export", path, "--model", tmp_path / "n.vw", "--until", 1)
    assert "neither a record's number nor a time" in refused("export", path, "--dsjson", "-", "--since", "soon")


def test_export_does_not_disturb_and_leaves_out_what_waits(tmp_path):
    path = tmp_path / "loop.db"
    with open_loop(tmp_path) as loop:
        for i in range(5):
            loop.decide({"a": 1}, event_id=f"e{i}")
        loop.reward("e3", 1)
        result = fastcb("export", path, "--dsjson", tmp_path / "t.dsjson", "--parquet", tmp_path / "t.parquet")
        loop.reward("e4", 1)
    assert "5 decisions up to record 7: 4 waiting, 1 learned from rewards." in result.out
    assert "t.dsjson: 1 line," in result.out
    assert "vw-fastcb --dsjson --cb_explore_adf" in result.out
    assert list(pd.read_parquet(tmp_path / "t.parquet").outcome_kind) == ["pending"] * 3 + ["reward", "pending"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["loop.db", "t.dsjson", "t.parquet"]


def test_parquet_has_the_columns_that_were_promised(history, tmp_path):
    told("export", history(1), "--parquet", tmp_path / "t.parquet")
    schema = pq.read_schema(tmp_path / "t.parquet")
    promised = (
        "event_id position time context action_features excluded action baseline name probability pmf generation "
        "applied outcome outcome_kind reward_count"
    )
    assert set(promised.split()) <= set(schema.names)
    assert str(schema.field("pmf").type) == "list<element: double>"
    for row in pq.read_table(tmp_path / "t.parquet").to_pylist():
        if row["outcome_kind"] != "erased":
            assert set(json.loads(row["context"])) <= {"user", "hour", "mood"}
            assert len(json.loads(row["action_features"])) == len(row["pmf"])
        assert row["probability"] == row["pmf"][row["action"]]


# Importing


@pytest.mark.parametrize("number", EACH)
@pytest.mark.parametrize("erases", [pytest.param(True, marks=pytest.mark.slow), False])
def test_a_journal_comes_back_from_its_table(number, erases, history, tmp_path):
    path = history(number, erases=erases)
    table, second = tmp_path / "t.parquet", tmp_path / "t2.parquet"
    kinds = told("export", path, "--parquet", table)["decisions"]
    assert ("erased" in kinds) == erases
    made = told("import", tmp_path / "again.db", "--parquet", table)
    told("export", tmp_path / "again.db", "--parquet", second)
    before, after = pd.read_parquet(table), pd.read_parquet(second)
    before = before[before.outcome_kind != "erased"].reset_index(drop=True)
    same = ["event_id", "time", "context", "action_features", "action", "name", "probability"]
    pd.testing.assert_frame_equal(before[same], after[same])
    kept = before.outcome_kind.replace("rejected", "none")
    assert list(after.outcome_kind) == list(kept)
    assert after.outcome.equals(before.outcome)
    assert after.generation.isna().all()
    assert made["bad"] == 0
    if not erases:  # what was learned from those events is gone
        assert made["sha256"] == replayed(path).sha256
    assert replayed(tmp_path / "again.db").agrees


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_the_model_comes_back_whatever_the_order_of_the_rewards_was(seed, tmp_path):
    path = tmp_path / "loop.db"
    clock = Clock()
    with open_loop(tmp_path, clock=clock, wait="10s", default_reward=0.5, seed=seed) as loop:
        order = [(i * 7 + seed) % 60 for i in range(60)]
        for i in range(60):
            loop.decide({"user": f"u{i % 4}"}, event_id=f"e{i}", activate=i % 5 != 0)
            clock.now += 700
            if order[i] <= i and order[i] % 3:
                loop.reward(f"e{order[i]}", (order[i] % 10) / 10)
            if i % 5 == 1:
                loop.activate(f"e{i - 1}")
        clock.now += 60_000
        loop.tick()
    told("export", path, "--parquet", tmp_path / "t.parquet")
    made = told("import", tmp_path / "again.db", "--parquet", tmp_path / "t.parquet")
    assert made["sha256"] == replayed(path).sha256
    assert made["counts"]["learned_defaults"] == replayed_counts(path)["learned_defaults"] > 0


def test_a_rejected_outcome_is_imported_as_none_and_not_as_the_default(tmp_path):
    clock = Clock()
    with open_loop(tmp_path, clock=clock, wait="10s", default_reward=0.5, aggregation="sum") as loop:
        for event, rewards in (("silent", ()), ("learned", (0.25, 0.5)), ("rejected", (1, 1))):
            loop.decide({"user": event}, event_id=event)
            for value in rewards:
                loop.reward(event, value)
        clock.now += 60_000
        loop.tick()
        before = loop.status()
    told("export", tmp_path / "loop.db", "--parquet", tmp_path / "t.parquet")
    made = told("import", tmp_path / "again.db", "--parquet", tmp_path / "t.parquet")
    assert before.counts["rejected"] == 1
    assert (made["counts"]["learned"], made["counts"]["learned_defaults"]) == (1, 1)
    assert (made["counts"]["rejected"], made["counts"]["unactivated"]) == (0, 1)
    assert made["events"] == before.learned == 2
    assert made["sha256"] == replayed(tmp_path / "loop.db").sha256


def test_no_time_of_an_imported_log_is_ahead_of_this_machine(tmp_path):
    """A journal that is ahead would keep its windows open until then."""
    times = ("2024-05-01T12:00:00.0000000Z", "2101-05-01T12:00:00.0000000Z", "2024-05-02T12:00:00.0000000Z")
    lines = [
        json.dumps({**json.loads(one.dsjson()), "EventId": f"e{i}", "Timestamp": when}) + "\n"
        for i, (one, when) in enumerate(zip(events(3), times, strict=True))
    ]
    log = write(tmp_path / "log.dsjson", lines)
    before = time.time_ns() // 1_000_000
    told("import", tmp_path / "j.db", "--dsjson", log, "--cost-range", 0, 1)
    after = time.time_ns() // 1_000_000
    with contextlib.closing(SqliteJournal(tmp_path / "j.db")) as journal:
        first, *others = [one.time for one in journal.read() if one.kind == "decision"]
    assert first == 1_714_564_800_000
    assert all(before <= one <= after for one in others)


@pytest.mark.parametrize(("age", "ticks"), [(60_000, 0), (3_660_000, 1)])
def test_windows_of_an_imported_log_are_closed_once_their_wait_is_over(age, ticks, tmp_path):
    now = time.time_ns() // 1_000_000
    (line,) = (json.loads(one.dsjson()) for one in events(1))
    when = pd.Timestamp(now - age, unit="ms").strftime("%Y-%m-%dT%H:%M:%S.%f0Z")
    log = write(tmp_path / "log.dsjson", [json.dumps({**line, "EventId": "e1", "Timestamp": when}) + "\n"])
    told("import", tmp_path / "j.db", "--dsjson", log, "--cost-range", 0, 1, "--wait", "1h")
    with contextlib.closing(SqliteJournal(tmp_path / "j.db")) as journal:
        times = {one.kind: one.time for one in journal.read()}
    assert times["decision"] == now - age
    assert [times.get("tick")] == [now - age + 3_600_001 if ticks else None]


def test_a_log_of_fixed_actions_comes_back_by_the_names_of_its_actions(history, tmp_path):
    path = history(0)
    told("export", path, "--dsjson", tmp_path / "t.dsjson", "--parquet", tmp_path / "t.parquet")
    options = ("--actions", "music,politics,sports", "--reward-range", 0, 1, "--aggregation", "last", "--wait", "1h")
    made = told("import", tmp_path / "again.db", "--dsjson", tmp_path / "t.dsjson", *options)
    told("export", tmp_path / "again.db", "--parquet", tmp_path / "t2.parquet")
    before = pd.read_parquet(tmp_path / "t.parquet").set_index("event_id")
    after = pd.read_parquet(tmp_path / "t2.parquet").set_index("event_id")
    assert made["decisions"] == len(after) == (~before.outcome_kind.isin(["erased", "pending"])).sum()
    before = before.loc[after.index]
    assert list(after.name) == list(before.name)
    assert list(after.probability) == list(before.probability)
    assert after.outcome.equals(before.outcome.where(before.outcome_kind.isin(["reward", "default"])))
    assert (after.time.diff().dropna() >= pd.Timedelta(0)).all()
    with Loop.open(tmp_path / "again.db") as loop:
        assert loop.decide({"user": "Tom", "hour": 3, "mood": None}).name in ACTIONS
        assert loop.model().events_ == made["events"]


# The example of vw-estimators, shortened, and one without a label.
SERVICE = [
    '{"_label_cost":0,"_label_probability":0.5,"_label_Action":2,"_labelIndex":1,'
    '"Timestamp":"2017-10-24T00:00:15.5160000Z","Version":"1","EventId":"fa68","a":[2,1],"c":{"_synthetic":false,'
    '"User":{"_age":0},"Geo":{"country":"United States","dma":"501"},"_multi":[{"Action":{"PayloadID":"42"}},'
    '{"Action":{"PayloadID":"43","F1":0.5}}]},"p":[0.500000,0.5],"VWState":{"m":"DF30/1A5C"}}',
    '{"Timestamp":"2017-10-24T00:00:10.0000000Z","Version":"1","EventId":"28EF","a":[1,2],"c":{"Geo":{"country":"BR"},'
    '"_multi":[{"Action":{"PayloadID":"42"}},{"Action":{"PayloadID":"43"}}]},"p":[0.9,0.1]}',
    '{"RewardValue":1.0,"EventId":"28EF"}',
]


def test_a_log_of_a_decision_service_becomes_a_journal(tmp_path):
    log = write(tmp_path / "service.dsjson", [line + "\n" for line in SERVICE])
    made = told("import", tmp_path / "j.db", "--dsjson", log, "--reward-range", -1, 1, "--default-reward", 1)
    assert (made["decisions"], made["rewards"], made["others"], made["bad"], made["events"]) == (2, 1, 1, 0, 2)
    assert made["counts"]["learned_defaults"] == 1
    told("export", tmp_path / "j.db", "--parquet", tmp_path / "t.parquet")
    first, second = pq.read_table(tmp_path / "t.parquet").to_pylist()
    assert json.loads(first["context"]) == {"Geo.country": "United States", "Geo.dma": "501"}
    assert json.loads(first["action_features"]) == [
        {"Action.PayloadID": "42"},
        {"Action.PayloadID": "43", "Action.F1": 0.5},
    ]
    assert (first["action"], first["probability"], first["outcome"], first["outcome_kind"]) == (1, 0.5, 0, "reward")
    assert first["time"] == second["time"] == pd.Timestamp("2017-10-24T00:00:15.516Z")  # it never goes back
    assert (second["action"], list(second["pmf"]), second["outcome_kind"]) == (0, [0.9, 0.1], "default")
    found = replayed(tmp_path / "j.db")
    assert found.agrees
    assert found.unchecked == 2  # nobody can compute what another system decided
    with Loop.open(tmp_path / "j.db") as loop:
        assert loop.status().learned == 2
        with pytest.raises(ValueError, match="about something else"):
            loop.decide({"a": 1}, [{"b": 1}], event_id="fa68")


def test_a_log_of_the_program_becomes_a_journal(tmp_path):
    lines = [json.dumps({**json.loads(one.dsjson()), "EventId": f"e{i}"}) + "\n" for i, one in enumerate(events(50))]
    log = write(tmp_path / "log.dsjson", [*lines, *lines[:5]])
    made = told("import", tmp_path / "j.db", "--dsjson", log, "--cost-range", 0, 1)
    assert (made["decisions"], made["duplicates"], made["events"], made["dead_letters"]) == (50, 5, 50, [])


def broken(**changes: object) -> str:
    event = {**json.loads(SERVICE[0]), **changes}
    return json.dumps({name: value for name, value in event.items() if value is not None}) + "\n"


BAD_LINES = {
    "hello\n": "it is not valid JSON",
    "[]\n": "not a JSON object",
    broken(EventId=None): "EventId is None; expected text",
    broken(_label_cost=3): "its reward is -3.0; expected a number in [-1",
    broken(_label_cost="NaN"): "_label_cost is 'NaN'",
    broken(p=[0.5]): "its p is [0.5]; expected 2 probabilities",
    broken(p=[0.9, 0.9]): "its p sums up to 1.8",
    broken(p=None): "its p is None",
    broken(_label_probability=0.25): "its _label_probability is 0.25, and its p says 0.5",
    broken(a=[1, 1]): "its a is [1, 1]",
    broken(_labelIndex=2): "its chosen action is 2",
    broken(Timestamp="yesterday"): "its Timestamp is 'yesterday'",
    broken(c={"x": 1}): "its c has no _multi",
    broken(c=5): "its c is 5",
    broken(_outcomes=[]): "several slots",
    broken(c={"u": {"v": 1e99}, "_multi": [{}, {}]}): "expected finite numbers",
}


def test_lines_that_cannot_be_taken_are_named(tmp_path):
    good = broken(EventId="good")
    log = write(tmp_path / "log.dsjson", [*BAD_LINES, good, "\n"])
    made = told("import", tmp_path / "j.db", "--dsjson", log, "--reward-range", -1, 1)
    assert (made["bad"], made["decisions"], made["events"]) == (len(BAD_LINES), 1, 1)
    for number, (said, words) in enumerate(zip(made["bad_events"], BAD_LINES.values(), strict=True), 1):
        assert said["line"] == number
        assert words in said["reason"]
    options = ("--dsjson", log, "--reward-range", -1, 1, "--stop-on-bad-lines")
    assert "line 1: it is not valid JSON" in refused("import", tmp_path / "k.db", *options)
    assert not list(tmp_path.glob("k.db*"))
    printed = fastcb("import", tmp_path / "l.db", "--dsjson", log, "--reward-range", -1, 1)
    assert "16 could not be taken:" in printed.out
    assert "line 4: its reward is -3.0" in printed.out


@pytest.mark.parametrize("fixed", [True, False])
def test_a_journal_begins_with_a_model(fixed, tmp_path):
    bandit = FastCB(action_names=ACTIONS if fixed else None, reward_range=(0, 2), seed=1)
    features = None if fixed else [{"t": "a"}, {"t": "b"}, {"t": "c"}]
    for i in range(50):
        bandit.learn(bandit.decide({"user": f"u{i % 3}"}, features), i % 3)
    bandit.save(tmp_path / "m.vw")
    made = told("import", tmp_path / "j.db", "--model", tmp_path / "m.vw", "--wait", "1h", "--default-reward", 1)
    assert (made["events"], made["generation"], made["position"]) == (50, 1, 1)
    with Loop.open(tmp_path / "j.db", keep_generations=1) as loop:
        expected = bandit.predict_proba([{"user": "u1"}], None if features is None else [features])[0]
        decision = loop.decide({"user": "u1"}, features, event_id="e1")
        assert list(decision.pmf) == list(expected)
        loop.reward("e1", 2)
        for _ in range(3):  # generations come and go, the model that it began with stays
            loop.decide({"user": "u1"}, features)
            loop.checkpoint()
    found = replayed(tmp_path / "j.db")
    assert found.agrees
    assert found.learned == 51
    bandit.learn_event({"user": "u1"}, decision.action, 2, action_features=features)
    told("export", tmp_path / "j.db", "--model", tmp_path / "m2.vw")
    assert FastCB.load(tmp_path / "m2.vw").predict_proba(
        [{"user": "u0"}], None if features is None else [features]
    ) == pytest.approx(bandit.predict_proba([{"user": "u0"}], None if features is None else [features]))


def test_a_model_gets_the_epsilon_of_the_journal_that_begins_with_it(tmp_path):
    FastCB(3, cost_range=(0, 1), gamma_scale=1000).fit([[1.0]] * 60, [0, 1, 2] * 20, [0.0, 1.0, 1.0] * 20).save(
        tmp_path / "m.vw"
    )
    told("import", tmp_path / "j.db", "--model", tmp_path / "m.vw", "--epsilon", 0.6)
    with Loop.open(tmp_path / "j.db") as loop:
        assert min(loop.decide([1.0]).pmf) == pytest.approx(0.2, abs=0.01)
    assert replayed(tmp_path / "j.db").agrees


def test_decisions_from_before_an_action_was_added_come_back(tmp_path):
    with open_loop(tmp_path) as loop:
        loop.decide({"a": 1}, event_id="before")
        loop.reward("before", 1)
    with Loop.open(tmp_path / "loop.db", actions=[*ACTIONS, "arts"], change=True) as loop:
        loop.decide({"a": 1}, event_id="after")
        loop.reward("after", 1)
    table, log = tmp_path / "t.parquet", tmp_path / "t.dsjson"
    told("export", tmp_path / "loop.db", "--parquet", table, "--dsjson", log)
    assert [len(json.loads(line)["a"]) for line in log.read_text().splitlines()] == [3, 4]
    assert [len(pmf) for pmf in pd.read_parquet(table).pmf] == [3, 4]
    options = ("--actions", ",".join([*ACTIONS, "arts"]), "--reward-range", 0, 1)
    for source in (("--parquet", table), ("--dsjson", log, *options)):
        made = told("import", tmp_path / f"{source[0]}.db", *source)
        assert (made["decisions"], made["bad"], made["events"]) == (2, 0, 2)


def test_a_model_of_the_command_line_begins_a_journal_and_a_log_is_learned_on_top(tmp_path):
    flags = "--cb_explore_adf --fastcb --cb_min_cost -1 --cb_max_cost 0 --interactions xa --quiet"
    text = "shared |x user=Tom\n0:-1:0.5 |a topic=music\n|a topic=sports\n\n"
    write(tmp_path / "log.txt", [text] * 30)
    ok(*flags.split(), "-d", tmp_path / "log.txt", "-f", tmp_path / "m.vw")
    log = write(tmp_path / "s.dsjson", [broken(c={"x": {"user=": "Tom"}, "_multi": [{"a": {"topic=": "music"}}] * 2})])
    options = ("--model", tmp_path / "m.vw", "--reward-range", 0, 1)
    assert told("import", tmp_path / "j.db", *options)["events"] == 30
    assert told("import", tmp_path / "k.db", *options, "--dsjson", log)["events"] == 31
    assert "is a model of rewards" not in refused("import", tmp_path / "l.db", "--model", tmp_path / "nowhere.vw")
    assert "value_range is (0.0, 2.0), and" in refused(
        "import", tmp_path / "l.db", *options[:2], "--reward-range", 0, 2
    )
    assert "learning_rate is 0.1" in refused("import", tmp_path / "l.db", *options, "--learning-rate", 0.1)
    assert "n_actions is 2" in refused("import", tmp_path / "l.db", *options, "--actions", "a,b")
    FastCB(2, cost_range=(0, 1)).fit([[1.0]], [0], [1.0]).save(tmp_path / "costs.vw")
    said = refused("import", tmp_path / "l.db", "--model", tmp_path / "costs.vw", "--reward-range", 0, 1)
    assert "is a model of costs" in said


WRONG = [
    (["export", "no.db", "--dsjson", "t"], 1, "there is no journal 'no.db'"),
    (["export", "loop.db"], 2, "Give --dsjson, --parquet or --model"),
    (["export", "loop.db", "--dsjson", "-", "--json"], 2, "would both print"),
    (["export", "loop.db", "--parquet", "-"], 2, "only --dsjson can be -"),
    (["export", "loop.db", "--parquet", "t", "--model", "./t"], 2, "two files have the same name"),
    (["export", "loop.db", "--dsjson", "no/t"], 1, "there is no folder 'no' for 't'"),
    (["export", "loop.db", "--parquet", "folder"], 1, "'folder' is a folder"),
    (["export", "text", "--dsjson", "-"], 1, "damaged, or not a journal"),
    (["learn", "text"], 1, "damaged, or not a journal"),
    (["import", "loop.db", "--dsjson", "text", "--cost-range", "0", "1"], 1, "'loop.db' is there already"),
    (["import", "no/j.db", "--dsjson", "text", "--cost-range", "0", "1"], 1, "there is no folder 'no'"),
    (["import", "redis://j", "--dsjson", "text", "--cost-range", "0", "1"], 1, "expected the name of a new file"),
    (["import", "j.db"], 2, "nothing to read was named"),
    (["import", "j.db", "--dsjson", "a", "--parquet", "b"], 2, "both given"),
    (["import", "j.db", "--dsjson", "text"], 1, "does not say which outcomes are possible"),
    (["import", "j.db", "--dsjson", "no", "--cost-range", "0", "1"], 1, "there is no log 'no'"),
    (["import", "j.db", "--parquet", "no"], 1, "there is no table 'no'"),
    (["import", "j.db", "--parquet", "text"], 1, "cannot be read as Parquet"),
    (["import", "j.db", "--parquet", "foreign.parquet"], 1, "--actions is missing"),
    (["import", "j.db", "--parquet", "foreign.parquet", "--actions", "2"], 1, "no column context and no action"),
    (["import", "j.db", "--model", "text"], 1, "cannot be read as a model"),
    (["import", "j.db", "--dsjson", "text", "--cost-range", "0", "1", "--wait", "soon"], 1, "wait is 'soon'"),
    (["import", "j.db", "--dsjson", "text", "--cost-range", "1", "0"], 1, "cost_range"),
    (["import", "j.db", "--dsjson", "text", "--cost-range", "0", "1", "--default-reward", "1"], 1, "default_cost"),
    (["import", "j.db", "--dsjson", "text", "--cost-range", "0", "1", "--aggregation", "most"], 2, "most"),
]


def test_wrong_arguments_are_refused_in_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    play(tmp_path / "loop.db", 0, 2)
    write(tmp_path / "text", ["hello " * 300])
    (tmp_path / "folder").mkdir()
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "foreign.parquet")
    for arguments, code, words in WRONG:
        assert words in refused(*arguments, code=code), arguments
        assert not list(tmp_path.glob("j.db*")), arguments
        assert not list(tmp_path.glob("*.new*")), arguments


def test_a_table_of_others_becomes_a_journal(tmp_path):
    frame = pd.DataFrame(
        {
            "context": ['{"user": "Tom"}', '{"user": {"name": "Ann"}}', "{", None],
            "action": [0, 1, 0, 0],
            "pmf": [[0.5, 0.5], [0.2, 0.8], [0.5, 0.5], [0.5, 0.5]],
            "outcome": [1.0, float("nan"), 0.0, 0.0],
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    made = told("import", tmp_path / "j.db", "--parquet", tmp_path / "t.parquet", "--actions", 2, "--cost-range", 0, 1)
    assert (made["decisions"], made["rewards"], made["bad"], made["events"]) == (2, 1, 2, 1)


def test_a_journal_is_imported_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    log = write(tmp_path / "log.dsjson", [broken(EventId=f"e{i}") for i in range(10)])

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(SqliteJournal, "checkpoint_tasks", fail)
        refused("import", tmp_path / "j.db", "--dsjson", log, "--reward-range", -1, 1)
    assert [one.name for one in tmp_path.iterdir()] == ["log.dsjson"]


@pytest.mark.parametrize("command", ["learn", "export", "import"])
def test_help(command):
    result = fastcb(command, "--help")
    assert result.code == 0
    assert "--json" in result.out


@pytest.mark.slow
def test_help_needs_no_pyarrow():
    code = "import sys; from vw_fastcb.commands.app import app; print('pyarrow' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"


# Copying


def test_a_backup_is_whole_while_the_journal_is_in_use(tmp_path):
    path, copy = tmp_path / "loop.db", tmp_path / "copy.db"
    with open_loop(tmp_path) as loop:
        for i in range(20):
            loop.decide({"user": f"u{i % 5}"}, event_id=f"e{i}")
        assert told("backup", path, copy)["records"] == 21
        loop.decide({"user": "Tom"}, event_id="later")
    assert replayed(copy).agrees
    assert "is there already" in refused("backup", path, copy)
    assert "there is no journal" in refused("backup", tmp_path / "nowhere.db", tmp_path / "other.db")
    assert "there is no folder" in refused("backup", path, tmp_path / "nowhere" / "copy.db")
