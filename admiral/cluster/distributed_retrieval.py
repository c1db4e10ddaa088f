"""Retrieval on a cluster: a pool of workers, each with the pipeline; results keep their order."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from admiral.cluster.chunks import Chunk, FailedClaim, Record, RetryQueue
from admiral.cluster.ray_session import ClusterOptions, connect_ray, count_workers
from admiral.cluster.worker import (
    Opener,
    Worker,
    decode_results,
    encode_claims,
    open_system,
    worker_config,
)
from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError, first_line, last_line
from admiral.records import Claim
from admiral.retrieval.provenance import recorded_settings

# Size of a chunk in batches: large enough that claims which stop early make room for others.
_BATCHES_PER_CHUNK = 4
# Minimum number of chunks for each worker, so that no worker waits long for the last one.
_CHUNKS_PER_WORKER = 4
# Outcomes wait in memory for those before them, at about 30 kB a record.
_AHEAD_CHUNKS, _MIN_AHEAD = 8, 1024


def retrieve_on_cluster(
    config: RetrievalConfig,
    claims: Iterable[Claim],
    options: ClusterOptions,
    *,
    total: int,
    opener: Opener = open_system,
) -> Iterator[Record | FailedClaim]:
    """Yield the record of each claim, or its failure, in the order of the claims.

    This uses plain Ray actors, not Ray Data: a driver that submits small chunks one by one knows
    which claims a worker died of, and can yield results in order as soon as they are complete.
    `config`: settings. Their paths must lead to the same content on every node. `opener`: opens the
    pipeline in a worker. Must be importable there. Raises AdmiralError if Ray is not installed,
    there is no cluster, no node has the resources of a worker, or a node has no knowledge base or
    checkpoint or different ones.
    """
    settings = worker_config(config, options.cpus, options.gpus)
    expected = json.dumps(recorded_settings(settings))
    with connect_ray(options.address) as ray:
        count = count_workers(ray, options.cpus, options.gpus)
        count = min(options.workers or count, max(total, 1))
        size = max(
            1, min(_BATCHES_PER_CHUNK * config.batch_size, total // (_CHUNKS_PER_WORKER * count))
        )
        ahead = max(_AHEAD_CHUNKS * count * size, _MIN_AHEAD)
        queue = RetryQueue(claims, size=size, ahead=ahead, attempts=options.attempts)
        actor = ray.remote(Worker).options(
            num_cpus=options.cpus,
            num_gpus=options.gpus,
            max_restarts=0,
            scheduling_strategy="SPREAD",
        )

        def start() -> tuple[Any, Any]:
            worker = actor.remote(settings, opener)
            return worker, worker.open.remote(expected)

        pool = WorkerPool(ray, start, count, options.claim_seconds)
        try:
            yield from _outcomes(queue, pool)
        finally:
            pool.close()


def _outcomes(queue: RetryQueue, pool: WorkerPool) -> Iterator[Record | FailedClaim]:
    while True:
        while pool.idle and (chunk := queue.take()):
            pool.submit(chunk)
        yield from queue.in_order()
        if queue.done:
            return
        for result in pool.wait():
            if result.error:
                queue.failed(result.chunk, result.error, split=result.timed_out)
            else:
                queue.succeeded(result.chunk, result.records)


logger = logging.getLogger(__name__)

# Number of workers in a row that may die before they have opened the pipeline.
_MAX_FAILED_STARTS = 5
_POLL_SECONDS = 30.0
_START_SECONDS = 1800.0

StartWorker = Callable[[], tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """The result of a chunk."""

    chunk: Chunk
    records: list[Record]
    error: str = ""
    timed_out: bool = False  # whether it failed because its worker took too long


@dataclass(frozen=True, slots=True)
class _Task:
    """A submitted chunk, the actor that has it, and its deadline on the monotonic clock."""

    actor: Any
    chunk: Chunk
    deadline: float


class WorkerPool:
    """Ray actors, each of which processes one chunk at a time.

    A worker never has more than one chunk, so that the claims it died of are known. It is replaced
    after any failure, because an error may have left its GPU or its memory unusable. The
    replacement of a worker whose node died starts as soon as the cluster has the resources.
    `start`: starts an actor. Returns its handle and the future of `Worker.open`. `claim_seconds`:
    time limit for each claim of a chunk, after which its worker is replaced.
    """

    def __init__(self, ray: Any, start: StartWorker, count: int, claim_seconds: float) -> None:
        self._ray, self._start, self._claim_seconds = ray, start, claim_seconds
        self._starting: dict[Any, Any] = {}  # future -> actor
        self._busy: dict[Any, _Task] = {}
        self._idle: list[Any] = []
        self._failed_starts = 0
        for _ in range(count):
            self._start_worker()

    @property
    def idle(self) -> bool:
        """Whether a worker is ready for a chunk."""
        return bool(self._idle)

    def submit(self, chunk: Chunk) -> None:
        """Give a chunk to an idle worker."""
        actor = self._idle.pop()
        deadline = time.monotonic() + self._claim_seconds * len(chunk.claims)
        future = actor.retrieve.remote(encode_claims(chunk.claims))
        self._busy[future] = _Task(actor, chunk, deadline)

    def wait(self) -> Iterator[ChunkResult]:
        """Wait for the next event; yield the results of completed chunks.

        Raises AdmiralError if a worker cannot open the pipeline, or no worker starts at all.
        """
        futures = [*self._busy, *self._starting]
        seconds_left = [task.deadline - time.monotonic() for task in self._busy.values()]
        timeout = max(0.0, min([_POLL_SECONDS, *seconds_left]))
        ready, _ = self._ray.wait(futures, num_returns=1, timeout=timeout)
        if ready:
            self._last_event = time.monotonic()
        elif not self._busy:
            self._check_start_time()
        for future in ready:
            if future in self._starting:
                self._worker_started(future)
            else:
                yield self._finish(future)
        yield from self._finish_overdue()

    def close(self) -> None:
        """Stop all workers."""
        actors = [
            *self._idle,
            *self._starting.values(),
            *(task.actor for task in self._busy.values()),
        ]
        for actor in actors:
            self._ray.kill(actor)
        self._idle, self._starting, self._busy = [], {}, {}

    def _finish_overdue(self) -> Iterator[ChunkResult]:
        """Yield the chunks past their deadline; some may have completed without being polled."""
        now = time.monotonic()
        overdue = [future for future, task in self._busy.items() if task.deadline <= now]
        if not overdue:
            return
        ready, timed_out = self._ray.wait(overdue, num_returns=len(overdue), timeout=0)
        for future in ready:
            yield self._finish(future)
        for future in timed_out:
            task = self._busy.pop(future)
            limit = self._claim_seconds * len(task.chunk.claims)
            yield self._fail(task, f"no answer in {limit:.0f} s", timed_out=True)

    def _start_worker(self) -> None:
        self._last_event = time.monotonic()  # restarts the time limit for starting
        actor, future = self._start()
        self._starting[future] = actor

    def _worker_started(self, future: Any) -> None:
        actor = self._starting.pop(future)
        problem, death = self._get(future)
        if death:
            self._failed_starts += 1
            logger.warning("a worker died while it started: %s", death)
            if self._failed_starts >= _MAX_FAILED_STARTS:
                raise AdmiralError(
                    f"{self._failed_starts} workers in a row died while they opened the model and "
                    f"the knowledge base ({death}). See Ray's logs for the reason, such as too "
                    "little memory"
                )
            self._start_worker()
        elif problem:
            raise AdmiralError(problem)
        else:
            self._failed_starts = 0
            self._idle.append(actor)

    def _finish(self, future: Any) -> ChunkResult:
        task = self._busy.pop(future)
        results, death = self._get(future)
        records, error = ([], f"its worker died: {death}") if death else decode_results(results)
        if error:
            return self._fail(task, error)
        self._idle.append(task.actor)
        return ChunkResult(task.chunk, records)

    def _fail(self, task: _Task, error: str, *, timed_out: bool = False) -> ChunkResult:
        chunk = task.chunk
        more = f" and {len(chunk.claims) - 1} more" if len(chunk.claims) > 1 else ""
        failure = f"claim {chunk.claims[0].id!r}{more}: failure {chunk.failures + 1}"
        logger.warning("%s: %s", failure, error)
        self._ray.kill(task.actor)
        self._start_worker()
        return ChunkResult(chunk, [], error, timed_out)

    def _get(self, future: Any) -> tuple[str, str]:
        """Return the value of a future, or else why its worker died."""
        try:
            return self._ray.get(future), ""
        except self._ray.exceptions.RayTaskError as error:
            return "", last_line(error)
        except self._ray.exceptions.RayError as error:
            return "", first_line(error)

    def _check_start_time(self) -> None:
        """Warn that no worker has started yet, and raise an error after the time limit."""
        seconds = time.monotonic() - self._last_event
        if seconds > _START_SECONDS:
            raise AdmiralError(
                f"no worker has started for {seconds / 60:.0f} minutes. See with `ray status` what "
                "the cluster has left, or ask for less with --cpus-per-worker and --gpus-per-worker"
            )
        logger.warning("waiting for workers to start, for %.0f s now", seconds)
