"""Offers spoiled events to one of two workspaces, in its own process: a crash must not take the tests along.

Every event is written to a file before it is offered, so that the parent can tell which one ended the process.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from twins.arrays import LEARNERS, ArrayTwins
from twins.formats import FORMATS, Format
from twins.mutations import mutated
from vw_fastcb import Workspace, pyvw

ATTEMPTS = 150  # spoiled events in the life of a pair of twins
CHECKED_EVERY = 6
POOL = 16  # examples that VW uses in turn: few, so that those of a refused event are soon used again
DIFFER = 3  # the exit code of a child whose twins differ
NAMES = [*FORMATS, *LEARNERS]


class TwinsDiffer(AssertionError):
    """The twins can be told apart, or an event was refused in a way no caller expects."""


class Journal:
    """What was offered, in order, on disk before it happens; and what the twins did since they were last compared."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path.open("wb", buffering=0)
        self.recent: list[str] = []

    def note(self, *what: Any) -> None:
        line = json.dumps(what)
        self.file.write(line.encode() + b"\n")
        self.recent.append(line)

    def differ(self, why: str) -> TwinsDiffer:
        recent = "\n".join(
            line if len(line) < 2000 else f"{line[:2000]}... ({len(line)} characters)" for line in self.recent
        )
        return TwinsDiffer(
            f"{why}\nWhat happened since they were last compared:\n{recent}\nAll of it is in {self.path}"
        )


def label_of(example: Any, vw: Workspace) -> str:
    kind = vw.get_label_type()
    readers = {
        pyvw.LabelType.CONTEXTUAL_BANDIT: pyvw.CBLabel,
        pyvw.LabelType.CONDITIONAL_CONTEXTUAL_BANDIT: pyvw.CCBLabel,
    }
    return str(readers.get(kind, pyvw.SlatesLabel).from_example(example))


def described(examples: Any, vw: Workspace) -> list[Any]:
    """What a caller can see of its examples: labels and features."""
    listed = examples if isinstance(examples, list) else [examples]
    return [(label_of(one, vw), sorted(map(repr, one.iter_features()))) for one in listed]


