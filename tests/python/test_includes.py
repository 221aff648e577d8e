"""Who may include whom in C++: the table in CONTRIBUTING.md, compared with the files."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CPP = ROOT / "cpp"
ENGINE_OF_BAKEOFF = ROOT / "benchmarks" / "bakeoff" / "engine"
LIBRARIES = {"vw": "VW", "fmt": "fmt", "rapidjson": "rapidjson", "pybind11": "pybind11"}


def table() -> dict[Path, set[str]]:
    """For each folder, what its row says that it may include, in the order of the rows."""
    header = "| folder | what | may include |\n|---|---|---|\n"
    rows = (ROOT / "CONTRIBUTING.md").read_text().split(header)[1].split("\n\n")[0]
    cells = re.findall(r"^\| `([\w/]+)/` \|.*\| (.*) \|$", rows, re.MULTILINE)
    assert len(cells) == len(rows.splitlines())
    return {ROOT / folder: set(allowed.split(", ")) - {"nothing"} for folder, allowed in cells}


def included(text: str, folder: Path) -> set[str]:
    """The folders and libraries that a file's text includes, without its own folder and the standard library."""
    sources = set()
    for bracket, name in re.findall(r'^\s*#\s*include\s*(["<])([^">]+)[">]', text, re.MULTILINE):
        first, _, rest = name.partition("/")
        is_standard = bracket == "<" and (not rest or first == "sys")
        is_own = first == folder.name or (not rest and (folder / name).exists())
        if not is_standard and not is_own:
            sources.add(LIBRARIES.get(first, first))
    return sources


FILES = sorted(path for root in (CPP, ENGINE_OF_BAKEOFF) for path in root.rglob("*") if path.suffix in {".h", ".cc"})


def test_every_folder_has_a_row_and_every_row_a_folder():
    assert set(table()) == {path.parent for path in FILES}


@pytest.mark.parametrize("folder", table(), ids=lambda folder: folder.name)
def test_files_include_what_their_row_allows(folder):
    allowed = table()[folder]
    surplus = {
        path.name: sources - allowed
        for path in FILES
        if path.parent == folder and (sources := included(path.read_text(), folder)) - allowed
    }
    assert not surplus, f"{folder} may include {sorted(allowed)}"


def test_no_row_names_a_folder_below_it():
    above = set(LIBRARIES.values())
    for folder, allowed in table().items():
        assert allowed <= above, folder
        above.add(folder.name)


def test_an_include_of_any_form_is_seen():
    text = '#include "learner/clock.h"\n  # include <vw/core/vw.h>\n#include "no.h"\n#include <fmt/format.h>'
    assert included(text, CPP / "strict") == {"learner", "VW", "no.h", "fmt"}
    own = '#include "slots.h"\n#include "strict/numbers.h"\n#include <vector>\n#include <sys/stat.h>'
    assert not included(own, CPP / "strict")
