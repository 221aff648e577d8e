"""A Redis server that is asked: it may restart, be slow, or be set up in a way that loses what was acknowledged."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from vw_fastcb.loop.clocks import shown
from vw_fastcb.loop.journal import (
    ClockDiffers,
    Fenced,
    JournalFailed,
    JournalFull,
    JournalRefused,
    JournalUnreachable,
    LoopError,
)
from vw_fastcb.loop.redis.address import Address
from vw_fastcb.loop.redis.scripts import text_of

_T = TypeVar("_T")

_CONNECTING = 2.0  # seconds until an address that does not answer counts as unreachable
_ANSWERING = 20.0  # seconds until an answer counts as lost, at most
_OPENING = 1.0  # seconds that a new loop waits for a server that refuses connections
_LONGEST_PAUSE = 0.25  # seconds between two tries
_LOOKS_APART = 10.0  # seconds between two looks at how durable the server is
_OLDEST = (7, 0)  # the first version that has what the scripts need
# Without the last, Redis 7.0 mends a file that a crash has cut short by leaving half a transaction in it, which it runs
# when it starts the time after: the journal would hold positions twice.
_DURABLE = {
    "appendonly": "yes",
    "appendfsync": "always",
    "no-appendfsync-on-rewrite": "no",
    "aof-load-truncated": "no",
}
_MISSING = "journals in Redis need the package redis: pip install 'vw-fastcb[redis]'."


def clocks_differ(server: int, caller: int) -> ClockDiffers:
    """Nobody knows which one is right."""
    return ClockDiffers(
        f"the clock of the Redis server says {shown(server)}, and that of this machine says {shown(caller)}; nothing "
        "was stored. Set the one that is wrong."
    )


def _library() -> Any:
    try:
        import redis  # noqa: PLC0415, only journals in Redis need it
    except ImportError as problem:
        raise JournalRefused(_MISSING) from problem
    return redis


def _timeout(patience: float) -> float:
    """Seconds until an answer counts as lost. Whole tries fill `patience`: the last one does not go beyond it."""
    tries = max(math.ceil(patience / _ANSWERING), 2 if patience >= 2 else 1)
    return max(1.0, patience / tries)


class Server:
    """Asks a server, and asks again while it restarts.

    Args:
        address: Where it is.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        redis = _library()
        self._errors = redis.exceptions
        retry = redis.retry.Retry(redis.backoff.NoBackoff(), 0)  # we do it, and know what may be repeated
        common = {**address.client, "socket_connect_timeout": _CONNECTING, "socket_keepalive": True, "retry": retry}
        self._client = redis.Redis(**common, socket_timeout=_timeout(address.patience))
        self._impatient = redis.Redis(**common, socket_timeout=_CONNECTING)  # for those who ask how it is
        self._scripts: dict[str, Any] = {}
        self._lost_at: float | None = None  # since when it does not answer
        self._looked_at = float("-inf")
        self._is_open = False
        self._closing = threading.Event()
        try:
            self.ask(self._look)
        except BaseException:
            self.close()
            raise
        self._is_open = True

    def close(self) -> None:
        """Ends all connections."""
        self._closing.set()
        self._client.close()
        self._impatient.close()

    def drop_connections(self) -> None:
        """Begins with new ones: an answer may be on its way in the old ones."""
        self._client.connection_pool.disconnect()

    @property
    def is_away(self) -> bool:
        """Whether it did not answer when it was last asked."""
        return self._lost_at is not None

    def run(self, script: str, key: str, *arguments: Any) -> Any:
        """Runs a script."""
        if time.monotonic() - self._looked_at > _LOOKS_APART:
            self.ask(self._look)
        if script not in self._scripts:
            self._scripts[script] = self._client.register_script(text_of(script))
        return self.ask(lambda _: self._scripts[script](keys=[key], args=arguments))

    def ask(self, question: Callable[[Any], _T]) -> _T:
        """Gives the answer to a question, which may be asked several times.

        Raises:
            JournalUnreachable: The server did not answer. Nobody knows whether it did what was asked.
        """
        pause, begun = 0.005, time.monotonic()
        while True:
            if self._closing.is_set():
                raise LoopError(f"the journal {self.address.journal!r} was closed.")
            try:
                if self._lost_at is not None and self._is_open:
                    self._look(self._client)  # it may be another one now, or set up in another way
                answer = question(self._client)
            except self._errors.RedisError as problem:
                said = self._in_words(problem)
                if not isinstance(said, JournalUnreachable):
                    raise said from problem
                self._lost_at = self._lost_at or begun
                # Counted for each question: a replica answers some of them, and those of others.
                if time.monotonic() - begun > self._patience(problem) or self._closing.is_set():
                    raise said from problem
                self._closing.wait(random.uniform(pause / 2, pause))
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                self._lost_at = None
                return answer

    def _patience(self, problem: Exception) -> float:
        is_loading = isinstance(problem, self._errors.BusyLoadingError)
        return self.address.patience if self._is_open or is_loading else min(_OPENING, self.address.patience)

    def check_health(self) -> None:
        """Raises where the server does not answer soon, or has used up its memory and would refuse what is written."""
        try:
            memory = self._impatient.info("memory", "replication")
        except self._errors.RedisError as problem:
            raise self._in_words(problem) from problem
        if memory["role"] != "master":
            raise JournalUnreachable(f"Redis at {self.address.place} is a replica; nothing is stored.")
        used = memory["used_memory"] - memory.get("mem_not_counted_for_evict", 0)
        if 0 < memory["maxmemory"] < used:
            raise self._full()

    def _full(self) -> JournalFull:
        return JournalFull(f"Redis at {self.address.place} has used up its maxmemory; nothing was stored. Make room.")

    def rewrite_log(self) -> bool:
        """Has the append-only file written anew, without what is gone. It happens beside everything else, and later.

        Returns:
            Whether it will be. Not while it is being written: that one may still have what is gone.
        """

        def rewrite(client: Any) -> bool:
            try:
                client.bgrewriteaof()
            except self._errors.ResponseError as problem:
                if "in progress" not in str(problem):
                    raise
                return False
            return True

        return bool(self.ask(rewrite))

    # How durable it is

    def _look(self, client: Any) -> None:
        """Refuses a server that may lose what was acknowledged, or that is too old."""
        info = client.info("server")
        version = tuple(int(word) for word in str(info.get("redis_version", "0.0")).split(".")[:2])
        if version < _OLDEST:
            raise JournalRefused(
                f"Redis at {self.address.place} is version {info['redis_version']}; expected 7.0 or newer."
            )
        if self.address.fsync != "no":
            self._check_durability(self._settings(client))
        self._looked_at = time.monotonic()

    def _settings(self, client: Any) -> dict[str, str]:
        names = (*_DURABLE, "maxmemory-policy")
        try:
            return dict(client.config_get(*names))
        except self._errors.NoPermissionError as problem:
            raise JournalRefused(
                f"Redis at {self.address.place} does not say how durable it is ({problem}). Let the user run CONFIG "
                "GET, or, if you know that it has appendonly yes and appendfsync always, add ?fsync=no to the URL."
            ) from problem

    def _check_durability(self, found: dict[str, str]) -> None:
        weak, place = self.address.fsync == "everysec", self.address.place
        allowed = {"appendfsync": ("always", "everysec") if weak else ("always",)}
        for name, value in _DURABLE.items():
            if name not in ("appendonly", "appendfsync") and weak:
                continue
            if found.get(name) not in allowed.get(name, (value,)):
                raise JournalRefused(
                    f"Redis at {place} is set up with {name} {found.get(name)}, and would lose what was acknowledged; "
                    f"expected {name} {value}. To accept that, add ?fsync=everysec (the last second may be lost) or "
                    "?fsync=no (everything may be) to the URL."
                )
        if found.get("maxmemory-policy") not in (None, "noeviction"):
            raise JournalRefused(
                f"Redis at {place} is set up with maxmemory-policy {found['maxmemory-policy']}, and would drop parts "
                "of the journal; expected noeviction."
            )

    # What its errors mean

    def _in_words(self, problem: Exception) -> LoopError:
        place, errors = self.address.place, self._errors
        said = str(problem)
        code, _, rest = said.partition(" ")
        if isinstance(problem, (errors.AuthenticationError, errors.AuthorizationError)) or code in (
            "NOAUTH",
            "WRONGPASS",
        ):
            return JournalRefused(f"Redis at {place} did not accept user and password ({said}).")
        if isinstance(problem, errors.NoPermissionError) or code == "NOPERM":
            return JournalRefused(f"Redis at {place} does not let this user in ({said}).")
        if isinstance(problem, errors.OutOfMemoryError) or code == "OOM":
            return self._full()
        if isinstance(problem, errors.ReadOnlyError) or code in ("READONLY", "MASTERDOWN"):
            return JournalUnreachable(
                f"Redis at {place} is a replica, or lost its master ({said}); nothing was stored."
            )
        if isinstance(problem, (errors.ConnectionError, errors.TimeoutError)):
            return JournalUnreachable(
                f"Redis at {place} does not answer ({said}). The request may or may not be stored; ask again, with the "
                "same ids."
                if self._is_open
                else f"there is no Redis server at {place} ({said}). Start it, or mend the address."
            )
        meanings: dict[str, LoopError] = {
            "FENCED": Fenced(rest),
            "GONE": JournalFailed(
                f"the journal {self.address.journal!r} in Redis at {place} was removed or replaced while it was open; "
                "nothing more is acknowledged. Put it back, then open it again."
            ),
            "LOST": JournalFailed(
                f"Redis at {place} has lost records of the journal {self.address.journal!r} ({rest}); nothing more is "
                "acknowledged. Put a backup back, then open it again."
            ),
            "WRONGTYPE": JournalRefused(
                f"keys of the journal {self.address.journal!r} in Redis at {place} hold something else ({said}). Use "
                "another name, or remove them."
            ),
            "PARTIAL": JournalRefused(
                f"{rest!r} is in Redis at {place}, but the rest of that journal is not. Put it back, or remove the key."
            ),
        }
        if code == "CLOCKS":
            meanings[code] = clocks_differ(*map(int, rest.split()))
        return meanings.get(code) or LoopError(f"Redis at {place} refused ({said}).")
