"""How VW's source is brought: the pinned release and nothing else, and a sentence that helps where it cannot be had."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "cmake" / "vw_release.py"


@pytest.fixture
def release(monkeypatch):
    monkeypatch.delenv("VW_FASTCB_VW_SOURCE", raising=False)
    spec = importlib.util.spec_from_file_location("vw_release", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_cached_tarball_is_the_pinned_release(release):
    assert release.sha256(release.tarball()) == release.SHA256


def test_a_cached_tarball_that_was_tampered_with_is_refused(release, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    release.cache_dir().mkdir()
    (release.cache_dir() / f"{release.NAME}.tar.gz").write_bytes(b"something else")
    with pytest.raises(release.SourceNotFound, match=f"is not the release of vowpalwabbit.*expected {release.SHA256}"):
        release.tarball()


def test_a_users_tarball_is_unpacked_without_a_package_index(release, tmp_path, monkeypatch):
    monkeypatch.setenv("VW_FASTCB_VW_SOURCE", str(shutil.copy(release.tarball(), tmp_path / "mine.tar.gz")))
    monkeypatch.setattr(release, "download", lambda _: pytest.fail("asked the package index"))
    tree = release.source_tree(tmp_path)
    assert (tree / "version.txt").read_text().strip() == release.VERSION
    # And the tree itself may be given.
    monkeypatch.setenv("VW_FASTCB_VW_SOURCE", str(tree))
    assert release.source_tree(tmp_path / "unused") == tree
    (tree / "version.txt").write_text("9.0.0")
    with pytest.raises(release.SourceNotFound, match=r"version 9\.0\.0; this engine needs"):
        release.source_tree(tmp_path / "unused")


def test_what_is_not_vw_is_refused_as_a_source(tmp_path):
    environment = {**os.environ, "VW_FASTCB_VW_SOURCE": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, SCRIPT, tmp_path], env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert "neither a tarball nor a source tree of vowpalwabbit" in result.stderr


def test_without_an_index_the_message_says_how_to_build_offline(tmp_path):
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    environment.pop("PIP_FIND_LINKS", None)
    result = subprocess.run(
        [sys.executable, SCRIPT, tmp_path], env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert "set VW_FASTCB_VW_SOURCE to vowpalwabbit-9.11.9.tar.gz or to its unpacked tree" in result.stderr
    assert list((tmp_path / "vw-fastcb").iterdir()) == []
