"""Starts a server, and ends it in good order: what waits is answered, a checkpoint is made, the lease is given back."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import logging
import os
import resource
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.routing import Router
from starlette.types import Receive, Scope, Send

from vw_fastcb.loop import Loop, LoopError
from vw_fastcb.loop.loop import failure_of
from vw_fastcb.serve import endpoints, personalizer
from vw_fastcb.serve.access_log import AccessLog
from vw_fastcb.serve.connections import Bounds, connections_within, sweep
from vw_fastcb.serve.endpoints import Service
from vw_fastcb.serve.errors import ApiError
from vw_fastcb.serve.gate import Gate
from vw_fastcb.serve.hosts import local_names
from vw_fastcb.serve.load import Load
from vw_fastcb.serve.metrics import Metrics
from vw_fastcb.serve.openapi import encoded
from vw_fastcb.serve.page import Page
from vw_fastcb.version import __version__

_log = logging.getLogger("vw_fastcb.serve")

_SWEEPS_APART = 1.0  # seconds
_COLLECTIONS_APART = 60.0  # seconds
_ACCEPTED_AT_ONCE = 16  # connections, before those that are too many are refused
_OTHER_DESCRIPTORS = 96  # files, and connections that are being refused
_BACKLOG = 2048  # connections that the system holds until they are accepted
_KEEP_ALIVE = 65  # seconds that an idle connection stays: longer than proxies keep theirs, so that they close first
_SHORTEST_TOKEN, _LONGEST_TOKEN = 16, 1024


@dataclass(frozen=True)
class Options:
    """How a server serves.

    Attributes:
        host: The address to listen on.
        port: The port; 0 for a free one.
        tokens: Who knows one of these may ask.
        allow_no_token: Whether an address that others can reach may go without.
        most_bytes: How long a body may be.
        most_requests: How many requests may be worked on at a time.
        most_at_hand: How many bytes their bodies may have together; at least one body of the largest size fits.
        grace: Seconds that requests have to end when the server stops.
        bounds: Of connections.
        certificate: For TLS.
        key: For TLS.
        access_log: Where requests are written down.
        journal: The name of the journal, for the live page; the loop's own unless given.
        is_read_only: Whether there is the live page alone, and it changes nothing.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    tokens: Sequence[bytes] = ()
    allow_no_token: bool = False
    most_bytes: int = 1_048_576
    most_requests: int = 256
    most_at_hand: int = 16_777_216
    grace: float = 10.0
    bounds: Bounds = field(default_factory=Bounds)
    certificate: Path | None = None
    key: Path | None = None
    access_log: AccessLog | None = None
    journal: str = ""
    is_read_only: bool = False


def application(service: Service, options: Options) -> Gate:
    """The application: gate, routes, endpoints."""
    document = encoded(__version__, needs_token=bool(options.tokens))
    page = Page(
        service,
        options.journal,
        tokens=options.tokens,
        host=options.host,
        is_read_only=options.is_read_only,
        is_secure=options.certificate is not None,
    )
    routes = [*endpoints.routes(service, document), *personalizer.routes(service)]
    routes = page.routes() if options.is_read_only else [*routes, *page.routes()]
    otherwise = _only_the_page if options.is_read_only else _nothing_here
    router = Router(routes, redirect_slashes=False, default=otherwise)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = app  # so that starlette raises what it refuses, instead of answering in its own words
        await router(scope, receive, send)

    return Gate(
        app,
        service.metrics,
        tokens=options.tokens,
        names=local_names(options.host),
        load=Load(options.most_requests, max(options.most_at_hand, options.most_bytes)),
        access_log=options.access_log,
    )


async def _nothing_here(scope: Scope, receive: Receive, send: Send) -> None:
    path = scope["path"]
    if path.startswith("/personalizer/"):
        raise personalizer.not_here(path)
    raise ApiError(404, f"there is no {path!a} here; GET /openapi.json lists what there is.")


async def _only_the_page(scope: Scope, receive: Receive, send: Send) -> None:
    raise ApiError(404, f"there is no {scope['path']!a} here; fastcb watch serves the page alone, at /.")


def read_tokens(path: Path) -> list[bytes]:
    """The tokens of a file, one in each line: several, while clients move from one to the next."""
    tokens = [line.strip() for line in path.read_bytes().splitlines() if line.strip()]
    if not tokens:
        raise ValueError(f"{path} holds no token; expected one in a line of its own.")
    for token in tokens:
        is_printable = all(0x21 <= byte <= 0x7E for byte in token)  # what a header may hold
        if not _SHORTEST_TOKEN <= len(token) <= _LONGEST_TOKEN or not is_printable:
            raise ValueError(
                f"a token in {path} is not usable; expected {_SHORTEST_TOKEN} to {_LONGEST_TOKEN} printable ASCII "
                "characters without spaces, such as those of `openssl rand -hex 32`."
            )
    return tokens


