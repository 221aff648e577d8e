"""The paper's oracles: each against the best function in hindsight, and against its bound, at every round."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from hindsight import best_in_ball, best_in_simplex, best_logistic
from vw_fastcb import Bandit, FastCB, oracles
from vw_fastcb.oracles import Ball, Classifier, FiniteClass, Gaussian, KernelBall, Logistic, PerAction, Simplex

ROUNDS, A = 160, 3
SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 20))]
# Of a prediction, and of how far the game is.
Nature = Callable[[np.random.Generator, float, float], float]

SEQUENCES: dict[str, Nature] = {
    "contrary": lambda rng, p, far: float(p < 0.5),  # each loss is the one that was thought less likely
    "coins": lambda rng, p, far: float(rng.random() < 0.5),
    "seldom": lambda rng, p, far: float(rng.random() < 0.03),
    "turn": lambda rng, p, far: float(far > 0.6),  # all is well, until nothing is
    "agreeing, then contrary": lambda rng, p, far: float((p > 0.5) == (far < 0.7)),
    "between": lambda rng, p, far: float(rng.choice([0, 0.1, 0.5, 0.9, 1])),
}
every_sequence = pytest.mark.parametrize("nature", SEQUENCES.values(), ids=SEQUENCES.keys())
every_seed = pytest.mark.parametrize("seed", SEEDS)


def play(oracle: Any, contexts: list[Any], nature: Nature, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The actions, the losses, and what was predicted for them."""
    rng = np.random.default_rng([seed, 1])
    actions, losses, predictions = [], [], []
    for t, context in enumerate(contexts):
        predicted = oracle.predict(context)
        assert ((predicted >= 0) & (predicted <= 1)).all()
        action = int(rng.integers(len(predicted)))
        loss = nature(rng, float(predicted[action]), t / len(contexts))
        oracle.learn(context, action, loss)
        actions.append(action)
        losses.append(loss)
        predictions.append(predicted[action])
    return np.array(actions), np.array(losses), np.array(predictions)


def tables(seed: int, draw: Callable[[np.random.Generator], np.ndarray], rounds: int = ROUNDS) -> list[np.ndarray]:
    rng = np.random.default_rng([seed, 0])
    return [draw(rng) for _ in range(rounds)]


def in_the_cube(rng: np.random.Generator) -> np.ndarray:
    """Features in [0, 1], zeros and ones among them; an even mixture never predicts 0 or 1."""
    table = rng.choice([0.0, 1.0, 0.5, rng.random(), 0.02], size=(A, 5))
    table[:, 4] = rng.uniform(0.05, 0.95, A)
    return table


def in_the_ball(rng: np.random.Generator) -> np.ndarray:
    table = rng.normal(size=(A, 6))
    return table / np.linalg.norm(table, axis=1, keepdims=True) * rng.choice([1.0, 1.0, 0.5], size=(A, 1))


def check_regret(oracle: Any, phi: np.ndarray, y: np.ndarray, p: np.ndarray, best: Any, predict: Any) -> float:
    """At every round, against the best of several beginnings of the sequence; and at the end, against all."""
    lost = np.cumsum(oracles.log_loss(p, y))
    bounds = np.array([oracle.regret_bound(t) for t in range(1, len(y) + 1)])
    for rounds in (10, 40, 100, len(y)):
        found = best(phi[:rounds], y[:rounds])
        theirs = np.cumsum(oracles.log_loss(np.clip(predict(found.weights), 0, 1), y))
        assert (lost <= theirs + bounds + 1e-9).all()
        assert lost[rounds - 1] - found.least <= bounds[rounds - 1]
        assert found.lost - found.least < 0.01  # the optimiser did its work
    regret = lost[-1] - found.least
    assert regret <= oracle.certificate() + 1e-6 <= bounds[-1] + 1e-6
    return float(regret)


# Finite classes


