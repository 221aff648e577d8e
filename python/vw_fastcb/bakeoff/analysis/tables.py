"""Head-to-head tables: on how many sets each algorithm beats each other one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from vw_fastcb.bakeoff.analysis.significance import CRITICAL, verdict

SMALL_LSTAR = 0.2
"""The bound on Lstar under which the paper found all but two of its wins over SquareCB.L."""


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
