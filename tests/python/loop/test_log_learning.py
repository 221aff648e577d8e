"""`fastcb learn LOG ... --model`: every event of a log exactly once, whatever happens to the process."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

import pytest

from bakeoff.cli import fastcb
from loop.cli import refused, told
from support import events, ok, predictions, run, write
from vw_fastcb.loop import files, log_learning
from vw_fastcb.loop.log_learning import LogLearner, LogRefused

FLAGS = "--cb_explore_adf --fastcb --dsjson --quiet"
FASTCB = str(Path(sysconfig.get_path("scripts")) / "fastcb")


def log_lines(count: int, seed: int = 0, first: int = 0) -> list[str]:
    """A log in which every event has an id of its own."""
    lines = []
    for i, event in enumerate(events(count, seed)):
        lines.append(json.dumps({**json.loads(event.dsjson()), "EventId": f"e{first + i}"}) + "\n")
    return lines


def learned(model: Path, *logs: Path, **options: object) -> LogLearner:
    with LogLearner(model, **options) as learner:
        learner.learn(logs, threading.Event())
        learner.commit()
        return learner


def summary(*arguments: object) -> dict:
    return told("learn", *arguments)


def refused_logs(*arguments: object, code: int = 1) -> str:
    return refused("learn", *arguments, code=code)


def test_the_model_is_that_of_the_command_line(tmp_path):
    log = write(tmp_path / "log.dsjson", log_lines(200))
    told = summary(log, "--model", tmp_path / "m.vw", "--flags", "--interactions ua -l 0.1")
    assert (told["lines"], told["learned"], told["bad"]) == (200, 200, 0)
    ok(*FLAGS.split(), "--interactions", "ua", "-l", "0.1", "-d", log, "-f", tmp_path / "program.vw")
    for name in ("m", "program"):
        ok("-i", tmp_path / f"{name}.vw", "--dsjson", "-t", "-d", log, "-p", tmp_path / f"{name}.txt", "--quiet")
    assert predictions(tmp_path / "m.txt") == predictions(tmp_path / "program.txt")


def test_the_same_command_goes_on_with_what_is_new(tmp_path):
    lines = log_lines(300)
    whole = learned(tmp_path / "whole.vw", write(tmp_path / "whole.dsjson", lines))
    log = tmp_path / "log.dsjson"
    for end in (100, 100, 220, 300):
        write(log, lines[:end])
        told = summary(log, "--model", tmp_path / "m.vw", "--flags", "")
    assert told["new"]["lines"] == 80
    assert told["sha256"] == whole.sha256
    assert (tmp_path / "m.vw").read_bytes() == (tmp_path / "whole.vw").read_bytes()


def test_a_line_counts_once_it_ends(tmp_path):
    first, second = log_lines(2)
    log = write(tmp_path / "log.dsjson", [first, second[:50]])
    result = fastcb("learn", log, "--model", tmp_path / "m.vw")
    assert "Read 1 line, learned 1 event." in result.out
    assert "50 bytes without the end of a line" in result.out
    write(log, [first, second])
    assert summary(log, "--model", tmp_path / "m.vw")["learned"] == 2


def test_lines_that_were_not_read_are_not_called_unfinished(tmp_path):
    log = write(tmp_path / "log.dsjson", log_lines(20))
    stop = threading.Event()
    with LogLearner(tmp_path / "m.vw") as learner:
        learner.learn([log], stop)
        with log.open("a") as file:
            file.writelines(log_lines(30)[20:])
        stop.set()
        learner.learn([log], stop)
        assert learner.counts.lines < 30
        assert learner.unfinished() == []


def test_an_id_is_learned_once_and_an_unlabelled_line_does_not_use_it_up(tmp_path):
    lines = log_lines(3)
    asked = {key: value for key, value in json.loads(lines[0]).items() if not key.startswith("_label")}
    skipped = {**json.loads(lines[1]), "_skipLearn": True}
    observation = {"EventId": "e9", "RewardValue": 1.0}
    head = [json.dumps(one) + "\n" for one in (asked, skipped, observation)]
    log = write(tmp_path / "log.dsjson", [*head, *lines, "\n", *lines])
    told = summary(log, "--model", tmp_path / "m.vw")
    counted = {name: told[name] for name in ("learned", "duplicates", "unlabelled", "skipped", "blank", "bad")}
    assert counted == {"learned": 3, "duplicates": 3, "unlabelled": 2, "skipped": 1, "blank": 1, "bad": 0}
    more = write(tmp_path / "more.dsjson", lines)  # renamed, or copied: the ids are known from the state
    assert summary(log, more, "--model", tmp_path / "m.vw")["new"]["duplicates"] == 3


BAD = [
    ("hello\n", "not valid JSON"),
    ('{"_label_cost": 7, "_label_probability": 0.5, "_labelIndex": 0, "a": [1], "c": {"_multi": [{}]}}\n', "cost 7"),
]


def test_bad_lines_are_named_and_leave_no_trace(tmp_path):
    lines = log_lines(60)
    clean = learned(tmp_path / "clean.vw", write(tmp_path / "clean.dsjson", lines))
    log = write(tmp_path / "log.dsjson", [*lines[:20], BAD[0][0], *lines[20:40], BAD[1][0], *lines[40:]])
    log.write_bytes(log.read_bytes() + b'{"a\xff"}\n')
    result = fastcb("learn", log, "--model", tmp_path / "m.vw")
    assert result.code == 0
    assert "3 could not be learned" in result.out
    for line, words in ((21, BAD[0][1]), (42, BAD[1][1]), (63, "not UTF-8")):
        assert f"log.dsjson, line {line}: " in result.words
        assert words in result.words
    told = summary(log, "--model", tmp_path / "m.vw")
    assert told["sha256"] == clean.sha256
    assert [one["line"] for one in told["bad_lines"]] == [21, 42, 63]


def test_a_bad_line_is_kept_once_however_many_commits_follow(tmp_path):
    lines = log_lines(30)
    log = write(tmp_path / "log.dsjson", [*lines[:10], "hello\n", *lines[10:20]])
    with LogLearner(tmp_path / "m.vw") as learner:
        for more in (lines[20:], []):
            learner.learn([log], threading.Event())
            learner.commit()
            assert [number for _, number, _ in learner.bad_lines()] == [11]
            with log.open("a") as file:
                file.writelines(more)
    with LogLearner(tmp_path / "m.vw") as learner:
        assert [number for _, number, _ in learner.bad_lines()] == [11]


def test_bad_lines_can_be_the_end_until_they_are_mended(tmp_path):
    lines = log_lines(40)
    clean = learned(tmp_path / "clean.vw", write(tmp_path / "clean.dsjson", lines))
    log = write(tmp_path / "log.dsjson", [*lines[:25], "oh\n", *lines[25:]])
    said = refused_logs(log, "--model", tmp_path / "m.vw", "--stop-on-bad-lines")
    assert "log.dsjson, line 26: it is not valid JSON" in said
    write(log, lines)
    told = summary(log, "--model", tmp_path / "m.vw", "--stop-on-bad-lines")
    assert told["new"]["learned"] == 15
    assert told["sha256"] == clean.sha256


def test_folders_grow_and_their_files_are_taken_by_name(tmp_path):
    lines = log_lines(90)
    whole = learned(tmp_path / "whole.vw", write(tmp_path / "whole.dsjson", lines))
    folder = tmp_path / "logs"
    (folder / "2024").mkdir(parents=True)
    write(folder / "2024" / "b.json", lines[30:60])
    write(folder / "2024" / "a.dsjson", lines[:30])
    write(folder / "2024" / ".hidden.json", ["no\n"])
    write(folder / "notes.txt", ["no\n"])
    assert summary(folder, "--model", tmp_path / "m.vw")["files"] == 2
    write(folder / "2025.json", lines[60:])
    told = summary(folder, folder / "2025.json", "--model", tmp_path / "m.vw")
    assert told["files"] == 3
    assert told["sha256"] == whole.sha256


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data[:-1], "let it only grow"),
        (lambda data: b" " + data, "a different file than before"),
        (lambda data: b"", "has 0 bytes, and"),
        (lambda data: data[:-10] + b"x" * 9 + b"\n" + data, "a different file than before"),
    ],
)
def test_a_file_that_changed_is_refused_and_nothing_is_learned(change, words, tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    log = write(folder / "b.dsjson", log_lines(20))
    before = summary(folder, "--model", tmp_path / "m.vw")
    write(folder / "a.dsjson", log_lines(20, 1, 100))
    log.write_bytes(change(log.read_bytes()))
    assert words in refused_logs(folder, "--model", tmp_path / "m.vw")
    log.unlink()
    assert summary(folder, "--model", tmp_path / "m.vw")["learned"] == before["learned"] + 20


@pytest.mark.parametrize(
    "flags", ["", "--random_seed 7 --random_weights -b 8", "--l2 1e-6 --interactions ua", "--coin"]
)
def test_many_restarts_give_the_model_of_one_run(flags, tmp_path):
    lines = log_lines(120)
    log = write(tmp_path / "log.dsjson", lines)
    whole = learned(tmp_path / "whole.vw", log, flags=flags)
    grows = tmp_path / "grows.dsjson"
    for end in range(20, 121, 20):
        write(grows, lines[:end])
        parts = learned(tmp_path / "parts.vw", grows, flags=flags)
    assert parts.sha256 == whole.sha256


class Killed(BaseException):
    pass


@pytest.mark.parametrize("step", [0, 1, 2, 3, 6, 7, 8])
def test_a_crash_at_any_step_of_a_commit_changes_nothing(step, tmp_path, monkeypatch):
    """Every call that reaches the disk is one step. The process dies in the middle of one."""
    log = write(tmp_path / "log.dsjson", log_lines(120))
    whole = learned(tmp_path / "whole.vw", log)
    left = [step]

    def dying(before):
        def call(*args, **kwargs):
            if left[0] == 0:
                left[0] = -1
                raise Killed
            left[0] -= 1
            return before(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(log_learning, "_hashes", dying(log_learning._hashes))
        patch.setattr(files, "sync_folder", dying(files.sync_folder))
        patch.setattr(os, "fsync", dying(os.fsync))
        patch.setattr(Path, "replace", dying(Path.replace))
        learner = LogLearner(tmp_path / "m.vw")
        try:
            for end in (30, 60, 120):
                grown = write(tmp_path / "grown.dsjson", log.read_text().splitlines(keepends=True)[:end])
                learner.learn([grown], threading.Event())
                learner.commit()
        except Killed:
            pass
        learner._db.close()  # what the operating system does with a dead process's files
        learner._vw.finish()
    write(tmp_path / "grown.dsjson", log.read_text())
    again = learned(tmp_path / "m.vw", tmp_path / "grown.dsjson")
    assert again.sha256 == whole.sha256
    assert again.counts == whole.counts
    assert (tmp_path / "m.vw").read_bytes() == (tmp_path / "whole.vw").read_bytes()
    assert {path.name for path in tmp_path.glob("m.vw*")} == {"m.vw", "m.vw.state"}


# Two Ctrl-C at one line of what learns and commits: the first asks for a polite end, the second does not wait for it.
TWICE_INTERRUPTED = """
import contextlib, io, itertools, os, signal, sys
from pathlib import Path
from vw_fastcb.commands.learn import learn_logs
from vw_fastcb.loop import files, log_learning
from vw_fastcb.loop.log_learning import LogLearner

