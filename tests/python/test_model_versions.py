"""Models carry the version that made them: earlier ones are read, later ones are named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support import ok, refused, run_program
from vw_fastcb import Workspace, __version__

OLD = Path(__file__).parent.parent / "golden" / "models-0.1"
BLOCK = re.compile(rb"fastcb(\d\d)(.{16})", re.DOTALL)


def probabilities(text: str) -> list[list[float]]:
    return [[float(entry.split(":")[1]) for entry in line.split(",")] for line in text.splitlines() if line]


@pytest.mark.parametrize("door", ["adf", "fixed"])
def test_a_model_of_version_0_1_predicts_what_it_did(door: str, tmp_path: Path) -> None:
    model, events, expected = (OLD / f"{door}.{ending}" for ending in ("vw", "txt", "pmf"))
    ok("-i", model, "-t", "-d", events, "-p", tmp_path / "pmf", "--quiet")
    found = probabilities((tmp_path / "pmf").read_text())
    assert [[float(f"{p:.6f}") for p in pmf] for pmf in found] == probabilities(expected.read_text())


@pytest.mark.parametrize("door", ["adf", "fixed"])
def test_a_model_of_version_0_1_learns_on_and_is_saved_in_todays_format(door: str, tmp_path: Path) -> None:
    ok("-i", OLD / f"{door}.vw", "-d", OLD / f"{door}.txt", "-f", tmp_path / "model", "--quiet")
    block = BLOCK.search((tmp_path / "model").read_bytes())
    assert block is not None
    assert block[1] == b"04"
    assert block[2].rstrip(b"\0").decode() == __version__


def test_a_model_of_a_later_version_is_refused_by_name(tmp_path: Path) -> None:
    ok("--cb_explore", 3, "--fastcb", "-b", 8, "-d", OLD / "fixed.txt", "-f", tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    block = BLOCK.search(data)
    assert block is not None
    later = data[: block.start()] + b"fastcb07" + b"1.2.3".ljust(16, b"\0") + data[block.end() :]
    (tmp_path / "later").write_bytes(later)
    message = refused("-i", tmp_path / "later", "-d", OLD / "fixed.txt")
    assert f"made by version 1.2.3 of vw-fastcb, and this is version {__version__}" in message
    with pytest.raises(RuntimeError, match=r"version 1\.2\.3"):
        Workspace(f"-i {tmp_path / 'later'} --quiet")


def test_the_program_tells_both_versions() -> None:
    lines = run_program("--version").stdout.splitlines()
    assert lines[0].startswith("9.11.9")
    assert lines[1] == f"vw-fastcb {__version__}"
