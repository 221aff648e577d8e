"""Promise 2: every prediction is a pmf, whatever the state of the model, the features and the number of actions."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from support import assert_pmfs
from vw_fastcb import Workspace

RULES = [
    "",
    "--fastcb_objective reward",
    "--fastcb_objective both",
    "--fastcb_allocation igw",
    "--fastcb_objective reward --fastcb_allocation igw",
]
EACH_RULE = pytest.mark.parametrize("rule", RULES)

# Values that overflow float32 when squared, vanish when squared, are denormal, or are just ordinary.
EXTREMES = ("1e20", "-1e20", "3e38", "1e-30", "1e-40", "1e-45", "0", "-0", "1", "-1", "1e5", "0.001")


def workspace(flags: str) -> Workspace:
    # Few weights: VW goes over all of them to make a model, to save and to load it.
    return Workspace(f"{flags} -b 14 --fastcb --quiet")


def features(rng: random.Random, values: Sequence[str]) -> str:
    return " ".join(f"f{rng.randrange(8)}:{rng.choice(values)}" for _ in range(rng.randint(0, 4)))


def adf_event(rng: random.Random, values: Sequence[str], most: int = 8, label: bool = True) -> str:
    count = rng.randint(1, most)
    chosen = rng.randrange(count) if label else count
    lines = [f"shared |u {features(rng, values)}"]
    for action in range(count):
        mark = f"0:{rng.choice((0, 0.3, 1))}:{1 / count:.4f} " if action == chosen else ""
        lines.append(f"{mark}|a {features(rng, values)}")
    return "\n".join(lines)


def fixed_event(rng: random.Random, values: Sequence[str], actions: int, label: bool = True) -> str:
    mark = f"{rng.randint(1, actions)}:{rng.choice((0, 0.3, 1))}:{1 / actions:.4f} " if label else ""
    return f"{mark}|u {features(rng, values)}"


def predictions_while_learning(
    vw: Workspace, rounds: int, rng: random.Random, values: Sequence[str]
) -> Iterator[list[float]]:
    """Learns the rounds, and asks for a prediction with other features before each.

    Where an interaction would make a product that overflows, the event is refused, and only then.
    """
    adf = vw._is_multiline()
    refused = 0
    for _ in range(rounds):
        asked = adf_event(rng, values, label=False) if adf else fixed_event(rng, values, 5, label=False)
        event = adf_event(rng, values) if adf else fixed_event(rng, values, 5)
        try:
            yield vw.predict(asked)
            vw.learn(event)
        except RuntimeError as problem:
            if not adf or "a product of features in an interaction is too large" not in str(problem):
                raise
            refused += 1
    assert refused < 0.8 * rounds


@EACH_RULE
@pytest.mark.parametrize("door", ["--cb_explore_adf -q ua", "--cb_explore 5"])
@pytest.mark.parametrize("regressor", ["", "--sgd", "--coin", "--ftrl", "--nn 3"])
@pytest.mark.parametrize("rounds", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_extreme_features_and_learning_rates_give_pmfs(rule: str, door: str, regressor: str, rounds: int) -> None:
    for seed in range(3):
        rng = random.Random(seed)
        rate = 10 ** rng.uniform(-3, 3)
        values = EXTREMES if seed else ("1", "0.5", "-2", "1e4")
        with workspace(f"{door} {rule} {regressor} -l {rate}") as vw:
            assert_pmfs(predictions_while_learning(vw, rounds, rng, values))


@EACH_RULE
@pytest.mark.parametrize("door", ["--cb_explore_adf -q ua", "--cb_explore 5"])
@pytest.mark.parametrize(
    "flags",
    [
        "--gamma_scale 0",
        "--gamma_scale 1e30",
        "--gamma_scale 3e38 --gamma_exponent 100",
        "--gamma_scale 1e-38 --gamma_exponent 0",
        "--epsilon 1",
        "--epsilon 0",
        "--epsilon 0.3 --gamma_scale 1e30",
        "--epsilon 1e-30",
    ],
)
def test_extreme_flags_give_pmfs(rule: str, door: str, flags: str) -> None:
    with workspace(f"{door} {rule} {flags} -l 10") as vw:
        assert_pmfs(predictions_while_learning(vw, 50, random.Random(7), ("1", "0.5", "-2", "1e4")))


@EACH_RULE
@pytest.mark.parametrize("door", ["--cb_explore_adf -q ua", "--cb_explore 5"])
@pytest.mark.parametrize("rounds", [1000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_thousands_of_updates_end_in_a_pmf(rule: str, door: str, rounds: int) -> None:
    with workspace(f"{door} {rule} -l 100") as vw:
        assert_pmfs(predictions_while_learning(vw, rounds, random.Random(11), ("1", "0.5", "2")))


@EACH_RULE
@pytest.mark.parametrize("trained", [0, 50])
def test_one_action_is_certain(rule: str, trained: int) -> None:
    with workspace(f"--cb_explore_adf {rule}") as adf, workspace(f"--cb_explore 1 {rule}") as fixed:
        for _ in range(trained):
            adf.learn("shared |u x\n0:0.9:1 |a y")
            fixed.learn("1:0.9:1 |u x")
        assert adf.predict("shared |u x\n|a y") == [1.0]
        assert fixed.predict("|u x") == [1.0]


@EACH_RULE
@pytest.mark.parametrize("epsilon", ["0", "0.05", "1"])
@pytest.mark.parametrize("actions", [2000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_thousands_of_actions_give_a_pmf(rule: str, epsilon: str, actions: int) -> None:
    lines = [f"|a a{a} w:{a % 7}" for a in range(actions)]
    asked = "\n".join(["shared |u x", *lines])
    with workspace(f"--cb_explore_adf {rule} --epsilon {epsilon} -q ua") as vw:
        assert_pmfs([vw.predict(asked)])
        for chosen in (0, 17, actions - 1):
            vw.learn("\n".join(["shared |u x", *lines[:chosen], f"0:0.2:0.5 {lines[chosen]}", *lines[chosen + 1 :]]))
            pmf = vw.predict(asked)
            assert len(pmf) == actions
            assert_pmfs([pmf])
    with workspace(f"--cb_explore {actions} {rule} --epsilon {epsilon}") as vw:
        assert_pmfs([vw.predict("|u x")])
        for chosen in (1, 17, actions):
            vw.learn(f"{chosen}:0.2:0.5 |u x")
            pmf = vw.predict("|u x")
            assert len(pmf) == actions
            assert_pmfs([pmf])


@EACH_RULE
def test_tied_actions_share_equally(rule: str) -> None:
    with workspace(f"--cb_explore_adf {rule} -l 5") as vw:
        for _ in range(200):
            vw.learn("shared |u x\n0:0.9:0.5 |a bad\n|a good")
            vw.learn("shared |u x\n|a bad\n0:0.1:0.5 |a good")
        pmf = vw.predict("shared |u x\n|a bad\n|a good\n|a bad\n|a good\n|a bad")
        assert_pmfs([pmf])
        assert pmf[0] == pmf[2] == pmf[4]
        assert pmf[1] == pytest.approx(pmf[3], abs=1e-6) or max(pmf[1], pmf[3]) > 0.5  # the rest goes to one
        assert min(pmf[1], pmf[3]) > pmf[0]
    with workspace(f"--cb_explore 7 {rule}") as vw:
        assert vw.predict("|u x") == pytest.approx([1 / 7] * 7, abs=1e-6)


@EACH_RULE
@pytest.mark.parametrize("noconstant", ["", "--noconstant"])
def test_featureless_actions_give_pmfs(rule: str, noconstant: str) -> None:
    with workspace(f"--cb_explore_adf {rule} {noconstant} -q ua") as vw:
        for _ in range(20):
            vw.learn("shared |u x\n0:0.5:0.5 |a\n|a y\n|a")
            vw.learn("shared |\n|\n0:1:0.5 |\n|")
        assert_pmfs([vw.predict("shared |u x\n|a\n|a y\n|"), vw.predict("shared |\n|\n|"), vw.predict("|\n|\n|a y")])
    with workspace(f"--cb_explore 3 {rule} {noconstant}") as vw:
        for _ in range(20):
            vw.learn("2:0.5:0.5 |")
        assert_pmfs([vw.predict("|"), vw.predict("|u x")])


@EACH_RULE
@pytest.mark.parametrize("cost", [0, 1])
@pytest.mark.parametrize("door", ["--cb_explore_adf", "--cb_explore 3"])
def test_saturated_predictions_give_pmfs(rule: str, cost: int, door: str) -> None:
    """The logit of an action whose cost never varies runs to its bound."""
    adf = "adf" in door
    with workspace(f"{door} {rule} -l 1e3 --power_t 0 --sgd --noconstant") as vw:
        for _ in range(300):
            vw.learn(f"0:{cost}:0.5 |a y:10\n|a z" if adf else f"1:{cost}:0.5 |u x:10")
        asked = "|a y:10\n|a z\n|a z" if adf else "|u x:10"
        pmf = vw.predict(asked)
        assert_pmfs([pmf])
        assert (pmf[0] < 0.2) == (cost == 1)


@EACH_RULE
def test_huge_initial_weights_give_pmfs_also_after_loading(rule: str, tmp_path: Path) -> None:
    model = str(tmp_path / "model")
    with workspace(f"--cb_explore_adf {rule} -l 1000 --initial_weight 1e10") as vw:
        assert_pmfs(predictions_while_learning(vw, 100, random.Random(1), EXTREMES))
        vw.save(model)
    with Workspace(arg_list=["-i", model, "--quiet"]) as vw:
        assert_pmfs(predictions_while_learning(vw, 100, random.Random(2), EXTREMES))
