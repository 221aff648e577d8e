"""Drop-in for `vowpalwabbit.dftovw`, on this package's engine."""

from vw_fastcb.engine.stock_modules import run_stock_module

run_stock_module("dftovw", globals())
