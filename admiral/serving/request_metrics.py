"""Metrics of a service in the format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from admiral.serving.service import Service

_SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_REQUESTS = "admiral_request"
_FRONT = "front"


class RequestMetrics:
    """Count requests; memory and processor time are those of the process.

    Parameters
    ----------
    service
        Its queues are read when the metrics are, and its claims are counted; None for neither.
    """

    def __init__(self, service: Service | None = None) -> None:
        self._registry = CollectorRegistry()
        labels = ("method", "route")
        self._requests = Counter(
            f"{_REQUESTS}s", "Requests.", (*labels, "status"), registry=self._registry
        )
        self._seconds = Histogram(
            f"{_REQUESTS}_seconds",
            "Duration of requests.",
            labels,
            buckets=_SECONDS,
            registry=self._registry,
        )
        ProcessCollector(registry=self._registry)
        if service is not None:
            service.claim_metrics.register(self._registry)
            self._registry.register(_Queues(service))

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; `status` is 0 if its client left before the response."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        """Return all metrics."""
        return generate_latest(self._registry)

    def text_with(self, replicas: Mapping[str, bytes]) -> bytes:
        """Return all metrics beside those of replicas, told apart by the label ``replica``.

        Requests are those of this process, which has passed them on.
        """
        merged: dict[str, Metric] = {}
        for replica, text in {_FRONT: self.text(), **replicas}.items():
            for family in text_string_to_metric_families(text.decode()):
                if replica != _FRONT and family.name.startswith(_REQUESTS):
                    continue
                known = merged.setdefault(
                    family.name, Metric(family.name, family.documentation, family.type)
                )
                for sample in family.samples:
                    labels = {**sample.labels, "replica": replica}
                    known.add_sample(sample.name, labels, sample.value)
        registry = CollectorRegistry()
        registry.register(_Given(list(merged.values())))
        return generate_latest(registry)


class _Given(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


class _Queues(Collector):
    def __init__(self, service: Service) -> None:
        self._service = service

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
