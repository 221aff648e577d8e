"""Frames and dictionaries: what the learner takes, and the VW features they become."""

import dataclasses
import pickle
import re
import subprocess
import sys
import types
from collections import OrderedDict

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from support import ok, write
from vw_fastcb import FastCB, Workspace

PEOPLE = {
    "age": [3.0, None, 0.0, 7.5, 1.0, 2.0],
    "member": [True, False, None, True, False, True],
    "color": ["red", "blue", None, "red", "deep green", "blue"],
    "visits": [1, 2, 3, 0, 5, 6],
}
LINES = [
    "|x age:3 member color=red visits:1",
    "|x color=blue visits:2",
    "|x visits:3",
    "|x age:7.5 member color=red",
    None,  # text cannot write a name with a space
    "|x age:2 member color=blue visits:6",
]
DICTS = [{name: column[i] for name, column in PEOPLE.items()} for i in range(6)]
ACTIONS, COSTS = [0, 1, 2, 0, 1, 2], [0.0, 1.0, 0.5, 0.25, 0.75, 1.0]


def pandas_frame(dtypes=None):
    return pd.DataFrame(PEOPLE).astype(dtypes or {})


def polars_frame():
    return pl.DataFrame(PEOPLE)


FORMS = {
    "pandas, objects": pandas_frame,
    "pandas, nullable": lambda: pandas_frame(
        {"age": "Float32", "member": "boolean", "color": "string", "visits": "Int8"}
    ),
    "pandas, categories": lambda: pandas_frame({"color": "category", "visits": "uint64"}),
    "pandas, other order": lambda: pandas_frame()[["visits", "color", "member", "age"]],
    "pandas, another index": lambda: pandas_frame().set_index(pd.Index(list("zyxwvu"))),
    "pandas, sparse": lambda: pandas_frame({"visits": pd.SparseDtype("int64")}),
    "polars": polars_frame,
    "polars, categories": lambda: polars_frame().with_columns(pl.col("color").cast(pl.Categorical)),
    "polars, enum": lambda: polars_frame().with_columns(
        pl.col("color").cast(pl.Enum(["never", "red", "blue", "deep green"]))
    ),
    "polars, other types": lambda: polars_frame().cast({"age": pl.Float32, "visits": pl.Int8}),
    "polars, NaN": lambda: polars_frame().with_columns(pl.col("age").fill_null(float("nan"))),
    "dictionaries": lambda: DICTS,
    "dictionaries, missing left out": lambda: [
        {name: value for name, value in one.items() if value is not None} for one in DICTS
    ],
    "dictionaries, numpy": lambda: [
        {
            **one,
            "visits": np.int16(one["visits"]),
            "age": np.float32(np.nan if one["age"] is None else one["age"]),
            "color": pd.NA if one["color"] is None else np.str_(one["color"]),
        }
        for one in DICTS
    ],
}


def taught(form):
    return FastCB(3, seed=1).partial_fit(form, ACTIONS, COSTS)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_same_table_gives_the_same_pmf_in_any_form(form):
    rows = form()
    expected = taught(DICTS).predict_proba(DICTS)
    assert np.ptp(expected) > 0.1
    bandit = taught(rows)
    np.testing.assert_array_equal(bandit.predict_proba(rows), expected)
    np.testing.assert_array_equal(taught(DICTS).predict_proba(rows), expected)
    np.testing.assert_array_equal([bandit.decide(one).pmf for one in DICTS], expected)


@pytest.mark.parametrize("name", ["pandas, objects", "polars", "dictionaries"])
def test_named_features_are_those_of_text(name):
    rows = FORMS[name]()
    bandit = taught(rows)
    pmfs = bandit.predict_proba(rows)
    vw = bandit.to_workspace()  # the text below reads the weights that the rows wrote
    seen = 0
    for line, pmf in zip(LINES, pmfs, strict=True):
        if line is not None:
            np.testing.assert_allclose(vw.predict(line), pmf, rtol=0, atol=1e-6)
            seen += 1
    assert seen == 5
    vw.learn("2:0.5:0.5 |x color=blue")  # and the rows read what text writes
    assert bandit.events_ == 7
    assert np.abs(bandit.predict_proba(rows) - pmfs)[1].max() > 1e-3


