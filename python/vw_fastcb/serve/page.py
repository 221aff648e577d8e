"""The live page: its files, who may see it, what it is told, and what it may do.

A browser cannot send a token with server-sent events, so whoever knows a token exchanges it for a cookie. The cookie is
a signature made with the token: every server with the same tokens knows it, and none has to remember it. It opens the
page alone, never the API. What changes something also asks where a request comes from (Origin): cookies go along with
requests of other pages.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs

import msgspec
import numpy as np
from msgspec import Meta, Struct
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from vw_fastcb.learner.fastcb import FastCB
from vw_fastcb.loop.contexts import as_engine_row, as_engine_rows
from vw_fastcb.loop.loop import features_in, fitted_for, journal_of
from vw_fastcb.serve.endpoints import Endpoint, Service, received
from vw_fastcb.serve.errors import ApiError
from vw_fastcb.serve.feed import Feed
from vw_fastcb.serve.gate import HEADERS, Disconnected, respond
from vw_fastcb.serve.hosts import is_named, local_names
from vw_fastcb.serve.load import PLACE
from vw_fastcb.serve.messages import decoded, decoder
from vw_fastcb.version import __version__

_FILES = Path(__file__).parent / "static"
_KINDS = {"page.css": b"text/css; charset=utf-8", "page.js": b"text/javascript; charset=utf-8"}
_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    b"form-action 'none'; frame-ancestors 'none'"
)
_SAFE = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-cache"),
)
_STREAM = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # of proxies that would wait for more
)
_JSON = ((b"content-type", b"application/json"), (b"cache-control", b"no-store"))
_SESSION = 12 * 3600  # seconds
_LONGEST_SESSION = 4096  # bytes of a body with a token: it comes from anybody
_MOST_FEATURES = 25  # that an explanation lists
_MOST_EXPLAINED = 1 << 17  # features of all actions, that it looks at: it takes two seconds then

_Answer = Callable[[Scope, Receive, Send], Awaitable[None]]
_encode = msgspec.json.Encoder().encode


class SessionRequest(Struct, forbid_unknown_fields=True):
    """What `POST /page/session` takes."""

    token: str


class RollbackRequest(Struct, forbid_unknown_fields=True):
    """What `POST /page/rollback` takes."""

    generation: Annotated[int, Meta(ge=0)]


class Page:
    """The page of one server.

    Args:
        service: What endpoints share.
        journal: The name of the journal; empty for that of the loop.
        tokens: Who knows one of these may look, and roll back. Without any, everybody on this machine may look.
        host: The address that the server listens on.
        is_read_only: Whether nothing can be changed, token or not.
        is_secure: Whether it serves HTTPS.
    """

    def __init__(
        self,
        service: Service,
        journal: str,
        *,
        tokens: Sequence[bytes] = (),
        host: str = "127.0.0.1",
        is_read_only: bool = False,
        is_secure: bool = False,
    ) -> None:
        self._service = service
        self._tokens = tuple(tokens)
        self._names = local_names(host)
        self._can_roll_back = bool(tokens) and not is_read_only
        self._scheme = b"https" if is_secure else b"http"
        about = {
            "version": __version__,
            "journal": Path(str(journal_of(service.loop))).name,
            "settings": service.loop.settings,
            "is_read_only": is_read_only,
            "can_roll_back": self._can_roll_back,
        }
        self._explaining = threading.Lock()
        self._feed = Feed(service, journal or str(journal_of(service.loop)), about)

    def routes(self) -> list[Route]:
        """The page's paths."""
        html = (_FILES / "page.html").read_bytes()
        return [
            Endpoint("/", self._file(html, b"text/html; charset=utf-8")).on("GET"),
            *(
                Endpoint(f"/page/{name}", self._file((_FILES / name).read_bytes(), kind)).on("GET")
                for name, kind in _KINDS.items()
            ),
            Endpoint("/page/session", self._open_session).on("POST"),
            Endpoint("/page/events", self._events).on("GET"),
            Endpoint("/page/decision", self._decision).on("GET"),
            Endpoint("/page/rollback", self._roll_back).on("POST"),
        ]

    def _file(self, content: bytes, kind: bytes) -> _Answer:
        headers = ((b"content-type", kind), *_SAFE)

        async def file(scope: Scope, receive: Receive, send: Send) -> None:
            await respond(send, 200, content, headers)

        return file

    # Who may

    def _admit(self, scope: Scope) -> None:
        """Raises for those who may not look."""
        headers = scope[HEADERS]
        if self._tokens:
            if not self._is_known(headers):
                raise ApiError(401, "this page needs the token; give it to the page, which keeps a cookie.")
        elif not is_named(headers, self._names):
            # A page from elsewhere whose name was made to lead to this machine.
            raise ApiError(403, f"the host is not one of {', '.join(self._names)}; open the page under one of these.")

    def _admit_change(self, scope: Scope, *, needs_origin: bool = False) -> None:
        """Raises for those who may not change anything, and for pages of others."""
        headers = scope[HEADERS]
        origin, host = headers.get(b"origin"), headers.get(b"host", b"")
        if needs_origin and origin is None:
            raise ApiError(403, "the request does not say where it comes from (Origin); expected this page itself.")
        if origin is not None and origin not in (b"http://" + host, b"https://" + host):
            raise ApiError(403, f"the request comes from {origin.decode('latin-1')!a}; expected this page itself.")
        if self._scheme == b"https" and origin == b"http://" + host:
            raise ApiError(403, "the request comes from a page without TLS; expected this page itself.")

    def _is_known(self, headers: dict[bytes, bytes]) -> bool:
        cookies = dict(
            part.strip().partition(b"=")[::2] for part in headers.get(b"cookie", b"").split(b";") if b"=" in part
        )
        found = [_is_signed(cookies.get(_cookie_name(token), b""), token) for token in self._tokens]
        return any(found)

    async def _open_session(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A cookie for a token."""
        self._admit_change(scope)
        given = (
            decoded(decoder(SessionRequest), await self._service.body(scope, receive, _LONGEST_SESSION))
            .token.strip()
            .encode()
        )
        right = [one for one in self._tokens if hmac.compare_digest(one, given)]
        if not right:
            raise ApiError(401, "this is not the token; expected the one of the server's --token-file.")
        until = int(time.time()) + _SESSION
        secure = b"; Secure" if self._scheme == b"https" else b""
        cookie = b"%s=%d.%s; Path=/page/; Max-Age=%d; HttpOnly; SameSite=Strict%s" % (
            _cookie_name(right[0]),
            until,
            _signature(until, right[0]),
            _SESSION,
            secure,
        )
        await respond(send, 204, b"", ((b"set-cookie", cookie), (b"cache-control", b"no-store")))

    # What it is told

    async def _events(self, scope: Scope, receive: Receive, send: Send) -> None:
        """News, once a second, as server-sent events."""
        self._admit(scope)
        async with self._feed.viewer() as messages:
            await send({"type": "http.response.start", "status": 200, "headers": list(_STREAM)})
            scope[PLACE].release()  # it lasts for hours, and places are for those who want an answer
            tasks = [asyncio.ensure_future(_stream(messages, send)), asyncio.ensure_future(_gone(receive))]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _decision(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What drove a decision."""
        self._admit(scope)
        asked = parse_qs(scope["query_string"].decode("latin-1")).get("position", [""])[0]
        if not asked.isdecimal() or len(asked) > 18:
            raise ApiError(400, f"position is {asked!a}; expected the number of a decision's record.")
        told = await self._service.read(lambda: self._explained(int(asked)))
        await respond(send, 200, _encode(told), _JSON)

    def _explained(self, position: int) -> dict[str, Any]:
        record = journal_of(self._service.loop).decision(position)
        body = record.body or {}
        if record.kind != "decision" or "context" not in body:
            raise ApiError(404, f"record {position} is no decision, or its features were erased.")
        fitted = fitted_for(self._service.loop, body["context"], body.get("action_features"))
        table = fitted.action_features
        count = features_in(self._service.loop, fitted)
        if count > _MOST_EXPLAINED:
            raise ApiError(
                413,
                f"the actions of record {position} have up to {count:,} features together, products and those of "
                f"the context included; at most {_MOST_EXPLAINED:,} are explained here. Use FastCB.explain on the "
                "model that /model gives.",
            )
        with self._explaining:  # models are large
            model = FastCB.from_bytes(self._service.models.newest().content)
            explained = model.explain(as_engine_row(fitted.context), None if table is None else as_engine_rows(table))
        largest = np.argsort(-np.abs(explained.contributions).max(axis=1, initial=0), kind="stable")
        shown, rest = largest[:_MOST_FEATURES], largest[_MOST_FEATURES:]
        features = [{"name": explained.features[i], "adds": explained.contributions[i].tolist()} for i in shown]
        if len(rest):
            features.append({"name": f"{len(rest)} more", "adds": explained.contributions[rest].sum(axis=0).tolist()})
        return {
            "position": position,
            "time": record.time,
            "event_id": record.event_id,
            "action": body.get("action"),
            "pmf": body.get("pmf"),
            "context": body["context"],
            "noun": explained.noun,
            "actions": body.get("action_ids") or list(explained.actions),
            "predictions": explained.predictions.tolist(),
            "intercepts": explained.intercepts.tolist(),
            "logits": explained.logits.tolist(),
            "features": features,
        }

    # What it may do

    async def _roll_back(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Goes back to an earlier model."""
        if not self._can_roll_back:
            raise ApiError(403, "this page cannot change anything; `fastcb serve` with --token-file has one that can.")
        self._admit(scope)
        self._admit_change(scope, needs_origin=True)
        asked = decoded(decoder(RollbackRequest), await self._service.body(scope, receive))
        await self._service.read(lambda: self._service.loop.rollback(asked.generation))
        await respond(send, 204, b"", ())


async def _stream(messages: asyncio.Queue[bytes | None], send: Send) -> None:
    """Sends messages as server-sent events, as long as there are some."""
    while (message := await messages.get()) is not None:
        told = b"retry: 1000\ndata: %s\n\n" % message
        await send({"type": "http.response.body", "body": told, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _gone(receive: Receive) -> None:
    """Returns when the client has gone."""
    try:
        while True:
            await received(receive)
    except Disconnected:
        pass


def _cookie_name(token: bytes) -> bytes:
    """Servers on one machine share a browser's cookies; each has a name of its own."""
    return b"fastcb_" + hashlib.sha256(b"fastcb page's name" + token).hexdigest()[:12].encode()


def _signature(until: int, token: bytes) -> bytes:
    return hmac.new(token, b"fastcb page until %d" % until, hashlib.sha256).hexdigest().encode()


def _is_signed(cookie: bytes, token: bytes) -> bool:
    until, _, signature = cookie.partition(b".")
    if not until.isdigit() or len(until) > 12 or int(until) < time.time():
        return False
    return hmac.compare_digest(signature, _signature(int(until), token))
