"""`fastcb bakeoff --openml` as a user runs it, against a server on localhost."""

import json
import os
import subprocess

import pytest

from bakeoff.killing import command
from bakeoff.openml_server import Answer, description, file

pytest.importorskip("openml")

ARFF = "@relation r\n@attribute a real\n@attribute b {x,y}\n@attribute class {no,yes}\n@data\n"
ARFF += "".join(f"{i % 7},{'xy'[i % 2]},{('no', 'yes')[i % 2]}\n" for i in range(200))


def run(server, tmp_path, *options: str) -> subprocess.CompletedProcess[str]:
    words = [*command(tmp_path / "out"), "--grid", "quick", "--openml-server", server.url, "--json", *options]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    return subprocess.run(words, capture_output=True, text=True, timeout=300, env=environment, check=False)


def test_sets_are_fetched_run_and_not_asked_for_again(server, tmp_path):
    server.add(31, ARFF)
    server.add(32, ARFF.replace("real", "integer"))
    server.add_suite("small", [31, 32])
    server.first[description(31)] = [Answer("busy", 503)]

    first = run(server, tmp_path, "--openml", "small")
    assert first.returncode == 0, first.stderr
    summary = json.loads(first.stdout)
    assert (summary["datasets"], summary["broken"]) == (2, {})
    assert summary["mean_loss_of_best_configurations"]["Supervised.L"] < 0.2
    assert server.asked_for(file(31)) == server.asked_for(file(32)) == 1

    asked = len(server.requests)
    second = run(server, tmp_path, "--openml", "31,32")
    assert second.returncode == 0, second.stderr
    assert len(server.requests) == asked


def test_a_set_that_the_server_does_not_have_is_reported_and_the_others_run(server, tmp_path):
    server.add(31, ARFF)
    result = run(server, tmp_path, "--openml", "31,404")
    assert result.returncode == 0, result.stderr
    summary = json.loads(result.stdout)
    assert summary["datasets"] == 1
    assert [name for name in summary["broken"] if "404" in name]
