"""The learner tells the truth: draws, modes, columns, kinds, sizes, and what it says when something is wrong."""

import concurrent.futures
import copy
import dataclasses
import json
import multiprocessing
import os
import pickle
import stat
import subprocess
import sys
import threading
import time
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from support import ok, write
from vw_fastcb import Decision, Decisions, FastCB, Workspace, merge_models
from workers import CONTEXT, drawn

# Draws


def test_learners_without_a_seed_draw_differently_and_a_seed_repeats_the_draws():
    assert drawn(FastCB(5)) != drawn(FastCB(5))
    assert drawn(FastCB(5, seed=3)) == drawn(FastCB(5, seed=3)) != drawn(FastCB(5, seed=4))


def test_a_model_that_is_loaded_for_each_request_explores(tmp_path):
    FastCB(5).save(tmp_path / "model")
    actions = [FastCB.load(tmp_path / "model").decide(CONTEXT).action for _ in range(60)]
    assert set(actions) == set(range(5))
    seeded = {FastCB.load(tmp_path / "model", seed=3).decide(CONTEXT).action for _ in range(5)}
    assert len(seeded) == 1


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))], ids=["copy", "pickle"])
def test_copies_of_a_learner_without_a_seed_draw_differently(copied):
    bandit = FastCB(5)
    bandit.decide(CONTEXT)
    assert drawn(copied(bandit)) != drawn(bandit)
    seeded = FastCB(5, seed=1)
    seeded.decide(CONTEXT)
    assert drawn(copied(seeded)) == drawn(seeded)


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_workers_explore_on_their_own(method):
    bandit, seeded = FastCB(5), FastCB(5, seed=1)
    bandit.decide(CONTEXT)
    seeded.decide(CONTEXT)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        first, second = pool.map(drawn, [bandit, bandit])
        repeated = list(pool.map(drawn, [seeded, seeded]))
    assert first != second
    assert drawn(bandit) not in (first, second)
    assert repeated[0] == repeated[1] == drawn(seeded)


def test_a_forked_child_does_not_repeat_its_parent():
    bandit = FastCB(5)
    bandit.decide(CONTEXT)
    read, write_end = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.write(write_end, bytes(drawn(bandit)))
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read, "rb") as pipe:
        theirs = list(pipe.read())
    os.waitpid(child, 0)
    assert theirs != drawn(bandit)


def by_id(bandit):
    return [bandit.decide(CONTEXT, event_id=f"visitor {i}").action for i in range(60)]


def test_draws_by_id_are_those_of_the_learner_and_its_model_and_of_no_other(tmp_path):
    bandit, other = FastCB(5), FastCB(5)
    expected = by_id(bandit)
    assert by_id(bandit) == expected != by_id(other)
    assert set(expected) == set(range(5))
    bandit.save(tmp_path / "model")
    assert by_id(FastCB.load(tmp_path / "model")) == expected
    assert by_id(FastCB.load(tmp_path / "model", seed=9)) == expected
    assert by_id(pickle.loads(pickle.dumps(bandit))) == expected
    many = bandit.decide_many(np.ones((60, 3)), event_ids=[f"visitor {i}" for i in range(60)])
    assert many.actions.tolist() == expected
    # Also through the command line, which keeps what it does not read.
    ok("-i", tmp_path / "model", "-d", write(tmp_path / "nothing", []), "-f", tmp_path / "again", "--quiet")
    assert by_id(FastCB.load(tmp_path / "again")) == expected


# What a model keeps


def test_a_model_keeps_its_mode_names_columns_and_kinds(tmp_path):
    people = pd.DataFrame({"age": [31.0, 50.0], "city": ["Rome", "Oslo"]})
    bandit = FastCB(action_names=["politics", "sports"], reward_range=(-1, 1), missing="mark")
    bandit.partial_fit(people, ["sports", "politics"], [1, -1])
    bandit.save(tmp_path / "model")
    loaded = FastCB.load(tmp_path / "model")
    assert loaded.reward_range == (-1, 1)
    assert list(loaded.action_names) == ["politics", "sports"]
    assert loaded.missing == "mark"
    np.testing.assert_array_equal(loaded.predict_reward(people), bandit.predict_reward(people))
    assert loaded.predict_reward(people)[0, 1] > 0
    assert loaded.decide(people[:1]).name in ("politics", "sports")
    assert loaded.feature_names_in_.tolist() == ["age", "city"]
    with pytest.raises(ValueError, match=r"lack the columns \['city'\]"):
        loaded.predict(people[["age"]])
    with pytest.raises(ValueError, match="have text for 'age', which was a number before"):
        loaded.decide({"age": "old"})
    with pytest.raises(TypeError, match="cost= was given; expected reward="):
        loaded.learn_event(people[:1], 0, cost=0)
    for twin in (pickle.loads(pickle.dumps(bandit)), copy.deepcopy(bandit)):
        with pytest.raises(ValueError, match="have text for 'age', which was a number before"):
            twin.decide({"age": "old"})


def test_rewards_of_a_command_line_model_have_to_be_asked_for(tmp_path):
    log = write(tmp_path / "log", ["1:-1:0.5 |x 0:1\n"] * 20)
    ok("--cb_explore", 2, "--fastcb", "--cb_min_cost", -1, "--cb_max_cost", 0, "-d", log, "-f", tmp_path / "model")
    assert FastCB.load(tmp_path / "model").predict_cost([[1.0]])[0, 0] < -0.5
    assert FastCB.load(tmp_path / "model", rewards=True).predict_reward([[1.0]])[0, 0] > 0.5
    FastCB(2).save(tmp_path / "costs")
    with pytest.raises(ValueError, match="rewards is True, but the model was made by a learner of costs"):
        FastCB.load(tmp_path / "costs", rewards=True)


