"""`Bandit`: any oracle under FastCB, SquareCB or greedy, with the manners of `FastCB`."""

from __future__ import annotations

import copy
import doctest
import importlib
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import vw_fastcb
from vw_fastcb import Bandit, Decision, FastCB, allocation
from vw_fastcb.bandit import _pick
from vw_fastcb.oracles import Ball, FiniteClass, Logistic

FUNCTIONS = np.random.default_rng(0).uniform(0.02, 0.98, (12, 6, 4))


class Fixed:
    """Predicts its context, and remembers what it is taught."""

    def __init__(self):
        self.learned = []

    def predict(self, context):
        return np.asarray(context, dtype=float)

    def learn(self, context, action, loss, weight=1.0):
        self.learned.append((np.asarray(context).tolist(), action, loss, weight))


class AsGiven(Fixed):
    """Predicts whatever its context is."""

    def predict(self, context):
        return context


def finite(**settings) -> Bandit:
    return Bandit(FiniteClass(FUNCTIONS), 4, **{"seed": 1, **settings})


# Deciding


@pytest.mark.parametrize(
    ("rule", "objective", "expected"),
    [
        ("fastcb", "loss", lambda y: allocation.reweighted_igw(y, 30)),
        ("fastcb", "reward", lambda y: allocation.reweighted_igw_rewards(y, 30)),
        ("fastcb", "both", lambda y: allocation.reweighted_igw_both(y, 30)),
        ("squarecb", "loss", lambda y: allocation.igw(y, 30)),
        ("squarecb", "reward", lambda y: allocation.igw(1 - y, 30)),
        ("greedy", "loss", lambda y: np.eye(3)[y.argmin()]),
        ("greedy", "reward", lambda y: np.eye(3)[y.argmax()]),
    ],
)
def test_each_rule_is_its_allocation(rule, objective, expected):
    y = np.array([0.3, 0.2, 0.7])
    bandit = Bandit(Fixed(), 3, rule=rule, objective=objective, gamma_scale=30, gamma_exponent=0)
    decision = bandit.decide(y)
    np.testing.assert_array_equal(decision.pmf, expected(y))
    assert decision.gamma == (np.inf if rule == "greedy" else 30)
    np.testing.assert_allclose(decision.predicted, 1 - y if objective == "reward" else y)
    assert bandit.predict([y]) == [2 if objective == "reward" else 1]
    np.testing.assert_array_equal(bandit.predict_proba([y])[0], decision.pmf)


def test_gamma_grows_with_the_events_that_were_learned():
    bandit = Bandit(Fixed(), 2, gamma_scale=8, gamma_exponent=0.5)
    np.testing.assert_array_equal(bandit.decide([0.1, 0.9]).pmf, [0.5, 0.5])
    for _ in range(4):
        bandit.learn(bandit.decide([0.1, 0.9]), 0.5)
    assert bandit.gamma == bandit.decide([0.1, 0.9]).gamma == 16
    assert Bandit(Fixed(), 2).gamma == 0


def test_draws_follow_the_pmf_and_ids_fix_them():
    bandit = Bandit(Fixed(), 3, seed=3, gamma_scale=5, gamma_exponent=0)
    decisions = [bandit.decide([0.3, 0.2, 0.0]) for _ in range(50)]
    assert {one.action for one in decisions} == {2}  # a loss of 0 leaves nothing to the others
    y = [0.3, 0.2, 0.25]
    drawn = np.bincount([bandit.decide(y).action for _ in range(3000)], minlength=3) / 3000
    np.testing.assert_allclose(drawn, bandit.decide(y).pmf, atol=0.03)
    with_ids = [bandit.decide(y, event_id=f"visit-{i}").action for i in range(40)]
    assert [bandit.decide(y, event_id=f"visit-{i}").action for i in range(40)] == with_ids
    assert [Bandit(Fixed(), 3, seed=3, gamma_scale=5, gamma_exponent=0).decide(y, event_id=f"visit-{i}").action
            for i in range(40)] == with_ids  # fmt: skip
    assert len(set(with_ids)) == 3


