"""The demo's picture: progressive loss curves, in the colours of the bake-off's figures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from vw_fastcb.bakeoff.report.style import INK, QUIET, colour
from vw_fastcb.commands.demo import FASTCB, MEASURED_SHUFFLES, SUPERVISED, Contender, Report, Result

_FIRST = 50  # a mean over fewer rounds is noise


def save_picture(report: Report, path: Path) -> None:
    """Draws the curves and puts the PNG in its place once it is whole."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        _draw(report).savefig(scratch, format="png", dpi=160)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def _draw(report: Report) -> Figure:
    results = report.results
    figure = Figure(figsize=(10, 6.2), facecolor="white")
    axes = figure.add_axes((0.075, 0.135, 0.685, 0.65))
    first = _FIRST if report.rounds > _FIRST else 1  # short runs are shown as a whole
    for result in results:
        _draw_curve(axes, result, first)
    _dress(axes, first, report.rounds)
    _label_ends(axes, results)
    figure.text(0.03, 0.935, _title(results), fontsize=17, fontweight="bold", color=INK)
    figure.text(
        0.03,
        0.885,
        f"{report.dataset}, {report.actions} classes: in each round the learner picks one and is told if it was right",
        fontsize=11.5,
        color=QUIET,
    )
    figure.text(
        0.03,
        0.025,
        f"Mean over {MEASURED_SHUFFLES} shuffles, bands of two standard errors. All tuned alike, on other shuffles.",
        fontsize=9.5,
        color=QUIET,
    )
    return figure


def _title(results: list[Result]) -> str:
    """What the numbers say, not what one hoped for."""
    bandits = sorted((r for r in results if r.contender.bandit), key=lambda r: r.loss)
    best = bandits[0]
    tied = [r for r in bandits if r.loss - 2 * r.loss_error <= best.loss + 2 * best.loss_error]
    if len(tied) == len(bandits):
        return "All learn about equally well here"
    names = " and ".join(result.contender.name for result in tied)
    return f"{names} {'learns' if len(tied) == 1 else 'learn'} with the fewest mistakes"


def _colour(contender: Contender) -> str:
    return colour(contender.algorithm.name)


def _draw_curve(axes: Axes, result: Result, first: int) -> None:
    colour = _colour(result.contender)
    t = np.arange(1, len(result.curve) + 1)[first - 1 :]
    mean, error = result.curve[first - 1 :], result.curve_error[first - 1 :]
    supervised = result.contender is SUPERVISED
    axes.fill_between(t, mean - 2 * error, mean + 2 * error, color=colour, alpha=0.14, linewidth=0)
    axes.plot(
        t,
        mean,
        color=colour,
        linewidth=3.0 if result.contender is FASTCB else 2.0,
        linestyle=(0, (4, 2)) if supervised else "-",
        zorder=3 if result.contender is FASTCB else 2,
    )


def _label_ends(axes: Axes, results: list[Result]) -> None:
    """Names each curve at its end, moving names apart where the curves end close together."""
    top = axes.get_ylim()[1]
    height = -top
    for result in sorted(results, key=lambda r: r.loss):
        height = max(result.loss, height + 0.062 * top)
        text = f"{result.contender.name} {result.loss:.1%}"
        _label(axes, text, height, color=_colour(result.contender), fontsize=12.5, fontweight="bold")
        if result.contender is SUPERVISED and result.loss > 0.06 * top:
            _label(axes, "sees every label", height - 0.045 * top, color=QUIET, fontsize=10)


def _label(axes: Axes, text: str, height: float, **style: Any) -> None:
    place = ("axes fraction", "data")
    axes.annotate(text, (1.015, height), xycoords=place, va="center", annotation_clip=False, **style)


def _dress(axes: Axes, first: int, rounds: int) -> None:
    axes.set_xscale("log")
    axes.set_xlim(first, max(rounds, first + 1))
    axes.set_ylim(0, min(1.0, 1.04 * axes.get_ylim()[1]))
    axes.set_title("Share of wrong choices so far", loc="left", fontsize=11.5, color=INK, pad=12)
    ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000) if first <= t <= rounds]
    axes.set_xticks(ticks)
    axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda t, _: f"{t:,.0f}"))
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.set_xlabel("rounds (log scale)", fontsize=11, color=INK)
    axes.tick_params(labelsize=10.5, colors=QUIET, length=0, pad=6)
    axes.grid(axis="y", color="#e6e6e6", linewidth=1)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#bbbbbb")
