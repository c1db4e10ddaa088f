"""Queue the claims of many requests, and retrieve for them in batches, in one thread."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from admiral.pipeline import Admiral, closed_error
from admiral.records import Claim, Hop, RetrievalResult
from admiral.serving import metrics
from admiral.serving.problems import queue_full

logger = logging.getLogger(__name__)

#: Receives each hop as it is completed, or what the stages do.
OnEvent = Callable[[Hop | str], None]


@dataclass(slots=True, eq=False)
class _Job:
    claim: Claim
    hops: str
    on_event: OnEvent
    future: Future[RetrievalResult] = field(default_factory=Future)
    submitted: float = field(default_factory=time.perf_counter)


class ClaimQueue:
    """Retrieve for the claims of many threads, in the order of their arrival.

    Waiting claims with the same number of hops share a batch. `system`: the system that retrieves,
    until its knowledge base changes. `places`: claims that may wait or be processed. `reopen`:
    returns the system of a newer version, if there is one.
    """

    def __init__(
        self,
        system: Admiral,
        places: int,
        reopen: Callable[[Admiral], Admiral | None] = lambda system: None,
    ) -> None:
        self.system, self.places, self.taken = system, places, 0
        self._reopen, self._problem = reopen, ""
        self._changing, self._refreshing = threading.Lock(), threading.Lock()
        self._waiting: deque[_Job] = deque()
        self._thread = ThreadPoolExecutor(1, "admiral-queue")

    @property
    def waiting(self) -> int:
        """Number of claims that have not begun."""
        return len(self._waiting)

    @contextmanager
    def open_system(self) -> Iterator[Admiral]:
        """Yield the system of the newest version, which stays open during the block."""
        self.refresh()
        with ExitStack() as stack:
            with self._changing:  # so that `refresh` does not come in between
                system = self.system
                stack.enter_context(system.in_use)
            yield system

    def refresh(self) -> str:
        """Use the newest version of the knowledge base from now on.

        While it cannot be opened, the last one answers; then return why, otherwise an empty text.
        """
        with self._refreshing:
            former, problem = self.system, ""
            try:
                newer = self._reopen(former)
            except Exception as error:
                newer, problem = None, str(error)
                if problem != self._problem:
                    logger.error("the newest version cannot be opened: %s", problem)
            self._problem = problem
            if newer is not None:
                with self._changing:
                    self.system = newer
                # It waits for the claims that have begun on that version.
                threading.Thread(target=former.close, daemon=True).start()
            return problem

    @contextmanager
    def reserve(self, count: int = 1) -> Iterator[None]:
        """Hold places during the block; raise ProblemError if too few are free."""
        with self._changing:
            if self.taken + count > self.places:
                raise queue_full()
            self.taken += count
        try:
            yield
        finally:
            with self._changing:
                self.taken -= count

    def submit(
        self,
        claims: Sequence[Claim],
        hops: str | int | None = None,
        on_event: OnEvent = lambda event: None,
    ) -> list[Future[RetrievalResult]]:
        """Add claims; if a future is cancelled before its turn, its claim is never processed.

        `on_event`: is called in another thread.
        """
        hops = self.system.config.hops if hops is None else hops
        jobs = [_Job(claim, str(hops), on_event) for claim in claims]
        self._waiting.extend(jobs)
        try:
            for _ in jobs:
                self._thread.submit(self._advance)
        except RuntimeError as error:
            raise closed_error() from error
        return [job.future for job in jobs]

    def close(self) -> None:
        """Complete the claims that were added, and end the thread."""
        self._thread.shutdown()

    def _advance(self) -> None:
        """Process the next batch, if an earlier one has not had its claims."""
        with self.open_system() as system:
            jobs: list[_Job] = []
            while self._waiting and len(jobs) < system.config.batch_size:
                if jobs and self._waiting[0].hops != jobs[0].hops:
                    break
                job = self._waiting.popleft()
                if job.future.set_running_or_notify_cancel():
                    metrics.WAIT_SECONDS.observe(time.perf_counter() - job.submitted)
                    jobs.append(job)
            if jobs:
                self._process(system, jobs)

    def _process(self, system: Admiral, jobs: Sequence[_Job]) -> None:
        """Retrieve for a batch; after an error for each claim alone, which fails only its own."""
        # Claims of different requests may have the same id.
        numbered = {str(number): job for number, job in enumerate(jobs)}

        def on_stage(stage: str, claims: Sequence[Claim]) -> None:
            for claim in claims:
                numbered[claim.id].on_event(stage)

        try:
            results = list(
                system.retrieve_many(
                    [Claim(number, job.claim.text) for number, job in numbered.items()],
                    jobs[0].hops,
                    on_stage,
                    lambda claim, hop: numbered[claim.id].on_event(hop),
                    metrics.observe_stage,
                )
            )
        except BaseException as error:  # even SystemExit
            if len(jobs) > 1:
                for job in jobs:
                    self._process(system, [job])
            else:
                ended = RuntimeError(f"retrieval ended: {error!r}")
                jobs[0].future.set_exception(error if isinstance(error, Exception) else ended)
        else:
            for job, result in zip(jobs, results, strict=True):
                metrics.HOPS.observe(len(result.hops))
                job.future.set_result(replace(result, id=job.claim.id))