def test_excluded_actions_are_never_drawn_and_the_others_share():
    bandit = Bandit(Fixed(), action_names=["a", "b", "c"], gamma_scale=5, gamma_exponent=0, epsilon=0.1)
    y = np.array([0.1, 0.2, 0.3])
    decision = bandit.decide(y, exclude=["a"])
    plain = allocation.reweighted_igw(y[1:], 5)
    np.testing.assert_allclose(decision.pmf, [0, *plain])
    assert decision.name in ("b", "c")
    with pytest.raises(ValueError, match="exclude leaves no action; expected at least one"):
        bandit.decide(y, exclude=[0, 1, 2])
    with pytest.raises(ValueError, match="action 'd' is unknown"):
        bandit.decide(y, exclude=["d"])
    with pytest.raises(ValueError, match="exclude has the action 5; expected actions from 0 to 2"):
        Bandit(Fixed()).decide(y, exclude=[5])


def test_epsilon_is_a_floor():
    bandit = Bandit(Fixed(), 4, rule="greedy", epsilon=0.2)
    np.testing.assert_allclose(bandit.decide([0.1, 0.2, 0.3, 0.4]).pmf, [0.85, 0.05, 0.05, 0.05])


def test_epsilon_is_a_floor_of_the_actions_that_are_left():
    bandit = Bandit(Fixed(), 4, rule="greedy", epsilon=0.3)
    np.testing.assert_allclose(bandit.decide([0.1, 0.2, 0.3, 0.4], exclude=[1]).pmf, [0.8, 0, 0.1, 0.1])


def test_a_draw_picks_the_action_in_whose_stretch_it_is():
    """Stretches begin with their first number: a draw of 0 is never an action without a probability."""
    pmf = np.array([0.0, 0.25, 0.0, 0.5, 0.25, 0.0])
    picked = {0.0: 1, 0.2499: 1, 0.25: 3, 0.7499: 3, 0.75: 4, 1 - 2**-53: 4}
    assert {draw: _pick(pmf, draw) for draw in picked} == picked
    assert _pick(pmf * (1 - 1e-12), 1 - 2**-53) == 4  # what rounding leaves


@pytest.mark.parametrize("unit", [{"cost_range": (0.1, 0.7)}, {"reward_range": (-0.3, 0.9)}, {"cost_range": (-5, 1e9)}])
@pytest.mark.parametrize("objective", ["loss", "reward", "both"])
def test_the_ends_of_a_range_are_0_and_1_to_the_oracle(unit, objective):
    ((noun, ends),) = unit.items()
    bandit = Bandit(Fixed(), 2, **unit, objective=objective)
    for end in ends:
        bandit.learn_event([0.5, 0.5], 0, **{noun.removesuffix("_range"): end})
    learned = [loss for _, _, loss, _ in bandit.oracle_.learned]
    is_upward = (noun == "reward_range") == (objective == "reward")
    assert learned == ([0.0, 1.0] if is_upward else [1.0, 0.0])


def test_a_bandit_on_the_engines_oracle_decides_as_fastcb():
    settings = {"gamma_scale": 20, "gamma_exponent": 0.5, "seed": 4, "reward_range": (0, 5)}
    learner, bandit = FastCB(3, **settings), Bandit(Logistic(3), 3, **settings)
    rng = np.random.default_rng(0)
    for t in range(60):
        context = rng.normal(size=3)
        theirs, ours = learner.decide(context, event_id=t), bandit.decide(context, event_id=t)
        assert theirs.action == ours.action
        np.testing.assert_allclose(ours.pmf, theirs.pmf, rtol=1e-5)
        np.testing.assert_allclose(ours.predicted, theirs.predicted, rtol=1e-5)
        reward = float(rng.integers(6))
        learner.learn(theirs, reward=reward)
        bandit.learn(ours, reward=reward)


# Learning


def test_costs_and_rewards_reach_the_oracle_in_its_own_range():
    cases = [
        ({"cost_range": (0, 10)}, {"cost": 2}, 0.2),
        ({"cost_range": (0, 10), "objective": "reward"}, {"cost": 2}, 0.8),
        ({"reward_range": (-1, 1)}, {"reward": 0.5}, 0.25),
        ({"reward_range": (-1, 1), "objective": "reward"}, {"reward": 0.5}, 0.75),
        ({"reward_range": (0, 1), "objective": "reward"}, {"reward": 0.1}, 0.1),
    ]
    for settings, value, expected in cases:
        bandit = Bandit(Fixed(), 2, **settings)
        decision = bandit.decide([0.25, 0.75])
        bandit.learn(decision, **value, sample_weight=3)
        assert bandit.oracle_.learned == [([0.25, 0.75], decision.action, expected, 3.0)]
        offset = settings.get("cost_range", settings.get("reward_range"))
        assert offset[0] <= decision.predicted.min() <= decision.predicted.max() <= offset[1]


