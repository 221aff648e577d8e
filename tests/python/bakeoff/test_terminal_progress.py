import io

import pytest
from rich.console import Console

from vw_fastcb.bakeoff import terminal
from vw_fastcb.bakeoff.runner import Progress


def shown(console: Console, *steps: Progress) -> str:
    with terminal._shown_progress(console) as show:
        for step in steps:
            show(step)
    return console.file.getvalue()


def progress(phase: str, done: int) -> Progress:
    return Progress(phase, [], work=done, work_total=100, passes=10 * done, passes_total=1000, sets_total=5)


def test_where_a_bar_cannot_move_a_line_says_how_far_the_run_is_and_how_long_it_will_take(monkeypatch):
    monkeypatch.setattr(terminal, "_SECONDS_BETWEEN_LINES", 0)
    lines = shown(Console(file=io.StringIO()), *(progress("grid", done) for done in (0, 0, 25, 100))).splitlines()
    assert lines == [
        "grid: 1,000 passes to run",
        "grid 25% 5/5 sets 250 passes left 0:00:00",
        "grid 100% 5/5 sets 1,000 passes left 0:00:00",
    ]


@pytest.mark.parametrize(("seconds", "left"), [(30, "0:01:30"), (3000, "2:30:00")])
def test_the_time_left_follows_from_the_work_done(monkeypatch, seconds, left):
    clock = iter([100.0, 100.0 + seconds])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(clock))
    assert shown(Console(file=io.StringIO()), progress("grid", 0), progress("grid", 25)).endswith(f" left {left}\n")


def test_lines_do_not_flood_a_log():
    steps = [progress("grid", done) for done in range(100)] + [progress("fresh shuffles", 0)]
    lines = shown(Console(file=io.StringIO()), *steps).splitlines()
    assert lines == ["grid: 1,000 passes to run", "fresh shuffles: 1,000 passes to run"]


def test_a_terminal_has_a_bar():
    page = shown(Console(file=io.StringIO(), force_terminal=True, width=120), progress("grid", 25))
    assert "25% 5/5 sets 250 passes" in page
    assert "to run" not in page
