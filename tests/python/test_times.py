"""Times as text: Python 3.10 reads what its successors read."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from vw_fastcb.times import time_in, with_microseconds

NOON = datetime(2024, 5, 1, 12, tzinfo=timezone.utc)
TEXTS = {
    "2024-05-01": datetime(2024, 5, 1),
    "2024-05-01T12:00": NOON.replace(tzinfo=None),
    "2024-05-01 12:00:00": NOON.replace(tzinfo=None),
    "2024-05-01T12:00:00Z": NOON,
    "2024-05-01T14:00:00+02:00": NOON,
    "2024-05-01T12:00:00.5Z": NOON + timedelta(milliseconds=500),
    "2024-05-01T12:00:00.1234567Z": NOON + timedelta(microseconds=123456),
    "2024-05-01T12:00:00.123+00:00": NOON + timedelta(milliseconds=123),
}


@pytest.mark.parametrize(("text", "time"), TEXTS.items())
def test_a_time_is_read_alike_by_every_python(text: str, time: datetime) -> None:
    assert time_in(text) == time
    assert datetime.fromisoformat(with_microseconds(text)) == time


@pytest.mark.parametrize("text", ["", "Z", "noon", "2024-13-01T00:00Z", "12:00:00.1234567Z"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        time_in(text)
    with pytest.raises(ValueError, match=r"."):
        datetime.fromisoformat(with_microseconds(text))
