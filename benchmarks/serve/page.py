"""The live page: `python benchmarks/serve/page.py [--records 1000000] [--minutes 15] [--report FILE]`.

Needs chromium and wrk (Debian: apt-get install chromium wrk).

Three questions. How soon is something to be seen with a long journal? The browser says so by its own clock, from the
start of the navigation. What does a viewer cost those who decide? Processor time per `POST /decide`, with and without
one; it does not depend on what else the machine does, as a rate would. Does memory grow? The browser's heap after a
collection, its number of elements, and the resident memory of server and reader, while decisions keep coming.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "python"))

from playwright.sync_api import Browser

from serve.browser import chromium, tab
from vw_fastcb import Loop
from vw_fastcb.loop.loop import answer_all
from vw_fastcb.loop.requests import Decide, Observe

FASTCB = str(Path(sysconfig.get_path("scripts")) / "fastcb")
ACTIONS = ["politics", "sports", "music", "science"]
LIKES = {"Tom": 0, "Anna": 1, "Li": 2, "Maya": 1}
AT_ONCE = 500

SCRIPT = """
wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
local n = 0
request = function()
  n = n + 1
  return wrk.format(nil, "/decide", nil, '{"context": {"user": "Tom", "hour": ' .. (n % 24) .. '}}')
end
"""


def make_journal(path: Path, records: int) -> None:
    """Simulated readers, whose clicks come a little later."""
    now, rng, number = 1_700_000_000_000, random.Random(1), 0
    settings: dict[str, Any] = {"reward_range": (0, 1), "default_reward": 0, "wait": "10min"}
    with Loop.open(path, actions=ACTIONS, clock=lambda: now, checkpoint_every="1h", **settings) as loop:
        due: list[Observe] = []
        while loop.status().position < records:
            asked = []
            for _ in range(AT_ONCE):
                context = {"user": rng.choice(list(LIKES)), "hour": rng.randrange(24)}
                asked.append(Decide(context, None, None, None, f"e{number}", True))
                number += 1
            made = answer_all(loop, asked)
            answer_all(loop, due)
            due = []
            for one, answer in zip(asked, made, strict=True):
                likes = LIKES[one.context["user"]] == answer.record.body["action"]  # type: ignore[union-attr]
                if rng.random() < (0.6 if likes else 0.15):
                    due.append(Observe(one.event_id, 1, None, "reward"))
            now += AT_ONCE * 200


@contextlib.contextmanager
def serving(journal: Path, *options: str) -> Iterator[tuple[str, psutil.Process]]:
    command = [FASTCB, "serve", str(journal), "--port", "0", "--json", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"], psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def first_sight(browser: Browser, journal: Path) -> dict[str, float]:
    """Milliseconds from the start of the navigation, with a server whose page nobody has looked at before."""
    with serving(journal) as (url, _), tab(browser, f"{url}/") as seen:
        found = {}
        for name, sight in {
            "numbers": "document.querySelectorAll('#cards div').length > 3",
            "newest": "document.querySelector('#reward path.main')",
            "everything": "document.querySelector('#reading')?.hidden",
        }.items():
            found[name] = seen.wait_for(f"({sight}) && performance.now()", seconds=900)
        found["paint"] = seen.page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        return found


def work(folder: Path, seconds: int, *, is_viewed: bool) -> tuple[float, float]:
    """Microseconds of processor time per decision: of the server, and of the process that reads for the page."""
    script = folder / "decide.lua"
    script.write_text(SCRIPT)
    with serving(folder / f"work{time.monotonic_ns()}.db", "--actions", "3", "--reward-range", "0", "1") as (
        url,
        server,
    ):
        if is_viewed:
            connection = http.client.HTTPConnection(url.removeprefix("http://"))
            connection.request("GET", "/page/events")
            stream = connection.getresponse()
            threading.Thread(target=lambda: [None for _ in iter(stream.readline, b"")], daemon=True).start()
            time.sleep(4)
        used = [_seconds_of(server), sum(map(_seconds_of, server.children()))]
        command = ["wrk", "-t1", "-c32", f"-d{seconds}s", "-s", str(script), url]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        decisions = int(re.findall(r"(\d+) requests in", said)[0])
        own = _seconds_of(server) - used[0]
        time.sleep(3)  # the reader comes after
        return 1e6 * own / decisions, 1e6 * (sum(map(_seconds_of, server.children())) - used[1]) / decisions


def _seconds_of(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def memory(browser: Browser, folder: Path, minutes: int) -> list[tuple[int, ...]]:
    """Each minute: decisions, heap, elements, server, reader (the last two and the heap in KiB)."""
    options = ("--actions", ",".join(ACTIONS), "--reward-range", "0", "1", "--default-reward", "0", "--wait", "30s")
    found = []
    with serving(folder / "memory.db", *options) as (url, server), tab(browser, f"{url}/") as seen:
        ended = threading.Event()
        visitors = threading.Thread(target=_visit, args=(url, ended))
        visitors.start()
        try:
            for _ in range(minutes):
                time.sleep(60)
                decisions = int(seen.page.locator("#cards dd").first.inner_text().split()[0].replace(",", ""))
                sizes = [one.memory_info().rss >> 10 for one in (server, *server.children())]
                found.append((decisions, seen.heap() >> 10, seen.elements(), *sizes))
                print(*found[-1], flush=True)
        finally:
            ended.set()
            visitors.join()
        assert seen.complaints == []
    return found


def _visit(url: str, ended: threading.Event) -> None:
    rng = random.Random(2)
    connection = http.client.HTTPConnection(url.removeprefix("http://"))

    def post(path: str, body: dict[str, Any]) -> bytes:
        connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        return connection.getresponse().read()

    while not ended.wait(0.01):
        made = json.loads(post("/decide", {"context": {"user": rng.choice(list(LIKES)), "hour": rng.randrange(24)}}))
        if rng.random() < 0.4:
            post("/reward", {"event_id": made["event_id"], "value": 1})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--journal", type=Path, help="one that is there, instead of a new one")
    parser.add_argument("--minutes", type=int, default=15)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--report", type=Path, default=Path(__file__).parent / "results" / "page.md")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        journal = args.journal or folder / "news.db"
        if args.journal is None:
            make_journal(journal, args.records)
        with chromium() as browser:
            sights = [first_sight(browser, journal) for _ in range(args.rounds)]
            print(sights, flush=True)
            costs = {
                is_viewed: [work(folder, args.seconds, is_viewed=is_viewed) for _ in range(args.rounds)]
                for is_viewed in (False, True)
            }
            print(costs, flush=True)
            sizes = memory(browser, folder, args.minutes)
    finally:
        shutil.rmtree(folder)
    args.report.write_text(_report(args, sights, costs, sizes))


def _report(
    args: argparse.Namespace,
    sights: list[dict[str, float]],
    costs: dict[bool, list[tuple[float, float]]],
    sizes: list[tuple[int, ...]],
) -> str:
    def milliseconds(name: str) -> str:
        return " | ".join(f"{one[name]:,.0f}" for one in sights)

    alone, viewed = (statistics.median(own for own, _ in costs[is_viewed]) for is_viewed in (False, True))
    reader = statistics.median(other for _, other in costs[True])
    lines = "\n".join(f"| {i} | " + " | ".join(f"{one:,}" for one in row) + " |" for i, row in enumerate(sizes, 1))
    return f"""# The live page