class WorkspaceTwins:
    """Two workspaces with the same flags: `first` is offered everything, `second` only what `first` accepted."""

    def __init__(self, form: Format, variant: str, journal: Journal, folder: Path, rng: Random) -> None:
        self.form, self.journal, self.folder, self.rng = form, journal, folder, rng
        self.flags = f"{form.flags} --fastcb -b 12 --quiet --example_queue_limit {POOL} {variant}"
        self.counts: Counter[str] = Counter()
        self.first, self.second = (Workspace(self.flags.format(cache=folder / f"{n}.cache")) for n in (1, 2))
        self.journal.note("twins", self.flags)
        self.probes = [form.event(rng, False) for _ in range(3)]
        self.good()

    def good(self) -> None:
        event = self.form.event(self.rng, True)
        self.journal.note("good", event)
        self._give_both(lambda vw: vw.learn(event))
        if self.form.has_plain_labels and self.rng.random() < 0.2:
            self._relabelled()

    def bad(self) -> None:
        event = mutated(self.rng, self.form.event(self.rng, self.rng.random() < 0.9), is_json=self.form.is_json)
        door = self.rng.choice(self._doors())
        self.journal.note(door.__name__, event)
        try:
            said = door(self.first, event)
        except (RuntimeError, TypeError):  # TypeError: several lines where an event has one
            self.counts["refused"] += 1
            return
        except TwinsDiffer:
            raise
        except Exception as problem:
            raise self.journal.differ(f"refused by {problem!r}; expected a RuntimeError or a TypeError") from problem
        self.counts["accepted"] += 1
        self.journal.note("accepted")
        try:
            expected = door(self.second, event)
        except RuntimeError as problem:
            raise self.journal.differ(
                f"accepted by a twin that saw refused events, but not by the other: {problem}"
            ) from problem
        if said != expected:
            raise self.journal.differ(f"the prediction for an accepted event differs: {said} and {expected}")

    def compare(self) -> None:
        for probe in self.probes:
            first, second = (outcome(lambda vw=vw, probe=probe: vw.predict(probe)) for vw in (self.first, self.second))
            if first != second:
                raise self.journal.differ(f"{self.flags}: twins answer {first} and {second} to {probe!r}")
        first, second = (file.read_bytes() for file in self._saved())
        if first != second:
            raise self.journal.differ(f"{self.flags}: the models that the twins saved differ")
        self.journal.recent.clear()

    def _saved(self) -> list[Path]:
        files = [self.folder / name for name in ("first.model", "second.model")]
        for vw, file in zip((self.first, self.second), files, strict=True):
            vw.save(file)
        return files

    def end(self) -> None:
        """What is loaded from the saved models answers the same."""
        files = self._saved()
        self.first.finish()
        self.second.finish()
        reader = ["--json"] if "--json" in self.form.flags else ["--dsjson"] if self.form.is_json else []
        answers = []
        for file in files:
            with Workspace(arg_list=["-i", str(file), "--quiet", *reader]) as vw:
                answers.append([outcome(lambda vw=vw, probe=probe: vw.predict(probe)) for probe in self.probes])
        if answers[0] != answers[1]:
            raise self.journal.differ(f"{self.flags}: the loaded models answer {answers}")

    def _doors(self) -> list[Callable[[Workspace, str], str | None]]:
        return [
            learn,
            learn,
            predict,
            *([learn_lines, predict_lines] if self.form.is_multiline else []),
            *self._example_doors(),
        ]

    def _example_doors(self) -> list[Callable[[Workspace, str], str | None]]:
        def learn_examples(vw: Workspace, event: str) -> None:
            with self._parsed(vw, event) as examples:
                vw.learn(examples)

        def predict_examples(vw: Workspace, event: str) -> str:
            with self._parsed(vw, event) as examples:
                return repr(vw.predict(examples))

        def finish_examples(vw: Workspace, event: str) -> None:
            examples = vw.parse(event)
            try:
                vw.learn(examples)
            finally:
                vw.finish_example(examples)

        return [learn_examples, predict_examples, finish_examples]

    @contextmanager
    def _parsed(self, vw: Workspace, event: str) -> Iterator[Any]:
        """A caller's own examples: as they were after a refusal, and given back to VW when nobody holds them."""
        examples = vw.parse(event)
        before = described(examples, vw)
        try:
            yield examples
        except RuntimeError:
            if described(examples, vw) != before:
                raise self.journal.differ(
                    f"the refused examples were {before}, and are {described(examples, vw)}"
                ) from None
            raise
        vw.finish_example(examples)

    def _relabelled(self) -> None:
        """An example with a bad label is refused, gets its good label back, and is learned like any other."""
        event = self.form.event(self.rng, True)
        lines = event.split("\n")
        place = next(n for n, line in enumerate(lines) if line[0].isdigit())
        good = lines[place].partition(" ")[0]
        bad = self.rng.choice(("0:7:0.5", "9:nan:0.5", "0:0.5:1.5", "1:-1:0.5"))
        self.journal.note("relabelled", event, bad)
        examples = self.first.parse(event)
        chosen = examples[place] if isinstance(examples, list) else examples
        with refusal_expected(self.journal):
            chosen.set_label_string(bad)
            self.first.learn(examples)
        self.counts["refused"] += 1
        chosen.set_label_string(good)
        self.first.learn(examples)
        self.first.finish_example(examples)
        self.second.learn(event)

    def _give_both(self, call: Callable[[Workspace], Any]) -> None:
        first, second = (outcome(lambda vw=vw: call(vw)) for vw in (self.first, self.second))
        if first != second:
            raise self.journal.differ(f"{self.flags}: a good event gave {first} and {second}")


@contextmanager
def refusal_expected(journal: Journal) -> Iterator[None]:
    try:
        yield
    except RuntimeError:
        return
    raise journal.differ("an example with a bad label was accepted")


def outcome(call: Callable[[], Any]) -> str:
    try:
        return repr(call())
    except RuntimeError as problem:
        return f"refused: {problem}"


def learn(vw: Workspace, event: str) -> None:
    vw.learn(event)


def predict(vw: Workspace, event: str) -> str:
    return repr(vw.predict(event))


def learn_lines(vw: Workspace, event: str) -> None:
    vw.learn(event.split("\n"))


def predict_lines(vw: Workspace, event: str) -> str:
    return repr(vw.predict(event.split("\n")))


