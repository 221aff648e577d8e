"""Defects of VW's exploration code: each test shows that the stock wheel has one, and that --fastcb has not.

The letters are those of the project's notes on VW.
"""

from __future__ import annotations

import importlib.util
import math
import random
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import vowpalwabbit

import vw_fastcb
from plain_events import FASTCB, SQUARECB, event, trained
from support import assert_pmfs, events, ok, predictions, stock, write
from vw_fastcb import allocation

ROOT = Path(__file__).parents[2]


def weights(vw: Any, actions: int) -> list[float]:
    return [vw.get_weight_from_name(f"a{a}") for a in range(actions)]


def weight_after_one_step(module: Any, flags: str, actions: int, chosen: int, probability: float = 1) -> float:
    with module.Workspace(flags) as vw:
        vw.learn(event(actions, chosen, 1, probability))
        return weights(vw, actions)[chosen]


def sigmoid(logits: Iterable[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return 1 / (1 + np.exp(-np.array(list(logits))))


def igw_of_any_scores(scores: Sequence[float], gamma: float) -> list[float]:
    """SquareCB's rule as stock VW applies it: to whatever the scores are."""
    best = min(range(len(scores)), key=scores.__getitem__)
    pmf = [1 / (len(scores) + gamma * (score - scores[best])) for score in scores]
    pmf[best] = 1 - (sum(pmf) - pmf[best])
    return pmf


# A: SquareCB's and RegCB's learn leave out the last action, which keeps its 1/p weight.


@pytest.mark.parametrize("explorer", ["--squarecb", "--regcb"])
def test_a_stock_weighs_the_last_action_by_its_probability(explorer: str) -> None:
    flags = f"--cb_explore_adf {explorer} --quiet"
    first = [weight_after_one_step(vowpalwabbit, flags, 3, 0, p) for p in (1, 0.1)]
    last = [weight_after_one_step(vowpalwabbit, flags, 3, 2, p) for p in (1, 0.1)]
    assert first[0] == first[1] == last[0]
    assert last[1] > 1.3 * last[0]


@pytest.mark.parametrize("allocation_rule", ["reweighted", "igw"])
def test_a_fastcb_takes_the_same_step_for_every_action_and_probability(allocation_rule: str) -> None:
    flags = f"{FASTCB} --fastcb_allocation {allocation_rule}"
    steps = {weight_after_one_step(vw_fastcb, flags, 3, chosen, p) for chosen in range(3) for p in (1, 0.1)}
    assert len(steps) == 1
    assert steps != {0}


# B: the loss function is not in the model: a resumed run learns with squared loss.


def test_b_stock_forgets_its_loss_when_resumed_and_fastcb_does_not(tmp_path: Path) -> None:
    log = events(400, seed=2)
    whole, first, second = (
        write(tmp_path / name, (e.adf() for e in part))
        for name, part in (("whole", log), ("first", log[:200]), ("second", log[200:]))
    )

    def differ(run: Any, flags: list[object]) -> bool:
        """Whether the second half is predicted differently by the undisturbed and by the resumed run."""
        run(*flags, "-d", whole, "-p", tmp_path / "p.whole")
        run(*flags, "-d", first, "-p", tmp_path / "p.first", "-f", tmp_path / "model")
        run("-i", tmp_path / "model", "-d", second, "-p", tmp_path / "p.second")
        resumed = (tmp_path / "p.first").read_text() + (tmp_path / "p.second").read_text()
        assert len(predictions(tmp_path / "p.whole")) == 400
        return resumed != (tmp_path / "p.whole").read_text()

    squarecb: list[object] = ["--cb_explore_adf", "--squarecb"]
    assert differ(stock, [*squarecb, "--loss_function", "logistic"])
    assert not differ(stock, squarecb)  # it is the loss, and nothing else
    assert not differ(ok, ["--cb_explore_adf", "--fastcb"])


# C: with logistic loss SquareCB takes gaps between logits; --link logistic changes nothing.


def test_c_stock_allocates_on_logits_and_ignores_the_link() -> None:
    pmfs = []
    for link in ("", "--link logistic"):
        with trained(vowpalwabbit, f"{SQUARECB} --noconstant --loss_function logistic {link}", 60) as vw:
            logits = weights(vw, 3)
            pmfs.append(vw.predict(event(3)))
            gamma = 10 * math.sqrt(60)
            assert pmfs[-1] == pytest.approx(igw_of_any_scores(logits, gamma), abs=1e-6)
            assert pmfs[-1] != pytest.approx(igw_of_any_scores(list(sigmoid(logits)), gamma), abs=1e-3)
    assert pmfs[0] == pmfs[1]


def test_c_fastcb_allocates_on_probabilities() -> None:
    gamma = 10 * math.sqrt(60)
    with trained(vw_fastcb, f"{FASTCB} --noconstant", 60) as vw:
        expected = allocation.reweighted_igw(sigmoid(weights(vw, 3)), gamma)
        assert vw.predict(event(3)) == pytest.approx(expected, abs=1e-6)
    with trained(vw_fastcb, f"{FASTCB} --noconstant --fastcb_allocation igw", 60) as vw:
        expected = allocation.igw(sigmoid(weights(vw, 3)), gamma)
        assert vw.predict(event(3)) == pytest.approx(expected, abs=1e-6)
    with pytest.raises(RuntimeError, match="--link"):
        vw_fastcb.Workspace(f"{FASTCB} --link logistic")


# D: VW's logistic loss has labels -1..1, so that a cost of 0 is learned as 1/2.


def test_d_stock_learns_costs_of_zero_as_one_half_and_fastcb_as_zero() -> None:
    with trained(vowpalwabbit, f"{SQUARECB} --noconstant --loss_function logistic", 300, costs=(0, 0)) as vw:
        assert sigmoid(weights(vw, 2)) == pytest.approx([0.5, 0.5])
    with trained(vw_fastcb, f"{FASTCB} --noconstant", 300, costs=(0, 0)) as vw:
        assert max(sigmoid(weights(vw, 2))) < 0.05
    with trained(vw_fastcb, f"{FASTCB} --noconstant --cb_min_cost -1 --cb_max_cost 0", 300, costs=(-1, 0)) as vw:
        low, high = sigmoid(weights(vw, 2))
        assert low < 0.05
        assert high > 0.95


# E: --squarecb --elim hands out what is no pmf, and ignores --epsilon.


def test_e_stock_elimination_gives_no_pmf_and_ignores_epsilon() -> None:
    with trained(vowpalwabbit, f"{SQUARECB} --elim --epsilon 0.3", 0) as vw:
        assert vw.predict(event(3)) == [-1, 1, 1]
    with trained(vowpalwabbit, f"{SQUARECB} --elim --epsilon 0.3", 300) as vw:
        assert min(vw.predict(event(3))) == 0


def test_e_fastcb_gives_a_pmf_from_the_start_with_the_floor_of_epsilon() -> None:
    for rounds in (0, 1, 2, 3, 300):
        with trained(vw_fastcb, f"{FASTCB} --epsilon 0.3", rounds) as vw:
            pmf = vw.predict(event(3))
            assert_pmfs([pmf])
            assert min(pmf) >= 0.1 - 1e-6
    with pytest.raises(RuntimeError, match="--elim"):
        vw_fastcb.Workspace(f"{FASTCB} --elim")


# F: learn overwrites the probability in the caller's label. #3683: learn overwrote the pmf.


def label_and_pmf_after_learning(
    module: Any, flags: str, lines: list[str] | str
) -> tuple[list[float], list[float], list[float]]:
    """Action, cost and probability of the label after learn; the pmf before; the pmf after."""
    with module.Workspace(flags) as vw:
        for _ in range(20):
            vw.learn(lines)
        examples = vw.parse(lines)
        first = examples[0] if isinstance(examples, list) else examples
        vw.predict(examples)
        before = first.get_prediction(module.PredictionType.ACTION_PROBS)
        vw.learn(examples)
        after = first.get_prediction(module.PredictionType.ACTION_PROBS)
        label = first.get_label(module.LabelType.CONTEXTUAL_BANDIT).costs[0]
        vw.finish_example(examples)
        return [label.action, label.cost, label.probability], before, after


def test_f_stock_overwrites_the_probability_of_the_callers_label() -> None:
    label, _, _ = label_and_pmf_after_learning(vowpalwabbit, SQUARECB, event(3, 0, 0.5, 0.2))
    assert label[2] == 1


@pytest.mark.parametrize(
    ("flags", "lines", "action"),
    [(FASTCB, event(3, 0, 0.75, 0.2), 0), ("--cb_explore 3 --fastcb --quiet", "2:0.75:0.2 | a", 2)],
    ids=["adf", "fixed"],
)
def test_f_and_3683_fastcb_leaves_label_and_pmf_as_they_were(flags: str, lines: list[str] | str, action: int) -> None:
    label, before, after = label_and_pmf_after_learning(vw_fastcb, flags, lines)
    assert label == [action, 0.75, pytest.approx(0.2)]
    assert before == after
    assert len(set(before)) > 1
    assert_pmfs([after])


# G: merge_models loses SquareCB's counter.


def test_g_stock_loses_the_counter_when_models_are_merged() -> None:
    with trained(vowpalwabbit, SQUARECB, 60) as one, trained(vowpalwabbit, SQUARECB, 60) as two:
        assert max(one.predict(event(3))) > 0.7
        with vowpalwabbit.merge_models(None, [one, two]) as merged:
            assert merged.predict(event(3)) == pytest.approx([1 / 3] * 3, abs=1e-6)


def test_g_fastcb_adds_up_the_counters_when_models_are_merged(tmp_path: Path) -> None:
    def assert_events(vw: Any, count: int) -> None:
        expected = allocation.reweighted_igw(sigmoid(weights(vw, 3)), 10 * math.sqrt(count))
        assert vw.predict(event(3)) == pytest.approx(expected, abs=1e-6)

    flags = f"{FASTCB} --noconstant"
    with trained(vw_fastcb, flags, 60) as one, trained(vw_fastcb, flags, 90) as two:
        with vw_fastcb.merge_models(None, [one, two]) as merged:
            assert max(abs(weight) for weight in weights(merged, 3)) > 0.5
            assert_events(merged, 150)
        one.save(tmp_path / "base")
    loaded = [vw_fastcb.Workspace(arg_list=["-i", str(tmp_path / "base"), "--quiet"]) for _ in range(3)]
    base, left, right = loaded
    for i in range(30):
        left.learn(event(3, i % 3, 0.5))
        right.learn(event(3, i % 2, 0.5))
    with vw_fastcb.merge_models(base, [left, right]) as merged:
        assert_events(merged, 60 + 30 + 30)
    for vw in loaded:
        vw.finish()


# H: mtr multiplies the weight of an event by 1/K.


def test_h_stock_takes_smaller_steps_with_more_actions_and_fastcb_the_same() -> None:
    steps = [weight_after_one_step(vowpalwabbit, SQUARECB, k, 0) for k in (2, 5, 20)]
    assert steps[0] > 1.2 * steps[1] > 1.2 * 1.2 * steps[2]
    ours = {weight_after_one_step(vw_fastcb, FASTCB, k, 0) for k in (2, 5, 20)}
    assert len(ours) == 1
    assert ours != {0}


# I: an infinite cost gives a pmf of NaN; probabilities outside (0,1] are accepted in silence.

BAD = [("inf", "0.5"), ("nan", "0.5"), ("0.5", "0"), ("0.5", "-0.2"), ("0.5", "1.7"), ("0.5", "nan")]


def test_i_stock_learns_from_an_infinite_cost() -> None:
    with vowpalwabbit.Workspace(SQUARECB) as vw:
        vw.learn(["0:inf:0.5 | a0", "| a1"])
        assert all(math.isnan(p) for p in vw.predict(event(2)))


@pytest.mark.parametrize(("cost", "probability"), BAD[1:-1])
def test_i_stock_accepts_bad_labels_in_silence(cost: str, probability: str) -> None:
    with vowpalwabbit.Workspace(SQUARECB) as vw:
        vw.learn([f"0:{cost}:{probability} | a0", "| a1"])
        assert_pmfs([vw.predict(event(2))])


@pytest.mark.parametrize(("cost", "probability"), BAD)
def test_i_fastcb_refuses_bad_labels_by_name_and_keeps_the_model(cost: str, probability: str) -> None:
    with trained(vw_fastcb, FASTCB, 30) as vw:
        before = vw.predict(event(3))
        named = f"cost {cost}" if probability == "0.5" else f"probability {probability}"
        with pytest.raises(RuntimeError, match=f"{named} .*outside"):
            vw.learn([f"0:{cost}:{probability} | a0", "| a1"])
        assert vw.predict(event(3)) == before


# J: the counter is written as a size_t, whose width is the machine's.


def test_j_stock_writes_its_counter_in_the_width_of_the_machine() -> None:
    spec = importlib.util.spec_from_file_location("vw_release", ROOT / "cmake" / "vw_release.py")
    assert spec is not None
    assert spec.loader is not None
    vw_release = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(vw_release)
    # The engine's folder has VW's sources as they were released; the tarball takes seconds to search.
    kept = vw_release.cache_dir().glob(
        f"engine-{vw_release.VERSION}-*/core/src/reductions/cb/cb_explore_adf_squarecb.cc"
    )
    source = next(kept).read_text()
    assert "size_t _counter;" in source
    assert "reinterpret_cast<char*>(&_counter), sizeof(_counter)" in source


@pytest.mark.parametrize("flags", [FASTCB, "--cb_explore 3 --fastcb --quiet"], ids=["adf", "fixed"])
def test_j_fastcb_writes_its_counter_in_eight_bytes(flags: str, tmp_path: Path) -> None:
    with vw_fastcb.Workspace(flags) as vw:
        for _ in range(300):
            vw.learn(event(3, 1) if "adf" in flags else "2:1:0.5 | a1")
        vw.save(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    version = content.index(b"fastcb0") + 8  # after the name and the number of the format
    assert struct.unpack_from("<Q", content, version + 16)[0] == 300


# K: --cb_explore K and --cbify K are turned into ADF in a way that collapses features named by integers.


def context_stream(rounds: int) -> list[tuple[int, int]]:
    """Contexts 0 to 7 and an action; action c % 4 is the good one in context c."""
    rng = random.Random(0)
    return [(rng.randrange(8), rng.randrange(4)) for _ in range(rounds)]


def contexts_learned(module: Any, flags: str) -> int:
    with module.Workspace(f"{flags} --quiet") as vw:
        for context, action in context_stream(1500):
            vw.learn(f"{action + 1}:{int(action != context % 4)}:0.25 | {context}")
        pmfs = [vw.predict(f"| {context}") for context in range(8)]
    return sum(pmf.index(max(pmf)) == context % 4 for context, pmf in enumerate(pmfs))


def test_k_stock_confuses_features_named_by_integers_and_fastcb_does_not() -> None:
    assert contexts_learned(vowpalwabbit, "--cb_explore 4 --epsilon 0") < 6
    assert contexts_learned(vowpalwabbit, "--cb_explore 4 --epsilon 0 --hash all") == 8
    assert contexts_learned(vw_fastcb, "--cb_explore 4 --fastcb") == 8
    assert contexts_learned(vw_fastcb, "--cb_explore 4 --fastcb --hash all") == 8


def test_k_the_same_under_cbify(tmp_path: Path) -> None:
    data = write(tmp_path / "classes", (f"{context % 4 + 1} | {context}\n" for context, _ in context_stream(2000)))

    def loss(module: Any, flags: str) -> float:
        vw = module.Workspace(arg_list=[*flags.split(), "--quiet", "-d", str(data)])
        vw.finish()
        return float(vw.get_sum_loss()) / 2000

    assert loss(vowpalwabbit, "--cbify 4 --epsilon 0.05") > 0.5
    assert loss(vowpalwabbit, "--cbify 4 --epsilon 0.05 --hash all") < 0.1
    assert loss(vw_fastcb, "--cbify 4 --cb_explore 4 --fastcb") < 0.1
    assert loss(vw_fastcb, "--cbify 4 --cb_explore 4 --fastcb --hash all") < 0.1
