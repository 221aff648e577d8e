"""Drop-in for `vowpalwabbit.pyvw`: all its names, on this package's engine."""

from vw_fastcb.engine.stock_modules import run_stock_module

run_stock_module("pyvw", globals())

# Ours take the place of the stock classes they inherit from, for everything else in this module too.
from vw_fastcb.engine.workspace import Example, Workspace  # noqa: E402

vw._DeprecatedClassMeta__alias = Workspace  # noqa: F821, defined by the stock module
example._DeprecatedClassMeta__alias = Example  # noqa: F821