def life(twins: Any, rng: Random, target: int) -> None:
    """Good and spoiled events in turn, until the twins are old or enough was refused; then their models."""
    for attempt in range(ATTEMPTS):
        twins.bad()
        if rng.random() < 0.5:
            twins.good()
        if attempt % CHECKED_EVERY == 0:
            twins.compare()
        if twins.counts["refused"] >= target:
            break
    twins.compare()
    twins.end()


def fuzz(name: str, target: int, seed: int, folder: Path) -> Counter[str]:
    """Twins of each variant in turn, until `target` events were refused. Raises where twins differ."""
    rng = Random(f"{name} {seed}")
    journal = Journal(folder / "offered")
    total: Counter[str] = Counter()
    variants = FORMATS[name].variants if name in FORMATS else LEARNERS[name]
    turn = 0
    while total["refused"] < target or turn < len(variants):
        variant = variants[turn % len(variants)]
        twins = (
            WorkspaceTwins(FORMATS[name], str(variant), journal, folder, rng)
            if name in FORMATS
            else ArrayTwins(variant, name.startswith("dicts"), journal, folder, rng)
        )
        journal.recent.clear()
        life(twins, rng, target // len(variants) + 1)
        total += twins.counts
        turn += 1
    return total


def fuzz_in_child(
    names: Sequence[str], target: int, seed: int, folder: Path, timeout: float = 600
) -> dict[str, Counter[str]]:
    """Runs `fuzz` on formats in a process of its own; a crash, a hang or twins that differ become an AssertionError."""
    arguments = [*names, "--refused", str(target), "--seed", str(seed), "--folder", str(folder), "--in-process"]
    with (folder / "said").open("w") as said:
        try:
            code = subprocess.run(
                [sys.executable, __file__, *arguments],
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            code = None
    if code is not None and code.returncode == 0:
        return {name: Counter(counts) for name, counts in json.loads(code.stdout).items()}
    said_last = (folder / "said").read_text(errors="replace")[-6000:]
    if code is not None and code.returncode == DIFFER:
        raise AssertionError(code.stdout)
    begun = [name for name in names if (folder / name / "offered").exists()]  # they are taken in order
    assert begun, f"the process could not start:\n{said_last}"
    name = begun[-1]
    offered = (folder / name / "offered").read_text().splitlines()[-4:]
    ended = "took too long" if code is None else f"ended by itself with {code.returncode}"
    last = "\n".join(line[:3000] for line in offered)
    raise AssertionError(
        f"{name}, seed {seed}: the process {ended}. The last that it was offered:\n{last}\n{said_last}"
    )


def fuzz_here(names: Sequence[str], target: int, seed: int, folder: Path) -> None:
    """Runs `fuzz` on formats, one after another; prints what was counted, or where twins differ."""
    counts = {}
    for name in names:
        (folder / name).mkdir(parents=True)
        try:
            counts[name] = fuzz(name, target, seed, folder / name)
        except TwinsDiffer as problem:
            print(f"{name}, seed {seed}: {problem}")
            sys.exit(DIFFER)
    print(json.dumps(counts))


def report(counts: dict[str, Counter[str]]) -> str:
    """A table of how many events were refused and accepted for each format."""
    rows = [f"{'format':<16}{'refused':>10}{'accepted':>10}"]
    rows += [f"{name:<16}{count['refused']:>10,}{count['accepted']:>10,}" for name, count in counts.items()]
    total = sum(counts.values(), Counter[str]())
    return "\n".join([*rows, f"{'all':<16}{total['refused']:>10,}{total['accepted']:>10,}"])


def main() -> None:
    parser = argparse.ArgumentParser(description="Give spoiled events to one of two twins, and see that nothing shows.")
    parser.add_argument("formats", nargs="*", metavar="format", help=f"of {', '.join(NAMES)}; all if none is given")
    parser.add_argument("--refused", type=int, default=1000, help="how many events must have been refused, per format")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where the events that were offered are kept")
    parser.add_argument("--in-process", action="store_true", help="without a child process")
    given = parser.parse_args()
    if given.in_process:
        faulthandler.enable()
        fuzz_here(given.formats, given.refused, given.seed, given.folder)
        return
    counts: dict[str, Counter[str]] = {}
    failures = []
    for name in given.formats or NAMES:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                counts |= fuzz_in_child([name], given.refused, given.seed, given.folder or Path(scratch))
            except AssertionError as problem:
                failures.append(str(problem))
    print(report(counts))
    sys.exit("\n\n".join(failures))


if __name__ == "__main__":
    main()
