"""Tables of the runs, with a mark where a candidate is behind the best rival by more than the protocol allows."""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any

import numpy as np
import untuned
from configurations import Configuration
from games import dataset_of, games_of
from lines import Lines
from seeds import reports

LIKE_03 = {"worlds: a safe action": 1 / 3, "worlds: a change": 2 / 3}  # at most this share of the regret of 0.3
OF_03 = "newton"  # its label
RATIO, SLACK = 1.25, 0.003  # of regret, in worlds
SHARE = 0.99  # of what the best rival has right or earns, on real data
MARK = " **<**"
HEADINGS = {
    "worlds": "Worlds: regret per round",
    "tables": "Tables: mean progressive loss",
    "real": "Real data: earned, or right, per round",
    "stand-ins": "Stand-ins: earned, or right, per round",
}


@dataclass(frozen=True)
class Cell:
    """The runs of a configuration in one game with one delay.

    Attributes:
        values: By seed: in worlds the regret per round, on tables the mean loss, on real data what was earned or right.
        share: Of the way from random to best.
        builds: The engines that played.
    """

    values: dict[int, float]
    share: float
    builds: frozenset[str]

    @property
    def mean(self) -> float:
        return float(np.mean(list(self.values.values())))

    @property
    def error(self) -> float:
        values = list(self.values.values())
        return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")

    def __str__(self) -> str:
        return _short(self.mean) + (f" ± {_short(self.error)}" if len(self.values) > 1 else "")


def _short(number: float) -> str:
    return f"{number:.4f}".replace("0.", ".", 1)


Cells = dict[tuple[str, int, str], Cell]  # by game, delay, and label


def cells_of(lines: Lines, options: argparse.Namespace) -> Cells:
    labels: dict[str, list[str]] = defaultdict(list)
    for configuration in options.configurations:
        labels[configuration.key].append(configuration.label)
    collected: dict[tuple[str, int, str], dict[int, dict[str, Any]]] = defaultdict(dict)
    for key, line in lines:
        if key.seed not in options.seeds or key.delay not in options.delays or "value" not in line:
            continue
        for label in labels[key.configuration]:
            collected[key.game, key.delay, label][key.seed] = line
    return {place: _cell(place[0], runs) for place, runs in collected.items()}


def _cell(game: str, runs: dict[int, dict[str, Any]]) -> Cell:
    if game.startswith("worlds"):
        values = {seed: abs(line["value"] - line["best"]) for seed, line in runs.items()}
    elif game.startswith("tables"):
        values = {seed: line["value"] for seed, line in runs.items()}
    else:  # what was earned; where outcomes are costs of 0 and 1, the share that was right
        values = {
            seed: line["value"] if line["best"] >= line["uniform"] else 1 - line["value"] for seed, line in runs.items()
        }
    way = [line["best"] - line["uniform"] for line in runs.values()]
    gone = [line["value"] - line["uniform"] for line in runs.values()]
    share = float(np.mean([a / b if b else 1.0 for a, b in zip(gone, way, strict=True)]))
    return Cell(values, share, frozenset(line["build"] for line in runs.values()))


def limit_of(part: str, rivals: list[Cell]) -> float | None:
    """How far a candidate's mean may be from the best rival's; None without rivals."""
    means = [cell.mean for cell in rivals]
    if not means:
        return None
    return RATIO * min(means) + SLACK if part == "worlds" else SHARE * max(means)