def certain_and_uncertain(seed: int) -> np.ndarray:
    """40 functions of 12 contexts. Some are certain now and then; one never is, so the best loses no infinity."""
    rng = np.random.default_rng([seed, 2])
    functions = rng.choice(
        [0.0, 1.0, 0.5, 1e-9, 1 - 1e-9, 0.3], size=(40, 12, A), p=[0.01, 0.01, 0.38, 0.05, 0.05, 0.5]
    )
    functions[0] = rng.uniform(0.01, 0.99, (12, A))
    return functions


@every_sequence
@every_seed
@pytest.mark.parametrize("prior", [None, "geometric"])
def test_the_finite_class_loses_at_most_log_n_more_than_any_function_at_every_round(nature, seed, prior):
    functions = certain_and_uncertain(seed)
    weights = np.full(40, 1 / 40) if prior is None else 0.8 ** np.arange(40) / (0.8 ** np.arange(40)).sum()
    oracle = FiniteClass(functions, prior=None if prior is None else weights * 7)
    contexts = list(np.random.default_rng(seed).integers(12, size=ROUNDS))
    actions, y, p = play(oracle, contexts, nature, seed)
    lost = np.cumsum(oracles.log_loss(p, y))
    theirs = np.cumsum(oracles.log_loss(functions[:, contexts, actions], y[None]), axis=1)
    assert (lost <= theirs - np.log(weights)[:, None] + 1e-6).all()
    assert oracle.regret_bound(ROUNDS) == pytest.approx(-np.log(weights.min()))
    assert np.isfinite(lost[-1])


def test_the_bound_of_the_finite_class_is_attained_so_a_smaller_one_would_be_wrong():
    functions = np.zeros((8, 1, 1))
    functions[0] = 1.0  # only the first is right, and all are certain
    oracle = FiniteClass(functions)
    (p,) = oracle.predict(0)
    oracle.learn(0, 0, 1.0)
    assert oracles.log_loss(p, 1.0) == pytest.approx(np.log(8))
    np.testing.assert_array_equal(oracle.weights, np.eye(8)[0])


def test_the_finite_class_keeps_its_bound_where_floats_are_too_coarse_for_its_predictions():
    ulp = 2.0**-53
    cases = {  # functions (N, X, A), events (context, loss)
        "a weight that hardly counts": ([[[0.01]], [[1.0]]], [(0, 1.0)] * 10 + [(0, 0.0)]),
        "a weight too small for a float": ([[[0.5]], [[1.0]]], [(0, 1.0)] * 1500 + [(0, 0.0)]),
        "the same at the other end": ([[[0.5]], [[0.0]]], [(0, 0.0)] * 1500 + [(0, 1.0)]),
        "thirds of what a float can tell": ([[[1 - 3 * ulp]]] * 3, [(0, 0.0)] * 100),
        "between two floats": ([[[1 - ulp], [1 - 2 * ulp]], [[1 - 2 * ulp], [1 - ulp]]], [(0, 0.0), (1, 0.0)] * 100),
    }
    for name, (functions, events) in cases.items():
        oracle, lost, theirs = FiniteClass(np.array(functions)), 0.0, np.zeros(len(functions))
        for x, y in events:
            lost += oracles.log_loss(oracle.predict(x)[0], y)
            theirs += oracles.log_loss(np.array(functions)[:, x, 0], y)
            oracle.learn(x, 0, y)
            assert lost <= theirs.min() + oracle.regret_bound() + 1e-9, name
        assert np.isfinite(lost), name


def test_functions_that_are_all_wrong_though_certain_are_weighed_by_how_often():
    oracle = FiniteClass(np.array([[[0.0]], [[0.0]], [[1.0]]]))
    oracle.learn(0, 0, 0.4)  # 0 is wrong by 0.4, 1 by 0.6
    np.testing.assert_array_equal(oracle.weights, [0.5, 0.5, 0.0])
    oracle.learn(0, 0, 1.0)
    np.testing.assert_array_equal(oracle.weights, [0.0, 0.0, 1.0])
    clipped = FiniteClass(np.array([[[1e-300]], [[1e-300]], [[1 - 1e-16]]]))
    for loss in (0.4, 1.0):
        clipped.learn(0, 0, loss)
    assert clipped.weights[2] == pytest.approx(1.0)


