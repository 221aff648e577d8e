"""How VW's source is brought: the pinned release and nothing else, and a sentence that helps where it cannot be had."""

import importlib.util
import io
import os
import shutil
import subprocess
import sys
import tarfile
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


@pytest.fixture
def small_tarball(release, tmp_path, monkeypatch):
    """Stands for the release, which takes seconds to unpack: as large as the script needs, and pinned by its hash."""
    path = tmp_path / "small.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        entry = tarfile.TarInfo(f"{release.NAME}/version.txt")
        entry.size = len(release.VERSION)
        tar.addfile(entry, io.BytesIO(release.VERSION.encode()))
    monkeypatch.setattr(release, "SHA256", release.sha256(path))
    return path


@pytest.fixture(params=["small", pytest.param("real", marks=pytest.mark.slow)])
def users_tarball(release, tmp_path, request):
    if request.param == "small":
        return request.getfixturevalue("small_tarball")
    return shutil.copy(release.tarball(), tmp_path / "mine.tar.gz")


def test_a_users_tarball_that_is_not_the_release_is_refused(release, small_tarball, monkeypatch):
    monkeypatch.setenv("VW_FASTCB_VW_SOURCE", str(small_tarball))
    monkeypatch.setattr(release, "SHA256", "0" * 64)
    with pytest.raises(release.SourceNotFound, match=f"is not the release.*expected {'0' * 64}"):
        release.source_tree(small_tarball.parent)


def test_a_users_tarball_is_unpacked_without_a_package_index(release, users_tarball, tmp_path, monkeypatch):
    monkeypatch.setenv("VW_FASTCB_VW_SOURCE", str(users_tarball))
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
