"""Bad requests are refused in one shape, harm nobody, and leave nothing behind."""

from __future__ import annotations

import contextlib
import http.client
import json
import select
import socket
import threading
import time

import pytest

from loop.support import open_loop
from serve.servers import PATIENCE, answer_of, threaded
from vw_fastcb.loop import LoopError
from vw_fastcb.serve import connections
from vw_fastcb.serve.connections import Bounds
from vw_fastcb.serve.errors import api_error

GOOD = {"event_id": "good", "context": {"user": "Tom"}}


@pytest.fixture(scope="module")
def loop(module_path):
    with open_loop(module_path) as opened:
        yield opened


@pytest.fixture(scope="module")
def bounded(loop):
    """A server with small bounds."""
    bounds = Bounds(connections=20, header_bytes=4096, arrival=0.5, reading=0.5)
    with threaded(loop, most_bytes=10_000, bounds=bounds) as server:
        assert server.post("/decide", GOOD).status == 200
        yield server


@pytest.fixture
def news(bounded, loop):
    """The same, which is to be as well after a test as it was before."""
    before = loop.status().position
    yield bounded
    assert bounded.post("/decide", GOOD).status == 200
    assert loop.status().position == before


BODIES = {
    "no JSON": b"context=3",
    "half of it": b'{"context": {"a": 1}',
    "more after it": b'{"context": {"a": 1}} {}',
    "nothing": b"",
    "not UTF-8": b'{"context": {"a": "\xff"}}',
    "NaN": b'{"context": {"a": NaN}}',
    "infinity": b'{"context": {"a": Infinity}}',
    "a huge number": b'{"context": {"a": 1e999}}',
    "a number too large for float32": b'{"context": {"a": 1e39}}',
    "a number of many digits": b'{"context": {"a": ' + b"9" * 5000 + b"}}",
    "a list": b"[]",
    "a number": b"3",
    "null": b"null",
    "no context": b"{}",
    "a context that is text": b'{"context": "Tom"}',
    "a context that is null": b'{"context": null}',
    "a row with text": b'{"context": [1, "a"]}',
    "an id that is a number": b'{"context": {}, "event_id": 3}',
    "an empty id": b'{"context": {}, "event_id": ""}',
    "a long id": b'{"context": {}, "event_id": "' + b"x" * 257 + b'"}',
    "an id with NUL": b'{"context": {}, "event_id": "a\\u0000"}',
    "a name with NUL": b'{"context": {"a\\u0000": 1}}',
    "a lone surrogate": b'{"context": {"a": "\\ud800"}}',
    "unknown fields": b'{"context": {}, "contexts": {}}',
    "activate as text": b'{"context": {}, "activate": "no"}',
    "exclude as text": b'{"context": {}, "exclude": "music"}',
    "an unknown action": b'{"context": {}, "exclude": ["opera"]}',
    "an action that is not there": b'{"context": {}, "exclude": [7]}',
    "every action excluded": b'{"context": {}, "exclude": [0, 1, 2]}',
    "actions of its own": b'{"context": {}, "actions": [{"features": {}}]}',
    "a flat name twice": b'{"context": {"a.b": 1, "a": {"b": 2}}}',
    "nested deep": b'{"context": ' + b'{"a":' * 500 + b"1" + b"}" * 500 + b"}",
    "ten megabytes of names": b'{"context": {"' + b"p" * 4000 + b'": [' + b"0," * 2500 + b"0]}}",
    "nested deeper": b'{"context": ' + b"[" * 4900 + b"]" * 4900 + b"}",
}


def test_bodies_that_do_not_fit_are_refused(news):
    for name, body in BODIES.items():
        answer = news.post("/decide", body)
        assert (name, answer.status) == (name, 400)
        assert answer.error
    for body in ({"event_id": "e"}, {"value": 1}, {"event_id": "e", "value": "1"}, {"event_id": "e", "value": True}):
        assert news.post("/reward", body).status == 400
    assert news.post("/reward", b'{"event_id": "e", "value": NaN}').status == 400
    assert news.post("/activate", {"event_id": ""}).status == 400


def test_advice_is_given_once():
    assert api_error(LoopError("the request was not stored; ask again.")).message.count("sk again") == 1
    assert api_error(LoopError("the loop was closed.")).message.count("sk again") == 1


