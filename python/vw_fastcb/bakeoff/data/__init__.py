"""The data of the bake-off: the built-in collection, a folder of one's own, and OpenML."""

from .builtin import builtin, missing_packages
from .dataset import BrokenDataset, Dataset, Entry, Shape
from .folder import folder
from .openml import openml
from .openml_client import Manners

__all__ = [
    "BrokenDataset",
    "Dataset",
    "Entry",
    "Manners",
    "Shape",
    "builtin",
    "folder",
    "missing_packages",
    "openml",
]
