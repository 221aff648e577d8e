"""Logs with wrong probabilities are flagged, and honest ones are not."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

from evaluation.worlds import World, draws_of
from vw_fastcb import Loop
from vw_fastcb.evaluation import FrameLog, check, open_log
from vw_fastcb.evaluation.checks import FALSE_ALARMS


def checked(path):
    return check(open_log(path, reward_range=(0, 1)))


def problems(found):
    return [one.check for one in found.findings if one.is_problem]


def test_honest_logs_are_sound(tmp_path):
    for seed in range(5):
        found = checked(World(seed, 1200).write(tmp_path / "log.dsjson"))
        assert problems(found) == []
    played = sum(count for _, _, count, _ in found.calibration)
    expected = sum(count for _, _, _, count in found.calibration)
    assert played == 1200
    assert expected == pytest.approx(1200)


@pytest.mark.slow
def test_honest_logs_are_flagged_as_rarely_as_is_said(tmp_path):
    runs = 400
    flagged = sum(not checked(World(seed, 1500).write(tmp_path / "log.dsjson")).is_sound for seed in range(runs))
    assert flagged <= FALSE_ALARMS * runs + 2 * np.sqrt(runs * FALSE_ALARMS * (1 - FALSE_ALARMS))


def those_of_the_event_before(world, rng):
    world.pmfs = np.roll(world.pmfs, 1, axis=0)


def another_epsilon(world, rng):
    """It explores twice as often as it says."""
    truth = 0.6 * world.pmfs + 0.4 / 3
    world.actions = draws_of(rng, truth)


def uniform_in_name_only(world, rng):
    """It logs 1/3 for everything, and plays what the user likes."""
    world.pmfs = np.full_like(world.pmfs, 1 / 3)


def sharpened(world, rng):
    """It logs scores that were not what was drawn from."""
    sharp = world.pmfs**2
    world.pmfs = sharp / sharp.sum(axis=1, keepdims=True)


def of_other_actions(world, rng):
    """The order of the actions is not that of the probabilities."""
    world.pmfs = world.pmfs[:, [1, 2, 0]]


def overridden(world, rng):
    """Something behind it replaces one action by another half of the time."""
    replaced = (world.actions == 0) & (rng.random(len(world.actions)) < 0.5)
    world.actions = np.where(replaced, 1, world.actions)


@pytest.mark.parametrize(
    "spoil",
    [those_of_the_event_before, another_epsilon, uniform_in_name_only, sharpened, of_other_actions, overridden],
)
def test_wrong_probabilities_are_flagged(spoil, tmp_path):
    world = World(20, 2500)
    spoil(world, np.random.default_rng(1))
    found = checked(world.write(tmp_path / "log.dsjson"))
    assert problems(found) == ["probabilities"]
    assert "The logged probabilities are wrong" in found.findings[0].words
    assert any("cannot be told" in one.words for one in found.findings if one.check == "rewards")


def test_missing_and_repeated_ids_are_flagged(tmp_path):
    lines = [json.loads(one) for one in World(21, 600).lines()]
    lines[5]["EventId"] = lines[4]["EventId"]
    del lines[6]["EventId"]
    path = tmp_path / "log.dsjson"
    path.write_text("\n".join(map(json.dumps, lines)))
    found = checked(path)
    assert problems(found) == ["ids"]
    (ids,) = (one for one in found.findings if one.check == "ids")
    assert ids.details == {"missing": 1, "repeated": 1}


def test_missing_outcomes_and_bad_lines_are_flagged(tmp_path):
    lines = [json.loads(one) for one in World(22, 600).lines()]
    for one in lines[:100]:
        del one["_label_cost"]
    lines[200]["p"] = [0.1, 0.1, 0.1]
    path = tmp_path / "log.dsjson"
    path.write_text("\n".join(map(json.dumps, lines)))
    assert problems(checked(path)) == ["lines", "outcomes"]


@pytest.mark.parametrize(("bad", "missing", "is_problem"), [(0, 1, False), (0, 2, True), (1, 1, False), (8, 2, True)])
def test_outcomes_are_missing_from_more_than_one_in_a_hundred_decisions(tmp_path, bad, missing, is_problem):
    """Of 100 decisions; those on lines that cannot be taken are decisions, too."""
    lines = [json.loads(one) for one in World(22, 100).lines()]
    for one in lines[:missing]:
        del one["_label_cost"]
    for one in lines[50 : 50 + bad]:
        one["p"] = [0.1, 0.1, 0.1]
    path = tmp_path / "log.dsjson"
    path.write_text("\n".join(map(json.dumps, lines)))
    (outcomes,) = (one for one in checked(path).findings if one.check == "outcomes")
    assert outcomes.details == {"missing": missing, "decisions": 100}
    assert outcomes.is_problem == is_problem


def test_every_event_after_the_first_of_an_id_repeats_it(tmp_path):
    lines = [json.loads(one) for one in World(21, 40).lines()]
    for number, name in {3: "e0", 4: "e0", 5: "e0", 9: "e8"}.items():
        lines[number]["EventId"] = name
    path = tmp_path / "log.dsjson"
    path.write_text("\n".join(map(json.dumps, lines)))
    (ids,) = (one for one in checked(path).findings if one.check == "ids")
    assert ids.details == {"missing": 0, "repeated": 4}


def test_a_probability_at_the_edge_of_two_bins_is_in_the_lower_one():
    pmfs = [[0.5, 0.5], [0.1, 0.9], [1.0, 0.0], [0.51, 0.49]]
    frame = FrameLog({"reward": np.zeros(4), "action": [0, 1, 0, 0], "pmf": pmfs}, pmf="pmf")
    bins = [(low, high, played) for low, high, played, _ in check(frame).calibration]
    assert bins == [(0.35, 0.5, 1), (0.5, 0.65, 1), (0.8, 0.9, 1), (0.99, 1.0, 1)]
    expected = [expected for *_, expected in check(frame).calibration]
    assert expected == pytest.approx([1.0 + 0.49, 0.51, 0.9, 1.0])


def test_drift_of_rewards_is_told_from_a_policy_that_changes(tmp_path):
    world = World(23, 6000)
    late = np.arange(6000) >= 3000
    # The policy becomes better: more reward, and no drift.
    better = 0.1 + 0.7 * np.eye(3)[world.means.argmax(axis=1)]
    world.pmfs = np.where(late[:, None], better, world.pmfs)
    rng = np.random.default_rng(2)
    world.actions = draws_of(rng, world.pmfs)
    earned = world.means[np.arange(6000), world.actions]
    world.rewards = (rng.random(6000) < earned).astype(float)
    assert world.rewards[late].mean() > world.rewards[~late].mean() + 0.15
    assert problems(checked(world.write(tmp_path / "log.dsjson"))) == []
    world.rewards = (rng.random(6000) < np.where(late, 0.2 * earned, earned)).astype(float)
    assert problems(checked(world.write(tmp_path / "log.dsjson"))) == ["rewards"]


def test_drift_of_contexts_is_flagged(tmp_path):
    world = World(24, 4000)
    for i, context in enumerate(world.contexts):
        context["age"] += 0.3 * (i >= 2000)
    found = checked(world.write(tmp_path / "log.dsjson"))
    assert problems(found) == ["contexts"]
    assert "x.age is above" in found.findings[-1].words


def rewritten(path, change):
    """A log whose lines somebody changed, each with its number."""
    lines = [json.loads(one) for one in path.read_text().splitlines()]
    for number, one in enumerate(lines):
        change(number, one)
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path


def test_features_that_come_later_are_asked_about(tmp_path):
    rng = np.random.default_rng(5)
    world = World(25, 6000)
    is_a = rng.random(6000) < 0.5
    world.pmfs = np.tile([0.45, 0.45, 0.1], (6000, 1))
    truth = np.where(is_a[:, None], [0.8, 0.1, 0.1], [0.1, 0.8, 0.1])  # on the average, it is what is logged
    world.actions = draws_of(rng, np.where(np.arange(6000)[:, None] < 700, world.pmfs, truth))

    def add(number, line):
        if number >= 700:
            line["c"]["x"]["v="] = "A" if is_a[number] else "B"

    found = checked(rewritten(world.write(tmp_path / "log.dsjson"), add))
    assert "probabilities" in problems(found)
    assert "x.v is" in found.findings[0].words


@pytest.mark.parametrize(
    "feature",
    [
        lambda late: {"v=": "new" if late else "old"},
        lambda late: {"v": 1000 if late else 1},
        lambda late: {"v": 3} if late else {},
    ],
    ids=["another text", "a number that jumps", "a new feature"],
)
def test_a_complete_change_of_contexts_is_drift(feature, tmp_path):
    path = World(26, 5000).write(tmp_path / "log.dsjson")
    found = checked(rewritten(path, lambda number, line: line["c"]["x"].update(feature(number >= 2500))))
    assert problems(found) == ["contexts"]
    assert "x.v" in found.findings[-1].words


def test_decisions_that_were_not_used_are_no_missing_outcomes(tmp_path):
    with Loop.open(tmp_path / "loop.db", actions=3, reward_range=(0, 1), wait="1ms", default_reward=0) as loop:
        for number in range(60):
            loop.decide({}, event_id=f"e{number}", activate=number % 3 > 0)
            if number % 2:
                loop.reward(f"e{number}", 1)
        time.sleep(0.01)
    found = check(open_log(tmp_path / "loop.db"))
    assert problems(found) == []
