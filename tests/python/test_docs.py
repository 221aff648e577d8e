"""The pages in docs/ run, cell by cell, print what they say, and lead where they say."""

from __future__ import annotations

import inspect
import re
import shutil
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from latex2mathml.converter import convert

import vw_fastcb
from loop.redis_server import end_servers, need_redis
from pages import anchors, blocks, cells, links, run_page, without_code
from vw_fastcb import FastCB, Loop, __version__
from vw_fastcb.bakeoff.grid import EXAMPLE
from vw_fastcb.loop import Counts

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
RUNNING = [page for page in PAGES if cells(page.read_text())]
LINKS = [(page, link) for page in PAGES for link in links(page.read_text())]


def name(value: object) -> str:
    return str(value.relative_to(DOCS)) if isinstance(value, Path) else str(value)


@pytest.mark.parametrize("page", RUNNING, ids=name)
def test_every_cell_prints_what_the_page_says(page, tmp_path, monkeypatch):
    if "redis-server" in page.read_text():
        need_redis()
    if "$ curl " in page.read_text() and shutil.which("curl") is None:
        pytest.skip("the page uses curl, which is not installed; in Debian: apt-get install curl")
    monkeypatch.chdir(tmp_path)
    try:
        for cell, printed in run_page(page, tmp_path):
            assert printed == cell.promised, cell.code
    finally:
        end_servers(tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_is_a_cell_its_output_or_a_command_to_install(page):
    text = page.read_text()
    languages = [language for language, _ in blocks(text)]
    outputs = [cell for cell in cells(text) if cell.language == "python" and cell.promised]
    assert set(languages) <= {"python", "text", "console", "sh"}
    assert languages.count("text") == len(outputs)
    assert len(languages) == text.count("\n```") / 2
    commands = [line for language, code in blocks(text) if language == "sh" for line in code.splitlines()]
    assert all(re.match(r"(make|pip install) ", command) for command in commands)


@pytest.mark.parametrize("page", sorted((DOCS / "python").glob("*.md")), ids=name)
def test_every_page_on_python_shows_output(page):
    assert any(cell.promised for cell in cells(page.read_text()))


@pytest.mark.parametrize(("page", "link"), LINKS, ids=name)
def test_link_leads_to_a_file_and_a_heading_of_it(page, link):
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    assert target.is_file()
    assert not anchor or anchor in anchors(target.read_text())


def test_the_site_has_every_page_once():
    def pages(entry: object) -> list[str]:
        if isinstance(entry, dict):
            return [page for value in entry.values() for page in pages(value)]
        return [page for value in entry for page in pages(value)] if isinstance(entry, list) else [str(entry)]

    navigation = pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    inside = [page for page in navigation if not page.startswith("beyond/")]
    assert sorted(inside) == sorted(page.relative_to(DOCS).as_posix() for page in PAGES)
    assert all((ROOT / page.removeprefix("beyond/")).is_file() for page in set(navigation) - set(inside))


EQUATION = re.compile(r"^\$\$\n(.*?)\n\$\$$|(?<!\$)\$([^$\n]+)\$(?!\$)", re.MULTILINE | re.DOTALL)


def test_every_equation_can_be_written_as_mathml():
    text = "\n".join(without_code(page.read_text()) for page in PAGES)
    equations = [block or inline for block, inline in EQUATION.findall(text)]
    assert len(equations) > 20
    for equation in equations:
        written = convert(equation)
        assert written.startswith("<math")
        assert "\\" not in written, equation  # a command that the converter does not know


def test_the_reference_is_of_things_that_are_there_and_described():
    names = re.findall(r"^::: vw_fastcb\.(\w+)$", (DOCS / "reference.md").read_text(), flags=re.MULTILINE)
    assert {"FastCB", "Decision", "Workspace", "allocation"} <= set(names)
    assert [name for name in names if not inspect.getdoc(getattr(vw_fastcb, name))] == []


def test_the_overview_names_everything_public_of_the_learner():
    text = (DOCS / "python" / "index.md").read_text()
    public = [member for member in dir(FastCB) if not member.startswith("_")]
    assert "decide" in public
    assert [member for member in [*public, *FastCB().get_params()] if not re.search(rf"\b{member}\b", text)] == []


def test_the_page_on_settings_names_every_argument_of_the_loop():
    text = (DOCS / "loop" / "settings.md").read_text()
    arguments = set(inspect.signature(Loop.open).parameters) - {"journal", "clock"}
    assert "wait" in arguments
    assert [name for name in sorted(arguments) if not re.search(rf"\b{name}\b", text)] == []


def test_the_pages_on_the_loop_name_every_method_and_everything_that_is_counted():
    text = "".join(page.read_text() for page in (DOCS / "loop").glob("*.md"))
    public = [member for member in dir(Loop) if not member.startswith("_")]
    counted = [field.name for field in fields(Counts)]
    assert [name for name in [*public, *counted] if not re.search(rf"\b{name}\b", text)] == []


def test_the_page_on_the_command_line_names_every_flag():
    # The flags are written in one file of the reduction.
    flags = re.findall(r'make_option\("(\w+)"', (ROOT / "cpp" / "reduction" / "fastcb_options.cc").read_text())
    assert "gamma_scale" in flags
    text = (DOCS / "command-line.md").read_text()
    assert [flag for flag in flags if not re.search(rf"--{flag}\b", text)] == []


def test_the_page_of_the_bakeoff_has_the_example_of_a_grid_that_the_program_shows():
    assert EXAMPLE in (DOCS / "bakeoff.md").read_text()


def test_the_changelog_begins_with_this_version():
    sections = re.findall(r"^## (\d.*)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    released = [section for section in sections if not section.endswith(" (unreleased)")]
    assert released[0] == __version__
