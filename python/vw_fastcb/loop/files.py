"""Files that are there as a whole, or as they were."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def new_file(path: str | os.PathLike[str], draft: Path | None = None) -> Iterator[Path]:
    """A temporary name beside a file. What was written there takes the file's place at the end of the block.

    Args:
        path: The file.
        draft: The temporary name, in the same folder; one of this process unless given.

    Raises:
        FileNotFoundError: There is no folder for it.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} for {path.name!r}; make it first.")
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; expected the name of a file.")
    draft = draft or path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        yield draft
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