def test_a_model_of_other_namespaces_is_refused(tmp_path):
    log = write(tmp_path / "log", ["shared |User a\n0:0:0.5 |Action b\n|Action c\n\n"])
    ok("--cb_explore_adf", "--fastcb", "-q", "UA", "-d", log, "-f", tmp_path / "model")
    with pytest.raises(ValueError, match="with the namespace 'A'; expected 'x' for contexts and 'a'"):
        FastCB.load(tmp_path / "model")


def test_a_merged_model_keeps_its_note(tmp_path):
    shards = [FastCB(2, reward_range=(0, 5), seed=1).partial_fit([[1.0]], [i], [4]) for i in (0, 1)]
    with merge_models(None, [shard.to_workspace() for shard in shards]) as merged:
        merged.save(tmp_path / "merged")
    loaded = FastCB.load(tmp_path / "merged")
    assert loaded.reward_range == (0, 5)
    assert loaded.events_ == 2
    assert loaded._engine.salt == shards[0]._engine.salt


# Columns


@pytest.mark.parametrize("first_number", [True, False])
@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame, lambda columns: [{"age": age} for age in columns["age"]]])
def test_a_column_cannot_change_its_kind(form, first_number):
    numbers, words = form({"age": [20.0, 30.0]}), form({"age": ["20", "30"]})
    first, second = (numbers, words) if first_number else (words, numbers)
    bandit = FastCB(2).partial_fit(first, [0, 1], [0, 1])
    before = bandit.predict_proba(first)
    for use in (
        lambda: bandit.predict_proba(second),
        lambda: bandit.partial_fit(second, [0, 1], [0, 1]),
        lambda: bandit.decide(second[:1]),
        lambda: bandit.learn_event(second[:1], 0, 0.5),
    ):
        with pytest.raises(ValueError, match=r"for 'age', which was .* before; expected the same kind"):
            use()
    np.testing.assert_array_equal(bandit.predict_proba(first), before)
    assert bandit.events_ == 2


def test_rows_of_another_form_are_not_taken_for_others():
    """An array after names, or names after an array, would be decided by the constant alone."""
    named = FastCB(2).partial_fit([{"age": 0.3, "city": "Rome"}], [0], [0])
    for given in (np.ones(2), [0.3, 1.0], scipy.sparse.csr_matrix([[1.0, 2.0]])):
        with pytest.raises(ValueError, match=r"are an array of 2 columns|have 2 columns|without names"):
            named.decide(given)
    numbered = FastCB(2).partial_fit(np.ones((1, 3)), [0], [0])
    numbered.decide({"0": 1.0, 2: 0.5})
    for name in ("age", "3", "-1", "1.0", ""):
        with pytest.raises(ValueError, match=r"have the unknown columns .*; expected 3 columns, as before"):
            numbered.decide({name: 1.0})
    framed = FastCB(2).partial_fit(pd.DataFrame({"age": [1.0], "city": ["Rome"]}), [0], [0])
    framed.decide({"age": 1.0})
    with pytest.raises(
        ValueError, match=r"have the unknown columns \['size'\]; expected the columns \['age', 'city'\]"
    ):
        framed.decide({"age": 1.0, "size": 3})
    with pytest.raises(ValueError, match="have the unknown columns"):
        pickle.loads(pickle.dumps(framed)).decide({"age": 1.0, "size": 3})


def test_a_refused_row_does_not_fix_a_kind():
    bandit = FastCB(2)
    with pytest.raises(TypeError):
        bandit.decide({"age": "old", "size": [1]})
    with pytest.raises(ValueError):
        bandit.learn_event({"age": "old"}, 0, cost=7)
    bandit.decide({"age": 31})


def test_a_column_of_text_and_numbers_is_refused():
    with pytest.raises(TypeError, match=r"'age' of contexts has both text \('old'\) and numbers \(3\)"):
        FastCB(2).predict_proba(pd.DataFrame({"age": ["old", 3]}))


def test_whole_categories_stay_the_same_beside_missing_values():
    whole = pd.DataFrame({"shop": pd.Categorical([1, 2, 2])})
    gaps = pd.DataFrame({"shop": pd.Categorical([1.0, 2.0, np.nan])})
    assert str(gaps["shop"].cat.categories.dtype) == "float64"
    bandit = FastCB(2).partial_fit(whole, [0, 1, 1], [0, 0, 0])
    np.testing.assert_array_equal(bandit.predict_proba(gaps)[:2], bandit.predict_proba(whole)[:2])
    assert np.ptp(bandit.predict_proba(whole)[0]) > 0.1


