"""FastCB for people who think in arrays."""

from vw_fastcb.learner.decision import Decision, Decisions
from vw_fastcb.learner.explanation import Explanation, Weights
from vw_fastcb.learner.fastcb import FastCB
from vw_fastcb.learner.simulation import Simulation

__all__ = ["Decision", "Decisions", "Explanation", "FastCB", "Simulation", "Weights"]
