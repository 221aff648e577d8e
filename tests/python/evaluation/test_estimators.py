"""Estimates of a policy's value equal those of VW's own library, and valid intervals hold."""

from __future__ import annotations

import doctest
import json
import math
import warnings
from importlib import import_module
from statistics import NormalDist

import numpy as np
import pytest
from estimators.bandits import cressieread
from estimators.bandits import gaussian as vw_gaussian
from estimators.bandits import ips as vw_ips
from estimators.bandits import snips as vw_snips

from vw_fastcb.evaluation import WEIGHT_BOUNDS, AnytimeInterval, DoublyRobustTally, dr, ips, mass_beyond, replay, snips


def random_log(seed: int, n: int = 1500, actions: int = 4):
    """Rewards, logged pmfs, pmfs of a policy, and actions. Rewards are rarer for higher actions."""
    rng = np.random.default_rng(seed)
    logged, policy = (rng.dirichlet(np.full(actions, 2.0), n) + 0.05 for _ in range(2))
    logged /= logged.sum(axis=1, keepdims=True)
    policy /= policy.sum(axis=1, keepdims=True)
    drawn = (logged.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
    rewards = (rng.random(n) < 0.6 / (1 + drawn)).astype(float)
    return rewards, logged, policy, drawn


def chosen(pmf, actions):
    return pmf[np.arange(len(actions)), actions]


@pytest.mark.parametrize("seed", range(5))
def test_point_estimates_and_asymptotic_intervals_equal_those_of_vw_estimators(seed):
    rewards, logged, policy, actions = random_log(seed)
    p, pi = chosen(logged, actions), chosen(policy, actions)
    theirs = {"ips": vw_ips.Estimator(), "snips": vw_snips.Estimator()}
    intervals = {"gaussian": vw_gaussian.Interval(), "cressie_read": cressieread.Interval()}
    for one in (*theirs.values(), *intervals.values()):
        for values in zip(p.tolist(), rewards.tolist(), pi.tolist(), strict=True):
            one.add_example(*values)
    ours = {"ips": ips(rewards, p, pi), "snips": snips(rewards, p, pi)}
    for name, estimator in theirs.items():
        assert ours[name].value == pytest.approx(estimator.get(), abs=1e-9)
    for name, interval in intervals.items():
        found = ours["ips"].intervals[name]
        assert found.kind == "asymptotic"
        assert (found.low, found.high) == pytest.approx(interval.get(0.05), abs=1e-8)


def test_cressie_read_equals_that_of_vw_estimators_where_the_largest_weight_is_known():
    rng = np.random.default_rng(3)
    n, rewards = 4000, (rng.random(4000) < 0.02).astype(float)
    actions = rng.integers(5, size=n)
    found = ips(rewards, np.full((n, 5), 0.2), np.tile([0, 1.0, 0, 0, 0], (n, 1)), actions).intervals["cressie_read"]
    theirs = cressieread.Interval(wmin=0, wmax=5)
    for action, reward in zip(actions.tolist(), rewards.tolist(), strict=True):
        theirs.add_example(0.2, reward, float(action == 1))
    assert (found.low, found.high) == pytest.approx(theirs.get(0.05), abs=1e-8)


def test_rewards_of_another_range_are_the_same_on_that_scale():
    rewards, logged, policy, actions = random_log(1)
    unit = ips(rewards, logged, policy, actions)
    costs = ips(-3.0 + 2.0 * rewards, logged, policy, actions, reward_range=(-3, -1))
    # Where the weights do not have the mean 1, unbiased estimates differ by what the lowest reward is counted for.
    for name, interval in unit.intervals.items():
        other = costs.intervals[name]
        assert (other.low, other.high) == pytest.approx((-3 + 2 * interval.low, -3 + 2 * interval.high), abs=1e-9)
    assert costs.value == pytest.approx(-3 + 2 * unit.value)


def test_doubly_robust_is_what_the_textbook_says():
    rewards, logged, policy, actions = random_log(2, n=300)
    predictions = np.random.default_rng(0).random(logged.shape)
    expected = np.mean(
        [
            sum(policy[i, a] * predictions[i, a] for a in range(4))
            + policy[i, actions[i]] / logged[i, actions[i]] * (rewards[i] - predictions[i, actions[i]])
            for i in range(300)
        ]
    )
    assert dr(rewards, logged, policy, actions, predictions).value == pytest.approx(expected, abs=1e-12)
    no_model = dr(rewards, logged, policy, actions, np.zeros_like(logged))
    assert no_model.value == pytest.approx(ips(rewards, logged, policy, actions).value, abs=1e-12)


def test_the_gaussian_interval_of_doubly_robust_is_that_of_the_mean_of_its_terms():
    rewards, logged, policy, actions = random_log(2, n=300)
    predictions = np.random.default_rng(0).random(logged.shape)
    surprise = chosen(policy, actions) / chosen(logged, actions) * (rewards - chosen(predictions, actions))
    terms = (policy * predictions).sum(axis=1) + surprise
    error = terms.std(ddof=1) / math.sqrt(300)
    z = NormalDist().inv_cdf(0.9)
    found = dr(rewards * 4 - 1, logged, policy, actions, predictions * 4 - 1, reward_range=(-1, 3), level=0.8)
    gaussian = found.intervals["gaussian"]
    expected = [4 * (terms.mean() + sign * z * error) - 1 for sign in (-1, 1)]
    assert [gaussian.low, gaussian.high] == pytest.approx(expected, abs=1e-9)


def test_doubly_robust_is_refused_where_the_policy_plays_what_the_log_never_plays():
    logged, actions = np.tile([1.0, 0.0], (500, 1)), np.zeros(500, dtype=int)
    predictions = np.full((500, 2), 0.5)
    found = dr(np.ones(500), logged, np.tile([0.75, 0.25], (500, 1)), actions, predictions)
    assert "never plays in 25%" in (found.refused or "")
    assert math.isnan(found.value)
    few = dr(np.ones(500), logged, np.tile([0.95, 0.05], (500, 1)), actions, predictions)
    assert few.refused is None
    assert "In 5.0% of the events" in few.warnings[0]


def test_doubly_robust_intervals_are_narrower_where_the_model_knows():
    rng = np.random.default_rng(4)
    n = 5000
    means = rng.choice([0.1, 0.9], (n, 5))
    actions = rng.integers(5, size=n)
    rewards = chosen(means, actions)  # no noise
    policy, logged = np.eye(5)[means.argmax(axis=1)], np.full((n, 5), 0.2)
    robust, weighted = dr(rewards, logged, policy, actions, means), ips(rewards, logged, policy, actions)
    truth = means.max(axis=1).mean()
    for name in ("anytime", "empirical_bernstein", "gaussian"):
        assert truth in robust.intervals[name]
        assert robust.intervals[name].width < 0.6 * weighted.intervals[name].width


def test_doubly_robust_intervals_hold_whatever_the_model_says():
    rng = np.random.default_rng(20)
    runs, n, failed, planned = 80, 400, 0, 0
    for _ in range(runs):
        rewards, logged, policy, actions = random_log(rng.integers(1 << 30), n=n)
        truth = (policy * (0.6 / (1 + np.arange(4)))).sum(axis=1).mean()  # of these contexts
        found = dr(rewards, logged, policy, actions, np.tile(rng.random(4), (n, 1)))
        failed += truth not in found.intervals["anytime"]
        planned += truth not in found.intervals["empirical_bernstein"]
    assert max(failed, planned) <= 0.05 * runs + 2 * math.sqrt(runs * 0.05 * 0.95)


def test_replay_keeps_the_events_where_a_policy_agrees_with_uniform_choices():
    rng = np.random.default_rng(5)
    actions = rng.integers(3, size=3000)
    rewards = rng.random(3000).round(1)
    policy = np.eye(3)[rng.integers(3, size=3000)]
    found = replay(rewards, np.full((3000, 3), 1 / 3), policy, actions)
    agree = chosen(policy, actions) == 1
    assert found.value == pytest.approx(rewards[agree].mean(), abs=1e-12)
    assert found.effective_n == agree.sum()
    assert found.n == 3000


def test_replay_of_a_policy_that_draws_is_near_its_value():
    rewards, logged, policy, actions = random_log(6, n=40_000)
    truth = (policy * (0.6 / (1 + np.arange(4)))).sum(axis=1).mean()
    found = replay(rewards, logged, policy, actions)
    assert truth in found.intervals["gaussian"]
    assert found.effective_n < 40_000


def test_replay_calls_no_interval_valid_where_the_largest_weight_is_not_known():
    rng = np.random.default_rng(0)
    actions = (rng.random(60) < 0.01).astype(int)  # so that the weight of action 1 may not be seen
    logged, policy = np.tile([0.99, 0.01], (60, 1)), np.full((60, 2), 0.5)
    rewards = actions.astype(float)
    single = replay(rewards, chosen(logged, actions), chosen(policy, actions))
    assert {one.kind for one in single.intervals.values()} == {"asymptotic"}
    assert any("whole pmfs" in one for one in single.warnings)
    assert single.interval == single.intervals["gaussian"]
    assert "asymptotic 95% interval" in str(single)
    whole = replay(rewards, logged, policy, actions)
    assert whole.interval.kind == "valid"
    assert 0.5 in whole.interval
    assert whole.largest_weight == 50


def test_replay_calls_no_interval_valid_where_the_log_lacks_an_action():
    logged, actions = np.tile([1.0, 0.0], (500, 1)), np.zeros(500, dtype=int)
    half = replay(np.ones(500), logged, np.full((500, 2), 0.5), actions)  # and the other half may earn nothing
    assert "valid" not in {one.kind for one in half.intervals.values()}
    assert "never plays in 50%" in (half.refused or "")
    few = replay(np.ones(500), logged, np.tile([0.95, 0.05], (500, 1)), actions)
    assert few.refused is None
    assert few.warnings[0].startswith("No interval is valid: in 5.0% of the events")


# Valid intervals


def constant_policy(rng, n, rate, actions):
    """Weights and rewards of a policy that always plays one of some actions which the log plays equally often."""
    weights = np.where(rng.integers(actions, size=n) == 0, float(actions), 0.0)
    return weights, (rng.random(n) < rate).astype(float), mass_beyond(np.ones(n), np.full(n, 1 / actions))


@pytest.mark.parametrize(("rate", "actions"), [(0.5, 2), (0.05, 4), (0.005, 10)])
def test_valid_intervals_hold_at_every_n_at_once(rate, actions):
    rng = np.random.default_rng(7)
    runs, ends = 100, [30, 100, 300, 1000, 3000]
    failed = at_the_end = 0
    for _ in range(runs):
        weights, rewards, beyond = constant_policy(rng, ends[-1], rate, actions)
        interval = AnytimeInterval(expected=ends[-1])
        outside = False
        for start, end in zip([0, *ends], ends, strict=False):
            interval.update(weights[start:end], rewards[start:end], beyond=beyond[start:end])
            low, high = interval.interval
            outside = outside or not low <= rate <= high
        failed += outside
        low, high = interval.at_the_end
        at_the_end += not low <= rate <= high
    allowed = 0.05 * runs + 2 * math.sqrt(runs * 0.05 * 0.95)
    assert failed <= allowed
    assert at_the_end <= allowed


def test_intervals_become_narrow():
    weights, rewards, beyond = constant_policy(np.random.default_rng(8), 100_000, 0.05, 4)
    interval = AnytimeInterval(expected=100_000)
    interval.update(weights, rewards, beyond=beyond)
    low, high = interval.interval
    plain = ips(rewards, np.full(100_000, 0.25), weights / 4).intervals
    gaussian = plain["gaussian"].width
    assert high - low < 2.6 * gaussian
    assert interval.at_the_end[1] - interval.at_the_end[0] < 2.2 * gaussian
    # Without knowing what else could have been drawn, the upper end is where weights without a bound allow it to be.
    assert plain["anytime"].low == pytest.approx(low)
    assert plain["anytime"].high > high + gaussian


def test_the_interval_of_a_value_that_changes_holds_for_its_mean():
    rng = np.random.default_rng(9)
    n, failed = 4000, 0
    rates = np.where(np.arange(n) < n // 2, 0.1, 0.8)
    for _ in range(60):
        interval = AnytimeInterval()
        weights = np.where(rng.random(n) < 0.5, 2.0, 0.0)
        interval.update(weights, (rng.random(n) < rates).astype(float), beyond=np.zeros((n, len(WEIGHT_BOUNDS))))
        low, high = interval.interval
        failed += not low <= rates.mean() <= high
    assert failed <= 6


def test_what_the_log_never_plays_is_counted_from_the_lowest_to_the_highest_reward():
    n = 4000
    logged = np.tile([0.5, 0.5, 0.0], (n, 1))
    actions = np.random.default_rng(0).integers(2, size=n)
    policy = np.tile([0.75, 0.0, 0.25], (n, 1))  # the third action may earn nothing, or 1
    found = ips(np.ones(n), logged, policy, actions)
    assert found.refused is not None
    assert "25%" in found.refused
    assert math.isnan(found.value)
    assert 0.75 in found.interval
    assert 1.0 in found.interval
    assert found.interval.low > 0.6


def test_all_that_the_log_never_plays_counts_not_only_the_likeliest_of_it():
    logged, policy = np.tile([1.0, 0.0, 0.0], (500, 1)), np.tile([0.88, 0.06, 0.06], (500, 1))
    found = ips(np.ones(500), logged, policy, np.zeros(500, dtype=int))
    assert "never plays in 12% of the events" in (found.refused or "")


def test_many_small_updates_equal_one():
    weights, rewards, beyond = constant_policy(np.random.default_rng(10), 500, 0.3, 3)
    whole, pieces = AnytimeInterval(expected=500), AnytimeInterval(expected=500)
    whole.update(weights, rewards, beyond=beyond)
    for i in range(500):
        pieces.update(weights[i], rewards[i], beyond=beyond[i])
    assert pieces.n == 500
    assert pieces.interval == pytest.approx(whole.interval, abs=1e-9)
    assert pieces.at_the_end == pytest.approx(whole.at_the_end, abs=1e-9)


def test_an_interval_goes_on_from_its_state():
    weights, rewards, beyond = constant_policy(np.random.default_rng(11), 600, 0.3, 3)
    whole, first = AnytimeInterval((0, 2), 0.9), AnytimeInterval((0, 2), 0.9)
    whole.update(weights, rewards, beyond=beyond)
    first.update(weights[:200], rewards[:200], beyond=beyond[:200])
    second = AnytimeInterval.from_dict(json.loads(json.dumps(first.to_dict())))
    second.update(weights[200:], rewards[200:], beyond=beyond[200:])
    assert second.interval == pytest.approx(whole.interval, abs=1e-9)
    assert (second.n, second.level, second.reward_range) == (600, 0.9, (0.0, 2.0))


def test_nothing_seen_is_nothing_known():
    assert AnytimeInterval((-1, 1)).interval == (-1.0, 1.0)
    assert DoublyRobustTally((-1, 1)).dr().refused == "the log has no events."
    assert ips([], [], []).interval.width == 1.0


# Warnings and refusals


def test_a_policy_that_plays_nothing_of_the_log_is_refused():
    found = ips([1, 0, 1], [0.5, 0.5, 0.5], [0, 0, 0])
    assert "never plays what the log has played" in (found.refused or "")
    assert found.to_dict()["value"] is None


def test_weights_on_few_events_are_refused_or_warned_of():
    rewards = np.ones(1000)
    logged, policy = np.full(1000, 0.9), np.full(1000, 0.001)
    logged[:3], policy[:3] = 0.001, 0.9
    found = ips(rewards, logged, policy)
    assert "are worth about 3.0 collected by the policy itself" in (found.refused or "")
    rng = np.random.default_rng(0)
    warned = ips(np.ones(200), np.full(200, 0.2), (rng.random(200) < 0.2).astype(float))
    assert warned.refused is None
    assert any("are worth about" in one for one in warned.warnings)


def test_a_short_log_is_said_to_be_short():
    assert ips([1.0, 0.0], [0.5, 0.5], [0.5, 0.5]).refused == "the log has only 2 events."
    assert ips(np.arange(90) % 2, np.full(90, 0.5), np.full(90, 0.5)).warnings == ("The log has only 90 events.",)


@pytest.mark.parametrize(("events", "is_refused", "is_warned"), [(9, 1, 0), (10, 0, 1), (99, 0, 1), (100, 0, 0)])
def test_ten_events_are_enough_for_an_answer_and_a_hundred_for_one_without_a_warning(events, is_refused, is_warned):
    found = snips(np.ones(events), np.full(events, 0.5), np.full(events, 0.5))
    assert found.effective_n == events
    assert (found.refused is not None, found.warnings != ()) == (is_refused, is_warned)
    half = snips(np.ones(4 * events), np.full(4 * events, 0.25), np.tile([1.0, 0, 0, 0], events))
    assert half.effective_n == events  # of four times as many, with weights of 4 and 0
    assert (half.refused is not None, half.warnings != ()) == (is_refused, is_warned)


def test_weights_are_not_called_odd_for_what_the_log_never_plays():
    """A twentieth of the policy is on an action that the log never plays, so weights have the mean 0.95."""
    logged, policy = np.tile([0.5, 0.5, 0.0], (5000, 1)), np.tile([0.45, 0.5, 0.05], (5000, 1))
    (warning,) = ips(np.ones(5000), logged, policy, np.arange(5000) % 2).warnings
    assert "In 5.0% of the events the policy plays actions that the log never plays" in warning


@pytest.mark.parametrize(("drawn", "is_odd"), [(239, False), (240, True), (161, False), (160, True)])
def test_weights_are_odd_beyond_four_standard_errors_and_a_thousandth(drawn, is_odd):
    """Of 400 weights so many are 2 and the others 0: mean 1.2, for one, with the error sqrt(2.4 - 1.44) / 20."""
    weights = np.where(np.arange(400) < drawn, 2.0, 0.0)
    mean = drawn / 200
    assert (abs(mean - 1) > 4 * math.sqrt(2 * mean - mean**2) / 20 + 1e-3) == is_odd
    found = ips(np.full(400, 0.5), np.full(400, 0.5), weights / 2)
    assert any("The weights have the mean" in one for one in found.warnings) == is_odd


def test_a_value_beyond_the_range_is_shown_as_it_is_and_intervals_are_not():
    found = ips(np.ones(40), np.full(40, 0.5), np.ones(40), reward_range=(-1, 1))
    assert found.value == 3.0  # unbiased: -1 + 2 * 2
    assert all(-1 <= one.low <= one.high <= 1 for one in found.intervals.values())


def test_probabilities_that_are_wrong_are_warned_of():
    rewards, logged, policy, actions = random_log(12, n=5000)
    assert ips(rewards, logged, policy, actions).warnings == ()
    wrong = ips(rewards, chosen(logged, actions) / 2, chosen(policy, actions))
    assert any("The weights have the mean" in one for one in wrong.warnings)


def test_a_log_that_contradicts_itself_is_warned_of():
    """An action of the probability 0.2 that is played half of the time, and always earns."""
    actions = np.arange(4000) % 2
    found = ips(np.ones(4000), np.full(4000, 0.2), (actions == 1).astype(float))
    assert found.warnings[0] == "No value agrees with this log: its probabilities are wrong."
    assert found.interval.low <= found.interval.high


def test_ends_that_contradict_each_other_are_told_in_order():
    """Weights of 1.5 where they should be 1 on average: half earned says 0.75 from below, and 0.25 from above."""
    interval = AnytimeInterval()
    interval.update(np.full(5000, 1.5), np.full(5000, 0.5), beyond=np.zeros((5000, len(WEIGHT_BOUNDS))))
    assert interval.is_contradictory
    low, high = interval.interval
    assert 0.25 < low < 0.3 < 0.7 < high < 0.75


def test_a_learning_policy_has_no_interval_for_a_constant_value():
    rewards, logged, policy, actions = random_log(13)
    assert "empirical_bernstein" in ips(rewards, logged, policy, actions).intervals
    for found in (
        ips(rewards, logged, policy, actions, learns=True),
        dr(rewards, logged, policy, actions, logged, learns=True),
    ):
        assert "empirical_bernstein" not in found.intervals
        assert found.interval.kind == "valid"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([2.0], [0.5], [0.5]), r"a reward is 2.0; expected numbers in \[0, 1\]"),
        (([1.0], [0.0], [0.5]), r"row 0 has the probability 0.0; expected more than 0"),
        (([1.0], [0.5], [1.5]), r"policy has the value 1.5; expected probabilities"),
        (([1.0], [[0.5, 0.5]], [[0.5, 0.5]]), r"without actions"),
        (([1.0], [[0.5, 0.4]], [[0.5, 0.5]], [0]), r"logged sums to 0.9 in row 0"),
        (([1.0], [[0.5, 0.5]], [[0.5, 0.5]], [2]), r"an action is 2; expected 0 to 1"),
        (([1.0], [0.5, 0.5], [0.5]), r"logged has shape \(2,\); expected \(1,\)"),
        (([1.0], [1e-200], [0.5]), r"row 0 has the probability 1e-200; expected more than 0, and at least 1e-30"),
        ((["a"], [0.5], [0.5]), r"rewards is \['a'\]; expected an array of numbers"),
        ((["1"], [0.5], [0.5]), r"rewards is \['1'\]; expected an array of numbers"),
        (([[1.0], [1.0, 2.0]], [0.5], [0.5]), r"rewards is \[\[1.0\], .*; expected an array of numbers"),
        ((np.ma.masked_array([1.0], [True]), [0.5], [0.5]), r"rewards is a masked array"),
        (([1.0], [[0.5, 0.5]], [[0.5, 0.5]], np.ma.masked_array([1], [True])), r"actions is a masked array"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        ips(*arguments)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"level": "x"}, "level is 'x'; expected a number between 0 and 1"),
        ({"level": 1.0}, "level is 1.0; expected a number between 0 and 1"),
        ({"reward_range": None}, "reward_range is None; expected two numbers"),
        ({"reward_range": (0, 1, 2)}, r"reward_range is \(0, 1, 2\); expected two numbers"),
        ({"reward_range": "01"}, "reward_range is '01'; expected two numbers"),
        ({"reward_range": (-1e308, 1e308)}, "with a finite difference"),
        ({"expected": 2.5}, "expected is 2.5; expected a whole number"),
        ({"expected": -1}, "expected is -1; expected a whole number"),
    ],
)
def test_options_that_cannot_be_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        AnytimeInterval(**options)
    with pytest.raises(ValueError, match=said):
        DoublyRobustTally(**{"expected": 5, **options})