@pytest.mark.parametrize(
    "form",
    [
        pd.DataFrame,
        pl.DataFrame,
        lambda columns: [{"age": age} for age in columns["age"]],
        lambda columns: np.array(columns["age"], dtype=float)[:, np.newaxis],
        lambda columns: scipy.sparse.csr_matrix(np.array(columns["age"], dtype=float)[:, np.newaxis]),
    ],
    ids=["pandas", "polars", "dictionaries", "array", "sparse"],
)
def test_a_missing_number_is_a_zero_or_marked(form):
    rows = form({"age": [0.0, None, 2.0]})
    marked = FastCB(2, missing="mark", learning_rate=2)
    for _ in range(10):
        marked.partial_fit(rows, [0, 1, 0], [0, 0, 0])
    assert marked.predict(rows).tolist()[1] == 1
    assert marked.predict(rows).tolist()[2] == 0
    if isinstance(rows, (np.ndarray, scipy.sparse.csr_matrix)):
        with pytest.raises(ValueError, match=r'which is not finite.*make the learner with missing="mark"'):
            FastCB(2).predict_proba(rows)
        return
    zero = FastCB(2).partial_fit(rows, [0, 1, 0], [0, 1, 0.5]).predict_proba(rows)
    np.testing.assert_array_equal(zero[0], zero[1])


@pytest.mark.parametrize("form", [lambda row: row, lambda row: scipy.sparse.csr_matrix(row[np.newaxis])])
@pytest.mark.parametrize("vw_args", ["", "--nn 2"])
@pytest.mark.parametrize("fixed", [True, False])
def test_a_decision_about_missing_values_teaches_what_the_rows_teach(form, vw_args, fixed):
    context, actions = np.array([1.0, np.nan, 2.0]), np.array([[np.nan, 1.0], [0.5, np.nan], [1.0, 2.0]])
    given = None if fixed else actions
    taught = []
    for way in range(3):
        bandit = FastCB(3 if fixed else None, missing="mark", seed=1, vw_args=vw_args)
        for cost in (0.0, 1.0, 0.5):
            decision = bandit.decide(form(context), given)
            if way == 0:
                bandit.learn(decision, cost)
            elif way == 1:
                logged = json.dumps(decision.to_dict(), allow_nan=False)
                bandit.learn(Decision.from_dict(json.loads(logged)), cost)
            else:
                bandit.learn_event(form(context), decision.action, cost, action_features=given)
        taught.append(bandit.decide(form(context), given).pmf.tolist())
    assert taught[0] == taught[1] == taught[2]


def test_the_marker_is_a_feature_of_text(tmp_path):
    bandit = FastCB(2, missing="mark").partial_fit([{"age": None}] * 5, [1] * 5, [0] * 5)
    np.testing.assert_allclose(bandit.to_workspace().predict("|x age=missing"), bandit.decide({"age": None}).pmf)
    assert bandit.predict([{"age": None}]).tolist() == [1]


def test_a_refused_first_call_leaves_the_learner_unused():
    bandit = FastCB(3)
    for refused in (
        lambda: bandit.decide([1.0], exclude=[9]),
        lambda: bandit.learn(None, 1),
        lambda: bandit.partial_fit(np.ones((2, 100_000)), [0, 9], [0, 1]),
        lambda: bandit.save(""),
    ):
        with pytest.raises((ValueError, TypeError)):
            refused()
    assert not bandit.__sklearn_is_fitted__()
    bandit.set_params(epsilon=0.1)
    bandit.decide(scipy.sparse.csr_matrix(([1.0], ([0], [3])), shape=(1, 300_000)))
    assert bandit._engine.learner.bits == 21


# Sizes


def test_the_table_of_weights_fits_the_first_rows():
    for width, actions, bits in ((20, 3, 18), (20_000, 20, 20), (2**24, 2, 24)):
        bandit = FastCB(actions)
        bandit.decide(scipy.sparse.csr_matrix(([1.0], ([0], [3])), shape=(1, width)))
        assert bandit.to_workspace().get_config()  # it runs
        assert pickle.loads(pickle.dumps(bandit))._engine.learner.bits == bits
    wide = FastCB()
    wide.decide(np.ones(500), np.ones((2, 300)))
    assert wide._engine.learner.bits == 20  # 500 x 300 products, hashed, with room between them


def test_columns_that_do_not_collide_are_told_apart():
    """20,000 columns x 20 actions: with 18 bits column 0 and column 8,192 would share their weights."""
    rows = scipy.sparse.csr_matrix(([1.0, 1.0], ([0, 1], [0, 8192])), shape=(2, 20_000))
    bandit = FastCB(20, learning_rate=2)
    for _ in range(20):
        bandit.partial_fit(rows, [3, 7], [0, 0])
    assert bandit.predict(rows).tolist() == [3, 7]


def test_features_that_do_not_fit_are_told():
    with pytest.warns(UserWarning, match=r"need about 640032 weights, and bits=18 has room for 262144.*bits=21"):
        FastCB(20, bits=18).decide(np.ones(20_000))
    words = [{f"word {i}": 1.0} for i in range(6000)]
    with pytest.warns(UserWarning, match=r"and bits=12 has room for 4096: some features share a weight"):
        FastCB(2, bits=12).predict_proba(words)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FastCB(2, bits=18).predict_proba(words)
        FastCB(20).decide(np.ones(20_000))


