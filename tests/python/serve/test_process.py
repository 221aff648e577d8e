"""`fastcb serve` as a process: how it starts, who may ask, how it ends, and what is left of it."""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

from loop.cli import refused
from loop.support import open_loop
from serve.servers import FASTCB, NEWS, PATIENCE, Served, answer_of, serving, start, threaded
from vw_fastcb import Loop
from vw_fastcb.commands.serve import read_settings
from vw_fastcb.loop import JournalFailed
from vw_fastcb.loop.replay import replay
from vw_fastcb.loop.sqlite import SqliteJournal
from vw_fastcb.serve.server import Options, listen, read_tokens

TOKEN = "0123456789abcdef0123456789abcdef"


def test_it_starts_serves_and_ends_in_good_order(tmp_path):
    path, token = tmp_path / "loop.db", tmp_path / "token"
    token.write_text(f"{TOKEN}\n")
    with serving(path, *NEWS, "--token-file", token, "--access-log", tmp_path / "log") as server:
        assert server.started == {
            **server.started,
            "event": "started",
            "pid": server.process.pid,
            "journal": str(path),
            "role": "learner",
        }
        assert server.post("/decide", {"context": {"a": 1}}).status == 401
        server.headers = {"authorization": f"Bearer {TOKEN}"}
        for number in range(20):
            assert server.post("/decide", {"event_id": f"e{number}", "context": {"a": 1}}).status == 200
            assert server.post("/reward", {"event_id": f"e{number}", "value": 1}).status == 204
        code, out, err = server.stop()
    assert (code, err) == (0, "")
    assert json.loads(out) == {"event": "stopped", "position": 41, "learned": 20, "role": "learner"}
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line["status"] for line in lines if line["path"] == "/decide"] == [401] + [200] * 20
    assert set(lines[0]) == {"time", "method", "path", "status", "ms", "bytes", "client"}
    journal = SqliteJournal(path)
    with contextlib.closing(journal):
        assert journal.checkpoints()[-1].position == 41  # made at the end
        assert not journal.lease().is_live
        assert replay(journal).agrees


def test_a_new_journal_has_rewards_unless_costs_are_named(tmp_path):
    with serving(tmp_path / "new.db", "--actions", "a,b") as server:
        assert server.get("/status").json["settings"]["reward_range"] == [0, 1]
        assert server.post("/reward", {"event_id": "e1", "value": 1}).status == 204
    with serving(tmp_path / "costs.db", "--actions", "a,b", "--default-cost", "1") as server:
        assert server.post("/cost", {"event_id": "e1", "value": 1}).status == 204
    with serving(tmp_path / "costs.db", "--actions", "a,b") as server:  # it is there, and stays as it is
        assert server.post("/cost", {"event_id": "e2", "value": 1}).status == 204


def test_connections_stay_within_what_the_system_allows(tmp_path):
    command = f"ulimit -n 132; exec {FASTCB} serve {tmp_path / 'loop.db'} --actions 2 --port 0 --json"
    process = subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    server = Served(json.loads(process.stdout.readline())["url"])
    with contextlib.ExitStack() as stack:
        raws = [stack.enter_context(contextlib.closing(server.raw())) for _ in range(120)]
        time.sleep(1.2)  # idle ones make room then
        assert server.get("/health/live").status == 200
        del raws
    process.terminate()
    _, err = process.communicate(timeout=PATIENCE)
    (warning,) = map(json.loads, err.splitlines())
    assert "at most 36 are taken" in warning["message"]


def test_requests_that_wait_are_answered_before_the_end(tmp_path):
    answers = []
    with open_loop(tmp_path) as loop:
        with threaded(loop, grace=PATIENCE) as server:
            held = loop._worker._state  # nobody can decide while this is held
            held.acquire()
            try:
                asking = [
                    threading.Thread(
                        target=lambda n=number: answers.append(
                            server.post("/decide", {"event_id": f"e{n}", "context": {"a": 1}}).status
                        )
                    )
                    for number in range(5)
                ]
                for thread in asking:
                    thread.start()
                time.sleep(0.5)
                assert answers == []
            finally:
                held.release()
        for thread in asking:
            thread.join()
        assert answers == [200] * 5
        assert loop.status().counts["decisions"] == 5