def test_functions_and_a_table_are_the_same_class():
    table = np.random.default_rng(0).random((4, 6, 2))
    by_table = FiniteClass(table)
    by_function = FiniteClass([lambda x, f=f: f[x] for f in table])
    for t in range(50):
        for oracle in (by_table, by_function):
            oracle.learn(t % 6, t % 2, (t % 3) / 2)
        np.testing.assert_allclose(by_table.predict(t % 6), by_function.predict(t % 6), rtol=1e-12)


# Linear classes


@every_sequence
@every_seed
def test_the_simplex_keeps_its_bound_against_the_best_mixture_at_every_round(nature, seed):
    oracle = Simplex(5)
    contexts = tables(seed, in_the_cube)
    actions, y, p = play(oracle, contexts, nature, seed)
    phi = np.stack([table[action] for table, action in zip(contexts, actions, strict=True)])
    check_regret(oracle, phi, y, p, best_in_simplex, lambda w: phi @ w)
    assert oracle.weights.sum() == pytest.approx(1.0)
    assert (oracle.weights > 0).all()


@every_sequence
@every_seed
def test_the_ball_keeps_its_bound_against_the_best_weights_at_every_round(nature, seed):
    oracle = Ball(6)
    contexts = tables(seed, in_the_ball)
    actions, y, p = play(oracle, contexts, nature, seed)
    phi = np.stack([table[action] for table, action in zip(contexts, actions, strict=True)])
    check_regret(oracle, phi, y, p, best_in_ball, lambda w: (1 + phi @ w) / 2)
    assert np.linalg.norm(oracle.weights) < 1


@every_sequence
def test_the_kernel_keeps_its_bound_against_the_best_of_its_space_at_every_round(nature):
    kernel = Gaussian(width=1.5)
    oracle = KernelBall(kernel)
    places = np.random.default_rng(4).normal(size=(8, 2)) * 2
    contexts = tables(0, lambda rng: places[rng.choice(8, size=A, replace=False)], rounds=120)
    actions, y, p = play(oracle, contexts, nature, 0)
    points = np.stack([table[action] for table, action in zip(contexts, actions, strict=True)])
    # The best function is a combination of the places: rows of a root of the kernel's matrix stand for them.
    root = np.linalg.cholesky(kernel(places, places))
    phi = root[(points[:, None] == places).all(axis=2).argmax(axis=1)]
    np.testing.assert_allclose(phi @ phi.T, kernel(points, points), atol=1e-12)
    check_regret(oracle, phi, y, p, best_in_ball, lambda w: (1 + phi @ w) / 2)


def test_a_linear_kernel_is_the_ball():
    ball, kernel = Ball(6), KernelBall(lambda left, right: left @ right.T)
    for table in tables(1, in_the_ball):
        for oracle in (ball, kernel):
            oracle.learn(table, 1, float(table[1, 0] > 0))
        np.testing.assert_allclose(ball.predict(table), kernel.predict(table), rtol=1e-9)


@pytest.mark.parametrize(
    ("oracle", "draw", "truth"),
    [
        (Simplex(5), in_the_cube, lambda table: table @ [0.1, 0.2, 0.0, 0.0, 0.7]),
        (Ball(6), in_the_ball, lambda table: (1 + table @ [0.6, 0.0, -0.6, 0.0, 0.3, 0.0]) / 2),
    ],
    ids=["simplex", "ball"],
)
def test_linear_oracles_learn_the_truth(oracle, draw, truth):
    rng = np.random.default_rng(5)
    oracle = copy.deepcopy(oracle)
    errors = []
    for table in tables(5, draw, rounds=3000):
        errors.append(np.abs(oracle.predict(table) - truth(table)).mean())
        action = rng.integers(A)
        oracle.learn(table, action, float(rng.random() < truth(table)[action]))
    assert np.mean(errors[-300:]) < 0.05 < np.mean(errors[:30])


