"""Journals in Redis: the same model as anywhere else, and what may go wrong with a server."""

import json
import math
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from redis import ConnectionError as LostConnection
from redis import Redis

from loop import reference
from loop.cli import refused, told
from loop.redis_server import RedisFolder, RedisServer, need_redis
from loop.support import Clock, is_stored, journal_at, open_loop
from vw_fastcb import Loop
from vw_fastcb.loop import (
    JournalFailed,
    JournalFull,
    JournalRefused,
    JournalUnreachable,
    LoopError,
    worker,
)
from vw_fastcb.loop.redis import Address, server
from vw_fastcb.loop.redis.address import without_password
from vw_fastcb.loop.replay import replay

FASTCB = str(Path(sysconfig.get_path("scripts")) / "fastcb")
ACTIONS = ["politics", "sports", "music"]


@pytest.fixture
def folder(redis_server):
    return RedisFolder(redis_server)


@pytest.fixture
def client(redis_server):
    with Redis(unix_socket_path=str(redis_server.socket)) as client:
        yield client


@pytest.fixture
def own_server(tmp_path):
    """One that a test may kill."""
    need_redis()
    one = RedisServer(tmp_path)
    try:
        yield one.start()
    finally:
        one.end()


def play(loop, first, last):
    for i in range(first, last):
        made = loop.decide({"user": f"u{i % 5}", "hour": i % 24}, event_id=f"e{i}")
        loop.reward(f"e{i}", float(made.action == 1), "r")


# One reducer, two journals


class _Script:
    """Random operations, the same for every journal."""

    def __init__(self, home, seed):
        self.home = home
        self.clock = Clock()
        self.dice = random.Random(seed)
        self.options = {"clock": self.clock, "keep_generations": 2, "checkpoint_every": "1h", "lease": "1h"}
        settings = {"wait": "1s", "default_reward": 0.25, "aggregation": self.dice.choice(["first", "mean", "sum"])}
        retention = {"retention": "3s"} if seed % 2 else {}
        self.loop = open_loop(home, seed=5, **settings, **retention, **self.options)
        self.said = []

    def run(self, count):
        happenings = (
            ["decide"] * 8 + ["reward"] * 8 + ["activate", "tick", "save", "erase", "rollback", "reopen", "change"]
        )
        for i in range(count):
            self.clock.now += self.dice.choice([0, 0, 1, 7, 150])
            happening = self.dice.choice(happenings)
            try:
                self.said.append(getattr(self, f"_{happening}")(i))
            except LoopError as problem:
                self.said.append((type(problem).__name__, str(problem)))
        self._save(count)
        return self

    def _event(self, i):
        return f"e{max(0, i - self.dice.randrange(12))}"

    def _decide(self, i):
        event, is_active = self._event(i), self.dice.random() < 0.9
        context = {"user": f"u{self.dice.randrange(4)}", "hour": i % 5}
        made = self.loop.decide(context, event_id=event, activate=is_active)
        return event, made.action, made.pmf.tolist(), made.generation

    def _reward(self, i):
        self.loop.reward(self._event(i), self.dice.choice([0, 0.1, 0.7]), self.dice.choice([None, "r", "s"]))

    def _activate(self, i):
        self.loop.activate(self._event(i))

    def _erase(self, i):
        self.loop.erase(self._event(i))

    def _tick(self, _):
        self.loop.tick()

    def _save(self, _):
        return self.loop.checkpoint()

    def _rollback(self, _):
        self.loop.rollback(self.dice.randrange(1, 8))

    def _reopen(self, _):
        self.loop.close()
        self.loop = Loop.open(self.home / "loop.db", **self.options)

    def _change(self, _):
        self.loop.close()
        changed = {"wait": self.dice.choice(["1s", "2s"]), "epsilon": self.dice.choice([0, 0.1])}
        self.loop = Loop.open(self.home / "loop.db", **changed, change=True, **self.options)


def _everything(path):
    with journal_at(path) as journal:
        kept = journal.checkpoints()
        return {
            "records": [one._replace(body=_without_engine(one.body)) for one in journal.read()],
            "generations": [(one.generation, one.position, one.time, one.sha256, one.events) for one in kept],
            "counts": [one.summary["counts"] for one in kept],
            "windows": [journal.windows(one.generation) for one in kept],
            "models": [journal.model(one.sha256) for one in kept if one.sha256],
            "dead letters": journal.dead_letters(),
            "first": journal.first(),
            "rare": [journal.of_kind(kind) for kind in ("settings", "rollback", "erasure")],
            "by state": list(journal.decisions_by_state(journal.last()[0])),
        }


