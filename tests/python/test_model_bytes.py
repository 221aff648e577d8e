"""Models in memory: the bytes of a file, the same bytes for the same history, and read as -i reads the file."""

from __future__ import annotations

import pickle
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import goes_on, stock, write
from vw_fastcb import FastCB
from vw_fastcb._engine import ArrayLearner
from vw_fastcb.learner.engine import Engine, read_model
from vw_fastcb.learner.fastcb import DEFAULTS

QUIET = ["--quiet", "--no_stdin"]
DOORS = {"fixed": ["--cb_explore", "3"], "adf": ["--cb_explore_adf", "-q", "xa"]}
REGRESSORS = ["", "--coin", "--nn 3", "--nn 3 --random_seed 7", "--random_weights", "--l2 0.001"]


def learner(door: str, *flags: str, model: bytes | None = None) -> ArrayLearner:
    made = [] if model is not None else [*DOORS[door], "--fastcb", "-b", "8"]
    return ArrayLearner([*made, *QUIET, *flags], model)


def teach(learner: ArrayLearner, rounds: int = 20, seed: int = 0) -> ArrayLearner:
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        features = rng.random((3, 2)) if learner.fixed_actions == 0 else None
        action, cost = int(rng.integers(3)), float(rng.random())
        learner.learn_one(rng.random(4), features, action, cost, 1.0, False)
    return learner


def as_array(rng: np.random.Generator, width: int) -> Any:
    return rng.random(width)


def as_dict(rng: np.random.Generator, width: int) -> Any:
    names = {f"n{i}": float(rng.random()) for i in rng.permutation(2 * width)[:width]}
    return {**names, "color": "rgb"[rng.integers(3)], f"k{rng.integers(9)}": True}


