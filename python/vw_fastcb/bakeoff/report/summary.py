"""The top of the report, what the numbers say in a few sentences, and the order in which the rest follows.

The sentences say whatever the numbers say, also where FastCB.L loses.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from vw_fastcb.bakeoff.analysis import best_bandits, paper
from vw_fastcb.bakeoff.analysis.comparison import SMALL_LSTAR
from vw_fastcb.bakeoff.analysis.findings import Findings
from vw_fastcb.bakeoff.analysis.paper import (
    FASTCB,
    FASTCB_SECOND_ORDER,
    SQUARECB_LOGISTIC,
    SQUARECB_SQUARE,
    SUPERVISED,
    SUPERVISED_SECOND_ORDER,
)
from vw_fastcb.bakeoff.grid import NO_STEP
from vw_fastcb.bakeoff.report.background import background
from vw_fastcb.bakeoff.report.document import (
    MINUS,
    Block,
    Bullets,
    Card,
    Cards,
    Document,
    Section,
    Text,
    counted,
    literal,
    plural,
    score,
    share,
    signed,
)
from vw_fastcb.bakeoff.report.sections import (
    best_section,
    curves_section,
    fresh_section,
    means_section,
    scatter_section,
    tables_sections,
    untuned_section,
)
from vw_fastcb.bakeoff.store import Run

_SETS_NAMED = 3  # with the best configuration on each


def compose(run: Run, found: Findings) -> Document:
    """The whole report of a run."""
    sets, subsets = counted(len(found.datasets), "classification set"), found.subsets
    which = "a subset" if subsets == 1 else "subsets"
    kinds = f" ({subsets} of them {which} of another set)" if subsets else ""
    subtitle = (
        f"{sets}{kinds}, {counted(found.losses.shape[1], 'algorithm')}, {counted(len(run.results), 'online pass')}. "
        "After Foster and Krishnamurthy, “Efficient First-Order Contextual Bandits”, 2021."
    )
    if found.datasets.empty:
        names = ", ".join(map(literal, found.incomplete))
        words = f"No set has a complete grid, so there is nothing to compare. Not complete: {names}."
        return Document("FastCB bake-off", subtitle, [Section("What it shows", [Text(words)])])
    sections = [
        Section("What it shows", [*_left_out(found), Bullets(sentences(found)), *_headline(found)]),
        *tables_sections(found),
        *untuned_section(found),
        best_section(found),
        *scatter_section(found),
        curves_section(run, found),
        means_section(found),
        fresh_section(found),
        *background(run, found),
    ]
    return Document("FastCB bake-off", subtitle, sections)


def _left_out(found: Findings) -> list[Block]:
    """Says early that there are sets which the numbers below do not count; the section on the data names them."""
    if not found.incomplete:
        return []
    words = f"**{counted(len(found.incomplete), 'more set')}** with an incomplete grid"
    if len(found.incomplete) == 1:
        return [Text(f"{words} is left out (“Data” names it); the passes above include its own.")]
    return [Text(f"{words} are left out (“Data” names them); the passes above include theirs.")]


def _headline(found: Findings) -> list[Block]:
    """A card for each rival that the paper has too."""
    cards = []
    duels = found.everyone[found.everyone["row"] == FASTCB].set_index("column")
    for rival in found.rivals:
        duel = duels.loc[rival]
        if pd.isna(duel["paper"]):
            continue
        sets, theirs = int(duel["sets"]), int(duel["paper"])
        detail = f"{score(duel['wins'], duel['losses'])} of {counted(sets, 'set')} ({share(duel['difference'], sets)})"
        beside = f"paper {signed(theirs)} of {paper.SETS} ({share(theirs, paper.SETS)})"
        cards.append(Card(f"FastCB.L against {rival}", signed(int(duel["difference"])), detail, beside))
    return [Cards(cards)] if cards else []


def sentences(found: Findings) -> list[str]:
    """The summary at the top of the report."""
    if not found.rivals:
        missing = "it did not run" if FASTCB not in found.bandits else "nothing else ran"
        sets = counted(len(found.datasets), "set")
        told = [f"FastCB.L cannot be compared: {missing} on the {sets} of this bake-off."]
        return [*told, *_untuned(found), *_best(found)]
    return [_who_wins(found), _where(found), _how_far(found), *_untuned(found), *_best(found)]


def _untuned(found: Findings) -> list[str]:
    """What FastCB.N does without any choice on a set, and whether FastCB's rule earns its place on each oracle."""
    return [*_as_shipped(found), *(_rules(*of_oracle) for of_oracle in found.untuned.rules.groupby("algorithm"))]


