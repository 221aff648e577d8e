"""Policies judged on logs: every event before it is learned, and as by hand."""

from __future__ import annotations

import json
import sys
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

from evaluation.worlds import NAMES, World, line
from vw_fastcb import FastCB, Loop, Workspace, evaluation
from vw_fastcb.commands.app import app
from vw_fastcb.evaluation import FrameLog, LogError, dr, evaluate, ips, logs, open_log, progressive, snips

N = 1200
FLAGS = "--cb_explore_adf --fastcb --interactions xa"


@pytest.fixture(scope="module")
def world():
    return World(1, N)


@pytest.fixture(scope="module")
def path(world, tmp_path_factory):
    return world.write(tmp_path_factory.mktemp("log") / "log.dsjson")


def judged(path, *policies, **options):
    return evaluate(open_log(path, reward_range=(0, 1)), policies, **options)


def test_constant_policies_and_the_logged_one_are_as_from_arrays(world, path):
    logged, by_name, by_number, by_feature = judged(
        path, "logged", "constant:music", "constant:2", "constant:action=music"
    )
    assert logged.estimates["ips"].value == pytest.approx(world.rewards.mean(), abs=1e-12)
    always = np.tile([0.0, 0.0, 1.0], (N, 1))
    expected = ips(world.rewards, world.pmfs, always, world.actions)
    for one in (by_name, by_number, by_feature):
        assert one.estimates["ips"].value == pytest.approx(expected.value, abs=1e-9)
        assert one.estimates["ips"].interval.high == pytest.approx(
            expected.interval.high, abs=2e-5
        )  # VW prints six digits
        assert one.estimates["snips"].effective_n == pytest.approx(
            expected.effective_n, abs=2e-5
        )  # VW prints six digits


def test_what_was_found_prints_as_the_command_says_it(world, path):
    logged, refused = judged(path, "logged", "constant:weather")
    assert str(logged).startswith(f"logged: {world.rewards.mean():.4f}, valid 95% interval ")
    assert str(logged).endswith(f", effective sample size {N:,}")
    assert str(refused).startswith("constant:weather: no event has an action 'weather'")


def by_hand(world, flags):
    """The pmf that VW has for each event before it learns it."""
    pmfs = []
    with Workspace(f"{flags} --dsjson --quiet") as vw:
        for text in world.lines():
            pmfs.append(vw.predict(text))
            vw.learn(text)
    return np.array(pmfs)


@pytest.mark.parametrize("flags", [FLAGS, "--cb_explore_adf --squarecb -l 0.1", "--cb_explore_adf --epsilon 0.1"])
def test_every_event_is_judged_before_it_is_learned(world, path, flags):
    (found,) = judged(path, flags)
    whole = f"{flags} --cb_min_cost -1 --cb_max_cost 0" if "epsilon" not in flags else flags
    expected = snips(world.rewards, world.pmfs, by_hand(world, whole), world.actions, learns=True)
    assert found.learns
    assert found.estimates["snips"].value == pytest.approx(expected.value, abs=2e-5)  # VW prints six digits
    assert "empirical_bernstein" not in found.estimates["snips"].intervals


def test_learning_pays_on_such_a_log(world, path):
    logged, new = judged(path, "logged", f"new={FLAGS}")
    assert new.label == "new"
    assert new.estimates["snips"].value > logged.estimates["snips"].value + 0.2


def test_a_saved_model_is_judged_as_it_is(world, path, tmp_path):
    with Workspace(f"{FLAGS} --cb_min_cost -1 --cb_max_cost 0 --dsjson --quiet") as vw:
        for text in world.lines()[:300]:
            vw.learn(text)
        vw.save(str(tmp_path / "model.vw"))
        pmfs = np.array([vw.predict(text) for text in world.lines()])
    (found,) = judged(path, f"model:{tmp_path / 'model.vw'}")
    expected = ips(world.rewards, world.pmfs, pmfs, world.actions)
    assert not found.learns
    assert found.estimates["ips"].value == pytest.approx(expected.value, abs=2e-5)  # VW prints six digits
    assert "empirical_bernstein" in found.estimates["ips"].intervals


