"""Two processes that both believe to be the one that learns."""

import select
import time

import pytest

from loop import reference
from loop.member import Member
from loop.support import journal_at
from vw_fastcb import Loop
from vw_fastcb.loop.redis import RedisJournal

SETTINGS = {"actions": ["politics", "sports", "music"], "reward_range": (0, 1), "seed": 3}


def serve(member, first, last):
    for i in range(first, last):
        event = f"e{i}"
        made = member.ask("decide", {"user": f"u{i % 5}", "hour": i % 24}, event_id=event)
        assert "error" not in made, made
        assert member.ask("reward", event, float(made["action"] == 1)) is None


def pause(learner, other):
    """Stops a process, but not inside a transaction, where SQLite would let nobody else write."""
    while True:
        learner.stop()
        other.tell("reward", "nobody", 0.5)
        if _answers(other):
            assert other.answer() is None
            return
        learner.go_on()
        assert other.answer() is None
        time.sleep(0.01)


def _answers(member):
    return bool(select.select([member.process.stdout], [], [], 0.3)[0])


def staged(path):
    """How many parts are in the journal of a model that is not saved yet."""
    with journal_at(path) as journal:
        if isinstance(journal, RedisJournal):
            store = journal._store
            models = {one.decode() for one in store.server.ask(lambda client: client.hkeys(store.key("models")))}
            return len(models - {one.sha256 for one in journal.checkpoints()})
        query = "SELECT count(*) FROM model WHERE sha256 NOT IN (SELECT sha256 FROM generation)"
        return journal._db.execute(query).fetchone()[0]


@pytest.mark.parametrize("is_saving", [False, True], ids=["idle", "amid-a-checkpoint"])
def test_a_learner_that_was_paused_is_fenced_off_and_goes_on_as_a_decider(home, is_saving):
    path = home / "loop.db"
    Loop.open(path, **SETTINGS).close()
    options = {"lease": "2s", "checkpoint_every": "1h", "keep_generations": 100}
    a = Member(path, pause=0.005 if is_saving else 0, part=40, **options)
    b = Member(path, part=40, **options)
    try:
        serve(a, 0, 20)
        assert a.ask("status")["role"] == "learner"
        assert b.ask("status")["role"] == "decider"
        if is_saving:
            a.tell("checkpoint")
            end = time.monotonic() + 60
            while not staged(path):
                assert time.monotonic() < end
                time.sleep(0.01)
        else:
            assert a.ask("checkpoint") > 0
        pause(a, b)
        b.until(role="learner")
        assert (staged(path) > 0) == is_saving
        serve(b, 20, 40)
        generation = b.ask("checkpoint")
        a.go_on()
        refused = a.answer() if is_saving else a.ask("checkpoint")
        assert refused["error"] == "Fenced"
        a.until(role="decider", generation=generation)
        serve(a, 40, 50)
        b.until(lag=0)
        generation = b.ask("checkpoint")
        a.until(role="decider", generation=generation)
        assert a.ask("decide", {"user": "u1", "hour": 2}, event_id="last")["generation"] == generation
        assert b.ask("status")["role"] == "learner"
    finally:
        a.end()
        b.end()
    Loop.open(path, keep_generations=100).close()
    kept = reference.check(path)
    assert sorted(kept) == list(range(1, max(kept) + 1))
    assert kept[max(kept)] == reference.undisturbed(path)
    assert kept[max(kept)].events == 50


def test_a_checkpoint_of_an_earlier_lease_is_refused_although_the_process_learns_again(home):
    """The thread that saves is paused between two of its commits. Meanwhile the lease is lost, and taken again."""
    path = home / "loop.db"
    with Loop.open(path, **SETTINGS, checkpoint_every="1h", keep_generations=100) as loop:
        for i in range(20):
            loop.reward(loop.decide({"user": f"u{i % 5}"}, event_id=f"e{i}").event_id, 1)
        worker = loop._worker
        real = worker.journal.checkpoint_tasks

        def interrupted(new):
            tasks = list(real(new))
            yield tasks[0]
            with Loop.open(path, take_over=True) as other:  # learns, saves, and gives the lease back
                other.reward(other.decide({"user": "u1"}, event_id="other").event_id, 0)
            loop.reward("nobody", 1)  # notices
            while not worker.is_learner:
                worker.upkeep()
            yield from tasks[1:]

        worker.journal.checkpoint_tasks = interrupted
        with pytest.raises(Exception, match="taken over"):
            loop.checkpoint()
        worker.journal.checkpoint_tasks = real
        loop.reward(loop.decide({"user": "u2"}, event_id="more").event_id, 1)
        loop.checkpoint()
    kept = reference.check(path)
    assert kept[max(kept)] == reference.undisturbed(path)


def test_whoever_lost_the_lease_cannot_give_it_back(home):
    """A process that could not begin to learn gives its lease back, perhaps after another one has taken it."""
    Loop.open(home / "loop.db", **SETTINGS).close()
    with journal_at(home / "loop.db") as slow, journal_at(home / "loop.db") as quick:
        lost = slow.take_lease(60_000)
        held = quick.take_lease(60_000, by_force=True)
        slow.release(lost)
        assert slow.lease() == held
        assert slow.take_lease(60_000) is None
        quick.release(held)
        assert not slow.lease().is_live
