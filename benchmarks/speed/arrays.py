"""The learner on arrays against stock vowpalwabbit fed prepared text lines, in one run.

Times are the processor time of this process, so that what else the machine does matters less. The contenders take turns
within every repetition, and a ratio is taken between times of the same repetition. `python benchmarks/speed/arrays.py`
prints the tables and writes them to results/arrays.md, with a picture of the growth, beside this file (some minutes).
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from contenders import BATCH, CONTENDERS, STOCK, STOCK_FIXED, Problem, Run
from report import RESULTS, table, write_result
from rich.console import Console
from rich.progress import track

# What each way must reach, in times the speed of stock.
GOALS = {
    "decide + learn, action features": 3,
    "decide + learn, fixed actions": 3,
    "decide_many + partial_fit, action features": 10,
    "decide_many + partial_fit, fixed actions": 10,
    "simulate, fixed actions": 25,
}
HEADLINE = Problem()
REPETITIONS = 15
SECONDS = 0.15  # for one contender in one repetition
ACTIONS = (2, 5, 10, 30, 100, 300, 1000)
FEATURES = (10, 30, 100, 300, 1000)
TERMINAL = Console(stderr=True)

Times = dict[str, list[float]]  # microseconds a round, one for each repetition


def microseconds(run: Run, rounds: int) -> float:
    start = time.process_time()
    played = run(rounds)
    return (time.process_time() - start) / played * 1e6


def take_turns(problem: Problem, names: list[str], repetitions: int, seconds: float, what: str) -> Times:
    runs = {name: CONTENDERS[name](problem) for name in names}
    rounds = {}
    for name, run in runs.items():
        run(1)  # starts the engine
        rounds[name] = max(int(seconds * 1e6 / microseconds(run, 20)), 1)
    times: Times = {name: [] for name in names}
    for _ in track(range(repetitions), description=f"{what:40}", console=TERMINAL):
        for name, run in runs.items():
            times[name].append(microseconds(run, rounds[name]))
    return times


def faster(times: Times, name: str, than: str) -> str:
    speedups = [slow / fast for slow, fast in zip(times[than], times[name], strict=True)]
    return f"{statistics.median(speedups):.1f} ({min(speedups):.1f} to {max(speedups):.1f})"


def ratios(repetitions: int, seconds: float) -> str:
    times = take_turns(HEADLINE, list(CONTENDERS), repetitions, seconds, "against stock")
    rows = []
    for name, own in times.items():
        same_kind = faster(times, name, STOCK_FIXED) if name.endswith("fixed actions") else ""
        goal = f"{GOALS[name]}" if name in GOALS else ""
        rows.append([name, f"{statistics.median(own):.2f}", faster(times, name, STOCK), goal, same_kind])
    return table(["", "µs a round", "times as fast as stock", "goal", "as stock with fixed actions"], rows)


def peak_memory(name: str | None) -> float:
    """The highest resident memory of this process in MB, after some rounds of a contender."""
    if name is not None:
        problem = Problem(texts=HEADLINE.events)  # the same events for all
        CONTENDERS[name](problem)(HEADLINE.events)
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024


def memory() -> str:
    rows = []
    for name in track([None, *CONTENDERS], description=f"{'peak memory':40}", console=TERMINAL):
        command = [sys.executable, __file__, "--peak", name or "imports"]
        peak = float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
        rows.append([name or "only the imports", f"{peak:.0f}"])
    return table([f"{HEADLINE.events:,} events, a process of its own", "peak memory, MB"], rows)


def growth(problems: dict[str, Problem], repetitions: int, seconds: float, what: str) -> dict[str, dict[str, float]]:
    """For each contender and each problem the best time of a round."""
    seen: dict[str, dict[str, float]] = {name: {} for name in CONTENDERS}
    for size, problem in problems.items():
        times = take_turns(problem, list(CONTENDERS), repetitions, seconds, f"{what} {size}")
        for name, own in times.items():
            seen[name][size] = min(own)
    return seen


def growth_table(seen: dict[str, dict[str, float]], what: str) -> str:
    sizes = list(next(iter(seen.values())))
    rows = [[name, *(f"{own[size]:,.1f}" for size in sizes)] for name, own in seen.items()]
    return table([what, *sizes], rows)


def draw(panels: dict[str, dict[str, dict[str, float]]]) -> None:
    import matplotlib  # noqa: PLC0415, slow to import, and not for the processes that measure memory

    matplotlib.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, axes = pyplot.subplots(1, len(panels), figsize=(5 * len(panels), 5), sharey=True, layout="constrained")
    for axis, (what, seen) in zip(axes, panels.items(), strict=True):
        for number, (name, own) in enumerate(seen.items()):
            sizes = [int(size.replace(",", "")) for size in own]
            style = "--" if name.startswith("stock") else "-"
            axis.plot(sizes, list(own.values()), style, marker="o", markersize=3, color=f"C{number}", label=name)
        axis.set(xscale="log", yscale="log", xlabel=what)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("µs a round, predict and learn")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(RESULTS / "arrays.png", dpi=120)


def growth_problems() -> dict[str, dict[str, Problem]]:
    def sized(actions: int = 10, features: int = 20, density: float = 1.0) -> Problem:
        smaller = max(actions // 10, features // 20, 1) if density == 1 else 1
        events = max(20_000 // smaller, 5000)
        texts = max(400_000 // actions // features, 50)
        return Problem(actions, features, density, features_of_an_action=5, events=events, texts=texts)

    return {
        "actions (20 features)": {f"{a:,}": sized(actions=a) for a in ACTIONS},
        "features, dense (10 actions)": {f"{d:,}": sized(features=d) for d in FEATURES},
        "features, 1% not zero (10 actions)": {f"{d:,}": sized(features=d, density=0.01) for d in FEATURES},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only the ratios, in seconds; nothing is written")
    parser.add_argument("--peak", metavar="NAME", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak is not None:
        print(peak_memory(None if arguments.peak == "imports" else arguments.peak))
        return
    if arguments.quick:
        print(ratios(5, 0.05))
        return
    parts = [ratios(REPETITIONS, SECONDS)]
    print(parts[-1], flush=True)
    parts.append(memory())
    print(parts[-1], flush=True)
    panels = {what: growth(problems, 3, SECONDS / 2, what) for what, problems in growth_problems().items()}
    for what, seen in panels.items():
        parts.append(growth_table(seen, f"µs a round, by {what}"))
        print(parts[-1], flush=True)
    draw(panels)
    title = f"""Made by `python benchmarks/speed/arrays.py`. A round is predict, then learn: 10 actions with one feature
each, 20 features of the context, `-q UA`, float64. Stock is `--cb_explore_adf` with epsilon-greedy, its default
explorer, fed prepared lines. Batches are of {BATCH:,}. Ratios are medians of {REPETITIONS} repetitions in turns, with
the lowest and the highest. In the tables of growth actions have 5 features, and times are the best of 3. One context at
a time is a (d,) array, or where it is sparse a scipy matrix of one row."""
    write_result("arrays", title, [*parts, "![growth](arrays.png)\n"])


if __name__ == "__main__":
    main()
