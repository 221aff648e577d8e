"""Draws the pictures of the pages from real runs: `python docs/pictures/draw.py`, some seconds.

(`demo.png` is what `fastcb demo --picture docs/pictures/demo.png` draws.) Backgrounds are transparent and axes grey, so
that a picture reads well on light pages and on dark ones.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vw_fastcb import FastCB, allocation
from vw_fastcb.bakeoff.analysis.untuned import half_of

FOLDER = Path(__file__).parent
FASTCB, SQUARECB, THIRD, GREY = "#d55e00", "#56b4e9", "#009e73", "#8a8f98"  # as in the demo and the bake-off
NEWTON, MEMORY = "#e69f00", "#cc79a7"

mpl.use("Agg")
plt.rcParams.update(
    {
        "axes.edgecolor": GREY,
        "axes.labelcolor": GREY,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "font.size": 11,
        "grid.alpha": 0.25,
        "grid.color": GREY,
        "axes.grid": True,
        "lines.linewidth": 2.2,
        "savefig.transparent": True,
        "svg.hashsalt": "vw-fastcb",
        "axes.titlecolor": GREY,
        "text.color": GREY,
        "xtick.color": GREY,
        "ytick.color": GREY,
    }
)


def blank(x: str, y: str) -> tuple[Figure, Axes]:
    """An empty picture with two labels."""
    figure, axes = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
    axes.set(xlabel=x, ylabel=y)
    return figure, axes


def write(figure: Figure, name: str) -> None:
    """Writes a picture; the same picture gives the same file."""
    figure.savefig(FOLDER / name, metadata={"Date": None})
    plt.close(figure)
    print(name)


def draw_allocation() -> None:
    """How often a second action is tried that is 0.1 worse than the best, by what the best one costs."""
    best = np.linspace(0, 0.5, 101)
    costs = np.stack([best, best + 0.1], axis=1)
    figure, axes = blank("predicted cost of the best action", "probability of an action 0.1 worse")
    for gamma, dashes in ((20, (None, None)), (100, (5, 2))):
        for name, rule, color in (
            ("SquareCB", allocation.igw, SQUARECB),
            ("FastCB", allocation.reweighted_igw, FASTCB),
        ):
            explored = rule(costs, gamma)[:, 1]
            axes.plot(best, explored, color=color, dashes=dashes)
            axes.annotate(
                f"{name}, gamma {gamma}",
                (best[-1], explored[-1]),
                (6, 0),
                textcoords="offset points",
                color=color,
                va="center",
                annotation_clip=False,
            )
    axes.set(xlim=(0, 0.5), ylim=(0, None))
    write(figure, "allocation.svg")


DRIFT = {
    "newton": ({}, NEWTON),
    "newton, memory of 500": ({"vw_args": "--fastcb_memory 500"}, MEMORY),
    "gd": ({"learning_rate": 2}, SQUARECB),
    "gd, constant gamma": ({"learning_rate": 2, "gamma_scale": 100, "gamma_exponent": 0}, THIRD),
    "gd, constant gamma and step": (
        {"learning_rate": 0.5, "gamma_scale": 100, "gamma_exponent": 0, "vw_args": "--sgd --power_t 0"},
        FASTCB,
    ),
}


def changing_world(seed: int, rounds: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    """The world of docs/drift.md, with one change."""
    rng = np.random.default_rng(seed)
    contexts = rng.random((rounds, 4))
    best = (contexts.argmax(axis=1) + (np.arange(rounds) >= rounds // 2)) % 4
    chance = np.where(np.arange(4) == best[:, None], 0.05, 0.80)
    return contexts, (rng.random((rounds, 4)) < chance).astype(float)


def draw_drift(window: int = 500, runs: int = 10) -> None:
    """Recent cost over time, when the best action changes half-way."""
    figure, axes = blank("round", f"mean cost of the last {window} rounds")
    for name, (settings, color) in DRIFT.items():
        costs = np.mean(
            [FastCB(4, seed=seed, **settings).simulate(*changing_world(seed)).costs[0] for seed in range(runs)], axis=0
        )
        recent = np.convolve(costs, np.full(window, 1 / window), mode="valid")
        axes.plot(np.arange(window, len(costs) + 1, 50), recent[::50], color=color, label=name)
    axes.axvline(10_000, color=GREY, linewidth=1, linestyle=":")
    axes.axhline(0.05, color=GREY, linewidth=1, linestyle=":")
    axes.annotate("the best policy", (20_000, 0.05), (0, -12), textcoords="offset points", ha="right")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set(ylim=(0, None), xlim=(0, 20_000))
    axes.legend(frameon=False, labelcolor="linecolor", loc="upper left")
    write(figure, "drift.svg")


UNTUNED = FOLDER.parents[1] / "benchmarks" / "bakeoff" / "results" / "orders" / "tables"
BARS = {  # names, where the mean loss stands, and the colour
    "FastCB, newton": ("untuned", "FastCB.N", FASTCB),
    "VW's supervised learner, tuned on each set": ("tuned", "Supervised.L", GREY),
    "FastCB, gd, tuned on each set": ("tuned", "FastCB.L", NEWTON),
    "FastCB, gd": ("untuned", "FastCB.L", NEWTON),
    "RegCB": ("untuned", "RegCB.S", SQUARECB),
    "AdaCB": ("untuned", "AdaCB.S", SQUARECB),
    "epsilon-greedy": ("untuned", "epsilon-greedy", SQUARECB),
    "SquareCB, as in VW": ("untuned", "SquareCB.S", SQUARECB),
}


def draw_untuned() -> None:
    """Mean losses on the half of the sets on which nothing was chosen, from the bake-off's published tables."""
    untuned = pd.read_csv(UNTUNED / "untuned.csv", index_col="algorithm")["loss"]
    best = pd.read_csv(UNTUNED / "best_configurations.csv")
    best = best[best["dataset"].map(half_of) == "report"]
    tuned = best.groupby("algorithm")["loss"].mean()
    figure, axes = blank("mean loss, 172 data sets", "")
    for place, (name, (how, algorithm, color)) in enumerate(BARS.items()):
        loss = (untuned if how == "untuned" else tuned)[algorithm]
        axes.barh(place, loss, color=color, height=0.66, alpha=1 if name == "FastCB, newton" else 0.75)
        axes.annotate(f"{loss:.3f}", (loss, place), (4, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(BARS)), list(BARS))
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set(xlim=(0, 0.36))
    write(figure, "untuned.svg")


