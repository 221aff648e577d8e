"""What drives a prediction: contributions that add up to it, under the names that users gave."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from vw_fastcb import FastCB

SHOP = [{"topic": "politics", "price": 3.0}, {"topic": "sports"}, {"topic": "music", "price": 0.5}]
WIDE = {"user": "Tom", "hour": 900.0, "age": None}  # far from what was seen, and with a value that is missing


def context(rng):
    return {"user": str(rng.choice(["Tom", "Anna", "Li"])), "hour": float(rng.normal(12, 4)), "age": 1.0}


def taught(events=200, features=None, noun="cost", **settings):
    rng = np.random.default_rng(5)
    bandit = FastCB(seed=3, **settings)
    for _ in range(events):
        seen = context(rng)
        decision = bandit.decide(seen, features)
        bandit.learn(decision, **{noun: float(rng.random() < (0.2, 0.5, 0.8)[decision.action])})
    return bandit


def logits_of(predictions, value_range=(0.0, 1.0)):
    low, high = value_range
    unit = (np.asarray(predictions).ravel() - low) / (high - low)
    return np.log(unit / (1 - unit))


@pytest.mark.parametrize("oracle", ["newton", "gd"])
@pytest.mark.parametrize("interactions", [None, ["xx"], ["xxx"]])
@pytest.mark.parametrize("row", [{"user": "Tom", "hour": 9.0}, WIDE, {}], ids=["usual", "far away", "empty"])
def test_contributions_add_up_to_the_logit_of_fixed_actions(oracle, interactions, row):
    bandit = taught(n_actions=3, oracle=oracle, interactions=interactions, missing="mark")
    explained = bandit.explain(row)
    assert np.array_equal(explained.logits, explained.intercepts + explained.contributions.sum(axis=0))
    costs = bandit.predict_cost([row])[0]
    np.testing.assert_allclose(explained.predictions, costs, rtol=1e-6)
    told = np.abs(explained.logits) < 15  # a cost that is nearly 0 or 1 does not tell its logit
    np.testing.assert_allclose(explained.logits[told], logits_of(costs[told]), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("oracle", ["newton", "gd"])
@pytest.mark.parametrize("interactions", [None, [], ["xa", "aa"]])
def test_contributions_add_up_where_actions_have_features(oracle, interactions):
    bandit = taught(features=SHOP, oracle=oracle, interactions=interactions)
    row = {"user": "Anna", "hour": 13.0}
    explained = bandit.explain(row, SHOP)
    np.testing.assert_allclose(explained.logits, logits_of(bandit.predict_cost([row], [SHOP])), rtol=2e-6, atol=2e-6)
    frame = explained.to_frame()
    sums = frame.groupby("action")["contribution"].sum()
    np.testing.assert_allclose(sums[["0", "1", "2"]], explained.logits, rtol=1e-12)
    of_sports = set(frame[frame["action"] == "1"]["feature"])
    assert {"action.topic=sports", "user=Anna", "hour", "intercept"} <= of_sports
    assert not any("price" in name for name in of_sports)
    assert ("user=Anna * action.topic=sports" in of_sports) == (interactions != [])


@pytest.mark.parametrize("objective", ["loss", "reward", "both"])
def test_rewards_are_explained_as_rewards(objective):
    bandit = taught(n_actions=3, noun="reward", reward_range=(0, 10), objective=objective)
    row = {"user": "Li", "hour": 3.0}
    explained = bandit.explain(row)
    rewards = bandit.predict_reward([row])[0]
    np.testing.assert_allclose(explained.predictions, rewards, rtol=1e-6)
    np.testing.assert_allclose(explained.logits, logits_of(rewards, (0, 10)), rtol=5e-6, atol=5e-6)
    assert explained.noun == "reward"


def test_a_contribution_is_what_leaving_the_feature_out_changes():
    bandit = taught(n_actions=3, oracle="newton")
    explained = bandit.explain({"user": "Tom", "hour": 9.0})
    without = bandit.explain({"hour": 9.0})
    changed = explained.logits - without.logits
    np.testing.assert_allclose(explained.contributions[explained.features.index("user=Tom")], changed, rtol=1e-9)
    assert np.abs(changed).max() > 0.01


def test_every_form_of_a_row_is_named():
    rng = np.random.default_rng(0)
    arrays = FastCB(2, seed=1)
    for _ in range(50):
        decision = arrays.decide(rng.random(3))
        arrays.learn(decision, cost=float(decision.action))
    row = np.array([0.5, 0.0, 2.0])
    named = [
        arrays.explain(form).features for form in (row, row.tolist(), sp.csr_matrix(row[None]), {"0": 0.5, "2": 2})
    ]
    assert named == [("0", "2")] * 4
    assert arrays.weights().features == ("0", "1", "2")

    frame = pd.DataFrame({"user": ["Tom", "Li"] * 20, "hour": np.arange(40.0)})
    frames = FastCB(2, seed=1)
    frames.partial_fit(frame, [0, 1] * 20, [0.0, 1.0] * 20)
    assert set(frames.explain(frame.iloc[[1]]).features) == {"user=Li", "hour"}
    assert frames.weights().features == ("hour",)
    table = frames.weights(frame).to_frame()
    assert list(table.columns) == ["0", "1"]
    assert set(table.index) == {"user=Li", "user=Tom", "hour", "intercept"}
    assert table.loc["user=Tom", "0"] != 0


def test_weights_are_those_that_contributions_are_made_of():
    bandit = taught(n_actions=3, oracle="gd")
    row = {"user": "Tom", "hour": 9.0}
    explained, table = bandit.explain(row), bandit.weights([row]).to_frame()
    for name, value, contribution in zip(explained.features, explained.values, explained.contributions, strict=True):
        np.testing.assert_allclose(table.loc[name] * value, contribution, rtol=1e-12)
    shop = taught(features=SHOP)
    weights = shop.weights([row, row], SHOP)
    assert weights.actions == ("all",)
    assert "hour * action.price" in weights.features


def test_features_that_share_a_weight_are_told_as_one():
    bandit = FastCB(2, bits=2, seed=1)  # so few weights that some features must share one
    row = {f"word{i}": 1.0 for i in range(9)}
    with pytest.warns(UserWarning, match="share a weight"):
        bandit.learn_event(row, 1, cost=1.0)
    bandit.learn_event(row, 0, cost=0.0)
    explained = bandit.explain(row)
    np.testing.assert_allclose(explained.predictions, bandit.predict_cost([row])[0], rtol=1e-6)
    assert any(" + " in name for name in explained.features)


@pytest.mark.parametrize("settings", [{"n_actions": 3}, {"n_actions": 3, "oracle": "gd"}, {"features": SHOP}])
def test_explaining_changes_nothing(settings):
    features = settings.get("features")
    bandit, twin = taught(**settings), taught(**settings)
    before = bandit.to_bytes()
    for _ in range(3):
        bandit.explain({"user": "somebody new", "weather": "wet"}, features)
        bandit.weights([{"other": 3.0}], features)
        bandit.weights()
    assert bandit.to_bytes() == before
    rng = np.random.default_rng(9)
    for _ in range(20):
        seen = context(rng)
        ours, theirs = bandit.decide(seen, features), twin.decide(seen, features)
        assert (ours.action, ours.probability) == (theirs.action, theirs.probability)
        bandit.learn(ours, cost=0.5)
        twin.learn(theirs, cost=0.5)
    assert bandit.to_bytes() == twin.to_bytes()


def test_a_learner_that_was_never_used_stays_so():
    bandit = FastCB(2)
    assert bandit.explain([1.0, 2.0]).predictions.tolist() == [0.5, 0.5]
    bandit.explain([1.0, 2.0, 3.0])  # another width: nothing was fixed
    assert not bandit.__sklearn_is_fitted__()


def test_what_is_no_sum_is_refused():
    with pytest.raises(RuntimeError, match="adds up weights"):
        FastCB(2, oracle="gd", vw_args="--nn 2").explain([1.0])


def test_an_explanation_reads_well_and_can_be_drawn(tmp_path):
    bandit = taught(noun="reward", action_names=["politics", "sports", "music"], reward_range=(0, 1))
    explained = bandit.explain({"user": "Tom", "hour": 9.0})
    shown = repr(explained).splitlines()
    assert shown[0].split() == ["politics", "sports", "music"]
    assert shown[-1].startswith("predicted reward")
    assert any(line.startswith("user=Tom") for line in shown)
    dollars = bandit.explain({"user": r"$\frac{$ from $5 to $10"}).plot("sports")
    dollars.savefig(tmp_path / "dollars.png")  # no mathematics, which this would be a bad piece of
    explained.plot().savefig(tmp_path / "all.png")
    explained.plot("sports").savefig(tmp_path / "one.png")
    bandit.weights([{"user": "Tom"}, {"user": "Li"}]).plot().savefig(tmp_path / "weights.png")
    assert "user=Li" in repr(bandit.weights([{"user": "Li"}]))
    with pytest.raises(ValueError, match="expected one of"):
        explained.plot("film")
