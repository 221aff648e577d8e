"""--fastcb_optimism: the rule on lower confidence limits of the costs; and the members of an ensemble."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support import assert_pmfs, events, ok, predictions, refused, write
from vw_fastcb import FastCB, _engine

KNOWS_DEVIATIONS = pytest.mark.parametrize("oracle", [kind.name for kind in _engine.oracles() if kind.has_deviations])


def taught(oracle: str, optimism: float, actions: tuple[int, ...], **settings: object) -> FastCB:
    """A learner of three actions that has seen these, each at a cost of .5."""
    bandit = FastCB(3, oracle=oracle, optimism=optimism, seed=1, **settings)  # type: ignore[arg-type]
    for t, action in enumerate(actions):
        bandit.learn_event([t % 2, 1.0], action, cost=0.5)
    return bandit


@KNOWS_DEVIATIONS
def test_what_is_hardly_known_is_tried_more_often(oracle: str) -> None:
    known_two = (0, 1) * 30
    plain = taught(oracle, 0, known_two).predict_proba([[1.0, 1.0]])[0]
    hopeful = taught(oracle, 1, known_two).predict_proba([[1.0, 1.0]])[0]
    assert hopeful[2] > 0.9 > 2 * plain[2]


@KNOWS_DEVIATIONS
@pytest.mark.parametrize("rewards", [False, True], ids=["costs", "rewards"])
def test_a_learner_of_rewards_hopes_for_more(oracle: str, rewards: bool) -> None:
    kind = {"reward_range": (0, 1), "objective": "reward"} if rewards else {}
    bandit = FastCB(2, oracle=oracle, optimism=1, seed=1, **kind)  # type: ignore[arg-type]
    for _ in range(40):
        bandit.learn_event([1.0], 0, 0.5)
    assert bandit.predict_proba([[1.0]])[0, 1] > 0.9


@KNOWS_DEVIATIONS
def test_predictions_are_what_is_expected_and_not_what_is_hoped_for(oracle: str) -> None:
    rows = np.random.default_rng(2).normal(size=(20, 2))
    played = tuple(np.random.default_rng(3).integers(3, size=90))
    plain, hopeful = taught(oracle, 0, played), taught(oracle, 2, played)
    assert np.array_equal(plain.predict_cost(rows), hopeful.predict_cost(rows))
    assert not np.array_equal(plain.predict_proba(rows), hopeful.predict_proba(rows))


@KNOWS_DEVIATIONS
@pytest.mark.parametrize("optimism", [0.5, 1, 1000])
@pytest.mark.parametrize("objective", ["loss", "reward", "both"])
def test_probabilities_are_probabilities(oracle: str, optimism: float, objective: str) -> None:
    rng = np.random.default_rng(4)
    for fixed in (True, False):
        settings = {"oracle": oracle, "optimism": optimism, "objective": objective, "epsilon": 0.1}
        bandit = FastCB(7 if fixed else None, seed=1, **settings)  # type: ignore[arg-type]
        for t in range(60):
            row, features = rng.normal(size=5) * 10.0 ** (t % 5), None if fixed else rng.normal(size=(7, 3))
            decision = bandit.decide(row, features, exclude=[t % 7])
            assert decision.pmf[t % 7] == 0
            assert np.isfinite(decision.pmf).all()
            assert (np.delete(decision.pmf, t % 7) >= 0.1 / 6 - 1e-12).all()
            assert decision.pmf.sum() == pytest.approx(1, abs=1e-9)
            bandit.learn(decision, cost=float(rng.integers(2)))


@KNOWS_DEVIATIONS
def test_a_model_keeps_its_optimism_and_another_may_be_given(oracle: str, tmp_path: Path) -> None:
    data = write(tmp_path / "log.txt", (event.adf() for event in events(80, actions=4)))
    flags = ["--cb_explore_adf", "--fastcb", "--fastcb_oracle", oracle, "--quiet", "-d", data]
    ok(*flags, "--fastcb_optimism", "1", "-f", tmp_path / "model", "-p", tmp_path / "learning")
    ok("-i", tmp_path / "model", "-t", "-d", data, "--quiet", "-p", tmp_path / "kept")
    ok("-i", tmp_path / "model", "-t", "-d", data, "--quiet", "--fastcb_optimism", "0", "-p", tmp_path / "without")
    pmfs = {name: predictions(tmp_path / name) for name in ("learning", "kept", "without")}
    for table in pmfs.values():
        assert_pmfs(table)
    assert pmfs["kept"] != pmfs["without"]
    assert FastCB.load(tmp_path / "model").optimism == 1


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ("--fastcb_optimism 1", "needs an oracle that knows how sure it is"),
        ("--fastcb_oracle newton --fastcb_optimism -1", "must be a finite number, 0 or larger"),
        ("--fastcb_oracle newton --fastcb_members gd", "is a flag of --fastcb_oracle ensemble"),
        ("--fastcb_oracle ensemble --fastcb_members linear,nobody", "expected names with commas"),
        ("--fastcb_oracle ensemble --fastcb_members ,", "expected names with commas"),
        ("--fastcb_oracle ensemble --fastcb_gamma epochs", "needs a bound on the regressor's regret"),
        ("--fastcb_oracle ensemble --noconstant", "cannot be combined with --noconstant"),
        ("--fastcb_oracle ensemble --passes 3 --cache_file c", "cannot be combined with --passes"),
    ],
)
def test_what_makes_no_sense_is_refused(flags: str, sentence: str) -> None:
    assert sentence in refused("--cb_explore", "3", "--fastcb", *flags.split())


def test_members_that_are_alone_predict_what_their_oracles_do() -> None:
    rng = np.random.default_rng(5)
    rows, played, costs = rng.normal(size=(200, 4)), rng.integers(3, size=200), rng.random(200)
    alone = FastCB(3, oracle="ensemble", vw_args="--fastcb_members gd")
    gradient = FastCB(3, oracle="gd")
    for bandit in (alone, gradient):
        bandit.partial_fit(rows, played, costs)
    np.testing.assert_allclose(alone.predict_cost(rows), gradient.predict_cost(rows), rtol=1e-5)


def test_the_members_of_an_ensemble_are_weighted_by_what_they_foresaw() -> None:
    rng = np.random.default_rng(6)
    bandit = FastCB(2, oracle="ensemble", seed=1)
    assert bandit.members_ == {}  # nothing was asked yet
    bandit.decide([0.0])
    assert bandit.members_ == pytest.approx({"linear": 0.25, "curved": 0.25, "common": 0.25, "gd": 0.25})
    for _ in range(1500):  # whether a number is close to 0 is told by a curve alone
        x = float(rng.normal())
        decision = bandit.decide([x])
        bandit.learn(decision, cost=float((abs(x) < 0.7) == bool(decision.action)))
    weights = bandit.members_
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["curved"] > 0.75
    assert FastCB(2, oracle="newton").members_ == {}
