"""How often intervals hold on simulated logs whose true value is known, and how wide they are.

    python benchmarks/evaluation/coverage.py [--runs 1000] [--report benchmarks/evaluation/results/coverage.md]

It takes an hour of one core. Finished parts are kept in --folder; start it again to go on.

Two contexts, four actions. The policy that is judged plays action 0, which earns 1 with the probability `rate`. Actions
1 and 2 earn half as much again in one context and half of it in the other, and action 3 half of it in both. The log is
that of uniform choices, or of FastCB's rule with a table of means as its oracle, which learns while it logs: action 0
then is hardly ever played, and weights become large.

Intervals are looked at for several n of the same run. "anytime, at once" fails if it is wrong at any of forty n.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from estimators.bandits import clopper_pearson, cs

from vw_fastcb.allocation import reweighted_igw
from vw_fastcb.evaluation import AnytimeInterval, Tally, mass_beyond

ACTIONS, CONTEXTS = 4, 2
RATES = (0.5, 0.05, 0.005)
SIZES = (1000, 3162, 10_000, 31_623, 100_000)
LEVEL = 0.95
_BLOCK = 100  # runs that are simulated side by side


def means_of(rate: float) -> np.ndarray:
    """What each action earns in each context."""
    return rate * np.array([[1.0, 1.5, 0.5, 0.5], [1.0, 0.5, 1.5, 0.5]])


def uniform_logs(rng: np.random.Generator, rate: float, runs: int, n: int):
    """Actions, rewards, and the probability that action 0 had."""
    contexts, actions = rng.integers(CONTEXTS, size=(runs, n)), rng.integers(ACTIONS, size=(runs, n))
    rewards = rng.random((runs, n)) < means_of(rate)[contexts, actions]
    return actions == 0, rewards, np.full((runs, n), 1.0 / ACTIONS)


def fastcb_logs(rng: np.random.Generator, rate: float, runs: int, n: int):
    """The same, of a policy that learns."""
    rows, means = np.arange(runs), means_of(rate)
    losses, counts = np.full((runs, CONTEXTS, ACTIONS), 0.5), np.full((runs, CONTEXTS, ACTIONS), 1.0)
    plays, rewards = np.empty((2, n, runs), dtype=bool)
    chances = np.empty((n, runs))
    for t in range(n):
        context = rng.integers(CONTEXTS, size=runs)
        pmf = reweighted_igw(losses[rows, context] / counts[rows, context], 10.0 * math.sqrt(t))
        action = np.minimum((pmf.cumsum(axis=1) < rng.random(runs)[:, None]).sum(axis=1), ACTIONS - 1)
        reward = rng.random(runs) < means[context, action]
        losses[rows, context, action] += ~reward
        counts[rows, context, action] += 1.0
        plays[t], rewards[t], chances[t] = action == 0, reward, pmf[:, 0]
    return plays.T, rewards.T, np.ascontiguousarray(chances.T)


LOGS = {"uniform": uniform_logs, "FastCB": fastcb_logs}


class Tried:
    """How often intervals held, and their widths."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, int], list[bool]] = defaultdict(list)
        self.widths: dict[tuple[str, int], list[float]] = defaultdict(list)

    def note(self, name: str, n: int, low: float, high: float, truth: float) -> None:
        self.held[name, n].append(bool(low <= truth <= high))
        self.widths[name, n].append(float(high - low))

    def save(self, path: Path) -> None:
        draft = path.with_suffix(".tmp")
        draft.write_text(json.dumps([[*key, held, self.widths.get(key, [])] for key, held in self.held.items()]))
        draft.rename(path)

    @classmethod
    def load(cls, path: Path) -> Tried:
        made = cls()
        for name, n, held, widths in json.loads(path.read_text()):
            made.held[name, n], made.widths[name, n] = held, widths
        return made


def judge(weights: np.ndarray, rewards: np.ndarray, chances: np.ndarray, rate: float, tried: Tried) -> None:
    """One run."""
    beyond = mass_beyond(np.ones(len(weights)), chances)
    for n in SIZES:
        tally = Tally(level=LEVEL, expected=n)
        tally.update(weights[:n], rewards[:n], beyond=beyond[:n], largest=1.0 / chances[:n])
        for name, one in tally.ips().intervals.items():
            tried.note(name, n, one.low, one.high, rate)
        snips = tally.snips().intervals["gaussian"]
        tried.note("gaussian of SNIPS", n, snips.low, snips.high, rate)
    stream, start, outside = AnytimeInterval(level=LEVEL), 0, False
    for end in np.unique(np.geomspace(10, SIZES[-1], 40).astype(int)).tolist():
        stream.update(weights[start:end], rewards[start:end], beyond=beyond[start:end])
        low, high = stream.interval
        start, outside = end, outside or not low <= rate <= high
    tried.held["anytime, at once", 0].append(bool(not outside))


