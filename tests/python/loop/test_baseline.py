"""The baseline of a decision: what the caller would have done without the loop."""

import pytest

from loop import cli
from loop.redis_server import RedisServer, need_redis
from loop.support import journal_at, open_loop
from vw_fastcb import Loop
from vw_fastcb.loop import Conflict, JournalUnreachable, LoopError
from vw_fastcb.loop.replay import replay

ARTICLES = [{"topic": "sports"}, {"topic": "music"}]


def bodies(path):
    with journal_at(path) as journal:
        return [one.body for one in journal.read() if one.kind == "decision"]


def test_the_record_keeps_the_baseline(home):
    with open_loop(home) as loop:
        first = loop.decide({"user": "Tom"}, event_id="e1", baseline="sports")
        again = loop.decide({"user": "Tom"}, event_id="e1", baseline=1)
        assert (again, again.pmf.tolist()) == (first, first.pmf.tolist())
        for other in ("music", None):
            with pytest.raises(Conflict):
                loop.decide({"user": "Tom"}, event_id="e1", baseline=other)
        loop.decide({"user": "Tom"}, event_id="e2")
        with pytest.raises(Conflict):
            loop.decide({"user": "Tom"}, event_id="e2", baseline="sports")
        loop.reward("e1", 1)
    assert [body.get("baseline") for body in bodies(home / "loop.db")] == [1, None]
    with journal_at(home / "loop.db") as journal:
        assert replay(journal).agrees


def test_the_baseline_may_be_the_id_of_an_action(home):
    with open_loop(home, actions=None) as loop:
        loop.decide({}, ARTICLES, action_ids=["a", "b"], baseline="b")
        loop.decide({}, ARTICLES, action_ids=["a", "b"], baseline=0)
        loop.decide({}, ARTICLES, baseline=1)
        for wrong in ("c", 2, -1):
            with pytest.raises(ValueError, match="baseline"):
                loop.decide({}, ARTICLES, action_ids=["a", "b"], baseline=wrong)
        with pytest.raises(ValueError, match="baseline"):
            loop.decide({}, ARTICLES, baseline="a")
    assert [body["baseline"] for body in bodies(home / "loop.db")] == [1, 0, 1]


def test_a_baseline_that_cannot_be_played_is_refused_and_leaves_no_trace(home):
    with open_loop(home, retired=["music"]) as loop:
        before = loop.status().position
        for wrong, exclude in (
            ("chess", None),
            (3, None),
            (True, None),
            (1.5, None),
            ("music", None),
            (0, ["politics"]),
        ):
            with pytest.raises((ValueError, TypeError), match="baseline"):
                loop.decide({}, baseline=wrong, exclude=exclude)
        assert loop.status().position == before


def test_what_was_erased_keeps_its_baseline(home):
    with open_loop(home) as loop:
        loop.decide({"user": "Tom"}, event_id="e1", baseline="music")
        loop.erase("e1")
    (body,) = bodies(home / "loop.db")
    assert body["erased"]
    assert body["baseline"] == 2


@pytest.mark.parametrize("kind", ["--parquet", "--dsjson"])
@pytest.mark.parametrize("actions", [["politics", "sports", "music"], None])
def test_the_baseline_is_exported_and_imported(tmp_path, kind, actions):
    with open_loop(tmp_path, actions=actions) as loop:
        for i in range(6):
            table = None if actions else [*ARTICLES, {"topic": "chess"}]
            loop.decide({"hour": i}, table, event_id=f"e{i}", baseline=None if i == 3 else i % 3)
            loop.reward(f"e{i}", i / 6)
    cli.told("export", tmp_path / "loop.db", kind, tmp_path / "log")
    given = () if kind == "--parquet" else ("--actions", ",".join(actions or ["none"]), "--reward-range", 0, 1)
    cli.told("import", tmp_path / "again.db", kind, tmp_path / "log", *given)
    assert [body.get("baseline") for body in bodies(tmp_path / "again.db")] == [0, 1, 2, None, 1, 2]


def test_an_imported_baseline_is_the_action_of_that_name_wherever_the_journal_has_it(tmp_path):
    with open_loop(tmp_path) as loop:
        name = loop.decide({"hour": 9}, event_id="e1", baseline="sports").name
        loop.reward("e1", 1)
    cli.told("export", tmp_path / "loop.db", "--dsjson", tmp_path / "log")
    actions = ["music", "politics", "sports"]
    given = ("--actions", ",".join(actions), "--reward-range", 0, 1)
    cli.told("import", tmp_path / "again.db", "--dsjson", tmp_path / "log", *given)
    (body,) = bodies(tmp_path / "again.db")
    assert [actions[body["action"]], actions[body["baseline"]]] == [name, "sports"]


def test_where_the_store_is_away_the_error_brings_the_baseline(tmp_path):
    need_redis()
    server = RedisServer(tmp_path)
    server.start()
    try:
        with Loop.open(server.url("shop", patience="200ms"), actions=["politics", "sports", "music"]) as loop:
            loop.decide({"user": "Tom"}, event_id="e1", baseline="sports")
            server.end()
            with pytest.raises(JournalUnreachable) as away:
                loop.decide({"user": "Tom"}, event_id="e2", baseline="music")
            assert away.value.baseline == "music"
            with pytest.raises(LoopError) as away:
                loop.decide({"user": "Tom"}, event_id="e3")
            assert away.value.baseline is None
            with pytest.raises(LoopError) as away:
                loop.cost("e1", 1)
            assert away.value.baseline is None
    finally:
        server.end()


def test_errors_of_one_cause_have_their_own_baselines(home):
    loop = open_loop(home)
    loop.close()
    raised = []
    for baseline in ("sports", None, "music"):
        with pytest.raises(LoopError, match="closed") as closed:
            loop.decide({}, baseline=baseline)
        raised.append(closed.value)
    assert [one.baseline for one in raised] == ["sports", None, "music"]


def test_a_conflict_has_no_baseline(home):
    with open_loop(home) as loop:
        loop.decide({"user": "Tom"}, event_id="e1", baseline="sports")
        with pytest.raises(Conflict) as conflict:
            loop.decide({"user": "Ann"}, event_id="e1", baseline="sports")
    assert conflict.value.baseline is None
    assert isinstance(loop, Loop)
