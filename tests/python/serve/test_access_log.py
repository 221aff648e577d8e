"""The access log never holds a request up: what nobody reads is dropped, counted, and said later."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from loop.support import open_loop
from serve.servers import FASTCB, NEWS, PATIENCE, Served, threaded
from vw_fastcb.serve import published
from vw_fastcb.serve.access_log import AccessLog
from vw_fastcb.serve.background import BackgroundWriter

_LONG = "/" + "x" * 2000  # lines that fill a pipe of 64 KiB, and what may wait, soon


@pytest.fixture
def piped(tmp_path):
    """A server whose standard output, the access log, is a pipe that nobody reads after the first line."""
    command = [sys.executable, FASTCB, "serve", str(tmp_path / "loop.db"), *NEWS, "--port", "0", "--access-log", "-"]
    process = subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    try:
        yield process, Served(json.loads(process.stdout.readline())["url"])
    finally:
        process.kill()
        process.communicate()


def ask_often(server, times):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    with contextlib.closing(connection):
        for _ in range(times):
            connection.request("GET", _LONG)
            assert connection.getresponse().read()


def test_a_pipe_that_nobody_reads_holds_nothing_up(piped):
    process, server = piped
    ask_often(server, 1000)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    with contextlib.closing(connection):
        connection.request("GET", "/health/live")
        assert connection.getresponse().status == 200
    assert server.metrics()["fastcb_access_log_dropped_total"] > 0
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0


def test_what_was_dropped_is_said_once_somebody_reads(piped):
    process, server = piped
    ask_often(server, 1000)
    assert server.metrics()["fastcb_access_log_dropped_total"] > 0
    lines = []
    reading = threading.Thread(target=lambda: lines.extend(json.loads(line) for line in process.stdout))
    reading.start()
    end = time.monotonic() + PATIENCE
    while not any("dropped" in line for line in lines):
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0
    reading.join()
    dropped = sum(line.get("dropped", 0) for line in lines)
    assert len([line for line in lines if "path" in line]) + dropped == 1001
    assert lines[-1]["event"] == "stopped"
    warnings = [json.loads(line)["message"] for line in process.stderr.read().splitlines()]
    assert sum(int(one.split()[0]) for one in warnings) == dropped
    assert all("are missing in the access log: standard output was not read in time." in one for one in warnings)


def test_a_slow_reader_gets_whole_lines_until_the_end():
    reader, writer = os.pipe()
    log = AccessLog(writer, "a pipe")
    for number in range(400):
        log.write({"method": "GET", "path": f"{_LONG}/{number}", "client": None}, 200, 0.001, 3)
    content = []

    def read_slowly():
        while piece := os.read(reader, 65_536):
            content.append(piece)
            time.sleep(0.15)  # 800 kB take longer than a reader has who reads nothing

    reading = threading.Thread(target=read_slowly)
    reading.start()
    assert log._writer.close()
    os.close(writer)
    reading.join()
    os.close(reader)
    lines = [json.loads(line) for line in b"".join(content).splitlines()]
    assert [line["path"].rpartition("/")[2] for line in lines] == [str(number) for number in range(400)]


def test_a_named_pipe_that_is_full_holds_nothing_up(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    scope = {"method": "GET", "path": _LONG, "client": None}
    with AccessLog.opened(path) as log:
        for _ in range(2000):
            log.write(scope, 200, 0.001, 3)
        assert log.dropped > 0
    os.close(reader)


def test_lines_are_written_again_once_there_is_room_on_the_disk(tmp_path):
    file, full = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT), os.open("/dev/full", os.O_WRONLY)
    disk = os.dup(file)
    os.dup2(full, file)
    problems = []
    writer = BackgroundWriter(file, lambda dropped: b"%d lost\n" % dropped, problems.append)
    for number in range(120):  # twice as much as may wait
        before = len(problems)
        writer.write(b"x" * 19_999 + b"\n")
        end = time.monotonic() + 30
        while len(problems) == before:
            assert time.monotonic() < end, f"nothing was tried any more after {number} lines"
            time.sleep(0.001)
    assert writer.dropped == 120
    os.dup2(disk, file)
    writer.write(b"there is room\n")
    assert writer.close()
    assert (tmp_path / "log").read_bytes() == b"there is room\n120 lost\n"
    for handle in (file, full, disk):
        os.close(handle)


def test_a_file_has_every_line_once_it_is_closed(tmp_path):
    with AccessLog.opened(tmp_path / "log") as log:
        for number in range(300):
            log.write({"method": "GET", "path": f"/{number}", "client": None}, 200, 0.001, 3)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line["path"] for line in lines] == [f"/{number}" for number in range(300)]
    first = {"method": "GET", "path": "/0", "status": 200, "ms": 1.0, "bytes": 3, "client": None}
    assert lines[0] == {"time": lines[0]["time"], **first}
    assert log.dropped == 0


def test_messages_that_nobody_reads_hold_nothing_up(tmp_path):
    code = """
import logging, sys
from vw_fastcb.commands.serve import _messages
with _messages(False):
    for number in range(5000):
        logging.getLogger("vw_fastcb.serve").warning("x" * 1000)
print("done", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"done\n"
    finally:
        process.kill()
        process.communicate()


def test_the_bytes_of_an_answer_in_pieces_are_those_of_all_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(published, "_PIECE", 100)
    with open_loop(tmp_path) as loop:
        loop.decide({f"column {number}": 1 for number in range(100)})
        loop.checkpoint()
        with AccessLog.opened(tmp_path / "log") as log, threaded(loop, access_log=log) as server:
            model = server.get("/model").body
            missing = server.get("/nowhere").body
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [(line["path"], line["bytes"]) for line in lines] == [("/model", len(model)), ("/nowhere", len(missing))]
    assert len(model) > 200


def _free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _asked(process, port):
    """How a server answers once it is there."""
    server, end = Served(f"http://127.0.0.1:{port}"), time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError):
            return server.post("/decide", {"context": {}}).status
        time.sleep(0.02)
    return f"ended with {process.poll()}"


@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_streams_that_are_closed_are_not_mistaken_for_sockets_that_have_their_numbers(tmp_path, closed):
    port = _free_port()
    command = [sys.executable, FASTCB, "serve", str(tmp_path / "loop.db"), *NEWS, "--port", str(port)]
    process = subprocess.Popen(
        ["sh", "-c", f'exec "$0" "$@" {closed}', *command, "--access-log", "-"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert _asked(process, port) == 200
        assert {os.readlink(f"/proc/{process.pid}/fd/{number}") for number in range(3)} == {"/dev/null"}
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("where", ["a full disk", "a pipe whose reader has ended"])
def test_a_server_that_can_print_nothing_starts_serves_and_ends_well(tmp_path, where, as_json):
    if where == "a full disk":
        output = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, output = os.pipe()
        os.close(reader)
    port = _free_port()
    command = [sys.executable, FASTCB, "serve", str(tmp_path / "loop.db"), *NEWS, "--port", str(port)]
    process = subprocess.Popen([*command, *["--json"] * as_json], stdout=output, stderr=output)
    os.close(output)
    try:
        assert _asked(process, port) == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
