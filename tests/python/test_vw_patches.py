"""The patches of VW: unified diffs that fit the pinned release exactly, applied by cmake/vw_patches.py."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATCHES = sorted((ROOT / "patches").glob("*.patch"))
EACH_PATCH = pytest.mark.parametrize("patch", PATCHES, ids=lambda path: path.stem)


def module_of(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "cmake" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for the names of types
    spec.loader.exec_module(module)
    return module


vw_patches = module_of("vw_patches")


def hunks_of(patch):
    return vw_patches.read_patch(patch.name, patch.read_text())


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """The files of VW's release that patches change."""
    into = tmp_path_factory.mktemp("release")
    vw_release = module_of("vw_release")
    wanted = {f"{vw_release.NAME}/{file}" for patch in PATCHES for file in hunks_of(patch)}
    with tarfile.open(vw_release.tarball()) as tar:
        tar.extractall(into, [member for member in tar if member.name in wanted], filter="data")
    return into / vw_release.NAME


@pytest.fixture
def engine(release, tmp_path):
    """The same files where they lie in the folder of an engine."""
    for file in (path for path in release.rglob("*") if path.is_file()):
        place = tmp_path / "engine" / vw_patches.in_engine(file.relative_to(release).as_posix())
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    return tmp_path / "engine"


@pytest.mark.skipif(shutil.which("patch") is None, reason="compares with the program patch")
def test_they_make_what_the_program_patch_makes_of_the_release(release, engine, tmp_path):
    made = vw_patches.patch_all(engine, tmp_path / "made", PATCHES, [])
    shutil.copytree(release, tmp_path / "release")
    for patch in PATCHES:
        subprocess.run(["patch", "-p1", "--fuzz=0", "-i", patch], cwd=tmp_path / "release", check=True, timeout=60)
    changed = {file for patch in PATCHES for file in hunks_of(patch)}
    assert {path.relative_to(tmp_path / "made") for path in made} == {vw_patches.in_engine(file) for file in changed}
    for file in changed:
        expected = (tmp_path / "release" / file).read_bytes()
        assert (tmp_path / "made" / vw_patches.in_engine(file)).read_bytes() == expected
        assert expected != (release / file).read_bytes()


@EACH_PATCH
def test_a_patch_says_why_and_keeps_little_of_vws_text(patch):
    text = patch.read_text()
    assert len(text.split("--- a/")[0]) > 30, "it begins with the reason"
    for hunks in hunks_of(patch).values():
        for hunk in hunks:
            common = [line for line in hunk.old if line in hunk.new]
            assert len(hunk.old) - len(common) <= 8
            assert len(common) <= 4
    for header in re.findall(r"^@@.*", text, re.MULTILINE):
        assert header.endswith(" @@"), "what diff writes behind it is VW's text, too"


@EACH_PATCH
def test_a_line_that_has_changed_stops_the_build(patch, engine, tmp_path):
    for file, hunks in hunks_of(patch).items():
        source = engine / vw_patches.in_engine(file)
        whole = source.read_text()
        for hunk in hunks:
            for number in range(hunk.line, hunk.line + len(hunk.old)):
                lines = whole.split("\n")
                lines[number - 1] += " // new"
                source.write_text("\n".join(lines))
                with pytest.raises(vw_patches.PatchDoesNotFit) as problem:
                    vw_patches.patch_all(engine, tmp_path / "made", PATCHES, [])
                message = str(problem.value)
                assert f"patches/{patch.name} does not fit VW's {file}: line {number} is" in message
                assert f"{lines[number - 1]}\nand must be\n" in message
        source.write_text(whole)


def test_a_shifted_place_and_a_missing_file_stop_the_build_with_exit_code_1(engine, tmp_path):
    command = [sys.executable, ROOT / "cmake" / "vw_patches.py", engine, tmp_path / "made", *PATCHES]
    source = engine / "core/src/merge.cc"
    source.write_text("// one more line\n" + source.read_text())
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("vw-fastcb: patches/merging.patch does not fit VW's vowpalwabbit/core/src/merge.cc")
    assert not list((tmp_path / "made").rglob("*.cc"))
    source.unlink()
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stderr == "vw-fastcb: patches/merging.patch: VW has no file vowpalwabbit/core/src/merge.cc.\n"


FILE = "one\ntwo\nthree\nfour\n"
START = "Why.\n\n--- a/vowpalwabbit/x.cc\n+++ b/vowpalwabbit/x.cc\n"


@pytest.mark.parametrize(
    ("diff", "made"),
    [
        ("@@ -2 +2 @@\n-two\n+2\n", "one\n2\nthree\nfour\n"),
        ("@@ -1,2 +1,3 @@\n one\n+and a half\n two\n@@ -3,2 +4,1 @@\n-three\n four\n", "one\nand a half\ntwo\nfour\n"),
    ],
)
def test_hunks_in_the_forms_of_diff(diff, made):
    (hunks,) = vw_patches.read_patch("x.patch", START + diff).values()
    assert vw_patches.apply(hunks, "x.cc", FILE) == made


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Why.\n", "changes nothing"),
        ("--- a/x.cc\n+++ b/y.cc\n@@ -1 +1 @@\n-one\n+1\n", r"expected '--- a/FILE' and '\+\+\+ b/FILE'"),
        ("@@ -1 +1 @@\n-one\n+1\n", "below a file"),
        (START + "@@ -1 @@\n-one\n", "expected '@@ -LINE"),
        (START + "@@ -1,0 +2 @@\n+one and a half\n", "no line of VW to be known by"),
        (START + "@@ -1,2 +1,2 @@\n-one\n+1\n", "not as many as it says"),
        (START + "@@ -1,2 +1 @@\n-one\n+1\n+and\n two\n", "not as many as it says"),
    ],
)
def test_what_is_no_unified_diff_is_refused(text, problem):
    with pytest.raises(vw_patches.PatchDoesNotFit, match=problem):
        vw_patches.read_patch("x.patch", text)


def test_two_patches_may_not_change_one_place():
    (first,) = vw_patches.read_patch("first.patch", START + "@@ -1,2 +1,2 @@\n one\n-two\n+2\n").values()
    (second,) = vw_patches.read_patch("second.patch", START + "@@ -2,2 +2,2 @@\n-two\n+zwei\n three\n").values()
    with pytest.raises(vw_patches.PatchDoesNotFit, match=r"second\.patch: another patch changes x\.cc at line 2, too"):
        vw_patches.apply(first + second, "x.cc", FILE)


def test_what_has_not_changed_is_not_compiled_again_and_what_is_not_made_any_more_is_gone(engine, tmp_path):
    made = vw_patches.patch_all(engine, tmp_path / "made", PATCHES, [])
    times = {path: path.stat().st_mtime_ns for path in made}
    (tmp_path / "made" / "include" / "vw").mkdir(parents=True, exist_ok=True)
    left = tmp_path / "made" / "include" / "vw" / "old.h"
    left.write_text("a header that a patch made before")
    assert vw_patches.patch_all(engine, tmp_path / "made", PATCHES, []) == made
    assert {path: path.stat().st_mtime_ns for path in made} == times
    assert not left.exists()
