"""Raw business columns against LinUCB: `pip install mabwiser && python benchmarks/science/pricing.py [--seeds 10]`.

A visitor has an age, an income around 100,000 and one of six cities; there are five prices. What is earned, 0 to 30, is
the price times the chance that this visitor buys. Everybody is untuned; LinUCB has the width 1, mabwiser's default, and
0.1. Both see the columns raw, and standardised with means and deviations that nobody would know beforehand.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from mabwiser.mab import MAB, LearningPolicy
from numpy.typing import NDArray

from vw_fastcb import FastCB

ROUNDS = 3000
PRICES = np.array([4.0, 8.0, 14.0, 20.0, 30.0])
Floats = NDArray[np.float64]


def visitors(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Rows of columns, and what each price is expected to earn."""
    age = rng.uniform(18, 80, ROUNDS)
    income = rng.lognormal(11.4, 0.5, ROUNDS)
    city = rng.integers(6, size=ROUNDS)
    bid = 3 + 10 * income / 1e5 + 0.1 * (age - 18) + rng.normal(0, 4, 6)[city]
    chance = 1 / (1 + np.exp((PRICES - bid[:, None]) / 3))
    return np.column_stack([age, income, np.eye(6)[city]]), PRICES * chance


def linucb(rows: Floats, earned: Floats, alpha: float, seed: int) -> NDArray[np.int64]:
    """Decides and learns one row at a time, as we do."""
    bandit = MAB(list(range(5)), LearningPolicy.LinUCB(alpha=alpha), seed=seed)
    first = seed % 5
    bandit.fit([first], [earned[0, first]], rows[:1])
    actions = [first]
    for row, rewards in zip(rows[1:], earned[1:], strict=True):
        action = bandit.predict([row])
        bandit.partial_fit([action], [rewards[action]], [row])
        actions.append(action)
    return np.array(actions)


def fastcb(rows: Floats, earned: Floats, seed: int) -> NDArray[np.int64]:
    return FastCB(5, reward_range=(0, 30), seed=seed).simulate(rows, earned).actions[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    who = {
        "FastCB": fastcb,
        "LinUCB, alpha 1": lambda rows, earned, seed: linucb(rows, earned, 1.0, seed),
        "LinUCB, alpha 0.1": lambda rows, earned, seed: linucb(rows, earned, 0.1, seed),
    }
    regrets: dict[tuple[str, str], list[float]] = {}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        rows, expected = visitors(rng)
        bought = rng.random((ROUNDS, 1)) < expected / PRICES
        scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        for columns, given in {"raw": rows, "standardised": np.column_stack([scaled, np.ones(ROUNDS)])}.items():
            for name, play in who.items():
                actions = play(given, bought * PRICES, seed)
                chosen = expected[np.arange(ROUNDS), actions]
                regrets.setdefault((name, columns), []).append(float(np.mean(expected.max(axis=1) - chosen)))
    lines = [
        f"# Pricing: what is missed per visitor, {ROUNDS} visitors, {seeds} seeds",
        "",
        f"Made by `python benchmarks/science/pricing.py --seeds {seeds}`.",
        "",
        "| | raw columns | standardised |",
        "|---|---|---|",
    ]
    for name in who:
        cells = [
            f"{np.mean(found):.3f} ± {np.std(found) / np.sqrt(seeds):.3f}"
            for found in (regrets[name, "raw"], regrets[name, "standardised"])
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    print("\n".join(lines))
    path = Path(__file__).parent / "results" / "pricing.md"
    path.with_suffix(".new").write_text("\n".join(lines) + "\n")
    path.with_suffix(".new").replace(path)


if __name__ == "__main__":
    main()
