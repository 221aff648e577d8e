"""One question, one answer: every path learns the same from the same events, bit for bit.

Paths: the program, `Workspace`, `FastCB` one by one, in batches, and `simulate`. The bake-off's pass tells nothing but
which rounds it lost; bakeoff/test_runner_engine.py compares those with the program's, for the same regressors.
"""

from __future__ import annotations

import functools
import pickle
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import vw_fastcb
from support import ok, without_note
from vw_fastcb import FastCB, Workspace

ROUNDS = 300
ACTIONS = 4
BITS = 12  # few weights: VW goes over all of them to save a model and to load one
REGRESSORS = ["", "--sgd", "--power_t 0.7", "--initial_t 5", "--coin", "--ftrl", "--nn 2"]
DOORS = ["fixed", "adf"]
SETTINGS = pytest.mark.parametrize(("door", "regressor"), [(d, r) for d in DOORS for r in REGRESSORS])


def numbers(rng, shape):
    """Numbers that VW's text parser reads as they are: quarters from 0 to 2, many of them 0."""
    return (rng.integers(0, 9, size=shape) / 4 * (rng.random(shape) < 0.7)).astype(np.float32)


def line(space, row):
    return f"|{space} " + " ".join(f"{j}:{value}" for j, value in enumerate(row) if value)


@dataclass(frozen=True, eq=False)
class Stream:
    """Contexts, the features of each event's actions (None where actions are fixed), and all costs."""

    contexts: np.ndarray
    features: np.ndarray | None
    costs: np.ndarray

    def actions(self, i):
        return None if self.features is None else self.features[i]

    def text(self, i, action=None):
        """An event as the program reads it, with the cost of an action or without."""
        label = "" if action is None else f":{self.costs[i, action]}:0.5 "
        context = line("x", self.contexts[i])
        if self.features is None:
            return f"{context}\n" if action is None else f"{action + 1}{label}{context}\n"
        lines = [line("a", row) for row in self.features[i]]
        if action is not None:
            lines[action] = f"0{label}{lines[action]}"
        return "\n".join([f"shared {context}", *lines]) + "\n\n"


@functools.cache
def stream(door):
    rng = np.random.default_rng(11)
    contexts, features = numbers(rng, (ROUNDS, 5)), numbers(rng, (ROUNDS, ACTIONS, 3))
    costs = rng.integers(0, 4, size=(ROUNDS, ACTIONS)).astype(np.float32)
    return Stream(contexts, None if door == "fixed" else features, costs)


def learner(door, regressor, bits=BITS):
    actions = ACTIONS if door == "fixed" else None
    # A step that lets --sgd neither stand still nor overflow.
    return FastCB(actions, cost_range=(0, 3), learning_rate=0.25, vw_args=regressor, seed=1, bits=bits)


def flags(door, regressor, bits=BITS):
    return [word for word in learner(door, regressor, bits)._settings().arguments() if word != "--no_stdin"]


def played(door, regressor):
    """What a simulation played: actions and their probabilities."""
    data = stream(door)
    run = learner(door, regressor).simulate(data.contexts, data.costs, action_features=data.features)
    return run.actions[0].tolist(), run.probabilities[0]


def learned_in_workspace(vw, data, actions, rows):
    """Learns from the events; returns the probabilities before each."""
    pmfs = []
    for i in rows:
        examples = vw.parse(data.text(i, actions[i]))
        vw.learn(examples)
        first = examples[0] if isinstance(examples, list) else examples
        pmfs.append(np.array(first.get_prediction(vw.get_prediction_type())))
        vw.finish_example(examples)
    return pmfs


def learned_one_by_one(bandit, data, actions, rows):
    pmfs = []
    for i in rows:
        pmfs.append(bandit.decide(data.contexts[i], data.actions(i)).pmf.astype(np.float32))
        cost = float(data.costs[i, actions[i]])
        bandit.learn_event(data.contexts[i], actions[i], cost, action_features=data.actions(i))
    return pmfs


