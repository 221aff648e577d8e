"""Means over the sets: regret to the supervised floor, and how much the choice of gamma matters."""

from __future__ import annotations

import pandas as pd

from vw_fastcb.bakeoff.analysis.names import SUPERVISED, in_order
from vw_fastcb.bakeoff.analysis.tuning import grid_of, parameters

GAMMA_SCALE = "gamma_scale"


def lstar_of(losses: pd.DataFrame) -> pd.Series:
    """What stands for Lstar on each set: the loss of Supervised.L with its best step; empty without Supervised.L."""
    return losses[SUPERVISED] if SUPERVISED in losses else pd.Series(dtype=float)


def mean_losses(losses: pd.DataFrame) -> pd.DataFrame:
    """Of each algorithm: the mean loss, and the mean regret to Supervised.L with its standard error over the sets.

    The means are over the sets on which all algorithms ran.
    """
    shared = losses.dropna()
    regret = shared.sub(shared[SUPERVISED], axis=0) if SUPERVISED in shared else shared * float("nan")
    table = pd.DataFrame(
        {"loss": shared.mean(), "regret": regret.mean(), "regret_error": regret.sem(), "sets": len(shared)}
    )
    return table.loc[in_order(table.index)].rename_axis("algorithm").reset_index()


def sensitivity(results: pd.DataFrame) -> pd.DataFrame:
    """Mean loss over the sets for each algorithm that has a gamma_0, and each gamma_0, all else tuned on each set."""
    grid = grid_of(results)
    scale = grid["configuration"].map(lambda text: parameters(text).get(GAMMA_SCALE))
    best = grid.assign(gamma_scale=scale).dropna(subset=["gamma_scale"])
    best = best.groupby(["algorithm", "gamma_scale", "dataset"])["loss"].min().unstack()
    shared = best.dropna(axis="columns")
    return shared.mean(axis=1).rename("loss").reset_index().assign(sets=shared.shape[1])
