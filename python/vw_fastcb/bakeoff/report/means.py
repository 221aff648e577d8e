"""The sections of means: regret, sensitivity to gamma_0, and what is left on fresh shuffles."""

from __future__ import annotations

from vw_fastcb.bakeoff.analysis.findings import Findings
from vw_fastcb.bakeoff.analysis.names import SUPERVISED
from vw_fastcb.bakeoff.report import pictures
from vw_fastcb.bakeoff.report.document import Block, Column, Panel, Pictures, Section, Table, Text, counted, number

_LOSS, _GAP = number(".4f"), number("+.4f")


def means_section(found: Findings) -> Section:
    """Mean loss and regret, and mean loss against gamma_0."""
    panels, words = [], []
    tables: list[Block] = [_means(found)]
    if SUPERVISED in set(found.means["algorithm"]) and len(found.means) > 1:
        panels.append(Panel("regret", pictures.regret_bars(found.means), "Mean regret of each algorithm"))
        words.append(
            f"Regret: what learning from the loss of one action only costs, against {SUPERVISED}; bars of one standard "
            "error over the sets."
        )
    if found.sensitivity["gamma_scale"].nunique() > 1:
        figure = pictures.gamma_lines(found.sensitivity, found.means)
        panels.append(Panel("gamma", figure, "Mean loss of each algorithm against gamma_0"))
        words.append(
            "Sensitivity: gamma₀ is the same for all sets, exponent and step are tuned on each; on a flat line the "
            "choice of gamma₀ hardly matters."
        )
        if set(found.means["algorithm"]) - set(found.sensitivity["algorithm"]):
            words.append("Dashed: algorithms without a gamma₀, tuned.")
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
    columns.append(Column("spread", "highest less lowest", _LOSS))
    sets = counted(found.sensitivity["sets"].max(), "set")
    caption = f"Mean loss over {sets} for each gamma₀, all else tuned per set"
    return Table("gamma", caption, frame.sort_values("spread"), columns)


def fresh_section(found: Findings) -> Section:
    """How much the tuning flatters."""
    where = "one order of the rows" if found.orders == 1 else f"{found.orders} orders of the rows"
    note = f"The best of many configurations on {where} is flattered by luck. "
    if found.fresh.empty:
        flattered = _optimism(found)
        here = "Here each algorithm's best configuration of a set runs on other shuffles of the set."
        nothing = "There is no result on another shuffle to tell by how much."
        return Section("Fresh shuffles", [Text(note + (here if flattered else nothing)), *flattered])
    least, most = found.fresh["least_shuffles"].min(), found.fresh["most_shuffles"].max()
    count = f"{least}" if least == most else f"{least} to {most}"
    text = (
        f"{note}Here each algorithm's best configuration of a set runs on other shuffles of the set, {count} of them. "
        "One shuffle at a time, with n = rounds and the counts averaged over them, compares with the tables above; "
        "all shuffles together, with n = rounds times shuffles, sees smaller differences. Two equally good algorithms "
        "would by chance win up to 8% of the sets each in one shuffle: the test asks for 1.39 standard errors only."
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
        Column("optimism", "flattered by", _GAP),
    ]
    caption = f"How much the tuning flatters, means over {counted(found.optimism['sets'].max(), 'set')}"
    return [Table("optimism", caption, found.optimism.sort_values("fresh_loss"), columns)]
