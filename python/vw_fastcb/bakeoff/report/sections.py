"""The sections of the report that show results: tables, scatter plots, curves, means, fresh shuffles."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count

import numpy as np
import pandas as pd

from vw_fastcb.bakeoff.analysis import drawn_curves, paper
from vw_fastcb.bakeoff.analysis.comparison import SMALL_LSTAR, outcomes
from vw_fastcb.bakeoff.analysis.findings import Findings
from vw_fastcb.bakeoff.analysis.losses import best_runs
from vw_fastcb.bakeoff.analysis.paper import (
    FASTCB,
    FASTCB_SECOND_ORDER,
    PAPER_TRIO,
    SQUARECB_LOGISTIC,
    SQUARECB_SQUARE,
    SUPERVISED,
    SUPERVISED_SECOND_ORDER,
    in_order,
)
from vw_fastcb.bakeoff.grid import NO_STEP
from vw_fastcb.bakeoff.report import figures
from vw_fastcb.bakeoff.report.document import (
    MISSING,
    Attached,
    Block,
    Column,
    Matrix,
    Panel,
    Pictures,
    Section,
    Table,
    Text,
    counted,
    number,
    score,
    signed,
)
from vw_fastcb.bakeoff.store import Run

_CSV_POINTS = 200  # of a curve
_LONGEST_FILE = 100  # a set's name has the folders of its file too, and file systems take 255 bytes
_MOST_SETS = 10  # whose best configurations fit on the page
_LOSS, _GAP, _STEP = number(".4f"), number("+.4f"), number("g")


def tables_sections(found: Findings) -> list[Section]:
    """The paper's three tables, each with and without subsets, and the same wins counted in other ways."""
    if len(found.bandits) < 2:
        return []
    blocks: list[Block] = [
        Text(
            "Each cell compares the algorithm of its row with that of its column. In bold: the sets on which it is "
            "significantly better, minus those on which it is significantly worse. Beside it: wins / losses, and "
            "the difference as a share of the sets. In italics: the paper's difference, where it gives one."
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
        blocks.append(
            Text("Table 2 (one configuration for all sets) needs sets to hold out, and there are too few here.")
        )
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
        f"{counted(len(found.held_out), 'held-out set')}; only its step is tuned on each set. The table counts the "
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
        f"In the paper, FastCB.L beats SquareCB.L on {paper.WINS} of the {paper.DIFFERENT} sets where they differ; "
        f"{paper.WINS_SMALL_LSTAR} of these {paper.WINS} have Lstar ≤ {SMALL_LSTAR}."
    )
    return [table, Text(words)]


def untuned_section(found: Findings) -> list[Section]:
    """Every algorithm with one configuration for all sets: mean losses, and who beats whom."""
    table, chosen_on = found.untuned.table, found.untuned.chosen_on
    if table.empty or len(table) < 2:
        return []
    tuned = FASTCB in set(table["algorithm"])
    beside = f" Beside it: sets won and lost against {FASTCB} with its best configuration on each set." if tuned else ""
    words = (
        "No choice on any set: each algorithm has one configuration and one step for all sets, the ones with the "
        f"lowest mean loss on {counted(chosen_on, 'set')} (those whose name has an even SHA-256). Algorithms of the "
        "second-order oracle (.N) have no step and nothing to choose: they run as shipped. The loss is the mean over "
        f"the other {counted(found.untuned.sets, 'set')}.{beside}"
    )
    blocks: list[Block] = [Text(words), _untuned(found, tuned)]
    if len(found.bandits) > 1:
        caption = f"Table 4. Untuned, against each other: {counted(found.untuned.sets, 'set')}"
        blocks.append(Matrix("table_4_untuned_duels", caption, found.untuned.duels, FASTCB_SECOND_ORDER))
    return [Section("Untuned", blocks)]


def _untuned(found: Findings, tuned: bool) -> Table:
    table = found.untuned.table
    frame = table.assign(step=_without_none(table["step"]))
    columns = [
        Column("algorithm", "algorithm", numeric=False),
        Column("configuration", "configuration", lambda text: str(text) or MISSING, numeric=False),
        Column("step", "step", _STEP),
        Column("choices", "chosen from"),
        Column("loss", "mean loss", _LOSS),
    ]
    if tuned:
        scores = [score(*counts) for counts in zip(table["wins"], table["losses"], strict=True)]
        frame = frame.assign(against=scores)
        columns.append(Column("against", f"against {FASTCB} tuned per set ({found.untuned.tuned_loss:.4f})"))
    sets = counted(found.untuned.sets, "set")
    data = frame.drop(columns="against") if tuned else None
    return Table("untuned", f"Untuned, the lowest mean loss first: {sets}", frame, columns, data)


def _without_none(steps: pd.Series) -> pd.Series:
    """The steps, missing where an algorithm has none."""
    return steps.where(steps != NO_STEP)


def best_section(found: Findings) -> Section:
    """The configuration that was best: of each algorithm on each set."""
    best = best_runs(found.results)[["dataset", "algorithm", "loss", "configuration", "step"]]
    place = {name: number for number, name in enumerate(in_order(best["algorithm"]))}
    best = best.assign(place=best["algorithm"].map(place)).sort_values(["dataset", "loss", "place"])
    best = best.drop(columns="place").assign(step=_without_none(best["step"]))
    if len(found.datasets) > _MOST_SETS:
        words = "`tables/best_configurations.csv` has the best configuration and step of each algorithm on each set."
        return Section("Best configurations", [Attached("best_configurations", words, best)])
    columns = [
        Column("dataset", "set", numeric=False),
        Column("algorithm", "algorithm", numeric=False),
        Column("loss", "loss", _LOSS),
        Column("configuration", "configuration", lambda text: str(text) or "(none to choose)", numeric=False),
        Column("step", "step", _STEP),
    ]
    caption = "The best configuration and step of each algorithm on each set, the lowest loss first"
    return Section("Best configurations", [Table("best_configurations", caption, best, columns)])


def scatter_section(found: Findings) -> list[Section]:
    """The loss of FastCB.L against each rival's, and the gap to both SquareCBs against Lstar."""
    if not found.rivals:
        return []
    sets = {rival: outcomes(found.losses, found.rounds, FASTCB, rival, found.lstar) for rival in found.rivals}
    files = file_names(sets)
    panels = [
        Panel(f"scatter_{files[rival]}", figures.scatter(frame, rival), f"Loss of FastCB.L against that of {rival}")
        for rival, frame in sets.items()
    ]
    hollow = "" if found.lstar.empty else f" Filled: Lstar at most {SMALL_LSTAR}; hollow: above."
    caption = (
        "Each point is a set, with both algorithms tuned on it. Below the line FastCB.L has the lower loss. Coloured "
        "points differ significantly: circles where FastCB.L wins, diamonds where the other algorithm does. "
        f"Square-root axes spread out the small losses.{hollow}"
    )
    every = pd.concat([frame.assign(rival=rival) for rival, frame in sets.items()])
    blocks: list[Block] = [Pictures(panels, caption, "scatter", every)]
    if not found.lstar.empty:
        blocks.append(_gaps(sets))
    return [Section("Set by set", blocks)]


def _gaps(sets: dict[str, pd.DataFrame]) -> Pictures:
    shown = [rival for rival in (SQUARECB_SQUARE, SQUARECB_LOGISTIC) if rival in sets] or list(sets)[:1]
    files = file_names(shown)
    panels = [
        Panel(f"gap_{files[rival]}", figures.gap_by_lstar(sets[rival], rival), f"{rival} minus FastCB.L against Lstar")
        for rival in shown
    ]
    caption = (
        f"The same gaps against Lstar, the loss of {SUPERVISED} with its best step; above the line FastCB.L has the "
        f"lower loss (square-root axis). The theory promises most on the left. Dashed: Lstar = {SMALL_LSTAR}."
    )
    return Pictures(panels, caption)


def curves_section(run: Run, found: Findings) -> Section:
    """The curves of the sets that were repeated with curves."""
    drawn = drawn_curves(found.results, found.datasets, run.curves)
    if not drawn:
        text = "No curves were kept, so there are none to draw (`--shuffles` sets how many)."
        return Section("Learning curves", [Text(text)])
    facts = found.datasets.set_index("name")
    files = file_names(drawn)
    panels, rows = [], []
    for name, curves in drawn.items():
        words = f"rounds ({counted(facts.at[name, 'classes'], 'class')})" if name in facts.index else "rounds"
        figure = figures.loss_curves(name, words, curves)
        panels.append(Panel(f"curves_{files[name]}", figure, f"Progressive validation loss on {name}"))
        for algorithm, curve in curves.items():
            at = np.unique(np.linspace(1, len(curve.loss), _CSV_POINTS).astype(int))
            columns = {"round": at, "loss": curve.loss[at - 1], "half_width": curve.half_width[at - 1]}
            rows.append(pd.DataFrame({"dataset": name, "algorithm": algorithm, **columns}))
    shuffles = max(curve.shuffles for curves in drawn.values() for curve in curves.values())
    which = "These are the largest sets"
    if found.rivals:
        which = (
            "These are the sets where FastCB.L and its rival differ most, including its clearest loss if there is one"
        )
    floor = f"; {SUPERVISED}, which sees every label, is the floor" if SUPERVISED in found.losses else ""
    if SUPERVISED_SECOND_ORDER in found.losses:
        floor += f", {SUPERVISED_SECOND_ORDER} that of the second-order oracle"
    caption = (
        f"Mean progressive validation loss over {counted(shuffles, 'shuffle')}, each algorithm with its best "
        f"configuration on the set. Bands: the Z-test with n = {shuffles} t after t rounds; where two bands do not "
        f"touch, the difference is significant. {which}{floor}."
    )
    return Section("Learning curves", [Pictures(panels, caption, "curves", pd.concat(rows))])


def file_names(names: Iterable[str]) -> dict[str, str]:
    """A file name without ending for each name, no two the same: S/a-b and S/a_b become s_a_b and s_a_b_2."""
    plain = {name: re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:_LONGEST_FILE] for name in names}
    reserved, given = set(plain.values()), dict[str, str]()
    for name, file in plain.items():
        others = (f"{file}_{number}" for number in count(2))
        free = (other for other in others if other not in reserved and other not in given.values())
        given[name] = next(free) if file in given.values() else file
    return given


