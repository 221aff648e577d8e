"""Whether `FastCB.tune` on a log helps: `python benchmarks/evaluation/tuning.py [--sets 60] [--jobs 2]`.

From each of sixty sets of the bake-off a log is made on half of its rows, by actions drawn by lot. The tuner sees that
log. Then the settings that it chose, the defaults, and every other setting that it may choose play the other half, ten
orders each, where the cost of every action is known. What the tuner chose is significantly worse than the defaults
where a paired test over the orders says so, at the 5% level.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from vw_fastcb import FastCB
from vw_fastcb.bakeoff.data.builtin import builtin
from vw_fastcb.bakeoff.data.dataset import Dataset

ORDERS = 10
T_975 = 2.262  # Student's t, nine degrees of freedom
ALTERNATIVES = [
    *({"oracle": "gd", "learning_rate": step} for step in (0.1, 0.5, 1.0, 3.0, 10.0)),
    {"interactions": ("xx",)},
    *({"gamma_scale": scale, "gamma_exponent": power} for scale, power in ((10, 0.5), (100, 0.25), (1000, 0.5))),
]


def chosen_sets(count: int) -> list[Dataset]:
    """Sets of 2,000 to 20,000 rows and at most 64 columns, in the order of a hash of their names."""
    entries = sorted(builtin(), key=lambda entry: hashlib.sha256(entry.name.encode()).hexdigest())
    found = []
    for entry in entries:
        shape = entry.shape
        if shape is None or shape.subset_of or not (2000 <= shape.rows <= 20_000 and shape.columns <= 64):
            continue
        found.append(entry.load())
        if len(found) == count:
            break
    return found


def measured(data: Dataset) -> dict[str, object]:
    rng = np.random.default_rng(7)
    order = rng.permutation(data.rows)
    log, rest = order[: data.rows // 2], order[data.rows // 2 :]
    dense = data.features if isinstance(data.features, np.ndarray) else data.features.toarray()
    features, labels, classes = np.asarray(dense), np.asarray(data.labels).astype(np.int64), data.n_classes
    actions = rng.integers(classes, size=len(log))
    costs = (actions != labels[log]).astype(float)
    tuning = FastCB(classes).tune(
        features[log], actions=actions, values=costs, probabilities=np.full(len(log), 1 / classes)
    )

    def play(changes: dict[str, object]) -> NDArray[np.float64]:
        runs = FastCB(classes, **changes).simulate(features[rest], labels[rest], n_shuffles=ORDERS, seed=11)
        return runs.costs.mean(axis=1)

    defaults = play({})
    tuned = play(dict(tuning.changes)) if tuning.changes else defaults
    best = min([defaults.mean(), tuned.mean(), *(play(changes).mean() for changes in ALTERNATIVES)])
    gain = defaults - tuned
    error = gain.std(ddof=1) / np.sqrt(ORDERS)
    sign = 0 if abs(gain.mean()) <= T_975 * error else int(np.sign(gain.mean()))
    return {
        "set": data.name,
        "events": len(log),
        "classes": classes,
        "chosen": str(tuning).rpartition("Take ")[2].rstrip("."),
        "defaults": float(defaults.mean()),
        "tuned": float(tuned.mean()),
        "best": float(best),
        "sign": sign,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    found = Parallel(n_jobs=given.jobs)(delayed(measured)(data) for data in chosen_sets(given.sets))
    signs = [row["sign"] for row in found]
    means = {name: np.mean([row[name] for row in found]) for name in ("defaults", "tuned", "best")}
    lines = [
        "# `fastcb tune` on logs of bake-off sets",
        "",
        f"Made by `python benchmarks/evaluation/tuning.py --sets {given.sets}`. Mean cost on the half of the rows",
        f"that the tuner did not see, {ORDERS} orders. The best is the best in hindsight of {len(ALTERNATIVES) + 1}",
        "settings and the chosen ones. + and - mark what is significantly better and worse than the defaults.",
        "",
        "| set | events | classes | chosen | defaults | tuned | best | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in sorted(found, key=lambda row: str(row["set"])):
        mark = {1: "+", 0: "", -1: "-"}[row["sign"]]  # type: ignore[index]
        lines.append(
            f"| {row['set']} | {row['events']:,} | {row['classes']} | {row['chosen']} | {row['defaults']:.4f} | "
            f"{row['tuned']:.4f} | {row['best']:.4f} | {mark} |"
        )
    lines += [
        f"| **mean** | | | | **{means['defaults']:.4f}** | **{means['tuned']:.4f}** | **{means['best']:.4f}** | |",
        "",
        f"Significantly better than the defaults on {signs.count(1)} sets, worse on {signs.count(-1)}; of the first 20 "
        f"sets (by a hash of their names) on {signs[:20].count(1)} and {signs[:20].count(-1)}.",
    ]
    print("\n".join(lines))
    path = Path(__file__).parent / "results" / "tuning.md"
    path.with_suffix(".new").write_text("\n".join(lines) + "\n")
    path.with_suffix(".new").replace(path)


if __name__ == "__main__":
    main()