@pytest.mark.parametrize("oracle", [Simplex(5), Ball(6)], ids=["simplex", "ball"])
def test_gradients_are_measured_in_the_norm_of_the_barrier(oracle):
    # The proof needs the dual norm of the barrier's Hessian at w, here by linear algebra instead of a formula.
    oracle = copy.deepcopy(oracle)
    simplex = isinstance(oracle, Simplex)
    pace = oracle._pace if simplex else oracle._leader.pace
    rng = np.random.default_rng(6)
    for table in tables(6, in_the_cube if simplex else in_the_ball, rounds=60):
        phi, w, y, weight = table[0], oracle.weights, float(rng.choice([0, 0.3, 1])), float(rng.choice([0.5, 1]))
        if simplex:
            p, slope, hessian = phi @ w, phi, np.diag(w**-2.0)
            directions = np.linalg.svd(np.ones((1, 5)))[2][1:]  # in which weights still sum to 1
        else:
            left = 1 - w @ w
            p, slope, hessian = (1 + phi @ w) / 2, phi / 2, 2 / left * np.eye(6) + 4 / left**2 * np.outer(w, w)
            directions = np.eye(6)
        gradient = directions @ (weight * ((1 - y) / (1 - p) - y / p) * slope)
        expected = gradient @ np.linalg.solve(directions @ hessian @ directions.T, gradient)
        before = pace.seen
        oracle.learn(table, 0, y, weight)
        assert pace.seen - before == pytest.approx(expected, rel=1e-6, abs=1e-9)
        assert expected <= weight**2 + 1e-9  # a gradient is never longer than the event's weight


def test_losses_that_no_weights_allow_teach_nothing():
    oracle = Simplex(3)
    for _ in range(5):
        oracle.learn([[0.0, 0.0, 0.0]], 0, 1.0)
        oracle.learn([[1.0, 1.0, 1.0]], 0, 0.0)
    np.testing.assert_array_equal(oracle.weights, np.full(3, 1 / 3))
    np.testing.assert_array_equal(oracle.predict([[0, 0, 0], [1, 1, 1]]), [0, 1])


# The engine's own


def logistic_game(oracle: Any, seed: int, rounds: int, nature: str) -> tuple[float, int]:
    """The regret to the best logistic function of norm 1 with weights for each action, and how many weights it has."""
    rng = np.random.default_rng([seed, 3])
    contexts = rng.normal(size=(rounds, 3))
    contexts = np.column_stack([contexts / np.linalg.norm(contexts, axis=1, keepdims=True), np.ones(rounds)])
    truth = rng.normal(size=(2, 4))
    phi, y, lost = [], [], 0.0
    for context in contexts:
        action = int(rng.integers(2))
        p = oracle.predict(context[:3])[action]
        mean = 1 / (1 + np.exp(-truth[action] @ context))
        loss = float(rng.random() < mean) if nature == "realizable" else float(p < 0.5)
        oracle.learn(context[:3], action, loss)
        lost += float(oracles.log_loss(p, loss))
        phi.append(np.kron(np.eye(2)[action], context))
        y.append(loss)
    best = best_logistic(np.stack(phi), np.array(y))
    assert best.lost - best.least < 0.1
    return lost - best.least, 8


@pytest.mark.parametrize("nature", ["realizable", "contrary"])
@every_seed
def test_the_second_order_oracle_has_the_regret_of_d_log_t(nature, seed):
    regret, d = logistic_game(Logistic(2), seed, 800, nature)
    assert regret <= d * np.log(800)


@pytest.mark.parametrize("nature", ["realizable", "contrary"])
@every_seed
def test_gradient_descent_has_the_regret_of_root_t(nature, seed):
    regret, d = logistic_game(Logistic(2, oracle="gd"), seed, 800, nature)
    assert regret <= d * np.sqrt(800)


