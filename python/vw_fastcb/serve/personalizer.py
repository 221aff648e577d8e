"""Azure Personalizer's calls, for clients that have only their address to change.

Rank, reward and activate, as version 1.0 has them and as the beta of 2022 has them. A journal for them has no actions
of its own (`--actions none`): each rank brings its actions.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import Meta, Struct
from starlette.convertors import Convertor, register_url_convertor
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from vw_fastcb.loop.requests import Activate, Decide, Observe
from vw_fastcb.serve.endpoints import Endpoint, Service
from vw_fastcb.serve.errors import ApiError
from vw_fastcb.serve.gate import HEADERS, respond
from vw_fastcb.serve.messages import Decision, Id, decoded, decoder

PREFIXES = ("/personalizer/v1.0", "/personalizer")  # of version 1.0, and of the beta, which adds ?api-version=...

_MOST_ACTIONS = 50
_encode = msgspec.json.Encoder().encode

Features = Annotated[
    list[dict[str, Any]],
    Meta(description="Objects with names and values, which may be nested. They are taken together."),
]


class RankableAction(Struct, rename="camel", gc=False):
    """An action, with its features."""

    id: Id
    features: Features


class RankRequest(Struct, rename="camel", gc=False):
    """What rank takes."""

    actions: Annotated[list[RankableAction], Meta(min_length=1, max_length=_MOST_ACTIONS)]
    context_features: Features | None = None
    excluded_actions: list[str] | None = None
    event_id: Id | None = None
    defer_activation: bool | None = None

    def asked(self) -> Decide:
        """The same, as the loop takes it."""
        return Decide(
            taken_together(self.context_features or []),
            # Personalizer learned about each action by its id, too.
            [taken_together([{"id": action.id}, *action.features]) for action in self.actions],
            [action.id for action in self.actions],
            self.excluded_actions,
            self.event_id,
            not self.defer_activation,
        )

    def ranked(self, made: Decision) -> RankResponse:
        """The answer.

        Excluded actions keep their places. The chosen one comes first of the others, then the most probable.
        """
        excluded = set(self.excluded_actions or ())
        probabilities = dict(zip((action.id for action in self.actions), made.pmf, strict=True))
        others = [name for name in probabilities if name not in excluded and name != made.name]
        others.sort(key=lambda name: -probabilities[name])
        assert made.name is not None
        rest = iter([made.name, *others])
        order = [name if name in excluded else next(rest) for name in probabilities]
        return RankResponse([RankedAction(name, probabilities[name]) for name in order], made.event_id, made.name)


class RankedAction(Struct, rename="camel", gc=False):
    """An action, with its probability."""

    id: Id
    probability: Annotated[float, Meta(ge=0, le=1)]


class RankResponse(Struct, rename="camel", gc=False):
    """What rank answers."""

    ranking: list[RankedAction]
    event_id: Id
    reward_action_id: Id


class Reward(Struct, rename="camel", gc=False):
    """What reward takes."""

    value: Annotated[float, Meta(ge=-1, le=1)]


def taken_together(bundles: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One object of several. A name that several have gets the list of their values; objects within are joined, too."""
    whole: dict[str, list[Any]] = {}
    for bundle in bundles:
        for name, value in bundle.items():
            whole.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else _joined(values) for name, values in whole.items()}


def _joined(values: list[Any]) -> Any:
    if all(isinstance(value, dict) for value in values):
        return taken_together(values)
    return [one for value in values for one in (value if isinstance(value, list) else [value])]


class _AnyText(Convertor[str]):
    """An id in a path. It may hold slashes, and newlines, which starlette's own `path` does not know."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("id", _AnyText())


def routes(service: Service) -> list[Route]:
    """The paths of both versions."""
    found = []
    for prefix in PREFIXES:
        found += [
            Endpoint(f"{prefix}/rank", _rank(service)).on("POST"),
            Endpoint(f"{prefix}/events/{{event_id:id}}/reward", _reward(service)).on("POST"),
            Endpoint(f"{prefix}/events/{{event_id:id}}/activate", _activate(service)).on("POST"),
        ]
    return found


def _rank(service: Service) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    reader = decoder(RankRequest)

    async def rank(scope: Scope, receive: Receive, send: Send) -> None:
        body = await service.body(scope, receive)
        asked = decoded(reader, body)
        if service.has_fixed_actions:
            raise ApiError(
                400,
                "this journal has fixed actions, and a rank brings its own; expected a journal made with "
                "--actions none.",
            )
        _check_rewards(service)
        made = Decision.of(*await service.commits.answer(asked.asked(), len(body)))
        await respond(send, 201, _encode(asked.ranked(made)))

    return rank


def _reward(service: Service) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    reader = decoder(Reward)

    async def reward(scope: Scope, receive: Receive, send: Send) -> None:
        event_id = _event_id(scope, "/reward")
        _check_rewards(service)
        value = decoded(reader, await service.body(scope, receive)).value
        # The newer client sends the same id with each try of a call, so a reward counts once however often it tries.
        tried = scope[HEADERS].get(b"x-ms-client-request-id", b"").decode("latin-1")[:256]
        await service.commits.answer(Observe(event_id, value, tried or None))
        await respond(send, 204, b"", ())

    return reward


def _activate(service: Service) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    async def activate(scope: Scope, receive: Receive, send: Send) -> None:
        await service.commits.answer(Activate(_event_id(scope, "/activate")))
        await respond(send, 204, b"", ())

    return activate


def _check_rewards(service: Service) -> None:
    """Raises in a journal of costs: what Personalizer's clients call good would be learned as bad."""
    if not service.has_rewards:
        raise ApiError(
            400,
            "this journal has costs, and Personalizer's clients report rewards; expected a journal made with "
            "--reward-range.",
        )


def _event_id(scope: Scope, end: str) -> str:
    """The id in the path. It is read from the bytes: text that was decoded leniently could be two ids at once."""
    raw: bytes = scope["raw_path"].partition(b"/events/")[2]
    try:
        return unquote_to_bytes(raw).decode().removesuffix(end)
    except UnicodeDecodeError:
        raise ApiError(400, "the event id in the path is not UTF-8; expected text, percent-encoded.") from None


def not_here(path: str) -> ApiError:
    """The answer to calls of Personalizer that this server does not know."""
    if "/multislot/" in path:
        return ApiError(
            400, "multi-slot calls are not served. Ask for one decision per slot, each with an event id of its own."
        )
    return ApiError(
        404,
        f"there is no {path!a} here. Of Personalizer's calls rank, reward and activate are served; settings, "
        "models and evaluations have commands of their own (fastcb --help).",
    )
