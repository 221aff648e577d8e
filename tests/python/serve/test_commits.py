"""Requests that share a commit: what happens to one of them is nothing to the others."""

from __future__ import annotations

import asyncio

from loop.support import open_loop
from serve.servers import PATIENCE
from vw_fastcb.loop.requests import Decide
from vw_fastcb.serve.commits import Commits


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