def test_an_error_does_not_repeat_a_large_body(news):
    answer = news.post("/decide", {"context": {"a": 1}, "exclude": ["k" * 9_000]})
    assert answer.status == 400
    assert len(answer.error) < 1_100
    assert answer.error.startswith("action 'kkk")
    assert answer.error.endswith("expected one of ['politics', 'sports', 'music'].")


def test_bodies_are_json_and_say_so(news):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonish", ""):
        answer = news.ask("POST", "/decide", json.dumps(GOOD).encode(), {"content-type": kind})
        assert (answer.status, answer.json["error"]["code"]) == (415, "unsupported_media_type")
    assert news.ask("POST", "/decide", None, {"content-length": "0"}).status == 415
    kind = {"content-type": "Application/JSON; charset=utf-8"}
    assert news.ask("POST", "/decide", json.dumps(GOOD).encode(), kind).status == 200


def test_unknown_paths_and_methods(news):
    for method, path in (("GET", "/decide"), ("PUT", "/reward"), ("DELETE", "/status"), ("POST", "/metrics")):
        answer = news.ask(method, path)
        assert (answer.status, answer.json["error"]["code"]) == (405, "method_not_allowed")
        assert answer.headers["allow"] == ("POST" if path in ("/decide", "/reward") else "GET, HEAD")
    for path in ("/decide/", "/nowhere", "/%00", "/../etc/passwd", "//", "/decide%2f", "/%ff"):
        answer = news.get(path)
        assert (path, answer.status, answer.json["error"]["code"]) == (path, 404, "not_found")


def sent_in_pieces(server, body, size):
    """Sends a body in chunks of a size, and gives the status of the answer."""
    with contextlib.closing(server.raw()) as raw:
        raw.sendall(
            b"POST /decide HTTP/1.1\r\nhost: [::1]\r\n"
            b"content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        for start in range(0, len(body), size):
            piece = body[start : start + size]
            raw.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        raw.sendall(b"0\r\n\r\n")
        return int(raw.recv(100).split()[1])


def test_a_body_may_have_as_many_bytes_as_allowed_and_not_one_more(loop):
    with threaded(loop, most_bytes=1000) as server:
        for more, status in ((0, 200), (1, 413)):
            empty = json.dumps({"context": {"a": ""}}).encode()
            body = empty.replace(b'""', b'"%s"' % (b"x" * (1000 + more - len(empty))))
            assert len(body) == 1000 + more
            assert server.post("/decide", body).status == status
            for size in (1, 999, 1000):
                assert sent_in_pieces(server, body, size) == status


def test_large_bodies_are_refused_whatever_they_say_of_their_length(news):
    large = json.dumps({"context": {"a": "x" * 50_000}}).encode()
    answer = news.post("/decide", large)
    assert (answer.status, answer.json["error"]["code"]) == (413, "too_large")
    with contextlib.closing(news.raw()) as raw:  # in chunks, without an end
        raw.sendall(
            b"POST /decide HTTP/1.1\r\nhost: [::1]\r\n"
            b"content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        with contextlib.suppress(OSError):
            for _ in range(400):
                raw.sendall(b"400\r\n" + b"x" * 1024 + b"\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 413 ")
    with contextlib.closing(news.raw()) as raw:  # announced, and not sent before the server agrees
        raw.sendall(
            b"POST /decide HTTP/1.1\r\nhost: [::1]\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n"
            b"expect: 100-continue\r\n\r\n"
        )
        assert raw.recv(100).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(
            b"GET /status HTTP/1.1\r\nhost: [::1]\r\nlong: " + b"x" * 5000 + b"\r\n\r\n", 431, id="long header"
        ),
        pytest.param(b"GET /status HTTP/1.1\r\n" + b"a: b\r\n" * 2000, 431, id="headers without end"),
        pytest.param(b"GET /status HTTP/1.1\r\nhost: [::1]\r\n" + b"a: b\r\n" * 200, 431, id="many headers"),
        pytest.param(b"GET /" + b"x" * 5000 + b" HTTP/1.1\r\n\r\n", 431, id="long path"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, id="TLS"),
        pytest.param(b"HELLO\r\n\r\n", 400, id="another protocol"),
        pytest.param(b"POST /decide HTTP/1.1\r\ncontent-length: -5\r\n\r\n", 400, id="negative length"),
        pytest.param(
            b"POST /decide HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n", 400, id="two lengths"
        ),
        pytest.param(b"GET /status HTTP/1.1\r\nhost: [::1]\r\n", 408, id="headers that stop"),
        pytest.param(
            b"POST /decide HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{",
            408,
            id="body that stops",
        ),
    ],
)
def test_what_is_not_a_request_gets_an_answer_and_an_end(news, sent, status):
    with contextlib.closing(news.raw()) as raw:
        raw.sendall(sent)
        received = b"".join(iter(lambda: raw.recv(4096), b""))
    head, _, body = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert set(json.loads(body)["error"]) == {"code", "message"}


