"""The documentation builds as a site, strict on links, and needs nothing from elsewhere.

`make docs` builds it, too. What can be seen in the pages themselves is tested in test_docs.py.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow  # what builds a site takes pip longer to install than it takes to run


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs", reason="needs the extra docs: pip install 'vw-fastcb[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    result = subprocess.run(
        [*command, "--config-file", str(ROOT / "mkdocs.yml"), "--site-dir", str(folder)],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


def test_pages_load_nothing_from_elsewhere(site):
    pages = {page: page.read_text() for page in site.rglob("*.html")}
    assert site / "index.html" in pages
    loaded = re.compile(
        r'<(?:script|img|iframe)[^>]*src="(?:https?:)?//[^"]*"|<link rel="stylesheet" href="https?://[^"]*"'
    )
    assert {page.name: loaded.findall(text) for page, text in pages.items() if loaded.search(text)} == {}


def test_equations_are_mathml_with_a_font_that_the_site_brings(site):
    written = (ROOT / "docs" / "algorithm.md").read_text()
    equations = written.count("\n$$\n") // 2 + len(re.findall(r"(?<!\$)\$[^$\n]+\$(?!\$)", written))
    page = (site / "algorithm.html").read_text()
    assert equations > 20
    assert page.count("<math") == equations
    assert "arithmatex" not in page
    font = re.findall(r'url\("([^"]+)"\)', (site / "site" / "extra.css").read_text())
    assert [(site / "site" / name).is_file() for name in font] == [True]


def test_files_outside_the_pages_are_carried_along(site):
    page = (site / "results.html").read_text()
    targets = set(re.findall(r'(?:href|src)="(beyond/[^"#]+)"', page))
    assert len(targets) > 5
    assert [target for target in targets if not (site / target).is_file()] == []


def test_the_reference_has_the_docstrings(site):
    page = (site / "reference.html").read_text()
    for name in (
        "FastCB.decide",
        "FastCB.simulate",
        "Decision.to_dict",
        "Loop.decide",
        "loop.Status",
        "allocation.reweighted_igw",
    ):
        assert f'id="vw_fastcb.{name}"' in page
