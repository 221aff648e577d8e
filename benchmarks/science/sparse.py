"""Text, and actions with features: where VW's gradient step is at home. Untuned against the best of its steps.

    python benchmarks/science/sparse.py [--seeds 3]

Text is drawn, so that this runs anywhere: 20,000 words with Zipf's frequencies, 20 classes that prefer some of them,
rows of TF-IDF. News: ten articles out of 200, and a reader, each with six numbers whose products matter
(`-q UA`). Offers: raw columns (ages, incomes, prices) on both sides, crossed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from vw_fastcb import FastCB

STEPS = (0.1, 0.5, 1, 3, 10)
WORDS, CLASSES, DOCUMENTS = 20_000, 20, 10_000
EVENTS = 6000
Floats = NDArray[np.float64]


def text(
    rng: np.random.Generator,
    preferred: float,
    taste: float,
    *,
    words: int = WORDS,
    count: int = CLASSES,
    documents: int = DOCUMENTS,
) -> tuple[scipy.sparse.csr_array, NDArray[np.int64]]:
    """Rows of TF-IDF and their classes. A class prefers a share of the words, by a factor that is log-normal."""
    frequencies = 1 / np.arange(1, words + 1) ** 1.05
    frequencies /= frequencies.sum()
    factors = np.exp(rng.normal(0, taste, (count, words)) * (rng.random((count, words)) < preferred))
    topics = frequencies * factors
    topics = 0.6 * topics / topics.sum(axis=1, keepdims=True) + 0.4 * frequencies
    classes = rng.integers(count, size=documents)
    lengths = np.clip(rng.lognormal(4.3, 0.6, documents), 15, 600).astype(int)
    drawn = [rng.choice(words, size, p=topics[one]) for size, one in zip(lengths, classes, strict=True)]
    rows = np.repeat(np.arange(documents), lengths)
    counts = scipy.sparse.csr_array((np.ones(len(rows)), (rows, np.concatenate(drawn))), shape=(documents, words))
    documents_with = np.asarray((counts > 0).sum(axis=0)).ravel()
    weighted = counts * (np.log((1 + documents) / (1 + documents_with)) + 1)
    lengths_of_rows = np.sqrt(np.asarray(weighted.power(2).sum(axis=1)).ravel())
    return scipy.sparse.csr_array(scipy.sparse.diags_array(1 / lengths_of_rows) @ weighted), classes


def news(rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Readers, articles on offer, and the chance that each is not read."""
    readers, pool = rng.normal(size=(EVENTS, 6)), rng.normal(size=(200, 6))
    taste = rng.normal(size=(6, 6)) / np.sqrt(6)
    offered = np.argsort(rng.random((EVENTS, 200)), axis=1)[:, :10]
    liking = np.einsum("nd,de,nae->na", readers, taste, pool[offered]) - 1
    return readers, pool[offered], 1 / (1 + np.exp(1.5 * liking))


def offers(rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Customers (age, income, member or not), offers (price, quality, distance), the chance that each is declined."""
    age = rng.normal(45, 15, EVENTS)
    customers = np.column_stack([age, rng.lognormal(10.8, 0.5, EVENTS), rng.integers(0, 2, EVENTS)])
    price = rng.lognormal(5, 1, (EVENTS, 8))
    quality = rng.integers(1, 6, (EVENTS, 8))
    distance = rng.uniform(0, 1000, (EVENTS, 8))
    older = (age[:, np.newaxis] - 45) / 15
    liking = -0.8 * (np.log(price) - 5) + 0.5 * (quality - 3) * older + 0.3 * (distance - 500) / 300 - 1
    return customers, np.stack([price, quality, distance], axis=2), 1 / (1 + np.exp(liking))


def loss_on_text(seed: int, preferred: float, taste: float, **settings: float) -> float:
    rows, classes = text(np.random.default_rng(seed), preferred, taste)
    return float(FastCB(CLASSES, seed=seed, **settings).simulate(rows, classes).values.mean())


def regret(make: object, seed: int, **settings: float) -> float:
    rng = np.random.default_rng(seed)
    contexts, features, expected = make(rng)  # type: ignore[operator]
    costs = (rng.random(expected.shape) < expected).astype(float)
    actions = FastCB(seed=seed, interactions=("xa",), **settings).simulate(contexts, costs, action_features=features)
    chosen = expected[np.arange(EVENTS), actions.actions[0]]
    return float(np.mean(chosen - expected.min(axis=1)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    problems = {
        "text, strong topics (loss)": lambda seed, **given: loss_on_text(seed, 0.1, 1.5, **given),
        "text, weak topics (loss)": lambda seed, **given: loss_on_text(seed, 0.05, 1.0, **given),
        "news, `-q UA` (regret)": lambda seed, **given: regret(news, seed, **given),
        "offers, raw columns (regret)": lambda seed, **given: regret(offers, seed, **given),
    }
    settings: dict[str, dict[str, float]] = {"newton": {}} | {
        f"gd, step {step}": {"learning_rate": step} for step in STEPS
    }
    lines = [
        f"# Text and actions with features, {seeds} seeds",
        "",
        f"Made by `python benchmarks/science/sparse.py --seeds {seeds}`.",
        "",
        "| oracle | " + " | ".join(problems) + " |",
        "|---|" + "---|" * len(problems),
    ]
    for name, given in settings.items():
        cells = []
        for play in problems.values():
            found = [play(seed, **given) for seed in range(seeds)]
            cells.append(f"{np.mean(found):.4f} ± {np.std(found) / np.sqrt(seeds):.4f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    path = Path(__file__).parent / "results" / "sparse.md"
    path.with_suffix(".new").write_text("\n".join(lines) + "\n")
    path.with_suffix(".new").replace(path)


if __name__ == "__main__":
    main()