def test_fixed_actions_of_a_journal(tmp_path):
    world = World(2, 150)
    with Loop.open(tmp_path / "j.db", actions=list(NAMES), reward_range=(0, 1), wait="1h", default_reward=0) as loop:
        earned, pmfs, actions = [], [], []
        for i, context in enumerate(world.contexts):
            decision = loop.decide(context, event_id=str(i))
            earned.append(float(world.means[i, decision.action] > 0.5))
            pmfs.append(decision.pmf)
            actions.append(decision.action)
            loop.reward(str(i), earned[-1])
        loop.decide(world.contexts[0])  # waits
        model = loop.model()
    model.save(tmp_path / "model.vw")
    expected = ips(earned, np.array(pmfs), model.predict_proba(world.contexts), np.array(actions))
    log = open_log(tmp_path / "j.db")
    logged, constant, saved, flags = evaluate(
        log, ["logged", "constant:music", f"model:{tmp_path / 'model.vw'}", "--cb_explore 3 --fastcb"]
    )
    log.close()
    assert log.counted.events == 150
    assert log.counted.unsettled == 1
    assert logged.estimates["ips"].value == pytest.approx(np.mean(earned))
    assert constant.refused is None
    assert saved.estimates["ips"].value == pytest.approx(expected.value, abs=2e-5)  # VW prints six digits
    assert flags.refused is None
    assert flags.estimates["ips"].n == 150


def test_doubly_robust_estimates_have_a_control_that_learns_on_the_log(world, path):
    costs = []
    with Workspace("--cb_adf --rank_all --cb_type mtr --interactions xa --dsjson --quiet") as vw:
        for text in world.lines():
            costs.append(vw.predict(text))
            vw.learn(text)
    always = np.tile([0.0, 1.0, 0.0], (N, 1))
    expected = dr(world.rewards, world.pmfs, always, world.actions, -np.array(costs))
    (found, refused) = judged(path, "constant:1", "--cb_explore_adf --nonsense", control="--interactions xa")
    assert found.estimates["dr"].value == pytest.approx(expected.value, abs=2e-5)  # VW prints six digits
    assert found.estimates["dr"].interval.low == pytest.approx(expected.interval.low, abs=2e-5)  # VW prints six digits
    assert "nonsense" in refused.refused


def test_doubly_robust_estimates_of_events_with_different_actions_are_those_of_padded_tables(tmp_path):
    """Every other event lacks the last action."""
    rng, n = np.random.default_rng(3), 300
    lines, pmfs, actions, rewards, costs = (
        [],
        np.zeros((n, 3)),
        rng.integers(2, size=n),
        rng.random(n),
        np.zeros((n, 3)),
    )
    for i in range(n):
        there = 2 + i % 2
        pmfs[i, :there] = rng.dirichlet(np.full(there, 3.0)) * 0.9 + 0.1 / there
        actions[i] = rng.integers(there)
        one = line({"user": f"u{i % 3}", "age": 0.5}, int(actions[i]), pmfs[i, :there], float(rewards[i]), f"e{i}")
        lines.append(json.dumps(one))
    with Workspace("--cb_adf --rank_all --cb_type mtr --interactions xa --dsjson --quiet") as vw:
        for i, text in enumerate(lines):
            costs[i, : 2 + i % 2] = vw.predict(text)
            vw.learn(text)
    (tmp_path / "log.dsjson").write_text("\n".join(lines) + "\n")
    sports, same = judged(tmp_path / "log.dsjson", "constant:1", "logged", control="--interactions xa")
    for found, policy in ((sports, np.tile([0.0, 1.0, 0.0], (n, 1))), (same, pmfs)):
        expected = dr(rewards, pmfs, policy, actions, -costs)
        assert found.estimates["dr"].value == pytest.approx(expected.value, abs=2e-5)  # VW prints six digits
        for name in ("anytime", "empirical_bernstein", "gaussian"):
            ours, theirs = found.estimates["dr"].intervals[name], expected.intervals[name]
            assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=5e-5)


def test_policies_and_the_control_are_matched_batch_by_batch(path, monkeypatch):
    """Constant policies are counted at once, those of VW and the control later, each at its own pace."""
    policies = ["logged", FLAGS, "constant:1"]
    whole = judged(path, *policies, control="--interactions xa")
    monkeypatch.setattr(logs, "_LINES", 50)
    pieces = judged(path, *policies, control="--interactions xa")
    for ours, theirs in zip(pieces, whole, strict=True):
        assert ours.estimates["dr"].n == N
        assert ours.estimates["dr"].value == pytest.approx(theirs.estimates["dr"].value, abs=1e-9)
        for name, interval in theirs.estimates["dr"].intervals.items():
            found = ours.estimates["dr"].intervals[name]
            assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=1e-9)