def test_the_oracle_that_was_given_stays_as_it_was():
    oracle = Fixed()
    bandit = Bandit(oracle, 2)
    bandit.learn_event([0.5, 0.5], 1, 0.5)
    assert oracle.learned == []
    assert len(bandit.oracle_.learned) == bandit.events_ == 1


def test_a_decision_keeps_its_context_when_the_caller_changes_his():
    bandit = Bandit(Fixed(), 2)
    context = np.array([0.25, 0.75])
    nested = [context.tolist()[0], 0.75]
    first, second = bandit.decide(context), bandit.decide(nested)
    context[:] = 0
    nested[0] = 1
    bandit.learn(first, 0)
    bandit.learn(second, 0)
    assert [one[0] for one in bandit.oracle_.learned] == [[0.25, 0.75], [0.25, 0.75]]


def test_a_decision_can_be_logged_as_json_and_learned_by_a_bandit_of_the_same_kind():
    bandit = Bandit(Ball(2), action_names=["a", "b"], seed=0)
    decision = bandit.decide([[0.5, 0.5], [0.0, -0.5]])
    logged = Decision.from_dict(json.loads(json.dumps(decision.to_dict())))
    twin = Bandit(Ball(2), action_names=["a", "b"], seed=0)
    bandit.learn(decision, 0.3)
    twin.learn(logged, 0.3)
    np.testing.assert_array_equal(twin.oracle_.weights, bandit.oracle_.weights)
    with pytest.raises(ValueError, match="the decision was made by a learner with 2 fixed actions called a, b"):
        Bandit(Ball(2), 2).learn(decision, 0.3)
    with pytest.raises(ValueError, match="the decision calls action"):
        Bandit(Ball(2), action_names=["c", "d"]).learn(logged, 0.3)
    with pytest.raises(ValueError, match="the decision has 2 actions; expected 3"):
        Bandit(Ball(2), 3).learn(logged, 0.3)
    with pytest.raises(TypeError, match=r"the decision's features are a tuple; expected numbers.*Pickle the decision"):
        Bandit(Logistic(), seed=0).decide(({"a": 1}, [{"b": 1}])).to_dict()
    number = finite(seed=0)
    logged = Decision.from_dict(json.loads(json.dumps(number.decide(5).to_dict())))
    number.learn(logged, 1)
    assert number.events_ == 1


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda b, d: b.learn(d, 1.5), ValueError, r"cost 1.5 is outside \[0.0, 1.0\]"),
        (lambda b, d: b.learn(d, float("nan")), ValueError, "cost nan is outside"),
        (lambda b, d: b.learn(d), TypeError, "no cost was given; expected one"),
        (lambda b, d: b.learn(d, 0.5, cost=0.5), TypeError, "more than one cost was given"),
        (lambda b, d: b.learn(d, reward=0.5), TypeError, "reward= was given; expected cost="),
        (lambda b, d: b.learn("x", 0.5), TypeError, "learn was given 'str'; expected a decision"),
        (lambda b, d: b.learn(d, 0.5, sample_weight=-1), ValueError, "sample_weight is"),
        (lambda b, d: b.learn(d, 0.5, sample_weight=1e300), ValueError, "sample_weight is"),
        (lambda b, d: b.learn_event(0, 4, 0.5), ValueError, "action 4 is unknown; expected 0 to 3"),
        (lambda b, d: b.learn_event(0, "x", 0.5), ValueError, "action 'x' is a name"),
        (lambda b, d: b.learn_event(9, 0, 0.5), ValueError, "the context is 9"),
        (lambda b, d: b.decide(9), ValueError, "the context is 9"),
        (lambda b, d: b.decide(0, event_id=0.5), TypeError, "event_id is 0.5"),
        (lambda b, d: b.decide(0, exclude="0"), TypeError, "exclude is '0'"),
        (lambda b, d: b.simulate([0], [[0.5] * 3]), ValueError, "have shape"),
        (lambda b, d: b.simulate([0], [4]), ValueError, "target 4"),
        (lambda b, d: b.simulate(3, [1]), TypeError, "contexts are of type int"),
        (lambda b, d: b.simulate([0, 1], [1, 1], n_shuffles=0), ValueError, "n_shuffles is 0"),
    ],
)
def test_what_is_refused_leaves_no_trace(call, error, message):
    bandit, twin = finite(), finite()
    decisions = [one.decide(2) for one in (bandit, twin)]
    for one, decision in zip((bandit, twin), decisions, strict=True):
        one.learn(decision, 0.2)
    with pytest.raises(error, match=message):
        call(bandit, decisions[0])
    assert bandit.events_ == twin.events_
    for t in range(5):
        ours, theirs = bandit.decide(t), twin.decide(t)
        assert ours.action == theirs.action
        np.testing.assert_array_equal(ours.pmf, theirs.pmf)
        bandit.learn(ours, 0.5)
        twin.learn(theirs, 0.5)


