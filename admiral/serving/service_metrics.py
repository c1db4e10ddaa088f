"""Metrics of the service in the format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from admiral.serving.service import Service

_SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


class ServiceMetrics(Collector):
    """Count the requests of a service; memory and processor time are those of the process.

    Parameters
    ----------
    service
        The service, whose queues are read when the metrics are.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._registry = CollectorRegistry()
        labels = ("method", "route")
        self._requests = Counter(
            "admiral_requests", "Requests.", (*labels, "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "admiral_request_seconds",
            "Duration of requests.",
            labels,
            buckets=_SECONDS,
            registry=self._registry,
        )
        service.claim_metrics.register(self._registry)
        ProcessCollector(registry=self._registry)
        self._registry.register(self)

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; `status` is 0 if its client left before the response."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def collect(self) -> Iterator[Metric]:
        """Yield the places, and how many are taken, of each queue, and its waiting claims."""
        places = GaugeMetricFamily("admiral_queue_places", "Places of a queue.", labels=["kb"])
        taken = GaugeMetricFamily(
            "admiral_queue_places_taken", "Claims that wait or are being processed.", labels=["kb"]
        )
        waiting = GaugeMetricFamily(
            "admiral_queue_waiting", "Claims that have not begun.", labels=["kb"]
        )
        for name, queue in self._service.queues.items():
            places.add_metric([name], queue.places)
            taken.add_metric([name], queue.taken)
            waiting.add_metric([name], queue.waiting)
        yield from (places, taken, waiting)

    def describe(self) -> Iterable[Metric]:
        """Return the names of `collect`'s metrics without reading the queues."""
        return ()

    def text(self) -> bytes:
        """Return all metrics."""
        return generate_latest(self._registry)
