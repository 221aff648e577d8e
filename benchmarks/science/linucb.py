"""LinUCB on the sets of the bake-off, an outside reference: `python benchmarks/science/linucb.py [--orders 10]`.

One ridge regression per action and an upper confidence bound on its reward, `alpha` standard errors wide, as in Li et
al., "A Contextual-Bandit Approach to Personalized News Article Recommendation", 2010. It is written here in numpy, with
rank-one updates, because mabwiser inverts a matrix every round, too slow for all sets. Every run first plays two small
sets with both and stops if one action differs: `pip install mabwiser`, which nothing but these benchmarks needs.

It plays the half of the built-in sets on which nothing was chosen (see untuned.py), with raw columns and with columns
standardised by the means and deviations of the whole set, which nobody would know beforehand. Both have a constant 1.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from untuned import RIVALS, comparison, sets_of, tuned

from vw_fastcb.bakeoff.data import Dataset, load_builtin
from vw_fastcb.bakeoff.passes import order_of_rows

Floats = NDArray[np.float64]
CHECKED = ("keel/iris", "keel/wine")
ALPHAS = (1.0, 0.1)


class LinUCB:
    """Rewards are predicted by ridge regressions of penalty 1; of equal bounds the first action's is taken."""

    def __init__(self, actions: int, columns: int, alpha: float) -> None:
        self._alpha = alpha
        self._inverses = np.tile(np.eye(columns), (actions, 1, 1))
        self._weights = np.zeros((actions, columns))

    def play(self, row: Floats, rewards: Floats) -> int:
        """Takes an action, and learns its reward."""
        directions = self._inverses @ row
        variances = directions @ row
        bounds = self._weights @ row + self._alpha * np.sqrt(np.maximum(variances, 0))
        action = int(np.argmax(bounds))
        gain = directions[action] / (1 + variances[action])
        self._weights[action] += gain * (rewards[action] - self._weights[action] @ row)
        self._inverses[action] -= np.outer(gain, directions[action])
        return action


def rows_of(data: Dataset, standardised: bool) -> Floats:
    """The columns, and a constant."""
    rows = np.asarray(data.features.todense() if hasattr(data.features, "todense") else data.features, np.float64)
    if standardised:
        deviations = rows.std(axis=0)
        rows = (rows - rows.mean(axis=0)) / np.where(deviations > 0, deviations, 1)
    return np.column_stack([rows, np.ones(len(rows))])


def actions_of(rows: Floats, labels: NDArray[np.int64], actions: int, alpha: float) -> NDArray[np.int64]:
    """One pass: reward 1 for the right class."""
    bandit, rewards = LinUCB(actions, rows.shape[1], alpha), np.eye(actions)
    return np.array([bandit.play(row, rewards[label]) for row, label in zip(rows, labels, strict=True)])


def check_against_mabwiser() -> None:
    """Two small sets, the same actions in every round."""
    from mabwiser.mab import MAB, LearningPolicy  # noqa: PLC0415, for this alone

    for name in CHECKED:
        data = load_builtin(name)
        order = order_of_rows(data.rows, 0, 0)
        rows, labels = rows_of(data, standardised=True)[order], data.labels[order]
        for alpha in ALPHAS:
            ours = actions_of(rows, labels, data.n_classes, alpha)
            theirs = MAB(list(range(data.n_classes)), LearningPolicy.LinUCB(alpha=alpha, l2_lambda=1))
            theirs.fit([ours[0]], [float(ours[0] == labels[0])], rows[:1])
            for t in range(1, data.rows):
                action = theirs.predict(rows[t : t + 1])
                if action != ours[t]:
                    raise SystemExit(f"{name}, alpha {alpha}, round {t}: mabwiser takes {action}, we take {ours[t]}")
                theirs.partial_fit([action], [float(action == labels[t])], rows[t : t + 1])


def mean_loss(data: Dataset, orders: int, alpha: float, standardised: bool) -> float:
    """Over the first orders of the bake-off."""
    rows = rows_of(data, standardised)
    losses = []
    for k in range(orders):
        order = order_of_rows(data.rows, 0, -k)
        named = actions_of(rows[order], data.labels[order], data.n_classes, alpha)
        losses.append(np.mean(named != data.labels[order]))
    return float(np.mean(losses))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("choose", "report", "all"), default="report")
    parser.add_argument("--orders", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    check_against_mabwiser()
    sets = sets_of(given.half)
    rivals = tuned().loc[[one.name for one in sets]]
    lines = [
        f"# LinUCB, the {given.half} half: {len(sets)} sets, {given.orders} orders",
        "",
        f"Made by `python benchmarks/science/linucb.py --half {given.half} --orders {given.orders}`. Mean progressive",
        "loss; sets won and lost against algorithms that were **tuned on each set**, as in `untuned-report.md`. The",
        f"same actions as mabwiser's LinUCB in every round on {' and '.join(CHECKED)}.",
        "",
        "| untuned | mean loss | " + " | ".join(f"of {r}, tuned: {rivals[r].mean():.4f}" for r in RIVALS) + " |",
        "|---|---|" + "---|" * len(RIVALS),
    ]
    for standardised in (False, True):
        for alpha in ALPHAS:
            play = partial(mean_loss, orders=given.orders, alpha=alpha, standardised=standardised)
            with ProcessPoolExecutor(given.jobs) as pool:
                losses = list(pool.map(play, sets))
            name = f"LinUCB, alpha {alpha:g}, {'standardised' if standardised else 'raw'} columns"
            lines.append(comparison(name, losses, rivals, [one.rows for one in sets]))
            print(lines[-1], flush=True)
    path = Path(__file__).parent / "results" / f"linucb-{given.half}.md"
    path.with_suffix(".new").write_text("\n".join(lines) + "\n")
    path.with_suffix(".new").replace(path)


if __name__ == "__main__":
    main()