def table_of(part: str, cells: Cells, options: argparse.Namespace) -> list[str]:
    """A line for every game and delay, a column for every configuration."""
    configurations: list[Configuration] = options.configurations
    games = [g for report in (False, True) for g in games_of(part, report=report)]
    lines = [
        "| game | delay | runs | " + " | ".join(c.label for c in configurations) + " | limit |",
        "|---|---|---|" + "---|" * (len(configurations) + 1),
    ]
    behind: dict[str, list[float]] = defaultdict(list)
    for game in dict.fromkeys(games):
        for delay in options.delays:
            played = {c.label: cells[game, delay, c.label] for c in configurations if (game, delay, c.label) in cells}
            if not played or not any(fnmatch(game, f"*{pattern}*") for pattern in options.games):
                continue
            limit = limit_of(part, [played[c.label] for c in configurations if c.rival and c.label in played])
            texts = []
            for configuration in configurations:
                cell = played.get(configuration.label)
                texts.append("" if cell is None else _short(cell.share) if options.share else str(cell))
                if cell is not None and configuration.candidate and limit is not None:
                    excess = cell.mean / limit if part == "worlds" else limit / cell.mean
                    behind[configuration.label].append(excess)
                    texts[-1] += MARK if excess > 1 else ""
            counts = {len(cell.values) for cell in played.values()}
            runs = f"{min(counts)}" if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
            name = game.split(": ", 1)[1]
            end = "" if limit is None or options.share else _short(limit)
            lines.append(f"| {name} | {delay} | {runs} | " + " | ".join(texts) + f" | {end} |")
    lines += [""]
    for label, excesses in behind.items():
        count = sum(excess > 1 for excess in excesses)
        lines.append(f"{label}: behind in {count} of {len(excesses)}, at worst {max(excesses):.2f} times the limit.")
    return [*lines, *beside_03(cells, configurations)] if part == "worlds" else lines


def beside_03(cells: Cells, configurations: list[Configuration]) -> list[str]:
    """The two worlds in which a candidate has to be much better than 0.3."""
    lines = []
    for game, share in LIKE_03.items():
        before = cells.get((game, 0, OF_03))
        for configuration in configurations:
            cell = cells.get((game, 0, configuration.label))
            if before is not None and cell is not None and configuration.candidate:
                ratio = cell.mean / before.mean
                mark = MARK if ratio > share else ""
                lines.append(f"{configuration.label}: {ratio:.2f} times the regret of 0.3 in {game}{mark}.")
    return lines


def tables_of_sets(cells: Cells, options: argparse.Namespace) -> list[str]:
    """Mean losses over the sets that all configurations have played, and sets won and lost against tuned algorithms."""
    played = [{place[0] for place in cells if place[2] == c.label} for c in options.configurations]
    common = sorted(set.intersection(*(sets for sets in played if sets)) if any(played) else [])
    games = [game for game in common if game.startswith("tables")]
    if not games:
        return ["Nothing was played by everybody."]
    rivals = untuned.tuned().loc[[game.split(": ", 1)[1] for game in games]]
    rows = [dataset_of(game).rows for game in games]
    of_rivals = " | ".join(f"of {r}, tuned: {rivals[r].mean():.4f}" for r in untuned.RIVALS)
    lines = [
        f"{len(games)} sets.",
        "",
        f"| untuned | mean loss | {of_rivals} |",
        "|---|---|" + "---|" * len(untuned.RIVALS),
    ]
    for configuration, sets in zip(options.configurations, played, strict=True):
        if sets:
            losses = [cells[game, 0, configuration.label].mean for game in games]
            lines.append(untuned.comparison(configuration.label, losses, rivals, rows))
    return lines


def mixed_builds(cells: Cells) -> list[str]:
    builds: dict[str, set[str]] = defaultdict(set)
    for (_, _, label), cell in cells.items():
        builds[label] |= cell.builds
    return [
        f"{label}: runs of {len(names)} builds ({', '.join(sorted(names))})."
        for label, names in builds.items()
        if len(names) > 1
    ]


def report_of(lines: Lines, options: argparse.Namespace) -> str:
    """The whole report, in Markdown."""
    cells = cells_of(lines, options)
    stage = "reporting" if reports(min(options.seeds)) else "choosing"
    text = [f"# Never behind, {stage}", ""]
    for part in options.parts:
        table = tables_of_sets(cells, options) if part == "tables" else table_of(part, cells, options)
        text += [f"## {HEADINGS[part]}", "", *table, ""]
    return "\n".join([*text, *mixed_builds(cells)]).rstrip()