def test_the_engines_oracle_predicts_as_fastcb_does():
    oracle, learner = Logistic(), FastCB()
    actions = [{"price": 2.0}, {"price": 3.0}, {"free": True}]
    for t in range(30):
        oracle.learn(({"age": t}, actions), t % 3, t % 2)
        learner.learn_event({"age": t}, t % 3, t % 2, action_features=actions)
    np.testing.assert_array_equal(
        oracle.predict(({"age": 7}, actions)), learner.predict_cost([{"age": 7}], [actions])[0]
    )
    with pytest.raises(TypeError, match=r"expected a pair"):
        oracle.predict({"age": 7})


# Classifiers


STEADY = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.3, random_state=0)
CLASSIFIERS = [STEADY, GaussianNB(), BernoulliNB()]


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda one: type(one).__name__)
def test_a_classifier_is_sensible_before_it_saw_both_classes_and_learns_after(estimator):
    rng = np.random.default_rng(0)
    oracle = Classifier(estimator, n_actions=2)
    np.testing.assert_array_equal(oracle.predict([1.0, 0.0]), [0.5, 0.5])
    for n in range(1, 4):  # one class alone: Laplace's rule of succession
        oracle.learn([1.0, 0.0], 0, 0.0)
        np.testing.assert_allclose(oracle.predict([0.3, 0.7]), [1 / (n + 2), 0.5])
    for _ in range(200):
        context = rng.integers(0, 2, size=2).astype(float)
        action = int(rng.integers(2))
        oracle.learn(context, action, float(rng.random() < 0.1 + 0.8 * (context[action] > 0)))
    for context in ([1.0, 0.0], [0.0, 1.0]):
        predicted = oracle.predict(context)
        assert predicted[int(context[1] > 0)] > 0.7
        assert predicted[int(context[0] > 0)] < 0.3


def test_one_classifier_for_all_actions_reads_their_features():
    rng = np.random.default_rng(1)
    oracle = Classifier(STEADY, features=lambda x: np.outer([1, -1, 0], x))
    for _ in range(200):
        x = rng.normal(size=2)
        action = int(rng.integers(3))
        oracle.learn(x, action, (1 + np.sign([1, -1, 0][action] * x[0])) / 2)
    low, high, middle = oracle.predict([-2.0, 0.0])
    assert low < 0.2 < 0.35 < middle < 0.65 < 0.8 < high


def test_a_loss_between_is_both_classes_weighted():
    one, other = (Classifier(GaussianNB(), n_actions=1) for _ in range(2))
    rng = np.random.default_rng(2)
    for x in rng.normal(size=(20, 2)):
        one.learn(x, 0, 0.25, weight=2)
        other.learn(x, 0, 1.0, weight=0.5)
        other.learn(x, 0, 0.0, weight=1.5)
    np.testing.assert_allclose(one.predict([0.1, 0.2]), other.predict([0.1, 0.2]), rtol=1e-9)


def test_what_a_classifier_cannot_learn_is_refused_and_leaves_no_trace():
    class Unweighted:
        def partial_fit(self, x, y, classes):
            self.seen = getattr(self, "seen", 0) + len(x)

        def predict_proba(self, x):
            return np.full((len(x), 2), 0.5)

    oracle = Classifier(Unweighted(), n_actions=1)
    oracle.learn([1.0], 0, 1.0)
    before = pickle.dumps(vars(oracle._models[0])["_weights"])
    with pytest.raises(ValueError, match=r"the loss is 0.5, and Unweighted.partial_fit takes no sample_weight"):
        oracle.learn([1.0], 0, 0.5)
    with pytest.raises(ValueError, match=r"the weight is 2"):
        oracle.learn([1.0], 0, 1.0, weight=2)
    assert pickle.dumps(vars(oracle._models[0])["_weights"]) == before
    assert oracle._models[0]._estimator.seen == 1
    oracle.learn([1.0], 0, 1.0, weight=0)
    assert oracle._models[0]._estimator.seen == 1
    with pytest.raises(TypeError, match=r"has no partial_fit; expected a classifier"):
        Classifier(RandomForestClassifier())
    with pytest.raises(TypeError, match=r"has no predict_proba"):
        Classifier(Perceptron())


