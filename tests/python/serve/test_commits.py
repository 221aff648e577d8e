"""Requests that share a commit: what happens to one of them is nothing to the others."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from loop.support import open_loop
from serve.servers import ARTICLES, NEWS, PATIENCE, serving
from vw_fastcb.loop.requests import Decide
from vw_fastcb.serve.commits import Commits, _Batch


def test_who_does_not_wait_any_more_keeps_nobody_from_an_answer(tmp_path):
    async def ask(loop):
        commits = Commits(loop)
        commits.start()
        commits._is_quick = False  # a thread commits, as with a slow disk
        held = loop._worker._state  # nobody can decide while this is held
        held.acquire()
        try:
            asked = [asyncio.ensure_future(commits.answer(Decide({"a": 1}, event_id=f"e{i}"))) for i in range(3)]
            while commits._gathering.requests or not commits._is_busy:
                await asyncio.sleep(0)
            asked[0].cancel()
            await asyncio.sleep(0)
        finally:
            held.release()
        answers = await asyncio.wait_for(asyncio.gather(*asked[1:]), PATIENCE)
        later = await asyncio.wait_for(commits.answer(Decide({"a": 1}, event_id="later")), PATIENCE)
        commits.stop()
        return [answered[0] for answered in (*answers, later)]

    with open_loop(tmp_path) as loop:
        assert [record.event_id for record in asyncio.run(ask(loop))] == ["e1", "e2", "later"]
        assert loop.status().counts["decisions"] == 4  # what was asked is stored all the same


class _Seen(dict[str, Any]):
    """A context that notes which thread takes it apart."""

    def items(self):
        self.threads = [*getattr(self, "threads", ()), threading.current_thread().name]
        return super().items()


@pytest.mark.parametrize(("size", "is_event_loops"), [(0, True), (2000, True), (40_000, False), (900_000, False)])
def test_large_requests_do_not_stop_the_event_loop_that_commits_small_ones_by_itself(tmp_path, size, is_event_loops):
    async def ask(loop):
        commits = Commits(loop)
        commits.start()
        context = _Seen(a=1)
        try:
            await asyncio.wait_for(commits.answer(Decide(context), size), PATIENCE)
        finally:
            commits.stop()
        return set(context.threads)

    with open_loop(tmp_path) as loop:
        names = asyncio.run(ask(loop))
        assert names == {"MainThread" if is_event_loops else "vw_fastcb.serve.commits"}


@pytest.mark.parametrize("path", ["/decide", "/personalizer/v1.0/rank"])
def test_whether_a_server_is_ready_is_answered_between_large_requests(tmp_path, path):
    """All of them were one commit, and readiness waited for its end."""
    numbers = {"numbers": [1] * 60_000}
    actions = [{"id": name, "features": []} for name in ("a", "b")]
    body = {"context": numbers} if path == "/decide" else {"contextFeatures": [numbers], "actions": actions}
    with serving(tmp_path / "loop.db", *(NEWS if path == "/decide" else ARTICLES)) as server:
        statuses: list[int] = []
        clients = [threading.Thread(target=lambda: statuses.append(server.post(path, body).status)) for _ in range(12)]
        begun = time.monotonic()
        for client in clients:
            client.start()
        worst = 0.0
        while any(client.is_alive() for client in clients):
            asked = time.monotonic()
            assert server.get("/health/ready").status == 200
            worst = max(worst, time.monotonic() - asked)
        assert set(statuses) <= {200, 201}
        assert worst < (time.monotonic() - begun) / 3


def test_a_commit_has_so_many_bytes_of_requests_or_one():
    batch = _Batch()
    batch.sizes = [10] * 100
    assert batch.most() == 64
    batch.sizes = [100_000, 10, 10]
    assert batch.most() == 1
    batch.sizes = [10, 20_000, 10_000, 10_000]
    assert batch.most() == 3
    batch.requests, batch.futures = list("abcd"), list("ABCD")
    rest = batch.rest(3)
    assert (batch.sizes, rest.sizes, rest.requests) == ([10, 20_000, 10_000], [10_000], ["d"])
