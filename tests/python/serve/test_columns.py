"""Columns over HTTP: one client with a wrong kind breaks nothing for the others."""

from __future__ import annotations

import json

import pytest

from bakeoff.cli import fastcb
from loop.support import open_loop
from serve.servers import serving, threaded
from serve.test_page import events

NEWS = ("--actions", "politics,sports", "--seed", "1")


def test_a_wrong_kind_is_left_out_and_told_everywhere(tmp_path):
    with open_loop(tmp_path) as loop, threaded(loop) as server:
        for context in ({"age": "31"}, {"age": 31}, [1, 2, 3], {"age": 32}):
            assert server.post("/decide", {"context": context}).status == 200
        status = server.get("/status").json
        assert status["left_out"] == {"age": 2}
        assert "'age' (2)" in status["warnings"][0]
        assert server.metrics()['fastcb_journal_left_out_total{column="age"}'] == 2
        schemas = server.get("/openapi.json").json["components"]["schemas"]
        assert "left_out" in schemas["StatusAnswer"]["properties"]
        with events(server) as told:
            warnings = next(message["status"]["warnings"] for message in told if message.get("status"))
        assert warnings == status["warnings"]
        explained = server.get("/page/decision?position=3")
        assert explained.status == 200
        assert explained.json["context"] == {"age": 31}
        assert [one["name"] for one in explained.json["features"]] == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("schema.toml", 'age = "number"\n[user]\nname = "text"\n'),
        ("schema.toml", '[columns]\nage = "number"\n"user.name" = "text"\n'),
        ("schema.json", '{"columns": {"age": "number", "user": {"name": "text"}}}'),
        ("schema.json", '{"age": "number", "user": {"name": "text"}}'),
    ],
)
def test_a_schema_is_checked_at_the_door(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    with serving(tmp_path / "news.db", *NEWS, "--schema", tmp_path / name) as server:
        assert server.post("/decide", {"context": {"age": 31, "user": {"name": "Tom"}}}).status == 200
        wrong = server.post("/decide", {"context": {"age": "31"}})
        assert wrong.status == 400
        assert "'age'" in wrong.error
        status = server.get("/status").json
        assert (status["position"], status["left_out"]) == (2, {})
        assert status["settings"]["columns"] == {"age": "number", "user.name": "text"}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("schema.toml", "age = ", "is not TOML"),
        ("schema.json", "{", "is not JSON"),
        ("schema.json", "[]", "declares no columns"),
        ("schema.toml", 'age = "date"', "'date'"),
        ("nothing.toml", None, "nothing.toml"),
    ],
)
def test_a_schema_that_is_wrong(tmp_path, name, content, words):
    if content is not None:
        (tmp_path / name).write_text(content)
    result = fastcb("serve", tmp_path / "news.db", *NEWS, "--schema", tmp_path / name)
    assert result.code == 2
    assert words in result.err.replace("\n", "").replace("│", "")
    assert not (tmp_path / "news.db").exists()


def test_a_schema_of_actions(tmp_path):
    schema = {"columns": {"hour": "number"}, "action_columns": {"price": "number"}}
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    with serving(tmp_path / "news.db", "--actions", "none", "--schema", tmp_path / "schema.json") as server:
        actions = [{"features": {"price": 1}}, {"features": {"price": 2}}]
        assert server.post("/decide", {"context": {}, "actions": actions}).status == 200
        actions = [{"features": {"price": 1}}, {"features": {"price": "2"}}]
        assert server.post("/decide", {"context": {}, "actions": actions}).status == 400
