"""Memory is bounded in bytes: decisions at hand, what a twin is to learn, names, and what is read at once."""

import gc
import tracemalloc

import pytest

from loop import reference
from loop.support import journal_at, open_loop
from vw_fastcb.loop import learner
from vw_fastcb.loop.loop import published_model
from vw_fastcb.loop.replay import replay


@pytest.fixture
def memory():
    """Gives the megabytes that Python has taken since the test began, and the most of them at a time."""
    gc.collect()
    tracemalloc.start()

    def taken():
        gc.collect()
        return [number / 1e6 for number in tracemalloc.get_traced_memory()]

    yield taken
    tracemalloc.stop()


def agrees(path):
    reference.check(path)
    with journal_at(path) as journal:
        found = replay(journal)
    assert found.agrees, found.differences


def new_names(number, count=2000):
    return {f"{number}.{one}": 1 for one in range(count)}


def test_decisions_at_hand_and_their_updates_have_a_bound_in_bytes(tmp_path, monkeypatch, memory):
    monkeypatch.setattr(learner, "_BYTES_AT_HAND", 1_000_000, raising=False)
    with open_loop(tmp_path, checkpoint_every="1h", bits=20) as loop:
        loop.decide({"hour": 9})
        before, _ = memory()
        for number in range(40):  # 13 MB of dictionaries
            loop.decide(new_names(number), event_id=f"e{number}")
            loop.reward(f"e{number}", 1)
        after, _ = memory()
        assert after - before < 4
        assert loop.status().learned == 40
    agrees(tmp_path / "loop.db")


def test_what_was_let_go_of_is_learned_all_the_same(home, monkeypatch):
    monkeypatch.setattr(learner, "_BYTES_AT_HAND", 1000, raising=False)
    with open_loop(home, checkpoint_every="1h") as loop:
        for number in range(20):
            loop.decide({"hour": number, "user": f"u{number % 3}"}, event_id=f"e{number}")
        loop.checkpoint()  # makes a twin
        for number in range(10):
            loop.reward(f"e{number}", number % 2)
        loop.checkpoint()
        for number in range(10, 20):
            loop.decide({"hour": number}, event_id=f"later {number}")
            loop.reward(f"e{number}", number % 2)
        assert loop.status().learned == 20
    agrees(home / "loop.db")


def test_names_have_a_bound_in_characters_and_longer_ones_are_decided_with_all_the_same(tmp_path):
    with open_loop(tmp_path) as loop:
        loop.decide({"age": 31}, event_id="first")
        for number in range(20):
            loop.decide({f"{number}{'x' * 500_000}": 1, "age": "old"}, event_id=f"e{number}")
            loop.reward(f"e{number}", number % 2)
        loop.decide({"late": 1, f"1{'x' * 500_000}": "text"}, event_id="known")
        loop.decide({"late": "text", f"9{'x' * 500_000}": "text"}, event_id="unknown")
        loop.checkpoint()
        assert loop.status().learned == 20
        left_out = loop.status().left_out
        assert left_out.pop("age") == 20
        assert left_out.pop("late") == 1
        ((name, times),) = left_out.items()
        assert (name[:2], times) == ("1x", 1)  # of longer ones nobody knows that they were numbers
        _, content = published_model(loop)
        assert len(content) < 3_000_000
    agrees(tmp_path / "loop.db")


def test_large_records_are_read_a_few_at_a_time(home, memory):
    with open_loop(home) as loop:
        for number in range(60):
            loop.decide({"text": f"{number}{'x' * 500_000}"}, event_id=f"e{number}")
    with journal_at(home / "loop.db") as journal:
        before, _ = memory()
        tracemalloc.reset_peak()
        assert [record.position for record in journal.read()] == list(range(1, 62))
        _, most = memory()
        assert most - before < 20
