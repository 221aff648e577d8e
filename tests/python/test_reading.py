"""However an input is cut into lines and blocks, the same events are read from it, each as soon as it is there."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

import pytest

from support import PROGRAM, Event, events, ok, write
from vw_fastcb import Workspace

DOORS = {
    "adf": (("--cb_explore_adf", "-q", "ua"), Event.adf),
    "fixed": (("--cb_explore", "4"), Event.fixed),
    "json": (("--cb_explore_adf", "--json"), lambda event: event.json() + "\n"),
    "dsjson": (("--cb_explore_adf", "--dsjson"), Event.dsjson),
}
MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


def text_of(door: str, count: int = 60) -> str:
    return "".join(event if event.endswith("\n") else f"{event}\n" for event in map(DOORS[door][1], events(count)))


def learned(door: str, data: Path, tmp_path: Path, *more: object) -> bytes:
    ok(*DOORS[door][0], "--fastcb", "-d", data, "-f", tmp_path / "model", *more)
    return (tmp_path / "model").read_bytes()


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("way", ["carriage returns", "a mark", "no last newline", "compressed", "one thread"])
def test_the_same_events_are_read(door: str, way: str, tmp_path: Path) -> None:
    text = text_of(door)
    expected = learned(door, write(tmp_path / "plain", [text]), tmp_path)
    data = tmp_path / ("data.gz" if way == "compressed" else "data")
    changed = {
        "carriage returns": text.replace("\n", "\r\n"),
        "a mark": MARK + text,
        "no last newline": text.rstrip("\n"),
    }.get(way, text)
    data.write_bytes(gzip.compress(changed.encode()) if way == "compressed" else changed.encode())
    assert learned(door, data, tmp_path, *(["--onethread"] if way == "one thread" else [])) == expected


LAST_NUMBERS = {  # what follows them in the reader's buffer, left there by what came before, would go on as a number
    "adf": "10:1:0.5 |a p:2\n|a q:3\n\n0:0.5:0.5 |a p:1\n|a q:1",
    "fixed": "1:0.71:0.5 |u \n1:0.86:0.5 |u 23:1 37:1",
}


@pytest.mark.parametrize("door", LAST_NUMBERS)
def test_a_number_ends_where_the_input_ends(door: str, tmp_path: Path) -> None:
    text, oracle = LAST_NUMBERS[door], ("--fastcb_oracle", "newton")
    expected = learned(door, write(tmp_path / "ended", [f"{text}\n"]), tmp_path, *oracle)
    assert learned(door, write(tmp_path / "open", [text]), tmp_path, *oracle) == expected


@pytest.mark.parametrize("door", ["adf", "fixed"])
def test_a_line_may_be_longer_than_any_buffer(door: str, tmp_path: Path) -> None:
    wide = " ".join(f"w{i}:0.5" for i in range(40_000))
    event = f"shared |u {wide}\n0:0.25:0.5 |a x\n|a y\n\n" if door == "adf" else f"2:0.25:0.5 |u {wide}\n"
    text = text_of(door) + event + text_of(door)
    learned(door, write(tmp_path / "log", [text]), tmp_path)
    asked = [getattr(event, door)(label=False) for event in events(5, seed=3)] + [event.replace("0:0.25:0.5 ", "")]
    with Workspace(" ".join((*DOORS[door][0], "--fastcb", "--quiet"))) as vw:
        for one in text.split("\n\n" if door == "adf" else "\n"):
            if one.strip():
                vw.learn(one)
        with Workspace(f"-i {tmp_path / 'model'} --quiet") as loaded:
            assert [loaded.predict(one) for one in asked] == [vw.predict(one) for one in asked]


@pytest.mark.parametrize("door", DOORS)
def test_a_pipe_gets_each_answer_before_the_next_event(door: str) -> None:
    """Whoever feeds the program may wait for the probabilities before saying what happened."""
    flags = [*DOORS[door][0], "--fastcb", "--quiet", "-p", "/dev/stdout"]
    command = ["stdbuf", "-o0", str(PROGRAM), *flags]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for event in map(DOORS[door][1], events(3)):
            process.stdin.write(event if event.endswith("\n") else f"{event}\n")
            process.stdin.flush()
            assert ":" in process.stdout.readline()
            if door != "fixed":
                assert process.stdout.readline() == "\n"
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def test_each_of_several_models_has_rules_of_its_own(tmp_path: Path) -> None:
    log = write(tmp_path / "log", ["1:0.25:0.5 |u x\n", "2:0.75:0.5 |u y\n"])
    lines = [f"--cb_explore 3 --fastcb -d {log} --quiet\n", "--cb_explore 3 --fastcb --cb_max_cost 0.5 --quiet\n"]
    arguments = write(tmp_path / "arguments", lines)
    command = [str(PROGRAM), "--args", str(arguments)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "cost 0.75 is outside [0, 0.5]" in done.stdout + done.stderr
