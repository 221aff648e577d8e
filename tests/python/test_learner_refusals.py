"""Properties of the learner: what is refused changes nothing."""

import copy
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from properties import FLOATS, PROFILE, SMALL, examples, learned
from vw_fastcb import FastCB

FEWER = settings(PROFILE, max_examples=examples(8, 50))  # every one asks for several refusals

# What must be refused: a learner of 3 actions that knows contexts of 4 columns and costs in [0, 1].

NOT_NUMBERS = st.sampled_from([np.nan, np.inf, -np.inf, 1e39, -1e300])
GOOD_ROWS = arrays(np.float64, st.tuples(st.integers(1, 4), st.just(4)), elements=FLOATS)


@st.composite
def spoiled_contexts(draw):
    rows = draw(GOOD_ROWS)
    rows[draw(st.integers(0, len(rows) - 1)), draw(st.integers(0, 3))] = draw(NOT_NUMBERS)
    return draw(st.sampled_from([rows, np.asfortranarray(rows), scipy.sparse.csr_matrix(rows), rows.tolist()]))


@st.composite
def ill_shaped_contexts(draw):
    width = draw(st.integers(0, 9).filter(lambda d: d != 4))
    rows = np.ones((draw(st.integers(1, 3)), width))
    return draw(st.sampled_from([rows, scipy.sparse.csr_matrix(rows), rows[None], np.float64(1), [["a"] * 4], None]))


@st.composite
def broken_sparse_contexts(draw):
    """Matrices that scipy hands on although their indices are wrong."""
    csr = scipy.sparse.csr_matrix(np.ones((2, 4)))
    part, place, value = draw(
        st.one_of(
            st.tuples(st.just("indices"), st.integers(0, 7), st.sampled_from([-1, 4, 2**30])),
            st.tuples(st.just("indptr"), st.integers(0, 2), st.sampled_from([-1, 9, 2**30])),
        )
    )
    getattr(csr, part)[place] = value
    return csr


def expect_refusal(bandit, call):
    before, predicted = saved(bandit), bandit.predict_proba(np.eye(4))
    events, twin = bandit.events_, copy.deepcopy(bandit)
    with pytest.raises((ValueError, TypeError)):
        call(bandit)
    assert saved(bandit) == before
    assert bandit.events_ == events
    np.testing.assert_array_equal(bandit.predict_proba(np.eye(4)), predicted)
    # Not even a draw was used up.
    drawn, expected = bandit.decide_many(np.ones((20, 4))), twin.decide_many(np.ones((20, 4)))
    np.testing.assert_array_equal(drawn.actions, expected.actions)


def saved(bandit):
    with tempfile.TemporaryDirectory() as scratch:
        bandit.save(Path(scratch) / "model")
        return (Path(scratch) / "model").read_bytes()


def bad_frames():
    good = pd.DataFrame(np.eye(4))
    return st.sampled_from(
        [
            good * np.inf,
            good.drop(columns=2),
            good.assign(other=1.0),
            good.set_axis([0, 1, 2, 2], axis=1),
            good.astype(object).map(lambda value: [value]),
            [{"0": np.inf}] * 4,
            [{"0": []}] * 4,
            [{"0": 1.0}, None, {}, {}],
        ]
    )


@FEWER
@given(st.one_of(spoiled_contexts(), ill_shaped_contexts(), broken_sparse_contexts(), bad_frames()))
def test_bad_contexts_change_nothing(contexts):
    bandit = learned(np.eye(4))
    shape = getattr(contexts, "shape", np.shape(contexts))
    rows = shape[0] if shape else 1
    expect_refusal(bandit, lambda learner: learner.partial_fit(contexts, [0] * rows, [1.0] * rows))
    expect_refusal(bandit, lambda learner: learner.predict_proba(contexts))
    expect_refusal(bandit, lambda learner: learner.decide_many(contexts))


@FEWER
@given(arrays(np.float64, 4, elements=FLOATS), st.integers(0, 3), NOT_NUMBERS, st.sampled_from(["f4", "f8"]))
def test_a_bad_context_changes_nothing(context, place, value, dtype):
    bandit = learned(np.eye(4))
    context = context.astype(dtype)
    with np.errstate(over="ignore"):
        context[place] = np.float64(value).astype(dtype)
    expect_refusal(bandit, lambda learner: learner.decide(context))
    expect_refusal(bandit, lambda learner: learner.learn_event(context, 0, 1.0))
    expect_refusal(bandit, lambda learner: learner.decide(np.ones(5, dtype)))
    expect_refusal(bandit, lambda learner: learner.learn_event(np.ones(3, dtype), 0, 1.0))


UNKNOWN_ACTIONS = st.one_of(
    st.integers(3, 2**63 - 1), st.integers(-(2**63), -1), st.sampled_from([0.5, np.nan, "1", None, 2**64])
)
BAD_COSTS = st.one_of(
    st.floats(1.001, allow_infinity=True), st.floats(max_value=-0.001), st.sampled_from([np.nan, "high", None, [0.5]])
)
BAD_WEIGHTS = st.one_of(st.floats(max_value=-0.001), st.sampled_from([np.nan, np.inf, "heavy"]))


