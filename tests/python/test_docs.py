"""The pages in docs/ run, cell by cell, and print what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pages import blocks, cells, run_page
from vw_fastcb import FastCB
from vw_fastcb.bakeoff.grid import EXAMPLE

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "learner"
INDEX = FOLDER / "README.md"
BAKEOFF = ROOT / "docs" / "bakeoff.md"
PAGES = [*sorted(FOLDER.glob("*.md")), BAKEOFF]
SUBJECTS = {"fixed-actions", "action-features", "rewards", "delayed-rewards", "sparse-text", "command-line", "frames"}
LINKS = [(page, link) for page in PAGES for link in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_cell_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for cell, printed in run_page(page, tmp_path):
        assert printed == cell.promised, cell.code


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_a_cell_or_the_output_of_one(page):
    text = page.read_text()
    languages = [language for language, _ in blocks(text)]
    outputs = [cell for cell in cells(text) if cell.language == "python" and cell.promised]
    assert set(languages) <= {"python", "text", "console"}
    assert languages.count("text") == len(outputs)
    assert len(languages) == text.count("\n```") / 2


def test_there_is_a_page_for_each_subject_and_each_shows_output():
    assert {page.stem for page in PAGES if page.parent == FOLDER} == {"README", *SUBJECTS}
    for subject in SUBJECTS:
        printed = [cell for cell in cells((FOLDER / f"{subject}.md").read_text()) if cell.promised]
        assert len(printed) >= 4, subject


@pytest.mark.parametrize(("page", "link"), LINKS, ids=lambda value: getattr(value, "stem", value))
def test_link_leads_to_a_file(page, link):
    assert (page.parent / link).is_file()


def test_the_index_links_every_page_and_names_everything_public():
    text = INDEX.read_text()
    linked = {link.removesuffix(".md") for page, link in LINKS if page == INDEX}
    assert linked >= SUBJECTS
    public = [name for name in dir(FastCB) if not name.startswith("_")]
    assert "decide" in public
    assert [name for name in [*public, *FastCB().get_params()] if not re.search(rf"\b{name}\b", text)] == []


def test_the_page_of_the_bakeoff_has_the_example_of_a_grid_that_the_program_shows():
    assert EXAMPLE in BAKEOFF.read_text()
