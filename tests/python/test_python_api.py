"""The Python API of VW on our engine: beside the stock one, in threads and workers."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import vowpalwabbit

import vw_fastcb
from support import assert_pmfs, events, write
from vw_fastcb import dftovw, pyvw

ADF = "--cb_explore_adf --fastcb --quiet"
FIXED = "--cb_explore 4 --fastcb --quiet"


def python(code: str, *arguments: object) -> str:
    """Runs code in an interpreter of its own, which must succeed; returns what it printed."""
    command = [sys.executable, "-W", "error::ImportWarning", "-c", code, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def learned_pmfs(workspace: Any, adf: bool = True, seed: int = 0) -> list[list[float]]:
    """Predicts and learns a log of events; the predictions."""
    pmfs = []
    for event in events(60, seed=seed):
        pmfs.append(workspace.predict(event.adf() if adf else event.fixed()))
        workspace.learn(event.adf() if adf else event.fixed())
    return pmfs


# Beside the stock package

BOTH = """
import sys
first, second = (__import__(name) for name in sys.argv[1:])
import vowpalwabbit, vw_fastcb
import vowpalwabbit.pyvw, vw_fastcb.pyvw, pylibvw
assert vw_fastcb.pyvw.pylibvw is not pylibvw
assert not issubclass(vw_fastcb.Workspace, vowpalwabbit.Workspace)
event = ["shared | u", "0:1:0.5 | a", "| b"]
ours = vw_fastcb.Workspace("--cb_explore_adf --fastcb --quiet")
stock = vowpalwabbit.Workspace("--cb_explore_adf --squarecb --quiet")
same = vw_fastcb.Workspace("--cb_explore_adf --squarecb --quiet")
for _ in range(20):
    for workspace in (ours, stock, same):
        workspace.learn(event)
assert stock.predict(event) == same.predict(event) != ours.predict(event)
try:
    vowpalwabbit.Workspace("--cb_explore_adf --fastcb --quiet")
except RuntimeError as problem:
    assert "fastcb" in str(problem)
else:
    raise AssertionError("the stock engine knows --fastcb")
for workspace in (ours, stock, same):
    workspace.finish()
print("both")
"""


@pytest.mark.parametrize("order", [("vowpalwabbit", "vw_fastcb"), ("vw_fastcb", "vowpalwabbit")])
def test_both_engines_live_in_one_process_in_either_order(order: tuple[str, str]) -> None:
    assert python(BOTH, *order) == "both\n"


def test_importing_ours_does_not_import_the_stock_engine() -> None:
    code = "import sys, vw_fastcb; print({'vowpalwabbit', 'pylibvw'} & set(sys.modules))"
    assert python(code) == "set()\n"


def test_importing_warns_of_nothing() -> None:
    """The wheel's files are compiled when it is installed; compiling them again must not show their warnings."""
    names = [f"vw_fastcb.{module}" for module in ("pyvw", "dftovw", "sklearn")]
    before = {name: importlib.import_module(name) for name in names}
    try:
        for name in names:
            del sys.modules[name]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            again = {name: importlib.import_module(name) for name in names}
    finally:
        for name, module in before.items():
            sys.modules[name] = module
            setattr(vw_fastcb, name.rpartition(".")[2], module)
    assert all(again[name] is not before[name] for name in names)
    assert [str(warning.message) for warning in caught] == []


@pytest.mark.parametrize("module", ["", ".pyvw", ".dftovw", ".sklearn", ".version"])
def test_every_public_name_of_the_stock_package_is_here(module: str) -> None:
    theirs = importlib.import_module(f"vowpalwabbit{module}")
    ours = importlib.import_module(f"vw_fastcb{module}")
    public = [name for name in dir(theirs) if not name.startswith("_") and name not in {"DFtoVW"}]
    assert public
    assert [name for name in public if not hasattr(ours, name)] == []


def test_the_old_name_of_dftovw_is_here_with_its_warning() -> None:
    with pytest.warns(DeprecationWarning, match="dftovw"):
        assert vowpalwabbit.DFtoVW.__name__ == "vowpalwabbit.dftovw"
    with pytest.warns(DeprecationWarning, match="dftovw"):
        assert vw_fastcb.DFtoVW is dftovw


def test_the_old_name_of_sklearn_is_here_with_its_warning() -> None:
    for package in ("vowpalwabbit", "vw_fastcb"):
        name = f"{package}.sklearn_vw"
        sys.modules.pop(name, None)  # it warns when it is imported first
        with pytest.warns(DeprecationWarning, match="sklearn_vw has been renamed to sklearn"):
            module = importlib.import_module(name)
        assert module.VWClassifier.__module__ == f"{package}.sklearn"


