"""FastCB for people who think in arrays."""

from vw_fastcb.learner.decision import Decision, Decisions, Simulation
from vw_fastcb.learner.fastcb import FastCB

__all__ = ["Decision", "Decisions", "FastCB", "Simulation"]
