"""The numpy learner: the engine's numbers from arrays, and refusals that leave the model as it was."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse
import sklearn.base

from support import ok, predictions, write
from vw_fastcb import FastCB, Workspace

ROUNDS = 5000


def whole(values):
    """Whole numbers: VW's text parser does not read every fraction to the last bit."""
    return np.round(values * 3)


COSTS = (0, 3)
COST_FLAGS = "--cb_min_cost 0 --cb_max_cost 3"


def text(space, row):
    return f"|{space} " + " ".join(f"{j}:{value}" for j, value in enumerate(row) if value)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("interactions", [(), ("xx",)])
def test_fixed_actions_have_the_pmfs_of_text_and_of_the_simulation(rng, interactions):
    contexts = whole(rng.random((ROUNDS, 6))) * (rng.random((ROUNDS, 6)) < 0.7)
    costs = whole(rng.random((ROUNDS, 4)))
    bandit = FastCB(4, cost_range=COSTS, interactions=interactions)
    simulated = bandit.simulate(contexts, costs)
    flags = "".join(f" --interactions {pair}" for pair in interactions)
    vw = Workspace(f"--cb_explore 4 --fastcb --quiet {COST_FLAGS}{flags}")
    for context, cost, action, probability in zip(
        contexts, costs, simulated.actions[0], simulated.probabilities[0], strict=True
    ):
        decision = bandit.decide(context)
        line = text("x", context)
        np.testing.assert_allclose(vw.predict(line), decision.pmf, rtol=0, atol=1e-6)
        np.testing.assert_allclose(decision.pmf[action], probability, rtol=0, atol=1e-6)
        vw.learn(f"{action + 1}:{cost[action]}:0.5 {line}")
        bandit.learn(context, int(action), cost[action])


@pytest.mark.parametrize("interactions", [(), ("xa",)])
def test_changing_action_sets_have_the_pmfs_of_text(rng, interactions):
    bandit = FastCB(cost_range=COSTS, interactions=interactions)
    flags = "".join(f" --interactions {pair}" for pair in interactions)
    vw = Workspace(f"--cb_explore_adf --fastcb --quiet {COST_FLAGS}{flags}")
    for i in range(ROUNDS):
        context = whole(rng.random(3))
        actions = whole(rng.random((int(rng.integers(1, 7)), 2)))
        decision = bandit.decide(context, actions, event_id=i)
        lines = [f"shared {text('x', context)}", *(text("a", action) for action in actions)]
        np.testing.assert_allclose(vw.predict(lines), decision.pmf, rtol=0, atol=1e-6)
        cost = float(whole(rng.random()))
        lines[decision.action + 1] = f"0:{cost}:0.5 {lines[decision.action + 1]}"
        vw.learn(lines)
        bandit.learn(decision, cost)


def test_the_same_numbers_give_the_same_pmf_in_any_form(rng):
    contexts = rng.random((50, 8)) * (rng.random((50, 8)) < 0.5)
    contexts = contexts.astype(np.float32).astype(np.float64)
    bandit = FastCB(3).partial_fit(contexts, rng.integers(3, size=50), rng.random(50))
    expected = bandit.predict_proba(contexts)
    assert expected.shape == (50, 3)
    assert np.ptp(expected) > 0.1
    forms = [
        contexts.astype(np.float32),
        np.asfortranarray(contexts),
        np.repeat(contexts, 2, axis=1)[:, ::2],
        contexts[::-1][::-1],
        scipy.sparse.csr_matrix(contexts),
        scipy.sparse.coo_matrix(contexts.astype(np.float32)),
        contexts.tolist(),
    ]
    for form in forms:
        np.testing.assert_array_equal(bandit.predict_proba(form), expected)
    np.testing.assert_array_equal([bandit.decide(row).pmf for row in contexts], expected)


def test_action_features_in_any_form(rng):
    contexts, actions = rng.random((5, 3)), rng.random((4, 2))
    bandit = FastCB()
    together = bandit.predict_proba(contexts, actions)
    assert together.shape == (5, 4)
    np.testing.assert_array_equal(bandit.predict_proba(contexts, np.stack([actions] * 5)), together)
    np.testing.assert_array_equal(bandit.predict_proba(contexts, [actions] * 5), together)
    ragged = bandit.predict_proba(contexts, [actions[: i % 4 + 1] for i in range(5)])
    assert [len(pmf) for pmf in ragged] == [1, 2, 3, 4, 1]
    bandit.partial_fit(contexts, [0, 1, 2, 3, 0], np.zeros(5), action_features=actions)
    assert bandit.decide_many(contexts, actions).actions.shape == (5,)


def test_rewards_are_the_mirror_of_costs(rng):
    contexts, actions, values = rng.random((200, 4)), rng.integers(3, size=200), rng.random(200)
    costs = FastCB(3, cost_range=(-5, 0)).partial_fit(contexts, actions, -5 * values)
    rewards = FastCB(3, reward_range=(0, 5)).partial_fit(contexts, actions, 5 * values)
    np.testing.assert_array_equal(costs.predict_proba(contexts), rewards.predict_proba(contexts))
    np.testing.assert_allclose(costs.predict_loss(contexts), -rewards.predict_loss(contexts))
    decision = rewards.decide(contexts[0])
    rewards.learn(decision, 3.0)
    rewards.learn(decision, reward=3.0)
    with pytest.raises(TypeError, match="expected reward=, and only that"):
        rewards.learn(decision, cost=3.0)


def test_an_event_id_fixes_the_draw():
    bandits = [FastCB(10, seed=3), FastCB(10, seed=3), FastCB(10, seed=4)]
    draws = [[bandit.decide([1.0], event_id=f"e{i}").action for i in range(100)] for bandit in bandits]
    assert draws[0] == draws[1] != draws[2]
    assert len(set(draws[0])) == 10


