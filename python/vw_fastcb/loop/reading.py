"""Reading journals that are there already."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from vw_fastcb.loop.journal import Journal
from vw_fastcb.loop.loop import open_journal
from vw_fastcb.loop.records import Record
from vw_fastcb.loop.redis.address import without_password
from vw_fastcb.loop.sqlite import SqliteJournal


def existing_journal(path: str | os.PathLike[str], *, is_read: bool = False) -> Journal:
    """Opens a journal; raises where there is none.

    Args:
        path: The journal.
        is_read: Whether it is only read, and may be a file where nothing can be written, as a backup is.
    """
    name = os.fspath(path)
    try:
        if "://" in name or (os.path.exists(name) and not is_read):
            return open_journal(name)
        if os.path.exists(name):
            return SqliteJournal(name, is_read=True)
    except FileNotFoundError:
        pass  # which has advice for those who want to make one
    raise FileNotFoundError(f"there is no journal {without_password(name)!r}.")


def watched(journal: Journal, watch: Callable[[int], None]) -> Journal:
    """The same journal; whoever reads its records calls `watch` with the position of each."""
    read = journal.read

    def reading(after: int = 0, upto: int | None = None) -> Iterator[Record]:
        for record in read(after, upto):
            watch(record.position)
            yield record

    journal.read = reading  # type: ignore[method-assign]
    return journal
