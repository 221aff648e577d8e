"""What viewers of the live page are told: which numbers, in which order, and what happens to those who are slow."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque

import pytest

from loop.support import Clock, open_loop
from vw_fastcb.serve.endpoints import Service
from vw_fastcb.serve.errors import ApiError
from vw_fastcb.serve.feed import MOST_VIEWERS, Feed
from vw_fastcb.serve.metrics import Metrics


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def loop(tmp_path, clock):
    with open_loop(tmp_path, aggregation="sum", wait="1s", clock=clock) as opened:
        yield opened


@pytest.fixture
def feed(loop, tmp_path):
    service = Service(loop, Metrics(), 1000)
    yield Feed(service, str(tmp_path / "loop.db"), {})
    service.stop()


def test_latency_is_the_median_and_the_99th_percentile_of_the_decisions_since_the_last_message(feed):
    metrics = feed._service.metrics
    metrics.decided = deque((number / 1000 for number in range(1, 102)), maxlen=metrics.decided.maxlen)
    for _ in range(2):
        feed._measure()
    assert list(feed._latency) == [[51.0, 100.0, 101], None]
    assert metrics.decided.maxlen == 2048


def test_who_does_not_read_is_told_to_come_back_and_the_others_hear_everything(feed):
    slow, quick = asyncio.Queue(maxsize=3), asyncio.Queue(maxsize=3)
    feed._viewers |= {slow, quick}
    heard = []
    for number in range(4):
        feed._tell(b"%d" % number)
        heard.append(quick.get_nowait())
    assert heard == [b"0", b"1", b"2", b"3"]
    assert (slow.qsize(), slow.get_nowait()) == (1, None)
    feed._tell(b"4")
    feed._tell(None)  # the end: what was not read yet does not matter any more
    assert [(one.qsize(), one.get_nowait()) for one in (slow, quick)] == [(1, None)] * 2


def test_the_newest_dead_letters_and_generations_come_first(feed, loop, clock):
    for number in range(25):
        loop.decide({"a": 1}, event_id=f"e{number}")
        for _ in range(2):
            loop.reward(f"e{number}", 1)
    loop.checkpoint()
    clock.now += 2000
    loop.tick()
    loop.checkpoint()
    shown = feed._look_now()
    assert [one["position"] for one in shown["letters"]] == [3 * number + 2 for number in range(24, 4, -1)]
    assert [one["generation"] for one in shown["generations"]] == [2, 1]
    assert shown["status"]["dead_letters"] == 25


def test_a_viewer_leaves_its_place_however_it_ends(feed):
    async def look():
        for _ in range(MOST_VIEWERS + 1):
            with contextlib.suppress(ConnectionError):
                async with feed.viewer():
                    raise ConnectionError
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(MOST_VIEWERS):
                await stack.enter_async_context(feed.viewer())
            with pytest.raises(ApiError, match="32 browsers look at this page already"):
                await stack.enter_async_context(feed.viewer())
        async with feed.viewer() as messages:
            assert messages.qsize() == 1

    asyncio.run(look())
