"""A request that is refused is gone with its answer: the server looks for garbage once a minute only."""

import gc
import tracemalloc

import pytest

from loop.support import open_loop
from serve.servers import threaded

LARGE = {f"feature-{number}": 1 for number in range(10_000)}  # takes more than a megabyte once it is read
REFUSED = {
    "an id that was used before": (409, "/decide", {"event_id": "e1", "context": LARGE}),
    "a value that is too large": (400, "/decide", {"context": {**LARGE, "hour": 1e39}}),
    "two values of one name": (400, "/decide", {"context": {**LARGE, "a": {"b": 1}, "a.b": 2}}),
    "an unknown action": (400, "/decide", {"context": LARGE, "exclude": ["opera"]}),
    "an unknown baseline": (400, "/decide", {"context": LARGE, "baseline": "opera"}),
    "an unknown field": (400, "/decide", {"context": LARGE, "contexts": {}}),
    "no end": (400, "/decide", b'{"context": {"' + b"x" * 500_000),
    "actions": (400, "/decide", {"context": LARGE, "actions": [{"id": "a", "features": LARGE}]}),
    "no such path": (404, "/decisions", LARGE),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_is_refused_takes_no_memory_until_garbage_is_looked_for(tmp_path, reason):
    status, path, body = REFUSED[reason]
    with open_loop(tmp_path) as loop, threaded(loop) as server:
        assert server.post("/decide", {"event_id": "e1", "context": {"hour": 9}}).status == 200
        assert server.post(path, body).status == status  # what is made once is there
        gc.collect()
        gc.disable()
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            for _ in range(10):
                assert server.post(path, body).status == status
            assert server.get("/health/live").status == 200  # after the last one, which is answered before it is let go
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            gc.enable()
    assert after - before < 1_000_000
