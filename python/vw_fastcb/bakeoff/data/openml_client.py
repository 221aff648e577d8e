"""OpenML through its own client: one request at a time, a pause between them, patience where the server has a bad hour.

The client keeps what it downloads. What it does not do, and is done here: it neither waits between sets nor notices
that a file in its cache was cut off when an earlier run was killed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from xml.parsers.expat import ExpatError

from .dataset import BrokenDataset

OFFICIAL = "https://www.openml.org"
OVERLOADED = 107  # OpenML's code for a data base that does not answer; its other codes are final
UNREACHABLE_SECONDS = 60.0  # for which a server that nobody could reach is not tried again
T = TypeVar("T")

# What this process knows of servers, by address: those that ever answered, and since when and why others cannot be
# reached. Whoever changes it has the lock of a session.
_answered: set[str] = set()
_unreachable: dict[str, tuple[float, str]] = {}


@dataclass(frozen=True)
class Manners:
    """How to treat the server: seconds between requests, tries for each, and the first wait, doubled every time."""

    pause: float = 1.0
    tries: int = 6
    first_wait: float = 2.0


@dataclass(frozen=True)
class Server:
    """An OpenML server and where its files are kept."""

    cache_dir: Path
    base_url: str = OFFICIAL
    manners: Manners = Manners()

    def cached(self, number: int) -> Any | None:
        """The client's description of a set whose ARFF file is in the cache, whole as far as its checksum tells."""
        with self._session() as openml:
            folder = _folder(openml, number)
            if not all((folder / name).is_file() for name in ("description.xml", "dataset.arff")):
                return None
            found = _get(openml, number)
            return found if not found.md5_checksum or _md5(Path(found.data_file)) == found.md5_checksum else None

    def fetched(self, number: int) -> Any:
        """The same, fresh from the server."""
        with self._session() as openml:
            for file in _folder(openml, number).glob("*"):
                file.unlink()
            return self._patiently(lambda: _get(openml, number), f"openml/{number}")

    def suite(self, name: str) -> list[int]:
        """The ids of the sets of a suite, by its name or number."""
        with self._session() as openml:
            found = self._patiently(lambda: openml.study.get_suite(name), f"the OpenML suite {name!r}")
            return [int(number) for number in found.data or []]

    @contextmanager
    def _session(self) -> Iterator[Any]:
        """The client, set up for this server, alone: it is not made for several processes on one cache."""
        self.cache_dir.mkdir(parents=True, exist_ok=True)
        with (self.cache_dir / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            openml = _client(self.cache_dir)
            before = (openml.config.server, openml.config._root_cache_directory, openml.config.connection_n_retries)
            openml.config.server = f"{self.base_url.rstrip('/')}/api/v1/xml"
            openml.config.set_root_cache_directory(str(self.cache_dir))
            openml.config.connection_n_retries = 1  # the waiting is done here
            try:
                yield openml
            finally:
                openml.config.server, openml.config._root_cache_directory, openml.config.connection_n_retries = before

    def _patiently(self, request: Callable[[], T], what: str) -> T:
        """Asks again, after ever longer waits, while the trouble looks as if it could pass.

        The waits are for a server in trouble. Where nobody could be reached for all of them, later requests have none.
        """
        given_up = self.base_url in _unreachable
        if given_up and time.monotonic() - _unreachable[self.base_url][0] < UNREACHABLE_SECONDS:
            raise BrokenDataset(self._cannot_be_reached(what))
        for attempt in range(self.manners.tries):
            try:
                return self._politely(request)
            except Exception as problem:
                if not _may_pass(problem):
                    raise BrokenDataset(f"{what}: {self.base_url} says: {_told(problem)}") from problem
                if given_up and self.base_url in _unreachable:
                    raise BrokenDataset(self._cannot_be_reached(what)) from problem
                if attempt == self.manners.tries - 1:
                    raise BrokenDataset(
                        f"{what}: {self.base_url} did not deliver it in {self.manners.tries} tries; the last time: "
                        f"{_told(problem)}"
                    ) from problem
            time.sleep(self.manners.first_wait * 2**attempt)
        raise ValueError(f"tries must be 1 or more, {self.manners.tries} was given")

    def _politely(self, request: Callable[[], T]) -> T:
        """Waits until the pause after the last request, of whichever process, is over."""
        last = self.cache_dir / "last-request"
        if last.exists():
            time.sleep(max(0.0, min(self.manners.pause, last.stat().st_mtime + self.manners.pause - time.time())))
        try:
            answer = request()
        except Exception as problem:
            self._remember(problem)
            raise
        finally:
            last.touch()
        self._remember(None)
        return answer

    def _remember(self, problem: Exception | None) -> None:
        """Keeps in mind whether the server answered, be it with an error, or cannot be reached."""
        import requests  # noqa: PLC0415, comes with the client

        if not isinstance(problem, requests.ConnectionError):
            _answered.add(self.base_url)
            _unreachable.pop(self.base_url, None)
        elif self.base_url not in _answered:
            # Without the path that was asked for: the sentence is used for other sets, too.
            why = getattr(next(iter(problem.args), None), "reason", problem)
            _unreachable[self.base_url] = (time.monotonic(), _told(why))

    def _cannot_be_reached(self, what: str) -> str:
        return (
            f"{what}: {self.base_url} cannot be reached ({_unreachable[self.base_url][1]}). Sets that are in the cache "
            "run; start again when the network is back."
        )


def _client(cache_dir: Path) -> Any:
    # The client makes folders when it is imported; these settings make it use ours, and the ARFF file of a set, whose
    # checksum OpenML gives, rather than the Parquet file, which has none.
    os.environ.setdefault("OPENML_CACHE_DIR", str(cache_dir))
    os.environ["OPENML_SKIP_PARQUET"] = "true"
    try:
        import openml  # noqa: PLC0415, an extra
    except ImportError as problem:
        raise BrokenDataset("OpenML takes its client: pip install 'vw-fastcb[openml]'") from problem
    return openml


def _get(openml: Any, number: int) -> Any:
    return openml.datasets.get_dataset(
        number, download_data=True, download_qualities=False, download_features_meta_data=False
    )


def _folder(openml: Any, number: int) -> Path:
    return Path(openml.config.get_cache_directory()) / "datasets" / str(number)


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


def _may_pass(problem: Exception) -> bool:
    """Whether to ask again: no answer, half an answer, or one that is not OpenML's XML (an error page of a proxy)."""
    import requests  # noqa: PLC0415, comes with the client
    from openml.exceptions import OpenMLHashException, OpenMLServerError, OpenMLServerException  # noqa: PLC0415

    if isinstance(problem, OpenMLServerException):
        return bool(problem.code == OVERLOADED)
    passing = (OpenMLServerError, OpenMLHashException, requests.RequestException, ExpatError, KeyError)
    return isinstance(problem, passing)


def _told(problem: Exception) -> str:
    return " ".join(str(problem).split())[:300] or type(problem).__name__
