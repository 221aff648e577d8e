import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from vw_fastcb.bakeoff.data import BrokenDataset, Dataset
from vw_fastcb.bakeoff.data.dataset import content_key
from vw_fastcb.bakeoff.data.table import dataset_from_table


def encoded(columns: dict[str, list], target: str = "class") -> Dataset:
    return dataset_from_table("a/set", "a test", pd.DataFrame(columns), target)


def test_numbers_are_kept_and_categories_become_columns_in_the_order_of_their_names():
    dataset = encoded({"size": [1.5, 2, 3], "colour": ["red", "blue", "red"], "class": ["y", "x", "y"]})

    np.testing.assert_array_equal(dataset.features, np.array([[1.5, 0, 1], [2, 1, 0], [3, 0, 1]], np.float32))
    assert dataset.features.dtype == np.float32
    assert dataset.features.flags.c_contiguous
    np.testing.assert_array_equal(dataset.labels, [1, 0, 1])
    assert dataset.classes == ("x", "y")


def test_a_missing_number_becomes_the_mean_and_a_mark():
    dataset = encoded({"size": ["1", "?", "3"], "class": ["a", "b", "b"]})

    np.testing.assert_array_equal(dataset.features, [[1, 0], [2, 1], [3, 0]])
    assert dataset.notes == ("column 'size': 1 missing, replaced by the mean and marked",)


def test_a_missing_category_is_a_category():
    dataset = encoded({"colour": ["red", None, "red", "<null>"], "class": ["a", "b", "b", "a"]})

    np.testing.assert_array_equal(dataset.features, [[0, 1], [1, 0], [0, 1], [1, 0]])


def test_rows_without_a_class_are_left_out_and_said_so():
    dataset = encoded({"size": [1, 2, 3, 4], "class": ["a", "?", "b", None]})

    assert dataset.rows == 2
    assert "2 rows without a class left out" in dataset.notes


def test_a_class_may_be_called_none_or_null():
    dataset = encoded({"size": [1, 2, 3, 4, 5], "class": ["None", "null", "None", "NA", None]})

    assert dataset.classes == ("None", "null")
    assert "2 rows without a class left out" in dataset.notes


def test_classes_that_are_numbers_are_in_the_order_of_numbers():
    assert encoded({"size": [1, 2, 3, 3], "class": ["10", "9", "-1", "9"]}).classes == ("-1", "9", "10")
    assert encoded({"size": [1, 2, 3, 3], "class": [10.0, 9.0, -1.0, 9.0]}).classes == ("-1", "9", "10")


def test_text_that_differs_in_every_row_is_left_out():
    dataset = encoded({"name": ["ann", "bob", "cid"], "size": [1, 2, 3], "class": ["a", "b", "b"]})

    assert dataset.columns == 1
    assert dataset.notes == ("column 'name' left out: its text differs in every row",)


def notes_of(**columns) -> tuple[str, ...]:
    """The notes on columns of 200 rows."""
    return encoded({**columns, "size": [i % 7 for i in range(200)], "class": ["ab"[i % 2] for i in range(200)]}).notes


def test_a_column_of_many_names_is_noted_with_the_features_it_becomes():
    (note,) = notes_of(customer=[f"C{i // 2}" for i in range(200)])
    assert note == "column 'customer' became 100 features, one per value; take it out if it names the rows"
    assert notes_of(colour=[f"c{i % 50}" for i in range(200)]) == ()


@pytest.mark.parametrize("form", ["2024-03-{:02d}", "{}.3.2024", "3/{}/24", "2024-03-{:02d} 10:00:00"])
def test_a_column_of_dates_is_noted(form):
    (note,) = notes_of(when=[form.format(1 + i % 28) for i in range(200)])
    assert note == "column 'when': its dates became 28 features, one per date; a month or a weekday may say more"
    assert notes_of(release=[f"1.{i % 28}" for i in range(200)]) == ()  # a number


def test_timestamps_of_a_frame_are_noted_too():
    (note,) = notes_of(when=[pd.Timestamp(2024, 3, 1 + i % 28) for i in range(200)])
    assert note.startswith("column 'when': its dates became 28 features")


