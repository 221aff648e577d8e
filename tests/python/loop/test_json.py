"""The journal's JSON says what Python's own would say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vw_fastcb._engine import to_json

_PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
_NAMES = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.recursive(_PLAIN, lambda inner: st.lists(inner) | st.dictionaries(_NAMES, inner)))
def test_values_come_back_as_they_are_and_of_the_same_kind(value: Any) -> None:
    assert repr(json.loads(to_json(value))) == repr(value)


def test_tuples_are_lists_and_numbers_that_are_whole_stay_floats() -> None:
    assert to_json({"a": (1, 2.0, -0.0, 1e22), "b": {}, "c": []}) == '{"a":[1,2.0,-0.0,1e+22],"b":{},"c":[]}'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1: 2}, {1, 2}, b"bytes", "\ud800"])
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        to_json({"a": [value]})


def test_nesting_without_end_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested"):
        to_json(endless)
