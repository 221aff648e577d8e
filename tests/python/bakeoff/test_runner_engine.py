"""A pass in process is the pass of `vw-fastcb` on the same data, flags and order: every round, not only on average."""

import re
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from newton_reference import NewtonReference
from support import ok
from vw_fastcb import FastCB, _bakeoff
from vw_fastcb.bakeoff.data import Dataset, Entry, builtin
from vw_fastcb.bakeoff.grid import BUILT_IN, NO_STEP, Algorithm, Configuration
from vw_fastcb.bakeoff.passes import Unit, layout_for, order_of_rows, run_unit, vw_lines

_ROUNDS = 300
_SETS = (
    *("bands", "bupa", "ecoli1", "german", "glass0", "hayes-roth", "ionosphere", "iris", "led7digit", "letter"),
    *("movement_libras", "optdigits", "penbased", "phoneme", "pima", "satimage", "segment", "sonar", "splice"),
    *("texture", "twonorm", "vehicle", "vowel", "wine"),
)
_BUILT_IN = {entry.name: entry for entry in builtin()}
_ENTRIES = [_BUILT_IN[f"keel/{name}"] for name in _SETS]
# Two classes and many, few columns and many, whole numbers and fractions. The others are more of the same.
_QUICK_SETS = ("german", "hayes-roth", "letter", "sonar", "splice", "wine")
_QUICK = {f"keel/{name}" for name in _QUICK_SETS}
# No command line can play the algorithm that is told the cost of every class: a reference in numpy stands in for it.
_ON_COMMAND_LINE = [algorithm for algorithm in BUILT_IN.values() if not algorithm.sees_labels]
_OWN = Algorithm("own", "--cbify {K} --cb_explore_adf --bag 3 --coin", {"epsilon": (0.1,)})


def losses_in_process(dataset: Dataset, configuration: Configuration) -> np.ndarray:
    unit = Unit(Entry(dataset.name, "test", lambda: dataset), (configuration,), (0,), 0, _ROUNDS, with_curves=True)
    outcome = run_unit(unit)
    assert outcome.broken is None
    return np.frombuffer(zlib.decompress(outcome.passes[0].losses), np.uint8)


def losses_of_program(dataset: Dataset, configuration: Configuration, folder: Path) -> np.ndarray:
    order = order_of_rows(dataset.rows, 0, 0, _ROUNDS)
    where = layout_for(configuration, dataset.columns, dataset.n_classes)
    (folder / "data.vw").write_text("".join(vw_lines(dataset, where.names, order)))
    flags = configuration.command_line(dataset.n_classes, where.bits)
    ok(*flags, "-d", folder / "data.vw", "-p", folder / "named.txt", "--quiet")
    named = np.loadtxt(folder / "named.txt").astype(np.int64)
    return (named != dataset.labels[order] + 1).astype(np.uint8)


def one_of(algorithm: Algorithm, number: int) -> Configuration:
    """Another configuration for every data set, so that all values of the grid are met."""
    configurations = algorithm.configurations()
    return configurations[(number * 13 + 5) % len(configurations)]


@pytest.mark.parametrize(
    "entry",
    [pytest.param(entry, id=entry.name, marks=() if entry.name in _QUICK else pytest.mark.slow) for entry in _ENTRIES],
)
def test_every_algorithm_loses_the_rounds_that_the_program_loses(entry, tmp_path):
    dataset = entry.load()
    for number, algorithm in enumerate([*_ON_COMMAND_LINE, _OWN]):
        configuration = one_of(algorithm, _ENTRIES.index(entry) + number)
        expected = losses_of_program(dataset, configuration, tmp_path)
        assert len(expected) == min(_ROUNDS, dataset.rows)
        np.testing.assert_array_equal(losses_in_process(dataset, configuration), expected, str(configuration))


@pytest.mark.parametrize(
    "flags",
    [
        "--cbify {K} --squarecb",  # VW makes it --cb_explore_adf
        "--cbify={K} --cb_explore {K}",
        "--cbify {K} --regcb",
        "--cbify {K} --bag 3",
        "--cbify {K} --cb_explore {K} --cb_force_legacy",
        "--cbify {K} --fastcb",
        "--cbify {K} --cb_explore_adf --fastcb",
        "--cbify {K} --fastcb --fastcb_oracle newton --fastcb_capacity 8",
        "--cbify {K} --cb_explore {K} --fastcb --fastcb_oracle newton --fastcb_memory 100",
        "--cbify {K} --cb_explore_adf --fastcb --fastcb_oracle newton",
    ],
)
def test_flags_of_ones_own_lose_as_the_program_does_also_where_names_of_columns_are_hashed(flags, tmp_path):
    dataset = _BUILT_IN["keel/segment"].load()
    (configuration,) = Algorithm("own", flags, steps=() if "newton" in flags else (0.5,)).configurations()
    mine = losses_in_process(dataset, configuration)
    np.testing.assert_array_equal(mine, losses_of_program(dataset, configuration, tmp_path))
    text = (tmp_path / "data.vw").read_text()
    (tmp_path / "hashed.vw").write_text(re.sub(r" (\d+:)", r" f\1", text))
    words = configuration.command_line(dataset.n_classes, 24)
    ok(*words, "-d", tmp_path / "hashed.vw", "-p", tmp_path / "named.txt", "--quiet")
    named = np.loadtxt(tmp_path / "named.txt").astype(np.int64)
    order = order_of_rows(dataset.rows, 0, 0, _ROUNDS)
    np.testing.assert_array_equal(mine, named != dataset.labels[order] + 1)


