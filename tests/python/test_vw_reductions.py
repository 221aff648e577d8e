"""What stands on FastCB in VW's stack (sampling, cbify, slots, slates, evaluation) and below it (base learners)."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from support import Event, assert_pmfs, events, ok, predictions, write
from vw_fastcb import Workspace

ADF = "--cb_explore_adf --fastcb"
FIXED = "--cb_explore 4 --fastcb"
LOG = events(400, seed=21)
CLASSES = 4


def log_file(path: Path, door: str, log: list[Event] = LOG) -> Path:
    return write(path, (event.fixed() if door == FIXED else event.adf() for event in log))


def share_of_good_action(pmfs: list[dict[int, float]], log: list[Event] = LOG, last: int = 100) -> float:
    assert len(pmfs) == len(log)
    pairs = list(zip(pmfs, log, strict=True))[-last:]
    return float(np.mean([pmf[event.context % event.actions] for pmf, event in pairs]))


def average_loss(printed: str) -> float:
    found = re.search(r"average loss = (-?[\d.]+)", printed)
    assert found is not None
    return float(found[1])


# Below FastCB.


@pytest.mark.parametrize("door", [ADF, FIXED])
@pytest.mark.parametrize(
    ("base", "share"),
    [
        ("", 0.85),
        ("--sgd", 0.8),
        ("--coin", 0.8),
        ("--ftrl", 0.7),
        ("--freegrad", 0.7),
        ("--nn 4 -l 2", 0.5),
        ("--lrq ua4", 0.7),
    ],
)
def test_every_base_learner_learns_the_good_actions(door, base, share, tmp_path):
    # Actions of their own need the context: lrq brings the products of context and action itself.
    products = "-q ua" if door == ADF and not base.startswith("--lrq") else ""
    out = tmp_path / "p"
    printed = ok(*door.split(), *products.split(), *base.split(), "-d", log_file(tmp_path / "d", door), "-p", out)
    name = base.split()[0].lstrip("-") if base else "gd"
    learners = re.search(r"Enabled learners: (.*)", printed)
    assert learners is not None
    assert {"sgd": "gd", "coin": "Coin"}.get(name, name).lower() in learners[1].lower()
    pmfs = predictions(out)
    assert_pmfs(pmfs)
    assert share_of_good_action(pmfs) > share


@pytest.mark.parametrize(
    "flags", ["-q ua", "--interactions ua", "--quadratic ua", "--interactions uua -q ua", "--cubic uua -q ua"]
)
def test_interactions_let_actions_depend_on_the_context(flags, tmp_path):
    data = log_file(tmp_path / "d", ADF)
    ok(*ADF.split(), "-d", data, "-p", tmp_path / "plain", "--quiet")
    ok(*ADF.split(), *flags.split(), "-d", data, "-p", tmp_path / "crossed", "--quiet")
    assert share_of_good_action(predictions(tmp_path / "plain")) < 0.5
    assert share_of_good_action(predictions(tmp_path / "crossed")) > 0.8


def test_interactions_of_fixed_actions_reach_every_weight_slot(tmp_path):
    # Which action is good depends on two features together, and on neither alone.
    rng = random.Random(4)
    lines, good = [], []
    for _ in range(800):
        x, y, chosen = rng.randrange(2), rng.randrange(2), rng.randrange(2)
        good.append(x ^ y)
        lines.append(f"{chosen + 1}:{int(chosen != x ^ y)}:0.5 |x x{x} |y y{y}\n")
    data = write(tmp_path / "d", lines)
    shares = []
    for flags in ([], ["-q", "xy"]):
        ok("--cb_explore", 2, "--fastcb", *flags, "-d", data, "-p", tmp_path / "p", "--quiet")
        pmfs = predictions(tmp_path / "p")
        shares.append(np.mean([pmf[action] for pmf, action in zip(pmfs[-200:], good[-200:], strict=True)]))
    assert shares[0] < 0.65
    assert shares[1] > 0.9


# Above FastCB.


def test_sampling_draws_actions_with_their_probabilities(tmp_path):
    model = tmp_path / "m"
    ok(*ADF.split(), "-q", "ua", "--cb_sample", "-d", log_file(tmp_path / "d", ADF), "-f", model, "--quiet")
    queries = write(tmp_path / "q", (event.adf(label=False) for event in events(2000, seed=8)))
    ok("-i", model, "-t", "-d", queries, "-p", tmp_path / "p", "--quiet")
    sampled = predictions(tmp_path / "p")
    assert_pmfs(sampled)
    drawn = [next(iter(pmf)) for pmf in sampled]  # the drawn action stands first
    for action in range(4):
        expected = sum(pmf[action] for pmf in sampled)
        assert abs(drawn.count(action) - expected) < 4 * expected**0.5
    drawn_best = sum(pmf[action] == max(pmf.values()) for pmf, action in zip(sampled, drawn, strict=True))
    expected = sum(max(pmf.values()) for pmf in sampled)
    assert drawn_best < len(sampled)
    assert abs(drawn_best - expected) < 4 * (len(sampled) - expected) ** 0.5 + 1


def multiclass(count: int = 1000) -> Iterator[tuple[int, str]]:
    rng = random.Random(1)
    for _ in range(count):
        label = rng.randrange(CLASSES)
        yield label, f"|x f{label} v:{rng.random():.3f}"


def multiclass_file(path: Path) -> Path:
    return write(path, (f"{label + 1} {features}\n" for label, features in multiclass()))


def cost_sensitive_file(path: Path) -> Path:
    return write(
        path,
        (" ".join(f"{a + 1}:{int(a != label)}" for a in range(CLASSES)) + f" {x}\n" for label, x in multiclass()),
    )


def ldf_file(path: Path) -> Path:
    return write(
        path,
        (
            "".join(f"{a + 1}:{int(a != label)} |x b{a} f{label}_{a}\n" for a in range(CLASSES)) + "\n"
            for label, _ in multiclass()
        ),
    )


@pytest.mark.parametrize("door", [ADF, FIXED, "--fastcb"])
@pytest.mark.parametrize(
    "losses", ["", "--loss0 -1 --loss1 0", "--loss0 2 --loss1 7", "--loss0 1 --loss1 0 --flip_loss_sign"]
)
def test_cbify_learns_classes_whatever_the_losses(door, losses, tmp_path):
    arguments = ["--cbify", CLASSES, *door.split(), *losses.split(), "-d", multiclass_file(tmp_path / "d")]
    assert average_loss(ok(*arguments)) < 0.08  # the share of wrong classes
    plain = average_loss(ok("--cbify", CLASSES, *door.split(), "-d", tmp_path / "d"))
    assert average_loss(ok(*arguments)) == pytest.approx(plain, abs=0.005)  # the same problem, on another scale


@pytest.mark.parametrize("door", [ADF, FIXED])
@pytest.mark.parametrize("losses", ["", "--loss0 -1 --loss1 0"])
def test_cbify_learns_from_costs(door, losses, tmp_path):
    data = cost_sensitive_file(tmp_path / "d")
    printed = ok("--cbify", CLASSES, "--cbify_cs", *door.split(), *losses.split(), "-d", data)
    assert average_loss(printed) < 0.08


@pytest.mark.parametrize("losses", ["", "--loss0 -1 --loss1 0"])
def test_cbify_learns_from_label_dependent_features(losses, tmp_path):
    data = ldf_file(tmp_path / "d")
    assert average_loss(ok("--cbify_ldf", *ADF.split(), *losses.split(), "-d", data)) < 0.08


@pytest.mark.parametrize("door", [ADF, FIXED])
def test_several_passes_of_cbify_leave_the_held_out_classes_alone(door, tmp_path):
    arguments = ["--cbify", CLASSES, *door.split(), "-c", "-k", "--passes", 2]
    model = tmp_path / "model"
    ok(*arguments, "-d", multiclass_file(tmp_path / "d"), "-f", model, "--quiet")
    ok("-i", model, "-t", "--readable_model", tmp_path / "text", "--no_stdin", "--quiet")
    assert "fastcb events learned = 1800" in (tmp_path / "text").read_text()


def decisions(path: Path) -> list[list[dict[int, float]]]:
    """The pmfs of each slot of each event."""
    blocks = path.read_text().strip().split("\n\n")
    pairs = [[[pair.split(":") for pair in line.split(",")] for line in block.split("\n")] for block in blocks]
    return [[{int(a): float(p) for a, p in slot} for slot in event] for event in pairs]


def test_each_slot_of_a_conditional_bandit_learns_its_own_good_action(tmp_path):
    rng = random.Random(3)
    lines = []
    for _ in range(300):
        first, second = rng.sample(range(3), 2)
        lines.append("ccb shared |u c1\n" + "".join(f"ccb action |a a{a}\n" for a in range(3)))
        lines.append(f"ccb slot {first}:{0.05 if first == 0 else 0.9}:0.33 |s s0\n")
        lines.append(f"ccb slot {second}:{0.05 if second == 2 else 0.9}:0.5 |s s1\n\n")
    ok("--ccb_explore_adf", "--fastcb", "-q", "sa", "-d", write(tmp_path / "d", lines), "-p", tmp_path / "p", "--quiet")
    events_of_slots = decisions(tmp_path / "p")
    assert len(events_of_slots) == 300
    assert_pmfs(slot for event in events_of_slots for slot in event)
    last = events_of_slots[-60:]
    assert np.mean([event[0][0] for event in last]) > 0.7
    assert np.mean([event[1].get(2, 0) for event in last]) > 0.6


def test_slates_learn_a_good_action_for_each_slot(tmp_path):
    rng = random.Random(3)
    lines = []
    for _ in range(400):
        x, y = rng.randrange(2), rng.randrange(2)
        cost = 0.5 * (x != 0) + 0.5 * (y != 1)
        lines.append(f"slates shared {cost} |u c1\n")
        lines.append("slates action 0 |a a0\nslates action 0 |a a1\nslates action 1 |a b0\nslates action 1 |a b1\n")
        lines.append(f"slates slot {x}:0.5,{1 - x}:0.5 |s s0\nslates slot {y}:0.5,{1 - y}:0.5 |s s1\n\n")
    ok("--slates", "--fastcb", "-d", write(tmp_path / "d", lines), "-p", tmp_path / "p", "--quiet")
    slates = decisions(tmp_path / "p")
    assert len(slates) == 400
    assert_pmfs(slot for event in slates for slot in event)
    last = slates[-80:]
    assert np.mean([event[0][0] for event in last]) > 0.6
    assert np.mean([event[1][1] for event in last]) > 0.6


@pytest.mark.parametrize("log", ["ccb", "slates"])
def test_slots_of_held_out_events_are_never_learned(log, tmp_path):
    flags = {"ccb": "--ccb_explore_adf", "slates": "--slates"}[log]
    models = []
    for held_out_cost in (0, 1):
        lines = []
        for i in range(60):
            cost = held_out_cost if i % 10 == 9 else 0.2
            shared, mark = ("", f"0:{cost}:0.5") if log == "ccb" else (f" {cost}", "0:0.5,1:0.5")
            action = "" if log == "ccb" else " 0"
            lines.append(f"{log} shared{shared} |u c1\n{log} action{action} |a a0\n{log} action{action} |a a1\n")
            lines.append(f"{log} slot {mark} |s s0\n\n")
        data, model = write(tmp_path / f"d{held_out_cost}", lines), tmp_path / f"m{held_out_cost}"
        ok(flags, "--fastcb", "-d", data, "-c", "-k", "--passes", 2, "-f", model, "--quiet")
        ok("-i", model, "-t", "--readable_model", tmp_path / "text", "--no_stdin", "--quiet")
        weights = re.findall(r"^\d+:\S+", (tmp_path / "text").read_text(), re.MULTILINE)
        assert "fastcb events learned = 108" in (tmp_path / "text").read_text()
        models.append(weights)
    assert models[0] == models[1]
    assert models[0]


def test_explore_eval_updates_on_accepted_events_only(tmp_path):
    data = log_file(tmp_path / "d", ADF)
    printed = ok(*ADF.split(), "-q", "ua", "--explore_eval", "-d", data, "-p", tmp_path / "p", "-f", tmp_path / "m")
    updates = re.search(r"update count = (\d+)", printed)
    assert updates is not None
    assert 10 < int(updates[1]) < len(LOG)
    ok("-i", tmp_path / "m", "-t", "--readable_model", tmp_path / "text", "--no_stdin", "--quiet")
    assert f"fastcb events learned = {updates[1]}\n" in (tmp_path / "text").read_text()
    pmfs = predictions(tmp_path / "p")
    assert_pmfs(pmfs)
    assert share_of_good_action(pmfs) > 0.5


@pytest.mark.parametrize("door", [ADF, FIXED])
def test_extra_metrics_count_the_events(door, tmp_path):
    ok(*door.split(), "-d", log_file(tmp_path / "d", door), "--extra_metrics", tmp_path / "metrics.json", "--quiet")
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert metrics["extra_metrics"]["total_learn_calls"] == len(LOG)
    if door == ADF:
        own = metrics["cb_explore_adf_fastcb"]
        assert own["cbea_labeled_ex"] == len(LOG)
        assert own["cbea_max_actions"] == 4
        assert own["cbea_sum_cost"] == pytest.approx(sum(event.cost for event in LOG), rel=1e-3)


def test_python_runs_the_stack_above_as_well():
    with Workspace("--cbify 3 --fastcb --quiet") as vw:
        rng = random.Random(0)
        for _ in range(400):
            label = rng.randrange(3)
            vw.learn(f"{label + 1} |x f{label}")
        drawn = [[vw.predict(f"|x f{label}") for _ in range(50)] for label in range(3)]
    for label, classes in enumerate(drawn):
        assert classes.count(label + 1) > 35