def test_clients_that_say_nothing_are_let_go(news):
    with contextlib.closing(news.raw()) as raw:
        assert raw.recv(1) == b""


def test_clients_that_send_a_byte_now_and_then_are_let_go(news):
    with contextlib.closing(news.raw()) as raw:
        raw.settimeout(0.1)
        received = b""
        for byte in b"GET /" + b"a" * 10 * PATIENCE:
            with contextlib.suppress(TimeoutError):
                raw.sendall(bytes([byte]))
                received = raw.recv(100)
                break
    assert received.startswith(b"HTTP/1.1 408 ")


def test_a_connection_that_is_half_closed_gets_its_answer(news):
    body = json.dumps(GOOD).encode()
    with contextlib.closing(news.raw()) as raw:
        raw.sendall(
            b"POST /decide HTTP/1.1\r\nhost: [::1]\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
            % len(body)
            + body
        )
        raw.shutdown(socket.SHUT_WR)
        assert b'"event_id":"good"' in b"".join(iter(lambda: raw.recv(4096), b""))


def test_clients_that_leave_in_the_middle_harm_nobody(news):
    for _ in range(10):
        with contextlib.closing(news.raw()) as raw:
            raw.sendall(
                b"POST /decide HTTP/1.1\r\nhost: [::1]\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"
            )
    assert news.post("/decide", GOOD).status == 200


def test_clients_that_do_not_read_are_let_go(loop):
    with threaded(loop, 4096, bounds=Bounds(arrival=1000, reading=0.3)) as server, socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", server.port))
        raw.sendall(b"GET /openapi.json HTTP/1.1\r\nhost: [::1]\r\n\r\n" * 60)
        end = select.poll()
        end.register(raw, 0)  # errors and hang-ups alone: there is something to read all the time
        assert [event & select.POLLHUP for _, event in end.poll(1000 * PATIENCE)] == [select.POLLHUP]
        assert server.get("/health/live").status == 200


def test_requests_without_end_on_one_connection_are_not_kept(news):
    with contextlib.closing(news.raw()) as raw:
        raw.sendall(b"GET /health/live HTTP/1.1\r\nhost: [::1]\r\n\r\n" * 1000)
        received = b""
        with contextlib.suppress(ConnectionError):
            received = b"".join(iter(lambda: raw.recv(65536), b""))
    assert b"more than 64 of them at once" in received
    assert received.count(b"200 OK") <= 65


def test_more_connections_than_allowed_are_refused(news):
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(contextlib.closing(news.raw())) for _ in range(30)]
        answers = [raw.recv(20) for raw in opened]
    assert answers.count(b"HTTP/1.1 503 Service") == 10


def test_requests_on_one_connection_are_answered_in_order(news):
    with contextlib.closing(news.raw()) as raw:
        raw.sendall(
            b"GET /health/live HTTP/1.1\r\nhost: [::1]\r\n\r\n"
            b"GET /nowhere HTTP/1.1\r\nhost: [::1]\r\nconnection: close\r\n\r\n"
        )
        received = b"".join(iter(lambda: raw.recv(4096), b""))
    assert received.index(b"200 OK") < received.index(b"404 Not Found")


CHUNKED = (
    b"POST /decide HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
)


@pytest.mark.parametrize(
    "endless", [b"a: b\r\n" * 1000, b"a: " + b"x" * 6000, b"1;" + b"x" * 6000], ids=lambda sent: sent[:4]
)
def test_what_comes_beside_a_body_is_bounded_too(news, endless):
    """Trailers without end took a gigabyte in seconds, and need no token."""
    behind = CHUNKED + (b"" if endless.startswith(b"1;") else b"0\r\n")
    sent = 0
    with contextlib.closing(news.raw()) as raw:
        raw.sendall(behind + endless)
        with contextlib.suppress(ConnectionError):
            while sent < 20_000_000:
                raw.sendall(endless if endless.startswith(b"a: b") else b"x" * 6000)
                sent += 6000
                if select.select([raw], [], [], 0)[0]:
                    break
        assert sent < 20_000_000
        assert raw.recv(100).startswith(b"HTTP/1.1 431 ")


