"""What the learner refuses: each refusal says what was given and what was expected, and the model is as it was."""

import numpy as np
import pytest
import scipy.sparse

from vw_fastcb import FastCB

PARAMETERS = {
    "no actions": ({"n_actions": 0}, r"n_actions is 0; expected a whole number from 1 to"),
    "negative actions": ({"n_actions": -3}, r"n_actions is -3; expected a whole number"),
    "half an action": ({"n_actions": 2.5}, r"n_actions is 2\.5; expected a whole number"),
    "true actions": ({"n_actions": True}, r"n_actions is True; expected a whole number"),
    "range upside down": ({"cost_range": (1, 0)}, r"cost_range is \(1, 0\); expected two finite numbers, the lower"),
    "empty range": ({"reward_range": (1, 1)}, r"reward_range is \(1, 1\); expected two finite numbers"),
    "infinite range": ({"cost_range": (0, np.inf)}, r"cost_range is \(0, inf\); expected two finite numbers"),
    "range of one": ({"cost_range": (1,)}, r"cost_range is \(1,\); expected two finite numbers"),
    "range of text": ({"cost_range": "01"}, r"cost_range is '01'; expected two finite numbers"),
    "both ranges": ({"cost_range": (0, 1), "reward_range": (0, 1)}, "cost_range and reward_range were both given"),
    "objective": ({"objective": "profit"}, "objective is 'profit'; expected one of 'loss', 'reward'"),
    "allocation": ({"allocation": "softmax"}, "allocation is 'softmax'; expected one of 'reweighted', 'igw'"),
    "gamma_scale": ({"gamma_scale": -1}, "gamma_scale is -1; expected a finite number, 0 or larger"),
    "gamma_exponent": ({"gamma_exponent": np.nan}, "gamma_exponent is nan; expected a finite number, 0 or larger"),
    "learning_rate": ({"learning_rate": np.inf}, "learning_rate is inf; expected a finite number, 0 or larger"),
    "text for a number": ({"learning_rate": "fast"}, "learning_rate is 'fast'; expected a finite number"),
    "epsilon": ({"epsilon": 1.5}, r"epsilon is 1\.5; expected a number from 0 to 1"),
    "no bits": ({"bits": 0}, "bits is 0; expected a whole number from 1 to 31"),
    "many bits": ({"bits": 64}, "bits is 64; expected a whole number from 1 to 31"),
    "seed": ({"seed": -1}, "seed is -1; expected a whole number from 0 to"),
    "interactions as text": ({"interactions": "xa"}, r"interactions is 'xa'; expected names of namespaces"),
    "single interaction": ({"interactions": ["x"]}, r"interactions is \['x'\]; expected names of namespaces"),
    "vw_args as a list": ({"vw_args": ["--coin"]}, r"vw_args is \['--coin'\]; expected a string"),
}


@pytest.mark.parametrize(("params", "message"), PARAMETERS.values(), ids=PARAMETERS)
def test_bad_parameters_are_refused_at_the_first_use(params, message):
    bandit = FastCB(**{"n_actions": 3, **params})  # as in scikit-learn, the constructor takes anything
    with pytest.raises((ValueError, TypeError), match=message):
        bandit.decide([1.0])
    with pytest.raises((ValueError, TypeError), match=message):
        bandit.simulate([[1.0]], [0])


BAD = {
    "wrong width": (np.ones((1, 5)), [0], [0.5], "contexts have 5 columns; expected 4, as before"),
    "not a number": ([[1, 2, np.nan, 0]], [0], [0.5], "contexts have the value nan in row 0, column 2, which is NaN"),
    "infinite": (np.array([[1, 2, 3, -np.inf]]), [0], [0.5], "the value -inf in row 0, column 3"),
    "too large": ([[1, 2, 1e39, 0]], [0], [0.5], r"the value 1e\+39 in row 0, column 2, which is NaN or infinite"),
    "sparse": (scipy.sparse.csr_matrix([[0, 2, np.nan, 0]]), [0], [0.5], "the value nan in row 0, column 2"),
    "one dimension": (np.ones(4), [0], [0.5], r"contexts have shape \(4,\); expected \(n, d\)"),
    "three dimensions": (np.ones((1, 4, 1)), [0], [0.5], r"contexts have shape \(1, 4, 1\); expected \(n, d\)"),
    "ragged": ([[1, 2, 3, 4], [1, 2]], [0, 1], [0.5, 0.5], "contexts have rows of different lengths"),
    "strings": ([["a", "b", "c", "d"]], [0], [0.5], "expected numbers. Give names and categories as a data frame"),
    "numbers as strings": (np.array([["1", "2", "3", "4"]], dtype=object), [0], [0.5], "expected numbers"),
    "none among numbers": ([[1, 2, None, 4]], [0], [0.5], "the value nan in row 0, column 2"),
    "complex": (np.ones((1, 4), dtype=complex), [0], [0.5], "have the dtype complex128; expected numbers"),
    "masked": (np.ma.masked_equal(np.eye(4), 1), [0] * 4, [0.5] * 4, "masked values"),
    "unknown action": (np.ones((1, 4)), [3], [0.5], "action 3 is unknown; expected 0 to 2"),
    "negative action": (np.ones((1, 4)), [-1], [0.5], "action -1 is unknown; expected 0 to 2"),
    "huge action": (np.ones((1, 4)), [2**32], [0.5], "action 4294967296 is unknown"),
    "fractional action": (np.ones((1, 4)), [0.5], [0.5], "whole numbers"),
    "too few actions": (np.ones((2, 4)), [0], [0.5, 0.5], "expected 2 whole numbers"),
    "cost above": (np.ones((2, 4)), [0, 1], [0.5, 1.5], r"cost 1\.5 is outside \[0\.0, 1\.0\]; give costs in this"),
    "cost nan": (np.ones((1, 4)), [0], [np.nan], "cost nan is outside"),
    "cost text": (np.ones((1, 4)), [0], ["cheap"], "costs are .*cheap.*; expected numbers"),
    "too few costs": (np.ones((2, 4)), [0, 1], [0.5], r"costs have shape \(1,\); expected \(2,\)"),
}


