"""Arrays of any type and sparse matrices of any kind: the same numbers, the same probabilities."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from vw_fastcb import FastCB


@pytest.mark.parametrize(
    "form",
    [
        np.array([[1, 0, 2], [0, 3, 1]]),
        np.array([[1, 0, 2], [0, 3, 1]], dtype=np.uint8),
        np.array([[1, 0, 2], [0, 3, 1]], dtype=object),
        np.array([[1, 0, 2], [0, 3, 1]], dtype=">f8"),
        np.array([[1, 0, 2], [0, 3, 1]], dtype=np.float16),
        [[True, 0, 2.0], [False, 3, 1]],
        scipy.sparse.csr_matrix([[1, 0, 2], [0, 3, 1]]),
        scipy.sparse.csc_array(np.array([[1.0, 0, 2], [0, 3, 1]])),
        np.array([[1.0, 0, 2], [0, 3, 1]]).view(np.matrix),  # np.matrix() warns, unless scipy came in just before
    ],
)
def test_numbers_of_any_type_are_numbers(form):
    rows = np.array([[1.0, 0, 2], [0, 3, 1]])
    bandit = FastCB(2).partial_fit(rows, [0, 1], [0, 1])
    np.testing.assert_array_equal(bandit.predict_proba(form), bandit.predict_proba(rows))
    np.testing.assert_array_equal(bandit.decide(form[:1]).pmf, bandit.predict_proba(rows)[0])


SPARSE = [
    scipy.sparse.csr_matrix,
    scipy.sparse.csr_array,
    scipy.sparse.csc_matrix,
    scipy.sparse.coo_array,
    lambda rows: scipy.sparse.csr_matrix(rows.astype(np.float32)),
    lambda rows: scipy.sparse.csr_matrix(rows, dtype=int),
]


@pytest.mark.parametrize("form", SPARSE)
@pytest.mark.parametrize("n_actions", [3, None])
def test_sparse_rows_one_at_a_time(form, n_actions):
    rows = np.array([[1.0, 0, 2], [0, 0, 0], [0, 3, 1]])
    features = None if n_actions else np.array([[0.0, 1], [2, 0], [3, 0]])
    dense, sparse = (FastCB(n_actions, seed=1) for _ in range(2))
    for row in [*rows, *rows]:
        one = dense.decide(row, features)
        other = sparse.decide(form(row[np.newaxis]), None if n_actions else form(features))
        assert one.action == other.action
        np.testing.assert_array_equal(one.pmf, other.pmf)
        dense.learn(one, 0.25)
        sparse.learn(pickle.loads(pickle.dumps(other)), 0.25)
        dense.learn_event(row, 1, 0.5, action_features=features)
        sparse.learn_event(form(row[np.newaxis]), 1, 0.5, action_features=None if n_actions else form(features))
    assert np.ptp(dense.predict_proba(rows, features)) > 0.01


def test_an_entry_that_stands_twice_is_a_sum_and_the_matrix_is_left_alone():
    dense = np.array([[1.0, 0, 2]])
    twice = scipy.sparse.csr_matrix(([2.0, 0.25, 0.75], [2, 0, 0], [0, 3]), shape=(1, 3))
    bandits = [FastCB(3, seed=1) for _ in range(3)]
    for _ in range(3):
        bandits[0].learn(bandits[0].decide(dense[0]), 0.25)
        bandits[1].learn(bandits[1].decide(twice), 0.25)
        bandits[2].partial_fit(twice, [bandits[2].decide(twice).action], [0.25])
    for other in bandits[1:]:
        np.testing.assert_array_equal(other.predict_proba(dense), bandits[0].predict_proba(dense))
    assert twice.indices.tolist() == [2, 0, 0]


def test_a_row_of_a_sparse_array_has_one_dimension():
    rows = np.array([[1.0, 0, 2], [0, 3, 1]])
    bandit = FastCB(3).partial_fit(rows, [0, 1], [0, 1])
    one = scipy.sparse.csr_array(rows)[1]
    assert one.ndim == 1
    np.testing.assert_array_equal(bandit.decide(one).pmf, bandit.decide(rows[1]).pmf)
    with pytest.raises(ValueError, match=r"contexts have shape \(3,\); expected \(n, d\)"):
        bandit.predict_proba(one)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda csr: csr.data.__setitem__(0, np.nan), "the value nan in row 0, column 0"),
        (lambda csr: csr.indices.__setitem__(0, 7), "points outside itself"),
        (lambda csr: csr.indices.__setitem__(0, -1), "points outside itself"),
        (lambda csr: csr.indptr.__setitem__(1, 9), "points outside itself"),
    ],
)
def test_a_broken_sparse_row_is_refused(change, message):
    bandit = FastCB(3).partial_fit(np.eye(3), [0, 1, 2], [0, 1, 0])
    row = scipy.sparse.csr_matrix(np.array([[1.0, 0, 2]]))
    change(row)
    for use in (lambda: bandit.decide(row), lambda: bandit.learn_event(row, 0, 0.5), lambda: bandit.predict_proba(row)):
        with pytest.raises(ValueError, match=message):
            use()
    assert bandit.events_ == 3


def test_a_sparse_matrix_of_actions():
    features = np.array([[1.0, 0], [0, 2], [3, 4]])
    bandit = FastCB().partial_fit(np.ones((3, 2)), [0, 1, 2], [0, 0.5, 1], action_features=features)
    sparse = scipy.sparse.csr_matrix(features)
    np.testing.assert_array_equal(
        bandit.predict_proba(np.ones((2, 2)), sparse), bandit.predict_proba(np.ones((2, 2)), features)
    )
    np.testing.assert_array_equal(
        bandit.predict_proba(np.ones((2, 2)), [sparse, sparse]), bandit.predict_proba(np.ones((2, 2)), features)
    )
    decision = bandit.decide(np.ones(2), sparse)
    twin = pickle.loads(pickle.dumps(bandit))
    bandit.learn(decision, 0.5)
    twin.learn_event(np.ones(2), decision.action, 0.5, action_features=features)
    np.testing.assert_array_equal(
        bandit.predict_proba(np.ones((1, 2)), features), twin.predict_proba(np.ones((1, 2)), features)
    )


@pytest.mark.parametrize("n_actions", [3, None])
def test_an_entry_that_stands_twice_is_a_sum_in_many_decisions_and_in_what_they_keep(n_actions):
    twice = scipy.sparse.csr_matrix((np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), (2, 3))
    sums = np.array([[0.0, 3, 0], [5, 0, 0]])
    actions = {} if n_actions else {"action_features": np.eye(2)}
    learnt = ([[0.0, 3, 1]] * 20, [1, 0] * 10, [0, 1] * 10)
    bandit = FastCB(n_actions).partial_fit(*learnt, **({"action_features": [np.eye(2)] * 20} if actions else {}))
    events = {"action_features": [np.eye(2)] * 2} if actions else {}
    many = bandit.decide_many(twice, event_ids=["a", "b"], **events)
    dense = bandit.decide_many(sums, event_ids=["a", "b"], **events)
    np.testing.assert_array_equal(many.pmf, dense.pmf)
    np.testing.assert_array_equal(many.predicted, dense.predicted)
    one = bandit.decide(twice[:1], event_id="a", **actions)
    for decision in (many[0], one):
        values, columns = decision.context
        assert (values.tolist(), columns.tolist()) == ([3.0], [1])
    assert twice.nnz == 3  # the user's matrix is left as it was
    for decision, reference in zip(many, dense, strict=True):
        assert (decision.action, decision.probability) == (reference.action, reference.probability)


def _overwrite(table):
    """As a program that fills the same buffer again."""
    if isinstance(table, pd.DataFrame):
        table.loc[:, :] = 9.0
    elif isinstance(table, list):
        for row in table:
            row.update(a=9.0)
    elif scipy.sparse.issparse(table):
        table.data[:] = 9.0
    else:
        table[:] = 9.0


TABLES = {
    "array": np.array,
    "float32": lambda rows: np.array(rows, dtype=np.float32),
    "sparse": scipy.sparse.csr_matrix,
    "frame": lambda rows: pd.DataFrame(rows, columns=["a", "b"]),
    "dictionaries": lambda rows: [dict(zip("ab", row, strict=True)) for row in rows],
}


@pytest.mark.parametrize("form", TABLES)
@pytest.mark.parametrize("flags", [{}, {"oracle": "gd"}, {"vw_args": "--nn 2"}])
def test_many_decisions_keep_the_features_they_were_made_with(form, flags):
    rows, prices = [[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]], [[0.5, 1.0], [2.0, 0.25]]
    for actions in (None, prices):
        models = []
        for overwrites in (False, True):
            contexts = TABLES[form](rows)
            bandit = FastCB(2 if actions is None else None, seed=3, **flags)
            features = None if actions is None else TABLES[form](actions)
            decisions = bandit.decide_many(contexts, features)
            if overwrites:
                _overwrite(contexts)
                if features is not None:
                    _overwrite(features)
            bandit.learn(decisions, [0.2, 0.9, 0.4])
            bandit.learn(decisions[1], 0.1)
            models.append(bandit.to_bytes())
        assert models[0] == models[1]
