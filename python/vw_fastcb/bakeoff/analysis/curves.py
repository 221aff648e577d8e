"""Loss curves over several shuffles, and the choice of the sets to draw them for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from vw_fastcb.bakeoff.analysis.comparison import CRITICAL, distance, half_width
from vw_fastcb.bakeoff.analysis.losses import best_runs, rounds_of, tuned_losses
from vw_fastcb.bakeoff.analysis.paper import FASTCB, SQUARECB_LOGISTIC, in_order, rivals
from vw_fastcb.bakeoff.store import unpack

SHOWN = 3  # sets


@dataclass(frozen=True)
class Curve:
    """The mean progressive validation loss after each round, with the half-width of its band."""

    loss: NDArray[np.float64]
    half_width: NDArray[np.float64]
    shuffles: int


def mean_curve(shuffles: Sequence[NDArray[np.uint8]]) -> Curve:
    """The curve of several shuffles, each given as the 0/1 loss of each round; the band's n is t times their number."""
    rounds = min(len(losses) for losses in shuffles)
    t = np.arange(1, rounds + 1)
    progressive = [np.cumsum(losses[:rounds], dtype=np.int64) / t for losses in shuffles]
    loss = np.mean(progressive, axis=0)
    return Curve(loss, half_width(loss, t * len(shuffles)), len(shuffles))


def drawn_curves(results: pd.DataFrame, datasets: pd.DataFrame, kept: pd.DataFrame) -> dict[str, dict[str, Curve]]:
    """The curves to show of those that were kept: each algorithm's with its best configuration on the set.

    A store may keep more, from starts in which other sets showed most or other configurations were best. `results` has
    the grid as `mean_over_orders` gives it.
    """
    kept = kept.merge(best_runs(results)[["dataset", "algorithm", "configuration", "step"]])
    there = set(kept["dataset"])
    wanted = [name for name in curve_sets(results, datasets) if name in there]
    others = [name for name in curve_sets(results, datasets, len(datasets)) if name in there]
    drawn = {}
    for name in wanted or others[:SHOWN]:
        passes = kept[kept["dataset"] == name].sort_values("shuffle")
        drawn[name] = {
            algorithm: mean_curve([unpack(losses) for losses in passes.loc[passes["algorithm"] == algorithm, "losses"]])
            for algorithm in in_order(passes["algorithm"])
        }
    return drawn


def curve_sets(results: pd.DataFrame, datasets: pd.DataFrame, count: int = SHOWN) -> list[str]:
    """The sets that show most: the clearest wins of FastCB.L over SquareCB.L, and its clearest loss, as in the paper.

    A set whose base set or a sibling is already taken waits until nothing else is left. Without FastCB.L or without a
    rival of it, the largest sets are taken.
    """
    losses = tuned_losses(results)
    against = rivals(losses.columns)
    rival = SQUARECB_LOGISTIC if SQUARECB_LOGISTIC in against else next(iter(against), None)
    rounds = rounds_of(results)
    if rival is None:
        return _one_a_family(list(rounds.sort_values(ascending=False, kind="stable").index), datasets)[:count]
    both = losses[[FASTCB, rival]].dropna()
    lead = pd.Series(distance(both[FASTCB], both[rival], rounds.reindex(both.index)), index=both.index)
    lead = lead.sort_values(ascending=False, kind="stable")
    wins = _one_a_family(list(lead.index), datasets)
    worst = list(lead.index[lead < -CRITICAL][-1:])
    chosen = [name for name in wins if name not in worst][: count - len(worst)]
    return [*chosen, *worst][:count]


def _one_a_family(names: list[str], datasets: pd.DataFrame) -> list[str]:
    """The same names, the first of each family ahead of the others."""
    base = datasets.set_index("name")["subset_of"].dropna().to_dict()
    seen: set[str] = set()
    first: list[str] = []
    later: list[str] = []
    for name in names:
        family = base.get(name, name)
        (later if family in seen else first).append(name)
        seen.add(family)
    return first + later
