"""What is played in never_behind.py: worlds, tables and real data, and who plays it.

A seed tells what a run may be used for: below 100 for choosing, from 100 on for reporting (PROTOCOL.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import linucb
import numpy as np
import real
import stand_ins
from problems import FastCBPlayer, Player, Problem, play
from rivals import LinUCB, NotPlayed, SquareCB, Thompson
from seeds import FIRST_OF_REPORT
from worlds import WORLDS, world

from vw_fastcb import FastCB
from vw_fastcb.bakeoff.analysis import half_of
from vw_fastcb.bakeoff.data import BrokenDataset, Dataset, load_builtin
from vw_fastcb.bakeoff.data.builtin import builtin
from vw_fastcb.bakeoff.passes import order_of_rows

PARTS = ("worlds", "tables", "real", "stand-ins")
OTHERS: dict[str, tuple[Iterable[str], Callable[[str, int], Problem]]] = {
    "worlds": (WORLDS, world),
    "real": (real.GAMES, real.real),
    "stand-ins": (stand_ins.GAMES, stand_ins.stand_in),
}
PLAYERS: dict[str, Any] = {"fastcb": FastCBPlayer, "linucb": LinUCB, "thompson": Thompson, "squarecb": SquareCB}


def games_of(part: str, *, report: bool) -> list[str]:
    """The names of a part's games, `part: name`."""
    names = sets_of("report" if report else "choose") if part == "tables" else OTHERS[part][0]
    return [f"{part}: {name}" for name in names]


@lru_cache
def sets_of(half: str) -> list[str]:
    """The names of the sets of a half."""
    return [entry.name for entry in builtin() if half_of(entry.name) == half]


@lru_cache(maxsize=1)
def problem_of(game: str, seed: int) -> Problem:
    """A world, real data, or what stands in for them."""
    part, name = game.split(": ", 1)
    return OTHERS[part][1](name, seed)


@lru_cache(maxsize=1)
def dataset_of(game: str) -> Dataset:
    """A set of the bake-off."""
    try:
        return load_builtin(game.split(": ", 1)[1])
    except BrokenDataset as problem:
        raise NotPlayed(str(problem)) from problem


def player_of(problem: Problem, seed: int, configuration: Mapping[str, Any]) -> Player:
    """The player of a configuration, from scratch."""
    kind, settings = _player_and_settings(configuration)
    player: Player = PLAYERS[kind](problem, seed, **settings)
    return player


def result_of(configuration: Mapping[str, Any], game: str, seed: int, delay: int) -> dict[str, float]:
    """One run from scratch, as `problems.play` returns it.

    Raises:
        NotPlayed: The player does not play such problems.
    """
    if game.startswith("tables"):
        return _table(configuration, dataset_of(game), seed)
    problem = problem_of(game, seed)
    return play(problem, player_of(problem, seed, configuration), delay)


def _table(configuration: Mapping[str, Any], data: Dataset, seed: int) -> dict[str, float]:
    """One pass over a set, in C++, in an order of the bake-off; as `problems.play` returns it."""
    kind, settings = _player_and_settings(configuration)
    order = order_of_rows(data.rows, 0, -(seed % FIRST_OF_REPORT))
    labels = data.labels[order]
    started = time.perf_counter()
    if kind == "fastcb":
        bandit = FastCB(data.n_classes, seed=seed, **settings)
        loss = float(bandit.simulate(data.features[order], labels).values.mean())
    elif kind == "linucb":
        rows = linucb.rows_of(data, standardised=False)[order]
        loss = float(np.mean(linucb.actions_of(rows, labels, data.n_classes, **settings) != labels))
    else:
        raise NotPlayed("tables are played by FastCB and LinUCB")
    seconds = time.perf_counter() - started
    return {"value": loss, "best": 0.0, "uniform": 1 - 1 / data.n_classes, "seconds": seconds}


def _player_and_settings(configuration: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    settings = dict(configuration)
    kind = settings.pop("player", "fastcb")
    settings.pop("revision", None)
    if kind not in PLAYERS:
        raise ValueError(f"player is {kind!r}; expected one of {list(PLAYERS)}.")
    return kind, settings
