"""From the first use of a learner to its end: closing, threads, forks, other processes."""

import copy
import multiprocessing
import os
import pickle
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import sklearn.base

from support import goes_on
from vw_fastcb import FastCB
from vw_fastcb.learner.engine import Engine
from workers import ACTIONS, WIDTH, taught, use


def test_a_closed_learner_says_so_and_keeps_its_parameters():
    bandit = taught(gamma_scale=20)
    decision = bandit.decide(np.ones(WIDTH))
    bandit.close()
    bandit.close()
    uses = [
        lambda: bandit.decide(np.ones(WIDTH)),
        lambda: bandit.learn(decision, 0.5),
        lambda: bandit.predict_proba(np.ones((1, WIDTH))),
        lambda: bandit.partial_fit(np.ones((1, WIDTH)), [0], [0.5]),
        lambda: bandit.simulate(np.ones((1, WIDTH)), [0]),
        lambda: bandit.save("model"),
        lambda: bandit.events_,
        bandit.to_workspace,
    ]
    for one in uses:
        with pytest.raises(
            ValueError, match=r"^FastCB\(n_actions=4, gamma_scale=20\.?0?, seed=1\) was closed; make a new learner"
        ):
            one()
    assert sklearn.base.clone(bandit).decide(np.ones(WIDTH)).pmf.tolist() == [0.25] * 4
    with pytest.raises(ValueError, match="was closed"):
        copy.deepcopy(bandit).decide(np.ones(WIDTH))


def test_a_with_block_closes():
    with taught() as bandit:
        assert bandit.events_ == 50
    with pytest.raises(ValueError, match="was closed"):
        bandit.decide(np.ones(WIDTH))
    with FastCB(3):
        pass  # one that was never used


def test_closing_in_the_middle_of_other_threads_is_an_error_there_and_never_a_crash():
    bandit = taught()
    stopped = []

    def work():
        try:
            while True:
                bandit.learn(bandit.decide(np.ones(WIDTH)), 0.5)
        except ValueError as problem:
            stopped.append(str(problem))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    bandit.close()
    for thread in threads:
        thread.join(20)
    assert len(stopped) == 3
    assert all("was closed" in message for message in stopped)


def test_a_workspace_outlives_nothing_and_closes_nothing():
    bandit = taught()
    vw = bandit.to_workspace()
    before = vw.predict("|x 0:1")
    del vw
    np.testing.assert_allclose(bandit.predict_proba(np.eye(1, WIDTH))[0], before, atol=1e-6)
    kept = bandit.to_workspace()
    bandit.close()
    assert kept.predict("|x 0:1") == before


@pytest.mark.parametrize("n_actions", [4, None])
def test_many_threads_learn_all_there_is(n_actions):
    bandit = taught(n_actions)
    features = ACTIONS if n_actions is None else None
    rows = np.random.default_rng(1).random((2000, WIDTH))
    with ThreadPoolExecutor(8) as pool:
        pmfs = list(pool.map(lambda row: one_round(bandit, row, features), rows))
    assert bandit.events_ == 2050
    np.testing.assert_allclose(np.sum(pmfs, axis=1), 1, atol=1e-6)


def one_round(bandit, row, features):
    decision = bandit.decide(row, features)
    bandit.learn(decision, 0.5)
    return decision.pmf


def test_the_first_use_may_come_from_many_threads_at_once():
    for _ in range(20):
        bandit = FastCB(3)
        barrier = threading.Barrier(4)

        def first(barrier=barrier, bandit=bandit):
            barrier.wait()
            bandit.learn(bandit.decide(np.ones(2)), 0.5)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _, first=first: first(), range(4)))
        assert bandit.events_ == 4


class _Waits:
    """Numbers that something happens to when a learner reads them, at which time it has its engine already."""

    def __init__(self, numbers, happens):
        self.numbers = numbers
        self.happens = happens

    def __array__(self, *args, **kwargs):
        self.happens()
        return np.array(self.numbers)

    def __len__(self):
        return len(self.numbers)


def test_a_first_call_that_fails_takes_nothing_away_from_another_thread():
    """It removed the engine that the other one was about to teach, and that event was gone."""
    bandit = FastCB(3)
    has_engine, failed = threading.Event(), threading.Event()

    def teach_later():
        has_engine.set()
        assert failed.wait(20)

    def teach():
        bandit.partial_fit(np.ones((1, 2)), _Waits([0], teach_later), [0.5])

    thread = threading.Thread(target=teach)

    def fail_later():
        thread.start()
        assert has_engine.wait(20)
        raise ValueError("no numbers")

    with pytest.raises(ValueError, match="no numbers"):
        bandit.partial_fit(np.ones((1, 2)), _Waits([0], fail_later), [0.5])
    failed.set()
    thread.join(20)
    assert bandit.events_ == 1


