"""Metrics of the claims that a queue processes: stages, batches, hops and waiting."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Histogram

_STAGE_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_WAIT_SECONDS = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)
_HOPS = (0, 1, 2, 3, 4, 6, 8, 12, 20)


class ClaimMetrics:
    """Histograms that the queues of a service share.

    Attributes
    ----------
    hops
        Hops of each completed claim.
    waits
        Seconds from the arrival of a claim until it joins a batch.
    """

    def __init__(self) -> None:
        self._stages = Histogram(
            "admiral_stage_seconds",
            "Duration of a stage for the claims of a batch that one thread processes; "
            "hop has all stages of a hop, and a stage has those inside it.",
            ("stage",),
            buckets=_STAGE_SECONDS,
            registry=None,
        )
        self._batches = Histogram(
            "admiral_batch_claims",
            "Claims that one thread advances by a hop together.",
            buckets=_BATCH_SIZES,
            registry=None,
        )
        self.hops = Histogram(
            "admiral_claim_hops", "Hops of a claim.", buckets=_HOPS, registry=None
        )
        self.waits = Histogram(
            "admiral_claim_wait_seconds",
            "Time until a claim begins.",
            buckets=_WAIT_SECONDS,
            registry=None,
        )

    def observe_stage(self, stage: str, seconds: float, claims: int) -> None:
        """Count a stage that has ended, see `admiral.stage_timing`."""
        self._stages.labels(stage).observe(seconds)
        if stage == "hop":
            self._batches.observe(claims)

    def register(self, registry: CollectorRegistry) -> None:
        """Add the histograms to those that a registry exposes."""
        for histogram in (self._stages, self._batches, self.hops, self.waits):
            registry.register(histogram)
