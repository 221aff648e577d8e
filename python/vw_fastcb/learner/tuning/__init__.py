"""Chooses the settings of a `FastCB` from data: from tables whose every cost is known, or from a bandit's own log."""

from vw_fastcb.learner.tuning.evidence import LogEvidence, TableEvidence
from vw_fastcb.learner.tuning.search import search
from vw_fastcb.learner.tuning.tuning import Stage, Trial, Tuning

__all__ = ["LogEvidence", "Stage", "TableEvidence", "Trial", "Tuning", "search"]