def test_a_request_that_is_still_arriving_at_the_end_is_told_so(tmp_path):
    with serving(tmp_path / "loop.db", *NEWS, "--grace", "1") as server, contextlib.closing(server.raw()) as raw:
        raw.sendall(
            b"POST /decide HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\ncontent-type: application/json\r\n\r\n{"
        )
        time.sleep(0.2)
        code, _, err = server.stop()
        response = http.client.HTTPResponse(raw)
        response.begin()
        answer = answer_of(response)
    assert (code, answer.status) == (0, 503)
    assert "the server stopped before the request was done" in answer.error
    assert answer.headers["retry-after"] == "1"
    assert "Traceback" not in err


def test_a_log_that_cannot_be_written_harms_nobody(tmp_path):
    with serving(tmp_path / "loop.db", *NEWS, "--access-log", "/dev/full") as server:
        for number in range(5):
            assert server.post("/decide", {"event_id": f"e{number}", "context": {"a": 1}}).status == 200
        code, out, err = server.stop()
    assert (code, json.loads(out)["position"]) == (0, 6)
    (warning,) = map(json.loads, err.splitlines())
    assert "the access log cannot be written to /dev/full: No space left on device" in warning["message"]


def test_with_json_every_line_is_json(tmp_path):
    many = {"context": {f"f{number}": 1.0 for number in range(20_000)}}
    with serving(tmp_path / "loop.db", *NEWS, "--bits", "8", "--oracle", "gd") as server:
        assert server.post("/decide", many).status == 200
        code, _, err = server.stop()
    assert code == 0
    assert any("UserWarning" in json.loads(line)["message"] for line in err.splitlines())


@pytest.mark.slow
def test_a_second_signal_ends_it_at_once(tmp_path):
    path = tmp_path / "loop.db"
    with serving(path, *NEWS, "--grace", "50", "--request-timeout", "50") as server:
        assert server.post("/decide", {"event_id": "e1", "context": {"a": 1}}).status == 200
        with contextlib.closing(server.raw()) as raw:
            raw.sendall(
                b"POST /decide HTTP/1.1\r\nhost: [::1]\r\ncontent-length: 9\r\ncontent-type: application/json\r\n\r\n"
            )
            time.sleep(0.2)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(1)
            assert server.process.poll() is None  # it waits for the body
            code, _, _ = server.stop(signal.SIGINT)
    assert code == 128 + signal.SIGINT
    with Loop.open(path) as loop:
        assert loop.status().counts["decisions"] == 1


def test_after_a_kill_it_goes_on_and_nothing_acknowledged_is_lost(tmp_path):
    path = tmp_path / "loop.db"
    server = start(path, *NEWS)
    said = [server.post("/decide", {"event_id": f"e{n}", "context": {"a": n}}).json for n in range(10)]
    server.kill()
    with serving(path) as server:
        again = [server.post("/decide", {"event_id": f"e{n}", "context": {"a": n}}).json for n in range(10)]
        assert again == said
        assert server.get("/status").json["counts"]["decisions"] == 10
        assert server.metrics()["fastcb_journal_decisions_total"] == 10


@pytest.mark.slow
def test_two_servers_share_a_journal_and_one_takes_over(tmp_path):
    path = tmp_path / "loop.db"
    with serving(path, *NEWS) as first, serving(path, "--no-learn") as second, serving(path) as third:
        assert [one.started["role"] for one in (first, second, third)] == ["learner", "decider", "decider"]
        assert second.post("/decide", {"event_id": "e1", "context": {"a": 1}}).status == 200
        assert third.post("/reward", {"event_id": "e1", "value": 1}).status == 204
        first.kill()
        end = time.monotonic() + PATIENCE
        while third.get("/status").json["role"] != "learner" and time.monotonic() < end:
            time.sleep(0.05)
        assert third.get("/status").json["learned"] == 1
        assert second.get("/status").json["role"] == "decider"


# Who may ask


@pytest.fixture
def guarded(tmp_path):
    with open_loop(tmp_path) as loop, threaded(loop, tokens=[b"first-token-of-two", TOKEN.encode()]) as server:
        yield server


