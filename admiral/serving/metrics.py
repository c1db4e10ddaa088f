"""Metrics of the service, for `GET /metrics`."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

_SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)

REQUESTS = Counter("admiral_requests", "Requests.", ("method", "route", "status"))
REQUEST_SECONDS = Histogram(
    "admiral_request_seconds", "Duration of requests.", ("method", "route"), buckets=_SECONDS
)
PLACES = Gauge("admiral_queue_places", "Places of a queue.", ("kb",))
TAKEN = Gauge("admiral_queue_places_taken", "Claims that wait or are being processed.", ("kb",))
WAITING = Gauge("admiral_queue_waiting", "Claims that have not begun.", ("kb",))
WAIT_SECONDS = Histogram(
    "admiral_claim_wait_seconds", "Time until a claim begins.", buckets=_SECONDS
)
HOPS = Histogram("admiral_claim_hops", "Hops of a claim.", buckets=(0, 1, 2, 3, 4, 6, 8, 12, 20))
BATCHES = Histogram(
    "admiral_batch_claims", "Claims that make a hop together.", buckets=(1, 2, 4, 8, 16, 32, 64)
)
STAGE_SECONDS = Histogram(
    "admiral_stage_seconds",
    "Duration of a stage for the claims of a batch; "
    "hop has all stages of a hop, and a stage has those inside it.",
    ("stage",),
    buckets=(0.001, 0.003, *_SECONDS),
)


def observe_stage(stage: str, seconds: float, claims: int) -> None:
    """Count a stage that has ended, see `admiral.protocols`."""
    STAGE_SECONDS.labels(stage).observe(seconds)
    if stage == "hop":
        BATCHES.observe(claims)
