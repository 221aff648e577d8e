"""Lemmas and propositions of the paper that carry the proofs, on random instances and the code that ships."""

from __future__ import annotations

import numpy as np
import pytest

from vw_fastcb import allocation
from vw_fastcb.lab.divergences import hellinger, kl, triangular
from vw_fastcb.oracles import log_loss

RNG_SIZES = [(2, 20_000), (5, 20_000), (30, 3_000)]


def spread(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers in (0, 1), over many magnitudes."""
    return np.where(rng.random(shape) < 0.5, 10 ** rng.uniform(-8, 0, shape), rng.uniform(0, 1, shape))


def discrimination(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    return (y - f) ** 2 / (y + f)


@pytest.mark.parametrize(("actions", "rows"), RNG_SIZES)
def test_lemma_4_the_best_prediction_is_not_far_above_the_best_loss(actions, rows):
    rng = np.random.default_rng(0)
    y, f = spread(rng, rows, actions), spread(rng, rows, actions)
    gamma = actions * 10 ** rng.uniform(0, 4, rows)
    pmf = allocation.reweighted_igw(y, gamma)
    each, best = np.arange(rows), f.argmin(axis=1)
    y_b = y.min(axis=1)
    error = 2 * gamma * pmf[each, best] * discrimination(y[each, best], f[each, best])
    assert (y_b - f[each, best] <= actions / (4 * gamma) * y_b + error + 1e-12).all()


@pytest.mark.parametrize(("actions", "rows"), RNG_SIZES)
def test_lemma_5_predictions_are_bounded_by_losses(actions, rows):
    rng = np.random.default_rng(1)
    y, f = spread(rng, rows, actions), spread(rng, rows, actions)
    pmf = rng.dirichlet(np.full(actions, 0.3), rows)
    bound = 3 * (pmf * f).sum(axis=1) + (pmf * discrimination(y, f)).sum(axis=1)
    assert ((pmf * y).sum(axis=1) <= bound + 1e-12).all()


@pytest.mark.parametrize("near", [1.0, 0.1])
def test_lemma_1_and_3_regret_of_a_plug_in_classifier(near):
    """L(pi_f) - Lstar <= 8 sqrt(Lstar Delta) + 17 Delta, and the bound on f* + f along a policy."""
    rng = np.random.default_rng(2)
    tight = 0.0
    for actions, contexts in [(2, 1), (3, 4), (10, 6)]:
        shape = (5_000, contexts, actions)
        truth = spread(rng, *shape)
        f = np.clip(truth * 10 ** (near * rng.normal(0, 1, shape)), 1e-12, 1)
        chance = rng.dirichlet(np.ones(contexts), shape[0])
        delta = (chance * discrimination(truth, f).sum(axis=2)).sum(axis=1)
        chosen = np.take_along_axis(truth, f.argmin(axis=2)[:, :, None], axis=2)[:, :, 0]
        lstar = (chance * truth.min(axis=2)).sum(axis=1)
        regret = (chance * chosen).sum(axis=1) - lstar
        bound = 8 * np.sqrt(lstar * delta) + 17 * delta
        assert (regret <= bound + 1e-12).all()
        tight = max(tight, float((regret / bound).max()))
        policy = rng.integers(actions, size=shape[:2])[:, :, None]
        both, loss = (np.take_along_axis(of, policy, axis=2)[:, :, 0] for of in (truth + f, truth))
        assert ((chance * both).sum(axis=1) <= delta + 4 * (chance * loss).sum(axis=1) + 1e-12).all()
    assert tight > 0.05  # not so loose that it could not fail


def test_proposition_5_expected_log_loss_beyond_the_best_is_kl():
    rng = np.random.default_rng(3)
    mu, y = (np.clip(spread(rng, 10_000), 1e-9, 1 - 1e-9) for _ in range(2))
    excess = mu * (log_loss(y, np.ones(1)) - log_loss(mu, np.ones(1)))
    excess += (1 - mu) * (log_loss(y, np.zeros(1)) - log_loss(mu, np.zeros(1)))
    np.testing.assert_allclose(excess, kl(mu, y), rtol=1e-6, atol=1e-12)
    assert (kl(mu, y) >= discrimination(y, mu) / 2 - 1e-15).all()


def test_proposition_6_log_loss_is_exp_concave_and_mixable_with_1_and_no_more():
    rng = np.random.default_rng(4)
    a, b, outcome, share = (np.clip(rng.random(20_000), 1e-6, 1 - 1e-6) for _ in range(4))

    def holds(eta: float) -> bool:
        mixture = share * np.exp(-eta * log_loss(a, outcome)) + (1 - share) * np.exp(-eta * log_loss(b, outcome))
        return bool((np.exp(-eta * log_loss(share * a + (1 - share) * b, outcome)) >= mixture - 1e-12).all())

    assert holds(1.0)
    outcome = (outcome > 0.5).astype(float)
    assert holds(1.0)
    assert not holds(1.1)


def test_pinsker_a_log_loss_oracle_serves_squarecb():
    """The paper's appendix: squared error is at most 2 KL (and by Pinsker's inequality at most KL / 2)."""
    rng = np.random.default_rng(5)
    mu, y = (np.clip(spread(rng, 20_000), 1e-9, 1 - 1e-9) for _ in range(2))
    assert ((mu - y) ** 2 <= kl(mu, y) / 2 + 1e-15).all()


def test_proposition_3_hellinger_bounds_discrimination_and_the_constant_is_tight():
    rng = np.random.default_rng(6)
    p, q = (np.clip(spread(rng, 20_000), 1e-9, 1 - 1e-9) for _ in range(2))
    assert (4 * hellinger(p, q) >= triangular(p, q) - 1e-12).all()
    close = np.array(1e-4), np.array(1.001e-4)
    assert float(4 * hellinger(*close) / triangular(*close)) == pytest.approx(1, abs=1e-3)
