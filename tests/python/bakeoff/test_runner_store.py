import sqlite3

import numpy as np
import pytest

from vw_fastcb.bakeoff.store import BadStore, DatasetInfo, PassResult, Store, pack, unpack

INFO = DatasetInfo("a/b", "somewhere", 3, 2, 2, 0.5, None, "f00d")


def one_pass(step: float = 0.1, shuffle: int = 0, losses: bytes | None = None) -> PassResult:
    return PassResult("a/b", "FastCB.L", "gamma_scale=10", step, shuffle, 3, 1 / 3, losses)


def test_what_was_added_is_there_when_the_store_is_opened_again(tmp_path):
    with Store(tmp_path / "s") as store:
        store.add([(INFO, [one_pass(0.1), one_pass(1.0)])])
        store.set_meta({"seed": "7"})
        store.add_broken("bad", "file", "it is empty")
    with Store(tmp_path / "s") as store:
        assert store.results()["step"].tolist() == [0.1, 1.0]
        assert store.datasets().iloc[0].to_dict() == vars(INFO)
        assert store.meta() == {"seed": "7"}
        assert store.broken()["reason"].tolist() == ["it is empty"]
        assert store.done("a/b") == {one_pass(0.1).key, one_pass(1.0).key}


def test_a_result_cannot_be_there_twice_and_nothing_of_its_batch_stays(tmp_path):
    with Store(tmp_path / "s") as store:
        store.add([(INFO, [one_pass()])])
        with pytest.raises(sqlite3.IntegrityError):
            store.add([(INFO, [one_pass(1.0), one_pass()])])
        assert len(store.results()) == 1


def test_a_curve_comes_back_as_it_was(tmp_path):
    losses = np.random.default_rng(0).integers(2, size=1000).astype(np.uint8)
    with Store(tmp_path / "s") as store:
        store.add([(INFO, [one_pass(shuffle=2)])])
        store.add([(INFO, [one_pass(shuffle=2, losses=pack(losses))])])
        assert len(store.results()) == 1
        (kept,) = store.curves()["losses"]
        np.testing.assert_array_equal(unpack(kept), losses)
        assert store.done("a/b", curves=True) == {one_pass(shuffle=2).key}


def test_the_order_of_the_results_does_not_depend_on_when_they_came(tmp_path):
    passes = [one_pass(step, shuffle) for step in (0.1, 1.0, 10.0) for shuffle in (0, 1)]
    with Store(tmp_path / "s") as one, Store(tmp_path / "t") as other:
        one.add([(INFO, passes)])
        other.add([(INFO, passes[::-1])])
        assert one.results().equals(other.results())


def test_a_set_of_which_a_part_failed_stays_reported_when_other_parts_succeed(tmp_path):
    with Store(tmp_path / "s") as store:
        store.add_broken("a/b", "somewhere", "the first reason")
        store.add([(INFO, [one_pass()])])
        store.add_broken("a/b", "somewhere", "a later one")
        assert store.broken()["reason"].tolist() == ["the first reason"]
        store.forget_broken()
        assert store.broken().empty


def test_a_file_that_is_no_store_is_refused_by_name(tmp_path):
    (tmp_path / "s").write_text("not a database, but longer than its header would have to be " * 4)
    with pytest.raises(BadStore, match="is not the store of a bake-off"):
        Store(tmp_path / "s")
