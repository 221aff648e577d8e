"""What the property tests share: a stable profile, tables of numbers, a learner with an opinion."""

import os

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vw_fastcb import FastCB


def examples(few: int, many: int) -> int:
    """How many examples a property gets in `make test`, and in `make test-all`: conftest.py tells them apart."""
    return many if os.environ.get("VW_FASTCB_MANY_EXAMPLES") else few


# Derandomised: CI sees the same examples on every run.
PROFILE = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=examples(12, 100),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
SMALL = {"bits": 10, "learning_rate": 2.0, "seed": 1}

FLOATS = st.floats(-4, 4, width=32)


def tables(elements, rows=(1, 6)):
    shapes = st.tuples(st.integers(*rows), st.integers(1, 5))
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=elements))


def learned(contexts):
    """A learner that has seen the contexts, and so has an opinion on them."""
    rng = np.random.default_rng(0)
    bandit = FastCB(3, **SMALL)
    for _ in range(max(10 // len(contexts), 1)):
        bandit.partial_fit(contexts, rng.integers(3, size=len(contexts)), rng.random(len(contexts)))
    return bandit