def test_predictions_of_a_foreign_oracle_are_checked():
    bandit = Bandit(Fixed(), 2)
    for wrong in ([0.5, 1.5], [0.5, np.nan], [-0.1, 0.5]):
        with pytest.raises(ValueError, match=r"the oracle Fixed predicted .*; expected numbers in \[0, 1\]"):
            bandit.decide(wrong)
    for wrong in ([0.5], [], [[0.5, 0.5]], 0.5):
        with pytest.raises(ValueError, match=r"predicted an array of shape .*; expected \(2,\)"):
            bandit.decide(wrong)
    bandit = Bandit(AsGiven(), 2)
    for wrong in ("text", [[0.5], [0.5, 0.5]], {"a": 0.5}, [10**400, 0.5], [0.5j, 0.5]):
        with pytest.raises(TypeError, match=r"what the oracle AsGiven predicted cannot be read as an array of numbers"):
            bandit.decide(wrong)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"rule": "ucb"}, ValueError, "rule is 'ucb'; expected one of 'fastcb', 'squarecb', 'greedy'"),
        ({"objective": "profit"}, ValueError, "objective is 'profit'"),
        ({"n_actions": 0}, ValueError, "n_actions is 0"),
        ({"gamma_scale": -1}, ValueError, "gamma_scale is -1"),
        ({"epsilon": 2}, ValueError, "epsilon is 2"),
        ({"seed": -1}, ValueError, "seed is -1"),
        ({"cost_range": (1, 0)}, ValueError, "cost_range is"),
        ({"cost_range": (0, 1), "reward_range": (0, 1)}, ValueError, "both given"),
        ({"oracle": object()}, TypeError, "expected an object with the methods predict"),
        ({"oracle": Fixed}, TypeError, "expected an object with the methods predict"),
    ],
)
def test_bad_parameters_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        Bandit(**{"oracle": Fixed(), **settings})


# Simulating


def test_simulation_is_repeatable_and_leaves_the_bandit_alone():
    contexts = np.random.default_rng(0).integers(6, size=300)
    bandit = finite(seed=None)
    bandit.learn_event(0, 1, 0.5)
    before = bandit.oracle_.weights
    runs = bandit.simulate(contexts, FUNCTIONS[3][contexts], n_shuffles=3, seed=7)
    again = bandit.simulate(contexts, FUNCTIONS[3][contexts], n_shuffles=3, seed=7, n_jobs=2)
    for name in ("costs", "actions", "probabilities", "order"):
        np.testing.assert_array_equal(getattr(runs, name), getattr(again, name))
    np.testing.assert_array_equal(bandit.oracle_.weights, before)
    np.testing.assert_array_equal(runs.costs, FUNCTIONS[3][contexts[runs.order], runs.actions])
    assert runs.mean[-1] < FUNCTIONS.mean() - 0.1
    assert bandit.events_ == 1


def test_a_simulation_begins_with_the_oracle_as_it_was_given():
    contexts = np.random.default_rng(0).integers(6, size=80)
    costs = FUNCTIONS[3][contexts]
    expected = finite(seed=1).simulate(contexts, costs)
    taught = finite(seed=1)
    for context in contexts:
        taught.learn_event(context, 0, FUNCTIONS[7][context, 0])
    runs = taught.simulate(contexts, costs)
    np.testing.assert_array_equal(runs.actions, expected.actions)
    np.testing.assert_array_equal(runs.probabilities, expected.probabilities)