def test_a_model_learned_from_text_goes_on_with_frames(tmp_path):
    vw = Workspace(f"--cb_explore 2 --fastcb --quiet -f {tmp_path / 'model'}")
    for _ in range(20):
        vw.learn("1:0:0.5 |x color=red")
        vw.learn("2:0:0.5 |x color=blue")
    vw.finish()
    pmf = FastCB.load(tmp_path / "model").predict_proba(pd.DataFrame({"color": ["red", "blue"]}))
    assert pmf[0, 0] > 0.8
    assert pmf[1, 1] > 0.8


def test_a_model_says_the_names_of_what_it_learned(tmp_path):
    """`--invert_hash` names the weights where text with the same names is read."""
    taught(pandas_frame()).save(tmp_path / "model")
    log = write(tmp_path / "log", (line + "\n" for line in LINES if line))
    ok("-i", tmp_path / "model", "-t", "-d", log, "--invert_hash", tmp_path / "names", "--quiet")
    named = re.findall(r"^(x\^[^:\[]+)(?:\[\d+\])?:\d+:(\S+)", (tmp_path / "names").read_text(), flags=re.MULTILINE)
    learned = {name for name, weight in named if float(weight) != 0}
    assert learned == {"x^age", "x^member", "x^visits", "x^color=red", "x^color=blue"}


def test_columns_named_by_numbers_are_those_of_arrays():
    rows = np.random.default_rng(0).random((30, 12)).astype(np.float32)
    bandit = FastCB(3).partial_fit(rows, [0, 1, 2] * 10, np.linspace(0, 1, 30))
    expected = bandit.predict_proba(rows)
    for form in (pd.DataFrame(rows), pl.DataFrame(rows, schema=[str(j) for j in range(12)])):
        np.testing.assert_allclose(bandit.predict_proba(form), expected, rtol=0, atol=1e-6)
    dicts = [dict(enumerate(row)) for row in rows]
    np.testing.assert_allclose(bandit.predict_proba(dicts), expected, rtol=0, atol=1e-6)


def test_one_context_in_any_form():
    bandit = taught(pandas_frame())
    frame = pandas_frame()
    expected = bandit.predict_proba(frame)[3]
    for one in (DICTS[3], frame.iloc[3], frame.iloc[[3]], polars_frame()[3], [DICTS[3]]):
        np.testing.assert_array_equal(bandit.decide(one).pmf, expected)
    with pytest.raises(ValueError, match="the context has 2 rows; expected one"):
        bandit.decide(frame[:2])
    with pytest.raises(TypeError, match="are one dictionary; expected a list of dictionaries"):
        bandit.predict_proba(DICTS[3])


ARTICLES = [{"topic": "music", "length": 2.0}, {"topic": "politics", "length": 1.0}, {"length": 3.0}]
ACTION_FORMS = {
    "dictionaries": ARTICLES,
    "pandas": pd.DataFrame(ARTICLES),
    "polars": pl.DataFrame(ARTICLES),
    "a list of frames": [pd.DataFrame(ARTICLES)] * 6,
    "a list of lists of dictionaries": [ARTICLES] * 6,
    "a mixed list": [ARTICLES, pl.DataFrame(ARTICLES), pd.DataFrame(ARTICLES)] * 2,
}


@pytest.mark.parametrize("form", ACTION_FORMS.values(), ids=ACTION_FORMS)
def test_features_of_actions_in_any_form(form):
    def learned(features):
        return FastCB().partial_fit(DICTS, ACTIONS, COSTS, action_features=features)

    expected = learned(ARTICLES).predict_proba(DICTS, ARTICLES)
    assert expected.shape == (6, 3)
    assert np.ptp(expected) > 0.1
    bandit = learned(form)
    np.testing.assert_array_equal(bandit.predict_proba(DICTS, form), expected)
    lines = ["|a topic=music length:2", "|a topic=politics length:1", "|a length:3"]
    np.testing.assert_allclose(
        bandit.to_workspace().predict([f"shared {LINES[0]}", *lines]), expected[0], rtol=0, atol=1e-6
    )


