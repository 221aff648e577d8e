"""Journals of tests are in memory where that can be, and wait for no disk."""

import shutil
import tempfile
from pathlib import Path

import pytest

_MEMORY = Path("/dev/shm")


def _folder(elsewhere):
    if not _MEMORY.is_dir():
        yield elsewhere()
        return
    folder = Path(tempfile.mkdtemp(prefix="vw-fastcb-", dir=_MEMORY))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def tmp_path(tmp_path):
    yield from _folder(lambda: tmp_path)


@pytest.fixture(scope="module")
def module_path(tmp_path_factory):
    """A folder that the tests of a module share."""
    yield from _folder(lambda: tmp_path_factory.mktemp("module"))