def test_a_simulation_is_the_game_of_decide_and_learn():
    contexts = np.random.default_rng(0).integers(6, size=80)
    costs = FUNCTIONS[3][contexts]
    runs = finite().simulate(contexts, costs)
    bandit = finite()
    for t, context in enumerate(contexts):
        pmf = bandit.predict_proba([context])[0]
        assert pmf[runs.actions[0, t]] == runs.probabilities[0, t]
        bandit.learn_event(context, runs.actions[0, t], costs[t, runs.actions[0, t]])


def test_right_actions_costs_and_rewards_say_the_same():
    contexts = np.random.default_rng(0).integers(6, size=60)
    labels = contexts % 4
    by_label, by_cost = (finite().simulate(contexts, targets) for targets in (labels, 1 - np.eye(4)[labels]))
    np.testing.assert_array_equal(by_label.costs, by_cost.costs)
    rewards = finite(reward_range=(0, 1)).simulate(contexts, np.eye(4)[labels])
    np.testing.assert_array_equal(rewards.rewards, 1 - by_cost.costs)
    names = finite(action_names=list("abcd")).simulate(contexts, [list("abcd")[one] for one in labels])
    np.testing.assert_array_equal(names.costs, by_cost.costs)
    assert list(names.to_frame()["name"][:3]) == ["abcd"[one] for one in names.actions[0, :3]]


def test_contexts_may_differ_in_their_actions_and_come_in_any_table():
    bandit = Bandit(Fixed(), seed=0, gamma_scale=1e9, gamma_exponent=0)
    contexts = [[0.1, 0.5], [0.5, 0.2, 0.9], [0.3]]
    runs = bandit.simulate(contexts, contexts)
    np.testing.assert_array_equal(runs.actions, [[0, 1, 0]])
    assert [len(pmf) for pmf in bandit.predict_proba(contexts)] == [2, 3, 1]
    with pytest.raises(ValueError, match="the number of actions is not known"):
        bandit.simulate(contexts, [0, 1, 0])
    with pytest.raises(ValueError, match="the oracle predicts 2 actions in context 0; expected 3"):
        bandit.simulate([[0.1, 0.5]], [[0.1, 0.5, 0.5]])
    table = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    labels = table.argmax(axis=1)
    forms = [table, table.tolist(), pd.DataFrame(table, columns=["0", "1", "2"]), scipy.sparse.csr_matrix(table)]
    runs = [Bandit(Logistic(3), 3, seed=2).simulate(form, labels) for form in forms]
    for other in runs[1:]:
        np.testing.assert_array_equal(other.actions, runs[0].actions)


def test_no_contexts_have_a_table_without_rows():
    assert finite().predict_proba(np.zeros((0, 2))).shape == (0, 4)


def test_greedy_shares_between_equal_actions_as_its_help_says():
    pmf = Bandit(Fixed(), 4, rule="greedy").decide([0.2, 0.5, 0.2, 0.2]).pmf
    np.testing.assert_allclose(pmf, [0.5, 0, 0.25, 0.25])


def test_no_rounds_are_a_simulation_too():
    assert finite().simulate([], np.zeros((0, 4))).costs.shape == (1, 0)
    assert finite().simulate([], []).costs.shape == (1, 0)


def test_fastcb_finds_the_best_function_and_greedy_may_not():
    # The first action looks good at once, to a learner who never tries the other.
    functions = np.array([[[0.3, 0.5]], [[0.3, 0.02]]])
    contexts = np.zeros(1000, dtype=int)
    costs = (np.random.default_rng(0).random((1000, 2)) < functions[1, 0]).astype(float)
    prior = [0.95, 0.05]
    means = {
        rule: Bandit(FiniteClass(functions, prior=prior), 2, rule=rule, gamma_scale=20, gamma_exponent=0)
        .simulate(contexts, costs, seed=0)
        .mean[-1]
        for rule in ("fastcb", "squarecb", "greedy")
    }
    assert means["fastcb"] < 0.06
    assert means["squarecb"] < 0.1
    assert means["greedy"] > 0.25


# Files