def judge_with_vw_estimators(weights: np.ndarray, rewards: np.ndarray, rate: float, tried: Tried) -> None:
    """VW's own, at one n, because they take an event at a time."""
    n = 3162
    others = {"vw-estimators: sequence": cs.Interval(), "vw-estimators: Clopper-Pearson": clopper_pearson.Interval()}
    for name, one in others.items():
        for w, r in zip(weights[:n].tolist(), rewards[:n].tolist(), strict=True):
            one.add_example(1.0, r, w)
        low, high = one.get(1 - LEVEL)
        tried.note(name, n, low or 0.0, 1.0 if high is None else high, rate)


def study(kind: str, rate: float, runs: int, seed: int, folder: Path) -> Tried:
    path = folder / f"{kind}-{rate}-{runs}-{seed}.json"
    if path.exists():
        return Tried.load(path)
    tried, rng = Tried(), np.random.default_rng([seed, round(rate * 1000), list(LOGS).index(kind)])
    began = time.perf_counter()
    for done in range(0, runs, _BLOCK):
        plays, rewards, chances = LOGS[kind](rng, rate, min(_BLOCK, runs - done), SIZES[-1])
        for i in range(len(plays)):
            weights, earned = np.where(plays[i], 1.0 / chances[i], 0.0), rewards[i].astype(float)
            judge(weights, earned, chances[i], rate, tried)
            if done + i < 200:
                judge_with_vw_estimators(weights, earned, rate, tried)
        print(f"{kind}, rate {rate}: {done + len(plays)} runs, {time.perf_counter() - began:.0f} s", file=sys.stderr)
    tried.save(path)
    return tried


VALID = ("anytime", "empirical_bernstein")
ASYMPTOTIC = ("gaussian", "gaussian of SNIPS", "cressie_read")


def table(studies: dict[tuple[str, float], Tried], runs: int) -> list[str]:
    least = LEVEL - 2 * math.sqrt(LEVEL * (1 - LEVEL) / runs)
    lines = [
        f"A cell is how often the interval held, in %, and its mean width. Valid ones must hold in {100 * least:.1f}% "
        "or more (95% less two standard errors). Asymptotic ones are **bold** where they hold in 93% to 97%.",
        "",
        f"| log | rate | n | {' | '.join((*VALID, *ASYMPTOTIC))} |",
        f"|---|---|---|{'---|' * len((*VALID, *ASYMPTOTIC))}",
    ]
    for (kind, rate), tried in studies.items():
        for n in SIZES:
            cells = []
            for name in (*VALID, *ASYMPTOTIC):
                share, width = np.mean(tried.held[name, n]), np.mean(tried.widths[name, n])
                text = f"{100 * share:.1f}"
                is_good = 0.93 <= share <= 0.97
                if name in VALID and share < least:
                    text = f"{text} (**too few**)"
                elif name in ASYMPTOTIC and is_good:
                    text = f"**{text}**"
                cells.append(f"{text}, {width:.4f}")
            lines.append(f"| {kind} | {rate} | {n:,} | {' | '.join(cells)} |")
    lines += [
        "",
        "From which n on the asymptotic ones hold in 93% to 97%, at every n that was tried:",
        "",
        f"| log | rate | {' | '.join(ASYMPTOTIC)} |",
        f"|---|---|{'---|' * len(ASYMPTOTIC)}",
    ]
    for (kind, rate), tried in studies.items():
        lines.append(f"| {kind} | {rate} | {' | '.join(_from(tried, name) for name in ASYMPTOTIC)} |")
    lines += ["", "| log | rate | anytime, wrong at no n |", "|---|---|---|"]
    for (kind, rate), tried in studies.items():
        lines.append(f"| {kind} | {rate} | {100 * np.mean(tried.held['anytime, at once', 0]):.1f} |")
    names = sorted({name for tried in studies.values() for name, _ in tried.held if name.startswith("vw-")})
    lines += [
        "",
        "VW's own library at n = 3,162, in 200 runs, beside `anytime` (which needs the logged pmf to be this narrow). "
        "Clopper-Pearson gives no number where no event counts; widths leave that out.",
        "",
        f"| log | rate | anytime | {' | '.join(names)} |",
        f"|---|---|---|{'---|' * len(names)}",
    ]
    for (kind, rate), tried in studies.items():
        cells = [
            f"{100 * np.mean(tried.held[name, 3162]):.1f}, {np.nanmean(tried.widths[name, 3162]):.4f}"
            for name in ("anytime", *names)
        ]
        lines.append(f"| {kind} | {rate} | {' | '.join(cells)} |")
    return lines


def _from(tried: Tried, name: str) -> str:
    """The first n from which an interval holds as often as it should."""
    found = "later"
    for n in reversed(SIZES):
        if not 0.93 <= np.mean(tried.held[name, n]) <= 0.97:
            break
        found = f"{n:,}"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("build/evaluation-coverage"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    studies = {(kind, rate): study(kind, rate, given.runs, given.seed, given.folder) for kind in LOGS for rate in RATES}
    text = "\n".join(
        [
            "# Coverage of intervals",
            "",
            f"Made by `python benchmarks/evaluation/coverage.py --runs {given.runs}`.",
            "",
            *table(studies, given.runs),
            "",
        ]
    )
    print(text)
    if given.report:
        draft = given.report.with_suffix(".tmp")
        draft.write_text(text)
        draft.rename(given.report)


if __name__ == "__main__":
    main()
