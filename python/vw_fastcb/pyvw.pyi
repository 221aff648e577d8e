# The stock module is not typed: beside Workspace its names are Any.
from typing import Any

from vw_fastcb.engine.workspace import Workspace as Workspace

def __getattr__(name: str) -> Any: ...