folder, log = Path(sys.argv[1]), sys.argv[2]
watched = {log_learning.__file__, files.__file__}
methods = {"learn", "_learn_file", "_learn_line", "commit", "_commit", "commit_if_due", "_transaction", "new_file"}


def run(model, at):
    seen = 0

    def lines(frame, event, argument):
        nonlocal seen
        if event == "line":
            seen += 1
            if seen == at:
                os.kill(os.getpid(), signal.SIGINT)
                os.kill(os.getpid(), signal.SIGINT)
        return lines

    def calls(frame, event, argument):
        is_watched = frame.f_code.co_filename in watched and frame.f_code.co_name in methods
        return lines if is_watched and frame.f_back.f_code.co_name != "_opened" else None

    settings = {"flags": "-b 8", "start_from": None, "follow": False, "stops_at_bad_lines": False, "every": 0}
    sys.settrace(calls)
    with contextlib.suppress(KeyboardInterrupt), contextlib.redirect_stdout(io.StringIO()):
        try:
            learn_logs([log], model, as_json=True, **settings)
        finally:
            sys.settrace(None)
    return seen


for at in itertools.count(1, int(sys.argv[3])):
    model = folder / f"{at}.vw"
    seen = run(model, at)
    if seen < at:
        break
    run(model, 0)
    with LogLearner(model) as learner:
        print(at, learner.sha256, learner.counts.learned, learner.counts.lines, len(learner.bad_lines()))
