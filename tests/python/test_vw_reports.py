"""Older reports of defects in VW, by the number of the issue: --fastcb has none. Newer wheels have mended some."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import vw_fastcb
from plain_events import FASTCB, SQUARECB, event, trained
from support import STOCK, assert_pmfs, events, ok, predictions, refused, write


def test_3680_the_command_line_prints_pmfs(tmp_path: Path) -> None:
    log = write(tmp_path / "log", (e.dsjson() for e in events(50, costs=(-1, 0))))
    ok(
        "--cb_explore_adf",
        "--fastcb",
        "--cb_min_cost",
        -1,
        "--cb_max_cost",
        0,
        "--dsjson",
        "-d",
        log,
        "-p",
        tmp_path / "p",
    )
    pmfs = predictions(tmp_path / "p")
    assert len(pmfs) == 50
    assert_pmfs(pmfs)


def test_3054_a_dropped_share_of_the_log_raises_the_weight_of_the_rest() -> None:
    """`pdrop`: an event that stands for two takes the step of an event of weight two."""

    def weight(pdrop: float) -> float:
        with vw_fastcb.Workspace(f"{FASTCB} --dsjson --noconstant --sgd -l 0.001") as vw:
            line = json.loads(events(1)[0].dsjson())
            vw.learn(json.dumps({**line, "_label_cost": 1, "pdrop": pdrop}))
            return float(vw.get_weight_from_name(f"a{line['_labelIndex']}", "a"))

    assert weight(0.5) > 1.3 * weight(0) > 0
    assert weight(0.9) > 1.3 * weight(0.5)


@pytest.mark.parametrize(("features", "flags"), [({}, ""), ({"B": {"f": 1}}, "--ignore B")])
def test_2793_actions_without_features_are_actions(features: dict[str, Any], flags: str) -> None:
    context = {"A": {"F": 1.0}, "_multi": [features, features]}
    label = {
        "_label_cost": 1,
        "_label_probability": 0.5,
        "_label_Action": 1,
        "_labelIndex": 0,
        "a": [1, 2],
        "p": [0.5, 0.5],
    }
    line = json.dumps({**label, "c": context})
    with vw_fastcb.Workspace(f"{FASTCB} --dsjson {flags}") as vw:
        vw.learn(line)
        assert vw.predict(line) == [0.5, 0.5]
    with vw_fastcb.Workspace(FASTCB) as vw:
        vw.learn(["shared | c", "0:1:0.5 |", "|"])
        assert vw.predict(["shared | c", "|", "|", "|"]) == pytest.approx([1 / 3] * 3)


def test_4536_stock_aborts_on_two_labelled_lines_and_fastcb_refuses_them(tmp_path: Path) -> None:
    lines = ["shared |s tom\n", "|a a\n", "2:1:0.25 |a b\n", "|a c\n", "4:0:0.25 |a d\n", "\n"]
    log = write(tmp_path / "log", lines)
    stock_run = subprocess.run(
        [sys.executable, "-c", STOCK, "--cb_explore_adf", "--squarecb", "-d", str(log)],
        capture_output=True,
        check=False,
    )
    assert stock_run.returncode < 0, "ended by a signal"
    message = refused("--cb_explore_adf", "--fastcb", "-d", log)
    assert "more than one action has a cost" in message
    with trained(vw_fastcb, FASTCB, 3) as vw:
        before = vw.predict(event(3))
        with pytest.raises(RuntimeError, match="more than one action has a cost"):
            vw.learn("".join(lines))
        assert vw.predict(event(3)) == before


RELOAD = """
import importlib, sys, psutil
module, flags, model, gives_back = sys.argv[1:]
api = importlib.import_module(module)
line = ["shared | u", "0:0.5:0.5 | a", "| b"] if "adf" in flags else "1:0.5:0.5 | a b c"
with api.Workspace(f"{flags} -b 10") as vw:  # few weights, so that what grows is a leak
    vw.learn(line)
    vw.save(model)

def reload():
    vw = api.Workspace(arg_list=["-i", model, "--quiet"])
    for _ in range(4):
        examples = vw.parse(line)
        vw.learn(examples)
        if gives_back == "True":
            vw.finish_example(examples)
    vw.finish()

for _ in range(20):
    reload()
before = psutil.Process().memory_info().rss
for _ in range(50):
    reload()
print((psutil.Process().memory_info().rss - before) / 2**20)
"""


def growth_on_reload(module: str, flags: str, model: Path, gives_back: bool) -> float:
    """By how many MB a process grows in 50 loads of a model, learning four events each time."""
    command = [sys.executable, "-c", RELOAD, module, flags, str(model), str(gives_back)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("flags", [FASTCB, "--cb_explore 3 --fastcb --quiet"], ids=["adf", "fixed"])
def test_2516_loading_a_model_again_and_again_keeps_memory_flat(flags: str, tmp_path: Path) -> None:
    assert growth_on_reload("vw_fastcb", flags, tmp_path / "model", gives_back=True) < 1


def test_4713_stock_grows_on_reload_where_examples_are_not_given_back(tmp_path: Path) -> None:
    assert growth_on_reload("vowpalwabbit", SQUARECB, tmp_path / "model", gives_back=False) > 6


@pytest.mark.parametrize("flags", [FASTCB, "--cb_explore 3 --fastcb --quiet"], ids=["adf", "fixed"])
def test_4713_memory_stays_flat_on_reload_where_examples_are_not_given_back(flags: str, tmp_path: Path) -> None:
    assert growth_on_reload("vw_fastcb", flags, tmp_path / "model", gives_back=False) < 1


@pytest.mark.parametrize("flags", [FASTCB, "--cb_explore 4 --fastcb --quiet"], ids=["adf", "fixed"])
def test_vw_next_80_a_loaded_model_goes_on_learning(flags: str, tmp_path: Path) -> None:
    lines = [e.adf() if "adf" in flags else e.fixed() for e in events(200)]
    whole = vw_fastcb.Workspace(flags)
    half = vw_fastcb.Workspace(flags)
    for line in lines[:100]:
        whole.learn(line)
        half.learn(line)
    half.save(tmp_path / "model")
    half.finish()
    half = vw_fastcb.Workspace(arg_list=["-i", str(tmp_path / "model"), "--quiet"])
    start = half.predict(lines[0])
    for line in lines[100:]:
        assert whole.predict(line) == half.predict(line)
        whole.learn(line)
        half.learn(line)
    assert half.predict(lines[0]) != start
    whole.finish()
    half.finish()
