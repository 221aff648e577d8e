"""The theory lab: what the paper proves, made visible. Each experiment is a module, and `fastcb lab` runs them.

An experiment has a function `compute(seed, quick)` and swaps one ingredient on request (the allocation, the loss, the
memory): then its claims must fail, and the tests try that.
"""

from vw_fastcb.lab import (
    changes,
    clicks,
    divergences,
    least_squares,
    per_round,
    small_losses,
    small_rewards,
    unknown_lstar,
)
from vw_fastcb.lab.experiment import Experiment, Result, Table

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (small_losses, unknown_lstar, small_rewards, per_round, least_squares, divergences, clicks, changes)
}
"""All experiments, by name, in the order of the page."""

__all__ = ["EXPERIMENTS", "Experiment", "Result", "Table"]
