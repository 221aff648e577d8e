from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bakeoff.synthetic import RESULTS, datasets, results
from vw_fastcb.bakeoff.analysis import best_configuration, best_configurations, choose_configuration, held_out_sets
from vw_fastcb.bakeoff.analysis.comparison import fresh_head_to_head, optimism
from vw_fastcb.bakeoff.analysis.held_out import eliminate, over_draws
from vw_fastcb.bakeoff.analysis.losses import (
    fixed_losses,
    incomplete_sets,
    mean_losses,
    mean_over_orders,
    orders_of,
    parameters,
    rounds_of,
    sensitivity,
    tuned_losses,
)


def grid(rows: list[tuple[str, str, str, float, float]], shuffle: int = 0, rounds: int = 100) -> pd.DataFrame:
    """Rows of (dataset, algorithm, configuration, step, loss)."""
    return pd.DataFrame([(*row[:4], shuffle, rounds, row[4]) for row in rows], columns=RESULTS)


def test_the_best_configuration_is_that_of_the_lowest_loss():
    frame = grid([("s", "A", "x=1", 0.1, 0.3), ("s", "A", "x=2", 1.0, 0.2), ("s", "B", "x=1", 1.0, 0.1)])
    assert best_configuration(frame, "s", "A") == ("x=2", 1.0)
    assert best_configurations(frame) == {("s", "A"): ("x=2", 1.0), ("s", "B"): ("x=1", 1.0)}


def test_equal_losses_give_the_smallest_step_in_any_order():
    frame = grid([("s", "A", "x=2", 1.0, 0.2), ("s", "A", "x=1", 3.0, 0.2), ("s", "A", "x=3", 1.0, 0.2)])
    assert best_configuration(frame, "s", "A") == ("x=2", 1.0)
    assert best_configuration(frame.iloc[::-1], "s", "A") == ("x=2", 1.0)


def test_repeats_do_not_tune():
    frame = pd.concat([grid([("s", "A", "x=1", 1.0, 0.3)]), grid([("s", "A", "x=2", 1.0, 0.0)], shuffle=1)])
    assert best_configuration(frame, "s", "A") == ("x=1", 1.0)
    assert tuned_losses(frame).loc["s", "A"] == 0.3


def test_several_orders_of_the_rows_count_as_their_mean_and_repeats_stay():
    first = grid([("s", "A", "x=1", 1.0, 0.3), ("s", "A", "x=2", 1.0, 0.1)])
    second = grid([("s", "A", "x=1", 1.0, 0.1), ("s", "A", "x=2", 1.0, 0.5)], shuffle=-1)
    repeat = grid([("s", "A", "x=1", 1.0, 0.9)], shuffle=1)
    frame = mean_over_orders(pd.concat([first, second, repeat]))
    assert tuned_losses(frame).loc["s", "A"] == pytest.approx(0.2)
    assert best_configuration(frame, "s", "A") == ("x=1", 1.0)
    assert frame[frame["shuffle"] == 1]["loss"].tolist() == [0.9]
    assert rounds_of(frame)["s"] == 100
    assert mean_over_orders(first) is first


def test_a_set_that_lacks_an_order_is_incomplete():
    whole = [("s", "A", "x=1", 1.0, 0.3), ("t", "A", "x=1", 1.0, 0.3)]
    assert incomplete_sets(pd.concat([grid(whole), grid(whole[:1], shuffle=-1)])) == ["t"]


def test_a_missing_result_is_named():
    with pytest.raises(KeyError, match="no result of B on s"):
        best_configuration(grid([("s", "A", "", 1.0, 0.3)]), "s", "B")


def test_a_set_with_a_hole_in_its_grid_is_incomplete():
    whole = [("s", "A", "x=1", 1.0, 0.1), ("s", "A", "x=2", 1.0, 0.1), ("t", "A", "x=1", 1.0, 0.1)]
    assert incomplete_sets(grid(whole)) == ["t"]
    assert incomplete_sets(grid([*whole, ("t", "A", "x=2", 1.0, 0.4)])) == []
    assert incomplete_sets(grid([*whole, ("t", "A", "x=2", 1.0, float("nan"))])) == ["t"]


