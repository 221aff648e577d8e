"""One configuration for all sets, chosen on held-out sets by elimination.

The paper points to Bietti, Agarwal and Langford ("A Contextual Bandit Bake-off") for the rule: on every held-out set
each configuration left counts its significant wins minus losses against the others left; the set's vote goes to the
highest count, shared where several have it; the configuration with the fewest votes is dropped; and so on until one is
left. Steps are tuned on each set throughout. Where several have the fewest votes the original drops one by lot; we drop
the one with the highest mean loss, so that the same results always give the same choice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vw_fastcb.bakeoff.analysis.comparison import verdict, wins_and_losses
from vw_fastcb.bakeoff.analysis.losses import configuration_losses, rounds_of

PAPER_SHARE = 200 / 516
DRAWS = 20


def held_out_sets(datasets: pd.DataFrame, seed: int = 0) -> list[str]:
    """Draws the sets to choose on: the paper's share, a base set and its subsets always on the same side.

    The list is empty where no such split exists (one set, or one family).
    """
    names = datasets.sort_values("name").reset_index(drop=True)
    family = names["subset_of"].where(names["subset_of"].notna(), names["name"])
    members = {key: list(group) for key, group in names["name"].groupby(family)}
    families = sorted(members)
    room = min(max(1, round(PAPER_SHARE * len(names))), len(names) - 1)
    drawn: list[str] = []
    for index in np.random.default_rng(seed).permutation(len(families)):
        if len(members[families[index]]) <= room - len(drawn):
            drawn += members[families[index]]
    return sorted(drawn)


def choose_configuration(results: pd.DataFrame, algorithm: str, held_out: Sequence[str]) -> str:
    """The configuration of `algorithm` that is left at the end of the elimination on the held-out sets."""
    losses = configuration_losses(results, algorithm)
    if not losses.index.isin(held_out).any():
        raise ValueError(f"{algorithm} ran on none of the {len(held_out)} held-out sets: run it on them first")
    return _survivor(losses, rounds_of(results), held_out)


def over_draws(
    results: pd.DataFrame, datasets: pd.DataFrame, algorithm: str, rivals: Sequence[str], draws: int = DRAWS
) -> pd.DataFrame:
    """Wins and losses of `algorithm` with one configuration, means over several draws of the held-out sets."""
    rounds = rounds_of(results)
    losses = {name: configuration_losses(results, name) for name in (algorithm, *rivals)}
    counts = []
    for seed in range(draws if rivals else 0):
        held_out = held_out_sets(datasets, seed)
        if not held_out:
            break
        chosen = pd.DataFrame({name: table[_survivor(table, rounds, held_out)] for name, table in losses.items()})
        unseen = chosen.drop(index=held_out)
        counts += [(rival, *wins_and_losses(unseen, rounds, algorithm, rival)) for rival in rivals]
    columns = ["wins", "losses", "difference", "sets"]
    if not counts:
        return pd.DataFrame(columns=["rival", *columns, "draws"])
    duels = pd.DataFrame(counts, columns=["rival", "wins", "losses", "sets"])
    duels["difference"] = duels["wins"] - duels["losses"]
    return duels.groupby("rival")[columns].mean().loc[list(rivals)].reset_index().assign(draws=draws)


def _survivor(losses: pd.DataFrame, rounds: pd.Series, held_out: Sequence[str]) -> str:
    compared = losses.reindex(held_out).dropna()
    return str(losses.columns[eliminate(compared.to_numpy(), rounds.reindex(compared.index).to_numpy())])


def eliminate(losses: np.ndarray, rounds: np.ndarray) -> int:
    """Index of the configuration that survives; `losses` has a row for each set and a column for each configuration."""
    duels = verdict(losses[:, :, None], losses[:, None, :], rounds[:, None, None])
    mean_loss = losses.mean(axis=0)
    left = list(range(losses.shape[1]))
    while len(left) > 1:
        balance = duels[:, left][:, :, left].sum(axis=2)
        on_top = balance == balance.max(axis=1, keepdims=True)
        votes = (on_top / on_top.sum(axis=1, keepdims=True)).sum(axis=0).round(9)  # shares of thirds do not add up
        # Fewest votes, then highest loss, then the last in the order of names.
        left.remove(min(zip(votes, -mean_loss[left], [-i for i in left], left, strict=True))[-1])
    return left[0]