RULES = {
    "loss": ({}, FASTCB),
    "reward": ({"objective": "reward"}, THIRD),
    "SquareCB's rule": ({"allocation": "igw"}, SQUARECB),
}


def three_worlds(rounds: int = 10_000) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The worlds of docs/objectives.md."""
    rng = np.random.default_rng(0)
    contexts = rng.random((rounds, 5))
    best = contexts.argmax(axis=1)[:, None] == np.arange(5)
    hidden = (contexts[:, :1] > 0.5) & (np.arange(5) == 1)
    fails = {
        "answers": np.where(best, 0.02, 0.90),
        "clicks": np.where(best, 0.96, 0.99),
        "safe": np.where(np.arange(5) == 0, 0.30, np.where(hidden, 0.02, 0.80)),
    }
    return contexts, {world: (rng.random((rounds, 5)) < chance).astype(float) for world, chance in fails.items()}


def draw_objectives(shuffles: int = 10) -> None:
    """Mean cost by gamma and objective, with bands of two standard errors."""
    contexts, worlds = three_worlds()
    scales = 10 ** np.arange(0.5, 4.1, 0.5)
    figure, panels = plt.subplots(1, 3, figsize=(9.6, 3.4), layout="constrained")
    for axes, (world, costs) in zip(panels, worlds.items(), strict=True):
        for name, (rule, color) in RULES.items():
            learners = [FastCB(5, gamma_scale=s, gamma_exponent=0.4, **rule) for s in scales]
            runs = [one.simulate(contexts, costs, n_shuffles=shuffles, seed=1, n_jobs=-1) for one in learners]
            mean = np.array([run.mean[-1] for run in runs])
            error = 2 * np.array([run.standard_error[-1] for run in runs])
            axes.plot(scales, mean, color=color, label=name)
            axes.fill_between(scales, mean - error, mean + error, color=color, alpha=0.18, linewidth=0)
        axes.set(title=world, xscale="log", xlabel="gamma_scale (t^0.4)")
    panels[0].set_ylabel("mean cost")
    panels[0].legend(frameon=False, labelcolor="linecolor")
    write(figure, "objectives.svg")


# What happens to a decision, in minutes from it: rewards, when it is learned (None: never), an activation, in words.
WINDOWS = {
    'aggregation="first"': ([3, 7], 3, None, "the first reward is learned when it comes"),
    'aggregation="sum"': ([3, 7], 10, None, "the sum is learned when the wait is over"),
    "no reward": ([], 10, None, "the default is learned, if there is one"),
    "a late reward": ([11.2], 10, None, "it is counted, and changes nothing"),
    "an early reward": ([-1.2], 0, None, "it is held until its decision is there"),
    "activated": ([3], 6, 6, "learned once it is activated"),
    "never activated": ([3], None, None, "nothing is learned, not even the default"),
}


def draw_windows(wait: int = 10) -> None:
    """Which reward each decision learns, and when."""
    figure, axes = plt.subplots(figsize=(9.6, 4.3), layout="constrained")
    for row, (name, (rewards, learned, activated, words)) in enumerate(WINDOWS.items()):
        needs_activation = "activated" in name
        axes.plot([0, wait], [row, row], color=SQUARECB, linewidth=9, alpha=0.3, solid_capstyle="butt", zorder=1)
        axes.plot(0, row, "o", color=SQUARECB, markersize=9, fillstyle="none" if needs_activation else "full", zorder=3)
        axes.plot(rewards, [row] * len(rewards), "D", color=THIRD, markersize=8, zorder=3)
        if activated is not None:
            axes.plot(activated, row, "o", color=SQUARECB, markersize=9, zorder=3)
        if learned is not None:
            axes.plot(learned, row, "o", color=FASTCB, markersize=19, markeredgewidth=2.2, fillstyle="none", zorder=4)
        axes.annotate(words, (1.02, row), xycoords=("axes fraction", "data"), va="center", annotation_clip=False)
    axes.set(ylim=(len(WINDOWS) - 0.4, -0.6), xlim=(-2, 12.2), yticks=range(len(WINDOWS)), xticks=[0, wait])
    axes.set_yticklabels(WINDOWS)
    axes.set_xticklabels(["decided", "wait is over"])
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.tick_params(length=0)
    axes.grid(axis="x", linestyle=":")
    for marker, color, size, fill, label in (
        ("o", SQUARECB, 9, "full", "decided, activated"),
        ("o", SQUARECB, 9, "none", "decided with activate=False"),
        ("D", THIRD, 8, "full", "reward"),
        ("o", FASTCB, 15, "none", "learned"),
    ):
        axes.plot([], [], marker, color=color, markersize=size, fillstyle=fill, markeredgewidth=2, label=label)
    figure.legend(frameon=False, loc="outside upper center", ncols=4, handletextpad=0.3)
    write(figure, "windows.svg")


if __name__ == "__main__":
    draw_windows()
    draw_allocation()
    draw_objectives()
    draw_drift()
    draw_untuned()