def test_a_token_is_needed_for_everything_that_tells_something(guarded):
    closed = ["/status", "/model", "/metrics", "/nowhere", "/personalizer/v1.0/status"]
    assert [guarded.get(path).status for path in closed] == [401] * len(closed)
    assert [guarded.post(path, {}).status for path in ("/decide", "/reward", "/activate")] == [401] * 3
    assert [guarded.get(path).status for path in ("/", "/health/live", "/health/ready", "/openapi.json")] == [200] * 4


def test_tokens_come_in_two_headers_and_there_may_be_several(guarded):
    good = [
        {"authorization": f"Bearer {TOKEN}"},
        {"authorization": f"bearer {TOKEN}"},
        {"authorization": "Bearer first-token-of-two"},
        {"ocp-apim-subscription-key": TOKEN},
    ]
    bad = [
        {"authorization": TOKEN},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": f"Bearer {TOKEN}x"},
        {"authorization": "Bearer "},
        {"authorization": "Bearer ÿ"},
        {"ocp-apim-subscription-key": TOKEN[:-1]},
        {"ocp-apim-subscription-key": ""},
    ]
    assert [guarded.ask("GET", "/status", headers=one).status for one in good] == [200] * len(good)
    answers = [guarded.ask("GET", "/status", headers=one) for one in bad]
    assert [one.status for one in answers] == [401] * len(bad)
    assert answers[0].headers["www-authenticate"] == "Bearer"
    assert "Authorization: Bearer TOKEN" in answers[0].error


def test_pages_in_a_browser_may_not_ask_where_no_token_is_needed(tmp_path, guarded):
    with open_loop(tmp_path, "other.db") as loop, threaded(loop) as server:
        asked = {"context": {"a": 1}}
        answer = server.post("/decide", asked, origin="http://evil.example")
        assert (answer.status, answer.json["error"]["code"]) == (403, "forbidden")
        assert server.post("/decide", asked).status == 200
    headers = {"origin": "http://shop.example", "authorization": f"Bearer {TOKEN}"}
    assert guarded.ask("POST", "/decide", asked, headers).status == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_addresses_that_others_can_reach_need_a_token(host):
    with pytest.raises(ValueError, match="a token is needed: --token-file FILE"):
        listen(Options(host=host, port=0))
    listen(Options(host=host, port=0, allow_no_token=True)).close()
    listen(Options(host=host, port=0, tokens=[b"x"])).close()


def test_loopback_addresses_need_none():
    for host in ("127.0.0.1", "localhost", "::1"):
        listen(Options(host=host, port=0)).close()


def test_tokens_are_read_one_in_each_line_and_must_be_hard_to_guess(tmp_path):
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n\n  {TOKEN}2 \n")
    assert read_tokens(path) == [TOKEN.encode(), TOKEN.encode() + b"2"]
    for content, words in (
        ("", "holds no token"),
        ("secret\n", "16 to 1024"),
        ("a" * 1025, "16 to 1024"),
        (f"{TOKEN}\0\n", "printable"),
        ("two words in a line\n", "without spaces"),
    ):
        path.write_text(content)
        with pytest.raises(ValueError, match=words):
            read_tokens(path)


