"""The worlds of `never_behind.py`: those of instances.py, and what people meet beside them.

A world is made from a seed. Costs stay costs where instances.py has costs, but clicks, which anybody would call
rewards; all others have rewards.

- **Levels.** One best action of five that are otherwise alike, 3,000 rounds, at five levels of reward from .15 / .05
  (best / others) to .95 / .85. The best action is the same for everybody. Each level once without a context (a constant
  column) and once with a context that does not matter (three kinds of visitors).
- **Catalogue.** 30 products on offer, known by id, category and price, to four segments of visitors. About 2% click.
  Every 1,000 rounds ten products are replaced by new ones.
- **Sudden, slow and weekly change.** Everything is drawn anew twice; everything drifts; two days of seven are
  different. No column tells the time.
- **Embeddings.** A visitor and ten of 200 items, each with 16, 32 or 64 numbers. How much one likes the other is a
  bilinear form of both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import instances
import numpy as np
from numpy.typing import NDArray
from problems import Floats, Problem

Whole = NDArray[np.int64]
DELAYS = (0, 100, 600)
LEVELS = ((0.15, 0.05), (0.35, 0.25), (0.55, 0.45), (0.75, 0.65), (0.95, 0.85))


def _sigmoid(logits: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-logits)))


def _draw(rng: np.random.Generator, contexts: Floats, expected: Floats) -> Problem:
    return Problem(contexts, (rng.random(expected.shape) < expected).astype(np.float64), expected, "reward")


def _visitors(rng: np.random.Generator, rounds: int, kinds: int) -> tuple[Floats, Whole]:
    """As in instances.py: each visitor is of one kind, told by a column of its own and blurred a little."""
    kind = rng.integers(kinds, size=rounds)
    return np.eye(kinds)[kind] + rng.normal(0, 0.05, (rounds, kinds)), kind


def of_costs(make: Callable[[np.random.Generator], instances.World], rng: np.random.Generator) -> Problem:
    """A world of instances.py as it is."""
    world = make(rng)
    return Problem(world.contexts, world.costs, world.expected, "cost")


def of_clicks(make: Callable[[np.random.Generator], instances.World], rng: np.random.Generator) -> Problem:
    """A world of instances.py whose costs are missed rewards."""
    world = make(rng)
    return Problem(world.contexts, 1 - world.costs, 1 - world.expected, "reward")


def level(best: float, others: float, kinds: int, rng: np.random.Generator, rounds: int = 3000) -> Problem:
    """One action of five earns `best`, the rest `others`, whoever comes."""
    contexts = _visitors(rng, rounds, kinds)[0] if kinds else np.ones((rounds, 1))
    expected = np.full((rounds, 5), others)
    expected[:, rng.integers(5)] = best
    return _draw(rng, contexts, expected)


def catalogue(rng: np.random.Generator, rounds: int = 10_000) -> Problem:
    """30 products on offer, ten of which are new after every 1,000 rounds, and clicks of about 2%."""
    offered, replaced, period, segments, categories = 30, 10, 1000, 4, 8
    products = offered + replaced * ((rounds - 1) // period)
    quality = rng.normal(0, 0.7, products)
    category = rng.integers(categories, size=products)
    price = rng.lognormal(0, 0.5, products)
    taste = rng.normal(0, 0.7, (segments, categories))
    segment = rng.integers(segments, size=rounds)
    slots = np.arange(offered)
    expected = np.empty((rounds, offered))
    tables = []
    for t in range(rounds):
        if t and t % period == 0:
            newest = offered + replaced * (t // period)
            slots = slots.copy()
            slots[rng.choice(offered, replaced, replace=False)] = np.arange(newest - replaced, newest)
        if t % period == 0:
            table = [
                {"id": f"product{p}", "category": f"category{category[p]}", "price": float(price[p])} for p in slots
            ]
        tables.append(table)
        logits = -4.2 + quality[slots] + taste[segment[t], category[slots]] - 0.5 * np.log(price[slots])
        expected[t] = _sigmoid(logits)
    contexts = [{"segment": f"segment{s}"} for s in segment]
    outcomes = (rng.random(expected.shape) < expected).astype(np.float64)
    return Problem(contexts, outcomes, expected, "reward", tables)


def sudden_change(rng: np.random.Generator, rounds: int = 9000) -> Problem:
    """Five actions, three kinds of visitors, all rewards between .1 and .9; after each third they are drawn anew."""
    contexts, kind = _visitors(rng, rounds, 3)
    rewards = rng.uniform(0.1, 0.9, (3, 3, 5))
    return _draw(rng, contexts, rewards[3 * np.arange(rounds) // rounds, kind])


def slow_change(rng: np.random.Generator, rounds: int = 10_000) -> Problem:
    """Five actions, three kinds of visitors; each reward drifts, and after 2,500 rounds a third of it is left."""
    contexts, kind = _visitors(rng, rounds, 3)
    kept = np.exp(-1 / 2500)
    logits = np.empty((rounds, 3, 5))
    logits[0] = rng.normal(0, 1.2, (3, 5))
    steps = rng.normal(0, 1.2 * np.sqrt(1 - kept**2), (rounds, 3, 5))
    for t in range(1, rounds):
        logits[t] = kept * logits[t - 1] + steps[t]
    return _draw(rng, contexts, _sigmoid(logits[np.arange(rounds), kind]))


def weekly_change(rng: np.random.Generator, rounds: int = 10_500) -> Problem:
    """Days of 150 rounds. The best of five actions earns .7, the rest .3; two days of seven it is another one."""
    contexts, kind = _visitors(rng, rounds, 3)
    weekend = np.arange(rounds) // 150 % 7 >= 5
    best = rng.integers(5, size=3)
    other = (best + rng.integers(1, 5, size=3)) % 5
    expected = np.full((rounds, 5), 0.3)
    expected[np.arange(rounds), np.where(weekend, other[kind], best[kind])] = 0.7
    return _draw(rng, contexts, expected)


def embeddings(columns: int, rng: np.random.Generator, rounds: int = 5000) -> Problem:
    """Ten of 200 items; visitors and items have as many numbers each."""
    visitors, pool = rng.normal(size=(rounds, columns)), rng.normal(size=(200, columns))
    taste = rng.normal(size=(columns, columns)) / columns
    offered = np.argsort(rng.random((rounds, 200)), axis=1)[:, :10]
    liking = np.take_along_axis(visitors @ taste @ pool.T, offered, axis=1)
    expected = _sigmoid(1.5 * liking - 0.5)
    outcomes = (rng.random(expected.shape) < expected).astype(np.float64)
    return Problem(visitors, outcomes, expected, "reward", pool[offered])


WORLDS: dict[str, Callable[[np.random.Generator], Problem]] = {
    "a safe action": partial(of_costs, instances.safe_action),
    "rare good actions": partial(of_costs, instances.rare_good_action),
    "many actions": partial(of_costs, instances.many_actions),
    "clicks": partial(of_clicks, instances.clicks),
    "a change": partial(of_costs, instances.change),
    **{f"level {best:.2f}/{others:.2f}": partial(level, best, others, 0) for best, others in LEVELS},
    **{f"level {best:.2f}/{others:.2f}, kinds": partial(level, best, others, 3) for best, others in LEVELS},
    "catalogue": catalogue,
    "sudden change": sudden_change,
    "slow change": slow_change,
    "weekly change": weekly_change,
    "embeddings, 16": partial(embeddings, 16),
    "embeddings, 32": partial(embeddings, 32),
    "embeddings, 64": partial(embeddings, 64),
}


def world(name: str, seed: int) -> Problem:
    return WORLDS[name](np.random.default_rng(seed))
