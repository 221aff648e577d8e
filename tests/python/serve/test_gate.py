"""What stands before the endpoints counts each request once, whatever comes of it."""

from __future__ import annotations

import asyncio

import pytest

from vw_fastcb.refusals import RefusedValue
from vw_fastcb.serve.endpoints import Endpoint
from vw_fastcb.serve.errors import ApiError
from vw_fastcb.serve.gate import SHED, Disconnected, Gate
from vw_fastcb.serve.load import Load
from vw_fastcb.serve.metrics import Metrics


def counted(metrics):
    """What is counted, but for times."""
    families = [*metrics._requests.collect(), *metrics.shed.collect()]
    found = {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}
    return {key: value for key, value in found.items() if value and not key[0].endswith("_created")}


@pytest.mark.parametrize(
    ("problem", "status", "shed"),
    [
        (ApiError(503, "too much.", is_shed=True), 503, 1),
        (ApiError(503, "the store is away."), 503, 0),
        (RefusedValue("wrong."), 400, 0),
        (ValueError("a defect of ours"), 500, 0),
        (OSError("a surprise"), 500, 0),
        (Disconnected(), 499, 0),
        (asyncio.CancelledError(), 503, 0),
    ],
    ids=repr,
)
def test_a_request_that_fails_is_counted_once_and_gives_everything_back(problem, status, shed):
    metrics, load, sent = Metrics(), Load(most_requests=1, most_bytes=10), []

    async def app(scope, receive, send):
        assert metrics.in_flight == 1
        scope["endpoint"] = Endpoint("/decide", app)
        scope["vw_fastcb.place"].start_work()
        scope["vw_fastcb.place"].hold(10)
        raise problem

    async def send(message):
        sent.append(message)

    gate = Gate(app, metrics, tokens=(), load=load)
    scope = {"type": "http", "path": "/decide", "method": "POST", "headers": []}
    gate.admit(scope)
    asyncio.run(gate(scope, None, send))
    assert [one.get("status") for one in sent[:1]] == ([] if status == 499 else [status])
    expected = {("fastcb_http_requests_total", "/decide", "POST", str(status)): 1}
    assert counted(metrics) == (expected | {("fastcb_http_shed_total",): 1} if shed else expected)
    assert scope.get(SHED, False) is bool(shed)
    assert (metrics.in_flight, load.working, load.bytes) == (0, 0, 0)
    assert not metrics.decided
