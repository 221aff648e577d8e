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
    "range upside down": ({"cost_range": (1, 0)}, r"cost_range is \(1, 0\); expected two finite numbers .*, the lower"),
    "range beyond float32": ({"cost_range": (0, 1e39)}, r"cost_range is \(0, 1e\+39\); expected two finite numbers"),
    "empty range": ({"reward_range": (1, 1)}, r"reward_range is \(1, 1\); expected two finite numbers"),
    "range empty in float32": ({"cost_range": (1, 1 + 2**-25)}, r"cost_range is \(1, 1.0000000298\d+\); expected two"),
    "range upside down by rounding": ({"reward_range": (16777217, 16777216)}, r"reward_range is \(16777217, 167772"),
    "infinite range": ({"cost_range": (0, np.inf)}, r"cost_range is \(0, inf\); expected two finite numbers"),
    "range of one": ({"cost_range": (1,)}, r"cost_range is \(1,\); expected two finite numbers"),
    "range of text": ({"cost_range": "01"}, r"cost_range is '01'; expected two finite numbers"),
    "both ranges": ({"cost_range": (0, 1), "reward_range": (0, 1)}, "cost_range and reward_range were both given"),
    "objective": ({"objective": "profit"}, "objective is 'profit'; expected one of 'loss', 'reward'"),
    "allocation": ({"allocation": "softmax"}, "allocation is 'softmax'; expected one of 'reweighted', 'igw'"),
    "gamma_scale": ({"gamma_scale": -1}, "gamma_scale is -1; expected a finite number, 0 or larger"),
    "gamma beyond float32": ({"gamma_scale": 1e40}, r"gamma_scale is 1e\+40; expected a finite number"),
    "gamma of 401 digits": ({"gamma_scale": 10**400}, "gamma_scale is 10+; expected a finite number"),
    "gamma_exponent": ({"gamma_exponent": np.nan}, "gamma_exponent is nan; expected a finite number, 0 or larger"),
    "learning_rate": ({"learning_rate": np.inf}, "learning_rate is inf; expected a finite number, 0 or larger"),
    "text for a number": ({"learning_rate": "fast"}, "learning_rate is 'fast'; expected a finite number"),
    "epsilon": ({"epsilon": 1.5}, r"epsilon is 1\.5; expected a number from 0 to 1"),
    "no bits": ({"bits": 0}, "bits is 0; expected a whole number from 1 to 31"),
    "many bits": ({"bits": 64}, "bits is 64; expected a whole number from 1 to 31"),
    "seed": ({"seed": -1}, "seed is -1; expected a whole number from 0 to"),
    "other namespaces": ({"interactions": ["UA"]}, "interactions has 'UA' with the namespace 'A'; expected 'x' for"),
    "missing": ({"missing": "drop"}, "missing is 'drop'; expected one of 'zero', 'mark'"),
    "names as text": ({"action_names": "abc"}, "action_names is 'abc'; expected a list of names"),
    "a name twice": ({"action_names": ["a", "b", "a"]}, "expected each name once"),
    "too few names": ({"action_names": ["a", "b"]}, "action_names has 2 names; expected 3, as n_actions says"),
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
    "not a number": (
        [[1, 2, np.nan, 0]],
        [0],
        [0.5],
        "contexts have the value nan in row 0, column 2, which is not finite",
    ),
    "infinite": (np.array([[1, 2, 3, -np.inf]]), [0], [0.5], "the value -inf in row 0, column 3"),
    "too large": ([[1, 2, 1e39, 0]], [0], [0.5], r"the value 1e\+39 in row 0, column 2, which is not finite"),
    "sparse": (scipy.sparse.csr_matrix([[0, 2, np.nan, 0]]), [0], [0.5], "the value nan in row 0, column 2"),
    "one dimension": (np.ones(4), [0], [0.5], r"contexts have shape \(4,\); expected \(n, d\)"),
    "three dimensions": (np.ones((1, 4, 1)), [0], [0.5], r"contexts have shape \(1, 4, 1\); expected \(n, d\)"),
    "ragged": ([[1, 2, 3, 4], [1, 2]], [0, 1], [0.5, 0.5], "contexts have rows of different lengths"),
    "strings": ([["a", "b", "c", "d"]], [0], [0.5], "expected numbers. Give names and categories as a data frame"),
    "numbers as strings": (np.array([["1", "2", "3", "4"]], dtype=object), [0], [0.5], "expected numbers"),
    "none among numbers": ([[1, 2, None, 4]], [0], [0.5], "have the dtype object; expected numbers"),
    "dates": (np.array([["2020-01-01"] * 4], dtype="M8[ns]"), [0], [0.5], "dtype datetime64.*dates as numbers"),
    "a date among numbers": ([[1, 2, np.datetime64(50, "ns"), 4]], [0], [0.5], "have the dtype object; expected"),
    "401 digits": ([[1, 2, 10**400, 4]], [0], [0.5], "a number that is too large for a float"),
    "complex": (np.ones((1, 4), dtype=complex), [0], [0.5], "have the dtype complex128; expected numbers"),
    "masked": (np.ma.masked_equal(np.eye(4), 1), [0] * 4, [0.5] * 4, "masked values"),
    "unknown action": (np.ones((1, 4)), [3], [0.5], "action 3 of event 0 is unknown; expected 0 to 2"),
    "negative action": (np.ones((1, 4)), [-1], [0.5], "action -1 of event 0 is unknown; expected 0 to 2"),
    "huge action": (np.ones((1, 4)), [2**32], [0.5], "action 4294967296 of event 0 is unknown"),
    "fractional action": (np.ones((1, 4)), [0.5], [0.5], "whole numbers"),
    "too few actions": (np.ones((2, 4)), [0], [0.5, 0.5], "expected 2 whole numbers"),
    "cost above": (
        np.ones((2, 4)),
        [0, 1],
        [0.5, 1.5],
        r"cost 1\.5 of event 1 is outside \[0\.0, 1\.0\]; give costs in",
    ),
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
    "a number": (lambda b: b.decide(3.0), r"contexts have shape \(\); expected \(d,\)"),
    "actions of fixed ones": (
        lambda b: b.decide(ROW, np.eye(3)),
        "action_features were given; expected none, this learner has 3 f",
    ),
    "nan to learn": (lambda b: b.learn_event(np.array([1, 2, np.nan, 0]), 0, 0.5), "the value nan in row 0, column 2"),
    "width to learn": (lambda b: b.learn_event(np.ones(5), 0, 0.5), "contexts have 5 columns; expected 4, as before"),
    "unknown action": (lambda b: b.learn_event(ROW, 3, 0.5), "action 3 is unknown; expected 0 to 2"),
    "negative action": (lambda b: b.learn_event(ROW, -1, 0.5), "action -1 is unknown; expected 0 to 2"),
    "fractional action": (
        lambda b: b.learn_event(ROW, 1.5, 0.5),
        r"action is 1\.5; expected a whole number, counted from 0",
    ),
    "cost above": (lambda b: b.learn_event(ROW, 0, 1.5), r"cost 1\.5 is outside \[0\.0, 1\.0\]"),
    "cost nan": (lambda b: b.learn_event(ROW, 0, np.nan), "cost nan is outside"),
    "cost infinite": (lambda b: b.learn_event(ROW, 0, -np.inf), "cost -inf is outside"),
    "cost text": (lambda b: b.learn_event(ROW, 0, "cheap"), "costs are .*cheap.*; expected numbers"),
    "no cost": (lambda b: b.learn_event(ROW, 0), "no cost was given; expected one"),
    "no action": (lambda b: b.learn_event(ROW), "missing 1 required positional argument: 'action'"),
    "not a decision": (
        lambda b: b.learn(ROW, 0),
        r"learn was given 'ndarray'; expected a decision.* learn_event\(context",
    ),
    "no cost of a decision": (lambda b: b.learn(b.decide(ROW)), "no cost was given; expected one"),
    "a name": (
        lambda b: b.learn_event(ROW, "left", 0.5),
        "action 'left' is a name, and this learner's actions have none",
    ),
    "a huge action": (
        lambda b: b.learn_event(ROW, 2**70, 0.5),
        "action 1180591620717411303424 is unknown; expected 0 to 2",
    ),
    "exclude text": (lambda b: b.decide(ROW, exclude="12"), "exclude is '12'; expected a list of actions"),
    "exclude unknown": (lambda b: b.decide(ROW, exclude=[3]), "action 3 is unknown; expected 0 to 2"),
    "exclude all": (lambda b: b.decide(ROW, exclude=[0, 1, 2]), "exclude leaves no action"),
    "exclude nothing of one": (
        lambda b: b.predict_proba([ROW, ROW], exclude=[None, [0]]),
        "exclude is None for event 0; expected a list of actions, empty where none is left out",
    ),
    "exclude a fraction of one": (
        lambda b: b.predict([ROW, ROW], exclude=[[0], 1.5]),
        r"exclude is 1\.5 for event 1; expected a list of actions",
    ),
    "an id of another type": (lambda b: b.decide(ROW, event_id=3.5), r"event_id is 3\.5; expected text or a whole"),
    "a reward": (
        lambda b: b.learn_event(ROW, 0, reward=0.5),
        "reward= was given; expected cost=. A learner of rewards is made with reward_range",
    ),
    "twice": (lambda b: b.learn_event(ROW, 0, 0.5, cost=0.5), "more than one cost was given; expected one"),
    "too many": (lambda b: b.learn_event(ROW, 0, 0.5, 0.25), "positional arguments"),
    "too many of a decision": (lambda b: b.learn(b.decide(ROW), 0.5, 0.25), "positional arguments"),
    "actions to learn": (
        lambda b: b.learn_event(ROW, 0, 0.5, action_features=np.eye(3)),
        "action_features were given; exp",
    ),
    "weight": (
        lambda b: b.learn_event(ROW, 0, 0.5, sample_weight=-1.0),
        r"sample_weight is -1\.0; expected one finite number, 0 or larger",
    ),
    "weights": (lambda b: b.learn(b.decide(ROW), 0.5, sample_weight=[1]), r"sample_weight is \[1\]; expected one"),
    "costs": (lambda b: b.learn(b.decide(ROW), np.array([0.5])), r"cost is array\(\[0\.5\]\); expected one number"),
    "no path": (lambda b: b.save(None), "the path is None; expected the name of a file"),
    "a path that cannot be": (
        lambda b: b.save("a\ud800.vw"),
        r"the path is 'a\\ud800.vw'; expected the name of a file",
    ),
    "weight nan": (lambda b: b.learn_event(ROW, 0, 0.5, sample_weight=np.nan), "sample_weight is .*nan.*; expected"),
    "weight infinite": (lambda b: b.learn_event(ROW, 0, 0.5, sample_weight=1e39), "sample_weight is .*; expected"),
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
    "none": (None, "action_features are missing; give the features of the actions, or make the learner with n_actions"),
    "another width": (np.eye(4), "action features have 4 columns; expected 3, as before"),
    "none at all": (np.ones((0, 3)), "action features have no row; expected"),
    "one dimension": (np.ones(3), r"action features have shape \(3,\); expected \(A, d\), \(2, A, d\), or a list of 2"),
    "other events": (np.ones((3, 3, 3)), "action features have 3 tables; expected one for each of 2 events"),
    "no actions in events": (np.ones((2, 0, 3)), r"with A at least 1"),
    "too few sets": ([ACTIONS], "action features have 1 tables; expected one for each of 2 events"),
    "an empty set": ([ACTIONS, ACTIONS[:0]], r"action features of event 1 have shape \(0, 3\); expected"),
    "sets of other widths": ([ACTIONS, np.eye(4)], "action features of event 1 have 4 columns; expected 3, as event 0"),
    "nan": ([ACTIONS, ACTIONS * np.nan], "action features have the value nan in row ., column 0"),
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
    with pytest.raises(ValueError, match="action 1 of event 1 is unknown; expected 0 to 0"):
        bandit.partial_fit(X, [1, 1], [0, 1], action_features=[ACTIONS, ACTIONS[:1]])
    decision = bandit.decide(X[0], ACTIONS)
    with pytest.raises(ValueError, match="action 3 is unknown; the event has 3 actions"):
        bandit.learn_event(X[0], 3, 0.5, action_features=ACTIONS)
    bandit.learn(decision, 0.5)
    with pytest.raises(ValueError, match="action 3 is unknown; the event has 3 actions"):
        bandit.learn_event(X[0], 3, 0.5, action_features=ACTIONS)
    assert bandit.events_ == 1


