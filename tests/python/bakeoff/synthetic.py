"""Synthetic results with answers known by hand. They are inputs of tests, not measurements."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from vw_fastcb.bakeoff.store import Run, pack

RESULTS = ["dataset", "algorithm", "configuration", "step", "shuffle", "rounds", "loss"]


def results(rows: Iterable[tuple[str, str, float]], rounds: int = 1000) -> pd.DataFrame:
    """A grid of one configuration and one step: (dataset, algorithm, loss)."""
    return pd.DataFrame([(d, a, "", 0.5, 0, rounds, loss) for d, a, loss in rows], columns=RESULTS)


def datasets(names: Iterable[str], subset_of: dict[str, str] | None = None, rows: int = 1000) -> pd.DataFrame:
    """Facts about sets of two classes."""
    facts = [(name, "synthetic", rows, 4, 2, 0.4, (subset_of or {}).get(name), "") for name in names]
    columns = ["name", "source", "rows", "columns", "classes", "majority_error", "subset_of", "fingerprint"]
    return pd.DataFrame(facts, columns=columns)


def make_run(
    frame: pd.DataFrame,
    facts: pd.DataFrame | None = None,
    curves: Iterable[tuple[str, str, int, np.ndarray]] = (),
    meta: dict[str, str] | None = None,
    broken: Iterable[tuple[str, str, str]] = (),
) -> Run:
    """What a store would hold."""
    rows = [
        (dataset, algorithm, "", 0.5, shuffle, len(losses), pack(losses.astype(np.uint8)))
        for dataset, algorithm, shuffle, losses in curves
    ]
    return Run(
        frame,
        pd.DataFrame(rows, columns=[*RESULTS[:-1], "losses"]),
        datasets(sorted(set(frame["dataset"]))) if facts is None else facts,
        pd.DataFrame(broken, columns=["name", "source", "reason"]),
        meta or {},
    )
