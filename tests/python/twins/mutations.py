"""Spoils events: a few random changes of a good event, most of which make it a bad one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any


def apart(text: str) -> list[str]:
    """The pieces of a text that ` ~ ` keeps apart, and the empty one."""
    return [*text.split(" ~ "), ""]


LETTERS = " |:'\"\n\t\r\0\v\\,;.-+#=*eEnx0159{}[]é日😀ß\u0301\u200b\ufeff\x7f\x80\xff"
NUMBERS = apart(
    "nan ~ -nan ~ NaN ~ inf ~ -inf ~ Infinity ~ 1e39 ~ -1e39 ~ 1e400 ~ -1e400 ~ 1e-46 ~ -1 ~ -0 ~ +1"
    " ~ .5 ~ 5. ~ 0x1 ~ 0,5 ~ 1_0 ~ 1e ~ --1 ~ 0.5x ~ 2 ~ 7 ~ 1.0000001 ~ 99999999999999999999"
    " ~ 4294967297 ~ 1e10 ~ 1;5 ~ ½ ~ \u0661 ~ 1:2"
)
TOKENS = apart(
    "shared ~ Shared ~ shared|User ~ foo ~ ccb ~ slates ~ slot ~ action ~ | ~ || ~ : ~ :: ~ :1 ~ x:"
    " ~ 'tag ~ '12:30:00 ~ |U:2 ~ |User:nan ~ |User: ~ | x:1e39 ~ x:inf ~ x:nan ~ x:0.5x ~ x:1:2 ~ 日:½"
    " ~ |é ü:1 ~ 1 ~ 0"
)
LABELS = apart(
    "0:1:0.5 ~ 0:nan:0.5 ~ 0:7:0.5 ~ 0:0.5:0 ~ 0:0.5:1.5 ~ 0:0.5:nan ~ 0:0.5 ~ 0 ~ 0:1:2:3 ~ :::"
    " ~ 5:0.5:0.5 ~ 99:0.5:0.5 ~ -1:0.5:0.5 ~ red:0.5:0.5 ~ 1.5:0.5:0.5 ~ 0:0,5:0.5 ~ 0:0x1:0.5"
    " ~ 0:é:0.5 ~ 0:0.5:1e-50 ~ shared ~ 1:0.5:0.5,1:0.5 ~ 1:0.5:0.5 0,1 ~ 4294967297:0.5:0.5"
    " ~ 0:0.5:0.5 0:0.5:0.5 ~ 0::0.5 ~ 0:0.5: ~ 1:0.5:0.5#"
)
KEYS = apart(
    "_label ~ _label_cost ~ _label_Cost ~ _label_probability ~ _label_Probability ~ _label_Action"
    " ~ _labelIndex ~ _multi ~ _slots ~ _outcomes ~ _a ~ _p ~ _inc ~ _id ~ _slot_id ~ _tag ~ _text"
    " ~ _skipLearn ~ _x ~ a ~ c ~ p ~ o ~ v ~ pdrop ~ Version ~ EventId ~ VWState ~ Action ~ Cost"
    " ~ Probability ~ Label ~ Weight ~ é ~ _original_label_cost ~ _ba ~ _definitely_bad"
    " ~ DeferredAction ~ RewardValue ~ Timestamp"
)
VALUES = apart(
    "null ~ true ~ false ~ 0 ~ 1 ~ 2 ~ -1 ~ 7 ~ 0.5 ~ 1.5 ~ 1e39 ~ 1e400 ~ -0.0 ~ 4294967297 ~ 1e-50"
    ' ~ "" ~ "x" ~ "NaN" ~ "0:7:0.5" ~ "1:0.5:0.5" ~ "é日😀" ~ "\\u0000" ~ "\\ud800" ~ [] ~ {} ~ [null]'
    ' ~ [1, 2] ~ [[1], {"x": 1}] ~ [{"a": {"x": 1}}] ~ {"x": null} ~ {"a": {"b": {"c": [1, "y"]}}}'
    " ~ [0.5, 1.5] ~ [0] ~ [-1] ~ NaN ~ Infinity ~ , ~ } ~ ] ~ 'x' ~ tru ~ 01 ~ +1 ~ 1. ~ .5 ~ \"open"
    ' ~ [1, ~ {"x" ~ // ~ /**/ 1 ~ {"Action": 9, "Cost": 0.5, "Probability": 0.5} ~ {"Cost": 0.5}'
    ' ~ {"Action": 1, "Cost": 7, "Probability": 0.5}'
)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def place(rng: Random, text: str) -> int:
    return rng.randint(0, len(text))


def spoil_letters(rng: Random, text: str) -> str:
    start = place(rng, text)
    end = min(len(text), start + rng.choice((0, 1, 1, 1, 2, 5)))
    middle = rng.choice(("", rng.choice(LETTERS), rng.choice(LETTERS) * 3, text[start:end] * 2))
    return text[:start] + middle + text[end:]


def truncate(rng: Random, text: str) -> str:
    return text[: place(rng, text)]


def spoil_number(rng: Random, text: str) -> str:
    found = list(NUMBER.finditer(text))
    if not found:
        return spoil_letters(rng, text)
    chosen = rng.choice(found)
    return text[: chosen.start()] + rng.choice(NUMBERS) + text[chosen.end() :]


def lengthen(rng: Random, text: str) -> str:
    start = place(rng, text)
    return text[:start] + rng.choice(("x", "é", "x:", " x", "|", "日")) * rng.choice((300, 3000)) + text[start:]


def spoil_tokens(rng: Random, text: str) -> str:
    tokens = text.split(" ")
    chosen = rng.randrange(len(tokens))
    other = rng.choice((*TOKENS, rng.choice(tokens)))
    change = rng.randrange(4)
    tokens[chosen : chosen + 1] = ([], [tokens[chosen]] * 2, [other], [other, tokens[chosen]])[change]
    return " ".join(tokens)


def spoil_lines(rng: Random, text: str) -> str:
    lines = text.split("\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    change = rng.randrange(5)
    if change == 0:
        lines[one], lines[other] = lines[other], lines[one]
    elif change == 1:
        del lines[one]
    else:
        lines.insert(one, (lines[other], "", rng.choice(TOKENS))[change - 2])
    return "\n".join(lines)


def spoil_label(rng: Random, text: str) -> str:
    """Puts a label on a line, in place of what stands before its first bar, after it, or glued to the bar."""
    lines = text.split("\n")
    chosen = rng.randrange(len(lines))
    head, bar, tail = lines[chosen].partition("|")
    label = rng.choice(LABELS)
    heads = (
        f"{label} ",
        f"{head}{label} ",
        f"{label}",
        f"{head}{label}",
        f"{head.rstrip()}",
        f"{head}'12:30:00",
        f"{label} {label} ",
    )
    lines[chosen] = rng.choice(heads) + bar + tail
    return "\n".join(lines)


def spoil_json_value(rng: Random, text: str) -> str:
    """Changes one member of one object or one element of one list; repeated keys and broken values are possible."""
    try:
        event = json.loads(text, object_pairs_hook=Members)
        spoil_container(rng, rng.choice(list(containers(event))))
        return written(event)
    except (ValueError, IndexError, RecursionError):  # spoiled before, empty, or deeper than Python goes
        return spoil_letters(rng, text)


class Members(list[Any]):
    """A JSON object as a list of (key, value), so that a key can stand twice."""


class Raw(str):
    """A value that is written as it stands, JSON or not."""

    __slots__ = ()


def containers(value: Any) -> Any:
    if isinstance(value, list):
        if value:
            yield value
        for one in value:
            yield from containers(one[1] if isinstance(value, Members) else one)


def spoil_container(rng: Random, chosen: list[Any]) -> None:
    at = rng.randrange(len(chosen))
    value = nested(rng) if rng.random() < 0.05 else Raw(rng.choice(VALUES))
    change = rng.randrange(6)
    if change == 0:
        del chosen[at]
    elif not isinstance(chosen, Members):
        chosen[at : at + 1] = [[value], [chosen[at]] * 2, [value, chosen[at]], [], [value]][change - 1]
    else:
        key, old = chosen[at]
        new = (
            [(key, value)],
            [(key, old), (key, value)],
            [(rng.choice(KEYS), value), (key, old)],
            [(rng.choice(KEYS), old)],
        )
        chosen[at : at + 1] = [*new, [(key, value)]][change - 1]
        if change == 5 and rng.random() < 0.5:
            rng.shuffle(chosen)


def nested(rng: Random) -> Raw:
    depth = rng.choice((3, 30, 300, 1000))
    opening, closing = rng.choice((("[", "]"), ('{"x":', "}"), ('[{"_multi":', "}]")))
    return Raw(opening * depth + "1" + closing * rng.choice((depth, depth, depth - 1)))


def written(value: Any) -> str:
    if isinstance(value, Raw):
        return value
    if isinstance(value, Members):
        return "{" + ", ".join(f"{json.dumps(key)}: {written(one)}" for key, one in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return json.dumps(value)


def contradict(rng: Random, text: str) -> str:
    """A decision that says two things at once: another index, action, list of ids or of probabilities."""
    try:
        event = json.loads(text)
        assert isinstance(event, dict)
    except (ValueError, RecursionError, AssertionError):
        return spoil_letters(rng, text)
    change = {
        "_labelIndex": rng.choice((0, 1, 2, 9, -1)),
        "_label_Action": rng.choice((0, 1, 2, 3, 9)),
        "_label_probability": rng.choice((0.1, 0.9, 0, 1)),
        "a": rng.choice(([], [1], [2, 1], [3, 1, 2], [1, 1, 1], [1, 2, 9])),
        "p": rng.choice(([], [1], [0.9, 0.1], [0, 0, 0], [2, -1], [0.5])),
        "pdrop": rng.choice((0.5, 1, -1, 2)),
        "_outcomes": rng.choice(
            ([], [{}], [{"_a": [0], "_p": [0.5]}], [{"_a": [9], "_p": [1]}] * 2, [{"_a": [0, 1], "_p": [1]}])
        ),
    }
    for key in rng.sample(sorted(change), rng.randint(1, 2)):
        event = {**event, key: change[key]} if key in event else {key: change[key], **event}
    return json.dumps(event)


Mutation = Callable[[Random, str], str]
EITHER: list[Mutation] = [spoil_letters, truncate, spoil_number]
OF_TEXT: list[Mutation] = [*EITHER, spoil_tokens, spoil_lines, spoil_label, spoil_label, spoil_number]
OF_JSON: list[Mutation] = [*EITHER, spoil_json_value, spoil_json_value, spoil_json_value, contradict]


def mutated(rng: Random, event: str, *, is_json: bool) -> str:
    kinds = OF_JSON if is_json else OF_TEXT
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        event = (lengthen if rng.random() < 0.01 else rng.choice(kinds))(rng, event)
    return event
