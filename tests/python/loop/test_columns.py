"""Columns of a journal: declared and checked at the door, or fixed by the first values, and mended by a command."""

import random

import pytest

from loop import cli, reference
from loop.support import Clock, journal_at, open_loop
from vw_fastcb import Loop
from vw_fastcb.loop import SettingsDiffer
from vw_fastcb.loop.replay import replay
from vw_fastcb.loop.settings import LoopSettings

KINDS = {"age": "number", "user.name": "text"}


def position(loop):
    return loop.status().position


def agrees(path):
    with journal_at(path) as journal:
        found = replay(journal)
    assert found.agrees, found.differences
    assert found.exact == found.decisions
    return found


# Without a declaration


def test_a_value_of_another_kind_is_left_out_counted_and_named(home):
    with open_loop(home) as loop:
        loop.decide({"age": "31", "hour": 9}, event_id="e1")
        loop.decide({"age": 31, "hour": 9}, event_id="e2")
        loop.decide({"age": None, "hour": "nine"}, event_id="e3")
        without = loop.decide({"hour": 9}, event_id="e4").pmf
        assert loop.decide({"age": 7, "hour": 9}, event_id="e5").pmf.tolist() == without.tolist()
        for event in ("e1", "e2", "e3", "e4", "e5"):
            loop.reward(event, 1)
        status = loop.status()
        assert status.left_out == {"age": 2, "hour": 1}
        (warning,) = (one for one in status.warnings if "age" in one)
        assert "3 values" in warning
        assert "'age' (2), 'hour' (1)" in warning
        assert "fastcb column set" in warning
        assert status.to_dict()["left_out"] == {"age": 2, "hour": 1}
        assert loop.dead_letters() == []
        assert status.learned == 5
    with open_loop(home) as loop:
        assert loop.status().left_out == {"age": 2, "hour": 1}
    reference.check(home / "loop.db")
    assert agrees(home / "loop.db").decisions == 5


def test_the_record_has_the_features_as_they_were_sent(home):
    with open_loop(home) as loop:
        loop.decide({"age": "31"}, event_id="e1")
        loop.decide({"age": 31}, event_id="e2")
        again = loop.decide({"age": 31}, event_id="e2")
    with journal_at(home / "loop.db") as journal:
        bodies = [one.body for one in journal.read() if one.kind == "decision"]
    assert [body["context"] for body in bodies] == [{"age": "31"}, {"age": 31}]
    assert again.pmf.tolist() == bodies[1]["pmf"]


def test_what_is_left_out_counts_as_missing(home):
    with open_loop(home, missing="mark") as loop:
        for i, age in enumerate(["a", None, "b", None] * 5):
            loop.decide({"age": age}, event_id=f"e{i}")
            loop.reward(f"e{i}", i % 2)
        expected = loop.decide({"age": None}).pmf.tolist()
        assert loop.decide({"age": 3}).pmf.tolist() == expected != loop.decide({}).pmf.tolist()


def test_kinds_that_contradict_each_other_within_one_decision(home):
    with open_loop(home, actions=None) as loop:
        loop.decide({}, [{"price": 1}, {"price": "one"}, {"price": 2}], event_id="e1")
        loop.reward("e1", 1)
        assert loop.status().left_out == {"action_features.price": 1}
    reference.check(home / "loop.db")
    agrees(home / "loop.db")


def test_a_list_is_a_dictionary_of_its_positions(home):
    with open_loop(home) as loop:
        loop.decide([1, 2, 3], event_id="e1")
        loop.decide({"age": 31}, event_id="e2")
        loop.decide([1, 2], event_id="e3")
        loop.decide([1, 2, 3, 4], event_id="e4")
        assert loop.decide([1, None, 3]).pmf.tolist() == loop.decide({"0": 1, "2": 3}).pmf.tolist()
        for event in ("e1", "e2", "e3", "e4"):
            loop.reward(event, 1)
        assert loop.status().left_out == {}
        assert loop.status().learned == 4
    reference.check(home / "loop.db")
    agrees(home / "loop.db")


def test_tables_of_actions_may_change_their_form(home):
    with open_loop(home, actions=None) as loop:
        loop.decide([1, 2], [[1, 2], [3, 4]], event_id="e1")
        loop.decide({"a": 1}, [{"price": 2}, {"price": 3}, {"price": 4}], event_id="e2")
        loop.decide({"a": 1}, [[1, 2, 3], [3, 4, 5]], event_id="e3")
        for event in ("e1", "e2", "e3"):
            loop.reward(event, 1)
        assert loop.status().learned == 3
    reference.check(home / "loop.db")
    agrees(home / "loop.db")


