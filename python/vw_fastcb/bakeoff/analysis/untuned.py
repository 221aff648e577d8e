"""No choice on any set: each algorithm has one configuration and one step for all sets.

The name of a set tells its half. What there is to choose is chosen on one half and reported on the other; an algorithm
with nothing to choose runs as it is shipped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from vw_fastcb.bakeoff.analysis.comparison import USUAL, head_to_head, wins_and_losses
from vw_fastcb.bakeoff.analysis.losses import grid_of, rounds_of, tuned_losses
from vw_fastcb.bakeoff.analysis.paper import FASTCB, SAME_ORACLE, bandits, in_order

_TABLE = ["algorithm", "configuration", "step", "choices", "loss"]
_RULES = ["algorithm", "rival", "loss", "rival_loss", "wins", "losses", "verdict"]
_TUNED = "tuned"  # the column of the algorithm that is tuned on each set, beside those that are not


def half_of(name: str) -> str:
    """Which half a set belongs to, `choose` or `report`: the SHA-256 of its name is even or odd."""
    return "choose" if int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 == 0 else "report"


@dataclass(frozen=True)
class Untuned:
    """What the algorithms do untuned, on the sets of the reporting half. All empty where a half has no set."""

    chosen_on: int
    """Sets of the choosing half."""
    sets: int
    """Sets of the reporting half."""
    table: pd.DataFrame
    """Of each algorithm: configuration, step, how many there were to choose from, the mean loss, and its wins and
    losses against FastCB.L tuned on each set; the lowest loss first."""
    tuned_loss: float
    """The mean loss of FastCB.L tuned on each set, missing where it did not run."""
    duels: pd.DataFrame
    """The bandits against each other, as `head_to_head` gives it."""
    rules: pd.DataFrame
    """FastCB's rule against another one on the same oracle: both names, both mean losses, wins and losses, and the
    verdict: 1 where FastCB's mean loss is lower by more than 1.96 standard errors of the difference over the sets, -1
    where it is higher by as much."""


def without_tuning(results: pd.DataFrame) -> Untuned:
    """Chooses on the one half of the sets, and reports on the other."""
    grid = grid_of(results)
    half = grid["dataset"].map({name: half_of(name) for name in grid["dataset"].unique()})
    choose, report = grid[half == "choose"], grid[half == "report"]
    if choose.empty or report.empty:
        sizes = choose["dataset"].nunique(), report["dataset"].nunique()
        table, rules = pd.DataFrame(columns=_TABLE), pd.DataFrame(columns=_RULES)
        return Untuned(*sizes, table, float("nan"), pd.DataFrame(), rules)
    chosen = pd.DataFrame([_best(runs) for _, runs in choose.groupby("algorithm")])
    losses = _losses(report, chosen)
    rounds = rounds_of(report)
    names = in_order(losses.columns)
    tuned = tuned_losses(report)
    players = bandits(names)
    return Untuned(
        chosen_on=choose["dataset"].nunique(),
        sets=len(losses),
        table=_table(chosen, losses, tuned, rounds),
        tuned_loss=float(tuned.loc[losses.index, FASTCB].mean()) if FASTCB in tuned else float("nan"),
        duels=head_to_head(losses, rounds, players),
        rules=_rules(losses, rounds, players),
    )


def _best(runs: pd.DataFrame) -> dict[str, object]:
    """The configuration and step of an algorithm with the lowest mean loss; of equal ones the first."""
    means = runs.groupby(["configuration", "step"])["loss"].mean()
    configuration, step = means.idxmin()
    name = runs["algorithm"].iloc[0]
    return {"algorithm": name, "configuration": configuration, "step": step, "choices": len(means)}


def _losses(report: pd.DataFrame, chosen: pd.DataFrame) -> pd.DataFrame:
    """The loss of each algorithm (columns) with what was chosen, on the sets (rows) that all of them played."""
    played = report.merge(chosen[["algorithm", "configuration", "step"]])
    return played.pivot_table(index="dataset", columns="algorithm", values="loss").dropna()


def _table(chosen: pd.DataFrame, losses: pd.DataFrame, tuned: pd.DataFrame, rounds: pd.Series) -> pd.DataFrame:
    table = chosen[chosen["algorithm"].isin(losses.columns)].copy()
    table["loss"] = table["algorithm"].map(losses.mean())
    if FASTCB in tuned:
        both = losses.assign(**{_TUNED: tuned[FASTCB].reindex(losses.index)})
        against = [wins_and_losses(both, rounds, name, _TUNED)[:2] for name in table["algorithm"]]
        table["wins"], table["losses"] = [wins for wins, _ in against], [lost for _, lost in against]
    return table.sort_values(["loss", "algorithm"]).reset_index(drop=True)


def _rules(losses: pd.DataFrame, rounds: pd.Series, players: Iterable[str]) -> pd.DataFrame:
    there = set(players)
    pairs = [(mine, other) for mine, others in SAME_ORACLE.items() for other in others if {mine, other} <= there]
    rows = []
    for mine, other in pairs:
        saved = losses[other] - losses[mine]
        clear = abs(saved.mean()) > USUAL * saved.sem()  # false where there is one set only
        counts = wins_and_losses(losses, rounds, mine, other)[:2]
        verdict = int(np.sign(saved.mean())) if clear else 0
        rows.append((mine, other, losses[mine].mean(), losses[other].mean(), *counts, verdict))
    return pd.DataFrame(rows, columns=_RULES)
