from __future__ import annotations

from math import erf, sqrt

import numpy as np
import pandas as pd
import pytest

from bakeoff.synthetic import datasets, results
from vw_fastcb.bakeoff.analysis import paper
from vw_fastcb.bakeoff.analysis.comparison import (
    CRITICAL,
    USUAL,
    distance,
    half_width,
    head_to_head,
    outcomes,
    verdict,
    where_it_wins,
)
from vw_fastcb.bakeoff.analysis.findings import Findings, analyse, learnable_sets
from vw_fastcb.bakeoff.analysis.losses import lstar_of, rounds_of, tuned_losses


def test_the_distance_is_the_gap_in_standard_errors():
    # 0.1 and 0.2 over 100 rounds: the error is sqrt((0.09 + 0.16) / 100) = 0.05, the gap 0.1.
    assert distance(0.1, 0.2, 100) == pytest.approx(2.0)
    assert distance(0.2, 0.1, 100) == pytest.approx(-2.0)


def test_the_critical_distance_is_where_the_papers_formula_crosses_five_percent():
    assert 1 - erf(CRITICAL) == pytest.approx(0.05, abs=1e-12)
    assert pytest.approx(1.3859, abs=1e-4) == CRITICAL
    assert pytest.approx(1.96, abs=1e-3) == USUAL


@pytest.mark.parametrize(
    ("loss", "rival", "rounds"), [(0.1, 0.2, 47), (0.1, 0.2, 49), (0.3, 0.31, 8000), (0, 0.02, 90)]
)
def test_a_verdict_is_the_papers_formula_word_for_word(loss, rival, rounds):
    error = sqrt(loss * (1 - loss) / rounds + rival * (1 - rival) / rounds)
    significant = 1 - erf(abs(loss - rival) / error) < 0.05
    assert verdict(loss, rival, rounds) == int(significant)
    assert verdict(rival, loss, rounds) == -int(significant)


def test_just_enough_rounds_make_a_difference_significant():
    # distance = 0.1 sqrt(n) / 0.5 reaches 1.3859 at n = 48.02.
    assert verdict(0.1, 0.2, 48) == 0
    assert verdict(0.1, 0.2, 49) == 1


def test_a_gap_that_is_just_the_critical_one_is_not_significant():
    just = float(distance(0.1, 0.2, 100))
    assert verdict(0.1, 0.2, 100, critical=just) == 0
    assert verdict(0.1, 0.2, 100, critical=np.nextafter(just, 0)) == 1


def test_losses_without_any_error_differ_when_they_are_not_equal():
    assert verdict([0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0], 10).tolist() == [1, -1, 0, 0]


def test_bands_that_do_not_touch_mean_a_significant_difference():
    losses = np.linspace(0.01, 0.99, 60)
    for p in losses:
        apart = np.abs(losses - p) > half_width(losses, 500) + half_width(p, 500)
        assert apart.any()
        assert (verdict(p, losses, 500)[apart] != 0).all()


@pytest.fixture
def three_sets() -> pd.DataFrame:
    # Over 100 rounds: 0.1 against 0.2 is significant (2 errors), 0.1 against 0.15 is not (1.07), 0.3 against 0.2 is.
    rows = [
        ("a", "FastCB.L", 0.1), ("a", "SquareCB.L", 0.2), ("a", "Supervised.L", 0.05),
        ("b", "FastCB.L", 0.1), ("b", "SquareCB.L", 0.15), ("b", "Supervised.L", 0.1),
        ("c", "FastCB.L", 0.3), ("c", "SquareCB.L", 0.2), ("c", "Supervised.L", 0.25),
        ("d", "FastCB.L", 0.4), ("d", "SquareCB.L", 0.6), ("d", "Supervised.L", 0.35),
    ]  # fmt: skip
    return results(rows, rounds=100)


def test_a_cell_has_wins_losses_and_their_difference(three_sets):
    table = head_to_head(tuned_losses(three_sets), rounds_of(three_sets), ["FastCB.L", "SquareCB.L"])
    cell = table.set_index(["row", "column"]).loc[("FastCB.L", "SquareCB.L")]
    assert (cell["wins"], cell["losses"], cell["difference"], cell["sets"]) == (2, 1, 1, 4)


def test_a_table_is_antisymmetric():
    random = np.random.default_rng(5)
    names = ["FastCB.L", "SquareCB.L", "SquareCB.S", "RegCB.S"]
    rows = [(f"set{i}", name, random.uniform(0.1, 0.5)) for i in range(60) for name in names]
    frame = results(rows, rounds=200)
    table = head_to_head(tuned_losses(frame), rounds_of(frame), names, paper=paper.TUNED_PER_SET)
    cells = table.set_index(["row", "column"])
    assert (cells["wins"] > 0).any()
    for row, column in cells.index:
        here, there = cells.loc[(row, column)], cells.loc[(column, row)]
        assert here["wins"] == there["losses"]
        assert here["difference"] == -there["difference"]
        assert here["paper"] == -there["paper"]


