"""From the grid of results to one loss for each set and algorithm, and the means over the sets."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from vw_fastcb.bakeoff.analysis.paper import SUPERVISED, bandits, in_order

GAMMA_SCALE = "gamma_scale"
_RUN = ["dataset", "algorithm", "configuration", "step"]


def on_shared_orders(results: pd.DataFrame) -> pd.DataFrame:
    """The results without the grid's passes over orders of the rows (shuffles 0, -1, ...) that not every algorithm had.

    The best on the mean of several orders owes less to luck than the best on one: they must not be compared.
    """
    on_grid = results["shuffle"] <= 0
    algorithms = results.loc[on_grid].groupby("shuffle")["algorithm"].nunique()
    shared = algorithms.index[algorithms == algorithms.max()]
    return results[~on_grid | results["shuffle"].isin(shared)]


def mean_over_orders(results: pd.DataFrame) -> pd.DataFrame:
    """The same results, the grid's passes over the orders that all algorithms had made one of shuffle 0.

    Its loss is their mean. Its rounds are those of one pass: significance is judged as for one, which is cautious.
    """
    if not (results["shuffle"] < 0).any():
        return results
    results = on_shared_orders(results)
    on_grid = results["shuffle"] <= 0
    means = results[on_grid].groupby(_RUN, as_index=False, observed=True).agg({"rounds": "max", "loss": "mean"})
    return pd.concat([means.assign(shuffle=0)[results.columns], results[~on_grid]], ignore_index=True)


def orders_of(results: pd.DataFrame) -> int:
    """On how many orders of the rows the grid ran with every algorithm."""
    shared = on_shared_orders(results)
    return int(shared.loc[shared["shuffle"] <= 0, "shuffle"].nunique())


def grid_of(results: pd.DataFrame) -> pd.DataFrame:
    """The results of the grid (shuffle 0) that have a loss; repeats on further shuffles are another matter."""
    return results[(results["shuffle"] == 0) & results["loss"].notna()]


def incomplete_sets(results: pd.DataFrame) -> list[str]:
    """Sets on which an algorithm lacks a part of its grid: a best of fewer configurations must not be compared."""
    shared = on_shared_orders(results)
    grid = shared[(shared["shuffle"] <= 0) & shared["loss"].notna()]
    cells = grid.groupby(["dataset", "algorithm"]).size().unstack(fill_value=0)
    return sorted(cells.index[(cells < cells.max()).any(axis=1)])


def best_configurations(results: pd.DataFrame) -> dict[tuple[str, str], tuple[str, float]]:
    """Of each (set, algorithm) the configuration and step of its lowest loss; of equal ones the smallest step."""
    best = best_runs(results)
    return {
        (dataset, algorithm): (configuration, step)
        for dataset, algorithm, configuration, step in best[_RUN].itertuples(index=False)
    }


def best_configuration(results: pd.DataFrame, dataset: str, algorithm: str) -> tuple[str, float]:
    """Configuration and step of an algorithm's lowest loss on one set; of equal ones the smallest step."""
    found = best_configurations(results[(results["dataset"] == dataset) & (results["algorithm"] == algorithm)])
    if not found:
        raise KeyError(f"no result of {algorithm} on {dataset} in the grid: run it first (shuffle 0)")
    return found[dataset, algorithm]


def best_runs(results: pd.DataFrame) -> pd.DataFrame:
    """The row of the lowest loss of each algorithm on each set of the grid."""
    order = ["dataset", "algorithm", "loss", "step", "configuration"]
    return grid_of(results).sort_values(order).drop_duplicates(["dataset", "algorithm"])


def best_bandits(results: pd.DataFrame) -> pd.DataFrame:
    """The row of the lowest loss of a bandit on each set; of any algorithm where no bandit ran."""
    best = best_runs(results)
    mine = best[best["algorithm"].isin(bandits(best["algorithm"]))]
    return (best if mine.empty else mine).sort_values(["dataset", "loss", "algorithm"]).drop_duplicates("dataset")


def tuned_losses(results: pd.DataFrame) -> pd.DataFrame:
    """The lowest loss of each algorithm (columns) on each set (rows), over all its configurations and steps."""
    return grid_of(results).groupby(["dataset", "algorithm"])["loss"].min().unstack()


def configuration_losses(results: pd.DataFrame, algorithm: str) -> pd.DataFrame:
    """The lowest loss over the steps of each configuration (columns) of an algorithm on each set (rows)."""
    grid = grid_of(results)
    runs = grid[grid["algorithm"] == algorithm]
    return runs.groupby(["dataset", "configuration"])["loss"].min().unstack()


def fixed_losses(results: pd.DataFrame, chosen: Mapping[str, str]) -> pd.DataFrame:
    """The loss of each algorithm's chosen configuration on each set, the step tuned on the set."""
    return pd.DataFrame(
        {
            algorithm: configuration_losses(results, algorithm)[configuration]
            for algorithm, configuration in chosen.items()
        }
    )


def rounds_of(results: pd.DataFrame) -> pd.Series:
    """The rounds of a pass over each set."""
    return grid_of(results).groupby("dataset")["rounds"].max()


def parameters(configuration: str) -> dict[str, float]:
    """The numbers of a configuration such as "gamma_scale=10 gamma_exponent=0.5"; what is not a number is left out."""
    found = {}
    for part in configuration.split():
        name, _, value = part.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            continue
    return found


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
    scale = grid["configuration"].map({text: parameters(text).get(GAMMA_SCALE) for text in set(grid["configuration"])})
    best = grid.assign(gamma_scale=scale).dropna(subset=["gamma_scale"])
    best = best.groupby(["algorithm", "gamma_scale", "dataset"])["loss"].min().unstack()
    shared = best.dropna(axis="columns")
    return shared.mean(axis=1).rename("loss").reset_index().assign(sets=shared.shape[1])
