"""Contexts and features of actions as the journal keeps them: JSON with names and values, never hashes.

Nested dictionaries and lists become flat names, by one rule:

- a dictionary inside adds its name and a dot: `{"user": {"age": 31}}` is `user.age`;
- a list of words adds a feature for each: `{"tags": ["sports", "music"]}` is `tags=sports` and `tags=music`;
- any other list counts its entries from 0: `{"sizes": [3, 5]}` is `sizes.0` and `sizes.1`.

An array of numbers has no names and stays a list. An empty one says nothing, and is an empty dictionary: some languages
know no difference between the two, and it must not fix the number of columns to 0.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from vw_fastcb.learner import frames
from vw_fastcb.learner.frames import is_number
from vw_fastcb.refusals import RefusedType, RefusedValue

# Names and values, or the numbers of an array.
Features: TypeAlias = "dict[str, float | int | bool | str | None] | list[float | int | bool | None]"

_DEEPEST = 32
_MOST_CHARACTERS = 4_194_304  # of the flat names of what is nested, in one context, or in all actions of one decision
_LARGEST = 3.4e38  # in float32
_PLAIN = frozenset((float, int, str))
_NUMBERS = frozenset((float, int))
_TEXT = frozenset((str,))


class _Room:
    """How many characters flat names may still have.

    Each name of what is inside begins with the names around it. So a request of a megabyte could ask for gigabytes of
    them.
    """

    def __init__(self) -> None:
        self._left = _MOST_CHARACTERS

    def name(self, prefix: str, key: str, what: str) -> str:
        """A flat name. Raises where it has no room."""
        if prefix:
            self._left -= len(prefix) + len(key)
            if self._left < 0:
                raise RefusedValue(
                    f"{what} is nested, and its flat names have more than {_MOST_CHARACTERS:,} characters together; "
                    "expected fewer or shorter names."
                )
        return prefix + key


def features_of(given: Any, what: str, room: _Room | None = None) -> Features:
    """One row of features, flat, in plain values that JSON gives back as they are.

    Args:
        given: The row.
        what: What it is, for errors.
        room: For its names, where it shares that with others.
    """
    if type(given) is dict and _is_plain(given):
        return dict(given)
    if isinstance(given, Mapping):
        flat: dict[str, Any] = {}
        for name, value in _flattened(given, "", what, 0, room or _Room()):
            if name in flat:
                raise RefusedValue(f"{what} has the feature {name!r} twice, once it is flat; expected each name once.")
            flat[name] = value
        return flat
    if frames.is_frame(given):
        if len(given) != 1:
            raise RefusedValue(f"{what} has {len(given)} rows; expected one.")
        return features_of(frames.columns_of(given, what).row(0), what, room)
    if frames.is_series(given):
        return features_of(given.to_dict(), what, room)
    if isinstance(given, np.ndarray) or _is_list(given):
        if isinstance(given, np.ndarray) and given.ndim != 1:
            raise RefusedValue(f"{what} has the shape {given.shape}; expected one row, of shape (d,).")
        row = [_number(value, what) for value in (given.tolist() if isinstance(given, np.ndarray) else given)]
        return row or {}
    raise RefusedType(f"{what} is {shown(given)}; expected a dictionary, or a row of numbers.")


def action_features_of(given: Any) -> list[Features]:
    """The features of all actions of an event."""
    if frames.is_frame(given):
        columns = frames.columns_of(given, "action_features")
        given = [columns.row(i) for i in range(len(columns))]
    if not _is_list(given) and not isinstance(given, np.ndarray):
        raise RefusedType(f"action_features are {shown(given)}; expected a list of dictionaries, or a table (A, d).")
    if len(given) == 0:
        raise RefusedValue("action_features are empty; expected the features of at least one action.")
    room = _Room()
    table = [features_of(one, f"action {i}", room) for i, one in enumerate(given)]
    if len({type(one) for one in table}) > 1:
        raise RefusedType("some action_features are dictionaries and some are arrays; expected one form.")
    return table


def as_engine_rows(rows: list[Features]) -> Any:
    """Features as the engine takes them: dictionaries as they are, lists of numbers as an array."""
    if rows and isinstance(rows[0], list):
        lengths = {len(row) for row in rows}
        if len(lengths) > 1:
            raise RefusedValue(f"action_features have rows of {sorted(lengths)} numbers; expected the same for all.")
        return np.array(rows, dtype=np.float64)
    return rows


def as_engine_row(row: Features) -> Any:
    """One row of features as the engine takes it."""
    return np.array(row, dtype=np.float64) if isinstance(row, list) else row


def checked_id(given: Any, what: str = "event_id") -> str:
    """An id, as text."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, (bool, np.bool_)):
        given = str(int(given))
    if not isinstance(given, str):
        raise RefusedType(f"{what} is {shown(given)}; expected text or a whole number.")
    if not 1 <= len(given) <= 256 or not _is_text(given):
        raise RefusedValue(f"{what} is {shown(given)}; expected 1 to 256 characters of text, without NUL.")
    return str(given)


