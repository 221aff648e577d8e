"""The second-order oracle: against a reference, and the promises of the README with it."""

import re

import numpy as np
import pytest

from newton_reference import NewtonReference
from newton_state import newton_state
from support import events as bandit_events
from support import ok, predictions, write
from vw_fastcb import FastCB, Workspace, merge_models

FLAGS = "--fastcb --fastcb_oracle newton --quiet"


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def events(rng, count, columns=4, actions=3):
    """Columns of very different scales, one of them mostly zero."""
    scales, centres = 10.0 ** np.arange(-3, columns - 3), np.arange(columns)
    rows = np.float32((rng.normal(size=(count, columns)) + centres) * scales * (rng.random((count, columns)) < 0.8))
    return rows, rng.integers(actions, size=count), np.float32(rng.random(count))


def line(row, label=""):
    return f"{label} |x " + " ".join(f"{i}:{float(value).hex()}" for i, value in enumerate(row) if value)


def test_it_predicts_what_the_reference_predicts(rng):
    rows, actions, costs = events(rng, 300)
    rows[0] = [1, 2, 3, 4]  # no zero among them: all columns are admitted at once
    bandit, reference = FastCB(3, oracle="newton"), NewtonReference(3, 4)
    bandit.learn_event(rows[0], actions[0], costs[0])
    reference.learn(rows[0].astype(float), actions[0], costs[0])
    for row, action, cost in zip(rows[1:], actions[1:], costs[1:], strict=True):
        np.testing.assert_allclose(bandit.decide(row).predicted, reference.predict(row.astype(float)), atol=2e-6)
        bandit.learn_event(row, action, cost, sample_weight=1 + action)
        reference.learn(row.astype(float), action, cost, 1 + action)
    assert np.ptp(bandit.decide_many(rows).predicted) > 0.2


@pytest.mark.parametrize("capacity", [64, 2, 0], ids=str)
def test_arrays_text_and_a_model_on_the_command_line_give_one_answer(rng, tmp_path, capacity):
    """With a capacity of 2, the last columns have a variance each; with 0, all are raw."""
    rows, actions, costs = events(rng, 150, columns=40)
    extra = f"--fastcb_capacity {capacity}"
    bandit = FastCB(3, vw_args=extra, oracle="newton")
    with Workspace(f"--cb_explore 3 {extra} {FLAGS} --cb_min_cost 0 --cb_max_cost 1") as vw:
        for row, action, cost in zip(rows, actions, costs, strict=True):
            pmf = vw.predict(line(row))
            np.testing.assert_array_equal(bandit.predict_proba([row])[0].astype(np.float32), np.float32(pmf))
            vw.learn(line(row, f"{action + 1}:{cost}:0.5"))
            bandit.learn_event(row, action, float(f"{cost}"))
    bandit.save(tmp_path / "model")
    log = write(tmp_path / "log", (line(row) + "\n" for row in rows[:20]))
    ok("-i", tmp_path / "model", "-t", "-d", log, "-p", tmp_path / "pmfs", "--quiet")
    for pmf, row in zip(predictions(tmp_path / "pmfs"), bandit.predict_proba(rows[:20]), strict=True):
        np.testing.assert_allclose(list(pmf.values()), row, atol=1e-6)


def adf_lines(context, actions, chosen=None, cost=0.0):
    label = [f"0:{cost}:0.5" if a == chosen else "" for a in range(len(actions))]
    return [
        f"shared |x {' '.join(f'{i}:{v}' for i, v in enumerate(context))}",
        *(f"{label[a]} |a {' '.join(f'{i}:{v}' for i, v in enumerate(row))}" for a, row in enumerate(actions)),
    ]


