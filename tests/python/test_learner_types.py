"""The types that users of the learner see, under `mypy --strict`."""

import re
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import numpy as np
from numpy.typing import NDArray
from vw_fastcb import FastCB

bandit = FastCB(3, cost_range=(0, 1), interactions=("xx",))
decision = bandit.decide([0.5, 1.0], event_id="e1")
action: int = decision.action
pmf: NDArray[np.float64] = decision.pmf
bandit.learn(decision, cost=0.5)
bandit.learn_event([0.5, 1.0], 2, 0.5)
bandit.partial_fit(np.ones((2, 2)), [0, 1], [0.0, 1.0]).save("model.vw")
table: NDArray[np.float64] = bandit.predict_proba(np.ones((2, 2)))
costs: NDArray[np.float64] = bandit.predict_cost(np.ones((2, 2)))
greedy: NDArray[np.int64] = bandit.predict(np.ones((2, 2)))
for one in bandit.decide_many(np.ones((2, 2))):
    name: str | None = one.name
means: NDArray[np.float64] = bandit.simulate(np.ones((2, 2)), [0, 1], n_shuffles=2).progressive
with FastCB.load("model.vw") as loaded:
    other: FastCB = loaded.set_params(seed=3)
"""
WRONG = """
bandit.decide([1.0], event_id=3.5)
FastCB(objective="profit")
text: str = decision.probability
words: list[str] = bandit.predict_proba(np.ones((2, 2)))
bandit.learn([0.5, 1.0], 0.5)
"""


def checked(path, program):
    path.write_text(program)
    cache = Path(__file__).parents[2] / ".mypy_cache"  # of `make lint`, which knows all packages already
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, path.name],
        cwd=path.parent,
        capture_output=True,
        text=True,
        check=False,
    ).stdout


def test_a_right_program_passes_and_each_wrong_line_is_found(tmp_path):
    found = checked(tmp_path / "program.py", PROGRAM + WRONG)
    first = PROGRAM.count("\n") + 2
    expected = list(range(first, first + WRONG.strip().count("\n") + 1))
    assert sorted({int(line) for line in re.findall(r"^program\.py:(\d+): error", found, re.MULTILINE)}) == expected, (
        found
    )
