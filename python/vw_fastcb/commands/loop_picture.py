"""The picture of `fastcb demo --loop`: the mean reward rises, a killed process or not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from vw_fastcb.bakeoff.report.style import INK, QUIET, colour, spread
from vw_fastcb.commands.loop_demo import LAST, LoopReport

_LOOP, _BOUND = colour("FastCB.L"), colour("Supervised.L")


def save_picture(report: LoopReport, path: Path) -> None:
    """Draws the curve and puts the PNG in its place once it is whole."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        _draw(report).savefig(scratch, format="png", dpi=160)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def _draw(report: LoopReport) -> Figure:
    figure = Figure(figsize=(10, 6.2), facecolor="white")
    axes = figure.add_axes((0.075, 0.135, 0.72, 0.65))
    curve = report.curve
    middle = (np.arange(len(curve.mean)) + 0.5) * curve.size
    edges = np.array([0, report.events])
    for level in (curve.uniform.mean(), curve.best.mean()):
        axes.plot(edges, [level, level], color=_BOUND, linewidth=2.0, linestyle=(0, (4, 2)))
    axes.plot(middle, curve.mean, color=_LOOP, linewidth=3.0, marker="o", markersize=6, zorder=3)
    _dress(axes, report)
    _label_ends(axes, report)
    _mark_kill(axes, report)
    figure.text(0.03, 0.935, _title(report), fontsize=17, fontweight="bold", color=INK)
    figure.text(0.03, 0.885, _subtitle(report), fontsize=11.5, color=QUIET)
    figure.text(0.03, 0.025, _footnote(report), fontsize=9.5, color=QUIET)
    return figure


def _title(report: LoopReport) -> str:
    """What happened, not what one hoped for."""
    if not all(report.promises().values()):
        return "Something is not as it was promised: see the table"
    return "Killed on the way: nothing was lost, and it goes on learning"


def _subtitle(report: LoopReport) -> str:
    rewards = report.rewards
    return (
        f"A news page of {report.events:,} visits. Of {rewards.clicks:,} rewards {rewards.lost:,} were lost, "
        f"{rewards.late:,} came too late, and {rewards.duplicates:,} reports were repeats"
    )


def _footnote(report: LoopReport) -> str:
    if report.model != report.replayed.sha256:
        return f"The model is {report.model[:12]}, that of an undisturbed learner {report.replayed.sha256[:12]}."
    return (
        f"All {report.acknowledged:,} acknowledged requests are in the journal. An undisturbed learner computes the "
        f"same model, SHA-256 {report.model[:12]}."
    )


def _mark_kill(axes: Axes, report: LoopReport) -> None:
    axes.axvline(report.kill.event, color=INK, linewidth=1.4, zorder=1)
    axes.annotate(
        f"killed by SIGKILL,\ngoes on {report.kill.pause:.1f} s later",
        (report.kill.event, 0.03),
        xycoords=("data", "axes fraction"),
        xytext=(8, 0),
        textcoords="offset points",
        color=INK,
        fontsize=11,
        va="bottom",
    )


def _label_ends(axes: Axes, report: LoopReport) -> None:
    curve = report.curve
    ends: list[tuple[float, str, dict[str, Any]]] = sorted(
        [
            (float(curve.uniform.mean()), "random", {"color": QUIET}),
            (curve.last, "the loop", {"color": _LOOP}),
            (float(curve.best.mean()), "best possible", {"color": QUIET}),
        ],
        key=lambda end: end[0],
    )
    low, high = axes.get_ylim()
    heights = spread([level for level, _, _ in ends], 0.105 * (high - low), low, high)
    for (level, name, style), height in zip(ends, heights, strict=True):
        axes.annotate(
            f"{name} {level:.0%}",
            (1.015, height),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=12.5,
            fontweight="bold",
            annotation_clip=False,
            **style,
        )
        if name == "the loop":
            axes.annotate(
                f"in the last {LAST * curve.size:,} visits",
                (1.015, height - 0.045 * (high - low)),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=10,
                color=QUIET,
                annotation_clip=False,
            )


def _dress(axes: Axes, report: LoopReport) -> None:
    axes.set_xlim(0, report.events)
    axes.set_ylim(0, 1.12 * max(report.curve.best.mean(), report.curve.mean.max()))
    axes.set_title(f"Mean reward of {report.curve.size} visits", loc="left", fontsize=11.5, color=INK, pad=12)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda t, _: f"{t:,.0f}"))
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.set_xlabel("visits", fontsize=11, color=INK)
    axes.tick_params(labelsize=10.5, colors=QUIET, length=0, pad=6)
    axes.grid(axis="y", color="#e6e6e6", linewidth=1)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#bbbbbb")
