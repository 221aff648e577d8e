"""Runs the modules of the installed `vowpalwabbit` package against this package's engine.

The wheel's Python code reaches its compiled core through `import pylibvw`. Here it runs under our own module names, and
that import returns our own `pylibvw`. The result is the whole Python API on our engine; the stock package stays as it
is.
"""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import sys
import warnings
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from vw_fastcb import _engine


@cache
def load_pylibvw() -> ModuleType:
    """VW's own binding, compiled against our engine: the second face of our extension module."""
    name = "vw_fastcb.pylibvw"
    assert _engine.__file__ is not None
    loader = importlib.machinery.ExtensionFileLoader(name, _engine.__file__)
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules[name] = module
    return module


def _import(name: str, globals_: Any = None, locals_: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    """The `import` that the stock modules see: our engine and our package instead of the stock ones."""
    if level == 0 and name == "pylibvw":
        return load_pylibvw()
    if level == 0 and name.partition(".")[0] == "vowpalwabbit":
        name = name.replace("vowpalwabbit", "vw_fastcb", 1)
    return builtins.__import__(name, globals_, locals_, fromlist, level)


def stock_source(module: str) -> Path:
    """The source file of a module of the installed `vowpalwabbit`. Does not import it."""
    spec = importlib.util.find_spec("vowpalwabbit")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("vw_fastcb needs the package vowpalwabbit, which is not installed: pip install vowpalwabbit")
    return Path(spec.submodule_search_locations[0]) / f"{module}.py"


def run_stock_module(module: str, namespace: dict[str, Any]) -> None:
    """Executes a stock module's source in `namespace`, the globals of our module that replaces it."""
    loader = importlib.machinery.SourceFileLoader(f"vowpalwabbit.{module}", str(stock_source(module)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid escape in the wheel's code does not concern our users
        code = loader.get_code(loader.name)
    assert code is not None
    namespace["__builtins__"] = {**vars(builtins), "__import__": _import}
    exec(code, namespace)
