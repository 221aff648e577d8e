"""Results as Parquet: out and in again without a change, and the published files make the published reports."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from bakeoff.cli import bakeoff, fastcb
from bakeoff.killing import contents
from vw_fastcb.bakeoff import report
from vw_fastcb.bakeoff.analysis import head_to_head
from vw_fastcb.bakeoff.analysis.losses import bandits, mean_over_orders, rounds_of, tuned_losses
from vw_fastcb.bakeoff.grid import PAPER
from vw_fastcb.bakeoff.parquet import SCHEMA, read_parquet
from vw_fastcb.bakeoff.store import FILE, Store

PUBLISHED = Path(__file__).parents[3] / "benchmarks" / "bakeoff" / "results"


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A small bake-off with curves and a set that cannot be used, and its export."""
    out = tmp_path_factory.mktemp("run")
    (out / "data").mkdir()
    (out / "data" / "bad.csv").write_text("x,class\n")
    options = ("--grid", "quick", "--datasets", "iris,vehicle0,bad", "--algorithms", "FastCB.L,SquareCB.L,Supervised.L")
    bakeoff(out, *options, "--builtin", "--folder", out / "data", "--repeats", "1", "--shuffles", "2", "--orders", "2")
    printed = fastcb("bakeoff", "export", out / "all.parquet", "--out", out)
    assert printed.code == 0, printed.err
    return out


def test_what_was_exported_comes_in_again_unchanged_and_makes_the_same_report(exported, tmp_path):
    printed = fastcb("bakeoff", "import", exported / "all.parquet", "--out", tmp_path / "copy")
    assert printed.code == 0, printed.err
    before, after = contents(exported), contents(tmp_path / "copy")
    assert before == after
    assert len(before["curves"]) == 2 * 3 * 2
    assert len(before["broken"]) == 1
    with Store(exported / FILE) as store, Store(tmp_path / "copy" / FILE) as copy:
        assert store.meta() == copy.meta()
        assert report.as_markdown(store.run()) == report.as_markdown(copy.run())


def test_a_run_goes_on_from_what_was_imported(exported, tmp_path):
    fastcb("bakeoff", "import", exported / "all.parquet", "--out", tmp_path)
    options = ("--grid", "quick", "--datasets", "iris,vehicle0", "--algorithms", "FastCB.L,SquareCB.L,Supervised.L")
    printed = bakeoff(tmp_path, *options, "--repeats", "1", "--shuffles", "2", "--orders", "2")
    assert "grid: 0 passes to run" in printed.err
    assert "fresh shuffles: 0 passes to run" in printed.err


def test_results_are_not_imported_over_others(exported):
    printed = fastcb("bakeoff", "import", exported / "all.parquet", "--out", exported)
    assert printed.code == 1
    assert "already has results. Choose another --out." in printed.words


def test_an_export_to_a_folder_that_is_not_there_names_it(exported, tmp_path):
    printed = fastcb("bakeoff", "export", tmp_path / "no" / "x.parquet", "--out", exported)
    assert printed.code == 1
    assert f"there is no folder {tmp_path / 'no'} for x.parquet" in printed.words


def test_a_file_of_another_kind_is_refused(tmp_path):
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "other.parquet")
    (tmp_path / "text.parquet").write_text("no table")
    for name, why in (
        ("other", "is not an export of a bake-off; expected a file that `fastcb bakeoff export` wrote"),
        ("text", "cannot be read as Parquet"),
        ("absent", "there is no file"),
    ):
        printed = fastcb("bakeoff", "import", tmp_path / f"{name}.parquet", "--out", tmp_path / "out")
        assert printed.code == 1
        assert why in printed.words
    assert not (tmp_path / "out" / FILE).exists()


# Of every pass of the paper's eight algorithms, as they were first published.
FIRST_PUBLISHED = {
    "full": (178_632, "bbbba844ff29e33719987a56e6d49853b73d3bb2a4d57013d25a1ff2469eace5"),
    "orders": (1_711_800, "d1dd0b6f34a9a1d93d2974601ea78ae5a18aec6ff69a61fc874b2f3b04ccadb5"),
}


def digest(path: Path, algorithms: Iterable[str]) -> tuple[int, str]:
    """The number of passes of some algorithms, and a hash of all that the file says of them."""
    passes = pq.read_table(path).to_pandas()
    passes = passes[passes["algorithm"].isin(list(algorithms))]
    found = hashlib.sha256()
    for name in ("dataset", "algorithm", "configuration"):
        values = passes[name].cat.remove_unused_categories()
        in_order = sorted(values.cat.categories)
        found.update(repr(in_order).encode())
        found.update(values.cat.set_categories(in_order).cat.codes.to_numpy("int16").tobytes())
    for name in ("step", "shuffle", "rounds", "mistakes"):
        found.update(passes[name].to_numpy().tobytes())
    for losses in passes["losses"].dropna():
        found.update(losses)
    found.update(passes["losses"].notna().to_numpy().tobytes())
    return len(passes), found.hexdigest()


@pytest.mark.parametrize("kind", ["full", pytest.param("orders", marks=pytest.mark.slow)])
def test_passes_that_were_published_do_not_change_when_algorithms_are_added(kind):
    assert digest(PUBLISHED / kind / "results.parquet", PAPER) == FIRST_PUBLISHED[kind]


@pytest.mark.parametrize("kind", ["full", "orders"])
def test_both_published_files_have_the_one_schema(kind):
    assert pq.read_schema(PUBLISHED / kind / "results.parquet").equals(SCHEMA)


def test_the_published_results_make_the_published_wins_and_losses():
    results = read_parquet(PUBLISHED / "full" / "results.parquet").results
    losses = tuned_losses(mean_over_orders(results))
    published = pd.read_csv(PUBLISHED / "full" / "tables" / "table_3_all_algorithms.csv").astype({"paper": "Int64"})
    table = head_to_head(losses, rounds_of(results), bandits(losses.columns))
    assert len(table) == 90
    pd.testing.assert_frame_equal(table.drop(columns="paper"), published.drop(columns="paper"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["full", "orders"])
def test_the_published_results_make_the_published_report(kind):
    page = report.as_markdown(read_parquet(PUBLISHED / kind / "results.parquet"))
    assert page == (PUBLISHED / kind / "report.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["full", "orders"])
def test_the_published_results_make_every_published_table_and_picture(kind, tmp_path):
    assert fastcb("bakeoff", "import", PUBLISHED / kind / "results.parquet", "--out", tmp_path).code == 0
    assert fastcb("bakeoff", "report", "--out", tmp_path).code == 0
    published = [path for path in (PUBLISHED / kind).rglob("*") if path.is_file() and path.name != "results.parquet"]
    assert len(published) > 30
    differ = [
        path.name
        for path in published
        if (tmp_path / path.relative_to(PUBLISHED / kind)).read_bytes() != path.read_bytes()
    ]
    assert differ == []