def test_it_serves_https(tmp_path):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    try:
        subprocess.run([*made, *names], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs openssl: apt-get install openssl")
    with open_loop(tmp_path) as loop, threaded(loop, certificate=certificate, key=key) as server:
        assert server.url.startswith("https://127.0.0.1:")
        trusted = ssl.create_default_context(cafile=str(certificate))
        with urllib.request.urlopen(f"{server.url}/health/live", context=trusted, timeout=PATIENCE) as answer:
            assert json.load(answer) == {"status": "live"}


# How it is started


@pytest.mark.slow
def test_settings_come_from_a_file_and_options_go_first(tmp_path):
    path = tmp_path / "news.toml"
    path.write_text('actions = ["politics", "sports"]\nreward_range = [0, 1]\nwait = "1min"\ndefault_reward = 0\n')
    assert read_settings(path) == {
        "actions": ["politics", "sports"],
        "reward_range": (0, 1),
        "wait": "1min",
        "default_reward": 0,
    }
    with serving(tmp_path / "loop.db", "--settings", path, "--wait", "2min") as server:
        settings = server.get("/status").json["settings"]
    assert (settings["actions"], settings["wait"], settings["default_reward"]) == (["politics", "sports"], "2min", 0)


def test_files_of_settings_say_what_is_wrong_with_them(tmp_path):
    path = tmp_path / "news.toml"
    path.write_text('actions = "none"\n')
    assert read_settings(path) == {"actions": None}
    for content, words in (
        ("actions =", "is not TOML"),
        ("action = 3", "has 'action'; expected settings of a loop: actions"),
    ):
        path.write_text(content)
        with pytest.raises(ValueError, match=words):
            read_settings(path)


def test_it_says_why_it_does_not_start(tmp_path):
    missing = refused("serve", tmp_path / "none.db", "--port", 0)
    assert "there is no journal" in missing
    assert "give --actions: their names, their number, or none where" in missing
    assert "a token is needed" in refused("serve", tmp_path / "loop.db", *NEWS, "--host", "0.0.0.0")
    assert "belong together" in refused("serve", tmp_path / "loop.db", "--tls-cert", "x.pem", code=2)
    assert "expected one of them" in refused("serve", "x.db", "--no-token", "--token-file", "t", code=2)
    with open_loop(tmp_path):
        differs = refused("serve", tmp_path / "loop.db", "--wait", "1h", "--port", 0)
        relearns = refused("serve", tmp_path / "loop.db", "--oracle", "gd", "--change", "--port", 0)
    assert "wait is 10min in the journal and 1h here" in differs
    assert "or add --change." in differs
    assert "add --relearn to learn the journal again, or --afresh to start empty." in relearns


def test_it_names_the_file_and_the_host_that_it_cannot_use(tmp_path):
    there = tmp_path / "there.pem"
    there.write_text("nothing")
    for certificate, key, words in (
        (tmp_path / "none.pem", there, "none.pem' for TLS: No such file"),
        (there, tmp_path / "none.key", "none.key' for TLS: No such file"),
        (there, there, "are not a certificate and its key"),
    ):
        with pytest.raises(ValueError, match=words):
            listen(Options(port=0, certificate=certificate, key=key))
    for host in ("no-such-host.invalid", "a" * 70 + ".example"):
        with pytest.raises(ValueError, match=f"cannot listen on '{host}'"):
            listen(Options(host=host, port=0))
    assert "--grace" in refused("serve", tmp_path / "loop.db", *NEWS, "--grace", "inf", code=2)


def test_a_port_that_is_taken_is_named():
    with contextlib.closing(listen(Options(port=0))) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"cannot listen on 127.0.0.1, port {port}: Address already in use"):
            listen(Options(port=port))


@pytest.mark.slow
def test_without_the_extra_it_says_what_to_install(tmp_path):
    code = "import sys; sys.modules['uvicorn'] = None; sys.argv = ['fastcb', 'serve', sys.argv[1]]\n"
    code += "from vw_fastcb.commands import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "x.db")], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    how = "pip install 'vw-fastcb[serve]', or '.[serve]' in a clone"
    assert ran.stderr == f"fastcb needs uvicorn, which is not installed. To get it: {how}\n"


def test_a_journal_that_fails_ends_the_server_with_an_error(tmp_path):
    def clean_up_while_it_serves(loop):
        with threaded(loop) as server:
            assert server.post("/decide", {"event_id": "e1", "context": {"a": 1}}).status == 200
            (tmp_path / "loop.db").unlink()
            refused_once = server.post("/decide", {"event_id": "e2", "context": {"a": 1}})
            assert (refused_once.status, refused_once.headers["retry-after"]) == (503, "1")
            end = time.monotonic() + PATIENCE
            with contextlib.suppress(OSError):
                while time.monotonic() < end:
                    server.get("/health/live")
            assert time.monotonic() < end  # it has ended by itself

    with open_loop(tmp_path) as loop, pytest.raises(JournalFailed, match="was removed"):
        clean_up_while_it_serves(loop)