def means_section(found: Findings) -> Section:
    """Mean loss and regret, and mean loss against gamma_0."""
    panels, words = [], []
    tables: list[Block] = [_means(found)]
    if SUPERVISED in set(found.means["algorithm"]) and len(found.means) > 1:
        panels.append(Panel("regret", figures.regret_bars(found.means), "Mean regret of each algorithm"))
        words.append(
            f"Regret: what it costs to see the loss of one action only, compared with {SUPERVISED}. Bars: one standard "
            "error over the sets."
        )
        if (found.means["regret"] < 0).any():
            words.append(f"Left of 0: a lower loss than {SUPERVISED}'s.")
    if found.sensitivity["gamma_scale"].nunique() > 1:
        figure = figures.gamma_lines(found.sensitivity, found.means)
        panels.append(Panel("gamma", figure, "Mean loss of each algorithm against gamma_0"))
        words.append(
            "Sensitivity: gamma₀ is the same for all sets, exponent and step are tuned on each. Where a line is "
            "flat, the choice of gamma₀ hardly matters."
        )
        if set(found.means["algorithm"]) - set(found.sensitivity["algorithm"]):
            words.append("Dashed: algorithms without a gamma₀ to choose, tuned where there is something to tune.")
        tables.append(_sensitivity(found))
    pictured: list[Block] = [Pictures(panels, " ".join(words))] if panels else []
    return Section("On average", [*pictured, *tables])


