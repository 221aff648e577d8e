"""The file formats of a folder of one's own: a reader for each, all with the same arguments.

A reader takes the path, the name of the set and the target column (None: the usual place) and gives a Dataset.
"""

from collections.abc import Callable
from pathlib import Path

from ..dataset import Dataset
from . import declared, delimited, numpy_file, parquet, vw_text

Reader = Callable[[Path, str, str | None], Dataset]

READERS: dict[str, Reader] = {
    ".csv": delimited.read,
    ".arff": declared.read,
    ".dat": declared.read,
    ".npz": numpy_file.read,
    ".parquet": parquet.read,
    ".vw": vw_text.read,
    ".vw.gz": vw_text.read,
}


def suffix(path: Path) -> str | None:
    """The ending of READERS that the name of a file has, None where it has none of them."""
    name = path.name.lower()
    return next((ending for ending in sorted(READERS, key=len, reverse=True) if name.endswith(ending)), None)
