"""The OpenAPI document. Bodies are described by the types that check them, so the two cannot differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from vw_fastcb.serve import messages
from vw_fastcb.serve.errors import CODES
from vw_fastcb.serve.load import OPEN_PATHS
from vw_fastcb.serve.personalizer import PREFIXES, RankRequest, RankResponse, Reward

_TYPES = (
    messages.DecideRequest,
    messages.Decision,
    messages.RewardRequest,
    messages.ActivateRequest,
    messages.StatusAnswer,
    messages.Health,
    messages.ErrorAnswer,
    messages.NoDecision,
    RankRequest,
    RankResponse,
    Reward,
)
_WHY = {
    400: "The request does not fit.",
    401: "The token is missing or wrong.",
    403: "A page in a browser asked, and no token is needed here.",
    408: "The request did not arrive in time.",
    409: "The id was used before, with other content.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    431: "The headers are too large.",
    503: "Too many requests, or the journal cannot be written. Ask again, with the same ids.",
}
_ALWAYS = (400, 408, 431, 503)
_POSTS = (*_ALWAYS, 403, 413, 415)


def document(version: str, *, needs_token: bool) -> dict[str, Any]:
    """The document of a server, as plain values.

    Args:
        version: Of the package.
        needs_token: Whether it asks for a token.
    """
    _, schemas = msgspec.json.schema_components(_TYPES, ref_template="#/components/schemas/{name}")
    paths: dict[str, Any] = {
        "/decide": {"post": _post("decide", "Draw an action", "DecideRequest", 200, "Decision", conflict=True)},
        "/reward": {"post": _post("reward", "Report a reward", "RewardRequest", 204, conflict=True)},
        "/cost": {"post": _post("cost", "Report a cost, in a journal of costs", "RewardRequest", 204, conflict=True)},
        "/activate": {"post": _post("activate", "Say that a decision was used", "ActivateRequest", 204)},
        "/status": {"get": _get("status", "How the loop is doing", "application/json", _ref("StatusAnswer"))},
        "/model": {"get": _get("model", "The model of the newest checkpoint", "application/octet-stream", {})},
        "/metrics": {"get": _get("metrics", "For Prometheus", "text/plain", {"type": "string"})},
        "/health/live": {"get": _get("live", "Whether the process lives", "application/json", _ref("Health"))},
        "/health/ready": {
            "get": _get("ready", "Whether requests are acknowledged", "application/json", _ref("Health"))
        },
        "/openapi.json": {"get": _get("openapi", "This document", "application/json", {"type": "object"})},
        "/": {"get": _get("page", "A page for people", "text/html", {"type": "string"})},
    }
    away = paths["/decide"]["post"]["responses"]["503"]
    away["content"]["application/json"]["schema"] = _ref("NoDecision")
    away["description"] += " With the baseline, if the request had one and was read."
    for prefix in PREFIXES:
        paths |= _personalizer(prefix)
    security: list[dict[str, list[str]]] = [{"token": []}, {"subscriptionKey": []}]
    for path, methods in paths.items():
        for operation in methods.values():
            if needs_token and path not in OPEN_PATHS:
                operation["security"] = security
                operation["responses"]["401"] = _error(401)
            if needs_token:
                operation["responses"].pop("403", None)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "fastcb serve",
            "version": version,
            "description": "A contextual bandit that decides and learns, vw_fastcb.Loop over HTTP. What is "
            "acknowledged is on disk.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "subscriptionKey": {"type": "apiKey", "in": "header", "name": "Ocp-Apim-Subscription-Key"},
            },
        },
    }


def encoded(version: str, *, needs_token: bool) -> bytes:
    """The document as JSON."""
    return msgspec.json.encode(document(version, needs_token=needs_token))


def _personalizer(prefix: str) -> dict[str, Any]:
    """Azure Personalizer's calls under one prefix."""
    name = "v1" if prefix.endswith("v1.0") else "beta"
    version = {"name": "api-version", "in": "query", "schema": {"type": "string"}}
    event = {
        "name": "eventId",
        "in": "path",
        "required": True,
        "schema": {"type": "string", "minLength": 1, "maxLength": 256},
    }
    paths = {
        "/rank": _post(f"{name}-rank", "Personalizer: rank", "RankRequest", 201, "RankResponse", conflict=True),
        "/events/{eventId}/reward": _post(
            f"{name}-reward", "Personalizer: reward", "Reward", 204, conflict=True, parameters=[event]
        ),
        "/events/{eventId}/activate": _post(
            f"{name}-activate", "Personalizer: activate", None, 204, parameters=[event]
        ),
    }
    for operation in paths.values():
        if name == "beta":
            operation.setdefault("parameters", []).append(version)
    return {f"{prefix}{path}": {"post": operation} for path, operation in paths.items()}


def _post(
    name: str,
    summary: str,
    takes: str | None,
    status: int,
    answers: str | None = None,
    *,
    conflict: bool = False,
    parameters: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    good: dict[str, Any] = {"description": "Done, and on disk."}
    if answers is not None:
        good["content"] = {"application/json": {"schema": _ref(answers)}}
    errors = (*_POSTS, *((409,) if conflict else ()))
    operation: dict[str, Any] = {
        "operationId": name,
        "summary": summary,
        "responses": {str(status): good, **{str(code): _error(code) for code in sorted(errors)}},
    }
    if parameters:
        operation["parameters"] = list(parameters)
    if takes is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _ref(takes)}}}
    return operation


def _get(name: str, summary: str, kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    good = {"description": "The answer.", "content": {kind: {"schema": schema}}}
    return {
        "operationId": name,
        "summary": summary,
        "responses": {"200": good, **{str(code): _error(code) for code in _ALWAYS}},
    }


def _error(code: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "description": f"{_WHY[code]} (`{CODES[code]}`)",
        "content": {"application/json": {"schema": _ref("ErrorAnswer")}},
    }
    if code == 503:
        found["headers"] = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}}
    return found


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
