"""Times as text, read alike by every Python that this package runs on."""

from __future__ import annotations

import re
import sys
from datetime import datetime

_FRACTION = re.compile(r"(:\d\d)[.,](\d+)")


def time_in(text: str) -> datetime:
    """The time that an ISO 8601 text tells, such as 2024-05-01T12:00:00.1234567Z; ValueError if it tells none."""
    return datetime.fromisoformat(text if sys.version_info >= (3, 11) else with_microseconds(text))


def with_microseconds(text: str) -> str:
    """The text in the form that Python 3.10 reads: six digits after the seconds' point, and no Z for UTC."""
    if text[-1:] in {"Z", "z"}:
        text = text[:-1] + "+00:00"
    return _FRACTION.sub(lambda match: f"{match[1]}.{match[2][:6]:0<6}", text, count=1)
