"""Merged models know what their parts have learned: no more, no less."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from newton_state import NewtonState, newton_state
from support import ok
from vw_fastcb import FastCB, Workspace, merge_models

Events = tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]

# With 64 all features have a covariance, with 3 most have a variance each, with 1 the last ones are outside the block,
# and with 0 all are.
CAPACITIES = [64, 3, 1, 0]


def slopes(columns: int) -> NDArray[np.float64]:
    known = np.zeros((3, columns))
    known[:, :3] = [[1, -1, 0.5], [-1, 0.5, 1], [0, 1, -1]]
    return known


def events(count: int, seed: int, columns: int = 20, are_words: bool = False) -> Events:
    """Rows, actions, costs that the first three columns decide, and weights."""
    rng = np.random.default_rng(seed)
    rows = np.float32(rng.normal(size=(count, columns)) * (rng.random((count, columns)) < 0.7))
    if are_words:
        rows = np.float32(rows > 0.7)
    rows[0] = 1  # all features are admitted in one order
    actions = rng.integers(3, size=count)
    chances = 1 / (1 + np.exp(-(rows * slopes(columns)[actions]).sum(axis=1)))
    return rows, actions, (rng.random(count) < chances).astype(float), rng.choice([0.5, 1.0], size=count)


def learn(path: Path, log: Events, capacity: int = 64, start: Path | None = None, extra: str = "") -> Path:
    if start is None:
        flags = f"--fastcb_capacity {capacity} {extra}"
        bandit = FastCB(3, gamma_scale=1.0, oracle="newton", vw_args=flags, seed=1)
    else:
        bandit = FastCB.load(start)
    rows, actions, costs, weights = log
    for row, action, cost, weight in zip(rows, actions, costs, weights, strict=True):
        bandit.learn_event(row, int(action), float(cost), sample_weight=float(weight))
    bandit.save(path)
    return path


def merge(path: Path, parts: list[Path], base: Path | None = None, flags: str = "") -> Path:
    models = [Workspace(f"-i {part} --quiet {flags}") for part in parts]
    start = None if base is None else Workspace(f"-i {base} --quiet {flags}")
    with merge_models(start, models) as merged:
        merged.save(str(path))
    return path


def gained(state: NewtonState, base: NewtonState | None) -> list[NDArray[np.float64]]:
    """What each tier has learned beyond its prior or the base: the moments, and for each action the information."""
    parts = [np.array([state.seen - (base.seen if base else 0)])]
    parts.append((state.squares - (base.squares if base else 0))[1:])  # without the intercept
    for number, slot in enumerate(state.slots):
        full = len(slot.information)
        first_alone = (full + 3) // 4 * 4
        before = base.slots[number] if base else None
        parts.append(slot.information - (before.information if before else np.diag(state.priors[:full])))
        parts.append(slot.alone - (before.alone if before else state.priors[first_alone : len(slot.weights)]))
    evidence = [known[1] - (base.rest[place][1] if base else 0) for place, known in sorted(state.rest.items())]
    return [*parts, np.array(evidence)]


@pytest.mark.parametrize("has_base", [False, True], ids=["new", "from_base"])
@pytest.mark.parametrize("capacity", CAPACITIES)
@pytest.mark.parametrize("count", [2, 4])
def test_learners_of_equal_data_know_as_many_times_more(
    tmp_path: Path, count: int, capacity: int, has_base: bool
) -> None:
    log = events(120, seed=1)
    base = learn(tmp_path / "base", log, capacity) if has_base else None
    part = learn(tmp_path / "part", log, capacity, base)
    merged = merge(tmp_path / "merged", [part] * count, base)

    of_base = newton_state(base, capacity) if base else None
    one, all_of_them = newton_state(part, capacity), newton_state(merged, capacity)
    assert all_of_them.keys == one.keys
    assert set(all_of_them.rest) == set(one.rest)
    assert bool(one.rest) == (capacity < 2)
    np.testing.assert_allclose(all_of_them.means[1:], one.means[1:], rtol=1e-9)
    for own, together in zip(gained(one, of_base), gained(all_of_them, of_base), strict=True):
        np.testing.assert_allclose(together, count * own, rtol=1e-5, atol=1e-5 * (abs(own).max() if own.size else 1))


@pytest.mark.parametrize("capacity", CAPACITIES[:-1])
def test_merged_moments_are_those_of_all_rows_although_their_means_have_moved(tmp_path: Path, capacity: int) -> None:
    """The rows of the base are in each part, and count once."""

    def log(seed: int, centre: float) -> Events:
        rows, *rest = events(150, seed)
        return (np.float32(rows + centre), *rest)

    first, second = log(2, 2.0), log(3, -3.0)
    base = learn(tmp_path / "base", log(1, 0.0), capacity)
    parts = [learn(tmp_path / name, one, capacity, base) for name, one in (("first", first), ("second", second))]
    merged = newton_state(merge(tmp_path / "merged", parts, base), capacity)
    together = newton_state(learn(tmp_path / "together", second, capacity, parts[0]), capacity)
    assert merged.seen == pytest.approx(together.seen, rel=1e-9)
    np.testing.assert_allclose(merged.means[1:], together.means[1:], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(merged.squares[1:], together.squares[1:], rtol=1e-6)


@pytest.mark.parametrize("has_base", [False, True], ids=["new", "from_base"])
@pytest.mark.parametrize("capacity", CAPACITIES)
def test_a_merged_model_is_nearly_as_good_as_one_model_of_all_data(
    tmp_path: Path, capacity: int, has_base: bool
) -> None:
    """It is far nearer to it than a part is; without any covariance it has half of what one model gains, or more."""
    shards = [events(400, seed, are_words=True) for seed in range(5)]
    base = learn(tmp_path / "base", shards[0], capacity) if has_base else None
    shards = shards[has_base:]
    parts = [learn(tmp_path / f"part{number}", shard, capacity, base) for number, shard in enumerate(shards)]
    merged = merge(tmp_path / "merged", parts, base)
    together = tuple(np.concatenate(part) for part in zip(*shards, strict=True))
    one = learn(tmp_path / "one", together, capacity, base)

    rows = events(200, seed=9, are_words=True)[0]
    chances = 1 / (1 + np.exp(-rows @ slopes(20).T))
    of_one, of_merged, of_part = (FastCB.load(path).decide_many(rows).predicted for path in (one, merged, parts[0]))
    error_of_one, error, error_of_part = (np.abs(got - chances).mean() for got in (of_one, of_merged, of_part))
    assert error < 0.5 * (error_of_one + error_of_part)
    if capacity > 0:
        assert np.abs(of_merged - of_one).mean() < 0.4 * np.abs(of_part - of_one).mean()


def test_features_in_the_block_of_one_learner_and_outside_that_of_another_are_merged(tmp_path: Path) -> None:
    """The block of each has room for sixteen features, and they meet them in opposite orders."""

    def line(row: NDArray[np.float32], order: int, label: str = "") -> str:
        return f"{label} |x " + " ".join(f"f{i}:{row[i]:.4f}" for i in range(len(row))[::order] if row[i])

    def learned(logs: list[tuple[Events, int]]) -> Workspace:
        vw = Workspace("--cb_explore 3 --fastcb --fastcb_oracle newton --fastcb_capacity 1 --gamma_scale 1 --quiet")
        for (rows, actions, costs, _), order in logs:
            for row, action, cost in zip(rows, actions, costs, strict=True):
                vw.learn(line(row, order, f"{action + 1}:{cost}:0.3"))
        return vw

    logs = [(events(600, 1), 1), (events(600, 2), -1)]
    parts = [learned([log]) for log in logs]
    one = learned(logs)
    with merge_models(None, parts) as merged:
        merged.save(str(tmp_path / "merged"))
        rows = events(100, seed=9)[0]

        def pmfs(vw: Workspace) -> NDArray[np.float64]:
            return np.array([vw.predict(line(row, 1)) for row in rows])

        expected = pmfs(one)
        differences = [np.abs(pmfs(vw) - expected).mean() for vw in (merged, *parts)]
    assert differences[0] < 0.6 * min(differences[1:])
    state = newton_state(tmp_path / "merged", capacity=1)
    assert len(state.keys) == 20
    assert not state.rest


@pytest.mark.parametrize("sorts", ["", "--sgd", "--normalized", "--invariant", "--adaptive"], ids=str)
@pytest.mark.parametrize("has_base", [False, True], ids=["new", "from_base"])
def test_models_merge_alike_whether_or_not_vw_was_told_to_keep_its_counters(
    tmp_path: Path, sorts: str, has_base: bool
) -> None:
    def shard(name: str, count: int, start: Path | None = None) -> Path:
        bandit = FastCB(3, vw_args=sorts, seed=1) if start is None else FastCB.load(start)
        rows, actions, costs, weights = events(count, seed=count)
        bandit.partial_fit(rows, actions, costs, sample_weight=weights)
        bandit.save(tmp_path / name)
        return tmp_path / name

    base = shard("base", 50) if has_base else None
    parts = [shard(f"part{count}", count, base) for count in (30, 90, 60)]
    kept = FastCB.load(merge(tmp_path / "kept", parts, base, "--preserve_performance_counters"))
    merged = FastCB.load(merge(tmp_path / "merged", parts, base))
    rows = events(50, seed=9)[0]
    predicted = merged.decide_many(rows).predicted
    assert np.ptp(predicted) > 0.5 * np.ptp(FastCB.load(parts[1]).decide_many(rows).predicted)
    np.testing.assert_allclose(predicted, kept.decide_many(rows).predicted, rtol=1e-5)


@pytest.mark.parametrize("has_base", [False, True], ids=["new", "from_base"])
def test_without_adaptive_rates_each_model_counts_by_the_weight_it_has_learned(tmp_path: Path, has_base: bool) -> None:
    row = [[1.0, 2.0]]

    def shard(name: str, costs: list[float], weight: float, start: Path | None = None) -> Path:
        bandit = FastCB(1, vw_args="--sgd", seed=1) if start is None else FastCB.load(start)
        for cost in costs:
            bandit.learn_event(row[0], 0, cost, sample_weight=weight)
        bandit.save(tmp_path / name)
        return tmp_path / name

    def logit(path: Path) -> float:
        loss = float(FastCB.load(path).decide_many(row).predicted[0, 0])
        return float(np.log(loss / (1 - loss)))

    base = shard("base", [0.6], 1.0) if has_base else None
    parts = [shard("first", [0.9] * 10, 0.2, base), shard("second", [0.3] * 6, 1.0, base)]
    merged = logit(merge(tmp_path / "merged", parts, base))
    first, second = map(logit, parts)
    assert abs(first - second) > 0.2
    assert merged == pytest.approx((2 * first + 6 * second) / 8, rel=1e-4)


def test_merged_models_of_normalized_learners_keep_the_largest_value_of_each_feature(tmp_path: Path) -> None:
    """A smaller value than one that was seen must not be taken for the largest so far."""

    def learned(largest: float, path: Path) -> Path:
        bandit = FastCB(1, vw_args="--normalized", seed=1)
        for value in (largest, 0.1):
            bandit.learn_event([value], 0, 1.0)
        bandit.save(path)
        return path

    parts = [learned(10.0, tmp_path / "large"), learned(0.5, tmp_path / "small")]
    merged = merge(tmp_path / "merged", parts)
    assert max(numbers[1] for numbers in readable_numbers(merged)) == 10


def test_a_merged_model_learns_on_with_the_clock_of_all(tmp_path: Path) -> None:
    """The steps of --sgd become smaller with time, which began once and not once for each model."""

    def clock(path: Path) -> float:
        return float(re.search(rb"\nt ([0-9.]+)", readable(path)).group(1))  # type: ignore[union-attr]

    def learned(path: Path, start: Path | None = None) -> Path:
        bandit = FastCB(1, vw_args="--sgd", seed=1) if start is None else FastCB.load(start)
        for _ in range(5):
            bandit.learn_event([1.0], 0, 1.0)
        bandit.save(path)
        return path

    base = learned(tmp_path / "base")
    assert clock(base) == 1 + 5
    assert clock(merge(tmp_path / "new", [base, base])) == 1 + 10
    part = learned(tmp_path / "part", base)
    assert clock(merge(tmp_path / "merged", [part, part, part], base)) == 1 + 5 + 15


def test_models_that_cannot_be_merged_are_refused_with_what_to_do(tmp_path: Path) -> None:
    few, many = events(20, 1, columns=4), events(20, 2, columns=6)
    base = learn(tmp_path / "base", many)
    part = learn(tmp_path / "part", few)
    with pytest.raises(RuntimeError, match=r"did not start from the base model.* None if they started without one"):
        merge(tmp_path / "merged", [learn(tmp_path / "longer", events(50, 3, columns=4), start=part)] * 2, base)
    fading = learn(tmp_path / "fading", many, extra="--fastcb_memory 50")
    with pytest.raises(RuntimeError, match=r"--fastcb_memory forget .* give merge_models None as the base"):
        merge(tmp_path / "merged", [learn(tmp_path / "on", many, start=fading)] * 2, fading)
    with pytest.raises(RuntimeError, match=r"loaded with -t .* Load it without -t"):
        merge(tmp_path / "merged", [base, base], flags="-t")


def test_what_the_base_knew_stays_what_it_was_where_the_means_of_features_have_moved(tmp_path: Path) -> None:
    """The parts learn of one action alone, from rows far from those of the base. They know nothing new of the other."""
    rng = np.random.default_rng(1)

    def log(count: int, centre: float, actions: int) -> Events:
        rows = np.float32(rng.normal(size=(count, 6)) + centre)
        chosen = rng.integers(actions, size=count)
        chances = 1 / (1 + np.exp(-2 * (rows[:, 0] + rows[:, 5] - 2 * centre)))
        return rows, chosen, (rng.random(count) < chances).astype(float), np.ones(count)

    base = learn(tmp_path / "base", log(1500, 0.0, 2), capacity=1)
    parts = [learn(tmp_path / f"part{c}", log(200, c, 1), capacity=1, start=base) for c in (1.0, 3.0)]
    merged = FastCB.load(merge(tmp_path / "merged", parts, base))
    rows = rng.normal(size=(50, 6))
    known = FastCB.load(base).decide_many(rows).predicted[:, 1]
    assert np.ptp(known) > 0.5
    np.testing.assert_allclose(merged.decide_many(rows).predicted[:, 1], known, atol=0.05)


def readable(path: Path) -> bytes:
    text = path.with_name(f"{path.name}.txt")
    ok("-i", path, "--readable_model", text, "--no_stdin", "--quiet")
    return text.read_bytes()


def readable_numbers(path: Path) -> list[list[float]]:
    rows = re.findall(rb"^\d+:(.+)$", readable(path), re.MULTILINE)
    return [[float(number) for number in row.split()] for row in rows]
