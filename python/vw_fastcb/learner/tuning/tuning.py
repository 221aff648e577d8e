"""What tuning found, and how sure it is of it."""

from __future__ import annotations

import importlib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vw_fastcb.engine.flags import Flags
from vw_fastcb.learner.settings import Settings

if TYPE_CHECKING:
    from vw_fastcb.learner.fastcb import FastCB

LEFT_TO_VW = ("quiet", "no_stdin")  # flags that a command line needs not


@dataclass(frozen=True)
class Trial:
    """One of the settings that a stage tried.

    Attributes:
        changes: What it changes; nothing for the settings that the stage began with.
        loss: The mean loss on the half of the data that chooses.
        standard_error: Of the difference to the settings that the stage began with; 0 for those.
        value: What its policy would earn (or cost) per event by the log, doubly robust; None where that was not
            estimated.
    """

    changes: Mapping[str, Any]
    loss: float
    standard_error: float
    value: float | None = None


@dataclass(frozen=True)
class Stage:
    """One question, such as which oracle to take, and its answer.

    Attributes:
        name: "oracle", "interactions", "gamma" or "objective".
        unit: What losses are, in words.
        trials: What was tried; the first are the settings that the stage began with.
        best: The changes that did best where they were chosen.
        gain: By how much they were better on the other half, which had no part in choosing them.
        interval: A 99% interval for the gain: a change has to be worth its trouble.
        adopted: Whether they were taken: the whole interval is above 0.
        verdict: All of this in a sentence.
    """

    name: str
    unit: str = ""
    trials: tuple[Trial, ...] = ()
    best: Mapping[str, Any] = field(default_factory=dict)
    gain: float = 0.0
    interval: tuple[float, float] = (0.0, 0.0)
    adopted: bool = False
    verdict: str = ""


@dataclass(frozen=True)
class Tuning:
    """What to make a learner with.

    Attributes:
        changes: The parameters to give beside your own; empty where the defaults are as good as anything tried.
        stages: How they were found.
        params: All parameters of the learner, with the changes.
    """

    changes: Mapping[str, Any]
    stages: tuple[Stage, ...]
    params: Mapping[str, Any] = field(repr=False)

    @property
    def learner(self) -> FastCB:
        """A new learner with the settings that were found. It has learned nothing yet."""
        from vw_fastcb.learner.fastcb import FastCB  # noqa: PLC0415, it imports this module

        return FastCB(**self.params)

    @property
    def flags(self) -> str:
        """The same for the command line, with VW's namespaces `x` for contexts and `a` for actions."""
        return shlex.join(Flags.read(Settings.checked(self.params).arguments()).without(LEFT_TO_VW))

    def to_frame(self) -> Any:
        """One row for each trial, as a pandas frame: stage, settings, loss, standard_error, value, adopted."""
        pandas = importlib.import_module("pandas")
        return pandas.DataFrame(
            [
                {
                    "stage": stage.name,
                    "settings": words_of(trial.changes),
                    "loss": trial.loss,
                    "standard_error": trial.standard_error,
                    "value": trial.value,
                    "adopted": stage.adopted and trial.changes == stage.best,
                }
                for stage in self.stages
                for trial in stage.trials
            ]
        )

    def __str__(self) -> str:
        """The verdicts, and what to do."""
        verdicts = "\n".join(f"{stage.name}: {stage.verdict}" for stage in self.stages)
        found = words_of(self.changes) if self.changes else "the defaults"
        return f"{verdicts}\nTake {found}."


def words_of(changes: Mapping[str, Any]) -> str:
    """Parameters as one would write them; "current settings" for none."""
    return ", ".join(f"{name}={value!r}" for name, value in changes.items()) or "current settings"


def short_words_of(changes: Mapping[str, Any]) -> str:
    """The same for a table."""
    words = []
    if "learning_rate" in changes:
        words.append(f"{changes['oracle']}, step {changes['learning_rate']:g}")
    if "gamma_scale" in changes:
        words.append(f"gamma {changes['gamma_scale']:g} t^{changes['gamma_exponent']:g}")
    if "interactions" in changes:
        words.append(f"products {', '.join(changes['interactions']) or 'none'}")
    if "objective" in changes:
        words.append(f"objective {changes['objective']}")
    return "; ".join(words) or "current settings"
