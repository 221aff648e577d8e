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
