"""Metrics for Prometheus: HTTP is counted in each process, the journal is told of by the process that learns."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from starlette.types import Scope

from vw_fastcb.loop.answers import Status
from vw_fastcb.serve.access_log import AccessLog

CONTENT_TYPE = CONTENT_TYPE_LATEST

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_GAUGES = {
    "position": "How many records the journal holds.",
    "applied": "How many records the model that decides here has seen.",
    "lag": "How many records it has not seen.",
    "generation": "The newest checkpoint.",
    "open": "Decisions that wait for their rewards.",
    "early": "Rewards and activations that wait for their decision.",
    "dead_letters": "Events that could not be learned.",
    "bytes": "The size of the journal.",
}


class Metrics:
    """What one process counts.

    Args:
        access_log: Which counts what is missing in it.

    Attributes:
        in_flight: Requests that are worked on now.
        shed: Requests that were refused because there were too many.
        decided: The seconds that the newest decisions took, for the live page.
    """

    def __init__(self, access_log: AccessLog | None = None) -> None:
        self.in_flight = 0
        self.decided: deque[float] = deque(maxlen=2048)
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "fastcb_http_requests",
            "Requests that were answered.",
            ["route", "method", "code"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "fastcb_http_request_seconds",
            "How long answers took.",
            ["route"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self.shed = Counter(
            "fastcb_http_shed", "Requests refused because there were too many.", registry=self._registry
        )
        in_flight = Gauge("fastcb_http_in_flight", "Requests that are worked on now.", registry=self._registry)
        in_flight.set_function(lambda: self.in_flight)
        self._registry.register(_AccessLogCounter(access_log))
        self._known: dict[tuple[Any, str, int], tuple[Any, Any]] = {}  # prometheus_client looks labels up more slowly

    def observe(self, scope: Scope, status: int, seconds: float) -> None:
        """Counts a request."""
        endpoint = scope.get("endpoint")
        key = (endpoint, scope["method"], status)
        if key not in self._known:
            # Paths that are not ours are many, and have one name.
            route = getattr(endpoint, "route", "other")
            requests = self._requests.labels(route, scope["method"], str(status))
            self._known[key] = (requests, self._seconds.labels(route))
        requests, histogram = self._known[key]
        requests.inc()
        histogram.observe(seconds)
        if status == 200 and scope["path"] == "/decide":
            self.decided.append(seconds)

    def text(self, status: Status) -> bytes:
        """All metrics, as Prometheus reads them."""
        return generate_latest(self._registry) + generate_latest(_registry_of(status))


class _AccessLogCounter(Collector):
    """What the access log has dropped, as it counts by itself."""

    def __init__(self, access_log: AccessLog | None) -> None:
        self._access_log = access_log

    def collect(self) -> Iterator[Metric]:
        dropped = 0 if self._access_log is None else self._access_log.dropped
        words = "Requests that are missing in the access log: it could not be written, or nobody read it."
        yield CounterMetricFamily("fastcb_access_log_dropped", words, dropped)


def _registry_of(status: Status) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(_Journal(status))
    return registry


class _Journal(Collector):
    """What is known of the journal.

    Args:
        status: Of the loop, at one moment.
    """

    def __init__(self, status: Status) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        status = self._status
        is_learner = status.role == "learner"
        yield GaugeMetricFamily("fastcb_loop_ready", "Whether requests are acknowledged.", float(status.ready))
        yield GaugeMetricFamily("fastcb_loop_is_learner", "Whether this process learns.", float(is_learner))
        yield GaugeMetricFamily(
            "fastcb_loop_has_learner", "Whether some process learns.", float(status.learner is not None)
        )
        for name, words in _GAUGES.items():
            yield GaugeMetricFamily(f"fastcb_loop_{name}", words, float(getattr(status, name)))
        if status.members:
            weights = GaugeMetricFamily(
                "fastcb_member_weight",
                "How much a member of the ensemble counts in the model that decides here.",
                labels=["member"],
            )
            for member, weight in status.members.items():
                weights.add_metric([member], weight)
            yield weights
        if is_learner:  # others know an older state, and a sum over processes would count everything twice
            for name, count in status.counts.items():
                yield CounterMetricFamily(
                    f"fastcb_journal_{name}", f"Totals of the journal, see vw_fastcb.loop.Counts: {name}.", count
                )
            left_out = CounterMetricFamily(
                "fastcb_journal_left_out",
                "Values that did not fit their column and were left out; an empty name stands for further columns.",
                labels=["column"],
            )
            for column, count in status.left_out.items():
                left_out.add_metric([column], count)
            yield left_out
