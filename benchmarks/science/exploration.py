"""Regret where exploring matters, untuned: `python benchmarks/science/exploration.py [--seeds 10]`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from instances import WORLDS

from vw_fastcb import FastCB

GREEDY = {"gamma_scale": 1e12, "gamma_exponent": 0}
RULES: dict[str, dict[str, Any]] = {
    "FastCB": {},
    "FastCB, epochs": {"vw_args": "--fastcb_gamma epochs"},
    "FastCB, small rewards": {"objective": "reward"},
    "FastCB, small losses or rewards": {"objective": "both"},
    "SquareCB's rule": {"allocation": "igw"},
    "greedy": GREEDY,
    "epsilon-greedy, 0.05": {**GREEDY, "epsilon": 0.05},
}
ORACLES: dict[str, dict[str, Any]] = {
    "newton": {},
    "newton, memory 2000": {"vw_args": "--fastcb_memory 2000"},
    "gd, step 3": {"learning_rate": 3},
    "gd, step 0.5": {"learning_rate": 0.5},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    lines = [
        f"# Where exploring matters: regret per round, {seeds} seeds",
        "",
        f"Made by `python benchmarks/science/exploration.py --seeds {seeds}`; the worlds are in `instances.py`.",
        "",
        "| oracle | rule | " + " | ".join(WORLDS) + " |",
        "|---|---|" + "---|" * len(WORLDS),
    ]
    made = {world: [make(np.random.default_rng(seed)) for seed in range(seeds)] for world, make in WORLDS.items()}
    for oracle, of_oracle in ORACLES.items():
        for rule, of_rule in RULES.items():
            flags = " ".join(part["vw_args"] for part in (of_oracle, of_rule) if "vw_args" in part)
            settings = {**of_oracle, **of_rule, "vw_args": flags}
            if "epochs" in flags and "learning_rate" in settings:
                continue  # no bound on the regret of gd is known
            cells = []
            for worlds in made.values():
                regrets = [
                    one.regret(
                        FastCB(one.costs.shape[1], seed=seed, **settings).simulate(one.contexts, one.costs).actions[0]
                    )
                    for seed, one in enumerate(worlds)
                ]
                cells.append(f"{np.mean(regrets):.4f} ± {np.std(regrets) / np.sqrt(seeds):.4f}")
            lines.append(f"| {oracle} | {rule} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    path = Path(__file__).parent / "results" / "exploration.md"
    path.with_suffix(".new").write_text("\n".join(lines) + "\n")
    path.with_suffix(".new").replace(path)


if __name__ == "__main__":
    main()
