"""Promise 6: a truncated, altered or foreign model file is an error, never a crash and never a silent start."""

from __future__ import annotations

import ctypes
import os
import random
import re
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import PROGRAM, Event, events, ok, refused, run, stock, write
from vw_fastcb import Workspace

# Few weights: a model is loaded thousands of times here, and each time VW allocates all of them.
ADF = ("--cb_explore_adf", "--fastcb", "-b", "10")
FIXED = ("--cb_explore", "4", "--fastcb", "-b", "10")
MAGIC = b"fastcb0"  # the start of FastCB's block in a model; the number of its format follows
KILLS = pytest.mark.parametrize(
    "seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 20))]
)
IN_DELETE = 0x200  # an event of inotify(7)


@dataclass(frozen=True)
class Model:
    """An intact model, the flags it was made with, and what it can read."""

    path: Path
    flags: tuple[str, ...]
    data: Path
    asked: str

    @property
    def content(self) -> bytes:
        return self.path.read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def models(folder: Path) -> dict[str, Model]:
    made = {}
    for name, flags, text in (("adf", ADF, Event.adf), ("fixed", FIXED, Event.fixed)):
        data = write(folder / f"{name}.txt", map(text, events(50, seed=2)))
        path = folder / f"{name}.model"
        ok(*flags, "-d", data, "-f", path)
        made[name] = Model(path, flags, data, text(events(1)[0], label=False))
    return made


@pytest.fixture(params=["adf", "fixed"])
def model(models: dict[str, Model], request: pytest.FixtureRequest) -> Model:
    return models[request.param]


def assert_refused_by_the_program(path: Path, data: Path, *flags: str) -> None:
    result = run("-i", path, "-t", "-d", data, *flags)
    assert result.returncode == 1, f"exit code {result.returncode}: {result.stdout}{result.stderr}"
    assert re.search(rf"\[critical\] vw-fastcb: .*({PROBLEM})", result.stdout + result.stderr)


# VW's own words for a file that it cannot read, our sentences, and flags that contradict the model.
PROBLEM = r"model|Unexpected end of file|bits allowed|--\w+|Disagreeing option values"


def assert_refused_by_python(path: Path, *flags: str) -> None:
    with pytest.raises(RuntimeError, match=PROBLEM):
        Workspace(arg_list=["-i", str(path), "--quiet", *flags])


THOROUGH = pytest.mark.parametrize("thorough", [False, pytest.param(True, marks=pytest.mark.slow)])


def lengths(content: bytes, thorough: bool = False) -> list[int]:
    """Every length in the header and FastCB's block; then every 397th, and all but the last byte. Or all of them."""
    if thorough:
        return [*range(len(content))]
    block = content.index(MAGIC)
    return [*range(block + 80), *range(block + 80, len(content) - 1, 397), len(content) - 1]


@THOROUGH
def test_every_truncated_model_is_refused_in_python(model: Model, thorough: bool, tmp_path: Path) -> None:
    content = model.content
    assert 50 < content.index(MAGIC) < 200
    path = tmp_path / "cut.model"
    for length in lengths(content, thorough):
        path.write_bytes(content[:length])
        assert_refused_by_python(path, *(model.flags if length % 3 == 0 else ()))


@pytest.mark.parametrize("repeat_flags", [False, True])
def test_a_truncated_model_is_refused_by_the_program(model: Model, repeat_flags: bool, tmp_path: Path) -> None:
    content = model.content
    path = tmp_path / "cut.model"
    # Python tries the lengths between.
    block = content.index(MAGIC)
    for length in {0, 1, 4, 11, 16, 17, 30, 44, block - 1, *range(block, block + 34, 3), *lengths(content)[::13]}:
        path.write_bytes(content[:length])
        assert_refused_by_the_program(path, model.data, *(model.flags if repeat_flags else ()))


@THOROUGH
def test_a_model_with_any_byte_of_its_state_altered_is_refused(model: Model, thorough: bool, tmp_path: Path) -> None:
    content = model.content
    path = tmp_path / "altered.model"
    accepted = []
    positions = range(content.index(MAGIC), len(content))
    for position in positions if thorough else [*positions[:80], *positions[80::47]]:
        # The lowest bit of one byte and the highest of the next; or both of each.
        for mask in (0x01, 0x80) if thorough else ((0x01, 0x80)[position % 2],):
            path.write_bytes(content[:position] + bytes([content[position] ^ mask]) + content[position + 1 :])
            try:
                Workspace(arg_list=["-i", str(path), "--quiet"]).finish()
                accepted.append((position - positions[0], mask))
            except RuntimeError:
                pass
    assert accepted == []  # bytes from the start of FastCB's block