def learned_in_batches(bandit, data, actions, rows):
    rows = np.array(rows)
    for some in np.array_split(rows, 3):
        features = None if data.features is None else data.features[some]
        chosen = np.array(actions)[some]
        bandit.partial_fit(data.contexts[some], chosen, data.costs[some, chosen], action_features=features)
    return bandit


@dataclass(frozen=True)
class Model:
    """What a model file says: everything that matters for learning on, and the counters."""

    content: bytes
    events: int
    t: float
    labelled: float
    unlabelled: float
    examples: int


def read(path: Path) -> Model:
    """VW's reports (loss, number of features, passes) are the driver's alone: loading a model resets them."""
    again, text = path.with_suffix(".again"), path.with_suffix(".txt")
    (path.parent / "nothing").write_text("")
    ok("-i", path, "-d", path.parent / "nothing", "-f", again, "--quiet")
    counting = ("--preserve_performance_counters", "--readable_model", text, "--quiet")
    ok("-i", path, "-d", path.parent / "nothing", *counting)

    def number(name):
        return float(re.search(rf"^{name}[ :=]+(\S+)$", text.read_text(), re.MULTILINE)[1])

    return Model(
        without_note(again.read_bytes()),
        int(number("fastcb events learned")),
        number("t"),
        number("weighted_labeled_examples"),
        number("weighted_unlabeled_examples"),
        int(number("example_number")),
    )


@SETTINGS
def test_every_path_gives_the_same_probabilities_and_the_same_model(door, regressor, tmp_path):
    data, words = stream(door), flags(door, regressor)
    actions, probabilities = played(door, regressor)
    rows = range(ROUNDS)

    (tmp_path / "log").write_text("".join(data.text(i, actions[i]) for i in rows))
    ok(*words, "-d", tmp_path / "log", "-f", tmp_path / "program", "-p", tmp_path / "program.pmfs")
    with Workspace(arg_list=[*words, "-p", str(tmp_path / "workspace.pmfs")]) as vw:
        pmfs = learned_in_workspace(vw, data, actions, rows)
        vw.save(tmp_path / "workspace")
    one, batch = learner(door, regressor), learner(door, regressor)
    np.testing.assert_array_equal(pmfs, learned_one_by_one(one, data, actions, rows))
    learned_in_batches(batch, data, actions, rows)
    one.save(tmp_path / "one")
    batch.save(tmp_path / "batch")

    assert (tmp_path / "program.pmfs").read_bytes() == (tmp_path / "workspace.pmfs").read_bytes()
    np.testing.assert_array_equal([pmf[action] for pmf, action in zip(pmfs, actions, strict=True)], probabilities)
    assert max(np.ptp(pmf) for pmf in pmfs) > 0.2  # something was learned
    models = {name: read(tmp_path / name) for name in ("program", "workspace", "one", "batch")}
    assert models["workspace"] == models["program"]
    assert models["one"] == models["program"]
    assert models["batch"] == models["program"]
    initial_t = 5 if "initial_t" in regressor else 1 if regressor == "--sgd" else 0
    assert models["program"].t == ROUNDS + initial_t
    assert models["program"].labelled == models["program"].examples == models["program"].events == ROUNDS