def _means(found: Findings) -> Table:
    columns = [
        Column("algorithm", "algorithm", numeric=False),
        Column("loss", "mean loss", _LOSS),
        Column("regret", f"mean regret to {SUPERVISED}", _GAP),
        Column("regret_error", "± standard error", _LOSS),
    ]
    sets = counted(found.means["sets"].max(), "set")
    return Table("mean_loss", f"Means over {sets}, tuned per set", found.means.sort_values("loss"), columns)


def _sensitivity(found: Findings) -> Table:
    by_gamma = found.sensitivity.pivot_table(index="algorithm", columns="gamma_scale", values="loss")
    frame = by_gamma.assign(spread=by_gamma.max(axis=1) - by_gamma.min(axis=1)).reset_index()
    frame.columns = [name if isinstance(name, str) else f"{name:g}" for name in frame.columns]
    columns = [Column("algorithm", "algorithm", numeric=False)]
    columns += [Column(f"{value:g}", f"γ₀ = {value:g}", _LOSS) for value in by_gamma.columns]
    columns.append(Column("spread", "highest minus lowest", _LOSS))
    sets = counted(found.sensitivity["sets"].max(), "set")
    caption = f"Mean loss over {sets} for each gamma₀, all else tuned per set"
    return Table("gamma", caption, frame.sort_values("spread"), columns)


