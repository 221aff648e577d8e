"""Read by every interpreter that is started with this folder on PYTHONPATH: the package gets the engine that
VW_FASTCB_TEST_ENGINE names in the place of its own."""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType


class OtherEngine(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "vw_fastcb._engine":
            return None
        return importlib.util.spec_from_file_location(name, os.environ["VW_FASTCB_TEST_ENGINE"])


sys.meta_path.insert(0, OtherEngine())