def _as_shipped(found: Findings) -> list[str]:
    rows = found.untuned.table.set_index("algorithm")
    if not {FASTCB_SECOND_ORDER, FASTCB} <= set(rows.index):
        return []
    mine, tuned = rows.loc[FASTCB_SECOND_ORDER], found.untuned.tuned_loss
    side = "below" if mine["loss"] < tuned else "above"
    words = (
        f"Untuned, {FASTCB_SECOND_ORDER} has a mean loss of {mine['loss']:.4f} on "
        f"{counted(found.untuned.sets, 'set')} on which nothing was chosen. That is "
        f"**{share(abs(mine['loss'] - tuned), tuned)} {side} {FASTCB} tuned on each set** "
        f"({tuned:.4f}; {score(mine['wins'], mine['losses'])})"
    )
    if SUPERVISED_SECOND_ORDER in rows.index:
        words += (
            f"; {SUPERVISED_SECOND_ORDER}, which sees every label, has {rows.at[SUPERVISED_SECOND_ORDER, 'loss']:.4f}"
        )
    return [words + "."]


def _rules(algorithm: str, rules: pd.DataFrame) -> str:
    """FastCB's rule against others on one oracle."""
    parts = []
    for words, verdict in (("**better** than", 1), ("**no better and no worse** than", 0), ("**worse** than", -1)):
        duels = [
            f"{row.rival} ({row.rival_loss:.4f}, {score(row.wins, row.losses)})"
            for row in rules[rules["verdict"] == verdict].itertuples()
        ]
        if duels:
            parts.append(f"{words} {_listed(duels)}")
    return f"Rule against rule on one oracle, untuned: {algorithm} ({rules['loss'].iloc[0]:.4f}) is {_listed(parts)}."


def _best(found: Findings) -> list[str]:
    """Of a few sets, such as one of your own, what to take: the best algorithm and its configuration."""
    if len(found.datasets) > _SETS_NAMED:
        return []
    return [
        f"On {literal(row.dataset)} the lowest loss, {row.loss:.4f}, is that of **{literal(row.algorithm)}** with "
        f"{literal(_chosen(row.configuration, row.step))}."
        for row in best_bandits(found.results).itertuples()
    ]


def _chosen(configuration: str, step: float) -> str:
    chosen = [configuration] if configuration else []
    chosen += [f"step {step:g}"] if step != NO_STEP else []
    return " and ".join(chosen) or "nothing to choose"


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
        return "There is no Lstar to tell where the wins are, because Supervised.L did not run."
    wins = found.wins.set_index("rival")
    told = [name for name in (SQUARECB_LOGISTIC, SQUARECB_SQUARE) if name in wins.index] or found.rivals[:1]
    won = [name for name in told if wins.at[name, "wins"] > 0]
    parts = [_wins(name, wins.loc[name]) for name in won]
    if without := [literal(name) for name in told if name not in won]:
        parts.append(f"FastCB.L wins on no set against {' or '.join(without)}")
    words = " and ".join(parts)
    sets, small = wins["sets"].iloc[0], wins["sets_small_lstar"].iloc[0]
    if won and sets > 1:
        words += f". Of all {sets} sets, {small} {'has' if small == 1 else 'have'} such an Lstar"
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
            words += f". On fresh shuffles, without the luck of tuning, it stands at {_listed(told)}"
            words += f" on {counted(found.fresh['sets'].iloc[-1], 'set')}, averaged over the shuffles"
    return words + "."


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
