"""Journals of tests are in memory where that can be, and wait for no disk.

The tests that kill processes and break writes are as real there: what a process has written survives it.
"""

import shutil
import tempfile
from pathlib import Path

import pytest

_MEMORY = Path("/dev/shm")


@pytest.fixture
def tmp_path(tmp_path):
    if not _MEMORY.is_dir():
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(prefix="vw-fastcb-", dir=_MEMORY))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
