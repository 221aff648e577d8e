"""Packages that only those need who want a frame or a picture."""

from __future__ import annotations

import importlib
from typing import Any


def import_for_results(module: str) -> Any:
    """Imports a module; where it is not installed, says how to get it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as problem:
        package = module.partition(".")[0]
        raise ModuleNotFoundError(
            f"this needs {package}, which is not installed. To get it: pip install {package}, or pip install "
            "'vw-fastcb[bench]'."
        ) from problem


def as_label(text: str) -> str:
    """A text for a picture as it stands: matplotlib takes what is between two dollars for mathematics."""
    return text.replace("$", r"\$")
