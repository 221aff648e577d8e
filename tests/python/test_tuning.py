"""`FastCB.tune`: what it chooses, what it leaves alone, and that its passes are those of the learner itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vw_fastcb import FastCB
from vw_fastcb.learner.settings import Settings
from vw_fastcb.learner.tuning import LogEvidence, TableEvidence, search
from vw_fastcb.learner.tuning.evidence import Measured


def parity(rows: int = 800) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose right action only products of columns tell."""
    contexts = np.random.default_rng(0).integers(0, 2, (rows, 2)).astype(float)
    return contexts, np.logical_xor(*contexts.T).astype(int)


def logged(contexts: np.ndarray, right: np.ndarray, seed: int = 1) -> dict[str, Any]:
    """What a bandit that draws actions by lot would have logged."""
    actions = np.random.default_rng(seed).integers(2, size=len(right))
    return {"actions": actions, "values": (actions != right).astype(float), "probabilities": np.full(len(right), 0.5)}


def settings(**params: Any) -> Settings:
    return Settings.checked(FastCB(**params).get_params())


def test_a_table_tells_which_products_to_take_and_threads_change_nothing():
    contexts, right = parity(400)
    one, two = (FastCB(2).tune(contexts, right, n_orders=4, n_jobs=jobs) for jobs in (1, 2))
    assert one.changes == {"interactions": ("xx",)}
    assert one == two
    stage = one.stages[1]
    assert stage.adopted
    assert 0 < stage.interval[0] < stage.gain < stage.interval[1]
    assert 0.2 < stage.gain < 0.5
    assert one.learner.get_params() == {**FastCB(2).get_params(), "interactions": ("xx",)}
    assert "--interactions xx" in one.flags
    assert "Take interactions=('xx',)." in str(one)


def test_a_log_tells_the_same():
    contexts, right = parity(2500)
    tuning = FastCB(2).tune(contexts, **logged(contexts, right))
    assert tuning.changes["interactions"] == ("xx",)
    assert tuning.stages[1].unit == "log loss per event"
    assert tuning.stages[2].unit == "mean cost per replayed event"
    frame = tuning.to_frame()
    assert frame.loc[frame.adopted, "settings"].tolist()[0] == "interactions=('xx',)"
    assert frame.value[frame.stage == "oracle"].between(0, 1).all()


def test_a_log_of_rewards_is_judged_as_one_of_costs():
    contexts, right = parity()
    log = logged(contexts, right)
    costs = FastCB(2, objective="loss", gamma_scale=10).tune(contexts, **log)
    rewards = FastCB(2, objective="loss", gamma_scale=10, reward_range=(0, 4)).tune(
        contexts, **{**log, "values": 4 - 4 * log["values"]}
    )
    assert rewards.changes == costs.changes
    earned = [trial.value for trial in rewards.stages[0].trials]
    assert earned == [pytest.approx(4 - 4 * trial.value, rel=1e-4) for trial in costs.stages[0].trials]
    assert [[trial.loss for trial in stage.trials] for stage in rewards.stages] == [
        [pytest.approx(trial.loss, rel=1e-4) for trial in stage.trials] for stage in costs.stages
    ]


@pytest.mark.parametrize("seed", range(3))
def test_where_there_is_nothing_to_learn_the_defaults_stay(seed):
    rng = np.random.default_rng(seed)
    contexts, right = rng.random((600, 3)), rng.integers(0, 2, 600)
    assert FastCB(2).tune(contexts, right, n_orders=5, seed=seed).changes == {}
    assert FastCB(2).tune(contexts, **logged(contexts, right), seed=seed).changes == {}


def test_what_was_set_stays():
    contexts, right = parity(400)
    given = {"oracle": "newton", "interactions": (), "gamma_scale": 5.0, "objective": "loss"}
    tuning = FastCB(2, **given).tune(contexts, right, n_orders=2)
    assert tuning.changes == {}
    assert all(stage.trials == () for stage in tuning.stages)
    assert [
        stage.name for stage in FastCB(2, learning_rate=1).tune(contexts, right, n_orders=2).stages if stage.trials
    ] == [
        "interactions",
        "gamma",
        "objective",
    ]


