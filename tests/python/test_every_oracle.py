"""What every oracle of the registry must do, whatever it is: learn, resume, merge, explain, save, forget refusals.

A new oracle is tested here by its name alone. So is the example of CONTRIBUTING.md: see test_adding_an_oracle.py.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from random import Random

import numpy as np
import pytest

from support import assert_pmfs, events, ok, predictions, refused, write
from test_more_actions import learner, room, teach
from test_resume import (
    ADF,
    FIXED,
    KEEP_COUNTERS,
    LINEAR,
    Door,
    assert_same_but_for_the_passes,
    conditional,
    in_python,
    log_for,
    on_the_command_line,
)
from twins.arrays import ArrayTwins
from twins.formats import FORMATS
from twins.fuzz import Journal, WorkspaceTwins, life
from vw_fastcb import FastCB, Workspace, _engine, merge_models

EACH_ORACLE = pytest.mark.parametrize("oracle", [kind.name for kind in _engine.oracles()])
EACH_THAT_MERGES = pytest.mark.parametrize("oracle", [kind.name for kind in _engine.oracles() if kind.can_merge])
SLOTS = Door(("--ccb_explore_adf", "--fastcb"), conditional, (2, 6))
DOORS = pytest.mark.parametrize("door", [ADF, FIXED, SLOTS], ids=["adf", "fixed", "ccb"])
ROUNDS = 60
SHOP = [{"topic": "politics", "price": 3.0}, {"topic": "sports"}, {"topic": "music", "price": 0.5}]


def flags_of(oracle: str, door: Door) -> list[str]:
    return [*door.flags, "--fastcb_oracle", oracle, "-b", "12"]


def taught(oracle: str, count: int = 200, features: list[dict[str, object]] | None = None) -> FastCB:
    """A learner of three actions, the first of which is the cheapest whatever the context."""
    rng = np.random.default_rng(5)
    bandit = FastCB(3 if features is None else None, oracle=oracle, seed=3)
    for _ in range(count):
        row = {"user": str(rng.choice(["Tom", "Anna", "Li"])), "hour": float(rng.normal(12, 4))}
        decision = bandit.decide(row, features)
        bandit.learn(decision, cost=float(rng.random() < (0.05, 0.6, 0.9)[decision.action]))
    return bandit


def model_of(oracle: str, door: Door, path: Path, seed: int, count: int = ROUNDS) -> Path:
    data = write(path.with_suffix(".txt"), map(door.text, events(count, seed=seed, actions=door.actions)))
    ok(*flags_of(oracle, door), "--quiet", "-d", data, "-f", path)
    return path


def merged(path: Path, models: list[Path], base: Path | None = None) -> Path:
    with merge_models(
        None if base is None else Workspace(f"-i {base} --quiet"),
        [Workspace(f"-i {model} --quiet") for model in models],
    ) as whole:
        whole.save(path)
    return path


def answers(model: Path, door: Door) -> np.ndarray:
    """What a model thinks of some events: probabilities as one array."""
    data = write(model.with_suffix(".asked"), (door.text(event) for event in events(20, seed=9, actions=door.actions)))
    ok("-i", model, "-t", "--quiet", "-d", data, "-p", model.with_suffix(".pmf"))
    pmfs = predictions(model.with_suffix(".pmf"))
    assert_pmfs(pmfs)
    return np.concatenate([[pmf[action] for action in sorted(pmf)] for pmf in pmfs])


@EACH_ORACLE
def test_it_learns_which_action_is_cheapest(oracle: str) -> None:
    bandit = taught(oracle)
    costs = bandit.predict_cost([{"user": "Tom", "hour": 9.0}])[0]
    assert costs[0] < 0.2 < 0.4 < min(costs[1], costs[2])
    assert bandit.predict_proba([{"user": "Tom", "hour": 9.0}])[0, 0] > 0.8


@EACH_ORACLE
@DOORS
def test_resuming_changes_nothing(oracle: str, door: Door, tmp_path: Path) -> None:
    log = log_for(door, "", 2 * ROUNDS)
    expected, whole = on_the_command_line(tmp_path, "whole", log, door, *flags_of(oracle, door))
    before, half = on_the_command_line(tmp_path, "half", log[:ROUNDS], door, *flags_of(oracle, door))
    after, resumed = on_the_command_line(tmp_path, "resumed", log[ROUNDS:], door, "-i", half, KEEP_COUNTERS)
    assert before + after == expected
    assert_same_but_for_the_passes(resumed, whole)


@EACH_ORACLE
@DOORS
def test_python_and_the_command_line_resume_each_other(oracle: str, door: Door, tmp_path: Path) -> None:
    log = log_for(door, "", 2 * ROUNDS)
    expected, whole = in_python(tmp_path, "whole", log, door, *flags_of(oracle, door))
    _, half = on_the_command_line(tmp_path, "half", log[:ROUNDS], door, *flags_of(oracle, door))
    after, _ = in_python(tmp_path, "resumed", log[ROUNDS:], door, "-i", half)
    assert after == expected[ROUNDS:]
    before, half = in_python(tmp_path, "first", log[:ROUNDS], door, *flags_of(oracle, door))
    assert before == expected[:ROUNDS]
    after, resumed = in_python(tmp_path, "second", log[ROUNDS:], door, "-i", half, KEEP_COUNTERS)
    assert after == expected[ROUNDS:]
    assert resumed.read_bytes() == whole.read_bytes()


@EACH_ORACLE
@pytest.mark.parametrize("features", [None, SHOP], ids=["fixed", "features"])
def test_a_saved_learner_goes_on_as_the_one_that_was_saved(
    oracle: str, features: list[dict[str, object]] | None, tmp_path: Path
) -> None:
    bandit = taught(oracle, 40, features)
    bandit.save(tmp_path / "model")
    loaded = FastCB.load(tmp_path / "model")
    assert loaded.oracle == oracle
    for one in (bandit, loaded):
        for hour in range(20):
            one.learn_event({"hour": float(hour)}, hour % 3, hour / 20, action_features=features)
    asked = [{"user": "Anna", "hour": 3.0}]
    actions = None if features is None else [features]
    assert bandit.predict_proba(asked, actions).tolist() == loaded.predict_proba(asked, actions).tolist()
    bandit.save(tmp_path / "first")
    loaded.save(tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


@EACH_ORACLE
def test_a_damaged_model_is_refused(oracle: str, tmp_path: Path) -> None:
    model = model_of(oracle, FIXED, tmp_path / "model", seed=1)
    data = bytearray(model.read_bytes())
    rng = Random(0)
    start = data.index(b"fastcb0") + 8
    for place in rng.sample(range(start, len(data)), 20):
        (tmp_path / "damaged").write_bytes(
            data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]
        )
        refused("-i", tmp_path / "damaged", "-t", "--quiet", "--no_stdin")


@EACH_ORACLE
@pytest.mark.parametrize("printing", ["--invert_hash", "--readable_model"])
def test_printing_a_model_changes_nothing(oracle: str, printing: str, tmp_path: Path) -> None:
    log = log_for(LINEAR, "", ROUNDS)
    silent, model = on_the_command_line(tmp_path, "silent", log, LINEAR, *flags_of(oracle, LINEAR))
    extra = [printing, tmp_path / "printed"]
    printed, same = on_the_command_line(tmp_path, "printing", log, LINEAR, *flags_of(oracle, LINEAR), *extra)
    assert printed == silent
    assert same.read_bytes() == model.read_bytes()
    assert (tmp_path / "printed").stat().st_size > 100


@EACH_THAT_MERGES
@pytest.mark.parametrize("door", [ADF, FIXED], ids=["adf", "fixed"])
def test_merging_with_what_has_learned_nothing_changes_nothing(oracle: str, door: Door, tmp_path: Path) -> None:
    model = model_of(oracle, door, tmp_path / "model", seed=1)
    fresh = model_of(oracle, door, tmp_path / "fresh", seed=1, count=0)
    expected = answers(model, door)
    assert np.ptp(expected) > 0.01
    for name, models, base in (
        ("with fresh", [model, fresh], None),
        ("with its base", [model, fresh], fresh),
        ("nothing more", [model, model], model),
    ):
        np.testing.assert_allclose(
            answers(merged(tmp_path / name, models, base), door), expected, rtol=1e-4, atol=1e-6, err_msg=name
        )


@EACH_THAT_MERGES
@pytest.mark.parametrize("has_base", [False, True], ids=["new", "from_base"])
def test_a_merged_model_has_learned_from_all_of_them(oracle: str, has_base: bool, tmp_path: Path) -> None:
    base = taught(oracle, 40)
    base.save(tmp_path / "base")
    for action in (1, 2):
        part = FastCB.load(tmp_path / "base") if has_base else FastCB(3, oracle=oracle, seed=3)
        for hour in range(60):
            part.learn_event({"hour": float(hour % 24)}, action, 0.02 if action == 2 else 0.98)
        part.save(tmp_path / f"part{action}")
    parts = [tmp_path / "part1", tmp_path / "part2"]
    whole = FastCB.load(merged(tmp_path / "whole", parts, tmp_path / "base" if has_base else None))
    assert whole.events_ == 120 + 40 * has_base
    costs = whole.predict_cost([{"hour": 12.0}])[0]
    assert costs[2] < 0.3 < 0.7 < costs[1]


@pytest.mark.parametrize("oracle", [kind.name for kind in _engine.oracles() if not kind.can_merge])
@pytest.mark.parametrize("door", [ADF, FIXED], ids=["adf", "fixed"])
def test_an_oracle_that_cannot_merge_says_so_and_keeps_its_models(oracle: str, door: Door, tmp_path: Path) -> None:
    models = [model_of(oracle, door, tmp_path / f"model{seed}", seed=seed) for seed in (1, 2)]
    before = [answers(model, door) for model in models]
    for base in (None, models[0]):
        with pytest.raises(RuntimeError, match="cannot be merged"):
            merged(tmp_path / "whole", models, base)
    assert all(np.array_equal(answers(model, door), answer) for model, answer in zip(models, before, strict=True))


@EACH_ORACLE
@pytest.mark.parametrize("features", [None, SHOP], ids=["fixed", "features"])
def test_contributions_add_up_to_what_it_predicts(oracle: str, features: list[dict[str, object]] | None) -> None:
    bandit = taught(oracle, 100, features)
    row = {"user": "Tom", "hour": 9.0}
    explained = bandit.explain(row, features)
    costs = bandit.predict_cost([row], None if features is None else [features]).ravel()
    assert np.array_equal(explained.logits, explained.intercepts + explained.contributions.sum(axis=0)) or features
    np.testing.assert_allclose(explained.logits, np.log(costs / (1 - costs)), rtol=2e-6, atol=2e-6)


@EACH_ORACLE
@pytest.mark.parametrize("name", ["adf-text", "fixed-text", "adf-dsjson", "ccb-text", "slates-text"])
def test_refused_events_leave_no_trace(oracle: str, name: str, tmp_path: Path) -> None:
    rng, journal = Random(f"{oracle} {name}"), Journal(tmp_path / "offered")
    with closing(journal.file):
        twins = WorkspaceTwins(FORMATS[name], f"--fastcb_oracle {oracle}", journal, tmp_path, rng)
        life(twins, rng, 25)
    assert twins.counts["refused"] >= 25
    assert twins.counts["accepted"] > 0


@EACH_ORACLE
@pytest.mark.parametrize("params", [{"n_actions": 3}, {}], ids=["fixed", "features"])
def test_refused_rows_leave_no_trace(oracle: str, params: dict[str, int], tmp_path: Path) -> None:
    rng, journal = Random(oracle), Journal(tmp_path / "offered")
    with closing(journal.file):
        twins = ArrayTwins({**params, "oracle": oracle}, False, journal, tmp_path, rng)
        life(twins, rng, 25)
    assert twins.counts["refused"] >= 25


@pytest.mark.filterwarnings("ignore:the features seen so far")  # few weights, so that many features share one
@EACH_ORACLE
def test_with_more_actions_it_is_what_it_would_be_with_room_from_the_start(oracle: str) -> None:
    flags = f"--fastcb_oracle {oracle}"
    small = teach(learner(3, 8, flags), 3)
    large = teach(learner(5, 8 + room(5) - room(3), flags), 3)
    grown = _engine.with_more_actions(small.model(), 5, "")
    assert grown == large.model()
