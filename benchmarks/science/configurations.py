"""Reads configurations.toml."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from vw_fastcb import toml

_MARKS = ("rival", "candidate", "skip")


@dataclass(frozen=True)
class Configuration:
    """A player and its settings.

    Attributes:
        label: Its name in the reports.
        settings: What it is made from. Runs are kept under these, whatever the label.
        rival: A candidate must not be behind it.
        candidate: It is judged.
    """

    label: str
    settings: dict[str, Any]
    rival: bool = False
    candidate: bool = False

    @property
    def key(self) -> str:
        """A hash of the settings."""
        return hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()[:16]


def read_configurations(path: Path, only: Sequence[str] | None = None) -> list[Configuration]:
    """All that are not to be skipped; or those whose label is one of `only`, in which * and ? stand for anything."""
    configurations = []
    for label, table in toml.loads(path.read_text()).items():
        marks = {mark: bool(table.get(mark, False)) for mark in _MARKS}
        skip = marks.pop("skip")
        if skip if only is None else not any(fnmatchcase(label, pattern) for pattern in only):
            continue
        settings = {name: value for name, value in table.items() if name not in _MARKS}
        configurations.append(Configuration(label, settings, **marks))
    if not configurations:
        raise SystemExit(f"no configuration of {path} is called {' or '.join(only or ['anything'])}.")
    return configurations
