"""The bake-off where its own engine is not built, as in the product's wheel: the same losses, by VW's reduction."""

import json
import subprocess
import sys

import pytest

from vw_fastcb.bakeoff.data import load_builtin
from vw_fastcb.bakeoff.grid import BUILT_IN
from vw_fastcb.bakeoff.passes import Playable, order_of_rows

_ROUNDS = 150
_HIDDEN = """
import json, sys

sys.modules["vw_fastcb._bakeoff"] = None  # where a module is not there, importing it fails like this

from vw_fastcb.bakeoff.data import load_builtin
from vw_fastcb.bakeoff.grid import BUILT_IN
from vw_fastcb.bakeoff.passes import Playable, order_of_rows

playable = Playable.of(load_builtin(sys.argv[1]))
order = order_of_rows(playable.info.rows, 0, 0, int(sys.argv[2]))
for algorithm in BUILT_IN.values():
    try:
        losses = playable.losses(algorithm.configurations()[1 % len(algorithm.configurations())], order).tolist()
    except RuntimeError as problem:
        losses = str(problem)
    print(json.dumps([algorithm.name, losses]))
"""


@pytest.mark.parametrize("name", ["keel/wine", "keel/german"])
def test_a_pass_loses_the_same_rounds_without_the_engine_of_the_bakeoff(name):
    command = [sys.executable, "-W", "error", "-c", _HIDDEN, name, str(_ROUNDS)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    without = dict(map(json.loads, run.stdout.splitlines()))
    assert without.keys() == BUILT_IN.keys()
    playable = Playable.of(load_builtin(name))
    order = order_of_rows(playable.info.rows, 0, 0, _ROUNDS)
    for algorithm in BUILT_IN.values():
        if algorithm.sees_labels:
            assert "--config-settings=cmake.define.VW_FASTCB_BAKEOFF=ON" in without[algorithm.name]
            continue
        configurations = algorithm.configurations()
        losses = playable.losses(configurations[1 % len(configurations)], order).tolist()
        assert 0 < sum(losses) < _ROUNDS
        assert without[algorithm.name] == losses, algorithm.name
