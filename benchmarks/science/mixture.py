"""A mixture of oracles against the one that ships: `python benchmarks/science/mixture.py [--seeds 5] [--sets 40]`.

Log loss is 1-mixable: the Bayes mixture of n oracles has at most log n more of it than the best of them (Vovk's
aggregating algorithm). With a fixed share, after every event a hundredth of the weight is spread anew, so that the
mixture follows when another oracle becomes the best. The mixture decides; all of its oracles learn every event, so it
costs what they cost together.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from instances import WORLDS
from numpy.typing import NDArray
from untuned import sets_of

from vw_fastcb import Bandit, FastCB

SHARE = 0.01
Floats = NDArray[np.float64]
MEMORIES = ({}, {"vw_args": "--fastcb_memory 5000"}, {"vw_args": "--fastcb_memory 1000"})
STEPS = ({}, {"learning_rate": 3.0}, {"learning_rate": 0.5})
CAPACITIES = ({}, {"vw_args": "--fastcb_capacity 0"})
MIXTURES: dict[str, tuple[dict[str, Any], ...]] = {
    "newton alone": ({},),
    "newton with three memories": MEMORIES,
    "newton and gd with two steps": STEPS,
    "newton with capacities 64 and 0": CAPACITIES,
}


class Mixture:
    """An oracle: the Bayes mixture of learners, with a fixed share."""

    def __init__(self, n_actions: int, settings: tuple[dict[str, Any], ...]) -> None:
        self.learners = [FastCB(n_actions, seed=0, **one) for one in settings]
        self.weights = np.full(len(settings), 1 / len(settings))

    def _predictions(self, context: Floats) -> Floats:
        return np.array([one.predict_cost(context[None])[0] for one in self.learners])

    def predict(self, context: Floats) -> Floats:
        return np.clip(self.weights @ self._predictions(context), 0, 1)

    def learn(self, context: Floats, action: int, loss: float, weight: float = 1.0) -> None:
        of_action = np.clip(self._predictions(context)[:, action], 1e-9, 1 - 1e-9)
        self.weights *= (of_action**loss * (1 - of_action) ** (1 - loss)) ** weight
        self.weights = (1 - SHARE) * self.weights / self.weights.sum() + SHARE / len(self.weights)
        for one in self.learners:
            one.learn_event(context, action, loss, sample_weight=weight)


def actions_of(contexts: Floats, costs: Floats, settings: tuple[dict[str, Any], ...], seed: int) -> NDArray[np.int64]:
    """What the mixture does, decided and learned one row at a time."""
    bandit = Bandit(Mixture(costs.shape[1], settings), costs.shape[1], seed=seed)
    actions = []
    for context, row in zip(contexts, costs, strict=True):
        decision = bandit.decide(context)
        bandit.learn(decision, float(row[decision.action]))
        actions.append(decision.action)
    return np.array(actions)


def games(seeds: int, sets: int) -> dict[str, list[Callable[[tuple[dict[str, Any], ...]], float]]]:
    """Everything that is played, by column of the table: what each says of a mixture is better when lower."""
    columns: dict[str, list[Callable[[tuple[dict[str, Any], ...]], float]]] = {}
    for name, make in WORLDS.items():
        for seed in range(seeds):
            world = make(np.random.default_rng(seed))
            columns.setdefault(name, []).append(
                lambda mixed, world=world, seed=seed: world.regret(
                    actions_of(np.asarray(world.contexts, dtype=float), world.costs, mixed, seed)
                )
            )
    small = [one for one in sets_of("choose") if 300 <= one.rows <= 1500 and one.columns <= 60][:sets]
    for one in small:
        order = np.random.default_rng(0).permutation(one.rows)
        dense = one.features.toarray() if hasattr(one.features, "toarray") else np.asarray(one.features)
        contexts, costs = dense[order].astype(float), 1.0 - np.eye(one.n_classes)[one.labels[order]]
        columns.setdefault(f"loss on {len(small)} sets", []).append(
            lambda mixed, contexts=contexts, costs=costs: float(
                costs[np.arange(len(costs)), actions_of(contexts, costs, mixed, 0)].mean()
            )
        )
    return columns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", type=int, default=40)
    given = parser.parse_args()
    columns = games(given.seeds, given.sets)
    lines = [
        f"# Mixtures of oracles: regret per round in the worlds ({given.seeds} seeds), mean loss on data sets",
        "",
        f"Made by `python benchmarks/science/mixture.py --seeds {given.seeds} --sets {given.sets}`.",
        "",
        "| oracle | " + " | ".join(columns) + " |",
        "|---|" + "---|" * len(columns),
    ]
    for name, mixed in MIXTURES.items():
        cells = [[game(mixed) for game in column] for column in columns.values()]
        lines.append(f"| {name} | " + " | ".join(f"{np.mean(cell):.4f}" for cell in cells) + " |")
        print(lines[-1], flush=True)
    path = Path(__file__).parent / "results" / "mixture.md"
    path.with_suffix(".new").write_text("\n".join(lines) + "\n")
    path.with_suffix(".new").replace(path)


if __name__ == "__main__":
    main()