@SETTINGS
def test_a_model_goes_on_anywhere_as_if_it_had_never_been_saved(door, regressor, tmp_path):
    """Also one that was asked for predictions in between, which VW's clock counts and a loaded model must not."""
    data, words = stream(door), flags(door, regressor)
    actions, _ = played(door, regressor)
    first, second = range(ROUNDS // 2), range(ROUNDS // 2, ROUNDS)
    again = words if regressor == "--initial_t 5" else []  # the only one of these that VW does not keep in a model
    with Workspace(arg_list=words) as vw:
        for i in first:
            if i % 3 == 0:
                vw.predict(data.text(i).strip() if door == "fixed" else data.text(i).strip().split("\n"))
            learned_in_workspace(vw, data, actions, [i])
        vw.save(tmp_path / "half")
        expected = learned_in_workspace(vw, data, actions, second)
    with Workspace(arg_list=["-i", str(tmp_path / "half"), "--quiet", *again]) as resumed:
        np.testing.assert_array_equal(learned_in_workspace(resumed, data, actions, second), expected)
    with FastCB.load(tmp_path / "half") as bandit:
        copied = pickle.loads(pickle.dumps(bandit))
        np.testing.assert_array_equal(learned_one_by_one(bandit, data, actions, second), expected)
    np.testing.assert_array_equal(learned_one_by_one(copied, data, actions, second), expected)

    mine = learned_in_batches(learner(door, regressor), data, actions, first)
    mine.save(tmp_path / "mine")
    with Workspace(arg_list=["-i", str(tmp_path / "mine"), "--quiet", *again]) as resumed:
        np.testing.assert_array_equal(learned_in_workspace(resumed, data, actions, second), expected)
    loaded = FastCB.load(tmp_path / "mine")
    loaded.save(tmp_path / "saved again")
    assert (tmp_path / "saved again").read_bytes() == (tmp_path / "mine").read_bytes()
    np.testing.assert_array_equal(learned_one_by_one(loaded, data, actions, second), expected)


# --initial_t makes a model file of all its weights.
@pytest.mark.parametrize(
    ("door", "regressor"),
    [
        pytest.param(door, regressor, marks=pytest.mark.slow if regressor == "--initial_t 5" else ())
        for door in DOORS
        for regressor in REGRESSORS
    ],
)
def test_merged_models_are_those_of_the_program_merged(door, regressor, tmp_path):
    data, words = stream(door), flags(door, regressor)
    actions, _ = played(door, regressor)
    parts = [range(100), range(100, ROUNDS)]
    workspaces, bandits = [], []
    for rows in parts:
        vw = Workspace(arg_list=words)
        learned_in_workspace(vw, data, actions, rows)
        workspaces.append(vw)
        bandits.append(learned_in_batches(learner(door, regressor), data, actions, rows))
    bandits[1].save(tmp_path / "part")
    of_bandits = [bandits[0].to_workspace(), FastCB.load(tmp_path / "part").to_workspace()]
    if regressor in ("--coin", "--ftrl"):  # refused by VW, by name
        for models in (workspaces, of_bandits):
            with pytest.raises(RuntimeError, match=r"'ftrl.*' does not have a merge function"):
                vw_fastcb.merge_models(None, models)
        return
    merged = {}
    for name, models in {"program": workspaces, "arrays": of_bandits}.items():
        with vw_fastcb.merge_models(None, models) as whole:
            pmf = whole.predict(data.text(0).strip() if door == "fixed" else data.text(0).strip().split("\n"))
            assert np.isfinite(pmf).all()
            assert np.ptp(pmf) > 0
            whole.save(tmp_path / name)
        merged[name] = read(tmp_path / name)
    assert merged["arrays"] == merged["program"]
    assert merged["arrays"].events == merged["arrays"].labelled == ROUNDS


@pytest.mark.parametrize("door", DOORS)
def test_the_clock_counts_weights(door, tmp_path):
    data, bandit = stream(door), learner(door, "--sgd")
    for i, weight in enumerate([2.0, 0.5, 0.0, 4.0]):
        bandit.learn_event(data.contexts[i], 1, 2.0, action_features=data.actions(i), sample_weight=weight)
    bandit.save(tmp_path / "model")
    model = read(tmp_path / "model")
    assert (model.t, model.labelled, model.examples, model.events) == (1 + 6.5, 6.5, 4, 3)


@pytest.mark.parametrize("door", DOORS)
def test_a_refused_event_does_not_advance_the_clock(door, tmp_path):
    data, bandit = stream(door), learner(door, "--sgd")
    actions, _ = played(door, "--sgd")
    learned_in_batches(bandit, data, actions, range(20))
    bandit.save(tmp_path / "before")
    with pytest.raises(ValueError, match="cost"):
        bandit.learn_event(data.contexts[0], 1, 9.0, action_features=data.actions(0))
    with pytest.raises(ValueError, match="action"):
        bandit.learn_event(data.contexts[0], ACTIONS, 1.0, action_features=data.actions(0))
    bandit.save(tmp_path / "after")
    assert (tmp_path / "after").read_bytes() == (tmp_path / "before").read_bytes()