def _check_certificate(options: Options) -> None:
    """Raises where TLS cannot be spoken with these files."""
    if options.certificate is None or options.key is None:
        return
    for path in (options.certificate, options.key):
        try:
            path.read_bytes()
        except OSError as problem:
            raise ValueError(f"cannot read {str(path)!r} for TLS: {problem.strerror}.") from problem
    try:
        # Without a password, a key that has one would be asked for on the terminal, if there is one.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(options.certificate, options.key, password="")
    except ssl.SSLError as problem:
        raise ValueError(
            f"{str(options.certificate)!r} and {str(options.key)!r} are not a certificate and its key in PEM, without "
            f"a pass phrase ({problem.strerror})."
        ) from problem


def listen(options: Options) -> socket.socket:
    """The socket that clients come to. Raises where others could reach it without a token."""
    _check_certificate(options)
    try:
        family, _, _, _, address = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as problem:
        said = getattr(problem, "strerror", None) or str(problem)
        raise ValueError(
            f"cannot listen on {options.host!a}: {said}; expected an address of this machine."
        ) from problem
    if not options.tokens and not options.allow_no_token and not ipaddress.ip_address(address[0]).is_loopback:
        raise ValueError(
            f"{options.host} can be reached from other machines, so a token is needed: --token-file FILE. If something "
            "else protects this address, say --no-token."
        )
    # asyncio sends small answers at once only where the protocol is said to be TCP; else clients wait 40 ms for them.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as problem:
        listener.close()
        raise ValueError(f"cannot listen on {options.host}, port {options.port}: {problem.strerror}.") from problem
    listener.setblocking(False)
    return listener


def address_of(listener: socket.socket, options: Options) -> str:
    """Where clients find it."""
    host, port = listener.getsockname()[:2]
    scheme = "http" if options.certificate is None else "https"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


class Stop:
    """Ends a server on the first signal, and the process on the second."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        """While this lasts, Ctrl-C and SIGTERM come here."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._handle) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self.asked.is_set():
            os._exit(128 + number)  # everything acknowledged is on disk, and a commit that is cut short never was
        self.asked.set()


class _Server(uvicorn.Server):
    """uvicorn, with our signals and our upkeep."""

    def __init__(self, config: uvicorn.Config, service: Service, stop: Stop) -> None:
        super().__init__(config)
        self._service = service
        self._stop = stop
        self.failure: LoopError | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.commits.start()
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_BACKLOG)

    async def on_tick(self, counter: int) -> bool:
        """Looks, ten times a second, whether to go on."""
        if counter % round(10 * _SWEEPS_APART) == 0:
            sweep(self.server_state.connections, asyncio.get_running_loop().time())
        if counter % round(10 * _COLLECTIONS_APART) == 0:
            gc.collect()
        self.failure = failure_of(self._service.loop)
        if self.failure is not None or self._stop.asked.is_set():
            self.should_exit = self._service.is_stopping = True
        return await super().on_tick(counter)


def _collect_garbage_seldom() -> None:
    """Modules and models stay, and most of what a request makes is gone with it.

    To look at all of them for cycles, as often as Python does by itself, stops everybody for 50 ms at a time. Once a
    minute is enough to give back what Python keeps for later.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(2_000, 10, 1_000)


def _bounds_within_reach(bounds: Bounds) -> Bounds:
    """As many connections as the system lets this process have, if that is less than was asked for.

    Out of descriptors, nobody could be refused with an answer, and asyncio writes thousands of lines per second.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = bounds.connections + _OTHER_DESCRIPTORS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return bounds
    most = max(1, soft - _OTHER_DESCRIPTORS)
    _log.warning(
        "%d connections were asked for, and the system allows %d files: at most %d are taken. To have more, raise the "
        "limit (ulimit -n, or LimitNOFILE= of systemd).",
        bounds.connections,
        soft,
        most,
    )
    return replace(bounds, connections=most)


def serve(loop: Loop, listener: socket.socket, options: Options, stop: Stop, started: Callable[[], None]) -> None:
    """Serves until it is stopped. Everything that was let in is answered then; the loop is left open.

    Raises:
        LoopError: The journal failed; nothing was acknowledged since.
    """
    service = Service(loop, Metrics(options.access_log), options.most_bytes)
    gate = application(service, options)
    config = uvicorn.Config(
        gate,
        http=connections_within(_bounds_within_reach(options.bounds), gate),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=_ACCEPTED_AT_ONCE,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=max(1, round(options.grace)),
        ssl_certfile=options.certificate,
        ssl_keyfile=options.key,
    )
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    server = _Server(config, service, stop)
    config.load()  # a certificate that cannot be read is said before anybody is told that we are here
    _collect_garbage_seldom()
    started()
    try:
        server.run([listener])
    finally:
        service.stop()
    if server.failure is not None:
        raise server.failure