def test_a_policy_that_learns_has_no_interval_for_a_constant_value(path):
    learns, constant = judged(path, "--cb_explore_adf --fastcb", "constant:1", control="--interactions xa")
    for method in ("ips", "snips", "dr"):
        assert "empirical_bernstein" not in learns.estimates[method].intervals
        assert "empirical_bernstein" in constant.estimates[method].intervals


@pytest.mark.parametrize(
    "kind", ["--cb_type ips --epsilon 0.2", "--cb_type dm", "--first 5", "--cover 3 --epsilon 0.1"]
)
def test_a_policy_of_fixed_actions_learns_from_costs_and_the_probabilities_that_were_logged(world, path, kind):
    """Without `--fastcb`, VW prints an empty line after each event."""
    flags = f"--cb_explore 3 {kind}"
    pmfs = []
    with Workspace(f"{flags} --json --quiet") as vw:
        for context, action, reward, pmf in zip(world.contexts, world.actions, world.rewards, world.pmfs, strict=True):
            features = {"x": {"user=": context["user"], "age": context["age"]}}
            label = {"_label_Action": int(action) + 1, "_label_Cost": -reward, "_label_Probability": pmf[action]}
            pmfs.append(vw.predict(json.dumps(features)))
            vw.learn(json.dumps({**label, **features}))
    expected = snips(world.rewards, world.pmfs, np.array(pmfs), world.actions, learns=True)
    (found,) = judged(path, flags)
    assert found.refused is None
    assert found.estimates["snips"].value == pytest.approx(expected.value, abs=2e-5)  # VW prints six digits
    assert found.estimates["snips"].effective_n == pytest.approx(expected.effective_n, rel=1e-4)


@pytest.mark.parametrize("flags", ["--cb_explore 3 --epsilon 0.1", "--cb_explore 3 --fastcb", FLAGS])
def test_predictions_may_come_in_pieces_of_any_size(world, tmp_path, monkeypatch, flags):
    (tmp_path / "log.dsjson").write_text("\n".join(world.lines()[:200]) + "\n")
    whole, pieces = [], []
    for size, found in ((1 << 20, whole), (1, pieces), (7, pieces)):
        monkeypatch.setattr(progressive, "_PIECE", size)
        found.append(judged(tmp_path / "log.dsjson", flags)[0].to_dict())
    assert whole[0]["refused"] is None
    assert pieces == whole * 2


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("--cb_explore_adf --fastcb --fastcb_gamma epochs", "the losses in a log are those of another policy"),
        ("--cb_explore_adf --fastcb --passes 3", "judged on events that it has learned"),
        ("--cbify 3 --fastcb", "it makes its own bandit data"),
        ("--ccb_explore_adf", "several decisions per event"),
        ("--cb_adf", "it gives costs, not probabilities"),
        ("--fastcb", "say no exploration"),
        ("--cb_explore_adf -d other.txt", "input and output are ours"),
        ("--cb_explore_adf --nonsense", "unrecognised option '--nonsense'"),
        ("--cb_explore_adf --fastcb --cb_max_cost -0.5", "-0.5"),
        ("constant:weather", "no event has an action 'weather'"),
        ("model:nowhere.vw", "there is no model 'nowhere.vw'"),
        ("greedy", "expected logged, constant:NAME"),
    ],
)
def test_what_cannot_be_judged_is_refused_and_the_others_are_judged(path, policy, said):
    logged, refused = judged(path, "logged", policy)
    assert logged.refused is None
    assert said in refused.refused
    assert refused.estimates == {}


@pytest.mark.parametrize(
    "flags",
    ["--daemon --port 1", "-f {log}", "-f{log}", "--invert_hash {log}", "-c", "{log}", "--active", "-t", "--help"],
)
def test_flags_that_would_do_more_than_predict_and_learn_are_refused(world, tmp_path, flags):
    log = world.write(tmp_path / "log.dsjson")
    before = log.read_bytes()
    given = flags.format(log=log)
    (found,) = judged(log, f"--cb_explore_adf {given}")
    assert "cannot be judged" in found.refused or "name the file" in found.refused
    with pytest.raises(ValueError, match=r"cannot be judged|name the file"):
        judged(log, "logged", control=f"{given} -q xa")
    assert log.read_bytes() == before


