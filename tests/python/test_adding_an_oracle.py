"""CONTRIBUTING.md, "Adding an oracle": its example is one file, and passes what every oracle passes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vw_fastcb import FastCB, _engine

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "tests" / "cpp" / "toys" / "running_mean.cc"
OWN = Path(_engine.__file__)
WITH_TOYS = OWN.parent / "_toys" / OWN.name

built = pytest.mark.skipif(not WITH_TOYS.exists(), reason="the engine with the example is built by make")


def on_the_engine_with_the_example(*arguments: object) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "VW_FASTCB_TEST_ENGINE": str(WITH_TOYS),
        "PYTHONPATH": str(Path(__file__).parent / "toy_engine"),
    }
    return subprocess.run(
        [sys.executable, *map(str, arguments)], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_the_page_shows_the_file_that_is_tested():
    page = (ROOT / "CONTRIBUTING.md").read_text()
    shown = page.split("## Adding an oracle")[1].split("```cpp\n")[1].split("```")[0]
    assert shown == EXAMPLE.read_text()


def test_the_product_does_not_have_the_example():
    assert "running_mean" not in [kind.name for kind in _engine.oracles()]
    with pytest.raises(ValueError, match="oracle is 'running_mean'; expected one of 'gd', 'newton'"):
        FastCB(3, oracle="running_mean").decide([0.0])


@built
def test_the_example_passes_what_every_oracle_passes():
    options = ("-n", "0", "-q", "-p", "no:cacheprovider", "-k", "running_mean")
    run = on_the_engine_with_the_example("-m", "pytest", *options, "tests/python/test_every_oracle.py")
    assert run.returncode == 0, run.stdout + run.stderr
    assert " passed" in run.stdout
    assert "skipped" not in run.stdout
    suite = Path(__file__).with_name("test_every_oracle.py").read_text()
    tests = suite.count("\n@EACH_ORACLE\n") + suite.count("\n@EACH_THAT_MERGES\n")
    assert int(run.stdout.split(" passed")[0].split()[-1]) >= tests > 10


@built
def test_the_example_is_an_oracle_like_the_others():
    run = on_the_engine_with_the_example(
        "-c",
        "from vw_fastcb import FastCB\n"
        "bandit = FastCB(2, oracle='running_mean', seed=0)\n"
        "for cost in (1, 0, 1, 1): bandit.learn_event([0.0], 1, cost)\n"
        "print(bandit.predict_cost([[7.0]]).round(4).tolist())",
    )
    assert run.stdout == "[[0.5, 0.7]]\n", run.stdout + run.stderr