def test_a_fixed_configuration_still_has_its_step_tuned():
    frame = grid([("s", "A", "x=1", 0.1, 0.3), ("s", "A", "x=1", 1.0, 0.25), ("s", "A", "x=2", 1.0, 0.2)])
    assert fixed_losses(frame, {"A": "x=1"}).loc["s", "A"] == 0.25


# In the examples of elimination, over 100 rounds, a gap of 0.1 or more is significant (0.2 against 0.3: 1.54 errors)
# and a gap of 0.05 is not (0.1 against 0.15: 1.07 errors).


def test_elimination_by_hand():
    # Votes 0.5, 1.5 and 1: the first configuration goes. Then the first set is for the third (0.1 against 0.3) and the
    # other two are shared: 1 vote against 2. The one with the most votes at the start does not win.
    assert eliminate(np.array([[0.1, 0.3, 0.1], [0.2, 0.1, 0.1], [0.2, 0.1, 0.15]]), np.full(3, 100)) == 2


def test_elimination_counts_wins_among_those_left_only():
    # Votes 1.5, 0.5, 0 and 1: the third goes. The second set was the last one's, which beat the third; now the second
    # and the last share it: votes 1.5, 1 and 0.5. The last goes, and the votes are 1 and 2.
    losses = np.array([[0.1, 0.15, 0.2, 0.2], [0.3, 0.15, 0.2, 0.1], [0.2, 0.15, 0.3, 0.3]])
    assert eliminate(losses, np.full(3, 100)) == 1


def test_a_shared_top_counts_for_each_that_shares_it():
    # Votes 2.5, 1.5 and 2, four of the sets being shared; if shared sets had no vote it would be 1, 1 and 0.
    losses = np.array(
        [[0.15, 0.1, 0.2], [0.1, 0.2, 0.15], [0.2, 0.3, 0.2], [0.1, 0.2, 0.1], [0.2, 0.1, 0.1], [0.15, 0.3, 0.2]]
    )
    assert eliminate(losses, np.full(6, 100)) == 2


def test_a_shared_top_counts_only_for_a_share():
    # Votes 1.75, 1.42, 1.92 and 1.92: the second goes; whole votes would be 3, 4, 4 and 4, and the first would go.
    losses = np.array(
        [
            [0.1, 0.2, 0.15, 0.3],
            [0.2, 0.2, 0.3, 0.1],
            [0.15, 0.15, 0.3, 0.3],
            [0.15, 0.15, 0.15, 0.2],
            [0.3, 0.15, 0.1, 0.15],
            [0.2, 0.3, 0.1, 0.3],
            [0.3, 0.15, 0.15, 0.2],
        ]
    )
    assert eliminate(losses, np.full(7, 100)) == 2


def test_where_nothing_is_significant_the_lowest_mean_loss_is_left():
    assert eliminate(np.array([[0.20, 0.19, 0.21], [0.20, 0.19, 0.21]]), np.full(2, 10)) == 1


def test_the_choice_looks_at_held_out_sets_only():
    rows = [("held", "A", "x=1", 1.0, 0.1), ("held", "A", "x=2", 1.0, 0.4)]
    rows += [(f"other{i}", "A", c, 1.0, loss) for i in range(5) for c, loss in (("x=1", 0.9), ("x=2", 0.1))]
    assert choose_configuration(grid(rows), "A", ["held"]) == "x=1"
    assert choose_configuration(grid(rows), "A", [f"other{i}" for i in range(5)]) == "x=2"


def test_draws_of_the_held_out_sets_are_averaged():
    # x=1 of A is the best on every set and beats B there, x=2 loses: whichever sets are drawn, A wins all others.
    names = [f"set{i}" for i in range(10)]
    rows = [(n, "A", c, 1.0, loss) for n in names for c, loss in (("x=1", 0.1), ("x=2", 0.5))]
    rows += [(n, "B", "", 1.0, 0.3) for n in names]
    row = over_draws(grid(rows), datasets(names), "A", ["B"], draws=3).iloc[0]
    assert (row["rival"], row["wins"], row["losses"], row["difference"], row["sets"]) == ("B", 6, 0, 6, 6)