def test_actions_with_features_give_one_answer_and_decisions_keep_all_of_them(rng):
    bandit = FastCB(oracle="newton", interactions=("xa",), seed=1)
    with Workspace(f"--cb_explore_adf -q xa {FLAGS} --cb_min_cost 0 --cb_max_cost 1") as vw:
        for i in range(80):
            context, actions = rng.integers(1, 5, 3), rng.integers(1, 9, (2 + i % 3, 2))
            decision = bandit.decide(context, actions)
            np.testing.assert_array_equal(
                decision.pmf.astype(np.float32), np.float32(vw.predict(adf_lines(context, actions)))
            )
            cost = float(actions[decision.action][0] > 4)
            assert np.shape(decision.action_features) == actions.shape
            bandit.learn(decision, cost)
            vw.learn(adf_lines(context, actions, decision.action, cost))
    low, high = bandit.decide([2, 2, 2], [[1, 4], [8, 4]]).predicted
    assert low < 0.3 < 0.7 < high


@pytest.mark.parametrize("door", ["--cb_explore 3", "--cb_explore_adf -q xa"])
@pytest.mark.parametrize("extra", ["", "--fastcb_capacity 2", "--fastcb_memory 50"])
def test_a_model_that_is_saved_and_loaded_goes_on_to_the_last_bit(rng, tmp_path, door, extra):
    def learn(vw, i):
        row = i * np.array([1, 37, 1001, 5]) % 17
        lines = (
            line(row, f"{i % 3 + 1}:{i % 2}:0.5")
            if "adf" not in door
            else adf_lines(row[:2], row[2:].reshape(2, 1), i % 2, i % 3 / 2)
        )
        vw.learn(lines)

    whole = Workspace(f"{door} {extra} {FLAGS}")
    part = Workspace(f"{door} {extra} {FLAGS}")
    for i in range(60):
        learn(whole, i)
        learn(part, i)
    part.save(str(tmp_path / "half"))
    part = Workspace(f"-i {tmp_path / 'half'} --quiet")
    for i in range(60, 120):
        learn(whole, i)
        learn(part, i)
    for i in range(120, 140):
        row = i * np.array([1, 37, 1001, 5]) % 17
        lines = line(row) if "adf" not in door else adf_lines(row[:2], row[2:].reshape(2, 1))
        assert whole.predict(lines) == part.predict(lines)
    assert max(whole.predict(lines)) < 0.9999999


def test_predictions_and_refused_events_change_nothing(rng):
    rows, actions, costs = events(rng, 60)
    bandit = FastCB(3, oracle="newton").partial_fit(rows, actions, costs)
    before = bandit.to_bytes()
    bandit.predict_proba(rows * 1000)
    bandit.decide_many(rows)
    for bad in ({"cost": 2}, {"cost": np.nan}, {"action": 7}):
        with pytest.raises(ValueError):
            bandit.learn_event(rows[0] + 5, bad.get("action", 1), bad.get("cost", 0.5))
    assert bandit.to_bytes() == before
    predicted = bandit.decide_many(rows).predicted
    bandit.learn_event(rows[0] * 3, 1, 0.5, sample_weight=0)  # VW's clock counts it
    np.testing.assert_array_equal(bandit.decide_many(rows).predicted, predicted)


SCALES = {
    "tiny": lambda x: x * 1e-15,
    "huge": lambda x: x * 1e15,
    "beyond squares in float32": lambda x: x * 1e25,
    "constant": lambda x: np.concatenate([x, np.full((len(x), 2), 7e7)], axis=1),
    "duplicate": lambda x: np.concatenate([x, x, x[:, ::-1]], axis=1),
    "collinear": lambda x: np.concatenate([x, x @ np.ones((x.shape[1], 3)), 1 - x], axis=1),
    "far from zero": lambda x: x + 1e5,
}


