"""Events whose actions have one feature each, and workspaces that learned from them, stock or ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SQUARECB = "--cb_explore_adf --squarecb --quiet "
FASTCB = "--cb_explore_adf --fastcb --quiet "


def event(actions: int, chosen: int | None = None, cost: float = 1, probability: float = 0.5) -> list[str]:
    """An event in which action i has the one feature `a<i>`, so that its weight is its score (with --noconstant)."""
    mark = f"0:{cost}:{probability} "
    return [f"{mark if a == chosen else ''}| a{a}" for a in range(actions)]


def trained(module: Any, flags: str, rounds: int, costs: Sequence[float] = (0.1, 0.5, 0.9)) -> Any:
    vw = module.Workspace(flags)
    for i in range(rounds):
        vw.learn(event(len(costs), i % len(costs), costs[i % len(costs)]))
    return vw
