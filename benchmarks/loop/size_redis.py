"""How much memory of Redis an event takes.

    python benchmarks/loop/size_redis.py [--events 5000] [--report benchmarks/loop/results/size_redis.md]

Needs redis-server (Debian: apt-get install redis-server). Memory does not depend on the disk, so its files are in
memory where that can be. The events are those of size.py.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from redis import Redis
from size import EVENTS, MEMORY, Context, Table

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "python"))

from loop.redis_server import RedisServer
from vw_fastcb import Loop


def bytes_per_event(
    server: RedisServer, actions: object, context: Context, features: Table | None, events: int
) -> float:
    """Of memory, for a decision and its reward, once all windows have closed and their state is dropped."""
    sizes = []
    settings = {"actions": actions, "reward_range": (0, 1), "wait": "1s", "keep_generations": 1}
    now = 0
    with (
        Redis(unix_socket_path=str(server.socket)) as client,
        Loop.open(server.url("sizes"), **settings, clock=lambda: now) as loop,
    ):
        for i in range(2 * events):
            decision = loop.decide(context(i), None if features is None else features(i), event_id=f"{i:032x}")
            loop.reward(decision.event_id, decision.action % 2, reward_id="click")
            if i + 1 in (events, 2 * events):
                loop.checkpoint()
                now += 2000
                loop.tick()
                loop.checkpoint()
                sizes.append(client.info("memory")["used_memory_dataset"])
    with Redis(unix_socket_path=str(server.socket)) as client:
        client.flushall()
    return (sizes[1] - sizes[0]) / events


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=8192, help="a power of two: hashes grow in such steps")
    parser.add_argument("--report", type=Path)
    given = parser.parse_args()
    lines = ["| a decision with | bytes of memory, reward included |", "|---|---|"]
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as scratch:
        server = RedisServer(Path(scratch)).start()
        try:
            for name, kind in EVENTS.items():
                lines.append(f"| {name} | {bytes_per_event(server, *kind, given.events):,.0f} |")
        finally:
            server.end()
    lines += ["", "Ids have 32 characters, rewards an id of 5. Models are not counted, nor what waits for its reward."]
    print("\n".join(lines))
    if given.report is not None:
        given.report.parent.mkdir(exist_ok=True)
        command = f"python benchmarks/loop/size_redis.py --events {given.events}"
        given.report.write_text(f"# Size of a journal in Redis\n\nMade by `{command}`.\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
