"""What is installed: the version of a package and the folder it lies in, found without importing it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path


def version(package: str) -> str | None:
    """The installed version of a distribution, None where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def source(package: str) -> str:
    """Package and version, the way a report names the origin of a set."""
    return f"{package} {version(package)}"


def folder(module: str) -> Path:
    """The folder of a module. The module is not imported: some take seconds, and only their files are of use."""
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        raise ImportError(f"The package with the module {module} is not installed.")
    return Path(found.origin).parent
