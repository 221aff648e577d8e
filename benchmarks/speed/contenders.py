"""The ways to run a contextual bandit from Python that arrays.py compares, on the same events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
import vowpalwabbit

from vw_fastcb import FastCB

BATCH = 1000
Run = Callable[[int], int]  # plays about so many rounds; returns how many it were


@dataclass(frozen=True)
class Problem:
    """Events: rows of numbers, the features of the actions (the same for all), and the cost of each action.

    With a density below 1 the contexts are compressed sparse rows, with at least one value each.
    """

    actions: int = 10
    features: int = 20
    density: float = 1.0
    features_of_an_action: int | None = None  # None: one, its number
    events: int = 20_000
    texts: int = 2000

    @cached_property
    def contexts(self) -> Any:
        rng = np.random.default_rng(0)
        if self.density == 1:
            return rng.random((self.events, self.features)).round(4)
        values = max(round(self.density * self.features), 1)
        columns = np.sort([rng.choice(self.features, values, replace=False) for _ in range(self.events)], axis=1)
        offsets = np.arange(self.events + 1) * values
        return scipy.sparse.csr_matrix(
            (rng.random(columns.size).round(4), columns.ravel(), offsets), (self.events, self.features)
        )

    @cached_property
    def action_features(self) -> Any:
        if self.features_of_an_action is None:
            return np.eye(self.actions)
        return np.random.default_rng(1).random((self.actions, self.features_of_an_action)).round(4)

    @cached_property
    def costs(self) -> Any:
        return np.random.default_rng(2).random((self.events, self.actions))

    @cached_property
    def rows(self) -> list[Any]:
        """One context each, as a user has them in hand."""
        return [self.contexts[i] for i in range(self.events)]


def _text(row: Any) -> str:
    if scipy.sparse.issparse(row):
        return " ".join(f"{column}:{value}" for column, value in zip(row.indices, row.data, strict=True))
    return " ".join(f"{column}:{value}" for column, value in enumerate(row) if value)


def _stock(flags: str, asked: list[Any], told: list[Any]) -> Run:
    vw = vowpalwabbit.Workspace(f"{flags} --quiet")

    def run(rounds: int) -> int:
        for i in range(rounds):
            vw.predict(asked[i % len(asked)])
            vw.learn(told[i % len(told)])
        return rounds

    return run


def stock_with_action_features(problem: Problem) -> Run:
    actions = [f"|A {_text(row)}" for row in problem.action_features]
    asked = [[f"shared |U {_text(problem.contexts[i])}", *actions] for i in range(problem.texts)]
    told = [list(event) for event in asked]
    for i, event in enumerate(told):
        chosen = i % problem.actions
        event[chosen + 1] = f"0:{problem.costs[i, chosen]:.4f}:0.1 {event[chosen + 1]}"
    return _stock("--cb_explore_adf -q UA", asked, told)


def stock_with_fixed_actions(problem: Problem) -> Run:
    asked = [f"|U {_text(problem.contexts[i])}" for i in range(problem.texts)]
    chosen = [i % problem.actions for i in range(problem.texts)]
    told = [f"{a + 1}:{problem.costs[i, a]:.4f}:0.1 {asked[i]}" for i, a in enumerate(chosen)]
    return _stock(f"--cb_explore {problem.actions}", asked, told)


def _one_at_a_time(problem: Problem, bandit: FastCB, features: Any) -> Run:
    rows, cost_of = problem.rows, problem.costs.item

    def run(rounds: int) -> int:
        for i in range(rounds):
            at = i % len(rows)
            decision = bandit.decide(rows[at], features)
            bandit.learn(decision, cost_of(at, decision.action))
        return rounds

    return run


def _in_batches(problem: Problem, bandit: FastCB, features: Any) -> Run:
    def run(rounds: int) -> int:
        played = 0
        while played < rounds:
            start = played % problem.events
            batch = problem.contexts[start : start + BATCH]
            drawn = bandit.decide_many(batch, features)
            costs = problem.costs[np.arange(start, start + len(drawn.actions)), drawn.actions]
            bandit.partial_fit(batch, drawn.actions, costs, action_features=features)
            played += len(drawn.actions)
        return played

    return run


def _simulated(problem: Problem, bandit: FastCB, features: Any) -> Run:
    def run(rounds: int) -> int:
        played = 0
        while played < rounds:
            played += bandit.simulate(problem.contexts, problem.costs, action_features=features).costs.size
        return played

    return run


def _with_fixed_actions(way: Callable[[Problem, FastCB, Any], Run]) -> Callable[[Problem], Run]:
    return lambda problem: way(problem, FastCB(problem.actions), None)


def _with_action_features(way: Callable[[Problem, FastCB, Any], Run]) -> Callable[[Problem], Run]:
    return lambda problem: way(problem, FastCB(), problem.action_features)


STOCK = "stock text, action features"
STOCK_FIXED = "stock text, fixed actions"
CONTENDERS: dict[str, Callable[[Problem], Run]] = {
    STOCK: stock_with_action_features,
    STOCK_FIXED: stock_with_fixed_actions,
    "decide + learn, action features": _with_action_features(_one_at_a_time),
    "decide + learn, fixed actions": _with_fixed_actions(_one_at_a_time),
    "decide_many + partial_fit, action features": _with_action_features(_in_batches),
    "decide_many + partial_fit, fixed actions": _with_fixed_actions(_in_batches),
    "simulate, action features": _with_action_features(_simulated),
    "simulate, fixed actions": _with_fixed_actions(_simulated),
}