"""


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_a_second_ctrl_c_at_any_line_of_learning_teaches_nothing_twice(step, tmp_path, monkeypatch):
    """Once a model was stored that had learned a line whose end was not stored."""
    lines = [json.dumps({k: v for k, v in json.loads(line).items() if k != "EventId"}) + "\n" for line in log_lines(4)]
    log = write(tmp_path / "log.dsjson", [*lines[:2], "no\n", *lines[2:]])  # only the place in the log tells them apart
    whole = learned(tmp_path / "whole.vw", log, flags="-b 8")
    (tmp_path / "models").mkdir()
    command = [sys.executable, "-c", TWICE_INTERRUPTED, str(tmp_path / "models"), str(log), str(step)]
    made = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    found = [line.split() for line in made.stdout.splitlines()]
    assert len(found) > 100 / step
    assert {tuple(rest) for _, *rest in found} == {(whole.sha256, "4", "5", "1")}, made.stdout


class Following:
    """`fastcb learn --follow` as a process."""

    def __init__(self, log: Path, model: Path) -> None:
        command = [FASTCB, "learn", str(log), "--model", str(model), "--checkpoint-every", "1ms", "--follow", "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        state = model.with_name(f"{model.name}.state")
        deadline = time.monotonic() + 60
        before = state.stat().st_mtime_ns if state.exists() else 0
        while not (state.exists() and state.stat().st_mtime_ns > before) and time.monotonic() < deadline:
            assert self.process.poll() is None, self.process.stderr.read()
            time.sleep(0.005)  # kills at the start alone would prove little

    def end(self, number: int) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


def test_a_killed_learner_is_followed_by_one_that_ends_politely_with_the_model_of_one_run(tmp_path):
    lines = log_lines(1500)
    whole = learned(tmp_path / "whole.vw", write(tmp_path / "whole.dsjson", lines))
    folder, model = tmp_path / "logs", tmp_path / "m.vw"
    folder.mkdir()
    write(folder / "a.dsjson", lines[:500])
    Following(folder, model).end(signal.SIGKILL)
    write(folder / "b.dsjson", lines[500:1000])
    second = Following(folder, model)
    write(folder / "c.dsjson", lines[1000:])
    while not model.exists() or model.read_bytes() != (tmp_path / "whole.vw").read_bytes():
        assert second.process.poll() is None
        time.sleep(0.02)
    code, out, err = second.end(signal.SIGTERM)
    assert code == 0, err
    assert "Traceback" not in err
    final = json.loads(out)
    assert (final["learned"], final["duplicates"], final["sha256"]) == (1500, 0, whole.sha256)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_kills_do_not_change_the_model(seed, tmp_path):
    """The learner dies at random moments while its log grows."""
    rng = random.Random(seed)
    lines = log_lines(40_000)
    whole = learned(tmp_path / "whole.vw", write(tmp_path / "whole.dsjson", lines))
    log = write(tmp_path / "log.dsjson", lines[:20_000])
    for kill in range(25):
        follower = Following(log, tmp_path / "m.vw")
        with log.open("a") as file:
            file.writelines(lines[20_000 + 800 * kill : 20_800 + 800 * kill])
        time.sleep(rng.uniform(0, 0.3))
        follower.end(signal.SIGKILL)
    again = learned(tmp_path / "m.vw", log)
    assert (again.counts.learned, again.counts.duplicates) == (40_000, 0)
    assert again.sha256 == whole.sha256
    assert (tmp_path / "m.vw").read_bytes() == (tmp_path / "whole.vw").read_bytes()


def test_what_cannot_be_gone_on_with_is_refused(tmp_path):
    log = write(tmp_path / "log.dsjson", log_lines(5))
    model = tmp_path / "m.vw"
    summary(log, "--model", model, "--flags", "-b 10")
    assert "begun with '-b 10'" in refused_logs(log, "--model", model, "--flags", "-b 11")
    content = model.read_bytes()
    model.write_bytes(content + b"x")
    assert "changed by something else" in refused_logs(log, "--model", model)
    model.unlink()
    assert summary(log, "--model", model)["new"]["lines"] == 0
    assert model.read_bytes() == content
    (tmp_path / "m.vw.state").unlink()
    assert "which says what it has learned" in refused_logs(log, "--model", model)
    told = summary(write(tmp_path / "b.dsjson", log_lines(7, 3, 50)), "--model", model, "--start-from", model)
    assert told["learned"] == 7
    write(tmp_path / "other.vw.state", ["no database"])
    assert "not the state of a model" in refused_logs(log, "--model", tmp_path / "other.vw")


def test_a_model_to_begin_with(tmp_path):
    lines = log_lines(50)
    whole = learned(tmp_path / "whole.vw", write(tmp_path / "whole.dsjson", lines))
    learned(tmp_path / "half.vw", write(tmp_path / "half.dsjson", lines[:25]))
    rest = write(tmp_path / "rest.dsjson", lines[25:])
    arguments = (rest, "--model", tmp_path / "m.vw", "--start-from", tmp_path / "half.vw")
    assert summary(*arguments)["sha256"] == whole.sha256
    assert summary(*arguments)["new"]["lines"] == 0
    assert "not begun with" in refused_logs(rest, "--model", tmp_path / "m.vw", "--start-from", tmp_path / "whole.vw")
    assert "there is no model" in refused_logs(rest, "--model", tmp_path / "n.vw", "--start-from", tmp_path / "no.vw")
    write(tmp_path / "bad.vw", ["nonsense"])
    refused_logs(rest, "--model", tmp_path / "n.vw", "--start-from", tmp_path / "bad.vw")


def test_two_learners_at_one_model_do_not_mix(tmp_path):
    log = write(tmp_path / "log.dsjson", log_lines(5))
    with LogLearner(tmp_path / "m.vw") as first:
        first.learn([log], threading.Event())
        with pytest.raises(LogRefused, match="another process learns into this model"):
            LogLearner(tmp_path / "m.vw")
        first.commit()


# Holds the lock of a state that is still empty, and stands still there until it is told to go on.
PREPARES_SLOWLY = """
import os, signal, sys, threading
from vw_fastcb.loop.log_learning import LogLearner


