"""Threads that share commits: everybody's turn comes, whatever becomes of the others."""

import contextlib
import threading
import time

import pytest

from vw_fastcb.loop.commits import SharedCommits


class Stopped(BaseException):
    """As Ctrl-C."""


def in_threads(work, count):
    threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads), "somebody waits for ever"


def test_each_item_is_committed_once_before_its_caller_goes_on():
    committed, is_committing = [], threading.Lock()

    def commit(items):
        assert is_committing.acquire(blocking=False), "two commits at once"
        time.sleep(0.0005)
        committed.extend(items)
        is_committing.release()

    commits = SharedCommits(commit, lambda items: None)
    missing = []

    def work(k):
        for i in range(100):
            commits.submit([(k, i)])
            if (k, i) not in committed[-200:]:
                missing.append((k, i))

    in_threads(work, 32)
    assert not missing
    assert sorted(committed) == [(k, i) for k in range(32) for i in range(100)]


def test_threads_that_come_back_are_committed_together():
    sizes = []

    def commit(items):
        sizes.append(len(items))
        time.sleep(0.002)

    commits = SharedCommits(commit, lambda items: None)
    in_threads(lambda k: [commits.submit([k]) for _ in range(50)], 16)
    assert sum(sizes) == 16 * 50
    assert len(sizes) < 16 * 50 / 4


def test_a_caller_that_does_something_else_keeps_nobody_waiting():
    commits = SharedCommits(lambda items: time.sleep(0.001), lambda items: None)
    slowest = []

    def work(k):
        if k < 16:
            commits.submit([k])
            time.sleep(1.5)
            return
        end, longest = time.monotonic() + 1, 0.0
        while time.monotonic() < end:
            start = time.monotonic()
            commits.submit([k])
            longest = max(longest, time.monotonic() - start)
        slowest.append(longest)

    in_threads(work, 20)
    assert max(slowest) < 1


@pytest.mark.parametrize("every", [1, 3])
def test_where_one_that_commits_is_stopped_the_others_are_told_and_go_on(every):
    told, committed, rounds = [], [], []

    def commit(items):
        rounds.append(len(items))
        time.sleep(0.001)
        if len(rounds) % every == 0:
            raise Stopped
        committed.extend(items)

    commits = SharedCommits(commit, told.extend)

    def work(k):
        for i in range(30):
            with contextlib.suppress(Stopped):
                commits.submit([(k, i)])

    in_threads(work, 12)
    assert sorted(told + committed) == [(k, i) for k in range(12) for i in range(30)]


def test_where_one_that_waits_is_stopped_the_next_one_commits():
    """Only a signal can stop a thread that waits; here its place is given up for it."""
    begun, ends, committed = threading.Event(), threading.Event(), []

    def commit(items):
        committed.append(list(items))
        begun.set()
        ends.wait(60)

    commits = SharedCommits(commit, lambda items: None)
    submitted = [threading.Thread(target=commits.submit, args=([k],), daemon=True) for k in range(4)]
    submitted[0].start()
    begun.wait(60)
    for k, thread in enumerate(submitted[1:], 1):
        thread.start()
        while commits._open is None or len(commits._open.callers) < k:
            time.sleep(0.001)
    first = commits._open.callers[0]
    with commits._mutex:
        commits._give_up(first)
    ends.set()
    for thread in (submitted[0], *submitted[2:]):
        thread.join(timeout=60)
        assert not thread.is_alive(), "somebody waits for ever"
    assert committed == [[0], [1, 2, 3]]
    assert not commits._awake
    first.wake()
    submitted[1].join(timeout=60)
    assert not submitted[1].is_alive()
