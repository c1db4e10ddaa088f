"""Queue the claims of many requests, and retrieve for them in the batches of the scheduler."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Thread

from prometheus_client import CollectorRegistry, Histogram

from admiral.errors import AdmiralError
from admiral.pipeline import Admiral, closed_error
from admiral.records import Claim, Hop, RetrievalResult

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
            "Duration of a stage for the claims of a batch; "
            "hop has all stages of a hop, and a stage has those inside it.",
            ("stage",),
            buckets=_STAGE_SECONDS,
            registry=None,
        )
        self._batches = Histogram(
            "admiral_batch_claims",
            "Claims that make a hop together.",
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
        """Count a stage that has ended, see `admiral.protocols`."""
        self._stages.labels(stage).observe(seconds)
        if stage == "hop":
            self._batches.observe(claims)

    def register(self, registry: CollectorRegistry) -> None:
        """Add the histograms to those that a registry exposes."""
        for histogram in (self._stages, self._batches, self.hops, self.waits):
            registry.register(histogram)


logger = logging.getLogger(__name__)

OnHop = Callable[[Hop], object]
OnStage = Callable[[str], object]


class QueueFullError(Exception):
    """All places of the queue are taken."""


@dataclass(slots=True, eq=False)
class _Job:
    claim: Claim
    hops: str
    on_hop: OnHop | None
    on_stage: OnStage | None
    future: Future[RetrievalResult] = field(default_factory=Future)
    submitted: float = field(default_factory=time.perf_counter)


class ClaimQueue:
    """Retrieve for claims of many threads; a claim joins the batch that is being processed.

    One thread takes the claims in the order of their arrival. Claims with the same number of hops
    share batches.

    `system`: the system that retrieves, as long as its knowledge base does not change. `places`:
    maximum number of claims that wait or are being processed. `metrics`: receives timings and
    numbers of hops; none by default. `reopen`: returns the system of a newer version, if there is
    one.
    """

    def __init__(
        self,
        system: Admiral,
        places: int,
        metrics: ClaimMetrics | None = None,
        reopen: Callable[[Admiral], Admiral | None] = lambda system: None,
    ) -> None:
        self.system, self.places = system, places
        self._reopen, self._problem = reopen, ""
        self._refreshing = threading.Lock()
        self._metrics = metrics or ClaimMetrics()
        self._taken = 0
        self._processing: Admiral | None = None
        self._waiting: deque[_Job] = deque()
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="admiral-queue", daemon=True)
        self._thread.start()

    @property
    def taken(self) -> int:
        """Number of places that are taken."""
        return self._taken

    @property
    def waiting(self) -> int:
        """Number of claims that have not begun."""
        return len(self._waiting)

    @property
    def alive(self) -> bool:
        """Whether claims are being processed."""
        return self._thread.is_alive()

    @contextmanager
    def open_system(self) -> Iterator[Admiral]:
        """Yield the system of the newest version, which stays open during the block."""
        self.refresh()
        with ExitStack() as stack:
            with self._changed:  # so that `refresh` does not come in between
                system = self.system
                stack.enter_context(system.in_use)
            yield system

    def refresh(self) -> str:
        """Use the newest version of the knowledge base from now on.

        Claims that have begun are completed on the version on which they began. While the newest
        one cannot be opened, the last one answers; then return why, and otherwise an empty text.
        """
        with self._refreshing:
            former, problem = self.system, ""
            try:
                newer = self._reopen(former)
            except AdmiralError as error:
                newer, problem = None, str(error)
                if problem != self._problem:
                    logger.error("the newest version cannot be opened: %s", problem)
            self._problem = problem
            if newer is not None:
                with self._changed:
                    self.system = newer
                Thread(target=self._retire, args=[former], daemon=True).start()
            return problem

    def _retire(self, former: Admiral) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._processing is not former)
        former.close()

    @contextmanager
    def reserve(self, count: int = 1) -> Iterator[None]:
        """Hold places for the time of the block.

        Raises QueueFullError if there are too few free places.
        """
        with self._changed:
            if self._taken + count > self.places:
                raise QueueFullError
            self._taken += count
        try:
            yield
        finally:
            with self._changed:
                self._taken -= count

    def submit(
        self,
        claim: Claim,
        hops: str | None = None,
        on_hop: OnHop | None = None,
        on_stage: OnStage | None = None,
    ) -> Future[RetrievalResult]:
        """Add a claim; if its future is cancelled before its turn, it is never processed.

        `hops`: ``dynamic`` or a number; the setting by default. `on_hop`, `on_stage`: receive each
        hop of the claim as it is completed, and what each stage does, which other claims may share;
        in another thread.

        Raises AdmiralError if the queue was closed.
        """
        job = _Job(claim, str(hops or self.system.config.hops), on_hop, on_stage)
        with self._changed:
            if self._closed:
                raise closed_error()
            self._waiting.append(job)
            self._changed.notify_all()
        return job.future

    def close(self) -> None:
        """Complete the claims that were added, and end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    return
            self.refresh()
            with self._changed:
                hops = self._waiting[0].hops
                system = self._processing = self.system
            try:
                next_job = partial(self._next_job, hops, system)
                self._process(system, _ArrivedClaims(next_job, self._has_next), hops)
            finally:
                with self._changed:
                    self._processing = None
                    self._changed.notify_all()

    def _process(self, system: Admiral, arrived: _ArrivedClaims, hops: str) -> None:
        """Process claims with the same number of hops until none is left.

        After an error, the claims that were in flight are processed again one by one, so that it
        hits only the claim that causes it.
        """
        jobs = arrived.jobs
        try:
            for result in self._retrieve(system, arrived, arrived, hops):
                self._finish(jobs.pop(result.claim.id), result)
        except BaseException as error:  # the thread must survive, even SystemExit
            if len(jobs) == 1:
                jobs.popitem()[1].future.set_exception(_failure(error))
            elif not jobs:
                logger.exception("retrieval failed")
        for number, job in list(jobs.items()):
            try:
                claim = Claim(number, job.claim.text)
                (result,) = self._retrieve(system, [claim], arrived, hops)
            except BaseException as error:
                job.future.set_exception(_failure(error))
            else:
                self._finish(job, result)

    def _retrieve(
        self, system: Admiral, claims: Iterable[Claim], arrived: _ArrivedClaims, hops: str
    ) -> Iterator[RetrievalResult]:
        return system.retrieve_many(
            claims, hops, arrived.report_stage, arrived.report, self._metrics.observe_stage
        )

    def _finish(self, job: _Job, result: RetrievalResult) -> None:
        self._metrics.hops.observe(len(result.hops))
        job.future.set_result(replace(result, id=job.claim.id))

    def _has_next(self) -> bool:
        return bool(self._waiting)

    def _next_job(self, hops: str, system: Admiral) -> _Job | None:
        """Remove and return the first waiting job unless it has other hops or another system."""
        self.refresh()
        with self._changed:
            while self._waiting and self._waiting[0].hops == hops and self.system is system:
                job = self._waiting.popleft()
                if job.future.set_running_or_notify_cancel():
                    self._metrics.waits.observe(time.perf_counter() - job.submitted)
                    return job
        return None


