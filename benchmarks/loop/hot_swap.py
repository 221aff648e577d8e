"""A thousand new models for processes that decide without a break.

    python benchmarks/loop/hot_swap.py [--swaps 1000]

Needs redis-server (Debian: apt-get install redis-server). The work is done by tests/python/loop/swaps.py, which a test
uses as well.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "python"))

from loop import swaps

RESULT = Path(__file__).parent / "results" / "hot_swap.md"
MEMORY = Path("/dev/shm")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--swaps", type=int, default=1000)
    parser.add_argument("--report", type=Path, default=RESULT)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        found = swaps.run(Path(folder), given.swaps)
    each = ", ".join(
        f"{growth:+.1%} ({sizes[2]} to {sizes[-1]} MB)"
        for growth, sizes in zip(found["growth"], found["megabytes"], strict=True)
    )
    given.report.write_text(f"""# {given.swaps:,} hot swaps

`python benchmarks/loop/hot_swap.py --swaps {given.swaps}`

One process learns and publishes a checkpoint in Redis as often as it can: {found["generations"]:,} generations in
{found["seconds"]:.0f} s, with {found["learned"]:,} events learned. {len(found["swaps"])} processes with {swaps.THREADS}
threads each decide meanwhile, over 10 actions with 21 features, and swap the model
{" and ".join(map(str, found["swaps"]))} times.

| what | how many |
|---|---|
| decisions, all acknowledged | {found["decisions"]:,} |
| requests that failed | 0 |
| logged probabilities that were computed again and are equal bit for bit | {found["decisions"]:,} |
| memory of the deciders, from the third tenth of the swaps to the last | {each} |

The mean size in MB in each tenth of the swaps, for each decider: {"; ".join(str(one) for one in found["megabytes"])}.
At first models grow, as they see new features, and so does the memory that the allocator keeps.

Any request that fails, any probability that differs, or memory that grows by more than 5% after that would have stopped
the run before this report. That a damaged model is refused and the old one stays is a test of its own, in
tests/python/loop/test_redis.py.
""")
    print(f"See {given.report}")


if __name__ == "__main__":
    main()
