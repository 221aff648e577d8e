"""Twins of `FastCB`: rows, dictionaries and outcomes, good and spoiled."""

from __future__ import annotations

import copy
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from vw_fastcb import FastCB

LEARNERS: dict[str, tuple[dict[str, Any], ...]] = {
    "arrays-fixed": ({"n_actions": 3}, {"n_actions": 3, "reward_range": (0, 1)}, {"n_actions": 3, "vw_args": "--coin"}),
    "arrays-adf": ({}, {"interactions": ["xa"]}),
    "dicts-fixed": ({"n_actions": 3}, {"n_actions": 3, "vw_args": "--noconstant"}),
    "dicts-adf": ({}, {"interactions": ["xa"]}),
}
WIDTH, ACTION_WIDTH, ACTIONS = 3, 2, 3
BAD_NUMBERS = [float("nan"), float("inf"), -float("inf"), 1e39, 1e308, "x", None, 1j, "", [1], {}, b"0.5", "0,5", 2**64]
BAD_OUTCOMES = [*BAD_NUMBERS, -1, -0.01, 1.01, 7, 3, 99, 2.5, True, -(2**63)]


class ArrayTwins:
    """Two learners with the same parameters: `first` is offered everything, `second` only what `first` accepted."""

    def __init__(self, params: dict[str, Any], named: bool, journal: Any, folder: Path, rng: Random) -> None:
        self.params, self.journal, self.folder, self.rng = params, journal, folder, rng
        self.fixed = "n_actions" in params
        self.named = named
        self.counts: Counter[str] = Counter()
        self.first, self.second = (FastCB(**params, bits=12, seed=1) for _ in (1, 2))
        self.journal.note("twins", str(params), "dictionaries" if self.named else "arrays")
        self.good()

    def _row(self, width: int, prefix: str) -> Any:
        values = [round(self.rng.random(), 2) for _ in range(width)]
        if self.named:
            return {f"{prefix}{n}": value for n, value in enumerate(values)} | {f"{prefix}k": self.rng.choice("abc")}
        return np.array(values, dtype=self.rng.choice(["f4", "f8"]))

    def _actions(self) -> Any:
        if self.fixed:
            return None
        rows = [self._row(ACTION_WIDTH, "f") for _ in range(ACTIONS)]
        return rows if self.named else np.array(rows)

    def _event(self) -> dict[str, Any]:
        return {
            "context": self._row(WIDTH, "c"),
            "actions": self._actions(),
            "action": self.rng.randrange(ACTIONS),
            "value": round(self.rng.random(), 2),
            "sample_weight": 1.0,
        }

    def good(self) -> None:
        event = self._event()
        self.journal.note("good", repr(event))
        first, second = learn(self.first, event), learn(self.second, event)
        assert first is second is None

    def bad(self) -> None:
        event = self._spoiled(self._event())
        call = self.rng.choice([learn, learn, decide, learn_decision, learn_batch, predict_batch])
        self.journal.note(call.__name__, repr(event)[:2000])
        try:
            said = repr(call(self.first, copy.deepcopy(event)))
        except (ValueError, TypeError):
            self.counts["refused"] += 1
            return
        except Exception as problem:
            raise self.journal.differ(f"refused by {problem!r}; expected a ValueError or a TypeError") from problem
        self.counts["accepted"] += 1
        self.journal.note("accepted")
        expected = repr(call(self.second, event))
        if said != expected:
            raise self.journal.differ(f"an accepted event gave {said} and {expected}")

    def compare(self) -> None:
        for _ in range(3):
            event = self._event()
            # A decision is a draw: a refused event must not use one up.
            for call in (decide, predict_batch):
                first, second = repr(call(self.first, event)), repr(call(self.second, event))
                if first != second:
                    raise self.journal.differ(f"{self.params}: twins answer {first} and {second} to {event}")
        if self.first.events_ != self.second.events_:
            raise self.journal.differ(
                f"{self.params}: twins count {self.first.events_} and {self.second.events_} events"
            )
        first, second = (file.read_bytes() for file in self._saved())
        if first != second:
            raise self.journal.differ(f"{self.params}: the models that the twins saved differ")
        self.journal.recent.clear()

    def _saved(self) -> list[Path]:
        files = [self.folder / name for name in ("first.model", "second.model")]
        for learner, file in zip((self.first, self.second), files, strict=True):
            learner.save(file)
        return files

    def end(self) -> None:
        files = self._saved()
        self.first.close()
        self.second.close()
        event = self._event()
        rewards = "reward_range" in self.params
        loaded = [repr(predict_batch(FastCB.load(file, rewards=rewards), event)) for file in files]
        if loaded[0] != loaded[1]:
            raise self.journal.differ(f"{self.params}: the loaded models answer {loaded}")

    def _spoiled(self, event: dict[str, Any]) -> dict[str, Any]:
        rng = self.rng
        kind = rng.randrange(5)
        if kind == 0:
            event[rng.choice(["action", "value", "sample_weight"])] = rng.choice(BAD_OUTCOMES)
        elif kind == 1:
            event["context"] = spoiled_row(rng, event["context"])
        elif kind == 2:
            event["context"] = rng.choice(
                [None, "x", 5, [], {}, np.ones(WIDTH + 1), np.ones((2, WIDTH)), [[1.0], [2.0, 3.0]]]
            )
        elif kind == 3 and not self.fixed:
            rows = list(event["actions"])
            place = rng.randrange(ACTIONS)
            rows[place] = spoiled_row(rng, rows[place])
            event["actions"] = rows
        else:
            shapes = [
                np.ones((ACTIONS, ACTION_WIDTH + 1)),
                np.ones((0, ACTION_WIDTH)),
                np.ones(2),
                [],
                "x",
                5,
                {},
                [None],
            ]
            event["actions"] = rng.choice([*shapes, None])
            event["action"] = rng.choice((0, 1, 3, -1))
        return event


