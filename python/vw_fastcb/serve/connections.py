"""Connections in bounds: how large headers may be, how long a request may take to arrive and an answer to be read.

uvicorn bounds none of these. A client that sends a byte now and then, or never reads, would hold a connection for ever.
"""

from __future__ import annotations

import asyncio
import re
import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar, NoReturn, cast

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from vw_fastcb.serve.errors import RETRY_AFTER, ApiError
from vw_fastcb.serve.gate import SHED, Gate
from vw_fastcb.serve.load import ALWAYS_ANSWERED, PLACE, is_for_strangers


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


_IDLE = 1.0  # seconds without progress, after which a connection makes room where there are too many
_RESERVED = 16  # connections beyond the bound, for those who ask how the server is
_MOST_AHEAD = 64  # requests that a client may send before it has read the answer to the first
_MOST_HEADERS = 128  # in Python a short one takes twenty times the bytes that were sent
_FRAME = 8  # bytes beside each byte of a body, at most: it may come in chunks of one
_COOLING = 0.25  # seconds for which a connection is not read after a request was refused: retries at once cost nothing
_ALWAYS_ANSWERED = frozenset(path.encode() for path in ALWAYS_ANSWERED)
# A request that is there as a whole, and so plain that its end is known without a parser.
_HEADERS = (
    rb"(?:(?!transfer-encoding:|content-length:|expect:|upgrade:|connection:(?! *keep-alive\r))[!-9;-~]+:[ -~]*\r\n)*"
)
_PLAIN = re.compile(
    rb"POST (/[!-~]*) HTTP/1\.1\r\n" + _HEADERS + rb"content-length: *(\d{1,9})\r\n" + _HEADERS + rb"\r\n",
    re.IGNORECASE,
)


class _Refused(Exception):
    """Raised inside the parser, which then gives up."""


class _Crowd:
    """The connections of a server by what they wait for, those first that have waited longest."""

    def __init__(self) -> None:
        self.arriving: dict[Connection, float] = {}  # for the rest of a request, or for the first one
        self.idle: dict[Connection, float] = {}  # for a further request
        self.stuck: dict[Connection, float] = {}  # for a client that does not read
        self.extra: dict[Connection, float] = {}  # beyond the bound

    def forget(self, connection: Connection) -> None:
        """It waits for nothing any more."""
        for some in (self.arriving, self.idle, self.stuck, self.extra):
            some.pop(connection, None)