OTHERS = [
    FastCB(4),
    FastCB(3, reward_range=(0, 1)),
    FastCB(3, vw_args="--hash_seed 7"),
    FastCB(3, vw_args="--hash=all"),
    FastCB(3, missing="mark"),
    FastCB(3, action_names=["a", "b", "c"]),
    FastCB(),
]


@pytest.mark.parametrize("other", OTHERS, ids=repr)
def test_a_decision_of_another_kind_of_learner_is_refused(taught, other):
    before = state(taught)
    decision = other.decide(ROW, None if other.n_actions else ACTIONS)
    with pytest.raises(
        ValueError, match=r"the decision was made by a learner with .*; expected one of a learner with 3 f"
    ):
        taught.learn(decision, 0.5)
    assert state(taught) == before


def test_a_decision_that_is_not_there_is_an_error_that_says_so(taught):
    with pytest.raises(IndexError, match="there is no decision 2; expected a number below 2"):
        taught.decide_many([ROW, ROW])[2]


def test_flags_that_vw_refuses_are_errors_that_say_why():
    with pytest.raises(RuntimeError, match="--fastcb learns with log loss"):
        FastCB(3, vw_args="--loss_function squared").decide([1.0])


@pytest.mark.parametrize(
    ("given", "words"), [(None, "None"), ("text", "a value of type str"), (2**64, "a value of type int")]
)
def test_a_model_that_is_not_given_as_bytes_is_refused(given, words):
    with pytest.raises(TypeError, match=f"^{words} was given; expected bytes, as FastCB.to_bytes returns them"):
        FastCB.from_bytes(given)


@pytest.mark.parametrize(
    ("given", "words"), [(None, "None"), (b"model", "a value of type bytes"), (3, "a value of type int")]
)
def test_a_model_is_loaded_from_nothing_but_a_path(given, words):
    with pytest.raises(TypeError, match=f"^{words} was given; expected the path of a model file"):
        FastCB.load(given)


@pytest.mark.parametrize("form", [bytes, bytearray, memoryview])
def test_a_model_may_be_any_kind_of_bytes(taught, form):
    assert FastCB.from_bytes(form(taught.to_bytes())).events_ == taught.events_


@pytest.mark.parametrize("costs", [[0.5, 2.0], [0.5], ["a", "b"]], ids=["out of range", "too few", "text"])
def test_a_fit_that_is_refused_forgets_nothing(costs):
    bandit = FastCB(2, seed=1).partial_fit([[1.0], [2.0]], [0, 1], [0.0, 1.0])
    before = bandit.to_bytes()
    with pytest.raises((ValueError, TypeError)):
        bandit.fit([[1.0], [3.0]], [1, 0], costs)
    assert bandit.to_bytes() == before
    assert bandit.fit([[1.0], [3.0]], [1, 0], [0.5, 0.25]).events_ == 2
    assert bandit.to_bytes() != before
