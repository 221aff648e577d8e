"""The sections of pictures: set by set, and the learning curves."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count

import numpy as np
import pandas as pd

from vw_fastcb.bakeoff.analysis.findings import Findings
from vw_fastcb.bakeoff.analysis.names import FASTCB, SQUARECB_LOGISTIC, SQUARECB_SQUARE, SUPERVISED
from vw_fastcb.bakeoff.analysis.tables import SMALL_LSTAR, outcomes
from vw_fastcb.bakeoff.report import pictures
from vw_fastcb.bakeoff.report.document import Block, Panel, Pictures, Section, Text, counted
from vw_fastcb.bakeoff.report.run import Run

_CSV_POINTS = 200  # of a curve
_LONGEST_FILE = 100  # a set's name has the folders of its file too, and file systems take 255 bytes


def scatter_section(found: Findings) -> list[Section]:
    """The loss of FastCB.L against each rival's, and the gap to both SquareCBs against Lstar."""
    if not found.rivals:
        return []
    sets = {rival: outcomes(found.losses, found.rounds, FASTCB, rival, found.lstar) for rival in found.rivals}
    files = file_names(sets)
    panels = [
        Panel(f"scatter_{files[rival]}", pictures.scatter(frame, rival), f"Loss of FastCB.L against that of {rival}")
        for rival, frame in sets.items()
    ]
    hollow = "" if found.lstar.empty else f" Filled: Lstar at most {SMALL_LSTAR}; hollow: above."
    caption = (
        "Each point is a set, both algorithms tuned on it; below the line FastCB.L has the lower loss. Coloured where "
        "the difference is significant: circles where FastCB.L wins, diamonds where the other does. "
        f"Square-root axes, to spread the small losses.{hollow}"
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
        Panel(f"gap_{files[rival]}", pictures.gap_by_lstar(sets[rival], rival), f"{rival} minus FastCB.L against Lstar")
        for rival in shown
    ]
    caption = (
        f"The same gaps against Lstar, the loss of {SUPERVISED} with its best step; above the line FastCB.L has the "
        f"lower loss (square-root axis). The theory promises most on the left; dashed: Lstar = {SMALL_LSTAR}."
    )
    return Pictures(panels, caption)


def curves_section(run: Run, found: Findings) -> Section:
    """The curves of the sets that were repeated with curves."""
    if not run.curves:
        text = "No set was repeated on several shuffles with its curves kept, so there are none to draw."
        return Section("Learning curves", [Text(text)])
    facts = found.datasets.set_index("name")
    files = file_names(run.curves)
    panels, rows = [], []
    for name, curves in run.curves.items():
        words = f"rounds ({counted(facts.at[name, 'classes'], 'class')})" if name in facts.index else "rounds"
        figure = pictures.loss_curves(name, words, curves)
        panels.append(Panel(f"curves_{files[name]}", figure, f"Progressive validation loss on {name}"))
        for algorithm, curve in curves.items():
            at = np.unique(np.linspace(1, len(curve.loss), _CSV_POINTS).astype(int))
            columns = {"round": at, "loss": curve.loss[at - 1], "half_width": curve.half_width[at - 1]}
            rows.append(pd.DataFrame({"dataset": name, "algorithm": algorithm, **columns}))
    shuffles = max(curve.shuffles for curves in run.curves.values() for curve in curves.values())
    which = "Shown are the largest sets"
    if found.rivals:
        which = (
            "Shown are the sets where FastCB.L and its rival differ most, its clearest loss included if there is one"
        )
    floor = f"; {SUPERVISED}, which sees every label, is the floor" if SUPERVISED in found.losses else ""
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