def test_a_classifier_that_raises_half_way_is_as_it_was():
    class Half:
        seen = 0

        def partial_fit(self, x, y, classes):
            self.seen += 1
            if self.seen == 3:
                raise ValueError("Floating-point overflow")

        def predict_proba(self, x):
            return np.tile([1 - self.seen / 10, self.seen / 10], (len(x), 1))

    oracle = Classifier(Half(), n_actions=1)
    oracle.learn([1.0], 0, 1.0)
    oracle.learn([1.0], 0, 0.0)
    before = oracle.predict([1.0])
    for _ in range(2):
        with pytest.raises(ValueError, match="overflow"):
            oracle.learn([1.0], 0, 1.0)
        np.testing.assert_array_equal(oracle.predict([1.0]), before)


def test_numbers_that_would_ruin_a_classifier_are_refused():
    oracle = Classifier(SGDClassifier(loss="log_loss", random_state=0), 2)
    for loss in (0.0, 1.0):
        oracle.learn([0.1, 0.2], 0, loss)
    before = oracle.predict([0.1, 0.2])
    with pytest.raises(ValueError, match=r"the value 1e\+308; expected finite numbers \(in float32\)"):
        oracle.learn([1e308, 1e308], 0, 0.5)
    np.testing.assert_array_equal(oracle.predict([0.1, 0.2]), before)
    oracle.learn([3e38, -3e38], 0, 0.5)
    assert np.isfinite(oracle.predict([3e38, 3e38])).all()


def test_naive_bayes_says_one_half_until_it_knows_variances():
    oracle = Classifier(GaussianNB(), 1)
    oracle.learn([1.0, 2.0], 0, 0.0)
    oracle.learn([2.0, 3.0], 0, 1.0)
    assert oracle.predict([1.5, 2.5]) == 0.5
    x, y = load_iris(return_X_y=True)
    runs = Bandit(Classifier(GaussianNB(), 3), 3, seed=0).simulate(x, y, n_shuffles=1, seed=0)
    assert runs.costs.mean() < 0.25


# All of them


def half(context: Any) -> list[float]:
    return [0.5, 0.25]


def sure(context: Any) -> list[float]:
    return [0.0, 1.0]


ALL: dict[str, tuple[Callable[[], Any], Any]] = {
    "functions": (lambda: FiniteClass([half, sure]), 0),
    "table": (lambda: FiniteClass(np.array([[[0.5, 0.25]], [[0.0, 1.0]]])), 0),
    "simplex": (lambda: Simplex(3), [[0.0, 1.0, 0.5], [1.0, 1.0, 0.0]]),
    "ball": (lambda: Ball(2), [[1.0, 0.0], [0.6, -0.8]]),
    "kernel": (KernelBall, [[1.0, 0.0], [0.6, -0.8]]),
    "per action": (lambda: Ball(4, features=PerAction(2)), [0.5, 0.5]),
    "newton": (lambda: Logistic(2), [0.5, 0.5]),
    "gd": (lambda: Logistic(2, oracle="gd"), [0.5, 0.5]),
    "classifier": (lambda: Classifier(SGDClassifier(loss="log_loss", random_state=0), 2), [0.5, 0.5]),
}
every_oracle = pytest.mark.parametrize(("new", "context"), ALL.values(), ids=ALL.keys())