def test_the_mean_over_draws_depends_on_what_is_held_out():
    # x=1 is the best on the sets s, x=2 on the sets t, and the other loses to B: neither choice wins everywhere.
    names = [f"{kind}{i}" for kind in "st" for i in range(5)]
    rows = [(n, "A", c, 1.0, 0.1 if (n[0] == "s") == (c == "x=1") else 0.5) for n in names for c in ("x=1", "x=2")]
    rows += [(n, "B", "", 1.0, 0.3) for n in names]
    row = over_draws(grid(rows), datasets(names), "A", ["B"]).iloc[0]
    assert 0 < row["wins"] < 6
    assert row["wins"] + row["losses"] == pytest.approx(6)


def test_the_papers_share_is_held_out_and_the_draw_is_repeatable():
    facts = datasets([f"set{i:03d}" for i in range(516)])
    drawn = held_out_sets(facts)
    assert len(drawn) == 200
    assert drawn == held_out_sets(facts.sample(frac=1, random_state=1))
    assert drawn != held_out_sets(facts, seed=1)


def test_a_base_set_and_its_subsets_stay_on_one_side():
    subsets = {f"base{i}_{j}": f"base{i}" for i in range(20) for j in range(4)}
    facts = datasets([*subsets, *(f"base{i}" for i in range(20))], subsets)
    drawn = set(held_out_sets(facts))
    assert 30 <= len(drawn) <= 39  # 39 is the paper's share of 100; families of five
    for i in range(20):
        family = {f"base{i}", *(f"base{i}_{j}" for j in range(4))}
        assert family <= drawn or not family & drawn


def test_one_family_cannot_be_split():
    assert held_out_sets(datasets(["a", "b"], {"b": "a"})) == []
    assert held_out_sets(datasets(["a"])) == []


def test_regret_is_the_mean_gap_to_the_floor():
    frame = results([("s", "A", 0.3), ("s", "Supervised.L", 0.1), ("t", "A", 0.2), ("t", "Supervised.L", 0.2)])
    row = mean_losses(tuned_losses(frame)).set_index("algorithm").loc["A"]
    assert row["loss"] == pytest.approx(0.25)
    assert row["regret"] == pytest.approx(0.1)
    assert row["regret_error"] == pytest.approx(0.1)  # gaps 0.2 and 0: deviation 0.1414, over sqrt(2)


def test_orders_that_an_algorithm_did_not_have_count_for_none():
    first = grid([("s", "A", "x=1", 1.0, 0.3), ("s", "B", "x=1", 1.0, 0.3)])
    second = grid([("s", "A", "x=1", 1.0, 0.9)], shuffle=-1)
    frame = pd.concat([first, second])
    assert tuned_losses(mean_over_orders(frame)).loc["s"].to_dict() == {"A": 0.3, "B": 0.3}
    assert orders_of(frame) == 1
    assert incomplete_sets(frame) == []


def test_sensitivity_tunes_all_but_gamma():
    low, high, other = "gamma_scale=10 gamma_exponent=0.25", "gamma_scale=10 gamma_exponent=0.5", "gamma_scale=50"
    rows = [
        ("s", "A", low, 1.0, 0.3),
        ("s", "A", high, 1.0, 0.2),
        ("t", "A", low, 1.0, 0.4),
        ("t", "A", high, 3.0, 0.5),
    ]
    rows += [("s", "A", other, 1.0, 0.6), ("t", "A", other, 3.0, 0.8), ("t", "A", other, 1.0, 0.9)]
    rows += [("s", "B", "epsilon=0.1", 1.0, 0.1), ("t", "B", "epsilon=0.1", 1.0, 0.1)]
    table = sensitivity(grid(rows))
    assert table[["algorithm", "gamma_scale"]].to_numpy().tolist() == [["A", 10.0], ["A", 50.0]]
    assert table["loss"].tolist() == pytest.approx([0.3, 0.7])


def test_sensitivity_compares_means_over_the_same_sets():
    rows = [("s", "A", "gamma_scale=10", 1.0, 0.2), ("t", "A", "gamma_scale=10", 1.0, 0.8)]
    rows += [("s", "A", "gamma_scale=50", 1.0, 0.3)]  # as far as a run has come that was interrupted
    table = sensitivity(grid(rows))
    assert table[["gamma_scale", "loss", "sets"]].to_numpy().tolist() == [[10.0, 0.2, 1.0], [50.0, 0.3, 1.0]]