def rounds(bandit: FastCB, row: Callable[[np.random.Generator, int], Any], count: int, seed: int) -> FastCB:
    """Decides and learns; kinds of new names are remembered all the time where rows are dictionaries."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        context = row(rng, 4)
        features = None
        if bandit.n_actions is None:
            features = [row(rng, 3) for _ in range(3)]
            features = np.array(features) if row is as_array else features
        decision = bandit.decide(context, features, event_id=i)
        value = float(rng.random())
        bandit.learn(decision, value)
    return bandit


def model_of(bandit: FastCB) -> bytes:
    assert bandit._engine is not None
    return bandit._engine.model()


def loaded(model: bytes | Path) -> FastCB:
    read = read_model(model, DEFAULTS)
    bandit = FastCB(**read.params)
    bandit._engine = Engine.of_model(read, bandit._settings(), None)
    return bandit


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("flags", REGRESSORS)
def test_the_bytes_are_those_of_the_file(door: str, flags: str, tmp_path: Path) -> None:
    taught = teach(learner(door, *flags.split()))
    taught.note = "a note"
    taught.save(str(tmp_path / "model"))
    assert taught.model() == (tmp_path / "model").read_bytes()
    assert taught.model() == taught.model()


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("flags", ["", "--preserve_performance_counters", "--epsilon 0.2", "-t"])
def test_bytes_are_read_as_the_file_is(door: str, flags: str, tmp_path: Path) -> None:
    taught = teach(learner(door))
    taught.note = "a note"
    taught.save(str(tmp_path / "model"))
    from_bytes = learner(door, *flags.split(), model=taught.model())
    from_file = ArrayLearner(["-i", str(tmp_path / "model"), *QUIET, *flags.split()])
    assert from_bytes.note == "a note"
    assert from_bytes.events == 20
    assert from_bytes.kept_flags() == from_file.kept_flags()
    for one in (from_bytes, from_file):
        teach(one, seed=1)
    assert from_bytes.model() == from_file.model()


@pytest.mark.parametrize("n_actions", [3, None])
@pytest.mark.parametrize("row", [as_array, as_dict])
@pytest.mark.parametrize("values", ["cost_range", "reward_range"])
@pytest.mark.parametrize("flags", REGRESSORS)
@pytest.mark.filterwarnings("ignore:the features seen so far")
def test_a_model_is_a_function_of_its_history(n_actions: int | None, row: Any, values: str, flags: str) -> None:
    def new() -> FastCB:
        return FastCB(n_actions, seed=1, bits=10, vw_args=flags, **{values: (0, 1)})

    whole = rounds(new(), row, 15, seed=1)
    half = model_of(whole)
    assert model_of(rounds(new(), row, 15, seed=1)) == half
    assert model_of(loaded(half)) == half
    rounds(whole, row, 15, seed=2)
    assert model_of(rounds(loaded(half), row, 15, seed=2)) == model_of(whole)


def spoiled_models(tmp_path: Path) -> Iterator[tuple[str, bytes]]:
    good = teach(learner("fixed")).model()
    block = good.index(b"fastcb0")
    for length in (0, 1, 8, 30, block, block + 20, block + 70, len(good) - 1):
        yield f"the first {length} bytes", good[:length]
    for place in (60, block + 2, block + 30, len(good) - 1):
        yield f"byte {place} changed", good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :]
    yield "too long", good + b"\0"
    yield "text", b"1:0.5:0.25 | a b c\n" * 100
    yield "zeros", bytes(3000)
    version = good[block + 8 : block + 24]
    assert version.rstrip(b"\0").decode().count(".") == 2
    yield "of a later version", good[:block] + b"fastcb09" + b"7.8.9".ljust(16, b"\0") + good[block + 24 :]
    yield "other learners", teach(learner("fixed", "--coin")).model().replace(b"--coin", b"--sgd ")
    path = tmp_path / "stock"
    stock("--cb_explore_adf", "--squarecb", "-b", 8, "-d", write(tmp_path / "log", ["|a b\n\n"]), "-f", path, "--quiet")
    yield "SquareCB's", path.read_bytes()


def test_bytes_that_are_no_model_are_refused_in_the_words_for_files(tmp_path: Path) -> None:
    path = tmp_path / "model"
    seen = set()
    for name, content in spoiled_models(tmp_path):
        path.write_bytes(content)
        for flags in ([], ["--fastcb"]):
            with pytest.raises(RuntimeError) as of_file:
                ArrayLearner(["-i", str(path), *QUIET, *flags])
            with pytest.raises(RuntimeError) as of_bytes:
                ArrayLearner([*QUIET, *flags], content)
            said = str(of_bytes.value).replace("<model in memory>", str(path))
            assert said == str(of_file.value), name
            seen.add(re.sub(r"\d+", "", said))
    for expected in ("damaged", "no FastCB state", "made by version", "Checksum", "comes from the model that -i names"):
        assert any(expected in said for said in seen), expected


def test_a_path_and_bytes_go_through_one_door(tmp_path: Path) -> None:
    content = teach(learner("fixed")).model()
    (tmp_path / "model").write_bytes(content)
    params = read_model(tmp_path / "model", DEFAULTS).params
    assert read_model(content, DEFAULTS).params == params
    with pytest.raises(RuntimeError, match=r"^the bytes cannot be read as a model: .*damaged"):
        read_model(content[:-1], DEFAULTS)
    with pytest.raises(ValueError, match="rewards is False, but the model was made by a learner of rewards"):
        read_model(model_of(rounds(FastCB(3, reward_range=(0, 1)), as_array, 1, 0)), DEFAULTS, rewards=False)


def test_two_models_are_refused_and_other_things_than_bytes_are_no_model(tmp_path: Path) -> None:
    content = teach(learner("fixed")).model()
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(RuntimeError, match="-i was given 2 models"):
        ArrayLearner(["-i", str(tmp_path / "model"), *QUIET], content)
    with pytest.raises(TypeError):
        ArrayLearner(QUIET, str(tmp_path / "model"))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError):  # no file, and no model in memory any more
        ArrayLearner(["-i", "<model in memory>", *QUIET])


def test_a_mask_of_features_goes_with_a_model_in_memory(tmp_path: Path) -> None:
    """VW then reads the header of the model that -i names once more."""
    mask = tmp_path / "mask"
    teach(learner("fixed"), rounds=1).save(str(mask))
    model = tmp_path / "model"
    teach(learner("fixed"), seed=3).save(str(model))
    flags = [*QUIET, "--feature_mask", str(mask)]
    from_file = teach(ArrayLearner(["-i", str(model), *flags]), seed=4)
    from_bytes = teach(ArrayLearner(flags, model.read_bytes()), seed=4)
    assert from_bytes.model() == from_file.model()


def test_pickles_need_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    bandit = rounds(FastCB(3, seed=1, vw_args="--l2 0.01"), as_array, 10, 0)
    copy = pickle.loads(pickle.dumps(bandit))
    assert model_of(copy) == model_of(bandit)
    assert model_of(rounds(copy, as_array, 10, 1)) == model_of(rounds(bandit, as_array, 10, 1))
    assert copy.decide(np.ones(4)).action == bandit.decide(np.ones(4)).action


def test_a_learner_works_while_the_model_of_another_is_made() -> None:
    large = ArrayLearner(["--cb_explore", "3", "--fastcb", "-b", "21", "--random_weights", *QUIET])
    small = FastCB(3)
    small.decide(np.ones(2))
    assert goes_on(lambda: small.decide(np.ones(2)), while_in=large.model)
