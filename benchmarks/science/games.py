"""What is played in never_behind.py: worlds, tables and real data, and who plays it.

A seed tells what a run may be used for: below 100 for choosing, from 100 on for reporting. The tables of the half
`choose` and one part of the readers and questions belong to the former, the rest to the latter.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from problems import FastCBPlayer, Player, Problem, play
from rivals import LinUCB, SquareCB, Thompson
from worlds import WORLDS, world

FIRST_OF_REPORT = 100
PARTS = ("worlds",)


def games_of(part: str, *, report: bool) -> list[str]:
    """The names of a part's games, `part: name`."""
    names = {"worlds": list(WORLDS)}[part]
    return [f"{part}: {name}" for name in names]


@lru_cache(maxsize=1)
def problem_of(game: str, seed: int) -> Problem:
    name = game.split(": ", 1)[1]
    return world(name, seed)


def player_of(problem: Problem, seed: int, configuration: Mapping[str, Any]) -> Player:
    """The player of a configuration, from scratch.

    Raises:
        NotPlayed: The player does not play such problems.
    """
    settings = dict(configuration)
    kind = settings.pop("player", "fastcb")
    settings.pop("revision", None)
    players = {"fastcb": FastCBPlayer, "linucb": LinUCB, "thompson": Thompson, "squarecb": SquareCB}
    if kind not in players:
        raise ValueError(f"player is {kind!r}; expected one of {list(players)}.")
    return players[kind](problem, seed, **settings)


def result_of(configuration: Mapping[str, Any], game: str, seed: int, delay: int) -> dict[str, float]:
    """One run from scratch, as `problems.play` returns it."""
    problem = problem_of(game, seed)
    return play(problem, player_of(problem, seed, configuration), delay)