@FEWER
@given(GOOD_ROWS, st.data(), UNKNOWN_ACTIONS, BAD_COSTS, BAD_WEIGHTS)
def test_bad_events_change_nothing(rows, data, action, cost, weight):
    bandit = learned(np.eye(4))
    count = len(rows)
    place = data.draw(st.integers(0, count - 1))

    def one_bad(good, bad):
        values = [good] * count
        values[place] = bad
        return values

    expect_refusal(bandit, lambda learner: learner.partial_fit(rows, one_bad(0, action), [0.5] * count))
    expect_refusal(bandit, lambda learner: learner.partial_fit(rows, [0] * count, one_bad(0.5, cost)))
    expect_refusal(bandit, lambda learner: learner.partial_fit(rows, [0] * count, [0.5] * count, one_bad(1.0, weight)))
    expect_refusal(bandit, lambda learner: learner.partial_fit(rows, [0] * (count + 1), [0.5] * count))
    expect_refusal(bandit, lambda learner: learner.learn_event(rows[place], action, 0.5))
    expect_refusal(bandit, lambda learner: learner.learn_event(rows[place], 0, cost))
    expect_refusal(bandit, lambda learner: learner.learn(learner.decide(rows[place], event_id=1), cost))
    expect_refusal(bandit, lambda learner: learner.learn_event(rows[place], 0, 0.5, sample_weight=weight))


@FEWER
@given(spoiled_contexts(), st.integers(1, 6))
def test_a_bad_first_call_does_not_settle_the_width(contexts, width):
    bandit = FastCB(3, **SMALL)
    with pytest.raises(ValueError):
        bandit.simulate(contexts, [0] * np.shape(contexts)[0])
    for refused in (
        lambda: bandit.predict_proba(contexts),
        lambda: bandit.learn_event(np.ones(9), 7, 0.5),
        lambda: bandit.partial_fit(np.ones((2, 9)), [0, 1], [0.5, 1.5]),
    ):
        with pytest.raises((ValueError, TypeError)):
            refused()
    assert bandit.predict_proba(np.ones((1, width))).shape == (1, 3)


FLAGS = [
    "--version",
    "-h",
    "--daemon",
    "-i model",
    "-t",
    "--testonly",
    "--passes=3",
    "--cache",
    "-p out",
    "--epsilon 0.5",
    "-l 3",
    "-b 20",
    "--gamma_scale=3",
    "--cb_explore 4",
    "'",
]


@pytest.mark.parametrize("flags", FLAGS)
def test_flags_that_are_not_for_a_learner_in_a_program_are_refused(flags):
    with pytest.raises(ValueError, match="vw_args"):
        FastCB(3, vw_args=flags).decide([1.0])


def test_a_parameter_of_a_used_learner_cannot_be_set():
    bandit = FastCB(3)
    bandit.n_actions = 4
    assert len(bandit.decide([1.0]).pmf) == 4
    for name, value in (("n_actions", 10**7), ("cost_range", (0, 10)), ("bits", 20)):
        with pytest.raises(ValueError, match=f"{name} was set on a learner that was used already"):
            setattr(bandit, name, value)
    assert bandit.n_actions == 4


@pytest.mark.parametrize("offsets", [[0], [0, 1, 2], [0, 0, 0, 0, 1], []])
def test_a_sparse_matrix_with_other_rows_than_it_says_is_refused(offsets):
    bandit = FastCB(3).partial_fit(np.eye(3), [0, 1, 2], [0.0, 1.0, 0.5])
    before = bandit.predict_proba(np.eye(3))
    matrix = scipy.sparse.csr_matrix(([1.0, 1.0], ([0, 0], [1, 2])), shape=(1, 3))
    matrix.indptr = np.array(offsets, dtype=np.int32)
    for use in (bandit.decide, bandit.predict_proba, lambda given: bandit.partial_fit(given, [0], [0.0])):
        with pytest.raises(ValueError, match="points outside itself"):
            use(matrix)
    np.testing.assert_array_equal(bandit.predict_proba(np.eye(3)), before)


def test_masked_and_complex_numbers_are_refused():
    bandit = FastCB(3)
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for use in (
        lambda: bandit.decide(masked),
        lambda: bandit.partial_fit(np.ones((2, 2)), [0, 1], masked / 4),
        lambda: bandit.partial_fit(np.ones((2, 2)), np.ma.array([0, 1], mask=[True, False]), [0.5, 0.5]),
        lambda: FastCB().decide([1.0], np.ma.array(np.ones((3, 2)), mask=np.eye(3, 2))),
    ):
        with pytest.raises(ValueError, match="mask"):
            use()
    with pytest.raises(TypeError, match="complex"):
        bandit.predict_proba(scipy.sparse.csr_matrix(np.ones((2, 2)) * 1j))