def test_changing_sets_of_frames_and_dictionaries():
    sets = [ARTICLES[: i % 3 + 1] for i in range(6)]
    bandit = FastCB().partial_fit(DICTS, [0] * 6, COSTS, action_features=sets)
    pmfs = bandit.predict_proba(DICTS, [pd.DataFrame(one) if len(one) != 2 else one for one in sets])
    assert [len(pmf) for pmf in pmfs] == [1, 2, 3, 1, 2, 3]
    for row, one, pmf in zip(DICTS, sets, pmfs, strict=True):
        np.testing.assert_array_equal(bandit.decide(row, one).pmf, pmf)


@pytest.mark.parametrize("name", ["pandas, objects", "polars", "dictionaries"])
def test_a_decision_about_names_is_small_and_learned_elsewhere(name):
    rows = FORMS[name]()
    here, there = taught(rows), taught(rows)
    row = DICTS[3] if name == "dictionaries" else rows[3:4]
    decision = here.decide(row, event_id=1)
    kept = pickle.dumps(decision)
    assert len(kept) < 2000
    here.learn(decision, 0.5)
    there.learn(pickle.loads(kept), 0.5)
    np.testing.assert_array_equal(here.predict_proba(rows), there.predict_proba(rows))


def test_dictionaries_of_other_kinds_are_dictionaries():
    bandit = FastCB().partial_fit(DICTS, ACTIONS, COSTS, action_features=ARTICLES)
    expected = bandit.decide(DICTS[0], ARTICLES)
    others = types.MappingProxyType(DICTS[0]), [OrderedDict(one) for one in ARTICLES]
    np.testing.assert_array_equal(bandit.decide(*others).pmf, expected.pmf)
    twin = pickle.loads(pickle.dumps(bandit))
    bandit.learn_event(DICTS[0], 1, 0.25, action_features=ARTICLES)
    twin.learn_event(others[0], 1, 0.25, action_features=others[1])
    np.testing.assert_array_equal(bandit.predict_proba(DICTS, ARTICLES), twin.predict_proba(DICTS, ARTICLES))


@pytest.mark.parametrize("value", [[1], object(), np.inf, b"bytes", 1j])
def test_a_bad_value_in_a_dictionary_is_named(value):
    bandit = taught(DICTS)
    for use in (lambda: bandit.decide({"age": value}), lambda: bandit.learn_event({"age": value}, 0, 0.5)):
        with pytest.raises((ValueError, TypeError), match="the feature 'age' has the value"):
            use()
    assert bandit.events_ == 6


def test_a_decision_whose_features_were_changed_is_refused():
    rows = scipy.sparse.csr_matrix(np.array([[1.0, 0, 2], [0, 3, 1]]))
    bandit = FastCB(3).partial_fit(rows, [0, 1], [0, 1])
    decision = bandit.decide(rows[0])
    values, columns = decision.context
    changed = [
        (values[:-1], columns[:-1] + 7),
        (values, columns[:-1]),
        (values, columns[::-1].copy()),
        (values * np.float32(np.nan), columns),
        (values, columns.astype(np.float32)),
    ]
    for context in changed:
        with pytest.raises(ValueError, match="the features that the decision kept were changed"):
            bandit.learn(dataclasses.replace(decision, context=context), 0.5)
    assert bandit.events_ == 2


