"""What one should know of a data set of one's own, in lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_SHOWN = 10  # of a set


def note_lines(name: str, notes: Sequence[str]) -> Iterator[str]:
    """A line a note; of many only the first."""
    yield from (f"{name}: {note}" for note in notes[:_SHOWN])
    if len(notes) > _SHOWN:
        yield f"{name}: {len(notes) - _SHOWN} more notes, which `fastcb bakeoff list --json` has"