@pytest.mark.parametrize("oracle", ["newton", "gd"])
def test_each_event_of_a_log_is_judged_by_what_was_learned_before_it(oracle):
    contexts, right = parity(400)
    log = logged(contexts, right)
    bandit = FastCB(2, oracle=oracle)
    losses = []
    for context, action, cost in zip(contexts, log["actions"], log["values"], strict=True):
        predicted = np.clip(bandit.predict_cost([context])[0, action], 1e-7, 1 - 1e-7)
        losses.append(-np.log(predicted) if cost else -np.log1p(-predicted))
        bandit.learn_event(context, int(action), cost)
    evidence = LogEvidence(settings(n_actions=2), contexts, **log)
    measured = evidence.measure(settings(n_actions=2, oracle=oracle), "oracle", "confirm")
    assert measured.losses.tolist() == [np.mean(part) for part in np.array_split(losses, 40)[1::2]]


def test_action_features_and_excluded_actions():
    rng = np.random.default_rng(3)
    contexts, features = rng.random((500, 2)), rng.random((500, 3, 2))
    actions = rng.integers(2, size=500)
    bandit, losses, worth = FastCB(), [], []
    costs = (features[np.arange(500), actions, 0] > contexts[:, 0]).astype(float)
    log = {"actions": actions, "values": costs, "probabilities": np.full(500, 0.5), "exclude": [2]}
    for i, action in enumerate(actions):
        predicted = bandit.predict_cost([contexts[i]], features[i])[0]
        pmf = bandit.predict_proba([contexts[i]], features[i], exclude=[2])[0]
        losses.append(-np.log(predicted[action]) if costs[i] else -np.log1p(-predicted[action]))
        worth.append(pmf @ predicted + pmf[action] / 0.5 * (costs[i] - predicted[action]))
        bandit.learn_event(contexts[i], int(action), costs[i], action_features=features[i])
    evidence = LogEvidence(settings(), contexts, action_features=features, **log)
    measured = evidence.measure(settings(), "oracle", "choose")
    assert measured.losses == pytest.approx([np.mean(part) for part in np.array_split(losses, 40)[::2]], rel=1e-12)
    assert measured.values == pytest.approx([np.mean(part) for part in np.array_split(worth, 40)[::2]], rel=1e-12)


def test_a_replay_loses_what_the_learner_loses_online():
    contexts, right = parity(8_000)
    log = logged(contexts, right)
    evidence = LogEvidence(settings(n_actions=2), contexts, **log)
    explores = {"n_actions": 2, "interactions": ("xx",), "allocation": "igw", "gamma_scale": 3, "gamma_exponent": 0}
    replayed = [evidence.measure(settings(**explores), "gamma", half).losses.mean() for half in ("choose", "confirm")]
    played = FastCB(**explores).simulate(contexts[:4_000], right[:4_000], n_shuffles=4, seed=5).costs.mean()
    assert 0.2 < played < 0.25  # of exploring: an action that is known to be wrong has the probability 1 / (2 + 3)
    error = np.sqrt(played * (1 - played) / 4_000)  # of one replay, which accepts half of the events
    assert np.mean(replayed) == pytest.approx(played, abs=3 * error)


def test_a_log_with_small_probabilities_says_nothing_of_gamma():
    contexts, right = parity()
    log = {**logged(contexts, right), "probabilities": np.full(800, 0.01)}
    tuning = FastCB(2).tune(contexts, **log)
    assert tuning.stages[2].trials == ()
    assert "a replay would accept about 8 of 800 events" in tuning.stages[2].verdict


