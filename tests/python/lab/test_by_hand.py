"""The lab's numbers on inputs so small that they can be worked out: claims that are one-sided would hide a factor."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from vw_fastcb import allocation
from vw_fastcb.lab import (
    changes,
    clicks,
    divergences,
    games,
    least_squares,
    per_round,
    small_losses,
    small_rewards,
    unknown_lstar,
)

# The greediness and the bounds of the theorems, for two actions


def test_gamma_and_bounds_are_those_of_the_theorems():
    assert small_losses.gamma_of_fastcb(2400.0, 1.0) == pytest.approx(40.0)  # sqrt(2 * 2400 / 3)
    assert small_losses.gamma_of_fastcb(1.0, 1.0) == 20.0  # 10 A
    assert small_losses.gamma_of_squarecb(200, 2.0) == pytest.approx(10.0)  # sqrt(2 * 200 / (2 * 2))
    assert small_rewards.gamma_of_rewards(1000.0, 1.0) == pytest.approx(30.0)  # sqrt(9 * 2 * 1000 / 20)
    assert small_rewards.gamma_of_rewards(1.0, 1.0) == 8.0  # 4 A
    assert small_losses.bound(np.array([12.5, 50.0]), 1.0) == pytest.approx([40 * 5 + 1200, 40 * 10 + 1200])
    assert small_rewards.bound(np.array([10.0, 40.0]), 1.0) == pytest.approx([12 * 10 + 320, 12 * 20 + 320])


def setups_of(module, monkeypatch: pytest.MonkeyPatch) -> list[games.Setup]:
    """What an experiment plays, each game cut after its first round."""
    seen: list[games.Setup] = []

    def first_round(setups, **options):
        seen.extend(setups)
        return games.play([replace(setup, rounds=1) for setup in setups], **options)

    monkeypatch.setattr(module, "play", first_round)
    module.compute(0, True)
    return seen


def test_each_algorithm_plays_with_the_gamma_of_its_own_theory(monkeypatch):
    played = setups_of(small_losses, monkeypatch)
    regret, rounds = math.log(2), 2**14
    sweep = [(rounds * 0.4 * 0.01 ** (1 - i / 6), rounds) for i in range(7)] + [(400.0, 4**k) for k in (5, 6, 7)]
    for i, (lstar, length) in enumerate(sweep):
        fast, square = played[i], played[len(sweep) + i]
        assert (fast.rule, square.rule) == (games.fastcb, games.squarecb)
        assert fast.gamma == pytest.approx(max(20.0, math.sqrt(2 * lstar / (3 * regret))))
        assert square.gamma == pytest.approx(math.sqrt(2 * length / (2 * regret)))
        for setup in (fast, square):
            assert (setup.good, setup.other) == pytest.approx((lstar / length, lstar / length + 0.3))
            assert setup.rounds == length
    assert len(played) == 2 * len(sweep)


def test_rewards_are_played_with_the_gamma_of_each_theory(monkeypatch):
    played = setups_of(small_rewards, monkeypatch)
    regret, rounds = math.log(2), 2**14
    rules = (games.fastcb_rewards, games.fastcb_losses_of_rewards, games.squarecb_rewards)
    for i, setup in enumerate(played):
        rstar = rounds * 0.4 * 0.01 ** (1 - (i % 7) / 6)
        gammas = (
            max(8.0, math.sqrt(9 * 2 * rstar / (20 * regret))),
            max(20.0, math.sqrt(2 * (rounds - rstar) / (3 * regret))),
            math.sqrt(2 * rounds / (2 * regret)),
        )
        assert (setup.rule, setup.rounds) == (rules[i // 7], rounds)
        assert setup.gamma == pytest.approx(gammas[i // 7])
        assert (setup.good, setup.other) == pytest.approx((rstar / rounds, rstar / rounds / 2))
    assert len(played) == 21


# Games


def plain_weight(likelihood: games.Likelihood, prediction: float, outcome: int) -> float:
    """Bayes' rule for log loss, exp(-2 loss) for square loss."""
    if likelihood is games.log_loss:
        return prediction if outcome else 1 - prediction
    return math.exp(-2 * (prediction - outcome) ** 2)


def plain_pmf(rule: games.Rule, y: list[float], gamma: float) -> list[float]:
    """Of the first and the second action."""
    best = 0 if y[0] <= y[1] else 1
    numerator = y[best] if rule is games.fastcb else 1.0
    other = numerator / (2 * numerator + gamma * abs(y[1] - y[0]))
    return [other if action != best else 1 - other for action in (0, 1)]