@every_oracle
def test_every_oracle_has_the_protocol_and_goes_on_after_a_copy(new, context):
    oracle, twin = new(), new()
    assert isinstance(oracle, oracles.Oracle)
    for t in range(20):
        oracle.learn(context, t % 2, (t % 3) / 2, weight=1 + t % 2)
        twin.learn(context, t % 2, (t % 3) / 2, weight=1 + t % 2)
    copies = [copy.deepcopy(oracle), pickle.loads(pickle.dumps(oracle))]
    expected = oracle.predict(context)
    for other in (twin, *copies):
        np.testing.assert_array_equal(other.predict(context), expected)
        other.learn(context, 1, 0.5)
    oracle.learn(context, 1, 0.5)
    for other in (twin, *copies):
        np.testing.assert_array_equal(other.predict(context), oracle.predict(context))


@every_oracle
def test_a_copy_learns_by_itself(new, context):
    oracle = new()
    other = copy.deepcopy(oracle)
    before = oracle.predict(context)
    for _ in range(5):
        other.learn(context, 0, 0.0)
    np.testing.assert_array_equal(oracle.predict(context), before)
    assert other.predict(context)[0] < before[0]


@every_oracle
def test_every_refused_event_leaves_no_trace(new, context):
    oracle, twin = new(), new()
    for event in ((context, 0, 0.5, 1.0), (context, 1, 1.0, 1.0)):
        oracle.learn(*event)
        twin.learn(*event)
    bad = [
        (context, 2, 0.5, 1.0),
        (context, -1, 0.5, 1.0),
        (context, 0.5, 0.5, 1.0),
        (context, True, 0.5, 1.0),
        (context, 0, 1.5, 1.0),
        (context, 0, -0.1, 1.0),
        (context, 0, float("nan"), 1.0),
        (context, 0, "0.5", 1.0),
        (context, 0, None, 1.0),
        (context, 0, 0.5, -1.0),
        (context, 0, 0.5, float("inf")),
        (context, 0, 0.5, 1e300),
        (context, 0, 0.5, float("nan")),
    ]
    if isinstance(context, list):
        bad.append((np.asarray(context) * np.nan, 0, 0.5, 1.0))
        bad.append((np.asarray(context)[..., :-1], 0, 0.5, 1.0))
    elif oracle._table is not None:
        bad.append((7, 0, 0.5, 1.0))
    for event in bad:
        with pytest.raises((ValueError, TypeError)):
            oracle.learn(*event)
    for t in range(3):
        np.testing.assert_array_equal(oracle.predict(context), twin.predict(context))
        oracle.learn(context, t % 2, 0.5)
        twin.learn(context, t % 2, 0.5)


@every_oracle
@pytest.mark.parametrize("weight", [0.0, 1e-300, 1e-6, 1e6, 3e38])
def test_extreme_weights_and_losses_are_safe(new, context, weight):
    oracle = new()
    before = oracle.predict(context)
    rng = np.random.default_rng(0)
    for _ in range(30):
        oracle.learn(context, int(rng.integers(2)), float(rng.integers(2)), weight=weight)
        predicted = oracle.predict(context)
        assert np.isfinite(predicted).all()
        assert ((predicted >= 0) & (predicted <= 1)).all()
    if weight == 0:
        np.testing.assert_array_equal(oracle.predict(context), before)


@pytest.mark.parametrize("new", [lambda: Simplex(2), lambda: Ball(2), KernelBall], ids=["simplex", "ball", "kernel"])
def test_a_million_events_worth_of_certainty_can_be_unlearned(new):
    oracle = new()
    table = [[0.8, 0.6], [0.0, 1.0]] if not isinstance(oracle, Simplex) else [[1.0, 0.0], [0.0, 1.0]]
    for _ in range(100):
        oracle.learn(table, 0, 0.0, weight=1e4)
    assert 0 < oracle.predict(table)[0] < 0.1
    for _ in range(200):
        oracle.learn(table, 0, 1.0, weight=1e4)
    assert oracle.predict(table)[0] > 0.5


