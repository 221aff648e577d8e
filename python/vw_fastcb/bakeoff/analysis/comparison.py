"""Who beats whom: the paper's test, head-to-head tables, and the same on fresh shuffles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import NormalDist

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from vw_fastcb.bakeoff.analysis.losses import best_runs, tuned_losses

SMALL_LSTAR = 0.2
"""The bound on Lstar under which the paper found all but two of its wins over SquareCB.L."""

USUAL = NormalDist().inv_cdf(0.975)
"""1.96 standard errors, what a two-sided test at 5% usually asks for."""

CRITICAL = USUAL / sqrt(2)
"""1.386 standard errors, what the paper asks for: erf(CRITICAL) = 0.95. It is less than is usual, because the paper
puts the error function where a test has the normal distribution."""


def distance(loss: ArrayLike, rival_loss: ArrayLike, rounds: ArrayLike) -> NDArray[np.float64]:
    """By how many standard errors `loss` is below `rival_loss`, each a mean of 0/1 losses over `rounds` rounds."""
    p, q, n = (np.asarray(values, dtype=float) for values in (loss, rival_loss, rounds))
    with np.errstate(divide="ignore", invalid="ignore"):  # the error is zero when both losses are 0 or 1
        errors = (q - p) / np.sqrt((p * (1 - p) + q * (1 - q)) / n)
    return np.where(p == q, 0.0, errors)


def verdict(loss: ArrayLike, rival_loss: ArrayLike, rounds: ArrayLike, critical: float = CRITICAL) -> NDArray[np.int64]:
    """1 where `loss` is significantly below `rival_loss`, -1 where it is significantly above, 0 otherwise."""
    errors = distance(loss, rival_loss, rounds)
    return np.where(np.abs(errors) > critical, np.sign(errors), 0).astype(np.int64)


def half_width(loss: ArrayLike, rounds: ArrayLike) -> NDArray[np.float64]:
    """Half the band around a loss: where the bands of two losses do not touch, they differ by the test above."""
    p = np.asarray(loss, dtype=float)
    return np.asarray(CRITICAL * np.sqrt(p * (1 - p) / np.asarray(rounds, dtype=float)))


def wins_and_losses(
    losses: pd.DataFrame, rounds: pd.Series, algorithm: str, rival: str, critical: float = CRITICAL
) -> tuple[int, int, int]:
    """How often `algorithm` is significantly better than `rival` and how often worse, and on how many sets both ran."""
    compared = losses[[algorithm, rival]].to_numpy(dtype=float)
    ran = ~np.isnan(compared).any(axis=1)
    n = rounds.reindex(losses.index[ran]).to_numpy(dtype=float)
    outcome = verdict(compared[ran, 0], compared[ran, 1], n, critical)
    return int((outcome > 0).sum()), int((outcome < 0).sum()), int(ran.sum())


def head_to_head(
    losses: pd.DataFrame,
    rounds: pd.Series,
    algorithms: Sequence[str],
    critical: float = CRITICAL,
    paper: Mapping[tuple[str, str], int] | None = None,
) -> pd.DataFrame:
    """Wins, losses and their difference of each row algorithm against each column algorithm.

    Only sets on which every one of the algorithms ran count. `paper` has the paper's difference, where it has one.
    """
    compared = losses[list(algorithms)].dropna()
    n = rounds.reindex(compared.index)
    rows = []
    for row in algorithms:
        for column in algorithms:
            if row == column:
                continue
            outcome = verdict(compared[row], compared[column], n, critical)
            wins, lost = int((outcome > 0).sum()), int((outcome < 0).sum())
            rows.append((row, column, wins, lost, wins - lost, len(compared), (paper or {}).get((row, column))))
    table = pd.DataFrame(rows, columns=["row", "column", "wins", "losses", "difference", "sets", "paper"])
    return table.astype({"paper": "Int64"})


def outcomes(losses: pd.DataFrame, rounds: pd.Series, algorithm: str, rival: str, lstar: pd.Series) -> pd.DataFrame:
    """Both losses on each set, the verdict (1: `algorithm` wins) and the set's Lstar (missing without the floor)."""
    compared = losses[[algorithm, rival]].dropna()
    return pd.DataFrame(
        {
            "dataset": compared.index,
            "loss": compared[algorithm].to_numpy(),
            "rival_loss": compared[rival].to_numpy(),
            "verdict": verdict(compared[algorithm], compared[rival], rounds.reindex(compared.index)),
            "lstar": lstar.reindex(compared.index).to_numpy(),
        }
    )


