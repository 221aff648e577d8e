"""Properties of the learner: the same numbers give the same probabilities, whatever holds them."""

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from properties import FLOATS, PROFILE, SMALL, learned, tables
from vw_fastcb import FastCB

WHOLE = st.integers(0, 3).map(float)
BITS = st.integers(0, 1).map(float)


# The same numbers in another layout. None of them may change a bit of the result.

LAYOUTS = {
    "C order": np.ascontiguousarray,
    "F order": np.asfortranarray,
    "every second column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "every second row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "both axes reversed": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "a part of a larger one": lambda x: np.pad(x, 1)[1:-1, 1:-1],
    "read-only": lambda x: np.frombuffer(x.tobytes(), dtype=x.dtype).reshape(x.shape),
}

SPARSE = {
    "csr": scipy.sparse.csr_matrix,
    "csr array": scipy.sparse.csr_array,
    "csc": scipy.sparse.csc_matrix,
    "coo": scipy.sparse.coo_matrix,
    "lil": scipy.sparse.lil_matrix,
    "zeros stored": lambda x: scipy.sparse.csr_matrix((x.ravel(), np.indices(x.shape).reshape(2, -1)), shape=x.shape),
    "float32": lambda x: scipy.sparse.csr_matrix(x.astype(np.float32)),
    "64-bit indices": lambda x: with_long_indices(scipy.sparse.csr_matrix(x)),
    "columns not in order": lambda x: scipy.sparse.csr_matrix(x[:, ::-1])[:, ::-1],
    "columns twice": lambda x: with_halves(scipy.sparse.csr_matrix(x)),
}


def with_long_indices(csr):
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return csr


def with_halves(csr):
    """Each value as two that add up to it, which scipy allows."""
    return scipy.sparse.csr_matrix((np.repeat(csr.data / 2, 2), np.repeat(csr.indices, 2), csr.indptr * 2), csr.shape)


FRAMES = {
    "pandas": pd.DataFrame,
    "pandas, float32": lambda x: pd.DataFrame(x.astype(np.float32)),
    "pandas, columns reversed": lambda x: pd.DataFrame(x).iloc[:, ::-1],
    "pandas, zeros missing": lambda x: pd.DataFrame(np.where(x == 0, np.nan, x)),
    "polars": lambda x: pl.DataFrame({str(j): x[:, j] for j in range(x.shape[1])}),
    "polars, zeros null": lambda x: pl.DataFrame({str(j): [v or None for v in x[:, j]] for j in range(x.shape[1])}),
    "dictionaries": lambda x: [{str(j): value for j, value in enumerate(row)} for row in x.tolist()],
    "dictionaries, reversed, without zeros": lambda x: [
        {j: row[j] for j in reversed(range(len(row))) if row[j]} for row in x.tolist()
    ],
}


ALL_FORMS = [*LAYOUTS.values(), *SPARSE.values(), *FRAMES.values()]


def dtypes_that_hold(table):
    kinds = ["float16", "float32", "float64", "longdouble", ">f8", "int8", "int64", "uint16", ">i4", "bool"]
    return [np.dtype(kind) for kind in kinds if np.array_equal(table, table.astype(kind).astype(np.float64))]


def forms_of(table):
    for dtype in dtypes_that_hold(table):
        for layout in LAYOUTS.values():
            yield layout(table.astype(dtype))
    yield table.tolist()
    for form in (*SPARSE.values(), *FRAMES.values()):
        yield form(table)


def assert_pmfs(pmfs):
    assert np.isfinite(pmfs).all()
    assert (pmfs >= 0).all()
    np.testing.assert_allclose(pmfs.sum(axis=-1), 1, rtol=0, atol=1e-6)


@PROFILE
@given(st.one_of(tables(FLOATS), tables(WHOLE), tables(BITS)))
def test_contexts_in_any_form_give_the_same_pmf(contexts):
    bandit = learned(contexts)
    expected = bandit.predict_proba(contexts)
    assert_pmfs(expected)
    for form in forms_of(contexts):
        np.testing.assert_array_equal(bandit.predict_proba(form), expected)
    np.testing.assert_array_equal([bandit.decide(row).pmf for row in contexts], expected)
    for form in ALL_FORMS:
        np.testing.assert_array_equal(bandit.decide(form(contexts[-1:])).pmf, expected[-1])


