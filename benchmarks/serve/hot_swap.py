"""A thousand new models for servers that answer without a break.

    python benchmarks/serve/hot_swap.py [--swaps 1000]

Needs redis-server (Debian: apt-get install redis-server). The work is done by tests/python/serve/swaps.py, which a test
uses as well.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "python"))

from serve import swaps

RESULT = Path(__file__).parent / "results" / "hot_swap.md"
MEMORY = Path("/dev/shm")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--swaps", type=int, default=1000)
    parser.add_argument("--report", type=Path, default=RESULT)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        found = swaps.run(Path(folder), given.swaps, lambda line: print(line, flush=True))
    each = ", ".join(
        f"{growth:+.1%} ({sizes[swaps.WARMING_UP]} to {sizes[-1]} MB)"
        for growth, sizes in zip(found["growth"], found["megabytes"], strict=True)
    )
    given.report.write_text(f"""# {given.swaps:,} hot swaps

`python benchmarks/serve/hot_swap.py --swaps {given.swaps}`

`fastcb learn --follow --checkpoint-every 1ms` publishes a checkpoint in Redis as often as it can:
{found["generations"]:,} generations in {found["seconds"]:.0f} s, with {found["learned"]:,} events learned. Two servers
(`fastcb serve --no-learn`) decide meanwhile over HTTP for {swaps.CLIENTS} clients each, over 10 actions with 21
features, and swap the model {" and ".join(f"{one:,}" for one in found["swaps"])} times.

| what | how many |
|---|---|
| decisions, all acknowledged | {found["decisions"]:,} |
| requests that failed, or had to be repeated | 0 |
| logged probabilities that were computed again and are equal bit for bit | {found["decisions"]:,} |
| memory of the servers, from the third tenth of the swaps to the last | {each} |

The mean size in MB in each tenth of the swaps, for each server: {"; ".join(str(one) for one in found["megabytes"])}.
At first models grow, as they see new features, and so does the memory that the allocator keeps.

Any request that fails, any probability that differs, or memory that grows by more than 5% after that would have stopped
the run before this report. That a damaged model is refused and the old one stays is a test of its own, in
tests/python/loop/test_redis.py.
""")
    print(f"See {given.report}")


if __name__ == "__main__":
    main()
