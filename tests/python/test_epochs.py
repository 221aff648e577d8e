"""--fastcb_gamma epochs: the theory's gamma where the best policy's loss is not known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.base import clone

from support import ok
from vw_fastcb import FastCB, Workspace, merge_models

ACTIONS = 3
EPOCHS = "--fastcb_gamma epochs"


def theory(loss: float, regret: float, actions: int = ACTIONS) -> float:
    """The paper's formula, with the loss so far doubled up."""
    bound = 2.0 ** math.ceil(math.log2(max(1.0, loss)))
    return max(math.sqrt(actions * bound / (3 * regret)), 10 * actions)


def outcomes(rounds: int, rate: float) -> np.ndarray:
    return (np.random.default_rng(1).random(rounds) < rate).astype(float)


@pytest.mark.parametrize("oracle", ["gd", "newton"])
@pytest.mark.parametrize("objective", ["loss", "reward"])
def test_gamma_doubles_with_the_learners_own_loss(oracle, objective):
    bandit = FastCB(ACTIONS, oracle=oracle, objective=objective, seed=1, vw_args=f"{EPOCHS} --fastcb_regret 0.01")
    total, gammas = 0.0, set()
    for cost in outcomes(300, 0.4):
        decision = bandit.decide([1.0])
        assert decision.gamma == pytest.approx(theory(total, 0.01), rel=1e-6)
        gammas.add(decision.gamma)
        bandit.learn(decision, cost)
        total += cost if objective == "loss" else 1 - cost
    assert len(gammas) > 3  # epochs were entered, and few


def test_without_a_bound_the_regret_is_weights_times_log_events():
    bandit = FastCB(ACTIONS, seed=1, vw_args=EPOCHS)
    rows = np.random.default_rng(2).normal(size=(200, 2))
    losses = 0.0
    for t, (row, cost) in enumerate(zip(rows, outcomes(200, 0.9), strict=True)):
        decision = bandit.decide(row)
        learned_actions = 1 if t == 0 else ACTIONS
        weights = learned_actions * (1 if t == 0 else 3)  # two columns and the intercept
        if t == 0 or t > 50:  # by then every action has weights
            regret = weights * math.log(1 + 2.0 ** math.ceil(math.log2(max(1, t))))
            assert decision.gamma == pytest.approx(theory(losses, regret))
        bandit.learn(decision, cost)
        losses += cost


OUTSIDE = ["a", "b", "c"]


@pytest.mark.parametrize("interactions", ["-q ::", "--interactions :::", "--cubic :::", "-q xx", ""])
@pytest.mark.parametrize("oracle", ["gd", "newton"])
def test_the_loss_is_that_of_the_events_whatever_the_interactions(oracle, interactions):
    bandit = FastCB(ACTIONS, oracle=oracle, seed=1, vw_args=f"{EPOCHS} --fastcb_regret 0.01 {interactions}")
    total = 0.0
    for row, cost in zip(np.random.default_rng(3).normal(size=(60, 3)), outcomes(60, 0.4), strict=True):
        decision = bandit.decide(row)
        assert decision.gamma == pytest.approx(theory(total, 0.01), rel=1e-6)
        bandit.learn(decision, cost)
        total += cost


def gamma_of(rest: int, block: int, losses: int) -> float:
    regret = (block + rest) * math.log(1 + 2.0 ** math.ceil(math.log2(losses)))
    return theory(losses, regret, actions=1)


def test_the_regret_counts_weights_outside_the_block(tmp_path):
    # With one action, gamma is above its least value of 10 from here on; the block has the intercept alone.
    flags = f"--cb_explore 1 --fastcb --fastcb_oracle newton --fastcb_capacity 0 {EPOCHS} --quiet"
    losses = 20_000
    events = [f"1:1:1 |u {' '.join(OUTSIDE)}\n", f"1:1:1 |u {OUTSIDE[0]}\n"]
    (tmp_path / "log").write_text(events[0] + events[1] * (losses - 1))
    ok(*flags.split(), "-d", tmp_path / "log", "-f", tmp_path / "model", "--readable_model", tmp_path / "text")
    expected = gamma_of(len(OUTSIDE), 1, losses)
    assert expected > 10 * 1.1
    assert gamma_of(0, 1, losses) > 1.5 * expected  # what it would be without them
    for saved in (FastCB.load(tmp_path / "model"), FastCB.from_bytes(FastCB.load(tmp_path / "model").to_bytes())):
        assert saved.decide([1.0]).gamma == pytest.approx(expected)


HARDLY_KNOWN = {
    "wildcards": "-q ::",
    "wildcards outside the block": "-q :: --fastcb_capacity 0",
    "outside the block": "--fastcb_capacity 0",
    "in the block": "--fastcb_capacity 64",
}


def check_certainty(bandit: FastCB, dimensions: int, scale: float, rate: float, seed: int) -> None:
    """A hundred events: no action is surer than gamma and the events so far allow, and none is given up."""
    chance = np.random.default_rng(seed)
    effect = chance.normal(size=(ACTIONS, dimensions))
    for t, row in enumerate(scale * chance.normal(size=(100, dimensions))):
        decision = bandit.decide(row)
        fewest = 1 / (ACTIONS + decision.gamma * (t + 2))
        assert min(decision.pmf) >= fewest * (1 - 1e-9)
        assert max(decision.pmf) <= 1 - (ACTIONS - 1) * fewest * (1 - 1e-9)
        assert decision.gamma == 10 * ACTIONS  # of so few losses the theory makes no more
        likely = rate if rate in (0, 1) else 1 / (1 + math.exp(-effect[decision.action] @ row / scale))
        bandit.learn(decision, float(chance.random() < likely))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("flags", HARDLY_KNOWN.values(), ids=HARDLY_KNOWN)