def test_flags_under_the_name_of_a_built_in_algorithm_get_the_room_of_ones_own():
    (own,) = Algorithm("FastCB.L", "--cbify {K} --fastcb -q ::", steps=(0.5,)).configurations()
    assert layout_for(own, 10, 3).bits >= 18
    assert layout_for(BUILT_IN["FastCB.L"].configurations()[0], 10, 3).bits < 10


@pytest.mark.parametrize("algorithm", _ON_COMMAND_LINE, ids=lambda algorithm: algorithm.name)
def test_sparse_rows_and_rows_of_zeros_too(algorithm, tmp_path):
    random = np.random.default_rng(3)
    features = random.normal(size=(_ROUNDS, 40)).astype(np.float32) * (random.random((_ROUNDS, 40)) < 0.2)
    features[::10] = 0
    labels = random.integers(5, size=_ROUNDS)
    sparse = Dataset("sparse", "", scipy.sparse.csr_matrix(features), labels, tuple("abcde"))
    dense = Dataset("dense", "", features, labels, tuple("abcde"))
    configurations = algorithm.configurations()
    for configuration in configurations[3::40] or configurations:
        expected = losses_of_program(sparse, configuration, tmp_path)
        np.testing.assert_array_equal(losses_in_process(sparse, configuration), expected)
        np.testing.assert_array_equal(losses_in_process(dense, configuration), expected)


@pytest.mark.parametrize(
    "door", ["--cb_explore {K} --fastcb", "--cb_explore_adf --fastcb", "--cb_explore_adf --squarecb"]
)
@pytest.mark.parametrize("regressor", ["", "--sgd", "--power_t 0.7", "--initial_t 5", "--coin", "--ftrl", "--nn 2"])
def test_a_pass_counts_what_it_learned_as_the_program_does(door, regressor, tmp_path):
    chance = np.random.default_rng(5)
    rows = (chance.integers(0, 5, size=(_ROUNDS, 8)) / 4).astype(np.float32)
    dataset = Dataset("small numbers", "", rows, rows[:, :4].argmax(axis=1), tuple("abcd"))
    (configuration,) = Algorithm("own", f"--cbify {{K}} {door} {regressor}", steps=(0.5,)).configurations()
    expected = losses_of_program(dataset, configuration, tmp_path)
    assert expected.mean() < 0.6
    np.testing.assert_array_equal(losses_in_process(dataset, configuration), expected)
    # And where the engine plays cbify's part, which it does for fewer flags in a bake-off.
    where = layout_for(configuration, 8, 4)
    words = configuration.command_line(4, where.bits)
    del words[words.index("--cbify") : words.index("--cbify") + 2]
    order = order_of_rows(_ROUNDS, 0, 0, _ROUNDS)
    played = _bakeoff.multiclass_pass(words, (rows, where.names), dataset.labels, order, 4)
    np.testing.assert_array_equal(played, expected)


@pytest.mark.parametrize("first", ["-q ab", "-q ::", "--interactions ab", "--cubic :::", "--nn 0", "--nn 3"])
def test_a_pass_does_not_depend_on_flags_of_passes_before_it(first, tmp_path):
    dataset = _BUILT_IN["keel/iris"].load()
    for flags in (first, "-q ::", "-q ab", "--nn 2"):
        for step in (0.5, 0.05):  # the second takes the way that the first found
            own = Algorithm("own", f"--cbify {{K}} --cb_explore {{K}} --fastcb {flags}", steps=(step,))
            (configuration,) = own.configurations()
            expected = losses_of_program(dataset, configuration, tmp_path)
            np.testing.assert_array_equal(losses_in_process(dataset, configuration), expected, flags)


def test_a_second_pass_with_other_values_starts_from_nothing():
    dataset = _ENTRIES[0].load()
    algorithm = BUILT_IN["SquareCB.S"]
    first, other = one_of(algorithm, 0), one_of(algorithm, 1)
    before = losses_in_process(dataset, first)
    losses_in_process(dataset, other)
    np.testing.assert_array_equal(losses_in_process(dataset, first), before)


