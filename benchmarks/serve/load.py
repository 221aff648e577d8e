"""How many decisions per second `fastcb serve` acknowledges, against the same server answering constant bytes.

    python benchmarks/serve/load.py [--seconds 10]

Needs wrk (Debian: apt-get install wrk). The journal is on a disk, in the current folder unless --folder says otherwise.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "python"))

from serve.servers import Server, serving
from vw_fastcb import Loop

RESULT = Path(__file__).parent / "results" / "load.md"
CONNECTIONS = 32
BODY = json.dumps({"context": {f"feature{k}": k / 7 for k in range(20)}})
SETTINGS = ("--actions", "10", "--reward-range", "0", "1", "--seed", "1")
DECIDE = f"""
wrk.method, wrk.body, wrk.path = "POST", '{BODY}', "/decide"
wrk.headers["content-type"] = "application/json"
"""
WRITE_DOWN = """
local file
function init() file = io.open("FILE", "w") end
function response(status, headers, body)
  if status == 200 then file:write(body:match('"event_id":"([^"]+)"'), "\\n") file:flush() end
end
"""


def wrk(folder: Path, url: str, connections: int, seconds: int, script: str = "") -> dict[str, float]:
    """What wrk measured: requests per second, p50 and p99 in ms, answers that are errors."""
    (folder / "script.lua").write_text(script)
    asked = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(folder / "script.lua"), url]
    said = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=seconds + 60).stdout
    scale = {"us": 1e-3, "ms": 1.0, "s": 1e3}
    found = {f"p{q}": float(t) * scale[u] for q, t, u in re.findall(r"(50|99)%\s+([\d.]+)(us|ms|s)", said)}
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    errors = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    assert rate is not None, said
    assert "Socket errors" not in said, said
    return {**found, "rate": float(rate[1]), "errors": int(errors[1]) if errors else 0}


@contextlib.contextmanager
def served(journal: Path, *options: str) -> Iterator[Server]:
    with serving(journal, *SETTINGS, *options) as server:
        yield server
        assert server.stop()[0] == 0


def overload(folder: Path, seconds: int) -> dict[str, float]:
    """Twice as many connections as the server works on at a time. Every acknowledged id must be in the journal."""
    journal, acknowledged = folder / "overload.db", folder / "acknowledged"
    with served(journal, "--limit-concurrency", str(CONNECTIONS)) as server:
        script = DECIDE + WRITE_DOWN.replace("FILE", str(acknowledged))
        found = wrk(folder, server.url, 2 * CONNECTIONS, seconds, script)
    ids = acknowledged.read_text().split()
    with Loop.open(journal) as loop:
        missing = [one for one in ids if not loop._worker.journal.find(one)]
    assert found["errors"] > 0, "nothing was shed"
    assert not missing, f"{len(missing)} acknowledged decisions are not in the journal, {missing[0]} among them"
    return {**found, "acknowledged": len(ids)}


def verdict(is_met: bool) -> str:
    return "met" if is_met else "not met"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--folder", type=Path, default=Path.cwd())
    parser.add_argument("--report", type=Path, default=RESULT)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        with served(folder / "load.db") as server:
            constant = wrk(folder, f"{server.url}/health/live", CONNECTIONS, given.seconds)
            decided = wrk(folder, server.url, CONNECTIONS, given.seconds, DECIDE)
        assert not constant["errors"] + decided["errors"]
        shed = overload(folder, given.seconds)
    rate, slower = decided["rate"] / constant["rate"], decided["p99"] / constant["p99"]
    given.report.write_text(f"""# Decisions over HTTP under load

`python benchmarks/serve/load.py --seconds {given.seconds}`

wrk and the server share one machine, on loopback, with {CONNECTIONS} connections for {given.seconds} s each. The
constant answer is `GET /health/live` of the same process: it passes the same token, limit and metrics code, and reads
no body. A decision is over 10 actions with 20 features, and is on disk when it is answered. There are no rewards.

| | per second | p50, ms | p99, ms |
|---|---|---|---|
| constant answer | {constant["rate"]:,.0f} | {constant["p50"]:.1f} | {constant["p99"]:.1f} |
| `POST /decide` | {decided["rate"]:,.0f} | {decided["p50"]:.1f} | {decided["p99"]:.1f} |

The throughput is {rate:.2f} of the constant answer's; at least 0.4 was asked for: {verdict(rate >= 0.4)}.
p99 is {slower:.1f} times as long; at most 4 was asked for: {verdict(slower <= 4)}.

Overload: {2 * CONNECTIONS} connections without a pause, at a server that works on {CONNECTIONS} requests at a time.
{shed["acknowledged"]:,} decisions were acknowledged and {shed["errors"]:,} requests were refused with an error. Each
acknowledged id was looked up in the journal after the server had ended, and is there.
""")
    print(given.report.read_text())


if __name__ == "__main__":
    main()