class Connection(HttpToolsProtocol):
    """One connection of a client."""

    bounds: ClassVar[Bounds] = Bounds()
    gate: ClassVar[Gate]
    crowd: ClassVar[_Crowd]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come."""
        super().connection_made(transport)
        self._begun: float | None = self.loop.time()  # when the request began that has not arrived yet
        self._head = 0  # bytes of headers that are not complete; -1 within a body
        self._beside = 0  # bytes that came after the headers and are no body: names of chunks, and trailers
        self._paused: float | None = None
        self._verdict: tuple[int, str] | None = None  # why the parser was stopped
        self._answering: RequestResponseCycle | None = None  # the request that is answered now, or was last
        self._refusal: tuple[int, str] | None = None  # to be sent once the requests before it are answered
        self._is_extra = False
        if len(self.connections) > self.bounds.connections and not self._make_room():
            self._become_extra()
        self.crowd.arriving[self] = self._begun

    def _become_extra(self) -> None:
        """Every other connection waits for an answer. This one may ask how the server is."""
        crowd = self.crowd
        self._is_extra = True
        if len(crowd.extra) >= _RESERVED:
            next(iter(crowd.extra))._give_up_place()
        crowd.extra[self] = self.loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended."""
        self.crowd.forget(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some bytes have come."""
        if self.transport.is_closing() or self._refusal is not None:
            return
        if self._head == 0 and self.gate.load.is_full and self._refuse_unread(data):
            return
        if self._head >= 0:
            self._head += len(data)
        else:
            self._beside += len(data)
        super().data_received(data)
        most = self.bounds.header_bytes
        if self._head > most and not self.transport.is_closing():
            self._refuse(431, f"the headers have more than {most} bytes; expected fewer.")
        if self._head < 0 and self._beside > most and not self.transport.is_closing():
            self._refuse(431, f"beside headers and body the request has more than {most} bytes; expected fewer.")

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._begun, self._beside = self.loop.time(), 0
        self.crowd.idle.pop(self, None)
        self.crowd.arriving.setdefault(self, self._begun)

    def on_header(self, name: bytes, value: bytes) -> None:
        """One of its headers is there; or a trailer behind its body, for which nobody asks."""
        if self._head < 0:
            return
        if len(self.headers) >= _MOST_HEADERS:
            self._turn_away(431, f"the request has more than {_MOST_HEADERS} headers; expected fewer.")
        super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """A part of its body is there."""
        self._beside -= (1 + _FRAME) * len(body)
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """Its headers are there."""
        self._head = -1
        request_line = len(self.parser.get_method()) + len(self.url) + len("  HTTP/1.1\r\n")
        size = request_line + sum(len(name) + len(value) + len(": \r\n") for name, value in self.headers)
        if size > self.bounds.header_bytes:
            self._turn_away(431, f"the headers have more than {self.bounds.header_bytes} bytes; expected fewer.")
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1:
            self._turn_away(400, f"the request has {hosts} Host headers; expected one.")
        if len(self.pipeline) >= _MOST_AHEAD:
            self._turn_away(
                400, f"requests wait for answers, more than {_MOST_AHEAD} of them at once; read those first."
            )
        if self._is_extra and self.url.partition(b"?")[0] not in _ALWAYS_ANSWERED:
            self._turn_away(503, self._too_many())
        super().on_headers_complete()
        if self._is_extra:
            self.cycle.keep_alive = False

    def _turn_away(self, status: int, message: str) -> NoReturn:
        """Stops the parser, which calls `send_400_response` then."""
        self._verdict = (status, message)
        raise _Refused

    def _too_many(self) -> str:
        return f"there are {self.bounds.connections} connections already; come back a little later."

    def on_message_complete(self) -> None:
        """It has arrived."""
        self._begun, self._head = None, 0
        self.crowd.arriving.pop(self, None)
        super().on_message_complete()
        self._start_work(self.cycle)

    def send_400_response(self, msg: str) -> None:
        """The parser has given up."""
        self._refuse(*(self._verdict or (400, "this is not a request of HTTP/1.1.")))

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        self.gate.admit(cast("Scope", cycle.scope))
        if not cycle.more_body:
            self._start_work(cycle)
        super()._start_asgi_task(cycle, app)

    @staticmethod
    def _start_work(cycle: RequestResponseCycle) -> None:
        """A request has arrived as a whole. It is counted now, so that the next one finds it."""
        place = cast("Scope", cycle.scope).get(PLACE)
        if place is not None:
            place.start_work()

    def on_response_complete(self) -> None:
        """A request was answered."""
        was_shed = self._answering is not None and SHED in self._answering.scope
        if self._refusal is not None:
            self._refuse(*self._refusal)
        super().on_response_complete()
        if self.pipeline:  # uvicorn would read on, and keep whatever comes
            self.flow.pause_reading()
        elif self._begun is None:
            self.crowd.idle.pop(self, None)
            self.crowd.idle[self] = self.loop.time()
            if was_shed:
                self._cool_down()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """The client sends nothing more. If its request is complete it still gets the answer."""
        if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
            return None
        self.cycle.keep_alive = False
        return True

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        self._paused = self.crowd.stuck[self] = self.loop.time()

    def resume_writing(self) -> None:
        """It does."""
        super().resume_writing()
        self._paused = None
        self.crowd.stuck.pop(self, None)

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
        """Ends the connection that has made no progress for longest, so that such ones keep nobody out."""
        crowd, now = self.crowd, self.loop.time()
        for some, patience in ((crowd.arriving, _IDLE), (crowd.idle, _IDLE), (crowd.stuck, _IDLE), (crowd.arriving, 0)):
            for connection, since in some.items():
                if now - since < patience:
                    break
                if some is not crowd.arriving or not connection._has_requests_to_answer():
                    connection._give_up_place()
                    return True
        return False

    def _give_up_place(self) -> None:
        """Makes room for others."""
        since, is_stuck = self.crowd.arriving.get(self), self in self.crowd.stuck
        is_idle = since is None or (self._head == 0 and self.loop.time() - since >= _IDLE)  # has asked for nothing
        self.crowd.forget(self)
        if is_stuck:
            self._drop()
        elif is_idle:
            self.transport.close()
        else:
            self._refuse(503, "the connection made room for others: its request did not arrive in time.")

    def _refuse_unread(self, data: bytes) -> bool:
        """Refuses a request without parsing it, where that is easy: a refusal has to cost less than a retry."""
        if self.pipeline or self._has_requests_to_answer() or self._is_extra:
            return False
        request = _PLAIN.match(data)
        if request is None or request.end() + int(request[2]) != len(data):
            return False
        path = request[1].partition(b"?")[0].decode("ascii")
        if path in ALWAYS_ANSWERED or is_for_strangers(path):
            return False
        self._unset_keepalive_if_required()
        body = self.gate.refuse_unread({"type": "http", "method": "POST", "path": path, "client": self.client})
        self.transport.write(
            b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\nretry-after: %d\r\n\r\n%s" % (len(body), RETRY_AFTER, body)
        )
        now = self.loop.time()
        self._begun = None
        self.crowd.forget(self)
        self.crowd.idle[self] = now
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)
        self._cool_down()
        return True

    def _cool_down(self) -> None:
        """Does not read for a while. Who waits as long as Retry-After says does not notice."""
        if not self.transport.is_closing():
            self.flow.pause_reading()
            self.loop.call_later(_COOLING, self._warm_up)

    def _warm_up(self) -> None:
        if not self.transport.is_closing():
            self.flow.resume_reading()

    def _drop(self) -> None:
        """Ends the connection at once; the kernel does not keep what the client has not read, either."""
        own = self.transport.get_extra_info("socket")
        if own is not None:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

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


def connections_within(bounds: Bounds, gate: Gate) -> type[Connection]:
    """The class of one server's connections, with these bounds."""
    return type("BoundedConnection", (Connection,), {"bounds": bounds, "gate": gate, "crowd": _Crowd()})


def sweep(connections: Iterable[Any], now: float) -> None:
    """Ends those that took too long."""
    for connection in list(connections):
        connection.sweep(now)
