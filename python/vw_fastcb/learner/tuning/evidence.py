"""What data say of settings: losses on parts of the data, which are the same for all settings that are compared.

Each kind of evidence has two sets of parts. What looks best on the first has to prove itself on the second.
"""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.learner import rows
from vw_fastcb.learner.engine import Engine, new_learner
from vw_fastcb.learner.events import Events
from vw_fastcb.learner.outcomes import as_floats, chosen_actions, cost_table, engine_costs, excluded_mask
from vw_fastcb.learner.settings import Settings
from vw_fastcb.learner.tuning.candidates import GAMMA, INTERACTIONS, OBJECTIVE, ORACLE

Half = Literal["choose", "confirm"]
_Floats = NDArray[np.float64]

_STRETCHES = 40  # of a log: every other one for choosing
_FEWEST_EVENTS = 10 * _STRETCHES
_REPLAYS = 4  # of a log, each with other luck
_FEWEST_REPLAYED = 1000  # events that a replay has to accept before it says anything about gamma
_OURS = 0x74756E65  # numpy takes [0, 0] for 0: without it, draws might be those that the user's data were made with
_LEAST = 1e-7  # a predicted chance never counts as less


@dataclass(frozen=True)
class Measured:
    """What settings lost on the parts of a half, and what their policy is worth, where that can be told.

    Attributes:
        losses: One for each part, (m,).
        values: The doubly robust estimate of the policy's cost in [0, 1] on each part, (m,); empty where every cost is
            known.
    """

    losses: _Floats
    values: _Floats


class Evidence(Protocol):
    """Data that settings can be measured on."""

    @property
    def widths(self) -> tuple[float, float]:
        """How many columns contexts have, and the features of actions."""

    @property
    def name(self) -> str:
        """Tells these data from others, for those who keep measurements."""

    def unit(self, stage: str) -> str:
        """What losses are, in words."""

    def refusal(self, stage: str) -> str | None:
        """Why the data cannot answer the question of a stage, if they cannot."""

    def measure(self, settings: Settings, stage: str, half: Half) -> Measured:
        """Plays the data from scratch with these settings."""


class TableEvidence:
    """Rows whose every cost is known: the bandit game is played on them, in several orders.

    Args:
        settings: Of the learner.
        contexts: As of `FastCB.simulate`, as are the next two.
        targets: The right actions, or all costs.
        action_features: Where actions are not fixed.
        orders: How many orders there are to choose on. As many others confirm.
        seed: Of orders and draws.
    """

    def __init__(
        self, settings: Settings, contexts: Any, targets: Any, action_features: Any, *, orders: int, seed: int
    ) -> None:
        self._bits, self._events = _encoded(settings, contexts, action_features)
        self._costs = cost_table(settings, targets, self._events.counts).astype(np.float32)
        if len(self._events.counts) == 0:
            raise ValueError("there is no row; expected some to play on.")
        self._orders, self._seed = orders, seed
        self.widths = _widths(contexts, action_features)
        self.name = _fingerprint("table", settings, self._bits, orders, seed, self._costs, contexts, action_features)

    def unit(self, stage: str) -> str:
        """What losses are, in words."""
        del stage
        return "mean cost per round"

    def refusal(self, stage: str) -> str | None:
        """A table answers everything."""
        del stage
        return None

    def measure(self, settings: Settings, stage: str, half: Half) -> Measured:
        """Plays each order of the half from scratch."""
        del stage
        first = 0 if half == "choose" else self._orders
        losses = [self._play(settings, number) for number in range(first, first + self._orders)]
        return Measured(np.array(losses), np.zeros(0))

    def _play(self, settings: Settings, number: int) -> float:
        rng = np.random.default_rng([_OURS, self._seed, number])
        learner = new_learner(settings, self._bits)
        learner.draws = int(rng.integers(2**63))
        order = rng.permutation(len(self._events.counts))
        return float(learner.simulate(*self._events.arrays, self._costs, order)[2].mean(dtype=np.float64))