def test_measurements_are_asked_for_by_names_of_their_own():
    contexts, right = parity(200)
    evidence = TableEvidence(settings(n_actions=2), contexts, right, None, orders=2, seed=0)
    kept: dict[str, Measured] = {}

    def memory(key: str, measure: Any) -> Measured:
        return kept.setdefault(key, kept[key] if key in kept else measure())

    first = search(FastCB(2).get_params(), evidence, memory=memory)
    count = len(kept)
    assert count >= len({str(trial.changes) for stage in first.stages for trial in stage.trials})

    def known(key: str, measure: Any) -> Measured:
        del measure
        return kept[key]

    again = TableEvidence(settings(n_actions=2), contexts, right, None, orders=2, seed=0)
    assert search(FastCB(2).get_params(), again, memory=known) == first
    other = TableEvidence(settings(n_actions=2), contexts + 1, right, None, orders=2, seed=0)
    assert other.name != evidence.name


@pytest.mark.parametrize(
    ("given", "problem", "words"),
    [
        ({}, TypeError, "expected either targets, or actions, values and probabilities"),
        ({"targets": [0] * 9, "actions": [0] * 9}, TypeError, "expected either targets"),
        ({"actions": [0] * 9, "values": [0.0] * 9}, TypeError, r"all but \['probabilities'\]"),
        ({"targets": [0] * 9, "n_orders": 1}, ValueError, "n_orders is 1; expected a whole number, 2 or larger"),
        ({"targets": [0] * 9, "seed": -1}, ValueError, "seed is -1"),
        ({"targets": [2] * 9}, ValueError, "target 2 of event 0 is unknown"),
        ({"actions": [0] * 9, "values": [0.0] * 9, "probabilities": [0.5] * 9}, ValueError, "has 9 events"),
        ({"actions": [0] * 9, "values": [0.0] * 9, "probabilities": [1.5] * 9}, ValueError, "event 0 is 1.5"),
        (
            {"actions": [0] * 9, "values": [0.0] * 9, "probabilities": [0.5] * 9, "exclude": [0]},
            ValueError,
            "the action 0 of event 0, which was taken",
        ),
    ],
)
def test_bad_data_are_refused(given, problem, words):
    with pytest.raises(problem, match=words):
        FastCB(2).tune(np.ones((9, 2)), **given)


def test_data_that_say_nothing_change_nothing():
    contexts, right = parity()
    tuning = FastCB(2).tune(contexts, **{**logged(contexts, right), "values": np.zeros(800)})
    assert tuning.changes == {}
    assert all("the same outcome" in stage.verdict for stage in tuning.stages)
    with pytest.raises(ValueError, match="there is no row"):
        FastCB(2).tune(np.zeros((0, 2)), np.zeros(0, dtype=int))


class Told:
    """Evidence that says what it is told to: losses and values of a half, by the changes that are measured."""

    widths = (2.0, 0.0)
    name = "told"

    def __init__(self, **halves: Any) -> None:
        self._halves = halves
        self.asked: list[tuple[str, str, str]] = []

    def unit(self, stage: str) -> str:
        del stage
        return "loss"

    def refusal(self, stage: str) -> str | None:
        return None if stage == "oracle" else "not told."

    def measure(self, settings: Settings, stage: str, half: str) -> Measured:
        self.asked.append((stage, half, f"{settings.oracle} {settings.learning_rate}"))
        losses, values = self._halves[half](settings)
        return Measured(np.array(losses), np.array(values))


def told(best: Any) -> Any:
    """What gd with step 1 has; everything else has losses and values of 0.5."""
    parts = 20 * [0.5]
    return lambda settings: best if settings.learning_rate == 1.0 else (parts, parts)


BETTER = [0.4, 0.41] * 10
WORSE = [0.6, 0.61] * 10


