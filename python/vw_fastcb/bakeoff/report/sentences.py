"""What the numbers say, in three sentences: whatever they say, also where FastCB.L loses."""

from __future__ import annotations

import numpy as np
import pandas as pd

from vw_fastcb.bakeoff.analysis import paper
from vw_fastcb.bakeoff.analysis.findings import Findings
from vw_fastcb.bakeoff.analysis.names import FASTCB, SQUARECB_LOGISTIC, SQUARECB_SQUARE, SUPERVISED
from vw_fastcb.bakeoff.analysis.tables import SMALL_LSTAR
from vw_fastcb.bakeoff.report.document import MINUS, counted, literal, plural, score, share


def three_sentences(found: Findings) -> list[str]:
    """The summary at the top of the report."""
    if not found.rivals:
        missing = "it did not run" if FASTCB not in found.bandits else "nothing else ran"
        sets = counted(len(found.datasets), "set")
        return [f"FastCB.L cannot be compared: {missing} on the {sets} of this bake-off."]
    return [_who_wins(found), _where(found), _how_far(found)]


def _who_wins(found: Findings) -> str:
    """Wins and losses against every rival, the paper's number beside those of the two SquareCBs."""
    duels = found.everyone[found.everyone["row"] == FASTCB].set_index("column")
    first = [name for name in (SQUARECB_SQUARE, SQUARECB_LOGISTIC) if name in duels.index]
    others = [name for name in found.rivals if name not in first]
    parts = []
    for words, sign in (("is ahead of", 1), ("is level with", 0), ("is behind", -1)):
        names = [name for name in first + others if np.sign(duels.at[name, "difference"]) == sign]
        if names:
            parts.append(f"**{words}** " + _listed([_duel(name, duels.loc[name], name in first) for name in names]))
    orders = f", on the mean of {found.orders} orders of its rows" if found.orders > 1 else ""
    sets = duels["sets"].max()
    where = "on the only set" if sets == 1 else f"on each of {counted(sets, 'set')}"
    return f"With every algorithm tuned {where}{orders}, FastCB.L {_listed(parts)}."


def _duel(rival: str, duel: pd.Series, with_paper: bool) -> str:
    words = f"{literal(rival)} ({score(duel['wins'], duel['losses'])}"
    if with_paper and pd.notna(duel["paper"]):
        words += f", a difference of {share(duel['difference'], duel['sets'])} of the sets; in the paper "
        words += share(int(duel["paper"]), paper.SETS)
    return words + ")"


def _where(found: Findings) -> str:
    """How many of the wins are where Lstar is small, as the theory wants it."""
    if found.lstar.empty:
        return "Where the wins are cannot be said, because Supervised.L, whose loss stands for Lstar, did not run."
    wins = found.wins.set_index("rival")
    told = [name for name in (SQUARECB_LOGISTIC, SQUARECB_SQUARE) if name in wins.index] or found.rivals[:1]
    won = [name for name in told if wins.at[name, "wins"] > 0]
    parts = [_wins(name, wins.loc[name]) for name in won]
    if without := [literal(name) for name in told if name not in won]:
        parts.append(f"FastCB.L wins on no set against {' or '.join(without)}")
    words = " and ".join(parts)
    sets, small = wins["sets"].iloc[0], wins["sets_small_lstar"].iloc[0]
    if won and sets > 1:
        words += f"; of all {sets} sets {small} {'has' if small == 1 else 'have'} such an Lstar"
    return words + "."


def _wins(rival: str, row: pd.Series) -> str:
    of_paper = f" (in the paper {paper.WINS_SMALL_LSTAR} of {paper.WINS})" if rival == SQUARECB_LOGISTIC else ""
    small = f"**{row['wins_small_lstar']} of the {row['wins']}** {plural('set', row['wins'])} it wins"
    return f"Lstar is at most {SMALL_LSTAR} on {small} against {literal(rival)}{of_paper}"


def _how_far(found: Findings) -> str:
    """Mean regret, what one configuration for all gives, and what is left on fresh shuffles."""
    means = found.means.set_index("algorithm")
    bandits = means.loc[found.bandits].sort_values("loss")
    rank = int((bandits["loss"] < means.at[FASTCB, "loss"]).sum())
    nearest = bandits.index.drop(FASTCB)[0]
    place = "the lowest" if rank == 0 else f"number {rank + 1} of {len(bandits)}"
    words = f"Its mean loss of {means.at[FASTCB, 'loss']:.4f} is **{place} of the bandits** ("
    words += f"{'next' if rank == 0 else 'the lowest is'} {literal(nearest)}, {means.at[nearest, 'loss']:.4f}"
    if SUPERVISED in means.index:
        words += f"; {SUPERVISED}, which sees every label, {means.at[SUPERVISED, 'loss']:.4f}"
    words += ")"
    if not found.fresh.empty:
        told = [
            f"+{row.wins:.1f} / {MINUS}{row.losses:.1f} against {row.rival}"
            for row in found.fresh.itertuples()
            if row.rival in (SQUARECB_SQUARE, SQUARECB_LOGISTIC)
        ]
        if told:
            words += f"; on fresh shuffles, where no luck of the tuning helps, it stands at {_listed(told)}"
            words += f" on {counted(found.fresh['sets'].iloc[-1], 'set')}, as a mean over the shuffles"
    return words + "."


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
