"""The compose file: its commands are ones that the command line accepts, and its Redis is one for journals."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import typer
import yaml

from vw_fastcb.commands.app import app

DEPLOY = Path(__file__).parents[3] / "deploy"
SERVICES = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


def parsed(words):
    """What the command line makes of a command, which is not run."""
    group = typer.main.get_command(app)
    return group.commands[words[0]].make_context(words[0], list(words[1:])).params


def test_the_deciders_decide_and_ask_for_a_token():
    for name in ("decider-1", "decider-2"):
        asked = parsed(SERVICES[name]["command"])
        assert (asked["no_learn"], asked["host"], asked["port"]) == (True, "0.0.0.0", 8080)
        assert asked["token_file"] == Path("/run/secrets/token")
        assert asked["reward_range"] == (0, 1)
    assert SERVICES["decider-1"]["ports"] != SERVICES["decider-2"]["ports"]


def test_the_learner_follows_the_journal_of_the_deciders():
    learner, decider = parsed(SERVICES["learner"]["command"]), parsed(SERVICES["decider-1"]["command"])
    assert (learner["sources"], learner["follow"]) == ([decider["journal"]], True)


def test_an_option_that_is_not_there_would_be_noticed():
    with pytest.raises(Exception, match="No such option"):
        parsed([*SERVICES["learner"]["command"], "--folow"])


def test_redis_syncs_every_write():
    shell, option, script = SERVICES["redis"]["command"]
    assert (shell, option) == ("sh", "-c")
    words = shlex.split(script.partition("exec ")[2])
    assert dict(zip(words[1::2], words[2::2], strict=True)) == {
        "--appendonly": "yes",
        "--appendfsync": "always",
        "--aof-load-truncated": "no",
        "--maxmemory-policy": "noeviction",
        "--save": "",
    }


def test_the_container_does_not_run_as_root():
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    assert [line for line in lines if line.startswith("USER")] == ["USER 10001"]
