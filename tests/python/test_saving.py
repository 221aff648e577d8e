"""Where a model is saved: complete or not at all, and nothing is left beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support import refused, run, write
from vw_fastcb import Workspace

FLAGS = ["--cb_explore", "3", "--fastcb", "-b", "12"]
EVENT = "1:0.25:0.5 |u x:0.5"


def save_in_python(path: Path) -> None:
    with Workspace(arg_list=[*FLAGS, "--quiet"]) as vw:
        vw.learn(EVENT)
        vw.save(path)


def save_by_the_program(path: Path) -> None:
    done = run(*FLAGS, "-f", path, stdin=f"{EVENT}\n")
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)


EACH_WAY = pytest.mark.parametrize("save", [save_in_python, save_by_the_program], ids=["python", "program"])
Save = Callable[[Path], None]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def assert_complete(path: Path) -> None:
    Workspace(arg_list=["-i", str(path), "--quiet"]).finish()


@EACH_WAY
def test_a_model_is_all_that_is_left(save: Save, tmp_path: Path) -> None:
    save(tmp_path / "model")
    save(tmp_path / "model")
    assert names_in(tmp_path) == ["model"]
    assert_complete(tmp_path / "model")


@EACH_WAY
def test_a_folder_is_refused_and_left_alone(save: Save, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(RuntimeError, match=r"folder: it is a folder\. Give the name of a file"):
        save(tmp_path / "folder")
    assert names_in(tmp_path) == ["folder"]
    assert (tmp_path / "folder").is_dir()


@EACH_WAY
def test_what_is_no_regular_file_is_refused_and_left_alone(save: Save, tmp_path: Path) -> None:
    # A pipe, as a device would be: a test that fails should not replace a device of this machine.
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with pytest.raises(RuntimeError, match=r"it is not a regular file\. Give the name of one"):
            save(tmp_path / name)
    assert names_in(tmp_path) == ["link", "pipe"]
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "pipe").is_fifo()


@EACH_WAY
@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing yet"])
def test_a_link_stays_a_link(save: Save, there: bool, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / "model"
    if there:
        target.write_bytes(b"old")
    (tmp_path / "second").symlink_to("elsewhere/model")
    (tmp_path / "first").symlink_to("second")
    save(tmp_path / "first")
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert names_in(tmp_path / "elsewhere") == ["model"]
    assert_complete(target)


@EACH_WAY
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o400])
def test_a_file_that_is_replaced_keeps_its_mode(save: Save, mode: int, tmp_path: Path) -> None:
    save(tmp_path / "model")
    (tmp_path / "model").chmod(mode)
    save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_mode & 0o777 == mode


@EACH_WAY
def test_a_link_to_itself_is_refused_and_left_alone(save: Save, tmp_path: Path) -> None:
    (tmp_path / "model").symlink_to("model")
    with pytest.raises(RuntimeError, match="it is a link that leads back to itself"):
        save(tmp_path / "model")
    assert names_in(tmp_path) == ["model"]
    assert (tmp_path / "model").is_symlink()


@EACH_WAY
def test_a_folder_that_cannot_be_made_is_named(save: Save, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RuntimeError, match=r"the model could not be saved to .*/file/model: Not a directory"):
        save(tmp_path / "file" / "model")


def test_the_program_refuses_a_bad_path_before_it_learns(tmp_path: Path) -> None:
    log = write(tmp_path / "log", [f"{EVENT}\n"] * 100)
    said = refused(*FLAGS, "-d", log, "-f", tmp_path)
    assert "it is a folder" in said
    assert "number of examples" not in said


SAVE_WITH_LITTLE_ROOM = """
import resource, signal, sys
from vw_fastcb import Workspace
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write beyond the limit then fails, as on a full disk
vw = Workspace("--cb_explore 3 --fastcb --quiet -b 12 --random_weights")
vw.learn("1:0.25:0.5 |u x:0.5")
vw.save(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
vw.learn("1:0.25:0.5 |u x:0.5")
try:
    vw.save(sys.argv[1])
except RuntimeError as problem:
    print(problem)
"""


def test_a_disk_without_room_is_an_error_and_leaves_the_old_model(tmp_path: Path) -> None:
    path = tmp_path / "model"
    command = [sys.executable, "-c", SAVE_WITH_LITTLE_ROOM, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert f"the model could not be saved to {path}: File too large." in done.stdout
    assert names_in(tmp_path) == ["model"]
    assert path.stat().st_size > 10_000
    assert_complete(path)


SAVE_AGAIN_AND_AGAIN = """
import sys
from vw_fastcb import Workspace
bits, path, saves = sys.argv[1:]
vw = Workspace(f"--cb_explore 3 --fastcb --quiet --random_weights -b {bits}")
for _ in range(int(saves)):
    vw.learn("1:0.25:0.5 |u x:0.5")
    vw.save(path)
"""


def test_processes_that_save_to_one_path_do_not_damage_the_model(tmp_path: Path) -> None:
    """Models of two sizes: a file that both had written into would be neither."""
    path = tmp_path / "model"
    command = [sys.executable, "-c", SAVE_AGAIN_AND_AGAIN]
    processes = [
        subprocess.Popen([*command, bits, str(path), "25"], stderr=subprocess.PIPE, text=True) for bits in ("14", "15")
    ]
    loaded = 0
    while any(process.poll() is None for process in processes):
        if path.exists():
            assert_complete(path)
            loaded += 1
    for process in processes:
        _, problem = process.communicate(timeout=60)
        assert process.returncode == 0, problem
    assert loaded > 0
    assert names_in(tmp_path) == ["model"]
    assert_complete(path)
