"""What a learner remembers of rows: a decision may leave no trace, and rows may be remembered without deciding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from vw_fastcb import FastCB
from vw_fastcb.learner.engine import Engine

ARRAY = (np.array([1.0, 2.0]), np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]]))
DICTS = ({"age": 3, "city": "Rome"}, [{"price": 2.0}, {"kind": "new"}])
FRAME = (pd.Series({"age": 3.0, "city": "Rome"}), pd.DataFrame({"price": [2.0, 3.0], "kind": ["new", "old"]}))
SPARSE = (scipy.sparse.csr_array([[0.0, 2.0]]), scipy.sparse.csr_array([[1.0, 0.0], [0.0, 1.0]]))
FORMS = {"arrays": ARRAY, "dictionaries": DICTS, "frames": FRAME, "sparse": SPARSE}
ROWS = pytest.mark.parametrize("rows", FORMS.values(), ids=FORMS)
DOORS = pytest.mark.parametrize("n_actions", [2, None])


def engine_of(n_actions: int | None, **params: Any) -> Engine:
    bandit = FastCB(n_actions, seed=1, bits=8, **params)
    return bandit._start()


def features(engine: Engine, rows: tuple[Any, Any]) -> Any:
    return rows[1] if engine.settings.n_actions is None else None


def columns(engine: Engine) -> list[Any]:
    readers = (engine.learner.contexts, engine.learner.actions)
    return [(reader.columns, list(reader.kinds.items())) for reader in readers]


def as_lists(made: tuple[Any, ...]) -> list[Any]:
    return [one.tolist() if isinstance(one, np.ndarray) else repr(one) for one in made]


@ROWS
@DOORS
@pytest.mark.parametrize("flags", ["", "--coin", "--nn 2", "--lrq xa2", "--freegrad"])
@pytest.mark.parametrize("learned", [0, 3])
def test_a_decision_that_is_not_remembered_leaves_no_trace(
    n_actions: int | None, rows: Any, flags: str, learned: int
) -> None:
    engine, twin = engine_of(n_actions, vw_args=flags), engine_of(n_actions, vw_args=flags)
    for one in (engine, twin):
        for _ in range(learned):
            one.learner.learn_one({"7": 1.0}, [{"8": 1.0}] if n_actions is None else None, 0, 0.5, 1.0, False)
    before, known = engine.model(), columns(engine)
    made = engine.learner.decide(rows[0], features(engine, rows), None, 0.5, remember=False)
    assert engine.model() == before
    assert columns(engine) == known
    assert engine.is_untouched() == (learned == 0)
    assert as_lists(made) == as_lists(twin.learner.decide(rows[0], features(twin, rows), None, 0.5))


@DOORS
def test_a_decision_that_is_not_remembered_is_held_to_what_was(n_actions: int | None) -> None:
    engine = engine_of(n_actions)
    engine.learner.decide(*ARRAY, None, 0.5)
    for context, actions in ((np.ones(3), ARRAY[1]), (np.array([1, np.nan]), ARRAY[1]), ({"name": 1}, ARRAY[1])):
        with pytest.raises(ValueError, match="contexts"):
            engine.learner.decide(context, actions, None, 0.5, remember=False)
    if n_actions is None:
        with pytest.raises(ValueError, match="action features"):
            engine.learner.decide(ARRAY[0], np.ones((2, 4)), None, 0.5, remember=False)


@ROWS
@DOORS
def test_a_row_is_remembered_as_a_decision_remembers_it(n_actions: int | None, rows: Any) -> None:
    engine, twin = engine_of(n_actions), engine_of(n_actions)
    draws = engine.learner.draws
    engine.learner.remember_one(rows[0], features(engine, rows))
    twin.learner.decide(rows[0], features(twin, rows), None, 0.5)
    assert columns(engine) == columns(twin) != [(None, []), (None, [])]
    assert engine.model() == twin.model()
    assert engine.learner.events == 0
    assert engine.learner.draws == draws


def test_rows_are_remembered_in_the_order_in_which_they_are_given_to_be() -> None:
    engine = engine_of(None)
    first, second = ({"a": 1}, [{"p": 1}]), ({"b": "x"}, [{"q": "y"}, {"p": 2}])
    for context, actions in (first, second):
        engine.learner.decide(context, actions, None, 0.5, remember=False)
    for context, actions in (second, first):
        engine.learner.remember_one(context, actions)
    assert list(engine.learner.contexts.kinds) == ["b", "a"]
    assert list(engine.learner.actions.kinds) == ["q", "p"]


@pytest.mark.parametrize("alone", [False, True])
def test_nothing_is_remembered_of_a_context_whose_actions_are_refused(alone: bool) -> None:
    engine = engine_of(None)
    for bad in ({"p": np.inf}, {"p": []}, 3.0):
        with pytest.raises((ValueError, TypeError)):
            engine.learner.remember_one({"a": 1}, bad if alone else [{"p": 1}, bad], alone)
    with pytest.raises(ValueError, match="no row"):
        engine.learner.remember_one({"a": 1}, np.ones((0, 3)))
    assert engine.is_untouched()
    with pytest.raises(ValueError, match="finite"):
        engine.learner.remember_one({"a": np.inf}, [{"p": 1}])
    assert engine.is_untouched()


def test_the_features_of_one_action_may_be_remembered_alone() -> None:
    engine = engine_of(None)
    engine.learner.remember_one({"a": 1}, {"p": 1, "q": "new"}, alone=True)
    assert engine.learner.actions.kinds == {"p": "number", "q": "text"}
    with pytest.raises(ValueError, match="text for 'p', which was a number before"):
        engine.learner.remember_one({"a": 1}, {"p": "text"}, True)