class LogEvidence:
    """A log of decisions with their probabilities.

    Oracles are compared by their log loss on the logged actions, each predicted before it is learned. How much to
    explore cannot be told that way; for that, the log is replayed: an event counts, and is learned, where a draw says
    that the learner would have taken the logged action.

    Args:
        settings: Of the learner.
        contexts: As of `FastCB.partial_fit`, as are the next two.
        actions: Those that were taken.
        values: What they cost, or their rewards.
        probabilities: With which each action was drawn.
        action_features: Where actions are not fixed.
        exclude: Actions that could not be drawn, as of `FastCB.predict_proba`.
        seed: Of replays.
    """

    def __init__(
        self,
        settings: Settings,
        contexts: Any,
        *,
        actions: Any,
        values: Any,
        probabilities: Any,
        action_features: Any = None,
        exclude: Any = None,
        seed: int = 0,
    ) -> None:
        self._bits, self._events = _encoded(settings, contexts, action_features)
        count = len(self._events.counts)
        self._actions = chosen_actions(settings, actions, self._events.counts)
        self._costs = engine_costs(settings, values, (count,))
        self._logged = _probabilities(probabilities, count)
        self._excluded = excluded_mask(settings, exclude, self._events.counts)
        self._check_excluded()
        self._seed = seed
        low, high = settings.engine_range
        self._outcomes = np.clip((self._costs.astype(np.float64) - low) / (high - low), 0.0, 1.0)
        if count < _FEWEST_EVENTS:
            raise ValueError(f"the log has {count} events with an outcome; expected {_FEWEST_EVENTS} or more.")
        self.widths = _widths(contexts, action_features)
        logged = (self._actions, self._costs, self._logged, self._excluded)
        self.name = _fingerprint("log", settings, self._bits, seed, *logged, contexts, action_features)

    def _check_excluded(self) -> None:
        if self._excluded is None:
            return
        bad = np.flatnonzero(self._excluded[self._events.begins[:-1] + self._actions])
        if len(bad):
            action = self._actions[bad[0]]
            raise ValueError(f"exclude has the action {action} of event {bad[0]}, which was taken; expected others.")

    def unit(self, stage: str) -> str:
        """What losses are, in words."""
        return "log loss per event" if stage in (ORACLE, INTERACTIONS) else "mean cost per replayed event"

    def refusal(self, stage: str) -> str | None:
        """Whether outcomes differ at all, and whether enough events would be accepted in a replay."""
        if self._costs.min() == self._costs.max():
            return "all events have the same outcome, which tells no decision from another. The default is kept."
        if stage not in (GAMMA, OBJECTIVE):
            return None
        least = float(self._logged.min())
        accepted = int(len(self._logged) * least)
        if accepted >= _FEWEST_REPLAYED:
            return None
        if stage == OBJECTIVE:
            return "as for gamma, the log would have to be replayed. The default is kept."
        return (
            f"to say how much exploring is worth, the log has to be replayed, and a replay would accept about "
            f"{accepted:,} of {len(self._logged):,} events (the smallest logged probability is {least:.2g}); "
            f"{_FEWEST_REPLAYED:,} are needed. The default is kept."
        )

    def measure(self, settings: Settings, stage: str, half: Half) -> Measured:
        """Goes through the whole log, and tells what was lost on every other stretch of it."""
        if stage in (ORACLE, INTERACTIONS):
            probabilities, predicted, means = self._validate(settings, np.full(len(self._logged), -1.0))
            losses = _log_losses(self._outcomes, predicted)
            worth = means + probabilities / self._logged * (self._outcomes - predicted)
            return Measured(_means_of_stretches(losses, half), _means_of_stretches(worth, half))
        first = 0 if half == "choose" else _REPLAYS
        replayed = [self._replay(settings, number) for number in range(first, first + _REPLAYS)]
        return Measured(_means_of_stretches(np.concatenate(replayed, axis=1), half), np.zeros(0))

    def _replay(self, settings: Settings, number: int) -> _Floats:
        """What each event cost, (n, 1); NaN for those that were not accepted."""
        draws = np.random.default_rng([_OURS, self._seed, number]).random(len(self._logged))
        # The learner's probability is at most 1, so the quotient by which events are accepted is at most 1, too.
        thresholds = draws * self._logged / self._logged.min()
        probabilities, _, _ = self._validate(settings, thresholds)
        return np.where(probabilities > thresholds, self._outcomes, np.nan)[:, None]

    def _validate(self, settings: Settings, thresholds: _Floats) -> tuple[_Floats, _Floats, _Floats]:
        """Probabilities of the logged actions, their predicted costs in [0, 1], and the mean prediction."""
        learner = new_learner(settings, self._bits)
        ones = np.ones(len(self._logged), dtype=np.float32)
        arrays = self._events.arrays
        probabilities, predicted, means = learner.validate(
            *arrays, self._actions, self._costs, ones, thresholds, self._excluded
        )
        low, high = settings.value_range
        predicted, means = (predicted - low) / (high - low), (means - low) / (high - low)
        if settings.noun == "reward":
            return probabilities, 1.0 - predicted, 1.0 - means
        return probabilities, predicted, means


def _encoded(settings: Settings, contexts: Any, action_features: Any) -> tuple[int, Events]:
    """The rows once for all settings, and how many bits of weights all of them get."""
    engine = Engine.start(settings, contexts, action_features)
    return engine.learner.bits, engine.events(contexts, action_features)


def _log_losses(outcomes: _Floats, predicted: _Floats) -> _Floats:
    chance = np.clip(predicted, _LEAST, 1.0 - _LEAST)
    return np.asarray(-outcomes * np.log(chance) - (1.0 - outcomes) * np.log1p(-chance))


def _means_of_stretches(values: _Floats, half: Half) -> _Floats:
    """The means of every other one of the consecutive stretches of a log."""
    stretches = np.array_split(values, _STRETCHES)[0 if half == "choose" else 1 :: 2]
    # A replay may have accepted nothing of a stretch.
    return np.array([np.nan if np.isnan(part).all() else float(np.nanmean(part)) for part in stretches])


def _probabilities(given: Any, count: int) -> _Floats:
    numbers = as_floats(given, "probabilities")
    if numbers.shape != (count,):
        raise ValueError(f"probabilities have shape {numbers.shape}; expected ({count},), one for each event.")
    bad = np.flatnonzero(~((numbers > 0) & (numbers <= 1)))
    if len(bad):
        raise ValueError(
            f"the probability of event {bad[0]} is {numbers[bad[0]]}; expected the probability with which the action "
            "was drawn, above 0 and at most 1."
        )
    return numbers


def _widths(contexts: Any, action_features: Any) -> tuple[float, float]:
    return _width(contexts), 0.0 if action_features is None else _width(action_features)


def _width(given: Any) -> float:
    """How many columns there are, or how many features a dictionary has on average."""
    if rows.holds_dicts(given):
        return float(np.mean([len(one) for one in given])) if len(given) else 0.0
    if isinstance(given, (list, tuple)) and given and not np.isscalar(given[0]):
        return _width(given[0])
    return float(rows.width(given) or 0)


def _fingerprint(kind: str, settings: Settings, *parts: Any) -> str:
    words = pickle.dumps((kind, settings.kind, settings.value_range, parts), protocol=5)
    return hashlib.blake2b(words, digest_size=16).hexdigest()