def plain_game(setup: games.Setup, functions: int, draws, outcomes, likelihood: games.Likelihood):
    """One run of the game as its definition says it, in plain numbers."""
    policies = games.policies(functions)
    weights = [1 / functions] * functions
    regret = excess = most = 0.0
    for t in range(setup.rounds):
        choices = policies[:, t % 8]
        table = [[setup.good if choice == action else setup.other for action in (0, 1)] for choice in choices]
        y = [sum(w * row[action] for w, row in zip(weights, table, strict=True)) for action in (0, 1)]
        pmf = plain_pmf(setup.rule, y, setup.gamma)
        regret += sum(p * abs(loss - table[0][choices[0]]) for p, loss in zip(pmf, table[0], strict=True))
        action = 0 if draws[t] < pmf[0] else 1
        outcome = int(outcomes[t] < table[0][action])

        def loss(p: float, outcome: int = outcome) -> float:
            return -math.log(p if outcome else 1 - p)

        excess += loss(y[action]) - loss(table[0][action])
        most = max(most, excess)
        weights = [w * plain_weight(likelihood, row[action], outcome) for w, row in zip(weights, table, strict=True)]
        weights = [w / sum(weights) for w in weights]
    return regret, most


@pytest.mark.parametrize("likelihood", [games.log_loss, games.square_loss])
def test_a_game_is_that_of_its_definition(likelihood):
    runs, seed = 3, 5
    setups = [
        games.Setup(0.2, 0.5, 20.0, 30, games.fastcb),
        games.Setup(0.3, 0.6, 8.0, 17, games.squarecb),
        games.Setup(0.1, 0.9, 4.0, 1, games.squarecb),
    ]
    regret, excess = games.play(setups, runs=runs, functions=3, seed=seed, likelihood=likelihood)
    draws, outcomes = np.random.default_rng(seed).random((2, games._CHUNK, len(setups) * runs))
    for i, setup in enumerate(setups):
        for run in range(runs):
            row = i * runs + run
            expected = plain_game(setup, 3, draws[:, row].tolist(), outcomes[:, row].tolist(), likelihood)
            assert (regret[i, run], excess[i, run]) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert (excess > 0.05).any()
    assert len({round(one, 6) for one in regret.ravel()}) > 3


def test_a_slope_is_that_of_least_squares_on_means_and_its_interval_that_of_the_bootstrap():
    rng = np.random.default_rng(3)
    x, y, draws = np.array([1.0, 3.0, 10.0, 40.0]), rng.lognormal(0.0, 0.5, (4, 5)), 60

    def fitted(runs: np.ndarray) -> float:
        return float(np.polyfit(np.log(x), np.log(runs.mean(axis=1)), 1)[0])

    picks = np.random.default_rng(7).integers(5, size=(draws, 4, 5))
    slopes = [fitted(np.array([y[point, one[point]] for point in range(4)])) for one in picks]
    expected = (fitted(y), *np.quantile(slopes, [0.025, 0.975]))
    assert games.slope(x, y, seed=7, draws=draws) == pytest.approx(expected)


def test_the_standard_error_is_that_of_a_mean():
    assert games.standard_error(np.array([1.0, 2.0, 3.0, 6.0])) == pytest.approx(math.sqrt(14 / 3 / 4))


# Divergences


def test_divergences_by_hand():
    f, y = np.array(0.64), np.array(0.36)
    kl = 0.64 * math.log(0.64 / 0.36) + 0.36 * math.log(0.36 / 0.64)
    to_middle = 0.64 * math.log(0.64 / 0.5) + 0.36 * math.log(0.36 / 0.5)
    assert divergences.triangular(np.array(0.5), np.array(0.125)) == pytest.approx(0.225)
    assert divergences.bernoulli_triangular(np.array(0.5), np.array(0.125)) == pytest.approx(0.225 + 9 / 64 / 1.375)
    assert divergences.kl(f, y) == pytest.approx(kl)
    assert divergences.kl(np.array(0.2), np.array(0.7)) != pytest.approx(divergences.kl(np.array(0.7), np.array(0.2)))
    assert divergences.hellinger(f, y) == pytest.approx(0.04)  # ((0.8 - 0.6)^2 + (0.6 - 0.8)^2) / 2
    assert divergences.jensen_shannon(f, y) == pytest.approx(to_middle)
    assert divergences.chi_squared(f, y) == pytest.approx(0.28**2 / (0.36 * 0.64))
    assert divergences.chi_squared(np.array(0.5), np.array(0.2)) == pytest.approx(0.09 / 0.16)