def test_an_altered_header_is_refused_or_changes_nothing(model: Model, tmp_path: Path) -> None:
    content = model.content
    with Workspace(arg_list=["-i", str(model.path), "--quiet"]) as vw:
        expected = vw.predict(model.asked)
    path = tmp_path / "altered.model"
    refused = 0
    for position in range(content.index(MAGIC)):
        path.write_bytes(content[:position] + bytes([content[position] ^ 0x01]) + content[position + 1 :])
        try:
            with Workspace(arg_list=["-i", str(path), "--quiet"]) as vw:
                assert vw.predict(model.asked) == expected
        except RuntimeError:
            refused += 1
    assert refused > content.index(MAGIC) - 10  # VW's version is the one field whose bytes it does not check


@pytest.mark.parametrize("position", [-1, -20, -200])
@pytest.mark.parametrize("repeat_flags", [False, True])
def test_a_flipped_byte_in_the_weights_is_refused(
    model: Model, position: int, repeat_flags: bool, tmp_path: Path
) -> None:
    content = bytearray(model.content)
    content[position] ^= 0x10
    path = tmp_path / "flipped.model"
    path.write_bytes(content)
    flags = model.flags if repeat_flags else ()
    assert_refused_by_the_program(path, model.data, *flags)
    assert_refused_by_python(path, *flags)


