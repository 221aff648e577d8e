"""The comparison on fresh shuffles: the best of many configurations on one shuffle is flattered by luck."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from vw_fastcb.bakeoff.analysis.significance import verdict
from vw_fastcb.bakeoff.analysis.tuning import best_runs, tuned_losses


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
        share = single.groupby("dataset")
        wins = share.agg(lambda outcome: (outcome > 0).mean()).sum()
        lost = share.agg(lambda outcome: (outcome < 0).mean()).sum()
        pooled_counts = (pooled > 0).sum(), (pooled < 0).sum()
        row = (rival, (once > 0).sum(), (once < 0).sum(), wins, lost, *pooled_counts)
        rows.append((*row, len(by_set), share.size().min(), share.size().max()))
    names = ["rival", "grid_wins", "grid_losses", "wins", "losses", "pooled_wins", "pooled_losses"]
    return pd.DataFrame(rows, columns=[*names, "sets", "least_shuffles", "most_shuffles"])


def optimism(results: pd.DataFrame) -> pd.DataFrame:
    """Of each algorithm: mean tuned loss, and that of the same configurations on fresh shuffles of the same sets."""
    fresh = repeats_of(results).groupby(["dataset", "algorithm"])["loss"].mean().unstack().dropna()
    tuned = tuned_losses(results).reindex(index=fresh.index, columns=fresh.columns)
    means = {"tuned_loss": tuned.mean(), "fresh_loss": fresh.mean(), "optimism": (fresh - tuned).mean()}
    table = pd.DataFrame(means).assign(sets=len(fresh))
    return table.rename_axis("algorithm").reset_index()