def test_no_action_is_surer_than_the_events_allow(flags, scale):
    for seed, rate in enumerate([0.0, 0.5, 1.0]):
        for objective in ("loss", "reward"):
            newton = FastCB(ACTIONS, oracle="newton", objective=objective, seed=1, vw_args=f"{EPOCHS} {flags}")
            check_certainty(newton, 6, scale, rate, seed)


@pytest.mark.parametrize("allocation", ["reweighted", "igw"])
@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_so_it_is_with_vws_own_learner(allocation, rate):
    # Its steps may be far too long.
    settings = {"oracle": "gd", "learning_rate": 50.0, "objective": "loss", "allocation": allocation, "seed": 1}
    bandit = FastCB(ACTIONS, vw_args=f"{EPOCHS} --fastcb_regret 5 -q ::", **settings)
    check_certainty(bandit, 6, 1.0, rate, 4)


def test_gamma_counts_the_actions_of_the_event():
    bandit = FastCB(seed=1, vw_args=f"{EPOCHS} --fastcb_regret 1")
    assert [bandit.decide([1.0], np.eye(count)[:, :2]).gamma for count in (2, 5, 40)] == [20.0, 50.0, 400.0]
    assert FastCB(5, vw_args=f"{EPOCHS} --fastcb_regret 1").decide([1.0], exclude=[0, 1]).gamma == 30.0


@pytest.mark.parametrize("has_base", [False, True])
def test_losses_of_merged_models_add_up(has_base, tmp_path):
    def learned(events: int, start: FastCB) -> FastCB:
        for i in range(events):
            start.learn_event([i, 1.0], i % ACTIONS, 1.0)
        return start

    new = FastCB(ACTIONS, vw_args=f"{EPOCHS} --fastcb_regret 0.001")
    base = learned(8, new).to_bytes() if has_base else None
    shards = [learned(count, clone(new) if base is None else FastCB.from_bytes(base)) for count in (5, 12)]
    start = None if base is None else FastCB.from_bytes(base).to_workspace()
    with merge_models(start, [shard.to_workspace() for shard in shards]) as merged:
        merged.save(str(tmp_path / "merged"))
    gamma = FastCB.load(tmp_path / "merged").decide([1.0, 1.0]).gamma
    assert gamma == pytest.approx(theory(8 * has_base + 5 + 12, 0.001))
    assert gamma != theory(12, 0.001)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (EPOCHS, "--fastcb_gamma epochs needs a bound on the regressor's regret"),
        (f"{EPOCHS} --fastcb_regret -1", "--fastcb_regret is -1; it must be a finite number above 0"),
        (
            f"{EPOCHS} --fastcb_regret 3 --fastcb_objective both",
            "epochs follows the learner's loss or its reward, not both",
        ),
        ("--fastcb_regret 3", "--fastcb_regret is a flag of --fastcb_gamma epochs. Give both, or neither."),
        (f"{EPOCHS} --fastcb_regret 3 --gamma_scale 10", "--gamma_scale is a flag of --fastcb_gamma power"),
        (f"{EPOCHS} --fastcb_regret 3 --gamma_exponent 1", "--gamma_exponent is a flag of --fastcb_gamma power"),
    ],
)
def test_what_makes_no_sense_is_refused(flags, sentence):
    with pytest.raises(RuntimeError, match=sentence.replace("[", r"\[")):
        Workspace(f"--cb_explore 2 --fastcb {flags} --quiet")


def test_a_power_of_the_events_and_epochs_exclude_each_other():
    with pytest.raises(ValueError, match="gamma_scale is 10, and --fastcb_gamma epochs has none"):
        FastCB(2, gamma_scale=10, vw_args=EPOCHS).decide([1.0])


def test_a_model_without_its_loss_cannot_go_on_with_epochs(tmp_path):
    with Workspace("--cb_explore 2 --fastcb --quiet") as vw:
        vw.learn("1:1:0.5 | a")
        vw.save(str(tmp_path / "power.vw"))
    with pytest.raises(RuntimeError, match="does not know its loss"):
        Workspace(f"-i {tmp_path / 'power.vw'} {EPOCHS} --fastcb_regret 1 --quiet")


def test_a_learner_is_saved_and_goes_on(tmp_path):
    settings = {"seed": 3, "vw_args": EPOCHS}
    one, two = FastCB(ACTIONS, **settings), FastCB(ACTIONS, **settings)
    for i, cost in enumerate(outcomes(60, 0.5)):
        if i == 30:
            two.save(tmp_path / "half.fastcb")
            two = FastCB.load(tmp_path / "half.fastcb", seed=3)
            assert two.get_params()["gamma_scale"] is None
        for bandit in (one, two):
            bandit.learn_event([i % 7, 1.0], i % ACTIONS, cost)
    np.testing.assert_array_equal(one.predict_proba([[1.0, 2.0]]), two.predict_proba([[1.0, 2.0]]))
    assert one.decide([1.0, 2.0]).gamma == two.decide([1.0, 2.0]).gamma
