"""One fixed configuration on every built-in set, against algorithms that were tuned on each set.

    python benchmarks/science/untuned.py [--half report] [--orders 10]

Settings were chosen on the half of the sets called `choose` (and on the worlds of instances.py) and are reported on the
other one; which half a set belongs to is told by the SHA-256 of its name. The tuned algorithms are those of the
bake-off with ten orders (benchmarks/bakeoff/results/orders), which played the same orders of the rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

from vw_fastcb._bakeoff import multiclass_pass
from vw_fastcb.bakeoff.analysis import half_of
from vw_fastcb.bakeoff.analysis.comparison import verdict
from vw_fastcb.bakeoff.data import BrokenDataset, Dataset
from vw_fastcb.bakeoff.data.builtin import builtin
from vw_fastcb.bakeoff.passes import Playable, layout, order_of_rows

HERE = Path(__file__).parent
TUNED = HERE.parent / "bakeoff" / "results" / "orders" / "results.parquet"
NEWTON = "--fastcb_oracle newton"
GREEDY = "--gamma_scale 1e12 --gamma_exponent 0"
UNTUNED = {
    "FastCB.N": NEWTON,
    "FastCB.N, small losses or rewards": f"{NEWTON} --fastcb_objective both",
    "SquareCB.N": f"{NEWTON} --fastcb_allocation igw",
    "greedy.N": f"{NEWTON} {GREEDY}",
    "FastCB.N, gamma 10 t^0.5": f"{NEWTON} --gamma_scale 10 --gamma_exponent 0.5",
    "FastCB.N, gamma 200 t^0.25": f"{NEWTON} --gamma_scale 200 --gamma_exponent 0.25",
    "FastCB.N, epochs": f"{NEWTON} --fastcb_gamma epochs",
    "FastCB.N, epochs, regret 1": f"{NEWTON} --fastcb_gamma epochs --fastcb_regret 1",
    "FastCB.L, step 0.5": "",
    "FastCB.L, step 3": "--learning_rate 3",
    "SquareCB.L, step 3": "--learning_rate 3 --fastcb_allocation igw",
    "greedy.L, step 3": f"--learning_rate 3 {GREEDY}",
}
RIVALS = ("FastCB.L", "SquareCB.L", "Supervised.L")


def sets_of(half: str) -> list[Dataset]:
    """The built-in sets of a half, or of both."""
    sets = []
    for entry in builtin():
        if half in (half_of(entry.name), "all"):
            try:
                sets.append(entry.load())
            except BrokenDataset as problem:
                print(problem)
    return sets


def tuned() -> pd.DataFrame:
    """The loss of each tuned algorithm on each set: a table of sets and algorithms."""
    columns = ["dataset", "algorithm", "configuration", "step", "shuffle", "rounds", "mistakes"]
    passes = pd.read_parquet(TUNED, columns=columns)
    passes = passes[(passes["shuffle"] <= 0) & passes["algorithm"].isin(RIVALS)]
    passes["loss"] = passes["mistakes"] / passes["rounds"]
    keys = ["dataset", "algorithm", "configuration", "step"]
    means = passes.groupby(keys, observed=True)["loss"].mean().reset_index()
    return means.pivot_table(index="dataset", columns="algorithm", values="loss", aggfunc="min", observed=True)


def mean_loss(data: Playable, flags: str, orders: int) -> float:
    """Over as many orders of the rows, each a pass from scratch."""
    where = layout(data.info.columns, data.info.classes, copies=False)
    size = ["--cb_explore", str(data.info.classes), "--bit_precision", str(where.bits)]
    words = [*size, "--fastcb", "--quiet", "--no_stdin", *flags.split()]
    features, labels = (*data.features, where.names), data.dataset.labels
    losses = [
        multiclass_pass(words, features, labels, order_of_rows(data.info.rows, 0, -k), data.info.classes)
        for k in range(orders)
    ]
    return float(np.mean([one.mean() for one in losses]))


def comparison(name: str, losses: Sequence[float], rivals: pd.DataFrame, rows: Sequence[int]) -> str:
    """A line of the table: the mean loss, and sets won and lost against each tuned rival by the paper's test."""
    cells = []
    for rival in RIVALS:
        signs = verdict(losses, rivals[rival], rows)
        change = np.mean(losses) / rivals[rival].mean() - 1
        cells.append(f"{change:+.1%}, +{(signs > 0).sum()} / -{(signs < 0).sum()}")
    return f"| {name} | {np.mean(losses):.4f} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("choose", "report", "all"), default="report")
    parser.add_argument("--orders", type=int, default=10)
    given = parser.parse_args()
    sets = [Playable.of(one) for one in sets_of(given.half)]
    rivals = tuned().loc[[one.info.name for one in sets]]
    lines = [
        f"# Untuned, the {given.half} half: {len(sets)} sets, {given.orders} orders",
        "",
        f"Made by `python benchmarks/science/untuned.py --half {given.half} --orders {given.orders}`. Mean progressive",
        "loss; sets won and lost against algorithms that were **tuned on each set** (108 configurations, the",
        "supervised one 9), by the paper's test with n = rows.",
        "",
        "| untuned | mean loss | " + " | ".join(f"of {r}, tuned: {rivals[r].mean():.4f}" for r in RIVALS) + " |",
        "|---|---|" + "---|" * len(RIVALS),
    ]
    for name, flags in UNTUNED.items():
        with ThreadPoolExecutor(2) as pool:
            losses = list(pool.map(lambda one, flags=flags: mean_loss(one, flags, given.orders), sets))
        lines.append(comparison(name, losses, rivals, [one.info.rows for one in sets]))
        print(lines[-1], flush=True)
    path = HERE / "results" / f"untuned-{given.half}.md"
    path.with_suffix(".new").write_text("\n".join(lines) + "\n")
    path.with_suffix(".new").replace(path)


if __name__ == "__main__":
    main()
