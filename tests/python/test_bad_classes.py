"""Bad labels of --cbify, which makes bandit events of classes and of their costs, are refused and can be skipped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bad_events import workspace
from support import ok, refused, run, write

DOORS = ["--cb_explore 3", "--cb_explore_adf"]
COSTS = "1:0 2:1 3:0.5"
BAD_CLASSES = {
    "too large": ("4", "class 4 is unknown. The classes of --cbify 3 are numbered 1 to 3"),
    "zero": ("0", "class 0 is unknown"),
    "negative": ("-1", "class '-1' is unknown"),
    "wraps": ("4294967297", "class '4294967297' is unknown"),
    "far too large": ("99999999999", "class '99999999999' is unknown"),
    "a word": ("red", "class 'red' is unknown"),
    "a fraction": ("1.5", "class '1.5' is unknown"),
    "weight inf": ("2 inf", "weight 'inf'"),
    "weight nan": ("2 nan", "weight 'nan'"),
    "weight a word": ("2 heavy", "weight 'heavy'"),
    "weight negative": ("2 -1", "its weight is -1"),
    "three words": ("1 2 3", "its label has 3 words"),
}
BAD_COSTS = {
    "outside": ("1:7 2:7 3:7", "cost 7 of class 1 is outside [0, 1]"),
    "nan": ("1:nan 2:1 3:1", "cost 'nan' in the label '1:nan'"),
    "a word": ("1:cheap 2:1 3:1", "cost 'cheap' in the label '1:cheap'"),
    "no cost": ("1: 2:1 3:1", "the label '1:' is not of the form class:cost"),
    "a third number": ("1:0:1 2:1 3:1", "the label '1:0:1' is not of the form class:cost"),
    "unknown class": ("1:0 2:1 3:1 4:1", "class 4 is unknown"),
    "class zero": ("0:0 1:1 2:1", "class 0 is unknown"),
    "a class that wraps": ("4294967297:0 2:1 3:1", "is not of the form class:cost"),
    "a class twice": ("1:0 2:1 3:1 1:1", "class 1 has two costs"),
    "a class without a cost": ("1:0 3:1", "class 2 has no cost"),
}
BAD = {
    **{f"class {name}": ("--cbify 3", "2", *bad) for name, bad in BAD_CLASSES.items()},
    **{f"cost {name}": ("--cbify 3 --cbify_cs", COSTS, *bad) for name, bad in BAD_COSTS.items()},
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("flags", "good", "bad", "message"), BAD.values(), ids=BAD)
def test_a_bad_label_is_refused_and_can_be_skipped(
    flags: str, good: str, bad: str, message: str, door: str, tmp_path: Path
) -> None:
    arguments = [*f"{flags} {door}".split(), "-b", "10", "--fastcb", "--quiet"]
    clean = write(tmp_path / "clean", [f"{good} |x a\n", f"{good} |x b\n"])
    log = write(tmp_path / "log", [f"{good} |x a\n", f"{bad} |x c\n", f"{good} |x b\n"])
    said = refused(*arguments, "-d", log)
    assert message in said
    assert "event 2 of the input, line 2" in said
    for name, data in (("clean", clean), ("log", log)):
        ok(*arguments, "--fastcb_bad_events", "skip", "-d", data, "-f", tmp_path / f"{name}.model")
    assert (tmp_path / "clean.model").read_bytes() == (tmp_path / "log.model").read_bytes()
    with workspace(f"{flags} {door}") as vw:
        vw.learn(f"{good} |x a")
        with pytest.raises(RuntimeError, match="bad event") as problem:
            vw.learn(f"{bad} |x c")
        assert message in str(problem.value)


@pytest.mark.parametrize("door", DOORS)
def test_good_labels_are_learned(door: str, tmp_path: Path) -> None:
    classes = write(tmp_path / "classes", ["1 |x a\n", "3 0.5 |x b\n", "2 0 |x c\n", "|x d\n"])
    assert "number of examples = 4" in ok("--cbify", 3, *door.split(), "--fastcb", "-d", classes)
    costs = write(tmp_path / "costs", [f"{COSTS} |x a\n", "|x b\n", "1 2 3 |x c\n"])
    assert "number of examples = 3" in ok("--cbify", 3, "--cbify_cs", *door.split(), "--fastcb", "-d", costs)


def test_costs_are_checked_on_the_scale_of_the_losses(tmp_path: Path) -> None:
    arguments = ["--cbify", 3, "--cbify_cs", "--cb_explore", 3, "--fastcb", "--loss0", -1, "--loss1", 3]
    ok(*arguments, "-d", write(tmp_path / "good", [f"{COSTS} |x a\n"]))
    said = refused(*arguments, "-d", write(tmp_path / "bad", ["1:0 2:2 3:1 |x a\n"]))
    assert "cost 2 of class 2, which --loss0 and --loss1 turn into 7, is outside [-1, 3]" in said


def test_names_of_classes(tmp_path: Path) -> None:
    arguments = ["--cbify", 2, "--cb_explore", 2, "--fastcb", "--named_labels", "cat,dog"]
    ok(*arguments, "-d", write(tmp_path / "good", ["cat |x a\n", "dog 2 |x b\n"]))
    assert "class 0 is unknown" in refused(*arguments, "-d", write(tmp_path / "bad", ["cow |x a\n"]))


@pytest.mark.parametrize("number", [0, 4, 2**32 - 1, 2**32 + 1])
def test_numbers_of_classes_in_json(number: int) -> None:
    with workspace("--cbify 3 --cb_explore 3 --json") as vw:
        vw.learn(json.dumps({"_label": 3, "x": {"a": 1}}))
        with pytest.raises(RuntimeError, match=f"{number}.* is unknown"):
            vw.learn(json.dumps({"_label": number, "x": {"a": 1}}))


LDF = "--cbify_ldf --cb_explore_adf --fastcb --quiet"
BAD_LDF = {
    "no costs": "|x a\n|x b\n",  # VW crashes
    "one cost": "1:0 |x a\n|x b\n",
    "from zero": "0:0 |x a\n1:1 |x b\n",
    "out of order": "2:0 |x a\n1:1 |x b\n",
    "two costs": "1:0 2:1 |x a\n2:1 |x b\n",
    "a shared line": "shared |u x\n1:0 |x a\n2:1 |x b\n",
    "outside": "1:0 |x a\n2:7 |x b\n",
}


@pytest.mark.parametrize("event", BAD_LDF.values(), ids=BAD_LDF)
def test_a_bad_event_of_a_line_per_class(event: str, tmp_path: Path) -> None:
    good = "1:0 |x a\n2:1 |x b\n\n"
    log = write(tmp_path / "log", [good, f"{event}\n", good])
    said = refused(*LDF.split(), "-d", log)
    assert "cost" in said or "shared line" in said
    assert "event 2 of the input" in said
    assert "skipped 1 bad event of 3" in ok(*LDF.split(), "--fastcb_bad_events", "skip", "-d", log)


def test_a_line_per_class_asks_for_a_prediction(tmp_path: Path) -> None:
    model = tmp_path / "model"
    ok(*LDF.split(), "-d", write(tmp_path / "log", ["1:0 |x a\n2:1 |x b\n\n"]), "-f", model)
    asked = write(tmp_path / "asked", ["|x a\n|x b\n\n"])
    assert run("-i", model, "-t", "-d", asked, "-p", tmp_path / "classes", "--quiet").returncode == 0
    assert {float(line) for line in (tmp_path / "classes").read_text().split()} <= {0, 1, 2}
