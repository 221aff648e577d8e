"""The C++ that needs no VW, compiled and tested without it: policies, and regressors and what they are made of."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CPP = ROOT / "cpp"
UNITS = ROOT / "tests" / "cpp" / "unit"
NEED_VW = {"explanation.cc", "gd.cc", "registry.cc", "vw_event.cc"}


def needs_vw(path: Path) -> bool:
    """Whether a file includes VW, itself or by one of ours."""
    names = re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE)
    own = [file for name in names for file in (path.parent / name, CPP / name) if file.exists()]
    return any(name.startswith("vw/") for name in names) or any(needs_vw(file) for file in own)


SOURCES = sorted(
    path for folder in ("allocation", "oracle") for path in (CPP / folder).glob("*.cc") if not needs_vw(path)
)


def test_only_what_speaks_to_vw_includes_it():
    assert {path.name for path in (CPP / "oracle").glob("*.cc")} - {path.name for path in SOURCES} == NEED_VW


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("units") / "units"
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{CPP}", f"-I{UNITS}"]
    if os.uname().machine == "x86_64":
        flags.append("-mavx2")
    files = [*SOURCES, *UNITS.glob("*.cc")]
    subprocess.run([os.environ.get("CXX", "c++"), *flags, *files, "-o", program], check=True)
    return program


def test_all_units_pass(units: Path) -> None:
    run = subprocess.run([units], capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 0, run.stdout
    written = sum(path.read_text().count("\nUNIT_TEST(") for path in UNITS.glob("test_*.cc"))
    assert run.stdout.count("passed ") == written > 30


def test_a_failure_is_seen_and_named(units: Path, tmp_path: Path) -> None:
    (tmp_path / "fails.cc").write_text(
        '#include "unit_tests.h"\n'
        "UNIT_TEST(it_fails) { EXPECT_EQUAL(1 + 1, 3); }\n"
        "UNIT_TEST(it_fails_closely) { EXPECT_NEAR(1., 1.1, .01); }\n"
        "UNIT_TEST(it_passes) { EXPECT(true); }\n"
    )
    command = [os.environ.get("CXX", "c++"), "-std=c++17", f"-I{UNITS}", tmp_path / "fails.cc", UNITS / "main.cc"]
    subprocess.run([*command, "-o", tmp_path / "fails"], check=True)
    run = subprocess.run([tmp_path / "fails"], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert f"FAILED it_fails: {tmp_path / 'fails.cc'}:2: 2 is not 3\n" in run.stdout
    assert "FAILED it_fails_closely: " in run.stdout
    assert "passed it_passes" in run.stdout
    only = subprocess.run([tmp_path / "fails", "it_passes"], capture_output=True, text=True, check=True)
    assert only.stdout == "passed it_passes\n"
    assert len(subprocess.run([units, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()) > 30