def where_it_wins(
    losses: pd.DataFrame, rounds: pd.Series, algorithm: str, rivals: Sequence[str], lstar: pd.Series
) -> pd.DataFrame:
    """Against each rival: wins and losses of `algorithm`, and how many of them are on sets of small Lstar."""
    rows = []
    for rival in rivals:
        sets = outcomes(losses, rounds, algorithm, rival, lstar)
        small = sets["lstar"] <= SMALL_LSTAR
        won, lost = sets["verdict"] > 0, sets["verdict"] < 0
        rows.append((rival, won.sum(), (won & small).sum(), lost.sum(), (lost & small).sum(), small.sum(), len(sets)))
    names = ["rival", "wins", "wins_small_lstar", "losses", "losses_small_lstar", "sets_small_lstar", "sets"]
    return pd.DataFrame(rows, columns=names)


def repeats_of(results: pd.DataFrame) -> pd.DataFrame:
    """Runs on shuffles other than the grid's, each of the configuration and step that were best there."""
    runs = results[(results["shuffle"] > 0) & results["loss"].notna()]
    return runs.merge(best_runs(results)[["dataset", "algorithm", "configuration", "step"]])


def fresh_head_to_head(results: pd.DataFrame, algorithm: str, rivals: Sequence[str]) -> pd.DataFrame:
    """Wins and losses of `algorithm` on fresh shuffles, with the same test as the tables.

    `wins` and `losses` are means over the shuffles, each judged by itself with n = rounds: they compare with the
    tables. `pooled_wins` and `pooled_losses` judge the mean over a set's shuffles with n = rounds x shuffles, as the
    curves do: they tell small differences from luck. `grid_wins` and `grid_losses` are the tuned ones on the same sets.
    """
    repeats = repeats_of(results)
    losses = repeats.pivot_table(index=["dataset", "shuffle"], columns="algorithm", values="loss")
    n = repeats.groupby(["dataset", "shuffle"])["rounds"].max()
    tuned = tuned_losses(results)
    rows = []
    for rival in rivals:
        if algorithm not in losses or rival not in losses:
            continue
        both = losses[[algorithm, rival]].dropna()
        if both.empty:
            continue
        rounds = n.reindex(both.index)
        single = pd.Series(verdict(both[algorithm], both[rival], rounds), index=both.index)
        by_set = both.groupby("dataset").mean()
        pooled = verdict(by_set[algorithm], by_set[rival], rounds.groupby("dataset").sum())
        grid = tuned.reindex(by_set.index)
        once = verdict(grid[algorithm], grid[rival], rounds.groupby("dataset").max())
        wins = (single > 0).groupby("dataset").mean().sum()
        lost = (single < 0).groupby("dataset").mean().sum()
        shuffles = single.groupby("dataset").size()
        pooled_counts = (pooled > 0).sum(), (pooled < 0).sum()
        row = (rival, (once > 0).sum(), (once < 0).sum(), wins, lost, *pooled_counts)
        rows.append((*row, len(by_set), shuffles.min(), shuffles.max()))
    names = ["rival", "grid_wins", "grid_losses", "wins", "losses", "pooled_wins", "pooled_losses"]
    return pd.DataFrame(rows, columns=[*names, "sets", "least_shuffles", "most_shuffles"])


def optimism(results: pd.DataFrame) -> pd.DataFrame:
    """Of each algorithm: mean tuned loss, and that of the same configurations on fresh shuffles of the same sets."""
    fresh = repeats_of(results).groupby(["dataset", "algorithm"])["loss"].mean().unstack().dropna()
    tuned = tuned_losses(results).reindex(index=fresh.index, columns=fresh.columns)
    means = {"tuned_loss": tuned.mean(), "fresh_loss": fresh.mean(), "optimism": (fresh - tuned).mean()}
    table = pd.DataFrame(means).assign(sets=len(fresh))
    return table.rename_axis("algorithm").reset_index()
