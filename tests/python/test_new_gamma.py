"""Gamma may be given anew with a model; SquareCB's, which has the same flags, is refused as by the stock wheel."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from support import STOCK, Event, events, ok, predictions, refused, run, write
from vw_fastcb import FastCB, Workspace
from vw_fastcb._engine import ArrayLearner

DOORS = {
    "adf": (("--cb_explore_adf", "-q", "ua"), Event.adf),
    "fixed": (("--cb_explore", "4"), Event.fixed),
}
QUIET = ("--quiet", "--no_stdin")
LOG = events(60, actions=4)
MADE_WITH = {"gamma_scale": "10", "gamma_exponent": "0.5"}
CHANGES = [
    {"gamma_scale": "50"},
    {"gamma_exponent": "0.9"},
    {"gamma_scale": "50", "gamma_exponent": "0.1"},
    {"gamma_scale": "0"},
]


def words(gamma: dict[str, str]) -> list[str]:
    return [word for flag, value in gamma.items() for word in (f"--{flag}", value)]


class Door:
    """A front door: its flags and its log."""

    def __init__(self, name: str, folder: Path) -> None:
        flags, text = DOORS[name]
        self.flags = (*flags, "--fastcb", "-b", "10", "--quiet")
        self.log = write(folder / "log", (text(event) for event in LOG))
        self.empty = write(folder / "empty", [])
        self.question = text(LOG[0], label=False)

    def trained(self, model: Path, *flags: object) -> Path:
        ok(*self.flags, *flags, "-d", self.log, "-f", model)
        return model

    def asked(self, model: Path, *flags: object) -> list[dict[int, float]]:
        ok("-i", model, *flags, "-t", "-d", self.log, "-p", model.with_suffix(".p"), "--quiet")
        return predictions(model.with_suffix(".p"))


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest, tmp_path: Path) -> Door:
    return Door(request.param, tmp_path)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: " ".join(words(change)))
def test_gamma_given_with_a_model_is_as_if_given_at_the_start(door: Door, change: dict[str, str], tmp_path: Path):
    old = door.trained(tmp_path / "old", *words(MADE_WITH))
    start = door.trained(tmp_path / "start", *words({**MADE_WITH, **change}))
    assert door.asked(old, *words(change)) == door.asked(start) != door.asked(old)
    assert door.asked(old, *(f"--{flag}={value}" for flag, value in change.items())) == door.asked(start)
    ok("-i", old, *words(change), "-d", door.empty, "-f", tmp_path / "saved", "--quiet")
    assert door.asked(tmp_path / "saved") == door.asked(start)


def test_a_model_that_was_made_without_the_flags_takes_them_too(door: Door, tmp_path: Path) -> None:
    plain = door.trained(tmp_path / "plain")
    expected = door.asked(door.trained(tmp_path / "start", "--gamma_scale", 50))
    assert door.asked(plain, "--gamma_scale", 50) == expected != door.asked(plain)


def test_python_gives_gamma_anew(door: Door, tmp_path: Path) -> None:
    old = door.trained(tmp_path / "old", *words(MADE_WITH))
    start = door.trained(tmp_path / "start", *words({**MADE_WITH, "gamma_scale": "50"}))
    pmfs = []
    for flags in (f"-i {old} --gamma_scale 50", f"-i {start}"):
        with Workspace(f"{flags} --quiet") as vw:
            pmfs.append(vw.predict(door.question))
    assert pmfs[0] == pmfs[1]


def test_a_model_is_that_of_a_learner_that_had_its_gamma_from_the_start() -> None:
    """Gamma has no part in learning."""

    def taught(scale: str) -> ArrayLearner:
        learner = ArrayLearner(["--cb_explore", "3", "--fastcb", "-b", "8", "--gamma_scale", scale, *QUIET])
        for i in range(6):
            learner.learn_one(np.eye(3)[i % 3], None, i % 3, 0.1 * i, 1.0, False)
        return learner

    anew = ArrayLearner(["--gamma_scale", "50", "--preserve_performance_counters", *QUIET], taught("10").model())
    assert anew.model() == taught("50").model()
    assert "--gamma_scale 50" in anew.kept_flags()


def test_a_loaded_learner_says_the_gamma_that_was_given_anew(tmp_path: Path) -> None:
    FastCB(3, gamma_scale=20, gamma_exponent=0.25).partial_fit(np.eye(3), [0, 1, 2], [0.1, 0.2, 0.3]).save(
        tmp_path / "model"
    )
    ok("-i", tmp_path / "model", "--gamma_scale", 70, "-d", write(tmp_path / "empty", []), "-f", tmp_path / "new")
    loaded = FastCB.load(tmp_path / "new")
    assert (loaded.gamma_scale, loaded.gamma_exponent) == (70, 0.25)
    assert loaded.decide(np.ones(3)).gamma == pytest.approx(70 * 3**0.25)


def test_bad_values_and_two_values_are_refused(door: Door, tmp_path: Path) -> None:
    old = door.trained(tmp_path / "old", *words(MADE_WITH))
    assert "--gamma_scale is -1; it must be" in refused("-i", old, "--gamma_scale", -1, "-d", door.log)
    said = refused("-i", old, "--gamma_scale", 20, "--gamma_scale", 30, "-d", door.log)
    assert "Disagreeing option values for 'gamma_scale'" in said


STOCK_MODELS = {
    "squarecb": ("--cb_explore_adf", "--squarecb"),
    "graph feedback": ("--cb_explore_adf", "--graph_feedback"),
}


@pytest.mark.parametrize("flags", STOCK_MODELS.values(), ids=STOCK_MODELS)
@pytest.mark.parametrize("change", ["--gamma_scale 50", "--gamma_exponent 0.1"])
def test_stock_explorers_refuse_another_gamma_as_the_wheel_does(
    flags: tuple[str, ...], change: str, tmp_path: Path
) -> None:
    log = write(tmp_path / "log", (event.adf() for event in LOG[:1]))
    ok(*flags, *words(MADE_WITH), "-d", log, "-f", tmp_path / "model", "--quiet")
    command = ["-i", tmp_path / "model", *change.split(), "-d", log, "--quiet"]
    process = [sys.executable, "-c", STOCK, *map(str, command)]
    wheel = subprocess.run(process, check=False, capture_output=True, text=True, timeout=60)
    ours = run(*command)
    message = re.compile(r"Disagreeing option values for 'gamma_\w+': '[^']*' vs '[^']*'")
    expected, found = message.search(wheel.stderr), message.search(ours.stdout + ours.stderr)
    assert wheel.returncode != 0
    assert ours.returncode == 1
    assert expected is not None
    assert found is not None
    assert found[0] == expected[0]


def test_a_model_of_squarecb_is_no_model_of_fastcb_with_another_gamma(tmp_path: Path) -> None:
    log = write(tmp_path / "log", (event.adf() for event in LOG[:1]))
    ok("--cb_explore_adf", "--squarecb", *words(MADE_WITH), "-d", log, "-f", tmp_path / "model", "--quiet")
    refused("-i", tmp_path / "model", "--fastcb", "--gamma_scale", 50, "-d", log)