def test_bad_classes_are_refused():
    with pytest.raises(ValueError, match=r"functions have the value 1.5; expected losses in \[0, 1\]"):
        FiniteClass(np.full((2, 1, 1), 1.5))
    with pytest.raises(ValueError, match=r"functions have shape \(2, 2\); expected \(N, X, A\)"):
        FiniteClass(np.zeros((2, 2)))
    with pytest.raises(TypeError, match=r"expected a list of functions"):
        FiniteClass([])
    with pytest.raises(ValueError, match=r"the functions' losses have the value -1.0"):
        FiniteClass([lambda x: [-1.0]]).predict(0)
    with pytest.raises(ValueError, match=r"the functions returned arrays of shape"):
        FiniteClass([lambda x: [0.5], lambda x: [0.5, 0.5]]).predict(0)
    with pytest.raises(ValueError, match=r"prior is \[1, 0\]"):
        FiniteClass([half, sure], prior=[1, 0])
    with pytest.raises(ValueError, match=r"the features have the value 1.2; expected numbers in \[0, 1\]"):
        Simplex(2).predict([[0.5, 1.2]])
    with pytest.raises(ValueError, match=r"\|phi\|\^2 is 2; expected at most 1"):
        Ball(2).predict([[1.0, 1.0]])
    with pytest.raises(ValueError, match=r"the kernel of a row with itself is 4"):
        KernelBall(lambda left, right: left @ right.T).learn([[2.0]], 0, 1)
    with pytest.raises(ValueError, match=r"have shape \(1, 3\); expected \(A, 2\)"):
        Ball(2).predict([[0.0, 0.0, 0.0]])
    with pytest.raises(TypeError, match=r"the context cannot be read as an array of numbers"):
        Ball(2).predict("text")
    for wrong in (0, -1, 2.5, "2"):
        with pytest.raises(ValueError, match=r"d is .*; expected the number of features"):
            Simplex(wrong)
    for new in (Simplex, Ball):
        with pytest.raises(ValueError, match=r"d is True; expected the number of features"):
            new(True)
        for wrong in (-1, 2.5, "2", None, float("nan")):
            with pytest.raises(ValueError, match=r"rounds is .*; expected the number of events"):
                new(2).regret_bound(wrong)
    for wrong in (0, -1.0, float("nan"), float("inf"), "1", None):
        with pytest.raises(ValueError, match=r"width is .*; expected a finite number above 0"):
            Gaussian(wrong)
    for wrong in (0, -1, True, 2.5, "2"):
        with pytest.raises(ValueError, match=r"n_actions is .*; expected the number of actions"):
            PerAction(wrong)
    with pytest.raises(TypeError, match=r"functions are 5; expected a list of functions"):
        FiniteClass(5)
    for wrong in ("a", [[0.5], [0.5, 0.5]]):
        with pytest.raises(TypeError, match=r"what a function returned cannot be read as an array of numbers"):
            FiniteClass([lambda x, wrong=wrong: wrong]).predict(0)
    with pytest.raises(TypeError, match=r"prior cannot be read"):
        FiniteClass([half], prior="a")
    with pytest.raises(TypeError, match=r"kernel is 5; expected a function"):
        KernelBall(5)
    with pytest.raises(TypeError, match=r"the context cannot be read"):
        PerAction(2)("text")
    with pytest.raises(TypeError, match=r"the class GaussianNB; expected an object"):
        Classifier(GaussianNB, 2)
    with pytest.raises(TypeError, match=r"the context cannot be read as an array of numbers"):
        Classifier(GaussianNB(), 2).predict([[1.0], [1.0, 2.0]])


def test_the_log_loss_of_what_is_no_probability_is_refused():
    for wrong in (-0.1, 1.1, float("nan"), [0.5, float("inf")]):
        with pytest.raises(ValueError, match=r"the predictions have the value .*; expected numbers in \[0, 1\]"):
            oracles.log_loss(wrong, 1.0)
        with pytest.raises(ValueError, match=r"the losses have the value"):
            oracles.log_loss(0.5, wrong)
    with pytest.raises(TypeError, match=r"the losses cannot be read as an array of numbers"):
        oracles.log_loss(0.5, "a")