def _is_plain(given: dict[Any, Any]) -> bool:
    """Whether all features are as the journal keeps them. Most are, and looking at each one by itself takes longer."""
    if not _PLAIN.issuperset(map(type, given.values())) or not _TEXT.issuperset(map(type, given)):
        return False
    values: Collection[Any] = given.values()
    words = "".join(given)
    if not _NUMBERS.issuperset(map(type, values)):
        words += "".join([value for value in values if type(value) is str])
        values = [value for value in values if type(value) is not str]
    try:
        return sum(map(abs, values)) < _LARGEST and words.isascii() and "\0" not in words
    except OverflowError:  # a whole number that no float can hold
        return False


def _flattened(given: Mapping[Any, Any], prefix: str, what: str, depth: int, room: _Room) -> Iterator[tuple[str, Any]]:
    if depth > _DEEPEST:
        raise RefusedValue(f"{what} is nested deeper than {_DEEPEST} levels; expected a flatter dictionary.")
    for key, value in given.items():
        if not isinstance(key, (str, int)) or not _is_text(str(key)):
            raise RefusedType(f"{what} has the name {shown(key)}; expected text, without NUL and lone surrogates.")
        yield from _feature(room.name(prefix, str(key), what), value, what, depth, room)


def _feature(name: str, value: Any, what: str, depth: int, room: _Room) -> Iterator[tuple[str, Any]]:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        yield from _flattened(value, f"{name}.", what, depth + 1, room)
    elif isinstance(value, (set, frozenset)):
        yield from _feature(name, sorted(value), what, depth, room)
    elif _is_list(value):
        if value and all(isinstance(one, str) for one in value):
            for word in dict.fromkeys(value):
                yield room.name(f"{name}=", _text(word, what), what), 1
        else:
            yield from _flattened(dict(enumerate(value)), f"{name}.", what, depth + 1, room)
    elif isinstance(value, str):
        yield name, _text(value, what)
    else:
        yield name, _number(value, f"{what}, feature {name!r},")


def _number(value: Any, what: str) -> Any:
    """A number that JSON gives back as it is; None where it is missing."""
    if type(value) in (int, bool) or value is None:
        return _finite(value, what)
    if isinstance(value, np.generic):
        value = value.item()
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if not is_number(value):
        raise RefusedType(f"{what} has the value {shown(value)}; expected numbers, text, or missing values.")
    if isinstance(value, float) and math.isnan(value):
        return None
    return _finite(value if isinstance(value, (bool, int)) else float(value), what)


def _finite(value: Any, what: str) -> Any:
    if value is not None and not -_LARGEST < value < _LARGEST:
        raise RefusedValue(f"{what} has the value {shown(value)}; expected finite numbers (in float32).")
    return value


def _text(word: str, what: str) -> str:
    if not _is_text(word):
        raise RefusedValue(f"{what} has the text {shown(word)}; expected Unicode without NUL and lone surrogates.")
    return str(word)


def _is_text(word: str) -> bool:
    """Whether every store can hold it: no NUL, no lone surrogates."""
    if "\0" in word:
        return False
    try:
        return word.isascii() or bool(word.encode())
    except UnicodeEncodeError:
        return False


def _is_list(given: Any) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, (str, bytes, bytearray))


def shown(given: Any) -> str:
    """A value in an error: not too much of it, and nothing that a terminal cannot show."""
    try:
        text = ascii(given) if isinstance(given, str) else repr(given)
    except ValueError:  # a whole number of more digits than Python likes to write
        text = f"a {type(given).__name__}"
    return text if len(text) <= 200 else f"{text[:200]}..."
