"""Does `fastcb evaluate` rank policies as their true values do? On bandit logs of data sets where all is known.

    python benchmarks/evaluation/ranking.py [--report benchmarks/evaluation/results/ranking.md]

A row of a set is an event, a class is an action, and the right one earns 1. The log is that of a policy which plays the
prediction of a weak model with 60%, and anything otherwise. Five policies are judged on it. Their true value is what
they would have earned in the same events, had each drawn its own action: the mean probability of the right class.

The last column is something else: what the policy earns live, when it learns from what it played itself. No log tells.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from itertools import combinations
from pathlib import Path

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

from vw_fastcb import Workspace
from vw_fastcb.datasets import load_keel
from vw_fastcb.evaluation import open_log, snips
from vw_fastcb.evaluation.logs import Batch
from vw_fastcb.evaluation.policies import policy_of

SETS = (
    "banana",
    "contraceptive",
    "german",
    "optdigits",
    "penbased",
    "satimage",
    "segment",
    "texture",
    "vehicle",
    "vowel",
)
MOST = 5000  # rows of a set


def policies(classes: int) -> dict[str, str]:
    return {
        "logged": "logged",
        "always class 0": "constant:0",
        "FastCB, gd": "--cb_explore_adf --fastcb --interactions xa",
        "FastCB, newton": f"--cb_explore {classes} --fastcb --fastcb_oracle newton",
        "SquareCB": "--cb_explore_adf --squarecb --interactions xa",
    }


def write_log(name: str, path: Path) -> tuple[np.ndarray, list[dict[str, object]], int]:
    """A bandit log of a set. Returns the right classes, the contexts, and how many classes there are."""
    data = load_keel(name).shuffled(1)
    features, labels = StandardScaler().fit_transform(data.features)[:MOST], data.labels[:MOST]
    classes = int(data.labels.max()) + 1
    weak = SGDClassifier(max_iter=1, tol=None, random_state=1).fit(features[:200], labels[:200])
    rng = np.random.default_rng(1)
    features, labels = features[200:], labels[200:]
    pmfs = np.full((len(labels), classes), 0.4 / classes)
    pmfs[np.arange(len(labels)), weak.predict(features)] += 0.6
    actions = np.minimum((pmfs.cumsum(axis=1) < rng.random(len(labels))[:, None]).sum(axis=1), classes - 1)
    entries = [{"a": {"action=": str(one)}} for one in range(classes)]
    contexts = []
    with path.open("w") as file:
        for i, (row, label, action, pmf) in enumerate(
            zip(features, labels, actions.tolist(), pmfs.tolist(), strict=True)
        ):
            context = {"x": {f"f{j}": round(float(value), 4) for j, value in enumerate(row)}}
            contexts.append(context)
            order = [action, *(one for one in range(classes) if one != action)]
            line = {
                "_label_cost": -1.0 if action == label else 0.0,
                "_label_probability": pmf[action],
                "_label_Action": action + 1,
                "_labelIndex": action,
                "EventId": str(i),
                "Timestamp": "2024-05-01T12:00:00.0000000Z",
                "a": [one + 1 for one in order],
                "c": {**context, "_multi": entries},
                "p": [pmf[one] for one in order],
            }
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
    return labels, contexts, classes


def judge(path: Path, text: str, labels: np.ndarray) -> tuple[object, float]:
    """The estimate, and the truth, which needs the right class of every event."""
    parts: list[tuple[np.ndarray, ...]] = []

    def take(batch: Batch, policy: np.ndarray, /) -> None:
        count = len(policy) // len(batch)
        table = (len(batch), count)
        parts.append((batch.rewards, batch.logged.reshape(table), policy.reshape(table).copy(), batch.actions))

    log = open_log(path, reward_range=(0, 1))
    policy = policy_of(text, log, take)
    for batch in log.batches():
        policy.give(batch)
    policy.finish()
    policy.close()
    rewards, logged, pmfs, actions = (np.concatenate(column) for column in zip(*parts, strict=True))
    truth = pmfs[np.arange(len(labels)), labels].mean()
    return snips(rewards, logged, pmfs, actions, learns=policy.learns), float(truth)


def live(text: str, contexts: list[dict[str, object]], labels: np.ndarray, classes: int) -> float | None:
    """What the policy earns when it plays."""
    if not text.startswith("-"):
        return None
    rng, earned = np.random.default_rng(2), 0.0
    is_adf = "--cb_explore_adf" in text
    entries = [{"a": {"action=": str(one)}} for one in range(classes)]
    words = f"{text} --cb_min_cost -1 --cb_max_cost 0 {'--dsjson' if is_adf else '--json'} --quiet"
    with Workspace(words) as vw:
        for context, label in zip(contexts, labels.tolist(), strict=True):
            everything = list(range(1, classes + 1))
            event = {"a": everything, "c": {**context, "_multi": entries}, "p": [1 / classes] * classes}
            pmf = np.array(vw.predict(json.dumps(event if is_adf else context)))
            action = int(rng.choice(classes, p=pmf / pmf.sum()))
            reward = float(action == label)
            earned += reward
            chance = max(float(pmf[action]), 1e-6)
            if is_adf:
                order = [action + 1, *(one for one in everything if one != action + 1)]
                event |= {"a": order, "p": [float(pmf[one - 1]) for one in order]}
                event = {"_label_cost": -reward, "_label_probability": chance, "_labelIndex": action} | event
                vw.learn(json.dumps(event))
            else:
                label_of = {"_label_Action": action + 1, "_label_Cost": -reward, "_label_Probability": chance}
                vw.learn(json.dumps(label_of | context))
    return earned / len(labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", type=Path)
    given = parser.parse_args()
    rows, wrong, pairs, best, inside, judged = [], [], 0, 0, 0, 0
    clear_pairs = clear_right = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in SETS:
            path = Path(folder) / f"{name}.dsjson"
            labels, contexts, classes = write_log(name, path)
            found = {}
            for label, text in policies(classes).items():
                estimate, truth = judge(path, text, labels)
                found[label] = (estimate, truth)
                inside += truth in estimate.interval
                judged += 1
                alive = live(text, contexts, labels, classes)
                rows.append((name, len(labels), classes, label, estimate, truth, alive))
                print(f"{name}, {label}: {estimate.value:.4f}, truly {truth:.4f}", file=sys.stderr)
            best += max(found, key=lambda one: found[one][0].value) == max(found, key=lambda one: found[one][1])
            for one, other in combinations(found, 2):
                (first, truth_1), (second, truth_2) = found[one], found[other]
                pairs += 1
                is_right = (first.value - second.value) * (truth_1 - truth_2) > 0
                apart = first.interval.high < second.interval.low or second.interval.high < first.interval.low
                clear_pairs += apart
                clear_right += apart and is_right
                if not is_right:
                    wrong.append(
                        f"| {name} | {one} | {other} | {first.value - second.value:+.4f} | {truth_1 - truth_2:+.4f} |"
                    )
    lines = [
        "# Ranking five policies on logs of ten data sets",
        "",
        "Made by `python benchmarks/evaluation/ranking.py`.",
        "",
        f"- Of {pairs} pairs of policies, {pairs - len(wrong)} are in the right order. Where the valid intervals do "
        f"not overlap, {clear_right} of {clear_pairs} are.",
        f"- The best of the five is named on {best} of {len(SETS)} sets.",
        f"- The true value is inside the valid interval {inside} of {judged} times.",
        "",
        "## Where it fails",
        "",
        "Pairs in the wrong order; the differences are first minus second.",
        "",
        "| set | first | second | estimated | true |",
        "|---|---|---|---|---|",
        *wrong,
        "",
        "## Everything",
        "",
        "| set | events | classes | policy | estimate (SNIPS) | valid, 95% | true | effective sample size | live |",
        "|---|---|---|---|---|---|---|---|---|",
        *(
            f"| {name} | {n} | {classes} | {label} | {one.value:.4f} | {one.interval.low:.4f} to "
            f"{one.interval.high:.4f} | {truth:.4f} | {one.effective_n:.0f} | "
            f"{'' if alive is None else f'{alive:.4f}'} |"
            for name, n, classes, label, one, truth, alive in rows
        ),
        "",
    ]
    print("\n".join(lines))
    if given.report:
        draft = given.report.with_suffix(".tmp")
        draft.write_text("\n".join(lines))
        draft.rename(given.report)


if __name__ == "__main__":
    main()