def _failure(error: BaseException) -> Exception:
    """Return an error that ends a request, and not the thread that waits for it."""
    return error if isinstance(error, Exception) else RuntimeError(f"retrieval ended: {error!r}")


class _ArrivedClaims(Iterator[Claim]):
    """The claims that have arrived, as a stream that knows whether it is ready.

    Claims of different requests may have the same id, so each gets a number of its own.
    """

    def __init__(self, next_job: Callable[[], _Job | None], ready: Callable[[], bool]) -> None:
        self.jobs: dict[str, _Job] = {}
        self.ready = ready
        self._next_job, self._count = next_job, 0

    def __next__(self) -> Claim:
        job = self._next_job()
        if job is None:
            raise StopIteration
        self._count += 1
        number = str(self._count)
        self.jobs[number] = job
        return Claim(number, job.claim.text)

    def report(self, claim: Claim, hop: Hop) -> None:
        """Pass a completed hop to the request that waits for it."""
        on_hop = self.jobs[claim.id].on_hop
        if on_hop is not None:
            on_hop(hop)

    def report_stage(self, stage: str, claims: Sequence[Claim]) -> None:
        """Pass what a stage does to the requests that wait for its claims."""
        for claim in claims:
            on_stage = self.jobs[claim.id].on_stage
            if on_stage is not None:
                on_stage(stage)
