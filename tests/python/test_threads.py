"""What threads do at once equals what one of them does alone, bit for bit. `make sanitize` looks for races in it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from support import Event, assert_pmfs, events, ok, predictions, refused, write
from vw_fastcb import FastCB, Workspace, _engine

# The parser's thread reads ahead by few lines, so that it and the learner wait for each other all the time.
SHORT_QUEUE = ("--example_queue_limit", "7")
LONG_QUEUE = ("--example_queue_limit", "1500")  # or it reads on, whatever the learner does
FORMATS = {
    "adf": (("--cb_explore_adf", "--fastcb", "-q", "ua"), Event.adf),
    "fixed": (("--cb_explore", "4", "--fastcb"), Event.fixed),
    "json": (("--cb_explore_adf", "--fastcb", "--json"), lambda event: event.json() + "\n"),
    "dsjson": (("--cb_explore_adf", "--fastcb", "--dsjson"), Event.dsjson),
    "newton": (("--cb_explore_adf", "--fastcb", "--fastcb_oracle", "newton"), Event.adf),
    "another explorer": (("--cb_explore_adf", "--squarecb"), Event.adf),
}
BAD = {
    "adf": "0:7:0.5 |a p\n|a q\n\n",
    "fixed": "1:7:0.5 |u x\n",
    "json": '{"_multi": []}\n\n',
    "dsjson": '{"c": 1}\n',
    "newton": "0:7:0.5 |a p\n|a q\n\n",
}
PASSES = {
    "holdout": ("--passes", "3", "-k"),
    "no holdout": ("--passes", "3", "-k", "--holdout_off"),
    "an early end": ("--passes", "30", "-k", "--early_terminate", "1", "--holdout_period", "3", "-l", "20"),
}


def in_threads(*works: Callable[[], object]) -> None:
    """Does all works at once, each in a thread of its own; raises what one of them raises."""
    begin = threading.Barrier(len(works), timeout=60)

    def work(number: int) -> None:
        begin.wait()
        works[number]()

    with ThreadPoolExecutor(len(works)) as pool:
        list(pool.map(work, range(len(works))))


# The parser's thread of the command line


def log_of(path: Path, name: str, count: int = 300, bad: Iterable[int] = ()) -> Path:
    lines = [FORMATS[name][1](event) for event in events(count, seed=5)]
    for place in sorted(bad, reverse=True):
        lines.insert(place, BAD[name])
    return write(path, lines)


def learned(folder: Path, name: str, data: Path, *more: str) -> tuple[bytes, str]:
    """The model and the predictions of a run of the command line, in this thread, without a word."""
    folder.mkdir()
    words = [*FORMATS[name][0], "-d", str(data), "-f", str(folder / "model"), "-p", str(folder / "pmfs"), "--quiet"]
    assert _engine.run_command_line([*words, *more]) == 0
    return (folder / "model").read_bytes(), (folder / "pmfs").read_text()


@pytest.mark.parametrize("name", FORMATS)
def test_a_parser_in_a_thread_of_its_own_changes_nothing(name: str, tmp_path: Path) -> None:
    data = log_of(tmp_path / "log", name)
    alone = learned(tmp_path / "alone", name, data, "--onethread")
    for number in range(3):
        assert learned(tmp_path / str(number), name, data, *SHORT_QUEUE) == alone


@pytest.mark.parametrize("name", ["adf", "fixed"])
@pytest.mark.parametrize("passes", PASSES)
def test_several_passes_with_a_parser_of_their_own_change_nothing(name: str, passes: str, tmp_path: Path) -> None:
    data = log_of(tmp_path / "log", name)
    flags = PASSES[passes]
    alone = learned(tmp_path / "alone", name, data, "--onethread", "--cache_file", str(tmp_path / "c1"), *flags)
    threads = learned(tmp_path / "both", name, data, "--cache_file", str(tmp_path / "c2"), *SHORT_QUEUE, *flags)
    assert threads == alone


@pytest.mark.parametrize("name", BAD)
def test_a_parser_in_a_thread_of_its_own_skips_the_same_bad_events(name: str, tmp_path: Path) -> None:
    data = log_of(tmp_path / "log", name, bad=[0, 7, 8, 150, 299])
    skip = ("--fastcb_bad_events", "skip")
    alone = learned(tmp_path / "alone", name, data, *skip, "--onethread")
    assert learned(tmp_path / "both", name, data, *skip, *SHORT_QUEUE) == alone
    good = log_of(tmp_path / "good", name)
    assert learned(tmp_path / "without", name, good)[1] == alone[1]


@pytest.mark.parametrize("queue", [LONG_QUEUE, SHORT_QUEUE], ids=["a long queue", "a short queue"])
@pytest.mark.parametrize("name", ["adf", "fixed"])
def test_a_parser_that_refuses_and_a_learner_that_fails_end_each_other(
    name: str, queue: tuple[str, ...], tmp_path: Path
) -> None:
    flags = FORMATS[name][0]
    bad = log_of(tmp_path / "bad", name, bad=[250])
    good = log_of(tmp_path / "good", name)
    for _ in range(5):
        assert "event 251 of the input" in refused(*flags, "-d", bad, "--quiet", *queue)
        said = refused(*flags, "-d", good, "--quiet", "-p", "/dev/full", *queue)
        assert "could not be written: No space left on device" in said


@pytest.mark.parametrize("name", ["adf", "fixed"])
def test_an_event_that_only_the_learner_refuses_ends_the_parser(name: str, tmp_path: Path) -> None:
    """A cache that VW wrote without FastCB has costs that nobody has checked."""
    event = FORMATS[name][1]
    lines = [*map(event, events(3)), BAD[name], *map(event, events({"adf": 240, "fixed": 1400}[name]))]
    data = write(tmp_path / "log", lines)
    cache, flags = tmp_path / "cache", [*FORMATS[name][0], "--quiet"]
    ok(*(flag for flag in flags if flag != "--fastcb"), "-d", data, "--cache_file", cache, "-k")
    for queue in (LONG_QUEUE, SHORT_QUEUE) * 3:
        assert "cost 7 is outside [0, 1]" in refused(*flags, "--cache_file", cache, *queue)


def test_several_models_learn_from_one_parser_what_each_learns_alone(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = log_of(tmp_path / "log", "adf")
    lines = [f"{' '.join(FORMATS['adf'][0])} -d {data} --quiet -l {rate}\n" for rate in (0.5, 5)]
    ok("--args", write(tmp_path / "models", lines))
    for number, line in enumerate(lines, 1):
        ok(*line.split(), "-f", tmp_path / "alone")
        assert (tmp_path / f"model.{number}").read_bytes() == (tmp_path / "alone").read_bytes()


def test_command_lines_at_once_in_one_process_change_nothing_in_each_other(tmp_path: Path) -> None:
    data = {name: log_of(tmp_path / name, name) for name in FORMATS}
    alone = {name: learned(tmp_path / f"{name} alone", name, data[name]) for name in FORMATS}
    at_once: dict[str, tuple[bytes, str]] = {}

    def work(name: str) -> None:
        at_once[name] = learned(tmp_path / f"{name} at once", name, data[name], *SHORT_QUEUE)

    in_threads(*(lambda name=name: work(name) for name in FORMATS))
    assert at_once == alone
    assert_pmfs(predictions(tmp_path / "adf at once" / "pmfs"))


def test_workspaces_in_threads_read_files_and_events_as_one_does_alone(tmp_path: Path) -> None:
    data = log_of(tmp_path / "log", "adf")
    asked = [event.adf(label=False) for event in events(20, seed=6)]
    taught = [event.adf() for event in events(20, seed=7)]

    def answers() -> list[list[float]]:
        with Workspace(arg_list=[*FORMATS["adf"][0], "--quiet", "-d", str(data), *SHORT_QUEUE]) as vw:
            for event in taught:
                vw.learn(event)
            return [vw.predict(event) for event in asked]

    alone, at_once = answers(), []
    in_threads(*[lambda: at_once.append(answers())] * 4)
    assert at_once == [alone] * 4


# One learner in many threads

WIDTH = 6
LEARNERS = {
    "fixed": {"n_actions": 4},
    "features": {"n_actions": None},
    "no interactions": {"n_actions": None, "interactions": ()},
    "newton": {"n_actions": None, "oracle": "newton"},
}


def make(name: str, **more: object) -> FastCB:
    return FastCB(**LEARNERS[name], seed=3, **more)


class Log:
    """Events to learn from in their order, one by one and many at a time."""

    def __init__(self, name: str, count: int = 120) -> None:
        rng = np.random.default_rng(4)
        self.contexts = rng.random((count, WIDTH))
        self.features = rng.random((4, 3)) if LEARNERS[name]["n_actions"] is None else None
        self.actions = rng.integers(4, size=count)
        self.costs = rng.random(count)

    def teach(self, bandit: FastCB, after_each: Callable[[], object] = lambda: None) -> None:
        half = len(self.contexts) // 2
        for i in range(half):
            bandit.learn_event(self.contexts[i], int(self.actions[i]), self.costs[i], action_features=self.features)
            after_each()
        for start in range(half, len(self.contexts), 15):
            part = slice(start, start + 15)
            bandit.partial_fit(self.contexts[part], self.actions[part], self.costs[part], None, self.features)
            after_each()


def uses(bandit: FastCB, log: Log, folder: Path) -> list[Callable[[], object]]:
    """What others may do with a learner while it is taught, without a trace in its model."""
    many = log.contexts[:40]
    return [
        lambda: bandit.decide(log.contexts[0], log.features),
        lambda: bandit.decide(log.contexts[1], log.features, exclude=[1]),
        lambda: bandit.decide_many(many, log.features),
        lambda: bandit.predict_proba(many, log.features),
        lambda: bandit.predict_cost(many, log.features),
        lambda: bandit.explain(log.contexts[2], log.features),
        lambda: bandit.weights(many, log.features),
        lambda: bandit.save(folder / "saved"),
        lambda: bandit.simulate(many, np.zeros((40, 4)), action_features=log.features, n_jobs=2),
        lambda: bandit.events_,
    ]


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_that_others_use_meanwhile_learns_what_its_twin_learns_alone(name: str, tmp_path: Path) -> None:
    """And whatever is saved in between is a model that the twin had, too: never a half of an event."""
    log, twin, bandit = Log(name), make(name), make(name)
    for learner in (twin, bandit):
        learner.decide(log.contexts[0], log.features)  # a model notes the columns of what was seen
    models = {twin.events_: twin.to_bytes()}
    log.teach(twin, lambda: models.update({twin.events_: twin.to_bytes()}))
    ended, saved = threading.Event(), []

    def teach() -> None:
        try:
            log.teach(bandit)
        finally:
            ended.set()

    def until_then(work: Callable[[], object]) -> None:
        work()
        while not ended.is_set():
            work()

    def keep() -> None:
        saved.append(bandit.to_bytes())

    in_threads(teach, *(lambda work=work: until_then(work) for work in [keep, *uses(bandit, log, tmp_path)]))
    assert bandit.to_bytes() == models[len(log.contexts)]
    assert set(saved) <= set(models.values())
    FastCB.load(tmp_path / "saved")


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_in_threads_of_their_own_learn_what_one_does_alone(name: str) -> None:
    log, models = Log(name), []

    def teach() -> None:
        with make(name) as bandit:
            log.teach(bandit)
            models.append(bandit.to_bytes())

    teach()
    in_threads(*[teach] * 6)
    assert models == models[:1] * 7


@pytest.mark.parametrize("name", LEARNERS)
def test_copies_learn_and_are_read_while_their_original_learns(name: str) -> None:
    log, bandit = Log(name), make(name)
    log.teach(bandit)
    before, after = bandit.to_bytes(), []

    def copy_and_teach() -> None:
        with FastCB.from_bytes(before, seed=3) as other:
            log.teach(other)
            after.append(other.to_bytes())

    def teach() -> None:
        log.teach(bandit)
        after.append(bandit.to_bytes())

    in_threads(teach, *[copy_and_teach] * 4)
    assert after == after[:1] * 5


@pytest.mark.parametrize("name", LEARNERS)
def test_decisions_of_many_threads_are_all_learned(name: str) -> None:
    log, bandit = Log(name), make(name)

    def play(first: int) -> None:
        for context in log.contexts[first::6]:
            bandit.learn(bandit.decide(context, log.features), 0.5)
        decisions = bandit.decide_many(log.contexts[first::6], log.features)
        bandit.learn(decisions, np.full(len(log.contexts[first::6]), 0.25))

    in_threads(*(lambda first=first: play(first) for first in range(6)))
    assert bandit.events_ == 2 * len(log.contexts)
