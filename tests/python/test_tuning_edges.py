"""Tuning where it is close: ties, a chance of 0, a replay that is just long enough, stages that build on each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from vw_fastcb import FastCB
from vw_fastcb.learner.settings import Settings
from vw_fastcb.learner.tuning import LogEvidence, search
from vw_fastcb.learner.tuning.candidates import candidates
from vw_fastcb.learner.tuning.evidence import Measured, _log_losses


class Scripted:
    """Evidence in which settings lose what a function of them says, on ten parts that hardly differ."""

    widths = (2.0, 0.0)
    name = "scripted"

    def __init__(self, loss: Any) -> None:
        self._loss = loss
        self.asked: list[tuple[str, str, str | None, tuple[str, ...]]] = []

    def unit(self, stage: str) -> str:
        del stage
        return "loss"

    def refusal(self, stage: str) -> str | None:
        del stage

    def measure(self, settings: Settings, stage: str, half: str) -> Measured:
        self.asked.append((stage, half, settings.oracle, tuple(settings.interactions or ())))
        return Measured(self._loss(settings) + 1e-6 * np.arange(10), np.zeros(0))


def test_of_equal_settings_the_default_stays_and_else_the_first_is_taken():
    tuning = search(FastCB(2).get_params(), Scripted(lambda settings: 0.5))
    assert tuning.changes == {}
    assert all("the default is best" in stage.verdict for stage in tuning.stages)
    tuning = search(FastCB(2).get_params(), Scripted(lambda settings: 0.5 - 0.1 * (settings.oracle == "gd")))
    assert tuning.stages[0].best == {"oracle": "gd", "learning_rate": 0.1}  # of five steps


def test_each_stage_begins_with_what_the_stages_before_it_have_taken():
    def loss(settings: Settings) -> float:
        return 0.5 - 0.1 * (settings.oracle == "gd") - 0.1 * ("xx" in (settings.interactions or ()))

    evidence = Scripted(loss)
    tuning = search(FastCB(2).get_params(), evidence, n_jobs=1)
    assert tuning.changes == {"oracle": "gd", "learning_rate": 0.1, "interactions": ("xx",)}
    by_stage = {stage: {one[2:] for one in evidence.asked if one[0] == stage} for stage, *_ in evidence.asked}
    assert by_stage["oracle"] == {("newton", ()), ("gd", ())}
    assert by_stage["interactions"] == {("gd", ()), ("gd", ("xx",))}
    assert by_stage["gamma"] == by_stage["objective"] == {("gd", ("xx",))}


def test_a_chance_counts_as_one_in_ten_million_at_least():
    least = 1e-7
    outcomes, predicted = np.array([1.0, 0.0, 1.0, 0.0, 0.25]), np.array([0.0, 1.0, 1e-4, 1 - 1e-4, 0.2])
    expected = [
        -math.log(least),
        -math.log(least),
        -math.log(1e-4),
        -math.log(1e-4),
        -0.25 * math.log(0.2) - 0.75 * math.log(0.8),
    ]
    assert _log_losses(outcomes, predicted) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("events", "is_enough"), [(2000, True), (1999, False)])
@pytest.mark.parametrize("stage", ["gamma", "objective"])
def test_a_replay_that_accepts_a_thousand_events_is_enough(events, is_enough, stage):
    rng = np.random.default_rng(0)
    evidence = LogEvidence(
        Settings.checked(FastCB(2).get_params()),
        rng.random((events, 1)),
        actions=rng.integers(2, size=events),
        values=rng.integers(2, size=events),
        probabilities=np.full(events, 0.5),
    )
    assert (evidence.refusal(stage) is None) == is_enough


def test_the_standard_error_of_a_trial_is_that_of_the_difference_to_the_settings_at_hand():
    """Parts differ a lot, and settings on the same part by hardly anything."""
    parts, gains = np.linspace(0.1, 0.9, 10), np.resize([0.01, 0.03], 10)

    def loss(settings: Settings) -> np.ndarray:
        return parts - gains * (settings.learning_rate == 1.0)

    (stage, *_) = search(FastCB(2).get_params(), Scripted(loss)).stages
    errors = {trial.changes.get("learning_rate"): trial.standard_error for trial in stage.trials}
    assert errors == pytest.approx(
        {None: 0, 0.1: 0, 0.5: 0, 1.0: gains.std(ddof=1) / math.sqrt(10), 3.0: 0, 10.0: 0}, abs=1e-12
    )


@pytest.mark.parametrize(("width", "is_tried"), [(64, True), (65, False)])
def test_products_are_tried_of_up_to_64_columns(width, is_tried):
    params = FastCB(2).get_params()
    assert candidates("interactions", params, (width, 0.0)) == [{"interactions": ("xx",)}] * is_tried
    params = FastCB().get_params()
    assert candidates("interactions", params, (1000.0, width)) == [
        {"interactions": ()},
        *[{"interactions": ("xa", "aa")}] * is_tried,
    ]


@pytest.mark.parametrize("seed", range(3))
def test_replays_do_not_draw_the_numbers_that_the_log_may_have_been_drawn_with(seed):
    """Data are often made by `default_rng(seed)`: a replay with those draws would accept what they say."""
    events = 2000
    for source in ([seed, 0], [seed], seed):
        draws = np.random.default_rng(source).random(events)
        evidence = LogEvidence(
            Settings.checked(FastCB(2).get_params()),
            np.ones((events, 1)),
            actions=(draws < 0.5).astype(int),
            values=np.full(events, 0.5),  # all the same, so that the replay's pmf stays near one half
            probabilities=np.full(events, 0.5),
            seed=seed,
        )
        replayed = evidence._replay(Settings.checked(FastCB(2, gamma_scale=0.0001).get_params()), 0)
        accepted = ~np.isnan(replayed[:, 0])
        assert abs(np.corrcoef(accepted, draws)[0, 1]) < 0.1
