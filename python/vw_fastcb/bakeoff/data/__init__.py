"""The data of the bake-off: the built-in collection, a folder of your own files, and OpenML."""

from .builtin import builtin, load_builtin, missing_packages
from .dataset import BrokenDataset, Dataset, Entry, Shape
from .files import folder
from .openml import Manners, openml

__all__ = [
    "BrokenDataset",
    "Dataset",
    "Entry",
    "Manners",
    "Shape",
    "builtin",
    "folder",
    "load_builtin",
    "missing_packages",
    "openml",
]
