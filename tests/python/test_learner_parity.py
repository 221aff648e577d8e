"""One stream, three ways: text lines with `Workspace`, `decide` and `learn`, and `simulate`. The same probabilities."""

import functools

import numpy as np
import pytest

from vw_fastcb import FastCB, Workspace

ROUNDS = pytest.mark.parametrize("rounds", [400, pytest.param(1500, marks=pytest.mark.slow)])
KINDS = ["fixed actions", "action features", "an action set for each event", "changing action sets"]


def whole(values):
    return np.round(values * 3).astype(np.float32)


@functools.cache
def numbers_of_text():
    """Decimals as VW's text parser reads them: most come out some units in the last place off the nearest float."""
    vw = Workspace("--quiet")
    texts = [f"{k / 997:.6f}" for k in range(1, 997)]
    read = [vw.example(f"|x 0:{text}").feature_weight("x", 0) for text in texts]
    return np.array(read, dtype=np.float32), {np.float32(value): text for value, text in zip(read, texts, strict=True)}


def fractions(values):
    table, _ = numbers_of_text()
    return table[(values * len(table)).astype(int)]


def line(space, row):
    """As a user writes it."""
    _, texts = numbers_of_text()
    return f"|{space} " + " ".join(f"{j}:{texts.get(value, value)}" for j, value in enumerate(row) if value)


class Stream:
    """Contexts, the features of each event's actions, and their costs."""

    def __init__(self, kind, numbers, rounds):
        rng = np.random.default_rng(7)
        self.fixed = kind == "fixed actions"
        self.contexts = numbers(rng.random((rounds, 6))) * (rng.random((rounds, 6)) < 0.7)
        counts = np.full(rounds, 4)
        if kind == "changing action sets":
            counts = rng.integers(1, 7, size=rounds)
        self.costs = [whole(rng.random(count)) for count in counts]
        if self.fixed:
            self.features, self.sets = None, [None] * rounds
        elif kind == "action features":
            self.features = numbers(rng.random((4, 3)))
            self.sets = [self.features] * rounds
        else:
            self.sets = [numbers(rng.random((count, 3))) for count in counts]
            self.features = np.stack(self.sets) if len(set(counts.tolist())) == 1 else self.sets

    def learner(self, interactions):
        return FastCB(
            4 if self.fixed else None, cost_range=(0, 3), interactions=interactions, learning_rate=0.1, seed=1
        )

    def workspace(self, interactions):
        door = "--cb_explore 4" if self.fixed else "--cb_explore_adf"
        flags = "".join(f" --interactions {pair}" for pair in interactions)
        return Workspace(f"{door} --fastcb --quiet --cb_min_cost 0 --cb_max_cost 3 -l 0.1{flags}")

    def text(self, i, action=None):
        """The event as text, with the cost of an action or without."""
        label = "" if action is None else f"0:{self.costs[i][action]}:0.5 "
        context = line("x", self.contexts[i])
        if self.fixed:
            return context if action is None else f"{action + 1}{label[1:]}{context}"
        lines = [line("a", row) for row in self.sets[i]]
        if action is not None:
            lines[action] = label + lines[action]
        return [f"shared {context}", *lines]


def three_ways(stream, interactions):
    """Yields, for each round, the pmf of text, that of `decide`, and what `simulate` played, with its probability."""
    bandit, vw = stream.learner(interactions), stream.workspace(interactions)
    costs = np.stack(stream.costs) if not isinstance(stream.features, list) else stream.costs
    simulated = bandit.simulate(stream.contexts, costs, action_features=stream.features)
    for i, action in enumerate(simulated.actions[0].tolist()):
        decision = bandit.decide(stream.contexts[i], stream.sets[i])
        yield np.array(vw.predict(stream.text(i))), decision.pmf, action, simulated.probabilities[0, i]
        vw.learn(stream.text(i, action))
        if i % 2:  # both ways to learn
            bandit.learn_event(
                stream.contexts[i], action, float(stream.costs[i][action]), action_features=stream.sets[i]
            )
        else:
            bandit.partial_fit(
                stream.contexts[i : i + 1], [action], stream.costs[i][[action]], action_features=stream.sets[i]
            )


@ROUNDS
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("numbers", "interactions"), [(fractions, ()), (fractions, ("xa",)), (fractions, ("xx", "xxx")), (whole, ("xa",))]
)
def test_text_and_arrays_and_simulation_agree_at_every_round(kind, numbers, interactions, rounds):
    if kind == "fixed actions" and interactions == ("xa",):
        interactions = ("xx",)
    worst = largest = 0.0
    for text, array, action, probability in three_ways(Stream(kind, numbers, rounds), interactions):
        worst = max(worst, abs(text - array).max(), abs(array[action] - probability))
        largest = max(largest, array.max() - array.min())
    assert worst <= 1e-6
    assert largest > 0.3  # something was learned
