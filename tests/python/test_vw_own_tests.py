"""VW's own Python tests, from its release, run against our engine as they run against the stock wheel."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# They read data files that the release leaves out.
KNOWN_FAILURES = {
    "test_cb::test_getting_started_example_cb",
    "test_cb::test_getting_started_example_legacy_cb",
    "test_pyvw::test_runparser_cmd_string",
    "test_pyvw::test_runparser_cmd_string_short",
    "test_vwconfig::test_vw_config_manager",
}

# The first two tune a whole population of models; these take longer than all others together.
LONG = {
    "test_ccb::test_ccb_and_automl",
    "test_tutorial::test_automl_reduction",
    "test_tutorial::test_with_interaction",
    "test_tutorial::test_without_interaction",
    "test_sklearn_vw::TestVW::test_passes",
}

# Only a long one, test_ccb_and_automl, starts processes, through vw-executor.
HERE = "test_our_engine::test_is_used_here"
IN_WORKERS = "test_our_engine::test_is_used_in_workers"

BAD = {"failure", "error", "skipped"}

# Read by every interpreter that is started in the run, workers included: who asks for vowpalwabbit gets vw_fastcb.
# Python's resource tracker is one, too; it runs no code of ours, and would import all of scikit-learn.
SITECUSTOMIZE = """
import sys
if not any("resource_tracker" in word for word in sys.orig_argv):
    import vw_fastcb, vw_fastcb.dftovw, vw_fastcb.pyvw, vw_fastcb.sklearn, vw_fastcb.sklearn_vw
    for name in [name for name in sys.modules if name.partition(".")[0] == "vw_fastcb"]:
        sys.modules[name.replace("vw_fastcb", "vowpalwabbit", 1)] = sys.modules[name]
    sys.modules["pylibvw"] = sys.modules["vw_fastcb.pylibvw"]
"""

OUR_ENGINE = """
import multiprocessing
import vowpalwabbit
from vowpalwabbit import dftovw, pyvw, sklearn

def reductions(flags):
    return pyvw.Workspace(flags + " --quiet").get_enabled_reductions()

def test_is_used_here():
    assert "cb_explore_adf_fastcb" in reductions("--cb_explore_adf --fastcb")
    assert vowpalwabbit.Workspace is pyvw.Workspace is sklearn.Workspace
    assert {vowpalwabbit.__name__, dftovw.__name__} == {"vw_fastcb", "vw_fastcb.dftovw"}

def test_is_used_in_workers():
    with multiprocessing.Pool(1) as pool:
        assert "cb_explore_adf_fastcb" in pool.apply(reductions, ["--cb_explore_adf --fastcb"])
"""


@pytest.fixture(scope="module")
def vw_tests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of VW's Python tests, from the release in the cache or from the one the user points to."""
    spec = importlib.util.spec_from_file_location("vw_release", ROOT / "cmake" / "vw_release.py")
    assert spec is not None
    assert spec.loader is not None
    vw_release = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(vw_release)
    given = Path(os.environ.get("VW_FASTCB_VW_SOURCE", "")).expanduser()
    if given != Path() and given.is_dir():
        return given / "python" / "tests"
    folder = tmp_path_factory.mktemp("release")
    inside = f"{vw_release.NAME}/python/tests"
    # Python reads the headers of 24,000 files three times as slowly.
    archive = given if given != Path() else vw_release.tarball()
    subprocess.run(["tar", "-xzf", archive, "-C", folder, inside], check=True)
    return folder / inside


def outcomes(vw_tests: Path, folder: Path, ours: bool, without: set[str] | None = None) -> dict[str, str]:
    """Runs the tests in a new folder, on our engine or the stock wheel; from the name of a test to its outcome."""
    site = folder / "site"
    site.mkdir(parents=True)
    shutil.copytree(vw_tests, folder / "tests", ignore=shutil.ignore_patterns("e2e_v2", "__pycache__"))
    if ours:
        (site / "sitecustomize.py").write_text(SITECUSTOMIZE)
        (folder / "tests" / "test_our_engine.py").write_text(OUR_ENGINE)
    report = folder / "report.xml"
    deselected = [f"--deselect={name.replace('::', '.py::', 1)}" for name in without or ()]
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "--rootdir=.",
            "--junitxml",
            str(report),
            *deselected,
            ".",
        ],
        cwd=folder / "tests",
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert report.exists(), result.stdout[-3000:] + result.stderr[-3000:]
    found = {}
    for case in ET.parse(report).iter("testcase"):
        # The message of an outcome other than "passed" is there to be read when the assertion below fails.
        bad = [f"{child.tag}: {child.get('message', '')[:200]}" for child in case if child.tag in BAD]
        found[f"{case.get('classname')}::{case.get('name')}"] = bad[0] if bad else "passed"
    return found


def unsuccessful(found: dict[str, str]) -> dict[str, str]:
    return {name: outcome for name, outcome in found.items() if outcome != "passed"}


def check_our_engine(found: dict[str, str], passing: int, ours: set[str]) -> None:
    # These say that the others ran on our engine.
    assert {found.pop(name, None) for name in ours} == {"passed"}
    unexpected = {name: outcome for name, outcome in unsuccessful(found).items() if name not in KNOWN_FAILURES}
    assert unexpected == {}
    assert set(unsuccessful(found)) == KNOWN_FAILURES
    assert len(found) - len(KNOWN_FAILURES) == passing


def test_vws_own_tests_pass_on_our_engine(vw_tests: Path, tmp_path: Path) -> None:
    check_our_engine(outcomes(vw_tests, tmp_path, ours=True, without=LONG | {IN_WORKERS}), passing=145, ours={HERE})


@pytest.mark.slow
def test_all_of_vws_own_tests_do_on_our_engine_what_they_do_on_the_stock_wheel(vw_tests: Path, tmp_path: Path) -> None:
    check_our_engine(outcomes(vw_tests, tmp_path / "ours", ours=True), passing=150, ours={HERE, IN_WORKERS})
    stock = outcomes(vw_tests, tmp_path / "stock", ours=False)
    assert set(unsuccessful(stock)) == KNOWN_FAILURES
    assert len(stock) - len(KNOWN_FAILURES) == 150
