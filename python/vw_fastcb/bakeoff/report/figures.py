"""The figures of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator
from numpy.typing import NDArray

from vw_fastcb.bakeoff.analysis.comparison import SMALL_LSTAR
from vw_fastcb.bakeoff.analysis.curves import Curve
from vw_fastcb.bakeoff.analysis.paper import FASTCB, PAPER_TRIO, SUPERVISED, SUPERVISED_SECOND_ORDER, bandits
from vw_fastcb.bakeoff.report.style import INK, QUIET, axis_names, canvas, colour, label_ends, shortened

_SQUARE = (4.3, 4.3)
_WIDE = (6.4, 4.2)
_BANDED = (*PAPER_TRIO, SUPERVISED)
_DASHED = (SUPERVISED, SUPERVISED_SECOND_ORDER)  # they see every label
_LOSS_TICKS = (0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
_GAP_TICKS = (-0.5, -0.2, -0.1, -0.05, -0.01, 0, 0.01, 0.05, 0.1, 0.2, 0.5)
_POINTS = 400  # of a curve: more cannot be seen


def scatter(sets: pd.DataFrame, rival: str) -> Figure:
    """The loss of FastCB.L against a rival's, one point per set; `sets` as `comparison.outcomes` gives it."""
    figure, axes = canvas(*_SQUARE, f"FastCB.L against {rival}")
    axes.plot([0, 1], [0, 1], color=INK, alpha=0.45, linewidth=0.9)
    _points(axes, sets, sets["rival_loss"], sets["loss"], rival)
    top = 1.06 * max(sets["loss"].max(), sets["rival_loss"].max(), 0.05)
    for axis, scale, limits in (
        (axes.xaxis, axes.set_xscale, axes.set_xlim),
        (axes.yaxis, axes.set_yscale, axes.set_ylim),
    ):
        scale("function", functions=(_signed_root, _signed_square))
        limits(0, top)
        axis.set_ticks([tick for tick in _LOSS_TICKS if tick <= top])
        axis.set_major_formatter(FuncFormatter(lambda loss, _: f"{loss:g}"))
    axes.set_box_aspect(1)
    axis_names(axes, f"loss of {shortened(rival)}", "loss of FastCB.L")
    _tell(axes, sets, rival, (0.97, 0.04, "right"), (0.04, 0.94, "left"))
    return figure


def _signed_root(gaps: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sign(gaps) * np.sqrt(np.abs(gaps))


def _signed_square(roots: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sign(roots) * np.square(roots)


def gap_by_lstar(sets: pd.DataFrame, rival: str) -> Figure:
    """How much lower FastCB.L's loss is than a rival's, against Lstar, a point for each set."""
    figure, axes = canvas(6.4, 3.6, f"{rival} minus FastCB.L")
    gap = sets["rival_loss"] - sets["loss"]
    axes.axhline(0, color=INK, alpha=0.45, linewidth=0.9)
    axes.axvline(SMALL_LSTAR, color=INK, alpha=0.45, linewidth=0.9, linestyle=(0, (3, 3)))
    _points(axes, sets, sets["lstar"], gap, rival)
    axes.set_yscale("function", functions=(_signed_root, _signed_square))
    axes.set_ylim(min(1.2 * gap.min(), -0.01), max(1.2 * gap.max(), 0.01))
    low, high = axes.get_ylim()
    axes.set_yticks([tick for tick in _GAP_TICKS if low <= tick <= high])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda gap, _: f"{gap:g}".replace("-", "\N{MINUS SIGN}")))
    axis_names(axes, "Lstar: loss of Supervised.L", "loss saved by FastCB.L")
    return figure


def _points(axes: Axes, sets: pd.DataFrame, x: pd.Series, y: pd.Series, rival: str) -> None:
    """Points in the winner's colour where the difference is significant; hollow where Lstar is not small."""
    small = sets["lstar"] <= SMALL_LSTAR
    looks = [(0, INK, 18, 0.42, 2), (-1, colour(rival), 46, 0.95, 4), (1, colour(FASTCB), 34, 0.9, 3)]
    for outcome, shade, size, opacity, layer in looks:
        for filled in (True, False):
            here = (sets["verdict"] == outcome) & (small == filled)
            axes.scatter(
                x[here],
                y[here],
                s=size,
                facecolors=shade if filled else "none",
                edgecolors=shade,
                linewidths=0.5 if filled else 1.1,
                alpha=opacity,
                zorder=layer,
                clip_on=False,
                marker="D" if outcome < 0 else "o",
            )


def _tell(
    axes: Axes, sets: pd.DataFrame, rival: str, win: tuple[float, float, str], loss: tuple[float, float, str]
) -> None:
    """Writes the numbers of wins into the halves of the picture where they lie."""
    for name, outcome, (x, y, side) in ((FASTCB, 1, win), (rival, -1, loss)):
        text = f"{shortened(name)} wins {(sets['verdict'] == outcome).sum()}"
        axes.text(x, y, text, transform=axes.transAxes, ha=side, color=colour(name), fontsize=10.5, fontweight="bold")


