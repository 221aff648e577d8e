"""The live page over HTTP: who may see it, what it is told, and what it may do."""

import contextlib
import http.client
import json
import re
import signal
import subprocess
import sys
import time

import pytest

from loop.support import open_loop
from serve.servers import FASTCB, PATIENCE, Served, threaded
from vw_fastcb import Loop
from vw_fastcb.commands.serve import run_watch
from vw_fastcb.serve import feed, page

TOKEN = "a-token-of-32-characters-or-more"
NEWS = {"actions": ["politics", "sports", "music"], "reward_range": (0, 1), "default_reward": 0, "seed": 1}


@pytest.fixture
def loop(tmp_path):
    with Loop.open(tmp_path / "news.db", **NEWS) as loop:
        for number in range(5):
            loop.decide({"user": "Tom", "hour": number}, event_id=f"e{number}")
            loop.reward(f"e{number}", 1)
        yield loop


@pytest.fixture
def open_page(loop):
    with threaded(loop) as server:
        yield server


@pytest.fixture
def guarded(loop):
    with threaded(loop, tokens=[b"another-token-of-some-length", TOKEN.encode()]) as server:
        yield server


def cookie_of(server, token=TOKEN):
    answer = server.post("/page/session", {"token": token})
    assert answer.status == 204, answer.body
    return answer.headers["set-cookie"]


