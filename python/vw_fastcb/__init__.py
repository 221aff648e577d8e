"""FastCB, the contextual-bandit algorithm with first-order regret, inside Vowpal Wabbit.

`Workspace` is a drop-in for `vowpalwabbit.Workspace`: change the import, add `--fastcb`.

    >>> import vw_fastcb
    >>> vw = vw_fastcb.Workspace("--cb_explore_adf --fastcb --quiet")
    >>> vw.predict(["shared | user=Tom", "| article=music", "| article=sports"])
    [0.5, 0.5]
    >>> vw.learn(["shared | user=Tom", "0:0.1:0.5 | article=music", "| article=sports"])
    >>> vw.finish()

The module `pyvw` and every name of the `vowpalwabbit` package (`Example`, `CBLabel`, `merge_models`, ...) are here too,
on this package's engine. The stock `vowpalwabbit` may be used beside it in the same process.
"""

import importlib as _importlib
import warnings as _warnings
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from vw_fastcb import processor as _processor

_processor.require_avx2()  # before the engine's first instruction

from vw_fastcb import allocation, pyvw
from vw_fastcb.engine.workspace import Workspace
from vw_fastcb.learner import Decision, Decisions, Explanation, FastCB, Simulation, Weights
from vw_fastcb.loop import Loop, LoopDecision
from vw_fastcb.pyvw import (
    AbstractLabel,
    ActionScore,
    CBContinuousLabel,
    CBContinuousLabelElement,
    CBEvalLabel,
    CBLabel,
    CBLabelElement,
    CCBLabel,
    CCBLabelType,
    CCBSlotOutcome,
    CostSensitiveElement,
    CostSensitiveLabel,
    Example,
    ExampleNamespace,
    LabelType,
    MulticlassLabel,
    MulticlassProbabilitiesLabel,
    MultilabelLabel,
    NamespaceId,
    PredictionType,
    SimpleLabel,
    SlatesLabel,
    SlatesLabelType,
    merge_models,
)
from vw_fastcb.version import __version__

if _TYPE_CHECKING:
    from vw_fastcb import evaluation, oracles
    from vw_fastcb.bandit import Bandit

__all__ = [
    "AbstractLabel",
    "ActionScore",
    "Bandit",
    "CBContinuousLabel",
    "CBContinuousLabelElement",
    "CBEvalLabel",
    "CBLabel",
    "CBLabelElement",
    "CCBLabel",
    "CCBLabelType",
    "CCBSlotOutcome",
    "CostSensitiveElement",
    "CostSensitiveLabel",
    "Decision",
    "Decisions",
    "Example",
    "ExampleNamespace",
    "Explanation",
    "FastCB",
    "LabelType",
    "Loop",
    "LoopDecision",
    "MulticlassLabel",
    "MulticlassProbabilitiesLabel",
    "MultilabelLabel",
    "NamespaceId",
    "PredictionType",
    "SimpleLabel",
    "Simulation",
    "SlatesLabel",
    "SlatesLabelType",
    "Weights",
    "Workspace",
    "__version__",
    "allocation",
    "evaluation",
    "merge_models",
    "oracles",
    "pyvw",
]


def __getattr__(name: str) -> _Any:
    # Those who do not use them do not wait for them.
    if name == "Bandit":
        return _importlib.import_module("vw_fastcb.bandit").Bandit
    if name in ("evaluation", "oracles"):
        return _importlib.import_module(f"vw_fastcb.{name}")
    if name == "DFtoVW":
        message = "The module is called dftovw; vowpalwabbit still accepts DFtoVW, and so does vw_fastcb."
        _warnings.warn(message, DeprecationWarning, stacklevel=2)
        return _importlib.import_module("vw_fastcb.dftovw")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
