"""Journals of tests are in memory where that can be, and wait for no disk.

The tests that kill processes and break writes are as real there: what a process has written survives it.
"""

import shutil
import tempfile
from pathlib import Path

import pytest

from loop.redis_server import RedisFolder, RedisServer, need_redis

_MEMORY = Path("/dev/shm")


def _folder():
    return Path(tempfile.mkdtemp(prefix="vw-fastcb-", dir=_MEMORY if _MEMORY.is_dir() else None))


@pytest.fixture
def tmp_path(tmp_path):
    if not _MEMORY.is_dir():
        yield tmp_path
        return
    folder = _folder()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def redis_server():
    """One for all tests of a process that do it no harm."""
    need_redis()
    folder = _folder()
    server = RedisServer(folder)
    try:
        yield server.start()
    finally:
        server.end()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "redis"])
def home(request):
    """Where journals are: a folder, or a server in Redis."""
    if request.param == "redis":
        return RedisFolder(request.getfixturevalue("redis_server"))
    return request.getfixturevalue("tmp_path")