def test_parameters_are_the_numbers_of_a_configuration():
    assert parameters("gamma_scale=10 gamma_exponent=0.5 kind=first") == {"gamma_scale": 10.0, "gamma_exponent": 0.5}
    assert parameters("") == {}


def test_fresh_shuffles_use_the_configuration_that_was_best_and_no_other():
    once = [("s", "FastCB.L", "x=1", 1.0, 0.1), ("s", "FastCB.L", "x=2", 1.0, 0.2), ("s", "B", "", 1.0, 0.2)]
    again = [("s", "FastCB.L", "x=1", 1.0, 0.3), ("s", "FastCB.L", "x=2", 1.0, 0.0), ("s", "B", "", 1.0, 0.2)]
    even = [("s", "FastCB.L", "x=1", 1.0, 0.2), ("s", "B", "", 1.0, 0.2)]
    frame = pd.concat([grid(once), grid(again, shuffle=1), grid(even, shuffle=2)])
    row = fresh_head_to_head(frame, "FastCB.L", ["B"]).iloc[0]
    assert (row["grid_wins"], row["grid_losses"]) == (1, 0)
    assert (row["wins"], row["losses"]) == (0, 0.5)  # shuffle 1 lost (0.3 against 0.2), shuffle 2 even
    assert (row["pooled_wins"], row["pooled_losses"]) == (0, 0)  # 0.25 against 0.2 over 200 rounds: 1.2 errors
    assert (row["sets"], row["least_shuffles"], row["most_shuffles"]) == (1, 2, 2)
    means = optimism(frame).set_index("algorithm")
    assert means.loc["FastCB.L", "fresh_loss"] == pytest.approx(0.25)
    assert means.loc["FastCB.L", "tuned_loss"] == pytest.approx(0.1)
    assert means.loc["FastCB.L", "optimism"] == pytest.approx(0.15)
    assert means["sets"].tolist() == [1, 1]


@pytest.mark.parametrize(("ours", "theirs", "column"), [(0.1, 0.15, "pooled_wins"), (0.15, 0.1, "pooled_losses")])
def test_only_the_pooled_counts_of_fresh_shuffles_have_the_rounds_of_all_of_them(ours, theirs, column):
    """A gap of 1.07 standard errors over the 100 rounds of a pass is one of 1.51 over 200; 1.39 are asked for."""
    both = [("s", "FastCB.L", "", 1.0, ours), ("s", "B", "", 1.0, theirs)]
    frame = pd.concat([grid(both), grid(both, shuffle=1), grid(both, shuffle=2)])
    row = fresh_head_to_head(frame, "FastCB.L", ["B"]).iloc[0]
    counts = ["grid_wins", "grid_losses", "wins", "losses", "pooled_wins", "pooled_losses"]
    assert row[counts].to_dict() == {name: int(name == column) for name in counts}


def test_counts_of_single_shuffles_are_means_over_those_of_a_set():
    """Set s has three shuffles, of which two are won and one is lost; t has one, which is won."""
    once = [
        ("s", "FastCB.L", "", 1.0, 0.1),
        ("s", "B", "", 1.0, 0.3),
        ("t", "FastCB.L", "", 1.0, 0.1),
        ("t", "B", "", 1.0, 0.3),
    ]
    lost = [("s", "FastCB.L", "", 1.0, 0.3), ("s", "B", "", 1.0, 0.1)]
    frame = pd.concat([grid(once), grid(once, shuffle=1), grid(once[:2], shuffle=2), grid(lost, shuffle=3)])
    row = fresh_head_to_head(frame, "FastCB.L", ["B"]).iloc[0]
    assert (row["wins"], row["losses"]) == pytest.approx((2 / 3 + 1, 1 / 3))
    assert (row["sets"], row["least_shuffles"], row["most_shuffles"]) == (2, 1, 3)


def test_without_repeats_there_is_no_comparison_on_fresh_shuffles():
    frame = grid([("s", "FastCB.L", "", 1.0, 0.1), ("s", "B", "", 1.0, 0.2)])
    assert fresh_head_to_head(frame, "FastCB.L", ["B"]).empty
    assert optimism(frame).empty
