"""Brings Vowpal Wabbit's released source to this machine, once, and prints where it lies.

Used by the build and by the tests; with `--key` it prints a hash of the user's own tree instead. The source comes
through pip from the user's own package index, or from what `VW_FASTCB_VW_SOURCE` points to: the release's tarball, or
its unpacked tree.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "9.11.9"
SHA256 = "ff90d52858b73b8264ecf9259e436dccf1acff651c1bebd34042fcfb8bc886ec"
NAME = f"vowpalwabbit-{VERSION}"


class SourceNotFound(Exception):
    """VW's source cannot be had; the message says what to do."""


def cache_dir() -> Path:
    """The folder of this user's machine where source and built engine are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "vw-fastcb"


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_tarball(path: Path) -> Path:
    found = sha256(path)
    if found != SHA256:
        raise SourceNotFound(
            f"{path} is not the release of vowpalwabbit {VERSION}: its SHA-256 is {found}, expected {SHA256}."
        )
    return path


def download(into: Path) -> Path:
    """Downloads the sdist with pip to a temporary folder and moves it to its place when it was verified."""
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--no-binary", "vowpalwabbit", "--no-build-isolation", "--dest", scratch]
        result = subprocess.run([*command, f"vowpalwabbit=={VERSION}"], capture_output=True, text=True, check=False)
        tarball = Path(scratch) / f"{NAME}.tar.gz"
        if result.returncode != 0 or not tarball.exists():
            raise SourceNotFound(
                f"pip could not download the source of vowpalwabbit {VERSION}:\n{result.stderr.strip()}\n"
                f"Without a package index, set VW_FASTCB_VW_SOURCE to {NAME}.tar.gz or to its unpacked tree."
            )
        return Path(shutil.move(check_tarball(tarball), into / tarball.name))


def tarball() -> Path:
    """The release's verified tarball, downloaded if it is not in the cache."""
    cached = cache_dir() / f"{NAME}.tar.gz"
    return check_tarball(cached) if cached.exists() else download(cache_dir())


def unpack(archive: Path, into: Path) -> Path:
    with tarfile.open(archive) as tar:
        # The first releases of Python 3.10 and 3.11 know no filters. What is unpacked was verified.
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(into)
    return into / NAME


def source_tree(into: Path) -> Path:
    """VW's source tree: the user's own where one is given, else the release, unpacked below `into`."""
    given = os.environ.get("VW_FASTCB_VW_SOURCE")
    if not given:
        return unpack(tarball(), into)
    path = Path(given).expanduser().resolve()
    if path.is_file():
        return unpack(check_tarball(path), into)
    version = path / "version.txt"
    if not version.is_file():
        raise SourceNotFound(f"VW_FASTCB_VW_SOURCE is {given}: neither a tarball nor a source tree of vowpalwabbit.")
    if version.read_text().strip() != VERSION:
        raise SourceNotFound(
            f"VW_FASTCB_VW_SOURCE is {given}, version {version.read_text().strip()}; this engine needs {VERSION}."
        )
    return path


def content_key(tree: Path) -> str:
    """A hash of everything in a source tree that the engine is built from."""
    files = [tree / name for name in ("CMakeLists.txt", "version.txt", "LICENSE", "python/pylibvw.cc")]
    for folder in ("cmake", "ext_libs", "vowpalwabbit"):
        files += (tree / folder).rglob("*")
    whole = hashlib.sha256()
    for file in sorted(files):
        name = file.relative_to(tree).as_posix()
        if file.is_file() and not name.startswith("ext_libs/vcpkg/"):  # large, and nothing is built from it
            whole.update(f"{name} {sha256(file)}\n".encode())
    return whole.hexdigest()


if __name__ == "__main__":
    try:
        if sys.argv[1] == "--key":
            print(content_key(source_tree(Path())))
        else:
            print(source_tree(Path(sys.argv[1])))
    except SourceNotFound as problem:
        sys.exit(f"vw-fastcb: {problem}")