@pytest.fixture
def taught():
    rng = np.random.default_rng(0)
    return FastCB(3).partial_fit(rng.random((20, 4)), rng.integers(3, size=20), rng.random(20))


def state(bandit):
    return bandit.predict_proba(np.random.default_rng(0).random((20, 4))).tolist(), bandit.events_


@pytest.mark.parametrize(("contexts", "actions", "costs", "message"), BAD.values(), ids=BAD)
def test_a_bad_batch_is_refused_and_the_model_is_as_it_was(taught, contexts, actions, costs, message):
    before = state(taught)
    with pytest.raises((ValueError, TypeError), match=message):
        taught.partial_fit(contexts, actions, costs)
    assert state(taught) == before


ROW = np.ones(4)
BAD_ONE = {
    "wrong width": (lambda b: b.decide(np.ones(5)), "contexts have 5 columns; expected 4, as before"),
    "not a number": (lambda b: b.decide(np.array([1, 2, np.nan, 0])), "the value nan in row 0, column 2"),
    "many rows": (lambda b: b.decide(np.ones((2, 4))), "the context has 2 rows; expected one"),
    "a number": (lambda b: b.decide(3.0), "contexts have 1 columns; expected 4|contexts have shape"),
    "actions of fixed ones": (lambda b: b.decide(ROW, np.eye(3)), "actions were given features; expected none, n_acti"),
    "nan to learn": (lambda b: b.learn(np.array([1, 2, np.nan, 0]), 0, 0.5), "the value nan in row 0, column 2"),
    "width to learn": (lambda b: b.learn(np.ones(5), 0, 0.5), "contexts have 5 columns; expected 4, as before"),
    "unknown action": (lambda b: b.learn(ROW, 3, 0.5), "action 3 is unknown; expected 0 to 2"),
    "negative action": (lambda b: b.learn(ROW, -1, 0.5), "action -1 is unknown; expected 0 to 2"),
    "fractional action": (lambda b: b.learn(ROW, 1.5, 0.5), r"expected 1 whole numbers, counted from 0"),
    "cost above": (lambda b: b.learn(ROW, 0, 1.5), r"cost 1\.5 is outside \[0\.0, 1\.0\]"),
    "cost nan": (lambda b: b.learn(ROW, 0, np.nan), "cost nan is outside"),
    "cost infinite": (lambda b: b.learn(ROW, 0, -np.inf), "cost -inf is outside"),
    "cost text": (lambda b: b.learn(ROW, 0, "cheap"), "costs are .*cheap.*; expected numbers"),
    "no cost": (lambda b: b.learn(ROW, 0), "expected cost=, and only that"),
    "no action": (lambda b: b.learn(ROW), "learn needs the action that was taken"),
    "a reward": (
        lambda b: b.learn(ROW, 0, reward=0.5),
        "expected cost=, and only that; .* make the learner with reward",
    ),
    "twice": (lambda b: b.learn(ROW, 0, 0.5, cost=0.5), "learn was given 0.5 too much"),
    "too many": (lambda b: b.learn(ROW, 0, 0.5, 0.25, 0.125), "learn was given 0.25 too much"),
    "too many of a decision": (lambda b: b.learn(b.decide(ROW), 0.5, 0.25), "learn was given 0.25 too much"),
    "actions to learn": (lambda b: b.learn(ROW, 0, 0.5, np.eye(3)), "actions were given features; expected none"),
    "tiny probability": (lambda b: b.learn(ROW, 0, 0.5, probability=1e-50), r"probability 0\.0 is outside \(0, 1\]"),
    "probability": (lambda b: b.learn(ROW, 0, 0.5, probability=0.0), r"probability 0\.0 is outside \(0, 1\]"),
    "large probability": (lambda b: b.learn(ROW, 0, 0.5, probability=1.5), r"probability 1\.5 is outside \(0, 1\]"),
    "probability text": (lambda b: b.learn(ROW, 0, 0.5, probability="x"), "probability are .*; expected numbers"),
    "weight": (
        lambda b: b.learn(ROW, 0, 0.5, sample_weight=-1.0),
        "sample_weight is .*-1.*; expected 1 finite numbers",
    ),
    "weight nan": (lambda b: b.learn(ROW, 0, 0.5, sample_weight=np.nan), "sample_weight is .*nan.*; expected"),
    "weight infinite": (lambda b: b.learn(ROW, 0, 0.5, sample_weight=1e39), "sample_weight is .*; expected"),
    "a decision with actions": (lambda b: b.learn(b.decide(ROW), 0.5, actions=np.eye(3)), "leave them out"),
}


