"""The endpoints of the loop, each an ASGI application of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from vw_fastcb.loop import Loop, LoopError
from vw_fastcb.loop.loop import failure_of, fallback_of, has_fallback
from vw_fastcb.loop.requests import Decide
from vw_fastcb.serve import metrics as prometheus
from vw_fastcb.serve.commits import Commits
from vw_fastcb.serve.errors import ApiError, api_error
from vw_fastcb.serve.gate import HEADERS, Disconnected, respond
from vw_fastcb.serve.load import PLACE, Place
from vw_fastcb.serve.messages import (
    ActivateRequest,
    DecideRequest,
    Decision,
    Health,
    RewardRequest,
    StatusAnswer,
    decoded,
    decoder,
)
from vw_fastcb.serve.metrics import Metrics
from vw_fastcb.serve.published import PublishedModels

_T = TypeVar("_T")

_DRAINED = 16  # times the largest body: what is read of a larger one, so that its sender can read the refusal
_OTHER_ACTIONS = {
    True: "actions were given, and this journal has fixed ones; leave them out.",
    False: "actions are missing: this journal has no fixed ones, so each decision brings its own, with features.",
}
_encode = msgspec.json.Encoder().encode


class Endpoint:
    """One path.

    Args:
        route: The path, as metrics name it.
        answer: What answers.
    """

    def __init__(self, route: str, answer: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self.route = route
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        await self._answer(scope, receive, send)

    def on(self, method: str) -> Route:
        """The route to it."""
        return Route(self.route, self, methods=[method])


class Service:
    """What endpoints share.

    Args:
        loop: The loop.
        metrics: What counts.
        most_bytes: How long a body may be.
    """

    def __init__(self, loop: Loop, metrics: Metrics, most_bytes: int) -> None:
        self.loop = loop
        self.metrics = metrics
        self.commits = Commits(loop)
        self.is_stopping = False
        self.models = PublishedModels(loop)
        self.at_end: list[Callable[[], None]] = []  # what others want to be done then
        self.has_fixed_actions = loop.settings["actions"] is not None  # which never changes
        self.has_rewards = loop.settings.get("reward_range") is not None  # neither does this; else it has costs
        self._most_bytes = most_bytes
        self._readers = ThreadPoolExecutor(4, "vw_fastcb.serve.reader")

    def stop(self) -> None:
        """Answers what waits; nothing more is answered then."""
        self.commits.stop()
        self._readers.shutdown()
        for end in self.at_end:
            end()

    async def read(self, look: Callable[[], _T]) -> _T:
        """Looks at the journal, in a thread: the disk may be slow."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, look)

    async def body(self, scope: Scope, receive: Receive, most_bytes: int | None = None) -> bytes:
        """The body of a request, which has to be JSON and within bounds."""
        headers: dict[bytes, bytes] = scope[HEADERS]
        most = self._most_bytes if most_bytes is None else most_bytes
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != b"application/json":
            said = kind.decode("latin-1") or "missing"
            raise ApiError(415, f"the content type is {said!a}; expected application/json.")
        if b"expect" in headers and int(headers.get(b"content-length", b"0")) > most:
            raise _too_large(most)  # the client has sent nothing of it yet
        place: Place = scope[PLACE]
        with place.arriving():
            content = await received(receive)
            if not content["more_body"] and len(content["body"]) <= most:
                place.hold(len(content["body"]))
                return bytes(content["body"])
            return await _rest(content, receive, place, most)


async def _rest(content: dict[str, Any], receive: Receive, place: Place, most: int) -> bytes:
    """A body that comes in pieces. Of one that is too large, some is read, so that its sender reads the refusal."""
    parts, size, more = [], 0, True
    while more and size <= _DRAINED * most:
        more = content["more_body"]
        size += len(content["body"])
        if size <= most:
            place.hold(len(content["body"]))
            parts.append(content["body"])
        if more:
            content = await received(receive)
    if size > most:
        raise _too_large(most)
    return b"".join(parts)


def _too_large(most: int) -> ApiError:
    return ApiError(413, f"the body has more than {most} bytes; expected fewer.", {"connection": "close"})