def test_a_log_that_left_out_events_is_refused(world, tmp_path):
    lines = [json.loads(one) for one in world.lines()[:4]]
    lines[2]["pdrop"] = 0.5
    path = tmp_path / "log.dsjson"
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(LogError, match="line 3: it stands for events that were left out"):
        judged(path, "logged")


# Logs


def test_lines_that_cannot_be_taken_are_counted(world, tmp_path):
    lines = world.lines()[:8]
    wrong = [json.loads(one) for one in lines]
    wrong[0]["p"][0] += 0.5
    del wrong[1]["p"]
    wrong[2]["a"] = [1, 1, 2]
    wrong[3]["_label_probability"] = 0.001
    del wrong[4]["_label_cost"]
    wrong[5]["_skipLearn"] = True
    wrong[6]["p"] = [0.5]
    wrong[7]["a"].reverse()
    content = ["\ufeff" + lines[0], *map(json.dumps, wrong), "no json", "", lines[7]]
    path = tmp_path / "log.dsjson"
    path.write_text("\n".join(content))  # the last line has no end
    log = open_log(path, reward_range=(0, 1))
    (found,) = evaluate(log, ["logged"])
    assert found.estimates["ips"].n == 2
    assert (log.counted.events, log.counted.bad, log.counted.others, log.counted.skipped) == (2, 7, 1, 1)
    assert sorted(number for number, _ in log.counted.reasons) == [2, 3, 4, 5, 8, 9, 10]
    said = " ".join(reason for _, reason in log.counted.reasons)
    for words in (
        "sums to 1.5",
        "it has no p",
        "each action one probability",
        "_label_probability",
        "1 in p",
        "its a begins with a different one",
    ):
        assert words in said


@pytest.mark.parametrize(("ranges", "said"), [
    ({"reward_range": (0, 0.5)}, r"its reward is 1; expected a number in \[0, 0.5\].*--reward-range"),
    ({"cost_range": (0, 1)}, r"its cost is -1; expected a number in \[0, 1\].*--cost-range"),
])  # fmt: skip
def test_events_are_not_left_out_by_their_outcome(path, ranges, said):
    with pytest.raises(LogError, match=said):
        evaluate(open_log(path, **ranges), ["logged"])


@pytest.mark.parametrize(("content", "said"), [
    (b"\x1f\x8b\x08\0", "gunzip"), (b"\xff\xfe{", "UTF-16"), (b"PAR1", "Parquet"), (None, "a folder")
])  # fmt: skip
def test_other_formats_are_named(tmp_path, content, said):
    log = tmp_path / "log"
    log.mkdir() if content is None else log.write_bytes(content)
    with pytest.raises(LogError, match=said):
        open_log(log, reward_range=(0, 1))


def test_policies_are_told_which_actions_are_excluded(tmp_path):
    rng = np.random.default_rng(3)
    with Loop.open(tmp_path / "loop.db", actions=["a", "b", "c"], reward_range=(0, 1), epsilon=1, seed=1) as loop:
        for number in range(1500):
            left_out = [["a"], ["c"], [], ["b"]][number % 4]
            made = loop.decide({"user": f"u{number % 3}"}, event_id=f"e{number}", exclude=left_out)
            loop.reward(made.event_id, int(rng.random() < (0.9 if made.action == number % 3 else 0.1)))
    flags = "--cb_explore_adf --fastcb --fastcb_oracle newton --interactions xa"
    log = open_log(tmp_path / "loop.db")
    learned, fixed, always = evaluate(
        log, [flags, "--cb_explore 3 --fastcb", "constant:b"], control="--interactions xa"
    )
    # A quarter of the time the best action is not there: 3/4 * 0.9 + 1/4 * 0.1 at the best.
    for method in ("ips", "snips", "dr"):
        assert learned.estimates[method].refused is None
        assert 0.6 < learned.estimates[method].value < 0.75
    assert "which VW cannot be told where actions are fixed" in fixed.refused
    assert always.refused is None


def test_a_name_that_is_a_number_is_a_name(tmp_path):
    with Loop.open(tmp_path / "loop.db", actions=["1", "0"], reward_range=(0, 1), seed=1) as loop:
        for number in range(60):
            made = loop.decide({}, event_id=f"e{number}")
            loop.reward(made.event_id, int(made.name == "1"))
    (by_name,) = evaluate(open_log(tmp_path / "loop.db"), ["constant:1"])
    assert by_name.estimates["snips"].value == 1


