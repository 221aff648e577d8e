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

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

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


_IDLE = 1.0  # seconds without a request, after which a connection makes room where there are too many
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
        self._answering: RequestResponseCycle | None = None  # the request that is answered now, or was last
        self._refusal: tuple[int, str] | None = None  # to be sent once the requests before it are answered
        self._idle_since = self.loop.time()
        if len(self.connections) > self.bounds.connections and not self._make_room():
            self._refuse(503, f"there are {self.bounds.connections} connections already; come back a little later.")

    def data_received(self, data: bytes) -> None:
        """Some bytes have come."""
        if self.transport.is_closing() or self._refusal is not None:
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
        request_line = len(self.parser.get_method()) + len(self.url) + len("  HTTP/1.1\r\n")
        size = request_line + sum(len(name) + len(value) + len(": \r\n") for name, value in self.headers)
        if size > self.bounds.header_bytes:
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

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """A request was answered."""
        self._idle_since = self.loop.time()
        if self._refusal is not None:
            self._refuse(*self._refusal)
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

    def _make_room(self) -> bool:
        """Ends the connection that has been idle longest, so that idle ones keep nobody out."""
        idle = [one for one in self.connections if isinstance(one, Connection) and one.is_idle]
        if not idle:
            return False
        min(idle, key=lambda one: one._idle_since).transport.close()
        return True

    @property
    def is_idle(self) -> bool:
        """Whether nothing has been asked for a while."""
        is_answering = self._answering is not None and not self._answering.response_complete
        is_new = self.loop.time() - self._idle_since < _IDLE
        return not (is_answering or is_new or self._head or self.transport.is_closing())

    def _drop(self) -> None:
        """Ends the connection at once; the kernel does not keep what the client has not read, either."""
        own = self.transport.get_extra_info("socket")
        if own is not None:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _refuse_headers(self) -> None:
        self._refuse(431, f"the headers have more than {self.bounds.header_bytes} bytes; expected fewer.")

    def _refuse(self, status: int, message: str) -> None:
        """Answers in the place of the application, and closes.

        Requests that came before are answered first: nobody is to take the refusal for the answer to one of them.
        """
        if self._has_requests_to_answer():
            self._refusal = (status, message)
            self.flow.pause_reading()
            return
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

    def _has_requests_to_answer(self) -> bool:
        """Whether there are some that have arrived as a whole."""
        now, later = self._answering, self.pipeline[-1][0] if self.pipeline else None
        if now is not None and not now.response_complete:
            return not now.more_body
        return later is not None and not later.more_body


def connections_within(bounds: Bounds) -> type[Connection]:
    """The class of connections with these bounds."""
    return type("BoundedConnection", (Connection,), {"bounds": bounds})


def sweep(connections: Iterable[Any], now: float) -> None:
    """Ends those that took too long."""
    for connection in list(connections):
        connection.sweep(now)