`python benchmarks/serve/page.py --records {args.records} --minutes {args.minutes} --rounds {args.rounds}`

{os.cpu_count()} processors. The load average of the machine was {os.getloadavg()[2]:.1f} at the end, most of it by
other programs.

## First sight

A journal of {args.records:,} records, opened {args.rounds} times, each by a server of its own. Milliseconds from the
start of the navigation, by the browser's clock:

| | {" | ".join(str(i) for i in range(1, len(sights) + 1))} |
|---|{"---|" * len(sights)}
| first contentful paint | {milliseconds("paint")} |
| totals of the journal | {milliseconds("numbers")} |
| charts of the newest 20,000 records | {milliseconds("newest")} |
| charts of all records | {milliseconds("everything")} |

## What a viewer costs

Microseconds of processor time per `POST /decide`, medians of {args.rounds} runs: {alone:.0f} without a viewer,
{viewed:.0f} with one. The process that reads the journal for the page takes another {reader:.1f} per decision, at a low
priority.

## Memory

Memory in KiB, one line per minute, while decisions keep coming. The browser has at most 240 stretches of time and puts
two together when there are more, so its elements come and go.

| minute | decisions | browser's heap | elements | server | reader |
|---|---|---|---|---|---|
{lines}
"""


if __name__ == "__main__":
    main()
