"""The numpy learner: the engine's numbers from arrays, and refusals that leave the model as it was."""

import copy
import doctest
import pickle
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse
import sklearn.base

from support import ok, predictions, write
from vw_fastcb import FastCB


def whole(values):
    """Whole numbers: VW's text parser does not read every fraction to the last bit."""
    return np.round(values * 3)


def text(space, row):
    return f"|{space} " + " ".join(f"{j}:{value}" for j, value in enumerate(row) if value)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


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
    costs = FastCB(3, cost_range=(-5, 0), objective="both").partial_fit(contexts, actions, -5 * values)
    rewards = FastCB(3, reward_range=(0, 5)).partial_fit(contexts, actions, 5 * values)
    np.testing.assert_array_equal(costs.predict_proba(contexts), rewards.predict_proba(contexts))
    np.testing.assert_allclose(costs.predict_cost(contexts), -rewards.predict_reward(contexts))
    decision = rewards.decide(contexts[0])
    rewards.learn(decision, 3.0)
    rewards.learn(decision, reward=3.0)
    with pytest.raises(TypeError, match="cost= was given; expected reward="):
        rewards.learn(decision, cost=3.0)


def test_rewards_adapt_to_whichever_is_smaller_and_costs_to_small_losses_unless_told(tmp_path):
    for settings, meant in (({"reward_range": (0, 1)}, "both"), ({"cost_range": (0, 1)}, "loss")):
        contexts, values = (
            np.ones((40, 1)),
            np.tile([0.9, 0.8], 20),
        )  # the best reward is large, the best cost not small
        learners = {
            objective: FastCB(2, objective=objective, **settings).partial_fit(contexts, [0, 1] * 20, values)
            for objective in (None, "loss", "reward", "both")
        }
        pmfs = {objective: learner.predict_proba([[1.0]])[0] for objective, learner in learners.items()}
        np.testing.assert_array_equal(pmfs[None], pmfs[meant])
        assert np.abs(pmfs["loss"] - pmfs["reward"]).max() > 0.01
        learners[None].save(tmp_path / "model")
        assert FastCB.load(tmp_path / "model").get_params() == {
            **{**learners[None].get_params(), "objective": meant, "oracle": "newton"},
            **{"bits": 18, "gamma_scale": 50.0, "gamma_exponent": 0.4, "interactions": ()},
        }


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
    bandit = FastCB(3, gamma_scale=50, vw_args="--coin", seed=1).partial_fit(
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
    said = {**bandit.get_params(), "gamma_exponent": 0.5, "interactions": (), "bits": 18}
    said |= {"oracle": "gd", "objective": "loss"}
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


@pytest.mark.parametrize("n_actions", [4, None])
@pytest.mark.parametrize(
    "vw_args", ["", "--noconstant", "--sgd", "--l2 0.001", "--coin", "--ftrl", "--nn 2", "--ignore z"]
)
@pytest.mark.parametrize("interactions", [(), ("xa", "xx")], ids=str)
def test_examples_that_are_kept_from_round_to_round_change_nothing(rng, n_actions, vw_args, interactions):
    """One learner sees the same rows again and again; of the other, each call comes after one with other rows."""
    contexts = np.repeat(rng.random((20, 3)), 3, axis=0)
    features, others = (None, None) if n_actions else (rng.random((4, 2)), rng.random((5, 2)))
    kept, fresh = (FastCB(n_actions, vw_args=vw_args, interactions=interactions, seed=1) for _ in range(2))
    for i, context in enumerate(contexts):
        fresh.predict_proba(-contexts[i : i + 1], others)
        one, other = kept.decide(context, features), fresh.decide(context, features)
        assert one.action == other.action
        np.testing.assert_array_equal(one.pmf, other.pmf)
        fresh.predict_proba(-contexts[i : i + 1], others)
        kept.learn(one, i / len(contexts), sample_weight=1 + i % 2)
        fresh.learn(other, i / len(contexts), sample_weight=1 + i % 2)
    assert np.ptp(kept.predict_proba(contexts[:1], features)) > 0.01


def test_a_decision_keeps_the_chosen_action_and_never_the_users_array(rng):
    bandit, context, actions = FastCB(oracle="gd"), rng.random(3), rng.random((4, 2))
    decision = bandit.decide(context, actions)
    chosen = actions[decision.action].astype(np.float32)
    actions += 1
    context += 1
    np.testing.assert_array_equal(decision.action_features, chosen)
    np.testing.assert_array_equal(decision.context, (context - 1).astype(np.float32))
    assert not decision.action_features.flags.writeable
    assert not decision.context.flags.writeable


@pytest.mark.parametrize("module", ["fastcb", "decision"])
def test_the_examples_of_the_docstrings_run(module):
    failed, tried = doctest.testmod(import_module(f"vw_fastcb.learner.{module}"))
    assert tried > 0
    assert failed == 0