async def received(receive: Receive) -> dict[str, Any]:
    """The next piece of a body."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Disconnected
    return message  # type: ignore[return-value]


def routes(service: Service, document: bytes) -> list[Route]:
    """The paths of the loop, those first that are asked for most."""
    return [
        Endpoint("/decide", _decide(service)).on("POST"),
        Endpoint("/reward", _report(service, RewardRequest, "reward")).on("POST"),
        Endpoint("/cost", _report(service, RewardRequest, "cost")).on("POST"),
        Endpoint("/activate", _report(service, ActivateRequest)).on("POST"),
        Endpoint("/status", _status(service)).on("GET"),
        Endpoint("/model", _model(service)).on("GET"),
        Endpoint("/metrics", _metrics(service)).on("GET"),
        Endpoint("/health/live", _live(service)).on("GET"),
        Endpoint("/health/ready", _ready(service)).on("GET"),
        Endpoint("/openapi.json", _constant(document, b"application/json")).on("GET"),
    ]


def _decide(service: Service) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    reader, answer = decoder(DecideRequest), service.commits.answer

    async def decide(scope: Scope, receive: Receive, send: Send) -> None:
        body = await service.body(scope, receive)
        asked = decoded(reader, body)
        if service.has_fixed_actions != (asked.actions is None):
            raise ApiError(400, _OTHER_ACTIONS[service.has_fixed_actions])
        request = asked.asked()
        try:
            answered = await answer(request, len(body))
        except LoopError as problem:
            raise _with_baseline(problem, service.loop, request) from problem
        await respond(send, 200, _encode(Decision.of(*answered)))

    return decide


def _with_baseline(problem: LoopError, loop: Loop, request: Decide) -> ApiError:
    """What a client is told, and where the journal is away, the baseline that it may take instead."""
    error = api_error(problem)
    if error.status == 503 and has_fallback(problem):
        fallback = fallback_of(loop, request)
        if fallback is not None:
            error.beside = {"action": fallback.action, "name": fallback.name, "logged": False}
    return error


def _report(
    service: Service, kind: type[RewardRequest] | type[ActivateRequest], noun: str | None = None
) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """Takes rewards, costs, or activations. A reward that were learned as a cost would teach the contrary."""
    reader: msgspec.json.Decoder[RewardRequest | ActivateRequest] = decoder(kind)
    own = "reward" if service.has_rewards else "cost"

    async def report(scope: Scope, receive: Receive, send: Send) -> None:
        asked = decoded(reader, await service.body(scope, receive)).asked()
        if noun not in (None, own):
            raise ApiError(
                400,
                f"this journal has {own}s; report them with POST /{own}. A journal of {noun}s is made with "
                f"--{noun}-range.",
            )
        await service.commits.answer(asked)
        await respond(send, 204, b"", ())

    return report


def _status(service: Service) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    def look() -> StatusAnswer:
        return StatusAnswer(**service.loop.status().to_dict(), settings=service.loop.settings)

    async def status(scope: Scope, receive: Receive, send: Send) -> None:
        await respond(send, 200, _encode(await service.read(look)))

    return status


def _model(service: Service) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    headers = (
        (b"content-type", b"application/octet-stream"),
        (b"content-disposition", b'attachment; filename="model.vw"'),
    )

    async def model(scope: Scope, receive: Receive, send: Send) -> None:
        newest = await service.read(service.models.newest)
        about = ((b"content-length", b"%d" % len(newest.content)), (b"fastcb-generation", b"%d" % newest.generation))
        await send({"type": "http.response.start", "status": 200, "headers": [*headers, *about]})
        for piece in newest.pieces():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    return model


def _metrics(service: Service) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    headers = ((b"content-type", prometheus.CONTENT_TYPE.encode()),)

    async def metrics(scope: Scope, receive: Receive, send: Send) -> None:
        text = await service.read(lambda: service.metrics.text(service.loop.status()))
        await respond(send, 200, text, headers)

    return metrics


def _live(service: Service) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    async def live(scope: Scope, receive: Receive, send: Send) -> None:
        if not service.commits.is_alive:
            raise ApiError(503, "the thread that commits has ended; start the server again.")
        await respond(send, 200, _encode(Health("live")))

    return live


def _ready(service: Service) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    def problems() -> list[str]:
        failure = failure_of(service.loop)
        return [str(failure)] if failure is not None else list(service.loop.status().problems)

    async def ready(scope: Scope, receive: Receive, send: Send) -> None:
        found = ["the server is stopping."] if service.is_stopping else await service.read(problems)
        if found:
            raise ApiError(503, " ".join(found))
        await respond(send, 200, _encode(Health("ready")))

    return ready


def _constant(body: bytes, kind: bytes) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    headers = ((b"content-type", kind), (b"x-content-type-options", b"nosniff"))

    async def constant(scope: Scope, receive: Receive, send: Send) -> None:
        await respond(send, 200, body, headers)

    return constant