def test_many_columns_are_counted_together(home):
    with open_loop(home) as loop:
        loop.decide({f"c{i}": 1 for i in range(300)})
        loop.decide({f"c{i}": "one" for i in range(300)})
        left_out = loop.status().left_out
    assert len(left_out) == 101
    assert sum(left_out.values()) == 300
    assert left_out[""] == 200


def test_a_setting_makes_it_a_refusal(home):
    with open_loop(home, mismatch="refuse") as loop:
        loop.decide({"age": "31"})
        before = position(loop)
        with pytest.raises(ValueError, match="age"):
            loop.decide({"age": 31})
        assert position(loop) == before
        with pytest.raises(ValueError, match="columns"):
            loop.decide([1, 2, 3])
        assert loop.status().left_out == {}
    with pytest.raises(SettingsDiffer, match="mismatch"):
        open_loop(home, mismatch="leave_out")
    with open_loop(home, mismatch="leave_out", change=True) as loop:
        loop.decide({"age": 31})
        loop.decide([1, 2, 3])
        assert loop.status().left_out == {"age": 1}
    agrees(home / "loop.db")


def test_a_loop_of_lists_may_leave_out_later(home):
    with open_loop(home, mismatch="refuse") as loop:
        loop.decide([1, 2, 3], event_id="e1")
        loop.reward("e1", 1)
        with pytest.raises(ValueError, match="columns"):
            loop.decide({"age": 31})
    with open_loop(home, mismatch="leave_out", change=True) as loop:
        loop.decide({"age": 31, "0": "text"}, event_id="e2")
        loop.reward("e2", 1)
        assert loop.status().left_out == {"0": 1}
    reference.check(home / "loop.db")
    agrees(home / "loop.db")


# Everybody agrees on what is left out


def random_context(dice):
    values = {"number": dice.random, "text": lambda: dice.choice("abc"), "none": lambda: None}
    if dice.random() < 0.1:
        return [dice.random() for _ in range(dice.randrange(1, 4))]
    return {name: values[dice.choice(list(values))]() for name in dice.sample("uvwxyz", 3)}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("missing", ["zero", "mark"])
def test_learner_decider_checkpoints_and_replay_agree(home, seed, missing):
    dice = random.Random(seed)
    settings = {"missing": missing, "checkpoint_every": "1h", "keep_generations": 50, "clock": Clock()}
    with open_loop(home, **settings) as learner:
        learner.decide(random_context(dice), event_id="first")
        learner.checkpoint()
        with open_loop(home, learn=False, **settings) as decider:
            for i in range(60):
                loop = dice.choice([learner, decider])
                loop.decide(random_context(dice), event_id=f"e{i}")
                loop.reward(f"e{dice.randrange(i + 1)}", dice.random(), reward_id=f"r{i}")
                what = dice.random()
                if what < 0.1:
                    learner.checkpoint()
                elif what < 0.15:
                    loop.set_column(dice.choice("uvwxyz"), dice.choice(["number", "text"]))
                elif what < 0.2:
                    learner.rollback(dice.choice(learner.generations()).generation)
            learner.checkpoint()
            left_out = learner.status().left_out
        assert left_out
        assert learner.dead_letters() == []
    reference.check(home / "loop.db")
    agrees(home / "loop.db")
    with open_loop(home, **settings, take_over=True) as learner:
        assert learner.status().left_out == left_out


def test_a_twin_that_has_not_seen_a_column_leaves_out_the_same(home):
    """The twin of a checkpoint learns what the learner has learned, and sees only those decisions."""
    with open_loop(home, checkpoint_every="1h") as loop:
        loop.decide({"hour": 1}, event_id="e1")
        loop.reward("e1", 1)
        loop.checkpoint()
        loop.decide({"age": "31", "hour": 2})  # nothing is learned from it
        loop.decide({"age": 31, "hour": 3}, event_id="e2")
        loop.reward("e2", 1)
        loop.checkpoint()
    reference.check(home / "loop.db")


@pytest.mark.parametrize("kind", [1, "one"])
def test_what_is_published_has_the_columns_of_decisions_that_nothing_was_learned_from(home, kind):
    """A twin makes a checkpoint's bytes, and has learned from none of them."""
    with open_loop(home, checkpoint_every="1h") as loop:
        loop.decide({"hour": 1}, event_id="e1")
        loop.reward("e1", 1)
        loop.checkpoint()
        loop.decide({"hour": 2, "new": kind})
        loop.checkpoint()
        with journal_at(home / "loop.db") as journal:
            first, newest = (journal.model(one.sha256) for one in journal.checkpoints())
        assert newest == loop.model().to_bytes() != first
        with Loop.open(home / "loop.db", learn=False) as decider:
            assert decider.model().to_bytes() == newest
            other = {"hour": 2, "new": "one" if kind == 1 else 1}
            assert decider.decide(other).pmf.tolist() == loop.decide(other).pmf.tolist()
    agrees(home / "loop.db")


