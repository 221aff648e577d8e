"""Threads of a learner and of a decider on one journal, with checkpoints and new models all the time."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from loop.reference import check, undisturbed
from loop.support import journal_at, open_loop
from vw_fastcb import FastCB, Loop
from vw_fastcb.loop.model import sha256
from vw_fastcb.loop.replay import replay


def in_threads(works):
    with ThreadPoolExecutor(len(works)) as pool:
        for future in [pool.submit(work) for work in works]:
            future.result(120)


def decide_and_reward(loop, name, count):
    for i in range(count):
        event = f"{name}-{i}"
        decision = loop.decide({"user": f"u{i % 5}", "hour": i % 24, f"only {name}": 1}, event_id=event)
        loop.reward(event, float(decision.action == i % 3))


@pytest.mark.parametrize("settings", [{}, {"oracle": "newton"}], ids=["gd", "newton"])
def test_deciders_learner_checkpoints_and_new_models_at_once_make_the_model_of_one_thread(tmp_path, settings):
    """Each probability is that of the generation it names, and each generation what its records make."""
    count = 25
    with (
        open_loop(tmp_path, checkpoint_every="1ms", keep_generations=50, **settings) as learner,
        Loop.open(tmp_path / "loop.db", learn=False) as decider,
    ):
        playing, ended = itertools.count(), threading.Event()

        def play(loop, name):
            try:
                decide_and_reward(loop, name, count)
            finally:
                if next(playing) == 7:
                    ended.set()

        def until_then(work):
            work()
            while not ended.is_set():
                work()

        others = [
            learner.checkpoint,
            learner.status,
            decider.status,
            decider.tick,
            learner.model,
            lambda: FastCB.from_bytes(decider.model().to_bytes()),
        ]
        in_threads(
            [
                *(lambda name=name: play(learner, f"l{name}") for name in range(4)),
                *(lambda name=name: play(decider, f"d{name}") for name in range(4)),
                *(lambda work=work: until_then(work) for work in others),
            ]
        )
        learner.decide({"user": "u1", "hour": 1})  # its commit brings the others' records, too
        status = learner.status()
        assert (status.counts["decisions"], status.learned, status.lag) == (8 * count + 1, 8 * count, 0)
        learned = sha256(learner.model().to_bytes())
    assert undisturbed(tmp_path / "loop.db").sha256 == learned
    assert len(check(tmp_path / "loop.db")) > 1
    with journal_at(tmp_path / "loop.db") as journal:
        found = replay(journal)
    assert found.agrees, found.differences
    assert found.decisions == 8 * count + 1