@pytest.mark.parametrize("name", ["german", "segment", "vowel", "iris"])
def test_the_second_order_learner_that_sees_labels_loses_the_rounds_of_a_reference(name):
    loaded = _BUILT_IN[f"keel/{name}"].load()
    rows = loaded.features - loaded.features.min(axis=0) + 1  # no zeros: all columns are admitted in the first round
    dataset = replace(loaded, features=rows)
    order = order_of_rows(dataset.rows, 0, 0, _ROUNDS)
    reference = NewtonReference(dataset.n_classes, dataset.columns)
    unclear, expected = [], []
    for row, label in zip(rows[order].astype(float), dataset.labels[order], strict=True):
        costs = reference.predict(row)
        expected.append(costs.argmin() != label)
        unclear.append(np.diff(np.sort(costs)[:2])[0] < 1e-5)  # the engine's logits are single precision
        reference.learn_all(row, np.arange(dataset.n_classes) != label)
    played = losses_in_process(dataset, BUILT_IN["Supervised.N"].configurations()[0])
    clear = ~np.array(unclear)
    assert clear.mean() > 0.95
    np.testing.assert_array_equal(played[clear], np.array(expected)[clear])


def test_only_the_second_order_oracle_can_be_shown_labels_in_place_of_costs():
    features, order = np.ones((1, 1), np.float32), np.zeros(1, np.int64)
    for flags in ("--cb_explore 2 --fastcb", "--oaa 2", "--cb_explore_adf --fastcb --fastcb_oracle newton"):
        with pytest.raises(RuntimeError, match=r"expected --cb_explore \{K\} --fastcb --fastcb_oracle newton"):
            _bakeoff.multiclass_pass(
                flags.split(), (features, np.zeros(1, np.uint64)), order, order, 2, every_label=True
            )


@pytest.mark.parametrize("oracle", ["gd", "newton"])
def test_greedy_explores_only_between_actions_that_are_predicted_to_cost_the_same(oracle):
    assert "--gamma_scale 1e12 --gamma_exponent 0" in BUILT_IN["greedy.L"].flags
    wine = _BUILT_IN["keel/wine"].load()
    bandit = FastCB(3, gamma_scale=1e12, gamma_exponent=0, oracle=oracle, seed=1)
    tied = []
    for row, label in zip(wine.features, wine.labels, strict=True):
        decision = bandit.decide(row)
        tied.append(np.unique(decision.predicted).size < 3)
        best = np.argmin(decision.predicted)
        same = decision.predicted == decision.predicted[best]
        assert decision.pmf[same].sum() > 1 - 1e-5
        bandit.learn(decision, float(decision.action != label))
    assert tied[0]
    assert sum(tied) < len(tied) / 2


def test_flags_that_name_no_class_are_refused_with_a_hint():
    features, order = np.ones((1, 1), np.float32), np.zeros(1, np.int64)
    with pytest.raises(RuntimeError, match="expected one that names a class"):
        _bakeoff.multiclass_pass(["--quiet"], (features, np.zeros(1, np.uint64)), order, order, 2)


@pytest.mark.parametrize("algorithm", BUILT_IN.values(), ids=lambda algorithm: algorithm.name)
@pytest.mark.parametrize("classes", [2, 3, 5, 8, 18, 26])
def test_no_two_columns_share_a_weight_nor_one_with_the_constant(algorithm, classes):
    chance = np.random.default_rng(classes)
    for columns in (1, 2, 7, 8, 31):
        rows, labels = chance.normal(size=(60, columns)).astype(np.float32), chance.integers(0, classes, 60)
        step = 3.0 if algorithm.steps else NO_STEP
        configuration = Configuration(algorithm.name, algorithm.flags, (), step, algorithm.sees_labels)
        where = layout_for(configuration, columns, classes)
        roomy = np.arange(columns, dtype=np.uint64) * np.uint64(64)

        def losses(names, bits, configuration=configuration, rows=rows, labels=labels):
            flags = configuration.engine_flags(classes, bits)
            told = configuration.sees_labels
            return _bakeoff.multiclass_pass(flags, (rows, names), labels, np.arange(60), classes, every_label=told)

        np.testing.assert_array_equal(losses(where.names, where.bits), losses(roomy, 22))


def test_every_shuffle_has_an_order_of_its_own_and_is_one_of_all_rows():
    orders = {shuffle: order_of_rows(200, 3, shuffle) for shuffle in (-3, -2, -1, 0, 1, 2, 3)}
    assert len({order.tobytes() for order in orders.values()}) == 7
    for shuffle, order in orders.items():
        assert np.array_equal(np.sort(order), np.arange(200))
        assert np.array_equal(order_of_rows(200, 3, shuffle, 50), order[:50])
        assert not np.array_equal(order, order_of_rows(200, 4, shuffle))


def test_the_loss_of_a_pass_over_some_rows_is_the_mean_over_those():
    entry = _BUILT_IN["keel/iris"]
    unit = Unit(entry, (one_of(BUILT_IN["FastCB.L"], 0),), (0, 1), 0, 60, with_curves=True)
    assert entry.load().rows > 60
    for one in run_unit(unit).passes:
        losses = np.frombuffer(zlib.decompress(one.losses), np.uint8)
        assert (one.rounds, len(losses)) == (60, 60)
        assert one.loss == losses.mean() > 0