def _without_engine(body):
    return body and {name: value for name, value in body.items() if name != "engine"}


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 20))])
def test_the_same_operations_leave_the_same_journal_and_the_same_model(tmp_path, folder, monkeypatch, seed):
    monkeypatch.setattr(worker, "_TICKS_APART", math.inf)  # they come by the clock of the machine
    one, other = (_Script(home, seed).run(200) for home in (tmp_path, folder))
    assert one.said == other.said
    assert one.loop.model().to_bytes() == other.loop.model().to_bytes() != b""
    for script in (one, other):
        script.loop.close()
    in_file, in_redis = (_everything(home / "loop.db") for home in (tmp_path, folder))
    for what, content in in_file.items():
        assert content == in_redis[what], what
    with journal_at(folder / "loop.db") as journal:
        assert replay(journal).differences == []


def test_time_is_the_servers(folder, client):
    with open_loop(folder) as loop:
        loop.decide({"user": "Tom"}, event_id="e1")
        seconds, micros = client.time()
        record = list(loop._worker.journal.read())[-1]
        assert abs(record.time - (seconds * 1000 + micros // 1000)) < 5000
        (id_, _), *_ = client.xrevrange(f"fastcb:{{{folder.name}-loop.db}}:records", count=1)
        assert id_ == f"{record.time}-{record.position}".encode()


def test_a_machine_whose_clock_is_off_is_not_ready(folder, monkeypatch):
    with open_loop(folder) as loop:
        assert loop.status().ready
        loop._clock = lambda: int(time.time() * 1000) - 60_000
        assert "ahead of this machine's clock" in loop.status().problems[0]
        loop._clock = lambda: int(time.time() * 1000) + 60_000
        assert "behind this machine's clock" in loop.status().problems[0]


# Addresses


@pytest.mark.parametrize(
    ("url", "journal", "place", "db"),
    [
        ("redis://localhost:7000/shop", "shop", "localhost:7000", 0),
        ("redis://user:secret@db.example/3/shop", "shop", "db.example:6379", 3),
        ("redis://localhost/3?journal=shop", "shop", "localhost:6379", 3),
        ("redis://localhost?journal=loop", "loop", "localhost:6379", 0),
        ("rediss://db.example/shop?db=2&ssl_ca_certs=ca.pem", "shop", "db.example:6379", 2),
        ("unix:///run/redis.sock?journal=shop&fsync=everysec&patience=5s", "shop", "/run/redis.sock", 0),
    ],
)
def test_addresses(url, journal, place, db):
    found = Address.parse(url)
    assert (found.journal, found.place, found.client["db"]) == (journal, place, db)
    assert "secret" not in repr(found)
    assert "secret" not in found.shown


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis://localhost:x/shop", "expected redis://"),
        ("redis://localhost:99999/shop", "expected redis://"),
        ("redis://localhost/shop/more", "or .../database/journal"),
        ("redis://localhost/shop?db=x", "expected a number"),
        ("redis://localhost/sh%20op", "expected letters, digits"),
        ("redis://localhost/shop?fsync=sometimes", "expected one of always, everysec, no"),
        ("redis://localhost/shop?journel=x", "'journel'"),
        ("redis://localhost/shop?patience=soon", 'expected a time such as "10min"'),
        ("http://localhost/shop", "or redis://host:6379/journal"),
    ],
)
def test_wrong_addresses_are_refused(url, said):
    with pytest.raises(ValueError, match=said):
        Loop.open(url, actions=3)


@pytest.mark.parametrize(
    ("url", "right"),
    [
        ("redis://localhost", "redis://localhost/shop"),
        ("redis://localhost/", "redis://localhost/shop"),
        ("redis://localhost:7000/3", "redis://localhost:7000/3/shop"),
        ("redis://localhost/3/?patience=5s", "redis://localhost/3/shop?patience=5s"),
        ("rediss://app:secret@db.example?fsync=everysec", "rediss://app:...@db.example/shop?fsync=everysec"),
        ("redis://localhost/?journal=", "redis://localhost/shop"),
        ("unix:///run/redis.sock", "unix:///run/redis.sock?journal=shop"),
        ("unix:///run/redis.sock?db=2", "unix:///run/redis.sock?db=2&journal=shop"),
    ],
)
def test_a_url_without_a_name_is_refused_and_the_right_form_is_shown(url, right):
    """Two services without a name once shared one journal, without a word."""
    with pytest.raises(ValueError, match="names no journal") as problem:
        Loop.open(url, actions=3)
    said = str(problem.value)
    assert f"expected its name as well, such as {right}." in said
    assert f"before 0.4 is in {right.replace('shop', 'loop')}." in said
    assert "secret" not in said
    if "..." not in right:
        assert Address.parse(right).journal == "shop"


