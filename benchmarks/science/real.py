"""Real data for `never_behind.py`, read from a folder that you name with --data or in FASTCB_SCIENCE_DATA.

Nothing of them is kept here: both have licences of their own. Files, as comma-separated values, gzipped:

- `books_ratings` (user, item, rating), `books_items` (item, author, year, publisher), `books_users` (user, country,
  age): a reader at random, and ten of the books they rated, whose features are words. Reward 1 where the rating is 8 or
  more. 10,000 rounds.
- `banking77` (text, category): questions and their 77 intents, shuffled. The right intent costs 0, any other 1. As
  words (TF-IDF of those that occur in two questions), and as 64, 256 and 768 columns of latent semantic analysis: as
  they are, times ten, and rotated at random, which keeps all distances.

Seeds below 100 play one half of the readers and of the questions, those below 200 the other half, further ones all.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from problems import Floats, Problem
from seeds import in_reporting_half, plays

FOLDER = "FASTCB_SCIENCE_DATA"
WIDTHS = (64, 256, 768)
FORMS = ("as they are", "times ten", "rotated")
BANKING = {"banking, words": (0, "")} | {
    f"banking, {width} columns {form}": (width, form) for width in WIDTHS for form in FORMS
}
GAMES = ("books", *BANKING)


def folder() -> Path:
    """Where the data are."""
    if not (name := os.environ.get(FOLDER)):
        raise SystemExit(f"real data need a folder: name it with --data or in {FOLDER}.")
    return Path(name)


def _rows(name: str) -> list[dict[str, str]]:
    with gzip.open(folder() / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# Books


@lru_cache(maxsize=1)
def _books() -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]], dict[str, list[tuple[str, float]]]]:
    """Features of items and of readers, and what each reader rated."""
    items = {}
    for row in _rows("books_items"):
        decade = f"{row['year'][:3]}0s" if row["year"].isdigit() and len(row["year"]) == 4 else ""
        features = {"id": row["item"], "author": row["author"], "decade": decade, "publisher": row["publisher"]}
        items[row["item"]] = {name: value for name, value in features.items() if value}
    readers = {}
    for row in _rows("books_users"):
        age = f"{int(float(row['age'])) // 10}0s" if row["age"] else ""
        readers[row["user"]] = {name: value for name, value in (("country", row["country"]), ("age", age)) if value}
    rated: dict[str, list[tuple[str, float]]] = {}
    for row in _rows("books_ratings"):
        rated.setdefault(row["user"], []).append((row["item"], float(float(row["rating"]) >= 8)))
    return items, readers, rated


def books(seed: int, rounds: int = 10_000) -> Problem:
    """A reader at random, ten of the books that they rated."""
    items, readers, rated = _books()
    rng = np.random.default_rng(seed)
    half = sorted(r for r in rated if plays(seed, in_reporting_half(r)) and len(rated[r]) >= 10)
    contexts, tables, outcomes = [], [], np.empty((rounds, 10))
    for t in range(rounds):
        reader = half[rng.integers(len(half))]
        offered = [rated[reader][k] for k in rng.choice(len(rated[reader]), 10, replace=False)]
        contexts.append(readers[reader])
        tables.append([items[item] for item, _ in offered])
        outcomes[t] = [liked for _, liked in offered]
    return Problem(contexts, outcomes, outcomes, "reward", tables)


# Bank questions


@lru_cache(maxsize=1)
def _questions() -> tuple[Any, NDArray[np.int64], NDArray[np.bool_]]:
    """TF-IDF, intents, and which half each belongs to."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415, slow to import

    rows = _rows("banking77")
    texts = [row["text"] for row in rows]
    intents = np.unique([row["category"] for row in rows], return_inverse=True)[1]
    words = scipy.sparse.csr_array(TfidfVectorizer(min_df=2).fit_transform(texts))
    return words, intents, np.array([in_reporting_half(text) for text in texts])


@lru_cache(maxsize=1)
def _latent() -> Floats:
    """Latent semantic analysis, kept with the user's caches: it takes a while."""
    from sklearn.decomposition import TruncatedSVD  # noqa: PLC0415, slow to import

    words = _questions()[0]
    version = hashlib.sha256(words.data.tobytes() + words.indices.tobytes()).hexdigest()[:16]
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    path = caches / "vw-fastcb" / f"science-lsa-{version}.npy"
    if not path.exists():
        columns = TruncatedSVD(max(WIDTHS), n_iter=7, random_state=0).fit_transform(words)
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(f".{os.getpid()}.npy")
        np.save(new, columns)
        new.replace(path)
    return np.asarray(np.load(path), np.float64)


def banking(name: str, seed: int) -> Problem:
    """The questions of a half, in an order of their own for each seed."""
    words, intents, halves = _questions()
    width, form = BANKING[name]
    rng = np.random.default_rng(seed)
    order = rng.permutation([row for row, half in enumerate(halves) if plays(seed, half)])
    contexts: Any
    if width == 0:
        contexts = [words[[row]] for row in order]
    else:
        contexts = _latent()[order, :width]
        if form == "times ten":
            contexts = 10 * contexts
        elif form == "rotated":
            contexts = contexts @ np.linalg.qr(rng.normal(size=(width, width)))[0]
    costs = np.ones((len(order), intents.max() + 1))
    costs[np.arange(len(order)), intents[order]] = 0
    return Problem(contexts, costs, costs, "cost")


def real(name: str, seed: int) -> Problem:
    return books(seed) if name == "books" else banking(name, seed)
