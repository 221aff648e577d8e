"""`fastcb learn LOG ... --model`: every event of a log exactly once, whatever happens to the process."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sysconfig
import threading
import time
from pathlib import Path

import pytest

from bakeoff.cli import fastcb
from support import events, ok, predictions, run, write
from vw_fastcb import Workspace
from vw_fastcb.loop import files, log_learning
from vw_fastcb.loop.log_learning import LogLearner, LogRefused

FLAGS = "--cb_explore_adf --fastcb --dsjson --quiet"
FASTCB = [str(Path(sysconfig.get_path("scripts")) / "fastcb")]


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
    result = fastcb("learn", *arguments, "--json")
    assert result.code == 0, result.err
    return json.loads(result.out)


def refused(*arguments: object, code: int = 1) -> str:
    result = fastcb("learn", *arguments)
    assert result.code == code, result.out + result.err
    assert "Traceback" not in result.err
    return result.words


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
    assert "Read 1 lines, learned 1 events" in result.out
    assert "50 bytes without the end of a line" in result.out
    write(log, [first, second])
    assert summary(log, "--model", tmp_path / "m.vw")["learned"] == 2


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


def test_bad_lines_can_be_the_end_until_they_are_mended(tmp_path):
    lines = log_lines(40)
    clean = learned(tmp_path / "clean.vw", write(tmp_path / "clean.dsjson", lines))
    log = write(tmp_path / "log.dsjson", [*lines[:25], "oh\n", *lines[25:]])
    said = refused(log, "--model", tmp_path / "m.vw", "--stop-on-bad-lines")
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
        (lambda data: b" " + data, "another file than before"),
        (lambda data: b"", "has 0 bytes, and"),
        (lambda data: data[:-10] + b"x" * 9 + b"\n" + data, "another file than before"),
    ],
)
def test_a_file_that_changed_is_refused_and_nothing_is_learned(change, words, tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    log = write(folder / "b.dsjson", log_lines(20))
    before = summary(folder, "--model", tmp_path / "m.vw")
    write(folder / "a.dsjson", log_lines(20, 1, 100))
    log.write_bytes(change(log.read_bytes()))
    assert words in refused(folder, "--model", tmp_path / "m.vw")
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
    for end in range(10, 121, 10):
        write(grows, lines[:end])
        parts = learned(tmp_path / "parts.vw", grows, flags=flags)
    assert parts.sha256 == whole.sha256


class Killed(BaseException):
    pass


@pytest.mark.parametrize("step", range(12))
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
        patch.setattr(Workspace, "learn", dying(Workspace.learn))
        learner = LogLearner(tmp_path / "m.vw")
        try:
            for end in (3, 5, 120):
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


def killed_runs(tmp_path: Path, count: int, kills: int, seed: int) -> None:
    """Kills a learner at random moments, with a log that grows meanwhile, until the log is learned."""
    rng = random.Random(seed)
    lines = log_lines(count)
    half, step = count // 2, count // 2 // kills
    whole = learned(tmp_path / "whole.vw", write(tmp_path / "whole.dsjson", lines))
    log = write(tmp_path / "log.dsjson", lines[:half])
    command = [*FASTCB, "learn", str(log), "--model", str(tmp_path / "m.vw"), "--checkpoint-every", "1ms", "--follow"]
    for kill in range(kills):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        state = tmp_path / "m.vw.state"
        while not state.exists() and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.002)  # kills at the start alone would prove little
        if kill:
            time.sleep(0.4)
        with log.open("a") as file:
            file.writelines(lines[half + kill * step : half + (kill + 1) * step])
        time.sleep(rng.uniform(0, 0.3))
        process.send_signal(signal.SIGKILL)
        process.wait()
    again = learned(tmp_path / "m.vw", log)
    assert again.counts.learned == count
    assert again.counts.duplicates == 0
    assert again.sha256 == whole.sha256
    assert (tmp_path / "m.vw").read_bytes() == (tmp_path / "whole.vw").read_bytes()


def test_kills_do_not_change_the_model(tmp_path):
    killed_runs(tmp_path, 4000, 2, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_kills_do_not_change_the_model(seed, tmp_path):
    killed_runs(tmp_path, 40_000, 25, seed)


def test_following_ends_politely_with_everything_learned(tmp_path):
    lines = log_lines(30)
    folder = tmp_path / "logs"
    folder.mkdir()
    command = [*FASTCB, "learn", str(folder), "--model", str(tmp_path / "m.vw"), "--follow", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "m.vw.state").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    write(folder / "a.dsjson", lines)
    time.sleep(1.2)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert json.loads(out)["learned"] == 30
    assert "Traceback" not in err


def test_what_cannot_be_gone_on_with_is_refused(tmp_path):
    log = write(tmp_path / "log.dsjson", log_lines(5))
    model = tmp_path / "m.vw"
    summary(log, "--model", model, "--flags", "-b 10")
    assert "begun with '-b 10'" in refused(log, "--model", model, "--flags", "-b 11")
    content = model.read_bytes()
    model.write_bytes(content + b"x")
    assert "changed by something else" in refused(log, "--model", model)
    model.unlink()
    assert summary(log, "--model", model)["new"]["lines"] == 0
    assert model.read_bytes() == content
    (tmp_path / "m.vw.state").unlink()
    assert "which says what it has learned" in refused(log, "--model", model)
    told = summary(write(tmp_path / "b.dsjson", log_lines(7, 3, 50)), "--model", model, "--start-from", model)
    assert told["learned"] == 7
    write(tmp_path / "other.vw.state", ["no database"])
    assert "not the state of a model" in refused(log, "--model", tmp_path / "other.vw")


def test_a_model_to_begin_with(tmp_path):
    lines = log_lines(50)
    whole = learned(tmp_path / "whole.vw", write(tmp_path / "whole.dsjson", lines))
    learned(tmp_path / "half.vw", write(tmp_path / "half.dsjson", lines[:25]))
    rest = write(tmp_path / "rest.dsjson", lines[25:])
    arguments = (rest, "--model", tmp_path / "m.vw", "--start-from", tmp_path / "half.vw")
    assert summary(*arguments)["sha256"] == whole.sha256
    assert summary(*arguments)["new"]["lines"] == 0
    assert "not begun with" in refused(rest, "--model", tmp_path / "m.vw", "--start-from", tmp_path / "whole.vw")
    assert "there is no model" in refused(rest, "--model", tmp_path / "n.vw", "--start-from", tmp_path / "no.vw")
    write(tmp_path / "bad.vw", ["nonsense"])
    refused(rest, "--model", tmp_path / "n.vw", "--start-from", tmp_path / "bad.vw")


def test_two_learners_at_one_model_do_not_mix(tmp_path):
    log = write(tmp_path / "log.dsjson", log_lines(5))
    with LogLearner(tmp_path / "m.vw") as first:
        first.learn([log], threading.Event())
        with pytest.raises(LogRefused, match="another process learns into this model"):
            LogLearner(tmp_path / "m.vw")
        first.commit()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["log.dsjson"], 2, "add --model"),
        (["log.dsjson", "--model", "m.vw", "--take-over"], 2, "for journals"),
        (["journal.db", "--flags", "-b 10"], 2, "--flags is for logs"),
        (["nowhere.dsjson", "--model", "m.vw"], 1, "there is no log 'nowhere.dsjson'"),
        (["log.dsjson", "--model", "no/m.vw"], 1, "there is no folder 'no'"),
        (["log.dsjson", "--model", "."], 1, "is a folder"),
        (["empty", "--model", "m.vw"], 1, "no file that ends in .dsjson or .json in empty"),
        (["log.dsjson", "--model", "m.vw", "--flags", "-d x"], 1, "the flags have -d; leave it out: name the logs"),
        (["log.dsjson", "--model", "m.vw", "--flags", "--passes 3"], 1, "every line is learned once"),
        (["log.dsjson", "--model", "m.vw", "--flags", "--squarecb"], 1, "squarecb"),
        (["log.dsjson", "--model", "m.vw", "--flags", "'"], 1, "No closing quotation"),
        (["log.dsjson", "--model", "m.vw", "--checkpoint-every", "soon"], 2, "a time such as"),
        (["journal.db"], 1, "there is no journal 'journal.db'"),
    ],
)
def test_wrong_arguments_are_refused_in_words(arguments, code, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "log.dsjson", log_lines(2))
    (tmp_path / "empty").mkdir()
    said = refused(*arguments, code=code).replace("│ ", "").replace(" │", "")
    assert words in " ".join(said.split())
    assert not list(tmp_path.glob("m.vw*"))


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