def test_a_body_in_chunks_of_a_byte_is_read_and_its_trailers_are_not(tmp_path):
    body = json.dumps({"context": {"text": "x" * 3000}}).encode()
    with open_loop(tmp_path) as own, threaded(own) as server, contextlib.closing(server.raw()) as raw:
        for _ in range(2):
            raw.sendall(CHUNKED)
            for byte in body:
                raw.sendall(b"1\r\n%c\r\n" % byte)
            raw.sendall(b"0\r\norigin: http://elsewhere.example\r\nhost: elsewhere.example\r\n\r\n")
            response = http.client.HTTPResponse(raw)
            response.begin()
            assert answer_of(response).status == 200
        assert own.status().position == 3


LARGE = b"GET / HTTP/1.1\r\nlong: %s\r\n\r\n" % (b"x" * 5000)


@pytest.mark.parametrize(("rest", "status"), [(b"\0\0", b"400"), (LARGE, b"431")], ids=["noise", "headers"])
@pytest.mark.parametrize("requests", [1, 3])
def test_what_follows_a_request_does_not_take_its_answer(news, rest, status, requests):
    body = json.dumps(GOOD).encode()
    head = b"POST /decide HTTP/1.1\r\nhost: [::1]\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    with contextlib.closing(news.raw()) as raw:
        raw.sendall((head % len(body) + body) * requests + rest)
        received = b"".join(iter(lambda: raw.recv(4096), b""))
    answers = [part[:3] for part in received.split(b"HTTP/1.1 ")[1:]]
    assert answers == [b"200"] * requests + [status]


def test_idle_connections_make_room_for_others(loop, monkeypatch):
    monkeypatch.setattr(connections, "_IDLE", 0.05)
    with threaded(loop, bounds=Bounds(connections=5)) as server, contextlib.ExitStack() as stack:
        silent, *used = [stack.enter_context(contextlib.closing(server.raw())) for _ in range(5)]

        def ask(raw):
            raw.sendall(b"GET /health/live HTTP/1.1\r\nhost: [::1]\r\n\r\n")
            response = http.client.HTTPResponse(raw)
            response.begin()
            assert (response.status, response.read()) == (200, b'{"status":"live"}')

        for raw in used:
            ask(raw)
        time.sleep(0.2)
        assert server.get("/health/ready").status == 200
        assert silent.recv(1) == b""
        for raw in used:
            ask(raw)


def test_fields_that_are_not_there_are_answered_with_those_that_are(news):
    said = news.post("/decide", {"user": "Tom"}).error
    assert "Its fields are context, event_id, actions, exclude, activate, baseline." in said
    assert "Its fields are event_id, value, reward_id." in news.post("/reward", {"event_id": "e", "reward": 1}).error


def test_half_of_a_surrogate_pair_is_called_so(news):
    assert "half of a surrogate pair" in news.post("/decide", BODIES["a lone surrogate"]).error
    assert "truncated" in news.post("/decide", BODIES["half of it"]).error


def test_overload_is_refused_and_everything_acknowledged_is_there(tmp_path):
    with open_loop(tmp_path) as loop, threaded(loop, most_requests=2) as server:
        codes: dict[str, int] = {}

        def ask(first: int) -> None:
            for number in range(first, first + 25):
                answer = server.post("/decide", {"event_id": f"e{number}", "context": {"a": number}})
                codes[f"e{number}"] = answer.status
                if answer.status == 503:
                    assert answer.headers["retry-after"] == "1"
                    assert answer.json["error"]["code"] == "unavailable"

        threads = [threading.Thread(target=ask, args=(100 * k,)) for k in range(12)]
        for thread in threads:
            thread.start()
        healthy = [server.get(path).status for path in ("/health/live", "/health/ready", "/metrics") for _ in range(5)]
        for thread in threads:
            thread.join()
        shed = server.metrics()["fastcb_http_shed_total"]
        journal = {record.event_id for record in loop._worker.journal.read() if record.kind == "decision"}
    assert set(healthy) == {200}
    assert set(codes.values()) == {200, 503}
    assert len(codes) == 300
    assert shed == list(codes.values()).count(503)
    assert journal == {name for name, code in codes.items() if code == 200}
