"""Runs that are ended from outside: the store is what an undisturbed run would have left."""

import signal

import pytest

from bakeoff.cli import bakeoff
from bakeoff.killing import contents, rows_of, run_killed, stopped

_WORK = (  # four units for the grid, four for fresh shuffles
    *("--grid", "quick", "--datasets", "iris,wine", "--algorithms", "FastCB.L,Supervised.L", "--jobs", "1"),
    *("--repeats", "1", "--shuffles", "2"),
)
_MORE = (  # some ten seconds of one processor
    *("--grid", "quick", "--datasets", "letter,optdigits", "--algorithms", "RegCB.S,AdaCB.S,FastCB.L,Supervised.L"),
    *("--repeats", "1", "--shuffles", "2", "--jobs", "1"),
)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed")
    bakeoff(out, *_WORK)
    return contents(out)


def test_a_run_that_was_interrupted_and_killed_ends_with_the_store_of_an_undisturbed_run(tmp_path, undisturbed):
    out = tmp_path / "disturbed"
    with stopped(out, "before", 2, *_WORK) as process:
        assert rows_of(out) > 0
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command carries on from there" in " ".join(errors.split())
    there = rows_of(out)
    with stopped(out, "inside", 1, *_WORK) as process:
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert 0 < rows_of(out) == there < len(undisturbed["results"])  # nothing of the unit that was being written
    bakeoff(out, *_WORK)
    assert contents(out) == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "inside", "after"])
def test_a_run_that_is_killed_at_each_of_its_units_ends_with_the_store_of_an_undisturbed_run(
    tmp_path, undisturbed, moment
):
    out, passes, kills = tmp_path / "disturbed", [0], 0
    while True:
        # Where the unit is not kept, the next run does it and is killed at the one after it.
        with stopped(out, moment, 1 if moment == "after" else 1 + min(kills, 1), *_WORK) as process:
            ended = process.poll() is not None
        if ended:
            break
        assert process.returncode == -signal.SIGKILL
        kills += 1
        passes.append(rows_of(out))
    assert process.returncode == 0
    assert kills == 8
    assert passes == sorted(passes)
    assert contents(out) == undisturbed


@pytest.mark.slow
def test_a_run_that_was_killed_at_moments_left_to_chance_ends_with_the_store_of_an_undisturbed_run(tmp_path):
    bakeoff(tmp_path / "undisturbed", *_MORE)
    passes = run_killed(tmp_path / "disturbed", 5, 7, *_MORE)
    assert contents(tmp_path / "disturbed") == contents(tmp_path / "undisturbed")
    assert passes == sorted(passes)
