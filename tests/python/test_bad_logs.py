"""Promise 6 over many events: the command line stops at a bad one, and memory stays flat."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pytest

from bad_events import (
    ADF_JSON,
    ADF_TEXT,
    FIXED_JSON,
    FIXED_TEXT,
    adf_json,
    adf_text,
    dsjson,
    fixed_json,
    fixed_text,
    object_event,
    workspace,
)
from support import Event, events, refused, run, run_program, write


@cache
def long_log(text: Callable[[Event], str]) -> tuple[list[str], str]:
    """5,000 events as text, far more than VW reads ahead: the first nine, and the rest."""
    lines = [text(event) for event in events(5_000, seed=1)]
    return lines[:9], "".join(lines[9:])


LOGS = {
    "adf-text": ("--cb_explore_adf", Event.adf, adf_text("0:7.5:0.5") + "\n\n", "cost 7.5"),
    "adf-text-two-labels": ("--cb_explore_adf", Event.adf, "0:0:0.5 |a a\n0:0:0.5 |a b\n\n", "more than one action"),
    "adf-text-malformed": ("--cb_explore_adf", Event.adf, adf_text("0:1:2:3") + "\n\n", "'0:1:2:3'"),
    "fixed-text": ("--cb_explore 4", Event.fixed, "1:7.5:0.5 |u x\n", "cost 7.5"),
    "fixed-text-unknown-action": ("--cb_explore 4", Event.fixed, "9:0.5:0.5 |u x\n", "action 9"),
    "fixed-text-malformed": ("--cb_explore 4", Event.fixed, "1:2:3:4 |u x\n", "'1:2:3:4'"),
    "dsjson": ("--cb_explore_adf --dsjson", Event.dsjson, dsjson(_label_cost=7.5) + "\n", "cost 7.5"),
    "dsjson-index": ("--cb_explore_adf --dsjson", Event.dsjson, dsjson(_labelIndex=9) + "\n", "_labelIndex is 9"),
    "dsjson-not-an-object": ("--cb_explore_adf --dsjson", Event.dsjson, "hello\n", "found 'hello'"),
    "dsjson-malformed": (
        "--cb_explore_adf --dsjson",
        Event.dsjson,
        dsjson()[:-40] + "\n",
        "not valid JSON",
    ),
}


@pytest.mark.parametrize("way", ["file", "stdin", "test only", "one thread", "several passes"])
@pytest.mark.parametrize(("flags", "text", "bad", "message"), LOGS.values(), ids=LOGS)
def test_the_command_line_stops_at_a_bad_event(
    flags: str, text: Callable[[Event], str], bad: str, message: str, way: str, tmp_path: Path
) -> None:
    first, rest = long_log(text)
    lines = [*first, bad, rest]
    model = tmp_path / "model"
    data = tmp_path / "data"
    arguments = [*flags.split(), "--fastcb", "-f", str(model), "-p", str(tmp_path / "predictions")]
    started = sum(os.times()[:4])  # of processors, also of the program; a busy machine takes longer by the clock
    if way == "stdin":
        result = run_program(*arguments, stdin="".join(lines))  # through a pipe
    else:
        write(data, lines)
        passes = ["--passes", "2", "--cache_file", str(tmp_path / "cache"), "-k"]
        more = {"file": [], "test only": ["-t"], "one thread": ["--onethread"], "several passes": passes}[way]
        result = run(*arguments, "-d", data, *more)
    assert result.returncode == 1
    assert re.search(message, result.stdout + result.stderr)
    assert re.search("This was event 10 of the input, lines? ", result.stdout + result.stderr)
    assert sum(os.times()[:4]) - started < 10
    left = {path.name for path in tmp_path.iterdir()}
    # Neither a model nor the beginning of one; an unfinished cache is VW's.
    assert left <= {"data", "cache.writing", "predictions"}, left


def test_a_bad_event_leaves_the_model_of_an_earlier_run(tmp_path: Path) -> None:
    model = tmp_path / "model"
    good = write(tmp_path / "good", map(Event.fixed, events(50)))
    bad = write(tmp_path / "bad", [*map(Event.fixed, events(50)), "1:7.5:0.5 |u x\n"])
    assert run("--cb_explore", 4, "--fastcb", "-d", good, "-f", model).returncode == 0
    before = model.read_bytes()
    assert "cost 7.5" in refused("-i", model, "-d", bad, "-f", model)
    assert model.read_bytes() == before


def test_a_directory_is_not_an_empty_log(tmp_path: Path) -> None:
    assert f"-d {tmp_path} is a folder" in refused("--cb_explore", 4, "--fastcb", "-d", tmp_path)


def test_predictions_that_cannot_be_written_are_an_error(tmp_path: Path) -> None:
    log = write(tmp_path / "log", map(Event.fixed, events(50)))
    said = refused("--cb_explore", 4, "--fastcb", "-d", log, "-p", "/dev/full", "-f", tmp_path / "model")
    assert "could not be written: No space left on device" in said
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("label", ["0:abc:0.5", "0:1", "0:1:2:3"])
def test_a_label_that_cannot_be_read_is_named_on_the_first_action_too(label: str, tmp_path: Path) -> None:
    log = write(tmp_path / "log", [f"shared |u x\n{label} |a a\n|a b\n\n"])
    said = refused("--cb_explore_adf", "--fastcb", "-d", log)
    assert f"'{label}'" in next(line for line in said.splitlines() if "bad event" in line)


def refuse(call: Callable[[Any], Any], event: Any) -> None:
    try:
        call(event)
    except RuntimeError:
        return
    pytest.fail(f"accepted: {event}")


def megabytes() -> float:
    return psutil.Process(os.getpid()).memory_info().rss / 2**20


# How an event is given, and a label that the parser refuses, or the learner.
LEAKS = [
    (ADF_TEXT.flags, lambda vw: adf_text("0:7:0.5"), "learn"),
    (ADF_TEXT.flags, lambda vw: adf_text("0:1:2:3"), "learn"),
    (ADF_TEXT.flags, lambda vw: adf_text("0:7:0.5"), "predict"),
    (ADF_TEXT.flags, lambda vw: adf_text("0:7:0.5").split("\n"), "learn"),
    (ADF_TEXT.flags, lambda vw: adf_text("0:1:2:3").split("\n"), "predict"),
    (FIXED_TEXT.flags, lambda vw: fixed_text("1:7:0.5"), "learn"),
    (FIXED_TEXT.flags, lambda vw: fixed_text("1:2:3:4"), "predict"),
    (FIXED_JSON.flags, lambda vw: fixed_json("1:7:0.5"), "learn"),
    (ADF_JSON.flags, lambda vw: adf_json("0:7:0.5")[:-3], "learn"),
    ("--cb_explore_adf --dsjson", lambda vw: dsjson(_label_cost=7), "learn"),
    (ADF_TEXT.flags, lambda vw: object_event(vw, "0:7:0.5"), "learn"),
    (FIXED_TEXT.flags, lambda vw: object_event(vw, "1:7:0.5"), "predict"),
]


@pytest.mark.parametrize("count", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_bad_events_leave_memory_flat(count: int) -> None:
    spaces = [workspace(flags) for flags, _, _ in LEAKS]

    def give_all(rounds: int) -> None:
        for vw, (_, make, call) in zip(spaces, LEAKS, strict=True):
            for _ in range(rounds):
                event = make(vw)
                refuse(getattr(vw, call), event)
                if not isinstance(event, str) and not (isinstance(event, list) and isinstance(event[0], str)):
                    vw.finish_example(event)

    give_all(count // 10 // len(LEAKS))
    before = megabytes()
    give_all(count * 9 // 10 // len(LEAKS))
    assert megabytes() - before < 4 * count / 100_000
    for vw in spaces:
        vw.finish()