def test_what_two_first_calls_learn_at_once_is_all_learned():
    bandit = FastCB(3)
    both_have_engines = threading.Barrier(2, timeout=20)

    def teach(action):
        waits = iter([both_have_engines.wait])  # the first time that the action is read
        bandit.partial_fit(np.ones((1, 2)), _Waits([action], lambda: next(waits, bool)()), [0.5])  # noqa: PLW0108

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(teach, range(2)))
    twin = FastCB(3).partial_fit(np.ones((2, 2)), [0, 1], [0.5, 0.5])
    assert bandit.events_ == 2
    np.testing.assert_array_equal(bandit.predict_cost(np.ones((1, 2))), twin.predict_cost(np.ones((1, 2))))


@pytest.mark.parametrize("is_alone", [True, False])
def test_what_a_first_call_has_learned_is_kept_when_ctrl_c_comes_at_its_end(is_alone, monkeypatch):
    bandit = FastCB(3)
    learn_many = Engine.learn_many

    def learn_and_be_interrupted(*args, **kwargs):
        learn_many(*args, **kwargs)
        monkeypatch.undo()
        if not is_alone:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(bandit.learn_event, np.ones(2), 0, 0.5).result(20)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Engine, "learn_many", learn_and_be_interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            bandit.partial_fit(np.ones((1, 2)), [1], [0.5])
    finally:
        signal.signal(signal.SIGINT, before)
    assert bandit.events_ == (1 if is_alone else 2)


def test_a_first_call_that_fails_leaves_the_learner_unused():
    bandit = FastCB(3)
    with pytest.raises(ValueError, match="action"):
        bandit.partial_fit(np.ones((1, 2)), [7], [0.5])
    bandit.set_params(n_actions=8).partial_fit(np.ones((1, 2)), [7], [0.5])
    assert bandit.events_ == 1


def test_a_learner_works_while_another_is_inside_a_long_call():
    """With one lock for both, or with the interpreter's held, it would stand still as long as the call takes."""
    slow, quick = FastCB(20), FastCB(3)
    rows = np.random.default_rng(0).random((100_000, 50))
    quick.decide(np.ones(2))
    slow.predict_proba(rows[:1])
    assert goes_on(lambda: quick.learn(quick.decide(np.ones(2)), 0.5), while_in=lambda: slow.predict_proba(rows))


def in_child(work):
    """Runs `work` in a forked child; returns whether it ended well, and soon."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads: the point here
        child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    end = time.monotonic() + 30
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


@pytest.mark.parametrize("forks", [5, pytest.param(50, marks=pytest.mark.slow)])
def test_a_fork_while_other_threads_are_inside_finds_the_learner_free_and_whole(forks):
    bandit, stop = taught(), threading.Event()
    rows = np.random.default_rng(2).random((300, WIDTH))

    def busy():
        while not stop.is_set():
            bandit.partial_fit(rows, [0] * 300, [0.5] * 300)
            bandit.learn(bandit.decide(np.ones(WIDTH)), 0.5)
            bandit.decide_many(rows)

    def child():
        before = bandit.events_
        assert np.isfinite(use(bandit)).all()
        assert bandit.events_ == before + 20
        FastCB(3).simulate(np.eye(3), [0, 1, 2])

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        assert all(in_child(child) for _ in range(forks))
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize(("method", "n_actions"), [("fork", 4), ("fork", None), ("spawn", None), ("forkserver", 4)])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_other_processes_use_a_learner_they_are_given(method, n_actions):
    bandit = taught(n_actions)
    with multiprocessing.get_context(method).Pool(1) as pool:
        there = pool.apply(use, (bandit,))
    assert bandit.events_ == 50
    np.testing.assert_array_equal(there, use(bandit))


def test_joblib_workers_use_a_learner_they_are_given():
    bandit = taught()
    there = joblib.Parallel(n_jobs=2)(joblib.delayed(use)(bandit) for _ in range(2))
    np.testing.assert_array_equal(there[0], there[1])
    np.testing.assert_array_equal(there[0], use(bandit))


def test_a_copy_keeps_its_columns():
    twin = pickle.loads(pickle.dumps(taught()))
    with pytest.raises(ValueError, match="have 3 columns; expected 6, as before"):
        twin.decide(np.ones(3))


def test_ctrl_c_in_a_long_call_comes_when_all_of_it_is_learned():
    contexts = np.random.default_rng(0).random((20_000, 40))
    events = (contexts, np.zeros(20_000, dtype=int), contexts[:, 0])
    bandit, undisturbed = FastCB(2, seed=1), FastCB(2, seed=1).partial_fit(*events)

    def learn_and_wait():
        threading.Timer(0.1, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)).start()
        bandit.partial_fit(*events)
        signal.pause()  # where learning was faster

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            learn_and_wait()
    finally:
        signal.signal(signal.SIGINT, before)
    assert bandit.to_bytes() == undisturbed.to_bytes()  # which also says what columns there are
