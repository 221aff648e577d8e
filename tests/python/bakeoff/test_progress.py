import io

import pytest
from rich.console import Console

from vw_fastcb.bakeoff import progress as display
from vw_fastcb.bakeoff.runner import Progress


def printed(console: Console, *steps: Progress) -> str:
    with display.shown(console) as show:
        for step in steps:
            show(step)
    return console.file.getvalue()


def at(phase: str, done: int, **more) -> Progress:
    return Progress(phase, work=done, work_total=100, passes=10 * done, passes_total=1000, sets_total=5, **more)


def test_where_a_bar_cannot_move_a_line_says_how_far_the_run_is_and_how_long_it_will_take(monkeypatch):
    monkeypatch.setattr(display, "_SECONDS_BETWEEN_LINES", 0)
    lines = printed(Console(file=io.StringIO()), *(at("grid", done) for done in (0, 0, 25, 100))).splitlines()
    assert lines == [
        "grid: 1,000 passes to run",
        "grid 25% 5/5 sets 250 passes left 0:00:00",
        "grid 100% 5/5 sets 1,000 passes left 0:00:00",
    ]


@pytest.mark.parametrize(("seconds", "left"), [(30, "0:01:30"), (3000, "2:30:00")])
def test_the_time_left_follows_from_the_work_done(monkeypatch, seconds, left):
    clock = iter([100.0, 100.0 + seconds])
    monkeypatch.setattr(display.time, "monotonic", lambda: next(clock))
    assert printed(Console(file=io.StringIO()), at("grid", 0), at("grid", 25)).endswith(f" left {left}\n")


def test_lines_do_not_flood_a_log():
    steps = [at("grid", done) for done in range(100)] + [at("fresh shuffles", 0)]
    lines = printed(Console(file=io.StringIO()), *steps).splitlines()
    assert lines == ["grid: 1,000 passes to run", "fresh shuffles: 1,000 passes to run"]


def test_a_terminal_has_a_bar():
    page = printed(Console(file=io.StringIO(), force_terminal=True, width=120), at("grid", 25))
    assert "25% 5/5 sets 250 passes" in page
    assert "to run" not in page


@pytest.mark.parametrize("is_terminal", [True, False])
def test_what_one_should_know_of_a_set_of_ones_own_is_said_once(is_terminal):
    console = Console(file=io.StringIO(), force_terminal=is_terminal, markup=False, highlight=False, width=200)
    steps = [at("grid", done, notes={"d/[x].csv": ("3 rows without a class left out",)}) for done in (0, 50, 100)]
    assert printed(console, *steps).count("d/[x].csv: 3 rows without a class left out") == 1


def test_sets_that_failed_are_not_counted_as_finished():
    step = at("grid", 25, left_of_set={"a": 0, "b": 1}, failed={"a"})
    page = printed(Console(file=io.StringIO(), force_terminal=True, width=120), step)
    assert "25% 3/5 sets 250 passes, 1 failed" in page
