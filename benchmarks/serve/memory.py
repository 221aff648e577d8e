"""What ever new names cost: `python benchmarks/serve/memory.py`.

A client that may ask sends decisions whose features nobody has sent before, each in a body of almost a megabyte, and a
reward for each. What counts is the memory of the server and of its page's process, as Linux tells it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from load import FASTCB, MEMORY, Server, serving

RESULT = Path(__file__).parent / "results" / "memory.md"


def short_names(number: int, size: int) -> dict[str, object]:
    return {f"{number:x}.{one:x}": 1 for one in range(size // 14)}


def one_long_name(number: int, size: int) -> dict[str, object]:
    return {f"{number:x}{'x' * size}": 1}


def long_names(number: int, size: int) -> dict[str, object]:
    return {f"{number:x}.{one:x}{'x' * 200}": 1 for one in range(size // 220)}


def one_long_text(number: int, size: int) -> dict[str, object]:
    return {"text": f"{number:x}{'x' * size}"}


SHAPES: dict[str, Callable[[int, int], dict[str, object]]] = {
    "many short names": short_names,
    "names of 200 characters": long_names,
    "one long name": one_long_name,
    "one long text": one_long_text,
}


def megabytes(pid: int) -> int:
    """What a process and its children have in memory."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    own = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    return own // 1024 + sum(megabytes(int(child)) for child in children)


def ask(port: int, path: str, body: object) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        content = json.dumps(body, separators=(",", ":")).encode()
        connection.request("POST", path, content, {"content-type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def attack(shape: str, requests: int, size: int, clients: int) -> str:
    """One line of the table."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        server = Server([FASTCB, *serving(Path(folder) / "memory.db")])
        pid, port = server.pid, int(server.address.rsplit(":", 1)[1])
        start = most = megabytes(pid)

        def send(number: int) -> int:
            nonlocal most
            context = SHAPES[shape](number, size)
            status = ask(port, "/decide", {"event_id": f"e{number}", "context": context})
            ask(port, "/reward", {"event_id": f"e{number}", "value": 1})
            most = max(most, megabytes(pid))
            return status

        half = 0
        with ThreadPoolExecutor(clients) as pool:
            for number, status in enumerate(pool.map(send, range(requests))):
                half = megabytes(pid) if number == requests // 2 else half
                assert status in (200, 503), status
        time.sleep(2)
        end = megabytes(pid)
        server.stop()
    return f"| {shape} | {requests:,} | {clients} | {start} | {half} | {most} | {end} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=304)
    parser.add_argument("--bytes", type=int, default=850_000)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 32])
    given = parser.parse_args()
    lines = [attack(shape, given.requests, given.bytes, clients) for clients in given.clients for shape in SHAPES]
    table = "\n".join(lines)
    RESULT.write_text(f"""# What ever new names cost

`python benchmarks/serve/memory.py --requests {given.requests} --bytes {given.bytes}`

Memory in MB of the server with its children: at the start, after half of the requests, at most, and at the end. The
machine has {os.cpu_count()} processors, the journal is in memory.

| bodies of {given.bytes:,} bytes | requests | clients | start | half | most | end |
|---|---|---|---|---|---|---|
{table}
""")
    print(RESULT.read_text())


if __name__ == "__main__":
    main()
