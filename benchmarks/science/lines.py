"""Results: a line of JSON for every run, added to a file as soon as it is known."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from configurations import Configuration


class Key(NamedTuple):
    """What a run is known by. The first is the key of a configuration."""

    configuration: str
    game: str
    seed: int
    delay: int


@functools.cache
def build_of() -> str:
    """A short hash of the engine that plays: lines of one label from several builds do not belong together."""
    from vw_fastcb import _engine  # noqa: PLC0415, not everybody who reads lines has built it

    return hashlib.sha256(Path(_engine.__file__).read_bytes()).hexdigest()[:8]


class Lines:
    """The lines in a folder. Of several for one run the last counts."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "lines.jsonl"

    def add(
        self, configuration: Configuration, game: str, seed: int, delay: int, result: Mapping[str, float | str]
    ) -> None:
        """Writes a line at once; processes may do so beside each other."""
        line = {
            "key": configuration.key,
            "label": configuration.label,
            "game": game,
            "seed": seed,
            "delay": delay,
            **{name: round(value, 8) if isinstance(value, float) else value for name, value in result.items()},
            "settings": configuration.settings,
            "build": build_of(),
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, json.dumps(line).encode() + b"\n")
        finally:
            os.close(descriptor)

    def __iter__(self) -> Iterator[tuple[Key, dict[str, Any]]]:
        if not self._path.exists():
            return
        latest: dict[Key, dict[str, Any]] = {}
        for text in self._path.read_text().splitlines():
            try:
                line = json.loads(text)
            except json.JSONDecodeError:
                continue  # a process was killed while it wrote
            latest[Key(line["key"], line["game"], line["seed"], line["delay"])] = line
        yield from latest.items()

    def keys(self) -> set[Key]:
        return {key for key, _ in self}
