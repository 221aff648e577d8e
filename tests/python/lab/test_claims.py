"""What the paper proves is seen in small experiments, and no longer when an ingredient is swapped."""

from __future__ import annotations

import numpy as np
import pytest

from vw_fastcb import Bandit, allocation
from vw_fastcb.lab import (
    EXPERIMENTS,
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
from vw_fastcb.oracles import FiniteClass


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_the_theory_says_is_seen(name):
    claims = EXPERIMENTS[name].compute(1, True).claims()
    assert len(claims) >= 2
    assert [claim for claim, seen in claims.items() if not seen] == []


# Each with claims that must fail, among others: a swap that fails by accident elsewhere would prove nothing.
SWAPS = {
    "small-losses, SquareCB's allocation": (
        small_losses,
        {"rule": games.squarecb},
        {"FastCB's regret grows as sqrt(Lstar)", "FastCB's regret does not grow with T"},
    ),
    "small-losses, square loss in the oracle": (
        small_losses,
        {"likelihood": games.square_loss},
        {"the oracle never loses more than log N"},
    ),
    "small-rewards, the allocation for losses": (
        small_rewards,
        {"rule": games.fastcb_losses_of_rewards},
        {"the rule for losses has more than 1.5 times the regret somewhere"},
    ),
    "per-round, SquareCB's allocation": (
        per_round,
        {"rule": allocation.igw},
        {"no instance breaks the inequality for losses (5 and 7)"},
    ),
    "least-squares, square loss": (
        least_squares,
        {"first_order": least_squares.square_loss},
        {"log loss stays within its guarantee"},
    ),
    "divergences, chi-squared": (
        divergences,
        {"candidate": divergences.chi_squared},
        {"discrimination <= 2 KL", "discrimination <= 4 squared Hellinger"},
    ),
    "clicks, the objective for losses": (
        clicks,
        {"objective": "loss"},
        {"over all rates, the objective for rewards gains more, beyond two standard errors"},
    ),
    "unknown-lstar, a power of t": (
        unknown_lstar,
        {"schedule": ""},
        {"with a power of t, some run does worse than all with epochs on the same problem"},
    ),
    "changes, no memory": (
        changes,
        {"memory": 0},
        {"after a change, a memory saves more than two standard errors"},
    ),
}


@pytest.mark.parametrize("swap", SWAPS)
def test_with_an_ingredient_swapped_it_is_not_seen(swap):
    module, ingredient, lost = SWAPS[swap]
    claims = module.compute(1, True, **ingredient).claims()
    assert lost <= {claim for claim, seen in claims.items() if not seen}


def test_squarecb_s_allocation_crosses_fastcb_s_bound():
    """With FastCB's gamma it explores in every round alike, whatever the best action costs."""
    rounds, lstar, regret = 25_000, 1.0, np.log(2)
    gamma = small_losses.gamma_of_fastcb(lstar, regret)
    mean = lstar / rounds
    rules = (games.fastcb, games.squarecb)
    setups = [games.Setup(mean, mean + small_losses.GAP, gamma, rounds, rule) for rule in rules]
    fast, square = games.play(setups, runs=1, functions=2, seed=0)[0][:, 0]
    assert fast < small_losses.bound(np.array(lstar), float(regret)) < square


def test_the_fast_game_is_the_game_of_bandit_and_finite_class():
    good, other, rounds = 0.1, 0.4, 40
    choices = games.policies(3)
    table = np.where(choices[:, :, None] == np.arange(games.ACTIONS), good, other)
    gamma, runs = 20.0, 60
    setup = games.Setup(good, other, gamma, rounds, games.fastcb)
    fast, _ = games.play([setup], runs=runs, functions=3, seed=0)
    rng = np.random.default_rng(1)
    slow = []
    for seed in range(runs):
        bandit = Bandit(FiniteClass(table), gamma_scale=gamma, gamma_exponent=0, seed=seed)
        regret = 0.0
        for t in range(rounds):
            context = t % games.CONTEXTS
            decision = bandit.decide(context)
            regret += float(decision.pmf @ (table[0, context] - good))
            bandit.learn(decision, cost=float(rng.random() < table[0, context, decision.action]))
        slow.append(regret)
    error = np.hypot(fast.std(), np.std(slow)) / np.sqrt(runs)
    assert abs(fast.mean() - np.mean(slow)) < 3 * error
    assert 0.5 < fast.std() / np.std(slow) < 2


def test_the_search_finds_the_instances_that_can_be_worked_out():
    """With exact predictions and much larger losses elsewhere, exploring alone costs (A - 1) / gamma times y_b."""
    losses = per_round.inequalities()[0]
    search = per_round.Search(losses, [0], 2, 200)
    for actions in (5, 20):
        ratio = per_round.bias_alone(losses.error)
        search.explore(actions, ratio)
        found = search.worst(actions, ratio)
        assert found.ratio >= 0.999 * (actions - 1) / actions
        assert found.ratio <= losses.bias


def test_the_instance_of_the_lower_bound_is_the_paper_s():
    instance = least_squares.Instance(10**9)
    assert instance.lstar <= 2**8 / instance.n
    assert instance.truth[0] < instance.nu < instance.other[0]  # the other function prefers the wrong action
    expected = instance.nu - instance.truth[0]
    assert instance.excess == pytest.approx(expected, rel=1e-6)


def test_a_slope_is_found_with_an_interval_that_holds_it():
    rng = np.random.default_rng(0)
    x = np.geomspace(1, 1e4, 9)
    y = 3 * x[:, None] ** 0.5 * rng.lognormal(0, 0.2, (9, 30))
    estimate, low, high = games.slope(x, y, seed=0)
    assert low < 0.5 < high
    assert low < estimate < high
    assert high - low < 0.05
