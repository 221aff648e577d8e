"""A command line in Python is what VW reads in it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vw_fastcb import FastCB, Workspace
from vw_fastcb.engine.flags import Flags

START = ["--cb_explore", "3", "--fastcb", "--quiet", "--no_stdin"]


def vw_says(words: list[str]) -> dict[str, Any] | None:
    """What VW takes from a command line: all flags that were given, with their values. None where it refuses them."""
    try:
        with Workspace(arg_list=[*START, *words]) as vw:
            groups = [
                group for groups in vw.get_config(filtered_enabled_reductions_only=False).values() for group in groups
            ]
    except RuntimeError:
        return None
    return {option.name: option.value for _, options in groups for option in options if option.value_supplied}


def as_vw(flags: Flags, read: dict[str, Any]) -> dict[str, Any]:
    """The same from ours, in the types of VW's."""

    def value(name: str) -> Any:
        kind = type(read.get(name, ""))
        if kind is bool:
            return not flags.values(name)
        if kind is list:
            return list(flags.values(name))
        return float(np.float32(flags.value(name))) if kind is float else kind(flags.value(name))

    return {name: value(name) for name in flags.names}


NUMBERS = ["3", "-3", "-.5", "-1e-3", "0x10", "-inf", "1"]
PIECES: list[list[str]] = [
    *(
        [flag]
        for flag in ("--noconstant", "--sgd", "--adaptive", "-a", "--holdout_off", "--nope", "-", "-z", "word", "-7")
    ),
    *([flag, value] for flag in ("-C", "--constant", "-l", "--power_t", "--initial_t") for value in NUMBERS),
    *([f"{flag}{value}"] for flag in ("-C", "-l", "--constant=", "--power_t=", "-b1", "-P") for value in NUMBERS),
    *([flag, value] for flag in ("-q", "--quadratic", "--interactions") for value in ("::", "ab", "-q", "=ab", "-1")),
    *([value] for value in ("-q::", "-qab", "-q=ab", "--interactions=abc", "--interactions=::", "--quadratic=")),
    ["--interactions", "ab", "bc", "-2"],
    *(["--fastcb_gamma", "epochs"], ["--fastcb_gamma=epochs"], ["--fastcb_gamma"], ["--sgd=1"], ["--hash=all"]),
    *(["--random_seed", "5"], ["--random_seed=5"], ["--ignore", "a"], ["--ignore=a"], ["--ignore", "a", "b"]),
]


def check(count: int, seed: int) -> None:
    choose = random.Random(seed)
    accepted = 0
    for _ in range(count):
        words = [word for piece in choose.choices(PIECES, k=choose.randrange(1, 4)) for word in piece]
        read = vw_says(words)
        if read is None:
            continue
        accepted += 1
        ours = as_vw(Flags.read([*START, *words]), read)
        assert ours.items() <= read.items(), words
        # VW believes that -l1 were --l1, too, but sets only the former.
        inserted = read.keys() - ours.keys() - {"l1"}
        assert inserted <= vw_says([]).keys(), words  # type: ignore[union-attr]
    assert accepted > count / 8


def test_flags_are_what_vw_reads() -> None:
    check(40, seed=1)


@pytest.mark.slow
def test_flags_are_what_vw_reads_on_many_lines() -> None:
    check(800, seed=2)


@pytest.mark.parametrize("piece", PIECES, ids=" ".join)
def test_each_way_to_write_a_flag_is_what_vw_reads(piece: list[str]) -> None:
    read = vw_says(piece)
    given = Flags.read([*START, *piece])
    if read is not None:
        assert as_vw(given, read).items() <= read.items()


def test_quotes_and_words_of_no_flag() -> None:
    given = Flags.read("--sgd 'a file' -f 'my model' --nope=1 -q ab cd")
    assert given.others == ("a file", "--nope=1")
    assert given.value("final_regressor") == "my model"
    assert given.values("quadratic") == ("ab", "cd")
    assert given.without({"final_regressor"}) == ["--sgd", "-q", "ab", "cd"]


def test_a_last_flag_that_lacks_its_value_is_left_to_vw() -> None:
    assert Flags.read("--sgd -f").flags[-1].values == ()


@pytest.mark.parametrize("flags", ["--fastcb_gamma=epochs", "--fastcb_gamma epochs"])
def test_epochs_are_epochs_however_they_are_written(flags: str) -> None:
    bandit = FastCB(2, reward_range=(0, 1), vw_args=flags)
    bandit.learn_event([1.0], 0, reward=0.5)
    assert bandit.decide([1.0]).gamma > 0


@pytest.mark.parametrize("flags", ["-fother.vw", "-f other.vw", "--final_regressor=other.vw", "-qab -fother.vw"])
def test_a_learner_refuses_a_file_however_it_is_written(flags: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"vw_args has (-f|--final_regressor): save a model with save\(\)"):
        FastCB(2, vw_args=flags).decide([1.0])
