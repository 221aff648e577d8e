"""`fastcb bakeoff --openml` as a user runs it, against a server on localhost."""

import json
from importlib import import_module

import pytest

from bakeoff.cli import bakeoff
from bakeoff.openml_server import Answer, description, file

pytest.importorskip("openml")
client = import_module("vw_fastcb.bakeoff.data.openml")

ARFF = "@relation r\n@attribute a real\n@attribute b {x,y}\n@attribute class {no,yes}\n@data\n"
ARFF += "".join(f"{i % 7},{'xy'[i % 2]},{('no', 'yes')[i % 2]}\n" for i in range(200))


@pytest.fixture
def run(server, tmp_path, monkeypatch):
    """Runs a quick bake-off on sets of the server."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    hasty = client.Manners(pause=0, first_wait=0.05)
    monkeypatch.setattr(client, "Manners", lambda: hasty)
    few = ("--grid", "quick", "--algorithms", "FastCB.L,Supervised.L", "--shuffles", "0", "--json")
    return lambda wanted: bakeoff(tmp_path / "out", *few, "--openml-server", server.url, "--openml", wanted)


def test_sets_are_fetched_run_and_not_asked_for_again(server, run):
    server.add(31, ARFF)
    server.add(32, ARFF.replace("0,x", "9,x"))
    server.add_suite("small", [31, 32])
    server.first[description(31)] = [Answer("busy", 503)]

    summary = json.loads(run("small").out)
    assert (summary["datasets"], summary["broken"]) == (2, {})
    assert summary["mean_loss_of_best_configurations"]["Supervised.L"] < 0.2
    assert server.asked_for(file(31)) == server.asked_for(file(32)) == 1

    asked = len(server.requests)
    run("31,32")
    assert len(server.requests) == asked


def test_a_set_that_the_server_does_not_have_is_reported_and_the_others_run(server, run):
    server.add(31, ARFF)
    summary = json.loads(run("31,404").out)
    assert summary["datasets"] == 1
    assert [name for name in summary["broken"] if "404" in name]
