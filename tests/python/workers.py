"""What other processes do with a learner they are given. Little is imported here: a spawned process imports it all."""

import numpy as np

from vw_fastcb import FastCB

CONTEXT = np.ones(3)
WIDTH = 6
ACTIONS = np.eye(4)


def taught(n_actions=4, **params):
    rng = np.random.default_rng(0)
    features = None if n_actions is not None else ACTIONS
    bandit = FastCB(n_actions, **{"seed": 1, **params})
    return bandit.partial_fit(rng.random((50, WIDTH)), rng.integers(4, size=50), rng.random(50), None, features)


def use(bandit):
    """What a worker does with a learner it was handed; returns numbers that tell learners apart."""
    features = ACTIONS if bandit.n_actions is None else None
    rows = np.linspace(0, 1, 20 * WIDTH).reshape(20, WIDTH)
    for row in rows:
        bandit.learn(bandit.decide(row, features), 0.5)
    return bandit.predict_proba(rows, features)


def drawn(bandit, count=40):
    return [bandit.decide(CONTEXT).action for _ in range(count)]
