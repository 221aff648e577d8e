"""A real redis-server of one's own, in a folder of one's own; and journals in it that look like files."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

import pytest

MISSING = "redis-server is not there; apt-get install redis-server"
_names = itertools.count(1)


class RedisServer:
    """A server on a Unix socket, which syncs every write, and which can be killed and started again."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.socket = folder / "redis.sock"
        self.settings = {
            "port": "0",
            "unixsocket": str(self.socket),
            "dir": str(folder),
            "appendonly": "yes",
            "appendfsync": "always",
            "aof-load-truncated": "no",
            "save": "",
            **{name.replace("_", "-"): value for name, value in settings.items()},
        }
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> RedisServer:
        self.launch()
        return self.wait()

    def wait(self) -> RedisServer:
        """Until it answers."""
        end = time.monotonic() + 30
        while not self.answers():
            assert time.monotonic() < end, (self.folder / "log").read_text()
            time.sleep(0.01)
        return self

    def launch(self) -> None:
        """Starts it without waiting, once its file is mended: see docs/loop/redis.md."""
        manifest = self.folder / "appendonlydir" / "appendonly.aof.manifest"
        if manifest.exists():
            subprocess.run(["redis-check-aof", "--fix", str(manifest)], input=b"y\n", capture_output=True, check=True)
        options = [word for name, value in self.settings.items() for word in (f"--{name}", value)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(["redis-server", *options], stdout=log, stderr=log)

    def answers(self) -> bool:
        from redis import Redis, RedisError  # noqa: PLC0415

        with contextlib.suppress(RedisError), Redis(unix_socket_path=str(self.socket)) as client:
            return bool(client.ping())
        return False

    def end(self, how: int = signal.SIGKILL) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

    def url(self, journal: str, **options: str) -> str:
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"unix://{quote(str(self.socket))}?journal={journal}{more}"


class RedisFolder:
    """What a test takes for its folder: `folder / "loop.db"` is the URL of a journal of its own."""

    def __init__(self, server: RedisServer) -> None:
        self.server = server
        self.name = f"t{next(_names)}"

    def __truediv__(self, name: str) -> str:
        return self.server.url(f"{self.name}-{name}")

    def iterdir(self) -> list[str]:
        """The journals that were made."""
        from redis import Redis  # noqa: PLC0415

        with Redis(unix_socket_path=str(self.server.socket)) as client:
            return [key.decode() for key in client.keys(f"fastcb:{{{self.name}-*")]


def end_servers(folder: Path) -> None:
    """Ends servers that a page has started, if it has not ended them itself."""
    for name in ("redis.pid", "serve.pid"):
        with contextlib.suppress(OSError, ValueError):
            os.kill(int((folder / name).read_text()), signal.SIGKILL)


def need_redis() -> None:
    """Skips a test where there is no Redis."""
    if shutil.which("redis-server") is None:
        pytest.skip(MISSING)
    pytest.importorskip("redis")
