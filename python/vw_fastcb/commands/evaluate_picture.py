"""The picture of `fastcb evaluate`: one line per policy, with its intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from vw_fastcb.commands.evaluate import asymptotic, ends, noun, percent, shown
from vw_fastcb.commands.terminal import counted
from vw_fastcb.evaluation.judging import Judged
from vw_fastcb.evaluation.logs import Log
from vw_fastcb.learner.optional import as_label
from vw_fastcb.loop.files import new_file

_INK, _QUIET, _BAR, _DOT = "#222222", "#6b6b6b", "#9ccac3", "#00695c"
_LONGEST = 44  # characters of a label


def save_picture(log: Log, found: Sequence[Judged], method: str, path: Path) -> None:
    """Draws the policies that were judged."""
    judged = [one for one in found if one.refused is None]
    if not judged:
        return
    height = 1.9 + 0.55 * len(judged)
    figure = Figure(figsize=(10, height), facecolor="white")
    axes = figure.add_axes((0.36, 0.8 / height, 0.6, 1 - 1.75 / height))
    for row, one in enumerate(judged):
        estimate = one.estimates[method]
        low, high = ends(log, estimate.interval)
        axes.plot([low, high], [row, row], color=_BAR, linewidth=9, solid_capstyle="butt")
        low, high = ends(log, estimate.intervals[asymptotic(estimate)])
        axes.plot([low, high], [row, row], color=_DOT, linewidth=2)
        if not math.isnan(estimate.value):
            axes.plot([shown(log, estimate.value)], [row], "o", color=_DOT, markersize=8)
    labels = [one.label if len(one.label) <= _LONGEST else f"{one.label[: _LONGEST - 1]}…" for one in judged]
    axes.set_yticks(range(len(judged)), map(as_label, labels))
    axes.set_ylim(len(judged) - 0.5, -0.5)
    axes.tick_params(labelsize=10.5, colors=_INK, length=0, pad=6)
    axes.grid(axis="x", color="#e6e6e6", linewidth=1)
    axes.set_axisbelow(True)
    axes.set_xlabel(f"{noun(log)} per event ({method.upper()})", fontsize=11, color=_INK)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#bbbbbb")
    level = judged[0].estimates[method].interval.level
    figure.text(
        0.03,
        1 - 0.42 / height,
        f"What {counted(log.counted.events, 'event')} say{'s' * (log.counted.events == 1)} of each policy",
        fontsize=15,
        fontweight="bold",
        color=_INK,
    )
    words = f"Broad: valid at every n, {percent(level)}. Narrow: asymptotic. Dot: the estimate."
    figure.text(0.03, 1 - 0.72 / height, words, fontsize=10.5, color=_QUIET)
    with new_file(path) as draft:
        figure.savefig(draft, format="png", dpi=160)
