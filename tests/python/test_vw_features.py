"""Files, formats, passes and models: what VW does around an explorer, it does around FastCB."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support import Event, assert_pmfs, events, ok, predictions, write
from vw_fastcb import Workspace, pyvw

ADF = "--cb_explore_adf --fastcb -q ua"
FIXED = "--cb_explore 4 --fastcb"
DOORS = [ADF, FIXED]
LOG = events(400, seed=11)


def text(door: str, event: Event, label: bool = True) -> str:
    return event.adf(label) if door == ADF else event.fixed(label)


def log_file(path: Path, door: str, log: Sequence[Event] = LOG) -> Path:
    return write(path, (text(door, event) for event in log))


def learn(door: str, data: Path, *flags: object) -> list[dict[int, float]]:
    """Runs the command line over a log; returns the pmfs."""
    out = data.parent / "predictions"
    ok(*door.split(), "-d", data, "-p", out, "--quiet", *flags)
    pmfs = predictions(out)
    assert_pmfs(pmfs)
    return pmfs


def pmfs_of(model: Path, door: str, tmp_path: Path, log: Sequence[Event] = LOG[:50]) -> list[dict[int, float]]:
    out = tmp_path / "tested"
    ok("-i", model, "-t", "-d", log_file(tmp_path / "queries", door, log), "-p", out, "--quiet")
    return predictions(out)


def share_of_good_action(pmfs: Sequence[dict[int, float]], log: Sequence[Event]) -> float:
    assert len(pmfs) == len(log)
    return float(np.mean([pmf[event.context % event.actions] for pmf, event in zip(pmfs, log, strict=True)]))


def assert_learned(pmfs: Sequence[dict[int, float]], log: Sequence[Event] = LOG, share: float = 0.7) -> None:
    """The good action was chosen by chance at first and gets most of the probability in the last quarter."""
    quarter = len(log) // 4
    assert share_of_good_action(pmfs[:5], log[:5]) < 0.6
    assert share_of_good_action(pmfs[-quarter:], log[-quarter:]) > share


def events_learned(readable: Path) -> int:
    found = re.search(r"fastcb events learned = (\d+)", readable.read_text())
    assert found is not None
    return int(found[1])


# Input.


def assert_same(one: Sequence[dict[int, float]], other: Sequence[dict[int, float]]) -> None:
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        assert a == pytest.approx(b, abs=2e-5)


def test_json_and_dsjson_events_give_the_pmfs_of_text_events(tmp_path):
    from_text = learn(ADF, log_file(tmp_path / "text", ADF))
    from_json = learn(ADF, write(tmp_path / "json", (event.json() for event in LOG)), "--json")
    from_dsjson = learn(ADF, write(tmp_path / "dsjson", (event.dsjson() for event in LOG)), "--dsjson")
    assert_learned(from_text)
    assert_same(from_json, from_text)
    assert_same(from_dsjson, from_text)


def test_json_events_with_fixed_actions_give_the_pmfs_of_text_events(tmp_path):
    def line(event: Event) -> str:
        label = {"Action": event.chosen + 1, "Cost": round(event.cost, 4), "Probability": round(event.probability, 4)}
        return json.dumps({"_label": label, "u": event.json_context()["u"]}) + "\n"

    from_text = learn(FIXED, log_file(tmp_path / "text", FIXED))
    assert_learned(from_text)
    assert_same(learn(FIXED, write(tmp_path / "json", map(line, LOG)), "--json"), from_text)


def test_changing_action_sets(tmp_path):
    log = events(600, seed=2, actions=(2, 6))
    pmfs = learn(ADF, log_file(tmp_path / "text", ADF, log))
    assert [len(pmf) for pmf in pmfs] == [event.actions for event in log]
    assert_learned(pmfs, log, share=0.5)


# Cache and passes.


@pytest.mark.parametrize("door", DOORS)
def test_a_cache_holds_the_events_of_the_text(door, tmp_path):
    data = log_file(tmp_path / "text", door)
    cache = tmp_path / "cache"
    from_text = learn(door, data, "--cache_file", cache, "-k")
    assert_learned(from_text)
    out = tmp_path / "from_cache"
    ok(*door.split(), "--cache_file", cache, "-p", out, "--quiet")
    assert predictions(out) == from_text


@pytest.mark.parametrize("door", DOORS)
def test_more_passes_learn_more(door, tmp_path):
    log = LOG[:100]
    data = log_file(tmp_path / "text", door, log)
    shares = []
    for passes in (1, 8):
        model = tmp_path / f"model{passes}"
        readable = tmp_path / f"readable{passes}"
        ok(*door.split(), "-d", data, "-c", "-k", "--passes", passes, "--holdout_off", "-f", model, "--quiet")
        ok("-i", model, "-t", "--readable_model", readable, "--quiet", "--no_stdin")
        assert events_learned(readable) == 100 * passes
        shares.append(share_of_good_action(pmfs_of(model, door, tmp_path, log), log))
    assert shares[1] > shares[0]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("flags", ["", "--holdout_period 4"])
def test_a_held_out_event_is_never_learned(door, flags, tmp_path):
    # The costs of the held-out events are turned round: a model that learned from one of them would differ.
    period = 4 if flags else 10
    common = ["-c", "-k", "--passes", 3, "--quiet", *flags.split()]
    held_out = {i for i in range(len(LOG)) if i % period == period - 1}
    turned = {"as_logged": set(), "turned_round": held_out, "others": {20, 21, 22, 23} - held_out}
    models = {}
    for name, which in turned.items():
        log = [replace(event, cost=1 - event.cost) if i in which else event for i, event in enumerate(LOG)]
        data, model = log_file(tmp_path / name, door, log), tmp_path / f"{name}.model"
        ok(*door.split(), "-d", data, *common, "-f", model)
        ok("-i", model, "-t", "--readable_model", f"{model}.text", "--no_stdin", "--quiet")
        models[name] = pmfs_of(model, door, tmp_path)
    assert events_learned(tmp_path / "as_logged.model.text") == 3 * (len(LOG) - len(held_out))
    assert models["turned_round"] == models["as_logged"]
    assert models["others"] != models["as_logged"]


# Models.


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("flags", ["", "--save_resume"])
def test_a_saved_model_goes_on_where_it_stopped(door, flags, tmp_path):
    whole = learn(door, log_file(tmp_path / "whole", door))
    half = len(LOG) // 2
    model = tmp_path / "model"
    first = learn(door, log_file(tmp_path / "first", door, LOG[:half]), "-f", model, *flags.split())
    second = learn(f"-i {model}", log_file(tmp_path / "second", door, LOG[half:]), *flags.split())
    assert first + second == whole


@pytest.mark.parametrize("door", DOORS)
def test_testing_learns_nothing(door, tmp_path):
    model = tmp_path / "model"
    learn(door, log_file(tmp_path / "log", door), "-f", model)
    pmfs = pmfs_of(model, door, tmp_path)
    assert share_of_good_action(pmfs, LOG[:50]) > 0.8
    after_others = pmfs_of(model, door, tmp_path, [*events(50, seed=77), *LOG[:50]])
    assert after_others[50:] == pmfs


@pytest.mark.parametrize("door", DOORS)
def test_a_model_for_prediction_only_predicts_the_same(door, tmp_path):
    full, small = tmp_path / "full", tmp_path / "small"
    data = log_file(tmp_path / "log", door)
    learn(door, data, "-f", full)
    learn(door, data, "-f", small, "--predict_only_model")
    assert small.stat().st_size < full.stat().st_size
    assert pmfs_of(small, door, tmp_path) == pmfs_of(full, door, tmp_path)


@pytest.mark.parametrize("door", DOORS)
def test_readable_models_show_the_counter_and_the_weights(door, tmp_path):
    data = log_file(tmp_path / "log", door)
    readable, inverted = tmp_path / "readable", tmp_path / "inverted"
    learn(door, data, "--readable_model", readable)
    learn(door, data, "--invert_hash", inverted)
    for path in (readable, inverted):
        assert events_learned(path) == len(LOG)
        assert "--fastcb" in path.read_text()
    assert len([line for line in readable.read_text().splitlines() if re.match(r"\d+:-?\d", line)]) > 20
    names = {line.split(":")[0] for line in inverted.read_text().splitlines()}
    assert {"u^c3", "u^v", "Constant"} <= names
    assert ("a^w" in names) == (door == ADF)


@pytest.mark.parametrize("door", DOORS)
def test_audit_shows_features_with_their_weights(door, tmp_path):
    printed = ok(*door.split(), "-d", log_file(tmp_path / "log", door, LOG[:20]), "--audit", "--quiet")
    weights = [float(w) for w in re.findall(r"u\^c\d:\d+:1:(-?[\d.e-]+)", printed)]
    assert len(weights) >= 20
    assert weights[0] == 0
    assert any(w != 0 for w in weights)


# Merging.


def learned(door: str, log: Sequence[Event], flags: str = "") -> Workspace:
    vw = Workspace(f"{flags or door} --quiet --preserve_performance_counters")
    for event in log:
        line = text(door, event).strip()
        vw.learn(line.split("\n") if door == ADF else line)
    return vw


def counter(vw: Workspace, path: Path) -> int:
    vw.save(str(path))
    ok("-i", path, "-t", "--readable_model", f"{path}.txt", "--no_stdin", "--quiet")
    return events_learned(Path(f"{path}.txt"))


def query(vw: Workspace, door: str, event: Event) -> list[float]:
    line = text(door, event, label=False).strip()
    return vw.predict(line.split("\n") if door == ADF else line)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("from_base", [False, True])
def test_merged_models_add_up_what_they_learned(door, from_base, tmp_path):
    base_file = tmp_path / "base"
    base = learned(door, LOG[:60])
    base.save(str(base_file))
    start = f"-i {base_file}" if from_base else ""
    one, other = learned(door, LOG[60:200], start), learned(door, LOG[200:], start)
    loaded_base = Workspace(f"-i {base_file} --quiet --preserve_performance_counters") if from_base else None
    merged = pyvw.merge_models(loaded_base, [one, other])
    assert counter(merged, tmp_path / "merged") == (len(LOG) if from_base else len(LOG) - 60)

    shares = []
    for event in events(40, seed=5):
        pmf = query(merged, door, event)
        assert_pmfs([pmf])
        assert max(pmf) > 0.3
        shares.append(pmf[event.context % event.actions])
    assert np.mean(shares) > 0.6

    # And the merged model learns on.
    model = Workspace(f"-i {tmp_path / 'merged'} --quiet")
    event = replace(LOG[0], cost=0.0)
    before = query(model, door, event)[event.chosen]
    for _ in range(5):
        model.learn(text(door, event).strip().split("\n") if door == ADF else text(door, event).strip())
    assert query(model, door, event)[event.chosen] > before


@pytest.mark.parametrize("bits", [12, 18, 20])
@pytest.mark.parametrize("from_base", [False, True])
def test_models_of_any_number_of_bits_are_merged(from_base, bits, tmp_path):
    def at_work(flags: str, best: int) -> Workspace:
        vw = Workspace(f"{flags} --quiet --preserve_performance_counters")
        for number in range(60):
            action = number % 3 + 1
            vw.learn(f"{action}:{0 if action == best else 1}:0.33 |x a b")
        return vw

    new = f"--cb_explore 3 --fastcb -b {bits}"
    if from_base:
        at_work(new, 2).save(str(tmp_path / "base"))
    start = f"-i {tmp_path / 'base'}" if from_base else new
    base = Workspace(f"{start} --quiet --preserve_performance_counters") if from_base else None
    parts = [at_work(start, 2) for _ in range(2)]
    merged = pyvw.merge_models(base, parts)
    assert merged.num_weights() == 1 << bits
    assert merged.predict("|x a b")[1] > 0.8
    merged.save(str(tmp_path / "merged"))
    assert Workspace(f"-i {tmp_path / 'merged'} --quiet").predict("|x a b") == merged.predict("|x a b")


def test_models_that_differ_in_bits_are_not_merged():
    with pytest.raises(RuntimeError, match="bits"):
        pyvw.merge_models(None, [Workspace(f"--cb_explore 3 --fastcb --quiet -b {bits}") for bits in (12, 13)])


def test_merging_a_model_that_learned_nothing_changes_nothing(tmp_path):
    base_file = tmp_path / "base"
    learned(ADF, LOG[:100]).save(str(base_file))
    start = f"-i {base_file}"
    loaded_base = Workspace(f"{start} --quiet --preserve_performance_counters")
    one, idle = learned(ADF, LOG[100:], start), learned(ADF, [], start)
    merged = pyvw.merge_models(loaded_base, [one, idle])
    assert counter(merged, tmp_path / "merged") == len(LOG)
    for event in LOG[:10]:
        assert query(merged, ADF, event) == pytest.approx(query(one, ADF, event), abs=1e-3)