@pytest.mark.parametrize("judge", [lambda log: evaluate(log, ["logged"]), evaluation.check])
def test_the_name_of_a_log_is_no_log(judge):
    with pytest.raises(TypeError, match="expected one of open_log"):
        judge("log.dsjson")


def test_costs_are_rewards_with_another_sign(world, path):
    log = open_log(path, cost_range=(-1, 0))
    assert log.reward_range == (0, 1)
    assert log.sign == -1


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, dict])
def test_frames_are_logs(world, library):
    columns = {"reward": world.rewards, "action": world.actions, "p": world.pmfs[np.arange(N), world.actions]}
    always = np.tile([1.0, 0.0, 0.0], (N, 1))
    single = FrameLog(library(columns), probability="p", action_names=NAMES)
    (found,) = evaluate(single, ["constant:politics"])
    expected = ips(world.rewards, columns["p"], always[np.arange(N), world.actions])
    assert found.estimates["ips"].value == pytest.approx(expected.value, abs=1e-12)
    assert found.estimates["ips"].interval.high == pytest.approx(expected.interval.high)
    whole = FrameLog(library({**columns, "pmf": world.pmfs.tolist()}), pmf="pmf")
    (found,) = evaluate(whole, ["constant:0"])
    expected = ips(world.rewards, world.pmfs, always, world.actions)
    assert found.estimates["ips"].interval.high == pytest.approx(expected.interval.high)
    with pytest.raises(LogError, match="no column 'weight'"):
        FrameLog(library(columns), probability="weight")


