"""What the report says where FastCB.L wins, loses, or something is missing. The inputs are synthetic."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from bakeoff.synthetic import datasets, make_run, results
from vw_fastcb.bakeoff import report
from vw_fastcb.bakeoff.analysis import analyse, half_of
from vw_fastcb.bakeoff.report.document import MINUS, MISSING
from vw_fastcb.bakeoff.report.style import colour
from vw_fastcb.bakeoff.report.summary import sentences as said
from vw_fastcb.bakeoff.store import Store, load_run


def frame(**losses: float):
    """Ten sets of 1,000 rounds, all alike; FastCB_L=0.1 gives FastCB.L that loss on each."""
    names = {"FastCB_L": "FastCB.L", "SquareCB_L": "SquareCB.L", "SquareCB_S": "SquareCB.S", "floor": "Supervised.L"}
    return results([(f"set{i}", names.get(key, key), loss) for key, loss in losses.items() for i in range(10)])


def sentences(rows) -> str:
    text = " ".join(said(analyse(rows, datasets(sorted(set(rows["dataset"]))))))
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
    assert "Of all 10 sets, 0 have such an Lstar" in text


def test_without_a_win_nothing_is_said_of_lstar():
    text = sentences(frame(FastCB_L=0.3, SquareCB_L=0.2, SquareCB_S=0.2, floor=0.05))
    assert "FastCB.L wins on no set against SquareCB.L or SquareCB.S." in text
    assert "such an Lstar" not in text


def test_the_counts_on_fresh_shuffles_are_called_means():
    rows = frame(FastCB_L=0.1, SquareCB_L=0.2)
    rows = pd.concat([rows, rows.assign(shuffle=1), rows.assign(shuffle=2)])
    assert "it stands at +10.0 / -0.0 against SquareCB.L on 10 sets, averaged over the shuffles" in sentences(rows)


def test_without_the_floor_nothing_is_said_of_lstar():
    text = sentences(frame(FastCB_L=0.1, SquareCB_L=0.2))
    assert "no Lstar to tell where the wins are, because Supervised.L did not run" in text


@pytest.mark.parametrize(
    ("losses", "words"),
    [({"SquareCB_L": 0.2}, "it did not run"), ({"FastCB_L": 0.2, "floor": 0.1}, "nothing else ran")],
)
def test_without_a_comparison_that_is_said(losses, words):
    assert words in sentences(frame(**losses))


HALVES = [f"set{i}" for i in range(10)]


def shipped(**losses: float) -> str:
    """What is said of the second-order oracle; FastCB.L has the loss 0.2."""
    names = {"FastCB_N": "FastCB.N", "SquareCB_N": "SquareCB.N", "greedy_N": "greedy.N", "Supervised_N": "Supervised.N"}
    rows = frame(FastCB_L=0.2, **{names[key]: loss for key, loss in losses.items()})
    rows.loc[rows["algorithm"].str.endswith("N"), "step"] = 0.0
    return sentences(rows)


def test_what_is_shipped_is_told_untuned_beside_what_was_tuned():
    text = shipped(FastCB_N=0.15, Supervised_N=0.1)
    sets = sum(half_of(name) == "report" for name in HALVES)
    assert f"FastCB.N has a mean loss of 0.1500 on {sets} sets on which nothing was chosen" in text
    assert f"**25.0% below FastCB.L tuned on each set** (0.2000; +{sets} / -0)" in text
    assert "Supervised.N, which sees every label, has 0.1000" in text
    assert "**10.0% above FastCB.L tuned on each set**" in shipped(FastCB_N=0.22)


def test_where_fastcbs_rule_is_not_better_on_its_own_oracle_that_is_said():
    text = shipped(FastCB_N=0.15, SquareCB_N=0.2, greedy_N=0.15)
    assert "untuned: FastCB.N (0.1500) is **better** than SquareCB.N (0.2000, +" in text
    assert "and **no better and no worse** than greedy.N (0.1500, +0 / -0)." in text
    assert "is **worse** than greedy.N (0.1000, +0 / -" in shipped(FastCB_N=0.15, greedy_N=0.1)


SPARE = {
    "only FastCB.L": {"FastCB_L": 0.2},
    "no FastCB.L": {"SquareCB_L": 0.2, "SquareCB_S": 0.3, "floor": 0.1},
    "two algorithms": {"FastCB_L": 0.1, "SquareCB_L": 0.2},
    "only the floor": {"floor": 0.1},
    "one of the user's own": {"FastCB_L": 0.1, "bagging": 0.2, "floor": 0.0},
    "losses of zero": {"FastCB_L": 0.0, "SquareCB_L": 0.0, "floor": 0.0},
}


@pytest.mark.parametrize("losses", SPARE.values(), ids=SPARE.keys())
def test_a_report_is_written_of_little(losses):
    page = report.as_markdown(make_run(frame(**losses)))
    assert "What it shows" in page
    assert "nan" not in page
    assert "there are none to draw" in page


def test_a_report_of_one_set_is_written():
    rows = results([("one", "FastCB.L", 0.1), ("one", "SquareCB.L", 0.2), ("one", "Supervised.L", 0.1)])
    text = report.as_markdown(make_run(rows))
    assert "needs sets to hold out, and there are too few here" in text
    assert "On one the lowest loss, 0.1000, is that of **FastCB.L** with step 0.5." in text
    assert "nan" not in text


def test_one_is_followed_by_a_singular():
    pair = [("a", "FastCB.L", 0.1), ("a", "SquareCB.L", 0.2), ("a", "Supervised.L", 0.1)]
    both = [*pair, ("b", "FastCB.L", 0.3), ("b", "SquareCB.L", 0.5), ("b", "Supervised.L", 0.3)]
    wrong = re.compile(r"\b(?<![.,])1 (?:\w+[ -])?(?:sets|algorithms|passes|shuffles|classes|subsets|columns)\b")
    for rows in (pair[:1], pair, both):
        text = report.as_markdown(make_run(results(rows), broken=[("c", "folder", "no rows")]))
        assert wrong.findall(text) == []
    assert "chosen on 1 held-out set; only" in text
    assert "Table 2. One configuration: 1 set**" in text
    assert "1 set left out" in text


def test_one_subset_is_a_subset():
    rows = results([("a", "FastCB.L", 0.1), ("b", "FastCB.L", 0.2)])
    text = report.as_markdown(make_run(rows, datasets(["a", "b"], {"b": "a"})))
    assert "2 classification sets (1 of them a subset of another set), 1 algorithm, 2 online passes." in text
    assert "1 is a subset of a base set." in text


def test_the_papers_numbers_are_in_italics_as_promised():
    text = report.as_markdown(make_run(frame(FastCB_L=0.1, SquareCB_L=0.2)))
    assert "In italics: the paper's difference" in text
    assert f"+0 / {MINUS}10 = **{MINUS}10** ({MINUS}100.0%)<br>*paper {MINUS}11 ({MINUS}2.1%)*" in text


def test_no_table_is_announced_that_does_not_follow():
    rows = results([(f"set{i}", name, 0.2) for name in ("SquareCB.S", "RegCB.S") for i in range(5)])
    text = report.as_markdown(make_run(rows))
    assert "Table 2" not in text
    assert "Table 3. All algorithms" in text
    assert "“Counted in other ways”" not in text


def test_a_run_without_rivals_tells_what_its_pictures_and_shuffles_show():
    rows = frame(FastCB_L=0.1)
    rows = pd.concat([rows, rows.assign(shuffle=1)])
    text = report.as_markdown(make_run(rows, curves=[("set3", "FastCB.L", 1, np.zeros(300))]))
    assert "These are the largest sets." in text
    assert "How much tuning flatters" in text
    assert "no result on another shuffle" not in text


def test_a_set_that_broke_later_is_said_to_be_counted():
    broken = [("set3", "folder", "cannot be read"), ("other", "folder", "no rows")]
    text = report.as_markdown(make_run(frame(FastCB_L=0.1, SquareCB_L=0.2), broken=broken))
    assert "2 sets left out, 1 of them with earlier results, which are counted" in text
    assert "| set3 | folder | cannot be read | counted in all tables |" in text
    assert f"| other | folder | no rows | {MISSING} |" in text


def test_curves_are_drawn_where_they_were_kept():
    rows = frame(FastCB_L=0.1, SquareCB_L=0.2, floor=0.05)
    random = np.random.default_rng(0)
    curves = [("set3", name, s, random.random(300) < 0.2) for name in ("FastCB.L", "Supervised.L") for s in (1, 2)]
    page = report.as_markdown(make_run(rows, curves=curves))
    assert "over 2 shuffles" in page
    assert '<img src="pictures/curves_set3.png"' in page


def test_a_set_that_is_not_finished_is_left_out_and_named(tmp_path):
    rows = frame(FastCB_L=0.1, SquareCB_L=0.2, floor=0.05)
    rows = rows.drop(rows[(rows["dataset"] == "set7") & (rows["algorithm"] == "SquareCB.L")].index)
    page = report.as_markdown(make_run(rows))
    assert "Left out because their grid is not complete: set7." in page
    assert "9 classification sets" in page
    assert "**1 more set** with an incomplete grid is left out (“Data” names it)" in page
    assert page.index("1 more set") < page.index("With every algorithm")


def test_where_no_set_is_finished_that_is_all_there_is_to_say():
    text = report.as_markdown(make_run(results([("a", "FastCB.L", 0.1), ("b", "SquareCB.L", 0.2)])))
    assert "No set has a complete grid, so there is nothing to compare. Not complete: a, b." in text
    assert "nan" not in text


def test_a_store_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(FileNotFoundError, match="run `fastcb bakeoff` first"):
        load_run(tmp_path / "no.sqlite")
    assert not (tmp_path / "no.sqlite").exists()


def test_an_empty_store_says_so(tmp_path):
    Store(tmp_path / "s.sqlite").__exit__(None, None, None)
    with pytest.raises(ValueError, match="has no results yet"):
        load_run(tmp_path / "s.sqlite")


def test_an_algorithm_has_one_colour():
    built_in = ["FastCB.L", "SquareCB.L", "SquareCB.S", "RegCB.S", "AdaCB.S", "epsilon-greedy", "Supervised.L"]
    assert len({colour(name) for name in built_in}) == len(built_in)
    assert colour("my own") == colour("my own")


def test_curves_are_drawn_of_the_sets_that_show_most_on_the_mean_of_all_orders():
    """On order 0 the lead of FastCB.L is largest on `first`, on the mean of both orders on `second`."""
    losses = {"first": (0.1, 0.3), "second": (0.2, 0.0)}  # of FastCB.L on orders 0 and -1
    rows = []
    for name, of_orders in losses.items():
        for order, loss in zip((0, -1), of_orders, strict=True):
            rows.append(results([(name, "FastCB.L", loss), (name, "SquareCB.L", 0.3)]).assign(shuffle=order))
    rows = pd.concat([*rows, results([(f"even{i}", a, 0.3) for i in range(2) for a in ("FastCB.L", "SquareCB.L")])])
    rows = pd.concat([rows, rows[rows["dataset"].str.startswith("even")].assign(shuffle=-1)])
    curves = [(name, "FastCB.L", 1, np.zeros(300)) for name in ("first", "second")]
    page = report.as_markdown(make_run(rows, curves=curves))
    assert re.findall(r"pictures/curves_(\w+)\.png", page) == ["second", "first"]


def test_curves_of_a_configuration_that_is_no_longer_the_best_are_not_drawn():
    rows = pd.concat(
        [frame(FastCB_L=0.2, SquareCB_L=0.3), frame(FastCB_L=0.1).assign(configuration="gamma_scale=50", step=1.0)]
    )
    rows = pd.concat([rows, frame(SquareCB_L=0.4).assign(configuration="gamma_scale=50", step=1.0)])
    page = report.as_markdown(make_run(rows, curves=[("set3", name, 1, np.zeros(300)) for name in ("FastCB.L",)]))
    assert "there are none to draw" in page