@contextlib.contextmanager
def events(server, **headers):
    """What the server sends, message by message."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request("GET", "/page/events", headers=headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")

        def told():
            while line := answer.readline():
                if line.startswith(b"data: "):
                    yield json.loads(line.removeprefix(b"data: "))

        yield told()


def test_the_page_brings_everything_along_and_nothing_from_elsewhere(open_page):
    for path in ("/", "/page/page.css", "/page/page.js"):
        answer = open_page.get(path)
        assert answer.status == 200
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        addresses = set(re.findall(r"(?:https?:)?//[\w.]+", re.sub(r"// .*", "", answer.body.decode())))
        assert addresses <= {"http://www.w3.org"}  # the name of SVG
    page = open_page.get("/").body.decode()
    assert re.findall(r'(?:src|href)="(?!/|#|data:,)[^"]*"', page) == []
    assert not re.search(r"<script(?! src=)|<style|\son\w+=|\sstyle=", page)


def test_news_come_every_second(loop, open_page):
    with events(open_page) as told:
        first = next(told)
        assert first["about"]["journal"] == "news.db"
        assert first["about"]["settings"]["actions"] == NEWS["actions"]
        assert first["about"]["can_roll_back"] is False
        assert first["status"]["counts"]["decisions"] == 5
        while first["live"].get("played") is None:
            first = next(told)
        assert first["live"]["played"][0] == 1
        open_page.post("/decide", {"context": {"user": "Tom", "hour": 1}, "event_id": "new"})
        open_page.post("/reward", {"event_id": "new", "value": 0})
        later = next(one for one in told if one["status"]["counts"]["decisions"] == 6 and one["live"]["position"] > 12)
        assert later["live"]["recent"][0]["event_id"] == "new"
        assert later["live"]["played"] == [pytest.approx(5 / 6, rel=1e-4), *later["live"]["played"][1:3], 6]
        assert any(second for second in later["latency"])
        assert "about" not in later


def test_a_stream_ends_with_the_server_and_takes_no_place_of_requests(loop, monkeypatch):
    monkeypatch.setattr(feed, "MOST_VIEWERS", 2)
    begun = time.monotonic()
    with threaded(loop, most_requests=1, grace=30.0) as server, events(server) as one, events(server) as two:
        next(one)
        next(two)
        assert server.get("/status").status == 200
        assert server.get("/page/events").status == 503
    assert list(one) + list(two) is not None
    assert time.monotonic() - begun < 25


def test_who_comes_at_once_is_counted_at_once(loop, monkeypatch):
    monkeypatch.setattr(feed, "MOST_VIEWERS", 2)
    with threaded(loop) as server, contextlib.ExitStack() as stack:
        held = loop._worker._state  # nobody gets a first message while this is held
        with held:
            viewers = [stack.enter_context(contextlib.closing(server.raw())) for _ in range(6)]
            for one in viewers:
                one.sendall(b"GET /page/events HTTP/1.1\r\nhost: localhost\r\n\r\n")
            time.sleep(0.3)
        found = [one.recv(12) for one in viewers]
    assert sorted(found) == [b"HTTP/1.1 200"] * 2 + [b"HTTP/1.1 503"] * 4


def test_the_process_that_reads_ends_with_the_one_that_asked(loop, tmp_path):
    command = [sys.executable, "-m", "vw_fastcb.serve.live_process"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(f"{tmp_path / 'news.db'}\n".encode())
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["is_complete"]
        process.stdin.close()  # as the kernel does for a process that was killed
        assert process.wait(PATIENCE) == 0


def test_a_token_is_exchanged_for_a_cookie(guarded):
    for path in ("/page/events", "/page/decision?position=2"):
        assert guarded.get(path).status == 401
        assert guarded.get(path, authorization=f"Bearer {TOKEN}").status == 401
    assert guarded.get("/").status == guarded.get("/page/page.js").status == 200
    assert guarded.post("/page/session", {"token": "no-token-at-all-of-ours"}).status == 401
    cookie = cookie_of(guarded)
    for part in ("HttpOnly", "SameSite=Strict", "Path=/page/"):
        assert part in cookie
    assert TOKEN not in cookie
    name, _, signed = cookie.partition(";")[0].partition("=")
    assert guarded.get("/page/decision?position=2", cookie=f"a=b; {name}={signed}").status == 200
    until, _, signature = signed.partition(".")
    false = [f"{int(until) + 1}.{signature}", f"1.{signature}", until, "", f"{until}.", f"{until}.{signature[:-1]}"]
    for one in false:
        assert guarded.get("/page/decision?position=2", cookie=f"{name}={one}").status == 401
    # It is for the page alone.
    assert guarded.get("/status", cookie=f"{name}={signed}").status == 401
    # One token's cookie is none of the other's.
    other = cookie_of(guarded, "another-token-of-some-length").partition("=")[0]
    assert guarded.get("/page/decision?position=2", cookie=f"{other}={signed}").status == 401


def test_a_cookie_is_good_for_as_long_as_it_says(guarded):
    token = TOKEN.encode()

    def status(until):
        cookie = b"%s=%d.%s" % (page._cookie_name(token), until, page._signature(until, token))
        return guarded.get("/page/decision?position=2", cookie=cookie.decode()).status

    now = int(time.time())
    assert [status(until) for until in (now + 600, now - 1, 1, now + 600)] == [200, 401, 401, 200]
    cookie = cookie_of(guarded)
    assert "Max-Age=43200;" in cookie
    assert 0 <= int(cookie.partition("=")[2].partition(".")[0]) - now - 12 * 3600 <= 600


def test_a_page_whose_name_ends_as_ours_may_change_nothing(guarded):
    host = f"127.0.0.1:{guarded.port}"
    for origin in (f"http://evil-{host}", f"http://evil.{host}", f"https://x{host}", host, f"http://{host}.evil"):
        assert guarded.post("/page/session", {"token": TOKEN}, origin=origin).status == 403
    for origin in (f"http://{host}", f"https://{host}"):
        assert guarded.post("/page/session", {"token": TOKEN}, origin=origin).status == 204


def test_a_page_from_elsewhere_gets_nothing(open_page, guarded):
    for host in ("evil.example", "evil.example:8080", "127.0.0.1.evil.example", ""):
        assert open_page.ask("GET", "/page/decision?position=2", headers={"host": host}).status == 403
    for host in ("localhost:8080", "127.0.0.1", "[::1]:8080"):
        assert open_page.ask("GET", "/page/decision?position=2", headers={"host": host}).status == 200
    assert open_page.post("/page/rollback", {"generation": 1}).status == 403
    cookie = cookie_of(guarded)
    for origin in ("http://evil.example", "null", f"http://127.0.0.1:{guarded.port + 1}"):
        assert guarded.post("/page/rollback", {"generation": 1}, cookie=cookie, origin=origin).status == 403
        assert guarded.post("/page/session", {"token": TOKEN}, origin=origin).status == 403


def test_the_page_can_roll_back(loop, guarded):
    generation = loop.checkpoint()
    loop.decide({"user": "Tom", "hour": 3}, event_id="e9")
    loop.reward("e9", 0)
    cookie = cookie_of(guarded).partition(";")[0]
    own = {"origin": f"http://127.0.0.1:{guarded.port}"}
    assert guarded.post("/page/rollback", {"generation": generation}, **own).status == 401
    assert guarded.post("/page/rollback", {"generation": generation}, cookie=cookie).status == 403
    assert loop.status().learned == 6
    assert guarded.post("/page/rollback", {"generation": generation}, cookie=cookie, **own).status == 204
    assert loop.status().learned == 5
    assert "not kept" in guarded.post("/page/rollback", {"generation": 99}, cookie=cookie, **own).error
    assert guarded.post("/page/rollback", {"generation": -1}, cookie=cookie, **own).status == 400


def test_a_decision_is_explained_with_the_model_of_now(loop, open_page):
    told = open_page.get("/page/decision?position=2").json
    assert told["event_id"] == "e0"
    assert told["context"] == {"user": "Tom", "hour": 0}
    assert told["actions"] == NEWS["actions"]
    sums = [told["intercepts"][a] + sum(one["adds"][a] for one in told["features"]) for a in range(3)]
    assert sums == pytest.approx(told["logits"], rel=1e-9)
    assert told["predictions"] == pytest.approx(loop.model().predict_reward([{"user": "Tom", "hour": 0}])[0], rel=1e-6)
    assert {one["name"] for one in told["features"]} == {"user=Tom"}
    for position in ("", "x", "-1", "99999", "1", "3", "1e3", "9" * 30):
        assert open_page.get(f"/page/decision?position={position}").status in (400, 404)
    loop.erase("e0")
    assert open_page.get("/page/decision?position=2").status == 404


def test_an_explanation_lists_what_adds_most_whatever_its_sign(tmp_path):
    with open_loop(tmp_path) as loop:
        for number in range(200):
            noise = {f"f{i}": (number * (i + 1)) % 7 / 7 for i in range(29)}
            loop.decide({**noise, "bad": number % 2}, event_id=f"e{number}")
            loop.reward(f"e{number}", 1 - number % 2)
        loop.checkpoint()
        with threaded(loop) as server:
            position = loop.status().position - 1  # of a decision with what is bad
            features = server.get(f"/page/decision?position={position}").json["features"]
    sizes = [max(map(abs, feature["adds"])) for feature in features[:-1]]
    assert (features[0]["name"], features[-1]["name"]) == ("bad", "1 more")
    assert max(features[0]["adds"]) < 0
    assert sizes == sorted(sizes, reverse=True)


def test_an_explanation_reads_the_newest_checkpoint_and_stops_no_decision(loop, open_page, monkeypatch):
    loop.checkpoint()
    monkeypatch.setattr(type(loop), "model", None)  # which holds up decisions while it writes the model's bytes
    assert open_page.get("/page/decision?position=2").status == 200


def test_actions_with_features_are_explained(tmp_path):
    with Loop.open(tmp_path / "shop.db", actions=None, reward_range=(0, 1)) as loop, threaded(loop) as server:
        loop.decide({"user": "Tom"}, [{"price": 1.0}, {"price": 2.0}], action_ids=["a", "b"], event_id="e1")
        loop.reward("e1", 1)
        told = server.get("/page/decision?position=2").json
        assert told["actions"] == ["a", "b"]
        assert {"user=Tom", "action.price", "user=Tom * action.price"} <= {one["name"] for one in told["features"]}


@pytest.mark.parametrize(
    ("settings", "actions", "features"),
    [
        ({"actions": 2, "interactions": ("xx",)}, None, 3 + 9),
        ({"actions": 2}, None, 3),
        ({"actions": None}, [{"d": 1}, {"e": 1, "f": 1}], 2 * 3 + 3 + 3 * 3),  # multiplied with those of the context
        ({"actions": None, "interactions": ()}, [{}, {}], 2 * 3),
    ],
)
def test_an_explanation_looks_at_as_many_features_as_allowed_and_not_one_more(
    tmp_path, monkeypatch, settings, actions, features
):
    """Each has a name: 1,000 features of the context and 1,000 actions took 34 seconds, and more than a gigabyte."""
    with Loop.open(tmp_path / "shop.db", reward_range=(0, 1), **settings) as loop:
        loop.decide({"a": 1, "b": 2, "c": 3}, actions)
        with threaded(loop) as server:
            monkeypatch.setattr(page, "_MOST_EXPLAINED", features)
            assert server.get("/page/decision?position=2").status == 200
            monkeypatch.setattr(page, "_MOST_EXPLAINED", features - 1)
            answer = server.get("/page/decision?position=2")
    assert answer.status == 413
    assert f"the actions of record 2 have up to {features} features together" in answer.error


def test_a_page_that_only_shows(loop):
    with threaded(loop, is_read_only=True, tokens=[TOKEN.encode()]) as server:
        cookie = cookie_of(server).partition(";")[0]
        with events(server, cookie=cookie) as told:
            assert next(told)["about"]["is_read_only"] is True
        assert server.post("/page/rollback", {"generation": 1}, cookie=cookie).status == 403
        known = {"authorization": f"Bearer {TOKEN}"}
        assert server.ask("GET", "/status", headers=known).status == 404
        assert server.ask("POST", "/decide", {"context": {}}, known).status == 404


def test_watch_shows_a_journal_that_somebody_else_may_write(loop, tmp_path):
    with watching(tmp_path / "news.db") as (url, process):
        server = Served(url)
        assert server.get("/").status == 200
        assert server.get("/status").status == 404
        with events(server) as told:
            first = next(told)
            assert first["about"]["is_read_only"] is True
            assert first["status"]["role"] == "decider"
            next(one for one in told if one["live"].get("played"))
            loop.decide({"user": "Tom", "hour": 1}, event_id="while it watches")
            next(one for one in told if one["live"]["recent"][0]["event_id"] == "while it watches")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert loop.status().role == "learner"
    with pytest.raises(FileNotFoundError, match="there is no journal"):
        run_watch(str(tmp_path / "none.db"), 0, opens=False, as_json=True)


@contextlib.contextmanager
def watching(journal):
    command = [sys.executable, FASTCB, "watch", str(journal), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield json.loads(process.stdout.readline())["url"], process
        finally:
            process.kill()
