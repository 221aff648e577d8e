"""What a client is told when it cannot have what it asked for: `{"error": {"code", "message"}}`."""

from __future__ import annotations

import logging
import secrets
from typing import Any

import msgspec

from vw_fastcb.loop.journal import Conflict, JournalFull, LoopError, UnknownEvent, UnknownGeneration
from vw_fastcb.refusals import Refusal

_log = logging.getLogger("vw_fastcb.serve")

RETRY_AFTER = 1  # seconds
_LONGEST = 1_000  # characters of a message

# The word for each status. Personalizer's clients know some of them under other names.
CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    431: "headers_too_large",
    500: "internal_error",
    503: "unavailable",
}
PERSONALIZER_CODES = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "ResourceNotFound",
    405: "MethodNotAllowed",
    408: "RequestTimeout",
    409: "Conflict",
    413: "RequestTooLarge",
    415: "UnsupportedMediaType",
    431: "HeadersTooLarge",
    500: "InternalServerError",
    503: "ServiceUnavailable",
}


# What the loop's errors mean to a client, the particular ones first. A ValueError or TypeError that is no refusal is a
# defect of ours, not of the request.
_MEANINGS: tuple[tuple[type[Exception], int, str], ...] = (
    (Conflict, 409, ""),
    (UnknownEvent, 404, ""),
    (UnknownGeneration, 404, ""),
    (JournalFull, 503, " Nothing of the request was stored; ask again."),
    (LoopError, 503, " Ask again with the same ids."),
    (Refusal, 400, ""),
)


class ApiError(Exception):
    """An answer that is an error.

    Args:
        status: The status of HTTP.
        message: What was given, what was expected, what to do.
        headers: Further headers.
        is_shed: Whether the request was refused because there was too much to do.

    Attributes:
        beside: What else the body says, beside `error`.
    """

    def __init__(
        self, status: int, message: str, headers: dict[str, str] | None = None, *, is_shed: bool = False
    ) -> None:
        super().__init__(message)
        self.is_shed = is_shed
        self.beside: dict[str, Any] = {}
        self.status = status
        self.message = _cut(message)
        self.headers = dict(headers or {})
        if status == 503:
            self.headers.setdefault("retry-after", str(RETRY_AFTER))

    def body(self, path: str = "") -> bytes:
        """As JSON, in the words of the API that the path belongs to."""
        codes = PERSONALIZER_CODES if path.startswith("/personalizer") else CODES
        return msgspec.json.encode({"error": {"code": codes[self.status], "message": self.message}, **self.beside})


def _cut(message: str) -> str:
    """Without the middle, where it is long: it may quote a body of a megabyte, and ends with what to do."""
    return message if len(message) <= _LONGEST else f"{message[: _LONGEST // 2]} ... {message[-_LONGEST // 2 :]}"


def api_error(problem: Exception) -> ApiError:
    """What a problem of the loop means to a client."""
    if isinstance(problem, ApiError):
        return problem
    for kind, status, advice in _MEANINGS:
        if isinstance(problem, kind):
            is_said = "ask again" in str(problem) or (kind is JournalFull and "nothing was stored" in str(problem))
            return ApiError(status, f"{problem}{'' if is_said else advice}")
    name = secrets.token_hex(4)
    _log.error("a request failed (error %s)", name, exc_info=problem)
    return ApiError(
        500, f"the request failed, and it was not the client's fault; the server's log says why, at error {name}."
    )
