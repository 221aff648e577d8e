"""Policies judged on a journal choose among the actions that could be played when each decision was made."""

from __future__ import annotations

import json

import numpy as np
import pytest

from evaluation.worlds import NAMES, line
from loop.cli import told
from loop.support import Clock
from vw_fastcb import Loop, Workspace
from vw_fastcb.evaluation import check, evaluate, open_log, snips

FLAGS = "--cb_explore_adf --fastcb --fastcb_oracle newton --interactions xa"
SETTINGS = {"actions": list(NAMES), "reward_range": (0, 1), "wait": "1h", "default_reward": 0, "epsilon": 1, "seed": 1}
STRETCHES = [((), 80), (("music",), 80), ((), 60), (("politics", "music"), 40)]
FINAL = [((), 80), (("music",), 80)]


def record_visits(path, stretches, exclude=None):
    """A journal whose actions are retired and come back; and the same decisions by hand: what could be played."""
    rng, by_hand, clock = np.random.default_rng(1), [], Clock()
    for retired, count in stretches:
        options = {"retired": retired, "change": True} if path.exists() else SETTINGS
        with Loop.open(path, **options, clock=clock) as loop:
            for _ in range(count):
                context = {"user": f"u{rng.integers(3)}", "age": round(float(rng.random()), 3)}
                made = loop.decide(context, event_id=f"e{len(by_hand)}", exclude=exclude)
                reward = float(rng.random() < (0.9 if made.action == int(context["user"][1]) else 0.1))
                loop.reward(made.event_id, reward)
                by_hand.append((context, made, reward, {*retired, *(exclude or ())}))
    return by_hand


def write_by_hand(path, by_hand):
    """The log of a service that never heard of the actions that were retired."""
    with path.open("w") as file:
        for context, made, reward, absent in by_hand:
            playable = [name for name in NAMES if name not in absent]
            pmf = np.array([made.pmf[NAMES.index(name)] for name in playable])
            one = line(context, playable.index(made.name), pmf, reward, made.event_id)
            one["c"]["_multi"] = [{"a": {"action=": name}} for name in playable]
            file.write(json.dumps(one) + "\n")
    return path


def assert_same(ours, theirs):
    for method in theirs.estimates:
        one, other = ours.estimates[method], theirs.estimates[method]
        assert one.refused is None
        assert one.value == pytest.approx(other.value, abs=1e-9)
        assert (one.interval.low, one.interval.high) == pytest.approx(
            (other.interval.low, other.interval.high), abs=1e-9
        )


@pytest.mark.parametrize("stretches", [STRETCHES, FINAL], ids=["comes back and goes", "is retired at the end"])
def test_policies_do_not_choose_actions_that_were_retired_at_the_time(tmp_path, stretches):
    by_hand = record_visits(tmp_path / "j.db", stretches)
    mine = write_by_hand(tmp_path / "by_hand.dsjson", by_hand)
    policies = [FLAGS, "--cb_explore_adf --epsilon 1"]
    log = open_log(tmp_path / "j.db")
    found = evaluate(log, policies, control="--interactions xa")
    expected = evaluate(open_log(mine, reward_range=(0, 1)), policies, control="--interactions xa")
    assert log.counted.events == len(by_hand)
    for ours, theirs in zip(found, expected, strict=True):
        assert_same(ours, theirs)
    # Epsilon 1 is uniform over what could be played, as the log was: all weights are 1.
    uniform = found[1].estimates["ips"]
    assert uniform.value == pytest.approx(np.mean([reward for _, _, reward, _ in by_hand]), abs=1e-4)
    assert uniform.effective_n == pytest.approx(len(by_hand), abs=0.01)


def test_retired_and_excluded_actions_are_left_out_together(tmp_path):
    by_hand = record_visits(tmp_path / "j.db", [((), 100), (("music",), 100)], exclude=["politics"])
    mine = write_by_hand(tmp_path / "by_hand.dsjson", by_hand)
    (ours,) = evaluate(open_log(tmp_path / "j.db"), [FLAGS])
    (theirs,) = evaluate(open_log(mine, reward_range=(0, 1)), [FLAGS])
    assert_same(ours, theirs)


def test_a_constant_policy_on_a_retired_action_is_told_how_often_it_had_nothing_to_play(tmp_path):
    record_visits(tmp_path / "j.db", [((), 150), (("music",), 50), ((), 50)])
    always, other = evaluate(open_log(tmp_path / "j.db"), ["constant:music", "constant:sports"])
    assert "never plays in 20% of the events" in always.estimates["snips"].refused
    assert np.isnan(always.estimates["snips"].value)
    assert other.estimates["snips"].refused is None


def test_a_saved_model_is_asked_without_the_actions_that_were_retired(tmp_path):
    by_hand = record_visits(tmp_path / "j.db", [((), 100), (("music",), 100), ((), 50), (("sports",), 50)])
    with Loop.open(tmp_path / "j.db") as loop:
        model = loop.model()
    model.save(tmp_path / "model.vw")
    contexts = [context for context, _, _, _ in by_hand]
    excluded = [[NAMES.index(name) for name in absent] for _, _, _, absent in by_hand]
    expected = snips(
        [reward for _, _, reward, _ in by_hand],
        np.array([made.pmf for _, made, _, _ in by_hand]),
        model.predict_proba(contexts, exclude=excluded),
        np.array([made.action for _, made, _, _ in by_hand]),
    )
    (found,) = evaluate(open_log(tmp_path / "j.db"), [f"model:{tmp_path / 'model.vw'}"])
    assert found.refused is None
    assert found.estimates["snips"].value == pytest.approx(expected.value, abs=2e-5)  # VW prints six digits
    assert found.estimates["snips"].interval.high == pytest.approx(expected.interval.high, abs=2e-5)


