"""Names of sets and algorithms are the user's: any character may be in them, and they may be long."""

from __future__ import annotations

import re
import warnings
from html import escape, unescape

import numpy as np
import pytest

from bakeoff.synthetic import make_run, results
from vw_fastcb.bakeoff import report
from vw_fastcb.bakeoff.report.document import Bullets, Document, Section, literal
from vw_fastcb.bakeoff.report.html_page import html
from vw_fastcb.bakeoff.report.sections import file_names

LONG = "S/" + "folder/" * 30 + "the_end.csv"
SETS = ["S/a-b.csv", "S/a_b.csv", "S/a$b$c.csv", "S/x|y **z** <b>.csv", "S/数据.csv", r"S/\1\d.csv", LONG]
ALGORITHMS = ["FastCB.L", "x|y", "<i>*a*</i>", "$m$", "rows", "sets", "an algorithm with a very long name, version 2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A report of odd names; a warning of the plotting library would be an error."""
    out = tmp_path_factory.mktemp("names")
    rows = results([(name, algorithm, 0.1 * i) for name in SETS for i, algorithm in enumerate(ALGORITHMS)])
    curves = [(name, algorithm, 1, np.arange(40) % 3 == 0) for name in SETS for algorithm in ALGORITHMS[:4]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return report.write(make_run(rows, curves=curves), out / "r").parent


@pytest.mark.slow
def test_every_picture_has_its_own_file(folder):
    images = re.findall(r'<img src="([^"]+)" alt="([^"]+)"', (folder / "report.md").read_text(encoding="utf-8"))
    curves = {file: unescape(words) for file, words in images if "curves_" in file}
    assert len(set(curves.values())) == len(curves) == 3
    assert {words.removeprefix("Progressive validation loss on ") for words in curves.values()} <= set(SETS)
    assert all((folder / file).is_file() for file in curves)


def test_file_names_are_kept_where_they_do_not_clash():
    assert file_names(["S/a-b", "S/c"]) == {"S/a-b": "s_a_b", "S/c": "s_c"}
    clash = file_names(["a-b", "a_b", "a b", "a_b_2"])
    assert clash == {"a-b": "a_b", "a_b": "a_b_3", "a b": "a_b_4", "a_b_2": "a_b_2"}


@pytest.mark.slow
def test_every_row_of_a_markdown_table_has_as_many_cells_as_its_head(folder):
    page = (folder / "report.md").read_text(encoding="utf-8")
    for table in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1, table
    assert r"S/x\|y \*\*z\*\* \<b>.csv" in page
    assert r"S/a\$b\$c.csv" in page


@pytest.mark.slow
def test_names_are_text_in_the_html_page(folder):
    page = (folder / "report.html").read_text(encoding="utf-8")
    for name in (*SETS, *ALGORITHMS):
        assert f">{escape(name, quote=False)}</t" in page or name == "rows"
    assert "<b>.csv" not in page
    assert "<i>" not in page
    assert "against that of $m$" in page


def test_what_a_name_has_of_markup_stays_text_in_a_sentence():
    name = r"a*b**c**`d`_e_ <f> &amp; \g [h] $i$"
    page = html(Document("", "", [Section("", [Bullets([f"**bold** {literal(name)} `code`"])])]))
    assert f"<li><strong>bold</strong> {escape(name, quote=False)} <code>code</code></li>" in page


def test_plain_names_stay_as_they_are():
    for name in ("r/dslabs/us_contagious_diseases", "keel/letter (A&B), 50%-1.csv"):
        assert literal(name) == name