def fresh_section(found: Findings) -> Section:
    """How much the tuning flatters."""
    where = "one order of the rows" if found.orders == 1 else f"{found.orders} orders of the rows"
    note = f"The best of many configurations on {where} looks better than it is, by luck. "
    if found.fresh.empty:
        flattered = _optimism(found)
        here = "Here the best configuration of each algorithm on a set plays other shuffles of that set."
        nothing = "There is no result on another shuffle that would tell by how much."
        return Section("Fresh shuffles", [Text(note + (here if flattered else nothing)), *flattered])
    least, most = found.fresh["least_shuffles"].min(), found.fresh["most_shuffles"].max()
    count = f"{least}" if least == most else f"{least} to {most}"
    text = (
        f"{note}Here the best configuration of each algorithm on a set plays {count} other shuffles of that set. "
        "Judged one shuffle at a time (n = rounds, counts averaged), results compare with the tables above. Judged on "
        "all shuffles together (n = rounds times shuffles), smaller differences show. By chance alone, two equally "
        "good algorithms would each win up to 8% of the sets on one shuffle: the test asks for only 1.39 "
        "standard errors."
    )
    return Section("Fresh shuffles", [Text(text), _fresh(found), *_optimism(found)])


def _fresh(found: Findings) -> Table:
    one = number(".1f")
    columns = [
        Column("rival", "FastCB.L against", numeric=False),
        Column("grid_wins", "tuned: wins"),
        Column("grid_losses", "losses"),
        Column("wins", "one fresh shuffle: wins", one),
        Column("losses", "losses", one),
        Column("pooled_wins", "all together: wins"),
        Column("pooled_losses", "losses"),
        Column("sets", "sets"),
    ]
    return Table("fresh_shuffles", "FastCB.L on fresh shuffles", found.fresh, columns)


def _optimism(found: Findings) -> list[Block]:
    if found.optimism.empty or not found.optimism["sets"].max():
        return []
    columns = [
        Column("algorithm", "algorithm", numeric=False),
        Column("tuned_loss", "mean loss, tuned", _LOSS),
        Column("fresh_loss", "on fresh shuffles", _LOSS),
        Column("optimism", "too good by", _GAP),
    ]
    caption = f"How much tuning flatters, means over {counted(found.optimism['sets'].max(), 'set')}"
    return [Table("optimism", caption, found.optimism.sort_values("fresh_loss"), columns)]