def test_an_export_says_that_values_were_left_out(tmp_path):
    with open_loop(tmp_path, actions=None) as loop:
        for age in (31, 32):
            loop.decide({"age": age}, [{"price": 1}, {"price": 2}])
    path = tmp_path / "loop.db"
    assert cli.told("export", path, "--dsjson", tmp_path / "log")["is_same_model"]
    with open_loop(tmp_path, actions=None) as loop:
        loop.decide({"age": "33"}, [{"price": 1}, {"price": 2}])
    told = cli.told("export", path, "--dsjson", tmp_path / "log")
    assert (told["is_same_model"], told["left_out"]) == (False, 1)


# Declared


def test_declared_columns_are_checked_before_anything_is_stored(home):
    with open_loop(home, columns=KINDS) as loop:
        loop.decide({"age": 31, "user": {"name": "Tom"}})
        loop.decide({"age": None})
        before = position(loop)
        for context, words in [
            ({"age": "31"}, r"'31'.* 'age'.*number"),
            ({"user": {"name": 3}}, r"3.* 'user.name'.*text"),
            ({"aeg": 31}, r"'aeg'.*'age'"),
            ([1, 2], "list.*dictionary"),
        ]:
            with pytest.raises(ValueError, match=words):
                loop.decide(context)
        assert position(loop) == before
        assert loop.settings["columns"] == KINDS
        assert loop.settings["mismatch"] == "refuse"
    with Loop.open(home / "loop.db") as loop, pytest.raises(ValueError, match="age"):
        loop.decide({"age": "31"})
    with open_loop(home, columns=KINDS):
        pass
    with pytest.raises(SettingsDiffer, match="columns"):
        open_loop(home, columns={"age": "text"})


def test_nested_names_words_and_patterns(home):
    columns = {"user": {"age": "number"}, "tags": "text", "sizes.*": "number", "free*": "any"}
    with open_loop(home, columns=columns) as loop:
        loop.decide({"user": {"age": 3}, "tags": ["sports", "music"], "sizes": [1, 2, 3], "free": 1, "freedom": "x"})
        loop.decide({"tags": "sports"})
        before = position(loop)
        for wrong in ({"tags": 3}, {"sizes": ["small"]}, {"sizes": {"a": "x"}}, {"user": 3}, {"nothing": 1}):
            with pytest.raises(ValueError, match="the context"):
                loop.decide(wrong)
        assert position(loop) == before


def test_of_several_patterns_the_one_that_says_most_of_a_name_counts(home):
    columns = {"user.*": "number", "user.name*": "text", "*": "any"}
    with open_loop(home, columns=columns) as loop:
        loop.decide({"user": {"age": 3, "name": "Tom", "name_of_cat": "Tim"}, "hour": "late"})
        before = position(loop)
        for wrong in ({"user": {"name": 3}}, {"user": {"age": "old"}}):
            with pytest.raises(ValueError, match="the context"):
                loop.decide(wrong)
        assert position(loop) == before


def test_a_declared_width(home):
    with open_loop(home, columns=3) as loop:
        loop.decide([1, 2, 3])
        loop.decide({"0": 1, "2": 3})
        before = position(loop)
        for wrong in ([1, 2], [1, 2, 3, 4], {"age": 31}, {"0": "text"}):
            with pytest.raises(ValueError, match="3 numbers"):
                loop.decide(wrong)
        assert position(loop) == before
    agrees(home / "loop.db")


def test_declared_columns_of_actions(home):
    with open_loop(home, actions=None, columns={"age": "number"}, action_columns={"price": "number"}) as loop:
        loop.decide({"age": 1}, [{"price": 1}, {"price": 2}])
        with pytest.raises(ValueError, match=r"action 1.*'cheap'.*'price'"):
            loop.decide({"age": 1}, [{"price": 1}, {"price": "cheap"}])


def test_declared_columns_may_be_left_out_too(home):
    with open_loop(home, columns={"age": "number"}, mismatch="leave_out") as loop:
        loop.decide({"age": "31"}, event_id="e1")
        loop.decide({"age": 31, "aeg": 2}, event_id="e2")
        loop.decide([5], event_id="e3")
        for event in ("e1", "e2", "e3"):
            loop.reward(event, 1)
        assert loop.status().left_out == {"age": 1, "aeg": 1, "0": 1}
        assert loop.decide({"age": "31"}).pmf.tolist() == loop.decide({}).pmf.tolist()
    reference.check(home / "loop.db")
    agrees(home / "loop.db")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({}, "columns is {}"),
        ({"age": "float"}, "'float'.*number"),
        ({"age": 3}, "3.*number"),
        ({3: "number"}, "3"),
        (["age"], "columns is"),
        (0, "columns is 0"),
        (True, "columns is True"),
        ({"a": {"b": "number"}, "a.b": "text"}, "'a.b' twice"),
    ],
)
def test_wrong_declarations(home, columns, words):
    with pytest.raises((ValueError, TypeError), match=words):
        open_loop(home, columns=columns)
    with pytest.raises(ValueError, match="mismatch is 'maybe'"):
        open_loop(home, mismatch="maybe")


