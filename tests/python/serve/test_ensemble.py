"""An ensemble over HTTP: the settings by options and by a file, and how much each member counts."""

from __future__ import annotations

import pytest

from loop.support import open_loop
from serve.servers import serving, threaded

NEWS = ("--actions", "politics,sports", "--seed", "1")


def test_status_and_metrics_say_how_much_each_member_counts(tmp_path):
    with open_loop(tmp_path, oracle="ensemble") as loop, threaded(loop) as server:
        for number in range(30):
            event = {"event_id": f"e{number}"}
            decided = server.post("/decide", {**event, "context": {"hour": number}}).json
            server.post("/reward", {**event, "value": float(decided["action"] == 1)})
        members = server.get("/status").json["members"]
        assert sum(members.values()) == pytest.approx(1)
        assert members == loop.status().members
        metrics = server.metrics()
        for name, weight in members.items():
            assert metrics[f'fastcb_member_weight{{member="{name}"}}'] == pytest.approx(weight, rel=1e-12)
        schemas = server.get("/openapi.json").json["components"]["schemas"]
        assert "members" in schemas["StatusAnswer"]["properties"]


def test_other_oracles_have_no_members(tmp_path):
    with open_loop(tmp_path) as loop, threaded(loop) as server:
        server.post("/decide", {"context": {"hour": 1}})
        assert server.get("/status").json["members"] == {}
        assert not [name for name in server.metrics() if name.startswith("fastcb_member_weight")]


@pytest.mark.parametrize("is_in_file", [False, True])
def test_a_server_takes_the_ensemble_and_its_optimism(tmp_path, is_in_file):
    options = ["--oracle", "ensemble", "--optimism", "1"]
    if is_in_file:
        (tmp_path / "news.toml").write_text('oracle = "ensemble"\noptimism = 1\n')
        options = ["--settings", tmp_path / "news.toml"]
    with serving(tmp_path / "news.db", *NEWS, *options) as server:
        assert server.post("/decide", {"context": {"hour": 1}}).status == 200
        settings = server.get("/status").json["settings"]
        assert (settings["oracle"], settings["optimism"]) == ("ensemble", 1)
