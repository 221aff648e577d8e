"""A model of fixed actions is made ready for more: it is the model that had room for them from the start."""

from __future__ import annotations

import numpy as np
import pytest

from vw_fastcb import FastCB
from vw_fastcb._engine import ArrayLearner, with_more_actions
from vw_fastcb.learner import engine
from vw_fastcb.learner.fastcb import DEFAULTS

pytestmark = pytest.mark.filterwarnings("ignore:the features seen so far")
QUIET = ["--quiet", "--no_stdin"]
COUNTS = [(3, 4), (3, 3), (1, 2), (1, 9), (4, 5), (5, 40)]
REGRESSORS = [
    "",
    "--coin",
    "--ftrl",
    "--pistol",
    "--sgd",
    "--normalized",
    "--interactions xx",
    "--cubic xxx",
    "--noconstant",
    "--hash all",
    "--fastcb_objective reward --cb_min_cost -2 --gamma_scale 7 --epsilon 0.1",
]


def room(actions: int) -> int:
    """The bits of the numbers of so many actions."""
    return (actions - 1).bit_length()


def learner(actions: int, bits: int, flags: str = "") -> ArrayLearner:
    return ArrayLearner(["--cb_explore", str(actions), "--fastcb", "-b", str(bits), *flags.split(), *QUIET])


def teach(learner: ArrayLearner, actions: int, seed: int = 0) -> ArrayLearner:
    """Words enough that many share a weight."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        row = {f"w{word}": float(rng.random()) for word in rng.integers(300, size=4)}
        action, cost = int(rng.integers(actions)), float(rng.random())
        learner.learn_one({**row, "color": "rgb"[rng.integers(3)]}, None, action, cost, 1.0, False)
    return learner


@pytest.mark.parametrize(("before", "after"), COUNTS)
@pytest.mark.parametrize("flags", REGRESSORS)
def test_the_model_is_that_of_a_learner_that_had_room_from_the_start(before: int, after: int, flags: str) -> None:
    bits = 8
    small = teach(learner(before, bits, flags), before)
    large = teach(learner(after, bits + room(after) - room(before), flags), before)
    grown = with_more_actions(small.model(), after, "")
    assert grown == large.model()
    # And learning goes on, of old actions as before.
    loaded = ArrayLearner([*QUIET, "--preserve_performance_counters"], grown)
    for one in (small, loaded):
        teach(one, before, seed=1)
    for word in range(0, 300, 7):
        row = {f"w{word}": 0.5, "color": "r"}
        predicted = small.decide(row, None, None, 0.5)[3]
        np.testing.assert_array_equal(loaded.decide(row, None, None, 0.5)[3][:before], predicted)
    teach(large, before, seed=1)
    for one in (large, loaded):
        teach(one, after, seed=2)
    assert loaded.model() == large.model()


@pytest.mark.parametrize("flags", ["--random_weights", "--initial_weight 0.3", "--initial_t 5"])
def test_new_actions_begin_at_zero(flags: str) -> None:
    grown = ArrayLearner(QUIET, with_more_actions(teach(learner(3, 10, flags), 3).model(), 5, ""))
    predicted = grown.decide({"w1": 1.0, "color": "g"}, None, None, 0.5)[3]
    assert predicted[3:].tolist() == [0.5, 0.5]
    assert 0.5 not in predicted[:3]


def test_a_learner_goes_on_with_more_actions() -> None:
    bandit = FastCB(action_names=["a", "b", "c"], seed=1, reward_range=(0, 5), vw_args="--l2 0.001")
    bandit.partial_fit(np.eye(3), ["a", "b", "c"], [1, 2, 3])
    assert bandit._engine is not None
    names = ["a", "b", "c", "d", "e"]
    grown = engine.read_model(engine.with_more_actions(bandit._engine.model(), 5, names), DEFAULTS)
    assert grown.params["action_names"] == names
    assert grown.params["n_actions"] == 5
    assert grown.params["bits"] == 19
    more = FastCB(**grown.params)
    more._engine = engine.Engine.of_model(grown, more._settings(), None)
    np.testing.assert_array_equal(more.predict_reward(np.eye(3))[:, :3], bandit.predict_reward(np.eye(3)))
    more.learn_event([1.0, 0.0, 0.0], "e", 5)
    assert more.predict([[1.0, 0.0, 0.0]]).tolist() == [4]
    assert more.n_features_in_ == 3
    assert more._engine.salt == bandit._engine.salt


def test_what_cannot_have_more_actions_says_so() -> None:
    with pytest.raises(ValueError, match="the model has 3 actions; expected at least as many, not 2"):
        with_more_actions(learner(3, 8).model(), 2, "")
    for flags, name in (("--nn 2", "nn"), ("--freegrad", "freegrad"), ("--lrq xx2", "lrq")):
        with pytest.raises(ValueError, match=f"made with VW's '{name}', which keeps more than weights"):
            with_more_actions(teach(learner(3, 8, flags), 3).model(), 4, "")
    with pytest.raises(ValueError, match="the model's actions have features"):
        with_more_actions(ArrayLearner(["--cb_explore_adf", "--fastcb", "-b", "8", *QUIET]).model(), 4, "")
    with pytest.raises(ValueError, match=r"would need 2\^39 weights"):
        with_more_actions(learner(1, 8).model(), 2**31, "")
    with pytest.raises(RuntimeError, match="damaged"):
        with_more_actions(learner(3, 8).model()[:-1], 4, "")


def test_names_are_those_of_the_model_and_new_ones() -> None:
    named = FastCB(action_names=["a", "b"], bits=8).partial_fit([[1.0]], ["a"], [0.5])
    plain = FastCB(2, bits=8).partial_fit([[1.0]], [0], [0.5])
    assert named._engine is not None
    assert plain._engine is not None
    for names in (["b", "a", "c"], ["a", "b"], ["a", "b", "b"], ["a", "c", "d"]):
        with pytest.raises(ValueError, match=r"expected 3 names that begin with \['a', 'b'\]"):
            engine.with_more_actions(named._engine.model(), 3, names)
    with pytest.raises(ValueError, match="action_names is None; expected names, as in the model"):
        engine.with_more_actions(named._engine.model(), 3)
    with pytest.raises(ValueError, match="expected None, as in the model"):
        engine.with_more_actions(plain._engine.model(), 3, ["a", "b", "c"])