def test_all_doors_lead_to_the_same_workspace() -> None:
    wrappers = importlib.import_module("vw_fastcb.sklearn")
    assert vw_fastcb.Workspace is pyvw.Workspace is wrappers.Workspace
    with pytest.warns(DeprecationWarning, match="renamed to Workspace"), pyvw.vw(ADF) as vw:
        assert isinstance(vw, vw_fastcb.Workspace)


# Threads and workers


def test_threads_with_a_workspace_each_do_not_disturb_each_other() -> None:
    jobs = [(module, flags, seed) for seed in range(3) for module, flags in THREAD_FLAGS]

    def job(module: Any, flags: str, seed: int) -> list[list[float]]:
        with module.Workspace(flags) as vw:
            return learned_pmfs(vw, adf="adf" in flags, seed=seed)

    alone = [job(*arguments) for arguments in jobs]
    together: list[Any] = [None] * len(jobs)

    def work(i: int) -> None:
        together[i] = job(*jobs[i])

    threads = [threading.Thread(target=work, args=[i]) for i in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


THREAD_FLAGS = [(vw_fastcb, ADF), (vw_fastcb, FIXED), (vowpalwabbit, "--cb_explore_adf --squarecb --quiet")]

WORKERS = """
import multiprocessing, sys
import vowpalwabbit, vw_fastcb

EVENT = ["shared | u", "0:1:0.5 | a", "| b"]

def pmf(rounds):
    with vw_fastcb.Workspace("--cb_explore_adf --fastcb --quiet") as vw:
        for _ in range(rounds):
            vw.learn(EVENT)
        return vw.predict(EVENT)

def inherited(_):
    mine.learn(EVENT)
    return mine.predict(EVENT)

if __name__ == "__main__":
    method = sys.argv[1]
    mine = vw_fastcb.Workspace("--cb_explore_adf --fastcb --quiet")
    stock = vowpalwabbit.Workspace("--cb_explore_adf --squarecb --quiet")
    mine.learn(EVENT)
    stock.learn(EVENT)
    before = mine.predict(EVENT)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(pmf, range(6)) == [pmf(n) for n in range(6)]
        if method == "fork":
            assert pool.apply(inherited, [None]) == pmf(2)
        pool.close()
        pool.join()
    assert mine.predict(EVENT) == before == pmf(1)
    print(method)
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_every_kind_get_the_same_predictions(method: str, tmp_path: Path) -> None:
    script = write(tmp_path / "workers.py", [WORKERS])
    result = subprocess.run([sys.executable, script, method], capture_output=True, text=True, timeout=120, check=False)
    assert (result.returncode, result.stdout) == (0, f"{method}\n"), result.stderr


# Examples, labels, data frames, scikit-learn, the log, merging


def test_examples_and_labels_built_by_hand_learn_as_text_does() -> None:
    by_text, by_hand = vw_fastcb.Workspace(ADF), vw_fastcb.Workspace(ADF)
    for _ in range(20):
        by_text.learn(["shared |u tom", "0:0.75:0.5 |a music", "|a sports:2"])
        examples = [
            vw_fastcb.Example(by_hand, {"u": ["tom"]}),
            by_hand.example({"a": {"music": 1.0}}),
            by_hand.example({"a": [("sports", 2.0)]}),
        ]
        examples[0].set_label_string("shared")
        examples[1].set_label_string("0:0.75:0.5")
        for example in examples:
            example.setup_example()
        by_hand.learn(examples)
        by_hand.finish_example(examples)
    question = ["shared |u tom", "|a music", "|a sports:2"]
    pmf = by_hand.predict(question)
    assert pmf == by_text.predict(question)
    assert_pmfs([pmf])
    assert pmf[0] < pmf[1]
    by_text.finish()
    by_hand.finish()


def test_an_example_shows_its_label_and_prediction() -> None:
    with vw_fastcb.Workspace(FIXED) as vw:
        assert vw.get_label_type() == vw_fastcb.LabelType.CONTEXTUAL_BANDIT
        assert vw.get_prediction_type() == vw_fastcb.PredictionType.ACTION_PROBS
        example = vw.parse("3:0.5:0.25 |u tall v:2")
        assert isinstance(example, vw_fastcb.Example)
        label = vw_fastcb.CBLabel.from_example(example)
        assert isinstance(label.costs[0], vw_fastcb.CBLabelElement)
        assert str(label) == "3:0.5:0.25"
        assert [weight for _, weight in example.iter_features()] == [1, 2, 1]
        vw.learn(example)
        assert_pmfs([example.get_prediction(vw_fastcb.PredictionType.ACTION_PROBS)])
        vw.finish_example(example)


def test_a_refused_example_is_the_callers_to_give_back() -> None:
    with vw_fastcb.Workspace(ADF) as vw:
        learned_pmfs(vw)
        before = vw.predict(events(1)[0].adf(label=False))
        for _ in range(300):  # more than the examples VW starts with
            examples = vw.parse(["shared | u", "0:7:0.5 | a", "| b"])
            with pytest.raises(RuntimeError, match="cost 7 is outside"):
                vw.learn(examples)
            vw.finish_example(examples)
        assert vw.predict(events(1)[0].adf(label=False)) == before


def test_a_data_frame_becomes_events_for_fastcb() -> None:
    frame = pd.DataFrame(
        {"action": [1, 2, 4], "cost": [0.0, 0.5, 1.0], "p": [0.25, 0.5, 0.25], "city": ["a", "b", "a"]}
    )
    label = dftovw.ContextualbanditLabel(action="action", cost="cost", probability="p")
    lines = dftovw.DFtoVW(df=frame, label=label, features=dftovw.Feature("city")).convert_df()
    assert lines == ["1:0.0:0.25 | city=a", "2:0.5:0.5 | city=b", "4:1.0:0.25 | city=a"]
    with vw_fastcb.Workspace(FIXED) as vw:
        for _ in range(30):
            for line in lines:
                vw.learn(line)
        pmf = vw.predict("| city=a")
    assert pmf.index(max(pmf)) == 0


def test_the_scikit_learn_wrappers_run_on_our_engine() -> None:
    x, y = [[0.0, 1.0], [1.0, 0.0], [0.1, 0.9], [0.9, 0.2]] * 10, [1, -1, 1, -1] * 10
    ours, theirs = (
        importlib.import_module(f"{package}.sklearn").VWClassifier().fit(x, y)
        for package in ("vw_fastcb", "vowpalwabbit")
    )
    assert isinstance(ours.vw_, vw_fastcb.Workspace)
    assert list(ours.decision_function(x)) == list(theirs.decision_function(x))
    assert list(ours.predict(x)) == y


def test_the_log_is_kept_and_names_the_reduction() -> None:
    vw = vw_fastcb.Workspace("--cb_explore_adf --fastcb", enable_logging=True)
    learned_pmfs(vw)
    vw.finish()
    log = "\n".join(vw.get_log())
    assert "cb_explore_adf_fastcb" in log
    assert "number of examples = 120" in log  # 60 predicted, 60 learned
    assert vw.get_driver_output()
    with vw_fastcb.Workspace(ADF) as quiet, pytest.raises(Exception, match="enable_logging"):
        quiet.get_log()


@pytest.mark.parametrize("flags", [ADF, FIXED])
def test_merged_models_are_workspaces_of_ours_that_go_on_and_can_be_saved(flags: str, tmp_path: Path) -> None:
    adf = flags == ADF
    models = [vw_fastcb.Workspace(flags) for _ in range(2)]
    for seed, model in enumerate(models):
        learned_pmfs(model, adf, seed)
    merged = pyvw.merge_models(None, models)
    assert isinstance(merged, vw_fastcb.Workspace)
    merged.save(tmp_path / "merged")
    loaded = vw_fastcb.Workspace(arg_list=["-i", str(tmp_path / "merged"), "--quiet"])
    after = learned_pmfs(loaded, adf, seed=3)
    assert learned_pmfs(merged, adf, seed=3) == after
    assert_pmfs(after)
    assert max(after[0]) > 0.4
    for model in (*models, merged, loaded):
        model.finish()


def test_a_bad_event_in_a_data_file_raises_and_leaves_the_process_alive(tmp_path: Path) -> None:
    """The wheel's own way of reading a file aborts the process: its parser thread is left running."""
    log = [event.adf() for event in events(2000)]
    data = write(tmp_path / "log", [*log[:10], "0:7:0.5 | a\n| b\n\n", *log[10:]])
    code = (
        "import gc, sys, vw_fastcb\n"
        "try:\n"
        "    vw_fastcb.Workspace(arg_list=['--cb_explore_adf', '--fastcb', '--quiet', '-d', sys.argv[1]])\n"
        "except RuntimeError as problem:\n"
        "    print(problem)\n"
        "gc.collect()\n"
        "print('alive')\n"
    )
    printed = python(code, data)
    assert "cost 7 is outside [0, 1]" in printed
    assert printed.endswith("alive\n")


def test_a_workspace_that_could_not_save_raises_once(tmp_path):
    (tmp_path / "file").touch()
    vw = vw_fastcb.Workspace(f"--cb_explore 2 --fastcb --quiet -f {tmp_path}/file/model")
    vw.learn("1:0.5:0.5 | a")
    with pytest.raises(RuntimeError, match="the model could not be saved to"):
        vw.finish()
    vw.finish()
