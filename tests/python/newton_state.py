"""What a saved model of the second-order oracle knows, read from its file."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from support import ok

_BEFORE_THE_NOTE = 8 + 16 + 40  # the format, the version of the package, and what every model has


@dataclass
class Slot:
    """What is known of one action."""

    weights: np.ndarray
    information: np.ndarray  # of the columns with a full covariance
    alone: np.ndarray  # the precision of each other column


@dataclass
class NewtonState:
    """The block; and, by the number of its weight in VW's table, the weight, evidence and largest value of the rest."""

    seen: float
    keys: list[int]
    priors: np.ndarray
    means: np.ndarray
    squares: np.ndarray
    slots: list[Slot]
    rest: dict[int, tuple[float, float, float]]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def next(self, kind: str) -> float:
        (number,) = struct.unpack_from(f"<{kind}", self._data, self._at)
        self._at += 8
        return number

    def count(self) -> int:
        return int(self.next("Q"))


def _text(data: bytes, at: int) -> tuple[bytes, int]:
    (length,) = struct.unpack_from("<Q", data, at)
    return data[at + 8 : at + 8 + length], at + 8 + length


def _rest(path: Path) -> dict[int, tuple[float, float, float]]:
    readable = path.with_name(f"{path.name}.txt")
    ok("-i", path, "--readable_model", readable, "--no_stdin", "--quiet")
    rows = re.findall(r"^(\d+):(\S+) (\S+) (\S+)$", readable.read_text(), re.MULTILINE)
    numbers = {int(place): (float(weight), float(evidence), float(most)) for place, weight, evidence, most in rows}
    return {place: known for place, known in numbers.items() if known[2] > 0}


def _slot(reader: _Reader, capacity: int) -> Slot:
    columns = reader.count()
    full = min(columns, capacity + 1)
    first_alone = (full + 3) // 4 * 4
    weights = np.zeros(columns)
    covariance = np.zeros((full, full))
    alone = []
    for i in range(columns):
        weights[i] = reader.next("d")
        if i >= full:
            variance = reader.next("d")
            if i >= first_alone:
                alone.append(1 / variance)
        else:
            for j in range(i + 1):
                covariance[i, j] = covariance[j, i] = reader.next("d")
    return Slot(weights, np.linalg.inv(covariance), np.array(alone))


def newton_state(path: Path, capacity: int) -> NewtonState:
    data = path.read_bytes()
    block = re.search(rb"fastcb07", data)
    assert block is not None
    _, at = _text(data, block.start() + _BEFORE_THE_NOTE)
    oracle, _ = _text(data, at)
    reader = _Reader(oracle)
    features, slots, seen = reader.count(), reader.count(), reader.next("d")
    keys = [reader.count() for _ in range(features)]
    columns = features + 1
    if features > capacity:
        columns += (capacity + 4) // 4 * 4 - (capacity + 1)
    numbers = np.array([[reader.next("d") for _ in range(3)] for _ in range(columns)])
    known = [_slot(reader, capacity) for _ in range(slots)]
    return NewtonState(seen, keys, *numbers.T, known, _rest(path))
