"""Under which names a server without tokens may be asked.

A page from elsewhere can have its own name lead to this machine, and a browser then lets it read what it asks for. Such
a request tells the page's name in its Host.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

_LOCAL = ("localhost", "127.0.0.1", "[::1]")


def local_names(host: str) -> tuple[str, ...]:
    """The names of this machine, if a server listens on an address that only this machine reaches; none otherwise."""
    try:
        is_local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_local = host == "localhost"
    return tuple(dict.fromkeys((*_LOCAL, host))) if is_local else ()


def is_named(headers: Mapping[bytes, bytes], names: tuple[str, ...]) -> bool:
    """Whether a request asks under one of the names, or under none at all, which no browser does."""
    if not names or b"host" not in headers:
        return True
    host = headers[b"host"].decode("latin-1")
    return (host[: host.index("]") + 1] if "]" in host else host.partition(":")[0]) in names