def test_saved_and_loaded_it_goes_on_as_if_nothing_had_been(tmp_path):
    bandit = finite(reward_range=(0, 2), rule="squarecb", objective="reward", epsilon=0.1, gamma_exponent=0.3)
    for t in range(30):
        bandit.learn(bandit.decide(t % 6), reward=t % 3)
    bandit.save(tmp_path / "bandit.pickle")
    loaded = Bandit.load(tmp_path / "bandit.pickle", seed=9)
    assert os.listdir(tmp_path) == ["bandit.pickle"]
    assert loaded.events_ == bandit.events_ == 30
    for t in range(30):
        ours, theirs = (one.decide(t % 6, event_id=t) for one in (bandit, loaded))
        assert ours.action == theirs.action
        np.testing.assert_array_equal(ours.pmf, theirs.pmf)
        bandit.learn(ours, reward=t % 3)
        loaded.learn(theirs, reward=t % 3)
    contexts = np.arange(6)
    runs = [one.simulate(contexts, 2 * FUNCTIONS[0], seed=0).actions for one in (bandit, loaded)]
    np.testing.assert_array_equal(*runs)
    said = [repr(one).partition(", n_actions=4")[2] for one in (bandit, loaded)]
    assert said[0].replace("seed=1", "seed=9") == said[1] != ""


def test_copies_and_pickles_go_on_with_the_same_draws():
    bandit = finite()
    bandit.learn(bandit.decide(3), 0.5)
    for other in (copy.deepcopy(bandit), pickle.loads(pickle.dumps(bandit))):
        twin = copy.deepcopy(bandit)
        assert [other.decide(2).action for _ in range(20)] == [twin.decide(2).action for _ in range(20)]


def test_a_damaged_or_foreign_file_is_refused_before_it_is_unpickled(tmp_path):
    path = tmp_path / "bandit.pickle"
    finite().save(path)
    whole = path.read_bytes()
    for cut in (0, 5, 20, 40, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(RuntimeError, match="cannot be read as a bandit"):
            Bandit.load(path)
    for place in (25, 60, len(whole) - 2):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(RuntimeError, match="damaged or cut short"):
            Bandit.load(path)

    class Trap:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "trapped"),))

    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(RuntimeError, match="was not written by"):
        Bandit.load(path)
    assert not (tmp_path / "trapped").exists()
    with pytest.raises(FileNotFoundError, match="there is no model file"):
        Bandit.load(tmp_path / "none")
    with pytest.raises(OSError, match="is a folder"):
        Bandit.load(tmp_path)
    with pytest.raises(TypeError, match="expected the path of a file"):
        Bandit.load(3)


def test_a_file_that_cannot_be_written_is_an_error_and_leaves_the_old_one(tmp_path):
    path = tmp_path / "bandit.pickle"
    bandit = finite()
    bandit.save(path)
    before = path.read_bytes()
    with pytest.raises(RuntimeError, match=r"the oracle cannot be pickled: .* Functions have to be defined at the top"):
        Bandit(FiniteClass([lambda x: [0.5]])).save(path)
    assert path.read_bytes() == before
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        bandit.save(tmp_path / "none" / "bandit.pickle")
    with pytest.raises(RuntimeError, match="is a folder"):
        bandit.save(tmp_path)
    for wrong in ("", "\0", "\ud800"):
        with pytest.raises(ValueError, match="expected the name of a file"):
            bandit.save(wrong)
    for wrong in (None, 3):
        with pytest.raises(TypeError, match=f"the path is {wrong}; expected the name of a file"):
            bandit.save(wrong)
    bandit.save(os.fsencode(path))
    assert Bandit.load(os.fsencode(path)).events_ == 0
    link = tmp_path / "link"
    link.symlink_to(path)
    bandit.learn_event(0, 0, 0.5)
    bandit.save(link)
    assert link.is_symlink()
    assert Bandit.load(path).events_ == 1


# The package


def test_the_package_has_them_and_does_not_load_them_before_they_are_asked_for():
    code = """
import sys, vw_fastcb
assert not any(name.startswith(("vw_fastcb.oracles", "vw_fastcb.bandit")) for name in sys.modules)
assert {"Bandit", "oracles"} <= set(dir(vw_fastcb)) & set(vw_fastcb.__all__)
assert vw_fastcb.oracles.FiniteClass and vw_fastcb.Bandit
assert "sklearn" not in sys.modules and "scipy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    assert vw_fastcb.Bandit is Bandit


@pytest.mark.parametrize("module", ["bandit", *(f"oracles.{one}" for one in
                         ("barrier", "classifier", "features", "finite", "logistic", "protocol"))])  # fmt: skip
def test_examples_in_docstrings(module):
    result = doctest.testmod(importlib.import_module(f"vw_fastcb.{module}"))
    assert result.attempted > 0
    assert result.failed == 0
