"""What the report says where FastCB.L wins, loses, or something is missing. The inputs are synthetic."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.synthetic import datasets, results, write_store
from vw_fastcb.bakeoff import report
from vw_fastcb.bakeoff.analysis import analyse
from vw_fastcb.bakeoff.report.document import MINUS
from vw_fastcb.bakeoff.report.look import colour
from vw_fastcb.bakeoff.report.sentences import three_sentences


def frame(**losses: float):
    """Ten sets of 1,000 rounds, all alike; FastCB_L=0.1 gives FastCB.L that loss on each."""
    names = {"FastCB_L": "FastCB.L", "SquareCB_L": "SquareCB.L", "SquareCB_S": "SquareCB.S", "floor": "Supervised.L"}
    return results([(f"set{i}", names.get(key, key), loss) for key, loss in losses.items() for i in range(10)])


def sentences(rows) -> str:
    text = " ".join(three_sentences(analyse(rows, datasets(sorted(set(rows["dataset"]))))))
    return text.replace(MINUS, "-")


def test_wins_are_told_with_their_counts():
    text = sentences(frame(FastCB_L=0.1, SquareCB_L=0.2, SquareCB_S=0.3, floor=0.05))
    assert "**is ahead of** SquareCB.S (+10 / -0, a difference of 100.0% of the sets; in the paper 12.8%)" in text
    assert "Lstar is at most 0.2 on **10 of the 10** sets it wins against SquareCB.L (in the paper 12 of 14)" in text
    assert "the lowest of the bandits" in text


def test_losses_are_told_as_plainly():
    text = sentences(frame(FastCB_L=0.3, SquareCB_L=0.2, SquareCB_S=0.3, floor=0.05))
    assert "**is level with** SquareCB.S (+0 / -0" in text
    assert "**is behind** SquareCB.L (+0 / -10, a difference of -100.0% of the sets; in the paper 2.1%)" in text
    assert "FastCB.L wins on no set against SquareCB.L" in text
    assert "ahead" not in text
    assert "is **number 2 of 3 of the bandits** (the lowest is SquareCB.L, 0.2000" in text


def test_a_large_lstar_is_told():
    text = sentences(frame(FastCB_L=0.4, SquareCB_L=0.5, floor=0.35))
    assert "on **0 of the 10** sets it wins against SquareCB.L" in text
    assert "of all 10 sets 0 have such an Lstar" in text


def test_without_the_floor_nothing_is_said_of_lstar():
    text = sentences(frame(FastCB_L=0.1, SquareCB_L=0.2))
    assert "Supervised.L, whose loss stands for Lstar, did not run" in text


@pytest.mark.parametrize(
    ("losses", "words"),
    [({"SquareCB_L": 0.2}, "it did not run"), ({"FastCB_L": 0.2, "floor": 0.1}, "nothing else ran")],
)
def test_without_a_comparison_that_is_said(losses, words):
    assert words in sentences(frame(**losses))


SPARE = {
    "only FastCB.L": {"FastCB_L": 0.2},
    "no FastCB.L": {"SquareCB_L": 0.2, "SquareCB_S": 0.3, "floor": 0.1},
    "two algorithms": {"FastCB_L": 0.1, "SquareCB_L": 0.2},
    "only the floor": {"floor": 0.1},
    "one of the user's own": {"FastCB_L": 0.1, "bagging": 0.2, "floor": 0.0},
    "losses of zero": {"FastCB_L": 0.0, "SquareCB_L": 0.0, "floor": 0.0},
}


@pytest.mark.parametrize("losses", SPARE.values(), ids=SPARE.keys())
def test_a_report_is_written_of_little(tmp_path, losses):
    rows = frame(**losses)
    store = write_store(tmp_path / "store.sqlite", rows, datasets(sorted(set(rows["dataset"]))))
    page = report.write(store, tmp_path / "report").read_text(encoding="utf-8")
    assert "What it shows" in page
    assert ">nan" not in page
    assert "there are none to draw" in page


def test_a_report_of_one_set_is_written(tmp_path):
    rows = results([("one", "FastCB.L", 0.1), ("one", "SquareCB.L", 0.2), ("one", "Supervised.L", 0.1)])
    page = report.write(write_store(tmp_path / "s.sqlite", rows, datasets(["one"])), tmp_path / "r")
    text = page.read_text(encoding="utf-8")
    assert "needs sets to hold out: here are too few" in text
    assert ">nan" not in text


def test_curves_are_drawn_where_they_were_kept(tmp_path):
    rows = frame(FastCB_L=0.1, SquareCB_L=0.2, floor=0.05)
    random = np.random.default_rng(0)
    curves = [("set3", name, s, random.random(300) < 0.2) for name in ("FastCB.L", "Supervised.L") for s in (1, 2)]
    store = write_store(tmp_path / "s.sqlite", rows, datasets([f"set{i}" for i in range(10)]), curves)
    page = report.write(store, tmp_path / "r").read_text(encoding="utf-8")
    assert "over 2 shuffles" in page
    assert (tmp_path / "r" / "pictures" / "curves_set3.png").is_file()


def test_a_set_that_is_not_finished_is_left_out_and_named(tmp_path):
    rows = frame(FastCB_L=0.1, SquareCB_L=0.2, floor=0.05)
    rows = rows.drop(rows[(rows["dataset"] == "set7") & (rows["algorithm"] == "SquareCB.L")].index)
    store = write_store(tmp_path / "s.sqlite", rows, datasets([f"set{i}" for i in range(10)]))
    page = report.write(store, tmp_path / "r").read_text(encoding="utf-8")
    assert "Left out because their grid is not complete: set7." in page
    assert "9 classification sets" in page


def test_a_store_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(FileNotFoundError, match="run `fastcb bakeoff` first"):
        report.write(tmp_path / "no.sqlite", tmp_path / "r")
    assert not (tmp_path / "no.sqlite").exists()


def test_an_empty_store_says_so(tmp_path):
    store = write_store(tmp_path / "s.sqlite", frame(FastCB_L=0.1).iloc[:0], datasets([]))
    with pytest.raises(ValueError, match="has no results yet"):
        report.write(store, tmp_path / "r")


def test_an_algorithm_has_one_colour():
    built_in = ["FastCB.L", "SquareCB.L", "SquareCB.S", "RegCB.S", "AdaCB.S", "epsilon-greedy", "Supervised.L"]
    assert len({colour(name) for name in built_in}) == len(built_in)
    assert colour("my own") == colour("my own")
