"""OpenML sets by id or suite, fetched through OpenML's own client when they are loaded, and kept in a folder.

One request at a time, a pause between them, patience where the server has a bad hour. The client keeps what it
downloads. What it does not do, and is done here: wait between sets, and notice that a file in its cache was cut off
when an earlier run was killed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from xml.parsers.expat import ExpatError

from . import arff
from .dataset import BrokenDataset, Dataset, Entry

OFFICIAL = "https://www.openml.org"
OVERLOADED = 107  # OpenML's code for a data base that does not answer; its other codes are final
UNREACHABLE_SECONDS = 60.0  # for which a server that nobody could reach is not tried again
SUITES = Path(__file__).with_name("suites")
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


def openml(
    wanted: str | int | Iterable[int],
    cache_dir: str | Path,
    base_url: str | None = None,
    manners: Manners | None = None,
) -> list[Entry]:
    """The sets wanted: ids, a text or file of ids, "bakeoff" (the paper's collection) or a suite such as "OpenML-CC18".

    Nothing is fetched yet, but the list of a suite of OpenML. What was fetched before is not asked for again.
    """
    server = Server(Path(cache_dir), base_url or OFFICIAL, manners or Manners())
    ids = parse_ids(wanted)
    if ids is None:
        ids = _suite(str(wanted), server)
    return [Entry(f"openml/{number}", f"OpenML {number}", partial(load_openml, number, server)) for number in ids]


def load_openml(number: int, server: Server) -> Dataset:
    """Loads one set, from the cache where it is there whole, else from the server."""
    cached = server.cached(number)
    if cached is not None:
        try:
            return _read(number, cached)
        except BrokenDataset:
            pass  # it may have been cut off when a run was killed: once more from the server
    return _read(number, server.fetched(number))


def _read(number: int, description: Any) -> Dataset:
    name, target = f"openml/{number}", description.default_target_attribute
    if not target or "," in target:
        raise BrokenDataset(f"{name}: OpenML names {target or 'no column'} as the target; expected one column.")
    left_out = [*(description.ignore_attribute or []), *_listed(description.row_id_attribute)]
    dataset = arff.read(Path(description.data_file), name, target, left_out)
    source = f"OpenML {number} ({description.name}, version {description.version})"
    return replace(dataset, source=source, notes=(dataset.class_note, *dataset.notes))


def _listed(value: str | None) -> list[str]:
    return [value] if value else []


def _suite(name: str, server: Server) -> list[int]:
    """The ids of a suite, kept in a file next to the sets: a second start works without the server."""
    kept = server.cache_dir / "suites" / f"{name}.txt"
    if not kept.is_file():
        ids = server.suite(name)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(" ".join(map(str, ids)) + "\n", encoding="utf-8")
    return parse_ids(str(kept)) or []


def parse_ids(wanted: str | int | Iterable[int]) -> list[int] | None:
    """The ids, in the order given and once each; None where the text is the name of a suite that OpenML has to tell."""
    if isinstance(wanted, int):
        return [wanted]
    if not isinstance(wanted, str):
        return list(dict.fromkeys(int(number) for number in wanted))
    if re.fullmatch(r"[\d\s,]+", wanted):
        return _numbers(wanted)
    shipped = SUITES / f"{wanted}.txt"
    path = shipped if re.fullmatch(r"[\w-]+", wanted) and shipped.is_file() else Path(wanted)
    if path.is_file():
        return _numbers(_without_comments(path))
    if re.search(r"[\s,]", wanted.strip()):  # no suite has such a name
        wrong = re.findall(r"[^\s,]*[^\d\s,][^\s,]*", wanted)[0]
        raise ValueError(
            f"ids of OpenML sets must be numbers separated by commas, such as '6,32'; {wrong!r} is not one."
        )
    return None


def _without_comments(path: Path) -> str:
    text = re.sub(r"#[^\n]*", "", path.read_text(encoding="utf-8"))
    if not re.fullmatch(r"[\d\s,]+", text):
        wrong = next(iter(re.findall(r"[^\d\s,]+", text)), "no id")
        raise ValueError(
            f"{path} should hold ids of OpenML sets, numbers separated by blanks or commas; it has {wrong!r}."
        )
    return text


def _numbers(text: str) -> list[int]:
    return list(dict.fromkeys(int(number) for number in re.findall(r"\d+", text)))


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
                        f"{what}: {self.base_url} did not deliver it in {self.manners.tries} tries; the last one said: "
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
            f"{what}: {self.base_url} cannot be reached ({_unreachable[self.base_url][1]}). Sets in the cache are "
            "used; start again when the network is back."
        )


def _client(cache_dir: Path) -> Any:
    # The client makes folders when it is imported; these settings make it use ours, and the ARFF file of a set, whose
    # checksum OpenML gives, rather than the Parquet file, which has none.
    os.environ.setdefault("OPENML_CACHE_DIR", str(cache_dir))
    os.environ["OPENML_SKIP_PARQUET"] = "true"
    try:
        import openml  # noqa: PLC0415, an extra
    except ImportError as problem:
        raise BrokenDataset("OpenML needs its client: pip install 'vw-fastcb[openml]'") from problem
    return openml


def _get(openml: Any, number: int) -> Any:
    return openml.datasets.get_dataset(
        number, download_data=True, download_qualities=False, download_features_meta_data=False
    )


def _folder(openml: Any, number: int) -> Path:
    return Path(openml.config.get_cache_directory()) / "datasets" / str(number)


def _md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes()).hexdigest()


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
