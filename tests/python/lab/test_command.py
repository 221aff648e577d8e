"""`fastcb lab`, and the page that it wrote for the documentation."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.cli import fastcb
from vw_fastcb.lab import EXPERIMENTS
from vw_fastcb.lab.experiment import Table, shown

DOCS = Path(__file__).parents[3] / "docs"


def test_the_list_names_every_experiment():
    assert all(name in fastcb("lab", "list").out for name in EXPERIMENTS)
    listed = json.loads(fastcb("lab", "list", "--json").out)
    assert [one["name"] for one in listed] == list(EXPERIMENTS)
    assert all(one["shows"] and one["paper"] for one in listed)


@pytest.mark.parametrize("options", [[], pytest.param(["--json"], marks=pytest.mark.slow)])
def test_a_list_that_cannot_be_written_is_an_error_in_words(options):
    started = [sys.executable, "-c", "from vw_fastcb.commands import main; main()", "lab", "list", *options]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(started, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr == "fastcb lab: [Errno 28] No space left on device\n"


def test_a_run_leaves_a_picture_a_table_and_a_page(tmp_path):
    printed = fastcb(
        "lab", "run", "least-squares", "divergences", "--quick", "--jobs", 1, "--out", tmp_path / "lab", "--json"
    )
    assert printed.code == 0
    found = json.loads(printed.out)
    assert [one["name"] for one in found] == ["least-squares", "divergences"]
    assert all(one["holds"] for one in found)
    page = (tmp_path / "lab" / "lab.md").read_text()
    for one in found:
        assert (tmp_path / "lab" / f"{one['name']}.png").read_bytes().startswith(b"\x89PNG")
        assert "</svg>" in (tmp_path / "lab" / f"{one['name']}.svg").read_text()
        assert len(list(csv.reader((tmp_path / "lab" / f"{one['name']}.csv").read_text().splitlines()))) > 3
        assert one["words"] in page
        assert f"({one['name']}.png)" in page or f"(./{one['name']}.png)" in page
    assert not list((tmp_path / "lab").glob(".*"))
    # One of them again: the page about both stays.
    printed = fastcb("lab", "run", "divergences", "--quick", "--out", tmp_path / "lab")
    assert "tells of least-squares, too, so it stays as it is" in printed.words
    assert (tmp_path / "lab" / "lab.md").read_text() == page
    other = tmp_path / "other.md"
    assert fastcb("lab", "run", "divergences", "--quick", "--out", tmp_path / "lab", "--page", other).code == 0
    assert "`fastcb lab run divergences`" in other.read_text()


def test_what_was_not_seen_is_an_error_and_said(tmp_path, monkeypatch):
    one = EXPERIMENTS["divergences"]
    from vw_fastcb.lab import divergences  # noqa: PLC0415

    def swapped(seed: int, quick: bool) -> divergences.Divergences:
        return divergences.compute(seed, quick, candidate=divergences.chi_squared)

    monkeypatch.setitem(EXPERIMENTS, one.name, type(one)(one.name, one.shows, one.paper, swapped))
    printed = fastcb("lab", "run", one.name, "--quick", "--out", tmp_path)
    assert printed.code == 1
    assert "not seen" in printed.out
    assert "**Not seen**: discrimination <= 2 KL" in (tmp_path / "lab.md").read_text()


@pytest.mark.parametrize(
    "how", [signal.SIGINT, *(pytest.param(how, marks=pytest.mark.slow) for how in (signal.SIGTERM, signal.SIGKILL))]
)
def test_a_run_that_is_stopped_leaves_nobody_at_work(tmp_path, how):
    words = ["lab", "run", "small-losses", "clicks", "--jobs", "2", "--out", str(tmp_path / "lab")]
    started = [sys.executable, "-c", "from vw_fastcb.commands import main; main()", *words]
    with (tmp_path / "said").open("w") as said:
        run = subprocess.Popen(started, stdout=said, stderr=said, start_new_session=True)
    try:
        wait_until(lambda: len(workers_in(run.pid)) == 2)
        if how == signal.SIGINT:  # to all of them, as from a terminal, while the workers import their libraries
            os.killpg(run.pid, how)
        else:
            run.send_signal(how)
        assert run.wait(60) == (130 if how == signal.SIGINT else -how)
        wait_until(lambda: not workers_in(run.pid))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    if how == signal.SIGINT:
        (sentence,) = (tmp_path / "said").read_text().strip().splitlines()
        assert sentence.startswith("Stopped. The pictures and tables of 0 of 2 experiments are in ")


def workers_in(group: int) -> list[int]:
    """The processes of a group that run experiments."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getpgid(int(process.name)) == group and b"spawn_main" in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return found


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.slow
def test_an_experiment_that_fails_in_a_process_of_its_own_is_named(tmp_path):
    (tmp_path / "lab" / "divergences.csv").mkdir(parents=True)  # so it cannot be written
    printed = fastcb("lab", "run", "divergences", "least-squares", "--quick", "--jobs", 2, "--out", tmp_path / "lab")
    assert printed.code == 1
    assert "the experiment 'divergences' failed" in printed.words


