"""The pictures: what is written in them can be read."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Annotation

from vw_fastcb.bakeoff.analysis.curves import mean_curve
from vw_fastcb.bakeoff.report.figures import gamma_lines, loss_curves, regret_bars
from vw_fastcb.bakeoff.report.style import canvas, drawing, shortened, spread


@pytest.mark.parametrize("name", ["S/" + "folder/" * 30 + "end.csv", "S/" + "W" * 60 + "/end.csv"])
def test_a_long_title_is_shortened_in_the_middle(name):
    figure, axes = canvas(5.2, 4.4, name)
    title = axes.get_title(loc="left")
    assert title.startswith("S/")
    assert title.endswith("end.csv")
    assert "…" in title
    figure.draw_without_rendering()
    assert axes._left_title.get_window_extent().x1 < figure.bbox.x1


def test_a_title_that_fits_is_not_shortened():
    _, axes = canvas(5.2, 4.4, "r/dslabs/us_contagious_diseases")
    assert axes.get_title(loc="left") == "r/dslabs/us_contagious_diseases"


def test_a_dollar_begins_no_formula():
    with drawing():
        _, axes = canvas(5.2, 4.4, "a$b$c.csv")
    assert not axes._left_title.get_parse_math()


def test_characters_that_the_font_lacks_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with drawing():
            canvas(5.2, 4.4, "数据")[0].draw_without_rendering()


def test_a_pass_of_one_round_is_drawn_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = loss_curves("one", "rounds", {"FastCB.L": mean_curve([np.ones(1, np.uint8)])})
        figure.draw_without_rendering()
    assert figure.axes[0].lines[0].get_marker() == "o"


@pytest.mark.parametrize(("regret", "error"), [(0.078, 0.085), (-1.0, 0.0), (0.0, 0.0)])
def test_the_numbers_beside_the_bars_stay_inside(regret, error):
    names = ["FastCB.L", "an algorithm with a very long name, version 2"]
    means = pd.DataFrame({"algorithm": names, "regret": [0.04, regret], "regret_error": [0.02, error]})
    figure = regret_bars(means)
    figure.draw_without_rendering()
    numbers = [child for child in figure.axes[0].get_children() if isinstance(child, Annotation)]
    assert len(numbers) == 2
    assert max(number.get_window_extent().x1 for number in numbers) < figure.axes[0].get_window_extent().x1 - 3


def test_labels_are_moved_apart_as_little_as_can_be():
    assert spread([1.0, 5.0, 5.0, 9.0], 1.0, 0.0, 10.0) == [1.0, 4.5, 5.5, 9.0]
    assert spread([0.0, 0.0, 10.0], 1.0, 0.0, 10.0) == [0.0, 1.0, 10.0]
    assert spread([10.0, 10.0], 1.0, 0.0, 10.0) == [9.0, 10.0]
    assert spread([5.0] * 21, 1.0, 0.0, 10.0) == pytest.approx(np.linspace(0, 10, 21))


def test_numbers_of_an_axis_do_not_touch():
    values = [10.0, 50.0, 100.0, 400.0, 700.0, 1000.0]
    lines = pd.DataFrame({"algorithm": "FastCB.L", "gamma_scale": values, "loss": np.linspace(0.1, 0.2, 6)})
    figure = gamma_lines(lines, pd.DataFrame({"algorithm": ["RegCB.S"], "loss": [0.15]}))
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert labels == ["10", "50", "100", "400", "", "1000"]


def test_a_name_is_shortened_to_its_beginning_and_end():
    assert shortened("abcdefghij", 5) == "ab…ij"
    assert shortened("abcdefghij", 6) == "abc…ij"
    assert shortened("abc", 3) == "abc"


def test_the_end_of_a_band_is_inside():
    curve = mean_curve([np.arange(200) % 2 == 0])
    low, high = loss_curves("one", "rounds", {"FastCB.L": curve}).axes[0].get_ylim()
    assert low < curve.loss[-1] - curve.half_width[-1]
    assert high > curve.loss[-1] + curve.half_width[-1]
