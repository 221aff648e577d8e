"""Puts the report together: what it shows, who beats whom, and in which order the rest follows."""

from __future__ import annotations

import pandas as pd

from vw_fastcb.bakeoff.analysis import paper
from vw_fastcb.bakeoff.analysis.findings import Findings
from vw_fastcb.bakeoff.analysis.names import FASTCB, PAPER_TRIO, SQUARECB_LOGISTIC
from vw_fastcb.bakeoff.analysis.tables import SMALL_LSTAR
from vw_fastcb.bakeoff.report.background import background
from vw_fastcb.bakeoff.report.document import (
    Block,
    Bullets,
    Card,
    Cards,
    Column,
    Document,
    Matrix,
    Section,
    Table,
    Text,
    counted,
    literal,
    number,
    score,
    share,
    signed,
)
from vw_fastcb.bakeoff.report.drawn import curves_section, scatter_section
from vw_fastcb.bakeoff.report.means import fresh_section, means_section
from vw_fastcb.bakeoff.report.run import Run
from vw_fastcb.bakeoff.report.sentences import three_sentences


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
        Section("What it shows", [*_left_out(found), Bullets(three_sentences(found)), *_headline(found)]),
        *_tables(found),
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
        return [Text(f"{words} is left out (named under “Data”); the passes above include its own.")]
    return [Text(f"{words} are left out (named under “Data”); the passes above include theirs.")]


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


def _tables(found: Findings) -> list[Section]:
    """The paper's three tables, each with and without subsets, and the same wins counted in other ways."""
    if len(found.bandits) < 2:
        return []
    blocks: list[Block] = [
        Text(
            "A cell has in bold the number of sets on which the row's algorithm is significantly better, minus the "
            "number on which it is significantly worse; also wins / losses, their difference as a share of the "
            "sets, and in italics the paper's difference, where it has one."
        )
    ]

    def add(name: str, caption: str, frames: tuple[pd.DataFrame, pd.DataFrame], paper_sets: int | None) -> None:
        endings = [("", ""), ("_without_subsets", ", without subsets")]
        for frame, (suffix, words) in zip(frames, endings, strict=True):
            if (suffix and not found.subsets) or not _has_sets(frame):
                continue
            full = f"{caption}{words}: {counted(frame['sets'].max(), 'set')}"
            blocks.append(Matrix(name + suffix, full, frame, FASTCB, paper_sets))

    add("table_1_tuned_per_set", "Table 1. Tuned per set", (found.per_set, found.per_set_base), paper.SETS)
    if found.chosen:
        one = (found.one_configuration, found.one_configuration_base)
        if _has_sets(found.one_configuration):
            blocks.append(Text(_about_one_configuration(found)))
        add("table_2_one_configuration", "Table 2. One configuration", one, None)
        blocks.append(_chosen(found))
        if not found.over_draws.empty:
            blocks.append(_over_draws(found))
    else:
        blocks.append(Text("Table 2 (one configuration for all sets) needs sets to hold out: here are too few."))
    if not set(found.bandits) <= set(PAPER_TRIO):
        everyone = (found.everyone, found.everyone_base)
        add("table_3_all_algorithms", "Table 3. All algorithms, tuned per set", everyone, paper.SETS)
    if found.rivals:
        blocks.append(_counted_otherwise(found))
        blocks += _by_lstar(found)
    return [Section("Who beats whom", blocks)]


def _has_sets(table: pd.DataFrame) -> bool:
    return not table.empty and table["sets"].max() > 0


def _about_one_configuration(found: Findings) -> str:
    return (
        "In Table 2 each algorithm has one configuration for all sets, chosen on "
        f"{counted(len(found.held_out), 'held-out set')}, only its step is tuned on each set. The table counts the "
        "other sets."
    )


def _chosen(found: Findings) -> Table:
    rows = [(name, configuration or "(none to choose)") for name, configuration in found.chosen.items()]
    frame = pd.DataFrame(rows, columns=["algorithm", "configuration"])
    columns = [Column("algorithm", "algorithm", numeric=False), Column("configuration", "configuration", numeric=False)]
    caption = f"The configurations chosen on {counted(len(found.held_out), 'held-out set')}"
    return Table("chosen_configurations", caption, frame, columns)


def _over_draws(found: Findings) -> Table:
    one = number(".1f")
    columns = [
        Column("rival", "FastCB.L against", numeric=False),
        Column("wins", "wins", one),
        Column("losses", "losses", one),
        Column("difference", "difference", number("+.1f")),
        Column("sets", "sets", one),
    ]
    what = "Table 2" if _has_sets(found.one_configuration) else "One configuration for all sets"
    caption = f"{what}, means over {counted(found.over_draws['draws'].max(), 'draw')} of the held-out sets"
    return Table("one_configuration_over_draws", caption, found.over_draws, columns)


def _counted_otherwise(found: Findings) -> Table:
    """A line for each way of counting, a column for each rival."""
    ways = found.scopes
    cells = [
        f"{score(wins, lost)} = {signed(wins - lost)}" for wins, lost in zip(ways["wins"], ways["losses"], strict=True)
    ]
    key = ["order", "way", "sets"]
    ways = ways.assign(cell=cells, against="against " + ways["rival"])  # a rival may be called "sets"
    wide = ways.pivot_table(index=key, columns="against", values="cell", aggfunc="first")
    columns = [Column("way", "FastCB.L against", numeric=False), Column("sets", "sets")]
    columns += [Column(f"against {rival}", rival) for rival in found.rivals]
    caption = "Wins and losses of FastCB.L, counted in other ways"
    return Table("counted_otherwise", caption, wide.reset_index(), columns, data=found.scopes.drop(columns="order"))


def _by_lstar(found: Findings) -> list[Block]:
    if found.lstar.empty:
        return []
    titles = {
        "rival": "FastCB.L against",
        "wins": "wins",
        "wins_small_lstar": f"… with Lstar ≤ {SMALL_LSTAR}",
        "losses": "losses",
        "losses_small_lstar": f"… with Lstar ≤ {SMALL_LSTAR}",
        "sets_small_lstar": f"sets with Lstar ≤ {SMALL_LSTAR}",
        "sets": "sets",
    }
    columns = [Column(key, title, numeric=key != "rival") for key, title in titles.items()]
    table = Table("wins_by_lstar", "Where the wins and losses are, tuned per set", found.wins, columns)
    if SQUARECB_LOGISTIC not in found.rivals:
        return [table]
    words = (
        f"The paper, FastCB.L against SquareCB.L: {paper.WINS} wins on the {paper.DIFFERENT} sets where they differ, "
        f"{paper.WINS_SMALL_LSTAR} of the {paper.WINS} with Lstar ≤ {SMALL_LSTAR}."
    )
    return [table, Text(words)]
