"""The keys of one journal, and the scripts that read and write them."""

from __future__ import annotations

import itertools
import secrets
import threading
from typing import Any

from vw_fastcb.loop.journal import Fenced, Lease
from vw_fastcb.loop.redis.server import Server

FENCED = "another process has taken over learning; this one goes on deciding."


class Store:
    """What belongs to one journal.

    Args:
        server: Where it is.
        name: The journal's name.

    Attributes:
        id: What the journal is known by; another one under the same name has another.
        meta: The key that scripts are given.
        lease: The one that this process took last, which may be lost since.
    """

    def __init__(self, server: Server, name: str) -> None:
        self.server = server
        self.id = ""
        self._prefix = f"fastcb:{{{name}}}:"  # in braces: all keys are on one node of a cluster
        self.meta = self.key("meta")
        self.lease: Lease | None = None
        self._writing = threading.Lock()
        self._writer, self._requests = secrets.token_hex(8), itertools.count(1)

    def key(self, name: str) -> str:
        """The whole name of a key."""
        return self._prefix + name

    def read(self, script: str, *arguments: Any) -> Any:
        """Runs a script that reads."""
        return self.server.run(script, self.meta, self.id, *arguments)

    def write(self, script: str, *arguments: Any) -> Any:
        """Runs a script that writes. If the connection is lost it is run again, under the same name: it counts once."""
        with self._writing:
            return self.server.run(script, self.meta, self.id, self._writer, next(self._requests), *arguments)

    def task(self, script: str, *arguments: Any) -> None:
        """Runs a script that only the holder of the lease may run."""
        if self.lease is None:
            raise Fenced(FENCED)
        self.write(script, self.lease.epoch, self.lease.holder, *arguments)