@pytest.mark.parametrize(("use", "message"), BAD_ONE.values(), ids=BAD_ONE)
def test_a_bad_event_is_refused_and_the_model_is_as_it_was(taught, use, message):
    taught.decide(ROW)
    before = state(taught)
    for _ in range(2):
        with pytest.raises((ValueError, TypeError), match=message):
            use(taught)
    assert state(taught) == before


X, ACTIONS = np.ones((2, 4)), np.eye(3)
BAD_ACTIONS = {
    "none": (None, "the features of the actions are missing; give them, or make the learner with n_actions"),
    "another width": (np.eye(4), "actions have 4 columns; expected 3, as before"),
    "none at all": (np.ones((0, 3)), "actions have no row; expected"),
    "one dimension": (np.ones(3), r"actions have shape \(3,\); expected \(A, d\), \(2, A, d\), or a list of 2"),
    "other events": (np.ones((3, 3, 3)), r"actions have shape \(3, 3, 3\); expected \(A, d\), \(2, A, d\)"),
    "no actions in events": (np.ones((2, 0, 3)), r"with A at least 1"),
    "too few sets": ([ACTIONS], "actions have 1 action sets; expected one for each of 2 events"),
    "an empty set": ([ACTIONS, ACTIONS[:0]], r"actions of event 1 have shape \(0, 3\); expected"),
    "sets of other widths": ([ACTIONS, np.eye(4)], "actions of event 1 have 4 columns; expected 3, as event 0"),
    "nan": ([ACTIONS, ACTIONS * np.nan], "actions have the value nan in row 3, column 0"),
}


@pytest.mark.parametrize(("features", "message"), BAD_ACTIONS.values(), ids=BAD_ACTIONS)
def test_bad_features_of_actions_are_refused(features, message):
    bandit = FastCB().partial_fit(X, [0, 1], [0, 1], action_features=ACTIONS)
    before = bandit.predict_proba(X, ACTIONS).tolist(), bandit.events_
    with pytest.raises((ValueError, TypeError), match=message):
        bandit.predict_proba(X, features)
    with pytest.raises((ValueError, TypeError), match=message):
        bandit.partial_fit(X, [0, 1], [0, 1], action_features=features)
    assert (bandit.predict_proba(X, ACTIONS).tolist(), bandit.events_) == before


def test_an_action_outside_a_changing_set_is_refused():
    bandit = FastCB()
    with pytest.raises(ValueError, match="action 1 is unknown; expected 0 to 0"):
        bandit.partial_fit(X, [1, 1], [0, 1], action_features=[ACTIONS, ACTIONS[:1]])
    decision = bandit.decide(X[0], ACTIONS)
    with pytest.raises(ValueError, match="action 3 is unknown; expected 0 to 2"):
        bandit.learn(X[0], 3, 0.5, actions=ACTIONS)
    bandit.learn(decision, 0.5)
    with pytest.raises(ValueError, match="action 3 is unknown; expected 0 to 2"):
        bandit.learn(X[0], 3, 0.5, actions=ACTIONS)
    assert bandit.events_ == 1


OTHERS = [FastCB(4), FastCB(3, reward_range=(0, 1)), FastCB(3, bits=10), FastCB()]


@pytest.mark.parametrize("other", OTHERS, ids=repr)
def test_a_decision_of_another_kind_of_learner_is_refused(taught, other):
    before = state(taught)
    decision = other.decide(ROW, None if other.n_actions else ACTIONS)
    with pytest.raises(
        ValueError, match=r"the decision was made by a learner with .*; expected one of a learner with 3 f"
    ):
        taught.learn(decision, 0.5)
    assert state(taught) == before


def test_flags_that_vw_refuses_are_errors_that_say_why():
    with pytest.raises(RuntimeError, match="--fastcb learns with log loss"):
        FastCB(3, vw_args="--loss_function squared").decide([1.0])
