"""Where a journal in Redis is: `redis://host:6379/shop`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from vw_fastcb.loop.settings import milliseconds

Fsync: TypeAlias = Literal["always", "everysec", "no"]
_FSYNCS = ("always", "everysec", "no")
_SCHEMES = ("redis", "rediss", "unix")
_OPTIONS = ("journal", "db", "fsync", "patience", "password_file")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_EXPECTED = "expected redis://[user:password@]host[:port]/journal"


@dataclass(frozen=True)
class Address:
    """What a URL says.

    Attributes:
        journal: The journal's name.
        client: What `redis.Redis` takes.
        fsync: The weakest durability that will do.
        patience: How many seconds to wait for a server that does not answer.
        place: The server, in words.
        shown: The URL without its password.
    """

    journal: str
    client: dict[str, Any] = field(repr=False)
    fsync: Fsync
    patience: float
    place: str
    shown: str

    @staticmethod
    def is_meant(text: str) -> bool:
        """Whether a journal's name says that it is in Redis."""
        scheme, separator, _ = text.partition("://")
        return bool(separator) and scheme in _SCHEMES

    @classmethod
    def parse(cls, url: str) -> Address:
        """Reads a URL. Raises ValueError where something about it is wrong."""
        shown = without_password(url)
        try:
            parts = urlsplit(url)
            port = parts.port or 6379
        except ValueError:  # its words may quote the password
            raise ValueError(
                f"the journal is {shown!r}; {_EXPECTED}. In a password, '/', '#', '?' and '@' are written as %2F, %23, "
                "%3F and %40."
            ) from None
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        unknown = [name for name in options if name not in _OPTIONS and not name.startswith("ssl_")]
        if unknown:
            raise ValueError(
                f"{shown!r} has the option {unknown[0]!r}; expected one of {', '.join(_OPTIONS)}, ssl_...."
            )
        client: dict[str, Any] = {name: value for name, value in options.items() if name.startswith("ssl_")}
        for name in ("username", "password"):
            if getattr(parts, name):
                client[name] = unquote(getattr(parts, name))
        if "password_file" in options:
            client["password"] = _password(options["password_file"])
        if parts.scheme == "unix":
            client["unix_socket_path"] = place = unquote(parts.path)
            db, name = "0", ""
        else:
            client |= {"host": parts.hostname or "localhost", "port": port, "ssl": parts.scheme == "rediss"}
            place = f"{client['host']}:{port}"
            db, name = _path(parts, shown)
        name = options.get("journal") or name
        if not name:
            raise ValueError(
                f"{shown!r} names no journal; expected its name as well, such as {_with_name(shown, 'shop')}. What a "
                f"URL without a name has stored before 0.4 is in {_with_name(shown, 'loop')}."
            )
        db = options.get("db", db)
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"the journal in {shown!r} has the name {name!r}; expected letters, digits, '.', '_' and '-', at most "
                "100."
            )
        if not db.isdecimal():
            raise ValueError(f"{shown!r} has the database {db!r}; expected a number.")
        fsync = options.get("fsync", "always")
        if fsync not in _FSYNCS:
            raise ValueError(f"{shown!r} has fsync={fsync}; expected one of {', '.join(_FSYNCS)}.")
        patience = milliseconds("patience", options.get("patience", "30s")) / 1000
        return cls(name, {**client, "db": int(db)}, cast(Fsync, fsync), patience, place, shown)


def _password(path: str) -> str:
    """The password in a file, so that it stands in no command line, which other users of the machine can read."""
    try:
        return Path(path).read_text().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as problem:
        said = getattr(problem, "strerror", None) or problem
        raise ValueError(f"cannot read the password of Redis from {path!r}: {said}.") from problem


def _path(parts: SplitResult, shown: str) -> tuple[str, str]:
    """Database and name: /shop, /2/shop, or /2 alone."""
    words = [unquote(word) for word in parts.path.split("/") if word]
    if len(words) > 2 or (len(words) == 2 and not words[0].isdecimal()):
        raise ValueError(f"the journal is {shown!r}; {_EXPECTED}, or .../database/journal.")
    if words and words[0].isdecimal():
        return words[0], "".join(words[1:])
    return "0", "".join(words)


def _with_name(shown: str, name: str) -> str:
    """A URL that lacks the name of a journal, with one."""
    place, _, query = shown.partition("?")
    options = [one for one in query.split("&") if one and one != "journal="]
    if place.startswith("unix:"):
        options.append(f"journal={name}")
    else:
        place = f"{place.rstrip('/')}/{name}"
    return "?".join(filter(None, (place, "&".join(options))))


def without_password(journal: str) -> str:
    """The name of a journal as it may be shown: in logs, and to people."""
    hidden = re.sub(r"(://[^/@:]*:).*@", r"\1...@", journal, flags=re.DOTALL)  # also where the rest is wrong
    return re.sub(r"([?&]password=)[^&]*", r"\1...", hidden)
