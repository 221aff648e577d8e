"""Colours and the common dress of the pictures."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK = "#1b1e23"
"""The ink of all text and lines. The HTML page puts its own text colour in its place."""

QUIET = "#5c636d"
"""The ink of what should not shout, replaced likewise."""

_FAINT = 0.13

# Okabe and Ito's colours, which colour-blind people can tell apart, the blue a little lighter for dark pages.
_COLOURS = {
    "FastCB.L": "#d55e00",
    "SquareCB.L": "#1a80c4",
    "SquareCB.S": "#56b4e9",
    "RegCB.S": "#009e73",
    "AdaCB.S": "#cc79a7",
    "epsilon-greedy": "#e69f00",
    "Supervised.L": "#868b91",
    "Supervised.S": "#b3b7bc",
}
_FURTHER = ("#8c6bb1", "#a6761d", "#66a61e", "#e7298a")


def colour(algorithm: str) -> str:
    """The algorithm's colour, the same in every picture."""
    return _COLOURS.get(algorithm) or _FURTHER[sum(map(ord, algorithm)) % len(_FURTHER)]


def canvas(width: float, height: float, title: str) -> tuple[Figure, Axes]:
    """An empty picture with its title."""
    figure = Figure(figsize=(width, height), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", fontsize=11.5, fontweight="bold", color=INK, pad=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(INK)
        axes.spines[side].set_alpha(0.35)
    axes.tick_params(labelsize=9.5, colors=INK, length=3)
    axes.grid(color=INK, alpha=_FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    return figure, axes


def axis_names(axes: Axes, x: str, y: str) -> None:
    """Names both axes."""
    axes.set_xlabel(x, fontsize=10, color=QUIET)
    axes.set_ylabel(y, fontsize=10, color=QUIET)


def label_ends(axes: Axes, ends: Sequence[tuple[str, float]]) -> None:
    """Names each line at its right end, the names moved apart where the lines end close together."""
    bottom, top = axes.get_ylim()
    gap = 0.062 * (top - bottom)
    heights: list[float] = []
    ordered = sorted(ends, key=lambda end: end[1])
    for _, value in ordered:
        heights.append(max(value, heights[-1] + gap) if heights else value)
    overshoot = max(0.0, (heights[-1] if heights else 0.0) - top)
    for index in range(len(heights) - 1, -1, -1):  # push back down from the top
        ceiling = heights[index + 1] - gap if index + 1 < len(heights) else heights[index] - overshoot
        heights[index] = min(heights[index], ceiling)
    for (name, _), height in zip(ordered, heights, strict=True):
        axes.annotate(
            name,
            (1.015, height),
            xycoords=("axes fraction", "data"),
            color=colour(name),
            fontsize=9.5,
            fontweight="bold",
            va="center",
            annotation_clip=False,
        )