@pytest.mark.parametrize("tiny", [1e-40, 1e-200, 5e-324])
def test_actions_that_are_hardly_ever_played_have_weights_without_a_bound(tiny):
    actions = np.zeros(1000, dtype=int)
    logged, policy = np.tile([1.0, tiny], (1000, 1)), np.full((1000, 2), 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ips(np.ones(1000), logged, policy, actions)
        kept = replay(np.ones(1000), logged, policy, actions)
    assert found.interval.high == 1.0
    assert all(math.isfinite(one.width) for one in found.intervals.values())
    assert "none of the log's 1,000 events was kept" in (kept.refused or "")


@pytest.mark.parametrize(
    ("weights", "rewards", "beyond", "said"),
    [
        ([2.0, 0.0], [1.0, 1.0], np.zeros((1, 7)), r"beyond has shape \(1, 7\)"),
        ([2.0, 0.0], [1.0, 1.0], np.full((2, 7), np.nan), "beyond has the value nan"),
        ([2.0, 0.0], [1.0, 1.0], np.full((2, 7), 1.5), "beyond has the value 1.5"),
        ([2.0, 0.0], [1.0, 3.0], None, "a reward is 3.0"),
        ([2.0, 0.0], [1.0, np.nan], None, "a reward is nan"),
        ([2.0, 1e300], [1.0, 1.0], None, r"a weight is 1e\+300; expected numbers from 0 to 1e\+30"),
        ([2.0, 0.0], [1.0], None, "expected \\(n,\\) of both"),
    ],
)
def test_a_refused_update_changes_nothing(weights, rewards, beyond, said):
    interval = AnytimeInterval(expected=100)
    interval.update([2.0, 0.0] * 50, [1.0, 0.0] * 50)
    before = json.dumps(interval.to_dict())
    with pytest.raises(ValueError, match=said):
        interval.update(weights, rewards, beyond=beyond)
    assert json.dumps(interval.to_dict()) == before


@pytest.mark.parametrize("wrong", [math.nan, -0.1, 1.5])
def test_what_is_no_probability_has_no_mass_beyond(wrong):
    with pytest.raises(ValueError, match=f"policy has the value {wrong}"):
        mass_beyond([[wrong, 1.0]], [[0.5, 0.5]])
    with pytest.raises(ValueError, match=f"logged has the value {wrong}"):
        mass_beyond([1.0], [wrong])


@pytest.mark.parametrize(
    "damage",
    [
        lambda state: state.pop("lower"),
        lambda state: state.update(n=7),
        lambda state: state.update(level="x"),
        lambda state: state.update(reward_range=None),
        lambda state: state.update(upper=[]),
        lambda state: state["upper"].update(n="many"),
        lambda state: state["upper"].update(expected=-3),
        lambda state: state["lower"].update(sums=[0.0]),
        lambda state: state["lower"].update(squares=[math.nan] * 4),
        lambda state: state["lower"].update(bets=None),
    ],
)
def test_a_damaged_state_is_refused(damage):
    interval = AnytimeInterval(expected=2)
    interval.update([2.0, 0.0], [1.0, 0.0])
    state = json.loads(json.dumps(interval.to_dict()))
    damage(state)
    with pytest.raises(ValueError, match=r"^the state .*; expected what to_dict has returned\.$"):
        AnytimeInterval.from_dict(state)


@pytest.mark.parametrize("module", ["evaluation", "evaluation.anytime", "evaluation.arrays"])
def test_examples_in_docstrings_run(module):
    failed, tried = doctest.testmod(import_module(f"vw_fastcb.{module}"))
    assert tried > 0
    assert failed == 0
