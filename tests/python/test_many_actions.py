"""Many actions with features: what they cost in memory, and that learning looks at the chosen one alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from vw_fastcb import FastCB, Workspace

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "speed" / "many_actions.py"
MB = 2**20


# "--coin" goes through a VW example, of which there must be one, not one for each action.
@pytest.mark.parametrize(("form", "flags"), [("float64", ""), ("sparse 40", ""), ("float64", "--coin")])
def test_a_hundred_thousand_actions_take_little_memory(form, flags):
    command = [sys.executable, BENCHMARK, "--remember", "100000", form, f" {flags}"]
    printed = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    before, after, highest = map(int, printed.split())
    assert (after - before) / 100_000 <= 128
    assert highest < 300 * MB


def whole_numbers(rng, shape):
    return rng.integers(0, 4, size=shape).astype(np.float64)


def line(space, row):
    return f"|{space} " + " ".join(f"{j}:{value}" for j, value in enumerate(row) if value)


# The second pairs a namespace with itself, which the scorer of spans leaves to VW.
@pytest.mark.parametrize("interactions", [("xa",), ("xa", "aa"), ()], ids=str)
@pytest.mark.parametrize("vw_args", ["", "--noconstant", "--ignore x", "--nn 2", "--l2 0.001"])
def test_a_thousand_actions_get_the_probabilities_that_text_gives(interactions, vw_args):
    rng = np.random.default_rng(1)
    contexts, actions = whole_numbers(rng, (5, 6)), whole_numbers(rng, (1000, 5))
    bandit = FastCB(interactions=interactions, vw_args=vw_args, learning_rate=0.1)
    words = [word for word in bandit._settings().arguments() if word != "--no_stdin"]
    with Workspace(arg_list=words) as vw:
        for i, context in enumerate(contexts):
            lines = [f"shared {line('x', context)}", *(line("a", row) for row in actions)]
            decision = bandit.decide(context, actions)
            np.testing.assert_array_equal(decision.pmf.astype(np.float32), np.float32(vw.predict(lines)))
            np.testing.assert_array_equal(bandit.predict_proba(contexts[i : i + 1], actions)[0], decision.pmf)
            chosen = i * 77 % 1000
            lines[1 + chosen] = f"0:{i % 2}:0.5 {lines[1 + chosen]}"
            vw.learn(lines)
            bandit.learn_event(context, chosen, i % 2, action_features=actions)
    assert np.ptp(decision.pmf) > 0


def forms(actions):
    """The same features in each form that is taken in one call."""
    return {
        "array": actions,
        "single precision": actions.astype(np.float32),
        "columns first": np.asfortranarray(actions),
        "sparse": scipy.sparse.csr_matrix(actions),
        "sparse array": scipy.sparse.csr_array(actions),
        "dictionaries": [{str(j): x for j, x in enumerate(row)} for row in actions],
    }


@pytest.mark.parametrize("form", forms(np.ones((1, 1))))
def test_learning_looks_at_the_chosen_action_alone(form, tmp_path):
    rng = np.random.default_rng(2)
    context, actions = rng.random(3), whole_numbers(rng, (40, 6))
    others = whole_numbers(rng, (40, 6))
    others[7] = actions[7]
    saved = []
    for number, given in enumerate((actions, others)):
        bandit = FastCB(oracle="gd", seed=1)
        bandit.decide(context, forms(actions)[form])
        bandit.learn_event(context, 7, 0.25, action_features=forms(given)[form])
        bandit.save(tmp_path / f"{number}")
        saved.append((tmp_path / f"{number}").read_bytes())
    assert saved[0] == saved[1]


@pytest.mark.parametrize("form", forms(np.ones((1, 1))))
def test_every_form_learns_the_same_directly_and_from_a_decision(form, tmp_path):
    rng = np.random.default_rng(3)
    context, actions = rng.random(3), whole_numbers(rng, (40, 6))
    expected, directly, decided = FastCB(seed=4), FastCB(seed=4), FastCB(seed=4)
    for bandit in (expected, directly, decided):
        bandit.decide(context, actions)
    for i in range(30):
        given = forms(actions)[form]
        decision = decided.decide(context, given)
        decided.learn(decision, i % 2)
        directly.learn_event(context, decision.action, i % 2, action_features=given)
        expected.partial_fit([context], [decision.action], [i % 2], action_features=actions)
    np.testing.assert_array_equal(
        directly.predict_proba([context], actions), expected.predict_proba([context], actions)
    )
    np.testing.assert_array_equal(decided.predict_proba([context], actions), expected.predict_proba([context], actions))


@pytest.mark.parametrize("vw_args", ["", "--nn 2"])  # the second is changed by scoring: it needs all actions
@pytest.mark.parametrize("kind", ["array", "list"])
def test_batches_learn_the_same_from_sets_of_each_event(kind, vw_args, tmp_path):
    rng = np.random.default_rng(7)
    contexts, sets = rng.random((30, 3)), whole_numbers(rng, (30, 8, 6))
    chosen, costs = rng.integers(8, size=30), rng.random(30)
    given = sets if kind == "array" else list(sets)
    one, batch = FastCB(vw_args=vw_args), FastCB(vw_args=vw_args)
    batch.partial_fit(contexts, chosen, costs, action_features=given)
    for i in range(30):
        one.learn_event(contexts[i], chosen[i], costs[i], action_features=sets[i])
    expected = one.predict_proba(contexts, sets)
    np.testing.assert_array_equal(batch.predict_proba(contexts, given), expected)
    assert np.ptp(expected) > 0
    spoiled = sets.copy()
    spoiled[3, chosen[3], 2] = np.inf
    with pytest.raises(ValueError, match=r"inf in row \d+, column 2"):
        batch.partial_fit(contexts, chosen, costs, action_features=spoiled if kind == "array" else list(spoiled))
    np.testing.assert_array_equal(batch.predict_proba(contexts, given), expected)


@pytest.mark.parametrize("form", forms(np.ones((1, 1))))
@pytest.mark.parametrize("action", [40, -1])
def test_an_action_that_is_not_there_is_refused(form, action):
    rng = np.random.default_rng(5)
    context, actions = rng.random(3), whole_numbers(rng, (40, 6))
    bandit = FastCB()
    before = bandit.decide(context, actions).pmf
    with pytest.raises(ValueError, match="action"):
        bandit.learn_event(context, action, 0.5, action_features=forms(actions)[form])
    np.testing.assert_array_equal(bandit.decide(context, actions).pmf, before)
    assert bandit.events_ == 0


def test_a_flag_that_stands_above_fastcb_is_refused_by_name():
    with pytest.raises(RuntimeError, match="'explore_eval' above FastCB"):
        FastCB(vw_args="--explore_eval").decide([1.0], [[1.0], [2.0]])
