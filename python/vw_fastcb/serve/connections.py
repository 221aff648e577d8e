"""Connections in bounds: how large headers may be, how long a request may take to arrive and an answer to be read.

uvicorn bounds none of these. A client that sends a byte now and then, or never reads, would hold a connection for ever.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from vw_fastcb.serve.errors import ApiError


@dataclass(frozen=True)
class Bounds:
    """What a connection may take.

    Attributes:
        connections: How many there may be.
        header_bytes: Request line and headers.
        arrival: Seconds that a request may take to arrive, its body included.
        reading: Seconds that a client may let an answer wait.
    """

    connections: int = 1024
    header_bytes: int = 32_768
    arrival: float = 20.0
    reading: float = 20.0


_MOST_AHEAD = 64  # requests that a client may send before it has read the answer to the first


class _Refused(Exception):
    """Raised inside the parser, which then gives up."""


class Connection(HttpToolsProtocol):
    """One connection of a client."""

    bounds: ClassVar[Bounds] = Bounds()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come."""
        super().connection_made(transport)
        self._begun: float | None = self.loop.time()  # when the request began that has not arrived yet
        self._head = 0  # bytes of headers that are not complete; -1 within a body
        self._paused: float | None = None
        self._has_large_headers = False
        if len(self.connections) > self.bounds.connections:
            self._refuse(503, f"there are {self.bounds.connections} connections already; come back a little later.")

    def data_received(self, data: bytes) -> None:
        """Some bytes have come."""
        if self.transport.is_closing():
            return
        if self._head >= 0:
            self._head += len(data)
        super().data_received(data)
        if self._head > self.bounds.header_bytes and not self.transport.is_closing():
            self._refuse_headers()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._begun = self.loop.time()

    def on_headers_complete(self) -> None:
        """Its headers are there."""
        self._head = -1
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > self.bounds.header_bytes:
            self._has_large_headers = True
            raise _Refused
        if len(self.pipeline) >= _MOST_AHEAD:
            raise _Refused
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """It has arrived."""
        self._begun, self._head = None, 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """The parser has given up."""
        if self._has_large_headers:
            self._refuse_headers()
        else:
            self._refuse(400, f"this is not a request of HTTP/1.1, or more than {_MOST_AHEAD} of them at once.")

    def on_response_complete(self) -> None:
        """A request was answered."""
        super().on_response_complete()
        if self.pipeline:  # uvicorn would read on, and keep whatever comes
            self.flow.pause_reading()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """The client sends nothing more. If its request is complete it still gets the answer."""
        if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
            return None
        self.cycle.keep_alive = False
        return True

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        self._paused = self.loop.time()

    def resume_writing(self) -> None:
        """It does."""
        super().resume_writing()
        self._paused = None

    def sweep(self, now: float) -> None:
        """Ends the connection if the client took too long."""
        if self._paused is not None and now - self._paused > self.bounds.reading:
            self._drop()
        elif self._begun is not None and now - self._begun > self.bounds.arrival and not self.flow.read_paused:
            is_answered = self.cycle is not None and (self.cycle.response_started or self.cycle.response_complete)
            if self._head == 0 or (self._head < 0 and is_answered):
                self.transport.close()
            else:
                self._refuse(408, f"the request did not arrive within {self.bounds.arrival:g} seconds.")

    def _drop(self) -> None:
        """Ends the connection at once; the kernel does not keep what the client has not read, either."""
        own = self.transport.get_extra_info("socket")
        if own is not None:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _refuse_headers(self) -> None:
        self._refuse(431, f"the headers have more than {self.bounds.header_bytes} bytes; expected fewer.")

    def _refuse(self, status: int, message: str) -> None:
        """Answers in the place of the application, and closes."""
        problem = ApiError(status, message)
        body = problem.body()
        lines = [
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
            "content-type: application/json",
            f"content-length: {len(body)}",
            "connection: close",
            *(f"{name}: {value}" for name, value in problem.headers.items()),
        ]
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)
        self.transport.close()


def connections_within(bounds: Bounds) -> type[Connection]:
    """The class of connections with these bounds."""
    return type("BoundedConnection", (Connection,), {"bounds": bounds})


def sweep(connections: Iterable[Any], now: float) -> None:
    """Ends those that took too long."""
    for connection in list(connections):
        connection.sweep(now)