@pytest.mark.parametrize(
    ("losses", "values", "is_taken", "words"),
    [
        (BETTER, BETTER, True, "Taken."),
        (BETTER, WORSE, False, "but the log says that its decisions would cost more. The default is kept."),
        (BETTER, [0.1, 0.95] * 10, True, "Taken."),  # more, but not more than by luck
        (BETTER, [], True, "Taken."),  # of a table, where losses are costs
        (WORSE, BETTER, False, "no lower (0.1050 higher). The default is kept."),
        ([0.0, 0.9] * 10, BETTER, False, "not enough to tell it from luck"),
    ],
)
def test_what_looked_best_is_taken_if_it_is_better_on_the_other_half_and_its_decisions_cost_no_more(
    losses, values, is_taken, words
):
    evidence = Told(choose=told(([0.3, 0.31] * 10, 20 * [0.5])), confirm=told((losses, values)))
    tuning = search(FastCB(2).get_params(), evidence)
    stage = tuning.stages[0]
    assert stage.best == {"oracle": "gd", "learning_rate": 1.0}
    assert stage.trials[3].loss == pytest.approx(0.305)
    assert stage.gain == pytest.approx(0.5 - np.mean(losses))
    assert (stage.adopted, tuning.changes) == (is_taken, dict(stage.best) if is_taken else {})
    assert words in stage.verdict


def test_only_the_half_that_chooses_chooses_and_only_the_other_one_confirms():
    def confirmed(settings: Settings) -> Any:
        return (20 * [0.0 if settings.learning_rate == 0.5 else 0.5], [])

    evidence = Told(choose=told(([0.3, 0.31] * 10, 20 * [0.5])), confirm=confirmed)
    tuning = search(FastCB(2).get_params(), evidence)
    assert tuning.changes == {}  # step 0.5 would be better where nobody chooses
    assert tuning.stages[0].gain == 0
    steps = ["newton None", *(f"gd {step}" for step in (0.1, 0.5, 1.0, 3.0, 10.0))]
    assert evidence.asked == [
        *(("oracle", "choose", step) for step in steps),
        *(("oracle", "confirm", step) for step in ("newton None", "gd 1.0")),
    ]


def test_a_gain_has_the_interval_of_students_t():
    gains = np.array([0.1, 0.12, 0.05, 0.2, 0.17, 0.11, 0.02, 0.09])

    def confirmed(settings: Settings) -> Any:
        return (0.5 - gains if settings.learning_rate == 1.0 else np.full(8, 0.5), [])

    evidence = Told(choose=told(([0.3] * 20, [])), confirm=confirmed)
    stage = search(FastCB(2).get_params(), evidence).stages[0]
    spread = 3.4994833 * gains.std(ddof=1) / np.sqrt(8)  # the 99.5% quantile of seven degrees of freedom
    assert stage.interval == pytest.approx((gains.mean() - spread, gains.mean() + spread), rel=0.02)


def test_the_orders_of_a_table_that_confirm_are_others_than_those_that_choose():
    contexts, right = parity(60)
    measured = [
        TableEvidence(settings(n_actions=2), contexts, right, None, orders=orders, seed=0).measure(
            settings(n_actions=2), "oracle", half
        )
        for orders, half in ((2, "choose"), (2, "confirm"), (4, "choose"))
    ]
    first, second, all_of_them = (one.losses.tolist() for one in measured)
    assert first + second == all_of_them
    assert len(set(all_of_them)) == 4


def test_the_replays_that_confirm_have_other_luck_than_those_that_choose():
    contexts, right = parity()
    evidence = LogEvidence(settings(n_actions=2), contexts, **logged(contexts, right))
    replays = [evidence._replay(settings(n_actions=2), number) for number in range(8)]
    assert len({one.tobytes() for one in replays}) == 8
    for half, numbers, parts in (("choose", range(4), slice(0, None, 2)), ("confirm", range(4, 8), slice(1, None, 2))):
        table = np.concatenate([replays[number] for number in numbers], axis=1)
        means = [np.nanmean(part) for part in np.array_split(table, 40)[parts]]
        found = evidence.measure(settings(n_actions=2), "gamma", half).losses
        assert found.tolist() == pytest.approx(means)
