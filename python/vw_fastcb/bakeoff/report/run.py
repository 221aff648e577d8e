"""What the report needs of a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from vw_fastcb.bakeoff.analysis.curves import Curve, curve_sets, mean_curve
from vw_fastcb.bakeoff.analysis.names import in_order
from vw_fastcb.bakeoff.store import Store


@dataclass(frozen=True)
class Run:
    """A bake-off as its store has it."""

    results: pd.DataFrame
    datasets: pd.DataFrame
    broken: pd.DataFrame
    meta: Mapping[str, str]
    curves: Mapping[str, Mapping[str, Curve]]
    """Of each set that was repeated with curves, the curve of each algorithm."""


def load(store_path: Path) -> Run:
    """Reads a store; it may belong to a bake-off that still runs."""
    if not store_path.is_file():
        raise FileNotFoundError(f"there is no bake-off store at {store_path}: run `fastcb bakeoff` first")
    with Store(store_path) as store:
        results, datasets, broken, meta = store.results(), store.datasets(), store.broken(), store.meta()
        if results.empty:
            raise ValueError(f"the store {store_path} has no results yet: let `fastcb bakeoff` run for a while")
        passes = {name: store.curves(name) for name in curve_sets(results, datasets, count=len(datasets))}
    return Run(results, datasets, broken, meta, {name: _curves(kept) for name, kept in passes.items() if kept})


def _curves(passes: Mapping[tuple[str, int], NDArray[np.uint8]]) -> dict[str, Curve]:
    return {
        name: mean_curve([losses for (algorithm, _), losses in sorted(passes.items()) if algorithm == name])
        for name in in_order(algorithm for algorithm, _ in passes)
    }
