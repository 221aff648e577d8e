"""Models and types as users of both meet them: the command line and Python, and mypy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import vw_fastcb
from strict_types import type_errors
from support import PROGRAM, events, ok, predictions, run_program, write

ADF = "--cb_explore_adf --fastcb --quiet"
FIXED = "--cb_explore 4 --fastcb --quiet"


@pytest.mark.parametrize("flags", [ADF, FIXED + " --epsilon 0.1", ADF + " --fastcb_allocation igw --gamma_scale 30"])
def test_a_model_crosses_between_the_command_line_and_python(flags: str, tmp_path: Path) -> None:
    log = events(200, seed=5)
    form = (lambda e, label=True: e.adf(label)) if "adf" in flags else (lambda e, label=True: e.fixed(label))
    train = write(tmp_path / "train", map(form, log[:150]))
    test = write(tmp_path / "test", (form(e, False) for e in log[150:]))
    # Learned on the command line, used in Python; learned in Python, used on the command line.
    ok(*flags.split(), "-d", train, "-f", tmp_path / "cli")
    with vw_fastcb.Workspace(flags) as vw:
        for event in log[:150]:
            vw.learn(form(event))
        vw.save(tmp_path / "python")
    pmfs = {}
    for origin in ("cli", "python"):
        with vw_fastcb.Workspace(arg_list=["-i", str(tmp_path / origin), "-t", "--quiet"]) as vw:
            pmfs[f"{origin} to python"] = [vw.predict(form(event, False)) for event in log[150:]]
        ok("-i", tmp_path / origin, "-t", "-d", test, "-p", tmp_path / "p", "--quiet")
        by_action = [[pmf[a] for a in range(4)] for pmf in predictions(tmp_path / "p")]
        pmfs[f"{origin} to cli"] = by_action
    assert pmfs["cli to python"] == pmfs["python to python"]
    assert pmfs["cli to cli"] == pmfs["python to cli"]
    # The command line prints six digits after the point.
    assert pmfs["cli to cli"] == [pytest.approx(pmf, rel=0, abs=1e-6) for pmf in pmfs["cli to python"]]
    assert max(max(pmf) for pmf in pmfs["cli to python"]) > 0.7


def test_the_module_is_the_program(tmp_path: Path) -> None:
    def module(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "vw_fastcb", *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
        )

    assert PROGRAM.exists()
    ours, program = module("--version"), run_program("--version")
    assert (ours.returncode, ours.stdout) == (program.returncode, program.stdout) == (0, program.stdout)
    assert program.stdout.startswith("9.11.9")
    data = write(tmp_path / "log", (event.adf() for event in events(50)))
    flags = ["--cb_explore_adf", "--fastcb", "-d", data, "-p"]
    assert module(*flags, tmp_path / "p1").returncode == 0
    ok(*flags, tmp_path / "p2")
    assert (tmp_path / "p1").read_bytes() == (tmp_path / "p2").read_bytes() != b""
    bad = module("--cb_explore_adf", "--fastcb", "--squarecb")
    assert bad.returncode == 1
    assert "--squarecb" in bad.stdout + bad.stderr


# Types

# `assert_type` fails where a type is lost, as Any it would fit everywhere.
USER = """
from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import vw_fastcb
from vw_fastcb import Workspace, allocation, merge_models, pyvw


def features(example: vw_fastcb.Example, label: vw_fastcb.CBLabel | None = None) -> int:
    return len(list(example.iter_features()))


def best(model: Path) -> list[float]:
    with Workspace("--cb_explore_adf --fastcb", enable_logging=True, arg_list=["-q", "ua"], quiet=True) as vw:
        vw.learn(["shared |u tom", "0:0.5:0.5 |a music", "|a sports"])
        vw.save(model)
        pmf: list[float] = vw.predict("shared |u tom\\n|a music\\n|a sports")
    other: vw_fastcb.Workspace = pyvw.Workspace("--cb_explore 3 --fastcb")
    other.learn("1:0.5:0.5 | a")
    example = vw_fastcb.Example(other, {"u": ["tom"]})
    if features(example) and other.get_label_type() == vw_fastcb.LabelType.CONTEXTUAL_BANDIT:
        assert_type(merge_models(None, [other]), vw_fastcb.Workspace).finish()
    rows = assert_type(allocation.igw([0.1, 0.2], gamma=10.0), NDArray[np.float64])
    return [*pmf, float(rows.max())]
"""

WRONG = """
from vw_fastcb import Workspace, allocation
Workspace(arg_str=3)
Workspace("--cb_explore_adf --fastcb", arg_list="-q ua")
Workspace("--cb_explore_adf --fastcb").parse(b"| a")
allocation.igw([0.1])
text: str = allocation.reweighted_igw_rewards([0.1], gamma=1)
"""


def test_mypy_is_clean_for_a_user_and_finds_a_users_mistakes(tmp_path: Path) -> None:
    found = type_errors(tmp_path, user=USER, wrong=WRONG)
    assert found["user"] == []
    assert [line for line, _ in found["wrong"]] == [3, 4, 5, 6, 7]