REFUSED = {
    "a missing column": (pandas_frame()[["age", "color"]], "lack the columns \\['member', 'visits'\\]; expected"),
    "an unknown column": (pandas_frame().assign(size=1), "have the unknown columns \\['size'\\]; expected"),
    "another name": (pandas_frame().rename(columns={"age": "years"}), "lack .*'age'.* and have the unknown .*'years'"),
    "an array": (np.ones((6, 4)), "are an array of 4 columns without names; expected the columns \\['age', 'color'"),
    "a column twice": (pd.concat([pandas_frame(), pandas_frame()[["age"]]], axis=1), "the column 'age' more than once"),
    "infinite": (pandas_frame().assign(age=np.inf), "the column 'age' of contexts has the value inf in row 0"),
    "dates": (pandas_frame().assign(age=pd.Timestamp("2020-01-01")), "the column 'age' of contexts has the dtype date"),
    "objects": (pandas_frame().assign(age=[[1]] * 6), "the column 'age' of contexts"),
    "polars dates": (
        polars_frame().with_columns(pl.lit("2020-01-01").str.to_date().alias("age")),
        "has the dtype Date",
    ),
    "polars infinite": (polars_frame().with_columns(age=pl.lit(float("inf"))), "the column 'age' of contexts has the"),
    "lazy": (polars_frame().lazy(), r"call its collect\(\) first"),
    "a dictionary of lists": (
        [{"age": [1]}],
        r"row 0 of contexts: the feature 'age' has the value \[1\]; expected a number, a str",
    ),
    "an infinite entry": ([{"age": 1e40}], "the feature 'age' has the value 1e\\+40, which is infinite"),
    "not all dictionaries": ([DICTS[0], [1]], r"row 1 of contexts is \[1\]; expected a dictionary"),
}


@pytest.mark.parametrize(("rows", "message"), REFUSED.values(), ids=REFUSED)
def test_tables_that_do_not_fit_are_refused_and_the_model_is_as_it_was(rows, message):
    bandit = taught(pandas_frame())
    before = bandit.predict_proba(DICTS)
    with pytest.raises((ValueError, TypeError), match=message):
        bandit.predict_proba(rows)
    with pytest.raises((ValueError, TypeError), match=message):
        bandit.partial_fit(rows, ACTIONS, COSTS)
    np.testing.assert_array_equal(bandit.predict_proba(DICTS), before)
    assert bandit.events_ == 6


def test_names_after_an_array_are_refused():
    bandit = FastCB(3).partial_fit(np.ones((1, 4)), [0], [0.5])
    with pytest.raises(ValueError, match=r"lack the columns .*; expected 4 columns, as before"):
        bandit.predict_proba(pandas_frame())


def test_a_refused_call_does_not_fix_the_columns():
    bandit = FastCB(3)
    with pytest.raises(ValueError, match="outside"):
        bandit.partial_fit(np.ones((1, 7)), [0], [5.0])
    bandit.partial_fit(np.ones((1, 4)), [0], [0.5])


def test_neither_pandas_nor_polars_nor_scipy_is_imported_for_arrays():
    code = """
import sys
import numpy as np
from vw_fastcb import FastCB
bandit = FastCB(2)
bandit.partial_fit(np.ones((2, 2)), [0, 1], [0, 1])
named = FastCB(2)
named.learn(named.decide({"a": 1}), 0.5)
bandit.simulate(np.eye(2), [0, 1])
print([name for name in ("pandas", "polars", "scipy", "sklearn") if name in sys.modules])
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_every_sparse_format_is_a_matrix_also_the_one_that_is_a_dictionary():
    rows = np.array([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]])
    bandit = FastCB(3).partial_fit(rows, [0, 1], [0.0, 1.0])
    for form in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia"):
        given = scipy.sparse.csr_array(rows).asformat(form)
        np.testing.assert_array_equal(bandit.predict_proba(given), bandit.predict_proba(rows))
        one = scipy.sparse.csr_array(rows[:1]).asformat(form)
        np.testing.assert_array_equal(bandit.decide(one).pmf, bandit.decide(rows[0]).pmf)


def test_a_loaded_model_has_its_bits(tmp_path):
    bandit = FastCB(3, bits=20)
    decision = bandit.decide([1.0, 2.0])
    bandit.save(tmp_path / "model")
    loaded = FastCB.load(tmp_path / "model")
    assert loaded.bits == 20
    loaded.learn(decision, 0.5)
    assert loaded.events_ == 1


def test_numbers_of_numpy_are_numbers():
    runs = FastCB(3, seed=np.int64(3)).simulate(np.eye(3), np.arange(3), n_shuffles=np.int32(2), n_jobs=np.int8(2))
    assert runs.actions.shape == (2, 3)