@PROFILE
@given(st.one_of(tables(FLOATS), tables(WHOLE)), st.data())
def test_contexts_in_any_form_teach_the_same(contexts, data):
    rows = len(contexts)
    actions = np.array(data.draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)))
    costs = np.array(data.draw(st.lists(st.floats(0, 1, width=32), min_size=rows, max_size=rows)))
    expected = FastCB(3, **SMALL).partial_fit(contexts, actions, costs).predict_proba(contexts)
    form = data.draw(st.sampled_from(list(forms_of(contexts))))
    many = FastCB(3, **SMALL).partial_fit(form, actions, costs)
    np.testing.assert_array_equal(many.predict_proba(contexts), expected)
    one_by_one, decided = FastCB(3, **SMALL), FastCB(3, **SMALL)
    form = data.draw(st.sampled_from([lambda x: x[0], *ALL_FORMS]))
    for i, (action, cost) in enumerate(zip(actions, costs, strict=True)):
        row = form(contexts[i : i + 1])
        one_by_one.learn_event(row, action, cost)
        decided.learn(dataclasses.replace(decided.decide(row), action=int(action)), float(cost))
    np.testing.assert_array_equal(one_by_one.predict_proba(contexts), expected)
    np.testing.assert_array_equal(decided.predict_proba(contexts), expected)


NAMED = st.lists(
    st.fixed_dictionaries(
        {
            "age": st.one_of(st.none(), FLOATS),
            "member": st.one_of(st.none(), st.booleans()),
            "color": st.one_of(st.none(), st.sampled_from(["red", "deep blue", "", "1", "é"])),
        }
    ),
    min_size=1,
    max_size=6,
)


@PROFILE
@given(NAMED)
def test_frames_and_dictionaries_with_words_and_gaps_give_the_same_pmf(people):
    bandit = learned(people)
    expected = bandit.predict_proba(people)
    types = {"age": pl.Float64, "member": pl.Boolean, "color": pl.String}
    forms = [
        pd.DataFrame(people),
        pd.DataFrame(people).astype({"age": "Float64", "member": "boolean", "color": "category"}),
        pl.DataFrame(people, schema=types),
        pl.DataFrame(people, schema=types).select("color", "age", "member").cast({"color": pl.Categorical}),
        [{name: value for name, value in reversed(person.items()) if value is not None} for person in people],
    ]
    for form in forms:
        np.testing.assert_array_equal(bandit.predict_proba(form), expected)
        np.testing.assert_array_equal(learned(form).predict_proba(people), expected)
    np.testing.assert_array_equal([bandit.decide(person).pmf for person in people], expected)


@PROFILE
@given(tables(FLOATS), st.data())
def test_action_features_in_any_form_give_the_same_pmf(contexts, data):
    rows = len(contexts)
    sets = data.draw(arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=4), elements=FLOATS))
    bandit = FastCB(**SMALL).partial_fit(contexts, [0] * rows, [1.0] * rows, action_features=sets)
    expected = bandit.predict_proba(contexts, sets)
    assert expected.shape == (rows, len(sets))
    assert_pmfs(expected)
    for layout in LAYOUTS.values():
        for dtype in (np.float32, np.float64):
            form = layout(sets.astype(dtype))
            np.testing.assert_array_equal(bandit.predict_proba(contexts, form), expected)
            np.testing.assert_array_equal(bandit.predict_proba(contexts, np.stack([form] * rows)), expected)
            np.testing.assert_array_equal(bandit.predict_proba(contexts, [form] * rows), expected)
            np.testing.assert_array_equal(bandit.decide(contexts[0], form).pmf, expected[0])
    np.testing.assert_array_equal(bandit.predict_proba(contexts, sets.tolist()), expected)


@PROFILE
@given(st.integers(1, 40), st.floats(0, 1), st.sampled_from(["loss", "reward"]), tables(st.floats(-1e30, 1e30)))
def test_every_pmf_is_one_and_keeps_the_floor(actions, epsilon, objective, contexts):
    bandit = FastCB(actions, epsilon=epsilon, objective=objective, **SMALL)
    for chosen, cost in ((0, 0.0), (actions - 1, 1.0)):
        bandit.partial_fit(contexts, [chosen] * len(contexts), [cost] * len(contexts))
        pmfs = bandit.predict_proba(contexts)
        assert_pmfs(pmfs)
        assert pmfs.min() >= epsilon / actions - 1e-6
        drawn = bandit.decide_many(contexts)
        assert ((drawn.actions >= 0) & (drawn.actions < actions)).all()
        np.testing.assert_array_equal(drawn.pmf, pmfs)


@PROFILE
@given(tables(FLOATS, rows=(1, 1)), tables(FLOATS, rows=(2, 4)))
def test_a_decision_is_its_own(context, actions):
    """What the caller does to the arrays afterwards does not reach a decision."""
    bandit, twin = FastCB(**SMALL), FastCB(**SMALL)
    kept_context, kept_actions = context[0].copy(), actions.copy()
    decision = bandit.decide(context[0], actions, event_id=1)
    context += 1
    actions += 1
    bandit.decide(context[0], actions)
    bandit.learn(decision, 1.0)
    twin.learn_event(kept_context, decision.action, 1.0, action_features=kept_actions)
    np.testing.assert_array_equal(
        bandit.predict_proba(kept_context[None], kept_actions), twin.predict_proba(kept_context[None], kept_actions)
    )
