"""Colours and the common dress of all figures, those of the demo included."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import fmean

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

INK = "#1b1e23"
"""The ink of all text and lines. The HTML page puts its own text colour in its place."""

QUIET = "#5c636d"
"""The ink of what should not shout, replaced likewise."""

_FAINT = 0.13
_LEFT_OF_AXES = 0.85  # inches, about what the numbers and the name of the axis need

# Okabe and Ito's colours, which colour-blind people can tell apart, the blue a little lighter for dark pages. They have
# eight; the algorithms of the second-order oracle and the greedy ones have others, and lines are named at their ends.
_COLOURS = {
    "FastCB.L": "#d55e00",
    "FastCB.N": "#b5263a",
    "SquareCB.N": "#5e6bd8",
    "greedy.N": "#7a9a01",
    "greedy.L": "#a9b84a",
    "SquareCB.L": "#1a80c4",
    "SquareCB.S": "#56b4e9",
    "RegCB.S": "#009e73",
    "AdaCB.S": "#cc79a7",
    "epsilon-greedy": "#e69f00",
    "Supervised.L": "#868b91",
    "Supervised.S": "#b3b7bc",
    "Supervised.N": "#62676e",
}
_FURTHER = ("#8c6bb1", "#a6761d", "#66a61e", "#e7298a")


def colour(algorithm: str) -> str:
    """The algorithm's colour, the same in every picture."""
    return _COLOURS.get(algorithm) or _FURTHER[sum(map(ord, algorithm)) % len(_FURTHER)]


@contextmanager
def drawing() -> Iterator[None]:
    """Names of sets and algorithms are text: a $ begins no formula, and the font may lack some of their characters."""
    with warnings.catch_warnings(), mpl.rc_context({"text.parse_math": False}):
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from", UserWarning)
        yield


def shortened(text: str, most: int = 22) -> str:
    """At most so many characters, from the beginning and the end."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[len(text) - (most - 1) // 2 :]}"


def _fitted(text: str, room: float, font: FontProperties) -> str:
    """The text, shortened in the middle where it needs more than this room (in points)."""
    shown, most = text, len(text)
    with drawing():
        while most > 3 and (width := TextPath((0, 0), shown, prop=font).get_extents().width) > room:
            most = max(3, min(most - 1, int(most * room / width)))
            shown = shortened(text, most)
    return shown


def canvas(width: float, height: float, title: str) -> tuple[Figure, Axes]:
    """An empty picture with its title."""
    figure = Figure(figsize=(width, height), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    font = FontProperties(weight="bold", size=11.5)
    fitted = _fitted(title, 72 * (width - _LEFT_OF_AXES), font)
    axes.set_title(fitted, loc="left", fontproperties=font, color=INK, pad=9)
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
    ordered = sorted(ends, key=lambda end: end[1])
    heights = spread([value for _, value in ordered], 0.055 * (top - bottom), bottom, top)
    across = ("axes fraction", "data")
    for (name, value), height in zip(ordered, heights, strict=True):
        axes.annotate(
            shortened(name),
            (1, value),
            xycoords=across,
            xytext=(1.05, height),
            textcoords=across,
            color=colour(name),
            fontsize=9.5,
            fontweight="bold",
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour(name),
                "linewidth": 0.8,
                "shrinkA": 1,
                "shrinkB": 0,
                "relpos": (0, 0.5),
            },
        )


def spread(values: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Heights between low and high, a gap apart, each as near to its value (in rising order) as the others allow."""
    gap = min(gap, (high - low) / max(1, len(values) - 1))
    groups: list[list[float]] = []  # of values that must stand together, each less the gaps below it
    for index, value in enumerate(values):
        groups.append([value - index * gap])
        while len(groups) > 1 and fmean(groups[-2]) > fmean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    least = [fmean(group) for group in groups for _ in group]
    ceiling = high - (len(values) - 1) * gap
    return [min(max(height, low), ceiling) + index * gap for index, height in enumerate(least)]
