"""What stands before all endpoints: who may ask, how many at a time, and what is counted and logged of it."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Sequence

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vw_fastcb.serve.access_log import AccessLog
from vw_fastcb.serve.errors import ApiError, api_error
from vw_fastcb.serve.hosts import is_named
from vw_fastcb.serve.load import OPEN_PATHS, PAGE, PLACE, Load, Place
from vw_fastcb.serve.metrics import Metrics

HEADERS = "vw_fastcb.headers"  # where endpoints find the headers of a request
REFUSAL = "vw_fastcb.refusal"  # why a request has no place
SHED = "vw_fastcb.shed"  # set in the scope of a request that was refused because there was too much to do

_JSON = (b"content-type", b"application/json")
_GONE = 499  # logged and counted for clients that did not wait


class Disconnected(Exception):
    """The client has gone; there is nobody to answer."""


class Gate:
    """Checks requests, hands them on, and sees to it that each is answered, counted and logged.

    Args:
        app: What answers.
        metrics: What counts.
        tokens: Who knows one of these may ask. Without any, everybody may.
        names: The names under which others may ask where there is no token; any, if there are none.
        load: How much there is to do.
        access_log: Where each request is written down.
    """

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        *,
        tokens: Sequence[bytes],
        names: tuple[str, ...] = (),
        load: Load,
        access_log: AccessLog | None = None,
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._tokens = list(tokens)
        self._names = names
        self.load = load
        self._access_log = access_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        start = time.perf_counter()
        status, sent = 0, 0

        async def counted(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                sent += len(message.get("body", b""))
            await send(message)

        metrics = self._metrics
        metrics.in_flight += 1
        place: Place | None = scope.get(PLACE)
        try:
            try:
                if place is None:
                    raise scope[REFUSAL]
                place.check()
                await self._app(scope, receive, counted)
            except Disconnected:
                status = _GONE
            except asyncio.CancelledError:
                if not status:
                    problem = _evicted() if place is not None and place.is_evicted else _stopping()
                    await send_error(problem, scope, counted)
            except Exception as problem:
                if status:  # half of an answer is on its way; the connection is closed
                    raise
                try:
                    await self._refuse(_as_api_error(problem), scope, counted)
                finally:
                    _let_go_of_frames(problem)
        finally:
            metrics.in_flight -= 1
            if place is not None:
                place.release()
            self._write_down(scope, status or 500, time.perf_counter() - start, sent)

    def admit(self, scope: Scope) -> None:
        """Gives a request its place, or the reason why it has none."""
        headers = scope[HEADERS] = dict(scope["headers"])
        try:
            self._check(scope, headers)
            scope[PLACE] = self.load.enter(scope["path"])
        except ApiError as problem:
            scope[REFUSAL] = problem

    def refuse_unread(self, scope: Scope) -> bytes:
        """Counts and logs a request that is refused before it is parsed. Gives the refusal."""
        problem = self.load.overloaded()
        body = problem.body(scope["path"])
        self._metrics.shed.inc()
        self._write_down(scope, problem.status, 0.0, len(body))
        return body

    async def _refuse(self, problem: ApiError, scope: Scope, send: Send) -> None:
        if problem.is_shed:
            self._metrics.shed.inc()
            scope[SHED] = True
        await send_error(problem, scope, send)

    def _write_down(self, scope: Scope, status: int, seconds: float, sent: int) -> None:
        self._metrics.observe(scope, status, seconds)
        if self._access_log is not None:
            self._access_log.write(scope, status, seconds, sent)

    def _check(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        path = scope["path"]
        if self._tokens:
            if path not in OPEN_PATHS and not path.startswith(PAGE) and not self._is_known(headers):
                raise ApiError(
                    401,
                    "the token is missing or wrong; expected the header 'Authorization: Bearer TOKEN' or "
                    "'Ocp-Apim-Subscription-Key: TOKEN'.",
                    {"www-authenticate": "Bearer"},
                )
        elif scope["method"] == "POST" and b"origin" in headers:
            # Every page that a browser on this machine shows could ask. Programs send no Origin, browsers always do.
            raise ApiError(403, "a page in a browser may only ask where a token is needed; start with --token-file.")
        elif path not in OPEN_PATHS and not is_named(headers, self._names):
            raise ApiError(403, f"the host is not one of {', '.join(self._names)}; ask under one of these.")

    def _is_known(self, headers: dict[bytes, bytes]) -> bool:
        """Whether a token is right. The time that this takes depends on no token's content."""
        kind, _, token = headers.get(b"authorization", b"").partition(b" ")
        given = token.strip() if kind.lower() == b"bearer" else headers.get(b"ocp-apim-subscription-key", b"")
        found = [hmac.compare_digest(given, one) for one in self._tokens]
        return any(found)


async def respond(send: Send, status: int, body: bytes, headers: Sequence[tuple[bytes, bytes]] = (_JSON,)) -> None:
    """Sends an answer."""
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


async def send_error(problem: ApiError, scope: Scope, send: Send) -> None:
    """Sends an error."""
    headers = [(name.encode(), value.encode()) for name, value in problem.headers.items()]
    await respond(send, problem.status, problem.body(scope["path"]), [_JSON, *headers])


def _let_go_of_frames(problem: BaseException | None) -> None:
    """Lets go of the calls in which an error was raised, and of what they worked on.

    They hold the whole request, and in turn the error, or a future that has it. Only a search for garbage would find
    that, and the server searches seldom: 300 refused decisions of 850 kB would take 1.7 GB meanwhile.
    """
    while problem is not None:
        problem.__traceback__ = None
        problem = problem.__cause__ or problem.__context__


def _evicted() -> ApiError:
    return ApiError(503, "the request made room for others: it did not arrive in time.", {"connection": "close"})


def _stopping() -> ApiError:
    return ApiError(503, "the server stopped before the request was done; ask again with the same ids.")


def _as_api_error(problem: Exception) -> ApiError:
    if isinstance(problem, HTTPException):  # of starlette, which finds that a path knows no such method
        allowed = dict(problem.headers or {}).get("Allow", "")
        known = ", ".join(sorted(one.strip() for one in allowed.split(",")))
        return ApiError(problem.status_code, f"this path only knows {known}.", {"allow": known})
    return api_error(problem)