class Slow(LogLearner):
    def _prepare(self, *arguments):
        assert self.state.stat().st_size == 0
        os.kill(os.getpid(), signal.SIGSTOP)
        super()._prepare(*arguments)


with Slow(sys.argv[2]) as learner:
    learner.learn([sys.argv[1]], threading.Event())
    learner.commit()
"""


def test_a_second_process_that_is_refused_leaves_the_state_of_the_first(tmp_path):
    """Once it removed the state while that was still empty: the first then wrote to a file that nobody would find."""
    log, model = write(tmp_path / "log.dsjson", log_lines(5)), tmp_path / "m.vw"
    first = subprocess.Popen([sys.executable, "-c", PREPARES_SLOWLY, str(log), str(model)])
    try:
        assert os.WIFSTOPPED(os.waitpid(first.pid, os.WUNTRACED)[1])
        before = (tmp_path / "m.vw.state").stat().st_ino
        assert "another process learns into this model" in refused_logs(log, "--model", model)
        assert (tmp_path / "m.vw.state").stat().st_ino == before
    finally:
        first.send_signal(signal.SIGCONT)
        assert first.wait(60) == 0
    assert (tmp_path / "m.vw.state").stat().st_ino == before
    found = summary(log, "--model", model)
    assert (found["learned"], found["new"]["lines"]) == (5, 0)


def test_a_state_that_a_crash_has_left_empty_is_begun_anew(tmp_path):
    log, model = write(tmp_path / "log.dsjson", log_lines(5)), tmp_path / "m.vw"
    (tmp_path / "m.vw.state").touch()
    assert "squarecb" in refused_logs(log, "--model", model, "--flags", "--squarecb")
    assert summary(log, "--model", model)["learned"] == 5


WRONG = [
    (["log.dsjson"], 2, "add --model"),
    (["log.dsjson", "--model", "m.vw", "--take-over"], 2, "for journals"),
    (["journal.db", "--flags", "-b 10"], 2, "--flags is for logs"),
    (["nowhere.dsjson", "--model", "m.vw"], 1, "there is no log 'nowhere.dsjson'"),
    (["log.dsjson", "--model", "no/m.vw"], 1, "there is no folder 'no'"),
    (["log.dsjson", "--model", "."], 1, "is a folder"),
    (["empty", "--model", "m.vw"], 1, "no file that ends in .dsjson or .json in empty"),
    (["log.dsjson", "--model", "m.vw", "--flags", "-d x"], 1, "the flags have -d; leave it out: name the logs"),
    (["log.dsjson", "--model", "m.vw", "--flags", "-fother.vw"], 1, "the flags have -f; leave it out: give --model"),
    (["log.dsjson", "--model", "m.vw", "--flags", "-iother.vw"], 1, "the flags have -i; leave it out: give --start-f"),
    (["log.dsjson", "--model", "m.vw", "--flags", "--passes 3"], 1, "every line is learned once"),
    (["log.dsjson", "--model", "m.vw", "--flags", "--squarecb"], 1, "squarecb"),
    (["log.dsjson", "--model", "m.vw", "--flags", "'"], 1, "No closing quotation"),
    (["log.dsjson", "--model", "m.vw", "--checkpoint-every", "soon"], 2, "a time such as"),
    (["journal.db"], 1, "there is no journal 'journal.db'"),
]


def test_wrong_arguments_are_refused_in_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "log.dsjson", log_lines(2))
    (tmp_path / "empty").mkdir()
    for arguments, code, words in WRONG:
        assert words in refused_logs(*arguments, code=code), arguments
        assert not list(tmp_path.glob("m.vw*")), arguments


def test_the_program_learns_what_it_was_given_once_more(tmp_path):
    """The trap that this is for: VW learns an event twice."""
    lines = log_lines(20)
    log = write(tmp_path / "log.dsjson", [*lines, *lines])
    once = run(*FLAGS.split(), "-d", write(tmp_path / "once.dsjson", lines), "-f", tmp_path / "once.vw")
    twice = run(*FLAGS.split(), "-d", log, "-f", tmp_path / "twice.vw")
    assert once.returncode == twice.returncode == 0
    assert (tmp_path / "once.vw").read_bytes() != (tmp_path / "twice.vw").read_bytes()
    both = learned(tmp_path / "both.vw", log)
    assert both.sha256 == learned(tmp_path / "one.vw", tmp_path / "once.dsjson").sha256


def test_a_log_of_rewards_says_which_flags_it_needs(tmp_path):
    lines = [json.dumps({**json.loads(line), "_label_cost": -1.0}) + "\n" for line in log_lines(10)]
    log = write(tmp_path / "log.dsjson", lines)
    said = refused_logs(log, "--model", tmp_path / "m.vw")
    assert "--flags '--cb_min_cost -1 --cb_max_cost 0'" in said
    assert f"remove {tmp_path / 'm.vw'} and {tmp_path / 'm.vw'}.state" in said