def test_sets_that_an_algorithm_lacks_do_not_count(three_sets):
    frame = three_sets[~((three_sets["dataset"] == "a") & (three_sets["algorithm"] == "SquareCB.L"))]
    table = head_to_head(tuned_losses(frame), rounds_of(frame), ["FastCB.L", "SquareCB.L"])
    assert table["sets"].tolist() == [3, 3]
    assert table["wins"].tolist() == [1, 1]


def test_wins_are_told_apart_by_lstar(three_sets):
    losses, rounds = tuned_losses(three_sets), rounds_of(three_sets)
    row = where_it_wins(losses, rounds, "FastCB.L", ["SquareCB.L"], lstar_of(losses)).iloc[0]
    assert (row["wins"], row["wins_small_lstar"]) == (2, 1)  # a and d; Lstar 0.05 and 0.35
    assert (row["losses"], row["losses_small_lstar"]) == (1, 0)  # c; Lstar 0.25
    assert (row["sets_small_lstar"], row["sets"]) == (2, 4)


def test_outcomes_without_the_floor_have_no_lstar(three_sets):
    frame = three_sets[three_sets["algorithm"] != "Supervised.L"]
    losses = tuned_losses(frame)
    sets = outcomes(losses, rounds_of(frame), "FastCB.L", "SquareCB.L", lstar_of(losses))
    assert sets["lstar"].isna().all()
    assert sets["verdict"].tolist() == [1, 0, -1, 1]


def test_the_papers_numbers_fit_together():
    assert paper.TUNED_PER_SET["FastCB.L", "SquareCB.L"] == paper.WINS - (paper.DIFFERENT - paper.WINS)
    assert len(paper.TUNED_PER_SET) == 5 * 4
    assert len(paper.ONE_CONFIGURATION) == 3 * 2


def test_a_set_is_learnable_where_the_floor_beats_the_majority_class():
    losses = pd.DataFrame({"Supervised.L": [0.30, 0.39, 0.50]}, index=["learnable", "within chance", "worse"])
    rounds, majority_error = pd.Series(1000, losses.index), pd.Series(0.4, losses.index)
    assert list(learnable_sets(losses, rounds, majority_error)) == ["learnable"]
    assert learnable_sets(losses.rename(columns=str.lower), rounds, majority_error).empty


def counted_in_scopes(
    losses: dict[str, float], **facts: dict[str, object]
) -> tuple[Findings, dict[str, tuple[int, ...]]]:
    """FastCB.L with these losses against SquareCB.L with 0.2, over 100 rounds: wins, losses and sets of each way."""
    rows = [(name, "FastCB.L", loss) for name, loss in losses.items()]
    about = datasets(losses, rows=100)
    for column, values in facts.items():
        about[column] = about["name"].map(values).fillna(about[column])
    found = analyse(results([*rows, *((name, "SquareCB.L", 0.2) for name in losses)], rounds=100), about)
    return found, {row.way: (row.wins, row.losses, row.sets) for row in found.scopes.itertuples()}


def test_a_gap_of_1_96_standard_errors_is_asked_for_where_it_is_said():
    # Gaps to 0.2: 0.1 is 2 errors, 0.12 is 1.55, 0.29 is -1.48, 0.4 is -3.16.
    _, counts = counted_in_scopes({"a": 0.1, "b": 0.12, "c": 0.29, "d": 0.4, "e": 0.2})
    assert counts["tuned per set, all sets"] == (2, 2, 5)
    assert counts["… a gap of 1.96 standard errors"] == (1, 1, 5)


def test_sets_that_were_chosen_on_count_only_where_it_is_said():
    found, counts = counted_in_scopes({f"set{i}": 0.1 for i in range(10)})
    assert len(found.held_out) == 4
    assert counts["one configuration, sets not chosen on"] == (6, 0, 6)
    assert counts["… all sets, also those chosen on"] == (10, 0, 10)
    assert found.one_configuration["sets"].tolist() == [6, 6]
    assert found.everyone["sets"].tolist() == [10, 10]


def test_a_majority_error_and_a_share_of_a_source_just_at_the_limit_count():
    names = {f"{'small' if i == 0 else 'large'}/{i}": 0.1 for i in range(5)}  # a fifth of the sets is of small/
    _, counts = counted_in_scopes(names, majority_error={"small/0": 0.2, "large/1": 0.1999})
    assert counts["… majority error at least 0.2"] == (4, 0, 4)
    assert counts["… only small/"] == (1, 0, 1)
    assert counts["… without small/"] == (4, 0, 4)
    assert counts["… only large/"] == (4, 0, 4)
    names |= {"large/5": 0.1}
    assert "… only small/" not in counted_in_scopes(names)[1]


def test_the_limit_of_small_lstar_belongs_to_it():
    rows = [("a", "FastCB.L", 0.3), ("a", "SquareCB.L", 0.5), ("a", "Supervised.L", 0.2)]
    rows += [("b", "FastCB.L", 0.3), ("b", "SquareCB.L", 0.5), ("b", "Supervised.L", 0.201)]
    frame = results(rows, rounds=100)
    losses = tuned_losses(frame)
    row = where_it_wins(losses, rounds_of(frame), "FastCB.L", ["SquareCB.L"], lstar_of(losses)).iloc[0]
    assert (row["wins"], row["wins_small_lstar"], row["sets_small_lstar"]) == (2, 1, 1)
