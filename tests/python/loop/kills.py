"""Processes that decide, report rewards and learn are killed at random moments: `python -m loop.kills FOLDER`.

The parent forks them, reads from a pipe of each what was acknowledged, sends them rewards to report for each other's
decisions, kills them with SIGKILL, and starts others. What a dead one had asked for without an answer is asked again
with the same ids. In the end the journal must hold everything that was acknowledged, and its model must be that of one
learner which reads it undisturbed.

With --redis the journal is in a redis-server, which is killed as well, and every third process only decides.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import selectors
import signal
import sys
import threading
import time
import traceback
import zlib
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from loop import reference
from loop.redis_server import RedisServer
from loop.support import journal_at
from vw_fastcb.loop import Conflict, Fenced, JournalUnreachable, Loop, UnknownGeneration, sqlite
from vw_fastcb.loop.fingerprint import fingerprint
from vw_fastcb.loop.redis import checkpoints as redis_checkpoints

ACTIONS = ["politics", "sports", "music", "weather"]
SETTINGS = {"actions": ACTIONS, "reward_range": (0.0, 1.0), "wait": "400ms", "default_reward": 0.0, "seed": 11}
WAITS = ("300ms", "400ms", "500ms")


@dataclass(frozen=True)
class Plan:
    """What a run does.

    Attributes:
        kills: How many processes are killed, at least.
        events: How many decisions are acknowledged, at least.
        processes: How many there are at a time.
        threads: Of each process.
        seed: Of everything that is random here.
        aggregation: As of the loop.
        rare: One request in so many is a rollback, an erasure or another wait; 0 for none.
        in_redis: Whether the journal is in a redis-server, which is killed as well.
    """

    kills: int
    events: int
    processes: int = 3
    threads: int = 3
    seed: int = 0
    aggregation: str = "first"
    rare: int = 0
    in_redis: bool = False


def context_of(event_id: str) -> dict[str, Any]:
    number = zlib.crc32(event_id.encode())
    return {"user": f"u{number % 13}", "hour": number % 24, "tags": ["new"] if number & 64 else ["old", "vip"]}


def restore(event_id: str) -> dict[str, Any]:
    from vw_fastcb.loop.contexts import features_of  # noqa: PLC0415

    return {"context": features_of(context_of(event_id), "the context")}


def value_of(event_id: str) -> float:
    return (zlib.crc32(event_id[::-1].encode()) % 9) / 8


# One of the processes


class Member:
    """One process: threads that decide and report, and one that reports what the parent tells it to."""

    def __init__(self, path: Path | str, plan: Plan, name: str, learns: bool, inbox: int, outbox: int) -> None:
        self.path = path
        self.plan = plan
        self.name = name
        self.learns = learns
        self.inbox = inbox
        self.outbox = outbox
        self.ends = threading.Event()

    def main(self) -> None:
        dice = random.Random(f"{self.plan.seed} {self.name}")
        waits = {"wait": dice.choice(WAITS)} if self.plan.rare and dice.random() < 0.2 else {}
        try:
            loop = self._open(waits)
        except Conflict:  # another process changed the settings at the same time
            loop = self._open({})
        self.say("opened", loop.status().role)
        threads = [
            threading.Thread(target=self._guarded, args=(self._decide, loop, number))
            for number in range(self.plan.threads)
        ]
        threads.append(threading.Thread(target=self._guarded, args=(self._report, loop, 0)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        loop.close()
        self.say("closed")

    def _open(self, named: dict[str, Any]) -> Loop:
        options = {"lease": "1s", "checkpoint_every": "60ms", "keep_generations": 3, "learn": self.learns}
        while True:
            with suppress(JournalUnreachable):  # the server has just been killed
                return Loop.open(self.path, **named, change=True, **options)

    def say(self, *what: Any) -> None:
        try:
            os.write(self.outbox, (json.dumps(what) + "\n").encode())  # short: whole, whichever thread writes
        except BrokenPipeError:
            os._exit(5)  # the parent has ended

    def _guarded(self, work: Callable[[Loop, int], None], loop: Loop, number: int) -> None:
        try:
            work(loop, number)
        except BaseException:
            self.say("crashed", traceback.format_exc()[-1500:])
            os._exit(3)

    def _decide(self, loop: Loop, thread: int) -> None:
        dice = random.Random(f"{self.plan.seed} {self.name} {thread}")
        later: deque[str] = deque()
        for count in range(10**9):
            if self.ends.is_set():
                return
            event_id = f"{self.name}.{thread}.{count}"
            if dice.random() < 0.05:
                self.reward(loop, event_id, "early")
            is_active = dice.random() < 0.9
            self.decide(loop, event_id, is_active)
            if not is_active and dice.random() < 0.5:
                loop.activate(event_id)
                self.say("activation", event_id)
            later.append(event_id)
            if dice.random() < 0.5:
                self.reward(loop, later.popleft() if dice.random() < 0.3 else later.pop(), "r")
            while len(later) > 20:
                later.popleft()
            if self.plan.rare and dice.randrange(self.plan.rare) == 0:
                self._rare(loop, dice, event_id)

    def decide(self, loop: Loop, event_id: str, is_active: bool) -> None:
        self.say("asks", event_id, is_active)
        made = loop.decide(context_of(event_id), event_id=event_id, activate=is_active)
        self.say("decision", event_id, made.action, made.probability, loop._worker.is_learner)

    def reward(self, loop: Loop, event_id: str, reward_id: str | None) -> None:
        value = value_of(event_id)
        loop.reward(event_id, value, reward_id)
        self.say("reward", event_id, value, reward_id)

    def _rare(self, loop: Loop, dice: random.Random, event_id: str) -> None:
        if dice.random() < 0.5:
            loop.erase(event_id)
            self.say("erasure", event_id)
            return
        kept = loop.generations()
        if kept:
            # Dropped, or the settings changed, meanwhile; or it is durable, and another process saves.
            with suppress(UnknownGeneration, Conflict, Fenced):
                loop.rollback(dice.choice(kept).generation)

    def _report(self, loop: Loop, _: int) -> None:
        """Does what the parent says: rewards for others' decisions, and what a dead process had asked for."""
        with os.fdopen(self.inbox) as lines:
            for line in lines:
                what, *arguments = json.loads(line)
                if what == "reward":
                    self.reward(loop, *arguments)
                else:
                    self.decide(loop, *arguments)
        self.ends.set()


