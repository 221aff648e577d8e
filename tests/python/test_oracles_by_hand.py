"""Following the leader as its definition says it: steps, leaders, certificates and bounds in plain formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.naive_bayes import BernoulliNB

from vw_fastcb.oracles import Ball, Classifier, Gaussian, KernelBall, Simplex

D = 4


def rate(nu: float, seen: float) -> float:
    """The step eta_t, from the squared norms of the gradients before."""
    return min(0.5, math.sqrt(nu * math.log(math.e + seen) / (1 + seen)))


def squared_norm(simplex: bool, gradient: np.ndarray, w: np.ndarray) -> float:
    """In the dual norm of the barrier's Hessian at w, in the directions in which w may move."""
    if simplex:
        hessian, directions = np.diag(w**-2.0), np.linalg.svd(np.ones((1, D)))[2][1:]
    else:
        left = 1 - w @ w
        hessian, directions = 2 / left * np.eye(D) + 4 / left**2 * np.outer(w, w), np.eye(D)
    inside = directions @ gradient
    return float(inside @ np.linalg.solve(directions @ hessian @ directions.T, inside))


def slope_of_barrier(simplex: bool, w: np.ndarray) -> np.ndarray:
    """The gradient of -sum log w_i, up to what is the same in all directions, or that of -log(1 - |w|^2)."""
    slopes = -1 / w if simplex else 2 * w / (1 - w @ w)
    return slopes - slopes.mean() if simplex else slopes


@pytest.mark.parametrize("oracle", ["simplex", "ball"])
def test_the_leader_its_step_and_its_certificate_are_those_of_the_definition(oracle):
    simplex = oracle == "simplex"
    made, nu = (Simplex(D), float(D)) if simplex else (Ball(D), 1.0)
    rng = np.random.default_rng(2)
    slopes, seen, spent, total = np.zeros(D), 0.0, 0.0, 0.0
    assert made.certificate() == 0.0
    for _ in range(400):
        w = made.weights
        # At the lowest point of R(w) / eta + <slopes, w>, slopes cancel.
        pulled = slopes - slopes.mean() if simplex else slopes
        np.testing.assert_allclose(slope_of_barrier(simplex, w), -rate(nu, seen) * pulled, rtol=1e-6, atol=1e-6)
        phi = rng.permutation([0.95, 0.02, 0.01, 0.1]) if simplex else rng.normal(size=D)
        phi = phi if simplex else phi / np.linalg.norm(phi) * rng.uniform(0.5, 1)
        y, weight = float(rng.random() < 0.8), float(rng.choice([0.5, 1.0]))
        p, slope = (phi @ w, phi) if simplex else ((1 + phi @ w) / 2, phi / 2)
        gradient = weight * ((1 - y) / (1 - p) - y / p) * slope
        norm, eta = squared_norm(simplex, gradient, w), rate(nu, seen)
        step = eta * math.sqrt(norm)
        spent, seen, total = spent + (-step - math.log(1 - step)) / eta, seen + norm, total + weight
        slopes = slopes + gradient
        made.learn(phi[None], 0, y, weight)

        def regret(delta: float, eta: float = eta) -> float:
            return nu * math.log(1 / delta) / eta - total * math.log(1 - delta) + spent  # noqa: B023

        least = minimize_scalar(regret, bounds=(1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-12})
        assert made.certificate() == pytest.approx(float(least.fun), rel=1e-7)
    assert rate(nu, seen) < 0.5  # it is not cut all the time


@pytest.mark.parametrize(
    ("oracle", "nu"), [(Ball(3), 1), (KernelBall(), 1), (Simplex(3), 3)], ids=["ball", "kernel", "simplex"]
)
def test_the_bound_is_the_one_that_is_proved(oracle, nu):
    for t in (1, 7, 500, 10**6):
        log = math.log(math.e + t)
        barrier = nu * math.log(t + 1) * max(2, math.sqrt((1 + t) / (nu * log)))
        assert oracle.regret_bound(t) == pytest.approx(1 + barrier + 2 * math.sqrt(nu * t * log), rel=1e-12)
    assert oracle.regret_bound(0) == 0


def test_the_gaussian_kernel_by_hand():
    rows, others = np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([[3.0, 4.0], [1.0, 2.0], [0.0, 0.0]])
    expected = [[math.exp(-25 / 8), math.exp(-5 / 8), 1.0], [math.exp(-8 / 8), 1.0, math.exp(-5 / 8)]]
    np.testing.assert_allclose(Gaussian(width=2.0)(rows, others), expected, rtol=1e-12)


def test_a_class_that_was_seen_alone_counts_with_the_weight_it_was_seen_with():
    """Laplace's rule: (n p + 1) / (n + 2), with a mean loss p of 1 and a weight n of a half."""
    oracle = Classifier(BernoulliNB(), n_actions=1)
    oracle.learn([0.3], 0, 1.0, weight=0.5)
    assert oracle.predict([0.3]) == pytest.approx([1.5 / 2.5])
    oracle.learn([0.3], 0, 1.0, weight=1.5)
    assert oracle.predict([0.3]) == pytest.approx([3 / 4])