def test_an_action_that_some_events_lack_may_earn_anything_there():
    n = 2000
    pmfs = [[0.5, 0.5] if i % 2 else [0.25, 0.25, 0.5] for i in range(n)]
    actions = [int(i // 2 % 2) if i % 2 else 2 * (i // 2 % 2) for i in range(n)]
    frame = {"reward": np.ones(n), "action": np.array(actions), "pmf": pmfs}
    (found,) = evaluate(FrameLog(frame, pmf="pmf"), ["constant:2"])
    assert "never plays in 50% of the events" in found.estimates["ips"].refused
    assert 0.5 in found.estimates["ips"].interval
    assert 1.0 in found.estimates["ips"].interval


@pytest.mark.parametrize("batches", [{0}, {3}, {19}], ids=["the first", "one amid", "the last"])
def test_an_action_needs_to_be_met_in_one_batch_of_the_log(tmp_path, monkeypatch, batches):
    monkeypatch.setattr(logs, "_LINES", 50)
    lines = World(2, 1000).lines()
    named = [one if i // 50 in batches else one.replace("music", "opera") for i, one in enumerate(lines)]
    (tmp_path / "log").write_text("\n".join(named) + "\n")
    music, nothing = judged(tmp_path / "log", "constant:music", "constant:ballet")
    assert music.refused is None
    assert nothing.refused == (
        "no event has an action 'ballet'; expected its number, from 0, or a text among its features."
    )


THIRDS = [1 / 3] * 3


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        ({"pmf": [[0.5] * 3] * 4}, {}, "the pmf of row 0 sums to 1.5; expected 1"),
        ({"pmf": [THIRDS, [0.6, 0.6, -0.2]] * 2}, {}, r"the pmf of row 1 is \[0.6, 0.6, -0.2\]"),
        ({"pmf": [[*THIRDS, float("nan")]] * 4}, {}, "nan.*; expected a list of probabilities"),
        ({"pmf": [THIRDS, [], THIRDS, THIRDS]}, {}, r"the pmf of row 1 is \[\]"),
        ({"pmf": [THIRDS, None, THIRDS, ["a"]]}, {}, "the pmf of row 1 is nan|the pmf of row 1 is None"),
        ({"pmf": [THIRDS] * 3}, {}, r"the columns have \[4, 4, 3\] rows"),
        ({"action": [0.0, 1.7, 0.0, 1.0]}, {}, "the action of row 1 is 1.7; expected a whole number"),
        ({"action": [0, 1, -9, 0]}, {}, "the action of row 2 is -9"),
        ({"action": [0, 3, 1, 2]}, {}, "the action of row 1 is 3; expected 0 to 2"),
        ({"action": ["a", "b", "c", "a"]}, {}, "the column 'action' has the text 'a'; expected the actions' numbers"),
        ({"reward": ["good"] * 4}, {}, "the column 'reward' is .*; expected an array of numbers"),
        ({}, {"action_names": ["a", "b"]}, "the pmf of row 0 has 3 actions, and there are 2 action_names"),
        ({}, {"action_names": "abc"}, "action_names are 'abc'; expected a list"),
        ({}, {"action_names": ["a", "a", "b"]}, "expected a list of texts, all different"),
        ({}, {"pmf": None, "probability": "p", "action_names": ["a", "b"]}, "2 action_names, and an action is 2"),
        ({"p": [0.5, 1e-99, 1, 1]}, {"pmf": None, "probability": "p"}, "row 1 has the probability 1e-99"),
    ],
)
def test_frames_that_cannot_be_are_refused(columns, options, said):
    frame = {"reward": [0.0, 1.0, 0.0, 1.0], "action": [0, 1, 2, 0], "pmf": [THIRDS] * 4, "p": [0.5] * 4, **columns}
    with pytest.raises(ValueError, match=said):
        evaluate(FrameLog(frame, **{"pmf": "pmf", **options}), ["constant:0"])


def test_whole_numbers_may_be_floats_in_a_frame():
    frame = {"reward": [0.0, 1.0] * 50, "action": [0.0, 1.0] * 50, "p": [0.5] * 100}
    (found,) = evaluate(FrameLog(frame, probability="p", action_names=["a", "b", "c"]), ["constant:b"])
    assert found.estimates["ips"].value == 1.0


def test_a_text_is_no_list_of_policies():
    with pytest.raises(ValueError, match=r"expected a list of policies, such as \['logged'\]"):
        evaluate(FrameLog({"reward": [1.0], "action": [0], "p": [1.0]}, probability="p"), "logged")


def test_flags_of_vw_are_refused_on_frames(world):
    log = FrameLog(pd.DataFrame({"reward": world.rewards, "action": world.actions, "p": 0.5}), probability="p")
    (found,) = evaluate(log, [FLAGS])
    assert "has no features" in found.refused


def test_a_stopped_evaluation_leaves_no_thread(path):
    before = threading.active_count()

    def stop(log):
        if log.counted.events:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judged(path, FLAGS, watch=stop)
    assert threading.active_count() == before


def test_without_the_extra_it_is_said_how_to_get_it(monkeypatch):
    for module in ("judging", "policies", "logs", "dsjson"):
        monkeypatch.delitem(sys.modules, f"vw_fastcb.evaluation.{module}", raising=False)
    monkeypatch.setitem(sys.modules, "msgspec", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'vw-fastcb\[evaluate\]'"):
        evaluation.open_log("log.dsjson", reward_range=(0, 1))
    assert evaluation.ips([1.0], [0.5], [0.5]).n == 1  # arrays need no extra


def test_a_learner_on_arrays_can_be_judged_by_its_pmfs(world):
    learner = FastCB(action_names=list(NAMES), reward_range=(0, 1), seed=1)
    pmfs = []
    for context, action, reward in zip(world.contexts[:200], world.actions, world.rewards, strict=False):
        pmfs.append(learner.predict_proba([context])[0])
        learner.learn_event(context, int(action), reward=reward)
    found = snips(world.rewards[:200], world.pmfs[:200], np.array(pmfs), world.actions[:200], learns=True)
    assert 0 < found.value < 1


def test_of_a_running_journal_only_what_came_before_the_first_open_window_counts(tmp_path):
    # A click is known at once, that there was none only after an hour: what is known of the last hour is all clicks.
    clock = [time.time_ns() // 1_000_000 - 1000 * 60_000]
    settings = {"actions": 2, "reward_range": (0, 1), "wait": "1h", "default_reward": 0}
    with Loop.open(tmp_path / "j.db", **settings, clock=lambda: clock[0]) as loop:
        for i in range(1000):
            clock[0] += 60_000
            loop.decide({"a": 1}, event_id=f"e{i}")
            if i % 4 == 0:
                loop.reward(f"e{i}", 1)
    log = open_log(tmp_path / "j.db")
    (logged,) = evaluate(log, ["logged"])
    log.close()
    assert 55 <= log.counted.unsettled <= 62
    assert log.counted.events == 1000 - log.counted.unsettled
    assert logged.estimates["ips"].value == pytest.approx(0.25, abs=0.002)
    told = CliRunner().invoke(app, ["tune", str(tmp_path / "j.db"), "--out", str(tmp_path / "out")])
    assert f"{log.counted.events} events with an outcome." in " ".join(told.stderr.split())
    assert "came after the first one that still waits" in " ".join(told.stderr.split())
