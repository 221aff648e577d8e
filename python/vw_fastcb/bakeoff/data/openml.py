"""Sets of OpenML by id or suite, fetched when they are loaded and kept in a folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from . import openml_ids
from .dataset import BrokenDataset, Dataset, Entry
from .formats import declared
from .openml_client import OFFICIAL, Manners, Server


def openml(
    wanted: str | int | Iterable[int],
    cache_dir: str | Path,
    base_url: str | None = None,
    manners: Manners | None = None,
) -> list[Entry]:
    """The sets wanted: ids, a text or file of ids, "bakeoff" (the paper's collection) or a suite such as "OpenML-CC18".

    Nothing is fetched yet, but the list of a suite of OpenML. What was fetched before is not asked for again.
    """
    server = Server(Path(cache_dir), base_url or OFFICIAL, manners or Manners())
    ids = openml_ids.parse(wanted)
    if ids is None:
        ids = _suite(str(wanted), server)
    return [Entry(f"openml/{number}", f"OpenML {number}", partial(load_openml, number, server)) for number in ids]


def load_openml(number: int, server: Server) -> Dataset:
    """Loads one set, from the cache where it is there whole, else from the server."""
    cached = server.cached(number)
    if cached is not None:
        try:
            return _read(number, cached)
        except BrokenDataset:
            pass  # it may have been cut off when a run was killed: once more from the server
    return _read(number, server.fetched(number))


def _read(number: int, description: Any) -> Dataset:
    name, target = f"openml/{number}", description.default_target_attribute
    if not target or "," in target:
        raise BrokenDataset(f"{name}: OpenML names {target or 'no column'} as the target; one column was expected.")
    left_out = [*(description.ignore_attribute or []), *_listed(description.row_id_attribute)]
    dataset = declared.read(Path(description.data_file), name, target, left_out)
    source = f"OpenML {number} ({description.name}, version {description.version})"
    return replace(dataset, source=source, notes=(dataset.class_note, *dataset.notes))


def _listed(value: str | None) -> list[str]:
    return [value] if value else []


def _suite(name: str, server: Server) -> list[int]:
    """The ids of a suite, kept in a file next to the sets: a second start works without the server."""
    kept = server.cache_dir / "suites" / f"{name}.txt"
    if not kept.is_file():
        ids = server.suite(name)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(" ".join(map(str, ids)) + "\n", encoding="utf-8")
    return openml_ids.parse(str(kept)) or []
