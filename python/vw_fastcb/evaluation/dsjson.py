"""What is needed of a line of dsjson, read ten times as fast as all of it."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec


class Context(msgspec.Struct):
    """The context of a decision: its actions, and nothing else."""

    actions: list[msgspec.Raw] = msgspec.field(name="_multi", default_factory=list)


class Line(msgspec.Struct, gc=False):  # no cycles, so nothing for the collector to look at
    """A decision with its outcome. What a line does not say is None."""

    cost: float | None = msgspec.field(name="_label_cost", default=None)
    probability: float | None = msgspec.field(name="_label_probability", default=None)
    action: int | None = msgspec.field(name="_label_Action", default=None)
    index: int | None = msgspec.field(name="_labelIndex", default=None)
    skip: bool | None = msgspec.field(name="_skipLearn", default=None)
    event_id: str | None = msgspec.field(name="EventId", default=None)
    time: str | None = msgspec.field(name="Timestamp", default=None)
    a: list[int] | None = None
    p: list[float] | None = None
    c: msgspec.Raw = msgspec.Raw(b"")
    pdrop: float | None = None
    excluded: list[int] | None = msgspec.field(name="_excluded", default=None)  # written by us, of journals

    def context(self) -> Context:
        """Its actions."""
        return _contexts().decode(self.c) if bytes(self.c) else Context()


@functools.cache
def _contexts() -> msgspec.json.Decoder[Context]:
    return msgspec.json.Decoder(Context)


@functools.cache
def decoder() -> Callable[[bytes], Line]:
    """Reads a line; raises ValueError where it is none."""
    return msgspec.json.Decoder(Line).decode


@functools.lru_cache(maxsize=10_000)
def names_of(action: bytes) -> frozenset[str]:
    """What an action may be called: the texts among its features, alone or after the feature's name (`color=red`)."""
    found: set[str] = set()

    def walk(key: str, value: Any) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                walk(name, inner)
        elif isinstance(value, list):
            for inner in value:
                walk(key, inner)
        elif isinstance(value, str):
            found.update((value, f"{key.removesuffix('=')}={value}"))

    walk("", json.loads(action))
    return frozenset(found)


def with_allowed_actions(line: bytes, excluded: Sequence[int]) -> bytes:
    """A decision without the actions that could not be played, the others counted anew."""
    whole = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    read = msgspec.json.decode
    context = read(whole["c"], type=dict[str, msgspec.Raw])
    actions = read(context["_multi"], type=list[msgspec.Raw])
    allowed = [one for one in range(len(actions)) if one not in excluded]
    place = {one: number for number, one in enumerate(allowed)}
    chances = zip(read(whole["a"], type=list[int]), read(whole["p"], type=list[float]), strict=True)
    kept = [(place[one - 1] + 1, chance) for one, chance in chances if one - 1 in place]
    chosen = kept[0][0]  # it comes first
    changed = {
        "_label_Action": chosen,
        "_labelIndex": chosen - 1,
        "a": [one for one, _ in kept],
        "c": {**context, "_multi": [actions[one] for one in allowed]},
        "p": [chance for _, chance in kept],
    }
    return msgspec.json.encode({name: changed.get(name, told) for name, told in whole.items() if name != "_excluded"})


def without_actions(context: msgspec.Raw) -> dict[str, Any]:
    """The context alone, each namespace as it is written."""
    found = msgspec.json.decode(context, type=dict[str, msgspec.Raw])
    found.pop("_multi", None)
    return found