def test_columns_are_declared_later_and_keep_the_model(home):
    with open_loop(home) as loop:
        loop.decide({"age": "31", "hour": 3}, event_id="e1")
        loop.reward("e1", 1)
    with open_loop(home, columns={"age": "number", "hour": "number"}, change=True) as loop:
        assert loop.status().learned == 1
        loop.decide({"age": 31, "hour": 3}, event_id="e2")
        loop.reward("e2", 1)
        with pytest.raises(ValueError, match="age"):
            loop.decide({"age": "31"})
    reference.check(home / "loop.db")
    agrees(home / "loop.db")


# Mended


def test_a_journal_is_mended(home):
    with open_loop(home) as loop:
        loop.decide({"age": "31"}, event_id="e1")
        loop.decide({"age": 31}, event_id="e2")
        loop.reward("e1", 1)
        loop.set_column("age", "number")
        before = position(loop)
        loop.set_column("age", "number")
        assert position(loop) == before
        for i in range(20):
            loop.decide({"age": i % 2}, event_id=f"n{i}")
            loop.reward(f"n{i}", i % 2)
        loop.reward("e2", 1)
        assert loop.status().left_out == {"age": 1}
        assert loop.decide({"age": 1}).pmf.tolist() != loop.decide({"age": 0}).pmf.tolist()
        loop.decide({"age": "31"})
        assert loop.status().left_out == {"age": 2}
        loop.rollback(loop.generations()[0].generation)
        loop.decide({"age": 31})
        assert loop.status().left_out == {"age": 2}  # an older model does not bring the old kind back
    reference.check(home / "loop.db")
    agrees(home / "loop.db")


def test_a_mended_column_is_wrong_in_words(home):
    with open_loop(home, columns=3) as loop, pytest.raises(ValueError, match="3 numbers"):
        loop.set_column("age", "number")
    with open_loop(home, "other.db") as loop:
        for name, kind in (("age", "date"), ("", "number"), (3, "number")):
            with pytest.raises((ValueError, TypeError), match="expected"):
                loop.set_column(name, kind)


def test_the_command_mends_while_another_process_learns(home):
    path = home / "loop.db"
    with open_loop(home) as loop:
        loop.decide({"age": "31"})
        answer = cli.told("column", "set", path, "age", "number")
        assert answer["columns"] == {"age": "number", "*": "any"}
        loop.decide({"age": 31})
        assert loop.status().left_out == {}
        assert loop.settings["columns"] == {"age": "number", "*": "any"}
    assert cli.told("column", "set", path, "age", "text")["columns"]["age"] == "text"
    with open_loop(home) as loop:
        loop.decide({"age": 31})
        assert loop.status().left_out == {"age": 1}
    agrees(path)


def test_the_command_says_what_is_wrong(home):
    assert "there is no journal" in cli.refused("column", "set", home / "nothing.db", "age", "number")
    open_loop(home).close()
    assert "date" in cli.refused("column", "set", home / "loop.db", "age", "date")


def test_the_command_sets_columns_of_actions(home):
    with open_loop(home, actions=None) as loop:
        loop.decide({}, [{"price": "1"}])
        cli.told("column", "set", home / "loop.db", "price", "number", "--of-actions")
        loop.decide({}, [{"price": 1}])
        assert loop.status().left_out == {}


# Journals of 0.3


def test_a_journal_of_0_3_goes_on_as_it_was(home):
    path = home / "loop.db"
    with open_loop(home, mismatch="refuse") as loop:
        loop.decide({"age": "31"}, event_id="e1")
        loop.reward("e1", 1)
    kept = LoopSettings.new({"actions": 2, "mismatch": "refuse"}).to_json()
    assert not {"columns", "action_columns", "mismatch"} & kept.keys()  # as 0.3 wrote it
    assert LoopSettings.from_json(kept).mismatch == "refuse"
    with Loop.open(path) as loop:
        with pytest.raises(ValueError, match="age"):
            loop.decide({"age": 31})
        loop.set_column("age", "number")
        loop.decide({"age": 31})
        with pytest.raises(ValueError, match="age"):
            loop.decide({"age": "31"})
    agrees(path)
