"""What the endpoints answer, and that it is what the loop says."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from loop.support import Clock, open_loop
from serve.servers import PATIENCE, threaded
from vw_fastcb import FastCB
from vw_fastcb.loop import Counts
from vw_fastcb.serve import published, server
from vw_fastcb.serve.endpoints import Service, routes
from vw_fastcb.serve.errors import ApiError
from vw_fastcb.serve.published import PublishedModels


@pytest.fixture
def loop(tmp_path):
    with open_loop(tmp_path) as opened:
        yield opened


@pytest.fixture
def news(loop):
    """A server of three fixed actions."""
    with threaded(loop) as server:
        yield server


def test_a_decision_has_what_the_loop_says_of_it(news, loop):
    answer = news.post("/decide", {"event_id": "e1", "context": {"user": {"name": "Tom"}, "tags": ["a", "b"]}})
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    said = answer.json
    assert list(said) == ["event_id", "action", "name", "probability", "pmf", "generation"]
    made = loop.decide(
        {"user": {"name": "Tom"}, "tags": ["a", "b"]}, event_id="e1"
    )  # the same answer, from the journal
    assert said == {**said, "event_id": "e1", "action": made.action, "name": made.name}
    assert (said["probability"], said["pmf"], said["generation"]) == (made.probability, made.pmf.tolist(), 0)


def test_a_decision_without_an_id_gets_one_of_its_own(news):
    first, second = (news.post("/decide", {"context": {"a": 1}}).json["event_id"] for _ in range(2))
    assert first != second


def test_the_same_event_gets_the_same_answer_and_another_one_is_a_conflict(news):
    asked = {"event_id": "e1", "context": {"user": "Tom"}}
    first = news.post("/decide", asked)
    for number in range(30):
        event = news.post("/decide", {"context": {"user": "Tom"}}).json
        assert news.post("/reward", {"event_id": event["event_id"], "value": number % 2}).status == 204
    assert news.post("/decide", asked).body == first.body
    other = news.post("/decide", {"event_id": "e1", "context": {"user": "Anna"}})
    assert (other.status, other.json["error"]["code"]) == (409, "conflict")
    assert "'e1' was decided before" in other.error


def test_rewards_are_learned_and_count_once_with_an_id(news, loop):
    news.post("/decide", {"event_id": "e1", "context": {"user": "Tom"}})
    for _ in range(3):
        answer = news.post("/reward", {"event_id": "e1", "value": 1, "reward_id": "click"})
        assert (answer.status, answer.body) == (204, b"")
    assert (loop.status().learned, loop.status().counts["rewards"]) == (1, 1)
    assert news.post("/reward", {"event_id": "e1", "value": 0, "reward_id": "click"}).status == 409


def test_a_journal_of_costs_takes_costs(tmp_path):
    with open_loop(tmp_path, reward_range=None, cost_range=(0, 5)) as loop, threaded(loop) as server:
        server.post("/decide", {"event_id": "e1", "context": {"a": 1}})
        assert "report them with POST /cost" in server.post("/reward", {"event_id": "e1", "value": 5}).error
        assert loop.status().learned == 0
        assert server.post("/cost", {"event_id": "e1", "value": 5}).status == 204
        assert "expected a number in [0.0, 5.0]" in server.post("/cost", {"event_id": "e1", "value": 6}).error
        assert loop.status().learned == 1


def test_a_journal_of_rewards_takes_no_costs(news, loop):
    news.post("/decide", {"event_id": "e1", "context": {"user": "Tom"}})
    answer = news.post("/cost", {"event_id": "e1", "value": 1})
    assert (answer.status, "report them with POST /reward" in answer.error) == (400, True)
    assert loop.status().counts["rewards"] == 0


def test_nothing_is_learned_of_a_decision_that_was_not_activated(tmp_path):
    clock = Clock()
    with open_loop(tmp_path, wait="1min", default_reward=0, clock=clock) as loop, threaded(loop) as server:
        for name in ("seen", "unseen"):
            server.post("/decide", {"event_id": name, "context": {"a": 1}, "activate": False})
        assert server.post("/activate", {"event_id": "seen"}).status == 204
        clock.now += 61_000
        loop.tick()
        counts = loop.status().counts
    assert (counts["learned_defaults"], counts["unactivated"]) == (1, 1)


def test_excluded_actions_have_no_probability(news):
    said = news.post("/decide", {"context": {"a": 1}, "exclude": ["music", 0]}).json
    assert (said["name"], said["pmf"]) == ("sports", [0, 1, 0])


def test_decisions_may_bring_their_actions_with_or_without_ids(tmp_path):
    with open_loop(tmp_path, actions=None) as loop, threaded(loop) as server:
        actions = [{"id": "a17", "features": {"topic": "sports"}}, {"id": "a18", "features": {"topic": "music"}}]
        said = server.post("/decide", {"context": {"user": "Tom"}, "actions": actions, "exclude": ["a17"]}).json
        assert (said["name"], said["action"], said["pmf"]) == ("a18", 1, [0, 1])
        nameless = [{"features": one["features"]} for one in actions]
        assert server.post("/decide", {"context": {"user": "Tom"}, "actions": nameless}).json["name"] is None
        half = server.post("/decide", {"context": {"user": "Tom"}, "actions": [actions[0], nameless[1]]})
        assert (half.status, half.error) == (400, "1 of 2 actions have an id; expected all of them, or none.")
        missing = server.post("/decide", {"context": {"user": "Tom"}})
        assert (missing.status, missing.error.partition(":")[0]) == (400, "actions are missing")


def test_contexts_may_be_rows_of_numbers(tmp_path):
    with open_loop(tmp_path, columns=3) as loop, threaded(loop) as server:
        assert server.post("/decide", {"context": [1, 2.5, -3]}).status == 200
        assert server.post("/decide", {"context": [1, 2.5]}).status == 400


def test_status_is_the_status_of_the_loop(news, loop):
    news.post("/decide", {"event_id": "e1", "context": {"a": 1}})
    said = news.get("/status").json
    assert said == {**loop.status().to_dict(), "settings": json.loads(json.dumps(loop.settings))}


def test_the_model_is_that_of_the_newest_checkpoint(news, loop):
    answer = news.get("/model")
    assert FastCB.from_bytes(answer.body).action_names == ["politics", "sports", "music"]
    assert answer.headers["fastcb-generation"] == "0"
    for number in range(20):
        news.post("/decide", {"event_id": f"e{number}", "context": {"user": "Tom"}})
        news.post("/reward", {"event_id": f"e{number}", "value": 1})
    generation = loop.checkpoint()
    then = loop.model().to_bytes()
    news.post("/decide", {"event_id": "later", "context": {"user": "Tom"}})
    news.post("/reward", {"event_id": "later", "value": 0})
    answer = news.get("/model")
    assert answer.headers["fastcb-generation"] == str(generation)
    assert answer.body == then != loop.model().to_bytes()


def test_those_who_look_at_the_model_and_those_who_decide_do_not_wait_for_each_other(news, loop):
    news.post("/decide", {"event_id": "e1", "context": {"user": "Tom"}})
    loop.checkpoint()
    with ThreadPoolExecutor(1) as pool:
        with loop._worker._state:  # what decisions need
            answer = pool.submit(news.get, "/model").result(PATIENCE)
        assert answer.status == 200


def test_a_large_model_is_sent_in_pieces_that_all_share(loop, monkeypatch):
    monkeypatch.setattr(published, "_PIECE", 10_000)
    models = PublishedModels(loop)
    loop.decide({f"name {number}": "x" * 50 for number in range(20_000)}, event_id="e1")
    loop.checkpoint()
    first = models.newest()
    assert models.newest() is first
    assert b"".join(first.pieces()) == first.content
    assert max(map(len, first.pieces())) < len(first.content)
    loop.decide({"user": "Tom"}, event_id="e2")
    loop.checkpoint()
    assert models.newest().generation == first.generation + 1


def test_metrics_count_requests_and_what_is_in_the_journal(news, loop):
    for number in range(5):
        news.post("/decide", {"event_id": f"e{number}", "context": {"a": 1}})
    for number in range(3):
        news.post("/reward", {"event_id": f"e{number}", "value": 1})
    news.post("/reward", {"event_id": "e1", "value": 7})
    news.get("/nowhere/1")
    news.get("/nowhere/2")
    found = news.metrics()
    counts = loop.status().counts
    assert counts["decisions"] == 5
    assert {name: found[f"fastcb_journal_{name}_total"] for name in counts} == counts
    assert set(counts) == set(Counts.__dataclass_fields__)
    assert found['fastcb_http_requests_total{code="200",method="POST",route="/decide"}'] == 5
    assert found['fastcb_http_requests_total{code="400",method="POST",route="/reward"}'] == 1
    assert found['fastcb_http_requests_total{code="404",method="GET",route="other"}'] == 2
    assert found['fastcb_http_request_seconds_count{route="/decide"}'] == 5
    assert found["fastcb_http_in_flight"] == 1  # who asks for this
    assert (found["fastcb_loop_ready"], found["fastcb_loop_is_learner"], found["fastcb_loop_position"]) == (1, 1, 9)


def test_only_the_learner_tells_totals_of_the_journal(news, tmp_path):
    news.post("/decide", {"context": {"a": 1}})
    with open_loop(tmp_path, learn=False) as second, threaded(second) as server:
        found = server.metrics()
    assert not [name for name in found if name.startswith("fastcb_journal_")]
    assert (found["fastcb_loop_is_learner"], found["fastcb_loop_has_learner"], found["fastcb_loop_position"]) == (
        0,
        1,
        2,
    )


def test_health_says_when_the_loop_is_not_ready(tmp_path):
    clock = Clock()
    with open_loop(tmp_path, clock=clock) as loop, threaded(loop) as server:
        assert (server.get("/health/live").json, server.get("/health/ready").json) == (
            {"status": "live"},
            {"status": "ready"},
        )
        loop.decide({"a": 1})
        clock.now -= 10_000
        late = server.get("/health/ready")
        assert (late.status, late.headers["retry-after"]) == (503, "1")
        assert "10000 ms ahead" in late.error
        assert server.get("/health/live").status == 200


@pytest.fixture
def services(monkeypatch):
    """What the servers that start from now on share among their endpoints."""
    made = []

    class Noted(Service):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(server, "Service", Noted)
    return made


def test_a_server_that_stops_is_not_ready(loop, services):
    """Nobody is to send it anything more, although it answers what is there already."""
    with threaded(loop) as news:
        (service,) = services
        assert news.get("/health/ready").status == 200
        assert not service.is_stopping
    assert service.is_stopping
    ready = next(one.endpoint for one in routes(service, b"") if one.path == "/health/ready")
    with pytest.raises(ApiError, match=r"the server is stopping\.") as refusal:
        asyncio.run(ready({}, None, None))
    assert refusal.value.status == 503


def test_the_latency_of_decisions_is_that_of_decisions_that_were_made(loop, services):
    with threaded(loop) as news:
        (service,) = services
        for number in range(3):
            assert news.post("/decide", {"event_id": f"e{number}", "context": {"user": "Tom"}}).status == 200
        assert news.post("/reward", {"event_id": "e1", "value": 1}).status == 204
        assert news.post("/decide", {"event_id": "e1", "context": {"user": "Anna"}}).status == 409
        assert news.post("/decide", {"context": 3}).status == 400
        assert news.get("/decide").status == 405
        for path in ("/status", "/health/ready", "/metrics", "/model"):
            assert news.get(path).status == 200
        assert len(service.metrics.decided) == 3
        assert all(0 < seconds < PATIENCE for seconds in service.metrics.decided)


def test_many_clients_share_commits_and_each_gets_its_own_answer(news, loop):
    def visit(number):
        said = news.post("/decide", {"event_id": f"e{number}", "context": {"user": f"u{number % 5}"}}).json
        news.post("/reward", {"event_id": f"e{number}", "value": number % 2})
        return said

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(visit, range(80)))
    assert [one["event_id"] for one in answers] == [f"e{number}" for number in range(80)]
    assert (loop.status().position, loop.status().learned) == (161, 80)
    for number in range(0, 80, 9):
        assert loop.decide({"user": f"u{number % 5}"}, event_id=f"e{number}").pmf.tolist() == answers[number]["pmf"]


def test_a_journal_that_another_process_writes_to_stops_no_other_request(news, loop):
    for _ in range(20):  # until commits are quick, as the first one is not
        assert news.post("/decide", {"context": {"a": 1}}).status == 200
    other = sqlite3.connect(str(loop._worker.journal), isolation_level=None)
    with ThreadPoolExecutor(3) as pool, contextlib.closing(other):  # which gives up what it holds, whatever happens
        other.execute("BEGIN IMMEDIATE")
        waiting = [pool.submit(news.post, "/decide", {"context": {"a": number}}) for number in range(3)]
        end = time.monotonic() + PATIENCE
        while news.metrics()["fastcb_http_in_flight"] < 4:  # the three, and this one
            assert time.monotonic() < end
        assert news.get("/health/live").status == 200
        assert not any(one.done() for one in waiting)
        other.execute("ROLLBACK")
        assert [one.result().status for one in waiting] == [200] * 3
    assert loop.status().counts["decisions"] == 23


def test_a_request_that_is_refused_harms_no_other_of_its_commit(tmp_path):
    with open_loop(tmp_path, mismatch="refuse") as loop, threaded(loop) as news:
        one_commit_with_refusals(news, loop)


def one_commit_with_refusals(news, loop):
    def ask(number):
        context = {"age": 3} if number % 3 else {"age": "old"}
        return news.post("/decide", {"event_id": f"e{number}", "context": context}).status

    assert ask(1) == 200
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(2, 42)))
    assert found == [200 if number % 3 else 400 for number in range(2, 42)]
    assert loop.status().counts["decisions"] == 1 + found.count(200)
    assert loop.status().dead_letters == 0


def test_the_page_and_the_document_name_every_path(news):
    page = news.get("/").body.decode()
    document = news.get("/openapi.json").json
    assert document["openapi"].startswith("3.1")
    own = [path for path in document["paths"] if not path.startswith("/personalizer")]
    assert sorted(own) == sorted(
        [
            "/",
            "/decide",
            "/reward",
            "/cost",
            "/activate",
            "/status",
            "/model",
            "/metrics",
            "/health/live",
            "/health/ready",
            "/openapi.json",
        ]
    )
    assert [path for path in own if path not in page] == []


def test_without_a_token_nobody_asks_under_a_name_that_is_not_this_machine_s(news):
    for path in ("/status", "/model", "/metrics", "/decide"):
        answer = news.ask("GET", path, headers={"Host": f"evil.example:{news.port}"})
        assert (answer.status, "evil" in answer.error) == (403, False)
    for host in ("localhost", "127.0.0.1", "[::1]"):
        assert news.get("/status", Host=f"{host}:{news.port}").status == 200
    assert news.get("/health/live", Host="evil.example").status == 200