def test_the_ratio_for_many_classes_by_hand():
    """Its left side is that of the class where it is largest, its right one 4 squared Hellinger distances."""
    p, q = np.array([[0.64, 0.36, 0.0], [0.25, 0.25, 0.5]]), np.array([[0.36, 0.64, 0.0], [0.0, 0.0, 1.0]])
    first = 0.28**2 / 1.0 / (4 * 0.04)
    second = max(0.25**2 / 1.75, 0.5**2 / 0.5) / (2 * (0.25 + 0.25 + (1 - math.sqrt(0.5)) ** 2))
    assert divergences.multinomial_ratios(p, q) == pytest.approx([first, second])
    assert divergences.multinomial_ratios(p[:1], p[:1]).size == 0  # equal ones have none


def plain_ratios(f: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """As the names say, in long doubles, which leave enough where terms cancel."""
    f, y = f.astype(np.longdouble), y.astype(np.longdouble)

    def kl(a, b):
        return a * np.log(a / b) + (1 - a) * np.log((1 - a) / (1 - b))

    discrimination = (f - y) ** 2 / (f + y)
    hellinger = 1 - np.sqrt(f * y) - np.sqrt((1 - f) * (1 - y))
    middle = (f + y) / 2
    return {
        "discrimination / 2 KL": discrimination / (2 * kl(f, y)),
        "discrimination / 4 squared Hellinger": discrimination / (4 * hellinger),
        "4 squared Hellinger / 2 KL": 4 * hellinger / (2 * kl(f, y)),
        "two-sided discrimination / Jensen-Shannon": (discrimination + (f - y) ** 2 / (2 - f - y))
        / ((kl(f, middle) + kl(y, middle)) / 2),
        "squared error / discrimination": (f - y) ** 2 / discrimination,
        "KL / chi-squared": kl(f, y) / ((f - y) ** 2 / y + (f - y) ** 2 / (1 - y)),
    }


def test_the_extremes_of_the_ratios_are_those_of_what_they_are_called():
    found = divergences.compute(0, True)
    f, y = np.meshgrid(found.truths, 0.999 * found.truths, indexing="ij")
    apart = np.abs(f - y) > 1e-4 * np.minimum(f, 1 - f)
    expected = plain_ratios(f[apart], y[apart])
    assert found.extremes.keys() == expected.keys()
    for name, ratios in expected.items():
        assert found.extremes[name] == pytest.approx((float(ratios.min()), float(ratios.max())), rel=1e-4), name


# The instance of the lower bound


def test_the_instance_of_the_lower_bound_by_hand():
    instance = least_squares.Instance(2**20)
    assert instance.truth == (2.0**-13, 0.5)
    assert instance.other == (2.0**-12, 0.0)
    assert instance.nu == 2.0**-13
    assert instance.lstar == pytest.approx((1 - 2.0**-20) * 2.0**-13 + 2.0**-21, rel=1e-12)
    assert least_squares.Instance(2**24).excess == pytest.approx((1 - 2.0**-24) * (2.0**-15 - 2.0**-17), rel=1e-12)
    complexity = 2 * math.log(2 * 2 / 0.01) / 2**20
    expected = 16 * math.sqrt(instance.lstar * complexity) + 68 * complexity
    assert least_squares.upper_bound(instance) == pytest.approx(expected, rel=1e-12)
    assert least_squares.lower_bound(np.array([1024.0])) == pytest.approx([2.0**-10])


def samples(*rows: tuple[int, int, int, int]) -> least_squares.Samples:
    """Rows of zeros and ones in context 1, then in context 2."""
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return least_squares.Samples((columns[0], columns[2]), (columns[1], columns[3]))


def test_losses_of_a_sample_by_hand():
    some = samples((3, 1, 2, 0), (3, 1, 1, 1))
    square = 3 * 0.25**2 + 0.75**2 + np.array([2 * 0.5**2, 2 * 0.5**2])
    assert least_squares.square_loss(some, (0.25, 0.5)) == pytest.approx(square)
    assert least_squares.log_loss(some, (0.25, 0.5)) == pytest.approx([-3 * math.log(0.75) - math.log(0.25 / 4)] * 2)
    assert least_squares.log_loss(some, (0.25, 0.0)).tolist() == [
        pytest.approx(-3 * math.log(0.75) - math.log(0.25)),
        math.inf,
    ]


def test_the_unlucky_event_begins_and_ends_where_the_proof_says():
    instance = least_squares.Instance(2**10)  # mu = 1/8
    rows = [
        (384 - 72, 72, 1, 0),  # 3/8 n often, and 1.5 mu of them cost 1: just so
        (383 - 71, 71, 1, 0),  # too seldom
        (384 - 73, 73, 1, 0),  # too often 1
        (384 - 72, 72, 2, 0),  # context 2 twice
        (384 - 72, 72, 1, 1),
        (384 - 72, 72, 0, 1),  # once, and it cost 1
        (384 - 72, 72, 0, 0),
    ]
    assert samples(*rows).unlucky(instance).tolist() == [True] + [False] * 6


# The per-round inequalities


def test_the_terms_of_the_inequalities_are_their_sums():
    """The numbers of a point are powers: y of 0.1, ten times that, a tenth of it, and truths off by 10, 1 and 1/10."""
    ten, same, tenth = 0.75, 0.5, 0.25
    point = np.array([[1 / 8, ten, tenth, ten, tenth, same, 0.0]])
    y, f = [0.1, 1.0, 0.01, 0.01], [1.0, 0.1, 0.01, 0.01]
    losses, rewards = per_round.inequalities()
    assert [(one.bias, one.error, one.least_gamma) for one in (losses, rewards)] == [(5, 7, 2), (9, 10, 4)]
    for inequality, rule, best in (
        (losses, allocation.reweighted_igw, 0.01),
        (rewards, allocation.reweighted_igw_rewards, 1.0),
    ):
        gamma = 4 * inequality.least_gamma
        pmf = rule(y, gamma)
        expected = (
            sum(p * abs(one - best) for p, one in zip(pmf, f, strict=True)),
            4 / gamma * sum(p * one for p, one in zip(pmf, f, strict=True)),
            gamma * sum(p * (a - b) ** 2 / (a + b) for p, a, b in zip(pmf, y, f, strict=True)),
        )
        found = per_round.terms(inequality, point, 4)
        assert [float(one[0]) for one in found] == pytest.approx(expected, rel=1e-12)
    point[0, 6] = 0.25  # gamma ten times as large
    regret, bias, _ = per_round.terms(losses, point, 4)
    pmf = allocation.reweighted_igw(y, 80)
    assert float(regret[0]) == pytest.approx(sum(p * (one - 0.01) for p, one in zip(pmf, f, strict=True)))
    assert float(bias[0]) == pytest.approx(4 / 80 * sum(p * one for p, one in zip(pmf, f, strict=True)))


def test_the_ratios_of_the_search_are_what_they_are_called():
    terms = [np.array([value]) for value in (6.0, 2.0, 0.5)]
    assert per_round.scaled(5, 4)(*terms) == pytest.approx([6 / 12])
    assert per_round.bias_alone(4)(*terms) == pytest.approx([(6 - 2) / 2])
    assert per_round.error_alone(2)(*terms) == pytest.approx([(6 - 4) / 0.5])


# What experiments say of the runs they made


def test_a_change_is_judged_by_the_rounds_after_it():
    with_memory, without = np.array([[1.0, 0.0, 0.2, 0.4], [0.0, 0.0, 0.1, 0.1]]), np.full((2, 4), 0.75)
    still = {0: np.array([[0.1, 0.1, 0.1, 0.1], [0.2, 0.2, 0.2, 0.2]]), 9: np.array([[0.5] * 4, [0.1] * 4])}
    found = changes.Changes(9, {0: without, 9: with_memory}, still)
    assert found.rounds == 4
    assert found.after(9) == pytest.approx([0.3, 0.1])
    assert found.after(0) == pytest.approx([0.75, 0.75])
    assert found.price(9) == pytest.approx([0.4, -0.1])
    assert [row[1:3] for row in found.table().rows] == [pytest.approx((0.75, 0.75)), pytest.approx((0.25, 0.2))]


def changed(saved: list[float], price: list[float]) -> changes.Changes:
    """Runs of two rounds: before and after the change."""
    zeros = np.zeros(len(saved))
    costs = {0: np.column_stack([zeros, saved]), 9: np.zeros((len(saved), 2))}
    still = {0: np.zeros((len(price), 2)), 9: np.column_stack([price, price])}
    return changes.Changes(9, costs, still)


def test_what_a_memory_saves_and_costs_is_claimed_beyond_two_standard_errors():
    """Of 1 and 1 + 2 d the mean is 1 + d, and its standard error d."""

    def claims(saved: float, price: float) -> list[bool]:
        return list(changed([1.0, 1.0 + 2 * saved], [0.5, 0.5 + price]).claims().values())

    assert claims(0.99, 0.1) == [True, True]
    assert claims(1.01, 0.1) == [False, True]
    assert claims(0.99, 0.99) == [True, True]
    assert claims(0.99, 1.01) == [True, False]
    assert list(changed([1.0, 1.0], [1.01, 1.01]).claims().values()) == [True, False]  # it costs more than it saves


def test_the_other_articles_are_clicked_a_quarter_as_often():
    contexts = np.array([[0.1, 0.2, 0.9, 0.3, 0.4], [0.7, 0.2, 0.1, 0.3, 0.4]])
    assert clicks.chances(contexts, 0.04).tolist() == [[0.01, 0.01, 0.04, 0.01, 0.01], [0.04, 0.01, 0.01, 0.01, 0.01]]


def test_a_gain_is_0_for_guessing_and_1_for_always_the_best():
    chance = np.array([[0.4, 0.1, 0.1], [0.1, 0.4, 0.1]])
    assert clicks.gain(chance, np.array([0, 1])) == pytest.approx(1.0)
    assert clicks.gain(chance, np.array([1, 1])) == pytest.approx((0.5 - 0.4) / (0.8 - 0.4))
    assert clicks.gain(chance, np.array([2, 2])) == pytest.approx((0.2 - 0.4) / (0.8 - 0.4))
    assert clicks.gain(np.array([[0.3, 0.1], [0.1, 0.3]]), np.array([0, 0])) == pytest.approx(0.0)


def test_the_objectives_are_told_apart_on_each_run_by_its_mean_over_all_rates():
    """Run by run both rates differ, and their means do not: a standard error over single rates would be larger."""
    gains = {clicks.LOSS: np.zeros((2, 3)), clicks.REWARD: np.array([[-2.0, 4.0, 1.0], [4.0, -2.0, 1.0]])}
    found = clicks.Clicks(100, np.array([0.001, 0.005]), gains)
    over_all, each = found.claims().values()
    assert over_all
    assert not each  # of the rate 0.5% the mean is 1, and the standard error 1.7
    assert found.differences().tolist() == gains[clicks.REWARD].tolist()
    assert all(clicks.Clicks(100, np.array([0.001, 0.004]), gains).claims().values())  # smaller rates do not count
    backwards = clicks.Clicks(100, found.rates, {clicks.LOSS: gains[clicks.REWARD], clicks.REWARD: gains[clicks.LOSS]})
    assert not any(backwards.claims().values())


def small_losses_found(by_lstar: list[list[float]], by_rounds: list[list[float]]) -> small_losses.SmallLosses:
    """Two points of each sweep; the regrets of SquareCB are all 1."""
    ones = np.ones((2, 2))
    return small_losses.SmallLosses(
        rounds=4096,
        functions=2,
        lstar=np.array([1.0, 1600.0]),
        by_lstar={"FastCB": np.array(by_lstar), "SquareCB": ones},
        horizons=np.array([1024.0, 4096.0]),
        by_rounds={"FastCB": np.array(by_rounds), "SquareCB": ones},
        oracle_excess=0.0,
        seed=0,
    )


def test_the_margin_is_that_of_the_worst_run():
    regret = math.log(2)
    limits = [40 * math.sqrt(lstar * 2 * regret) + 1200 * regret for lstar in (1.0, 1600.0, 400.0)]
    quiet = [[1.0, 1.0], [1.0, 1.0]]
    assert small_losses_found([[1.0, limits[0] / 2], [1.0, 1.0]], quiet).margin() == pytest.approx(2.0)
    assert small_losses_found([[1.0, 1.0], [limits[1] / 3, 1.0]], quiet).margin() == pytest.approx(3.0)
    assert small_losses_found(quiet, [[1.0, 1.0], [1.0, limits[2] / 4]]).margin() == pytest.approx(4.0)
    assert small_losses_found(quiet, quiet).free.tolist() == [False, True]  # 10 A and above: Lstar 415.9 and more


def test_rewards_are_judged_by_means_and_their_margin_by_the_worst_run():
    rstar, regret = np.array([10.0, 1000.0]), math.log(2)
    limits = 12 * np.sqrt(5 * rstar * 2 * regret) + 320 * regret
    regrets = {
        small_rewards.REWARD: np.array([[1.0, 3.0], [1.0, limits[1] / 5]]),
        small_rewards.LOSS: np.array([[2.0, 10.0], [1.0, 1.0]]),
        small_rewards.SQUARECB: np.array([[1.0, 1.0], [1.0, limits[1] - 1.0]]),
    }
    found = small_rewards.SmallRewards(4096, 2, rstar, regrets, 0)
    assert found.margin() == pytest.approx(5.0)
    gains = found.gains()
    assert gains[small_rewards.LOSS] == pytest.approx((3.0, 10.0))
    assert gains[small_rewards.SQUARECB] == pytest.approx((limits[1] / (1 + limits[1] / 5), 1000.0))


def test_epochs_are_judged_by_the_worst_run_of_each_problem():
    lstar = np.array([10.0, 1000.0])
    limits = small_losses.bound(lstar, math.log(4))
    regrets = {
        unknown_lstar.EPOCHS: np.array([[1.0, 4.0], [2.0, limits[1] / 6]]),
        unknown_lstar.POWER: np.array([[1.0, 6.0], [1.0, limits[1] / 6 * 1.25]]),
    }
    found = unknown_lstar.UnknownLstar(4096, lstar, regrets, 0)
    assert found.margin() == pytest.approx(6.0)
    assert found.stuck() == pytest.approx(1.5)


def powers(fast: float, square: float, fast_in_time: float, square_in_time: float, excess: float = 0.0) -> list[bool]:
    """The claims where regrets are such powers of Lstar and of T."""
    lstar, horizons = np.array([500.0, 1000.0, 4000.0]), np.array([1024.0, 4096.0])
    found = small_losses.SmallLosses(
        rounds=4096,
        functions=2,
        lstar=lstar,
        by_lstar={name: np.tile(lstar[:, None] ** one, 2) for name, one in (("FastCB", fast), ("SquareCB", square))},
        horizons=horizons,
        by_rounds={
            name: np.tile(horizons[:, None] ** one, 2)
            for name, one in (("FastCB", fast_in_time), ("SquareCB", square_in_time))
        },
        oracle_excess=excess,
        seed=0,
    )
    return list(found.claims().values())


def test_powers_are_claimed_to_a_tenth_and_the_oracle_s_regret_exactly():
    assert all(powers(0.5, 0.0, 0.0, 0.5))
    assert all(powers(0.41, 0.09, -0.09, 0.59, math.log(2)))
    for place, exponents in enumerate(
        ((0.39, 0, 0, 0.5), (0.5, 0, 0.11, 0.5), (0.5, -0.11, 0, 0.5), (0.5, 0, 0, 0.39))
    ):
        assert [i for i, seen in enumerate(powers(*exponents)) if not seen] == [place]
    assert [i for i, seen in enumerate(powers(0.61, 0.11, -0.11, 0.61)) if not seen] == [0, 1, 2, 3]
    assert [i for i, seen in enumerate(powers(0.5, 0, 0, 0.5, math.log(2) + 1e-6)) if not seen] == [5]
    assert [i for i, seen in enumerate(powers(0.5, 0, 0, 0.5, math.log(2))) if not seen] == []


def test_rewards_are_claimed_to_grow_as_a_root_to_a_tenth():
    rstar = np.array([500.0, 1000.0, 4000.0])
    for power, is_seen in ((0.39, False), (0.41, True), (0.59, True), (0.61, False)):
        regrets = {name: np.tile(rstar[:, None] ** power, 2) for name in (small_rewards.REWARD, small_rewards.SQUARECB)}
        for factor, is_larger in ((1.49, False), (1.51, True)):
            regrets[small_rewards.LOSS] = factor * regrets[small_rewards.REWARD]
            found = small_rewards.SmallRewards(4096, 2, rstar, regrets, 0)
            assert list(found.claims().values()) == [is_seen, True, is_larger]