@pytest.mark.parametrize(
    ("name", "values"),
    [("row", range(200)), ("x", range(5, 205)), ("customer_id", [7919 * i % 1009 for i in range(200)])],
)
def test_a_column_that_numbers_or_names_the_rows_is_noted(name, values):
    (note,) = notes_of(**{name: list(values)})
    assert note == f"column {name!r} has a different whole number in every row; take it out if it names the rows"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("income", [7919 * i % 1009 for i in range(200)]),
        ("id", [i // 2 for i in range(200)]),
        ("id", [i + 0.5 for i in range(200)]),
    ],
)
def test_other_columns_of_numbers_are_not_noted(name, values):
    assert notes_of(**{name: values}) == ()


def test_a_column_without_a_value_is_left_out():
    dataset = encoded(
        {"none": [None, None, None], "empty": ["", "?", "NA"], "size": [1, 2, 3], "class": ["a", "b", "b"]}
    )

    assert dataset.columns == 1
    assert dataset.notes == ("column 'none' left out: it has no value", "column 'empty' left out: it has no value")


def test_many_categories_make_a_sparse_matrix_that_holds_the_same_values_as_a_dense_one():
    values = [f"v{i % 20}" for i in range(200)]
    dataset = encoded(
        {"value": values, "size": [float(i % 3) for i in range(200)], "class": [i % 2 for i in range(200)]}
    )

    assert isinstance(dataset.features, scipy.sparse.csr_matrix)
    assert dataset.features.dtype == np.float32
    assert dataset.features.has_sorted_indices
    order = sorted(set(values))
    expected = [[float(v == o) for o in order] + [float(i % 3)] for i, v in enumerate(values)]
    np.testing.assert_array_equal(dataset.features.toarray(), expected)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"size": [1, 2], "class": ["a", "a"]}, r"a/set: the target has 1 class\(es\) in 2 rows; expected at least 2"),
        ({"size": [1, 2, 3], "class": [0.5, 1.5, 2.5]}, "looks like a number to predict rather than a class"),
        ({"size": [1, float("inf"), 2], "class": [0, 1, 1]}, "column 'size' has an infinite value"),
        ({"size": [1, 1e300, 2], "class": [0, 1, 1]}, "too large for single precision"),
        ({"class": [0, 1, 1]}, "there is no column to learn from"),
    ],
)
def test_a_table_that_cannot_be_used_says_why(columns, sentence):
    with pytest.raises(BrokenDataset, match=sentence):
        encoded(columns)


def test_shares_and_majority_error_count_the_rows():
    dataset = encoded({"size": [1, 2, 3, 4], "class": ["a", "b", "b", "b"]})

    assert dataset.class_shares == (0.25, 0.75)
    assert dataset.majority_error == 0.25


def test_the_fingerprint_changes_with_a_value_a_label_and_the_order():
    rows = {"size": [1, 2, 3, 4], "width": [0, 5, 0, 7], "class": ["a", "b", "b", "a"]}
    prints = {
        encoded(rows).fingerprint,
        encoded(rows | {"size": [1, 2, 3, 5]}).fingerprint,
        encoded(rows | {"class": ["a", "b", "a", "a"]}).fingerprint,
        encoded({name: values[::-1] for name, values in rows.items()}).fingerprint,
    }

    assert len(prints) == 4
    assert encoded(rows).fingerprint in prints


def test_the_same_data_in_another_order_has_the_same_content_key():
    rows = pd.DataFrame({"size": [1, 2, 3, 4, 2], "width": [0, 5, 0, 7, 5], "class": ["a", "b", "b", "a", "a"]})
    turned = rows.sample(frac=1, random_state=1)[["width", "size", "class"]].replace({"class": {"a": "z"}})
    other = rows.assign(size=[1, 2, 3, 4, 3])

    key = content_key(dataset_from_table("a", "a", rows, "class"))
    assert content_key(dataset_from_table("b", "b", turned, "class")) == key
    assert content_key(dataset_from_table("c", "c", other, "class")) != key