# The parent


@dataclass
class Child:
    name: str
    pid: int
    inbox: int
    outbox: int
    rest: bytes = b""
    learns: bool = False
    asked: dict[str, bool] = field(default_factory=dict)  # not answered yet

    def hang_up(self) -> None:
        if self.inbox >= 0:
            os.close(self.inbox)
        self.inbox = -1


class Run:
    """Starts processes, kills them, and keeps what they say was acknowledged."""

    def __init__(self, folder: Path, plan: Plan, progress: Callable[[str], None] = lambda _: None) -> None:
        self.server = RedisServer(folder).start() if plan.in_redis else None
        self.path = folder / "shop.db" if self.server is None else self.server.url("shop", patience="10min")
        self.plan = plan
        self.progress = progress
        self.dice = random.Random(plan.seed)
        self.children: list[Child] = []
        self.acknowledged: list[tuple[Any, ...]] = []
        self.counts: Counter[str] = Counter()
        self.unanswered: dict[str, bool] = {}
        self.killed: Counter[str] = Counter()
        self.started = 0
        self.silence = 0.0  # the longest time without a decision, in seconds
        self.heard_at = time.monotonic()
        self.resting_until = 0  # decisions before the next kill
        self.selector = selectors.DefaultSelector()
        fingerprint()  # it takes a while, and children inherit it

    def all(self) -> None:
        try:
            self._all()
        finally:
            for child in self.children:  # none, unless something failed
                os.kill(child.pid, signal.SIGKILL)
                os.waitpid(child.pid, 0)

    def outcome(self) -> Outcome:
        return Outcome(self.path, self.acknowledged, self.killed, self.started, self.silence)

    def close(self) -> None:
        """Ends the server, if there is one."""
        if self.server is not None:
            self.server.end()

    def _all(self) -> None:
        Loop.open(self.path, **SETTINGS, aggregation=self.plan.aggregation).close()
        began = told = time.monotonic()
        next_kill = began + 0.5
        while self.counts["decision"] < self.plan.events or sum(self.killed.values()) < self.plan.kills:
            while len(self.children) < self.plan.processes:
                self._start()
            self._listen(max(0.001, next_kill - time.monotonic()))
            now = time.monotonic()
            if now >= next_kill and self.counts["decision"] >= self.resting_until and self.children:
                if sum(self.killed.values()) < self.plan.kills:
                    if self.server is not None and sum(self.killed.values()) % 3 == 1:
                        self._kill_server(self.server)
                    else:
                        self._kill(self._victim())
                next_kill = now + self._pause(now - began)
            if now - told > 5:
                told = now
                self.progress(
                    f"{now - began:.0f} s: {self.counts['decision']} decisions, {self.counts['reward']} rewards "
                    f"acknowledged, {sum(self.killed.values())} killed"
                )
        self._finish()

    def _pause(self, elapsed: float) -> float:
        """Seconds to the next kill: such that kills and events end at about the same time."""
        left = max(1, self.plan.kills - sum(self.killed.values()))
        rate = max(1.0, self.counts["decision"] / max(elapsed, 0.1))
        mean = max(0.0, (self.plan.events - self.counts["decision"]) / rate / left)
        return self.dice.uniform(0.02, max(0.04, 2 * min(mean, 2.0)))

    def _start(self) -> None:
        inbox, to_child = os.pipe()
        from_child, outbox = os.pipe()
        name = f"p{self.started}"
        self.started += 1
        pid = os.fork()
        if pid == 0:
            code = 4
            try:
                for other in self.children:
                    other.hang_up()
                    os.close(other.outbox)
                self.selector.close()
                os.close(to_child)
                os.close(from_child)
                learns = not self.plan.in_redis or self.started % 3 > 0
                member = Member(self.path, self.plan, name, learns, inbox, outbox)
                try:
                    member.main()
                    code = 0
                except BaseException:
                    member.say("crashed", traceback.format_exc()[-1500:])
            finally:
                os._exit(code)
        os.close(inbox)
        os.close(outbox)
        child = Child(name, pid, to_child, from_child)
        self.children.append(child)
        self.selector.register(from_child, selectors.EVENT_READ, child)
        os.set_blocking(to_child, False)
        unanswered, self.unanswered = self.unanswered, {}
        for event_id, is_active in unanswered.items():
            if not self._tell(child, "asks", event_id, is_active):
                self.unanswered[event_id] = is_active

    def _tell(self, child: Child, *what: Any) -> bool:
        """False where the process is to end, or has too much to do already: waiting for it could be for ever."""
        if child.inbox < 0:
            return False
        try:
            os.write(child.inbox, (json.dumps(what) + "\n").encode())
        except (BrokenPipeError, BlockingIOError):
            return False
        return True

    def _listen(self, timeout: float) -> None:
        for key, _ in self.selector.select(timeout):
            self._read(key.data)

    def _read(self, child: Child) -> bool:
        content = os.read(child.outbox, 1 << 16)
        *lines, child.rest = (child.rest + content).split(b"\n")
        for line in lines:
            self._heard(child, *json.loads(line))
        return bool(content)

    def _heard(self, child: Child, what: str, *said: Any) -> None:
        if what == "crashed":
            raise AssertionError(f"a process failed by itself:\n{said[0]}")
        self.counts[what] += 1
        if what == "asks":
            child.asked[said[0]] = said[1]
        elif what == "decision":
            event_id, action, probability, child.learns = said
            child.asked.pop(event_id, None)
            self.silence = max(self.silence, time.monotonic() - self.heard_at)
            self.heard_at = time.monotonic()
            self.acknowledged.append(("decision", event_id, action, probability))
            if len(self.children) > 1 and self.dice.random() < 0.2:
                self._tell(self.dice.choice(self.children), "reward", event_id, "x" if said[1] else None)
        elif what in ("reward", "activation", "erasure"):
            self.acknowledged.append((what, *said))

    def _kill_server(self, server: RedisServer) -> None:
        """Others wait for it, or are killed before it is back."""
        server.end(signal.SIGKILL)
        self.killed["servers"] += 1
        time.sleep(self.dice.uniform(0, 0.1))
        server.launch()
        # Reading its file takes it seconds. Mostly it is left in peace until events flow again.
        if self.dice.random() < 0.8:
            self.resting_until = self.counts["decision"] + self.dice.randrange(self.plan.events // self.plan.kills + 1)

    def _victim(self) -> Child:
        learning = [one for one in self.children if one.learns]
        return learning[0] if learning and self.dice.random() < 0.5 else self.dice.choice(self.children)

    def _kill(self, child: Child) -> None:
        os.kill(child.pid, signal.SIGKILL)
        self.killed["learners" if child.learns else "deciders"] += 1
        while self._read(child):
            pass
        self.unanswered.update(child.asked)
        self._bury(child)

    def _bury(self, child: Child) -> int:
        status = os.waitpid(child.pid, 0)[1]
        self.selector.unregister(child.outbox)
        child.hang_up()
        os.close(child.outbox)
        self.children.remove(child)
        return status

    def _finish(self) -> None:
        """Some end well, the last one is killed."""
        for child in self.children[1:]:
            child.hang_up()
        for child in self.children[1:]:
            while self._read(child):
                pass
            status = self._bury(child)
            assert status == 0, f"{child.name} ended with {status}"
        for child in list(self.children):
            self._kill(child)


@dataclass(frozen=True)
class Outcome:
    """What a run says of itself.

    Attributes:
        path: The journal.
        acknowledged: What was: its kind, the event, and what was said about it.
        killed: How many, by their kind.
        started: How many processes.
        silence: The longest time without an acknowledged decision, in seconds.
    """

    path: Path | str
    acknowledged: list[tuple[Any, ...]]
    killed: Counter[str]
    started: int
    silence: float


def check(run: Outcome) -> dict[str, Any]:
    """Asserts what a run must leave behind; gives its numbers."""
    Loop.open(run.path).close()
    with journal_at(run.path) as journal:
        checkpoints = journal.checkpoints()
        epoch = journal.lease().epoch
        records = list(journal.read())
    gaps = [(one.position, two.position) for one, two in pairwise(records) if two.position != one.position + 1]
    assert not gaps, f"positions have gaps: {gaps}"
    assert records[0].position == 1
    assert all(one.time <= two.time for one, two in pairwise(records)), "time goes back"
    found = check_acknowledged(records, run.acknowledged)
    newest = checkpoints[-1]
    assert newest.position == len(records)
    state = reference.undisturbed(run.path, restore)
    assert newest.sha256 == state.sha256, "the model is not that of an undisturbed learner"
    assert newest.summary["counts"] == state.counts
    reference.check(run.path, restore)
    counts = state.counts
    if not any(one.kind == "rollback" for one in records):
        assert state.events == counts["learned"] + counts["learned_defaults"], "a window was learned twice, or never"
    assert counts["learned"] + counts["learned_defaults"] <= counts["decisions"]
    return {
        "kills": dict(run.killed),
        "processes": run.started,
        "silence": round(run.silence, 2),
        "acknowledged": found,
        "records": len(records),
        "takeovers": epoch,
        "generations": newest.generation,
        "counts": counts,
        "kinds": dict(Counter(one.kind for one in records)),
        "sha256": newest.sha256,
        "events": state.events,
    }


def check_acknowledged(records: list[Any], acknowledged: list[tuple[Any, ...]]) -> dict[str, int]:
    """Asserts that everything acknowledged is there once, with the same content; gives how many."""
    decisions = {one.event_id: one for one in records if one.kind == "decision"}
    assert len(decisions) == sum(one.kind == "decision" for one in records), "an event was decided twice"
    rewards = Counter((one.event_id, one.value, one.reward_id) for one in records if one.kind == "reward")
    others = {(one.kind, one.event_id) for one in records if one.kind in ("activation", "erasure")}
    found: Counter[str] = Counter()
    expected: Counter[tuple[Any, ...]] = Counter()
    for what, event_id, *said in acknowledged:
        found[what] += 1
        if what == "decision":
            body = decisions[event_id].body
            assert [body["action"], body["pmf"][body["action"]]] == said, f"decision {event_id} is another one"
        elif what == "reward":
            expected[(event_id, *said)] += 1
        else:
            assert (what, event_id) in others, f"{what} of {event_id} was acknowledged and is lost"
    for one, times in expected.items():
        if one[2] is None:
            assert rewards[one] >= times, f"reward {one} was acknowledged {times} times and is there {rewards[one]}"
        else:
            assert rewards[one] == 1, f"reward {one} was acknowledged and is there {rewards[one]} times"
    return dict(found)


def more_boundaries(part: int = 2048) -> None:
    """Writes models in smaller parts, for a kill to come between."""
    sqlite._MODEL_PART = redis_checkpoints._MODEL_PART = part


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--aggregation", default="first")
    parser.add_argument("--rare", type=int, default=0)
    parser.add_argument("--redis", action="store_true")
    given = parser.parse_args()
    more_boundaries()
    numbers = {"seed": given.seed, "aggregation": given.aggregation, "rare": given.rare}
    plan = Plan(given.kills, given.events, **numbers, in_redis=given.redis)
    run = Run(given.folder, plan, lambda line: print(line, file=sys.stderr, flush=True))
    try:
        run.all()
        print(json.dumps(check(run.outcome())))
    finally:
        run.close()


if __name__ == "__main__":
    main()
