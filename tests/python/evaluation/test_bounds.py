"""Valid intervals, to six digits and more, against their definition: a wrong one hardly ever misses."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest

from evaluation import naive
from vw_fastcb.evaluation import WEIGHT_BOUNDS, AnytimeInterval, DoublyRobustTally, Tally, dr, ips, mass_beyond, snips

CASES = [  # seed, n, level, expected, number of actions
    (1, 1, 0.95, 1, 2),
    (2, 7, 0.9, 50, 2),
    (3, 40, 0.95, 40, 3),
    (4, 90, 0.999, 30, 20),
    (5, 90, 0.5, 1000, 4),
    (6, 110, 0.8, 110, 2),
]


def logged_events(seed, n, actions):
    """Weights of all sizes, cut and beyond every bound; and rewards that follow the action."""
    rng = np.random.default_rng(seed)
    logged = rng.dirichlet(np.full(actions, 0.5), n) + 1e-5
    logged /= logged.sum(axis=1, keepdims=True)
    policy = rng.dirichlet(np.full(actions, 0.5), n)
    drawn = np.minimum((logged.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1), actions - 1)
    rewards = np.clip(rng.random(n) * (0.4 + 0.6 * (drawn == 0)), 0.0, 1.0)
    return rewards, logged, policy, drawn


def taken_in_pieces(update, n, seed):
    """Gives events in batches of all sizes: what is guessed and bet goes on from one to the next."""
    ends = [0, *sorted(np.random.default_rng(seed).integers(0, n + 1, size=4).tolist()), n]
    for start, end in pairwise(ends):
        update(slice(start, end))


@pytest.mark.parametrize("is_told", [True, False], ids=["with the mass beyond", "without"])
@pytest.mark.parametrize(("seed", "n", "level", "expected", "actions"), CASES)
def test_intervals_of_weighted_rewards_are_those_of_the_definition(seed, n, level, expected, actions, is_told):
    rewards, logged, policy, drawn = logged_events(seed, n, actions)
    rows = np.arange(n)
    weights = policy[rows, drawn] / logged[rows, drawn]
    beyond = mass_beyond(policy, logged) if is_told else None
    ours = AnytimeInterval((-2.0, 3.0), level, expected=expected)

    def update(rows):
        ours.update(weights[rows], 5.0 * rewards[rows] - 2.0, beyond=None if beyond is None else beyond[rows])

    taken_in_pieces(update, n, seed)
    variables = naive.ips_variables(weights.tolist(), rewards.tolist(), None if beyond is None else beyond.tolist())
    for found, plan in ((ours.interval, None), (ours.at_the_end, expected)):
        low, high = sorted(naive.interval(variables, level, plan))
        assert [(end + 2.0) / 5.0 for end in found] == pytest.approx([low, high], abs=1e-6)


@pytest.mark.parametrize(("seed", "n", "level", "expected", "actions"), CASES[1:5])
def test_doubly_robust_intervals_are_those_of_the_definition(seed, n, level, expected, actions):
    rewards, logged, policy, drawn = logged_events(seed, n, actions)
    predictions = np.random.default_rng(seed).normal(0.5, 0.5, logged.shape)  # some are no possible reward
    ours = DoublyRobustTally((-2.0, 3.0), level, expected=expected)

    def update(rows):
        ours.update(5 * rewards[rows] - 2, drawn[rows], policy[rows], logged[rows], 5 * predictions[rows] - 2)

    taken_in_pieces(update, n, seed)
    arrays = [one.tolist() for one in (rewards, drawn, policy, logged, np.clip(predictions, 0.0, 1.0))]
    assert_same(ours.dr(), naive.dr_variables(*arrays), level, expected)


def assert_same(estimate, variables, level, expected, low=-2.0, width=5.0):
    for name, plan in (("anytime", None), ("empirical_bernstein", expected)):
        found, ends = estimate.intervals[name], naive.interval(variables, level, plan)
        assert [(found.low - low) / width, (found.high - low) / width] == pytest.approx(ends, abs=1e-6)


@pytest.mark.parametrize("actions", [2, 8], ids=["the first bound", "the second"])
def test_weights_that_are_a_bound_are_within_it(actions):
    """Uniform choices, and always the same action: its weight is 2, or 8, which are bounds."""
    n = 60
    rng = np.random.default_rng(actions)
    drawn, rewards = rng.integers(actions, size=n), rng.random(n)
    logged, policy = np.full((n, actions), 1 / actions), np.eye(actions)[np.zeros(n, dtype=int)]
    predictions = rng.random(logged.shape)
    beyond = [[0.0 if actions <= bound else 1.0 for bound in naive.BOUNDS]] * n
    weights = [float(actions) if one == 0 else 0.0 for one in drawn]
    found = ips(rewards, logged, policy, drawn)
    assert_same(found, naive.ips_variables(weights, rewards.tolist(), beyond), 0.95, n, 0.0, 1.0)
    arrays = [one.tolist() for one in (rewards, drawn, policy, logged, predictions)]
    found = dr(rewards, logged, policy, drawn, predictions)
    assert_same(found, naive.dr_variables(*arrays), 0.95, n, 0.0, 1.0)


def test_the_largest_weights_are_not_cut_for_one_of_the_variables():
    """Rewards are small, so that the largest weights make values of 0.2, and the bound stays below 1."""
    weights = [1e5, 5000.0, 1.0, 1e5, 0.0, 2000.0] * 20
    rewards = [2e-6, 1e-4, 0.5, 2e-6, 0.5, 1e-4] * 20
    ours = AnytimeInterval(level=0.1)
    ours.update(weights, rewards)
    variables = naive.ips_variables(weights, rewards, None)
    ends = naive.interval(variables, 0.1)
    assert 0.05 < ends[0] < 0.95
    assert ours.interval == pytest.approx(sorted(ends), abs=1e-9)  # such weights contradict themselves


@pytest.mark.parametrize("rate", [0.0, 0.5, 1.0])
def test_intervals_of_rewards_that_never_change_are_those_of_the_definition(rate):
    """Where nothing varies, a variance that peeks and a guess that peeks are furthest off."""
    n = 60
    weights, rewards, beyond = np.full(n, 1.0), np.full(n, rate), np.zeros((n, len(WEIGHT_BOUNDS)))
    ours = AnytimeInterval(expected=n)
    ours.update(weights, rewards, beyond=beyond)
    variables = naive.ips_variables(weights.tolist(), rewards.tolist(), beyond.tolist())
    assert ours.interval == pytest.approx(sorted(naive.interval(variables, 0.95)), abs=1e-6)
    assert ours.at_the_end == pytest.approx(sorted(naive.interval(variables, 0.95, n)), abs=1e-6)


def test_the_reference_knows_what_ours_calls_its_bounds():
    assert WEIGHT_BOUNDS.tolist() == naive.BOUNDS


def test_every_guess_is_made_before_its_value_is_seen():
    """By hand: of values that are all 1, guess number i is (i - 1/2) / i, so it is wrong by 1 / 2i."""
    interval = AnytimeInterval(level=0.5)
    interval.update(np.ones(12), np.ones(12))
    wrong = sum(1 / (4 * i**2) for i in range(1, 13))

    def wealth(t):
        bets = naive.CONSTANT_BETS
        return sum(math.exp(12 * bet * (1.0 - t) + (math.log1p(-bet) + bet) * wrong) for bet in bets) / len(bets)

    assert wealth(interval.interval[0]) == pytest.approx(1 / 0.25, rel=1e-6)  # half of the error for each end


def test_a_weight_at_its_bound_is_within_it():
    """Two uniform actions, always the same one: its weight is 2, the first bound. The model is wrong about it."""
    runs, n, missed = 40, 600, 0
    rng = np.random.default_rng(0)
    logged, policy = np.full((n, 2), 0.5), np.tile([1.0, 0.0], (n, 1))
    predictions = np.full((n, 2), 0.9)
    for _ in range(runs):
        actions = rng.integers(2, size=n)
        rewards = (rng.random(n) < 0.3).astype(float)
        found = dr(rewards, logged, policy, actions, predictions)
        missed += 0.3 not in found.intervals["anytime"] or 0.3 not in found.intervals["empirical_bernstein"]
    assert missed <= 2


# The delta method


def delta_method(weights, rewards):
    """Of the ratio of two means: the variance of w (r - R), over n and the square of the mean weight."""
    n = len(weights)
    mean = sum(weights) / n
    ratio = sum(w * r for w, r in zip(weights, rewards, strict=True)) / n / mean
    variance = sum((w * (r - ratio)) ** 2 for w, r in zip(weights, rewards, strict=True)) / n
    return ratio, math.sqrt(variance / n) / mean


def test_the_variance_of_a_ratio_is_that_of_the_textbook():
    """Four events: R = 3/4, and the squares of w (r - R) are 1/4, 9/16 and 1/16, 0 for a weight of 0."""
    tally = Tally(level=0.5)
    tally.update([2.0, 1.0, 1.0, 0.0], [1.0, 0.0, 1.0, 1.0])
    error = math.sqrt(1 / 4 + 9 / 16 + 1 / 16) / 4
    z = NormalDist().inv_cdf(0.75)
    found = tally.snips()
    gaussian = found.intervals["gaussian"]
    assert tally._sums.wr / tally._sums.w == 0.75
    assert (gaussian.low, gaussian.high) == pytest.approx((0.75 - z * error, 0.75 + z * error), abs=1e-12)
    assert delta_method([2.0, 1.0, 1.0, 0.0], [1.0, 0.0, 1.0, 1.0]) == pytest.approx((0.75, error), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_interval_of_snips_is_that_of_the_delta_method(seed):
    rewards, logged, policy, drawn = logged_events(seed, 400, 3)
    rows = np.arange(400)
    weights = (policy[rows, drawn] / logged[rows, drawn]).tolist()
    ratio, error = delta_method(weights, rewards.tolist())
    found = snips(rewards * 4.0 - 1.0, logged, policy, drawn, reward_range=(-1, 3), level=0.6)
    z = NormalDist().inv_cdf(0.8)
    gaussian = found.intervals["gaussian"]
    assert (gaussian.low, gaussian.high) == pytest.approx(
        (4 * (ratio - z * error) - 1, 4 * (ratio + z * error) - 1), abs=1e-9
    )


# States


def seen_interval(expected=200):
    rewards, logged, policy, drawn = logged_events(5, 80, 4)
    rows = np.arange(80)
    interval = AnytimeInterval((-1.0, 1.0), 0.9, expected=expected)
    weights = policy[rows, drawn] / logged[rows, drawn]
    interval.update(weights[:60], 2 * rewards[:60] - 1, beyond=mass_beyond(policy[:60], logged[:60]))

    def go_on(one):
        one.update(weights[60:], 2 * rewards[60:] - 1, beyond=mass_beyond(policy[60:], logged[60:]))
        return one

    return interval, go_on


def leaves(state, path=()):
    """Every number of a state, by where it stands."""
    if isinstance(state, dict):
        for name, inner in state.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(state, list):
        for number, inner in enumerate(state):
            yield from leaves(inner, (*path, number))
    else:
        yield path


def test_all_of_a_state_is_stored():
    interval, go_on = seen_interval()
    again = AnytimeInterval.from_dict(json.loads(json.dumps(interval.to_dict())))
    assert again.to_dict() == interval.to_dict()
    assert (again.interval, again.at_the_end) == (interval.interval, interval.at_the_end)
    go_on(interval)
    go_on(again)
    assert again.to_dict() == interval.to_dict()
    assert (again.interval, again.at_the_end) == (interval.interval, interval.at_the_end)


_STATE = seen_interval()[0].to_dict()


@pytest.mark.parametrize("path", list(leaves(_STATE)), ids=lambda path: ".".join(map(str, path)))
def test_a_state_of_which_one_field_is_damaged_is_refused_or_says_something_else(path):
    interval, go_on = seen_interval()
    state = json.loads(json.dumps(interval.to_dict()))
    place = state
    for name in path[:-1]:
        place = place[name]
    value, refusals = place[path[-1]], []
    for damaged in (value + 1, value + 0.03125, -1.0 - abs(value), None, "1", math.nan, [value], 1e999):
        place[path[-1]] = damaged
        try:
            loaded = AnytimeInterval.from_dict(json.loads(json.dumps(state)))
        except ValueError as problem:
            refusals.append(str(problem))
            continue
        assert loaded.to_dict() == state  # it is used as it is, and not replaced by anything else
        assert says(loaded, go_on) != says(interval, go_on)
    assert len(refusals) >= 5
    assert all(one.startswith("the state ") for one in refusals)


def says(interval, go_on):
    """What an interval makes of further events."""
    again = AnytimeInterval.from_dict(interval.to_dict())
    try:
        return [again.interval, go_on(again).to_dict()]
    except ValueError as problem:  # rewards do not fit its range
        return str(problem)


@pytest.mark.parametrize("side", ["lower", "upper"])
@pytest.mark.parametrize("name", ["sums", "squares", "bets", "gains", "paid"])
def test_a_state_with_a_sum_below_0_is_refused(side, name):
    """They are sums of what is never negative; a negative one would make a bound that does not hold."""
    state = seen_interval()[0].to_dict()
    state[side][name][1] = -1e-9
    with pytest.raises(ValueError, match=rf"{name} are .*; expected \d+ finite numbers, none below 0"):
        AnytimeInterval.from_dict(state)


@pytest.mark.parametrize("path", [("n",), ("lower", "n"), ("upper", "n")], ids=".".join)
@pytest.mark.parametrize("by", [-1, 1])
def test_a_state_whose_parts_have_seen_different_events_is_refused(path, by):
    state = seen_interval()[0].to_dict()
    place = state if len(path) == 1 else state[path[0]]
    place["n"] += by
    with pytest.raises(ValueError, match=r"the state is damaged \(n is \d+, and its bounds have \d+ and \d+\)"):
        AnytimeInterval.from_dict(state)


def test_the_largest_weight_is_that_of_all_batches():
    tally = Tally(expected=30)
    for weight in (1.0, 8.0, 2.0):
        tally.update([weight] * 10, [1.0] * 10)
    assert tally.ips().largest_weight == tally.snips().largest_weight == 8.0


def test_a_model_that_expects_what_cannot_be_expects_the_ends_of_the_range():
    """Else the weighted differences have no bound, and the valid interval is none."""
    rng = np.random.default_rng(5)
    logged, policy = rng.dirichlet(np.ones(3), (2, 400)) * 0.97 + 0.01
    actions = (logged.cumsum(axis=1) < rng.random(400)[:, None]).sum(axis=1)
    rewards, predictions = rng.uniform(-1, 3, 400), rng.normal(1, 5, (400, 3))
    beyond, within = (
        dr(rewards, logged, policy, actions, expected, reward_range=(-1, 3))
        for expected in (predictions, np.clip(predictions, -1, 3))
    )
    assert beyond == within
