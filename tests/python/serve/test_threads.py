"""Clients at once, of a server that learns and of another that follows it: each answer is stored, and right."""

from concurrent.futures import ThreadPoolExecutor

from loop.reference import check
from loop.support import journal_at, open_loop
from serve.servers import threaded
from vw_fastcb import FastCB, Loop
from vw_fastcb.loop.replay import replay

COUNT = 20


def play(server, name):
    for i in range(COUNT):
        event = f"{name}-{i}"
        made = server.post("/decide", {"event_id": event, "context": {"user": f"u{i % 5}", "hour": i}}).json
        assert server.post("/reward", {"event_id": event, "value": float(made["action"] == i % 3)}).status == 204


def look(server):
    for _ in range(COUNT // 2):
        FastCB.from_bytes(server.get("/model").body)
        for path in ("/status", "/metrics", "/health/ready"):
            assert server.get(path).status == 200


def test_clients_of_a_learner_and_of_a_decider_at_once_get_answers_that_replay_computes_again(tmp_path):
    with (
        open_loop(tmp_path, checkpoint_every="1ms", keep_generations=50) as learner,
        Loop.open(tmp_path / "loop.db", learn=False) as decider,
        threaded(learner) as first,
        threaded(decider) as second,
        ThreadPoolExecutor(8) as pool,
    ):
        learner.checkpoint()
        works = [(play, first, "a"), (play, first, "b"), (play, first, "c"), (look, first)]
        works += [(play, second, "d"), (play, second, "e"), (play, second, "f"), (look, second)]
        for future in [pool.submit(*work) for work in works]:
            future.result(120)
        learner.decide({"user": "u1"})  # its commit brings the others' records, too
        assert learner.status().learned == 6 * COUNT
    assert len(check(tmp_path / "loop.db")) > 1
    with journal_at(tmp_path / "loop.db") as journal:
        found = replay(journal)
    assert found.agrees, found.differences
    assert found.decisions == 6 * COUNT + 1