def test_a_page_that_is_a_folder_is_refused_before_anything_runs(tmp_path):
    printed = fastcb("lab", "run", "divergences", "--out", tmp_path / "lab", "--page", tmp_path)
    assert printed.code == 2
    assert "is a folder; expected the name of a file" in printed.words
    assert not (tmp_path / "lab").exists()


@pytest.mark.parametrize("names", [["alchemy"], ["all", "alchemy"]])
def test_an_unknown_experiment_is_refused_with_those_there_are(tmp_path, names):
    printed = fastcb("lab", "run", *names, "--out", tmp_path / "lab")
    assert printed.code == 2
    assert "'alchemy'" in printed.words
    assert "small-losses" in printed.words
    assert not (tmp_path / "lab").exists()


def test_the_page_of_the_documentation_is_the_lab_s_own():
    page = (DOCS / "lab.md").read_text()
    for name in EXPERIMENTS:
        assert f"(pictures/lab/{name}.png)" in page
        assert (DOCS / "pictures" / "lab" / f"{name}.png").stat().st_size < 150_000
        rows = list(csv.reader((DOCS / "pictures" / "lab" / f"{name}.csv").read_text().splitlines()))
        assert Table(rows[0], []).to_markdown().splitlines()[0] in page
    assert "Not seen" not in page
    assert "--quick" not in page.partition("\n## ")[0]


def test_the_page_on_the_algorithm_has_a_row_for_everything_in_the_paper():
    page = (DOCS / "algorithm.md").read_text()
    rows = page[page.index("| in the paper | where") :].splitlines()[2:]
    first = " ".join(row.split("|")[1] for row in rows)

    def numbers(kind: str) -> set[int]:
        named = re.findall(rf"\b{kind}s? (\d+(?:(?:, | and )\d+)*)", first)
        return {int(number) for some in named for number in re.findall(r"\d+", some)}

    assert numbers("Theorem") == set(range(1, 8))
    assert numbers("Proposition") == set(range(1, 7))
    assert numbers("Lemma") == set(range(1, 6))
    assert numbers("Example") == set(range(1, 6))
    assert numbers("Assumption") == {1, 2, 3}
    assert numbers("Figure") == {1, 2}
    for row in rows:
        assert row.count("|") == 5, row
    named = {
        name for row in rows for some in re.findall(r"lab: ([a-z, -]+)", row) for name in re.findall(r"[a-z-]+", some)
    }
    assert {name for name in EXPERIMENTS if name in named} == set(EXPERIMENTS) - {"changes"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (3.0, "3"),
        (0.12345, "0.123"),
        (12.345, "12.3"),
        (1234.5, "1,234"),
        (1.5e-9, "1.50e-9"),
        (1e14, "1.00e14"),
        ("none", "none"),
        (0.0999999, "0.100"),
    ],
)
def test_numbers_are_shown_as_people_write_them(value, text):
    assert shown(value) == text
