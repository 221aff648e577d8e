"""The common dress of the lab's pictures, in the colours of the demo and the bake-off."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from vw_fastcb.bakeoff.report.style import INK, QUIET, colour

FASTCB = colour("FastCB.L")
SQUARECB = colour("SquareCB.L")
THIRD = colour("RegCB.S")
FOURTH = colour("AdaCB.S")
FIFTH = colour("epsilon-greedy")
GREY = colour("Supervised.L")

WIDTH, HEIGHT = 10.0, 5.6


def blank(title: str, subtitle: str, note: str, panels: Sequence[str] = ("",)) -> tuple[Figure, list[Axes]]:
    """An empty picture: a title, what was done below it, a note at the bottom, and panels with their headings."""
    figure = Figure(figsize=(WIDTH, HEIGHT), facecolor="white")
    figure.text(0.03, 0.935, _typeset(title), fontsize=17, fontweight="bold", color=INK)
    figure.text(0.03, 0.885, _typeset(subtitle), fontsize=11, color=QUIET)
    figure.text(0.03, 0.025, _typeset(note), fontsize=9.5, color=QUIET)
    room = 0.9 / len(panels)
    drawn = []
    for index, heading in enumerate(panels):
        axes = figure.add_axes((0.075 + index * room, 0.17, room - 0.085, 0.59))
        axes.set_title(_typeset(heading), loc="left", fontsize=11.5, color=INK, pad=10)
        axes.tick_params(labelsize=10, colors=QUIET, length=0, pad=6)
        axes.grid(color="#e6e6e6", linewidth=1)
        axes.set_axisbelow(True)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.spines["bottom"].set_color("#bbbbbb")
        drawn.append(axes)
    return figure, drawn


def logarithmic(axes: Axes, *, x: bool = True, y: bool = True) -> None:
    """Makes axes logarithmic, with no ticks between the powers of ten."""
    for wanted, axis, scale in ((x, axes.xaxis, axes.set_xscale), (y, axes.yaxis, axes.set_yscale)):
        if wanted:
            scale("log")
            axis.set_minor_locator(NullLocator())


def name_axes(axes: Axes, x: str, y: str | None = None) -> None:
    """Names the axes; the upper one may be in the panel's heading instead."""
    axes.set_xlabel(_typeset(x), fontsize=10.5, color=INK)
    if y is not None:
        axes.set_ylabel(_typeset(y), fontsize=10.5, color=INK)


def label(
    axes: Axes, text: str, at: tuple[float, float], color: str, *, shift: tuple[float, float] = (6, 0), ha: str = "left"
) -> None:
    """A name right beside what it names, `shift` points from it."""
    axes.annotate(
        _typeset(text),
        at,
        shift,
        textcoords="offset points",
        color=color,
        fontsize=11,
        fontweight="bold",
        ha=ha,
        va="center",
        annotation_clip=False,
    )


def _typeset(text: str) -> str:
    """Claims and tables say Lstar and Rstar, for a star would be markup there; a picture shows the star."""
    return text.replace("Lstar", "L*").replace("Rstar", "R*")
