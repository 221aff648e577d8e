"""Drop-in for `vowpalwabbit.sklearn`, on this package's engine."""

from vw_fastcb.engine.stock_modules import run_stock_module

run_stock_module("sklearn", globals())