def test_an_imported_log_that_played_an_action_was_not_kept_from_it(tmp_path):
    by_hand = record_visits(tmp_path / "j.db", [((), 100)])
    mine = write_by_hand(tmp_path / "by_hand.dsjson", by_hand)
    settings = ["--actions", ",".join(NAMES), "--reward-range", 0, 1, "--retired", "music"]
    told("import", tmp_path / "imported.db", "--dsjson", mine, *settings)
    (ours,) = evaluate(open_log(tmp_path / "imported.db"), [FLAGS])
    (theirs,) = evaluate(open_log(mine, reward_range=(0, 1)), [FLAGS])
    assert_same(ours, theirs)


@pytest.mark.parametrize(("before", "after"), [((), ("music",)), (("music",), ())], ids=["retired", "back again"])
def test_a_decision_counts_as_made_under_the_settings_that_its_decider_knew(tmp_path, before, after):
    """A decider hears of a change with the next checkpoint. Replay takes the settings that it had, too."""
    clock, rewards = Clock(), []
    with Loop.open(tmp_path / "j.db", **SETTINGS, retired=before, clock=clock) as learner:
        learner.decide({}, event_id="first")
        learner.reward("first", 1)
    with Loop.open(tmp_path / "j.db", learn=False, clock=clock) as decider:
        decider._worker._follow = lambda: None  # it is late
        with Loop.open(tmp_path / "j.db", retired=after, change=True, clock=clock) as learner:
            for number in range(160):
                loop = (decider, learner)[number % 2]
                made = loop.decide({}, event_id=f"e{number}")
                rewards.append(float(made.name == "music"))
                loop.reward(made.event_id, rewards[-1])
    assert sum(rewards) > 15
    (uniform,) = evaluate(open_log(tmp_path / "j.db"), ["--cb_explore_adf --epsilon 1"])
    assert uniform.estimates["ips"].value == pytest.approx((1 + sum(rewards)) / 161, abs=1e-4)
    assert uniform.estimates["ips"].effective_n == pytest.approx(161, abs=0.01)


@pytest.mark.parametrize("exported", ["dsjson", "parquet"])
def test_what_is_exported_says_which_actions_could_not_be_played(tmp_path, exported):
    by_hand = record_visits(tmp_path / "j.db", [((), 100), (("music",), 100), ((), 50)])
    mine = write_by_hand(tmp_path / "by_hand.dsjson", by_hand)
    copy = tmp_path / f"copy.{exported}"
    told("export", tmp_path / "j.db", f"--{exported}", copy)
    if exported == "parquet":
        told("import", tmp_path / "copy.db", "--parquet", copy)
        log = open_log(tmp_path / "copy.db")
    else:
        log = open_log(copy, reward_range=(0, 1))
    (ours,) = evaluate(log, [FLAGS])
    (theirs,) = evaluate(open_log(mine, reward_range=(0, 1)), [FLAGS])
    assert_same(ours, theirs)


def uniform_line(number, playable):
    """A uniform choice among some actions, which earns 1."""
    pmf = np.array([1 / len(playable) if a in playable else 0.0 for a in range(3)])
    left_out = [a for a in range(3) if a not in playable]
    about = {"_excluded": left_out} if left_out else {}
    chosen = playable[number % len(playable)]
    return line({"user": "u0", "age": 0.5}, chosen, pmf, 1.0, f"e{number}", **about)


def test_drift_is_judged_by_uniform_choices_among_what_could_be_played(tmp_path):
    lines = [uniform_line(number, [0, 1, 2] if number < 600 else [0, 1]) for number in range(1200)]
    path = tmp_path / "log.dsjson"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    found = {one.check: one for one in check(open_log(path, reward_range=(0, 1))).findings}
    assert found["rewards"].details["second"][0] > 0.9
    assert found["rewards"].details["second"][1] == pytest.approx(1)


@pytest.mark.parametrize("wrong", [[3], [-1], [0]], ids=["beyond", "negative", "played"])
def test_lines_that_leave_out_what_was_played_are_refused(tmp_path, wrong):
    lines = [uniform_line(number, [0, 1]) for number in range(40)]
    lines[7]["_excluded"] = wrong
    path = tmp_path / "log.dsjson"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    log = open_log(path, reward_range=(0, 1))
    evaluate(log, ["logged"])
    assert (log.counted.events, log.counted.bad) == (39, 1)
    assert log.counted.reasons[0][0] == 8
    assert f"its _excluded is {wrong}; expected actions of the probability 0" in log.counted.reasons[0][1]


def test_vw_ignores_what_a_line_says_of_actions_that_were_left_out(tmp_path):
    models = []
    for number, removed in enumerate(((), ("_excluded",))):
        with Workspace(f"{FLAGS} --cb_min_cost -1 --cb_max_cost 0 --dsjson --quiet") as vw:
            for event in range(40):
                one = uniform_line(event, [0, 1])
                vw.learn(json.dumps({name: value for name, value in one.items() if name not in removed}))
            vw.save(str(tmp_path / f"{number}.vw"))
        models.append((tmp_path / f"{number}.vw").read_bytes())
    assert models[0] == models[1]
