"""Several policies judged on one log, which is read once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.evaluation.checks import Ids
from vw_fastcb.evaluation.doubly_robust import DoublyRobustTally
from vw_fastcb.evaluation.logs import Batch, Log, checked_log
from vw_fastcb.evaluation.policies import Policy, PolicyRefused, Take, as_dsjson, policy_of, tallied, words_of_control
from vw_fastcb.evaluation.progressive import Progressive, VwFailed
from vw_fastcb.evaluation.results import Estimate
from vw_fastcb.evaluation.tally import Tally

_Floats = NDArray[np.float64]
_MOST_IDS = 2_000_000  # events among which repeated ids are looked for: memory is bounded


@dataclass
class Judged:
    """What was found of a policy.

    Attributes:
        policy: What was asked for.
        label: What to call it.
        learns: Whether it has learned on the log.
        estimates: By method: "ips", "snips", and "dr" where there is a control.
        refused: Why it was not judged; None where it was.
    """

    policy: str
    label: str
    learns: bool = False
    estimates: dict[str, Estimate] = field(default_factory=dict)
    refused: str | None = None

    def __str__(self) -> str:
        """The estimate that `fastcb evaluate` shows, or why there is none."""
        return f"{self.label}: {self.refused or self.estimates['snips']}"

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "policy": self.policy,
            "label": self.label,
            "learns": self.learns,
            "refused": self.refused,
            "estimates": {name: one.to_dict() for name, one in self.estimates.items()},
        }


def evaluate(
    log: Log,
    policies: Sequence[str],
    *,
    level: float = 0.95,
    control: str | None = None,
    watch: Callable[[Log], None] = lambda log: None,
) -> list[Judged]:
    """Judges policies on a log.

    Args:
        log: The log, of `open_log` or a `FrameLog`.
        policies: `logged`, `constant:NAME`, `model:FILE`, or flags of VW. A policy of flags learns on the log, and
            every event is judged before it is learned.
        level: The level of the intervals.
        control: Flags of VW for a model of costs, as `-q UA`; its predictions, made before each event is learned, are
            the control of doubly robust estimates.
        watch: Told of the log now and then; what it raises ends everything.

    Returns:
        What was found, in the order of the policies.
    """
    checked_log(log)
    if isinstance(policies, str):
        raise ValueError(f"policies is the text {policies!r}; expected a list of policies, such as [{policies!r}].")
    runs = [_Run(text, log, level, has_control=control is not None) for text in policies]
    with contextlib.ExitStack() as open_ones:
        for run in runs:
            run.start()
            open_ones.callback(run.close)
        predictor = None if control is None else _Control(control, log, runs)
        if predictor is not None:
            open_ones.callback(predictor.close)
        ids = Ids(_MOST_IDS)
        for batch in log.batches():
            watch(log)
            ids.take(batch)
            for run in runs:
                run.give(batch)
            if predictor is not None:
                predictor.give(batch)
        for run in runs:
            run.finish()
        if predictor is not None:
            predictor.finish()
    log.counted.repeated = ids.repeated()
    return [run.found() for run in runs]


class _Run:
    """One policy."""

    def __init__(self, text: str, log: Log, level: float, *, has_control: bool) -> None:
        self._text, self._log, self._level = text, log, level
        self._has_control = has_control
        self._policy: Policy | None = None
        self._refused: str | None = None
        self.robust: DoublyRobustTally | None = None
        self.given: list[tuple[Batch, _Floats]] = []  # what the control has not seen yet

    def start(self) -> None:
        try:
            # Whether it learns decides which intervals there are, so it is asked first.
            self._policy = policy_of(self._text, self._log, self._take)
        except (PolicyRefused, VwFailed) as problem:
            self._refused = str(problem)
            return
        reward_range, expected, learns = self._log.reward_range, self._log.expected, self._policy.learns
        self._tally = Tally(reward_range, self._level, expected=expected, learns=learns)
        self._count: Take = tallied(self._tally)
        if self._has_control:
            self.robust = DoublyRobustTally(reward_range, self._level, expected=expected, learns=learns)

    @property
    def wants_control(self) -> bool:
        """Whether what it says is to be matched with a control."""
        return self.robust is not None and self._refused is None

    def _take(self, batch: Batch, policy: _Floats, /) -> None:
        self._count(batch, policy)
        if self.robust is not None:
            self.given.append((batch, policy))

    def give(self, batch: Batch) -> None:
        self._guarded(lambda policy: policy.give(batch))

    def finish(self) -> None:
        self._guarded(lambda policy: policy.finish())

    def close(self) -> None:
        if self._policy is not None:
            self._policy.close()

    def _guarded(self, do: Callable[[Policy], None]) -> None:
        if self._policy is None or self._refused is not None:
            return
        try:
            do(self._policy)
        except (PolicyRefused, VwFailed) as problem:
            self._refused = str(problem)

    def found(self) -> Judged:
        label = self._text if self._policy is None else self._policy.label
        if self._refused is not None or self._policy is None:
            return Judged(self._text, label, refused=self._refused)
        estimates = {"ips": self._tally.ips(), "snips": self._tally.snips()}
        if self.robust is not None:
            estimates["dr"] = self.robust.dr()
        return Judged(self._text, label, self._policy.learns, estimates)


class _Control:
    """A model of costs, learned on the log, whose predictions correct nothing and reduce variance."""

    def __init__(self, flags: str, log: Log, runs: Sequence[_Run]) -> None:
        self._log, self._runs = log, runs
        self._engine = Progressive(words_of_control(flags), as_dsjson, self._take)
        self._predictions: list[tuple[Batch, _Floats]] = []

    def _take(self, batch: Batch, costs: _Floats) -> None:
        self._predictions.append((batch, 0.0 - costs))
        self._match()

    def _match(self) -> None:
        """Counts the batches for which both a policy and the control have spoken."""
        while self._predictions and all(run.given or not run.wants_control for run in self._runs):
            batch, predictions = self._predictions.pop(0)
            for run in self._runs:
                if run.robust is not None and run.given:
                    _, policy = run.given.pop(0)
                    run.robust.update(*_as_tables(batch, policy, predictions))

    def give(self, batch: Batch) -> None:
        self._engine.give(batch)

    def finish(self) -> None:
        self._engine.finish()
        self._match()

    def close(self) -> None:
        self._engine.close()


def _as_tables(
    batch: Batch, policy: _Floats, predictions: _Floats
) -> tuple[_Floats, NDArray[np.int64], _Floats, _Floats, _Floats]:
    """Rewards, actions, and three tables with a row per event; actions that an event does not have are never played."""
    counts = np.diff(batch.first)
    inside = np.arange(counts.max()) < counts[:, None]
    tables = []
    for values in (policy, batch.logged, predictions):
        table = np.zeros(inside.shape)
        table[inside] = values
        tables.append(table)
    return batch.rewards, batch.actions, tables[0], tables[1], tables[2]