def spoiled_row(rng: Random, row: Any) -> Any:
    bad = rng.choice(BAD_NUMBERS)
    if isinstance(row, dict):
        changed = dict(row)
        changed[rng.choice([*row, "new", 5, ""])] = bad
        return changed
    if isinstance(bad, float) and rng.random() < 0.7:
        with np.errstate(over="ignore"):
            row[rng.randrange(len(row))] = bad
        return row
    values = row.tolist()
    values[rng.randrange(len(values))] = bad
    return values


def learn(bandit: FastCB, event: dict[str, Any]) -> Any:
    more = {name: event[name] for name in ("sample_weight",)}
    return bandit.learn_event(
        event["context"], event["action"], event["value"], action_features=event["actions"], **more
    )


def decide(bandit: FastCB, event: dict[str, Any]) -> Any:
    decision = bandit.decide(event["context"], event["actions"])
    return decision.action, decision.probability, list(decision.pmf)


def learn_decision(bandit: FastCB, event: dict[str, Any]) -> Any:
    return bandit.learn(bandit.decide(event["context"], event["actions"], event_id=7), event["value"])


def batch(row: Any) -> Any:
    return [row, row] if isinstance(row, dict) else np.array([row, row])


def learn_batch(bandit: FastCB, event: dict[str, Any]) -> Any:
    # The first row of the batch is good: it must not be learned either.
    actions, values = [0, event["action"]], [0.5, event["value"]]
    sets = None if event["actions"] is None else [event["actions"]] * 2
    bandit.partial_fit(batch(event["context"]), actions, values, action_features=sets)


def predict_batch(bandit: FastCB, event: dict[str, Any]) -> Any:
    sets = None if event["actions"] is None else [event["actions"]] * 2
    return np.asarray(bandit.predict_proba(batch(event["context"]), sets)).tolist()
