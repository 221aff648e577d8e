"""The baseline over HTTP: recorded, and the answer where no decision can be made."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import threading
import time
from pathlib import Path

import msgspec
import pytest

from loop.redis_server import RedisServer, need_redis
from loop.support import journal_at, open_loop
from serve.servers import ARTICLES, NEWS, PATIENCE, serving, threaded
from serve.test_overload import HEAD, answer_on, holding, no_commits
from vw_fastcb.serve.messages import NoDecision

PAGE = Path(__file__).parents[3] / "docs" / "serve" / "index.md"


@pytest.fixture
def redis(tmp_path):
    need_redis()
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.end()


def test_the_record_keeps_the_baseline(tmp_path):
    with open_loop(tmp_path) as loop, threaded(loop) as server:
        asked = {"event_id": "e1", "context": {}, "baseline": "sports"}
        first = server.post("/decide", asked)
        assert first.status == 200
        assert server.post("/decide", {**asked, "baseline": 1}).body == first.body
        assert server.post("/decide", {**asked, "baseline": "music"}).status == 409
        assert server.post("/decide", {"event_id": "e1", "context": {}}).status == 409
        for wrong in ("chess", 7, -1, 1.5, True, []):
            answer = server.post("/decide", {"context": {}, "baseline": wrong})
            assert answer.status == 400
            assert "baseline" in answer.error
        excluded = server.post("/decide", {"context": {}, "baseline": "music", "exclude": ["music"]})
        assert (excluded.status, set(excluded.json)) == (400, {"error"})
    with journal_at(tmp_path / "loop.db") as journal:
        assert [one.body["baseline"] for one in journal.read() if one.kind == "decision"] == [1]


def test_the_answer_has_the_baseline_while_the_store_is_away(redis):
    with serving(redis.url("news", patience="200ms"), *NEWS, "--no-learn") as server:
        names = server.get("/status").json["settings"]["actions"]
        assert server.post("/decide", {"context": {}, "baseline": names[1]}).status == 200
        redis.end()
        away = server.post("/decide", {"event_id": "e2", "context": {}, "baseline": names[1]})
        assert (away.status, away.headers["retry-after"]) == (503, "1")
        assert {**away.json, "error": None} == {"error": None, "action": 1, "name": names[1], "logged": False}
        assert away.json["error"]["code"] == "unavailable"
        msgspec.json.decode(away.body, type=NoDecision, strict=True)
        without = server.post("/decide", {"event_id": "e3", "context": {}})
        assert (without.status, set(without.json)) == (503, {"error"})
        wrong = server.post("/decide", {"event_id": "e4", "context": {}, "baseline": "chess"})
        assert wrong.status == 400
        reward = server.post("/reward", {"event_id": "e1", "value": 1})
        assert (reward.status, set(reward.json)) == (503, {"error"})
        redis.start()
        while server.post("/decide", {"event_id": "e2", "context": {}, "baseline": names[1]}).status != 200:
            pass


def test_who_waits_behind_a_request_to_a_server_that_hangs_is_answered_with_it(redis):
    """Patience is how long a client waits: what gathers for the next commit began to wait before this one failed."""
    with serving(redis.url("news", patience="4s"), *NEWS, "--no-learn") as server:
        name = server.get("/status").json["settings"]["actions"][0]
        waits = []

        def ask():
            begun = time.monotonic()
            answer = server.post("/decide", {"context": {}, "baseline": name})
            waits.append((answer.status, answer.json["name"], time.monotonic() - begun))

        redis.process.send_signal(signal.SIGSTOP)
        try:
            clients = [threading.Thread(target=ask) for _ in range(70)]  # more than one commit takes
            for client in clients:
                client.start()
                time.sleep(0.01)
            for client in clients:
                client.join(PATIENCE)
        finally:
            redis.process.send_signal(signal.SIGCONT)
        assert {(status, said) for status, said, _ in waits} == {(503, name)}
        assert len(waits) == 70
        assert max(seconds for *_, seconds in waits) < 6
        while server.post("/decide", {"context": {}}).status != 200:
            pass


def test_the_baseline_is_an_id_where_decisions_bring_their_actions(redis):
    with serving(redis.url("news", patience="200ms"), *ARTICLES) as server:
        actions = [{"id": "a", "features": {"price": 1}}, {"id": "b", "features": {"price": 2}}]
        redis.end()
        away = server.post("/decide", {"context": {}, "actions": actions, "baseline": "b"})
        assert away.status == 503
        assert (away.json["action"], away.json["name"], away.json["logged"]) == (1, "b", False)


def test_the_document_describes_the_answer(tmp_path):
    with open_loop(tmp_path) as loop, threaded(loop) as server:
        document = server.get("/openapi.json").json
    schema = document["paths"]["/decide"]["post"]["responses"]["503"]["content"]["application/json"]["schema"]
    assert schema == {"$ref": "#/components/schemas/NoDecision"}
    described = document["components"]["schemas"]["NoDecision"]
    assert set(described["properties"]) == {"error", "action", "name", "logged"}
    assert described["required"] == ["error"]
    assert "baseline" in document["components"]["schemas"]["DecideRequest"]["properties"]
    others = document["paths"]["/reward"]["post"]["responses"]["503"]["content"]["application/json"]["schema"]
    assert others == {"$ref": "#/components/schemas/ErrorAnswer"}


def client_of_the_page():
    """The function that docs/serve/index.md shows."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text().partition("## If the server is away")[2], re.DOTALL)[
        :1
    ]
    made: dict[str, object] = {}
    exec(code, made)  # our own documentation
    return made["decide"]


def test_the_lines_of_the_page_take_the_baseline_where_nobody_decides(redis):
    decide = client_of_the_page()
    with serving(redis.url("news", patience="200ms"), *NEWS) as server:
        made = decide(server.url, {"event_id": "e1", "context": {}}, "sports")
        assert (made["event_id"], "logged" in made) == ("e1", False)
        with pytest.raises(OSError, match="400"):  # a mistake of the client is no reason to go on without decisions
            decide(server.url, {"event_id": "e1", "context": {}}, "chess")
        redis.end()
        assert decide(server.url, {"event_id": "e2", "context": {}}, "sports") == {"name": "sports", "logged": False}
        server.kill()
        assert decide(server.url, {"event_id": "e3", "context": {}}, "sports") == {"name": "sports", "logged": False}


def test_the_lines_of_the_page_take_the_baseline_of_a_request_that_nobody_read(tmp_path):
    decide = client_of_the_page()
    body = json.dumps({"context": {}}).encode()
    request = HEAD + b"content-length: %d\r\n\r\n" % len(body) + body
    with (
        open_loop(tmp_path) as loop,
        threaded(loop, most_requests=1, grace=PATIENCE) as server,
        contextlib.ExitStack() as stack,
    ):
        with no_commits(loop):
            raws = stack.enter_context(holding(server, 1, request))
            while server.metrics()["fastcb_http_in_flight"] < 2:
                time.sleep(0.01)
            refused = server.post("/decide", {"context": {}, "baseline": "music"})
            assert (refused.status, set(refused.json)) == (503, {"error"})
            assert decide(server.url, {"event_id": "e1", "context": {}}, "music") == {"name": "music", "logged": False}
        assert answer_on(raws[0]).status == 200