@pytest.mark.parametrize("rounds", [3000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("memory", [0, 100])
@pytest.mark.parametrize("columns", SCALES)
def test_odd_columns_do_no_harm(columns, memory, rounds):
    rng = np.random.default_rng(1)
    plain = rng.normal(size=(3000, 3))
    right = (plain[:, 0] > 0).astype(np.int64)
    rows = SCALES[columns](plain)
    played = np.resize(np.arange(3000), rounds)
    bandit = FastCB(2, oracle="newton", vw_args=f"--fastcb_memory {memory}", seed=1)
    result = bandit.simulate(rows[played], right[played])
    assert result.costs[0, -1000:].mean() < 0.1
    assert np.isfinite(result.probabilities).all()


NO_NUMBER = re.compile(rb"[^\0]\0{6}[\xf0\xf8][\x7f\xff]")  # infinite, or not a number, after one that is


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 60), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("memory", [0, 5, 20, 1000])
def test_events_of_any_weight_pull_predictions_towards_their_outcomes(memory, seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(24, 6)) * 10.0 ** rng.uniform(-3, 3, 6)
        rows[:, 1], rows[:, 2], rows[:, 3] = rows[:, 0], rows[:, 0] - 2 * rows[:, 4], 7
        weights = 10.0 ** rng.choice([-3, 0, 1, 6, 17, 38.4], 24)
        outcomes = rng.choice([0.0, 1.0, 0.3], 24)
        bandit = FastCB(
            1, oracle="newton", bits=10, vw_args=f"--fastcb_memory {memory} --fastcb_capacity {[64, 2][seed % 2]}"
        )
        for row, weight, outcome in zip(rows, weights, outcomes, strict=True):
            before = bandit.to_bytes()
            predicted = []
            for other in (0.0, outcome, 1.0):
                twin = FastCB.from_bytes(before)
                twin.learn_event(row, 0, other, sample_weight=weight)
                predicted.append(twin.predict_cost([row])[0, 0])
            assert (np.diff(predicted) > -1e-6).all()  # not so where a step goes the wrong way
            bandit.learn_event(row, 0, outcome, sample_weight=weight)
            assert (
                bandit.to_bytes() == FastCB.from_bytes(before).partial_fit([row], [0], [outcome], [weight]).to_bytes()
            )
        assert np.isfinite(bandit.predict_cost(rows)).all()
        assert not NO_NUMBER.search(bandit.to_bytes())


def test_a_heavy_event_is_believed_and_not_overdone():
    bandit = FastCB(2, oracle="newton")
    bandit.learn_event([2.0], 1, 1.0)
    for weight in (1e18, 3e38):
        bandit.learn_event([2.0], 1, 0.0, sample_weight=weight)
        assert bandit.predict_cost([[2.0]])[0, 1] < 0.01
    bandit.learn_event([2.0], 1, 0.7, sample_weight=3e38)
    assert 0.01 < bandit.predict_cost([[2.0]])[0, 1] < 0.7


HEAVY = [  # the first two columns are equal
    ([0.00754, 0.00754, -65.8, 0.00517, 0.0393], 0.0, 1e6),
    ([-0.0113, -0.0113, -22.9, 0.0042, -1.89], 1.0, 1e6),
    ([-0.0101, -0.0101, -20.9, -0.0015, 4.6], 0.0, 1.0),
    ([0.00405, 0.00405, 45.6, 0.00335, -8.63], 0.0, 1.0),
    ([-0.0104, -0.0104, 35.1, 0.00251, 3.86], 1.0, 1e6),
    ([-0.00345, -0.00345, 45.4, 0.000297, 2.97], 1.0, 1e6),
    ([0.0148, 0.0148, 26.4, -0.00116, 4.22], 0.0, 1e6),
    ([-0.0447, -0.0447, 28.1, 0.00442, 3.61], 0.0, 1e6),
]


@pytest.mark.parametrize("memory", [0, 20])
def test_means_and_deviations_that_move_do_not_undo_a_heavy_event(memory):
    bandit = FastCB(1, oracle="newton", vw_args=f"--fastcb_memory {memory}")
    for row, outcome, weight in HEAVY:
        before = bandit.predict_cost([row])[0, 0]
        bandit.learn_event(row, 0, outcome, sample_weight=weight)
        after = bandit.predict_cost([row])[0, 0]
        assert abs(after - outcome) <= abs(before - outcome)
        assert weight == 1 or abs(after - outcome) < 0.01


def test_sparse_words_beyond_the_block_are_learned():
    rng = np.random.default_rng(1)
    bandit = FastCB(2, oracle="newton", vw_args="--fastcb_capacity 4", bits=18, seed=1)
    wrong = []
    for _ in range(1500):
        right = int(rng.integers(2))
        words = {f"word{rng.integers(400) * 2 + right}": True for _ in range(8)}
        decision = bandit.decide(words)
        bandit.learn(decision, float(decision.action != right))
        wrong.append(decision.action != right)
    assert np.mean(wrong[-500:]) < 0.1


def test_what_was_learned_fades_if_asked():
    rng = np.random.default_rng(1)
    rows, right = rng.normal(size=(6000, 2)), np.arange(6000) >= 3000
    costs = np.where(right[:, None] ^ np.array([[True, False]]), 0.1, 0.9)
    kept, faded = (
        FastCB(2, oracle="newton", vw_args=extra, seed=1).simulate(rows, costs).costs[0, 3000:].mean()
        for extra in ("", "--fastcb_memory 200")
    )
    assert faded < 0.6 * kept


def learned(lines, model=None):
    vw = Workspace(f"--cb_explore 3 {FLAGS}" if model is None else f"-i {model} --quiet")
    for one in lines:
        vw.learn(one)
    return vw


@pytest.mark.parametrize("has_base", [False, True])
def test_merged_models_know_what_one_model_would_know(tmp_path, has_base):
    rng = np.random.default_rng(1)
    slopes = np.array([[1, -1, 0.5], [-1, 0.5, 1], [0, 1, -1]])

    def sample(count, shift):
        rows = rng.normal(size=(count, 3)) + shift
        chances = 1 / (1 + np.exp(-2 * rows @ slopes.T))
        return rows * [1, 100, 0.01], chances

    def logged(count, shift):
        rows, chances = sample(count, shift)
        actions = rng.integers(3, size=count)
        costs = rng.random(count) < chances[np.arange(count), actions]
        return [line(r, f"{a + 1}:{int(c)}:0.33") for r, a, c in zip(np.float32(rows), actions, costs, strict=True)]

    shards = [logged(400, 0.3 * i) for i in range(4)]
    base = None
    if has_base:
        learned(shards[0]).save(str(tmp_path / "base"))
        base = tmp_path / "base"
    parts = [learned(shard, base) for shard in shards[has_base:]]
    merged = merge_models(None if base is None else learned([], base), parts)
    one = learned([entry for shard in shards for entry in shard])

    rows, chances = sample(400, 0.0)
    best = chances.argmin(axis=1)

    def regret(vw):
        pmf = np.array([vw.predict(line(row)) for row in np.float32(rows)])
        return (pmf * chances).sum(axis=1).mean() - chances[np.arange(400), best].mean()

    assert regret(merged) < 1.2 * regret(one) + 0.002
    merged.save(str(tmp_path / "merged"))
    assert learned([], tmp_path / "merged").predict(line(rows[0])) == merged.predict(line(rows[0]))


def test_readable_models_show_weights_of_raw_values(rng, tmp_path):
    rows, actions, costs = events(rng, 200)
    bandit = FastCB(2, oracle="newton").partial_fit(rows, actions % 2, costs)
    bandit.save(tmp_path / "model")
    ok("-i", tmp_path / "model", "-t", "--readable_model", tmp_path / "text", "--no_stdin", "--quiet")
    pairs = [entry.split(":")[:2] for entry in re.findall(r"^\d+:\S+", (tmp_path / "text").read_text(), re.MULTILINE)]
    weights = {int(index): float(weight) for index, weight in pairs}
    assert len(weights) == 2 * 5
    row = rows.mean(axis=0)
    shown = bandit.decide(row).predicted
    numbers = sorted(weights)
    intercept = next(i for i in numbers[::2] if i == 11650396 * 2 % 2**18)
    first = min(i for i in numbers if i != intercept and (i % 2) == 0)
    for action in range(2):
        logit = weights[intercept + action] + sum(weights[first + 2 * j + action] * row[j] for j in range(4))
        assert 1 / (1 + np.exp(-logit)) == pytest.approx(shown[action], abs=1e-4)


def test_more_actions_keep_what_was_learned(rng):
    from vw_fastcb.learner.engine import with_more_actions  # noqa: PLC0415, only here

    rows, actions, costs = events(rng, 100)
    bandit = FastCB(3, oracle="newton").partial_fit(rows, actions, costs)
    more = FastCB.from_bytes(with_more_actions(bandit.to_bytes(), 9, None))
    predicted = more.decide_many(rows).predicted
    np.testing.assert_array_equal(predicted[:, :3], bandit.decide_many(rows).predicted)
    assert (predicted[:, 3:] == 0.5).all()


@pytest.mark.parametrize(
    "flags",
    [
        *("-l 1", "--power_t 0", "--sgd", "--l2 0.1", "--coin", "--nn 3", "--passes 2 -c", "--fastcb_memory 0.5"),
        "--noconstant",
    ],
)
def test_flags_that_do_not_apply_are_refused(flags):
    with pytest.raises(RuntimeError, match=r"newton|fastcb_memory"):
        Workspace(f"--cb_explore 3 {FLAGS} {flags}")


def test_gd_refuses_the_flags_of_newton():
    with pytest.raises(RuntimeError, match="--fastcb_capacity is a flag of --fastcb_oracle newton"):
        Workspace("--cb_explore 3 --fastcb --fastcb_capacity 8 --quiet")


def test_a_step_size_or_a_flag_of_vws_learner_chooses_gd():
    assert FastCB(2)._settings().oracle == "newton"
    assert FastCB(2, learning_rate=1)._settings().oracle == "gd"
    assert FastCB(2, vw_args="--coin")._settings().oracle == "gd"
    assert FastCB(2, vw_args="--noconstant")._settings().oracle == "gd"
    assert FastCB(2, oracle="gd")._settings().learning_rate == 0.5
    with pytest.raises(ValueError, match="learning_rate is 2, and oracle='newton' has no step size"):
        FastCB(2, oracle="newton", learning_rate=2).decide([1.0])


def test_products_of_pairs_are_those_of_vw(tmp_path):
    # An interaction of three that no event has: VW then makes all products itself.
    log = write(tmp_path / "log.txt", (event.adf() for event in bandit_events(300, actions=4)))
    flags = ("--cb_explore_adf", "--fastcb", "--fastcb_oracle", "newton", "-q", "ua", "-q", "au", "-d", log, "--quiet")
    ok(*flags, "-p", tmp_path / "ours.txt")
    ok(*flags, "--interactions", "zzz", "-p", tmp_path / "vw.txt")
    assert (tmp_path / "ours.txt").read_bytes() == (tmp_path / "vw.txt").read_bytes()


REPEATED = [
    ("a:1 a:1", "a:2"),
    ("a b:0.5 a:-3 c b:0.5 a:4", "a:2 b:1 c"),
    ("a:1 b:1 a:-1", "b:1"),
    (" ".join(f"w{i % 50}:0.25" for i in range(200)), " ".join(f"w{i}:1" for i in range(50))),
]


@pytest.mark.parametrize("capacity", [64, 1, 0], ids=str)
@pytest.mark.parametrize("door", ["fixed", "adf", "interactions"])
def test_a_feature_given_twice_counts_as_its_sum(capacity, door):
    """For predictions, for the step and for the evidence, in the block and outside it."""
    flags = f"{FLAGS} --fastcb_capacity {capacity} --cb_explore{'_adf' if door == 'adf' else ' 2'}"
    flags += " -q uv" if door == "interactions" else ""

    def learned(which):
        pmfs = []
        with Workspace(flags) as vw:
            vw.learn("shared |u a b c w1\n0:0:0.5 |v x\n|v y" if door == "adf" else "1:0:0.5 |u a b c w1 |v x y")
            for pair in REPEATED * 5:
                for cost in (1, 0.25):
                    words = pair[which]
                    if door == "adf":
                        event, asked = f"shared |u {words}\n|v x\n0:{cost}:0.5 |v {words}", "shared |u a\n|v x\n|v a b"
                    else:
                        event, asked = f"2:{cost}:0.5 |u {words} |v x {words}", "|u a b c w1 w2 |v x"
                    vw.learn(event)
                    pmfs.append(
                        (vw.predict(event.replace(f"2:{cost}:0.5", "").replace(f"0:{cost}:0.5", "")), vw.predict(asked))
                    )
        return pmfs

    np.testing.assert_allclose(learned(0), learned(1), rtol=1e-6)


MEMORY = 20
# What is left of 400 events: 1 of the last, exp(-1 / MEMORY) of the one before, and so on.
REMEMBERED = (1 - np.exp(-400 / MEMORY)) / (1 - np.exp(-1 / MEMORY))


@pytest.mark.parametrize("door", ["--cb_explore 1", "--cb_explore_adf"])
def test_the_moments_fade_with_every_event(door, tmp_path):
    """First the feature is 5, then 0 or 1: 400 events later its mean is that of the latter."""
    with Workspace(f"{door} {FLAGS} --fastcb_memory {MEMORY}") as vw:
        for number in range(800):
            value = 5 if number < 400 else number % 2
            event = f"|x f:{value} g"
            vw.learn([f"0:1:1 {event}", event] if "adf" in door else f"1:1:1 {event}")
        vw.save(str(tmp_path / "model"))
    state = newton_state(tmp_path / "model", capacity=64)
    assert state.seen == pytest.approx(REMEMBERED, rel=1e-3)
    assert state.means[1] == pytest.approx(0.5, abs=0.02)
    assert state.squares[1] == pytest.approx(0.25 * REMEMBERED, rel=0.02)


@pytest.mark.parametrize("capacity", [64, 1, 0])
def test_the_evidence_for_every_kind_of_weight_fades(capacity, tmp_path):
    """Costs of 0 and 1 in turn keep predictions near 1/2, so that each event has a curvature of about 1/4."""
    with Workspace(f"--cb_explore 1 {FLAGS} --fastcb_capacity {capacity} --fastcb_memory {MEMORY}") as vw:
        for number in range(400):
            vw.learn(f"1:{number % 2}:1 |x " + " ".join(f"f{i}:{(number // (i + 2)) % 2 * 2 - 1}" for i in range(6)))
        vw.save(str(tmp_path / "model"))
    state = newton_state(tmp_path / "model", capacity)
    slot = state.slots[0]
    known = {64: np.diag(slot.information)[1:], 1: slot.alone, 0: np.array([known[1] for known in state.rest.values()])}
    assert len(known[capacity]) >= 5
    assert np.all(known[capacity] > 0.5 * REMEMBERED / 4)
    assert np.all(known[capacity] < 2 * REMEMBERED / 4 + 4)


def test_evidence_outside_the_block_is_about_values_relative_to_the_largest(tmp_path):
    """Once there is a value of 3, what was a value of 1 counts as a third, and its evidence as a ninth."""
    bandit = FastCB(2, oracle="newton", vw_args="--fastcb_capacity 0", seed=1)
    evidence, largest = 0.0, 0.0
    for value, cost in [(1.0, 1), (3.0, 0), (-2.0, 1), (-12.0, 1)]:
        predicted = float(bandit.predict_cost([[value]])[0, 0])
        evidence *= min(1.0, largest / abs(value)) ** 2
        largest = max(largest, abs(value))
        evidence += predicted * (1 - predicted) * (value / largest) ** 2
        bandit.learn_event([value], 0, cost)
    bandit.save(tmp_path / "model")
    ((_, known, most),) = newton_state(tmp_path / "model", capacity=0).rest.values()
    assert most == largest
    assert known == pytest.approx(evidence, rel=1e-5)


def test_what_is_not_learned_about_is_forgotten_to_the_prior_and_no_further(tmp_path):
    """Features that never change say nothing, so there is nothing to know about them but the prior."""
    with Workspace(f"--cb_explore 1 {FLAGS} --fastcb_capacity 1 --fastcb_memory {MEMORY}") as vw:
        for number in range(400):
            moving = " ".join(f"f{i}:{number // (i + 2) % 2 * 2 - 1}" for i in range(4))
            vw.learn(f"1:{number % 2}:1 |x {moving} g:3 h:-1")
        vw.save(str(tmp_path / "model"))
    state = newton_state(tmp_path / "model", capacity=1)
    least = state.priors[-len(state.slots[0].alone) :]
    assert len(least) == 6 - 1
    assert np.all(state.slots[0].alone >= least * (1 - 1e-12))
    np.testing.assert_allclose(state.slots[0].alone[-2:], least[-2:], rtol=1e-12)