def test_without_the_package_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(JournalRefused, match=r"pip install 'vw-fastcb\[redis\]'"):
        Loop.open("redis://localhost/shop", actions=3)


def test_the_package_is_not_imported_without_need():
    code = "import sys; import vw_fastcb.loop; assert 'redis' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# Servers that are refused


def test_where_there_is_no_server_a_sentence_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "_OPENING", 0.05)
    with pytest.raises(JournalUnreachable, match=r"there is no Redis server at .*nobody\.sock .*Start it"):
        Loop.open(f"unix://{tmp_path}/nobody.sock?journal=shop", actions=3)
    with pytest.raises(JournalUnreachable, match=r"there is no Redis server at 127\.0\.0\.1:1 "):
        Loop.open("redis://127.0.0.1:1/shop", actions=3)


@pytest.mark.parametrize(
    ("name", "value", "usual"),
    [
        ("appendonly", "no", "yes"),
        ("appendfsync", "everysec", "always"),
        ("appendfsync", "no", "always"),
        ("no-appendfsync-on-rewrite", "yes", "no"),
        ("aof-load-truncated", "yes", "no"),
        ("maxmemory-policy", "allkeys-lru", "noeviction"),
    ],
)
def test_a_server_that_would_lose_what_was_acknowledged_is_refused(folder, client, monkeypatch, name, value, usual):
    url = folder / "loop.db"
    with open_loop(folder) as loop:
        loop.decide({"user": "Tom"}, event_id="e1")
        client.config_set(name, value)
        try:
            with pytest.raises(JournalRefused, match=f"{name} {value}.*expected"):
                Loop.open(url)
            if name != "maxmemory-policy":
                Loop.open(f"{url}&fsync=no", learn=False).close()
            if value == "everysec":
                Loop.open(f"{url}&fsync=everysec", learn=False).close()
            monkeypatch.setattr(server, "_LOOKS_APART", 0)  # one that is open notices, too
            with pytest.raises(JournalRefused, match=f"{name} {value}"):
                loop.decide({"user": "Tom"}, event_id="e2")
        finally:
            client.config_set(name, usual)


def test_a_wrong_password_is_refused(own_server):
    with Redis(unix_socket_path=str(own_server.socket)) as client:
        client.config_set("requirepass", "secret")
    path = own_server.socket
    for url in (f"unix://{path}?journal=shop", f"unix://:wrong@{path}?journal=shop"):
        with pytest.raises(JournalRefused, match="did not accept user and password"):
            Loop.open(url, actions=3)
    with Loop.open(f"unix://:secret@{path}?journal=shop", actions=3) as loop:
        assert "secret" not in repr(loop)
        loop.decide({"user": "Tom"})
    file = path.parent / "password"
    file.write_text("secret\n")
    with Loop.open(f"unix://{path}?journal=shop&password_file={file}") as loop:
        loop.decide({"user": "Tom"})
    with pytest.raises(ValueError, match=r"cannot read the password of Redis from '/nowhere': No such file"):
        Loop.open(f"unix://{path}?journal=shop&password_file=/nowhere")


@pytest.mark.parametrize(
    ("journal", "shown"),
    [
        ("redis://:S3cret@host/shop", "redis://:...@host/shop"),
        ("rediss://app:S3c@ret@host:1/2/shop?fsync=no", "rediss://app:...@host:1/2/shop?fsync=no"),
        ("redis://host/shop?password=S3cret&db=1", "redis://host/shop?password=...&db=1"),
        ("redis://app:S3/c#ret@host:1/shop", "redis://app:...@host:1/shop"),
        (" Redis://app:S3cret@host/shop", " Redis://app:...@host/shop"),
        ("http://app:S3cret@host/shop", "http://app:...@host/shop"),
        ("redis://host/shop", "redis://host/shop"),
        ("folder/a:b@c.db", "folder/a:b@c.db"),
    ],
)
def test_a_password_is_not_shown(journal, shown):
    assert without_password(journal) == shown


@pytest.mark.parametrize("start", ["redis://app:", "Redis://app:", "http://app:"])
def test_a_wrong_url_does_not_show_its_password(start):
    with pytest.raises(ValueError, match="expected") as problem:
        Loop.open(f"{start}S3cret/#@host/shop", actions=3)
    assert "S3cret" not in str(problem.value)