def test_columns_that_are_not_used_cost_nothing():
    rows = scipy.sparse.csr_matrix(([1.0], ([0], [2**24 - 1])), shape=(1, 2**24))
    code = """
import resource, time
import numpy as np, scipy.sparse
from vw_fastcb import FastCB
rows = scipy.sparse.csr_matrix(([1.0], ([0], [2**24 - 1])), shape=(1, 2**24))
bandit = FastCB(bits=18)
bandit.decide([1.0], [[1.0]])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
other = FastCB(bits=18)
start = time.process_time()
other.learn(other.decide(rows, rows), 0.5)
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    seconds, kilobytes = map(float, ran.stdout.split())
    assert seconds < 0.5  # 9 s with a list of names
    assert kilobytes < 40_000  # 1.3 GB
    assert rows.shape[1] == 2**24


# Probabilities


@pytest.mark.parametrize("n_actions", [7, None])
def test_a_pmf_is_one_for_numpy(n_actions):
    rng = np.random.default_rng(0)
    features = None if n_actions else rng.random((7, 3))
    bandit = FastCB(n_actions, learning_rate=3)
    for row in rng.random((300, 4)):
        decision = bandit.decide(row, features)
        assert decision.pmf.dtype == np.float64
        assert rng.choice(7, p=decision.pmf) in range(7)
        bandit.learn(decision, float(rng.random() < 0.1 * decision.action))
    tables = bandit.predict_proba(rng.random((200, 4)), features)
    np.testing.assert_allclose(tables.sum(axis=1), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("objective", ["loss", "reward"])
@pytest.mark.parametrize("allocation", ["reweighted", "igw"])
@pytest.mark.parametrize("n_actions", [5, None])
def test_excluded_actions_are_left_out_of_the_allocation(n_actions, allocation, objective):
    """What remains is the pmf of an event that never had them, and so is the epsilon of each."""
    rng = np.random.default_rng(1)
    features = rng.random((5, 3))
    given = None if n_actions else features
    params = {"allocation": allocation, "objective": objective, "epsilon": 0.1, "learning_rate": 2}
    bandit = FastCB(n_actions, **params)
    for row in rng.random((60, 4)):
        bandit.learn(bandit.decide(row, given), float(rng.random()))
    row = rng.random(4)
    whole = bandit.decide(row, given)
    some = bandit.decide(row, given, exclude=[1, 3])
    rest = [0, 2, 4]
    assert some.pmf[[1, 3]].tolist() == [0, 0]
    assert some.action in rest
    np.testing.assert_array_equal(some.predicted, whole.predicted)
    assert not np.allclose(some.pmf[rest], whole.pmf[rest] / whole.pmf[rest].sum(), atol=1e-4)
    assert some.pmf[rest].min() >= 0.1 / 3 - 1e-9
    if n_actions is None:
        np.testing.assert_array_equal(some.pmf[rest], bandit.decide(row, features[rest]).pmf)
    single = bandit.decide(row, given, exclude=[0, 1, 2, 3])
    assert single.pmf.tolist() == [0, 0, 0, 0, 1]
    for exclude in ([1, 3], [[1, 3]], np.array([[False, True, False, True, False]])):
        np.testing.assert_array_equal(bandit.predict_proba([row], given, exclude=exclude)[0], some.pmf)
        assert bandit.decide_many([row], given, exclude=exclude).actions[0] in rest
        assert bandit.predict([row], given, exclude=exclude)[0] in rest
    with pytest.raises(ValueError, match="exclude leaves no action of event 0"):
        bandit.predict_proba([row], given, exclude=range(5))


def test_excluded_actions_have_names():
    bandit = FastCB(action_names=["politics", "sports", "music"])
    decision = bandit.decide(CONTEXT, exclude=["sports", "music"])
    assert (decision.action, decision.name, decision.probability) == (0, "politics", 1)
    with pytest.raises(ValueError, match=r"action 'chess' is unknown; expected one of \['politics'"):
        bandit.decide(CONTEXT, exclude=["chess"])


# Decisions as records

ROWS = {
    "array": (np.array([0.5, 2.0]), np.eye(3, 2)),
    "sparse": (scipy.sparse.csr_matrix([[0.5, 2.0]]), scipy.sparse.csr_matrix(np.eye(3, 2))),
    "dictionaries": (
        {"age": 31, "city": "Rome", "tip": None, "new": True},
        [{"price": 2.5}, {"price": 3}, {"kind": "free"}],
    ),
    "numpy values": (
        {"age": np.float32(31), "n": np.int8(2), "gap": np.nan},
        [{"price": np.float64(i)} for i in range(3)],
    ),
    "frames": (
        pd.DataFrame({"age": [31.5], "city": ["Rome"]}),
        pd.DataFrame({"price": [1.0, 2.0, 3.0], "kind": list("aba")}),
    ),
    "polars": (pl.DataFrame({"age": [31.5], "city": ["Rome"]}), pl.DataFrame({"price": [1.0, 2.0, 3.0]})),
    "series": (pd.Series({"age": 31.5, "city": "Rome"}), [{"price": 1.0}, {"price": 2.0}, {}]),
}


@pytest.mark.parametrize("fixed", [True, False], ids=["fixed", "features"])
@pytest.mark.parametrize("name", ROWS)
def test_a_decision_goes_through_json_and_teaches_any_learner(name, fixed, tmp_path):
    context, features = ROWS[name]
    given = None if fixed else features
    here = FastCB(3 if fixed else None, seed=1)
    decision = here.decide(context, given, event_id="e1")
    logged = json.loads(json.dumps(decision.to_dict(), allow_nan=False))
    again = Decision.from_dict(logged)
    assert (again.action, again.probability, again.event_id) == (decision.action, decision.probability, "e1")
    np.testing.assert_array_equal(again.pmf, decision.pmf)
    models = []
    for number, one in enumerate((decision, again, pickle.loads(pickle.dumps(decision)))):
        bandit = FastCB(3 if fixed else None, seed=1)
        bandit.decide(context, given)
        bandit.learn(one, 0.25)
        bandit.save(tmp_path / str(number))
        models.append(bandit.decide(context, given).pmf.tolist())
    assert models[0] == models[1] == models[2]
    other = FastCB(3 if fixed else None, bits=20, vw_args="--coin --hash_seed 5")
    other.learn(again, 0.25)
    assert other.events_ == 1


def test_what_is_logged_can_be_read():
    bandit = FastCB(action_names=["politics", "sports"], seed=2)
    logged = bandit.decide({"age": np.float32(31), "city": "Rome", "tip": np.nan}).to_dict()
    assert logged["context"] == {"age": 31, "city": "Rome", "tip": None}
    assert logged["name"] == ["politics", "sports"][logged["action"]]
    assert FastCB(2).decide(np.array([0.5, 0.0])).to_dict()["context"] == [0.5, 0.0]
    sparse = scipy.sparse.csr_matrix(([0.5], ([0], [17])), shape=(1, 20))
    assert FastCB(2).decide(sparse).to_dict()["context"] == {"17": 0.5}


def test_a_dictionary_that_is_no_decision_is_refused():
    good = FastCB(2).decide([1.0]).to_dict()
    for name in ("action", "probability", "pmf", "context"):
        with pytest.raises(ValueError, match=f"the dictionary has no '{name}'"):
            Decision.from_dict({key: value for key, value in good.items() if key != name})
    for wrong in ({"pmf": [None, None]}, {"probability": "x"}, {"probability": 0}):
        with pytest.raises(ValueError, match="expected"):
            Decision.from_dict({**good, **wrong})
    for no_dictionary in (None, json.dumps(good)):
        with pytest.raises(TypeError, match=r"expected the dictionary that Decision\.to_dict made"):
            Decision.from_dict(no_dictionary)
    for wrong, cases in {
        "pmf": (
            ("half", "pmf is 'half'; expected numbers"),
            (["0.5", "0.5"], "pmf is .*; expected numbers"),
            (0.5, r"pmf is 0\.5; expected a list of probabilities that sum to 1"),
            (None, "pmf is None; expected a list of probabilities"),
            ([], r"pmf is \[\]; expected a list of probabilities"),
            ([[0.5, 0.5]], "expected a list of probabilities"),
            ([0.5, 0.4], r"pmf is \[0\.5, 0\.4\]; expected a list of probabilities that sum to 1"),
            ([0.5, 10**400], "pmf is .*; expected numbers"),
        ),
        "predicted": (
            ("x", "predicted is 'x'; expected numbers"),
            (None, "predicted is None; expected 2 numbers"),
            ([0.5], r"predicted is \[0\.5\]; expected 2 numbers, one for each action"),
            ({"a": 1}, "predicted is {'a': 1}; expected numbers"),
        ),
        "gamma": (("ten", "gamma is 'ten'; expected a number"), ([1], "gamma is"), (True, "gamma is True")),
        "event_id": (
            ([1], r"event_id is \[1\]; expected text, a whole number, or None"),
            (1.5, "event_id is"),
            (True, "event_id is True"),
        ),
        "name": ((3, "name is 3; expected the text"),),
        "action": (
            ("left", "action is 'left'; expected a whole number"),
            (None, "action is None; expected a whole number"),
            (True, "action is True; expected a whole number"),
            (-1, "action -1 is unknown; expected 0 to 1"),
        ),
        "probability": ((True, "probability is True; expected a number"),),
    }.items():
        for value, words in cases:
            with pytest.raises(ValueError, match=words):
                Decision.from_dict({**good, wrong: value})
    for name in ("gamma", "predicted", "event_id", "name"):  # what learning does not need may be left out
        Decision.from_dict({key: value for key, value in good.items() if key != name})
    bandit = FastCB(action_names=["left", "right"])
    bandit.learn(Decision.from_dict({**good, "name": "left", "action": 0}), 0.5)
    with pytest.raises(ValueError, match="calls action 0 'up'; expected 'left'"):
        bandit.learn(Decision.from_dict({**good, "name": "up", "action": 0}), 0.5)
    with pytest.raises(ValueError, match="the decision has 2 actions; expected 3"):
        FastCB(3).learn(Decision.from_dict(good), 0.5)
    decision = bandit.decide([1.0])
    for action in (-1, 2, None, 1.0, True):
        with pytest.raises(ValueError, match="action"):
            bandit.learn(dataclasses.replace(decision, action=action), 0.5)
    with pytest.raises(ValueError, match="action 7 is unknown"):
        FastCB(2).learn(Decision.from_dict({**good, "action": 7}), 0.5)


@pytest.mark.parametrize("vw_args", ["", "--nn 2"])
@pytest.mark.parametrize("fixed", [True, False], ids=["fixed", "features"])
@pytest.mark.parametrize("name", ["array", "sparse", "dictionaries", "frames", "polars"])
def test_many_decisions_are_learned_at_once_or_one_by_one(name, fixed, vw_args):
    context, features = ROWS[name]
    if isinstance(context, dict):
        contexts = [context] * 4
    elif isinstance(context, pd.DataFrame):
        contexts = pd.concat([context] * 4)
    elif isinstance(context, pl.DataFrame):
        contexts = pl.concat([context] * 4)
    else:
        dense = np.tile(context if isinstance(context, np.ndarray) else context.toarray()[0], (4, 1))
        contexts = dense if name == "array" else scipy.sparse.csr_matrix(dense)
    given = None if fixed else features
    bandits = [FastCB(3 if fixed else None, seed=1, vw_args=vw_args) for _ in range(3)]
    costs = [0.0, 1.0, 0.5, 0.25]
    decisions = [bandit.decide_many(contexts, given, event_ids=list("abcd")) for bandit in bandits]
    assert isinstance(decisions[0], Decisions)
    assert len(decisions[0]) == 4
    bandits[0].learn(decisions[0], costs)
    bandits[1].learn(pickle.loads(pickle.dumps(decisions[1])), cost=costs, sample_weight=[1, 1, 1, 1])
    for decision, cost in zip(decisions[2], costs, strict=True):
        bandits[2].learn(decision, cost)
    pmfs = [bandit.predict_proba(contexts, given).tolist() for bandit in bandits]
    assert pmfs[0] == pmfs[1] == pmfs[2]
    assert [one.event_id for one in decisions[0]] == list("abcd")
    assert decisions[0][-1].action == decisions[0].actions[3]
    with pytest.raises(IndexError):
        decisions[0][4]


def test_decisions_of_another_kind_are_refused():
    decisions = FastCB(2, vw_args="--hash_seed 3").decide_many([[1.0]])
    with pytest.raises(ValueError, match=r"the decision was made by a learner with 2 fixed actions.*hash_seed 3"):
        FastCB(2).learn(decisions, [0.5])


def test_names_of_actions_can_be_used_everywhere():
    names = ["politics", "sports", "music"]
    by_name, by_number = FastCB(action_names=names, seed=1), FastCB(3, seed=1)
    rows = np.eye(3)
    by_name.partial_fit(rows, names, [0, 1, 0])
    by_number.partial_fit(rows, [0, 1, 2], [0, 1, 0])
    by_name.learn_event(rows[0], "music", 1)
    by_number.learn_event(rows[0], 2, 1)
    np.testing.assert_array_equal(by_name.predict_proba(rows), by_number.predict_proba(rows))
    decisions = by_name.decide_many(rows)
    assert decisions.names == [names[action] for action in decisions.actions]
    runs = by_name.simulate(np.repeat(rows, 50, axis=0), np.repeat(names, 50), n_shuffles=3)
    frame = runs.to_frame()
    assert set(frame["name"]) == set(names)
    assert frame.groupby("run")["cost"].mean().tolist() == runs.progressive[:, -1].tolist()


# Simulations


def test_a_simulation_is_a_table_and_a_picture(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    contexts = np.random.default_rng(0).random((300, 3))
    runs = FastCB(3, learning_rate=3, seed=0).simulate(contexts, contexts.argmax(axis=1), n_shuffles=5)
    frame = runs.to_frame()
    assert frame.columns.tolist() == ["run", "round", "row", "action", "probability", "cost", "progressive"]
    assert len(frame) == 1500
    last = runs.progressive[:, -1]
    assert runs.mean[-1] == pytest.approx(last.mean())
    assert runs.standard_error[-1] == pytest.approx(last.std(ddof=1) / np.sqrt(5))
    axes = runs.plot(label="FastCB")
    assert axes.get_ylabel() == "mean cost so far"
    axes.figure.savefig(tmp_path / "runs.png")
    assert (tmp_path / "runs.png").stat().st_size > 5000
    single = FastCB(3).simulate(contexts, contexts.argmax(axis=1))
    assert np.isnan(single.standard_error).all()
    matplotlib.pyplot.close("all")


# scikit-learn


def test_it_is_the_last_step_of_a_fitted_pipeline():
    rng = np.random.default_rng(0)
    rows = rng.normal(50, 10, size=(200, 3))
    right = rows.argmax(axis=1)
    scaler = StandardScaler().fit(rows)
    bandit = FastCB(3)
    for _ in range(5):
        for other in range(3):
            bandit.partial_fit(scaler.transform(rows), (right + other) % 3, np.full(200, float(other > 0)))
    pipeline = Pipeline([("scale", scaler), ("bandit", bandit)])
    assert (pipeline.predict(rows) == right).mean() > 0.8
    assert pipeline.predict_proba(rows).shape == (200, 3)
    again = FastCB(3, learning_rate=2).fit(scaler.transform(rows), right, np.zeros(200))
    assert again.fit(scaler.transform(rows), right, np.zeros(200)).events_ == 200
    assert bandit.n_features_in_ == 3
    with pytest.raises(AttributeError, match="contexts were arrays"):
        _ = bandit.feature_names_in_
    with pytest.raises(AttributeError, match="n_features_in_ is not known yet"):
        _ = FastCB(3).n_features_in_


# Files


def test_a_model_is_written_through_links_and_never_over_a_device(tmp_path):
    bandit = FastCB(2)
    (tmp_path / "link").symlink_to(tmp_path / "model")
    bandit.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert FastCB.load(tmp_path / "model").n_actions == 2
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for path, message in (
        (tmp_path / "folder", "it is a folder. Give the name of a file"),
        (tmp_path / "pipe", "it is not a regular file"),
    ):
        with pytest.raises(RuntimeError, match=f"the model could not be saved to .*{message}"):
            bandit.save(path)
    for path in ("", "x\0y"):
        with pytest.raises(ValueError, match="expected the name of a file"):
            bandit.save(path)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*; make it first"):
        bandit.save(tmp_path / "none" / "model")
    with pytest.raises(RuntimeError, match="could not be saved"):
        bandit.save(tmp_path / "model" / "below a file")
    with pytest.raises(FileNotFoundError, match="there is no model file"):
        FastCB.load(tmp_path / "none")
    with pytest.raises(OSError, match="is a folder; expected a model file"):
        FastCB.load(tmp_path / "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link", "model", "pipe"]


def test_a_model_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    code = f"""
import resource
from vw_fastcb import FastCB
bandit = FastCB(2).partial_fit([[float(i)] * 50 for i in range(1, 3)], [0, 1], [0, 1])
bandit.save({str(tmp_path / "model")!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    bandit.save({str(tmp_path / "model")!r})
except (RuntimeError, OSError) as problem:
    print("refused")
"""
    before = None
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "refused", before
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert FastCB.load(tmp_path / "model").events_ == 2


def test_file_names_may_be_of_any_bytes(tmp_path):
    path = os.fsencode(tmp_path) + b"/model-\xff"
    FastCB(2).save(os.fsdecode(path))
    assert FastCB.load(os.fsdecode(path)).n_actions == 2


# Flags that VW does not keep

FORGOTTEN = ["--l1 0.01", "--l2 0.01", "--ftrl --ftrl_alpha 0.5 --ftrl_beta 2", "-q xx --permutations"]


@pytest.mark.parametrize("flags", FORGOTTEN)
def test_flags_that_vw_does_not_keep_come_back_with_the_model(flags, tmp_path):
    rng = np.random.default_rng(0)
    rows, actions, costs = rng.random((200, 4)), rng.integers(3, size=200), rng.random(200)
    whole = FastCB(3, vw_args=flags).partial_fit(rows, actions, costs)
    half = FastCB(3, vw_args=flags).partial_fit(rows[:100], actions[:100], costs[:100])
    half.save(tmp_path / "half")
    for resumed in (FastCB.load(tmp_path / "half"), pickle.loads(pickle.dumps(half))):
        assert resumed.vw_args == flags
        resumed.partial_fit(rows[100:], actions[100:], costs[100:])
        np.testing.assert_array_equal(resumed.predict_proba(rows), whole.predict_proba(rows))


@pytest.mark.parametrize(
    "flags", ["--pid_file x", "--audit_regressor x", "-l3", "-imodel", "-pfile", "--holdout_after 3"]
)
def test_flags_that_would_do_something_else_are_refused(flags):
    with pytest.raises(ValueError, match="vw_args has -"):
        FastCB(3, vw_args=flags).decide([1.0])


# What a hostile user found


def test_names_and_numbers_of_actions_are_not_mixed_up():
    names = FastCB(action_names=["1", "2", "0"]).partial_fit([[1.0], [1.0]], [1, "0"], [0, 0])
    assert names.predict_cost([[1.0]])[0].argmax() == 0  # of actions 1 and 2 something good was learned
    own = ["a", "b"]
    bandit = FastCB(action_names=own)
    bandit.decide([1.0])
    own.reverse()
    assert pickle.loads(pickle.dumps(bandit)).decide([1.0], exclude=["a"]).action == 1


def test_decisions_with_odd_numbers_go_through_json():
    decision = FastCB(2).decide([1.0], event_id=np.int64(5))
    assert json.loads(json.dumps(decision.to_dict()))["event_id"] == 5
    wild = FastCB(2, gamma_exponent=200).partial_fit([[1.0]] * 200, [0] * 200, [0] * 200).decide([1.0])
    assert json.loads(json.dumps(wild.to_dict(), allow_nan=False))["gamma"] is None
    neural = FastCB(vw_args="--nn 2", seed=1)
    neural.learn(neural.decide([1.0], scipy.sparse.csr_matrix(np.eye(3))), 0.5)
    assert neural.events_ == 1


def test_a_loaded_model_takes_the_ends_of_its_range(tmp_path):
    edge = FastCB(2, cost_range=(0, 0.001257302210933933)).partial_fit([[1.0]], [0], [0.001257302210933933])
    edge.save(tmp_path / "model")
    FastCB.load(tmp_path / "model").learn_event([1.0], 0, 0.001257302210933933)


def test_a_list_of_series_is_read_by_name():
    people = pd.DataFrame({"age": [31.0, 20.0], "city": ["Rome", "Oslo"]})
    bandit = FastCB(2).partial_fit(people, [0, 1], [0, 1])
    rows = [people.iloc[0], people.iloc[1]]
    np.testing.assert_array_equal(bandit.predict_proba(rows), bandit.predict_proba(people))


def test_small_tables_warn_too():
    with pytest.warns(UserWarning, match="some features share a weight"):
        FastCB(2, bits=8).predict_proba([{f"word {i}": 1.0} for i in range(3000)])


def test_what_is_no_model_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="is not a regular file; expected a model file"):
        FastCB.load(tmp_path / "pipe")
    (tmp_path / "text").write_text("no model")
    with pytest.raises(RuntimeError, match="text' cannot be read as a model"):
        FastCB.load(tmp_path / "text")


HASH_ALL = [lambda rows: rows, scipy.sparse.csr_matrix, lambda rows: [dict(enumerate(row)) for row in rows.tolist()]]


@pytest.mark.parametrize("form", HASH_ALL)
def test_every_form_is_read_alike_with_hash_all(form):
    rows = np.random.default_rng(0).random((50, 6)).astype(np.float32)
    first, other = (FastCB(3, vw_args="--hash all") for _ in range(2))
    first.partial_fit(pd.DataFrame(rows), [0, 1] * 25, [0, 1] * 25)
    other.partial_fit(form(rows), [0, 1] * 25, [0, 1] * 25)
    np.testing.assert_array_equal(other.predict_proba(form(rows)), first.predict_proba(pd.DataFrame(rows)))


# Small things


def test_low_ones():
    assert repr(FastCB(2, cost_range=np.array([0, 2]))) == "FastCB(n_actions=2, cost_range=array([0, 2]))"
    FastCB(2, cost_range=np.array([0, 2])).learn_event([1.0], 0, 1.5)
    third = FastCB(2, learning_rate=Fraction(1, 3), gamma_scale=np.float32(7)).partial_fit([[1.0]], [0], [1])
    same = FastCB(2, learning_rate=1 / 3, gamma_scale=7).partial_fit([[1.0]], [0], [1])
    np.testing.assert_array_equal(third.predict_proba([[1.0]]), same.predict_proba([[1.0]]))
    minus = FastCB(2, cost_range=(-0.0, 1)).partial_fit([[1.0]], [0], [-0.0])
    with pytest.raises(ValueError, match=r"is outside \[0\.0, 1\.0\]"):
        minus.learn_event([1.0], 0, 2)

    class Mine(FastCB):
        def __init__(self, *args, note="", **kw):
            super().__init__(*args, **kw)
            self.note = note

    mine = Mine(3, epsilon=0.1, note="x")
    assert mine.get_params()["epsilon"] == 0.1
    assert mine.get_params()["note"] == "x"
    assert "kw" not in mine.get_params()
    assert mine.set_params(epsilon=0.2).epsilon == 0.2


@pytest.mark.parametrize("vw_args", ["", "--nn 2"])
@pytest.mark.parametrize("n_actions", [3, None])
def test_empty_batches_have_shapes(n_actions, vw_args):
    bandit = FastCB(n_actions, vw_args=vw_args)
    features = None if n_actions else np.ones((3, 2))
    empty = np.ones((0, 4))
    assert bandit.predict(empty, features).shape == (0,)
    assert bandit.predict_proba(empty, features).shape == (0, 3)
    assert bandit.predict_cost(empty, features).shape == (0, 3)
    assert len(bandit.decide_many(empty, features)) == 0
    bandit.partial_fit(empty, [], [], action_features=features)
    bandit.learn(bandit.decide_many(empty, features), [])
    if n_actions is None:
        assert bandit.predict_proba(empty, []) == []
        bandit.partial_fit(empty, [], [], action_features=[])
    assert bandit.events_ == 0


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: FastCB(2).decide({"\ud800": 1.0}), "half of a surrogate pair"),
        (lambda: FastCB(2).decide({"city": "\ud800"}), "half of a surrogate pair"),
        (lambda: FastCB(2).decide({"n": 10**400}), "which is infinite in float32"),
        (lambda: FastCB(2).decide({"when": np.datetime64("2020-01-01", "ns")}), "expected a number, a string"),
        (lambda: FastCB(2).decide({"how long": np.timedelta64(3, "s")}), "expected a number, a string"),
        (lambda: FastCB(2).partial_fit([{"a": 1.0}, {"a": [2]}], [0, 1], [0, 1]), "row 1 of contexts: the feature 'a'"),
        (lambda: FastCB(2).partial_fit([[1.0]] * 3, [0, 1, 0], [0, 5, 0]), r"cost 5\.0 of event 1 is outside"),
        (lambda: FastCB(2).learn_event([1.0], 0, 10**400), "cost|costs"),
        (lambda: FastCB(2, seed=2**64).decide([1.0]), "seed is 18446744073709551616; expected a whole number"),
        (lambda: FastCB(2, reward_range=(0, 1)).predict_cost([[1.0]]), "predicts rewards; expected predict_reward"),
        (lambda: FastCB(2).predict_reward([[1.0]]), "predicts costs; expected predict_cost"),
    ],
)
def test_errors_are_sentences(use, message):
    with pytest.raises((ValueError, TypeError), match=message):
        use()


def test_closing_while_another_thread_starts_leaves_it_closed():
    for _ in range(30):
        bandit = FastCB(2)
        outcomes = []

        def first(bandit=bandit, outcomes=outcomes):
            try:
                bandit.decide([1.0])
            except ValueError as problem:
                outcomes.append(str(problem))

        thread = threading.Thread(target=first)
        thread.start()
        time.sleep(0.0005)
        bandit.close()
        thread.join()
        assert all("was closed" in outcome for outcome in outcomes)
        with pytest.raises(ValueError, match="was closed"):
            bandit.decide([1.0])


def test_a_workspace_of_a_learner_saves_its_note(tmp_path):
    bandit = FastCB(2, reward_range=(0, 5)).partial_fit(pd.DataFrame({"age": [1.0]}), [0], [4])
    bandit.to_workspace().save(str(tmp_path / "model"))
    loaded = FastCB.load(tmp_path / "model")
    assert loaded.reward_range == (0, 5)
    assert loaded.feature_names_in_.tolist() == ["age"]
    with Workspace(f"-i {tmp_path / 'model'} --quiet") as vw:
        assert len(vw.predict("|x age:1")) == 2
