"""What several machines would run, as processes on this one: redis-server, `fastcb serve --no-learn`, `fastcb learn`.

The commands are the documented ones. Any process can be killed; it is started again where it was, as a supervisor would
do. Clients ask with the same ids until they are answered, by whichever server answers.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from loop.redis_server import RedisServer
from loop.support import journal_at
from serve.servers import FASTCB, PATIENCE
from vw_fastcb import Loop


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Program:
    """A process of `fastcb` that is started again whenever it has ended."""

    def __init__(self, words: Sequence[str], log: Path) -> None:
        self._words = [sys.executable, FASTCB, *words]
        self._log = log
        self.starts = 0
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._begins_at = log.tell()
            self.process = subprocess.Popen(self._words, stdout=log, stderr=log)
        self.starts += 1

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Ends it in good order, once it has started."""
        end = time.monotonic() + PATIENCE
        while self._log.stat().st_size == self._begins_at:
            assert time.monotonic() < end, self.said()
            time.sleep(0.02)
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0, self.said()

    def said(self) -> str:
        return self._log.read_text()[-3000:]

    def supervise(self) -> None:
        """Starts it again if it has ended by itself, which only a missing Redis may make it do."""
        if self.process.poll() is not None:
            assert "there is no Redis server" in self.said().splitlines()[-1], self.said()
            self.start()


class Cluster:
    """Deciders and learners around one journal.

    Args:
        folder: Where Redis keeps its files; logs go there, too.
        settings: Of the journal.
        checkpoint_every: As `fastcb learn` takes it.
        deciders: How many servers decide.
        learners: How many learn: the first, and others that stand by.
    """

    def __init__(
        self, folder: Path, settings: dict[str, Any], checkpoint_every: str, deciders: int = 2, learners: int = 2
    ) -> None:
        port = free_port()
        self.redis = RedisServer(folder, port=str(port), bind="127.0.0.1").start()
        self.url = f"redis://127.0.0.1:{port}/shop?patience=10min"
        Loop.open(self.url, **settings, learn=False).close()
        self.ports = [free_port() for _ in range(deciders)]
        self.deciders = [
            Program(["serve", self.url, "--no-learn", "--port", str(port), "--json"], folder / f"decider-{port}.log")
            for port in self.ports
        ]
        words = ["learn", self.url, "--follow", "--checkpoint-every", checkpoint_every, "--json"]
        self.learners = [Program(words, folder / f"learner-{number}.log") for number in range(learners)]

    @property
    def programs(self) -> list[Program]:
        return [*self.deciders, *self.learners]

    def learner(self) -> Program:
        """Which of them learns, once one does."""
        with journal_at(self.url) as journal:
            end = time.monotonic() + PATIENCE
            while True:
                lease = journal.lease()
                for one in self.learners:
                    if lease.is_live and lease.holder.startswith(f"{one.process.pid}@"):
                        return one
                assert time.monotonic() < end, f"nobody learns; {lease}"
                time.sleep(0.01)

    def wait_until_ready(self) -> None:
        end = time.monotonic() + PATIENCE
        with contextlib.closing(Client(self.ports)) as client:
            for port in self.ports:
                while client.ask_at(port, "GET", "/health/ready")[0] != 200:
                    assert time.monotonic() < end
                    time.sleep(0.05)

    def close(self) -> None:
        for program in self.programs:
            program.kill()
        self.redis.end()


@contextlib.contextmanager
def cluster(*arguments: Any, **named: Any) -> Iterator[Cluster]:
    one = Cluster(*arguments, **named)
    try:
        one.wait_until_ready()
        yield one
    finally:
        one.close()


class Client:
    """One who asks: a connection to each server, and another server where one does not answer."""

    def __init__(self, ports: Sequence[int], first: int = 0) -> None:
        self._connections = {port: http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE) for port in ports}
        self._turns = itertools.cycle([*ports[first:], *ports[:first]])
        self.retries = 0

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """What was answered, once it was: no answer and 503 mean to ask again, and anything else is an error."""
        while True:
            status, content = self.ask_at(next(self._turns), "POST", path, body)
            if status in (200, 204):
                return json.loads(content) if content else {}
            assert status in (0, 503), (status, content)
            self.retries += 1
            time.sleep(0.01)

    def ask_at(self, port: int, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, bytes]:
        """Status and body; 0 where there was no whole answer."""
        connection = self._connections[port]
        content = None if body is None else json.dumps(body).encode()
        try:
            connection.request(method, path, content, {"content-type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            return 0, b""
