"""Drop-in for `vowpalwabbit.sklearn_vw`, on this package's engine."""

from vw_fastcb.engine.stock_modules import run_stock_module

run_stock_module("sklearn_vw", globals())
