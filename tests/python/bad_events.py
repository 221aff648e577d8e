"""What the tests of promise 6 share: front doors and formats, bad events, and that nothing changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from vw_fastcb import Workspace, pyvw

ACTIONS = 3
COSTS = r"\[0, 1\]"
PROBABILITIES = r"\(0, 1\]"


@dataclass(frozen=True)
class Format:
    """A front door with an input format: its flags, and an event with the given label."""

    flags: str
    event: Callable[[str], str]

    @property
    def good(self) -> str:
        return self.event("1:0.25:0.5")

    @property
    def asked(self) -> str:
        return self.event("")


def adf_text(label: str) -> str:
    return f"shared |u x y:0.5\n|a a\n{label} |a b\n|a c"


def fixed_text(label: str) -> str:
    return f"{label} |u x y:0.5"


def adf_json(label: str, **more: object) -> str:
    actions: list[dict[str, object]] = [{"a": {name: 1}} for name in "abc"]
    if label:
        actions[1] = {"_label": label, **actions[1]}
    return json.dumps({"u": {"x": 1, "y": 0.5}, "_multi": actions, **more})


def fixed_json(label: str) -> str:
    return json.dumps({**({"_label": label} if label else {}), "u": {"x": 1, "y": 0.5}})


ADF_TEXT = Format("--cb_explore_adf", adf_text)
FIXED_TEXT = Format(f"--cb_explore {ACTIONS}", fixed_text)
ADF_JSON = Format("--cb_explore_adf --json", adf_json)
FIXED_JSON = Format(f"--cb_explore {ACTIONS} --json", fixed_json)
FORMATS = {"adf-text": ADF_TEXT, "fixed-text": FIXED_TEXT, "adf-json": ADF_JSON, "fixed-json": FIXED_JSON}
EACH_FORMAT = pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)


def workspace(flags: str) -> Workspace:
    # Few weights: VW goes over all of them to save a model and to load one.
    return Workspace(f"{flags} -b 10 --fastcb --quiet")


@contextmanager
def unchanged(vw: Workspace, asked: str, folder: Path) -> Iterator[None]:
    """Whatever happens inside must leave the predictions and every byte of the model alone."""
    before = repr(vw.predict(asked))
    vw.save(folder / "before.model")
    yield
    vw.save(folder / "after.model")
    assert (folder / "after.model").read_bytes() == (folder / "before.model").read_bytes()
    assert repr(vw.predict(asked)) == before


def assert_refused(vw: Workspace, event: Any, message: str) -> None:
    for call in (vw.learn, vw.predict):
        with pytest.raises(RuntimeError, match=message):
            call(event)


def check_refusal(flags: str, good: str, asked: str, bad: str, message: str, folder: Path) -> None:
    """A model that has learned refuses the event, so does one loaded only to predict, and nothing changes."""
    with workspace(flags) as vw:
        for _ in range(5):
            vw.learn(good)
        with unchanged(vw, asked, folder):
            assert_refused(vw, bad, message)
    loaded = Workspace(arg_list=["-t", "--quiet", "-i", str(folder / "before.model"), *flags.split()])
    with loaded as vw, unchanged(vw, asked, folder):
        assert_refused(vw, bad, message)


def dsjson(**changes: object) -> str:
    """An event of three actions of which the second was chosen; a change to None leaves the field out."""
    event = {
        "_label_cost": 0.25,
        "_label_probability": 0.5,
        "_label_Action": 2,
        "_labelIndex": 1,
        "Version": "1",
        "EventId": "e",
        "a": [2, 1, 3],
        "c": {"u": {"x": 1, "y": 0.5}, "_multi": [{"a": {name: 1}} for name in "abc"]},
        "p": [0.5, 0.25, 0.25],
        **changes,
    }
    return json.dumps({name: value for name, value in event.items() if value is not None})


DSJSON_ASKED = dsjson(_label_cost=None, _label_probability=None, _label_Action=None, _labelIndex=None)


def example(vw: Workspace, feature: str, label: str) -> pyvw.Example:
    """An example built feature by feature, labelled as `str(CBLabel(...))` writes labels."""
    made = pyvw.Example(vw, {"u": [feature, ("y", 0.5)]}, pyvw.LabelType.CONTEXTUAL_BANDIT)
    made.set_label_string(label)
    made.setup_example()
    return made


def object_event(vw: Workspace, label: str) -> Any:
    return [example(vw, "a", ""), example(vw, "b", label)] if vw._is_multiline() else example(vw, "x", label)
