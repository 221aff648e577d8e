"""Servers for tests: real processes on free ports, threads that serve in this one, and what asks them."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vw_fastcb import Loop
from vw_fastcb.serve.server import Options, Stop, address_of, listen, serve

FASTCB = str(Path(sysconfig.get_path("scripts")) / "fastcb")
NEWS = ("--actions", "politics,sports,music", "--reward-range", "0", "1", "--seed", "3")
ARTICLES = ("--actions", "none", "--reward-range", "-1", "1", "--seed", "3")
PATIENCE = 60  # seconds; the machine may be busy


@dataclass
class Answer:
    """What a server answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The message of an error, which must have the shape that errors have."""
        assert self.headers["content-type"] == "application/json"
        assert list(self.json) == ["error"]
        assert set(self.json["error"]) == {"code", "message"}
        return self.json["error"]["message"]


@dataclass
class Served:
    """An address that is served."""

    url: str
    headers: dict[str, str] = field(default_factory=dict, kw_only=True)

    @property
    def port(self) -> int:
        port = urlsplit(self.url).port
        assert port is not None
        return port

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """One request on a connection of its own. What is not bytes is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            kind = {} if content is None else {"content-type": "application/json"}
            connection.request(method, path, content, {**kind, **self.headers, **(headers or {})})
            return answer_of(connection.getresponse())

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers=headers)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        return self.ask("POST", path, body, headers)

    def raw(self) -> socket.socket:
        """A connection on which anything may be sent."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def metrics(self) -> dict[str, float]:
        lines = [line for line in self.get("/metrics").body.decode().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


@dataclass
class Server(Served):
    """A process of `fastcb serve`."""

    process: subprocess.Popen[str]
    started: dict[str, Any]

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Ends it; exit code, output and errors."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err

    def kill(self) -> None:
        """As a machine that fails would."""
        self.process.kill()
        self.process.communicate()


def answer_of(response: http.client.HTTPResponse) -> Answer:
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, headers, response.read())


def start(journal: object, *options: object, port: int = 0, **environment: str) -> Server:
    """A server that has started."""
    words = [str(one) for one in (journal, *options)]
    process = subprocess.Popen(
        [sys.executable, FASTCB, "serve", *words, "--port", str(port), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        out, err = process.communicate()
        raise AssertionError(f"the server did not start: {out}{err}")
    said = json.loads(line)
    server = Server(said["url"], process, said)
    end = time.monotonic() + PATIENCE
    while server.get("/health/live").status != 200:
        assert time.monotonic() < end
        time.sleep(0.02)
    return server


@contextlib.contextmanager
def serving(journal: object, *options: object, **environment: str) -> Iterator[Server]:
    """A server, ended at the end if it runs still."""
    server = start(journal, *options, **environment)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()


@contextlib.contextmanager
def threaded(loop: Loop, buffer: int | None = None, **options: Any) -> Iterator[Served]:
    """A server in a thread of this process, which starts at once. The loop stays open."""
    asked = Options(port=0, **options)
    listener, stop = listen(asked), Stop()
    if buffer is not None:  # of what the kernel keeps for clients that do not read
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
    failures: list[BaseException] = []

    def run() -> None:
        try:
            serve(loop, listener, asked, stop, lambda: None)
        except BaseException as problem:
            failures.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield Served(address_of(listener, asked))
    finally:
        stop.asked.set()
        thread.join(PATIENCE)
    assert not thread.is_alive()
    if failures:
        raise failures[0]
