"""What the flags of the reduction say: the pmf they promise, on a regressor that is VW's own logistic regression."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import vowpalwabbit
from numpy.typing import NDArray

from support import Event, assert_pmfs, events, ok, predictions, refused, run_program, write
from vw_fastcb import Workspace, allocation

ACTIONS = 4
LOG = events(60, seed=3, actions=ACTIONS)
QUERIES = events(8, seed=4, actions=ACTIONS)
DOORS = ["--cb_explore_adf", f"--cb_explore {ACTIONS}"]
LOG_LOSS = "--loss_function logistic --logistic_min 0 --logistic_max 1 --quiet"

Array = NDArray[np.float64]
Rule = Callable[[Array, float], Array]


def as_text(door: str, event: Event, label: bool = True) -> str | list[str]:
    return event.adf(label).strip().split("\n") if door == "--cb_explore_adf" else event.fixed(label).strip()


def trained(door: str, flags: str = "", log: Sequence[Event] = LOG) -> Workspace:
    vw = Workspace(f"{door} --fastcb --quiet {flags}")
    for event in log:
        vw.learn(as_text(door, event))
    return vw


def pmfs(vw: Workspace, door: str, queries: Sequence[Event] = QUERIES) -> Array:
    rows = np.array([vw.predict(as_text(door, event, label=False)) for event in queries])
    assert_pmfs(rows.tolist())
    return rows


def regressor(door: str, log: Sequence[Event], target: Callable[[Event], float], weight: float = 1) -> Array:
    """The logits of plain VW, the stock wheel: one regression over all actions, or one for each of the fixed ones."""
    adf = door == "--cb_explore_adf"
    models = [vowpalwabbit.Workspace(LOG_LOSS) for _ in range(1 if adf else ACTIONS)]

    def features(event: Event, action: int) -> str:
        own = f"|a a{action} w:{(action + 1) / ACTIONS:.3f} " if adf else ""
        return f"{own}|u c{event.context} v:{event.value:.4f}"

    def model(action: int) -> vowpalwabbit.Workspace:
        return models[0 if adf else action]

    for event in log:
        model(event.chosen).learn(f"{target(event):.6f} {weight} {features(event, event.chosen)}")
    logits = [[model(a).predict(features(event, a)) for a in range(ACTIONS)] for event in QUERIES]
    for vw in models:
        vw.finish()
    return np.array(logits)


def cost(event: Event) -> float:
    return round(event.cost, 4)


def reward(event: Event) -> float:
    return 1 - cost(event)


def sigmoid(logits: Array) -> Array:
    return 1 / (1 + np.exp(-logits))


def igw_on_rewards(rewards: Array, gamma: float) -> Array:
    return allocation.igw(1 - rewards, gamma)


FORMULAS: dict[str, tuple[float, float, Callable[[Event], float], Rule]] = {
    "": (10, 0.5, cost, allocation.reweighted_igw),
    "--gamma_scale 100": (100, 0.5, cost, allocation.reweighted_igw),
    "--gamma_exponent 0.25": (10, 0.25, cost, allocation.reweighted_igw),
    "--gamma_exponent 0": (10, 0, cost, allocation.reweighted_igw),
    "--gamma_scale 3 --gamma_exponent 1": (3, 1, cost, allocation.reweighted_igw),
    "--fastcb_allocation igw": (10, 0.5, cost, allocation.igw),
    "--fastcb_objective reward": (10, 0.5, reward, allocation.reweighted_igw_rewards),
    "--fastcb_objective both": (10, 0.5, cost, allocation.reweighted_igw_both),
    "--fastcb_objective reward --fastcb_allocation igw --gamma_scale 50": (50, 0.5, reward, igw_on_rewards),
    "--fastcb_objective loss --fastcb_allocation reweighted --fastcb_gamma power": (
        10,
        0.5,
        cost,
        allocation.reweighted_igw,
    ),
}


def expected(door: str, flags: str, log: Sequence[Event] = LOG) -> Array:
    scale, exponent, target, rule = FORMULAS[flags]
    logits = regressor(door, log, target)
    return rule(sigmoid(logits), scale * len(log) ** exponent)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("flags", FORMULAS)
def test_the_pmf_is_the_documented_formula_on_log_loss_regression(door, flags):
    np.testing.assert_allclose(pmfs(trained(door, flags), door), expected(door, flags), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("door", DOORS)
def test_flags_that_should_matter_give_different_pmfs(door):
    # The fixed formulas above would agree by accident on a model that knows nothing.
    rows = [expected(door, flags) for flags in list(FORMULAS)[:-1]]
    for one, other in itertools.combinations(rows, 2):
        assert np.abs(one - other).max() > 0.01


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("low", "high"), [(-1, 0), (-5, 5), (100, 101)])
def test_costs_on_a_declared_range_equal_unit_costs(door, low, high):
    sixteenths = [replace(event, cost=round(event.cost * 16) / 16) for event in LOG]
    moved = [replace(event, cost=low + (high - low) * event.cost) for event in sixteenths]
    unit = pmfs(trained(door, log=sixteenths), door)
    declared = pmfs(trained(door, f"--cb_min_cost {low} --cb_max_cost {high}", log=moved), door)
    np.testing.assert_allclose(declared, unit, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("epsilon", [0.05, 0.4, 1])
@pytest.mark.parametrize(
    "flags", ["", "--fastcb_allocation igw", "--fastcb_objective reward", "--fastcb_objective both"]
)
def test_epsilon_is_a_floor_under_every_action(door, epsilon, flags):
    free = pmfs(trained(door, f"--gamma_scale 1000 {flags}"), door)
    floored = pmfs(trained(door, f"--gamma_scale 1000 {flags} --epsilon {epsilon}"), door)
    floor = epsilon / ACTIONS
    assert (free.min(axis=1) < floor).all()
    np.testing.assert_allclose(floored.min(axis=1), floor, rtol=1e-5)
    if epsilon < 1:
        np.testing.assert_array_equal(floored.argmax(axis=1), free.argmax(axis=1))


@pytest.mark.parametrize("door", DOORS)
def test_epsilon_leaves_a_pmf_above_the_floor_alone(door):
    free = pmfs(trained(door, "--gamma_scale 0.5"), door)
    assert free.min() > 0.01 / ACTIONS
    np.testing.assert_allclose(pmfs(trained(door, "--gamma_scale 0.5 --epsilon 0.01"), door), free, rtol=1e-5)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "flags",
    [
        *FORMULAS,
        "--epsilon 0.4",
        "--cb_min_cost -0.5 --cb_max_cost 2",
        "--gamma_scale 7 --epsilon 0.1 --fastcb_objective reward",
    ],
)
def test_a_loaded_model_needs_no_flags(door, flags, tmp_path):
    vw = trained(door, flags)
    model = tmp_path / "model"
    vw.save(str(model))
    for loaded in (Workspace(f"-i {model} --quiet"), Workspace(f"-i {model} -t --quiet")):
        np.testing.assert_array_equal(pmfs(loaded, door), pmfs(vw, door))
    # Also what is learned after loading is learned as the flags say.
    loaded = Workspace(f"-i {model} --quiet")
    for event in events(20, seed=9):
        vw.learn(as_text(door, event))
        loaded.learn(as_text(door, event))
    np.testing.assert_array_equal(pmfs(loaded, door), pmfs(vw, door))


@pytest.mark.parametrize("flags", ["--fastcb_objective reward", "--cb_min_cost -1", "--cb_max_cost 2"])
def test_what_the_weights_of_a_saved_model_mean_cannot_be_changed(flags, tmp_path):
    # A regressor of losses in [0,1] is not one of rewards, nor of losses on another range.
    model = tmp_path / "model"
    trained("--cb_explore_adf").save(str(model))
    message = refused("-i", model, *flags.split(), "--no_stdin")
    assert flags.split()[0].lstrip("-") in message
    assert "the model that -i names has the second value, which cannot be changed" in message


def test_the_schedule_of_gamma_of_a_saved_model_cannot_be_changed(tmp_path):
    for name, flags in (("power", ""), ("epochs", " --fastcb_gamma epochs")):
        trained("--cb_explore_adf", f"--fastcb_oracle newton{flags}").save(str(tmp_path / name))
    said = refused("-i", tmp_path / "power", "--fastcb_gamma", "epochs", "--no_stdin")
    assert "its schedule of gamma cannot be changed" in said
    said = refused("-i", tmp_path / "epochs", "--gamma_scale", 3, "--no_stdin")
    assert "its schedule of gamma cannot be changed" in said
    said = refused("-i", tmp_path / "epochs", "--fastcb_gamma", "power", "--no_stdin")
    assert "'power' vs 'epochs'. The flag was given twice, or the model" in said


def test_another_oracle_than_that_of_a_saved_model_is_refused_in_one_sentence(tmp_path):
    trained("--cb_explore_adf").save(str(tmp_path / "model"))
    said = refused("-i", tmp_path / "model", "--fastcb_oracle", "newton", "--no_stdin")
    assert said.strip().endswith("not with --fastcb_oracle newton. Leave that flag out.")
    assert "vw-fastcb: the model could not be loaded: the model was made with VW's own regressor" in said


def test_a_negative_capacity_is_shown_as_it_was_given():
    said = refused("--cb_explore", 2, "--fastcb", "--fastcb_oracle", "newton", "--fastcb_capacity", -1, "--no_stdin")
    assert "--fastcb_capacity is -1; it must be a whole number from 0 to 4096." in said


# Promise 1: log loss, for a new model and a loaded one, and under -t.


@pytest.mark.parametrize("door", DOORS)
def test_a_loaded_model_goes_on_with_log_loss(door, tmp_path):
    model = tmp_path / "model"
    trained(door, log=LOG[:30]).save(str(model))
    loaded = Workspace(f"-i {model} --quiet")
    for event in LOG[30:]:
        loaded.learn(as_text(door, event))
    np.testing.assert_allclose(pmfs(loaded, door), expected(door, ""), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("objective", ["loss", "reward"])
def test_testing_does_not_clip_logits_to_the_bounds_of_squared_loss(door, objective, tmp_path):
    # All costs are 0 or 1: squared loss would clip logits to [0,1], where every action looks alike or bad.
    log = [replace(event, cost=round(event.cost)) for event in events(200, seed=5)]
    model = tmp_path / "model"
    trained(door, f"--fastcb_objective {objective}", log).save(str(model))
    flags = "" if objective == "loss" else "--fastcb_objective reward"
    exact = expected(door, flags, log)
    _, _, target, rule = FORMULAS[flags]
    clipped = rule(sigmoid(regressor(door, log, target).clip(0, 1)), 10 * len(log) ** 0.5)
    assert np.abs(exact - clipped).max() > 0.02
    tested = pmfs(Workspace(f"-i {model} -t --quiet"), door)
    np.testing.assert_allclose(tested, exact, rtol=1e-3, atol=1e-5)

    data = write(tmp_path / "data", (e.adf() if door == "--cb_explore_adf" else e.fixed() for e in QUERIES))
    ok("-i", model, "-t", "-d", data, "-p", tmp_path / "p", "--quiet")
    rows = [[pmf[a] for a in range(ACTIONS)] for pmf in predictions(tmp_path / "p")]
    np.testing.assert_allclose(rows, tested, atol=1e-5)


# Promise 3: one unweighted step, and nothing of the caller's is overwritten.


@pytest.mark.parametrize("door", DOORS)
def test_the_logged_probability_does_not_change_the_update(door):
    one, other = Workspace(f"{door} --fastcb --quiet"), Workspace(f"{door} --fastcb --quiet")
    for event in LOG:
        text = as_text(door, event)
        one.learn(text)
        lines = [text] if isinstance(text, str) else text
        changed = [line.replace(":0.2500 ", f":{0.01 + 0.9 * event.value:.4f} ") for line in lines]
        assert changed != lines
        other.learn(changed[0] if isinstance(text, str) else changed)
    np.testing.assert_array_equal(pmfs(one, door), pmfs(other, door))


def test_the_weight_of_the_example_is_the_weight_of_the_update(tmp_path):
    # pdrop, the share of events that the logger dropped, is how a dsjson log weighs events: 1 / (1 - pdrop).
    log = LOG[:12]
    plain = write(tmp_path / "plain", (event.dsjson() for event in log))
    weighted = write(tmp_path / "weighted", (json.dumps({**json.loads(e.dsjson()), "pdrop": 0.75}) + "\n" for e in log))
    rows = {}
    for data in (plain, weighted):
        ok("--cb_explore_adf", "--fastcb", "--quiet", "--dsjson", "-d", data, "-f", f"{data}.m")
        rows[data] = pmfs(Workspace(f"-i {data}.m -t --quiet"), "--cb_explore_adf")
    for data, weight in ((plain, 1), (weighted, 4)):
        logits = regressor("--cb_explore_adf", log, cost, weight)
        reference = allocation.reweighted_igw(sigmoid(logits), 10 * len(log) ** 0.5)
        np.testing.assert_allclose(rows[data], reference, rtol=1e-3, atol=1e-5)
    assert np.abs(rows[plain] - rows[weighted]).max() > 0.01


@pytest.mark.parametrize("door", DOORS)
def test_learning_leaves_label_and_pmf_of_the_caller_as_they_were(door):
    vw = trained(door)
    event = LOG[0]
    examples = vw.parse(as_text(door, event))
    listed = examples if isinstance(examples, list) else [examples]

    def labels() -> list[list[tuple[int, float, float]]]:
        return [
            [
                (ex.get_cbandits_class(i), ex.get_cbandits_cost(i), ex.get_cbandits_probability(i))
                for i in range(ex.get_cbandits_num_costs())
            ]
            for ex in listed
        ]

    before = labels()
    pmf = vw.predict(examples)
    assert labels() == before
    assert any(entry and entry[0][2] == pytest.approx(0.25) for entry in before)
    scores = listed[0].get_action_scores()
    vw.learn(examples)
    assert labels() == before
    assert listed[0].get_action_scores() == scores
    assert sorted(pmf) == sorted(scores)
    vw.finish_example(examples)
    assert pmfs(vw, door).tolist() != pmfs(trained(door), door).tolist()  # it did learn


@pytest.mark.parametrize("door", DOORS)
def test_an_event_that_is_labelled_after_it_was_parsed_is_learned(door):
    # A reward that comes late: the examples were made, and used to predict, before there was a label.
    late = Workspace(f"{door} --fastcb --quiet")
    for event in LOG:
        examples = late.parse(as_text(door, event, label=False))
        late.predict(examples)
        chosen = examples[event.chosen + 1] if isinstance(examples, list) else examples
        action = 0 if isinstance(examples, list) else event.chosen + 1
        chosen.set_label_string(f"{action}:{event.cost:.4f}:{event.probability:.4f}")
        late.learn(examples)
        late.finish_example(examples)
    np.testing.assert_array_equal(pmfs(late, door), pmfs(trained(door), door))


# Edges.


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "flags", ["", "--gamma_scale 1e6", "--gamma_exponent 1", "--fastcb_allocation igw", "--epsilon 0.1"]
)
def test_before_the_first_event_every_action_is_as_likely(door, flags):
    np.testing.assert_allclose(pmfs(Workspace(f"{door} --fastcb --quiet {flags}"), door), 1 / ACTIONS, rtol=1e-6)


@pytest.mark.parametrize("flags", ["", "--fastcb_objective reward", "--fastcb_allocation igw", "--epsilon 0.3"])
def test_a_single_action_is_certain(flags):
    adf, fixed = (
        Workspace(f"--cb_explore_adf --fastcb --quiet {flags}"),
        Workspace(f"--cb_explore 1 --fastcb --quiet {flags}"),
    )
    for number in (0, 1, 0.3):
        assert adf.predict(["shared |u x", "|a y"]) == [1]
        assert fixed.predict("|u x") == [1]
        adf.learn(["shared |u x", f"0:{number}:1 |a y"])
        fixed.learn(f"1:{number}:1 |u x")


@pytest.mark.parametrize("objective", ["loss", "reward"])
def test_two_thousand_actions(objective):
    actions = [f"|a a{a}" for a in range(2000)]
    adf = Workspace(f"--cb_explore_adf --fastcb --quiet --fastcb_objective {objective}")
    fixed = Workspace(f"--cb_explore 2000 --fastcb --quiet -b 20 --fastcb_objective {objective}")
    for i in range(21):
        chosen, paid = (7, 0) if i % 3 == 0 else (i, 1)
        adf.learn([*actions[:chosen], f"0:{paid}:0.01 {actions[chosen]}", *actions[chosen + 1 :]])
        fixed.learn(f"{chosen + 1}:{paid}:0.01 |u x")
    for pmf in (adf.predict(actions), fixed.predict("|u x")):
        assert_pmfs([pmf])
        assert len(pmf) == 2000
        assert int(np.argmax(pmf)) == 7


HELP_OF_FLAGS = {
    "--fastcb": "FastCB exploration",
    "--gamma_scale": "gamma_scale * [events learned]^gamma_exponent",
    "--gamma_exponent": "Exponent of FastCB's greediness",
    "--cb_min_cost": "Lowest possible cost",
    "--cb_max_cost": "Highest possible cost",
    "--fastcb_objective": "choices {both, loss, reward}",
    "--fastcb_allocation": "choices {igw, reweighted}",
    "--fastcb_gamma": "Schedule of gamma",
    "--fastcb_regret": "With --fastcb_gamma epochs",
    "--epsilon": "at least the probability epsilon / [number of actions]",
}


@pytest.mark.parametrize("arguments", ["--help", "--cb_explore_adf --fastcb --help", "--cb_explore 3 --fastcb --help"])
def test_help_describes_every_flag(arguments):
    words = " ".join(run_program(*arguments.split()).stdout.split())
    groups = [group for group in words.split("[Reduction] ") if "(FastCB) Options" in group[:80]]
    assert len(groups) == (2 if arguments == "--help" else 1)
    for group, (flag, text) in itertools.product(groups, HELP_OF_FLAGS.items()):
        assert f"{flag} " in group
        assert text in group


def test_the_flags_stand_in_the_model_file(tmp_path: Path):
    data = write(tmp_path / "data", (event.adf() for event in LOG[:5]))
    flags = "--gamma_scale 7 --cb_max_cost 2 --fastcb_objective reward --fastcb_allocation igw --epsilon 0.25"
    ok("--cb_explore_adf", "--fastcb", *flags.split(), "-d", data, "--readable_model", tmp_path / "text", "--quiet")
    options = next(line for line in (tmp_path / "text").read_text().splitlines() if line.startswith("options:"))
    words = options.split()
    for flag, value in zip(flags.split()[::2], flags.split()[1::2], strict=True):
        assert words[words.index(flag) + 1] == value


def test_the_action_of_a_label_is_kept_as_written():
    """VW finds the chosen action by its line, but users read the label back."""
    vw = Workspace("--cb_explore_adf --fastcb --quiet")
    examples = vw.parse(["shared |u a", "|a x", "2:0.5:0.25 |a y"])
    vw.learn(examples)
    observed = examples[2].get_label().costs[0]
    assert (observed.action, observed.cost, observed.probability) == (2, 0.5, 0.25)
    vw.finish_example(examples)