def loss_curves(dataset: str, x_name: str, curves: Mapping[str, Curve]) -> Figure:
    """The progressive validation loss on a set; bands for the paper's algorithms, thin lines for other bandits."""
    figure, axes = canvas(5.2, 4.4, dataset)
    shown = {name: curve for name, curve in curves.items() if name in (*bandits(curves), *_DASHED)}
    rounds = min(len(curve.loss) for curve in shown.values())
    first = max(1, min(rounds // 2, max(20, rounds // 50)))  # a mean over fewer rounds is noise
    at = np.unique(np.geomspace(first, rounds, _POINTS).astype(int)) - 1
    for name, curve in shown.items():
        loss, band = curve.loss[at], curve.half_width[at]
        banded = name in _BANDED
        if banded:
            axes.fill_between(at + 1, loss - band, loss + band, color=colour(name), alpha=0.22, linewidth=0)
        style = (0, (4, 2)) if name in _DASHED else "-"
        width = 2.2 if name == FASTCB else 1.6 if banded else 0.9
        dot = "o" if rounds == 1 else ""  # a line of one point cannot be seen
        (line,) = axes.plot(at + 1, loss, color=colour(name), linewidth=width, linestyle=style, marker=dot)
        line.set(zorder=2 + width, clip_on=rounds > 1)
    banded_curves = [shown[name] for name in _BANDED if name in shown]
    ends = [curve.loss[at[-1]] + side * curve.half_width[at[-1]] for curve in banded_curves for side in (-1, 1)]
    settled = np.concatenate([*(curve.loss[at[len(at) // 4] :] for curve in shown.values()), ends])
    margin = 0.08 * (settled.max() - settled.min()) + 0.002
    axes.set_ylim(max(0.0, settled.min() - margin), settled.max() + margin)
    _count_axis(axes, first, rounds)
    axis_names(axes, x_name, "progressive validation loss")
    label_ends(axes, [(name, float(curve.loss[rounds - 1])) for name, curve in shown.items()])
    return figure


def _count_axis(axes: Axes, first: int, last: int) -> None:
    axes.set_xscale("log")
    axes.set_xlim(first if first < last else first / 2, last)
    ticks = [m * 10**k for k in range(7) for m in (1, 2, 5) if first <= m * 10**k <= last]
    axes.set_xticks(ticks if len(ticks) < 7 else [tick for tick in ticks if str(tick)[0] != "2"])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda t, _: f"{t:,.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())


def gamma_lines(sensitivity: pd.DataFrame, means: pd.DataFrame) -> Figure:
    """Mean loss against gamma_0; algorithms without one are level lines at their tuned loss."""
    figure, axes = canvas(*_WIDE, "Mean loss against gamma₀")
    ends = []
    for name, line in sensitivity.groupby("algorithm"):
        axes.plot(
            line["gamma_scale"],
            line["loss"],
            color=colour(str(name)),
            linewidth=2.2 if name == FASTCB else 1.7,
            marker="o",
            markersize=4.5,
            clip_on=False,
        )
        ends.append((str(name), float(line["loss"].iloc[-1])))
    drawn = set(sensitivity["algorithm"])
    for name, loss in zip(means["algorithm"], means["loss"], strict=True):
        if name not in drawn:
            axes.axhline(loss, color=colour(name), linewidth=1.3, linestyle=(0, (4, 2)))
            ends.append((name, float(loss)))
    values = sorted(sensitivity["gamma_scale"].unique())
    axes.set_xscale("log")
    axes.set_xlim(right=values[-1])
    axes.set_xticks(values, _without_crowding(values))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_minor_locator(NullLocator())
    axes.margins(y=0.08)
    axis_names(axes, "gamma₀ (log scale)", "mean loss over the sets")
    label_ends(axes, ends)
    return figure


def _without_crowding(values: Sequence[float]) -> list[str]:
    """Labels of ticks on a log scale, from the last on; none where it would touch the next."""
    labels, room = [f"{values[-1]:g}"], 0.1 * np.log(values[-1] / values[0])
    kept = values[-1]
    for value in reversed(values[:-1]):
        shown = np.log(kept / value) >= room
        labels.append(f"{value:g}" if shown else "")
        kept = value if shown else kept
    return labels[::-1]


def regret_bars(means: pd.DataFrame) -> Figure:
    """Mean regret of each algorithm to Supervised.L, with its standard error over the sets."""
    shown = means[means["algorithm"] != SUPERVISED].sort_values("regret", ascending=False)
    errors = shown["regret_error"].fillna(0)
    figure, axes = canvas(*_WIDE, "Mean regret to Supervised.L")
    places: Sequence[int] = range(len(shown))
    axes.barh(
        places,
        shown["regret"],
        color=[colour(name) for name in shown["algorithm"]],
        xerr=errors,
        error_kw={"ecolor": INK, "elinewidth": 1.1, "capsize": 3},
        height=0.66,
    )
    axes.set_yticks(places, [shortened(name) for name in shown["algorithm"]])
    edges = (shown["regret"] + errors).clip(lower=0)
    for place, regret, edge in zip(places, shown["regret"], edges, strict=True):
        axes.annotate(
            f"{regret:+.4f}".replace("-", "\N{MINUS SIGN}"),
            (edge, place),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9.5,
            color=QUIET,
        )
    axes.grid(axis="y", visible=False)
    least, most = min((shown["regret"] - errors).min(), 0), edges.max()
    span = (most - least) or 0.01
    axes.set_xlim(least - 0.05 * span if least < 0 else 0, most + 0.24 * span)  # the numbers need room too
    axes.locator_params(axis="x", nbins=6)
    axis_names(axes, "loss above Supervised.L, mean over the sets", "")
    return figure
