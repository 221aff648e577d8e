"""What one client takes, others still get: connections, places for requests, and memory are shared out."""

from __future__ import annotations

import contextlib
import http.client
import json
import sqlite3
import time

import pytest

from loop.support import open_loop
from serve.servers import PATIENCE, answer_of, threaded
from vw_fastcb.serve import connections
from vw_fastcb.serve.connections import Bounds

GOOD = {"event_id": "good", "context": {"user": "Tom"}}
TOKEN = "0123456789abcdef0123456789abcdef"
HEAD = b"POST /decide HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


@pytest.fixture(scope="module")
def loop(module_path):
    with open_loop(module_path) as opened:
        opened.decide(GOOD["context"], event_id=GOOD["event_id"])
        yield opened


@contextlib.contextmanager
def holding(server, times, sent):
    """Connections on which only a part of a request was sent."""
    with contextlib.ExitStack() as stack:
        raws = [stack.enter_context(contextlib.closing(server.raw())) for _ in range(times)]
        for raw in raws:
            raw.sendall(sent)
        yield raws


@contextlib.contextmanager
def no_commits(loop):
    """While this lasts, another process writes to the journal, and requests wait for it."""
    other = sqlite3.connect(str(loop._worker.journal), isolation_level=None)
    with contextlib.closing(other):  # which gives up what it holds, whatever happens
        other.execute("BEGIN IMMEDIATE")
        yield


def answer_on(raw):
    response = http.client.HTTPResponse(raw)
    response.begin()
    return answer_of(response)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="silent"),
        pytest.param(b"GET /health/live HTTP/1.1\r\nhost: loc", id="half a header"),
        pytest.param(HEAD + b"content-length: 500\r\n\r\n{", id="half a body"),
        pytest.param(b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\nGET /op", id="a request and a half"),
    ],
)
def test_requests_that_do_not_arrive_keep_nobody_out(loop, sent):
    with threaded(loop, bounds=Bounds(connections=20)) as server, holding(server, 40, sent) as raws:
        for _ in range(5):
            assert server.get("/health/live").status == 200
            assert server.get("/health/ready").status == 200
            assert server.post("/decide", GOOD).status == 200
        first = answer_on(raws[0]) if not sent.startswith(b"GET /o") else None
    if first is not None:  # the oldest one made room, and is told so
        assert first.status == 503
        assert "made room" in first.error


def test_clients_that_do_not_read_keep_nobody_out(loop, monkeypatch):
    monkeypatch.setattr(connections, "_IDLE", 0.05)
    asked = b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n" * 60
    with threaded(loop, 4096, bounds=Bounds(connections=5)) as server, holding(server, 5, asked):
        time.sleep(0.3)
        assert server.post("/decide", GOOD).status == 200


def test_health_has_places_of_its_own(loop):
    """Every connection waits for an answer, so none can make room."""
    body = json.dumps({"context": {"a": 1}}).encode()
    request = HEAD + b"content-length: %d\r\n\r\n" % len(body) + body
    with threaded(loop, bounds=Bounds(connections=4), grace=PATIENCE) as server, contextlib.ExitStack() as stack:
        with no_commits(loop):
            raws = stack.enter_context(holding(server, 4, request))
            time.sleep(0.2)  # until they are read; before, they could make room
            while server.metrics()["fastcb_http_in_flight"] < 5:  # the four, and this one
                time.sleep(0.01)
            assert server.get("/health/live").status == 200
            assert server.get("/health/ready").status == 200
            refused = server.post("/decide", GOOD)
        assert [answer_on(raw).status for raw in raws] == [200] * 4
    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    assert "4 connections already" in refused.error


