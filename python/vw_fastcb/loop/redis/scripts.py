"""What runs inside Redis: Lua, each script as a whole or not at all."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "scripts"
_BEGINNINGS = {
    "read": ("prelude",),
    "write": ("prelude", "writing"),
    "task": ("prelude", "writing", "task"),
}
_KINDS = {
    "append": "write",
    "take_lease": "write",
    "read": "read",
    "of_kind": "read",
    "last": "read",
    "lease": "read",
    "renew": "task",
    "stage_model": "task",
    "stage_windows": "task",
    "drop_model": "task",
    "commit": "task",
    "drop_unfinished": "task",
    "drop_generation": "task",
    "merge_windows": "task",
    "drop_records": "task",
}


@cache
def text_of(name: str) -> str:
    """A script. One that only reads says so, and one that writes does not begin where memory is used up."""
    kind = _KINDS.get(name, "")
    parts = [*_BEGINNINGS.get(kind, ()), name]
    first = "#!lua flags=no-writes" if kind == "read" else "#!lua"
    return "\n".join([first, *((_FOLDER / f"{part}.lua").read_text() for part in parts)])