@pytest.mark.parametrize(
    "command",
    [
        ["serve", "--port", "0", "--json"],
        pytest.param(["serve", "--port", "0"], marks=pytest.mark.slow),
        pytest.param(["watch", "--port", "0"], marks=pytest.mark.slow),
        pytest.param(["watch", "--port", "0", "--json"], marks=pytest.mark.slow),
        ["learn", "--follow"],
    ],
)
def test_commands_do_not_show_the_password(own_server, command):
    with Redis(unix_socket_path=str(own_server.socket)) as client:
        client.config_set("requirepass", "S3cret")
    url = f"unix://:S3cret@{own_server.socket}?journal=shop"
    Loop.open(url, actions=3, reward_range=(0, 1)).close()
    process = subprocess.Popen(
        [FASTCB, command[0], url, *command[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    said = process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    said += process.communicate(timeout=60)[0]
    shown = f"unix://:...@{own_server.socket}?journal=shop"
    assert shown in said
    assert "S3cret" not in said
    assert told("learn", url)["journal"] == shown


def test_a_user_that_may_not_ask_for_the_durability_is_told_what_to_do(own_server):
    with Redis(unix_socket_path=str(own_server.socket)) as client:
        client.acl_setuser(
            "app", enabled=True, passwords=["+pass"], keys=["*"], categories=["+@all"], commands=["-config"]
        )
    url = f"unix://app:pass@{own_server.socket}?journal=shop"
    with pytest.raises(JournalRefused, match=r"does not say how durable it is .*add \?fsync=no"):
        Loop.open(url, actions=3)
    Loop.open(f"{url}&fsync=no", actions=3).close()


def test_what_a_user_of_redis_must_be_allowed_to_do(own_server):
    """As docs/loop/redis.md says."""
    with Redis(unix_socket_path=str(own_server.socket)) as client:
        rules = ["on", ">pass", "~fastcb:*", "+@all", "-@dangerous", "+info", "+config|get", "+bgrewriteaof"]
        client.execute_command("ACL", "SETUSER", "app", *rules)
    with Loop.open(f"unix://app:pass@{own_server.socket}?journal=shop", actions=ACTIONS, reward_range=(0, 1)) as loop:
        play(loop, 0, 5)
        loop.erase("e1")
        assert loop.status().ready
        assert loop.status().bytes > 1000


def test_keys_that_hold_something_else_are_refused_and_left_as_they_were(folder, client):
    def open_with(name):
        return Loop.open(folder / name, actions=3)

    def key(name, part="meta"):
        return f"fastcb:{{{folder.name}-{name}}}:{part}"

    client.rpush(key("list"), "x")
    with pytest.raises(JournalRefused, match="hold something else"):
        open_with("list")
    client.hset(key("hash"), "x", "y")
    with pytest.raises(JournalRefused, match="not that of a journal"):
        open_with("hash")
    client.xadd(key("part", "records"), {"x": "y"})
    with pytest.raises(JournalRefused, match="but the rest of that journal is not"):
        open_with("part")
    open_with("newer").close()
    client.hset(key("newer"), "schema", 99)
    with pytest.raises(JournalRefused, match="has the schema 99, and this version of vw-fastcb knows 1"):
        open_with("newer")
    assert client.lrange(key("list"), 0, -1) == [b"x"]
    assert client.hgetall(key("hash")) == {b"x": b"y"}
    assert client.xlen(key("part", "records")) == 1


# Servers that fail


def test_a_journal_that_was_removed_is_not_gone_on_with(folder, client):
    with open_loop(folder) as loop:
        play(loop, 0, 3)
        client.delete(*client.keys(f"fastcb:{{{folder.name}-*"))
        with pytest.raises(JournalFailed, match="was removed or replaced while it was open"):
            loop.decide({"user": "Tom"})
        assert not loop.status().ready


def test_a_server_that_comes_back_with_an_old_copy_is_not_gone_on_with(own_server, tmp_path):
    url = own_server.url("shop", patience="10s")
    with Loop.open(url, actions=ACTIONS, reward_range=(0, 1)) as loop:
        play(loop, 0, 5)
        shutil.copytree(tmp_path / "appendonlydir", tmp_path / "old")
        play(loop, 5, 10)
        own_server.end()
        shutil.rmtree(tmp_path / "appendonlydir")
        shutil.move(tmp_path / "old", tmp_path / "appendonlydir")
        own_server.start()
        with pytest.raises(JournalFailed, match=r"has lost records .*record 21 was there"):
            loop.decide({"user": "Tom"})


def test_a_write_that_a_crash_has_cut_short_never_comes_back(own_server):
    """Redis would drop it at the next start, and run what is left of it at the one after."""
    with Loop.open(own_server.url("shop"), actions=ACTIONS, seed=1, learn=False) as loop:
        loop.decide({"a": 1}, event_id="e1")
        (log,) = (own_server.folder / "appendonlydir").glob("*.incr.aof")
        loop.decide({"a": 2}, event_id="cut")
        own_server.end()
        os.truncate(log, log.stat().st_size - 20)  # its last command is not complete
    for number in (2, 3):
        own_server.start()
        with Loop.open(own_server.url("shop"), learn=False) as loop:
            loop.decide({"a": 3}, event_id=f"e{number}")
        own_server.end()
    own_server.start()
    with journal_at(own_server.url("shop")) as journal:
        assert [(one.position, one.event_id) for one in journal.read()] == [(1, None), (2, "e1"), (3, "e2"), (4, "e3")]


def test_a_server_that_is_killed_and_started_again_loses_nothing(own_server):
    url = own_server.url("shop")
    settings = {"actions": ACTIONS, "reward_range": (0, 1), "checkpoint_every": "50ms"}
    acknowledged, problems, ends = [], [], threading.Event()
    with Loop.open(url, **settings) as loop, Loop.open(url, learn=False) as other:

        def work(one, name):
            try:
                for i in range(10**6):
                    if ends.is_set():
                        return
                    made = one.decide({"user": f"u{i % 5}"}, event_id=f"{name}{i}")
                    acknowledged.append(("decision", f"{name}{i}", made.action))
                    one.reward(f"{name}{i}", 0.5)  # without an id: it must not be stored twice either
                    acknowledged.append(("reward", f"{name}{i}", None))
            except BaseException as problem:
                problems.append(problem)

        threads = [threading.Thread(target=work, args=(one, n)) for one, n in ((loop, "a"), (loop, "b"), (other, "c"))]
        for thread in threads:
            thread.start()
        for _ in range(3):
            time.sleep(0.15)
            own_server.end()
            time.sleep(0.05)
            own_server.start()
        time.sleep(0.1)
        ends.set()
        for thread in threads:
            thread.join()
        assert not problems, problems[0]
    with journal_at(url) as journal:
        records = list(journal.read())
    found = {(one.kind, one.event_id, (one.body or {}).get("action")) for one in records}
    assert found >= set(acknowledged)
    assert max(Counter((one.kind, one.event_id) for one in records if one.event_id).values()) == 1
    kept = reference.check(url)
    assert kept[max(kept)] == reference.undisturbed(url)


class _LosesAnswers:
    """Runs scripts, and loses the connection before the answer of some is read."""

    def __init__(self, journal, monkeypatch, which):
        self.lost = Counter()
        run = journal._store.server._client.evalsha

        def evalsha(sha, *arguments):
            answer = run(sha, *arguments)
            name = next((name for name, script in journal._store.server._scripts.items() if script.sha == sha), "")
            if name in which and not self.lost[name]:
                self.lost[name] += 1
                raise LostConnection("the answer was lost")
            return answer

        monkeypatch.setattr(journal._store.server._client, "evalsha", evalsha)


@pytest.mark.parametrize("closes", [False, True])
def test_what_is_erased_while_redis_writes_its_file_anew_is_gone_in_the_end(own_server, closes):
    """What it writes then is older than the erasure, so it has to write it once more."""
    folder = RedisFolder(own_server)
    with closing(Redis(unix_socket_path=str(own_server.socket))) as client, open_loop(folder) as loop:
        loop.decide({"user": "secret-name"}, event_id="e1")
        client.config_set("rdb-key-save-delay", 200_000)  # microseconds for each key
        client.bgrewriteaof()
        while not client.info("persistence")["aof_rewrite_in_progress"]:
            pass
        client.config_set("rdb-key-save-delay", 0)
        loop.erase("e1")
        assert client.info("persistence")["aof_rewrite_in_progress"]  # still the one from before
        if closes:
            loop.close()
        assert not is_stored(folder, b"secret-name")


def test_a_request_whose_answer_was_lost_counts_once(folder, monkeypatch):
    with open_loop(folder, checkpoint_every="1h") as loop:
        play(loop, 0, 5)
        loop.checkpoint()
        scripts = ("append", "stage_model", "stage_windows", "commit", "drop_unfinished")
        losing = _LosesAnswers(loop._worker.journal, monkeypatch, scripts)
        loop.decide({"user": "Tom"}, event_id="x")
        assert losing.lost == {"append": 1}
        losing.lost.clear()
        loop.reward("x", 1)  # without an id
        assert losing.lost == {"append": 1}
        assert loop.checkpoint() == 2
        assert losing.lost["commit"] == losing.lost["stage_model"] == 1
        assert loop.status().counts["rewards"] == 6
        assert loop.status().counts["repeated"] == 0
    kept = reference.check(folder / "loop.db")
    assert kept[max(kept)] == reference.undisturbed(folder / "loop.db")
    assert kept[max(kept)].events == 6


def test_a_server_that_stays_away_is_reported_and_the_loop_goes_on_when_it_is_back(own_server):
    url = own_server.url("shop", patience="200ms")
    with Loop.open(url, actions=ACTIONS, reward_range=(0, 1), lease="100ms") as loop:
        play(loop, 0, 5)
        own_server.end()
        for _ in range(2):
            with pytest.raises(JournalUnreachable, match="may or may not be stored; ask again"):
                loop.decide({"user": "Tom"}, event_id="x")
        assert not loop.status().ready
        own_server.start()
        loop.decide({"user": "Tom"}, event_id="x")
        loop.reward("x", 1)
        end = time.monotonic() + 20
        while not (loop.status().ready and loop.status().learned == 6):
            assert time.monotonic() < end, loop.status()
            time.sleep(0.02)
    kept = reference.check(url)
    assert kept[max(kept)] == reference.undisturbed(url)


def test_a_server_without_memory_refuses_and_goes_on_when_there_is_some(own_server):
    options = {"actions": ACTIONS, "reward_range": (0, 1), "checkpoint_every": "1h"}
    with (
        Redis(unix_socket_path=str(own_server.socket)) as client,
        Loop.open(own_server.url("shop"), **options) as loop,
        Loop.open(own_server.url("shop"), learn=False) as decider,
    ):
        play(loop, 0, 5)
        client.config_set("maxmemory", "1")
        for _ in range(2):
            with pytest.raises(JournalFull, match="nothing was stored"):
                loop.decide({"user": "Tom"}, event_id="x")
        with pytest.raises(JournalFull):
            loop.checkpoint()
        for one in (loop, decider):
            assert not one.status().ready
            assert "has used up its maxmemory" in one.status().problems[0]
        client.config_set("maxmemory", "0")
        assert decider.status().ready
        play(loop, 5, 10)
        loop.checkpoint()
        assert loop.status().learned == 10
    kept = reference.check(own_server.url("shop"))
    assert kept[max(kept)] == reference.undisturbed(own_server.url("shop"))


def test_a_server_that_hangs_is_given_up_in_time(own_server):
    with Loop.open(own_server.url("shop", patience="1s"), actions=ACTIONS, reward_range=(0, 1)) as loop:
        loop.decide({"user": "Tom"})
        own_server.process.send_signal(signal.SIGSTOP)
        try:
            begun = time.monotonic()
            status = loop.status()
            assert time.monotonic() - begun < 4  # two seconds, and a busy machine
            assert not status.ready
            assert "does not answer" in " ".join(status.problems)
            with pytest.raises(JournalUnreachable):
                loop.decide({"user": "Tom"}, event_id="x")
            assert time.monotonic() - begun < 15
        finally:
            own_server.process.send_signal(signal.SIGCONT)
        loop.decide({"user": "Tom"}, event_id="x")


class _Hangs:
    """A loop whose server hangs. Nothing but the test asks for anything, and what is asked is counted.

    Attributes:
        writes: How many commits were tried.
        questions: How many questions were asked; each takes as long as `patience` says.
    """

    def __init__(self, loop, own_server):
        self.loop, self.worker, self.process = loop, loop._worker, own_server.process
        self.writes = self.questions = 0
        self.is_asked = threading.Event()
        self.worker._stopping.set()
        self.worker._upkeep.join()
        self._write, self._ask = self.worker.journal.write, self.worker.journal._store.server.ask
        self.worker.journal.write = self.write
        self.worker.journal._store.server.ask = self.ask

    def __enter__(self):
        self.process.send_signal(signal.SIGSTOP)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGCONT)

    def write(self, *arguments):
        self.writes += 1
        return self._write(*arguments)

    def ask(self, question):
        self.questions += 1
        self.is_asked.set()
        return self._ask(question)

    def refusal_of(self, call):
        """Why a call was refused, in a thread of its own: one that waits for ever is not to stop the tests."""
        said = queue.SimpleQueue()

        def work():
            try:
                said.put(call())
            except Exception as problem:
                said.put(problem)

        threading.Thread(target=work, daemon=True).start()
        return lambda: said.get(timeout=30)


HANGING = {"actions": ACTIONS, "reward_range": (0, 1), "checkpoint_every": "1h", "lease": "1h"}


def test_who_waits_behind_a_commit_that_hangs_does_not_wait_once_more(own_server):
    """Patience is how long a caller waits: it was spent once by the commit before, and once more by its own."""
    with Loop.open(own_server.url("shop", patience="1s"), **HANGING) as loop:
        with _Hangs(loop, own_server) as hangs:
            first = hangs.refusal_of(lambda: loop.decide({"user": "Tom"}, event_id="a"))
            assert hangs.is_asked.wait(30)
            others = [hangs.refusal_of(lambda i=i: loop.decide({"user": "Tom"}, event_id=f"b{i}")) for i in range(3)]
            while len(loop._worker._commits.waiting()) < 3:
                time.sleep(0.001)
            for refusal in (first, *others):
                assert isinstance(refusal(), JournalUnreachable)
            assert hangs.writes == 1
        for event in ("a", "b0", "b1", "b2", "c"):
            loop.decide({"user": "Tom"}, event_id=event)
        assert loop.status().counts["decisions"] == 5


def test_after_a_checkpoint_that_hung_whoever_asks_is_refused_and_does_not_wait_for_ever(own_server):
    with Loop.open(own_server.url("shop", patience="1s"), **HANGING) as loop:
        play(loop, 0, 3)
        with _Hangs(loop, own_server) as hangs:
            assert isinstance(hangs.refusal_of(loop.checkpoint)(), JournalUnreachable)
            for call in (lambda: loop.decide({"user": "Tom"}, event_id="x"), loop.model, lambda: loop.reward("x", 1)):
                hangs.questions = 0
                assert isinstance(hangs.refusal_of(call)(), JournalUnreachable)
                assert hangs.questions == 1
        loop.decide({"user": "Tom"}, event_id="x")
        loop.reward("x", 1)
        assert loop.status().learned == 4


@pytest.mark.parametrize("has_erased", [False, True])
def test_closing_costs_patience_once_while_a_server_hangs(own_server, has_erased, caplog):
    loop = Loop.open(own_server.url("shop", patience="1s"), **HANGING)
    play(loop, 0, 3)
    loop._worker.journal._is_rewrite_due = has_erased  # as when Redis was busy writing its file anew
    with _Hangs(loop, own_server) as hangs:
        assert hangs.refusal_of(loop.close)() is None
        assert hangs.questions == 1
    assert ("run BGREWRITEAOF" in caplog.text) == has_erased
    with Loop.open(own_server.url("shop")) as loop:
        assert loop.status().learned == 3


def test_what_was_erased_is_not_forgotten_where_the_server_does_not_answer(own_server):
    with Loop.open(own_server.url("shop", patience="1s"), **HANGING) as loop:
        journal = loop._worker.journal
        with _Hangs(loop, own_server) as hangs:
            assert isinstance(hangs.refusal_of(loop._worker.empty_log)(), JournalUnreachable)
            assert journal._is_rewrite_due
        loop.decide({"user": "Tom"})
        journal._end_rewriting()
        assert not journal._is_rewrite_due


@pytest.mark.parametrize("patience", ["1s", "1500ms", "2s", "5s", "30s", "50s", "10min"])
def test_tries_for_an_answer_fill_patience(folder, patience):
    """A try that begins just before the end would take longer."""
    with Loop.open(folder / f"loop&patience={patience}", actions=3, learn=False) as loop:
        server = loop._worker.journal._store.server
        tries = server.address.patience / server._client.connection_pool.connection_kwargs["socket_timeout"]
        assert tries == pytest.approx(round(tries))
        assert tries >= (2 if server.address.patience >= 2 else 1)


def test_a_replica_is_not_ready_and_nobody_waits_for_it_for_ever(own_server):
    with (
        Redis(unix_socket_path=str(own_server.socket)) as client,
        Loop.open(own_server.url("shop", patience="1s"), actions=ACTIONS, reward_range=(0, 1)) as loop,
        Loop.open(own_server.url("shop", patience="1s"), learn=False) as decider,
    ):
        loop.decide({"user": "Tom"})
        client.replicaof("127.0.0.1", 1)  # nobody is there; it answers what is read
        assert "is a replica" in " ".join(decider.status().problems)
        begun = time.monotonic()
        with pytest.raises(JournalUnreachable, match="replica"):
            decider.decide({"user": "Tom"}, event_id="x")
        assert time.monotonic() - begun < 10
        client.replicaof("NO", "ONE")
        decider.decide({"user": "Tom"}, event_id="x")
        assert decider.status().ready


def test_a_learner_that_follows_waits_for_a_server_that_stays_away(own_server):
    url = own_server.url("shop", patience="100ms")
    Loop.open(url, actions=ACTIONS, reward_range=(0, 1), learn=False).close()
    command = [FASTCB, "learn", url, "--follow", "--json", "--checkpoint-every", "50ms"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        roles = (json.loads(line)["role"] for line in process.stdout)
        assert next(roles) == "learner"
        own_server.end()
        while next(roles) != "waiting":
            pass
        own_server.start()
        while next(roles) != "learner":
            pass
        with Loop.open(url, learn=False) as loop:
            loop.reward(loop.decide({"user": "Tom"}).event_id, 1)
            end = time.monotonic() + 60
            while loop.status().learned < 1:
                assert time.monotonic() < end
                time.sleep(0.02)
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0


# Several machines


def test_a_damaged_model_is_refused_and_the_old_one_stays(folder, client):
    url = folder / "loop.db"
    with open_loop(folder, checkpoint_every="1h") as loop:
        play(loop, 0, 10)
        first = loop.checkpoint()
        with Loop.open(url, learn=False) as other:
            before = other.decide({"user": "u1", "hour": 2}, event_id="x")
            other._worker._stopping.set()  # it follows when told to
            other._worker._upkeep.join()
            play(loop, 10, 20)
            second = loop.checkpoint()
            model = f"fastcb:{{{folder.name}-loop.db}}:model:{loop.generations()[-1].sha256}"
            whole = client.hget(model, "0")
            client.hset(model, "0", whole[:-20] + bytes(20))
            other._worker.upkeep()
            status = other.status()
            assert status.ready
            assert f"generation {second} cannot be used" in status.warnings[0]
            again = other.decide({"user": "u1", "hour": 2}, event_id="y")
            assert (again.generation, again.pmf.tolist()) == (first, before.pmf.tolist())
            play(loop, 20, 30)
            third = loop.checkpoint()
            other._worker.upkeep()
            assert other.status().warnings == ()
            assert other.decide({"user": "u1", "hour": 2}, event_id="z").generation == third
            client.hset(model, "0", whole)
    with journal_at(url) as journal:
        assert replay(journal).agrees


def test_a_standby_takes_over_when_the_lease_of_another_machine_has_run_out(folder, client):
    url = folder / "loop.db"
    with open_loop(folder) as loop:
        play(loop, 0, 5)
    lease = f"fastcb:{{{folder.name}-loop.db}}:lease"
    now = client.time()[0] * 1000
    elsewhere = {"epoch": 7, "holder": "12@elsewhere/1/2/another-boot/1", "expires": now + 60_000}
    client.hset(lease, mapping=elsewhere)
    with Loop.open(url) as loop:
        assert loop.status().role == "decider"
        assert loop.status().learner == "12@elsewhere"
        client.hset(lease, "expires", now - 1)
        end = time.monotonic() + 20
        while loop.status().role != "learner":
            assert time.monotonic() < end
            time.sleep(0.01)
        assert client.hget(lease, "epoch") == b"8"
        assert loop.status().learned == 5


def test_commands_take_urls(folder, tmp_path):
    url = folder / "loop.db"
    with open_loop(folder, learn=False) as loop:
        play(loop, 0, 40)
    learned = told("learn", url)
    assert (learned["position"], learned["events_learned"]) == (81, 40)
    found = told("replay", url)
    assert found["agrees"]
    assert (found["decisions"], found["sha256"]) == (40, learned["sha256"])
    made = told(
        "export", url, "--parquet", tmp_path / "t.parquet", "--model", tmp_path / "m.vw", "--until", "2100-01-01"
    )
    assert (made["rows"], made["sha256"]) == (40, learned["sha256"])
    assert "expected the name of a new file" in refused("import", url, "--model", tmp_path / "m.vw")
    assert "there is no journal" in refused("learn", folder / "other")


def test_a_dedicated_learner_follows_and_a_standby_takes_over(folder, tmp_path):
    url = folder / "loop.db"
    with open_loop(folder, learn=False) as loop:
        command = [FASTCB, "learn", url, "--follow", "--checkpoint-every", "50ms"]
        learners = [subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for _ in range(2)]
        try:
            until(lambda: loop.status().learner is not None)
            play(loop, 0, 20)
            until(lambda: loop.status().learned == 20)
            pid = int(loop.status().learner.partition("@")[0])
            next(one for one in learners if one.pid == pid).kill()
            play(loop, 20, 40)
            until(lambda: loop.status().learned == 40)
            assert loop.status().learner not in (None, f"{pid}@")
        finally:
            for one in learners:
                one.send_signal(signal.SIGTERM)
                one.wait()
    kept = reference.check(url)
    assert kept[max(kept)] == reference.undisturbed(url)


def until(is_so):
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)