def test_slow_bodies_of_strangers_take_no_place_of_those_who_are_known(loop):
    head = b"POST /page/session HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    with (
        threaded(loop, tokens=[TOKEN.encode()], most_requests=2) as server,
        holding(server, 100, head + b"content-length: 500\r\n\r\n{") as raws,
    ):
        known = {"authorization": f"Bearer {TOKEN}"}
        assert server.ask("POST", "/decide", GOOD, known).status == 200
        assert server.get("/health/ready").status == 200
        assert server.post("/page/session", {"token": TOKEN}).status == 204
        assert answer_on(raws[0]).status == 503


def test_slow_bodies_of_those_who_are_known_take_no_place_either(loop):
    with (
        threaded(loop, most_requests=2) as server,
        holding(server, 10, HEAD + b"content-length: 500\r\n\r\n{"),
    ):
        assert server.post("/decide", GOOD).status == 200


def test_a_session_takes_a_short_body(loop):
    with threaded(loop, tokens=[TOKEN.encode()]) as server:
        answer = server.post("/page/session", {"token": "x" * 10_000})
    assert answer.status == 413


def test_two_hosts_are_refused(loop):
    with threaded(loop) as server, contextlib.closing(server.raw()) as raw:
        raw.sendall(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n")
        answer = answer_on(raw)
    assert (answer.status, answer.json["error"]["code"]) == (400, "bad_request")
    assert "2 Host headers" in answer.error


@pytest.mark.parametrize("path", ["/decide", "/personalizer/v1.0/rank"])
def test_under_overload_a_request_is_refused_before_it_is_read(loop, path, monkeypatch):
    monkeypatch.setattr(connections, "_COOLING", 0.3)
    body = json.dumps({"context": {"a": 1}}).encode()
    noise = b"this is not JSON, and nobody looks at it"
    asked = HEAD.replace(b"/decide", path.encode()) + b"content-length: %d\r\n\r\n" % len(noise) + noise
    with threaded(loop, most_requests=1, grace=PATIENCE) as server, contextlib.ExitStack() as stack:
        with no_commits(loop):
            request = HEAD + b"content-length: %d\r\n\r\n" % len(body) + body
            raws = stack.enter_context(holding(server, 1, request))
            while server.metrics()["fastcb_http_in_flight"] < 2:
                time.sleep(0.01)
            with contextlib.closing(server.raw()) as raw:
                raw.sendall(asked)
                refused = answer_on(raw)
                begun = time.monotonic()
                raw.sendall(asked)  # at once, as clients do that do not know better
                again = answer_on(raw)
                waited = time.monotonic() - begun
            shed = server.metrics()["fastcb_http_shed_total"]
            assert server.get("/health/ready").status == 200
        assert answer_on(raws[0]).status == 200
    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    assert refused.json == again.json
    assert refused.json["error"]["code"] == ("unavailable" if path == "/decide" else "ServiceUnavailable")
    assert "1 requests are being worked on" in refused.error
    assert waited > 0.2  # the connection is not read meanwhile
    assert shed == 2


def statuses(raw, count):
    """Those of the next answers on a connection, which may come in one piece."""
    content = b""
    while content.count(b"HTTP/1.1 ") < count and (piece := raw.recv(65_536)):
        content += piece
    return [int(part[:3]) for part in content.split(b"HTTP/1.1 ")[1:]]


def test_under_overload_each_request_is_answered_although_two_came_at_once(loop, monkeypatch):
    monkeypatch.setattr(connections, "_COOLING", 0.01)
    body = json.dumps({"context": {"a": 1}}).encode()
    request = HEAD + b"content-length: %d\r\n\r\n" % len(body) + body
    with threaded(loop, most_requests=1, grace=PATIENCE) as server, contextlib.ExitStack() as stack:
        with no_commits(loop):
            raws = stack.enter_context(holding(server, 1, request))
            while server.metrics()["fastcb_http_in_flight"] < 2:
                time.sleep(0.01)
            with contextlib.closing(server.raw()) as raw:
                raw.sendall(request + b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n")
                assert statuses(raw, 2) == [503, 200]
        assert answer_on(raws[0]).status == 200