def test_decisions_are_drawn_with_their_probability():
    bandit = FastCB(3, seed=5).partial_fit(np.ones((30, 1)), [0] * 30, [0.0] * 30)
    drawn = bandit.decide_many(np.ones((20_000, 1)))
    shares = np.bincount(drawn.actions, minlength=3) / 20_000
    np.testing.assert_allclose(shares, drawn.pmf[0], atol=0.015)
    np.testing.assert_array_equal(drawn.probabilities, drawn.pmf[np.arange(20_000), drawn.actions])


def test_a_pickled_decision_is_learned_elsewhere_and_later(rng):
    here, there = FastCB(3, seed=1), FastCB(3, seed=1)
    decisions = [here.decide(row) for row in rng.random((20, 4))]
    for decision in decisions:
        here.learn(decision, 0.25)
        there.learn(pickle.loads(pickle.dumps(decision)), 0.25)
    context = rng.random((1, 4))
    np.testing.assert_array_equal(here.predict_proba(context), there.predict_proba(context))
    with pytest.raises(ValueError, match="read-only"):
        decisions[0].pmf[0] = 1


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda bandit: pickle.loads(pickle.dumps(bandit))])
def test_a_copy_goes_on_as_the_original(rng, copied):
    contexts = rng.random((100, 4))
    bandit = FastCB(3, gamma_scale=50, vw_args="--coin").partial_fit(
        contexts, rng.integers(3, size=100), rng.random(100)
    )
    twin = copied(bandit)
    assert twin.get_params() == bandit.get_params()
    for row in contexts[:20]:
        one, other = bandit.decide(row), twin.decide(row)
        assert one.action == other.action
        bandit.learn(one, 0.5)
        twin.learn(other, 0.5)
    np.testing.assert_array_equal(bandit.predict_proba(contexts), twin.predict_proba(contexts))


def test_a_saved_model_goes_on_here_and_on_the_command_line(rng, tmp_path):
    contexts = whole(rng.random((100, 4)))
    bandit = FastCB(3, gamma_scale=40, learning_rate=2, epsilon=0.1, cost_range=(-1, 3))
    bandit.partial_fit(contexts, rng.integers(3, size=100), whole(rng.random(100)))
    bandit.save(tmp_path / "model")
    loaded = FastCB.load(tmp_path / "model")
    expected = bandit.predict_proba(contexts)
    np.testing.assert_array_equal(loaded.predict_proba(contexts), expected)
    said = {**bandit.get_params(), "interactions": ()}
    assert loaded.get_params() == said
    log = write(tmp_path / "log", (text("x", row) + "\n" for row in contexts))
    ok("-i", tmp_path / "model", "-t", "-d", log, "-p", tmp_path / "pmfs")
    for pmf, row in zip(predictions(tmp_path / "pmfs"), expected, strict=True):
        np.testing.assert_allclose(list(pmf.values()), row, atol=1e-5)


def test_scikit_learn_can_clone_it():
    bandit = FastCB(3, gamma_scale=40)
    bandit.decide([1.0])
    clone = sklearn.base.clone(bandit).set_params(epsilon=0.2)
    assert clone.get_params() == {**bandit.get_params(), "epsilon": 0.2}
    with pytest.raises(ValueError, match="was used already"):
        bandit.set_params(epsilon=0.2)
    with pytest.raises(ValueError, match="'gama' is not a parameter of FastCB"):
        clone.set_params(gama=1)


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


def test_one_learner_in_many_threads_loses_nothing(rng):
    contexts = rng.random((400, 4))
    bandit = FastCB(3)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda row: bandit.learn(bandit.decide(row), 0.5), contexts))
    assert bandit.events_ == 400


BAD = {
    "wrong width": (np.ones((1, 5)), [0], [0.5], "contexts have 5 columns; expected 4, as before"),
    "not a number": ([[1, 2, np.nan, 0]], [0], [0.5], "NaN or infinite"),
    "too large": ([[1, 2, 1e39, 0]], [0], [0.5], "NaN or infinite"),
    "one dimension": (np.ones(4), [0], [0.5], r"contexts has shape \(4,\); expected \(n, d\)"),
    "strings": ([["a", "b", "c", "d"]], [0], [0.5], "expected numbers"),
    "unknown action": (np.ones((1, 4)), [3], [0.5], "action 3 is unknown; expected 0 to 2"),
    "negative action": (np.ones((1, 4)), [-1], [0.5], "action -1 is unknown"),
    "fractional action": (np.ones((1, 4)), [0.5], [0.5], "whole numbers"),
    "cost above": (np.ones((2, 4)), [0, 1], [0.5, 1.5], r"cost 1\.5 is outside \[0\.0, 1\.0\]"),
    "cost nan": (np.ones((1, 4)), [0], [np.nan], "cost nan is outside"),
    "too few costs": (np.ones((2, 4)), [0, 1], [0.5], r"costs have shape \(1,\); expected \(2,\)"),
}


@pytest.mark.parametrize(("contexts", "actions", "costs", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_refused_and_the_model_is_as_it_was(rng, contexts, actions, costs, message):
    known = rng.random((20, 4))
    bandit = FastCB(3).partial_fit(known, rng.integers(3, size=20), rng.random(20))
    before = bandit.predict_proba(known)
    with pytest.raises((ValueError, TypeError), match=message):
        bandit.partial_fit(contexts, actions, costs)
    np.testing.assert_array_equal(bandit.predict_proba(known), before)
    assert bandit.events_ == 20
