"""The bandit game in C++ on data whose every cost is known."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from vw_fastcb import FastCB
from vw_fastcb.learner import simulation


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_simulation_is_repeatable_and_leaves_the_learner_alone(rng):
    contexts = rng.random((300, 5))
    labels = contexts.argmax(axis=1)
    bandit = FastCB(5, learning_rate=5)
    runs = bandit.simulate(contexts, labels, n_shuffles=3, seed=7)
    assert runs.costs.shape == (3, 300)
    assert runs.progressive[:, -1].max() < 0.75
    again = bandit.simulate(contexts, labels, n_shuffles=3, seed=7)
    np.testing.assert_array_equal(runs.actions, again.actions)
    for costs, actions, order in zip(runs.costs, runs.actions, runs.order, strict=True):
        np.testing.assert_array_equal(costs, labels[order] != actions)
    np.testing.assert_allclose(bandit.predict_proba(contexts[:1]), 0.2)


def test_a_simulation_prints_as_a_line(rng):
    runs = FastCB(3).simulate(rng.random((50, 2)), rng.integers(3, size=50), n_shuffles=2, seed=1)
    assert repr(runs) == f"Simulation(2 runs of 50 rounds, mean cost {runs.costs.mean():.4g})"


def test_costs_and_right_actions_say_the_same(rng):
    contexts = rng.random((200, 3))
    labels = contexts.argmax(axis=1)
    costs = 1.0 - np.eye(3)[labels]
    bandit = FastCB(3, seed=2, objective="both")
    by_label, by_cost = bandit.simulate(contexts, labels), bandit.simulate(contexts, costs)
    np.testing.assert_array_equal(by_label.actions, by_cost.actions)
    np.testing.assert_array_equal(by_label.costs, by_cost.costs)
    rewards = FastCB(3, seed=2, reward_range=(0, 1)).simulate(contexts, 1 - costs)
    np.testing.assert_array_equal(rewards.actions, by_cost.actions)
    np.testing.assert_array_equal(rewards.rewards, 1 - by_cost.costs)
    with pytest.raises(AttributeError, match="the simulation is of rewards; expected its `rewards`"):
        _ = rewards.costs
    assert (np.diff(rewards.progressive[0][[20, -1]]) > 0).all()


@pytest.mark.parametrize("n_actions", [4, None])
def test_the_number_of_threads_changes_nothing(rng, n_actions):
    contexts, costs = rng.random((150, 3)), rng.random((150, 4))
    features = None if n_actions else rng.random((4, 2))
    runs = [
        FastCB(n_actions).simulate(contexts, costs, n_shuffles=5, seed=3, action_features=features, n_jobs=jobs)
        for jobs in (None, 1, 2, -1, 16)
    ]
    assert len({tuple(order) for order in runs[0].order.tolist()}) == 5
    for other in runs[1:]:
        for name in ("costs", "actions", "probabilities", "order"):
            np.testing.assert_array_equal(getattr(other, name), getattr(runs[0], name))


def test_features_of_actions_in_any_form_play_the_same_game(rng):
    contexts = rng.random((300, 4)).astype(np.float32)
    features = np.eye(4, 5, dtype=np.float32)
    labels = contexts.argmax(axis=1)
    bandit = FastCB(learning_rate=2, seed=5)
    runs = bandit.simulate(contexts, labels, action_features=features)
    assert runs.progressive[0, -1] < 0.6
    forms = [
        np.stack([features] * 300),
        [features] * 300,
        scipy.sparse.csr_matrix(features),
        pd.DataFrame(features),
        [dict(enumerate(row.tolist())) for row in features],
    ]
    for form in forms:
        other = bandit.simulate(contexts, labels, action_features=form)
        np.testing.assert_array_equal(other.actions, runs.actions)
        np.testing.assert_allclose(other.probabilities, runs.probabilities, rtol=0, atol=1e-6)


def test_changing_action_sets(rng):
    contexts = rng.random((400, 2))
    counts = rng.integers(1, 5, size=400)
    features = [np.eye(5)[rng.permutation(5)[:count]] for count in counts]
    costs = [np.where(one[:, 0] > 0, 0.0, 1.0) for one in features]  # one kind of action is good, where it is there
    runs = FastCB(learning_rate=2).simulate(contexts, costs, action_features=features, n_shuffles=2)
    assert (runs.actions < counts[runs.order]).all()
    for played, actions, order in zip(runs.costs, runs.actions, runs.order, strict=True):
        np.testing.assert_array_equal(played, [costs[row][action] for row, action in zip(order, actions, strict=True)])
    there = np.array([one[:, 0].any() for one in features])
    late = runs.costs[:, 200:][there[runs.order[:, 200:]]]
    assert late.mean() < 0.3
    single = runs.probabilities[counts[runs.order] == 1]
    np.testing.assert_array_equal(single, 1)


def test_frames_of_any_columns_can_be_simulated_by_a_learner_in_use(rng):
    bandit = FastCB(2).partial_fit(np.ones((1, 3)), [0], [0.5])
    colors = rng.choice(["red", "blue"], size=300)
    runs = bandit.simulate(pd.DataFrame({"color": colors}), (colors == "red").astype(int))
    assert runs.costs[0, 100:].mean() < 0.2
    assert bandit.events_ == 1
    bandit.decide(np.ones(3))


BAD = {
    "unknown label": ({"targets": [0, 3]}, "target 3 of event 1 is unknown; expected 0 to 2"),
    "negative label": ({"targets": [0, -1]}, "target -1 of event 1 is unknown; expected 0 to 2"),
    "too few": ({"targets": [0]}, r"targets have shape \(1,\).*; expected \(2,\) whole numbers"),
    "fractions": ({"targets": [0.5, 1.0]}, r"dtype float64; expected \(2,\) whole numbers, the right actions"),
    "costs of other actions": ({"targets": np.zeros((2, 4))}, r"costs have shape \(2, 4\); expected \(2, 3\)"),
    "cost outside": ({"targets": np.full((2, 3), 2.0)}, r"cost 2.0 of event 0 is outside \[0\.0, 1\.0\]"),
    "cost nan": ({"targets": np.full((2, 3), np.nan)}, r"cost nan of event 0 is outside"),
    "no shuffles": ({"targets": [0, 1], "n_shuffles": 0}, "n_shuffles is 0; expected a whole number, 1 or larger"),
    "endless shuffles": (
        {"targets": [0, 1], "n_shuffles": 10**30},
        "n_shuffles is 10+; expected .* of at most 5,000,0",
    ),
    "no jobs": ({"targets": [0, 1], "n_jobs": 0}, "n_jobs is 0; expected a whole number other than 0"),
    "seed": ({"targets": [0, 1], "seed": -1}, "seed is -1; expected a whole number, 0 or larger"),
    "features": ({"targets": [0, 1], "action_features": np.eye(3)}, "action_features were given; expected none"),
}


@pytest.mark.parametrize(("given", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_played_is_refused(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        FastCB(3).simulate(np.eye(2), **given)


def test_costs_of_changing_sets_must_fit_them():
    sets = [np.eye(3), np.eye(3)[:2]]
    with pytest.raises(ValueError, match=r"the targets of event 1 have shape \(3,\); expected \(2,\)"):
        FastCB().simulate(np.eye(2), [[0, 1, 1], [0, 1, 1]], action_features=sets)
    with pytest.raises(ValueError, match="events differ in their number of actions; expected a list"):
        FastCB().simulate(np.eye(2), np.zeros((2, 3)), action_features=sets)


@pytest.mark.parametrize(
    ("given", "runs", "expected"),
    [(None, 9, 1), (1, 9, 1), (3, 9, 3), (3, 2, 2), (-1, 9, 4), (-2, 9, 3), (-4, 9, 1), (-9, 9, 1), (-1, 3, 3)],
)
def test_jobs_are_counted_as_in_joblib(monkeypatch, given, runs, expected):
    monkeypatch.setattr(simulation, "usable_cores", lambda: 4)
    assert simulation.threads(given, runs) == expected


@pytest.mark.parametrize(
    ("given", "right", "wrong"), [({"reward_range": (2, 5)}, 5, 2), ({"cost_range": (2, 5)}, 2, 5)]
)
def test_the_right_action_has_the_best_value_of_the_range_and_others_the_worst(rng, given, right, wrong):
    labels = rng.integers(0, 3, 50)
    played = FastCB(3, **given).simulate(rng.random((50, 2)), labels, n_shuffles=2, seed=1)
    expected = np.where(played.actions == labels[played.order], right, wrong)
    np.testing.assert_array_equal(played.values, expected)
    assert set(expected.ravel()) == {right, wrong}
