"""The engine's reader of numbers, against C's strtof and strtod, and what becomes of its answers."""

from __future__ import annotations

import ctypes
import json
import os
import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bad_events import workspace

ROOT = Path(__file__).parents[2]
# What counts as a number: no spaces, no hexadecimals, nothing after it. The value is C's.
NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan(?:\([0-9a-z_]*\))?)", re.IGNORECASE)
SPELLED = ["inf", "INF", "Infinity", "nan", "NaN", "nan(7)", "nan()", "nan(", "infinit", "na", "0x1p3", "0x.8", "1_000"]
TYPES = {"float": np.float32, "double": np.float64}
Reader = Callable[[list[str], str], tuple[np.ndarray, np.ndarray, np.ndarray]]


@pytest.fixture(scope="module", params=[[], ["-DVW_FASTCB_NUMBERS_OF_C"]], ids=["reader", "reader of older compilers"])
def read(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Reads texts with the engine's reader and with C's: both values, and whether the engine takes it for a number."""
    library = tmp_path_factory.mktemp("numbers") / "numbers.so"
    compiler = os.environ.get("CXX", "c++")
    flags = ["-std=c++17", "-O2", "-shared", "-fPIC", f"-I{ROOT / 'cpp'}", *request.param]
    subprocess.run([compiler, *flags, ROOT / "tests/cpp/numbers.cc", "-o", library], check=True)
    functions = ctypes.CDLL(str(library))

    def call(texts: list[str], kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        values, expected = (np.empty(len(texts), TYPES[kind]) for _ in range(2))
        are_numbers = np.empty(len(texts), np.uint8)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (values, expected, are_numbers)]
        joined = "\0".join([*texts, ""]).encode()
        getattr(functions, f"read_{kind}s")(joined, ctypes.c_size_t(len(texts)), *pointers)
        return values, expected, are_numbers.astype(bool)

    return call


def digits(chance: random.Random, most: int) -> str:
    zeros = "0" * chance.choice([0, 0, 1, 3, chance.randrange(60)])
    body = "".join(chance.choices("0123456789", k=chance.randrange(most + 1)))
    return zeros + body if chance.random() < 0.8 else body + zeros


def number_like(chance: random.Random) -> str:
    if chance.random() < 0.05:
        return chance.choice(["", "-", "+", "+-", " "]) + chance.choice(SPELLED)
    most = chance.choice([1, 3, 9, 40])
    text = chance.choice(["", "", "", "-", "+"]) + digits(chance, most)
    if chance.random() < 0.6:
        text += "." + digits(chance, most)
    if chance.random() < 0.6:
        size = chance.choice([10, 50, 100, 400, 10**5, 10**25])
        text += chance.choice("eE") + chance.choice(["", "-", "+"]) + str(chance.randrange(size))
    if chance.random() < 0.1:
        at = chance.randrange(len(text) + 1)
        text = text[:at] + chance.choice(" .-+eE,;%x0fd\t") + text[at:]
    return text


def at_the_edges(chance: random.Random) -> str:
    """A number near the largest or the smallest of either type, its point and its exponent moved against each other."""
    power = chance.choice([-324, -308, -46, -45, -38, 37, 38, 39, 307, 308, 309]) + chance.randrange(-2, 3)
    shift = chance.randrange(-45, 45)
    body = str(chance.randrange(1, 10 ** chance.choice([1, 2, 8, 17])))
    mantissa = body + "0" * shift if shift >= 0 else "0." + "0" * -shift + body
    return f"{chance.choice(['', '-'])}{mantissa}e{power - shift}"


def check(read: Reader, texts: list[str]) -> None:
    should_be_numbers = np.array([NUMBER.fullmatch(text) is not None for text in texts])
    for kind in TYPES:
        values, expected, are_numbers = read(texts, kind)
        wrong = np.flatnonzero(are_numbers != should_be_numbers)
        assert wrong.size == 0, f"{texts[wrong[0]]!r} is{'' if are_numbers[wrong[0]] else ' not'} a number for a {kind}"
        same = (values == expected) & (np.signbit(values) == np.signbit(expected)) | np.isnan(values) & np.isnan(
            expected
        )
        wrong = np.flatnonzero(are_numbers & ~same)
        assert wrong.size == 0, f"{texts[wrong[0]]!r}: {values[wrong[0]]}, C reads {expected[wrong[0]]} as a {kind}"
    assert 0.2 < should_be_numbers.mean() < 0.99


def generated(seed: int, count: int) -> list[str]:
    chance = random.Random(seed)
    return [(at_the_edges if chance.random() < 0.3 else number_like)(chance) for _ in range(count)]


def test_numbers_are_read_as_c_reads_them(read: Reader) -> None:
    check(read, generated(0, 30_000))


@pytest.mark.slow
def test_a_million_numbers_are_read_as_c_reads_them(read: Reader) -> None:
    for seed in range(1, 11):
        check(read, generated(seed, 100_000))


TOO_LARGE = ["0.5e40", "0.9e39", "0.0001e60", "1e40", "0.1e99999999999999999999", "0." + "0" * 30 + "1e80", ".5E+40"]
LABELS = {
    "fixed": ("--cb_explore 2", "1:{}:0.5 |u x", r"cost inf is outside \[0, 1\]"),
    "a probability": ("--cb_explore 2", "1:1:{} |u x", r"probability inf of the chosen action is outside \(0, 1\]"),
    "adf": ("--cb_explore_adf", "shared |u x\n0:{}:0.5 |a x\n|a y", r"cost inf is outside \[0, 1\]"),
    "slots": (
        "--ccb_explore_adf",
        "ccb shared |u x\nccb action |a x\nccb action |a y\nccb slot 0:{}:0.5 |s x",
        "cost '.*' in the label '.*' is not a finite number",
    ),
    "slates": (
        "--slates",
        "slates shared {} |u x\nslates action 0 |a x\nslates slot 0:1 |s x",
        "cost '.*' in the label '.*' is not a finite number",
    ),
    "json": (
        "--cb_explore 2 --json",
        '{{"_label_cost":{},"_label_probability":0.5,"_label_Action":1,"u":{{"x":1}}}}',
        "cost",
    ),
    "a weight": ("--cbify 3 --cb_explore_adf", "1 {} |u x", "weight '.*' in the label '.*' is not a finite number"),
}


@pytest.mark.parametrize("number", TOO_LARGE)
@pytest.mark.parametrize(("flags", "event", "problem"), LABELS.values(), ids=LABELS)
def test_a_number_that_is_too_large_is_refused_however_it_is_written(
    flags: str, event: str, problem: str, number: str
) -> None:
    if "json" in flags and (number[0] == "." or len(number) > 60 or "99999" in number):
        pytest.skip("JSON has no such numbers")
    with workspace(flags) as vw, pytest.raises(RuntimeError, match=problem):
        vw.learn(event.format(number))


def test_a_share_of_dropped_events_that_is_too_large_is_refused() -> None:
    event = {
        "_label_cost": 1,
        "_label_probability": 0.5,
        "_label_Action": 1,
        "_labelIndex": 0,
        "a": [1, 2],
        "p": [0.5, 0.5],
    }
    line = json.dumps(event | {"c": {"u": {"x": 1}, "_multi": [{"a": {"x": 1}}, {"a": {"y": 1}}]}, "pdrop": 7})
    with workspace("--cb_explore_adf --dsjson") as vw, pytest.raises(RuntimeError, match=r"its pdrop is 0\.5e40"):
        vw.learn(line.replace('"pdrop": 7', '"pdrop": 0.5e40'))


@pytest.mark.parametrize("number", ["1e-60", "0.5e-60", "0e99", "-0.0e-99", "1e-99999999999999999999"])
def test_a_tiny_cost_is_learned_as_0(number: str) -> None:
    pmfs = []
    for cost in (number, "0"):
        with workspace("--cb_explore 2") as vw:
            vw.learn(f"1:{cost}:0.5 |u x")
            pmfs.append(vw.predict("|u x"))
    assert pmfs[0] == pmfs[1]


# VW keeps 35 decimals and an exponent of eight bits: it would read these as 0 and 1.
TENTH = "0." + "0" * 40 + "1e40"
MISREAD = {
    "a cost of a slot": (LABELS["slots"], TENTH),
    "a tiny cost of a slot": (LABELS["slots"], "1e-256"),
    "a cost of slates": (LABELS["slates"], TENTH),
    "a weight": (LABELS["a weight"], TENTH),
    "a feature": (("--cb_explore 2", "1:1:0.5 |u x:{}", ""), TENTH),
    "a namespace": (("--cb_explore 2", "1:1:0.5 |u:{} x", ""), TENTH),
}


@pytest.mark.parametrize(("form", "number"), MISREAD.values(), ids=MISREAD)
def test_a_number_that_vw_would_read_as_another_is_refused(form: tuple[str, str, str], number: str) -> None:
    flags, event, _ = form
    with workspace(flags) as vw, pytest.raises(RuntimeError, match=f"VW would read {re.escape(number[:9])}.* as"):
        vw.learn(event.format(number))


def test_features_are_read_as_numbers_or_refused() -> None:
    texts = [text for text in generated(20, 4_000) if re.fullmatch(r"[+-]?[\d.]*\d[\d.]*(?:[eE][+-]?\d+)?", text)]
    texts = [text for text in texts if NUMBER.fullmatch(text)]
    learned = 0
    with workspace("--cb_explore 2 --noconstant") as vw:
        for text in texts:
            try:
                example = vw.parse(f"|u x:{text}")
            except RuntimeError:
                continue
            value = float(text)
            features = [value for _, value in example.iter_features()]
            vw.finish_example(example)
            if abs(value) > float(np.finfo(np.float32).max) or not all(np.isfinite(features)):
                continue  # refused when it is learned
            learned += 1
            assert features == pytest.approx([value] if abs(value) > 1e-30 or features else [], rel=1e-4, abs=1e-30), (
                text
            )
    assert learned > 500
