"""Reading journals that are there already."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from vw_fastcb.loop.journal import Journal
from vw_fastcb.loop.loop import open_journal
from vw_fastcb.loop.records import Record


def existing_journal(path: str | os.PathLike[str]) -> Journal:
    """Opens a journal; raises where there is none."""
    name = os.fspath(path)
    if "://" not in name and not os.path.exists(name):
        raise FileNotFoundError(f"there is no journal {name!r}.")
    return open_journal(name)


def watched(journal: Journal, watch: Callable[[int], None]) -> Journal:
    """The same journal; whoever reads its records calls `watch` with the position of each."""
    read = journal.read

    def reading(after: int = 0, upto: int | None = None) -> Iterator[Record]:
        for record in read(after, upto):
            watch(record.position)
            yield record

    journal.read = reading  # type: ignore[method-assign]
    return journal
