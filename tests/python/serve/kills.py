"""Servers, learners and redis-server are killed while clients ask over HTTP: `python -m serve.kills FOLDER`.

In the end the journal must hold everything that a client was told, once, and its model must be that of one learner
which reads it undisturbed.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loop.kills import SETTINGS, Outcome, check, context_of, value_of
from serve.cluster import Client, Cluster, Program, cluster

CLIENTS = 6
CHECKPOINT_EVERY = "200ms"
VICTIMS = ("deciders",) * 3 + ("servers",) * 3 + ("learners",) * 3 + ("standbys",)  # of ten kills
AT_ONCE = 0.2  # of the kills come right after another, before everybody is back


class Visitors:
    """Clients in threads, and what they were told."""

    def __init__(self, ports: list[int], seed: int) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.decisions = 0
        self.silence = 0.0  # the longest time without a decision, in seconds
        self.retries = 0
        self.problems: list[str] = []
        self._lock = threading.Lock()
        self._heard_at = time.monotonic()
        self._ended = threading.Event()
        self._recent: deque[str] = deque(maxlen=200)  # of all clients, so that rewards come through other servers
        self._threads = [
            threading.Thread(target=self._guarded, args=(Client(ports, number % len(ports)), f"{seed}.{number}"))
            for number in range(CLIENTS)
        ]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _guarded(self, client: Client, name: str) -> None:
        try:
            self._visit(client, name)
        except BaseException:
            self.problems.append(traceback.format_exc())
        finally:
            client.close()
        self.retries += client.retries

    def _visit(self, client: Client, name: str) -> None:
        dice, number = random.Random(name), 0
        while not self._ended.is_set():
            number += 1
            event_id = f"{name}.{number}"
            if dice.random() < 0.05:
                self._reward(client, event_id, "early")
            is_active = dice.random() < 0.9
            asked = {"event_id": event_id, "context": context_of(event_id), "activate": is_active}
            made = client.post("/decide", asked)
            self._heard("decision", event_id, made["action"], made["probability"])
            if dice.random() < 0.05:
                assert client.post("/decide", asked) == made  # by whichever server
            if not is_active and dice.random() < 0.5:
                client.post("/activate", {"event_id": event_id})
                self._heard("activation", event_id)
            self._recent.append(event_id)
            if dice.random() < 0.6:
                self._reward(client, dice.choice(list(self._recent)), dice.choice(["r", None]))

    def _reward(self, client: Client, event_id: str, reward_id: str | None) -> None:
        value = value_of(event_id)
        client.post("/reward", {"event_id": event_id, "value": value, "reward_id": reward_id})
        self._heard("reward", event_id, value, reward_id)

    def _heard(self, *what: Any) -> None:
        with self._lock:
            self.told.append(what)
            if what[0] == "decision":
                now = time.monotonic()
                self.decisions += 1
                self.silence, self._heard_at = max(self.silence, now - self._heard_at), now


class Killer:
    """Kills one after another, and starts them again."""

    def __init__(self, everybody: Cluster, seed: int) -> None:
        self._cluster = everybody
        self._dice = random.Random(seed)
        self._next: list[str] = []
        self.killed: Counter[str] = Counter()

    def kill(self) -> None:
        self._next = self._next or self._dice.sample(VICTIMS, len(VICTIMS))
        kind = self._next.pop()
        if kind == "servers":
            self._cluster.redis.end(signal.SIGKILL)
            time.sleep(self._dice.uniform(0, 0.1))
            self._cluster.redis.launch()
        else:
            one = self._victim(kind)
            one.kill()
            one.start()
        self.killed[kind] += 1

    def _victim(self, kind: str) -> Program:
        if kind == "deciders":
            return self._dice.choice(self._cluster.deciders)
        learner = self._cluster.learner()
        return learner if kind == "learners" else next(one for one in self._cluster.learners if one is not learner)


def run(folder: Path, kills: int, events: int, seed: int, progress: Callable[[str], None]) -> dict[str, Any]:
    """Asserts what must hold; gives the numbers."""
    dice = random.Random(f"{seed} moments")
    with cluster(folder, SETTINGS, CHECKPOINT_EVERY) as everybody:
        visitors, killer = Visitors(everybody.ports, seed), Killer(everybody, seed)
        began = told_at = time.monotonic()
        next_kill = 0.0  # decisions until then
        try:
            while visitors.decisions < events or killer.killed.total() < kills:
                time.sleep(0.005)
                assert not visitors.problems, visitors.problems[0]
                for program in everybody.programs:
                    program.supervise()
                if visitors.decisions >= next_kill and killer.killed.total() < kills:
                    killer.kill()
                    left = max(0, events - visitors.decisions) / max(1, kills - killer.killed.total())
                    next_kill = visitors.decisions + (0 if dice.random() < AT_ONCE else dice.uniform(0.2, 2) * left)
                if time.monotonic() - told_at > 5:
                    told_at = time.monotonic()
                    progress(
                        f"{told_at - began:.0f} s: {visitors.decisions:,} decisions, {dict(killer.killed)} killed, "
                        f"longest silence {visitors.silence:.1f} s"
                    )
        finally:
            visitors.end()
        assert not visitors.problems, visitors.problems[0]
        seconds = time.monotonic() - began
        for program in everybody.programs:
            program.stop()
        progress(f"{seconds:.0f} s; one learner reads the journal now")
        starts = sum(program.starts for program in everybody.programs)
        outcome = Outcome(everybody.url, visitors.told, killer.killed, starts, visitors.silence)
        return {**check(outcome), "retries": visitors.retries, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = run(
        given.folder, given.kills, given.events, given.seed, lambda line: print(line, file=sys.stderr, flush=True)
    )
    print(json.dumps(found))


if __name__ == "__main__":
    main()