def test_bytes_after_the_end_are_refused(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "longer.model"
    path.write_bytes(model.content + b"\0")
    assert_refused_by_the_program(path, model.data)
    assert_refused_by_python(path)


FOREIGN = {
    "empty": b"",
    "random": random.Random(5).randbytes(3000),
    "zeros": bytes(3000),
    "text": b"1:0.5:0.25 | a b c\n" * 100,
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("repeat_flags", [False, True])
def test_a_file_that_is_no_model_is_refused(model: Model, content: bytes, repeat_flags: bool, tmp_path: Path) -> None:
    path = tmp_path / "foreign.model"
    path.write_bytes(content)
    flags = model.flags if repeat_flags else ()
    assert_refused_by_the_program(path, model.data, *flags)
    assert_refused_by_python(path, *flags)


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes_after_an_intact_header_are_refused(model: Model, seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    path = tmp_path / "random.model"
    path.write_bytes(
        model.content[: rng.randrange(4, model.content.index(MAGIC) + 40)] + rng.randbytes(rng.randrange(500))
    )
    assert_refused_by_python(path)
    assert_refused_by_python(path, *model.flags)


STOCK_MODELS = {
    "squarecb": ("adf", ("--cb_explore_adf", "--squarecb")),
    "epsilon-greedy": ("adf", ("--cb_explore_adf", "--epsilon", "0.1")),
    "fixed epsilon-greedy": ("fixed", ("--cb_explore", "4", "--epsilon", "0.1")),
    "legacy epsilon-greedy": ("fixed", ("--cb_explore", "4", "--cb_force_legacy")),
}


@pytest.mark.parametrize(("door", "made_with"), STOCK_MODELS.values(), ids=STOCK_MODELS)
def test_a_stock_model_is_refused(
    door: str, made_with: tuple[str, ...], models: dict[str, Model], tmp_path: Path
) -> None:
    path = tmp_path / "stock.model"
    like = models[door]
    stock(*made_with, "-b", 10, "-d", like.data, "-f", path, "--quiet")
    for flags in (("--fastcb",), like.flags):
        assert_refused_by_the_program(path, like.data, *flags)
        assert_refused_by_python(path, *flags)


def test_a_flag_that_only_the_model_has_is_said_to_come_from_it(models: dict[str, Model], tmp_path: Path) -> None:
    path = tmp_path / "stock.model"
    stock("--cb_explore_adf", "--squarecb", "-d", models["adf"].data, "-f", path, "--quiet")
    said = refused("-i", path, "--fastcb", "-d", models["adf"].data)
    assert "it comes from the model that -i names, which was not made with --fastcb" in said
    assert "the model that -i names" not in refused("--cb_explore_adf", "--squarecb", "--fastcb")


def test_a_regression_model_is_refused(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "regression.model"
    stock("-b", 10, "-d", write(tmp_path / "data", ["1 | a\n", "0 | b\n"]), "-f", path, "--quiet")
    assert_refused_by_the_program(path, model.data, *model.flags)
    assert_refused_by_python(path, *model.flags)


@pytest.mark.parametrize(("door", "other"), [("adf", "fixed"), ("fixed", "adf")])
def test_a_model_of_the_other_front_door_is_refused(door: str, other: str, models: dict[str, Model]) -> None:
    path, flags, data = models[door].path, models[other].flags, models[other].data
    for given in (flags, tuple(flag for flag in flags if flag != "--fastcb")):
        assert_refused_by_the_program(path, data, *given)
        assert_refused_by_python(path, *given)


@pytest.mark.parametrize(
    "flags", ["--coin", "--nn 2", "-b 20", "--fastcb_objective reward", "--cb_max_cost 2", "--cb_min_cost -1"]
)
def test_flags_that_would_give_the_weights_another_meaning_are_refused(model: Model, flags: str) -> None:
    assert_refused_by_the_program(model.path, model.data, *flags.split())
    assert_refused_by_python(model.path, *flags.split())


def test_a_refused_model_leaves_the_file_to_be_written_alone(model: Model, tmp_path: Path) -> None:
    path, target = tmp_path / "cut.model", tmp_path / "target.model"
    path.write_bytes(model.content[:-1])
    target.write_bytes(model.content)
    assert "the model file is damaged" in refused("-i", path, "-d", model.data, "-f", target)
    assert target.read_bytes() == model.content
    assert sorted(tmp_path.iterdir()) == [path, target]


def test_the_intact_model_is_accepted_with_and_without_its_flags(model: Model) -> None:
    ok("-i", model.path, "-t", "-d", model.data)
    ok("-i", model.path, "-t", "-d", model.data, *model.flags)
    Workspace(arg_list=["-i", str(model.path), "--quiet", *model.flags]).finish()


# Saves without end, to one path, models of 4 MB that differ from save to save.
SAVES = """
import sys
from vw_fastcb import Workspace
vw = Workspace("--cb_explore 4 --fastcb --quiet --random_weights")
while True:
    vw.learn("1:0.5:0.25 |u a b c")
    vw.save(sys.argv[1])
    print("saved", flush=True)
"""


@pytest.fixture
def saving(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A process that saves all the time, and where to; it has saved once."""
    path = tmp_path / "model"
    with subprocess.Popen([sys.executable, "-c", SAVES, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"saved\n"
        yield process, path
        process.kill()


@contextmanager
def names_removed_from(folder: Path) -> Iterator[list[str]]:
    """What is deleted in a folder meanwhile, as the kernel reports it. A file replaced by a rename is not deleted."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    assert watch >= 0
    try:
        assert libc.inotify_add_watch(watch, bytes(folder), IN_DELETE) >= 0
        names: list[str] = []
        yield names
        with suppress(BlockingIOError):
            events_read = os.read(watch, 1 << 16)
            while events_read:
                *_, length = struct.unpack_from("iIII", events_read)
                names.append(events_read[16 : 16 + length].rstrip(b"\0").decode())
                events_read = events_read[16 + length :]
    finally:
        os.close(watch)


def test_python_replaces_a_saved_model_without_removing_it_first(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with Workspace("--cb_explore 4 --fastcb --quiet") as vw:
        vw.save(path)
        with names_removed_from(tmp_path) as removed:
            vw.learn("1:0.5:0.25 |u a")
            vw.save(path)
    assert path.exists()
    assert "model" not in removed


def test_the_program_replaces_a_saved_model_without_removing_it_first(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(model.content)
    with names_removed_from(tmp_path) as removed:
        ok("-i", path, "-d", model.data, "-f", path)
    assert path.read_bytes() != model.content
    assert "model" not in removed


@KILLS
def test_a_killed_save_leaves_a_complete_model(seed: int, saving: tuple[subprocess.Popen[bytes], Path]) -> None:
    process, path = saving
    time.sleep(0.05 * random.Random(seed).random())
    process.kill()
    process.wait()
    Workspace(arg_list=["-i", str(path), "--quiet"]).finish()


@KILLS
def test_a_killed_program_leaves_a_complete_model_of_each_pass(seed: int, tmp_path: Path) -> None:
    data = write(tmp_path / "data", map(Event.fixed, events(200)))
    arguments = [*FIXED, "--random_weights", "-d", data, "-k", "--cache_file", tmp_path / "cache", "--passes", 1000]
    command = [PROGRAM, *arguments, "--save_per_pass", "--holdout_off", "--quiet", "-f", tmp_path / "model"]
    with subprocess.Popen([*map(str, command)]) as process:
        while not (tmp_path / "model.1").exists():
            assert process.poll() is None
            time.sleep(0.001)
        time.sleep(0.1 * random.Random(seed).random())
        process.kill()
    saved = [path for path in tmp_path.glob("model.*") if path.suffix != ".writing"]
    assert not (tmp_path / "model").exists()
    for path in saved:
        Workspace(arg_list=["-i", str(path), "--quiet"]).finish()
