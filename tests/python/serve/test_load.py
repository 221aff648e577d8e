"""Places and bytes of requests: how many there are to the last one, and that each comes back."""

from __future__ import annotations

import pytest

from vw_fastcb.serve.errors import ApiError
from vw_fastcb.serve.load import Load


def working(load):
    place = load.enter("/decide")
    place.start_work()
    place.check()
    return place


def test_as_many_bytes_are_held_as_there_are_and_not_one_more():
    load = Load(most_requests=9, most_bytes=10)
    first, second = working(load), working(load)
    first.hold(6)
    second.hold(4)
    with pytest.raises(ApiError, match="have 10 bytes already") as refusal:
        second.hold(1)
    assert refusal.value.is_shed
    assert load.bytes == 10
    first.release()
    assert load.bytes == 4
    second.hold(6)
    for place in (first, second, second):  # once more changes nothing
        place.release()
    assert (load.bytes, load.working) == (0, 0)


def test_as_many_requests_are_worked_on_as_allowed_and_not_one_more():
    load = Load(most_requests=2, most_bytes=10)
    late = load.enter("/decide")  # which has not arrived
    first, _ = working(load), working(load)
    assert load.is_full
    with pytest.raises(ApiError, match="2 requests are being worked on") as refusal:
        load.enter("/decide")
    assert refusal.value.is_shed
    late.start_work()
    with pytest.raises(ApiError, match="2 requests are being worked on"):
        late.check()
    late.release()
    assert load.working == 2
    load.enter("/health/live").check()
    first.release()
    assert not load.is_full
    working(load)
    assert load.working == 2


def test_places_of_strangers_come_back():
    load = Load(most_requests=1, most_bytes=10)
    for _ in range(3):
        places = [load.enter("/") for _ in range(32)]
        with pytest.raises(ApiError, match="32 requests for pages"):
            load.enter("/page/session")
        working(load).release()  # nobody else waits for strangers
        for place in places:
            place.release()
            place.release()


def test_the_oldest_stranger_whose_body_is_slow_makes_room():
    load = Load(most_requests=1, most_bytes=10)
    places = [load.enter("/page/session") for _ in range(32)]
    load._slow_strangers.update({places[3]: None, places[1]: None})
    load.enter("/")
    assert [one.is_evicted for one in places] == [number == 3 for number in range(32)]
    places[3].release()
    load.enter("/")
    assert [number for number, one in enumerate(places) if one.is_evicted] == [1, 3]
    with pytest.raises(ApiError, match="32 requests for pages"):
        load.enter("/")
