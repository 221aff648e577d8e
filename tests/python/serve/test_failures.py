"""What goes wrong in the server itself: a full disk is said at once, and nobody is blamed for a defect of ours."""

import contextlib
import gc
import logging
import re
import shutil
import subprocess
import time
import tracemalloc

import pytest

from loop.support import Clock, open_loop
from serve.servers import NEWS, PATIENCE, serving, threaded
from vw_fastcb.loop.reading import existing_journal
from vw_fastcb.serve.live_process import Follower


@pytest.fixture
def disk(tmp_path):
    """A disk of 2 MB, almost full: removing `ballast` makes room."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"may not mount a small disk: {mounted.stderr.strip()}; try unshare -rm .venv/bin/python -m pytest")
    try:
        (folder / "ballast").write_bytes(b"x" * 1_600_000)
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_said_with_the_first_refusal_and_over_when_there_is_room(disk):
    with serving(disk / "loop.db", *NEWS) as server:
        assert server.get("/health/ready").status == 200
        context = {f"f{number}": "x" * 100 for number in range(50)}
        for _ in range(1000):
            answer = server.post("/decide", {"context": context})
            if answer.status != 200:
                break
        assert (answer.status, "Make room" in answer.error) == (503, True)
        for _ in range(20):
            late = server.get("/health/ready")
            assert late.status == 503
            assert "Make room" in late.error
        assert server.get("/health/live").status == 200
        (disk / "ballast").unlink()
        end = time.monotonic() + PATIENCE
        while server.get("/health/ready").status != 200:  # nobody asks for anything meanwhile
            assert time.monotonic() < end
            time.sleep(0.02)
        assert server.post("/decide", {"context": context}).status == 200


# A wrong clock


@pytest.mark.skipif(shutil.which("faketime") is None, reason="faketime is not there; apt-get install faketime")
def test_a_server_whose_clock_is_a_day_ahead_harms_no_other(tmp_path):
    said = subprocess.run(["faketime", "-f", "+1d", "env"], capture_output=True, text=True, check=True).stdout
    words = dict(line.partition("=")[::2] for line in said.splitlines())
    ahead = {name: words[name] for name in ("LD_PRELOAD", "FAKETIME")}
    with serving(tmp_path / "loop.db", *NEWS) as server, serving(tmp_path / "loop.db", "--no-learn", **ahead) as wrong:
        refusal = wrong.post("/decide", {"context": {"hour": 9}, "baseline": "sports"})
        assert (refusal.status, refusal.json["action"], refusal.json["logged"]) == (503, 1, False)
        message = refusal.json["error"]["message"]
        assert f"the learner, process {server.process.pid}," in message
        late = wrong.get("/health/ready")
        assert (late.status, late.error) == (503, message.removesuffix(" Ask again with the same ids."))
        assert server.get("/health/ready").status == 200
        assert server.post("/decide", {"context": {"hour": 9}}).status == 200
        assert server.get("/status").json["position"] == 2


# Defects of ours


def broken_clock(loop, clock):
    clock.now = "noon"  # the loop says ValueError


def broken_settings(loop, clock):
    loop._worker._learner.settings.__dict__["retired_numbers"] = None  # TypeError, before anything is written


def broken_generation(loop, clock):
    loop._worker._generation = object()  # TypeError, when the record is written


@pytest.mark.parametrize("damage", [broken_clock, broken_settings, broken_generation])
@pytest.mark.parametrize("path", ["/decide", "/personalizer/v1.0/rank"])
def test_a_defect_of_ours_is_a_500_that_the_log_explains(tmp_path, caplog, damage, path):
    clock = Clock()
    actions = None if path.startswith("/personalizer") else ["politics", "sports"]
    good = {"context": {"hour": 9}} if actions else {"actions": [{"id": "a", "features": [{"x": 1}]}]}
    with open_loop(tmp_path, clock=clock, actions=actions) as loop, threaded(loop) as server:
        assert server.post(path, good).status in (200, 201)
        worker = loop._worker
        kept = clock.now, worker._generation, worker.settings.retired_numbers
        damage(loop, clock)
        with caplog.at_level(logging.ERROR, "vw_fastcb.serve"):
            answer = server.post(path, good)
        assert answer.status == 500
        error = answer.json["error"]
        assert error["code"] in ("internal_error", "InternalServerError")
        name = re.search(r"at error ([0-9a-f]{8})\.$", error["message"])[1]
        (record,) = (one for one in caplog.records if name in one.getMessage())
        assert record.exc_info[0] in (ValueError, TypeError)
        assert str(record.exc_info[1]) not in error["message"]
        clock.now, worker._generation, worker.settings.__dict__["retired_numbers"] = kept
        assert server.post(path, good).status in (200, 201)


def test_what_the_client_can_mend_stays_a_400_and_is_not_logged(tmp_path, caplog):
    with open_loop(tmp_path) as loop, threaded(loop) as server, caplog.at_level(logging.WARNING):
        for body in (
            {"context": {"hour": 9}, "exclude": ["opera"]},
            {"context": {"hour": 9}, "exclude": ["politics", "sports", "music"]},
            {"context": {"hour": 9}, "baseline": 7},
            {"context": {"a": {"b": 1}, "a.b": 2}},
            {"context": {"hour": 1e39}},
            {"context": {"hour": 9}, "event_id": ""},
        ):
            assert server.post("/decide", body).status == 400, body
        assert server.post("/reward", {"event_id": "e1", "value": 7}).status == 400
    assert not [one for one in caplog.records if one.name.startswith("vw_fastcb")]


def test_the_pages_process_keeps_no_features_of_the_decisions_that_it_lists(tmp_path):
    with open_loop(tmp_path) as loop:
        for number in range(30):
            loop.decide({"text": f"{number}{'x' * 500_000}"})
    with contextlib.closing(existing_journal(tmp_path / "loop.db")) as journal:
        tracemalloc.start()
        try:
            follower = Follower(journal)
            follower.read(PATIENCE)
            assert len(follower.news()["recent"]) == 30
            gc.collect()
            taken, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert taken < 5_000_000
