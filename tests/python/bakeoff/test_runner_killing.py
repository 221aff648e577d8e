"""Runs that are ended from outside: the store is what an undisturbed run would have left."""

import signal
import subprocess
import time

import pytest

from bakeoff.cli import bakeoff
from bakeoff.killing import command, contents, rows_of, run_killed

_WORK = (  # two seconds of one processor, in many units
    *("--grid", "quick", "--datasets", "satimage,texture,segment", "--algorithms", "AdaCB.S,RegCB.S,FastCB.L"),
    *("--repeats", "1", "--shuffles", "2"),
)
_MORE = (  # some ten seconds
    *("--grid", "quick", "--datasets", "letter,optdigits", "--algorithms", "RegCB.S,AdaCB.S,FastCB.L,Supervised.L"),
    *("--repeats", "1", "--shuffles", "2"),
)


def interrupt(out, *options: str) -> str:
    """Presses Ctrl-C as soon as there is a result; returns what was said."""
    process = subprocess.Popen(command(out, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while rows_of(out) == 0 and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    return " ".join(errors.split())


@pytest.mark.slow  # on an idle machine the shorter run may end before it is interrupted
@pytest.mark.parametrize(("work", "kills"), [(_WORK, 1), (_MORE, 5)])
def test_a_run_that_was_interrupted_and_killed_ends_with_the_store_of_an_undisturbed_run(tmp_path, work, kills):
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    bakeoff(undisturbed, *work, "--jobs", "2")
    assert "the same command carries on from there" in interrupt(disturbed, *work, "--jobs", "1")
    passes = run_killed(disturbed, kills, 7, *work, "--jobs", "1")
    assert contents(disturbed) == contents(undisturbed)
    assert passes == sorted(passes)
    assert len(passes) >= (kills + 1) // 2  # a fast machine may be done before the last
    assert 0 < passes[0] < rows_of(undisturbed)
